// What is needed seldom: another file, a folder, the theme, the keys.

import type { JSX } from "preact";
import type { Command } from "../state/commands.ts";
import { commands, keyOf } from "../state/commands.ts";
import { density } from "../state/layout.ts";
import { singleKeys } from "../state/single_keys.ts";
import { theme } from "../state/theme.ts";
import { narrow } from "../state/width.ts";
import { SERVED } from "./all_commands.ts";
import { Icon } from "./icons.tsx";
import { MenuItem, Popover } from "./Popover.tsx";
import { Segmented } from "./Segmented.tsx";

/** By id, as the table of commands has them; those that cannot be given now are left out. */
const ITEMS = ["open", "open-folder", "served", "commands", "about", "shortcuts"] as const;
/** A phone's top bar has no room for the button that comparing has elsewhere. */
const NARROW_ITEMS = ["open", "open-folder", "served", "compare", "compare-rest", "commands", "about", "shortcuts"] as const;

export function MainMenu(): JSX.Element {
  return (
    <Popover label={<Icon name="menu" />} name="Menu" buttonClass="quiet icon-only menu-button" panelClass="menu">
      {(close) => (
        <>
          {itemsFor(narrow.value ? NARROW_ITEMS : ITEMS).map(({ id, label, run }) => (
            <MenuItem close={close} key={id} onChoose={() => run?.()}>
              {label} {keyOf(id) !== "" && <kbd>{keyOf(id)}</kbd>}
            </MenuItem>
          ))}
          <hr />
          <div class="menu-row">
            <span>Theme</span> <ThemeChoice />
          </div>
          <div class="menu-row">
            <span>Row spacing</span> <DensityChoice />
          </div>
          <div class="menu-row">
            <span>Single-key shortcuts</span> <SingleKeysChoice />
          </div>
        </>
      )}
    </Popover>
  );
}

/** Each, in this order; "served" stands for the other profiles of `perftab view`. */
function itemsFor(ids: readonly string[]): Command[] {
  const all = commands.value;
  return ids
    .flatMap((id) => all.filter((each) => each.id === id || (id === "served" && each.group === SERVED)))
    .filter(({ isOffered }) => isOffered?.() ?? true);
}

export function ThemeChoice(): JSX.Element {
  return (
    <Segmented
      label="Theme"
      choice={theme}
      choices={[
        ["system", "System"],
        ["light", "Light"],
        ["dark", "Dark"],
      ]}
    />
  );
}

function DensityChoice(): JSX.Element {
  return (
    <Segmented
      label="Row spacing"
      choice={density}
      choices={[
        ["compact", "Compact"],
        ["comfortable", "Comfortable"],
      ]}
    />
  );
}

/** WCAG 2.1.4: whoever does not want them can switch them off. */
function SingleKeysChoice(): JSX.Element {
  return (
    <Segmented
      label="Single-key shortcuts"
      choice={singleKeys}
      choices={[
        ["on", "On"],
        ["off", "Off"],
      ]}
    />
  );
}
