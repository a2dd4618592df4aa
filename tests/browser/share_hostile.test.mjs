// Names in a link are whatever its sender wants: they are shown as text, and nothing that they say is run, fetched or drawn.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { Parts, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

/** What a name may try; each takes the place of a function of the program, whose names are as long. */
const HOSTILE = [
  "<img src=x onerror=hacked()>",
  "</script><script>hacked()//",
  "javascript:hacked()",
  "\u202egnp.exe\u2066\u200bhacked()",
  "\u001b]0;hacked()\u0007\r\n",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template that nobody may fill in
  "{{hacked()}}${hacked()}&lt;b&gt;",
  "http://elsewhere.invalid/hacked",
];

const LENGTH = 60;
const LONG = "long_".repeat(3_276);
const parts = new Parts();
let host;
let given;
let sender;

beforeScenes(async () => {
  const names = HOSTILE.map((_, index) => `spot_${index}_`.padEnd(LENGTH, "x"));
  const functions = [...names, LONG].map(
    (name, index) => `
    __attribute__((noinline)) void f${index}(void) __asm__("${name}");
    void f${index}(void) { for (unsigned long n = 0; n < 60000000; n++) sum += n; }`,
  );
  const calls = functions.map((_, index) => `f${index}();`).join(" ");
  const source = parts.path("hostile.c");
  writeFileSync(source, `static volatile unsigned long sum; ${functions.join("\n")} int main(void) { ${calls} return 0; }`);
  const program = parts.path("<b>folder<", "script>hacked()");
  run("gcc", ["-O1", "-fno-omit-frame-pointer", "-Wl,--build-id=0x0b5e55ed", "-o", program, source]);
  const recording = parts.record("hostile.perf.data", ["-F", "999"], [program]);
  // The build-id was chosen, so that names may be others.
  let bytes = readFileSync(program).toString("latin1");
  HOSTILE.forEach((hostile, index) => {
    const name = Buffer.concat([Buffer.from(hostile), Buffer.alloc(LENGTH, "_")])
      .subarray(0, LENGTH)
      .toString("latin1");
    bytes = bytes.replaceAll(names[index], () => name);
  });
  writeFileSync(program, bytes, "latin1");
  host = await parts.host();
  given = [recording, program];
});

afterScenes(() => parts.end());

/** Fails where anything of a name ran or became an element; `hacked` is what all of them call. */
async function checkHarmless(tab) {
  const found = await tab.page.evaluate(() => ({
    ran: window.ran,
    title: document.title,
    elements: document.querySelectorAll("img, iframe, object, embed, b, script:not(body > script)").length,
    addresses: [...document.querySelectorAll("[href], [src]")].map(
      (each) => each.getAttribute("href") ?? each.getAttribute("src"),
    ),
    strange: /[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
  }));
  assert.equal(found.ran, 0);
  assert.equal(found.elements, 0);
  assert.ok(!found.strange, "no character moves or hides others");
  assert.ok(
    found.addresses.every((address) => !/hacked|javascript:/.test(address)),
    found.addresses.join(" "),
  );
  assert.ok(!/[\u0000-\u001f\u202a-\u202e]/.test(found.title), found.title);
  assert.deepEqual(tab.refused, [], "nothing is fetched");
}

/** Counts calls of what names try to run. */
function listen() {
  window.ran = 0;
  window.hacked = () => {
    window.ran += 1;
  };
}

/** Every view, card, panel and dialog that shows names. */
async function lookEverywhere(tab) {
  const names = (await tab.functions()).map(({ name }) => name ?? "");
  for (const hostile of ["<img src=x onerror=hacked()>", "javascript:hacked()", "</script>"]) {
    assert.ok(
      names.some((name) => name.includes(hostile)),
      `${hostile} is shown as it is: ${names.join(" ").slice(0, 400)}`,
    );
  }
  await tab.everythingInAllViews();
  await checkHarmless(tab);
  await tab.select("onerror");
  await checkHarmless(tab);
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("button", { name: "Share", exact: true }).click();
  await tab.page.getByRole("dialog", { name: "Share this profile" }).waitFor();
  await tab.settled();
  await checkHarmless(tab);
  await tab.picture(`hostile-${tab.page.url().slice(0, 4)}`);
  await tab.page.keyboard.press("Escape");
}

describe("names that are hostile", () => {
  scene(
    "in a recording and in a link of it are shown as text, and nothing is run or fetched",
    async () => {
      sender = await Tab.open(host, { offline: true, init: listen });
      await sender.drop(...given);
      await sender.status("script>hacked()", "matched");
      await lookEverywhere(sender);
      const { payload } = await sender.ask("share", { budget: 2_097_152, base: "", options: {} });
      const tab = await Tab.open(`${host}#${payload}`, { offline: true, init: listen });
      await tab.opened();
      await lookEverywhere(tab);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "in a saved page do not end the element that they stand in, and are shown as text",
    async () => {
      await sender.page.getByRole("button", { name: "Share", exact: true }).click();
      await sender.page.getByRole("button", { name: "Page", exact: true }).click();
      const [download] = await Promise.all([
        sender.page.waitForEvent("download"),
        sender.page.getByRole("button", { name: "Save as HTML" }).click(),
      ]);
      const page = parts.path("saved", "hostile.html");
      await download.saveAs(page);
      await sender.close();
      const source = readFileSync(page, "utf8");
      assert.match(source, /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/);
      assert.ok(!source.includes("onerror=hacked"), "a profile is characters of base64url");
      const tab = await Tab.open(pathToFileURL(page).href, { offline: true, init: listen });
      await tab.opened();
      await lookEverywhere(tab);
      await tab.close();
    },
    { tier: "all" },
  );
});
