// Takes the picture of the viewer in the README:
//
//   node screenshot.mjs URL OUT.png
//
// URL is that of a running `perftab view`, so that names are found as users find them.
import { launch } from "../../tests/browser/chromium.mjs";

const [url, out] = process.argv.slice(2);
const { page, errors, close } = await launch({ height: 760, scale: 1.5 });
await page.goto(url);
const marked = () => performance.getEntriesByName("perftab:flame-graph").length > 0;
await page.waitForFunction(marked, undefined, { timeout: 60_000 });
// Names come from the machine that serves the page; the ledger says when all came.
await page.getByRole("heading", { name: /^Unnamed/ }).waitFor({ state: "detached", timeout: 60_000 });
await page.screenshot({ path: out });
await close();
if (errors.length > 0) {
  console.error(errors.join("\n"));
  process.exitCode = 1;
}
