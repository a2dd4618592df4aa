// Keeps the selection and the zoom when names arrive: call nodes get other numbers then.
//
// What they stand for is remembered while its number still holds, as texts and frames of the path; frames do not change
// with names. Once names have changed the session says where that is now.

import { effect } from "@preact/signals";
import type { Session } from "../session/client.ts";
import type { CallNodeDetail, Place, Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { namesGeneration, query, selection, session, zoomRoot } from "../state/app.ts";
import { detail, selectedCallNode } from "../state/detail.ts";
import { latest } from "./latest.ts";

class RememberedPlace {
  place: Place | null = null;
  #movedTo: number | null = null;

  /** Names gave the place this number: what is known of it holds until the session has said it anew. */
  movedTo(callNode: number): void {
    this.#movedTo = callNode;
  }

  /** The place is to be that of this call node of the present generation, which is being asked for; null for none. */
  await(callNode: number | null): void {
    // While many files are read names arrive again before a question about the last ones is answered.
    if (callNode === null || callNode !== this.#movedTo) {
      this.place = null;
    }
    this.#movedTo = null;
  }

  remember(known: CallNodeDetail | null): void {
    this.place = known && { path: known.path, pathFrames: known.pathFrames };
  }
}

const selected = new RememberedPlace();
const zoomed = new RememberedPlace();

interface ZoomQuestion {
  session: Session;
  query: Query;
  callNode: number;
}

/** Remembers what is selected and zoomed into. Call once. */
export function followPlaces(): void {
  const zoomDetails = latest<ZoomQuestion, CallNodeDetail | null>({
    ask: ({ session, query, callNode }, { signal }) => session.call("callNodeDetail", { query, callNode }, { signal }),
    deliver: (known) => zoomed.remember(known),
  });
  effect(() => {
    void namesGeneration.value;
    void query.value;
    selected.await(selectedCallNode.value);
  });
  effect(() => {
    // What changes it is an answer to the newest question, which is of the present selection.
    selected.remember(detail.value);
  });
  effect(() => {
    void namesGeneration.value;
    const of = query.value;
    const callNode = zoomRoot.value;
    const asked = session.peek();
    zoomed.await(callNode);
    if (callNode === ALL || asked === null) {
      zoomDetails.drop();
    } else {
      zoomDetails.ask({ session: asked, query: of, callNode });
    }
  });
}

/** Where the selection and the zoom are in the present tree, to be found again in another one. */
export function presentPlaces(): { selected: Place | null; zoomed: Place | null } {
  return { selected: selected.place, zoomed: zoomed.place };
}

/** Asks where the remembered places are now; the answer moves selection and zoom there, in the batch that it is part of. */
export async function findPlaces(asked: Session): Promise<() => void> {
  const find = ({ place }: RememberedPlace): Promise<number> | number =>
    place === null ? ALL : asked.call("findCallNode", { query: query.peek(), place });
  const [selectedNow, zoom] = await Promise.all([find(selected), find(zoomed)]);
  return () => {
    zoomed.movedTo(zoom);
    selected.movedTo(selectedNow);
    zoomRoot.value = zoom;
    if (selection.peek() !== null) {
      selection.value = selectedNow === ALL ? null : { callNode: selectedNow, functionId: null };
    }
  };
}
