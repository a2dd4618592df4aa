// Nothing is open yet: where to put files, how to record, what is private.

import type { JSX } from "preact";
import { Fragment } from "preact";
import { phase } from "../state/app.ts";
import { VERSION } from "../state/version.ts";
import { bytes } from "../state/format.ts";
import { modifier } from "../state/platform.ts";
import { Copy } from "../shell/Copy.tsx";
import { Icon, Logo } from "../shell/icons.tsx";
import { ThemeChoice } from "../shell/MainMenu.tsx";
import { Popover } from "../shell/Popover.tsx";
import { shortcutsOpen } from "../shell/ShortcutsDialog.tsx";
import { Network } from "../shell/StatusBar.tsx";
import { DropPicture } from "./DropPicture.tsx";
import { describeFailure, describeWaiting, isOfLink } from "./failure.ts";
import { focusLinkField, LinkField } from "./LinkField.tsx";
import { openServed, takeFiles, waiting } from "./open.ts";
import { Opening } from "./Opening.tsx";
import { pickFiles } from "./pick.ts";
import { Recent } from "./Recent.tsx";
import { Sample } from "./Sample.tsx";
import { compareWithServed } from "../compare/second.ts";
import type { ServedProfile } from "./served.ts";
import { served, servedSize } from "./served.ts";

export function OpenScreen(): JSX.Element {
  return (
    <div class="page open-page">
      <header class="top-bar">
        <span class="brand">
          <Logo /> <span class="brand-name">perftab</span>
        </span>
        <span class="push-right open-actions">
          <Popover label="Formats" name="Formats" buttonClass="quiet" panelClass="formats">
            {() => <Formats />}
          </Popover>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              shortcutsOpen.value = true;
            }}
          >
            Shortcuts <kbd>?</kbd>
          </button>
          <Popover label={<Icon name="sun" />} name="Theme" buttonClass="quiet icon-only" panelClass="menu">
            {() => (
              <div class="menu-row">
                <ThemeChoice />
              </div>
            )}
          </Popover>
        </span>
      </header>
      <main class="open-main">
        <section class="open-left">
          <h1>Open a perf.data profile</h1>
          <p class="lead">
            It is read in this tab and not uploaded. Names come only from binaries whose build-id matches the recording.
          </p>
          <DropBox />
          <ServedProfiles />
          <Recent />
        </section>
        <aside class="open-right">
          <Sample />
          <RecordCommands />
          <PrivacyNotice />
        </aside>
      </main>
      <footer class="status-bar">
        <span>perftab {VERSION}</span>
        <span>Works offline, from a saved file</span>
        <span class="push-right">
          <span class="open-browsers">Firefox 120+, Chrome 123+, Safari 17.5+</span>
          <Network />
        </span>
      </footer>
    </div>
  );
}

/** Whatever can be opened or added, by what it is for. */
const FORMATS: readonly [string, string][] = [
  [
    "Profiles",
    "perf.data from perf, perftab or simpleperf: a file, piped output, or the folder from --threads; plain or compressed with gzip, xz, zstd or bzip2",
  ],
  ["Binaries", "ELF files, stripped or not; debug files, including dwz; vmlinux; kernel modules; kallsyms saved by perftab"],
  ["Archives", "tar, zip, deb and ar with any of these; compressed or nested"],
  ["Shared profiles", "links (paste them) and saved pages"],
];

function Formats(): JSX.Element {
  return (
    <dl>
      {FORMATS.map(([what, words]) => (
        <Fragment key={what}>
          <dt>{what}</dt>
          <dd>{words}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function DropBox(): JSX.Element {
  return (
    <div class="drop-box">
      <div class="drop-top">
        <DropPicture />
        <div class="drop-text">{phase.value.kind === "opening" ? <Opening name={phase.value.name} /> : <Invitation />}</div>
      </div>
      <Failure />
      <Waiting />
      <LinkField />
    </div>
  );
}

function Invitation(): JSX.Element {
  return (
    <>
      <h2>Drag files or a folder here</h2>
      <p>
        A perf.data from perf, perftab or simpleperf, plus binaries, debug files or archives of them. Any order works, and you can
        add files later.
      </p>
      <p class="button-row">
        <button type="button" class="primary tall" onClick={() => void pickFiles("files").then(takeFiles)}>
          Choose files… <kbd>{modifier} O</kbd>
        </button>
        <button type="button" class="tall" onClick={() => void pickFiles("folder").then(takeFiles)}>
          Choose a folder…
        </button>
      </p>
    </>
  );
}

function Failure(): JSX.Element | null {
  if (phase.value.kind !== "empty" || phase.value.failure === null) {
    return null;
  }
  const { name, failure } = phase.value.failure;
  return (
    <p class="message message-bad" role="alert">
      <Icon name="warning" size={14} />
      <span>{describeFailure(name, failure)}</span>
      {isOfLink(failure) ? (
        <button type="button" class="push-right" onClick={focusLinkField}>
          Paste the link again
        </button>
      ) : (
        <button type="button" class="push-right" onClick={() => void pickFiles("files").then(takeFiles)}>
          Choose another file
        </button>
      )}
    </p>
  );
}

function Waiting(): JSX.Element | null {
  const names = waiting.value.map((file) => file.name);
  if (names.length === 0) {
    return null;
  }
  return (
    <p class="message" role="status">
      <Icon name="file" size={14} />
      <span>{describeWaiting(names)}</span>
      <button
        type="button"
        class="quiet push-right"
        onClick={() => {
          waiting.value = [];
        }}
      >
        Remove
      </button>
    </p>
  );
}

async function openBoth(first: ServedProfile, other: ServedProfile): Promise<void> {
  await openServed(first);
  if (phase.peek().kind === "open") {
    await compareWithServed(other);
  }
}

/** The files of `perftab view`, where it serves more than one. */
function ServedProfiles(): JSX.Element | null {
  const profiles = served.value?.profiles ?? [];
  if (profiles.length === 0) {
    return null;
  }
  const [first, other, ...more] = profiles;
  return (
    <section class="card">
      <h2 class="card-head">
        Profiles <span>served by perftab view</span>
      </h2>
      <ul>
        {profiles.map((profile, index) => (
          <li key={index} class="served-row">
            <Icon name="file" size={14} />
            <strong>{profile.name}</strong> <span class="ink-mute">{bytes(servedSize(profile))}</span>
            <button type="button" class="push-right" onClick={() => void openServed(profile)}>
              Open
            </button>
          </li>
        ))}
        {first !== undefined && other !== undefined && more.length === 0 && (
          <li class="served-row">
            <span class="ink-mute">The first is before, the second is after.</span>
            <button type="button" class="push-right" onClick={() => void openBoth(first, other)}>
              Open both to compare
            </button>
          </li>
        )}
      </ul>
    </section>
  );
}

const COMMANDS = ["perftab record -a -g -- sleep 10", "perf record -F 999 -a -g --buildid-mmap -- sleep 10"];

function RecordCommands(): JSX.Element {
  return (
    <section class="card">
      <h2 class="card-head">Record a profile</h2>
      <div class="card-body">
        {COMMANDS.map((command) => (
          <div key={command} class="command-row">
            <code>{command}</code> <Copy text={command} />
          </div>
        ))}
        <p class="ink-mute">
          Recordings made by perf work too. <code>perf buildid-list</code> shows whether yours has build-ids.
        </p>
      </div>
    </section>
  );
}

function PrivacyNotice(): JSX.Element {
  return (
    <section class="card">
      <h2 class="card-head">
        <Icon name="lock" size={14} /> Privacy
      </h2>
      <div class="card-body">
        <p>Files are read in this tab and never uploaded. No account, no cookies, no analytics.</p>
        <p class="ink-mute">
          The network is used only if you enter a debuginfod URL: that server sees the build-ids you ask for. A shared link
          carries the profile after the #, which browsers do not send.
        </p>
      </div>
    </section>
  );
}
