// Instructions with what ended in each, below the function that they are of, inlined or not.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Word } from "../../session/highlight.ts";
import type { CodeFrom, SandwichFacts } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";
import { dsos, event } from "../../state/app.ts";
import { count as grouped, counted, percent } from "../../state/format.ts";
import { Splitter } from "../../shell/Splitter.tsx";
import { KeptWidth } from "../kept_width.ts";
import { HeatGrid } from "../sandwich/lines/heat_grid.tsx";
import { heatStep } from "../sandwich/lines/hot_lines.ts";
import { withoutCode } from "../sandwich/lines/lines_pane.tsx";
import { share } from "../words.ts";
import { CodeText } from "./code_text.tsx";
import { partOf } from "./jumps.ts";
import type { CodeRow, Listing } from "./listing.ts";
import { rowText } from "./listing.ts";
import { ranWords } from "./ran.ts";
import type { ShownCode } from "./read_code.ts";
import {
  chooseRow,
  chosen,
  chosenLoop,
  codeBytes,
  drawnJumps,
  enterRow,
  instructionRows,
  leadingRow,
  marks,
  panes,
  pointed,
  ran,
  shareOfFunction,
  whole,
} from "./state.ts";

/** Beside a source; until somebody moves its edge, it is as wide as instructions of usual length. */
const width = new KeptWidth("sourceAssemblyWidth", { least: 280, usual: 486, most: 1600 });

export function AssemblyPane({ of }: { of: ShownCode }): JSX.Element {
  const { listing, facts } = of;
  const pane = useRef<HTMLElement>(null);
  const isBeside = panes.value === "both";
  const isUsual = !isBeside || width.value === width.usual;
  return (
    <section
      class="code-pane assembly-pane"
      aria-label="Assembly"
      ref={pane}
      style={isUsual ? {} : { flex: `0 1 ${width.value}px`, maxWidth: "none" }}
    >
      {isBeside && (
        <Splitter
          label="Width of the assembly"
          edge="left"
          size={() => pane.current?.offsetWidth ?? width.usual}
          least={width.least}
          most={width.most}
          onResize={width.onResize}
        />
      )}
      <header class="part-head">
        <h3>{listing.isWhole ? "Assembly" : "Hot instructions"}</h3>
        <Words />
      </header>
      {notes(of).map((words) => (
        <p key={words} class="lines-note" role="note">
          {words}
        </p>
      ))}
      <HeatGrid<CodeRow>
        rows={instructionRows.value}
        label={`Instructions of ${facts.name}`}
        columns={codeBytes.value === "shown" ? "assembly-bytes" : "assembly"}
        choice={chosen}
        marked={marks.value.code}
        lead={leadingRow.value}
        onChoose={chooseRow}
        onEnter={enterRow}
        onPoint={(row) => {
          pointed.value = row?.kind === "instruction" ? row.at : null;
        }}
        copied={(row) => (row.kind === "level" ? levelWords(of, row.at) : instructionWords(listing, row.at))}
        head={
          <>
            <span aria-hidden="true" />
            <span role="columnheader" class="number">
              Share
            </span>
            {ran.value !== null && (
              <span role="columnheader" class="number ran" title="How often it ran, by the branches of samples">
                Ran
              </span>
            )}
            <span role="columnheader">Address</span>
            {codeBytes.value === "shown" && <span role="columnheader">Bytes</span>}
            <span role="columnheader">Instruction</span>
            <span role="columnheader" class="number line">
              Line
            </span>
          </>
        }
        cells={(row) => (row.kind === "level" ? <Level of={of} row={row} /> : <Cells listing={listing} at={row.at} />)}
      />
    </section>
  );
}

function Cells({ listing, at }: { listing: Listing; at: number }): JSX.Element {
  const weight = listing.weight[at] ?? 0;
  const line = listing.line[at] ?? 0;
  const step = heatStep(shareOfFunction(weight));
  const text = rowText(listing, at);
  const runs = [text.length - listing.comment(at).length, Word.Other, text.length, Word.Comment];
  const bytes = codeBytes.value === "shown" ? listing.bytes(at) : null;
  return (
    <>
      <Jumps at={at} of="instruction" />
      <span role="gridcell" class={step >= 4 ? "number strong" : "number"}>
        {weight > 0 ? percent(share(weight, whole.value)) : ""}
      </span>
      {ran.value !== null && (
        <span role="gridcell" class="number ran" title={ranWords(ran.value, at)}>
          {(ran.value.times[at] ?? 0) > 0 ? grouped(ran.value.times[at] ?? 0) : ""}
        </span>
      )}
      <span role="gridcell" class={`address heat-edge${step > 0 ? ` edge-${step}` : ""}`}>
        {listing.address(at)}
      </span>
      {bytes !== null && (
        <span role="gridcell" class="code code-bytes" title={bytes}>
          {bytes}
        </span>
      )}
      <span role="gridcell" class="code" title={text}>
        <CodeText text={text} runs={runs} />
      </span>
      <span role="gridcell" class="number line" title={listing.files[listing.file[at] ?? NONE]?.path}>
        {line === 0 ? "" : line}
      </span>
    </>
  );
}

/** As it is copied. */
function instructionWords(listing: Listing, at: number): string {
  const bytes = codeBytes.peek() === "shown" ? `${listing.bytes(at)}  ` : "";
  return `${listing.address(at)}: ${bytes}${rowText(listing, at)}`;
}

function Level({ of, row }: { of: ShownCode; row: CodeRow & { kind: "level" } }): JSX.Element {
  return (
    <>
      <Jumps at={row.at} of="level" />
      <span role="gridcell" class="code-level" aria-expanded={row.isOpen}>
        <button
          type="button"
          class="link"
          tabIndex={-1}
          aria-label={`${row.isOpen ? "Fold" : "Unfold"} ${levelWords(of, row.at)}`}
          onClick={(click) => {
            // It would choose the row.
            click.stopPropagation();
            enterRow(row);
          }}
        >
          {row.isOpen ? "▾" : "▸"}
        </button>{" "}
        {levelWords(of, row.at)}
      </span>
    </>
  );
}

/** The jumps that lead past a row, to it or from it, and whether it is in the loop. A level stands above its first instruction. */
function Jumps({ at, of }: { at: number; of: CodeRow["kind"] }): JSX.Element {
  const { lanes, loop } = drawnJumps.value;
  const isLevel = of === "level";
  const isLooped = loop?.body.has(at) === true && !(isLevel && at === loop.first);
  return (
    <span class={isLooped ? "jumps in-loop" : "jumps"} aria-hidden="true">
      {lanes.map((lane, number) => {
        const part = partOf(lane, at);
        if (part === null || (isLevel && !part.up)) {
          return null;
        }
        const { up, down, end } = isLevel ? { up: true, down: true, end: "none" } : part;
        const classes = ["jump", `jump-${number}`, up ? "up" : "", down ? "down" : "", end === "none" ? "" : `end ${end}`];
        return <span key={number} class={classes.filter((each) => each !== "").join(" ")} />;
      })}
    </span>
  );
}

/** The loop that the chosen instruction is in, and what to know of the event. */
function Words(): JSX.Element {
  const loop = chosenLoop.value;
  const words =
    loop === null
      ? ""
      : `In a loop of ${counted(loop.count, "instruction", "instructions")}: ${percent(share(loop.weight, whole.value))}. `;
  return <p title={`${words}${skid()}`}>{`${words}${skid()}`}</p>;
}

/** "decode_segment token.rs:203", "next inlined mod.rs:206" */
function levelWords({ listing, facts }: ShownCode, at: number): string {
  const inlined = listing.functions[listing.inlined[at] ?? NONE];
  const path = listing.files[listing.file[at] ?? NONE]?.path;
  const line = listing.line[at] ?? 0;
  const place = path === undefined ? "" : `${path.slice(path.lastIndexOf("/") + 1)}:${line}`;
  return [inlined === undefined ? facts.name : `${inlined} inlined`, place].filter((each) => each !== "").join(" ");
}

/** As in `perftab annotate`. */
function skid(): string {
  const modifiers = /:([a-zA-Z]+)$/.exec(event.value?.name ?? "")?.[1] ?? "";
  return modifiers.includes("p") ? "" : "The event is not precise: an instruction may have what the one before it took";
}

/** As `perftab annotate` says it. */
const KERNEL_CODE: Readonly<Record<CodeFrom, string>> = {
  file: "These are the instructions of the kernel's file, some of which it changes as it boots.",
  memory: "These are the instructions of the kernel as it ran, from a copy of its memory.",
};

function notes({ listing, facts }: ShownCode): string[] {
  if (!listing.isWhole) {
    return listing.ended === "too-long" ? ["Its code is too long to be shown."] : [withoutCode(facts)];
  }
  const isKernel = dsos.value.some(({ id, kind }) => id === facts.dsoId && kind === "kernel");
  return [...(isKernel ? [KERNEL_CODE[listing.from]] : []), ...missing(listing, facts)];
}

/** Why some of the code is not there. */
function missing({ ended }: Listing, facts: SandwichFacts): string[] {
  switch (ended) {
    case "too-long":
      return ["The rest of its code is too long to be shown."];
    case "no-code":
      return [`Some of its code is not in the file for ${facts.dso}.`];
    case null:
      return [];
  }
}
