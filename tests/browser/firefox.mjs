// A real Firefox with a fresh profile, for a smoke test: does the page work at all in another engine?
//
//   const firefox = await launch();
//
// playwright-core drives a Firefox of its own making only, so this speaks Marionette, which every
// Firefox has: over TCP, commands and replies as JSON, each behind its length in bytes and a colon
// (firefox-source-docs: testing/marionette/Protocol.html).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isInstalled } from "./recording.mjs";

/** The command, or undefined where there is no Firefox; Debian names it after its long-term releases. */
export const command = process.env.FIREFOX ?? ["firefox", "firefox-esr"].find(isInstalled);

/** How the protocol says that an object is an element. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

const PATIENCE_MS = 60_000;

/** Beyond what Firefox itself sets for whoever drives it. Port 0: any that is free. */
const PREFERENCES = {
  "marionette.port": 0,
  // Errors of pages that nobody catches are said where they are read here.
  "browser.dom.window.dump.enabled": true,
};

/** Starts Firefox and opens a session. */
export async function launch({ width = 1440, height = 900 } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "perftab-firefox-"));
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const child = spawn(command, ["--headless", "--no-remote", "--marionette", "--profile", profile, "about:blank"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, HOME: profile },
  });
  const firefox = new Firefox(child, profile);
  try {
    await firefox.connect();
    await firefox.resize(width, height);
    return firefox;
  } catch (error) {
    await firefox.close();
    throw error;
  }
}

class Firefox {
  /** Errors of pages and their workers that nobody caught. */
  errors = [];
  #child;
  #profile;
  #ended;
  #port;
  #socket;
  #lastId = 0;
  /** By the number of the command: what becomes of its reply. */
  #waiting = new Map();

  constructor(child, profile) {
    this.#child = child;
    this.#profile = profile;
    this.#ended = once(child, "exit");
    const said = [];
    this.#port = new Promise((resolve, reject) => {
      const read = (line) => {
        said.push(line);
        const [, port] = /Marionette\s+INFO\s+Listening on port (\d+)/.exec(line) ?? [];
        if (port !== undefined) resolve(Number(port));
        if (/^JavaScript error: (file|https?|blob):/.test(line)) this.errors.push(line);
      };
      for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", read);
      const fail = (why) => reject(new Error(`${command} ${why}:\n${said.join("\n")}`));
      child.once("error", reject);
      child.once("exit", (code) => fail(`ended with ${code}`));
      setTimeout(fail, PATIENCE_MS, "does not listen").unref();
    });
  }

  async connect() {
    this.#socket = connect(await this.#port, "127.0.0.1");
    this.#socket.on("error", (error) => this.#give(error));
    this.#socket.on("close", () => this.#give(new Error("Firefox closed the connection")));
    const greeting = new Promise((resolve, reject) => this.#waiting.set("greeting", { resolve, reject }));
    this.#read();
    const { marionetteProtocol } = await greeting;
    if (marionetteProtocol !== 3) throw new Error(`Marionette speaks protocol ${marionetteProtocol}, not 3`);
    const timeouts = { script: PATIENCE_MS, pageLoad: PATIENCE_MS, implicit: 0 };
    // Whoever speaks to Marionette has matched capabilities before: here are those of the session.
    const { capabilities } = await this.send("WebDriver:NewSession", { timeouts });
    if (capabilities.timeouts.script !== PATIENCE_MS) throw new Error("Marionette does not take timeouts");
  }

  /** Whoever waits for an answer gets none. */
  #give(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #read() {
    let rest = Buffer.alloc(0);
    this.#socket.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let colon = rest.indexOf(":"); colon >= 0; colon = rest.indexOf(":")) {
        const end = colon + 1 + Number(rest.subarray(0, colon).toString());
        if (rest.length < end) return;
        this.#take(JSON.parse(rest.subarray(colon + 1, end).toString()));
        rest = rest.subarray(end);
      }
    });
  }

  /** The greeting is an object; a reply is `[1, id, error, result]`. */
  #take(message) {
    const [, id, error, result] = Array.isArray(message) ? message : [1, "greeting", null, message];
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === null) waiting?.resolve(result);
    else waiting?.reject(new Error(`${error.error}: ${error.message}`));
  }

  /** One command of WebDriver, as Marionette names it. */
  send(name, parameters = {}) {
    const id = ++this.#lastId;
    const text = JSON.stringify([0, id, name, parameters]);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }

  /** Gives the page this size: the window's is larger. */
  async resize(width, height) {
    const frame = await this.evaluate(() => [outerWidth - innerWidth, outerHeight - innerHeight]);
    await this.send("WebDriver:SetWindowRect", { width: width + frame[0], height: height + frame[1] });
  }

  goto(url) {
    return this.send("WebDriver:Navigate", { url });
  }

  /** Runs a function in the page, which may be asynchronous; what it gives must be JSON. */
  async evaluate(body, ...args) {
    // The last argument is what ends the script. A failure is a value too: rejections are not told.
    const script = `
      const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${body})(...[...arguments].slice(0, -1)))
        .then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value: outcome } = await this.send("WebDriver:ExecuteAsyncScript", { script, args });
    if (outcome.error !== undefined) throw new Error(outcome.error);
    return outcome.value;
  }

  /** The element that a selector finds first. */
  async find(selector) {
    const { value } = await this.send("WebDriver:FindElement", { using: "css selector", value: selector });
    return value[ELEMENT];
  }

  /** Clicks as a user does. */
  async click(selector) {
    await this.send("WebDriver:ElementClick", { id: await this.find(selector) });
  }

  /** Chooses a file in an input. */
  async choose(selector, path) {
    await this.send("WebDriver:ElementSendKeys", { id: await this.find(selector), text: path });
  }

  async screenshot(path) {
    const { value } = await this.send("WebDriver:TakeScreenshot", { full: false });
    writeFileSync(path, Buffer.from(value, "base64"));
  }

  /** Ends Firefox and removes its profile. */
  async close() {
    this.#socket?.destroy();
    // Where there is no such command nothing runs, and nothing ends.
    if (this.#child.kill()) await this.#ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
