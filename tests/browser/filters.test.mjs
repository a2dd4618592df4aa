// Chips that say what filters and steps take away, undo, and what is said where nothing is left. Numbers are checked against
// what perf prints.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Frame, chip, chips, count, selectIn } from "./frame.mjs";
import { eventually, scene } from "./scene.mjs";
import { Parts } from "./recording.mjs";
import { writeLibrary, writeRecording } from "./synthetic.mjs";
import { QUERY, Tab } from "./tab.mjs";

const frame = new Frame();

describe("context bar", () => {
  scene("chips say what is shown, and undo takes each step back", async () => {
    const tab = await frame.opened({ toasts: "stay" });
    const { page } = tab;
    await frame.showing(tab, frame.stacks.length);
    const dropped = frame.withFunction("rolling_sea");
    assert.ok(dropped > 0, "perf finds the function");

    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("D");
    await chip(tab, "Drop function rolling_sea").waitFor();
    await frame.showing(tab, frame.stacks.length - dropped);
    const share = `${((dropped / frame.stacks.length) * 100).toFixed(1)}\\s%`;
    await page.locator(".toast > span", { hasText: new RegExp(`^Dropped function rolling_sea, ${share}$`) }).waitFor();
    await eventually(async () => {
      assert.match(await chip(tab, "Drop").getAttribute("title"), new RegExp(`removes ${share}, ${count(dropped)} samples`));
    });
    await page.keyboard.press("/");
    await page.keyboard.type("rolling_sea");
    await page.locator(".search-panel").getByText("Nothing named “rolling_sea”.").waitFor();
    await page.keyboard.press("Escape");

    await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await frame.showing(tab, frame.stacks.length);
    assert.equal(await chips(tab).count(), 0);
    await page.keyboard.press("Control+Shift+z");
    await frame.showing(tab, frame.stacks.length - dropped);
    await page.goBack();
    await frame.showing(tab, frame.stacks.length);
    await page.goForward();
    await frame.showing(tab, frame.stacks.length - dropped);

    // The address alone says it all.
    await page.reload();
    await tab.drop(frame.recording);
    await tab.opened();
    await tab.drop(frame.program);
    await frame.showing(tab, frame.stacks.length - dropped);
    await chip(tab, "Drop function rolling_sea")
      .getByRole("button", { name: /^Remove/ })
      .click();
    await frame.showing(tab, frame.stacks.length);
    await tab.close();
  });

  scene(
    "a toast that offers to undo a step goes with its step",
    async () => {
      // Only what ends its step takes one away.
      const tab = await frame.opened({ toasts: "stay" });
      const { page } = tab;
      const toasts = page.locator(".toast-undo");
      const drop = async (name) => {
        await selectIn(tab, name);
        await page.keyboard.press("D");
        await toasts.filter({ hasText: `Dropped function ${name}` }).waitFor();
      };
      const gone = () => page.waitForFunction(() => document.querySelector(".toast-undo") === null);
      for (const leave of [
        () => page.keyboard.press("Control+z"),
        () => page.goBack(),
        () => page.getByRole("tab", { name: /Call tree/ }).click(),
        () =>
          page.evaluate(() => {
            location.hash = "#s2&direction=inverted";
          }),
      ]) {
        await drop("rolling_sea");
        await leave();
        await gone();
        await page.evaluate(() => {
          location.hash = "#s2&view=flame";
        });
        await frame.showing(tab, frame.stacks.length);
      }
      await drop("rolling_sea");
      await tab.drop(frame.recording);
      await gone();
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a29 Undo beside the filters takes back filters and transforms alone, and Back takes back that", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const undo = page.locator(".undo-button");
    await tab.view(/Call tree/);
    await tab.view(/Flame graph/);
    assert.equal(await undo.count(), 0, "a view is nothing that it takes back");
    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("f");
    await frame.showing(tab, frame.withFunction("rolling_sea"));
    await tab.view(/Functions/);
    await tab.pictures("a29-undo");
    await undo.click();
    await frame.showing(tab, frame.stacks.length);
    assert.equal(await chips(tab).count(), 0);
    await page.locator('[role=tab][aria-selected="true"]', { hasText: "Functions" }).waitFor();
    await undo.waitFor({ state: "detached" });
    await page.goBack();
    await chip(tab, "Focus rolling_sea").waitFor();
    await page.goBack();
    await page.locator('[role=tab][aria-selected="true"]', { hasText: "Flame graph" }).waitFor();
    await chip(tab, "Focus rolling_sea").waitFor();
    await tab.close();
  });

  scene("each transform by its key, in order of effect, each removed alone", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const expected = [];
    for (const [key, name, words] of [
      ["m", "lift_droplet", "Merge lift_droplet"],
      ["c", "raise_swell", "Collapse raise_swell"],
      ["r", "main", "Collapse recursion"],
      ["f", "main", "Focus main"],
      ["F", "rolling_sea", "Focus subtree rolling_sea"],
    ]) {
      await selectIn(tab, name);
      await page.keyboard.press(key);
      expected.push(words);
      await chips(tab)
        .nth(expected.length - 1)
        .waitFor();
      await eventually(async () => {
        assert.deepEqual(
          await chips(tab).evaluateAll((all) =>
            all.map((each) => each.querySelector(".chip-main").innerText.replace(/\s+/g, " ").trim()),
          ),
          expected,
        );
      });
    }
    await frame.showing(tab, frame.withFunction("rolling_sea"));
    await tab.pictures("shell-chips");
    await chip(tab, "Focus subtree")
      .getByRole("button", { name: /^Remove/ })
      .click();
    await frame.showing(tab, frame.withFunction("main"));
    await chip(tab, "Focus main").locator(".chip-main").click();
    await page.getByRole("button", { name: "Clear all" }).click();
    await frame.showing(tab, frame.stacks.length);
    assert.equal(await chips(tab).count(), 0);
    await tab.close();
  });

  scene(
    "what has no effect is struck through, and what does not fit is counted",
    async () => {
      const steps = Array.from({ length: 12 }, (_, i) => `&step=drop;nothing_is_called_like_this_${i};0`).join("");
      const tab = await frame.opened({}, `#s2&files=/nowhere/tides${steps}`);
      const { page } = tab;
      await frame.showing(tab, frame.stacks.length);
      await page.locator(".chip-inert").first().waitFor();
      await tab.settled();
      const drawn = await page.locator(".chips > .filter-chip").count();
      assert.ok(drawn > 0 && drawn < 12, `${drawn} of 12 fit`);
      const more = page.locator(".chips").getByRole("button", { name: `${12 - drawn} more filters` });
      await more.click();
      await eventually(async () => assert.equal(await chips(tab).count(), 12));
      const row = await page.locator(".context-bar").boundingBox();
      for (const box of await page
        .locator(".context-bar > *, .chips > *")
        .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().right))) {
        assert.ok(box <= row.x + row.width + 0.5, "nothing leaves the bar");
      }
      const chipsDrawn = (least, most) =>
        page.waitForFunction(
          ([least, most]) => {
            const now = document.querySelectorAll(".chips > .filter-chip").length;
            return least <= now && now <= most;
          },
          [least, most],
        );
      const gap = () =>
        page.evaluate(
          () =>
            document.querySelector(".undo-button").getBoundingClientRect().left -
            document.querySelector(".chips").lastElementChild.getBoundingClientRect().right,
        );
      await page.keyboard.press("Escape");
      await page
        .getByRole("button", { name: /^Remove / })
        .first()
        .click();
      await frame.showing(tab, frame.stacks.length);
      await page.locator(".undo-button:enabled").waitFor();
      const size = page.viewportSize();
      await chipsDrawn(drawn, drawn);
      await eventually(async () => {
        const pixels = await gap();
        assert.ok(pixels >= 0 && pixels < 16, `Undo stands ${pixels} px behind the chips`);
      });
      await page.setViewportSize({ width: 1030, height: size.height });
      await chipsDrawn(0, drawn - 1);
      await page.setViewportSize(size);
      await chipsDrawn(drawn, drawn);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "the menu of the selection has every transform, and gives the focus back",
    async () => {
      const tab = await frame.opened();
      const { page } = tab;
      await selectIn(tab, "rolling_sea");
      await page.getByRole("button", { name: "More actions" }).click();
      const menu = page.getByRole("menu", { name: "rolling_sea" });
      await menu.waitFor();
      await tab.picture("shell-menu-of-selection");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "detached" });
      await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "More actions");
      await page.keyboard.press("Enter");
      await menu.getByRole("menuitem", { name: /^Drop function/ }).click();
      await frame.showing(tab, frame.stacks.length - frame.withFunction("rolling_sea"));
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("own code", () => {
  scene("a library counts as own code where the user says so, in the address too, until that is undone", async () => {
    const parts = new Parts();
    const code = writeLibrary(parts, "fleet", ["flagship", "frigate"]);
    const task = { pid: 7, tid: 7, name: "fleet" };
    const sample = (index) => ({ task, time: 1000 + index, cpu: 0, weight: 1, way: [1 / 16, 1] });
    const recording = parts.path("fleet.perf.data");
    writeRecording(
      recording,
      { ...code, library: "/usr/lib/fleet.so" },
      [task],
      Array.from({ length: 9 }, (_, at) => sample(at)),
    );
    const tab = await Tab.open(await parts.host());
    const { page } = tab;
    const open = async () => {
      await tab.drop(recording);
      await tab.opened();
      await tab.drop(code.library);
      await tab.settled();
      await selectIn(tab, "frigate");
    };
    const kind = async () => {
      const own = await page.evaluate(() => /[#&]own=(\d+)/.exec(location.hash)?.[1] ?? null);
      const files = own === null ? [] : [{ path: "/usr/lib/fleet.so", buildId: (await tab.ask("info")).dsos[0].build_id }];
      const graph = await tab.ask("flameGraph", {
        query: { ...QUERY, own: files },
        window: { root: 0, widthPx: 1000, minPx: 0.1, search: "" },
      });
      return [own, [...new Set(graph.kind)].sort().join()];
    };
    const choose = async (label) => {
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: label }).click();
    };
    await open();
    const before = await kind();
    await choose("Count fleet.so as own code");
    await eventually(async () => assert.notDeepEqual(await kind(), before));
    const counted = await kind();
    await page.reload();
    await open();
    assert.deepEqual(await kind(), counted, "the address says it");
    await choose("Do not count fleet.so as own code");
    await eventually(async () => assert.deepEqual(await kind(), before));
    await page.goBack();
    await eventually(async () => assert.deepEqual(await kind(), counted));
    await tab.close();
    await parts.end();
  });
});

describe("filters", () => {
  scene("processes are ticked in a list that says how much each has", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const byPid = new Map();
    for (const sample of frame.stacks) byPid.set(sample.pid, [...(byPid.get(sample.pid) ?? []), sample]);
    assert.ok(byPid.size >= 2, "more than one process ran");
    await page.keyboard.press("t");
    const row = (pid) => page.locator(".task-row", { hasText: new RegExp(`\\b${pid}\\b`) });
    for (const [pid, samples] of byPid) {
      const share = (samples.length / frame.stacks.length) * 100;
      const words = share < 0.05 ? /< 0\.1/ : new RegExp(share.toFixed(1).replace(".", "\\."));
      await row(pid).filter({ hasText: words }).waitFor();
    }
    const [first, second] = [...byPid.keys()];
    await row(first).getByRole("checkbox").check();
    await frame.showing(tab, byPid.get(first).length);
    await row(second).getByRole("checkbox").check();
    await frame.showing(tab, byPid.get(first).length + byPid.get(second).length);
    await tab.pictures("shell-processes");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: `Processes 2 of ${byPid.size}` }).waitFor();
    await page.keyboard.press("Control+z");
    await frame.showing(tab, byPid.get(first).length);

    // A PID and Enter are that process alone.
    await page.keyboard.press("t");
    await page.keyboard.type(String(second));
    await page.getByRole("button", { name: "Only 1 process" }).waitFor();
    await tab.pictures("shell-only-process");
    await page.keyboard.press("Enter");
    await frame.showing(tab, byPid.get(second).length);
    await page.keyboard.press("Escape");
    await chip(tab, "Process")
      .getByRole("button", { name: /^Remove/ })
      .click();
    await frame.showing(tab, frame.stacks.length);

    // One thread after the other, the heaviest first.
    const sizes = [...byPid.values()].map((samples) => samples.length).sort((a, b) => b - a);
    await page.keyboard.press("n");
    await frame.showing(tab, sizes[0]);
    await page.keyboard.press("n");
    await frame.showing(tab, sizes[1]);
    await page.keyboard.press("p");
    await frame.showing(tab, sizes[0]);
    await tab.close();
  });

  scene(
    "where nothing is left, the page says why and leads back",
    async () => {
      const tab = await frame.opened({}, "#s2&range=999-1000");
      const { page } = tab;
      await page.getByText("No samples from 999.0 s to 1000.0 s.").waitFor();
      await page.getByRole("button", { name: "Clear the range" }).click();
      await frame.showing(tab, frame.stacks.length);
      await tab.close();

      const other = await frame.opened({}, "#s2&range=0-500&comms=nobody&step=collapse-recursion");
      await other.page.getByText("Nothing is left after 3 filters.").waitFor();
      for (const [view, row] of [
        [/Functions/, "functions"],
        [/Call tree/, "tree"],
      ]) {
        await other.view(view);
        await other.page.getByText("Nothing is left after 3 filters.").waitFor();
        await other.picture(`shell-nothing-left-${row}`);
      }
      await other.page.getByRole("button", { name: "Remove the last" }).click();
      await other.page.getByText("Nothing is left after 2 filters.").waitFor();
      await other.page.getByRole("button", { name: "Clear all" }).click();
      await frame.showing(other, frame.stacks.length);
      await other.close();
    },
    { tier: "all" },
  );

  scene(
    "a step that names what has no name yet says so, until it has one",
    async () => {
      const tab = await Tab.open(frame.host);
      await tab.drop(frame.recording);
      await tab.opened();
      const { page } = tab;
      const { build_id } = (await tab.ask("info")).dsos.find(({ path }) => path === frame.program);
      await page.evaluate((address) => {
        location.hash = address;
      }, `#s2&files=${frame.program};${build_id}&step=drop;not_there;0&step=focus;rolling_sea;0`);
      await page
        .getByText(/No function in tides is called “rolling_sea” here\. [\d.]+\s% of samples have no name yet\./)
        .waitFor();
      assert.match(
        await chip(tab, "Drop").getAttribute("title"),
        /has no effect here: no function in tides is called “not_there” here$/,
      );
      assert.match(await chip(tab, "Focus").getAttribute("title"), /samples: no function in tides is called “rolling_sea” here$/);
      await tab.drop(frame.program);
      await frame.showing(tab, frame.withFunction("rolling_sea"));
      assert.ok(!(await chip(tab, "Focus").getAttribute("title")).includes("no function"));
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "an address that nobody's page wrote breaks nothing",
    async () => {
      const deep = ",;f;0".repeat(1000);
      const addresses = [
        `#s2&range=9-1&cpus=99999,-1&processes=${"1,".repeat(5000)}&files=;,%,/a&dsos=0,7&step=fly&step=drop;x;9&around=up;x;0&event=77&view=source`,
        `#s2&files=/a&${`step=focus-subtree;inverted${deep}&`.repeat(70)}`,
        `#s2&step=search;/(a%2B)%2B$/&step=search;/(/&search=/(&group=%00&around=callers;${"x".repeat(4000)};0&files=/a`,
      ];
      for (const address of addresses) {
        const tab = await Tab.open(frame.host + address);
        await tab.drop(frame.recording);
        await tab.page.locator(".showing", { hasText: `of ${count(frame.stacks.length)} samples` }).waitFor();
        await tab.settled();
        await tab.page.keyboard.press("3");
        await tab.page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
        await tab.settled();
        await tab.close();
      }
    },
    { tier: "all" },
  );

  scene(
    "a part of an address that is cut off or unknown is said, and the rest holds",
    async () => {
      const tab = await frame.opened({ toasts: "stay" });
      const { page } = tab;
      const go = (fragment) =>
        page.evaluate((fragment) => {
          location.hash = fragment;
        }, fragment);
      const told = (text) => page.locator(".toast", { hasText: text }).waitFor();
      await go("#s2&files=/a&view=functions&step=collapse-recursion&step=focus;lo");
      await told("The address has an unknown part: step=focus;lo");
      await page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
      await chip(tab, "Collapse recursion").waitFor();
      await go("#s2&pie=1&view=pie");
      await told("The address has 2 unknown parts: view=pie, pie=1");
      await tab.picture("address-unknown-part");
      // What is well is taken without a word.
      await page.locator(".toast button[aria-label]").first().click();
      await go("#s2&view=tree");
      await page.getByRole("tab", { name: /Call tree/, selected: true }).waitFor();
      await tab.settled();
      assert.equal(await page.locator(".toast", { hasText: "does not know" }).count(), 0);
      await tab.close();
    },
    { tier: "all" },
  );

  scene("zoom and selection stay where their call is still there", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("Enter");
    const zoomed = page.locator(".breadcrumb [aria-current=location]", { hasText: /^rolling_sea$/ });
    await zoomed.waitFor();
    await page.keyboard.press("r");
    await chip(tab, "Collapse recursion").waitFor();
    await zoomed.waitFor();
    await tab.settled();
    const isSpoken = (pattern) =>
      eventually(async () => {
        assert.match(await page.locator('[role=treeitem][aria-selected="true"]').getAttribute("aria-label"), pattern);
      });
    await isSpoken(/^rolling_sea, /);
    await page.goBack();
    await chips(tab).first().waitFor({ state: "detached" });
    await zoomed.waitFor();
    await isSpoken(/^rolling_sea, /);
    // What is gone cannot stay: its caller does, although what was inlined into it stands in its place.
    await page.keyboard.press("m");
    await chip(tab, "Merge rolling_sea").waitFor();
    await page.locator('[role=treeitem][aria-selected="true"][aria-label^="main, "]').waitFor();
    await page.goBack();
    await zoomed.waitFor();
    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("D");
    await chip(tab, "Drop function rolling_sea").waitFor();
    await page.locator(".breadcrumb [aria-current=location]", { hasText: /^main$/ }).waitFor();
    await page.locator('[role=treeitem][aria-selected="true"][aria-label^="main, "]').waitFor();
    await tab.close();
  });
});
