// What a comparison can be told to do, for keys and the palette.

import { pickFiles } from "../open/pick.ts";
import { comparison, phase, query } from "../state/app.ts";
import type { Command } from "../state/commands.ts";
import { compareWithFiles } from "./second.ts";
import { compareWithRest, stopComparing, swapSides } from "./state.ts";

export function compareCommands(): Command[] {
  const isOne = (): boolean => phase.value.kind === "open" && comparison.value === null;
  const isComparing = (): boolean => comparison.value !== null;
  const command = (id: string, label: string, run: () => void, isOffered: () => boolean): Command => ({
    id,
    label,
    keys: [],
    scope: "anywhere",
    group: "Anywhere",
    run,
    isOffered,
  });
  return [
    command("compare", "Compare with another file…", () => void pickFiles("files").then(compareWithFiles), isOne),
    command("compare-rest", "Compare the range with the rest", compareWithRest, () => isOne() && query.value.range !== null),
    command("swap", "Swap before and after", swapSides, isComparing),
    command("stop-comparing", "Stop comparing", stopComparing, isComparing),
  ];
}
