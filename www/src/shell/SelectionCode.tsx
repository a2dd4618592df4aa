// The hottest line of the selected function, with the lines around it and its instructions: asked for while the panel is on the
// screen. The view Source has the rest.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { comparison, namesGeneration, query, selection, session, view } from "../state/app.ts";
import { withKey } from "../state/commands.ts";
import { counted, percent } from "../state/format.ts";
import { useAnswer } from "../session/use_answer.ts";
import { listedName } from "../views/function_name.tsx";
import { heatStep } from "../views/sandwich/lines/hot_lines.ts";
import type { Listing, ListedLine, SourceFile } from "../views/source/listing.ts";
import { hottestLine, isBehindGap, rowText } from "../views/source/listing.ts";
import type { NearCode } from "../views/source/near_code.ts";
import { dedented, nearCode, ofInlined } from "../views/source/near_code.ts";
import { doubtOf } from "../views/source/origin_words.ts";
import type { ShownCode } from "../views/source/read_code.ts";
import { readCode } from "../views/source/read_code.ts";
import { findSource, keyOf, sourceTexts } from "../views/source/sources.ts";
import { syntax } from "../views/source/state.ts";
import { share } from "../views/words.ts";
import { showView } from "./ViewTabs.tsx";

interface Props {
  /** The name of the selected function where it is inlined. */
  inlined: string | null;
}

/** The code of what is selected; the former answer stands until the next one is there. */
export function SelectionCode({ inlined }: Props): JSX.Element | null {
  const known = useAnswer(null, () => {
    const asked = session.value;
    const { functionId = null, callNode = null } = selection.value ?? {};
    const [within, written] = [query.value, syntax.value];
    void namesGeneration.value;
    // The view Source asks for the same, and shows all of it.
    const isShown = comparison.value === null && view.value !== "source";
    return asked === null || functionId === null || !isShown
      ? null
      : (abort) => readCode({ session: asked, query: within, syntax: written, functionId, callNode, reference: null }, abort);
  });
  const code = useSignal<ShownCode | null>(null);
  code.value = known.answer === null || typeof known.answer === "string" ? null : known.answer;
  const name = useSignal(inlined);
  name.value = inlined;
  const near = useComputed(() => (code.value === null ? null : nearCodeOf(code.value, name.value)));
  useSignalEffect(() => {
    const file = near.value?.file;
    if (session.value !== null && file != null) {
      findSource(session.value, file).catch(() => {});
    }
  });
  if (near.value === null) {
    return null;
  }
  const { file, hottest, listing, whose } = near.value;
  const text = file === null ? null : (sourceTexts.value.get(keyOf(file)) ?? null);
  const lines = text?.kind === "here" ? text.lines : null;
  const shown = nearCode(listing, hottest, lines);
  return hottest === null && shown.instructions.length === 0 ? null : (
    <section class={known.state === "asked" ? "near-code outdated" : "near-code"} aria-label="Hottest code">
      <h3>{hottest === null ? "Hottest instructions" : "Hottest line"}</h3>
      <HottestPlace whole={listing.whole.weight} near={shown} whose={whose} path={file?.path ?? ""} />
      <Lines listing={listing} near={shown} caption={file === null ? "" : doubtOf(file, text)} />
      <Instructions listing={listing} near={shown} />
    </section>
  );
}

interface Near {
  /** Of what is selected alone. */
  listing: Listing;
  hottest: ListedLine | null;
  /** That the hottest line is in. */
  file: SourceFile | null;
  /** Whose samples shares are of. */
  whose: string;
}

/** null for an inlined function that only calls others: it has none. */
function nearCodeOf({ facts, listing: whole }: ShownCode, inlined: string | null): Near | null {
  const listing = inlined === null ? whole : ofInlined(whole, inlined);
  if (listing === null) {
    return null;
  }
  const hottest = hottestLine(listing.lines);
  const file = listing.files[hottest?.file ?? -1] ?? null;
  return {
    listing,
    hottest,
    file,
    whose: [inlined, facts.name].flatMap((name) => (name === null ? [] : [listedName(name)])).join(" in "),
  };
}

interface PlaceProps {
  near: NearCode;
  /** What shares are of, and whose that is. */
  whole: number;
  whose: string;
  path: string;
}

/** "textstat.c:88 64.6 % of longest_match" */
function HottestPlace({ near: { hottest }, whole, whose, path }: PlaceProps): JSX.Element | null {
  if (hottest === null) {
    return null;
  }
  const title = withKey(`${path}:${hottest.line}: source beside assembly`, "view-source");
  return (
    <p>
      <button type="button" class="link" title={title} onClick={() => showView("source")}>
        {path.slice(path.lastIndexOf("/") + 1)}:{hottest.line}
      </button>{" "}
      <strong>{percent(share(hottest.weight, whole))}</strong> <span class="ink-mute">of {whose}</span>
    </p>
  );
}

interface PartProps {
  listing: Listing;
  near: NearCode;
}

function Lines({ listing, near, caption }: PartProps & { caption: string }): JSX.Element | null {
  const { rows, hottest } = near;
  if (rows.length === 0) {
    return null;
  }
  const texts = dedented(rows.map(({ text }) => text ?? ""));
  return (
    <CodeTable label="Lines around the hottest" head={["Share", "Line", "Text"]} caption={caption}>
      {rows.map(({ line, of }, at) => (
        <CodeLine
          key={line}
          weight={of?.weight ?? 0}
          whole={listing.whole.weight}
          place={String(line)}
          text={texts[at] ?? ""}
          isMarked={line === hottest?.line}
          isBelowGap={isBehindGap(rows, at)}
        />
      ))}
    </CodeTable>
  );
}

function Instructions({ listing, near: { instructions, more } }: PartProps): JSX.Element | null {
  if (instructions.every((at) => listing.text(at) === "")) {
    return null;
  }
  return (
    <CodeTable
      label="Instructions"
      head={["Share", "Address", "Instruction"]}
      caption={more === 0 ? "" : `${counted(more, "more instruction", "more instructions")} of this line`}
    >
      {instructions.map((at) => (
        <CodeLine
          key={at}
          weight={listing.weight[at] ?? 0}
          whole={listing.whole.weight}
          place={listing.address(at)}
          text={rowText(listing, at)}
        />
      ))}
    </CodeTable>
  );
}

interface TableProps {
  label: string;
  head: readonly [share: string, place: string, text: string];
  /** What else there is to know; empty for nothing. */
  caption: string;
  children: readonly JSX.Element[];
}

/** Scrolls sideways, by keys, too. */
function CodeTable({ label, head: [amount, place, text], caption, children }: TableProps): JSX.Element {
  return (
    <div class="near-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        {caption !== "" && <caption>{caption}</caption>}
        <thead class="visually-hidden">
          <tr>
            <th scope="col">{amount}</th>
            <th scope="col">{place}</th>
            <th scope="col">{text}</th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface LineProps {
  weight: number;
  whole: number;
  place: string;
  text: string;
  isMarked?: boolean;
  /** Whether lines are left out above it. */
  isBelowGap?: boolean;
}

function CodeLine({ weight, whole, place, text, isMarked = false, isBelowGap = false }: LineProps): JSX.Element {
  const part = share(weight, whole);
  return (
    <tr class={`${isMarked ? "marked" : ""}${isBelowGap ? " behind-gap" : ""}`}>
      <td class={`number near-${heatStep(part)}`}>{weight > 0 ? percent(part) : ""}</td>
      <td class="number ink-mute">{place}</td>
      <td class="code">{text}</td>
    </tr>
  );
}
