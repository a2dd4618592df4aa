// The card beside the pointer: what a frame is and what it costs.

import type { JSX } from "preact";
import type { CallNodeDetail } from "../../session/types.ts";
import { ALL, Kind } from "../../session/types.ts";
import { STATUS, StatusGlyph } from "../../ledger/status.tsx";
import { event, info } from "../../state/app.ts";
import { above, count, countSamples, percent, weight } from "../../state/format.ts";
import { ForcedMark } from "../forced_name.tsx";
import { usePlacedCard } from "../placed_card.ts";
import { nameClass, share, swatchClass } from "../words.ts";
import { ComparedCard } from "../../compare/ComparedCard.tsx";
import { rootName } from "./breadcrumb.tsx";
import type { HoverCard } from "./hover.ts";
import type { LaidOutGraph } from "./stage.ts";

/** Weights that shares are of. */
export interface Bases {
  all: number;
  /** What that is. */
  allName: string;
  root: number;
  /** Name of the frame that is zoomed into, null where all is shown. */
  rootName: string | null;
}

/** The bases of a graph of a tree. */
export function treeBases(laid: LaidOutGraph | null): Bases {
  return {
    all: laid?.graph.allTotal ?? 0,
    allName: "what is shown",
    root: laid?.graph.rootTotal ?? 0,
    rootName: laid === null || laid.root === ALL ? null : rootName(laid),
  };
}

export function HoverCardView({ card, bases }: { card: HoverCard; bases: Bases }): JSX.Element | null {
  const content = card.content.value;
  const element = usePlacedCard(content?.pinned ? null : content);
  if (content === null) {
    return null;
  }
  const { about, note, pinned } = content;
  const isOfOne = typeof about === "string" || !("presence" in about);
  return (
    <div ref={element} class={pinned ? "hover-card pinned" : "hover-card"} aria-hidden="true">
      {typeof about === "string" ? (
        about
      ) : "presence" in about ? (
        <ComparedCard detail={about} />
      ) : (
        <Detail detail={about} bases={bases} />
      )}
      {note === "" ? null : <p class="card-note">{note}</p>}
      <p class="card-keys">
        {pinned ? (
          <span>
            <kbd>Esc</kbd> close
          </span>
        ) : (
          <>
            <span>
              <kbd>Enter</kbd> zoom
            </span>
            {isOfOne && (
              <span>
                <kbd>f</kbd> focus
              </span>
            )}
            {isOfOne && (
              <span>
                <kbd>d</kbd> drop function
              </span>
            )}
            <span>
              <kbd>Alt</kbd> pin
            </span>
          </>
        )}
      </p>
    </div>
  );
}

/** What a link folded is one call below each caller, whose weight stays where it was. */
function foldedInLink(): string {
  const fidelity = info.value?.fidelity;
  if (fidelity == null) {
    return "";
  }
  const { kept_nodes: kept, total_nodes: total, threshold_share: threshold } = fidelity;
  return `Lighter calls, folded. The link keeps all calls ≥ ${above(threshold)}; ${count(total - kept)} of ${count(total)} are folded.`;
}

function Detail({ detail, bases }: { detail: CallNodeDetail; bases: Bases }): JSX.Element {
  const unit = event.value?.name ?? "";
  const place = [
    detail.dso ?? "",
    detail.file === null ? "" : detail.line === null ? detail.file : `${detail.file}:${detail.line}`,
    // Of an address without a name nobody knows.
    detail.dso === null || detail.kind === Kind.Unnamed ? "" : `inlined: ${detail.inlined ? "yes" : "no"}`,
  ].filter((part) => part !== "");
  return (
    <>
      <header>
        <span class={swatchClass(detail.kind, detail.flags)} />
        <strong class={nameClass(detail.kind, detail.flags)}>
          <ForcedMark flags={detail.flags} />
          {detail.name}
          {detail.inlined ? " (inlined)" : ""}
        </strong>
        {detail.dsoStatus === null ? null : (
          <span class={`card-status ink-${STATUS[detail.dsoStatus].tone}`}>
            <StatusGlyph status={detail.dsoStatus} size={12} />
            {STATUS[detail.dsoStatus].word}
          </span>
        )}
      </header>
      {detail.kind === Kind.Folded ? (
        <p class="card-place">{foldedInLink()}</p>
      ) : place.length > 0 ? (
        <p class="card-place">{place.join(" · ")}</p>
      ) : null}
      <table>
        <tbody>
          <tr>
            <th scope="row">Total</th>
            <td class="card-share">{percent(share(detail.totalWeight, bases.all))}</td>
            <td>{countSamples(detail.totalSamples)}</td>
            <td>{weight(detail.totalWeight, unit)}</td>
          </tr>
          <tr>
            <th scope="row">Self</th>
            <td class="card-share">{percent(share(detail.selfWeight, bases.all))}</td>
            <td>{countSamples(detail.selfSamples)}</td>
            <td>{weight(detail.selfWeight, unit)}</td>
          </tr>
        </tbody>
      </table>
      <p class="card-base">
        Percentages are of {bases.allName}
        {bases.rootName === null ? "." : `; total is ${percent(share(detail.totalWeight, bases.root))} of ${bases.rootName}.`}
      </p>
    </>
  );
}
