// A function that a view is about: its name, status, place and numbers, with what can be done to it.

import type { ComponentChildren, JSX } from "preact";
import { STATUS, StatusGlyph } from "../ledger/status.tsx";
import type { SandwichFacts } from "../session/types.ts";
import { percent } from "../state/format.ts";
import { ForcedMark, markedName } from "./forced_name.tsx";
import { nameClass, share, swatchClass } from "./words.ts";

interface BandProps {
  known: SandwichFacts;
  /** The weight that its shares are of. */
  whole: number;
  /** Where its code begins, if that is to be said. */
  start?: string;
  children: ComponentChildren;
}

export function Band({ known, whole, start = "", children }: BandProps): JSX.Element {
  const { file, line } = known;
  const place = file === null ? "" : `${fileName(file)}${line === null ? "" : `:${line}`}`;
  const status = STATUS[known.dsoStatus];
  return (
    <div class="sandwich-band">
      <span class={swatchClass(known.kind, known.flags)} />
      <strong class={nameClass(known.kind, known.flags)} title={markedName(known.name, known.flags)}>
        <ForcedMark flags={known.flags} />
        {known.name}
      </strong>
      <span class={`band-status ink-${status.tone}`} title={`${status.word}: ${known.dso}`}>
        <StatusGlyph status={known.dsoStatus} size={12} />
        <span class="visually-hidden">{status.word}: </span>
        {known.dso}
      </span>
      <span class="band-place" title={file ?? undefined}>
        {[place, start].filter((each) => each !== "").join(" · ")}
      </span>
      <span class="band-number">
        Self <b>{percent(share(known.selfWeight, whole))}</b>
      </span>
      <span class="band-number">
        Total <b>{percent(share(known.totalWeight, whole))}</b>
      </span>
      {children}
    </div>
  );
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
