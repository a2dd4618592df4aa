// When the hover card is there, and for what: after a pause over a box, gone at once, kept while it is pinned.

import type { ReadonlySignal } from "@preact/signals";
import { signal } from "@preact/signals";
import type { CallNodeDetail, ComparedDetail, Query } from "../../session/types.ts";
import type { CallOptions, Session } from "../../session/client.ts";
import { session } from "../../state/app.ts";
import { latest } from "../latest.ts";

const PAUSE_MS = 80;

/** A call node of one profile or of two. */
export type CardAbout = CallNodeDetail | ComparedDetail;

export interface CardContent {
  x: number;
  y: number;
  pinned: boolean;
  /** A call node, or the one sentence about a box of several calls. */
  about: CardAbout | string;
  /** What is to be said of this box beside that; may be empty. */
  note: string;
}

type AskAbout = (session: Session, callNode: number, options: CallOptions) => Promise<CardAbout | null>;

interface Question {
  session: Session;
  query: Query;
  callNode: number;
}

export class HoverCard {
  readonly content = signal<CardContent | null>(null);
  readonly #query: ReadonlySignal<Query | null>;
  #note = "";
  /** The box that the pointer is over. */
  #over: number | null = null;
  #x = 0;
  #y = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ask: AskAbout | undefined;
  readonly #details = latest<Question, CardAbout | null>({
    ask: ({ session, query, callNode }, { signal }) =>
      this.#ask?.(session, callNode, { signal }) ?? session.call("callNodeDetail", { query, callNode }, { signal }),
    deliver: (detail) => {
      if (detail !== null) {
        this.#show(detail);
      }
    },
  });

  /** For call nodes of this query's tree, or of the tree that `ask` knows. */
  constructor(query: ReadonlySignal<Query | null>, ask?: AskAbout) {
    this.#query = query;
    this.#ask = ask;
  }

  overCall({ box, callNode, note }: { box: number; callNode: number; note: string }, x: number, y: number): void {
    this.#note = note;
    this.#enter(box, x, y, () => {
      const [asked, query] = [session.peek(), this.#query.peek()];
      if (asked && query) {
        this.#details.ask({ session: asked, query, callNode });
      }
    });
  }

  overSeveral(box: number, sentence: string, x: number, y: number): void {
    this.#note = "";
    this.#enter(box, x, y, () => this.#show(sentence));
  }

  /** The pointer is over no box. */
  leave(): void {
    if (!this.content.peek()?.pinned) {
      this.close();
    }
  }

  /** Keeps the card where it is, so that its text can be selected. */
  pin(): void {
    const content = this.content.peek();
    if (content) {
      this.content.value = { ...content, pinned: true };
    }
  }

  /** Whether there was a card to close. */
  close(): boolean {
    clearTimeout(this.#timer);
    this.#over = null;
    this.#details.drop();
    const was = this.content.peek() !== null;
    this.content.value = null;
    return was;
  }

  #enter(over: number, x: number, y: number, afterPause: () => void): void {
    const content = this.content.peek();
    if (content?.pinned) {
      return;
    }
    this.#x = x;
    this.#y = y;
    if (over === this.#over) {
      if (content) {
        this.content.value = { ...content, x, y };
      }
      return;
    }
    this.close();
    this.#over = over;
    this.#timer = setTimeout(afterPause, PAUSE_MS);
  }

  #show(about: CardAbout | string): void {
    if (this.#over !== null) {
      this.content.value = { x: this.#x, y: this.#y, pinned: false, about, note: this.#note };
    }
  }
}
