// How wide the user made a part of a view: kept in local storage.

import { signal } from "@preact/signals";
import { recallNumber, remember } from "../state/storage.ts";

/** In CSS pixels. */
interface Widths {
  least: number;
  usual: number;
  most: number;
}

/** What a splitter resizes, with what it asks for. */
export class KeptWidth {
  readonly least: number;
  readonly most: number;
  readonly usual: number;
  readonly #name: string;
  readonly #chosen;

  constructor(name: string, { least, usual, most }: Widths) {
    this.least = least;
    this.most = most;
    this.usual = usual;
    this.#name = name;
    this.#chosen = signal(recallNumber(name, least, most, usual));
  }

  get value(): number {
    return this.#chosen.value;
  }

  readonly size = (): number => this.#chosen.peek();

  /** 0 resets. */
  readonly onResize = (next: number): void => {
    this.#chosen.value = next === 0 ? this.usual : Math.min(this.most, Math.max(this.least, next));
    remember(this.#name, String(this.#chosen.peek()));
  };
}
