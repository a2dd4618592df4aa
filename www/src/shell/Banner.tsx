// What concerns the whole profile and must not be missed.

import type { ComponentChildren, JSX } from "preact";
import { dsos, hasNoBuildIds, info } from "../state/app.ts";
import { Icon } from "./icons.tsx";
import { count } from "../state/format.ts";
import { decisiveLosses, describeDamage } from "./losses.ts";

export function Banner(): JSX.Element | null {
  const damage = info.value === null ? null : describeDamage(info.value);
  return (
    <>
      {damage !== null && <Line>{damage}</Line>}
      {hasNoBuildIds.value && <Line>{damage === null ? <NoBuildIds /> : <NoBuildIdsRead />}</Line>}
      {info.value !== null && decisiveLosses(info.value).map((words) => <Line key={words}>{words}</Line>)}
    </>
  );
}

function NoBuildIds(): JSX.Element {
  return (
    <>
      This recording has no build-ids, so names can’t be checked and code stays as addresses: {unidentified()}. Record again with{" "}
      <code>perftab record</code>, or <code>perf record --buildid-mmap</code>.
    </>
  );
}

/** perf's table of them is the last thing that it writes. */
function NoBuildIdsRead(): JSX.Element {
  return (
    <>
      No build-ids were read, so names can’t be checked and code stays as addresses: {unidentified()}. <code>perftab record</code>{" "}
      and <code>perf record --buildid-mmap</code> write them while they record.
    </>
  );
}

/** "10,027 samples" that end in files. */
function unidentified(): string {
  const samples = dsos.value.filter(({ identity }) => identity === "none").reduce((sum, row) => sum + row.leaf_samples, 0);
  return `${count(samples)} samples`;
}

function Line({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="banner" role="status">
      <Icon name="warning" size={14} />
      <span>{children}</span>
    </p>
  );
}
