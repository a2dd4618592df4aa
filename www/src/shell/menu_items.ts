// What the menu of the selection offers besides transforms.

import { selection, session, view } from "../state/app.ts";
import { Kind } from "../session/types.ts";
import { detail } from "../state/detail.ts";
import { exportedName } from "../views/forced_name.tsx";
import { enterCall, invert, setDsos } from "../views/query_steps.ts";
import { countAs, countsAsOwn } from "../views/own_code.ts";
import { writeClipboard } from "./Copy.tsx";
import { showView } from "./ViewTabs.tsx";

export interface MenuItem {
  label: string;
  /** The key that does the same; empty for none. */
  keys: string;
  run: () => void;
}

/** What opens processes that are one. */
export const EACH_PROCESS = "Show each process";

export function extraItems(): MenuItem[] {
  const callNode = selection.value?.callNode ?? null;
  const node = detail.value;
  const isSeveral = node !== null && node.processes.length > 0;
  const dso = node === null || node.dso === null || node.dsoId === null ? null : { name: node.dso, id: node.dsoId };
  const named = detail.value ?? selection.value?.row ?? null;
  const items: (MenuItem | null)[] = [
    callNode !== null && view.value !== "functions" && (isSeveral || view.value !== "tree")
      ? {
          label: isSeveral ? EACH_PROCESS : "Zoom",
          keys: view.value === "tree" ? "" : "Enter",
          run: () => void enterCall(callNode),
        }
      : null,
    view.value === "flame" ? null : { label: "Show in flame graph", keys: "2", run: () => showView("flame") },
    view.value === "functions" ? null : { label: "Show in functions", keys: "3", run: () => showView("functions") },
    view.value === "tree" ? null : { label: "Show in call tree", keys: "4", run: () => showView("tree") },
    dso === null ? null : { label: `Only samples that end in ${dso.name}`, keys: "", run: () => void onlyEndingIn(dso.id) },
    dso !== null && countsAsOwn(dso.id)
      ? { label: `Do not count ${dso.name} as own code`, keys: "", run: () => void countAs(dso.id, "by-folder") }
      : null,
    dso !== null && node?.kind === Kind.System && !countsAsOwn(dso.id)
      ? { label: `Count ${dso.name} as own code`, keys: "", run: () => void countAs(dso.id, "own") }
      : null,
    { label: "Invert the tree", keys: "i", run: invert },
    named === null
      ? null
      : { label: "Copy name", keys: "", run: () => void writeClipboard(exportedName(named.name, named.flags)) },
  ];
  return items.filter((item) => item !== null);
}

async function onlyEndingIn(dso: number): Promise<void> {
  const found = await session
    .peek()
    ?.call("dsoRef", { dso })
    .catch(() => null);
  if (found) {
    setDsos([found]);
  }
}
