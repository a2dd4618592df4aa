// The row above the graph: where the zoom is, or else the hottest path, and what the colours mean.

import type { JSX } from "preact";
import { Fragment } from "preact";
import type { FlameGraph } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";
import { counted, percent } from "../../state/format.ts";
import { step } from "../../state/history.ts";
import { view } from "../../state/app.ts";
import { ForcedMark, isForced, markedName } from "../forced_name.tsx";
import type { LaidOutGraph } from "./stage.ts";
import { ancestors } from "./model.ts";
import { boxSelf, hottestPath } from "./hit_test.ts";
import { foldPath } from "./fold_path.ts";
import { useHottestLine } from "./hottest_line.ts";
import { Legend } from "./legend.tsx";

/** Crumbs shown before the middle is left out. */
const MOST_CRUMBS = 6;
/** The same of the hottest path, which has shares beside it. */
const MOST_HOTTEST = 5;

interface Props {
  laid: LaidOutGraph | null;
  onZoom: (callNode: number) => void;
  /** Without it the hottest path is not shown. */
  onSelect?: (box: number) => void;
}

export function Breadcrumb({ laid, onZoom, onSelect }: Props): JSX.Element {
  return (
    <div class="breadcrumb-row">
      <nav class="breadcrumb" aria-label="Zoom">
        <Crumbs laid={laid} onZoom={onZoom} onSelect={onSelect} />
      </nav>
      <Legend />
    </div>
  );
}

export function Crumbs({ laid, onZoom, onSelect }: Props): JSX.Element {
  const above = ancestors(laid);
  const here = rootStep(laid);
  if (above.length === 0) {
    const hottest = laid !== null && onSelect !== undefined ? hottestCalls(laid.graph) : [];
    return (
      <>
        <strong>{here.name}</strong>
        <Separator />
        {laid !== null && onSelect !== undefined && hottest.length > 0 ? (
          <HottestPath graph={laid.graph} calls={hottest} onSelect={onSelect} />
        ) : (
          <>
            <span class="crumb-hint with-mouse">double-click a frame or press Enter to zoom</span>
            <span class="crumb-hint with-touch">tap a frame twice to zoom</span>
          </>
        )}
      </>
    );
  }
  return (
    <>
      {foldPath(above, MOST_CRUMBS).map(({ item, hidden }) => (
        <Fragment key={item.callNode}>
          <Crumb name={item.name} flags={item.flags} hidden={hidden} onClick={() => onZoom(item.callNode)} />
          <Separator />
        </Fragment>
      ))}
      <strong aria-current="location">
        <ForcedMark flags={here.flags} />
        {here.name}
      </strong>
    </>
  );
}

/** The boxes of the hottest path, without what fills the width. */
function hottestCalls(graph: FlameGraph): number[] {
  const calls = graph.depths === 0 ? [] : hottestPath(graph, 0).slice(1);
  return graph.labels[graph.label[calls[0] ?? 0] as number] === undefined ? [] : calls;
}

interface HottestProps {
  graph: FlameGraph;
  calls: readonly number[];
  onSelect: (box: number) => void;
}

/** What to look at first, in one line: the share of where it begins, and the self of where it ends if there is room for that. */
function HottestPath({ graph, calls, onSelect }: HottestProps): JSX.Element {
  const shareOf = (weight: number): string => percent(weight / graph.allTotal);
  const nameOf = (box: number): string => graph.labels[graph.label[box] as number] ?? "";
  const unnamed = calls.findIndex((box) => nameOf(box) === "");
  // Narrow boxes have no text: the path goes on in them.
  const named = unnamed < 0 ? calls : calls.slice(0, unnamed);
  const end = named.at(-1) as number;
  const ending = unnamed < 0 ? `${shareOf(boxSelf(graph, end))} self` : shareOf(graph.total[end] as number);
  const steps = foldPath(named, MOST_HOTTEST);
  const isKnown = unnamed < 0 && !isForced(graph.flags[end] as number);
  const place = useHottestLine(isKnown ? (graph.functionId[end] as number) : NONE);
  return (
    <>
      <span class="crumb-lead">hottest</span>
      {steps.map(({ item: box, hidden }, at) => (
        <span class={at > 0 && box !== end ? "crumb-step between" : "crumb-step"} key={graph.callNode[box]}>
          {at > 0 && <Separator />}
          <Crumb
            name={nameOf(box)}
            flags={graph.flags[box] as number}
            hidden={hidden}
            more={`, ${shareOf(graph.total[box] as number)}`}
            onClick={() => onSelect(box)}
          />
          {at === 0 && box !== end && <span class="crumb-share">{shareOf(graph.total[box] as number)}</span>}
        </span>
      ))}
      <span class="crumb-share">
        {ending}
        {place !== "" && ","}
      </span>
      {place !== "" && (
        <button
          type="button"
          class="crumb crumb-line"
          title="The line in which most samples ended: source beside assembly"
          onClick={() => {
            onSelect(end);
            step(() => (view.value = "source"));
          }}
        >
          {place}
        </button>
      )}
    </>
  );
}

interface CrumbProps {
  name: string;
  flags: number;
  /** Of how many more it is the last. */
  hidden: number;
  /** What its tooltip says besides. */
  more?: string;
  onClick: () => void;
}

function Crumb({ name, flags, hidden, more = "", onClick }: CrumbProps): JSX.Element {
  const title = `${hidden > 0 ? `${counted(hidden, "frame", "frames")}, up to ` : ""}${markedName(name, flags)}${more}`;
  return (
    <button type="button" class="crumb" title={title} onClick={onClick}>
      {hidden > 0 ? (
        "…"
      ) : (
        <>
          <ForcedMark flags={flags} />
          {name}
        </>
      )}
    </button>
  );
}

function Separator(): JSX.Element {
  return (
    <span class="crumb-separator" aria-hidden="true">
      ›
    </span>
  );
}

/** What fills the width. */
function rootStep(laid: LaidOutGraph | null): { name: string; flags: number } {
  const label = laid?.graph.label[0];
  const name = (label === undefined ? undefined : laid?.graph.labels[label]) ?? "all";
  return laid?.graph.path.find((each) => each.callNode === laid.root) ?? { name, flags: 0 };
}

/** Its name, with its mark. */
export function rootName(laid: LaidOutGraph | null): string {
  const { name, flags } = rootStep(laid);
  return markedName(name, flags);
}
