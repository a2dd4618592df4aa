// Keeps the selection and the zoom where call nodes get other numbers: when names arrive, or more of a recording, and in
// the tree of another query.
//
// The session knows the trees of the names before until the page has said what it looks at in the new ones. For other
// queries what is selected is remembered as texts and frames of its path.

import { batch, effect } from "@preact/signals";
import { ask } from "../session/ask.ts";
import type { Session } from "../session/client.ts";
import type { CallNodeDetail, Facts, Place } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { namesGeneration, query, selection, session, zoomRoot } from "../state/app.ts";
import { detail, selectedCallNode } from "../state/detail.ts";

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

/** Remembers what is selected and zoomed into. Call once. */
export function followPlaces(): void {
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
      return;
    }
    return ask(
      ({ signal }) => asked.call("callNodeDetail", { query: of, callNode }, { signal }),
      (known) => zoomed.remember(known),
    );
  });
}

/** Where the selection and the zoom are in the present tree, to be found again in another one. */
export function presentPlaces(): { selected: Place | null; zoomed: Place | null } {
  return { selected: selected.place, zoomed: zoomed.place };
}

/** Whoever holds a key down selects more often than the session can be asked. */
const MOST_TRIES = 5;

/**
 * Asks the session for what names change, and for where selection and zoom are now. They move there in the batch in which
 * `show` shows the rest.
 */
export async function renewFacts(asked: Session, show: (facts: Facts) => void): Promise<void> {
  for (let tries = 1; ; tries++) {
    const [of, selectedThen, zoomedThen, generation] = [query.peek(), selectedCallNode.peek(), zoomRoot.peek(), asked.generation];
    const sought = [
      { callNode: selectedThen ?? ALL, place: selected.place },
      { callNode: zoomedThen, place: zoomed.place },
    ];
    const facts = await asked.call("facts", { query: of, sought });
    const [selectedNow = ALL, zoomedNow = ALL] = facts.callNodes;
    const isOfThis = of === query.peek() && generation === asked.generation;
    const isAsItWas = isOfThis && selectedThen === selectedCallNode.peek() && zoomedThen === zoomRoot.peek();
    if (isAsItWas || tries === MOST_TRIES) {
      batch(() => {
        // A few keys behind at worst. Numbers of another tree are none of this one.
        moveTo(isOfThis ? selectedNow : ALL, isOfThis ? zoomedNow : ALL);
        show(facts);
      });
      return;
    }
  }
}

function moveTo(selectedNow: number, zoomedNow: number): void {
  zoomed.movedTo(zoomedNow);
  selected.movedTo(selectedNow);
  zoomRoot.value = zoomedNow;
  if (selectedCallNode.peek() !== null) {
    selection.value = selectedNow === ALL ? null : { callNode: selectedNow, functionId: null };
  }
}
