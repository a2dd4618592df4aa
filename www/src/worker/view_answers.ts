// What `perftab view` says of the servers that it asked and that gave it nothing:
//
//     {"servers": [{"server": "d.example.org", "outcome": "not-found", "detail": "d.example.org does not have it"}]}
//
// with 404 where no server has the file, else 502. What else refuses says so in a line of text.

import type { ServerAnswer, ServerOutcome } from "../session/types.ts";

const VIEW = "perftab view";
/** It looks at its own machine before it asks any server. */
const NOT_HERE: ServerAnswer = { server: "this machine", outcome: "not-found", detail: "" };

const OUTCOMES: readonly ServerOutcome[] = [
  "found",
  "not-found",
  "unreachable",
  "no-cors",
  "wrong-id",
  "too-large",
  "unusable",
  "failed",
];

/** Enough for any sentence. */
const LONGEST_DETAIL = 400;

export function readViewAnswers(status: number, text: string): ServerAnswer[] {
  const servers = serversIn(text);
  if (servers !== null) {
    return [NOT_HERE, ...servers.map(readAnswer)];
  }
  if (status === 404) {
    return [NOT_HERE];
  }
  const [line = ""] = text.trim().split("\n");
  return [{ server: VIEW, outcome: "failed", detail: line === "" ? `answered ${status}` : shortened(line) }];
}

interface ListedAnswer {
  server?: unknown;
  outcome?: unknown;
  detail?: unknown;
}

function serversIn(text: string): ListedAnswer[] | null {
  try {
    const { servers } = JSON.parse(text) as { servers?: unknown };
    return Array.isArray(servers) ? servers.filter((each) => typeof each === "object" && each !== null) : null;
  } catch {
    return null;
  }
}

function readAnswer({ server, outcome, detail }: ListedAnswer): ServerAnswer {
  return {
    server: shortened(String(server ?? "")),
    outcome: OUTCOMES.find((known) => known === outcome) ?? "failed",
    detail: "",
    ...(typeof detail === "string" && detail !== "" ? { sentence: shortened(detail) } : {}),
  };
}

function shortened(text: string): string {
  return text.slice(0, LONGEST_DETAIL);
}
