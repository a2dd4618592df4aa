// The page as a person uses it, and as its worker answers it: for tests that open real files in the real page.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { launch, visit } from "./chromium.mjs";
import { PHONE, keepPicture, picturesOf } from "./pictures.mjs";

/** The script that tells whether people who do not see the page can use it. */
export const axe = createRequire(new URL("../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js");

/**
 * `PERFTAB_LATE=200`: the worker gets each question so many milliseconds late. A scene that does something with what an
 * answer is about to replace fails then, and not once in a thousand runs.
 */
const late = Number(process.env.PERFTAB_LATE ?? 0);

/** Runs in the page before its own script: remembers every text that the worker sends, and asks it questions. */
function listenToWorker(late) {
  const texts = new Set();
  const answers = new Map();
  let worker;
  let started;
  const start = new Promise((done) => (started = done));
  /** How many questions the page itself has asked. */
  let asked = 0;
  /** What the page waits for, but for what a network, a stream or long work of its own may hold up while the page is used. */
  const waiting = new Set();
  const mayLast = /^(open|fetch|nameFrames$|unwind$)/;
  let lastId = 1e9; // Far from the numbers that the page gives its own questions.
  const collect = (value) => {
    if (typeof value === "string") texts.add(value);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) Object.values(value).forEach(collect);
  };
  window.Worker = class extends window.Worker {
    constructor(...args) {
      super(...args);
      // One that has a name is not the session's.
      if (args[1]?.name !== undefined) return;
      worker = this;
      waiting.clear();
      started();
      this.addEventListener("message", ({ data }) => {
        collect(data);
        if ("progress" in data) return;
        waiting.delete(data.id);
        answers.get(data.id)?.(data);
        answers.delete(data.id);
      });
    }
    postMessage(message, ...rest) {
      if (message.type === "cancel") waiting.delete(message.id);
      if (message.type === "call" && message.id < 1e9) {
        asked += 1;
        if (this === worker && !mayLast.test(message.method)) waiting.add(message.id);
      }
      const post = () => super.postMessage(message, ...rest);
      if (late > 0) setTimeout(post, late);
      else post();
    }
  };
  const ask = async (method, args, generation = 0) => {
    await start;
    return new Promise((resolve) => {
      const id = ++lastId;
      answers.set(id, resolve);
      worker.postMessage({ type: "call", id, method, args, generation });
    });
  };
  window.perftabTest = { texts, ask, asked: () => asked, isWaiting: () => waiting.size > 0 };
}

/** Runs in the page before its own script: frames and short timers come late, and with them what waits for the first one. */
function delayFrames(late) {
  const { requestAnimationFrame, setTimeout } = window;
  window.requestAnimationFrame = (run) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(run), late));
  window.setTimeout = (run, ms = 0, ...args) => setTimeout(run, ms < 100 ? ms + late : ms, ...args);
}

/** Runs in the page before its own script: what would happen in many seconds does not happen. */
function keepToasts() {
  const { setTimeout } = window;
  window.setTimeout = (run, ms, ...args) => (ms >= 5000 ? 0 : setTimeout(run, ms, ...args));
}

/** The longest task of the page's main thread in a trace, in ms of its processor time. */
export function longestTask(trace) {
  const { traceEvents } = JSON.parse(trace);
  const isNamed = (name) => (event) => event.name === "thread_name" && event.args.name === name;
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const mains = new Set(traceEvents.filter(isNamed("CrRendererMain")).map(thread));
  const tasks = traceEvents.filter((event) => event.name.endsWith("RunTask") && mains.has(thread(event)) && event.tdur > 0);
  assert.ok(tasks.length > 50, "the trace holds tasks");
  return Math.max(...tasks.map(({ tdur }) => tdur)) / 1000;
}

/** What a query asks for where a test does not care. */
export const QUERY = { event: 0, direction: "callees", group: "process", inlines: "shown" };

export class Tab {
  /**
   * `browser` is "own" for a tab in a browser of its own. `toasts` is "stay" where a scene does something with a toast that
   * goes by itself, after six seconds in which a busy machine may have done nothing else.
   */
  static async open(
    address,
    {
      browser = "shared",
      spy = true,
      offline = false,
      pickers = false,
      toasts = "go",
      until = "load",
      init,
      initPath,
      ...options
    } = {},
  ) {
    const tab = new Tab(await (browser === "own" ? launch(options) : visit(options)));
    // Playwright hears of pickers that come from an input only.
    if (!pickers)
      await tab.page.addInitScript(() => delete Window.prototype.showOpenFilePicker && delete window.showOpenFilePicker);
    if (spy) await tab.page.addInitScript(listenToWorker, late);
    if (late > 0) await tab.page.addInitScript(delayFrames, late);
    if (toasts === "stay") await tab.page.addInitScript(keepToasts);
    if (init) await tab.page.addInitScript(init);
    if (initPath) await tab.page.addInitScript({ path: initPath });
    if (offline) await tab.#keepWithin(address);
    await tab.page.goto(address, { waitUntil: until });
    // The page's script runs a moment after the page has loaded; nobody does anything before it is drawn.
    if (until === "load" && address !== "about:blank") await tab.page.locator("#app > *").first().waitFor();
    return tab;
  }

  constructor(browser) {
    this.browser = browser;
    this.page = browser.page;
    // Pickers are caught from now on: one that opens while a listener is being added is lost.
    this.page.on("filechooser", () => {});
    /** Requests to anywhere but the page's own address, where `offline`. */
    this.refused = [];
  }

  async #keepWithin(address) {
    const own = address.startsWith("file:") ? "file://" : `${new URL(address).origin}/`;
    await this.page.context().route("**/*", (route) => {
      if (route.request().url().startsWith(own)) return route.continue();
      this.refused.push(route.request().url());
      return route.abort();
    });
    if (own === "file://") await this.page.context().setOffline(true);
  }

  /** Closes the tab; a page that reported an error is a failure. */
  async close() {
    await this.browser.close();
    assert.deepEqual(this.browser.errors, []);
  }

  // Files ------------------------------------------------------------------------------------------------------------

  /** Drops files on the window, as a file manager does. */
  async drop(...paths) {
    const input = await this.page.evaluateHandle(() => {
      const input = document.createElement("input");
      input.type = "file";
      input.multiple = true;
      return document.body.appendChild(input);
    });
    await input.asElement().setInputFiles(paths);
    await input.evaluate((input) => {
      input.remove();
      const dataTransfer = new DataTransfer();
      for (const file of input.files) dataTransfer.items.add(file);
      for (const type of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        document.elementFromPoint(innerWidth / 2, innerHeight / 2).dispatchEvent(event);
        if (!event.defaultPrevented && type !== "dragenter") throw new Error(`the page leaves ${type} to the browser`);
      }
    });
  }

  /** Drops folders and files from outside of the browser, which is the only way that a folder comes as one. */
  async dropFromOutside(...paths) {
    const browser = await this.page.context().newCDPSession(this.page);
    const { width, height } = this.page.viewportSize();
    const data = { items: [], files: paths, dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) {
      await browser.send("Input.dispatchDragEvent", { type, x: width / 2, y: height / 2, data });
    }
    await browser.detach();
  }

  /** Chooses files in the picker that `open` brings up. */
  async pick(open, ...paths) {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), open()]);
    await chooser.setFiles(paths);
  }

  /** Waits until a profile is open and its flame graph painted. */
  async opened() {
    await this.page.locator(".file-name").waitFor();
    await this.page.waitForFunction(() => performance.getEntriesByName("perftab:flame-graph").length > 0);
    // Of a large recording that is a part, until all of it has been read.
    await this.page.locator(".so-far").waitFor({ state: "detached" });
    await this.settled();
  }

  /**
   * Waits until the worker has answered what the page asked, code from another worker too, and the page has painted that and
   * asked nothing more, twice in a row: an answer leads to a question in the frame after it was painted.
   */
  async settled() {
    await this.page.evaluate(async () => {
      const spy = window.perftabTest;
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      for (let quiet = 0; quiet < 2; ) {
        const before = spy?.asked();
        await spy?.ask("generation", {});
        for (let frames = 0; frames < 2; frames++) await frame();
        quiet = spy?.asked() === before && !spy?.isWaiting() ? quiet + 1 : 0;
      }
    });
  }

  // What the worker says ---------------------------------------------------------------------------------------------

  /** Asks the worker; fails on an error. What names overtook is asked again, as the page does, but for what asks by a number. */
  async ask(method, args = {}) {
    const reply = await this.page.evaluate(
      async ([method, args]) => {
        const mayAskAgain = !(args.callNode || args.window?.root || args.request?.subject?.kind === "call-node");
        let reply;
        do {
          const { ok: generation } = await window.perftabTest.ask("generation", {});
          reply = await window.perftabTest.ask(method, args, generation);
        } while (mayAskAgain && reply.error?.kind === "stale");
        // Typed arrays do not cross to the test as arrays, nor do numbers of 64 bits in JSON.
        const plain = (_, value) =>
          ArrayBuffer.isView(value) ? [...value] : typeof value === "bigint" ? `0x${value.toString(16)}` : value;
        return JSON.parse(JSON.stringify(reply, plain));
      },
      [method, args],
    );
    assert.equal(reply.error, undefined, `${method}: ${JSON.stringify(reply.error)}`);
    return reply.ok;
  }

  /** Every function: name, DSO, weights, flags. Sorted by name and DSO, since the order among equals means nothing. */
  async functions() {
    const order = { key: "self", direction: "descending" };
    const rows = await this.ask("functions", { query: QUERY, order, from: 0, to: 1_000_000 });
    return rows.names
      .map((name, i) => ({ name, dso: rows.dsos[i], self: rows.self[i], total: rows.total[i], flags: rows.flags[i] }))
      .sort((a, b) => (a.name + a.dso < b.name + b.dso ? -1 : 1));
  }

  /** Every text that the worker ever sent to this page. */
  async said() {
    return this.page.evaluate(() => [...window.perftabTest.texts]);
  }

  // What is on the screen --------------------------------------------------------------------------------------------

  /** The ledger as it stands in the dock: status and shown ids by DSO. */
  async ledger() {
    await this.page.locator(".dso-row").first().waitFor();
    // Rows come a part a frame.
    await this.page.waitForFunction(() => document.querySelector(".ledger[aria-busy=true], .ledger [aria-busy=true]") === null);
    const rows = await this.page.locator(".dso-row").evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector(".dso-name").textContent,
        {
          status: row.dataset.status,
          buildId: row.querySelector("code").title,
          share: row.querySelector(".dso-share").textContent,
          detail: row.querySelector(".dso-detail")?.textContent ?? null,
        },
      ]),
    );
    return Object.fromEntries(rows);
  }

  /** The same, after bringing it to the front. */
  async ledgerInDock() {
    await this.panel("DSOs");
    return this.ledger();
  }

  /** Waits until the ledger gives a DSO this status. */
  async status(name, status) {
    await this.dock();
    const row = this.page.locator(`.dso-row[data-status="${status}"]`).filter({ hasText: name });
    await row.first().waitFor();
    return row.first();
  }

  /** Every text and every attribute of the page as it stands, without what the page carries as data. */
  async everything() {
    return this.page.evaluate(() => {
      const texts = [document.title];
      for (const element of document.querySelectorAll("#app, #app *")) {
        texts.push(...[...element.attributes].map(({ value }) => value));
        texts.push(...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data));
      }
      return texts;
    });
  }

  view(name) {
    return this.page.getByRole("tab", { name }).click();
  }

  /** Shows all frames that there are, one view after the other, and answers what stood on the screen. */
  async everythingInAllViews() {
    const texts = [];
    const look = async () => {
      await this.settled();
      texts.push(...(await this.everything()));
    };
    await this.view(/Functions/);
    await this.page.locator(".row:not(.loading)").first().waitFor();
    await look();
    await this.page.getByRole("grid", { name: "Functions" }).press("End");
    await look();
    await this.view(/Call tree/);
    await this.page.locator(".row").first().waitFor();
    await this.page.getByRole("button", { name: "Expand hottest path" }).click();
    await look();
    await this.view(/Flame graph/);
    await this.tree().focus();
    for (const key of ["ArrowDown", "ArrowDown", "End"]) {
      await this.page.keyboard.press(key);
      await look();
    }
    return texts;
  }

  /** The flame graph for the keyboard. */
  tree() {
    return this.page.getByRole("tree");
  }

  /** Looks for a function and selects its heaviest call; shows what is known of it. */
  async select(text) {
    await this.page.keyboard.press("/");
    await this.page.locator(".search input:focus").waitFor();
    await this.page.keyboard.type(text);
    await this.page.locator(".search-result", { hasText: /function/ }).waitFor();
    await this.page.keyboard.press("Enter");
    const panel = await this.panel("Selection").then(() => this.page.locator(".selection"));
    await panel.filter({ hasText: text }).waitFor();
    return panel;
  }

  /** Opens the side panel where it is closed; a phone has a sheet instead. */
  async dock() {
    const [meter, panel] = [".coverage-meter", ".dock, .sheet, .full-ledger"].map((each) => this.page.locator(each).first());
    if ((await meter.isVisible()) && !(await panel.isVisible())) {
      // The bars of a profile that opens are drawn some frames before the panel, which a click would close then.
      for (let frames = 0; frames < 3; frames++) await this.page.evaluate(() => new Promise(requestAnimationFrame));
      if (!(await panel.isVisible())) await meter.click();
    }
  }

  /** Shows a tab of the side panel. */
  async panel(name) {
    await this.dock();
    await this.page.getByRole("tab", { name }).click();
  }

  /** Chooses an option of the view that is shown, from the menu behind the dots. */
  async option(label, choice) {
    await this.page.getByRole("button", { name: "More options" }).click();
    await this.page.getByRole("combobox", { name: label }).selectOption({ label: choice });
    await this.page.keyboard.press("Escape");
    await this.settled();
  }

  /** What axe finds serious or critical, in words: rule, and where. For a tab opened with `initPath: axe`. */
  async findings(rules = {}) {
    await this.settled();
    const violations = await this.page.evaluate(async (rules) => {
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"], rules });
      return violations;
    }, rules);
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
  }

  /** What `press` copies. */
  async copied(press) {
    await this.page.evaluate(() => navigator.clipboard.writeText(""));
    await press();
    const copied = await this.page.waitForFunction(() => navigator.clipboard.readText());
    return copied.jsonValue();
  }

  /** Keeps a picture of the page, in the window's size and theme. */
  async picture(name) {
    await keepPicture(this.page, name, () => this.settled());
  }

  /**
   * The same in light and dark, at the three widths that the design is made for, or at those given. `arrange` is done at
   * each before its picture. With a `sheet` of "full", a phone's is opened for the picture.
   */
  async pictures(name, { arrange, sheet = "as it is", ...options } = {}) {
    const opens = (width) => width === PHONE && sheet === "full";
    const handle = this.page.locator(".sheet-handle");
    await picturesOf(this.page, name, {
      ...options,
      arrange: async (width) => {
        await this.settled();
        // It opens in two steps, and the third closes it.
        for (let step = 0; opens(width) && step < 2; step++) await handle.click();
        await arrange?.(width);
        await this.settled();
      },
      restore: async (width) => {
        if (opens(width)) await handle.click();
        await this.settled();
      },
    });
  }
}
