// What the open profile can be compared with: another file, one that `perftab view` serves, the one compared before, or,
// where a range is chosen, the rest.

import type { JSX } from "preact";
import { pickFiles } from "../open/pick.ts";
import { served } from "../open/served.ts";
import { MenuItem, Popover } from "../shell/Popover.tsx";
import { opened, query } from "../state/app.ts";
import { compareAgain, compareWithFiles, compareWithServed } from "./second.ts";
import { compareWithRest, second } from "./state.ts";

export function CompareButton(): JSX.Element {
  return (
    <Popover label="Compare…" buttonClass="compare-button" panelClass="menu">
      {(close) => {
        const item = (label: string, run: () => void, why?: string): JSX.Element => (
          <MenuItem close={close} disabled={why !== undefined} onChoose={run}>
            {label}
            {why !== undefined && <span class="menu-why">{why}</span>}
          </MenuItem>
        );
        const others = (served.value?.profiles ?? []).filter(({ name }) => name !== opened.value?.name);
        const noRange = query.value.range === null ? "select a range in the timeline first" : undefined;
        return (
          <>
            {item("With another file…", () => void pickFiles("files").then(compareWithFiles))}
            {others.map((profile) => (
              <div key={profile.name}>{item(`With ${profile.name}`, () => void compareWithServed(profile))}</div>
            ))}
            {second.value !== null && item(`With ${second.value.name} again`, compareAgain)}
            {item("The range with the rest", compareWithRest, noRange)}
          </>
        );
      }}
    </Popover>
  );
}
