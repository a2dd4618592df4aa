// What a debuginfod may answer to a page that asks it directly, each with its own words: the file, nothing, another
// build, no binary, no permission to read, no answer at all, and an answer that is cancelled half way.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, describe } from "node:test";
import { Parts, buildId, html } from "./recording.mjs";
import { Tab, scene } from "./tab.mjs";

const parts = new Parts();
let host;
let recording;
let wanted;
let program;
let rebuilt;

before(async () => {
  const file = parts.compile(["tides"]);
  const other = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  recording = parts.record("tides.perf.data", ["-F", "499"], [file, "20"]);
  wanted = buildId(file);
  program = readFileSync(file);
  rebuilt = readFileSync(other);
  host = await parts.host();
});

after(() => parts.end());

const READABLE = { "access-control-allow-origin": "*" };

/** A server that answers `answer(path, response)`, and remembers what it was asked. */
async function serve(answer) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    answer(request.url, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}`, asked, end };
}

/** Opens the recording and asks `address` for the program; the row as it then stands. */
async function ask(address) {
  const tab = await Tab.open(host);
  await tab.drop(recording);
  await tab.opened();
  const row = tab.page.locator(".dso-row").filter({ has: tab.page.getByRole("button", { name: "tides", exact: true }) });
  await row.getByRole("button", { name: "Fetch tides" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Fetch from debuginfod" });
  await dialog.getByRole("textbox").fill(address);
  await dialog.getByRole("button", { name: /^Fetch/ }).click();
  return { tab, row };
}

/** The words under the DSO once the server has answered; none of them may have brought a name. */
async function answered(address, status, words) {
  const { tab, row } = await ask(address);
  await row.getByText(words).waitFor();
  assert.equal(await row.getAttribute("data-status"), status);
  assert.match(await tab.page.locator(".status-network").innerText(), /^Sent: 1 build-id, to 127\.0\.0\.1:\d+$/);
  // The console names failed requests; that is the browser's own remark, not a fault of the page.
  tab.browser.errors.length = 0;
  await tab.close();
}

describe("a debuginfod asked by the page itself", () => {
  scene("11a the executable is used where there is no debug file, and only the build-id is sent", async () => {
    const server = await serve((path, response) => {
      const isThere = path.endsWith("/executable");
      response.writeHead(isThere ? 200 : 404, READABLE);
      response.end(isThere ? program : "");
    });
    const { tab, row } = await ask(server.address);
    await tab.status("tides", "matched");
    await row.getByText("inlines and source lines").waitFor();
    assert.deepEqual(server.asked, [`/buildid/${wanted}/debuginfo`, `/buildid/${wanted}/executable`]);
    tab.browser.errors.length = 0;
    await tab.close();
    server.end();
  });

  scene("11b not found, another build, no binary, unreadable and down have each their own words", async () => {
    const answers = [
      [404, READABLE, "", /^Not on 127\.0\.0\.1:\d+$/],
      [200, READABLE, rebuilt, "It sent another build; not used"],
      [200, READABLE, "<html>", /^It sent a file that could not be read: .*3c 68 74 6d/],
      [500, READABLE, "", /^Server did not answer/],
      // Without permission to read it, a 404 and a file look the same to a page.
      [404, {}, "", /^Server did not answer/],
    ];
    for (const [code, headers, body, words] of answers) {
      const server = await serve((_, response) => {
        response.writeHead(code, headers);
        response.end(body);
      });
      await answered(server.address, "missing", words);
      server.end();
    }
    const gone = await serve(() => {});
    gone.end();
    await answered(gone.address, "missing", /^Server did not answer/);
  });

  scene("11c by perftab view, a server that fails is named with its reason, and nothing found says where it looked", async () => {
    const answers = [
      [500, (address) => `${address} answered 500 Internal Server Error`],
      [404, (address) => `Not on this machine, nor on ${new URL(address).host}`],
    ];
    for (const [code, words] of answers) {
      const server = await serve((_, response) => {
        response.writeHead(code);
        response.end();
      });
      const tab = await Tab.open(await parts.view(recording, "--no-local", "--debuginfod", server.address));
      await tab.opened();
      const row = await tab.status("tides", "missing");
      await row.getByRole("button", { name: "Fetch tides" }).click();
      await tab.page.getByRole("dialog", { name: "Fetch from debuginfod" }).getByRole("button", { name: /^Fetch/ }).click();
      await row.getByText(words(server.address), { exact: true }).waitFor();
      // The console names failed requests; that is the browser's own remark, not a fault of the page.
      tab.browser.errors.length = 0;
      await tab.close();
      server.end();
    }
  });

  scene("11d a fetch says how much has come, and Cancel ends it at the server", async () => {
    const half = program.subarray(0, program.length >> 1);
    let closed;
    const server = await serve((_, response) => {
      response.writeHead(200, { ...READABLE, "content-length": program.length });
      response.write(half);
      closed = once(response, "close");
    });
    const { tab, row } = await ask(server.address);
    await row.getByRole("progressbar").waitFor();
    await row.getByRole("button", { name: /^Cancel/ }).click();
    await closed;
    await row.getByRole("progressbar").waitFor({ state: "detached" });
    await row.getByRole("button", { name: "Fetch tides" }).waitFor();
    assert.equal(await row.getAttribute("data-status"), "missing");
    tab.browser.errors.length = 0;
    await tab.close();
    server.end();
  });
});

describe("a page whose worker cannot start", () => {
  scene("12 says so, and that the files are unchanged", async () => {
    const broken = parts.path("broken", "perftab.html");
    writeFileSync(broken, readFileSync(html, "utf8").replace(/(id="wasm">).{100}/, "$1AAAA"));
    const tab = await Tab.open(`file://${broken}`, { spy: false });
    await tab.page.getByRole("heading", { name: "perftab stopped working on this file" }).waitFor();
    await tab.page.getByText("Your files are unchanged.").waitFor();
    await tab.picture("12-worker-cannot-start");
    tab.browser.errors.length = 0;
    await tab.close();
  });
});
