// Files for other tools, in one list: what each keeps of this very profile, and what it cannot hold, and how large it is. The
// session says all of it; a size is known once the file has been written for nobody, which lets go before whatever else is asked.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import type { Session } from "../session/client.ts";
import { Cancelled, WorkerDied } from "../session/client.ts";
import type { ExportContents, ExportRequest, Format } from "../session/types.ts";
import { namesGeneration, opened, query, session } from "../state/app.ts";
import { bytes } from "../state/format.ts";
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

/** What is said of one file: null bytes for one that would be too large. */
type Sizes = ReadonlyMap<Format, number | null>;

export function ExportTab(): JSX.Element {
  const contents = useSignal<readonly ExportContents[]>([]);
  const sizes = useSignal<Sizes>(new Map());
  useSignalEffect(() => {
    const present = session.value;
    const requests = TARGETS.map(({ format }) => requestFor(format, query.value));
    // A name that was forced is a limit too.
    void namesGeneration.value;
    const abort = new AbortController();
    const ask = async (asked: Session): Promise<void> => {
      contents.value = await asked.call("exportContents", { requests }, { signal: abort.signal });
      sizes.value = new Map();
      for (const request of requests) {
        const size = await asked.call("exportSize", { request }, { signal: abort.signal });
        sizes.value = new Map(sizes.peek()).set(request.format, size);
      }
    };
    if (present !== null) {
      ask(present).catch((error) => {
        if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
          throw error;
        }
      });
    }
    return () => abort.abort();
  });
  return (
    <div class="share-body single">
      <div class="share-main">
        <TextScopeNotice />
        <table class="sizes exports">
          <caption>For other tools</caption>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Keeps</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">
                <span class="visually-hidden">Save</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {TARGETS.map((target, index) => (
              <TargetRow
                key={target.format}
                target={target}
                contents={contents.value[index] ?? null}
                size={sizes.value.get(target.format)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface TargetRowProps {
  target: Target;
  contents: ExportContents | null;
  /** undefined until it is known. */
  size: number | null | undefined;
}

function TargetRow({ target, contents, size }: TargetRowProps): JSX.Element {
  return (
    <tr>
      <th scope="row">
        <strong>{target.title}</strong>
        <p class="ink-mute">{target.reader}</p>
      </th>
      <td>
        <p>{contents === null ? " " : sentence(contents.kept)}</p>
        <p class="ink-mute">{contents?.limits.join(" ") ?? " "}</p>
      </td>
      <td class="number">{size === undefined ? "…" : size === null ? "over 1 GB" : bytes(size)}</td>
      <td>
        <SaveButton
          label={target.save}
          short="Save"
          kind=""
          ending={target.ending}
          make={(present, options) => present.call("export", { request: requestFor(target.format, query.peek()) }, options)}
        />
      </td>
    </tr>
  );
}

/** "Stacks, process names, weights." */
function sentence(parts: readonly string[]): string {
  const all = parts.join(", ");
  return `${all.charAt(0).toUpperCase()}${all.slice(1)}.`;
}

function requestFor(format: Format, asked: ExportRequest["query"]): ExportRequest {
  // As the command does: whoever opens it may have the names.
  return { format, query: { ...asked, unnamed: "each-address" }, events: "all", name: opened.peek()?.name ?? "profile" };
}
