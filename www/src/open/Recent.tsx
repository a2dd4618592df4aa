// What was opened lately, each with the way back to it.

import type { JSX } from "preact";
import { Icon } from "../shell/icons.tsx";
import { bytes, countSamples } from "../state/format.ts";
import { toast } from "../state/toasts.ts";
import { openAgain, takeFiles } from "./open.ts";
import { pickRemembered } from "./pick.ts";
import type { RecentFile } from "./recent.ts";
import { clearRecent, describeDay, filesBehind, forgetHandles, recent } from "./recent.ts";

export function Recent(): JSX.Element | null {
  if (recent.value.length === 0) {
    return null;
  }
  return (
    <section class="card" aria-label="Recent">
      <h2 class="card-head">
        Recent <span>remembered in this browser; files are not copied</span>
        <button type="button" class="quiet push-right" onClick={() => void clearRecent()}>
          Clear
        </button>
      </h2>
      <ul>
        {recent.value.map((file) => (
          <Row key={file.key} file={file} />
        ))}
      </ul>
    </section>
  );
}

function Row({ file }: { file: RecentFile }): JSX.Element {
  const { name, samples, events, named, when, handles } = file;
  const facts = [bytes(file.bytes), countSamples(samples), events.join(", ")];
  return (
    <li class="recent-row">
      <Icon name="file" size={14} />
      <button type="button" class="recent-name" title={name} onClick={() => void reopen(file)}>
        {name}
      </button>
      <span class="recent-facts">
        {facts.filter((fact) => fact !== "").join(" · ")}
        {handles.length === 0 && <> · choose the file again</>}
      </span>
      <span class={`recent-named ${named < POOR ? "ink-warn" : "ink-ok"}`}>
        {named.toFixed(1)}
        {"\u202f"}% named
      </span>
      <span class="recent-when">{describeDay(when, Date.now())}</span>
    </li>
  );
}

/** Percent below which most of a profile is addresses. */
const POOR = 50;

async function reopen(file: RecentFile): Promise<void> {
  if (file.handles.length === 0) {
    return pickRemembered().then(takeFiles);
  }
  const files = await filesBehind(file);
  if (files === null) {
    await forgetHandles(file);
    toast("error", `${file.name} could not be read: it was moved, or the browser denied access. Choose the file again.`);
    return;
  }
  return openAgain(file, files);
}
