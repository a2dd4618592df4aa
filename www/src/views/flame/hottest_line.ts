// Where in a function most samples ended: asked of the session once nothing else is, since it goes through all of them.

import { NONE } from "../../session/types.ts";
import { useAnswer } from "../../session/use_answer.ts";
import { namesGeneration, query, session } from "../../state/app.ts";
import { lineWords } from "../sandwich/lines/hot_lines.ts";

/** "tides.c:42"; empty until it is known, and where no line is. */
export function useHottestLine(functionId: number): string {
  const known = useAnswer(functionId, (about) => {
    const [asked, within] = [session.value, query.value];
    void namesGeneration.value;
    return asked === null || about === NONE
      ? null
      : ({ signal }) => asked.call("hottestLine", { query: within, functionId: about }, { signal });
  });
  // That of another function is none of this one's.
  return known.answer === null || known.of !== functionId ? "" : lineWords(known.answer);
}
