// Words for what became of files and of questions to a debuginfod.

import type { DropReport, FetchOutcome, Rejection } from "../session/types.ts";
import { hexBytes } from "../open/failure.ts";

/** "Used 3 of 5 files: nginx, libz.so.1. Not used: edge-auth (another build), README (not a binary)." */
export function describeDrop(given: number, { used, notUsed }: DropReport): string {
  const files = given === 1 ? "1 file" : `${given} files`;
  const head =
    used.length === 0 ? `Used none of ${files}.` : `Used ${used.length} of ${files}: ${list(used.map(({ file }) => file))}.`;
  if (notUsed.length === 0) {
    return head;
  }
  return `${head} Not used: ${list(byInterest(notUsed).map(({ file, reason }) => `${file} (${shortReason(reason)})`))}.`;
}

/** What a human asks about first: another build of something recorded, then what could not be told, then the rest. */
const INTEREST: Rejection["kind"][] = [
  "recorded-without-identity", "no-identity-in-file", "unreadable", "nothing-recorded-has-it", "not-an-image",
];

export function byInterest<T extends { reason: Rejection }>(refused: readonly T[]): T[] {
  const rank = ({ reason }: T): number =>
    reason.kind === "nothing-recorded-has-it" && reason.sameName ? -1 : INTEREST.indexOf(reason.kind);
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
      return "no build-id in it";
    case "nothing-recorded-has-it":
      return reason.sameName ? "another build" : "not in the profile";
    case "recorded-without-identity":
      return "recorded without a build-id";
    case "unreadable":
      return "could not be read";
  }
}

/** One whole sentence a file, for the list. */
export function fullReason(reason: Rejection): string {
  switch (reason.kind) {
    case "not-an-image":
      return reason.firstBytes.length === 0
        ? "Not a binary or debug file: it is empty."
        : `Not a binary or debug file: it begins with ${hexBytes(reason.firstBytes.slice(0, 4))}.`;
    case "no-identity-in-file":
      return "No identity in the file: it has no build-id note.";
    case "nothing-recorded-has-it":
      return reason.sameName
        ? `Another build: it is ${reason.found}, the profile has ${reason.sameName.wanted}.`
        : `Nothing recorded has its build-id ${reason.found}.`;
    case "recorded-without-identity":
      return `Recorded without identity: ${reason.path} has nothing to compare with.`;
    case "unreadable":
      return `Could not be read: ${reason.message}.`;
  }
}

/** What the row says after asking; null while there is nothing to say. `absent` says it of a server that has nothing. */
export function describeFetch(absent: string, outcome: FetchOutcome): string | null {
  switch (outcome.outcome) {
    case "found":
    case "cancelled":
      return null;
    case "not-found":
      return absent;
    case "unreachable":
      return "Server did not answer. Your browser may need perftab view";
    case "refused":
      return outcome.message;
    case "wrong-id":
      return "It sent another build; not used";
    case "unusable":
      return `It sent a file that could not be read: ${outcome.message}`;
  }
}
