// The arithmetic of the timeline: windows of time, ticks, words for ranges, rows, ranges that keys make.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskRows, Timeline, Track } from "../src/session/types.ts";
import { timeAction } from "../src/timeline/keys.ts";
import { KeyedRange } from "../src/timeline/range_keys.ts";
import { rowsOf } from "../src/timeline/rows.ts";
import { ALL_ROW, binAt, placedTracks, rowAt, trackSizes } from "../src/timeline/scene.ts";
import type { Scene } from "../src/timeline/scene.ts";
import { ticksFor } from "../src/timeline/ticks.ts";
import type { TimeSpan } from "../src/timeline/time_window.ts";
import {
  clampWindow,
  extended,
  lengthOf,
  panWindow,
  pointedTime,
  resolution,
  revealTime,
  roundStep,
  timeAt,
  xOf,
  zoomWindow,
} from "../src/timeline/time_window.ts";
import { lengthWords, noSamplesIn, rangeWords } from "../src/timeline/words.ts";

const S = 1e9;
const MINUTE: TimeSpan = { start: 0, end: 60 * S };

test("zooming keeps what is at the pointer there, and ends at the whole", () => {
  const half = zoomWindow(MINUTE, MINUTE, 20 * S, 2);
  assert.deepEqual(half, { start: 10 * S, end: 40 * S });
  assert.equal(xOf(20 * S, half, 900), xOf(20 * S, MINUTE, 900));
  assert.deepEqual(zoomWindow(half, MINUTE, 20 * S, 1 / 8), MINUTE);
});

test("a window never leaves the whole and never becomes nothing", () => {
  assert.deepEqual(clampWindow({ start: -5 * S, end: 5 * S }, MINUTE), { start: 0, end: 10 * S });
  assert.deepEqual(clampWindow({ start: 55 * S, end: 65 * S }, MINUTE), { start: 50 * S, end: 60 * S });
  assert.ok(lengthOf(zoomWindow(MINUTE, MINUTE, 0, 1e30)) > 0);
  assert.deepEqual(clampWindow({ start: 3, end: 3 }, { start: 0, end: 1 }), { start: 0, end: 1 });
  assert.deepEqual(panWindow({ start: 10 * S, end: 20 * S }, MINUTE, 0.5), { start: 15 * S, end: 25 * S });
  assert.deepEqual(panWindow({ start: 50 * S, end: 60 * S }, MINUTE, 1), { start: 50 * S, end: 60 * S });
});

test("the window follows a time that left it by as little as it can", () => {
  const window = { start: 10 * S, end: 20 * S };
  assert.equal(revealTime(window, MINUTE, 15 * S), window);
  assert.deepEqual(revealTime(window, MINUTE, 25 * S), { start: 15 * S, end: 25 * S });
  assert.deepEqual(revealTime(window, MINUTE, 4 * S), { start: 4 * S, end: 14 * S });
});

test("pointed times are round, but for the ends of the whole", () => {
  // A pixel is 50 ms and a little: times are whole tenths of a second.
  const whole = { start: 0, end: 60 * S + 1000 };
  assert.equal(resolution(whole, 1200), 100e6);
  assert.equal(resolution(MINUTE, 1200), 50e6);
  assert.equal(pointedTime(432.7, whole, 1200, whole) % 100e6, 0);
  assert.equal(pointedTime(432, whole, 1200, whole), 21.6 * S);
  assert.equal(pointedTime(1200, whole, 1200, whole), whole.end);
  assert.equal(pointedTime(5000, whole, 1200, whole), whole.end);
  assert.equal(pointedTime(-40, whole, 1200, whole), 0);
  assert.equal(timeAt(600, MINUTE, 1200), 30 * S);
});

test("every round time in sight can be pointed at", () => {
  const window = { start: 1.3 * S, end: 5.517 * S };
  const step = resolution(window, 1188);
  const pointed = new Set(Array.from({ length: 1189 }, (_, x) => pointedTime(x, window, 1188, MINUTE)));
  for (let time = Math.ceil(window.start / step) * step; time <= window.end; time += step) {
    assert.ok(pointed.has(time), `${time} ns`);
  }
});

test("extending moves the nearer edge", () => {
  const range = { start: 10 * S, end: 20 * S };
  assert.deepEqual(extended(range, 5 * S), { start: 5 * S, end: 20 * S });
  assert.deepEqual(extended(range, 30 * S), { start: 10 * S, end: 30 * S });
  assert.deepEqual(extended(range, 12 * S), { start: 12 * S, end: 20 * S });
});

test("ticks stand at round times with room for their words", () => {
  assert.deepEqual(
    ticksFor(MINUTE, 1188)
      .map(({ label }) => label)
      .slice(0, 3),
    ["0 s", "5 s", "10 s"],
  );
  assert.deepEqual(
    ticksFor({ start: 21.6 * S, end: 22.6 * S }, 1000)
      .map(({ label }) => label)
      .slice(0, 2),
    ["21.6 s", "21.7 s"],
  );
  assert.deepEqual(
    ticksFor(MINUTE, 400).map(({ label }) => label),
    ["0 s", "20 s", "40 s", "60 s"],
  );
  for (const length of [1e4, 3.7e6, 1e9, 5e10, 8.64e13]) {
    const ticks = ticksFor({ start: 7e9, end: 7e9 + length }, 1000);
    assert.ok(ticks.length >= 2 && ticks.length <= 13, `${ticks.length} ticks for ${length} ns`);
    assert.equal(new Set(ticks.map(({ label }) => label)).size, ticks.length, "each says another time");
  }
  assert.deepEqual(ticksFor({ start: 5, end: 5 }, 1000), []);
  // A recording of one sample is a nanosecond long.
  assert.deepEqual(
    ticksFor({ start: 0, end: 1 }, 1000).map(({ time }) => time),
    [0, 1],
  );
  assert.deepEqual([0.3, 0.6, 1, 1.1, 2.5, 7].map(roundStep), [0.5, 1, 1, 2, 5, 10]);
});

test("ranges are written with four figures of their length", () => {
  const range = (start: number, end: number): TimeSpan => ({ start: start * S, end: end * S });
  assert.equal(rangeWords(range(21.6, 31.85)), "21.60 s to 31.85 s");
  assert.equal(lengthWords(range(21.6, 31.85)), "10.25 s");
  assert.equal(rangeWords(range(26.14, 28.42)), "26.140 s to 28.420 s");
  assert.equal(lengthWords(range(26.14, 28.42)), "2.280 s");
  assert.equal(rangeWords(range(0, 600)), "0.00 s to 600.00 s");
  assert.equal(rangeWords(range(1.41, 1.81)), "1.410 s to 1.810 s");
  assert.equal(rangeWords(range(1.4105, 1.81)), "1.4105 s to 1.8100 s");
  assert.equal(lengthWords(range(1, 1.0456)), "0.0456 s");
  assert.equal(rangeWords({ start: 0, end: 1.23456789 * S }), "0.000 s to 1.235 s");
  assert.equal(noSamplesIn(range(35.1, 35.5)), "No samples from 35.1 s to 35.5 s.");
  assert.equal(noSamplesIn(range(35, 36)), "No samples from 35.0 s to 36.0 s.");
});

test("a range that keys make keeps its other edge, and is one step", () => {
  const shown: TimeSpan[] = [];
  const kept: TimeSpan[] = [];
  const keyed = new KeyedRange(
    (range) => shown.push(range),
    (range) => kept.push(range),
  );
  keyed.extend(10, 12, null);
  keyed.extend(12, 14, null);
  keyed.extend(14, 8, null);
  assert.deepEqual(shown, [
    { start: 10, end: 12 },
    { start: 10, end: 14 },
    { start: 8, end: 10 },
  ]);
  assert.deepEqual(kept, []);
  keyed.settle();
  keyed.settle();
  assert.deepEqual(kept, [{ start: 8, end: 10 }]);
  // Of a range that is there, the edge that is nearer to the cursor moves.
  keyed.extend(9.5, 11, { start: 8, end: 10 });
  assert.deepEqual(shown.at(-1), { start: 8, end: 11 });
  keyed.settle();
  keyed.moveEdge("start", 5, { start: 8, end: 11 });
  keyed.moveEdge("start", 12, { start: 5, end: 11 });
  assert.deepEqual(shown.at(-1), { start: 11, end: 12 }, "an edge may cross the other");
  keyed.settle();
  assert.equal(kept.length, 3);
  // Nothing is no range.
  keyed.extend(5, 5, null);
  keyed.settle();
  assert.equal(kept.length, 3);
});

const TRACK: Track = {
  key: "",
  label: "",
  sub: "",
  samples: 1,
  weight: 1,
  level: 0,
  threads: 0,
  pid: null,
  tid: null,
  cpu: null,
  peak: 10,
};

function answerOf(tracks: Partial<Track>[]): Timeline {
  const all = [{ ...TRACK, key: "all" }, ...tracks.map((each) => ({ ...TRACK, ...each }))];
  return {
    start: 0,
    end: 40,
    bins: 4,
    kinds: 2,
    leftOut: 0,
    tracks: all,
    weights: Float32Array.from({ length: all.length * 8 }, (_, at) => at),
  };
}

test("what the filters left nothing of has an empty row behind the others", () => {
  const sum = { samples: 1, weight: 1, start: 0, end: 1 };
  const tasks: TaskRows = {
    processes: [
      {
        pid: 1,
        name: "nginx",
        ...sum,
        threads: [
          { tid: 1, name: "nginx", ...sum },
          { tid: 2, name: "nginx", ...sum },
        ],
      },
      { pid: 9, name: "cron", ...sum, threads: [{ tid: 9, name: "cron", ...sum }] },
    ],
    cpus: [
      { cpu: 0, samples: 1 },
      { cpu: 1, samples: 1 },
    ],
  };
  const answer = answerOf([
    { key: "p1", label: "nginx", pid: 1 },
    { key: "t2", label: "nginx", pid: 1, tid: 2, level: 1 },
  ]);
  const rows = rowsOf(answer, tasks, "process", new Set([1]));
  assert.deepEqual(
    rows.map(({ key, track, opened }) => [key, track, opened]),
    [
      ["p1", 1, "open"],
      ["t2", 2, null],
      ["p9", null, null],
    ],
  );
  assert.equal(rowsOf(answer, tasks, "process", new Set())[0]?.opened, "closed");
  assert.deepEqual(
    rowsOf(answerOf([{ key: "c1", cpu: 1 }]), tasks, "cpu", new Set()).map(({ key }) => key),
    ["c1", "c0"],
  );
});

test("a height is a row, and rows that scroll lie under all CPUs", () => {
  const scene: Scene = {
    answer: null,
    rows: [1, null, 2, 3, 4, 5, 6],
    marks: null,
    window: MINUTE,
    width: 100,
    height: 134,
    scrollTop: 30,
    sizes: trackSizes(1),
    ratio: 1,
    textScale: 1,
  };
  assert.equal(rowAt(scene, 10), null, "the ruler");
  assert.equal(rowAt(scene, 20), ALL_ROW);
  assert.equal(rowAt(scene, 59), ALL_ROW);
  // The first row is 30 px further up, so the second one begins at 56.
  assert.equal(rowAt(scene, 60), 1);
  assert.equal(rowAt(scene, 82), 2);
  assert.deepEqual(
    placedTracks(scene).map(({ row, track }) => [row, track]),
    [
      [-1, 0],
      [1, null],
      [2, 2],
      [3, 3],
    ],
  );
});

test("a bin's weight is the sum of its kinds", () => {
  // Track 1 begins at 8: its third bin has 12 and 13.
  assert.deepEqual(binAt(answerOf([{}]), 1, 25), { weight: 25, span: { start: 20, end: 30 } });
  assert.equal(binAt(answerOf([{}]), 1, 40), null);
  assert.equal(binAt(answerOf([{}]), 1, -1), null);
});

test("letters move time, and what needs Ctrl is left alone", () => {
  const key = (name: string, held: Partial<KeyboardEvent> = {}): ReturnType<typeof timeAction> =>
    timeAction({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...held });
  assert.equal(key("d")?.kind, "pan");
  assert.equal(key("f")?.kind, "fit-range");
  assert.deepEqual(key("ArrowRight", { shiftKey: true }), { kind: "cursor", along: "time", steps: 1, range: "extended" });
  assert.equal(key("f", { ctrlKey: true }), null);
  assert.equal(key("l"), null);
});
