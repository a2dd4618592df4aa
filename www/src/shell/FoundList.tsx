// What a search found, below its field: functions with their DSO and the share of samples that they are anywhere in, heaviest
// first. The one that is chosen is selected in the view.

import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { searchResult, searchStep } from "../state/app.ts";
import { counted, percent } from "../state/format.ts";
import { chooseMatch } from "../state/search.ts";
import { FunctionName } from "../views/function_name.tsx";
import { ListOption } from "./Palette.tsx";

/** The element's id. */
export const FOUND = "found";

const optionId = (place: number): string => `found-${place}`;

export const foundSome = computed(() => (searchResult.value?.listed.names.length ?? 0) > 0);

/** The id of the chosen one's element; those that are not listed have none. */
export function activeFound(): string | undefined {
  const place = searchStep.value;
  return place >= 0 && place < (searchResult.value?.listed.names.length ?? 0) ? optionId(place) : undefined;
}

export function FoundList({ onDone }: { onDone: () => void }): JSX.Element | null {
  const result = searchResult.value;
  if (result === null) {
    return null;
  }
  const { names, dsos, kind, flags, share } = result.listed;
  const more = result.functions - names.length;
  return (
    <div class="search-panel palette found">
      <ul role="listbox" id={FOUND} aria-label="Functions found">
        {names.map((name, place) => (
          <ListOption
            key={optionId(place)}
            id={optionId(place)}
            isChosen={place === searchStep.value}
            onChoose={() => {
              chooseMatch(place);
              onDone();
            }}
          >
            <FunctionName name={name} kind={kind[place] as number} flags={flags[place] as number} />
            <span class="found-dso">{dsos[place]}</span>
            <span>{percent(share[place] as number)}</span>
          </ListOption>
        ))}
      </ul>
      {more > 0 && <p>{counted(more, "lighter one is", "lighter ones are")} not listed.</p>}
    </div>
  );
}
