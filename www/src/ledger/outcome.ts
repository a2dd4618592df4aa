// Words for what became of files and of questions to a debuginfod.

import type { DropReport, NotUsed, ProfileSlot, Rejection, ServerAnswer } from "../session/types.ts";
import { hexBytes, sentence } from "../open/failure.ts";
import { count, shortId } from "../state/format.ts";

/**
 * "Used 3 of 5 files: nginx, libz.so.1. Not used: edge-auth (another build), README (not a binary)." The files in an archive
 * are counted, not the archive. Where there are two profiles, `roles` says which is which: "Used 1 of 1 file: nginx (After)."
 */
export function describeDrop(
  { used, notUsed, passedOver }: DropReport,
  roles: Readonly<Record<ProfileSlot, string>> | null = null,
): string {
  const given = used.length + notUsed.length + passedOver;
  const files = given === 1 ? "1 file" : `${count(given)} files`;
  const head =
    used.length === 0
      ? `Used none of ${files}.`
      : `Used ${count(used.length)} of ${files}: ${list(used.map(({ name, by }) => `${name}${takenBy(by, roles)}`))}.`;
  if (notUsed.length === 0) {
    return head;
  }
  return `${head} Not used: ${list(byInterest(notUsed).map(({ name, reason }) => `${name} (${shortReason(reason)})`))}.`;
}

function takenBy(by: readonly ProfileSlot[], roles: Readonly<Record<ProfileSlot, string>> | null): string {
  return roles === null ? "" : ` (${by.map((slot) => roles[slot]).join(" and ")})`;
}

/** What a human asks about first: another build of something recorded, then what could not be told, then the rest. */
const LAST: readonly Rejection["kind"][] = ["nothing-recorded-has-it", "not-an-image"];

export function byInterest<T extends { reason: Rejection }>(refused: readonly T[]): T[] {
  const rank = ({ reason }: T): number =>
    reason.kind === "nothing-recorded-has-it" && reason.sameName ? -2 : LAST.indexOf(reason.kind);
  return [...refused].sort((a, b) => rank(a) - rank(b));
}

/** A drop may be a folder of thousands: the toast names a few, the list names all. */
const NAMED_IN_TOAST = 4;

function list(names: readonly string[]): string {
  const rest = names.length - NAMED_IN_TOAST;
  return rest > 0 ? `${names.slice(0, NAMED_IN_TOAST).join(", ")} and ${rest} more` : names.join(", ");
}

function shortReason(reason: Rejection): string {
  switch (reason.kind) {
    case "not-an-image":
      return "not a binary";
    case "no-identity-in-file":
      return "no build-id";
    case "nothing-recorded-has-it":
      return reason.sameName ? "another build" : "not in the profile";
    case "recorded-without-identity":
      return "recorded without a build-id";
    case "code-table":
      return "not of the code that ran";
    case "unreadable":
      return "could not be read";
    case "not-named-yet":
      return "add its program too";
    case "not-named":
      return "add its program first";
    default:
      return reason.kind.replaceAll("-", " ");
  }
}

/** One whole sentence a file, for the list; where the page has none of its own, the session's. */
export function fullReason({ reason, message }: Pick<NotUsed, "reason" | "message">): string {
  switch (reason.kind) {
    case "not-an-image":
      return reason.firstBytes.length === 0
        ? "Not a binary or debug file: it is empty."
        : `Not a binary or debug file: it begins with ${hexBytes(reason.firstBytes.slice(0, 4))}.`;
    case "nothing-recorded-has-it":
      return reason.sameName
        ? `Another build: the file has ${reason.found}, the profile has ${reason.sameName.wanted}.`
        : `Not in the profile: no DSO has build-id ${reason.found}.`;
    default:
      return sentence(message);
  }
}

/**
 * What the row says after asking; null while there is nothing to say. Where a server had nothing and another failed, the
 * failure is what to know: the list of what was tried has all.
 */
export function describeAnswers(answers: readonly ServerAnswer[]): string | null {
  const failed = answers.filter(({ outcome }) => outcome !== "not-found");
  if (answers.length === 0 || answers.some(({ outcome }) => outcome === "found")) {
    return null;
  }
  if (failed.length === 0) {
    return answers.map(({ server }, index) => `${index === 0 ? "Not on" : "nor on"} ${server}`).join(", ");
  }
  const [only] = answers;
  return answers.length === 1 && only !== undefined ? describeAlone(only) : failed.map(describeAnswer).join("; ");
}

/** Of the only server there is: the button that asked it named it. */
function describeAlone(answer: ServerAnswer): string {
  switch (answer.outcome) {
    case "unreachable":
      return "Server did not answer. If the browser blocks it, use perftab view";
    case "wrong-id":
      return "It sent another build; not used";
    default:
      return describeAnswer(answer);
  }
}

/** "debuginfod.internal did not answer" */
export function describeAnswer(answer: ServerAnswer): string {
  return answer.sentence ?? `${answer.server}${answer.outcome === "failed" ? ":" : ""} ${whatItDid(answer)}`;
}

/** What stands beside the name of a server. */
export function whatItDid({ outcome, detail, sentence: whole }: ServerAnswer): string {
  if (whole !== undefined) {
    return whole;
  }
  switch (outcome) {
    case "found":
      return "had it";
    case "not-found":
      return "does not have it";
    case "unreachable":
      return "did not answer";
    case "no-cors":
      return "does not let web pages read its answers (no CORS). Use perftab view.";
    case "wrong-id":
      return detail === "" ? "sent another build; not used" : `sent another build, ${shortId(detail)}; not used`;
    case "too-large":
      return "has a file over 4 GB; not fetched";
    case "unusable":
      return `sent a file that could not be read: ${detail}`;
    case "failed":
      return detail === "" ? "failed" : detail;
  }
}
