// Where in a function its own code's weight lies: by line of source, and by instruction.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { statusDetail } from "../../../ledger/status.tsx";
import type { HotInstruction, HotLine, HotLines, SandwichFacts } from "../../../session/types.ts";
import { dsos, info } from "../../../state/app.ts";
import { countSamples, percent } from "../../../state/format.ts";
import { ColumnHead } from "../../rows/columns.tsx";
import { functionsTable } from "../../rows/functions_model.ts";
import { share } from "../../words.ts";
import { HeatCells, HeatGrid, HeatHead } from "./heat_grid.tsx";
import { hasLines, isForcedName, lineWords, placeOfInstruction, placeOfLine } from "./hot_lines.ts";
import { chosen, followLines, hot, marks } from "./state.ts";

interface Props {
  known: SandwichFacts;
  /** As it is called on the screen. */
  name: string;
}

export function LinesPane({ known, name }: Props): JSX.Element {
  const answer = hot.value;
  const words = answer === null ? (isForcedName(known) ? [forcedWords(known)] : []) : notes(known, answer);
  return (
    <div class="lines-pane">
      {words.map((each) => (
        <p key={each} class="lines-note" role="note">
          {each}
        </p>
      ))}
      {answer !== null && answer.lines.length > 0 && (
        <>
          {hasLines(answer) && <Lines answer={answer} name={name} />}
          {answer.instructions.length > 0 && <Instructions answer={answer} name={name} />}
        </>
      )}
    </div>
  );
}

/** Keeps asking while the functions are in sight, whatever stands beside them. */
export function useLines(): void {
  useEffect(followLines, []);
}

/** "% of its own code, 1,204 samples" */
export function basisWords(): string {
  const answer = hot.value;
  return answer === null ? "" : `% of its own code, ${countSamples(answer.self.samples)}`;
}

const heaviestOf = (rows: readonly { weight: number }[]): number => rows.reduce((most, { weight }) => Math.max(most, weight), 0);

function Lines({ answer, name }: { answer: HotLines; name: string }): JSX.Element {
  const { lines, self } = answer;
  const [heaviest, whole] = [heaviestOf(lines), functionsTable.whole.value];
  return (
    <HeatGrid<HotLine>
      rows={lines}
      label={`Source lines of ${name}`}
      columns="lines"
      marked={marks.value.lines}
      onChoose={(row) => {
        chosen.value = placeOfLine(row);
      }}
      head={
        <>
          <HeatHead table="lines" />
          <ColumnHead words="Line" />
        </>
      }
      cells={(row) => (
        <>
          <HeatCells weight={row.weight} own={self.weight} heaviest={heaviest} whole={whole} />
          <span role="gridcell" class="code" title={titleOf(row.file, row, self.weight)}>
            {lineWords(row)} <Text text={row.text} /> <Inlined row={row} own={self.weight} />
          </span>
        </>
      )}
    />
  );
}

function Instructions({ answer, name }: { answer: HotLines; name: string }): JSX.Element {
  const { instructions, self } = answer;
  const [heaviest, whole] = [heaviestOf(instructions), functionsTable.whole.value];
  return (
    <HeatGrid<HotInstruction>
      rows={instructions}
      label={`Instructions of ${name}`}
      columns="instructions"
      marked={marks.value.instructions}
      onChoose={(row) => {
        chosen.value = placeOfInstruction(row);
      }}
      head={
        <>
          <HeatHead table="instructions" />
          <ColumnHead words="Instruction" />
          <ColumnHead words="Line" kind="number" names="before" of={{ table: "instructions", column: "line" }} />
        </>
      }
      cells={(row) => (
        <>
          <HeatCells weight={row.weight} own={self.weight} heaviest={heaviest} whole={whole} />
          <span role="gridcell" class="code" title={titleOf(null, row, self.weight)}>
            {row.address} <Text text={row.text} /> <Inlined row={row} own={self.weight} />
          </span>
          <span role="gridcell" class="number line">
            {row.line ?? ""}
          </span>
        </>
      )}
    />
  );
}

/** How much of a row is inlined there, unless that is all of it or nothing. */
function Inlined({ row: { weight, inlined }, own }: { row: HotLine | HotInstruction; own: number }): JSX.Element | null {
  if (inlined.weight === 0) {
    return null;
  }
  return <em>{inlined.weight === weight ? "inlined" : `${percent(share(inlined.weight, own))} inlined`}</em>;
}

/** What stands there; how far it is indented says nothing where lines between are left out. */
function Text({ text }: { text: string | null }): JSX.Element | null {
  return text === null ? null : <code>{text.trimStart()}</code>;
}

/** All of what there may be no room for. */
function titleOf(file: string | null, { text, inlined }: HotLine | HotInstruction, own: number): string | undefined {
  const isInlined = inlined.weight === 0 ? "" : `${percent(share(inlined.weight, own))} in code inlined here`;
  return [text?.trimStart() ?? "", file ?? "", isInlined].filter((part) => part !== "").join("\n") || undefined;
}

function forcedWords({ dso }: SandwichFacts): string {
  return `Names in ${dso} are forced: they come from another build, so its lines and instructions are not the ones that ran.`;
}

/** What is not shown, and why. */
function notes(known: SandwichFacts, answer: HotLines): string[] {
  const { self, leftOut, instructionsLeftOut, instructions } = answer;
  const words: string[] = [];
  if (self.samples === 0) {
    return ["No samples in its own code: all are in functions it calls."];
  }
  const where = info.value?.fidelity == null ? "shown: there are too many rows" : "in this link";
  if (leftOut.weight > 0 && leftOut.weight === instructionsLeftOut.weight) {
    words.push(`${percent(share(leftOut.weight, self.weight))} of its own code is not ${where}.`);
  } else {
    for (const [what, left] of [
      ["Lines", leftOut],
      ["Instructions", instructionsLeftOut],
    ] as const) {
      if (left.weight > 0) {
        words.push(`${what}: ${percent(share(left.weight, self.weight))} of its own code is not ${where}.`);
      }
    }
  }
  const isKept = leftOut.weight < self.weight || instructions.length > 0;
  if (isKept && !hasLines(answer)) {
    words.push(withoutLines(known));
  }
  return words;
}

/** Why only instructions where samples ended are known: what annotate says of it, and what to do. */
export function withoutCode({ dso, dsoId, dsoStatus }: SandwichFacts): string {
  const row = dsos.value.find(({ id }) => id === dsoId);
  if (info.value?.fidelity != null) {
    return "A link has none of the other instructions; open the recording to see them.";
  }
  if (row?.kind === "kernel") {
    return "No file that is here has the kernel's code: these are the addresses where samples ended. Add its vmlinux.";
  }
  if (row?.kind === "module") {
    return "The code of a module has its addresses only once it is loaded: these are the ones where samples ended.";
  }
  if (row?.kind === "jit" || row?.kind === "anon" || dsoStatus === "self-named") {
    return "This code is in no file: these are the addresses where samples ended.";
  }
  const detail = row === undefined ? null : statusDetail(row);
  return dsoStatus === "matched"
    ? `No file that is here has the code of ${dso}: these are the addresses where samples ended. Add the binary.`
    : `No file matches ${dso}, so there are only addresses.${detail === null ? "" : ` ${detail}.`}`;
}

/** Why no line is known. */
export function withoutLines({ dso, dsoId, dsoStatus }: SandwichFacts): string {
  const row = dsos.value.find(({ id }) => id === dsoId);
  const detail = row === undefined ? null : statusDetail(row);
  switch (dsoStatus) {
    case "matched":
      if (detail?.includes("source lines")) {
        return `No source lines: the file for ${dso} has them for other functions, not for this one.`;
      }
      return `No source lines: the file for ${dso} provides ${detail ?? "names only"}. Add its .debug file if there is one.`;
    case "no-symbols":
      return `No source lines: the file for ${dso} has no symbols. Add its .debug file.`;
    case "self-named":
      return `No source lines: the process that made ${dso} tells none of this function.`;
    case "embedded":
      return `No source lines: ${dso} has only the symbols recorded with the profile. Add the file to get lines.`;
    default:
      return `No file matches ${dso}, so there are only addresses.${detail === null ? "" : ` ${detail}.`}`;
  }
}
