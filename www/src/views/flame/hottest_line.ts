// Where in a function most samples ended: asked of the session once nothing else is, since it goes through all of them.

import { useSignal, useSignalEffect } from "@preact/signals";
import { ask } from "../../session/ask.ts";
import { NONE } from "../../session/types.ts";
import { namesGeneration, query, session } from "../../state/app.ts";
import { lineWords } from "../sandwich/lines/hot_lines.ts";

/** "tides.c:42"; empty until it is known, and where no line is. */
export function useHottestLine(functionId: number): string {
  const asked = useSignal(functionId);
  const known = useSignal({ functionId: NONE, words: "" });
  asked.value = functionId;
  useSignalEffect(() => {
    const [asking, of, about] = [session.value, query.value, asked.value];
    void namesGeneration.value;
    if (asking === null || about === NONE) {
      return;
    }
    return ask(
      ({ signal }) => asking.call("hottestLine", { query: of, functionId: about }, { signal }),
      (line) => {
        known.value = { functionId: about, words: line === null ? "" : lineWords(line) };
      },
    );
  });
  return known.value.functionId === functionId ? known.value.words : "";
}
