// What of a function's own code was inlined into it from others, as parts of one bar.

import type { JSX } from "preact";
import type { CodePart } from "../../session/types.ts";
import { percent } from "../../state/format.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import { share, swatchClass } from "../words.ts";

export function Inlined({ name, parts }: { name: string; parts: readonly CodePart[] }): JSX.Element {
  const whole = parts.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <div class="inlined">
      <p>Inlined into {name}</p>
      <ul aria-label={`Code of ${name}, with inlined parts`}>
        {parts.map((part, at) => {
          const words = `${part.name}${at === 0 ? "" : " (inlined)"} ${percent(share(part.weight, whole))}`;
          return (
            <li
              key={`${at}`}
              class={swatchClass(part.kind, part.flags)}
              style={{ flexGrow: String(share(part.weight, whole)) }}
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
