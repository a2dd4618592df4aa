// A function's name as lists have it: with the colour of its kind and the mark of names that were forced.

import type { JSX } from "preact";
import { elideGenerics } from "./flame/labels.ts";
import { ForcedMark, markedName } from "./forced_name.tsx";
import { nameClass, swatchClass } from "./words.ts";

/** Names of more characters hardly fit: their generic arguments are left out, as in the graph. */
const LONG = 48;

export function listedName(name: string): string {
  return name.length > LONG ? elideGenerics(name) : name;
}

export function FunctionName({ name, kind, flags }: { name: string; kind: number; flags: number }): JSX.Element {
  return (
    <>
      <span class={swatchClass(kind, flags)} />
      <ForcedMark flags={flags} />
      <span class={nameClass(kind, flags)} title={markedName(name, flags)}>
        {listedName(name)}
      </span>
    </>
  );
}
