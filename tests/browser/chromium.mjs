// A real Chromium with a fresh profile, for tests, pictures and measurements.
//
//   const { page, close } = await launch({ colorScheme: "dark" });
//
// Every launch is a browser of its own with an empty user folder, so nothing is remembered from the
// one before: opening a link in a second launch is opening it where the profile was never seen.
import { createRequire } from "node:module";

// The page's packages hold playwright-core; nothing is installed beside the tests.
const require = createRequire(new URL("../../www/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const FLAGS = [
  "--no-sandbox", // Chromium refuses to run as root with it
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Starts Chromium and opens an empty tab. Errors of the page (uncaught, or reported by the content
 * security policy) are collected in `errors`: a test should end by finding none.
 */
export async function launch({ width = 1440, height = 900, scale = 1, colorScheme = "light", reducedMotion = "reduce", touch = false } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
  });
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme,
    hasTouch: touch,
    reducedMotion,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return { browser, page, errors, close: () => browser.close() };
}
