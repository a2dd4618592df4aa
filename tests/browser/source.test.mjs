// Source and assembly: from a hot function to the line and to the instruction, over a real recording.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { describe } from "node:test";
import { isInstalled, run, tidesSource } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import {
  assembly,
  choose,
  edited,
  host,
  isOf,
  lines,
  list,
  listed,
  open,
  parts,
  prepare,
  program,
  recording,
  source,
  textAt,
} from "./source_scene.mjs";
import { Tab, axe } from "./tab.mjs";

beforeScenes(prepare);

afterScenes(() => parts.end());

describe("source and assembly", () => {
  scene("a45 instructions, lines and what ended in them are those of perftab annotate", async () => {
    const tab = await open();
    for (const name of ["rolling_sea", "order_by_height"]) {
      const { functions } = parts.json("annotate", "--json", recording, name);
      const { instructions, lines } = functions.find((each) => each.name === name);
      const { pieces, ended } = await listed(tab, name);
      assert.equal(ended, null);
      assert.equal(pieces.length, 1);
      const [piece] = pieces;
      const start = BigInt(piece.startInFile);
      const path = (at) => (at === 0xffffffff ? null : textAt(piece.files, at));
      const shown = piece.starts.map((offset, at) => {
        const target = piece.target[at] === 0xffffffff ? "" : textAt(piece.targets, piece.target[at]);
        return {
          address: `0x${(start + BigInt(offset)).toString(16)}`,
          text: `${textAt(piece.instructions, at)}${target === "" ? "" : ` <${target}>`}`,
          refers_to: piece.refersTo[at] === 0xffffffff ? null : textAt(piece.references, piece.refersTo[at]) || null,
          inlined: piece.inlined[at] === 0xffffffff ? null : textAt(piece.functions, piece.inlined[at]),
          file: path(piece.file[at]),
          line: piece.line[at] || null,
          samples: piece.instructionSamples[at],
          weight: piece.instructionWeight[at],
        };
      });
      assert.ok(shown.length > 5 && shown.some(({ samples }) => samples > 0), name);
      assert.deepEqual(shown, instructions, name);
      const shownLines = piece.lineNumber.map((line, at) => ({
        file: path(piece.lineFile[at]),
        line,
        samples: piece.lineSamples[at],
        weight: piece.lineWeight[at],
      }));
      assert.deepEqual(
        shownLines,
        lines.map(({ text, ...line }) => line),
        name,
      );
    }
    await tab.close();
  });

  scene("a45 the hottest function stands there, and a source that is dropped is checked by its MD5", async () => {
    const tab = await open({ initPath: axe });
    const { page } = tab;
    // Until something is selected.
    const first = await list(page).locator(".row:not(.loading) .frame-name").first().innerText();
    await page.locator(".source-view .sandwich-band", { hasText: first }).waitFor();
    await choose(tab, "rolling_sea");
    const { pieces } = await listed(tab, "rolling_sea");
    const count = pieces[0].starts.length;
    await eventually(async () => {
      const levels = pieces[0].inlined.filter((name, at, all) => at === 0 || name !== all[at - 1]).length;
      assert.equal(await assembly(page).getAttribute("aria-rowcount"), String(count + levels + 1));
    });
    assert.ok(count > 10);

    await page.getByRole("note").filter({ hasText: "drop that file here" }).waitFor();
    // It was edited after the build.
    await tab.drop(edited);
    const note = page.getByRole("note").filter({ hasText: "not the file that was compiled" });
    await note.waitFor();
    const sum = (path) => createHash("md5").update(readFileSync(path)).digest("hex");
    assert.match(await note.innerText(), new RegExp(`MD5 is ${sum(edited)}, and ${sum(source)}`));
    assert.ok(!(await lines(page).innerText()).includes("settle_foam("), "nothing of it is shown");

    await tab.drop(source);
    await page.locator(".part-head", { hasText: "checked against the MD5" }).waitFor();
    // Whatever else is dropped, its sum is right.
    await tab.drop(edited);
    await page.locator(".toast", { hasText: "1 source file kept" }).first().waitFor();
    await page.locator(".part-head", { hasText: "checked against the MD5" }).waitFor();
    const text = readFileSync(source, "utf8").split("\n");
    // The hottest line, and its instructions, are chosen to begin with.
    const hottest = pieces[0].lineNumber[pieces[0].lineWeight.indexOf(Math.max(...pieces[0].lineWeight))];
    const isChosen = async (line) => {
      await lines(page)
        .locator(".row.selected .line", { hasText: String(line) })
        .waitFor();
      assert.equal((await lines(page).locator(".row.selected .code").innerText()).trim(), text[line - 1].trim());
    };
    await isChosen(hottest);
    const marked = assembly(page).locator(".row.selected .line");
    assert.deepEqual([...new Set(await marked.allInnerTexts())], [String(hottest)], "its instructions are marked");
    // The one in which most samples ended is in sight, wherever in the function it is.
    const present = await assembly(page).getAttribute("aria-activedescendant");
    const rows = await assembly(page)
      .locator(".row.selected")
      .evaluateAll((rows) =>
        rows.map((row) => ({ id: row.id, share: Number.parseFloat(row.querySelector(".number").textContent) || 0 })),
      );
    assert.equal(rows.find(({ id }) => id === present)?.share, Math.max(...rows.map(({ share }) => share)));
    await lines(page).focus();
    await page.keyboard.press("ArrowDown");
    await isChosen(hottest + 1);
    await page.keyboard.press("[");
    await isChosen(hottest);
    // It has the colours of its language, also where a comment began in a line above.
    const shownLine = (number) =>
      lines(page).locator(".row", { has: page.locator(".line", { hasText: new RegExp(`^${number}$`) }) });
    const returns = text.findIndex((each, at) => at + 1 >= hottest - 5 && /^\s*return /.test(each)) + 1;
    await shownLine(returns).locator(".word-keyword", { hasText: "return" }).waitFor();
    await lines(page).focus();
    await page.keyboard.press("Home");
    await shownLine(2).locator(".word-comment").waitFor();
    assert.equal(await shownLine(2).locator(".word-comment").innerText(), text[1].trim());
    // The end of the longest line can be read, and its number stays in sight.
    const longest = text.reduce((most, each, at) => (each.length > text[most].length ? at : most), 0) + 1;
    await page.setViewportSize({ width: 1000, height: 900 });
    for (let at = 1; at < longest; at++) await page.keyboard.press("ArrowDown");
    const edges = await shownLine(longest).evaluate((row) => {
      const grid = row.closest(".rows");
      grid.scrollLeft = grid.scrollWidth;
      const words = document.createRange();
      words.selectNodeContents(row.querySelector(".code"));
      const [own, line] = [grid.getBoundingClientRect(), row.querySelector(".line").getBoundingClientRect()];
      const found = {
        scrolled: grid.scrollLeft,
        end: own.right - words.getBoundingClientRect().right,
        line: line.left - own.left,
      };
      grid.scrollLeft = 0;
      return found;
    });
    assert.ok(edges.scrolled > 0 && edges.end >= 0 && edges.line > 0, JSON.stringify(edges));
    // What is searched is scrolled to, too.
    const end = text[longest - 1].slice(-12).trim();
    await page.keyboard.press("Home");
    await page.keyboard.press("/");
    await page.keyboard.type(end);
    await page.locator(".search-result", { hasText: "of this code" }).waitFor();
    await page.keyboard.press("Enter");
    await eventually(async () => {
      const [mark, grid] = [
        await lines(page).locator(".row.selected mark").last().boundingBox(),
        await lines(page).boundingBox(),
      ];
      assert.ok(mark.x > grid.x && mark.x + mark.width <= grid.x + grid.width, JSON.stringify([mark, grid]));
    });
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1440, height: 900 });
    // The functions are as wide as one wants, and stay so.
    const side = page.locator(".source-functions");
    const before = (await side.boundingBox()).width;
    await page.getByRole("separator", { name: "Width of the functions" }).focus();
    await page.keyboard.press("ArrowRight");
    await eventually(async () => assert.equal((await side.boundingBox()).width, before + 16));
    assert.equal(await page.evaluate(() => localStorage.getItem("perftab.sourceFunctionsWidth")), String(before + 16));
    const assemblyPane = page.getByRole("region", { name: "Assembly" });
    const usual = (await assemblyPane.boundingBox()).width;
    await page.getByRole("separator", { name: "Width of the assembly" }).focus();
    await page.keyboard.press("ArrowLeft");
    await eventually(async () => assert.equal((await assemblyPane.boundingBox()).width, usual + 16));
    await page.getByRole("separator", { name: "Width of the assembly" }).dblclick();
    await eventually(async () => assert.equal((await assemblyPane.boundingBox()).width, usual));
    await page.getByRole("separator", { name: "Width of the functions" }).dblclick();
    await eventually(async () => assert.equal((await side.boundingBox()).width, before));
    await lines(page).focus();
    await page.keyboard.press("[");
    await page.keyboard.press("]");
    assert.deepEqual(await tab.findings(), []);
    // As the view begins: without the panel.
    await page.getByRole("button", { name: "Close the side panel" }).click();
    await lines(page).evaluate((grid) => grid.scrollTo({ left: 0 }));
    await tab.pictures("a45-source");
    await tab.close();
  });

  scene("a45 keys go through instructions, show and follow jumps, search, fold what is inlined, and copy", async () => {
    const tab = await open();
    const { page } = tab;
    await choose(tab, "rolling_sea");
    const { pieces } = await listed(tab, "rolling_sea");
    const [piece] = pieces;
    const from = piece.goesTo.findIndex((to) => to !== 0xffffffff);
    assert.ok(from >= 0, "its loops jump back");
    const hex = (at) => (BigInt(piece.startInFile) + BigInt(piece.starts[at])).toString(16);
    await assembly(page)
      .locator(".row", { hasText: hex(from) })
      .first()
      .click();
    await assembly(page).focus();
    assert.match(await tab.copied(() => page.keyboard.press("Control+c")), new RegExp(`^${hex(from)}: j`));
    await page.keyboard.press("Enter");
    await assembly(page)
      .locator(".row.selected", { hasText: hex(piece.goesTo[from]) })
      .waitFor();
    // What a pointer is over shows where it jumps, and the loop around it.
    const texts = Array.from(piece.starts, (_, at) => textAt(piece.instructions, at));
    const back = piece.goesTo.findIndex((to, at) => to <= at && texts[at].startsWith("j"));
    // Other rows may name its address.
    const address = (at) => page.locator(".address", { hasText: new RegExp(`^${hex(at)}$`) });
    const row = (at) => assembly(page).locator(".row", { has: address(at) });
    await row(back).hover();
    await row(piece.goesTo[back]).locator(".jump.to").waitFor();
    await row(back).locator(".jump.from").waitFor();
    const loops = Array.from(piece.goesTo, (first, last) => ({ first, last }))
      .filter(({ first, last }) => first <= back && back <= last && texts[last].startsWith("j"))
      .sort((one, other) => one.last - one.first - (other.last - other.first));
    const [{ first, last }] = loops;
    for (const at of [first, back, last]) await row(at).locator(".in-loop").waitFor();
    for (const at of [first - 1, last + 1]) {
      if (at >= 0 && at < texts.length) assert.equal(await row(at).locator(".in-loop").count(), 0);
    }
    const rows = Number(await assembly(page).getAttribute("aria-rowcount"));
    await page.keyboard.press("Home");
    await assembly(page).locator(".row.selected .code-level").waitFor();
    await page.keyboard.press("Enter");
    await eventually(async () => assert.ok(Number(await assembly(page).getAttribute("aria-rowcount")) < rows));
    await page.keyboard.press("Enter");
    await eventually(async () => assert.equal(Number(await assembly(page).getAttribute("aria-rowcount")), rows));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".hot-assembly .row.selected") === null);
    // The search finds what stands there, also where no function is called so.
    const word = textAt(piece.instructions, from).split(" ")[0];
    const named = (at) => (piece.target[at] === 0xffffffff ? "" : ` <${textAt(piece.targets, piece.target[at])}>`);
    const found = Array.from(piece.starts, (_, at) => at).filter((at) =>
      `${textAt(piece.instructions, at)}${named(at)}`.toLowerCase().includes(word),
    );
    await page.keyboard.press("/");
    await page.keyboard.type(word);
    const result = page.locator(".search-result");
    await result.filter({ hasText: `${found.length} line${found.length === 1 ? "" : "s"} of this code` }).waitFor();
    for (const [key, place] of [
      ["Enter", 0],
      ["Shift+Enter", found.length - 1],
    ]) {
      await page.keyboard.press(key);
      await result.filter({ hasText: `${place + 1} of ${found.length} line` }).waitFor();
      const row = assembly(page).locator(".row.selected", { hasText: hex(found[place]) });
      await row.locator("mark", { hasText: word }).first().waitFor();
    }
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".hot-assembly mark") === null);
    // As objdump has it: bytes, and AT&T's syntax. Both are remembered.
    await page.getByRole("button", { name: "More options" }).click();
    await page.getByLabel("Syntax of x86").selectOption("att");
    await page.getByLabel("Bytes of instructions").selectOption("shown");
    await page.keyboard.press("Escape");
    const simple = texts.findIndex((text) => /^(mov|xor|add|sub) [er][a-z0-9]+,[er][a-z0-9]+$/.test(text));
    assert.ok(simple >= 0, texts.join("\n"));
    const dumped = run("objdump", ["-d", "--insn-width=15", program]);
    const [, raw, name, operands] = new RegExp(`^ *${hex(simple)}:\\t([0-9a-f ]+?) *\\t(\\S+) +(\\S+)$`, "m").exec(dumped);
    await row(simple)
      .locator(".code", { hasText: `${name} ${operands}` })
      .waitFor();
    assert.equal(await row(simple).locator(".code-bytes").innerText(), raw);
    // The address says which function.
    await choose(tab, "order_by_height");
    const fragment = await eventually(async () => {
      const hash = await page.evaluate(() => location.hash);
      assert.match(hash, /view=source&.*lines=order_by_height;0/);
      return hash;
    });
    const again = await open({ fragment });
    await again.page.getByRole("grid", { name: "Instructions of order_by_height" }).waitFor();
    await again.close();
    // Keys lead to the view from any other; callers and callees stay what stands beside the functions.
    await page.keyboard.press("3");
    await page.getByRole("combobox", { name: "Show as" }).waitFor();
    await eventually(async () => assert.ok(!(await page.evaluate(() => location.hash)).includes("lines=")));
    await page.keyboard.press("2");
    await tab.tree().waitFor();
    await page.keyboard.press("5");
    await assembly(page).waitFor();
    await tab.close();
  });

  scene("a45 the hottest line of a selected function stands beside the graph, and an inlined one leads to its code", async () => {
    const tab = await open({ initPath: axe });
    const { page } = tab;
    await tab.view(/Flame graph/);
    await page
      .locator(".breadcrumb")
      .getByRole("button", { name: /^tides\.c:\d+$/ })
      .waitFor();
    const panel = await tab.select("lift_droplet");
    const near = panel.getByRole("region", { name: "Hottest code" });
    const instructions = near.getByRole("region", { name: "Instructions" }).locator("tbody tr");
    await instructions.first().waitFor();
    await tab.drop(source);
    const around = near.getByRole("region", { name: "Lines around the hottest" }).locator("tbody tr");
    await around.first().waitFor();
    const cells = async (rows) =>
      await rows.evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const text = readFileSync(source, "utf8").split("\n");
    const shown = await cells(around);
    assert.equal(shown.length, 10);
    // All begin with as much space as the one with the least.
    const known = shown.map(([, line]) => text[line - 1]);
    const margin = Math.min(...known.filter((line) => line !== "").map((line) => line.search(/\S/)));
    assert.deepEqual(
      shown.map(([, , words]) => words),
      known.map((line) => line.slice(margin)),
    );
    const [[, hottest]] = await cells(near.locator("tr.marked"));
    const begins = text.findIndex((line) => /^INLINE .* lift_droplet\(/.test(line)) + 1;
    const ends = text.indexOf("}", begins) + 1;
    assert.ok(hottest > begins && hottest <= ends, `${hottest} is a line of lift_droplet`);
    const { pieces } = await listed(tab, "rolling_sea");
    const weightOf = (line) => pieces[0].lineWeight[pieces[0].lineNumber.indexOf(line)] ?? 0;
    const heaviest = Math.max(...Array.from({ length: ends - begins + 1 }, (_, at) => weightOf(begins + at)));
    assert.equal(weightOf(Number(hottest)), heaviest);
    // Shares are of what is inlined there, and say so.
    const name = pieces[0].functions.ends.findIndex((_, at) => textAt(pieces[0].functions, at) === "lift_droplet");
    const inlined = Array.from(pieces[0].starts.keys()).filter((at) => pieces[0].inlined[at] === name);
    const sumOf = (rows) => rows.reduce((sum, at) => sum + pieces[0].instructionWeight[at], 0);
    const share = (100 * sumOf(inlined.filter((at) => pieces[0].line[at] === Number(hottest)))) / sumOf(inlined);
    const words = await near.locator("p").innerText();
    assert.match(words, /of lift_droplet in rolling_sea$/);
    assert.ok(Math.abs(Number(/ ([0-9.]+)\s%/.exec(words)[1]) - share) < 0.06, `${words}: ${share}`);
    const own = Array.from(pieces[0].starts.keys()).filter((at) => pieces[0].line[at] === Number(hottest));
    const addresses = own.map((at) => (BigInt(pieces[0].startInFile) + BigInt(pieces[0].starts[at])).toString(16));
    const told = (await cells(instructions)).map(([, address]) => address);
    assert.equal(told.length, Math.min(10, own.length));
    assert.deepEqual(
      told.filter((address) => !addresses.includes(address)),
      [],
    );
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("a45-selection");
    await panel.getByRole("button", { name: "Source", exact: true }).click();
    await page.getByRole("grid", { name: "Instructions of rolling_sea" }).waitFor();
    await tab.close();
  });

  scene("a45 without the program there are addresses, and what to drop is said", async () => {
    const tab = await open({ files: [], initPath: axe });
    const { page } = tab;
    await page.getByRole("note").filter({ hasText: "No file matches tides" }).first().waitFor();
    await page.getByRole("heading", { name: "Hot instructions" }).waitFor();
    assert.deepEqual(await tab.findings(), []);
    await tab.drop(program);
    await choose(tab, "rolling_sea");
    await page.getByRole("heading", { name: "Assembly" }).waitFor();
    await tab.close();
  });

  scene("a45 perftab view hands out the source that the code on its machine was made of", async () => {
    const tab = await Tab.open(`${await parts.view(recording)}#s2&view=source`, { browser: "own" });
    const { page } = tab;
    await choose(tab, "rolling_sea");
    await page.locator(".part-head", { hasText: `checked against the MD5 in the debug information: ${source}` }).waitFor();
    await isOf(page, source);
    await tab.close();
    // From a server that the user agrees to; one that fails is named, and asked again where that is wanted.
    let isUp = false;
    const server = createServer((_, response) => {
      response.writeHead(isUp ? 200 : 500).end(isUp ? readFileSync(source) : "");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = `http://127.0.0.1:${server.address().port}`;
    const remote = await parts.view(recording, "--prefix", parts.path("nowhere"), "--debuginfod", address);
    const far = await Tab.open(`${remote}#s2&view=source`, { browser: "own" });
    await choose(far, "rolling_sea");
    const note = far.page.locator(".source-note");
    await note.getByRole("button", { name: "Ask debuginfod…" }).click();
    await far.page.getByRole("dialog").getByRole("button", { name: "Ask", exact: true }).click();
    await note.filter({ hasText: `${address} answered 500` }).waitFor();
    isUp = true;
    await note.getByRole("button", { name: "Ask again" }).click();
    await far.page.locator(".part-head", { hasText: "the MD5 in the debug information: a debuginfod server" }).waitFor();
    await isOf(far.page, source);
    // The console names requests that failed.
    far.browser.errors.length = 0;
    await far.close();
    server.closeAllConnections();
    server.close();
  });

  scene("a45 perftab view hands out the code of a build whose debug file has none", async () => {
    const [stripped, debug] = [parts.path("split", "tides"), parts.path("debug", "tides.debug")];
    run("objcopy", ["--only-keep-debug", program, debug]);
    run("objcopy", ["--strip-debug", program, stripped]);
    const recorded = parts.record("split.perf.data", ["-F", "4999"], [stripped, "30"]);
    const tab = await Tab.open(`${await parts.view(recorded, "--image", debug)}#s2&view=source`, { browser: "own" });
    const { page } = tab;
    await choose(tab, "rolling_sea");
    await page.getByRole("heading", { name: "Assembly" }).waitFor();
    await assembly(page).locator(".row", { hasText: "lift_droplet inlined" }).first().waitFor();
    await tab.close();
  });

  scene(
    "a45 of 20,000 instructions and 50,000 lines there are elements for what is in sight",
    async () => {
      const long = parts.path("long", "long.c");
      const body = 'for (long i = 0; i < 40000; i++) asm volatile(".rept 20000\\n\\tnop\\n\\t.endr");';
      writeFileSync(long, `${"\n".repeat(50_000)}int main(void) {\n  ${body}\n  return 0;\n}\n`);
      const built = parts.path("long", "long");
      run("gcc", ["-O2", "-g", "-Wl,--build-id=sha1", "-o", built, long]);
      const recorded = parts.record("long.perf.data", ["-F", "4999"], [built]);
      const tab = await Tab.open(`${host}#s2&view=source`);
      const { page } = tab;
      await tab.drop(recorded, built);
      await page.locator(".file-name", { hasText: "long.perf.data" }).waitFor();
      await tab.status("long", "matched");
      await choose(tab, "main");
      await page.getByRole("note").filter({ hasText: "drop that file here" }).waitFor();
      // Two of that name: which one it is, only the user knows.
      const [one, two] = ["one", "two"].map((folder) => parts.path(folder, "long.c"));
      writeFileSync(one, "// another\n");
      copyFileSync(long, two);
      await tab.dropFromOutside(dirname(one), dirname(two));
      await page.getByRole("note").filter({ hasText: "2 files end like this path" }).waitFor();
      const isTwo = page.locator(".part-head", { hasText: "not checked, as no MD5 is known: /two/long.c" });
      await page.getByRole("button", { name: "/one/long.c" }).click();
      // A choice can be taken back.
      await page.getByRole("button", { name: "Other file…" }).click();
      await page.getByRole("button", { name: "/two/long.c" }).focus();
      await page.keyboard.press("Enter");
      await isTwo.waitFor();
      for (const [grid, least, last] of [
        [assembly(page), 20_000, "ret"],
        [lines(page), 50_000, "}"],
      ]) {
        assert.ok(Number(await grid.getAttribute("aria-rowcount")) > least);
        await grid.focus();
        await page.keyboard.press("End");
        await grid.locator(".row.selected .code", { hasText: last }).waitFor();
        const rows = await grid.locator(".row").count();
        assert.ok(rows < 200, `${rows} rows`);
      }
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a45 a page without perftab view asks debuginfod for sources once the user has agreed", async () => {
    const readable = { "access-control-allow-origin": "*" };
    const [id] = /[0-9a-f]{40}/.exec(run("readelf", ["-n", program]));
    const asked = [];
    const serve = async (answer) => {
      const server = createServer((request, response) => {
        asked.push([server.address().port, request.url]);
        answer(response);
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      return server;
    };
    const servers = [
      await serve((response) => response.writeHead(200).end(readFileSync(source))),
      await serve((response) => response.writeHead(404, readable).end()),
      await serve((response) => response.writeHead(200, readable).end(readFileSync(edited))),
      await serve((response) => response.writeHead(200, readable).end(readFileSync(source))),
    ];
    const [locked, empty, other, good] = servers.map((server) => `127.0.0.1:${server.address().port}`);
    try {
      const tab = await open();
      const { page } = tab;
      await choose(tab, "rolling_sea");
      const note = page.locator(".source-note");
      const agree = async (hosts) => {
        await note.getByRole("button", { name: "Ask debuginfod…" }).click();
        const dialog = page.getByRole("dialog", { name: "Fetch from debuginfod" });
        await dialog.getByRole("textbox").fill(hosts.map((host) => `http://${host}`).join(" "));
        await dialog.getByText("asked for source files").waitFor();
        await dialog.getByRole("button", { name: "Ask", exact: true }).click();
      };
      await note.filter({ hasText: "drop that file here" }).waitFor();
      assert.deepEqual(asked, []);
      await agree([locked, empty]);
      await note.filter({ hasText: `${locked} does not let web pages read its answers` }).waitFor();
      await note.filter({ hasText: `${empty} does not have it` }).waitFor();
      await page
        .locator(".status-network", { hasText: `Sent 1 build-id and 1 path of a source to ${locked}, ${empty}` })
        .waitFor();
      // Who did not say whether it has it is asked again where that is wanted.
      const times = () => asked.filter(([port, path]) => port === servers[0].address().port && path !== "/").length;
      const before = times();
      await note.getByRole("button", { name: "Ask again" }).click();
      await eventually(() => assert.ok(times() > before));
      await agree([other]);
      await note.filter({ hasText: `${other}: not the file that was compiled` }).waitFor();
      assert.ok(!(await lines(page).innerText()).includes("settle_foam("), "nothing of it is shown");
      await agree([other, good]);
      await page.locator(".part-head", { hasText: `checked against the MD5 in the debug information: ${good}` }).waitFor();
      await isOf(page, source);
      const of = asked.filter(([, path]) => path !== "/");
      assert.deepEqual([...new Set(of.map(([, path]) => path))], [`/buildid/${id}/source${source}`]);
      // The console names requests that failed.
      tab.browser.errors.length = 0;
      await tab.close();
    } finally {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    }
  });

  if (isInstalled("clang")) {
    scene(
      "a45 source that the compiler put into the debug information needs no file",
      async () => {
        const [text, built] = [parts.path("inside", "tides.c"), parts.path("inside", "inside")];
        copyFileSync(tidesSource, text);
        const flags = ["-O2", "-gdwarf-5", "-gembed-source", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"];
        run("clang", [...flags, "-o", built, text]);
        const recorded = parts.record("inside.perf.data", ["-F", "4999"], [built, "30"]);
        const tab = await Tab.open(`${host}#s2&view=source`);
        const { page } = tab;
        await tab.drop(recorded, built);
        await page.locator(".file-name", { hasText: "inside.perf.data" }).waitFor();
        await tab.status("inside", "matched");
        await choose(tab, "rolling_sea");
        await page.locator(".part-head", { hasText: "from the debug information, checked against the MD5 there" }).waitFor();
        await isOf(page, tidesSource);
        await tab.close();
      },
      { tier: "all" },
    );
  }
});
