// Bundles the harness and takes pictures of it: node test/harness/shoot.mjs OUT_DIR [CHROMIUM]
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [out = "target/harness", executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
mkdirSync(out, { recursive: true });

const shared = { bundle: true, write: false, format: "iife", jsx: "automatic", jsxImportSource: "preact" };
const text = async (entry) => (await build({ ...shared, entryPoints: [join(here, entry)] })).outputFiles[0].text;
const style = await text("harness.css");
const page = join(mkdtempSync(join(tmpdir(), "perftab-harness-")), "harness.html");
writeFileSync(
  page,
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>${style}</style><div id="app"></div><script>${(await text("harness.tsx")).replaceAll("</script", "<\\/script")}</script>`,
);

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, headless: true, args: flags });

async function open({ width, height, ratio = 1, query = "", touch = false, more = {} }) {
  const context = await browser.newContext({
    viewport: { width, height }, deviceScaleFactor: ratio, hasTouch: touch, isMobile: touch, ...more,
  });
  const tab = await context.newPage();
  tab.on("pageerror", (error) => console.error("page error:", error.message));
  tab.on("console", (message) => message.type() === "error" && console.error("console:", message.text()));
  await tab.goto(`${pathToFileURL(page)}?${query}`);
  await tab.waitForTimeout(400);
  return { context, tab };
}

async function shot(name, options, act = async () => {}) {
  const { context, tab } = await open(options);
  await act(tab);
  await tab.screenshot({ path: join(out, `${name}.png`) });
  await context.close();
  console.log(name);
}

const desk = { width: 1440, height: 900 };
const tree = (tab) => tab.locator("[role=tree]");

for (const theme of ["light", "dark"]) {
  await shot(`flame-${theme}`, { ...desk, query: `theme=${theme}` }, async (tab) => {
    await tree(tab).focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]) await tab.keyboard.press(key);
    await tab.mouse.move(300, 148);
    await tab.waitForTimeout(300);
  });
  await shot(`page-${theme}`, { ...desk, query: `page&theme=${theme}` });
  await shot(`page-narrow-${theme}`, { width: 420, height: 900, ratio: 2, touch: true, query: `page&theme=${theme}` });
  await shot(`page-tree-${theme}`, { width: 1280, height: 800, query: `page&view=tree&theme=${theme}` });
  await shot(`flame-2x-${theme}`, { width: 720, height: 450, ratio: 2, query: `theme=${theme}` });
  await shot(`search-${theme}`, { ...desk, query: `theme=${theme}&search=deflate` });
  await shot(`tree-${theme}`, { width: 1280, height: 800, query: `theme=${theme}&view=tree` }, async (tab) => {
    await tab.getByRole("button", { name: "Expand hottest path" }).click();
    await tab.waitForTimeout(500);
  });
  await shot(`functions-${theme}`, { width: 1280, height: 800, query: `theme=${theme}&view=functions` }, async (tab) => {
    await tab.locator(".row").nth(3).click();
    await tab.waitForTimeout(200);
  });
  await shot(`phone-${theme}`, { width: 420, height: 900, ratio: 2, touch: true, query: `theme=${theme}` }, async (tab) => {
    await tab.touchscreen.tap(120, 200);
    await tab.touchscreen.tap(120, 200);
    await tab.waitForTimeout(500);
  });
}
await shot("flame-1.5x", { width: 960, height: 600, ratio: 1.5 });
await shot("zoomed", desk, async (tab) => {
  await tab.mouse.dblclick(200, 200);
  await tab.waitForTimeout(600);
});
await shot("forced-colors", { ...desk, more: { forcedColors: "active" } });
await shot("phone-tree", { width: 420, height: 900, ratio: 2, touch: true, query: "view=tree" });
await shot("phone-functions", { width: 420, height: 900, ratio: 2, touch: true, query: "view=functions" });

// Frame times while a full graph is scrolled at 2×.
{
  const { context, tab } = await open({ ...desk, ratio: 2, query: "dense=1" });
  const result = await tab.evaluate(async () => {
    const longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))))
      .observe({ type: "longtask" });
    const scroller = document.querySelector(".flame-scroller");
    const draw = CanvasRenderingContext2D.prototype;
    const counts = { boxes: 0, labels: 0 };
    const { fillRect, fillText } = draw;
    draw.fillRect = function (...args) { counts.boxes++; fillRect.apply(this, args); };
    draw.fillText = function (...args) { counts.labels++; fillText.apply(this, args); };
    scroller.dispatchEvent(new Event("scroll"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    Object.assign(draw, { fillRect, fillText });
    const native = window.requestAnimationFrame;
    const painting = [];
    window.requestAnimationFrame = (callback) => native((now) => {
      const began = performance.now();
      callback(now);
      painting.push(performance.now() - began);
    });
    const frame = () => new Promise((resolve) => native(resolve));
    const times = [];
    for (let i = 0; i < 120; i++) {
      scroller.scrollTop = i % 2;
      const before = performance.now();
      await frame();
      times.push(performance.now() - before);
    }
    times.sort((a, b) => a - b);
    painting.sort((a, b) => a - b);
    const round = (value) => Math.round(value * 10) / 10;
    return {
      ...counts,
      frameMedian: round(times[60]), frameWorst: round(times.at(-1)),
      paintMedian: round(painting[painting.length >> 1]), paintWorst: round(painting.at(-1)),
      longTasks,
    };
  });
  console.log("scrolling, 2x:", JSON.stringify(result));
  await context.close();
}
await browser.close();
