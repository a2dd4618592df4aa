// Files for other tools. What each cannot hold of this very profile the session says.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { Cancelled, WorkerDied } from "../session/client.ts";
import type { ExportRequest, Format } from "../session/types.ts";
import { namesGeneration, opened, query, session } from "../state/app.ts";
import { TextScopeNotice } from "./ScopeNotice.tsx";
import { SaveButton } from "./save.tsx";

interface Target {
  format: Format;
  title: string;
  reader: string;
  save: string;
  /** Of the file's name, as the tool expects it. */
  ending: string;
}

const TARGETS: readonly Target[] = [
  {
    format: "firefox",
    title: "Firefox Profiler",
    reader: "Samples of every thread over time, for profiler.firefox.com.",
    save: "Save for Firefox Profiler",
    ending: "json.gz",
  },
  {
    format: "speedscope",
    title: "speedscope",
    reader: "One profile per thread, in time order.",
    save: "Save for speedscope",
    ending: "speedscope.json",
  },
  {
    format: "pprof",
    title: "pprof",
    reader: "For go tool pprof and compatible tools, with addresses and build-ids.",
    save: "Save for pprof",
    ending: "pb.gz",
  },
  {
    format: "svg",
    title: "SVG",
    reader: "The flame graph as an image, for a document or a ticket.",
    save: "Save as SVG",
    ending: "svg",
  },
  {
    format: "collapsed",
    title: "Collapsed stacks",
    reader: "One line per stack, for flamegraph.pl and inferno.",
    save: "Save as text",
    ending: "collapsed.txt",
  },
];

export function ExportTab(): JSX.Element {
  const limits = useSignal<string[][]>([]);
  useSignalEffect(() => {
    const present = session.value;
    const requests = TARGETS.map(({ format }) => requestFor(format, query.value));
    // A name that was forced is a limit too.
    void namesGeneration.value;
    const abort = new AbortController();
    present?.call("exportLimits", { requests }, { signal: abort.signal }).then(
      (said) => (limits.value = said),
      (error) => {
        if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
          throw error;
        }
      },
    );
    return () => abort.abort();
  });
  return (
    <div class="share-body single">
      <div class="share-main">
        <TextScopeNotice />
        <ul class="exports">
          {TARGETS.map((target, index) => (
            <li key={target.format}>
              <strong>{target.title}</strong>
              <p>{target.reader}</p>
              <p class="ink-mute">{limits.value[index]?.join(" ") ?? " "}</p>
              <SaveButton
                label={target.save}
                kind=""
                ending={target.ending}
                make={(present, options) => present.call("export", { request: requestFor(target.format, query.peek()) }, options)}
              />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function requestFor(format: Format, asked: ExportRequest["query"]): ExportRequest {
  // As the command does: whoever opens it may have the names.
  return { format, query: { ...asked, unnamed: "each-address" }, events: "all", name: opened.peek()?.name ?? "profile" };
}
