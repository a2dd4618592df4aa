// What is needed seldom: another file, a folder, the theme, the keys.

import type { JSX } from "preact";
import { openServed, takeFiles } from "../open/open.ts";
import { pickFiles } from "../open/pick.ts";
import { served } from "../open/served.ts";
import { keyOf } from "../state/commands.ts";
import { density } from "../state/layout.ts";
import { singleKeys } from "../state/single_keys.ts";
import { theme } from "../state/theme.ts";
import { aboutOpen } from "./AboutDialog.tsx";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";
import { focusPalette } from "./SearchField.tsx";
import { Segmented } from "./Segmented.tsx";
import { shortcutsOpen } from "./ShortcutsDialog.tsx";

export function MainMenu(): JSX.Element {
  return (
    <Popover label={<Icon name="menu" />} name="Menu" buttonClass="quiet icon-only menu-button" panelClass="menu">
      {(close) => (
        <>
          <Item
            label="Open files…"
            keys={keyOf("open")}
            run={() => {
              close();
              void pickFiles("files").then(takeFiles);
            }}
          />
          <Item
            label="Open a folder…"
            run={() => {
              close();
              void pickFiles("folder").then(takeFiles);
            }}
          />
          <ServedItems close={close} />
          <Item
            label="Commands"
            keys={keyOf("commands")}
            run={() => {
              close();
              focusPalette();
            }}
          />
          <Item
            label="About this profile"
            run={() => {
              close();
              aboutOpen.value = true;
            }}
          />
          <Item
            label="Keyboard shortcuts"
            keys={keyOf("shortcuts")}
            run={() => {
              close();
              shortcutsOpen.value = true;
            }}
          />
          <hr />
          <div class="menu-row"><span>Theme</span> <ThemeChoice /></div>
          <div class="menu-row"><span>Rows</span> <DensityChoice /></div>
          <div class="menu-row"><span>Single-key shortcuts</span> <SingleKeysChoice /></div>
        </>
      )}
    </Popover>
  );
}

/** The other profiles of `perftab view`. */
function ServedItems({ close }: { close: () => void }): JSX.Element | null {
  const profiles = served.value?.profiles ?? [];
  if (profiles.length < 2) {
    return null;
  }
  return (
    <>
      {profiles.map((profile, index) => (
        <Item
          key={index}
          label={`Open ${profile.name}`}
          run={() => {
            close();
            void openServed(profile);
          }}
        />
      ))}
    </>
  );
}

export function ThemeChoice(): JSX.Element {
  return (
    <Segmented
      label="Theme"
      value={theme}
      choices={[
        { value: "system", label: "System" },
        { value: "light", label: "Light" },
        { value: "dark", label: "Dark" },
      ]}
    />
  );
}

function DensityChoice(): JSX.Element {
  return (
    <Segmented
      label="Rows"
      value={density}
      choices={[
        { value: "compact", label: "Compact" },
        { value: "comfortable", label: "Comfortable" },
      ]}
    />
  );
}

/** WCAG 2.1.4: whoever does not want them can switch them off. */
function SingleKeysChoice(): JSX.Element {
  return (
    <Segmented
      label="Single-key shortcuts"
      value={singleKeys}
      choices={[
        { value: "on", label: "On" },
        { value: "off", label: "Off" },
      ]}
    />
  );
}

function Item({ label, keys, run }: { label: string; keys?: string; run: () => void }): JSX.Element {
  return (
    <button type="button" class="menu-item" onClick={run}>
      {label} {keys !== undefined && keys !== "" && <kbd>{keys}</kbd>}
    </button>
  );
}
