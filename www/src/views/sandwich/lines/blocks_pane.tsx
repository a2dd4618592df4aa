// The basic blocks of a function: how often each ran, and how it was left.

import type { JSX } from "preact";
import type { BranchBlock, BranchBlocks } from "../../../session/types.ts";
import { query } from "../../../state/app.ts";
import { count, countSamples, percent } from "../../../state/format.ts";
import { showFunction } from "../../find_function.ts";
import { ForcedMark, spokenName } from "../../forced_name.tsx";
import { ColumnHead } from "../../rows/columns.tsx";
import { share } from "../../words.ts";
import type { BlockRow } from "./blocks.ts";
import { blockAt, markedRows, placeOfRow } from "./blocks.ts";
import { blockRows, blocks, readAgain } from "./blocks_state.ts";
import { HeatGrid } from "./heat_grid.tsx";
import { heatStep, lineWords } from "./hot_lines.ts";
import { chosen, hot, marks } from "./state.ts";

export function BlocksPane({ name }: { name: string }): JSX.Element | null {
  const known = blocks.value;
  if (known === null) {
    return null;
  }
  return (
    <>
      <header class="part-head">
        <h3>Basic blocks</h3>
        <p>{known.kind === "known" && `from the branches of ${countSamples(known.of.samples)}`}</p>
      </header>
      {known.kind === "known" ? <Blocks of={known.of} name={name} /> : <Words known={known} />}
    </>
  );
}

function Words({ known }: { known: { kind: "reading" | "cancelled" } | { kind: "failed"; why: string } }): JSX.Element {
  switch (known.kind) {
    case "reading":
      return (
        <p class="lines-note" role="status">
          Reading branches from the recording…
        </p>
      );
    case "cancelled":
      return (
        <p class="lines-note blocks-words" role="status">
          Branches were not read: it was cancelled.
          <button type="button" onClick={readAgain}>
            Read branches
          </button>
        </p>
      );
    case "failed":
      return (
        <p class="lines-note blocks-words" role="status">
          Branches could not be read, as the recording could not be read again: {known.why}. Open it again to see them.
          <button type="button" onClick={readAgain}>
            Try again
          </button>
        </p>
      );
  }
}

function Blocks({ of, name }: { of: BranchBlocks; name: string }): JSX.Element {
  const rows = blockRows.value;
  const heaviest = of.blocks.reduce((most, { executions }) => Math.max(most, executions), 0);
  const chosenInstructions = [...marks.value.instructions].flatMap((index) => hot.value?.instructions[index] ?? []);
  return (
    <div class="lines-pane">
      {notes(of, name).map((each) => (
        <p key={each} class="lines-note" role="note">
          {each}
        </p>
      ))}
      {rows.length > 0 && (
        <HeatGrid<BlockRow>
          rows={rows}
          label={`Basic blocks of ${name}`}
          columns="blocks"
          marked={markedRows(rows, chosen.value, chosenInstructions)}
          onChoose={(row) => {
            chosen.value = placeOfRow(row);
          }}
          onEnter={follow}
          head={<Head />}
          cells={(row) => <Cells row={row} all={of.executions} heaviest={heaviest} />}
        />
      )}
    </div>
  );
}

function Head(): JSX.Element {
  return (
    <>
      <ColumnHead
        words="Share"
        kind="number"
        title="Of blocks: share of all times that blocks of the function ran. Below: of the block"
        of={{ table: "blocks", column: "share" }}
      />
      <span aria-hidden="true" />
      <ColumnHead words="Times" kind="number" of={{ table: "blocks", column: "times" }} />
      <ColumnHead words="Basic block" title="Below each block how it was left" />
      <ColumnHead
        words="Mispred."
        kind="number"
        names="before"
        title="Share of the times that the branch was taken"
        of={{ table: "blocks", column: "mispredicted" }}
      />
      <ColumnHead
        words="Cycles"
        kind="number"
        names="before"
        title="Average from the branch before to the one that ends the block"
        of={{ table: "blocks", column: "cycles" }}
      />
    </>
  );
}

function Cells({ row, all, heaviest }: { row: BlockRow; all: number; heaviest: number }): JSX.Element {
  const { block, times } = row;
  const isBlock = row.kind === "block";
  const part = share(times, isBlock ? all : block.executions);
  const step = isBlock ? heatStep(part) : 0;
  const { taken, mispredicted } = row.kind === "way" ? row.way : isBlock ? block : { taken: 0, mispredicted: 0 };
  return (
    <>
      <span role="gridcell" class={step >= 4 ? "number share strong" : "number share"}>
        {percent(part)}
      </span>
      <span class={isBlock ? "hot-bar" : ""} aria-hidden="true">
        {isBlock && <span class={`hot-${step}`} style={{ width: `${share(times, heaviest) * 100}%` }} />}
      </span>
      <span role="gridcell" class="number times">
        {count(times)}
      </span>
      <span role="gridcell" class={isBlock ? "code" : "code way"} title={titleOf(row)}>
        <What row={row} />
      </span>
      <span role="gridcell" class="number">
        {taken > 0 ? percent(share(mispredicted, taken)) : ""}
      </span>
      <span role="gridcell" class="number cycles">
        {isBlock && averageOf(block)}
      </span>
    </>
  );
}

/** Cycles, where they are known. */
function averageOf({ cycles, timed }: BranchBlock): string | null {
  return timed > 0 ? (cycles / timed).toFixed(1) : null;
}

/** What there may be no room for. */
function titleOf({ kind, times, block }: BlockRow): string {
  const average = averageOf(block);
  const took = average === null ? "" : `, ${average} cycles on average`;
  return kind === "block" ? [`${count(times)} times${took}`, block.file ?? ""].join("\n").trim() : `${count(times)} times`;
}

function What({ row }: { row: BlockRow }): JSX.Element {
  const { block } = row;
  switch (row.kind) {
    case "block":
      return (
        <>
          {block.isBehind ? "behind " : ""}
          {block.start}
          {block.isLeft && block.last !== block.start ? ` – ${block.last}` : ""} <Line of={block} />
        </>
      );
    case "next":
      return <>↓ not taken</>;
    case "more":
      return <>→ {count(block.moreWays)} other places</>;
    case "way":
      return <Way row={row} />;
  }
}

function Way({ row }: { row: BlockRow & { kind: "way" } }): JSX.Element {
  const { name, flags, functionId, address } = row.way;
  const canFollow = functionId !== null || blockAt(blockRows.value, address) !== undefined;
  return (
    <>
      →{" "}
      {canFollow ? (
        <button
          type="button"
          class="link"
          tabIndex={-1}
          aria-label={`to ${spokenName(name, flags)}`}
          onClick={(event) => {
            // It would choose the row.
            event.stopPropagation();
            follow(row);
          }}
        >
          <ForcedMark flags={flags} />
          {name}
        </button>
      ) : (
        name
      )}{" "}
      <Line of={row.way} />
    </>
  );
}

function Line({ of }: { of: { file: string | null; line: number | null } }): JSX.Element | null {
  return of.line === null ? null : <em>{lineWords(of)}</em>;
}

/** Selects the function that a branch led to, or the block where that is in the same function. */
function follow(row: BlockRow): void {
  if (row.kind !== "way") {
    return;
  }
  const { functionId, address } = row.way;
  const block = blockAt(blockRows.peek(), address);
  if (functionId !== null) {
    showFunction(functionId);
  } else if (block !== undefined) {
    chosen.value = placeOfRow(block);
  }
}

/** What is not shown, and why. */
function notes({ blocks, leftOut, across, samples, withoutRuns }: BranchBlocks, name: string): string[] {
  const words: string[] = [];
  if (withoutRuns > 0) {
    words.push(
      `${countSamples(withoutRuns)} recorded some kinds of branches only, so what ran between these is not known. Record with perf record -b.`,
    );
  }
  if (blocks.length === 0 && withoutRuns < samples) {
    words.push(`No branch in ${name} was recorded in what the filters leave.`);
  }
  if (query.value.steps.length > 0) {
    words.push("Filters apply to branches; transforms do not, as they are of stacks.");
  }
  if (across > 0) {
    words.push(`${count(across)} times its code and that of another function ran in a line: left out.`);
  }
  if (leftOut > 0) {
    words.push(`${count(leftOut)} blocks behind these are left out.`);
  }
  return words;
}
