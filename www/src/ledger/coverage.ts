// How much of the profile has names, and the ledger's order.

import type { DsoRow, DsoStatus } from "../session/types.ts";
import { largestRemainder } from "../state/format.ts";

/** A part of the coverage bar. */
export interface CoveragePart {
  status: "named" | Exclude<DsoStatus, "matched" | "embedded">;
  /** Percent, one decimal; all parts add up to 100.0. */
  percent: number;
  /** 0 to 1, for the width. */
  share: number;
}

/** Parts of the weight by the status of the DSO of its leaf frame; those without any weight are left out. */
export function coverageParts(rows: readonly DsoRow[]): CoveragePart[] {
  const order: CoveragePart["status"][] = ["named", "forced", "mismatched", "missing", "no-identity"];
  const shares = order.map((status) =>
    rows.reduce((sum, row) => sum + (partOf(row.status) === status ? row.leaf_share : 0), 0),
  );
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const percents = largestRemainder(shares);
  return order
    .map((status, index) => ({
      status,
      percent: percents[index] ?? 0,
      share: whole > 0 ? (shares[index] ?? 0) / whole : 0,
    }))
    .filter((part) => part.share > 0);
}

function partOf(status: DsoStatus): CoveragePart["status"] {
  return status === "matched" || status === "embedded" ? "named" : status;
}

export function isNamed(row: DsoRow): boolean {
  return row.status === "matched" || row.status === "embedded";
}

export type LedgerOrder = "to-name" | "samples" | "name";

export interface LedgerGroup {
  title: "To be named" | "Named" | "All";
  rows: DsoRow[];
  /** Share of the weight that ends in them, 0 to 1. */
  share: number;
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
 * most samples first, unless another order is asked for.
 */
export function ledgerGroups(rows: readonly DsoRow[], order: LedgerOrder): LedgerGroups {
  const touched = rows.filter((row) => row.samples > 0);
  const byWeight = (a: DsoRow, b: DsoRow): number =>
    b.leaf_share - a.leaf_share || b.share - a.share || a.name.localeCompare(b.name);
  const sorted = touched.sort(order === "name" ? (a, b) => a.name.localeCompare(b.name) : byWeight);
  const named = sorted.filter(isNamed);
  const groups =
    order === "to-name"
      ? [group("To be named", sorted.filter((row) => !isNamed(row))), group("Named", named)]
      : [group("All", sorted)];
  return {
    groups: groups.filter(({ rows: members }) => members.length > 0),
    named: named.length,
    listed: sorted.length,
    unused: rows.length - touched.length,
    largest: sorted.reduce((largest, row) => Math.max(largest, row.leaf_share), 0),
  };
}

function group(title: LedgerGroup["title"], rows: DsoRow[]): LedgerGroup {
  return { title, rows, share: rows.reduce((sum, row) => sum + row.leaf_share, 0) };
}
