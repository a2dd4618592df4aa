// Numbers as the page writes them: 412,806 · 7.8 % · 21.60 s · 182 MB · 19.3 G cycles.

/** As thin as the space of the style, and unlike it never the end of a line. */
export const NARROW = "\u202f";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value: number): string {
  return grouped.format(value);
}

/** "1 call", "412,806 calls" */
export function counted(value: number, one: string, many: string): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function countSamples(value: number): string {
  return counted(value, "sample", "samples");
}

/** "7.8 %" for a share of 0 to 1; "< 0.1 %" for a rest that would round to nothing. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) {
    return `<${NARROW}0.1${NARROW}%`;
  }
  return `${(share * 100).toFixed(1)}${NARROW}%`;
}

/**
 * The least share that is shown and larger than a threshold, so that what is true of all that is above it stays true of all
 * that is at least as said: "0.12 %" for 0.0011, with a second decimal where it is small.
 */
export function above(threshold: number): string {
  const decimals = threshold < 0.0099 ? 2 : 1;
  const steps = Math.floor(threshold * 100 * 10 ** decimals) + 1;
  return `${(steps / 10 ** decimals).toFixed(decimals)}${NARROW}%`;
}

/** Decimal units, three figures: "3,871 B", "61.3 MB", "182 MB", "1.43 GB". */
export function bytes(value: number): string {
  return value < 10_000 ? `${count(value)} B` : scaled(value, ["B", "kB", "MB", "GB", "TB"], " ");
}

/** "6.1 of 13.2 MB", "61 of 182 MB", or "6.1 MB" where the whole is unknown. */
export function bytesOf(done: number, total: number | undefined): string {
  if (total === undefined || total < done) {
    return megabytes(done);
  }
  return total < 100e6 ? `${(done / 1e6).toFixed(1)} of ${megabytes(total)}` : `${count(done / 1e6)} of ${count(total / 1e6)} MB`;
}

function megabytes(value: number): string {
  return `${(value / 1e6).toFixed(1)} MB`;
}

/** "21.60 s" from nanoseconds. */
export function seconds(nanoseconds: number): string {
  return `${(nanoseconds / 1e9).toFixed(nanoseconds < 100e9 ? 2 : 1)} s`;
}

const LENGTHS = [
  { unit: 1e9, name: "s" },
  { unit: 1e6, name: "ms" },
  { unit: 1e3, name: "µs" },
] as const;

/** "106 ms", "1.20 s", "850 ns" from nanoseconds, with three digits. */
export function length(nanoseconds: number): string {
  const step = LENGTHS.find(({ unit }) => nanoseconds >= unit);
  if (step === undefined) {
    return `${Math.round(nanoseconds)} ns`;
  }
  const value = nanoseconds / step.unit;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${step.name}`;
}

/** How long a recording took: "21.60 s", "1.61 ms". */
export function duration({ start, end }: { start: number; end: number }): string {
  return end - start < 1e9 ? length(end - start) : seconds(end - start);
}

/** A weight in its event's own unit: "19.3 G cycles", "7.48 s" where the unit is time. */
export function weight(value: number, event: string): string {
  if (isTime(event)) {
    return value >= 1e9 ? seconds(value) : value >= 1e6 ? `${(value / 1e6).toFixed(1)} ms` : `${(value / 1e3).toFixed(1)} µs`;
  }
  return `${value < 10_000 ? count(value) : scaled(value, ["", "k", "M", "G", "T", "P"], " ")} ${unit(event)}`;
}

/** A unit longer than this would push aside the number that it belongs to. */
const LONGEST_UNIT = 20;

/** What an event counts, without the modifiers behind its name (perf-list(1)): "cycles" of "cycles:ppu". */
function unit(event: string): string {
  const name = event.replace(/:[ukhGHIpPSDWeb]+$/, "");
  return name.length > LONGEST_UNIT ? `${name.slice(0, LONGEST_UNIT - 1)}…` : name;
}

/** Events whose period is nanoseconds: the kernel's, and time off the CPU. */
function isTime(event: string): boolean {
  return /^(cpu-clock|task-clock|offcpu-time|preempted-time|wall-clock)/.test(event);
}

function scaled(value: number, units: readonly string[], gap: string): string {
  let step = 0;
  while (value >= 999.5 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  return `${value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0)}${gap}${units[step] ?? ""}`;
}

/**
 * Shares of one whole, in tenths of a percent, that add up to exactly `percent`: each is rounded down, then the largest
 * remainders are rounded up. All zeros where there is no weight.
 */
export function largestRemainder(parts: readonly number[], percent = 100): number[] {
  const tenths = Math.round(percent * 10);
  const whole = parts.reduce((sum, part) => sum + part, 0);
  if (whole <= 0) {
    return parts.map(() => 0);
  }
  const exact = parts.map((part) => (part / whole) * tenths);
  const floors = exact.map(Math.floor);
  const missing = tenths - floors.reduce((sum, floor) => sum + floor, 0);
  const byRemainder = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of byRemainder.slice(0, missing)) {
    floors[index] = (floors[index] ?? 0) + 1;
  }
  return floors.map((floor) => floor / 10);
}

/** "9f31c07a…d05e" */
export function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}
