// Every option of the page as commands, one a choice: "Colour: self heat". Those that are chosen already are not offered.

import type { Signal } from "@preact/signals";
import { requestFetch, unasked } from "../ledger/debuginfod.ts";
import { order } from "../ledger/state.ts";
import { shareOpen, shareTab } from "../share/links.ts";
import {
  dock,
  dockOpen,
  groupBy,
  hasAccesses,
  shownGroup,
  functionsOrder,
  ledgerFull,
  phase,
  query,
  view,
} from "../state/app.ts";
import type { Command } from "../state/commands.ts";
import { step } from "../state/history.ts";
import { density } from "../state/layout.ts";
import { singleKeys } from "../state/single_keys.ts";
import { theme } from "../state/theme.ts";
import type { FunctionGroup } from "../state/url.ts";
import {
  COLOURS,
  colourBy,
  FIRST_LEVEL,
  INLINES,
  RECURSION,
  recursion,
  ROOTS,
  ROW_HEIGHTS,
  rootAt,
  rowHeight,
  UNNAMED,
} from "../views/options.ts";
import { IDLE, idle, idleWord, setIdle } from "../views/idle.ts";
import { setDirection, setGroup, setInlines, setUnnamed } from "../views/query_steps.ts";
import { expandHottestPath } from "../views/rows/tree_model.ts";
import { BYTES, codeBytes, SYNTAXES, syntax } from "../views/source/state.ts";

const isOpen = (): boolean => phase.value.kind === "open";
const always = (): boolean => true;

interface Choice<T extends string> {
  label: string;
  now: () => T;
  choices: readonly (readonly [value: T, words: string])[];
  choose: (value: T) => void;
  isOffered?: () => boolean;
}

function commandsOf<T extends string>({ label, now, choices, choose, isOffered = isOpen }: Choice<T>): Command[] {
  return choices.map(([value, words]) => ({
    id: `${label}: ${value}`,
    label: `${label}: ${words}`,
    keys: [],
    scope: "anywhere",
    group: label,
    run: () => choose(value),
    isOffered: () => isOffered() && now() !== value,
  }));
}

/** A choice that a signal keeps. */
function kept<T extends string>(label: string, choice: Signal<T>, choices: Choice<T>["choices"], isOffered = isOpen): Command[] {
  return commandsOf({
    label,
    choices,
    isOffered,
    now: () => choice.value,
    choose: (value) => {
      choice.value = value;
    },
  });
}

function action(label: string, run: () => void, isOffered: () => boolean): Command {
  return { id: label, label, keys: [], scope: "anywhere", group: "", run, isOffered: () => isOpen() && isOffered() };
}

const isGraph = (): boolean => isOpen() && (view.value === "flame" || view.value === "time-order");
const isSource = (): boolean => isOpen() && view.value === "source";
const isTable = (): boolean => isOpen() && view.value === "functions";

export function optionCommands(): Command[] {
  return [
    ...tree(),
    ...kept("Colour", colourBy, COLOURS, isGraph),
    ...kept("Root", rootAt, ROOTS, isGraph),
    ...kept("Row height", rowHeight, ROW_HEIGHTS, isGraph),
    ...functions(),
    ...kept("Syntax of x86", syntax, SYNTAXES, isSource),
    ...kept("Bytes of instructions", codeBytes, BYTES, isSource),
    ...ledger(),
    ...kept(
      "Theme",
      theme,
      [
        ["system", "system"],
        ["light", "light"],
        ["dark", "dark"],
      ],
      always,
    ),
    ...kept(
      "Row spacing",
      density,
      [
        ["compact", "compact"],
        ["comfortable", "comfortable"],
      ],
      always,
    ),
    ...kept(
      "Single-key shortcuts",
      singleKeys,
      [
        ["on", "on"],
        ["off", "off"],
      ],
      always,
    ),
  ];
}

function tree(): Command[] {
  return [
    ...commandsOf({
      label: "Direction",
      choices: [
        ["callees", "callees"],
        ["inverted", "inverted"],
      ],
      now: () => query.value.direction,
      choose: setDirection,
    }),
    ...commandsOf({
      label: "First level",
      choices: FIRST_LEVEL,
      now: () => query.value.group,
      choose: setGroup,
    }),
    ...commandsOf({
      label: "Inlines",
      choices: INLINES,
      now: () => query.value.inlines,
      choose: setInlines,
    }),
    ...commandsOf({
      label: "Unnamed code",
      choices: UNNAMED,
      now: () => query.value.unnamed,
      choose: setUnnamed,
    }),
    ...commandsOf({
      label: "Idle",
      choices: IDLE,
      now: () => idle.value,
      choose: setIdle,
      isOffered: () => isOpen() && idleWord.value !== null,
    }),
    action("Expand hottest path", expandHottestPath, () => view.value === "tree"),
  ];
}

/** What rows of the functions table stand for. */
function grouping(choices: Choice<FunctionGroup>["choices"], isOffered: () => boolean): Command[] {
  const [now, choose] = [() => shownGroup.value, (group: FunctionGroup) => step(() => groupBy(group))];
  return commandsOf({ label: "Group by", now, choices, choose, isOffered });
}

function functions(): Command[] {
  return [
    ...grouping(
      [
        ["function", "functions"],
        ["file", "source files"],
        ["dso", "DSOs"],
        ["thread", "threads"],
      ],
      isTable,
    ),
    ...grouping(
      [
        ["object", "data, by object"],
        ["level", "data, by level"],
        ["snoop", "data, by snoop"],
        ["tlb", "data, by TLB"],
        ["locked", "data, by lock"],
      ],
      () => isTable() && hasAccesses.value,
    ),
    ...kept("Recursion beside functions", recursion, RECURSION, isTable),
    ...commandsOf({
      label: "Sort by",
      choices: [
        ["self", "self"],
        ["total", "total"],
        ["name", "name"],
        ["dso", "DSO"],
      ],
      now: () => functionsOrder.value.key,
      choose: (key) => {
        functionsOrder.value = { key, descending: key === "self" || key === "total" };
      },
      isOffered: isTable,
    }),
  ];
}

function ledger(): Command[] {
  return [
    ...kept("Sort DSOs", order, [
      ["to-name", "unnamed first"],
      ["samples", "most samples first"],
      ["name", "by name"],
    ]),
    action(
      "Fetch all from debuginfod",
      () => requestFetch(unasked.peek().map(({ id }) => id)),
      () => unasked.value.length > 0,
    ),
    action(
      "Close the side panel",
      () => {
        dockOpen.value = false;
      },
      () => dockOpen.value,
    ),
    action(
      "Show the selection",
      () => {
        ledgerFull.value = false;
        dock.value = "selection";
        dockOpen.value = true;
      },
      () => !dockOpen.value || dock.value !== "selection",
    ),
    ...(["link", "page", "export"] as const).map((tab) =>
      action(
        `Share: ${tab}`,
        () => {
          shareTab.value = tab;
          shareOpen.value = true;
        },
        () => true,
      ),
    ),
  ];
}
