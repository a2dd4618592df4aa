// What concerns the whole profile and must not be missed.

import type { ComponentChildren, JSX } from "preact";
import { hasNoBuildIds, info, unidentified } from "../state/app.ts";
import { Icon } from "./icons.tsx";
import { decisiveLosses, describeDamage, unidentifiedWords } from "./losses.ts";

export function Banner(): JSX.Element | null {
  const profile = info.value;
  if (profile === null) {
    return null;
  }
  const damage = describeDamage(profile);
  const words = unidentifiedWords(profile, unidentified.value);
  return (
    <>
      {damage !== null && <Line>{damage}</Line>}
      {words !== null && (
        <Line>{hasNoBuildIds.value ? <NoBuildIds words={words} damage={damage} /> : <SomeWithout words={words} />}</Line>
      )}
      {decisiveLosses(profile).map((loss) => (
        <Line key={loss}>{loss}</Line>
      ))}
    </>
  );
}

/** Of a recording that is damaged it is not known what it had. */
function NoBuildIds({ words, damage }: { words: string; damage: string | null }): JSX.Element {
  return (
    <>
      {damage === null ? "This recording has no build-ids" : "No build-ids were read"}, so names can’t be checked and code stays
      as addresses: {words}. {REMEDY}
    </>
  );
}

function SomeWithout({ words }: { words: string }): JSX.Element {
  const [first, ...others] = unidentified.value.map(({ name }) => name);
  return (
    <>
      {words} end in files without a build-id ({first}
      {others.length > 0 && ` and ${others.length} more`}), so their names can’t be checked and they stay as addresses. {REMEDY}
    </>
  );
}

const REMEDY = (
  <>
    Record again with <code>perftab record</code>, or <code>perf record --buildid-mmap</code>.
  </>
);

function Line({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="banner" role="status">
      <Icon name="warning" size={14} />
      <span>{children}</span>
    </p>
  );
}
