import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProfileInfo, Warning } from "../src/session/types.ts";
import { asText, byKind, decisiveLosses, describeDamage, funnel, place } from "../src/shell/losses.ts";

const warning = (kind: Warning["kind"], message: string, count = 1, offset: number | null = null): Warning => ({
  kind,
  message,
  count,
  samples: null,
  offset,
});

const WARNINGS = [
  warning("truncated", "The file was cut.", 1, 61_300_000),
  warning("unreadable", "A MMAP2 record could not be read.", 12, 0x68),
  warning("lost", "The recorder lost 1,204 samples.", 1204),
  warning("unreadable", "Feature section 13 could not be read.", 1, 0x3a7f010),
];

const EVENTS = [
  { name: "cycles", samples: 400_000, weight: 1 },
  { name: "faults", samples: 12_794, weight: 1 },
];
const PROFILE = {
  samples: 412_806,
  events: EVENTS,
  lost: { events: 1, samples: 1_204 },
  funnel: null,
  warnings: WARNINGS,
} as ProfileInfo;

test("warnings stand by kind, in the order in which the session sends them", () => {
  const kinds = byKind(WARNINGS);
  assert.deepEqual(
    kinds.map(({ kind, losses }) => [kind, losses.length]),
    [
      ["truncated", 1],
      ["unreadable", 2],
      ["lost", 1],
    ],
  );
  assert.deepEqual(
    kinds[1]?.losses.map(({ count }) => count),
    [12, 1],
  );
});

test("the way from recorded to shown adds up", () => {
  const steps = Object.fromEntries(funnel(PROFILE).map(({ name, count }) => [name, count]));
  assert.equal(steps.recorded, 414_010);
  assert.equal(steps.unreadable, 12);
  assert.equal(steps.shown, 412_794);
  assert.equal((steps.recorded ?? 0) - (steps.lost ?? 0) - (steps.unreadable ?? 0), steps.shown);
});

test("where no samples are counted as lost, records are", () => {
  const steps = funnel({ ...PROFILE, lost: { events: 12, samples: 0 } });
  assert.deepEqual(
    steps.map(({ name, count }) => [name, count]),
    [
      ["recorded", 412_806],
      ["lost records (any kind)", 12],
      ["unreadable", 12],
      ["truncated stacks", 0],
      ["shown", 412_794],
    ],
  );
});

test("a record that reads a group of events is one record", () => {
  const steps = funnel({ ...PROFILE, samples: 5, events: [EVENTS[0], EVENTS[0]] as ProfileInfo["events"] });
  assert.deepEqual(
    steps.map(({ count }) => count),
    [1_209, 1_204, 0, 0, 5],
  );
});

test("a place is hex, and in bytes for people", () => {
  assert.deepEqual(place(61_300_000), { text: "0x3a75d20", title: "61.3 MB into the file" });
  assert.deepEqual(place(null), { text: "", title: "" });
});

test("the text has every warning with its kind, count, place and words", () => {
  const lines = asText(PROFILE).split("\n");
  assert.equal(lines[0], "Samples: recorded 414,010 → lost 1,204 → unreadable 12 → truncated stacks 0 → shown 412,794");
  assert.equal(lines[2], "unreadable\t12\t0x68\tA MMAP2 record could not be read.\tA newer perftab may read them.");
  assert.equal(lines.length, 1 + WARNINGS.length);
});

test("what ended the reading early says what was read", () => {
  assert.equal(
    describeDamage(PROFILE),
    "Read up to 61.3 MB; the rest could not be read (the file is truncated at 0x3a75d20). 412,794 samples are shown.",
  );
  const message = "The rest could not be read: record size 0. What came before it is shown.";
  const damaged = { ...PROFILE, samples: 198_112, warnings: [warning("damaged", message, 1, 0x3a75d20)] };
  assert.equal(
    describeDamage(damaged),
    "Read up to 61.3 MB; the rest could not be read (record size 0 at 0x3a75d20). 198,112 samples are shown.",
  );
  const another = "A second recording follows the first and was left out. Open it separately.";
  assert.equal(
    describeDamage({ ...damaged, warnings: [warning("damaged", another, 1, 0x3a75d20)] }),
    `Read up to 61.3 MB. ${another} 198,112 samples are shown.`,
  );
  const unfinished = { ...PROFILE, warnings: [warning("unfinished", "The recorder did not finish.", 1, 0x68)] };
  assert.equal(describeDamage(unfinished), "The recorder did not finish.");
  assert.equal(describeDamage({ ...PROFILE, warnings: [warning("lost", "3 samples were lost.")] }), null);
});

test("stacks that were cut are counted in the funnel, where they are shown all the same", () => {
  const known = { recorded: 414_010, lost: 1_204, unreadable: 0, truncated: 2_310, shown: 412_806 };
  assert.deepEqual(
    funnel({ ...PROFILE, funnel: known }).map(({ count }) => count),
    [414_010, 1_204, 0, 2_310, 412_806],
  );
});

test("what concerns a hundredth of the samples is said at once, with its share", () => {
  const known = { recorded: 10_000, lost: 0, unreadable: 0, truncated: 99, shown: 10_000 };
  const stacks = { ...warning("not-unwound", "9,970 samples have a copy of their user stack."), samples: 9_970 };
  const few = { ...warning("no-time", "99 samples have no time."), samples: 99 };
  const lost = { ...warning("lost", "The recorder lost 0 records and 120 samples."), samples: 120 };
  const profile = { ...PROFILE, warnings: [stacks, few, lost, warning("unreadable", "…")], funnel: known };
  assert.deepEqual(
    decisiveLosses(profile).map((words) => words.replace(/\u202f/g, " ")),
    [
      "9,970 samples (99.7 %) have a copy of their user stack.",
      "Lost while recording: The recorder lost 0 records and 120 samples. That is 1.2 % of all samples.",
    ],
  );
  const cut = { ...warning("truncated-stacks", "100 samples have truncated stacks."), samples: 100 };
  assert.match(decisiveLosses({ ...profile, warnings: [cut] })[0] ?? "", /^100 samples \(1\.0/);
});
