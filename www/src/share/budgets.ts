// Where a link is pasted, and how many characters fit there, base included.

export interface Budget {
  name: string;
  characters: number;
}

export const BUDGETS: readonly Budget[] = [
  { name: "Chat", characters: 2_000 },
  { name: "Email", characters: 2_000 },
  { name: "Slack", characters: 4_000 },
  { name: "GitHub", characters: 65_536 },
  { name: "Largest", characters: 2_097_152 },
];

/** Longer links are known to open in Chromium only. */
export const LONGEST_EVERYWHERE = 65_536;
