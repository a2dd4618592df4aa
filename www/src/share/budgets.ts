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

/** Behind those of a name: as many characters as somebody says. */
export const OTHER = BUDGETS.length;

/** What browsers take as an address; Chromium cuts off nothing up to here. */
export const MOST_CHARACTERS = 2_097_152;

/** Longer links are known to open in Chromium only. */
export const LONGEST_EVERYWHERE = 65_536;
