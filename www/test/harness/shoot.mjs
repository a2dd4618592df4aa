// Bundles the harness and takes pictures of it: node test/harness/shoot.mjs OUT_DIR [CHROMIUM]
import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { harnessPage } from "./bundle.mjs";

const [out = "target/harness", executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const page = await harnessPage();

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const browser = await chromium.launch({ executablePath, headless: true, args: flags });

async function open({ width, height, ratio = 1, query = "", touch = false, more = {} }) {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: ratio,
    hasTouch: touch,
    isMobile: touch,
    ...more,
  });
  const tab = await context.newPage();
  tab.on("pageerror", (error) => console.error("page error:", error.message));
  tab.on("console", (message) => message.type() === "error" && console.error("console:", message.text()));
  await tab.goto(`${page}?${query}`);
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
const large = (tab) => tab.addStyleTag({ content: "html { font-size: 200% }" }).then(() => tab.waitForTimeout(300));
await shot("large-text-flame", desk, async (tab) => {
  await large(tab);
  await tab.setViewportSize({ width: 1400, height: 880 });
  await tab.waitForTimeout(300);
});
await shot("large-text-tree", { ...desk, query: "view=tree" }, large);
await shot("forced-colors", { ...desk, more: { forcedColors: "active" } });
await shot("phone-tree", { width: 420, height: 900, ratio: 2, touch: true, query: "view=tree" });
await shot("phone-functions", { width: 420, height: 900, ratio: 2, touch: true, query: "view=functions" });

// What a frame of a full graph costs the main thread at 2×, in CPU time: other work on the machine does not count.
{
  const { context, tab } = await open({ width: 2560, height: 1100, ratio: 2, query: "dense" });
  const metrics = await context.newCDPSession(tab);
  await metrics.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () =>
    (await metrics.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const draw = (frames) =>
    tab.evaluate(async (frames) => {
      const scroller = document.querySelector(".flame-scroller");
      const { prototype } = CanvasRenderingContext2D;
      const { fillRect, fillText } = prototype;
      const counts = { boxes: 0, labels: 0 };
      prototype.fillRect = function (...args) {
        counts.boxes++;
        fillRect.apply(this, args);
      };
      prototype.fillText = function (...args) {
        counts.labels++;
        fillText.apply(this, args);
      };
      for (let i = 0; i < frames; i++) {
        scroller.dispatchEvent(new Event("scroll"));
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      }
      Object.assign(prototype, { fillRect, fillText });
      return { boxes: counts.boxes / frames, labels: counts.labels / frames };
    }, frames);
  await draw(5);
  const before = await spent();
  const counts = await draw(40);
  console.log("a full frame at 2x:", JSON.stringify({ ...counts, cpuMs: Math.round(((await spent()) - before) / 4) / 10 }));
  await context.close();
}
await browser.close();
