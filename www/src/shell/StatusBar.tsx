// The last line: what is being done, what the pointer is over, what was lost, and the truth about the network.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { lastDrop } from "../ledger/admit.ts";
import { batchState, bytesUnderWay, cancelAll, sent } from "../ledger/debuginfod.ts";
import { serversInShort } from "../ledger/servers.ts";
import { hovered, info, namesGeneration, query, session, tasks, workerBytes } from "../state/app.ts";
import { bytes, count, counted, percent } from "../state/format.ts";
import { describeProgress, shownTask, timeLeft } from "../state/tasks.ts";
import { Icon } from "./icons.tsx";
import { lostOf } from "./losses.ts";

export function StatusBar(): JSX.Element {
  useMemory();
  const isWorking = tasks.value.length > 0 || batchState.value !== null;
  return (
    <footer class={isWorking ? "status-bar working" : "status-bar"}>
      <Work />
      <span class="status-hover">{hovered.value === "" ? lastDrop.value : hovered.value}</span>
      <LostCount />
      <span class="push-right">
        {workerBytes.value !== null && <span class="status-memory">memory {bytes(workerBytes.value)}</span>}
        <Network />
      </span>
    </footer>
  );
}

function Work(): JSX.Element | null {
  const task = shownTask.value;
  const fetches = batchState.value;
  if (task !== undefined) {
    return (
      <span class="status-work">
        {describeProgress(task.label, task.progress)}
        {timeLeft(task, performance.now())}
        {task.cancel !== null && (
          <button type="button" class="link" onClick={task.cancel}>
            Cancel
          </button>
        )}
      </span>
    );
  }
  if (fetches !== null) {
    return (
      <span class="status-work">
        Fetching {count(Math.min(fetches.done + 1, fetches.total))} of {count(fetches.total)} from {serversInShort}
        {bytesUnderWay.value > 0 && ` · ${bytes(bytesUnderWay.value)}`}
        <button type="button" class="link" onClick={cancelAll}>
          Cancel all
        </button>
      </span>
    );
  }
  return null;
}

function LostCount(): JSX.Element | null {
  const profile = info.value;
  const lost = profile === null ? null : lostOf(profile);
  if (profile === null || lost === null || lost.count === 0) {
    return null;
  }
  const share = lost.what === "samples" ? ` (${percent(lost.count / (lost.count + profile.samples))})` : "";
  return (
    <span class="status-lost">
      Lost: {count(lost.count)} {lost.what}
      {share}
    </span>
  );
}

export function Network(): JSX.Element {
  const { ids, paths, hosts } = sent.value;
  const sources = paths.size === 0 ? "" : ` and ${counted(paths.size, "path of a source", "paths of sources")}`;
  return (
    <span class="status-network">
      <Icon name="lock" size={12} />
      {ids.size === 0
        ? "Nothing was sent"
        : `Sent ${counted(ids.size, "build-id", "build-ids")}${sources} to ${[...hosts].join(", ")}`}
    </span>
  );
}

/** The worker's memory, asked after what changes it. */
function useMemory(): void {
  const generation = namesGeneration.value;
  const present = session.value;
  // Another query makes other trees.
  const asked = query.value;
  useEffect(() => {
    present
      ?.call("memory", {})
      .then((size) => {
        workerBytes.value = size;
      })
      .catch(() => {
        workerBytes.value = null;
      });
  }, [generation, present, asked]);
}
