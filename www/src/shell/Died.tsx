// The worker stopped. Nothing of it can be trusted any more, so the page starts anew.

import type { JSX } from "preact";
import { opened, phase } from "../state/app.ts";
import { Copy } from "./Copy.tsx";

export function Died(): JSX.Element {
  const message = phase.value.kind === "died" ? phase.value.message : "";
  const outOfMemory = /memory/i.test(message);
  const report = [`perftab: the worker stopped`, message, navigator.userAgent].join("\n");
  return (
    <section class="died" role="alert">
      <h1>perftab stopped working on this file</h1>
      <p>
        {outOfMemory
          ? `This tab ran out of memory. Open ${opened.value?.name ?? "the file"} with perftab view, or narrow it with perftab report.`
          : "Your files are unchanged."}
      </p>
      <p class="button-row">
        <button type="button" class="primary tall" onClick={() => location.reload()}>Reload</button>
        <Copy text={report} label="Copy report" class="tall" />
      </p>
    </section>
  );
}
