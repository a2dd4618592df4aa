// Where the text of a source is from, and what speaks for it, in words: the same wherever it is shown.

import type { TextCheck } from "../../session/types.ts";
import type { SourceFile } from "./listing.ts";
import type { SourceText } from "./sources.ts";
import { INSIDE, isVouched } from "./sources.ts";

/** What the sender of a link found of the lines in it. */
const TOLD: Readonly<Record<TextCheck, string>> = {
  checked: "checked by the sender against the MD5 in the debug information",
  embedded: "from the debug information, by the sender",
  "not-checked": "not checked by the sender, as no MD5 is known",
  unknown: "not checked, as far as the sender says",
};

/** Of a file with the text that was found of it; empty where there is none. */
export function originWords({ told }: Pick<SourceFile, "told">, text: SourceText | null): string {
  if (text?.kind !== "here") {
    return told === null ? "" : TOLD[told];
  }
  const { from, check, modified } = text;
  // The mark first: the rest may find no room.
  switch (check) {
    case "checked":
      return from === INSIDE ? `from ${INSIDE}, checked against the MD5 there` : `checked against the MD5 in ${INSIDE}: ${from}`;
    case "embedded":
      return `from ${from}`;
    case "not-checked":
      return `not checked, as no MD5 is known: ${from}${modified === 0 ? "" : ` of ${new Date(modified).toLocaleString()}`}`;
  }
}

/** The same where nothing speaks for it. */
export function doubtOf(file: Pick<SourceFile, "told">, text: SourceText | null): string {
  const check = text?.kind === "here" ? text.check : file.told;
  return check === null || isVouched(check) ? "" : originWords(file, text);
}
