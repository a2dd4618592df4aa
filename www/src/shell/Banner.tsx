// What concerns the whole profile and must not be missed.

import type { JSX } from "preact";
import { dsos, info } from "../state/app.ts";
import { Icon } from "./icons.tsx";

export function Banner(): JSX.Element | null {
  const rows = dsos.value.filter((row) => row.samples > 0 && row.kind !== "anon" && row.kind !== "jit");
  if (rows.length > 0 && rows.every((row) => row.identity === "none")) {
    return (
      <p class="banner" role="status">
        <Icon name="warning" size={14} />
        This recording has no build-ids, so names can’t be checked and code stays as addresses. Record again with
        <code>perftab record</code>, or <code>perf record --buildid-mmap</code>.
      </p>
    );
  }
  const damage = info.value?.warnings.find((warning) => warning.kind === "unfinished" || warning.kind === "truncated");
  if (damage !== undefined) {
    return (
      <p class="banner" role="status">
        <Icon name="warning" size={14} />
        {damage.message}
      </p>
    );
  }
  return null;
}
