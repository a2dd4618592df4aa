// Where cells of the heat map lie, how what is chosen is outlined, and the colours between the tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cellSpan, fifthsOf, roundTime, sumWords } from "../src/heat_map/words.ts";
import {
  CELL_HEIGHT,
  cellAt,
  cellAtTime,
  cellsOf,
  gridFor,
  outlineOf,
  spanOfCell,
  spanOfCells,
  spanOfGrid,
  sumOfCells,
  timeOfCell,
} from "../src/heat_map/grid.ts";
import type { Corner, Grid, Rows } from "../src/heat_map/grid.ts";
import { between } from "../src/heat_map/palette.ts";

const S = 1e9;
const THREE_SECONDS: Grid = { period: S, rows: 50, first: 26, columns: 3, cell: 100 };

test("columns are as wide as fits in whole pixels, and at least 4", () => {
  const minute = { start: 0, end: 59.5 * S };
  assert.deepEqual(gridFor(minute, 50, 1140), { period: S, rows: 50, first: 0, columns: 60, cell: 19 });
  assert.equal(gridFor(minute, 50, 1139).cell, 18);
  assert.equal(gridFor({ start: 0, end: 200 * S }, 50, 700).cell, 4);
  assert.equal(gridFor(minute, 100, 0).cell, 4);
  const part = gridFor({ start: 26.17 * S, end: 28.44 * S }, 20, 300);
  assert.deepEqual([part.period, part.first, part.columns, part.rows, part.cell], [0.1 * S, 261, 24, 20, 12]);
  assert.deepEqual(spanOfGrid(part), { start: 26.1 * S, end: 28.5 * S });
});

test("the less time is in sight, the less of it is a column", () => {
  const of = (length: number, rows: Rows = 50): string => {
    const grid = gridFor({ start: 7 * S, end: 7 * S + length }, rows, 1140);
    return `${grid.columns} of ${roundTime(grid.period)}, ${roundTime(timeOfCell(grid))}`;
  };
  assert.equal(of(0.4 * S), "40 of 10 ms, 0.2 ms");
  assert.equal(of(0.4 * S, 20), "40 of 10 ms, 0.5 ms");
  assert.equal(of(9.99 * S), "100 of 100 ms, 2 ms");
  assert.equal(of(60 * S), "60 of 1 s, 20 ms");
  assert.equal(of(600 * S), "61 of 10 s, 200 ms");
  assert.equal(of(7200 * S), "121 of 1 min, 1.2 s");
  assert.deepEqual(fifthsOf(0.01 * S), ["0 ms", "2", "4", "6", "8", "10"]);
  assert.deepEqual(fifthsOf(S), ["0 ms", "200", "400", "600", "800", "1000"]);
  assert.deepEqual(fifthsOf(60 * S), ["0 s", "12", "24", "36", "48", "60"]);
  const fine = gridFor({ start: 0, end: S }, 50, 1140);
  assert.equal(cellSpan(spanOfCell(cellAtTime(0.1234 * S, fine), fine), fine), "0.1234 s to 0.1236 s");
});

test("time runs down a column and on at the top of the next", () => {
  const grid = THREE_SECONDS;
  const cell = cellAt(250, 20 * CELL_HEIGHT + 1, grid);
  assert.deepEqual(spanOfCell(cell, grid), { start: 28.4 * S, end: 28.42 * S });
  assert.deepEqual(spanOfCell(cellAt(150, 49 * CELL_HEIGHT, grid) + 1, grid).start, 28 * S);
  assert.deepEqual(spanOfCells(cell, cellAt(0, 7 * CELL_HEIGHT, grid), grid), { start: 26.14 * S, end: 28.42 * S });
  // Outside of the grid the nearest cell is meant.
  assert.equal(cellAt(-50, -50, grid), 26 * 50);
  assert.equal(cellAt(9999, 9999, grid), 29 * 50 - 1);
});

/** Cells within closed shapes, by counting edges to the left: knows nothing of how the outline was made. */
function inside(shapes: Corner[][], column: number, row: number): boolean {
  let crossings = 0;
  for (const corners of shapes) {
    corners.forEach(([x, y], at) => {
      const [nextX, nextY] = corners[(at + 1) % corners.length] as Corner;
      assert.ok(x === nextX || y === nextY, "edges are level or upright");
      if (x === nextX && x <= column && Math.min(y, nextY) <= row && row < Math.max(y, nextY)) {
        crossings++;
      }
    });
  }
  return crossings % 2 === 1;
}

test("the outline goes around exactly the cells that are chosen", () => {
  const [rows, columns] = [5, 4];
  for (let first = 0; first < rows * columns; first++) {
    for (let past = first; past <= rows * columns; past++) {
      const shapes = outlineOf([first, past], rows);
      for (let cell = 0; cell < rows * columns; cell++) {
        assert.equal(
          inside(shapes, Math.floor(cell / rows), cell % rows),
          cell >= first && cell < past,
          `cell ${cell} of ${first} to ${past}`,
        );
      }
    }
  }
});

test("a range takes every cell that it touches, within the grid", () => {
  const grid = THREE_SECONDS;
  assert.deepEqual(cellsOf({ start: 26.14 * S, end: 26.2 * S }, grid), [7, 10]);
  assert.deepEqual(cellsOf({ start: 26.15 * S, end: 26.19 * S }, grid), [7, 10]);
  assert.deepEqual(cellsOf({ start: 0, end: 60 * S }, grid), [0, 150]);
  assert.deepEqual(cellsOf({ start: 0, end: 1 * S }, grid), [0, 0]);
});

test("colours go from the first token to the last, and through those between", () => {
  const colours = between(["rgb(0, 0, 0)", "rgb(200, 100, 0)", "rgb(255, 255, 255)"]);
  assert.equal(colours[0], "rgb(0, 0, 0)");
  assert.equal(colours.at(-1), "rgb(255, 255, 255)");
  const reds = colours.map((colour) => Number(/\d+/.exec(colour)?.[0]));
  assert.deepEqual(
    reds,
    [...reds].sort((a, b) => a - b),
  );
  assert.ok(reds.some((red) => Math.abs(red - 200) < 5));
});

test("sums are those of the cells, over the time that there is", () => {
  const grid = { period: S, rows: 20, first: 0, columns: 2, cell: 50 } as const;
  const cells = grid.columns * grid.rows;
  const map = {
    start: 0,
    columns: 2,
    rows: 20,
    cpus: 4,
    rowTotals: new Float64Array(20),
    samples: Uint32Array.from({ length: cells }, (_, cell) => (cell < 30 ? 10 : 0)),
    busy: Float32Array.from({ length: cells }, (_, cell) => (cell < 30 ? 2 : 0)),
  };
  assert.deepEqual(sumOfCells(map, grid, { start: 0.1 * S, end: 0.2 * S }, 1.5 * S), { samples: 20, cpusBusy: 2 });
  assert.deepEqual(sumOfCells(map, grid, { start: 0, end: 1.5 * S }, 1.5 * S), { samples: 300, cpusBusy: 2 });
  assert.equal(sumOfCells(map, grid, { start: 1.6 * S, end: 1.5 * S }, 1.5 * S).cpusBusy, 0);
});

test("one sample has no rate, and few keep no more CPUs busy than there are", () => {
  const grid = gridFor({ start: 0, end: 1 }, 50, 100);
  const map = {
    start: 0,
    columns: 1,
    rows: 50,
    cpus: 1,
    rowTotals: new Float64Array(50),
    samples: Uint32Array.of(1),
    busy: Float32Array.of(0.1666),
  };
  const one = sumOfCells(map, grid, { start: 0, end: 1 }, 1);
  assert.deepEqual(one, { samples: 1, cpusBusy: null });
  assert.equal(sumWords({ start: 0, end: 1 }, one, null), "0.000000001 s, 1 sample");
  assert.equal(sumOfCells(map, grid, { start: 0, end: 1000 }, 1000).cpusBusy, 1);
});
