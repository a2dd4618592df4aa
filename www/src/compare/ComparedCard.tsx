// The card beside the pointer, of a call in two profiles: what it costs before and after.

import type { JSX } from "preact";
import type { ChangeDetail, ComparedDetail } from "../session/types.ts";
import { Flag } from "../session/types.ts";
import { event } from "../state/app.ts";
import { ForcedMark } from "../views/forced_name.tsx";
import { nameClass, swatchClass } from "../views/words.ts";
import { comparing } from "./state.ts";
import { amount, difference, PRESENCE_WORDS, RELATION_WORDS, SIDE_WORDS, UNKNOWN } from "./words.ts";
import { countSamples } from "../state/format.ts";

export function ComparedCard({ detail }: { detail: ComparedDetail }): JSX.Element {
  const place = [
    detail.dso ?? "",
    detail.relation === null ? "" : RELATION_WORDS[detail.relation].words,
    PRESENCE_WORDS[detail.presence],
  ];
  const lacking = detail.withoutNames;
  const certainty =
    lacking === null
      ? `the change is ${detail.total.certain ? "beyond noise" : "within noise"}`
      : `not comparable yet, as ${SIDE_WORDS[lacking]} may have it, or a caller, without a name`;
  const known = lacking === null;
  return (
    <>
      <header>
        <span class={swatchClass(detail.kind, detail.flags)} />
        <strong class={nameClass(detail.kind, detail.flags)}>
          <ForcedMark flags={detail.flags} />
          {detail.name}
          {detail.flags & Flag.Inlined ? " (inlined)" : ""}
        </strong>
      </header>
      <p class="card-place">{place.filter((part) => part !== "").join(" · ")}</p>
      <table class="compared-card">
        <thead>
          <tr>
            <th />
            <th scope="col">Before</th>
            <th scope="col">After</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          <Row name="Total" change={detail.total} isKnown={known} />
          <Row name="Self" change={detail.self} isKnown={known} />
          {detail.allCalls !== null && (
            <>
              <Row name="Total, all calls" change={detail.allCalls.total} isKnown={detail.allCalls.withoutNames === null} />
              <Row name="Self, all calls" change={detail.allCalls.self} isKnown={detail.allCalls.withoutNames === null} />
            </>
          )}
        </tbody>
      </table>
      <p class="card-base">
        Total: {countSamples(detail.total.beforeSamples)} before, {countSamples(detail.total.afterSamples)} after; {certainty}.
      </p>
    </>
  );
}

function Row({ name, change, isKnown }: { name: string; change: ChangeDetail; isKnown: boolean }): JSX.Element {
  const basis = comparing.value?.basis ?? "share";
  const unit = event.value?.name ?? "";
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{amount(change.before, basis, unit)}</td>
      <td>{amount(change.after, basis, unit)}</td>
      <td class="card-share">{isKnown ? difference(change.change, basis, unit) : UNKNOWN}</td>
    </tr>
  );
}
