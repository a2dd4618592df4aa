// The hottest line of the selected function, with the lines around it and its instructions: asked for while the panel is on the
// screen. The view Source has the rest.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { comparison, namesGeneration, query, selection, session, view } from "../state/app.ts";
import { withKey } from "../state/commands.ts";
import { counted, percent } from "../state/format.ts";
import { ask } from "../session/ask.ts";
import { heatStep } from "../views/sandwich/lines/hot_lines.ts";
import { rowText } from "../views/source/listing.ts";
import type { NearCode } from "../views/source/near_code.ts";
import { dedented, hottestOf, nearCode } from "../views/source/near_code.ts";
import type { ShownCode } from "../views/source/read_code.ts";
import { readCode } from "../views/source/read_code.ts";
import { findSource, isVouched, keyOf, sourceTexts } from "../views/source/sources.ts";
import { syntax } from "../views/source/state.ts";
import { share } from "../views/words.ts";
import { showView } from "./ViewTabs.tsx";

interface Props {
  /** The name of the selected function where it is inlined. */
  inlined: string | null;
}

/** The code of what is selected; the former answer stands until the next one is there. */
export function SelectionCode({ inlined }: Props): JSX.Element | null {
  const known = useSignal<ShownCode | null>(null);
  const asksFor = useSignal<"new" | "answered">("new");
  useSignalEffect(() => {
    const asked = session.value;
    const { functionId = null, callNode = null } = selection.value ?? {};
    void namesGeneration.value;
    asksFor.value = "new";
    // The view Source asks for the same, and shows all of it.
    const isShown = comparison.value === null && view.value !== "source";
    if (asked === null || functionId === null || !isShown) {
      known.value = null;
      return;
    }
    const tell = (found: ShownCode | string | null): void => {
      known.value = typeof found === "string" ? null : found;
      asksFor.value = "answered";
    };
    return ask(
      (abort) =>
        readCode({ session: asked, query: query.value, syntax: syntax.value, functionId, callNode, reference: null }, abort),
      tell,
      () => tell(null),
    );
  });
  const name = useSignal(inlined);
  name.value = inlined;
  const hottest = useComputed(() => (known.value === null ? null : hottestOf(known.value.listing, name.value)));
  useSignalEffect(() => {
    const file = known.value?.listing.files[hottest.value?.file ?? -1];
    if (session.value !== null && file !== undefined) {
      findSource(session.value, file).catch(() => {});
    }
  });
  // Of an inlined function that only calls others there is none.
  const isElsewhere = inlined !== null && hottest.value === null;
  if (known.value === null || isElsewhere) {
    return null;
  }
  const { listing } = known.value;
  const file = listing.files[hottest.value?.file ?? -1];
  const text = file === undefined ? null : (sourceTexts.value.get(keyOf(file)) ?? null);
  const near = nearCode(listing, hottest.value, text?.kind === "here" ? text.lines : null);
  return near.hottest === null && near.instructions.length === 0 ? null : (
    <section class={asksFor.value === "new" ? "near-code outdated" : "near-code"} aria-label="Hottest code">
      <h3>{near.hottest === null ? "Hottest instructions" : "Hottest line"}</h3>
      <HottestPlace of={known.value} near={near} path={file?.path ?? ""} />
      <Lines of={known.value} near={near} isChecked={isVouched(text?.kind === "here" ? text.check : (file?.told ?? "unknown"))} />
      <Instructions of={known.value} near={near} />
    </section>
  );
}

interface PartProps {
  of: ShownCode;
  near: NearCode;
}

/** "textstat.c:88 64.6 % of longest_match" */
function HottestPlace({ of: { facts, listing }, near: { hottest }, path }: PartProps & { path: string }): JSX.Element | null {
  if (hottest === null) {
    return null;
  }
  const title = withKey(`${path}:${hottest.line}: source beside assembly`, "view-source");
  return (
    <p>
      <button type="button" class="link" title={title} onClick={() => showView("source")}>
        {path.slice(path.lastIndexOf("/") + 1)}:{hottest.line}
      </button>{" "}
      <strong>{percent(share(hottest.weight, listing.whole.weight))}</strong> <span class="ink-mute">of {facts.name}</span>
    </p>
  );
}

function Lines({ of: { listing }, near, isChecked }: PartProps & { isChecked: boolean }): JSX.Element | null {
  const { rows, hottest } = near;
  if (rows.length === 0) {
    return null;
  }
  const texts = dedented(rows.map(({ text }) => text ?? ""));
  return (
    <CodeTable
      label="Lines around the hottest"
      head={["Share", "Line", "Text"]}
      caption={isChecked ? "" : "not checked: no MD5 of this file is known"}
    >
      {rows.map(({ line, of }, at) => (
        <CodeLine
          key={line}
          weight={of?.weight ?? 0}
          whole={listing.whole.weight}
          place={String(line)}
          text={texts[at] ?? ""}
          isMarked={line === hottest?.line}
        />
      ))}
    </CodeTable>
  );
}

function Instructions({ of: { listing }, near: { instructions, more } }: PartProps): JSX.Element | null {
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
}

function CodeLine({ weight, whole, place, text, isMarked = false }: LineProps): JSX.Element {
  const part = share(weight, whole);
  return (
    <tr class={isMarked ? "marked" : ""}>
      <td class={`number near-${heatStep(part)}`}>{weight > 0 ? percent(part) : ""}</td>
      <td class="number ink-mute">{place}</td>
      <td class="code">{text}</td>
    </tr>
  );
}
