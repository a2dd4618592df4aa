// What concerns a whole profile and must not be missed; of two that are compared, each by its side.

import type { ComponentChildren, JSX } from "preact";
import { comparing, roles, second } from "../compare/state.ts";
import type { DsoRow, ProfileInfo } from "../session/types.ts";
import { dsos, haveNoBuildIds, info, isGrowing, unidentifiedOf } from "../state/app.ts";
import { askingToTrust, canTrustPaths } from "../ledger/trusted.ts";
import { Icon } from "./icons.tsx";
import { decisiveLosses, describeDamage, unidentifiedWords } from "./losses.ts";

export function Banner(): JSX.Element | null {
  const profile = info.value;
  if (profile === null) {
    return null;
  }
  const other = comparing.value?.with === "second" ? second.value : null;
  if (other === null || roles.value === null) {
    return <Lines profile={profile} rows={dsos.value} side={null} />;
  }
  return (
    <>
      <Lines profile={profile} rows={dsos.value} side={roles.value.first} />
      <Lines profile={other.info} rows={other.info.dsos} side={roles.value.second} />
    </>
  );
}

interface OneProfile {
  profile: ProfileInfo;
  rows: readonly DsoRow[];
  /** What it is called in a comparison. */
  side: string | null;
}

function Lines({ profile, rows, side }: OneProfile): JSX.Element {
  // What is still being read says so beside its samples.
  const damage = side === null && isGrowing.value ? null : describeDamage(profile);
  const unidentified = unidentifiedOf(rows);
  const words = unidentifiedWords(profile, unidentified);
  return (
    <>
      {damage !== null && <Line side={side}>{damage}</Line>}
      {words !== null && (
        <Line side={side}>
          {haveNoBuildIds(rows) ? (
            <NoBuildIds words={words} damage={damage} />
          ) : (
            <SomeWithout words={words} names={unidentified.map(({ name }) => name)} />
          )}
          {side === null && canTrustPaths.value && (
            <>
              {" "}
              Or{" "}
              <button
                type="button"
                class="link"
                onClick={() => {
                  askingToTrust.value = true;
                }}
              >
                use this machine’s files by path…
              </button>
            </>
          )}
        </Line>
      )}
      {decisiveLosses(profile).map((loss) => (
        <Line key={loss} side={side}>
          {loss}
        </Line>
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

function SomeWithout({ words, names: [first, ...others] }: { words: string; names: readonly string[] }): JSX.Element {
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

function Line({ side, children }: { side: string | null; children: ComponentChildren }): JSX.Element {
  return (
    <p class="banner" role="status">
      <Icon name="warning" size={14} />
      <span>
        {side !== null && <strong>{side}: </strong>}
        {children}
      </span>
    </p>
  );
}
