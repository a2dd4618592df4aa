// A path too long for its row, with its middle left out.

export interface Step<T> {
  item: T;
  /** How many steps this one stands for besides itself; it is shown as `…` if that is not 0. */
  hidden: number;
}

/** At most `most` steps (3 or more): the first, one that stands for the middle, and the last ones. */
export function foldPath<T>(path: readonly T[], most: number): Step<T>[] {
  if (path.length <= most) {
    return path.map((item) => ({ item, hidden: 0 }));
  }
  const tail = path.slice(path.length - (most - 2));
  const lastHidden = path[path.length - tail.length - 1] as T;
  return [
    { item: path[0] as T, hidden: 0 },
    { item: lastHidden, hidden: path.length - tail.length - 2 },
    ...tail.map((item) => ({ item, hidden: 0 })),
  ];
}
