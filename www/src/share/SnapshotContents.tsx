// What a link or a page keeps of the profile, and what it leaves out.

import type { ComponentChildren, JSX } from "preact";
import { answerable, listed } from "../open/answerable.ts";
import type { FidelityInfo, SharedTexts, Times } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { info, viewState, zoomRoot } from "../state/app.ts";
import { above, count, countSamples, percent } from "../state/format.ts";
import { DEFAULT_QUERY } from "../state/query_text.ts";
import { filterCount, filtersInWords, shown } from "../state/shown.ts";
import { timesKnown } from "../timeline/state.ts";
import { Icon } from "../shell/icons.tsx";
import type { LinkState } from "./links.ts";
import { scope } from "./links.ts";
import { textsOf } from "./privacy.ts";

/** Until a new one is there, what the one before kept is shown. */
export function SnapshotContents({ title, made }: { title: string; made: LinkState }): JSX.Element {
  const shared = made.kind === "made" ? made.shared : made.kind === "making" ? made.before : null;
  return (
    <section class={`keeps${made.kind === "making" ? " busy" : ""}`} aria-label={title} aria-busy={made.kind === "making"}>
      <h3>{title}</h3>
      {shared === null ? (
        <p class="note">{withoutOne(made)}</p>
      ) : (
        <ContentsList fidelity={shared.fidelity} texts={shared.texts} />
      )}
    </section>
  );
}

function withoutOne(made: LinkState): string {
  switch (made.kind) {
    case "failed":
      return made.message;
    case "cancelled":
      return "Cancelled.";
    default:
      return "Creating…";
  }
}

function ContentsList({ fidelity, texts }: { fidelity: FidelityInfo; texts: SharedTexts }): JSX.Element {
  const {
    kept_nodes: kept,
    total_nodes: total,
    threshold_share: threshold,
    kept_dsos: keptDsos,
    total_dsos: totalDsos,
  } = fidelity;
  const warnings = info.value?.warnings.length ?? 0;
  const part = scope.value === "shown" ? partInWords() : null;
  return (
    <ul>
      <KeptItem
        note={
          fidelity.folded_weight > 0
            ? `${percent(Math.max(0, 1 - fidelity.kept_weight_share))} folded into callers`
            : "nothing folded"
        }
      >
        <strong>
          {count(kept)} of {count(total)} call nodes
        </strong>
        {threshold > 0 ? `, all those ≥ ${above(threshold)}` : ""}
      </KeptItem>
      <KeptItem note="exact">{part === null ? "Totals of the whole profile" : `Totals of ${part}`}</KeptItem>
      <KeptItem note={keptDsos < totalDsos ? "lightest left out" : "complete"}>
        Coverage, {keptDsos < totalDsos && `${count(keptDsos)} of `}
        {count(totalDsos)} {totalDsos === 1 ? "DSO" : "DSOs"}
        {warnings > 0 && `, ${count(warnings)} ${warnings === 1 ? "warning" : "warnings"}`}
      </KeptItem>
      <TimesKept times={fidelity.times} />
      <PlaceTextsKept texts={texts} />
      <ViewKept times={fidelity.times} />
    </ul>
  );
}

/** "what is left after 2 filters: 96,412 of 412,806 samples"; null where nothing filters. */
export function partInWords(): string | null {
  if (filterCount.value === 0) {
    return null;
  }
  const answer = shown.value?.answer;
  const samples = answer === undefined ? "" : `: ${count(answer.samples)} of ${countSamples(answer.allSamples)}`;
  return `what is left after ${filtersInWords.value}${samples}`;
}

function TimesKept({ times }: { times: Times }): JSX.Element {
  if (info.value?.time?.start == null) {
    return <LeftOutItem note="not recorded">Sample times</LeftOutItem>;
  }
  const inSamples = timesKnown.value === "samples" ? "only in larger links and pages" : "not in this profile either";
  const timeline = (rows: string): JSX.Element => (
    <>
      <KeptItem note="exact totals">Timeline by {rows}</KeptItem>
      <LeftOutItem note={inSamples}>Individual samples, for ranges and CPUs</LeftOutItem>
    </>
  );
  switch (times) {
    case "samples":
      return <KeptItem note="complete">All samples, with time, thread and CPU</KeptItem>;
    case "threads":
      return timeline("thread");
    case "processes":
      return timeline("process");
    case "none":
      return <LeftOutItem note={inSamples}>Timeline and individual samples</LeftOutItem>;
  }
}

/** Of profiles that came with any: the page cannot read them itself. */
function PlaceTextsKept({ texts }: { texts: SharedTexts }): JSX.Element | null {
  if (texts.profile.lines + texts.profile.instructions === 0) {
    return null;
  }
  const [lines, instructions] = [textsOf(texts, "source").length, textsOf(texts, "assembly").length];
  return lines + instructions === 0 ? (
    <LeftOutItem note="not ticked">Text of hot lines and instructions</LeftOutItem>
  ) : (
    <KeptItem note="as much as fits">
      Text of {count(lines)} hot lines, {count(instructions)} instructions
    </KeptItem>
  );
}

function ViewKept({ times }: { times: Times }): JSX.Element {
  const { without } = answerable(scope.value === "whole" ? viewState.value.query : DEFAULT_QUERY, times);
  const note = without.length === 0 ? "readers can change it" : `without ${listed(without)}`;
  return <KeptItem note={note}>This view: {viewInWords()}</KeptItem>;
}

const VIEW_NAMES = {
  "time-order": "time order",
  flame: "flame graph",
  functions: "functions",
  tree: "call tree",
  source: "source",
  "heat-map": "heat map",
} as const;

/** "flame graph, 2 filters, search" */
function viewInWords(): string {
  const { view, search } = viewState.value;
  const filters = scope.value === "whole" && filterCount.value > 0 ? filtersInWords.value : "";
  const zoom = zoomRoot.value === ALL ? "" : "zoom";
  return [VIEW_NAMES[view], zoom, filters, search === "" ? "" : "search"].filter((each) => each !== "").join(", ");
}

function KeptItem({ note, children }: { note: string; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <span class="ink-ok">
        <Icon name="tick" size={14} />
      </span>
      <span>{children}</span>
      <span class="push-right ink-mute">{note}</span>
    </li>
  );
}

function LeftOutItem({ note, children }: { note: string; children: ComponentChildren }): JSX.Element {
  return (
    <li class="ink-mute">
      <Icon name="dash" size={14} />
      <span>
        <span class="visually-hidden">Left out: </span>
        {children}
      </span>
      <span class="push-right">{note}</span>
    </li>
  );
}
