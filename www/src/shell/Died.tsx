// The worker stopped. Nothing of it can be trusted any more, so the page starts anew.

import type { JSX } from "preact";
import { outOfMemory } from "../open/failure.ts";
import { opening } from "../open/open.ts";
import { isIncomplete } from "../session/data_block.ts";
import { opened, phase } from "../state/app.ts";
import { Copy } from "./Copy.tsx";

export function Died(): JSX.Element {
  const message = phase.value.kind === "died" ? phase.value.message : "";
  const end = endOf(message);
  const report = [`perftab: the worker stopped`, message, navigator.userAgent].join("\n");
  return (
    <section class="died" role="alert">
      <h1>{end.kind === "incomplete" ? "Part of this page did not arrive." : "perftab stopped working on this file."}</h1>
      {end.kind === "memory" && <p>{outOfMemory(opening.value ?? opened.value?.name ?? "FILE", end.held)}</p>}
      <p>{end.kind === "incomplete" ? "Reload to load the rest." : "Your files are unchanged."}</p>
      <p class="button-row">
        <button type="button" class="primary tall" onClick={() => location.reload()}>
          Reload
        </button>
        <Copy text={report} label="Copy report" class="tall" />
      </p>
    </section>
  );
}

/** A session that held this much and stopped wanted more than WebAssembly can have, which ends it without a word. */
const MUCH_MB = 2_000;

/**
 * What the worker's last words tell: memory that ran out, with the bytes that it held where they are known, a page that is not
 * whole, or anything.
 */
export function endOf(message: string): { kind: "memory"; held: number | null } | { kind: "incomplete" | "other" } {
  if (isIncomplete(message)) {
    return { kind: "incomplete" };
  }
  const megabytes = Number(/the session held (\d+) MB/.exec(message)?.[1] ?? 0);
  if (megabytes >= MUCH_MB || /memory/i.test(message)) {
    return { kind: "memory", held: megabytes > 0 ? megabytes * 1e6 : null };
  }
  return { kind: "other" };
}
