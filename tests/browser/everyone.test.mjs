// What people need who use no mouse, want no motion, or set their own colours and sizes.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Frame, selectIn } from "./frame.mjs";
import { PHONE } from "./pictures.mjs";
import { seconds } from "./limits.mjs";
import { scene } from "./scene.mjs";
import { axe } from "./tab.mjs";

const frame = new Frame();

describe("a21 everyone", () => {
  scene("a21 nothing moves for who wants no motion", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const running = () => page.evaluate(() => document.getAnimations().filter((each) => each.playState === "running").length);
    await page.getByRole("button", { name: "Menu" }).click();
    assert.equal(await running(), 0);
    await tab.pictures("a21-reduced-motion");
    await page.keyboard.press("Escape");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.getByRole("button", { name: "Menu" }).click();
    const moved = await page.locator(".popover").evaluate((element) => getComputedStyle(element).animationName);
    assert.notEqual(moved, "none", "it does for others");
    await tab.close();
  });

  scene("a21 the panel's tabs go by arrows and say what they show, and what a row offers is large enough to hit", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const tabs = page.getByRole("tablist", { name: "Side panel" });
    await tabs.getByRole("tab", { name: "DSOs" }).focus();
    for (const [key, name] of [
      ["ArrowRight", "Selection"],
      ["ArrowRight", "DSOs"],
      ["ArrowLeft", "Selection"],
      ["ArrowLeft", "DSOs"],
    ]) {
      await page.keyboard.press(key);
      const shown = tabs.locator('[aria-selected="true"]:focus');
      await shown.filter({ hasText: name }).waitFor();
      const panel = page.locator(`#${await shown.getAttribute("aria-controls")}`);
      assert.equal(await panel.getAttribute("role"), "tabpanel");
      assert.equal(await panel.getAttribute("aria-labelledby"), await shown.getAttribute("id"));
    }
    const { width, height } = await page.locator(".dso-row .link").first().boundingBox();
    assert.ok(width >= 24 && height >= 24, `${width} × ${height}`);
    await tab.close();
  });

  for (const [name, options, prepare] of [
    ["forced colours", {}, (page) => page.emulateMedia({ forcedColors: "active" })],
    [
      "text twice as large",
      {},
      (page) =>
        page.evaluate(() => {
          document.documentElement.style.fontSize = "200%";
        }),
    ],
    [
      "comfortable rows",
      {},
      (page) =>
        page.evaluate(() => {
          document.documentElement.dataset.density = "comfortable";
        }),
    ],
  ]) {
    scene(
      `a21 with ${name} nothing is cut off, and axe finds nothing`,
      async () => {
        const tab = await frame.opened({ initPath: axe, ...options }, "#s2&range=0-10&step=collapse-recursion");
        const { page } = tab;
        await prepare(page);
        const all = {};
        const look = async (screen) => {
          const found = await tab.findings();
          if (found.length > 0) all[screen] = found;
          const picture = `a21-${name.replaceAll(" ", "-")}-${screen}`;
          // What has just been opened closes with another width.
          if (screen === "ledger") await tab.pictures(picture, { sheet: "full" });
          else if (["functions", "tree"].includes(screen)) await tab.pictures(picture);
          else await tab.picture(picture);
          const overflow = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${screen}: the page is ${overflow} px too wide`);
          // What a bar or the dock cuts off cannot be scrolled to.
          const cut = await page.evaluate(() =>
            [".top-bar", ".view-tabs", ".dock-head", ".dock"].flatMap((each) => {
              const region = document.querySelector(each);
              const end = Math.min(innerWidth, region?.getBoundingClientRect().right ?? 0) + 1;
              return [...(region?.querySelectorAll("button, input, select") ?? [])]
                .filter((control) => control.checkVisibility() && control.getBoundingClientRect().right > end)
                .map((control) => `${each}: ${control.ariaLabel ?? control.textContent}`);
            }),
          );
          assert.deepEqual(cut, [], `${screen}: nothing is cut off`);
        };
        await look("ledger");
        await selectIn(tab, "rolling_sea");
        await look("selection");
        await tab.view(/Functions/);
        await page.locator(".row:not(.loading)").first().waitFor();
        await look("functions");
        const cell = await page.locator(".functions .row:not(.loading) .name").first().boundingBox();
        assert.ok(cell.width >= 80, `functions: ${cell.width} px are left for names`);
        await tab.view(/Call tree/);
        await page.locator(".row").first().waitFor();
        await look("tree");
        await page.setViewportSize({ width: 1280, height: 800 });
        await tab.settled();
        const call = await page.locator(".tree-table .row .name").first().boundingBox();
        assert.ok(call.width >= 80, `tree: ${call.width} px are left for names`);
        await page.setViewportSize({ width: PHONE, height: 900 });
        await page.locator(".sheet-handle").click();
        const beside = await page
          .locator(".sheet-actions button")
          .evaluateAll((all) =>
            all
              .filter((each) => each.getBoundingClientRect().right > innerWidth)
              .map((each) => each.ariaLabel ?? each.textContent),
          );
        assert.deepEqual(beside, [], "nothing of the sheet is beside the screen");
        await page.setViewportSize({ width: 1440, height: 900 });
        await tab.view(/Flame graph/);
        await page.getByRole("button", { name: "Menu" }).click();
        await look("menu");
        await page.keyboard.press("Escape");
        await page.keyboard.press("Control+k");
        await look("palette");
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "More actions" }).click();
        await look("menu-of-selection");
        await page.keyboard.press("Escape");
        // Where no chip has room, what opens is the list of all.
        await page.locator(".chips :is(.chip-main, .chip)").first().click();
        await look("menu-of-a-chip");
        await page.keyboard.press("Escape");
        await page.keyboard.press("?");
        await look("shortcuts");
        assert.deepEqual(all, {});
        await tab.close();
      },
      { tier: "all", limit: seconds(180) },
    ); // axe reads the page twelve times.
  }

  scene("a21 colours that are forced while the page is open are those of the graph too", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const own = () =>
      page.evaluate(() => {
        const canvas = document.querySelector(".flame-sticky canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4)
          if (data[at] === 0xf8 && data[at + 1] === 0xb7 && data[at + 2] === 0x60) count++;
        return count;
      });
    assert.ok((await own()) > 100, "code of one's own has its colour");
    await page.emulateMedia({ forcedColors: "active" });
    await tab.settled();
    assert.equal(await own(), 0);
    await page.emulateMedia({ forcedColors: "none" });
    await tab.settled();
    assert.ok((await own()) > 100, "and has it again");
    await tab.close();
  });

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 420]) {
      scene(
        `a21 axe finds nothing in any state of the frame, ${colorScheme}, ${width} wide`,
        async () => {
          const steps = Array.from({ length: 9 }, (_, i) => `&step=drop;nothing_is_called_like_this_${i};0`).join("");
          const tab = await frame.opened(
            { initPath: axe, colorScheme, width },
            `#s2&range=0-1&files=/nowhere/tides&step=collapse-recursion${steps}`,
          );
          const { page } = tab;
          const all = {};
          const look = async (state) => {
            // WCAG 2.5.8: targets of 24 pixels, or with as much room around them.
            const found = await tab.findings({ "target-size": { enabled: true } });
            // What is behind a panel is no target while that is open.
            const own = found.filter((each) => !each.includes("partially obscured"));
            if (own.length > 0) all[state] = own;
          };
          /** With something open that Esc closes. */
          const within = async (state, button) => {
            await button.click();
            await look(state);
            await page.keyboard.press("Escape");
          };
          await look("chips");
          await within("event", page.locator(".context-bar .chip").first());
          await within("processes", page.locator(".tasks-button"));
          await within("a chip", page.locator(".filter-chip .chip-main").first());
          const more = page.getByRole("button", { name: /more filters/ });
          if ((await more.count()) > 0) await within("more chips", more);
          await within("menu", page.getByRole("button", { name: "Menu" }));
          for (const key of ["Control+k", "/", "?", "Control+s"]) {
            await page.keyboard.press(key);
            await look(key);
            await page.keyboard.press("Escape");
          }
          await page.keyboard.press("/");
          await page.keyboard.type("no such name");
          await page.locator(".search-panel").getByText("Nothing named “no such name”").waitFor();
          await look("nothing found");
          await page.keyboard.press("Escape");
          for (const key of ["6", "5", "4", "3", "2", "1"]) {
            await page.keyboard.press(key);
            await tab.settled();
            await look(`view ${key}`);
          }
          assert.deepEqual(all, {});
          await tab.close();
        },
        { tier: "all", limit: seconds(180) },
      ); // axe reads the page fifteen times.
    }
  }

  for (const [width, height, tier] of [
    [1440, 900, "fast"],
    [1024, 700, "all"],
    [420, 900, "all"],
  ]) {
    scene(
      `a21 Tab goes through the page from the top, and where it is can be seen, ${width} wide`,
      async () => {
        const tab = await frame.opened({ width, height }, "#s2&range=0-10&step=collapse-recursion");
        const { page } = tab;
        await page.evaluate(() => {
          const top = document.createElement("span");
          top.tabIndex = -1;
          document.body.prepend(top);
          top.focus();
        });
        const seen = [];
        for (let steps = 0; steps < 120; steps++) {
          await page.keyboard.press("Tab");
          const at = await page.evaluate(() => {
            const element = document.activeElement;
            if (element === null || element === document.body) return null;
            const { boxShadow, backgroundImage } = getComputedStyle(element);
            const ringed = (each) =>
              [null, "::after", "::before"].some((part) => {
                const { outlineStyle, borderStyle } = getComputedStyle(each, part);
                return outlineStyle !== "none" || (part !== null && borderStyle !== "none");
              });
            // The ends of a range are drawn on the canvas of their track.
            const box = (element.closest(".timeline-row") ?? element).getBoundingClientRect();
            const region = [
              ".top-bar",
              ".context-bar",
              ".timeline-region",
              ".view-tabs",
              "#view",
              ".dock",
              ".sheet",
              ".status-bar",
            ].findIndex((each) => element.closest(each));
            element.dataset.visited ??= "0";
            element.dataset.visited = String(Number(element.dataset.visited) + 1);
            return {
              what: element.getAttribute("aria-label") ?? element.textContent?.slice(0, 40) ?? "",
              region,
              again: element.dataset.visited !== "1",
              // Its own, or that of what it stands for: the canvas, the field around the text.
              visible: boxShadow !== "none" || backgroundImage !== "none" || [element, element.parentElement].some(ringed),
              inSight: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
            };
          });
          if (at === null || at.again) break;
          seen.push(at);
        }
        assert.ok(seen.length > 10, `${seen.length} stops`);
        for (const { what, visible, inSight } of seen) {
          assert.ok(visible, `${what}: the focus is seen`);
          assert.ok(inSight, `${what}: it is in sight`);
        }
        const regions = seen.map(({ region }) => region).filter((region) => region >= 0);
        assert.deepEqual(
          regions,
          [...regions].sort((a, b) => a - b),
          "from the top",
        );
        for (const region of [0, 1, 3, 4]) assert.ok(regions.includes(region), `region ${region} is reached`);
        const share = page.getByRole("button", { name: "Share" });
        for (let steps = 0; steps < 60 && !(await share.evaluate((each) => each === document.activeElement)); steps++)
          await page.keyboard.press("Tab");
        if (width === 1440) await tab.pictures("a21-focus");
        await tab.close();
      },
      { tier },
    );
  }
});
