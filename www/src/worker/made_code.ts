// Code that a process made while it ran: its jitdump has the bytes, and the session says where in it.

import type { Session } from "../generated/perftab_web.js";
import type { GivenFile } from "./images_protocol.ts";
import type { CodeSource } from "./listing.ts";

/** The little of a session that is used here. */
export type MakingSession = Pick<Session, "annotatedMade" | "madeCode">;

/** `files` are jitdumps that were given, by their names. */
export function madeCodeOf(session: MakingSession, files: ReadonlyMap<string, GivenFile["bytes"]>): CodeSource {
  return {
    functionCode: async (dso, address) => {
      const place = session.madeCode(dso, address);
      const file = place === null ? undefined : files.get(place.file);
      if (place === null || !(file instanceof Blob)) {
        return null;
      }
      const { machine, start, end, madeAt: startInFile } = place;
      const bytes = new Uint8Array(await file.slice(Number(start), Number(end)).arrayBuffer());
      // It may have been cut off since.
      return bytes.length === Number(end - start) ? { machine, start, startInFile, bytes } : null;
    },
    annotated: (...asked) => session.annotatedMade(...asked),
    nameInFile: () => undefined,
  };
}
