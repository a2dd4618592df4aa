// The numbered ways to a DSO's names, the surest first; and apart from them the one that is not sure at all.

import type { ComponentChildren, JSX } from "preact";
import type { DsoRow } from "../session/types.ts";
import { info, recordingName } from "../state/app.ts";
import { shortId } from "../state/format.ts";
import { Copy } from "../shell/Copy.tsx";
import { pickBinaries } from "../open/pick.ts";
import { served } from "../open/served.ts";
import { admitFiles, givenFor } from "./admit.ts";
import { fetchable, fetchAgain, fetching, isWanted } from "./debuginfod.ts";
import { askToForce, canForce } from "./forced.ts";
import { FetchProgress, fetchResult } from "./Row.tsx";
import { addServer, readServerUrl, servers, whoSees } from "./servers.ts";
import { isAmong } from "./state.ts";
import { scpCommand, verifyCommand } from "./shell_word.ts";

export function Ways({ row }: { row: DsoRow }): JSX.Element | null {
  const isToName = isWanted(row) && row.identity !== "none";
  if (!isToName && !canForce(row)) {
    return null;
  }
  return (
    <section class="ways" aria-label="How to get names">
      <h3>How to get names</h3>
      <ol>
        {isToName && <SureWays row={row} />}
        {canForce(row) && (
          <Way
            title={`Use ${givenFor.value.has(row.id) ? "this" : "a"} file anyway (unsafe)`}
            kind="unsafe"
            action={
              <button type="button" class="guru-line" onClick={() => void askToForce(row)}>
                Force…
              </button>
            }
          >
            Every name from it is marked <span class="forced-mark">≠</span> here, in exports and in links. Most will be wrong.
          </Way>
        )}
      </ol>
    </section>
  );
}

function SureWays({ row }: { row: DsoRow }): JSX.Element {
  const another = row.found !== null ? "Add another file" : "Add a file";
  return (
    <>
      {isAmong(fetchable.value, row) && (
        <Way
          title={row.identity === "content" ? "Fetch by content hash" : "Fetch by build-id"}
          action={<FetchAction row={row} />}
        >
          {fetching.value.has(row.id) ? <FetchProgress row={row} /> : (fetchResult(row) ?? whoSeesIdOf(row))}
        </Way>
      )}
      <FromTheHost row={row} />
      <Hints row={row} />
      <Way
        title={another}
        action={
          <button type="button" onClick={() => void pickBinaries().then(admitFiles)}>
            Add files…
          </button>
        }
      >
        {row.kind === "kernel" ? "The vmlinux of this kernel," : "A stripped binary, its .debug file,"} or a deb, tar or zip that
        contains it. File names do not matter.
      </Way>
    </>
  );
}

function whoSeesIdOf(row: DsoRow): string {
  return row.identity === "content"
    ? "perftab view looks for this file on its own machine. Nothing is sent."
    : whoSees(`build-id ${shortId(row.build_id ?? "")}`);
}

/** What the session knows of packages, servers, and the machine that was recorded. */
function Hints({ row }: { row: DsoRow }): JSX.Element {
  return (
    <>
      {row.hints.map(({ text, command, url }) => (
        <Way key={text} title={text} action={url === null ? <CopyOf command={command} /> : <AskServer url={url} row={row} />}>
          {url === null ? command !== null && <code class="command">{command}</code> : <code class="check">{url}</code>}
        </Way>
      ))}
    </>
  );
}

function CopyOf({ command }: { command: string | null }): JSX.Element | null {
  return command === null ? null : <Copy text={command} class="" />;
}

/** Names the server beside those that the user named; it is asked after the same click as any. */
function AskServer({ url, row }: { url: string; row: DsoRow }): JSX.Element | null {
  const base = readServerUrl(url.split("/buildid/")[0] ?? "");
  const isNew = base !== null && !servers.value.some(({ host }) => host === base.host);
  if (!isNew || served.value !== null || !isAmong(fetchable.value, row)) {
    return null;
  }
  const ask = (): void => {
    addServer(base.href);
    fetchAgain(row);
  };
  return (
    <button type="button" onClick={ask}>
      Ask this server…
    </button>
  );
}

/** The host that recorded has the file, unless it was replaced since. */
function FromTheHost({ row }: { row: DsoRow }): JSX.Element | null {
  if (!row.path.startsWith("/")) {
    return null;
  }
  const host = info.value?.host.hostname ?? "the-host";
  const copy = scpCommand(host, row.path);
  return (
    <Way title={`Copy the file from ${host}, if it is still there`} action={<Copy text={copy} class="" />}>
      <code class="command">{copy}</code>
      <span class="check">
        Check first: <code>{verifyCommand(recordingName.value)}</code>
      </span>
    </Way>
  );
}

function FetchAction({ row }: { row: DsoRow }): JSX.Element {
  return (
    <button type="button" class="primary" disabled={fetching.value.has(row.id)} onClick={() => fetchAgain(row)}>
      Fetch
    </button>
  );
}

interface WayProps {
  title: string;
  kind?: "unsafe";
  action: JSX.Element | null;
  children: ComponentChildren;
}

function Way({ title, kind, action, children }: WayProps): JSX.Element {
  return (
    <li class={kind ?? ""}>
      <div class="way-text">
        <strong>{title}</strong>
        <div>{children}</div>
      </div>
      {action}
    </li>
  );
}
