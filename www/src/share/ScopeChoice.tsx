// Whether filters and transforms act on what leaves the page.

import type { JSX } from "preact";
import { Segmented } from "../shell/Segmented.tsx";
import { scope } from "./links.ts";

export function ScopeChoice(): JSX.Element {
  return (
    <Segmented
      label="What to share"
      choice={scope}
      choices={[
        ["whole", "Whole profile"],
        ["shown", "What is shown"],
      ]}
    />
  );
}
