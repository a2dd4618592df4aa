// What of a function's own code was inlined into it from others, as parts of one bar.

import type { JSX } from "preact";
import { percent } from "../../state/format.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import { share, swatchClass } from "../words.ts";
import type { InlinedPart } from "./centre.ts";

export function Inlined({ name, parts }: { name: string; parts: readonly InlinedPart[] }): JSX.Element {
  const whole = parts.reduce((sum, { self }) => sum + self, 0);
  return (
    <div class="inlined">
      <p>Inlined in {name}</p>
      <ul aria-label={`Code of ${name}, of which parts were inlined`}>
        {parts.map((part, at) => {
          const words = `${part.name}${at === 0 ? "" : " (inlined)"} ${percent(share(part.self, whole))}`;
          return (
            <li
              key={`${at}`}
              class={swatchClass(part.kind, part.flags)}
              style={{ flexGrow: String(share(part.self, whole)) }}
              title={markedName(words, part.flags)}
            >
              <ForcedMark flags={part.flags} />
              {words}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
