// The page as one file that works offline.

import type { JSX } from "preact";
import { bytes } from "../state/format.ts";
import { ScopeNotice } from "./ScopeNotice.tsx";
import { SnapshotContents } from "./SnapshotContents.tsx";
import { pageWith } from "./page.ts";
import { bytesAround, cancelPage, makePage, pageMade, pageTimes, partSizes, sharedIn } from "./pages.ts";
import { Readable } from "./Readable.tsx";
import { SaveButton } from "./save.tsx";
import { ScopeChoice } from "./ScopeChoice.tsx";
import { TitleField } from "./TitleField.tsx";
import { timesKnown } from "../timeline/state.ts";

export function PageTab(): JSX.Element {
  const made = pageMade.value;
  return (
    <div class="share-body">
      <div class="share-main">
        <div class="share-intro">
          <p>
            One .html file with this page and the profile. It opens in any browser, offline. Unnamed code stays as addresses and
            gets names when its binary is added later.
          </p>
          <ScopeChoice />
        </div>
        <ScopeNotice />
        <TitleField />
        <Sizes />
        <SnapshotContents title="What this page keeps" made={made} />
        <Save />
      </div>
      <Readable of="page" made={made} />
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
      <caption>Contents and size</caption>
      <tbody>
        <tr>
          <th scope="row">This page, without a profile</th>
          <td>{bytes(around)}</td>
        </tr>
        <tr>
          <th scope="row">Calls, names, DSOs, timeline</th>
          <td>{size(calls)}</td>
        </tr>
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
                All samples, for ranges, heat map, time order and CPUs
              </label>
            </th>
            <td>{size(samples)}</td>
          </tr>
        )}
        <tr>
          <th scope="row">
            <strong>Total</strong>
          </th>
          <td>
            <strong>{size(profile === null ? null : around + profile)}</strong>
          </td>
        </tr>
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
            <span class="ink-mute">Creating the page…</span>{" "}
            <button type="button" class="quiet" onClick={cancelPage}>
              Cancel
            </button>
          </>
        )}
        {made.kind === "cancelled" && (
          <button type="button" onClick={makePage}>
            Create the page
          </button>
        )}
        {made.kind === "failed" && <span class="ink-bad">The page could not be created: {made.message}.</span>}
      </span>
      {made.kind === "made" && (
        <span class="push-right">
          <SaveButton
            label="Save as HTML"
            kind="primary tall"
            ending="html"
            make={() => Promise.resolve(new Blob([pageWith(document, made.shared.payload)], { type: "text/html" }))}
          />
        </span>
      )}
    </footer>
  );
}
