// The page as one file that works offline.

import type { JSX } from "preact";
import { bytes } from "../state/format.ts";
import { Holds } from "./Holds.tsx";
import { Keeps } from "./Keeps.tsx";
import { pageWith } from "./page.ts";
import { bytesAround, cancelPage, makePage, pageMade, pageTimes, partSizes, sharedIn } from "./pages.ts";
import { Readable } from "./Readable.tsx";
import { SaveButton } from "./save.tsx";
import { ScopeChoice } from "./ScopeChoice.tsx";
import { timesKnown } from "../timeline/state.ts";

export function PageTab(): JSX.Element {
  const made = pageMade.value;
  return (
    <div class="share-body">
      <div class="share-main">
        <div class="share-intro">
          <p>
            One .html file that holds this page and the profile. It opens in any browser, from a disk, offline. Code that has no
            name yet stays as addresses, and a binary dropped on the page later still names it.
          </p>
          <ScopeChoice />
        </div>
        <Holds />
        <Sizes />
        <Keeps title="What this page keeps" made={made} />
        <Save />
      </div>
      <Readable of="page" texts={sharedIn(made)?.texts ?? null} />
    </div>
  );
}

/** Exact: the profile has been made, and the page around it is this one. */
function Sizes(): JSX.Element {
  const made = pageMade.value;
  const { calls, samples } = partSizes.value;
  const profile = sharedIn(made)?.payload.length ?? null;
  const around = bytesAround();
  const size = (part: number | null): string => (part === null ? "…" : bytes(part));
  return (
    <table class={`sizes${made.kind === "making" ? " busy" : ""}`}>
      <caption>What is in it, and how large that is</caption>
      <tbody>
        <tr><th scope="row">This page, without a profile</th><td>{bytes(around)}</td></tr>
        <tr><th scope="row">Calls, names, the ledger, a timeline</th><td>{size(calls)}</td></tr>
        {timesKnown.value === "samples" && (
          <tr>
            <th scope="row">
              <label>
                <input
                  type="checkbox"
                  checked={pageTimes.value === "samples"}
                  onChange={(event) => {
                    pageTimes.value = event.currentTarget.checked ? "samples" : "threads";
                  }}
                />{" "}
                Every sample: ranges, heat map, time order, CPUs
              </label>
            </th>
            <td>{size(samples)}</td>
          </tr>
        )}
        <tr><th scope="row"><strong>The file</strong></th><td><strong>{size(profile === null ? null : around + profile)}</strong></td></tr>
      </tbody>
    </table>
  );
}

function Save(): JSX.Element {
  const made = pageMade.value;
  return (
    <footer class="share-actions">
      <span role="status">
        {made.kind === "making" && (
          <>
            <span class="ink-mute">Making the profile…</span> <button type="button" class="quiet" onClick={cancelPage}>Cancel</button>
          </>
        )}
        {made.kind === "cancelled" && <button type="button" onClick={makePage}>Make the profile</button>}
        {made.kind === "failed" && <span class="ink-bad">It could not be made: {made.message}.</span>}
      </span>
      {made.kind === "made" && (
        <span class="push-right"><SaveButton
          label="Save as one HTML page"
          kind="primary tall"
          ending="html"
          make={() => Promise.resolve(new Blob([pageWith(document, made.shared.payload)], { type: "text/html" }))}
        /></span>
      )}
    </footer>
  );
}
