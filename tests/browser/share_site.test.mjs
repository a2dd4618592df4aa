// A hosted copy below a path of somebody's site: it opens links, asks nobody else, and works without network from then on.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { Parts, siteFolder } from "./recording.mjs";
import { afterScenes, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
afterScenes(() => parts.end());

/** A link to what was recorded here, as the page makes it. */
async function made() {
  const program = parts.compile(["tides"]);
  const recording = parts.record("tides.perf.data", ["-F", "999"], [program, "12"]);
  const tab = await Tab.open(await parts.host());
  await tab.drop(recording, program);
  await tab.status("tides", "matched");
  const { payload } = await tab.ask("share", { budget: 65_536, base: "", options: {} });
  await tab.close();
  return `#${payload}`;
}

/** The page keeps itself when nothing else waits for the network. */
const kept = (page) =>
  page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller === null) {
      await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
    }
  });

describe("a copy on a static host", () => {
  scene(
    "opens a link below any path, asks no other host, and opens it without network the second time",
    async () => {
      const payload = await made();
      const site = await parts.site(siteFolder, "/somebody/tools/perftab/");
      const tab = await Tab.open(site.address + payload, { offline: true });
      await tab.opened();
      assert.ok((await tab.functions()).some(({ name }) => name === "rolling_sea"));
      await kept(tab.page);
      assert.deepEqual(tab.refused, [], "nobody else is asked");
      assert.ok(
        site.asked.every((path) => path.startsWith("/somebody/tools/perftab/")),
        site.asked.join(" "),
      );
      assert.ok(!site.asked.join(" ").includes(payload.slice(1, 20)), "the profile stays in the browser");
      await site.end();
      await tab.page.goto("about:blank");
      await tab.page.goto(site.address + payload);
      await tab.opened();
      assert.ok((await tab.functions()).some(({ name }) => name === "rolling_sea"));
      tab.browser.errors.length = 0; // The browser reports that it did not reach the host for a newer worker.
      await tab.close();
    },
    { tier: "all" },
  );

  scene("says to browsers and hosts that nothing else may run or be told", () => {
    const page = readFileSync(join(siteFolder, "index.html"), "utf8");
    const [, policy] = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(page);
    const directives = new Map(policy.split("; ").map((each) => [each.split(" ")[0], each.split(" ").slice(1)]));
    assert.deepEqual(directives.get("default-src"), ["'none'"]);
    assert.deepEqual(directives.get("base-uri"), ["'none'"]);
    assert.deepEqual(directives.get("form-action"), ["'none'"]);
    const [boot, main, wasm, ...others] = directives.get("script-src");
    assert.match(boot, /^'sha256-/);
    assert.match(main, /^'sha256-/);
    assert.deepEqual([wasm, others], ["'wasm-unsafe-eval'", []]);
    assert.match(directives.get("style-src").join(" "), /^'sha256-\S+'$/);
    assert.match(page, /<meta name="referrer" content="no-referrer">/);
    const headers = readFileSync(join(siteFolder, "_headers"), "utf8");
    for (const line of ["Referrer-Policy: no-referrer", "frame-ancestors 'none'", "X-Content-Type-Options: nosniff"]) {
      assert.ok(headers.includes(line), line);
    }
    assert.ok(readdirSync(siteFolder).includes(".nojekyll"));
  });
});
