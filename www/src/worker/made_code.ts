// Code that a process made while it ran: its jitdump has the bytes, and the session says where in it.

import type { MadeCode, Session } from "../generated/perftab_web.js";
import type { GivenFile } from "./images_protocol.ts";
import type { CodeSource } from "./listing.ts";

/** The little of a session that is used here. */
export type MakingSession = Pick<Session, "annotatedMade" | "madeCode">;

/** `files` are jitdumps that were given, by their names; `perftab view` has those that it found itself, below `url`. */
export function madeCodeOf(
  session: MakingSession,
  files: ReadonlyMap<string, GivenFile["bytes"]>,
  url: string | null,
): CodeSource {
  return {
    functionCode: async (dso, address) => {
      const place = session.madeCode(dso, address);
      const bytes = place === null ? null : await bytesOf(place, files.get(place.file), url);
      if (place === null || bytes === null) {
        return null;
      }
      const { machine, start, end, madeAt: startInFile } = place;
      // It may have been cut off since.
      return bytes.length === Number(end - start) ? { machine, start, startInFile, bytes, from: "file" } : null;
    },
    annotated: (...asked) => session.annotatedMade(...asked),
    nameInFile: () => undefined,
  };
}

async function bytesOf(place: MadeCode, file: GivenFile["bytes"] | undefined, url: string | null): Promise<Uint8Array | null> {
  const { pid, start, end } = place;
  if (file instanceof Blob) {
    return new Uint8Array(await file.slice(Number(start), Number(end)).arrayBuffer());
  }
  if (url === null || pid === undefined || end <= start) {
    return null;
  }
  try {
    const headers = { Range: `bytes=${start}-${end - 1n}` };
    const reply = await fetch(url.replace("?", `/${pid}?`), { headers, credentials: "omit", referrerPolicy: "no-referrer" });
    return reply.status === 206 ? new Uint8Array(await reply.arrayBuffer()) : null;
  } catch {
    // It has ended.
    return null;
  }
}
