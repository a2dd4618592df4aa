// How much of the profile has names, and the ledger's order.

import type { Coverage, DsoRow, DsoStatus } from "../session/types.ts";
import { count, largestRemainder, percent } from "../state/format.ts";

/** A part of the coverage bar. `no-symbol`: in a DSO whose file is here, but has no name for this address. */
export interface CoveragePart {
  status: "named" | "no-symbol" | Exclude<DsoStatus, "matched" | "embedded" | "no-symbols" | "self-named">;
  /** Percent, one decimal; all parts add up to 100.0. */
  percent: number;
  /** 0 to 1, for the width. */
  share: number;
}

/** Parts of all samples by what is known of their leaf frame; those without any sample are left out. */
export function coverageParts(coverage: Coverage): CoveragePart[] {
  const of = (status: DsoStatus): number => coverage.by_status[status] ?? 0;
  const withNames = of("matched") + of("no-symbols") + of("embedded") + of("self-named") + of("forced");
  const { named_leaves: named, forced_leaves: forced } = coverage;
  const counts: [CoveragePart["status"], number][] = [
    ["named", named],
    ["forced", forced],
    ["mismatched", of("mismatched")],
    ["missing", of("missing")],
    ["no-symbol", Math.max(0, withNames - named - forced)],
  ];
  // What is left ended in no mapping, or has no stack: no file could ever name it.
  const known = counts.reduce((sum, [, samples]) => sum + samples, 0);
  counts.push(["no-identity", Math.max(0, coverage.samples - known)]);
  const whole = Math.max(1, coverage.samples);
  // The headline is rounded by itself: what becomes of the other parts does not change it.
  const headline = Math.round((named / whole) * 1000) / 10;
  const others = counts.slice(1).map(([, samples]) => samples);
  const percents = [headline, ...largestRemainder(others, 100 - headline)];
  return counts
    .map(([status, samples], index) => ({ status, percent: percents[index] ?? 0, share: samples / whole }))
    .filter((part) => part.share > 0);
}

export function isNamed(row: DsoRow): boolean {
  return row.status === "matched" || row.status === "embedded" || row.status === "self-named";
}

export type LedgerOrder = "to-name" | "samples" | "name";

export interface LedgerGroup {
  title: "Unnamed" | "Named" | "All";
  rows: DsoRow[];
  /** Share of the samples that end in them, 0 to 1: of the named ones, those that end in a named frame. */
  share: number;
  /** What else is in that share: what has no name, and is no row of the group. */
  rests: LedgerRest[];
}

export interface LedgerRest {
  words: string;
  share: number;
}

/** So many areas of memory without a file, which nothing can name, are one line. */
const LEAST_TOGETHER = 3;

/** Shares below this are shown as nothing. */
const LEAST_SHOWN = 0.0005;

/** Share of the samples that end in code without a name, of a file that has names. */
export function unnamedShare(row: DsoRow): number {
  return row.leaf_samples > 0 ? (row.leaf_share * row.unnamed_leaf_samples) / row.leaf_samples : 0;
}

/** "1.2 % more in code without a name", where that would be seen. */
export function unnamedPart(row: DsoRow): string | null {
  const share = isNamed(row) ? unnamedShare(row) : 0;
  return share >= LEAST_SHOWN ? `${percent(share)} more in code without a name` : null;
}

/** The share that a row has in its group: of the named ones that of its named code. */
export function shareInGroup(title: LedgerGroup["title"], row: DsoRow): number {
  return title === "Named" ? Math.max(0, row.leaf_share - unnamedShare(row)) : row.leaf_share;
}

/** What is unnamed and no row of its own: in files that have names, and in no mapping. */
function restsOf(
  unnamed: readonly DsoRow[],
  named: readonly DsoRow[],
  memory: readonly LedgerRest[],
  share: number,
): LedgerRest[] {
  const sum = <T>(rows: readonly T[], of: (row: T) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const inFiles = sum(named, unnamedShare);
  const inMemory = sum(memory, (rest) => rest.share);
  const elsewhere = share - inFiles - inMemory - sum(unnamed, ({ leaf_share }) => leaf_share);
  return [
    ...memory,
    { words: "Code without a name in named DSOs", share: inFiles },
    { words: "In no mapping", share: elsewhere },
  ].filter((rest) => rest.share >= LEAST_SHOWN);
}

/**
 * The same groups with each row where it was, `before` names arrived: what has got its name meanwhile still stands among the
 * unnamed.
 */
export function keepPlaces(now: LedgerGroups, before: readonly LedgerGroup[]): LedgerGroups {
  const rows = new Map(now.groups.flatMap((group) => group.rows.map((row) => [row.id, row])));
  const placed = new Set(before.flatMap((group) => group.rows.map(({ id }) => id)));
  const titles = new Set([...before, ...now.groups].map(({ title }) => title));
  const groups = [...titles].map((title): LedgerGroup => {
    const [was, is] = [before, now.groups].map((all) => all.find((group) => group.title === title));
    const kept = was?.rows.flatMap(({ id }) => rows.get(id) ?? []) ?? [];
    const fresh = is?.rows.filter(({ id }) => !placed.has(id)) ?? [];
    return { title, rows: [...kept, ...fresh], share: is?.share ?? 0, rests: is?.rests ?? [] };
  });
  return { ...now, groups: groups.filter((group) => group.rows.length + group.rests.length > 0) };
}

export interface LedgerGroups {
  groups: LedgerGroup[];
  named: number;
  listed: number;
  /** Mapped, but no sample passes through them. */
  unused: number;
  /** The largest share of a row, which fills its bar. */
  largest: number;
}

/**
 * What the ledger lists. DSOs that no sample touches are counted, not listed. What is still to be named comes first,
 * most samples first, unless another order is asked for. The share of what is named is that of the headline; what has no
 * name in a DSO that has some counts with the rest.
 */
export function ledgerGroups(rows: readonly DsoRow[], order: LedgerOrder, coverage: Coverage | null): LedgerGroups {
  const isMemory = (row: DsoRow): boolean => row.kind === "anon" && !isNamed(row);
  const sampled = rows.filter((row) => row.sampled);
  const areas = sampled.filter(isMemory);
  const isOne = areas.length >= LEAST_TOGETHER;
  const touched = isOne ? sampled.filter((row) => !isMemory(row)) : sampled;
  const inMemory = areas.reduce((sum, row) => sum + row.leaf_share, 0);
  const memory = isOne ? [{ words: `${count(areas.length)} areas of memory without a file`, share: inMemory }] : [];
  const byWeight = (a: DsoRow, b: DsoRow): number =>
    b.leaf_share - a.leaf_share || b.share - a.share || a.name.localeCompare(b.name);
  const sorted = touched.sort(order === "name" ? (a, b) => a.name.localeCompare(b.name) : byWeight);
  const named = sorted.filter(isNamed);
  const { samples, named_leaves } = coverage ?? { samples: 0, named_leaves: 0 };
  const share = named_leaves / Math.max(1, samples);
  const all = samples > 0 ? 1 : 0;
  const unnamed = sorted.filter((row) => !isNamed(row));
  const groups: LedgerGroup[] =
    order === "to-name"
      ? [
          { title: "Unnamed", rows: unnamed, share: all - share, rests: restsOf(unnamed, named, memory, all - share) },
          { title: "Named", rows: named, share, rests: [] },
        ]
      : [{ title: "All", rows: sorted, share: all, rests: memory }];
  return {
    groups: groups.filter(({ rows: members, rests }) => members.length + rests.length > 0),
    named: named.length,
    listed: sorted.length,
    unused: rows.length - sampled.length,
    largest: sorted.reduce((largest, row) => Math.max(largest, row.leaf_share), 0),
  };
}
