// A source file with what ended in each line; where its text is not here, the lines that there is code of.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { pickFiles } from "../../open/pick.ts";
import { takeFiles } from "../../open/open.ts";
import { asking } from "../../ledger/debuginfod.ts";
import { describeAnswer } from "../../ledger/outcome.ts";
import type { ServerAnswer } from "../../session/types.ts";
import { session } from "../../state/app.ts";
import { counted, percent } from "../../state/format.ts";
import { HeatGrid } from "../sandwich/lines/heat_grid.tsx";
import { withoutLines } from "../sandwich/lines/lines_pane.tsx";
import { heatStep } from "../sandwich/lines/hot_lines.ts";
import { share } from "../words.ts";
import { CodeText } from "./code_text.tsx";
import { followHighlights, runsOf } from "./highlighted.ts";
import type { SourceFile, SourceRow } from "./listing.ts";
import { originWords } from "./origin_words.ts";
import { askAgain, chooseAmong, forgetChoice, hasFailed, mayAskServers } from "./sources.ts";
import type { ShownCode } from "./read_code.ts";
import {
  chooseLine,
  chosen,
  chosenFile,
  file,
  fileNumber,
  lineRows,
  linesBehindGaps,
  marks,
  shareOfFunction,
  text,
  textColumns,
  whole,
} from "./state.ts";

/** Of more files that end alike, the newest. */
const MOST_CHOICES = 8;

export function SourcePane({ of }: { of: ShownCode }): JSX.Element {
  useEffect(followHighlights, []);
  const { listing, facts } = of;
  const rows = lineRows.value;
  const heaviest = rows.reduce((most, row) => Math.max(most, row.of?.weight ?? 0), 0);
  const path = file.value?.path ?? "";
  const hasText = rows.some((row) => row.text !== null);
  return (
    <section class={hasText ? "code-pane" : "code-pane lines-only"} aria-label="Source">
      <header class="part-head">
        {listing.files.length > 1 ? <Files of={of} /> : <h3 title={path}>{nameOf(path)}</h3>}
        <Origin />
      </header>
      {listing.files.length === 0 ? (
        <p class="lines-note" role="note">
          {withoutLines(facts)}
        </p>
      ) : (
        <>
          <WithoutText rows={rows} />
          <HeatGrid<SourceRow>
            rows={rows}
            label={`Source of ${facts.name}: ${nameOf(path)}`}
            columns="source"
            textColumns={textColumns.value}
            choice={chosen}
            marked={marks.value.lines}
            onChoose={({ line }) => chooseLine(line)}
            copied={(row) => row.text ?? ""}
            head={
              <>
                <span role="columnheader" class="number">
                  Share
                </span>
                <span aria-hidden="true" />
                <span role="columnheader" class="number">
                  Line
                </span>
                <span role="columnheader">Text</span>
              </>
            }
            cells={(row) => <Cells row={row} heaviest={heaviest} />}
          />
        </>
      )}
    </section>
  );
}

function Cells({ row: { line, text, of }, heaviest }: { row: SourceRow; heaviest: number }): JSX.Element {
  const weight = of?.weight ?? 0;
  const step = heatStep(shareOfFunction(weight));
  return (
    <>
      <span class="before-text" role="presentation">
        <span role="gridcell" class={step >= 4 ? "number strong" : "number"}>
          {weight > 0 ? percent(share(weight, whole.value)) : ""}
        </span>
        <span class="hot-bar" aria-hidden="true">
          {step > 0 && <span class={`hot-${step}`} style={{ width: `${share(weight, heaviest) * 100}%` }} />}
        </span>
        <span role="gridcell" class={classesOfLine(line, of)}>
          {line}
        </span>
      </span>
      <span role="gridcell" class="code">
        {text !== null && <CodeText text={text} runs={runsOf(line)} />}
      </span>
    </>
  );
}

function classesOfLine(line: number, of: SourceRow["of"]): string {
  const cold = of === null ? " cold" : "";
  return `number line${cold}${linesBehindGaps.value.has(line) ? " behind-gap" : ""}`;
}

/** Which of the files that the function is made of. */
function Files({ of: { listing } }: { of: ShownCode }): JSX.Element {
  return (
    <select
      class="source-file"
      aria-label="Source file"
      value={String(fileNumber.value ?? "")}
      title={file.value?.path}
      onChange={({ currentTarget }) => {
        chosenFile.value = Number(currentTarget.value);
      }}
    >
      {listing.files.map(({ path, weight }, number) => (
        <option key={number} value={String(number)}>
          {nameOf(path)} {weight > 0 ? percent(share(weight, listing.whole.weight)) : ""}
        </option>
      ))}
    </select>
  );
}

/** Where the text is from, and what speaks for it; where the user said which file it is, that can be taken back. */
function Origin(): JSX.Element {
  const [of, known] = [file.value, text.value];
  const words = of === null ? "" : originWords(of, known);
  const isChosen = of !== null && known?.kind === "here" && known.isChosen;
  return (
    <>
      <p title={words === "" ? of?.path : words}>{words}</p>
      {isChosen && (
        <button type="button" class="link" onClick={() => forgetChoice(of.path)}>
          Other file…
        </button>
      )}
    </>
  );
}

/** Why there is no text, and what brings it. */
function WithoutText({ rows }: { rows: readonly SourceRow[] }): JSX.Element | null {
  const [of, known] = [file.value, text.value];
  if (of === null || known?.kind === "here" || rows.every((row) => row.text !== null)) {
    return null;
  }
  const tried = known?.kind === "missing" ? known.tried : [];
  const words =
    known?.kind === "refused"
      ? `${known.from}: ${known.why}.`
      : `${counted(rows.length, "line has", "lines have")} code. The text is in ${of.path}: drop that file here, or the folder that has it.${triedWords(tried)}`;
  const take = (what: "files" | "folder"): void => void pickFiles(what).then(takeFiles);
  return (
    <p class="lines-note source-note" role="note">
      <span>{words}</span>
      {known?.kind === "refused" && known.among !== undefined && <Among path={of.path} paths={known.among} />}
      <button type="button" onClick={() => take("files")}>
        Add files…
      </button>
      <button type="button" onClick={() => take("folder")}>
        Add a folder…
      </button>
      {hasFailed(known) && (
        <button type="button" onClick={() => askServersAgain(of)}>
          Ask again
        </button>
      )}
      {mayAskServers(of) && (
        <button type="button" onClick={askForServers}>
          Ask debuginfod…
        </button>
      )}
    </p>
  );
}

/** Which of several files it is. */
function Among({ path, paths }: { path: string; paths: readonly string[] }): JSX.Element {
  return (
    <>
      {paths.slice(0, MOST_CHOICES).map((each) => (
        <button key={each} type="button" title={each} onClick={() => chooseAmong(path, each)}>
          {each}
        </button>
      ))}
    </>
  );
}

/** What servers that were asked did instead of sending it. */
function triedWords(tried: readonly ServerAnswer[]): string {
  return tried.length === 0 ? "" : ` ${tried.map(describeAnswer).join("; ")}.`;
}

/** For whatever source is looked at, from now on. */
function askForServers(): void {
  asking.value = [];
}

/** That did not answer. */
function askServersAgain(of: SourceFile): void {
  if (session.value !== null) {
    askAgain(session.value, of).catch(() => {});
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
