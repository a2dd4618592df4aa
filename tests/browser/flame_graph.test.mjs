// The flame graph's painting and keys in a real browser, over a session that answers from a made-up tree, so that what
// has to be on the screen is known: the graph that was answered lies open at `window.harness.graph()`.
import assert from "node:assert/strict";
import { harnessPage } from "../../www/test/harness/bundle.mjs";
import { visit } from "./chromium.mjs";
import { keepPicture, picturesOf } from "./pictures.mjs";
import { beforeScenes, eventually, scene } from "./scene.mjs";

const SEVERAL = 0xffffffff;

let address;

beforeScenes(async () => {
  address = await harnessPage();
});

/** A tab with the harness, closed after the test; errors of the page are failures. */
async function open(t, query, options = {}) {
  const browser = await visit({ width: 1000, height: 700, ...options });
  t.after(() => browser.close());
  await browser.page.goto(`${address}?${query}`);
  await browser.page.waitForFunction(() => performance.getEntriesByName("perftab:flame-graph").length > 0);
  await painted(browser.page);
  return browser;
}

const painted = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))),
  );

/** Pictures in both themes and at all widths, once each is painted. */
const pictures = (page, name) => picturesOf(page, name, { arrange: () => painted(page) });

/** The graph on screen, as arrays, and where it is drawn. */
const graphOf = (page) =>
  page.evaluate(() => {
    const graph = window.harness.graph();
    const columns = ["rowStart", "start", "end", "callNode", "folded", "kind", "total"];
    return Object.fromEntries([...columns.map((name) => [name, [...graph[name]]]), ["depths", graph.depths]]);
  });

/** Child boxes of a box: those of the next row whose middle lies within it. */
function childrenOf(graph, box) {
  const row = graph.rowStart.findLastIndex((first) => first <= box);
  const middle = (each) => (graph.start[each] + graph.end[each]) / 2;
  const next = [];
  for (let each = graph.rowStart[row + 1] ?? 0; each < (graph.rowStart[row + 2] ?? 0); each++) {
    if (middle(each) > graph.start[box] && middle(each) < graph.end[box]) next.push(each);
  }
  return next;
}

for (const scale of [1, 1.5, 2]) {
  scene(`a10 edges are sharp at ${scale}×, and boxes lie where they belong`, async (t) => {
    // Frames of one colour without labels: any other colour between them would be a soft edge.
    const { page, errors } = await open(t, "nodes=3000&plain", { scale });
    const graph = await graphOf(page);
    const found = await page.evaluate(() => {
      const canvas = document.querySelector(".flame-sticky canvas");
      const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const rows = [];
      const ratio = devicePixelRatio;
      for (let row = 0; (row + 0.5) * 18 * ratio < height; row++) {
        const y = Math.floor((row + 0.5) * 18 * ratio);
        const runs = [];
        for (let x = 0, before = ""; x < width; x++) {
          const colour = data.slice(4 * (y * width + x), 4 * (y * width + x) + 4).join(",");
          if (colour !== before) runs.push({ x, colour });
          before = colour;
        }
        rows.push(runs);
      }
      return { rows, width };
    });
    const layoutPx = graph.end[0];
    const edge = (x) => Math.floor((x / layoutPx) * found.width + 0.5);
    const gap = Math.max(1, Math.round(scale));
    let checked = 0;
    for (let row = 0; row < Math.min(graph.depths, found.rows.length); row++) {
      // Independent of the painter: which device pixel columns are covered, from the columns that were answered.
      const expected = new Uint8Array(found.width);
      for (let box = graph.rowStart[row]; box < graph.rowStart[row + 1]; box++) {
        const [left, right] = [edge(graph.start[box]), edge(graph.end[box])];
        if (right > left) expected.fill(1, left, Math.min(found.width, left + Math.max(1, right - left - gap)));
        checked++;
      }
      const actual = new Uint8Array(found.width);
      const colours = new Set();
      found.rows[row].forEach(({ x, colour }, at) => {
        if (colour === "0,0,0,0") return;
        colours.add(colour);
        actual.fill(1, x, found.rows[row][at + 1]?.x ?? found.width);
      });
      assert.deepEqual(actual, expected, `row ${row}`);
      assert.ok(colours.size <= 1, `row ${row} has soft edges: ${[...colours].join(" ")}`);
    }
    assert.ok(checked > 300, `${checked} boxes`);
    assert.deepEqual(errors, []);
  });

  scene(
    `a10 labels stay in their boxes at ${scale}×`,
    async (t) => {
      const { page, errors } = await open(t, "nodes=6000", { scale });
      const found = await page.evaluate(async () => {
        const { prototype } = CanvasRenderingContext2D;
        const { fillRect, fillText } = prototype;
        const boxes = [];
        const labels = [];
        prototype.fillRect = function (x, y, width, height) {
          if (this.canvas === document.querySelector(".flame-sticky canvas")) boxes.push({ x, y, width, height });
          fillRect.call(this, x, y, width, height);
        };
        prototype.fillText = function (text, x, y) {
          const { width } = this.measureText(text);
          labels.push({ text, left: x, right: x + width, y });
          fillText.call(this, text, x, y);
        };
        // Scrolling paints all of it again.
        document.querySelector(".flame-scroller").dispatchEvent(new Event("scroll"));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))));
        Object.assign(prototype, { fillRect, fillText });
        return { boxes, labels };
      });
      assert.ok(found.labels.length > 30, `${found.labels.length} labels`);
      for (const { text, left, right, y } of found.labels) {
        const inside = found.boxes.some(
          (box) => box.y < y && y < box.y + box.height && left >= box.x && right <= box.x + box.width + 0.5,
        );
        assert.ok(inside, `“${text}” from ${left} to ${right} at ${y}`);
      }
      await pictures(page, `a10-labels-${scale}x`);
      assert.deepEqual(errors, []);
    },
    { tier: scale === 1 ? "fast" : "all" },
  );
}

scene("a11 every box is reached by keys, and each is spoken", async (t) => {
  const { page, errors } = await open(t, "nodes=60&samples=3000");
  const graph = await graphOf(page);
  const words = new Map();
  await page.getByRole("tree").focus();
  /** Presses a key and waits until the tree points at a box. */
  const go = async (key, box) => {
    await page.keyboard.press(key);
    const wanted = graph.callNode[box] === SEVERAL ? "several" : `node-${graph.callNode[box]}`;
    const label = await page.waitForFunction((wanted) => {
      const id = document.querySelector("[role=tree]").getAttribute("aria-activedescendant");
      const item = id === null ? null : document.getElementById(id);
      return item?.ariaSelected === "true" && id.endsWith(wanted) && item.ariaLabel;
    }, wanted);
    words.set(box, await label.jsonValue());
  };
  const visit = async (box) => {
    const children = childrenOf(graph, box);
    // Heaviest first: Down goes to the first, Right to the next ones, Up back.
    for (const [at, child] of children.entries()) {
      await go(at === 0 ? "ArrowDown" : "ArrowRight", child);
      await visit(child);
      if (at === children.length - 1) await go("ArrowUp", box);
    }
  };
  await go("Home", 0);
  await visit(0);
  assert.equal(words.size, graph.callNode.length, "every box");
  await page.keyboard.press("End");
  await pictures(page, "a11-reached-by-keys");
  for (const [box, label] of words) {
    assert.match(
      label,
      graph.callNode[box] === SEVERAL
        ? /^(\d+ narrow calls?|\d+ addresses|.+), total (less than )?[\d.]+ percent$/
        : /^.+(, .+, (matched|missing|forced)(, inlined)?)?, total (less than )?[\d.]+ percent, self (less than )?[\d.]+ percent, [\d,]+ samples?$/,
    );
  }
  assert.deepEqual(errors, []);
});

/** From where to where the map's frame goes, as parts of the width. */
const framed = (page) =>
  page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const canvas = document.querySelector(".minimap");
    const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 1);
    const probe = document.createElement("span");
    probe.style.color = "var(--accent)";
    document.body.append(probe);
    const accent = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const is = (x) => accent.every((channel, at) => data[4 * x + at] === channel);
    const xs = [...Array(width).keys()].filter(is);
    return [xs[0] / width, (xs.at(-1) + 1) / width];
  });

scene("a37 the line above the graph says the hottest path, and each part selects its call", async (t) => {
  const { page, errors } = await open(t, "nodes=4000");
  const graph = await graphOf(page);
  const names = await page.evaluate(() => {
    const { label, labels } = window.harness.graph();
    return [...label].map((each) => labels[each]);
  });
  const path = [];
  for (let box = 0; ; path.push(box)) {
    const children = childrenOf(graph, box);
    const self = children.reduce((left, child) => left - graph.total[child], graph.total[box]);
    const calls = children.filter((child) => graph.callNode[child] !== SEVERAL);
    const next = calls.sort((a, b) => graph.total[b] - graph.total[a])[0];
    if (next === undefined || graph.total[next] < Math.max(self, graph.total[0] / 1000)) break;
    box = next;
  }
  const unnamed = path.findIndex((box) => names[box] === undefined);
  const shown = unnamed < 0 ? path : path.slice(0, unnamed);
  assert.ok(shown.length > 1, "the made-up tree has a path");
  const [first, last] = [shown[0], shown.at(-1)];
  const crumbs = page.locator(".breadcrumb .crumb");
  assert.equal(await crumbs.first().textContent(), names[first]);
  assert.equal(await crumbs.last().textContent(), names[last]);
  const share = (weight) => `${((100 * weight) / graph.total[0]).toFixed(1)}`;
  const self = childrenOf(graph, last).reduce((left, child) => left - graph.total[child], graph.total[last]);
  const said = (await page.locator(".breadcrumb .crumb-share").allTextContents()).map((text) => text.replace(/\s/gu, " "));
  const ending = unnamed < 0 ? `${share(self)} % self` : `${share(graph.total[last])} %`;
  assert.deepEqual(said, [`${share(graph.total[first])} %`, ending]);
  const selected = async (box) => {
    await eventually(async () =>
      assert.ok(
        (await page.locator("[role=tree]").getAttribute("aria-activedescendant"))?.endsWith(`node-${graph.callNode[box]}`),
      ),
    );
  };
  await crumbs.last().click();
  await selected(last);
  await crumbs.first().click();
  await selected(first);
  await pictures(page, "a37-hottest");
  assert.deepEqual(errors, []);
});

scene("a12 breadcrumb, minimap, Backspace and 0 say the same", async (t) => {
  const { page, errors } = await open(t, "");
  const whole = await graphOf(page);
  const crumbs = async () => (await page.locator(".breadcrumb").innerText()).split(/\s*›\s*/);
  const rootIs = (name) =>
    page.waitForFunction((name) => document.querySelector(".breadcrumb strong")?.textContent === name, name);
  assert.equal(await page.locator(".minimap").count(), 0, "nothing is zoomed");
  await page.getByRole("tree").focus();
  const path = ["all"];
  let box = 0;
  for (let depth = 0; depth < 3; depth++) {
    await page.keyboard.press(depth === 0 ? "Home" : "ArrowDown");
    if (depth === 0) await page.keyboard.press("ArrowDown");
    [box] = childrenOf(whole, box);
    const wanted = whole.callNode[box];
    const label = await page.waitForFunction(
      (wanted) => document.querySelector(`[role=treeitem][aria-selected="true"][id$="node-${wanted}"]`)?.ariaLabel,
      wanted,
    );
    path.push((await label.jsonValue()).split(", ")[0]);
  }
  const expectFrame = (box) =>
    eventually(async () => {
      const wanted = [whole.start[box] / whole.end[0], whole.end[box] / whole.end[0]];
      const actual = await framed(page);
      actual.forEach((edge, at) => assert.ok(Math.abs(edge - wanted[at]) < 0.004, `${actual} is not ${wanted}`));
    });
  await page.keyboard.press("Enter");
  await rootIs(path[3]);
  assert.deepEqual(await crumbs(), path);
  await page.waitForSelector(".minimap");
  await painted(page);
  await expectFrame(box);
  await pictures(page, "a12-zoomed");
  await painted(page);
  await page.keyboard.press("Backspace");
  await rootIs(path[2]);
  assert.deepEqual(await crumbs(), path.slice(0, 3));
  await painted(page);
  const [process] = childrenOf(whole, 0);
  await expectFrame(childrenOf(whole, process)[0]);
  // Magnified as well, the map shows the part of the frame that is seen.
  await page.keyboard.press("+");
  await eventually(async () => {
    const [left, right] = await framed(page);
    assert.ok(right - left < 0.7 * (whole.end[childrenOf(whole, process)[0]] / whole.end[0]));
  });
  await page.keyboard.press("Backspace");
  await painted(page);
  await expectFrame(childrenOf(whole, process)[0]);
  await page.locator(".breadcrumb button").nth(1).click();
  await rootIs(path[1]);
  await page.getByRole("tree").focus();
  await page.keyboard.press("0");
  await rootIs("all");
  await page.waitForSelector(".minimap", { state: "detached" });
  assert.deepEqual(errors, []);
});

scene("two fingers magnify about what lies between them", async (t) => {
  const { page, errors } = await open(t, "", { width: 420, height: 900, touch: true });
  const { x, y, width } = await page.locator(".flame-scroller").boundingBox();
  const browser = await page.context().newCDPSession(page);
  // Chromium moves a point only once it has gone some way, so the way is long, and short at each step.
  const between = x + width / 2;
  const fingers = (apart) => [-1, 1].map((side, id) => ({ id, x: between + (side * apart) / 2, y: y + 40 }));
  await browser.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(80) });
  for (let apart = 90; apart <= 320; apart += 10) {
    await browser.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(apart) });
  }
  await browser.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await page.waitForSelector(".minimap");
  await eventually(async () => {
    const [left, right] = await framed(page);
    // Four times as wide, but for the first steps.
    assert.ok(right - left > 0.2 && right - left < 0.4, `${left} to ${right}`);
    assert.ok(Math.abs((left + right) / 2 - 0.5) < 0.06, `${left} to ${right}`);
  });
  assert.deepEqual(errors, []);
});

scene(
  "the root stands at the bottom where that is chosen, and keys go the way that is seen",
  async (t) => {
    const { page, errors } = await open(t, "");
    const graph = await graphOf(page);
    await page.getByRole("button", { name: "More options" }).click();
    await page.getByRole("combobox", { name: "Root" }).selectOption("bottom");
    await page.getByRole("combobox", { name: "Row height" }).selectOption("22");
    await page.keyboard.press("Escape");
    await painted(page);
    const place = await page.locator(".flame-scroller").boundingBox();
    const at = (row) => [place.x + 10, place.y + place.height - (row + 0.5) * 22];
    const selected = (callNode) =>
      page.waitForFunction(
        (callNode) => document.querySelector(`[role=treeitem][aria-selected="true"][id$="node-${callNode}"]`) !== null,
        callNode,
      );
    await page.mouse.click(...at(0));
    await selected(graph.callNode[0]);
    const [child] = childrenOf(graph, 0);
    await page.keyboard.press("ArrowUp");
    await selected(graph.callNode[child]);
    await page.mouse.click(...at(2));
    await selected(graph.callNode[childrenOf(graph, child)[0]]);
    await page.keyboard.press("ArrowDown");
    await selected(graph.callNode[child]);
    await keepPicture(page, "flame-root-at-bottom");
    assert.deepEqual(errors, []);
  },
  { tier: "all" },
);

scene(
  "colours tell what is chosen: whose code it is, its DSO, or what it costs by itself",
  async (t) => {
    const { page, errors } = await open(t, "nodes=400");
    /** The share of the canvas that has the colour of a token, as it stands or one of its two shades. */
    const share = (tokens) =>
      page.evaluate((tokens) => {
        const canvas = document.querySelector(".flame-sticky canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const probe = document.body.appendChild(document.createElement("span"));
        const wanted = new Set(
          tokens.flatMap((token) => {
            probe.style.color = `var(--${token})`;
            const channels = getComputedStyle(probe).color.match(/\d+/g).map(Number);
            return [0, 0.05, 0.1].map((black) => channels.map((channel) => Math.round(channel * (1 - black))).join());
          }),
        );
        probe.remove();
        let count = 0;
        for (let i = 0; i < data.length; i += 4) count += wanted.has(`${data[i]},${data[i + 1]},${data[i + 2]}`) ? 1 : 0;
        return count / (data.length / 4);
      }, tokens);
    const colours = {
      kind: ["g-own", "g-sys", "g-ker", "g-jit"],
      dso: ["k1", "k2", "k3", "k4", "k5", "k6"],
      heat: ["h1", "h2", "h3", "h4", "h5"],
    };
    for (const [chosen, own] of Object.entries(colours)) {
      await page.getByRole("combobox", { name: "Colour" }).selectOption(chosen);
      await eventually(async () => assert.ok((await share(own)) > 0.05, `by ${chosen} there are its colours`));
      for (const [other, tokens] of Object.entries(colours)) {
        // Heat's last steps and the kinds have no colour in common.
        if (other !== chosen) assert.ok((await share(tokens)) < 0.001, `by ${chosen} there are none of ${other}`);
      }
      await keepPicture(page, `flame-by-${chosen}`);
    }
    assert.deepEqual(errors, []);
  },
  { tier: "all" },
);
