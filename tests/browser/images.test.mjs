// Files have a worker of their own, beside that of the profile: when it begins, what it leaves when it ends, and that two
// profiles each get their names.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { Parts, html } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const parts = new Parts();
let program;
let recording;
let again;
let other;

beforeScenes(() => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "8"]);
  again = parts.record("again.perf.data", ["-F", "1999"], [program, "8"]);
  other = parts.record("other.perf.data", ["-F", "999"], [parts.compile(["driftwood"], "-O1"), "6"]);
});

afterScenes(() => parts.end());

/** The workers of a tab in a browser of its own, those of workers too. */
async function workers(tab) {
  const devTools = await tab.page.context().browser().newBrowserCDPSession();
  const { targetInfos } = await devTools.send("Target.getTargets", { filter: [{ type: "worker" }] });
  await devTools.detach();
  return targetInfos.map(({ targetId }) => targetId);
}

/** A debuginfod that leaves it to `answer` what it sends; a page may read it. */
async function serve(answer) {
  const server = createServer((_request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    answer(response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}`, end };
}

/** Asks `address` for the program by a click. */
async function fetchTides(tab, address) {
  const { page } = tab;
  const row = page.locator(".dso-row").filter({ has: page.getByRole("button", { name: "tides", exact: true }) });
  await row.getByRole("button", { name: "Fetch tides" }).click();
  const dialog = page.getByRole("dialog", { name: "Fetch from debuginfod" });
  await dialog.getByRole("textbox").fill(address);
  await dialog.getByRole("button", { name: /^Fetch/ }).click();
}

const namesOf = async (tab) => (await tab.functions()).filter(({ dso }) => dso === "tides").map(({ name }) => name);

scene("a worker for files begins with the first one, and ends with its profile", async () => {
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own" });
  await tab.drop(recording);
  await tab.opened();
  const [first, ...more] = await workers(tab);
  assert.deepEqual(more, [], "one worker, as long as no file is given");

  await tab.drop(program);
  await tab.status("tides", "matched");
  await tab.settled();
  assert.ok((await namesOf(tab)).includes("main"));
  const [ofTides] = (await workers(tab)).filter((id) => id !== first);
  assert.ok(ofTides !== undefined);

  // Files are kept for the next profile, so it has such a worker too: its own.
  await tab.drop(other);
  await tab.page.locator(".dso-row", { hasText: "driftwood" }).first().waitFor();
  await tab.settled();
  await eventually(async () => assert.ok(!(await workers(tab)).includes(ofTides)));
  assert.ok((await workers(tab)).includes(first));
  await tab.close();
});

scene("a profile that is replaced gets no names any more, and nothing is fetched for it", async () => {
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own" });
  let begin;
  const begun = new Promise((resolve) => (begin = resolve));
  let asked = 0;
  const server = await serve((response) => {
    asked += 1;
    if (asked === 1) {
      response.write("\x7fELF");
      begin({ ended: once(response, "close") });
    } else {
      response.writeHead(404).end();
    }
  });
  await tab.drop(recording);
  await tab.opened();
  const [first] = await workers(tab);
  await fetchTides(tab, server.address);
  const { ended } = await begun;
  const [ofFiles] = (await workers(tab)).filter((id) => id !== first);
  await tab.drop(again);
  await ended;
  await tab.page.locator(".file-name", { hasText: "again" }).waitFor();
  await tab.settled();
  await eventually(async () => assert.ok(!(await workers(tab)).includes(ofFiles)));
  assert.ok((await workers(tab)).includes(first));
  assert.equal((await tab.ledger()).tides.status, "missing");
  assert.ok((await namesOf(tab)).every((name) => name.startsWith("0x")));

  // It is a profile like any other.
  await tab.drop(program);
  await tab.status("tides", "matched");
  await tab.settled();
  assert.ok((await namesOf(tab)).includes("main"));
  server.end();
  tab.browser.errors.length = 0;
  await tab.close();
});

scene("what is fetched for one of two profiles names both", async () => {
  const tab = await Tab.open(await parts.host(), { browser: "own", height: 3000 });
  const bytes = readFileSync(program);
  const server = await serve((response) => response.end(bytes));
  await tab.drop(recording, again);
  await tab.page.getByRole("button", { name: "Open both to compare" }).click();
  await tab.page.getByRole("heading", { name: "Comparing two profiles" }).waitFor();
  await tab.settled();
  const statuses = async () => {
    const { info, second } = await tab.ask("facts", { query: QUERY, sought: [] });
    return [info, second.info].map(({ dsos }) => dsos.find(({ name }) => name === "tides").status);
  };
  assert.deepEqual(await statuses(), ["missing", "missing"]);
  const { name, identity, build_id } = (await tab.ask("info")).dsos.find((row) => row.name === "tides");
  const request = { server: { kind: "debuginfod", url: server.address, host: "a server" }, dso: { name, identity, build_id } };
  const { answers } = await tab.ask("fetchDebuginfod", { ...request, which: "second" });
  assert.deepEqual(
    answers.map(({ outcome }) => outcome),
    ["found"],
  );
  assert.deepEqual(await statuses(), ["matched", "matched"]);
  await tab.ask("nameFrames");
  const { coverage, second } = await tab.ask("facts", { query: QUERY, sought: [] });
  for (const { named, frames } of [coverage, second.coverage])
    assert.ok(named > frames / 2, `${named} of ${frames} frames named`);
  // One for the profiles, and one for the files of each.
  assert.equal((await workers(tab)).length, 3);
  server.end();
  await tab.close();
});
