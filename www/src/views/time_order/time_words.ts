// Times and lengths as the time order says them, with as many digits as their length needs.

const STEPS = [
  { from: 1e9, unit: 1e9, name: "s" },
  { from: 1e6, unit: 1e6, name: "ms" },
  { from: 1e3, unit: 1e3, name: "µs" },
] as const;

/** "106 ms", "1.20 s", "850 ns" from nanoseconds. */
export function length(nanoseconds: number): string {
  const step = STEPS.find(({ from }) => nanoseconds >= from);
  if (step === undefined) {
    return `${Math.round(nanoseconds)} ns`;
  }
  const value = nanoseconds / step.unit;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${step.name}`;
}

/** Digits behind the point of seconds that tell times apart which are so many nanoseconds away from each other. */
function digits(apart: number): number {
  return Math.min(9, Math.max(2, Math.ceil(-Math.log10(Math.max(1, apart) / 1e9)) + 1));
}

/** "1.204 s to 1.310 s, 106 ms" */
export function timeSpan({ start, end }: { start: number; end: number }): string {
  const places = digits(end - start);
  const seconds = (time: number): string => `${(time / 1e9).toFixed(places)} s`;
  // In the same digits, where it is in the same unit.
  return `${seconds(start)} to ${seconds(end)}, ${end - start < 1e9 ? length(end - start) : seconds(end - start)}`;
}
