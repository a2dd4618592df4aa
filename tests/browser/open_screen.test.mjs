// The screen before anything is open: the sample profile, what was opened lately, and a hosted copy without network.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { Parts, binary, html, run, samplesByPerf, siteFolder } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

const parts = new Parts();
let host;
let recording;

beforeScenes(async () => {
  host = await parts.host();
  recording = parts.record("ebb.perf.data", ["-F", "999"], [parts.compile(["tides"]), "12"]);
});

afterScenes(() => parts.end());

/** Runs in the page before its own script: which screens are there, one after the other. */
function watchScreens() {
  window.screensSeen = [];
  const screens = { skeleton: ".skeleton", profile: ".view-tabs [role=tab]", open: ".open-main" };
  const look = () => {
    for (const [name, what] of Object.entries(screens))
      if (document.querySelector(what) !== null && window.screensSeen.at(-1) !== name) window.screensSeen.push(name);
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}

/** What a fresh tab shows. */
async function opened(options) {
  const tab = await Tab.open(host, options);
  await tab.page.getByRole("heading", { name: "Drag files or a folder here" }).waitFor();
  return tab;
}

/** Runs in the page before its own script: a file is dropped before that is unpacked. */
function dropEarly(base64) {
  document.addEventListener("DOMContentLoaded", () => {
    const dataTransfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    dataTransfer.items.add(new File([bytes], "early.perf.data"));
    const events = ["dragover", "drop"].map((type) => new DragEvent(type, { dataTransfer, cancelable: true }));
    for (const event of events) window.dispatchEvent(event);
    window.taken = events.every((event) => event.defaultPrevented) && document.querySelector("#app > *") === null;
  });
}

describe("a drop", () => {
  scene("a01 a file that is dropped before the page is ready opens", async () => {
    const script = join(dirname(recording), "drop_early.js");
    writeFileSync(script, `(${dropEarly})(${JSON.stringify(readFileSync(recording).toString("base64"))})`);
    const tab = await Tab.open(host, { initPath: script });
    await tab.opened();
    assert.ok(await tab.page.evaluate(() => window.taken));
    assert.equal(await tab.page.locator(".file-name").innerText(), "early.perf.data");
    await tab.close();
  });
});

describe("the sample profile", () => {
  scene("a01 the sample opens with one click, and nothing is sent", async () => {
    const tab = await opened({ offline: true });
    const requests = [];
    tab.page.on("request", (request) => requests.push(request.url()));
    await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
    await tab.opened();
    assert.deepEqual([...requests.filter((url) => !url.startsWith("blob:")), ...tab.refused], []);
    assert.equal(await tab.page.locator(".status-network").innerText(), "Nothing was sent");
    await tab.pictures("a01-sample");
    await tab.close();
  });

  scene("a01 the sample has names, threads, and DSOs of four statuses", async () => {
    const tab = await opened();
    await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
    await tab.opened();
    await tab.status("mill", "matched");
    const ledger = await tab.ledger();
    const statuses = new Set(Object.values(ledger).map(({ status }) => status));
    assert.deepEqual(statuses, new Set(["matched", "embedded", "missing", "no-identity"]));
    const names = (await tab.functions()).map(({ name }) => name);
    for (const name of ["grind_fine", "turn", "keep_books"]) assert.ok(names.includes(name), name);
    await tab.close();
  });
});

describe("a page that arrives slowly", () => {
  /** A server that sends the page to the middle of its code; `goOn` sends the rest, `giveUp` ends it there. */
  async function slowHost() {
    const page = readFileSync(html);
    const middle = page.indexOf('id="wasm">') + 100_000;
    const replies = [];
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.write(page.subarray(0, middle));
      replies.push(response);
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    return {
      address: `http://127.0.0.1:${server.address().port}/`,
      goOn: () => replies.forEach((reply) => reply.end(page.subarray(middle))),
      giveUp: () => replies.forEach((reply) => reply.end()),
      end: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  }

  scene("shows the open screen first, and opens what is dropped there when it can", async () => {
    const slow = await slowHost();
    const tab = await Tab.open(slow.address, { until: "commit" });
    await tab.page.getByRole("region", { name: "Sample profile" }).waitFor();
    await tab.drop(recording);
    await tab.page.getByText("Reading ebb.perf.data").first().waitFor();
    assert.equal(await tab.page.evaluate(() => document.readyState), "loading");
    slow.goOn();
    await tab.opened();
    await tab.close();
    slow.end();
  });

  scene("shows the sample's progress, and says that the page did not arrive whole", async () => {
    const slow = await slowHost();
    const tab = await Tab.open(slow.address, { until: "commit" });
    const sample = tab.page.getByRole("region", { name: "Sample profile" });
    await sample.getByRole("button", { name: "Open" }).click();
    await sample.getByRole("button", { name: "Loading…" }).waitFor();
    slow.giveUp();
    await tab.page.getByRole("heading", { name: "Part of this page did not arrive." }).waitFor();
    await tab.page.getByRole("button", { name: "Reload" }).click();
    slow.goOn();
    await tab.page.getByRole("region", { name: "Sample profile" }).waitFor();
    await tab.close();
    slow.end();
  });
});

describe("what was opened lately", () => {
  const rows = (tab) => tab.page.getByRole("region", { name: "Recent" }).locator("li");

  /** What the database has of them, once it is there. */
  const stored = (tab) =>
    tab.page.evaluate(
      () =>
        new Promise((resolve) => {
          const open = indexedDB.open("perftab");
          open.onsuccess = () => {
            const all = open.result.transaction("recent").objectStore("recent").getAll();
            all.onsuccess = () => resolve(all.result.map(({ name, when, handles }) => ({ name, when, handles: handles.length })));
          };
        }),
    );

  /** Opens the page again once it has written down what is open since `before`, and with so many handles. */
  async function reloaded(tab, before, handles) {
    await tab.opened();
    await eventually(async () => {
      const all = await stored(tab);
      assert.ok(
        all.some((file) => file.when > before && file.handles === handles),
        JSON.stringify(all),
      );
    });
    await tab.page.reload();
    await rows(tab).first().waitFor();
  }

  scene(
    "stands on the open screen with its size and samples, and is chosen again where there is no handle",
    async () => {
      const tab = await opened();
      assert.equal(await tab.page.getByRole("region", { name: "Recent" }).count(), 0);
      // A file that a script made, as Playwright's are, has no handle.
      await tab.pick(() => tab.page.getByRole("button", { name: /Choose files/ }).click(), recording);
      await reloaded(tab, 0, 0);
      const samples = Object.values(samplesByPerf(recording)).reduce((sum, count) => sum + count, 0);
      const text = await rows(tab).first().innerText();
      assert.match(text, /^ebb\.perf\.data/);
      assert.match(text, new RegExp(`${samples.toLocaleString("en-US")} samples · cpu-clock`));
      assert.match(text, /choose the file again/);
      assert.match(text, /today \d\d:\d\d|yesterday/); // Which it is where a day ends in between.
      await tab.pictures("a-open");
      const [{ when }] = await stored(tab);
      await tab.pick(() => rows(tab).getByRole("button", { name: "ebb.perf.data" }).click(), recording);
      await reloaded(tab, when, 0);
      assert.equal(await rows(tab).count(), 1, "what is opened twice stands there once");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "opens again by its handle, and Clear forgets all of it",
    async () => {
      const tab = await opened({ pickers: true });
      // A picker cannot be driven; a file in the page's own storage has a handle of the same kind.
      const choose = async (bytes) => {
        const folder = await navigator.storage.getDirectory();
        const handle = await folder.getFileHandle("flood.perf.data", { create: true });
        const writer = await handle.createWritable();
        await writer.write(Uint8Array.from(bytes));
        await writer.close();
        window.showOpenFilePicker = async () => [handle];
      };
      const flood = join(dirname(recording), "flood.perf.data");
      copyFileSync(recording, flood);
      await tab.pick(() => tab.page.getByRole("button", { name: /Choose files/ }).click(), flood);
      await reloaded(tab, 0, 0);
      await tab.page.evaluate(choose, [...readFileSync(recording)]);
      await rows(tab).getByRole("button", { name: "flood.perf.data" }).click(); // Chosen again, now with a handle.
      await reloaded(tab, 0, 1);
      assert.doesNotMatch(await rows(tab).first().innerText(), /choose the file again/);
      const [{ when }] = await stored(tab);
      await rows(tab).getByRole("button", { name: "flood.perf.data" }).click();
      await reloaded(tab, when, 1);
      await tab.page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry("flood.perf.data"));
      await rows(tab).getByRole("button", { name: "flood.perf.data" }).click();
      await tab.page.locator(".toast", { hasText: /^flood\.perf\.data could not be read: .* Choose the file again\./ }).waitFor();
      await tab.page.getByRole("button", { name: "Clear" }).click();
      await rows(tab).first().waitFor({ state: "detached" });
      await tab.page.reload();
      await tab.page.getByRole("heading", { name: "Drag files or a folder here" }).waitFor();
      assert.deepEqual(await stored(tab), []);
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("the open screen", () => {
  scene(
    "says what may be dropped while files hover, also while a profile is open",
    async () => {
      const tab = await opened();
      const hover = (type) =>
        tab.page.evaluate((type) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["x"], "x"));
          window.dispatchEvent(new DragEvent(type, { dataTransfer, cancelable: true }));
        }, type);
      const frame = tab.page.getByText("Release to open a profile or add binaries");
      for (const state of ["empty", "open"]) {
        if (state === "open") {
          await tab.drop(recording);
          await tab.opened();
        }
        await hover("dragenter");
        await frame.waitFor();
        await hover("dragleave");
        await frame.waitFor({ state: "detached" });
      }
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "counts the files that wait for a profile",
    async () => {
      const tab = await opened();
      const [one, other] = ["one", "other"].map((name) => parts.path(name, "tides"));
      for (const path of [one, other]) copyFileSync(parts.path("tides"), path);
      await tab.drop(one, other);
      await tab.page.getByText("2 files are waiting for a profile").waitFor();
      await tab.page.getByRole("button", { name: "Remove" }).click();
      await tab.page.getByText("2 files waiting").waitFor({ state: "detached" });
      await tab.close();
    },
    { tier: "all" },
  );

  for (const colorScheme of ["light", "dark"]) {
    scene(
      `axe finds nothing serious, ${colorScheme}`,
      async () => {
        const tab = await opened({ initPath: axe, colorScheme });
        await tab.page.getByRole("button", { name: "Formats" }).click();
        assert.deepEqual(await tab.findings(), []);
        await tab.close();
      },
      { tier: "all" },
    );
  }
});

describe("a page from perftab view", () => {
  scene("is unpacked by the server", async () => {
    const address = await parts.view(recording);
    const { origin, searchParams } = new URL(address);
    const part = async (name) => {
      const reply = await fetch(`${origin}/page/${name}?token=${searchParams.get("token")}`);
      return Buffer.from(await reply.arrayBuffer());
    };
    const page = await (await fetch(address)).text();
    // The page's policy has hashes of what may run.
    const [script, , style] = (await part("code")).toString().split("\0");
    for (const text of [script, style]) {
      const hash = createHash("sha256").update(text).digest("base64");
      assert.ok(page.includes(`'sha256-${hash}'`), text.slice(0, 40));
    }
    for (const name of ["wasm", "images"]) {
      const packed = Buffer.from(new RegExp(`id="${name}">([^\\n]*)\\n`).exec(page)[1], "base64");
      const sent = await part(name);
      assert.equal(sent.length, packed.readUInt32LE(0));
      assert.ok(WebAssembly.validate(sent), `${name} is no WebAssembly`);
    }

    const tab = await Tab.open("about:blank");
    const asked = [];
    tab.page.on("response", (reply) => asked.push(`${new URL(reply.url()).pathname} ${reply.status()}`));
    await tab.page.goto(address);
    await tab.opened();
    assert.ok(
      ["/page/code 200", "/page/wasm 200"].every((each) => asked.includes(each)),
      asked.join("\n"),
    );
    await tab.close();
  });

  scene("shows where a profile will be until it is there, and not how to open one", async () => {
    const address = await parts.view(recording);
    const tab = await Tab.open("about:blank");
    const { page } = tab;
    let answer;
    const held = new Promise((done) => {
      answer = done;
    });
    await page.route("**/profiles?*", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(address);
    await page.locator(".skeleton").waitFor();
    assert.equal(await page.getByRole("button", { name: /Choose files/ }).count(), 0);
    await tab.pictures("open-skeleton");
    answer();
    await tab.opened();
    await tab.close();
  });

  scene("a43 a page that has something to open never shows the open screen", async () => {
    const saved = parts.path("saved.html");
    parts.perftab("export", "--no-local", "--to", "html", "-o", saved, recording);
    const link = run(binary, ["share", "--no-local", recording], { stdio: ["ignore", "pipe", "ignore"] }).trim();
    for (const address of [pathToFileURL(saved).href, host + link.slice(link.indexOf("#")), await parts.view(recording)]) {
      const tab = await Tab.open("about:blank", { init: watchScreens });
      await tab.page.goto(address);
      await tab.opened();
      assert.deepEqual(await tab.page.evaluate(() => window.screensSeen), ["skeleton", "profile"], address.slice(0, 60));
      await tab.close();
    }
  });

  scene("a43 the graph can be read out while perftab view is asked for files", async () => {
    const tab = await Tab.open("about:blank");
    const { page } = tab;
    let answer;
    const held = new Promise((done) => {
      answer = done;
    });
    await page.route(/\/local\/buildid\//, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(await parts.view(recording));
    await page.locator(".status-bar", { hasText: /Fetching \d+ of \d+ from this machine/ }).waitFor();
    await page.locator("[role=tree] [role=treeitem]").first().waitFor({ state: "attached" });
    assert.match(await page.locator(".status-bar").innerText(), /Fetching/);
    answer();
    await tab.opened();
    await tab.close();
  });

  scene("is what a static host has, too, whatever stands in its address", async () => {
    const site = await parts.site(dirname(html));
    const tab = await Tab.open(`${site.address}perftab.html?token=none`);
    await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
    await tab.opened();
    // It asked for what only perftab view has.
    assert.ok(
      tab.browser.errors.every((error) => error.includes("404")),
      tab.browser.errors.join("\n"),
    );
    tab.browser.errors.length = 0;
    await tab.close();
  });

  scene("is what a host has that answers all with its page, too", async () => {
    const site = await parts.site(dirname(html));
    const tab = await Tab.open("about:blank");
    const all = { status: 200, contentType: "text/html; charset=utf-8", body: readFileSync(html) };
    await tab.page.route(/\/(page|profiles)\b/, (route) => route.fulfill(all));
    await tab.page.goto(`${site.address}perftab.html?token=none`);
    await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
    await tab.opened();
    await tab.close();
  });
});

describe("a browser that begins no worker", () => {
  scene("draws the page", async () => {
    const silent = () => {
      window.Worker = class {
        postMessage() {}
      };
    };
    const tab = await Tab.open(host, { spy: false, init: silent });
    await tab.page.getByRole("heading", { name: "Drag files or a folder here" }).waitFor();
    await tab.close();
  });

  scene("says so where it refuses it", async () => {
    const refusing = () => {
      window.Worker = class {
        constructor() {
          throw new Error("not here");
        }
      };
    };
    const tab = await Tab.open(host, { spy: false, init: refusing });
    await tab.page.getByRole("heading", { name: "perftab stopped working on this file." }).waitFor();
    await tab.close();
  });
});

describe("a hosted copy", () => {
  const files = ["index.html", "sw.js", "manifest.webmanifest", "icon.svg", "icon-192.png", "icon-512.png"];

  /** A folder with what `cargo xtask site` leaves for static hosts. */
  function copied(name) {
    const folder = dirname(parts.path(name, "index.html"));
    mkdirSync(folder, { recursive: true });
    for (const file of files) copyFileSync(join(siteFolder, file), join(folder, file));
    return folder;
  }

  const controlled = (page) =>
    page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      if (navigator.serviceWorker.controller === null) {
        await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
      }
    });

  scene("works without network once it was visited, and keeps nothing but its own files", async () => {
    const folder = copied("hosted");
    const site = await parts.site(folder);
    const tab = await Tab.open(site.address);
    await controlled(tab.page);
    // Another page of the same host is none of its business.
    await tab.page.evaluate(() => fetch("other.txt").then((reply) => reply.text()));
    const kept = await tab.page.evaluate(async () => {
      const names = await caches.keys();
      const requests = await Promise.all(
        names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => url)),
      );
      return requests.flat();
    });
    const own = ["", ...files.filter((file) => !["index.html", "sw.js"].includes(file))].map((file) => site.address + file);
    assert.deepEqual(kept.sort(), own.sort());
    await site.end();
    for (const path of ["", "index.html", "?from=home"]) {
      await tab.page.goto(site.address + path);
      await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
      await tab.opened();
    }
    await tab.picture("offline");
    tab.browser.errors.length = 0; // The browser reports that it did not reach the host for a newer worker.
    await tab.close();
  });

  scene(
    "opens the newer page with the reload after it came",
    async () => {
      const folder = copied("updated");
      const site = await parts.site(folder);
      const tab = await Tab.open(site.address);
      await controlled(tab.page);
      const title = (text) =>
        readFileSync(join(folder, "index.html"), "utf8").replace("<title>perftab</title>", `<title>${text}</title>`);
      writeFileSync(join(folder, "index.html"), title("newer"));
      writeFileSync(
        join(folder, "sw.js"),
        readFileSync(join(folder, "sw.js"), "utf8").replace(/VERSION = "\w+"/, 'VERSION = "newer"'),
      );
      await tab.page.reload();
      assert.equal(await tab.page.title(), "perftab");
      await tab.page.locator(".toast", { hasText: "A new version of perftab is ready. Reload to use it." }).waitFor();
      await tab.page.reload();
      assert.equal(await tab.page.title(), "newer");
      const caches = await tab.page.evaluate(() => caches.keys());
      assert.deepEqual(
        caches.map((name) => name.split(" ").at(-1)),
        ["newer"],
      );
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "has what a browser wants before it installs a page",
    async () => {
      const site = await parts.site(copied("installable"));
      const tab = await Tab.open(site.address);
      await controlled(tab.page);
      const browser = await tab.page.context().newCDPSession(tab.page);
      const { errors } = await browser.send("Page.getAppManifest");
      assert.deepEqual(errors, []);
      const { installabilityErrors } = await browser.send("Page.getInstallabilityErrors");
      // A private window installs nothing; those of tests are private.
      assert.deepEqual(
        installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"),
        [],
      );
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "is the only form of the page that looks for files beside it",
    async () => {
      const site = await parts.site(dirname(html));
      const tab = await Tab.open(`${site.address}perftab.html`);
      await tab.page.getByRole("region", { name: "Sample profile" }).getByRole("button", { name: "Open" }).click();
      await tab.opened();
      assert.deepEqual(site.asked, ["/perftab.html"]);
      assert.equal(await tab.page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0);
      await tab.close();
    },
    { tier: "all" },
  );
});
