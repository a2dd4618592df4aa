// Every text that is in the link, under the name of its part. A long link has tens of thousands: only those in sight are
// elements.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { SharedTexts } from "../session/types.ts";
import { count } from "../state/format.ts";
import { RowsBody, useVirtualRows } from "../views/rows/virtual_rows.tsx";
import type { TextLine } from "./privacy.ts";
import { charactersOf, linesOf } from "./privacy.ts";

const ROW_HEIGHT = 18;

export function TextList({ of, texts }: { of: "link" | "page"; texts: SharedTexts | null }): JSX.Element {
  const lines = useMemo(() => (texts === null ? [] : linesOf(texts)), [texts]);
  const rows = useVirtualRows(lines.length, ROW_HEIGHT);
  return (
    <section class="told-texts">
      <h3 id="told-texts">
        Text in the {of} {texts !== null && <span class="ink-mute">{count(charactersOf(texts))} characters, uncompressed</span>}
      </h3>
      <div
        class="told-list"
        ref={rows.scroller}
        onScroll={rows.onScroll}
        role="table"
        aria-labelledby="told-texts"
        aria-rowcount={lines.length}
        tabIndex={0}
      >
        <div role="presentation" />
        <RowsBody rows={rows}>
          {lines.slice(rows.from, rows.to).map((line, at) => (
            <div key={rows.from + at} role="row" class="row" aria-rowindex={rows.from + at + 1}>
              <Line line={line} />
            </div>
          ))}
        </RowsBody>
      </div>
    </section>
  );
}

function Line({ line }: { line: TextLine }): JSX.Element {
  return line.kind === "part" ? (
    <strong role="rowheader">
      {line.name} <span class="ink-mute">{count(line.count)}</span>
    </strong>
  ) : (
    <code role="cell" title={line.was === null ? line.text : `${line.text}, was ${line.was}`}>
      {line.text}
      {line.was !== null && <span class="ink-mute"> was {line.was}</span>}
    </code>
  );
}
