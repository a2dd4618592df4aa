// Source and assembly in links: what a link tells of them is what its recording says.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { describe } from "node:test";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import {
  assembly,
  choose,
  edited,
  host,
  lines,
  listed,
  open,
  parts,
  prepare,
  recording,
  source,
  textAt,
} from "./source_scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

beforeScenes(prepare);

afterScenes(() => parts.end());

/** Some lines have a text, and each that has one has its own. */
async function linesAreTold(page) {
  const text = readFileSync(source, "utf8").split("\n");
  const shown = await lines(page)
    .locator(".row")
    .evaluateAll((rows) => rows.map((row) => [row.querySelector(".line")?.innerText, row.querySelector(".code")?.innerText]));
  const told = shown.filter(([, text]) => text);
  assert.ok(told.length > 0, JSON.stringify(shown));
  for (const [line, code] of told) assert.equal(code.trim(), text[line - 1].trim().replaceAll("\t", "    "), line);
}

describe("source and assembly of links", () => {
  scene("a45 a link that the page makes tells the lines and instructions that are ticked, with their mark", async () => {
    const tab = await open();
    const { page } = tab;
    await choose(tab, "rolling_sea");
    const { pieces } = await listed(tab, "rolling_sea");
    const [piece] = pieces;
    const instructions = Array.from(piece.starts, (_, at) => {
      const name = piece.target[at] === 0xffffffff ? "" : textAt(piece.targets, piece.target[at]);
      return `${textAt(piece.instructions, at)}${name === "" ? "" : ` <${name}>`}`;
    });
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    /** The link that says what the dialog says now. */
    const made = async () => {
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await dialog.getByRole("button", { name: "Copy link" }).and(dialog.locator(":enabled")).waitFor();
      return dialog.getByRole("textbox", { name: "The link" }).innerText();
    };
    /** The texts of a part that the command line reads in it. */
    const textsIn = (link, part) => {
      const file = parts.path("texts.txt");
      parts.perftab("share", link, "--list-texts", "--include", "source,assembly", "--no-local", "-o", file);
      const texts = readFileSync(file, "utf8").split("\n");
      rmSync(file);
      return texts.flatMap((line) => (line.startsWith(`${part}\t`) ? [line.slice(part.length + 1).trim()] : []));
    };
    const own = readFileSync(source, "utf8")
      .split("\n")
      .map((line) => line.trim());
    const has = (link) => [
      textsIn(link, "source").some((text) => own.includes(text)),
      textsIn(link, "assembly").some((text) => instructions.includes(text)),
    ];

    await tab.drop(edited);
    await page.getByRole("note").filter({ hasText: "not the file that was compiled" }).waitFor();
    await page.keyboard.press("Control+s");
    const bare = await made();
    assert.deepEqual([textsIn(bare, "source"), textsIn(bare, "assembly")], [[], []], "nothing is told unasked");
    await dialog.getByRole("checkbox", { name: /^Text of hot source lines/ }).check();
    await dialog.getByRole("note").filter({ hasText: "No source text is at hand" }).waitFor();
    await dialog.getByRole("checkbox", { name: /^Text of hot instructions/ }).check();
    const refused = await made();
    assert.ok(has(refused)[1], `${textsIn(refused, "assembly").join("\n")}\nof\n${instructions.join("\n")}`);
    assert.deepEqual(textsIn(refused, "source"), [], "what is refused is told to nobody");
    await page.keyboard.press("Escape");
    await tab.drop(source);
    await page.locator(".part-head", { hasText: "checked against the MD5" }).waitFor();
    await page.keyboard.press("Control+s");
    const link = await made();
    assert.deepEqual(has(link), [true, true]);
    await dialog.getByRole("checkbox", { name: /^Text of hot source lines/ }).uncheck();
    const without = await made();
    assert.deepEqual(has(without), [false, true], "each by its own tick");
    await dialog.getByRole("checkbox", { name: /^Text of hot source lines/ }).check();
    await tab.picture("a45-share");
    await tab.close();

    const fresh = await Tab.open(`${host}${link.slice(link.indexOf("#"))}&s2&view=source`, { offline: true });
    await choose(fresh, "rolling_sea");
    await fresh.page.locator(".part-head", { hasText: "checked by the sender against the MD5" }).waitFor();
    await linesAreTold(fresh.page);
    const codes = await assembly(fresh.page).locator(".row .code").allInnerTexts();
    assert.ok(codes.filter(Boolean).length > 0);
    for (const code of codes.filter(Boolean)) assert.ok(instructions.includes(code), code);
    assert.deepEqual(fresh.refused, []);
    await fresh.close();
  });

  scene("a45 a link shows the lines and instructions that it tells", async () => {
    const file = parts.path("told.txt");
    parts.perftab("share", recording, "--include", "source,assembly", "--times", "none", "--base", host, "-o", file);
    const tab = await Tab.open(`${readFileSync(file, "utf8").trim()}&s2&view=source`);
    const { page } = tab;
    await choose(tab, "rolling_sea");
    await page.locator(".part-head", { hasText: "checked by the sender against the MD5" }).waitFor();
    await linesAreTold(page);
    assert.match(await assembly(page).locator(".row .code").first().innerText(), /^[a-z]/);
    // Also of what is inlined the lines are those of the recording.
    const dso = (await tab.ask("dsos")).find((each) => each.name === "tides");
    const rows = (lines) =>
      lines.flatMap(({ file, line, samples, weight }) =>
        samples > 0 && line !== null ? [`${file.slice(file.lastIndexOf("/") + 1)}:${line} ${samples} ${weight}`] : [],
      );
    for (const name of ["rolling_sea", "order_by_height"]) {
      const reference = { dso: { path: dso.path, buildId: dso.build_id }, name, address: null };
      const query = { ...QUERY, inlines: "merged" };
      const heat = await tab.ask("hotLines", { query, function: reference });
      const { functions } = parts.json("annotate", "--json", recording, name);
      const { lines, instructions } = functions.find((each) => each.name === name);
      assert.deepEqual(rows(heat.lines).sort(), rows(lines).sort(), name);
      const inlined = instructions.filter(({ samples }) => samples > 0).map(({ inlined }) => inlined);
      assert.deepEqual(new Set(heat.instructions.map((row) => row.inlinedFunction)), new Set(inlined), name);
    }
    await tab.close();
  });
});
