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

/** Round times between two, about `wanted` of them, with what stands at each. */
export function ticks(start: number, end: number, wanted: number): { at: number; label: string }[] {
  if (!(end > start)) {
    return [];
  }
  // Times are whole nanoseconds.
  const least = Math.max(1, (end - start) / Math.max(1, wanted));
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= least) ?? least;
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  const first = Math.ceil(start / step);
  const count = Math.floor(end / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => {
    const at = (first + i) * step;
    return { at, label: `${(at / 1e9).toFixed(places)} s` };
  });
}
