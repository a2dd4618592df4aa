// Small choices that outlive the page: theme, sizes, the debuginfod's address. A browser that refuses to store (private
// windows, file:// in some) costs the memory of a choice and nothing else.

const PREFIX = "perftab.";

export function recallText(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Said above: nothing else depends on it.
  }
}

/** The stored value if it is one of `choices`. */
export function recall<T extends string>(name: string, choices: readonly T[], fallback: T): T {
  const stored = recallText(name);
  return choices.find((choice) => choice === stored) ?? fallback;
}

export function recallNumber(name: string, least: number, most: number, fallback: number): number {
  const stored = Number(recallText(name) ?? Number.NaN);
  return stored >= least && stored <= most ? stored : fallback;
}
