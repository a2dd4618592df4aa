// The commands of the page's frame, and the keys that views handle by themselves, which are only listed here.

import { effect } from "@preact/signals";
import { compareCommands } from "../compare/commands.ts";
import { openServed, takeFiles } from "../open/open.ts";
import { pickFiles } from "../open/pick.ts";
import { served } from "../open/served.ts";
import { shareOpen } from "../share/links.ts";
import { comparison, dock, dockOpen, ledgerFull, phase, search, selection, view } from "../state/app.ts";
import type { Command, Scope } from "../state/commands.ts";
import { registerCommands } from "../state/commands.ts";
import { canRedo, canUndo, redo, step, undo } from "../state/history.ts";
import { setTimelineShape, timelineShape } from "../state/layout.ts";
import { filterCount } from "../state/shown.ts";
import { toast } from "../state/toasts.ts";
import type { View } from "../state/url.ts";
import { addStep, clearFilters, invert } from "../views/query_steps.ts";
import { hot, showLines, stepHot } from "../views/sandwich/lines/state.ts";
import { shown as shownCode, stepHot as stepHotCode } from "../views/source/state.ts";
import { aboutOpen } from "./AboutDialog.tsx";
import { focusView, wantFocus } from "./focus_view.ts";
import { leave } from "./leave.ts";
import { optionCommands } from "./option_commands.ts";
import { focusPalette, focusSearch } from "./SearchField.tsx";
import { shortcutsOpen } from "./ShortcutsDialog.tsx";
import { chooseThreads, stepThread } from "./threads.ts";
import { applyTransform, TRANSFORMS } from "./transforms.ts";
import { showView, VIEWS } from "./ViewTabs.tsx";

const isOpen = (): boolean => phase.value.kind === "open";
/** What holds for one profile, and not for two that are compared. */
const isOne = (): boolean => isOpen() && comparison.value === null;

function anywhere(id: string, label: string, keys: readonly string[], run: () => void, isOffered?: () => boolean): Command {
  return { id, label, keys, scope: "anywhere", group: "Anywhere", run, ...(isOffered === undefined ? {} : { isOffered }) };
}

/** What a click on a button does, where there is one. */
function button(id: string, label: string, key: string, selector: string): Command {
  const find = (): HTMLElement | null => document.querySelector<HTMLElement>(selector);
  return anywhere(
    id,
    label,
    [key],
    () => find()?.click(),
    () => isOpen() && find() !== null,
  );
}

/** A key that the focused view itself handles. */
function listed(scope: Scope, group: string, keys: readonly string[], label: string): Command {
  return { id: `${group}: ${label}`, label, keys, scope, group, run: null };
}

/** The group of the recordings that `perftab view` serves beside the one that is open. */
export const SERVED = "Other recordings";

function servedCommands(): Command[] {
  const profiles = served.value?.profiles ?? [];
  return profiles.length < 2
    ? []
    : profiles.map((profile, index) => ({
        ...anywhere(`served-${index}`, `Open ${profile.name}`, [], () => void openServed(profile)),
        group: SERVED,
      }));
}

/** Registers all of them. Call once. */
export function followCommands(): void {
  registerCommands([...FRAME, ...compareCommands(), ...views(), ...TREE, ...transforms(), ...optionCommands(), ...LISTED]);
  // The other profiles of `perftab view`, once it has said which there are.
  effect(() => registerCommands(servedCommands()));
}

const FRAME: readonly Command[] = [
  anywhere("search", "Search", ["/", "Mod+f"], focusSearch, isOpen),
  anywhere("commands", "Commands", ["Mod+p", "Mod+k"], focusPalette, isOpen),
  anywhere("open", "Add files…", ["Mod+o"], () => void pickFiles("files").then(takeFiles)),
  anywhere("open-folder", "Add a folder…", [], () => void pickFiles("folder").then(takeFiles)),
  anywhere(
    "share",
    "Share…",
    ["Mod+s"],
    () => {
      shareOpen.value = true;
    },
    isOpen,
  ),
  anywhere("shortcuts", "Keyboard shortcuts", ["?"], () => {
    shortcutsOpen.value = true;
  }),
  anywhere(
    "about",
    "About this profile",
    [],
    () => {
      aboutOpen.value = true;
    },
    isOpen,
  ),
  anywhere("dsos", "Show or hide DSOs", ["l"], toggleLedger, isOpen),
  anywhere(
    "ledger-full",
    "Show DSOs at full width",
    [],
    () => {
      ledgerFull.value = !ledgerFull.peek();
    },
    isOpen,
  ),
  button("events", "Events", "e", ".event-chip"),
  anywhere("threads", "Processes and threads", ["t"], chooseThreads, isOne),
  anywhere("next-thread", "Next thread", ["n"], () => stepThread(1), isOne),
  anywhere("previous-thread", "Previous thread", ["p"], () => stepThread(-1), isOne),
  anywhere("undo", "Undo", ["Mod+z"], undo, () => canUndo.value),
  anywhere("redo", "Redo", ["Mod+Shift+z"], redo, () => canRedo.value),
  anywhere("clear", "Clear all filters and transforms", [], clearFilters, () => isOpen() && filterCount.value > 0),
  anywhere(
    "timeline",
    "Expand or collapse the timeline",
    [],
    () => {
      setTimelineShape(timelineShape.peek() === "strip" ? "tracks" : "strip");
    },
    () => isOpen() && timelineShape.value !== "none",
  ),
  anywhere(
    "close",
    "Close the dialog or search, clear the selection",
    ["Escape"],
    () => void leave(),
    () => false,
  ),
];

/** What two profiles can be seen as. */
const IN_COMPARISON: readonly View[] = ["flame", "functions", "tree"];

function views(): Command[] {
  return VIEWS.map(({ view: each, label, key }) =>
    anywhere(
      `view-${each}`,
      label,
      [key],
      () => {
        if (comparison.peek() !== null && !IN_COMPARISON.includes(each)) {
          const after = { label: "Stop comparing", run: () => stopAndShow(each) };
          toast("info", `${label} shows a single profile.`, after);
          return;
        }
        ledgerFull.value = false;
        if (view.peek() === each) {
          focusView();
        } else {
          wantFocus();
          showView(each);
        }
      },
      isOpen,
    ),
  );
}

function stopAndShow(each: View): void {
  step(() => {
    comparison.value = null;
    view.value = each;
  });
}

function inCode(id: string, label: string, keys: readonly string[], run: () => void, isOffered: () => boolean = isOpen): Command {
  return { id, label, keys, scope: "code", group: "Flame graph, call tree, functions", run, isOffered };
}

const isSource = (): boolean => view.value === "source" && shownCode.value !== null;
const areLines = (): boolean => isOne() && (isSource() || (view.value === "functions" && hot.value !== null));

function hotLine(way: "next" | "previous"): void {
  if (view.peek() === "source") {
    stepHotCode(way);
  } else {
    stepHot(way);
  }
}

const TREE: readonly Command[] = [
  inCode("invert", "Invert the tree", ["i"], invert),
  inCode(
    "lines",
    "Show lines of this function",
    [],
    () => void showLines(),
    () => isOne() && (selection.value?.functionId ?? null) !== null,
  ),
  inCode("previous-hot-line", "Previous hot line", ["["], () => hotLine("previous"), areLines),
  inCode("next-hot-line", "Next hot line", ["]"], () => hotLine("next"), areLines),
  inCode(
    "only-matches",
    "Keep only samples that match the search",
    [],
    () => {
      addStep({ kind: "search", text: search.peek() });
    },
    () => isOpen() && search.value.trim() !== "",
  ),
];

function transforms(): Command[] {
  return TRANSFORMS.map(({ kind, key, label }) =>
    inCode(
      kind,
      label,
      [key],
      () => void applyTransform(kind),
      () => isOne() && (kind === "collapse-recursion" || selection.value !== null),
    ),
  );
}

const CODE = "Flame graph, call tree, functions";
const TIME = "Timeline, heat map";

const LISTED: readonly Command[] = [
  listed("code", CODE, ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], "Caller, heaviest callee, sibling or row"),
  listed("code", CODE, ["Home", "End"], "Root or end of the hottest path; first or last row"),
  listed("code", CODE, ["Enter"], "Zoom to the selection; expand the row"),
  listed("code", CODE, ["Backspace", "0"], "Zoom out one level, or all the way"),
  listed("code", CODE, ["w", "s", "+", "-"], "Zoom in or out"),
  listed("code", CODE, ["a", "d", "Shift+ArrowLeft", "Shift+ArrowRight"], "Pan left or right"),
  listed("code", CODE, ["*"], "Expand all descendants"),
  listed("code", CODE, ["Alt"], "Pin the tooltip"),
  listed("time", TIME, ["w", "s", "+", "-", "0"], "Zoom in, out, or all the way out"),
  listed("time", TIME, ["a", "d"], "Pan left or right"),
  listed("time", TIME, ["ArrowLeft", "ArrowRight"], "Move the cursor"),
  listed("time", TIME, ["Shift+ArrowLeft", "Shift+ArrowRight"], "Extend the range"),
  listed("time", TIME, ["f"], "Zoom to the range"),
  listed("time", TIME, ["[", "]"], "Previous or next mark"),
];

function toggleLedger(): void {
  const isShown = dockOpen.peek() && dock.peek() === "dsos" && !ledgerFull.peek();
  ledgerFull.value = false;
  dock.value = "dsos";
  dockOpen.value = !isShown;
}
