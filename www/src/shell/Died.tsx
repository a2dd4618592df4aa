// The worker stopped. Nothing of it can be trusted any more, so the page starts anew.

import type { JSX } from "preact";
import { opened, phase } from "../state/app.ts";
import { bytes } from "../state/format.ts";
import { Copy } from "./Copy.tsx";

export function Died(): JSX.Element {
  const message = phase.value.kind === "died" ? phase.value.message : "";
  const memory = outOfMemory(message);
  const report = [`perftab: the worker stopped`, message, navigator.userAgent].join("\n");
  return (
    <section class="died" role="alert">
      <h1>perftab stopped working on this file</h1>
      <p>
        {memory !== null
          ? `This tab ran out of memory${memory}. Open ${opened.value?.name ?? "the file"} with perftab view, or narrow it with perftab report.`
          : "Your files are unchanged."}
      </p>
      <p class="button-row">
        <button type="button" class="primary tall" onClick={() => location.reload()}>Reload</button>
        <Copy text={report} label="Copy report" class="tall" />
      </p>
    </section>
  );
}

/** A session that held this much and stopped wanted more than WebAssembly can have, which ends it without a word. */
const MUCH_MB = 2_000;

/** " at 3.10 GB", or nothing where that is not known; null for another end. */
function outOfMemory(message: string): string | null {
  const held = Number(/the session held (\d+) MB/.exec(message)?.[1] ?? 0);
  if (held >= MUCH_MB) {
    return ` at ${bytes(held * 1e6)}`;
  }
  return /memory/i.test(message) ? "" : null;
}
