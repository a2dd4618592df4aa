// A real Chromium, for tests, pictures and measurements.
//
//   const { page, close } = await launch({ colorScheme: "dark" });   a browser of its own
//   const { page, close } = await visit({ colorScheme: "dark" });    a fresh profile in the one browser of this process
//
// Either way the user folder is empty, so nothing is remembered from the one before: opening a link in a second one is
// opening it where the profile was never seen. Starting a browser costs more than most scenes do, so tests visit; all
// visits of a process share one clipboard.
import { createRequire } from "node:module";
import { limits } from "./limits.mjs";

// The page's packages hold playwright-core; nothing is installed beside the tests.
const require = createRequire(new URL("../../www/package.json", import.meta.url));
const { chromium } = require("playwright-core");

/**
 * Chromium takes the last of several such lists, so those of Playwright's that matter here are named again. The first three
 * are its own menus of suggestions: each window draws them as pages, which costs as much as the page that is tested.
 */
const WITHOUT = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxFullPopup",
  "WebUIOmniboxAimPopup",
  "PaintHolding",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "DestroyProfileOnBrowserClose",
  "MediaRouter",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "LensOverlay",
];

const FLAGS = [
  "--no-sandbox", // Chromium refuses to run as root with it
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${WITHOUT.join(",")}`,
];

const start = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
    timeout: limits.preparation,
  });

/** Tabs that are open. */
export const tabs = new Set();

/**
 * Starts Chromium and opens an empty tab. Errors of the page (uncaught, or reported by the content
 * security policy) are collected in `errors`: a test should end by finding none.
 */
export async function launch(options = {}) {
  const browser = await start();
  return opened(browser, options, () => browser.close());
}

/** The browser that the tests of this process share. */
let shared = null;

/** Opens an empty tab with a profile of its own; `close` ends both. Errors are collected as above. */
export async function visit(options = {}) {
  shared ??= start().then((browser) => {
    // One that dies is replaced, so that it takes nothing but its own scene with it.
    browser.once("disconnected", () => (shared = null));
    return browser;
  });
  shared.catch(() => (shared = null));
  return opened(await shared, options, (context) => context.close());
}

/** Ends the shared browser, if there is one. */
export async function endVisits() {
  await (await shared)?.close();
}

async function opened(
  browser,
  { width = 1440, height = 900, scale = 1, colorScheme = "light", reducedMotion = "reduce", touch = false },
  end,
) {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme,
    hasTouch: touch,
    reducedMotion,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(limits.wait);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  const tab = { browser, page, errors, close };
  tabs.add(tab);
  return tab;

  async function close() {
    tabs.delete(tab);
    await end(context);
  }
}
