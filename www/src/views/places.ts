// Keeps the selection and the zoom when names arrive: call nodes get other numbers then.
//
// What they stand for is remembered while its number still holds, as texts and frames of the path; frames do not change
// with names. Once names have changed the session says where that is now.

import { effect, untracked } from "@preact/signals";
import type { Session } from "../session/client.ts";
import type { CallNodeDetail, Place, Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { namesGeneration, query, selection, session, zoomRoot } from "../state/app.ts";
import { latest } from "./latest.ts";

interface Question {
  session: Session;
  query: Query;
  callNode: number;
}

class RememberedPlace {
  place: Place | null = null;
  #movedTo: number | null = null;
  readonly #details = latest<Question, CallNodeDetail | null>({
    ask: (question) => question.session.call("callNodeDetail", { query: question.query, callNode: question.callNode }),
    deliver: (detail) => {
      this.place = detail && { path: detail.path, pathFrames: detail.pathFrames };
    },
  });

  /** Names gave the place this number: what is known of it holds until the session has said it anew. */
  movedTo(callNode: number): void {
    this.#movedTo = callNode;
  }

  /** Remembers a call node of the present generation; null for none. */
  remember(callNode: number | null): void {
    // While many files are read names arrive again before a question about the last ones is answered.
    if (callNode === null || callNode !== this.#movedTo) {
      this.place = null;
    }
    this.#movedTo = null;
    const asked = session.peek();
    if (callNode === null || callNode === ALL || asked === null) {
      this.#details.drop();
    } else {
      this.#details.ask({ session: asked, query: query.peek(), callNode });
    }
  }
}

const selected = new RememberedPlace();
const zoomed = new RememberedPlace();

/** Remembers what is selected and zoomed into. Call once. */
export function followPlaces(): void {
  effect(() => {
    void namesGeneration.value;
    void query.value;
    const callNode = selection.value?.callNode ?? null;
    untracked(() => selected.remember(callNode));
  });
  effect(() => {
    void namesGeneration.value;
    void query.value;
    const callNode = zoomRoot.value;
    untracked(() => zoomed.remember(callNode));
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
