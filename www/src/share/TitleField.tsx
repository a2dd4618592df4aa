// What readers of a link or a page see as the profile's name.

import type { JSX } from "preact";
import { setTitle, title } from "./links.ts";

/** core cuts longer ones. */
const LONGEST = 200;

export function TitleField(): JSX.Element {
  return (
    <label class="field share-title">
      <span>Title</span>
      <input
        type="text"
        maxLength={LONGEST}
        placeholder="none"
        value={title.value}
        onInput={(event) => setTitle(event.currentTarget.value)}
      />
    </label>
  );
}
