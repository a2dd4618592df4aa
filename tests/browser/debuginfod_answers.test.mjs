// What a debuginfod may answer to a page that asks it directly, each with its own words: the file, nothing, another
// build, no binary, too much, no permission to read, no answer at all, and an answer that is cancelled half way. Of
// several servers each has its own outcome, and none is asked twice unless the user asks again.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { describe } from "node:test";
import { Parts, buildId, debuginfodManual, html, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
let host;
let recording;
let wanted;
let program;
let rebuilt;

beforeScenes(async () => {
  const file = parts.compile(["tides"]);
  const other = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  const second = parts.compile(["driftwood"], "-O1");
  recording = parts.record("tides.perf.data", ["-F", "999"], ["sh", "-c", `${file} 12; ${second} 6`]);
  wanted = buildId(file);
  program = readFileSync(file);
  rebuilt = readFileSync(other);
  host = await parts.host();
});

/** What ends each server: one that a failed test left would keep this process. */
const servers = new Set();

afterScenes(() => {
  for (const end of servers) end();
  return parts.end();
});

/** By the id in os-release: where elfutils' documents say that distributions have theirs. */
const PUBLIC_SERVERS = {
  debian: "debuginfod.debian.net",
  ubuntu: "debuginfod.ubuntu.com",
  fedora: "debuginfod.fedoraproject.org",
  arch: "debuginfod.archlinux.org",
  "opensuse-leap": "debuginfod.opensuse.org",
  "opensuse-tumbleweed": "debuginfod.opensuse.org",
};

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
    servers.delete(end);
    server.closeAllConnections();
    server.close();
  };
  servers.add(end);
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
async function answered(address, status, words, name) {
  const { tab, row } = await ask(address);
  await row.getByText(words).waitFor();
  if (name !== undefined) await tab.pictures(`a07-${name}`, { sheet: "full" });
  assert.equal(await row.getAttribute("data-status"), status);
  await tab.page.locator(".status-network", { hasText: /^Sent 1 build-id to 127\.0\.0\.1:\d+$/ }).waitFor();
  // The console names failed requests; that is the browser's own remark, not a fault of the page.
  tab.browser.errors.length = 0;
  await tab.close();
}

describe("a debuginfod asked by the page itself", () => {
  scene("a07 11a the executable is used where there is no debug file, and only the build-id is sent", async () => {
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

  for (const [what, tier, code, headers, body, words, name] of [
    ["not found", "fast", 404, READABLE, () => "", /^Not on 127\.0\.0\.1:\d+$/, "not-found"],
    ["another build", "fast", 200, READABLE, () => rebuilt, "It sent another build; not used", "wrong-bytes"],
    [
      "no binary",
      "all",
      200,
      READABLE,
      () => "<html>",
      /^127\.0\.0\.1:\d+ sent a file that could not be read: .*3c 68 74 6d/,
      "no-binary",
    ],
    ["too large", "all", 200, { ...READABLE, "content-length": 5e9 }, null, /has a file over 4 GB; not fetched$/, "too-large"],
    ["failed", "all", 500, READABLE, () => "", /: answered 500$/, "fails"],
    // It answers, and a page may not read it: a 404 and a file look the same.
    [
      "unreadable",
      "fast",
      404,
      {},
      () => "",
      /^127\.0\.0\.1:\d+ does not let web pages read its answers \(no CORS\)\. Use perftab view\.$/,
      "unreadable",
    ],
    ["an unreadable file", "all", 200, {}, () => program, /\(no CORS\)/],
  ]) {
    scene(
      `a07 11b ${what} has words of its own`,
      async () => {
        const server = await serve((_, response) => {
          response.writeHead(code, headers);
          if (body === null) response.write("a beginning");
          else response.end(body());
        });
        await answered(server.address, "missing", words, name);
        server.end();
      },
      { tier },
    );
  }

  scene("a07 11b a server that is down has words of its own", async () => {
    const gone = await serve(() => {});
    gone.end();
    await answered(gone.address, "missing", "Server did not answer. If the browser blocks it, use perftab view", "down");
  });

  scene(
    "11c by perftab view, a server that fails is named with its reason, and nothing found says where it looked",
    async () => {
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
        await tab.page
          .getByRole("dialog", { name: "Fetch from debuginfod" })
          .getByRole("button", { name: /^Fetch/ })
          .click();
        await row.getByText(words(server.address), { exact: true }).waitFor();
        // The console names failed requests; that is the browser's own remark, not a fault of the page.
        tab.browser.errors.length = 0;
        await tab.close();
        server.end();
      }
    },
    { tier: "all" },
  );

  scene("a07 11d a fetch says how much has come, and Cancel ends it at the server", async () => {
    let closed;
    const server = await serve((_, response) => {
      response.writeHead(200, { ...READABLE, "content-length": 13.2e6 });
      response.write(Buffer.alloc(6.1e6));
      closed = once(response, "close");
    });
    const { tab, row } = await ask(server.address);
    await row.getByText(/^6\.1 of 13\.2 MB, 127\.0\.0\.1:\d+$/).waitFor();
    assert.equal(await row.getByRole("progressbar").getAttribute("aria-valuenow"), "46");
    await tab.pictures("a07-size-and-cancel", { sheet: "full" });
    await row.getByRole("button", { name: /^Cancel/ }).click();
    await closed;
    await row.getByRole("progressbar").waitFor({ state: "detached" });
    await row.getByRole("button", { name: "Fetch tides" }).waitFor();
    assert.equal(await row.getAttribute("data-status"), "missing");
    tab.browser.errors.length = 0;
    await tab.close();
    server.end();
  });

  scene(
    "11e of several servers each is asked in turn, and says what came of it; asked again only by hand",
    async () => {
      const nothing = (_, response) => {
        response.writeHead(404, READABLE);
        response.end();
      };
      const [first, second] = [await serve(nothing), await serve(nothing)];
      const gone = await serve(() => {});
      gone.end();
      const host = ({ address }) => new URL(address).host;
      const { tab, row } = await ask([first, gone, second].map(({ address }) => address).join("  "));
      const { page } = tab;
      await row.getByText(`${host(gone)} did not answer`, { exact: true }).waitFor();
      assert.deepEqual(first.asked, [`/buildid/${wanted}/debuginfo`, `/buildid/${wanted}/executable`]);
      assert.deepEqual(second.asked, first.asked, "the one that is down keeps nobody from the next");
      const network = page.locator(".status-network");
      await eventually(async () => {
        assert.equal((await network.innerText()).trim(), `Sent 1 build-id to ${[first, gone, second].map(host).join(", ")}`);
      });

      await row.locator(".dso-name").click();
      await page.getByTitle("Show DSOs at full width").click();
      const tried = page.getByRole("region", { name: "Tried" });
      const said = Object.fromEntries(
        await tried
          .locator("dt")
          .evaluateAll((terms) => terms.map((term) => [term.textContent, term.nextElementSibling.textContent])),
      );
      assert.deepEqual(said, {
        [host(first)]: "does not have it",
        [host(gone)]: "did not answer",
        [host(second)]: "does not have it",
      });
      await tab.pictures("a07-tried");
      await page.keyboard.press("Escape");

      // Those that answered are not asked again with all others, the one that was down is.
      await page.getByRole("button", { name: /^Fetch \d+ from debuginfod$/ }).click();
      await page.locator(".status-work").waitFor({ state: "detached" });
      assert.equal(first.asked.filter((path) => path.includes(wanted)).length, 2);
      assert.equal(second.asked.filter((path) => path.includes(wanted)).length, 2);
      await row.getByRole("button", { name: "Fetch tides" }).click();
      await row.getByText(`${host(gone)} did not answer`, { exact: true }).waitFor();
      assert.equal(second.asked.filter((path) => path.includes(wanted)).length, 4);
      tab.browser.errors.length = 0;
      await tab.close();
      first.end();
      second.end();
    },
    { tier: "all" },
  );

  scene(
    "11f the second server has what the first has not",
    async () => {
      const empty = await serve((_, response) => {
        response.writeHead(404, READABLE);
        response.end();
      });
      const full = await serve((_, response) => {
        response.writeHead(200, READABLE);
        response.end(program);
      });
      const { tab } = await ask(`${empty.address} ${full.address}`);
      await tab.status("tides", "matched");
      assert.equal(empty.asked.length, 2);
      assert.deepEqual(full.asked, [`/buildid/${wanted}/debuginfo`]);
      tab.browser.errors.length = 0;
      await tab.close();
      empty.end();
      full.end();
    },
    { tier: "all" },
  );

  scene(
    "a07 11g two at a time, most samples first, and Cancel all ends them",
    async () => {
      const closed = [];
      let bothAsked;
      const both = new Promise((done) => (bothAsked = done));
      const server = await serve((_, response) => {
        response.writeHead(200, { ...READABLE, "content-length": program.length });
        response.write(program.subarray(0, 4096));
        if (closed.push(once(response, "close")) === 2) bothAsked();
      });
      const tab = await Tab.open(host);
      const { page } = tab;
      await tab.drop(recording);
      await tab.opened();
      const ledger = Object.values(await tab.ledger())
        .filter(({ status }) => status === "missing")
        .map(({ buildId }) => buildId);
      assert.ok(ledger.length > 2, "more are missing than are fetched at once");
      await page.getByRole("button", { name: /^Fetch \d+ from debuginfod$/ }).click();
      const dialog = page.getByRole("dialog", { name: "Fetch from debuginfod" });
      await dialog.getByRole("textbox").fill(server.address);
      await dialog.getByRole("button", { name: /^Fetch/ }).click();
      await both;
      assert.deepEqual(
        server.asked.map((path) => path.split("/")[2]),
        ledger.slice(0, 2),
      );
      const work = page.locator(".status-work");
      await work.filter({ hasText: new RegExp(`^Fetching 1 of ${ledger.length} from 127.0.0.1:\\d+`) }).waitFor();
      await tab.pictures("a07-fetching");
      await work.getByRole("button", { name: "Cancel all" }).click();
      await Promise.all(closed);
      await work.waitFor({ state: "detached" });
      assert.equal(server.asked.length, 2, "what waited was never asked for");
      tab.browser.errors.length = 0;
      await tab.close();
      server.end();
    },
    { tier: "all" },
  );

  scene(
    "11i once ticked, a server is asked as soon as a profile opens, until the tick or the server goes",
    async () => {
      const server = await serve((path, response) => {
        response.writeHead(path === `/buildid/${wanted}/debuginfo` ? 200 : 404, READABLE);
        response.end(path === `/buildid/${wanted}/debuginfo` ? program : "");
      });
      const tab = await Tab.open(host);
      const { page } = tab;
      const askAll = async () => {
        await page.getByRole("button", { name: /^Sort DSOs: / }).click();
        await page.getByRole("button", { name: "debuginfod servers…" }).click();
        return page.getByRole("dialog", { name: "Fetch from debuginfod" });
      };
      const again = async () => {
        await page.reload();
        await page.getByRole("heading", { name: "Drag files or a folder here" }).waitFor();
        server.asked.length = 0;
        await tab.drop(recording);
        await tab.opened();
      };
      await tab.drop(recording);
      await tab.opened();
      const dialog = await askAll();
      await dialog.getByRole("textbox").fill(server.address);
      await dialog.getByRole("checkbox", { name: /^Fetch automatically/ }).check();
      await tab.settled();
      assert.deepEqual(server.asked, [], "nothing before the button that says what is sent");
      await dialog.getByRole("button", { name: /^Fetch \d/ }).click();
      await tab.status("tides", "matched");
      await again();
      await tab.status("tides", "matched");
      assert.ok(server.asked.length > 0);

      const second = await askAll();
      await second.getByRole("checkbox", { name: /^Fetch automatically/ }).uncheck();
      await second.getByRole("button", { name: "Not now" }).click();
      await again();
      await tab.settled();
      assert.deepEqual(server.asked, []);
      assert.equal((await tab.ledger()).tides.status, "missing");
      tab.browser.errors.length = 0;
      await tab.close();
      server.end();
    },
    { tier: "all" },
  );

  scene(
    "11h elfutils' own server does not let web pages read it, and that is said",
    async (t) => {
      if (!isInstalled("debuginfod")) {
        console.log("SKIPPED: a real debuginfod asked by a page: debuginfod is not installed");
        return t.skip();
      }
      writeFileSync(parts.path("served", "bin", "any-name"), program);
      const address = await parts.debuginfod(parts.path("served"));
      const reply = await fetch(`${address}/buildid/${wanted}/debuginfo`);
      if (reply.headers.has("access-control-allow-origin")) {
        console.log("SKIPPED: a real debuginfod asked by a page: this one lets pages read its answers");
        return t.skip();
      }
      await answered(address, "missing", /does not let web pages read its answers \(no CORS\)\. Use perftab view\.$/);
    },
    { tier: "all" },
  );

  scene(
    "a07 11k the server of the recording's distribution is suggested, with what it would see, and asked by no click but Fetch",
    async (t) => {
      const id = /^ID="?([^"\n]*)/m.exec(existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "")?.[1];
      const server = PUBLIC_SERVERS[id];
      if (server === undefined) {
        console.log(`SKIPPED: the server of the recording's distribution: ${id ?? "this one"} has none that the test knows`);
        return t.skip();
      }
      const tab = await Tab.open(host);
      const { page } = tab;
      const requests = [];
      page.context().on("request", (request) => requests.push(request.url()));
      await tab.drop(recording);
      await tab.opened();
      const missing = Object.values(await tab.ledger()).filter(({ status }) => status === "missing").length;
      await page.getByRole("button", { name: /^Fetch \d+ from debuginfod$/ }).click();
      const dialog = page.getByRole("dialog", { name: "Fetch from debuginfod" });
      assert.ok(await dialog.getByRole("button", { name: /^Fetch/ }).isDisabled());
      await dialog.getByText(/^Recorded on .*\. The public server of .* may have what its packages brought\./).waitFor();
      await tab.pictures("19-suggested");
      const add = dialog.getByRole("button", { name: `Add ${server}`, exact: true });
      await add.click();
      await add.waitFor({ state: "detached" });
      const field = dialog.getByRole("textbox");
      assert.equal(await field.inputValue(), `https://${server}/`);
      assert.ok(await field.evaluate((it) => it === document.activeElement));
      const sees = `${server} is asked for ${missing} build-ids. It also sees your IP address. When you look at code, its source files are asked for by their paths, too. Nothing else from the profile is sent.`;
      await dialog.getByText(sees, { exact: true }).waitFor();
      const command = `DEBUGINFOD_URLS=https://${server} perftab view tides.perf.data`;
      await dialog.getByText(command, { exact: true }).waitFor();
      await tab.pictures("19-added");
      await dialog.getByRole("button", { name: "Not now" }).click();
      await dialog.waitFor({ state: "detached" });
      // Nor is it kept for the next profile.
      assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("debuginfod.")), false);
      assert.deepEqual(
        requests.filter((url) => /^https?:/.test(url) && new URL(url).origin !== new URL(host).origin),
        [],
      );
      await tab.close();
    },
    { tier: "all" },
  );

  for (const [proxy, start] of [
    ["nginx", (example, address) => parts.nginx(example.replace("http://127.0.0.1:8002", address))],
    [
      "caddy",
      (example, address) =>
        parts.caddy((site) =>
          example.replace("debuginfod.example.org", site).replace("127.0.0.1:8002", address.replace("http://", "")),
        ),
    ],
  ]) {
    scene(
      `11j the example for ${proxy} lets the page read a real debuginfod`,
      async (t) => {
        const missing = ["debuginfod", proxy].filter((program) => !isInstalled(program));
        if (missing.length > 0) {
          console.log(`SKIPPED: the example for ${proxy}: ${missing.join(", ")} not installed`);
          return t.skip();
        }
        writeFileSync(parts.path("served", "bin", "any-name"), program);
        const example = new RegExp(`\`\`\`${proxy}\n(.*?)\`\`\``, "s").exec(readFileSync(debuginfodManual, "utf8"))[1];
        const address = await start(example, await parts.debuginfod(parts.path("served")));
        const { tab, row } = await ask(address);
        await tab.status("tides", "matched");
        await row.getByText("inlines and source lines").waitFor();
        // What it has not is no refusal.
        const other = tab.page
          .locator(".dso-row")
          .filter({ has: tab.page.getByRole("button", { name: "driftwood", exact: true }) });
        await other.getByRole("button", { name: "Fetch driftwood" }).click();
        await other.getByText(`Not on ${new URL(address).host}`, { exact: true }).waitFor();
        const size = await tab.page.evaluate(async (url) => {
          const reply = await fetch(url, { credentials: "omit" });
          return [Number(reply.headers.get("x-debuginfod-size")), (await reply.blob()).size];
        }, `${address}/buildid/${wanted}/debuginfo`);
        assert.deepEqual(size, [program.length, program.length]);
        tab.browser.errors.length = 0;
        await tab.close();
      },
      { tier: "all" },
    );
  }
});

/** Runs in the page before its own script: notes what its worker is asked, and when. */
function noteCalls() {
  window.perftabAsked = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message.type === "call") window.perftabAsked.push({ method: message.method, at: performance.now() });
    return post.call(this, message, ...rest);
  };
}

describe("perftab view", () => {
  scene("shows the first picture before it asks for files, and names them all", async () => {
    const tab = await Tab.open(await parts.view(recording), { init: noteCalls });
    const { page } = tab;
    await page.waitForFunction(() => window.perftabAsked.some(({ method }) => method === "fetchDebuginfod"));
    const [painted, opened, asked] = await page.evaluate(() => {
      const first = (wanted) => window.perftabAsked.find(({ method }) => method === wanted).at;
      return [performance.getEntriesByName("perftab:flame-graph")[0]?.startTime, first("flameGraph"), first("fetchDebuginfod")];
    });
    // On a machine that is too busy to paint it goes on all the same, after three seconds.
    const isTooBusy = asked - opened >= 3000;
    assert.ok(painted < asked || isTooBusy, `opened at ${opened}, painted at ${painted}, files asked for at ${asked}`);
    await eventually(async () => {
      const { dsos } = await tab.ask("info");
      const named = dsos.filter(({ status, leaf_samples }) => status === "matched" && leaf_samples > 0).map(({ name }) => name);
      assert.ok(named.includes("tides") && named.includes("driftwood"), named.join());
    });
    await tab.close();
  });

  scene("asks servers for what a stripped file of this machine lacks, after a click", async () => {
    const bare = parts.path("bare");
    run("strip", ["-o", bare, parts.path("tides")]);
    const ofBare = parts.record("bare.perf.data", ["-F", "999"], [bare, "8"]);
    const { address, asked } = await serve((path, response) => {
      const isIt = path === `/buildid/${wanted}/debuginfo`;
      response.writeHead(isIt ? 200 : 404, isIt ? { "content-length": program.length } : {});
      response.end(isIt ? program : "");
    });
    const tab = await Tab.open(await parts.view(ofBare, "--debuginfod", address));
    await tab.opened();
    const row = await tab.status("bare", "no-symbols");
    assert.deepEqual(asked, []);
    await row.getByRole("button", { name: "Fetch bare" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "Fetch from debuginfod" });
    await dialog.getByRole("button", { name: /^Fetch/ }).click();
    await tab.status("bare", "matched");
    assert.ok((await tab.functions()).some(({ name, dso }) => name === "lift_droplet" && dso === "bare"));
    // The console names what was not found; that is the browser's own remark.
    tab.browser.errors.length = 0;
    await tab.close();
  });

  scene("finds a file without a build-id where it ran, and asks no server for it", async () => {
    const plain = parts.path("plain");
    run("objcopy", ["--remove-section=.note.gnu.build-id", parts.path("tides"), plain]);
    const ofPlain = parts.record("plain.perf.data", ["-F", "999"], [plain, "8"]);
    const { address, asked } = await serve((_, response) => response.writeHead(404).end());
    const tab = await Tab.open(await parts.view(ofPlain, "--debuginfod", address));
    await tab.opened();
    await tab.status("plain", "matched");
    const { dsos } = await tab.ask("info");
    assert.equal(dsos.find(({ name }) => name === "plain").identity, "content");
    assert.ok((await tab.functions()).some(({ name, dso }) => name === "lift_droplet" && dso === "plain"));
    assert.match(await tab.page.locator(".status-network").innerText(), /^Nothing was sent/);
    assert.deepEqual(asked, []);
    await tab.close();
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
