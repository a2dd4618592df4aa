// What concerns the whole profile and must not be missed.

import type { ComponentChildren, JSX } from "preact";
import { hasNoBuildIds, info } from "../state/app.ts";
import { Icon } from "./icons.tsx";
import { describeDamage } from "./losses.ts";

export function Banner(): JSX.Element | null {
  const damage = info.value === null ? null : describeDamage(info.value);
  return (
    <>
      {damage !== null && <Line>{damage}</Line>}
      {hasNoBuildIds.value && <Line>{damage === null ? <NoBuildIds /> : <NoBuildIdsRead />}</Line>}
    </>
  );
}

function NoBuildIds(): JSX.Element {
  return (
    <>
      This recording has no build-ids, so names can’t be checked and code stays as addresses. Record again with{" "}
      <code>perftab record</code>, or <code>perf record --buildid-mmap</code>.
    </>
  );
}

/** perf's table of them is the last thing that it writes. */
function NoBuildIdsRead(): JSX.Element {
  return (
    <>
      No build-ids were read, so names can’t be checked and code stays as addresses. <code>perftab record</code> and{" "}
      <code>perf record --buildid-mmap</code> write them while they record.
    </>
  );
}

function Line({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="banner" role="status">
      <Icon name="warning" size={14} />
      <span>{children}</span>
    </p>
  );
}
