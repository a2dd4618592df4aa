// The binary and the page compute the same: the same source, compiled twice. What differs between
// the two is the width of `usize`, the floats of the boundary, and the hosts around core.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { admit, ask, functionsOf, open } from "./session.mjs";

const perftab = process.env.PERFTAB_BIN ?? fileURLToPath(new URL("../../target/release/perftab", import.meta.url));
const source = fileURLToPath(new URL("../workloads/textstat.c", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "perftab-parity-"));
const program = join(folder, "textstat");
const recording = join(folder, "perf.data");
let whyNot = "";

before(() => {
  const flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"];
  execFileSync("gcc", [...flags, "-o", program, source]);
  const record = ["record", "-g", "-F", "4999", "-o", recording, "--"];
  const { status, stderr } = spawnSync(perftab, [...record, program, "study", "400000", "7"]);
  if (status !== 0) whyNot = `perftab record: ${stderr}`;
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** A test of the recording; said to be skipped where the machine lets nothing be recorded. */
function compare(name, body) {
  test(name, (t) => {
    if (whyNot === "") return body();
    console.log(`SKIPPED: ${name}: ${whyNot}`);
    t.skip(whyNot);
  });
}

const native = (...words) => JSON.parse(execFileSync(perftab, words, { maxBuffer: 1 << 28 }));

/** Rows of the page's functions table, in words of `report --json`. */
function functions(session, inlines) {
  const query = { event: 0, direction: "callees", group: "none", inlines };
  const rows = functionsOf(session, query);
  return rows.names.map((name, i) => [name, rows.dsos[i], rows.self[i], rows.total[i]]);
}

/** Addresses in no mapping are one row: to JSON it is nothing but nulls, on the screen it has words. */
function reported(report) {
  return report.functions.map((row) =>
    row.dso === null
      ? ["[no mapping]", "", row.self, row.total]
      : [row.name ?? `0x${row.address}`, basename(row.dso), row.self, row.total],
  );
}

/** Order among functions of the same weight and name is not promised. */
const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();

compare("parity: info", () => {
  assert.deepEqual(ask(open(recording), "info"), native("info", recording, "--json", "--no-local"));
});

compare("parity: functions that have no names", () => {
  const report = native("report", recording, "--json", "--no-local");
  assert.ok(report.samples > 100, `${report.samples} samples`);
  assert.deepEqual(sorted(functions(open(recording), "shown")), sorted(reported(report)));
});

compare("parity: functions with names, inline frames shown and merged", () => {
  const session = open(recording);
  assert.equal(admit(session, "any other name", program).used.length, 1);
  for (const [inlines, words] of [
    ["shown", []],
    ["merged", ["--no-inline"]],
  ]) {
    const images = ["--no-local", "--image", program];
    const report = native("report", recording, "--json", ...images, ...words);
    const named = report.functions.map((row) => row.name);
    assert.ok(named.includes("longest_match"), "names were found at all");
    assert.equal(named.includes("match_length"), inlines === "shown");
    assert.deepEqual(sorted(functions(session, inlines)), sorted(reported(report)));
  }
});

// In steps of other sizes on both sides: where they end changes nothing.
for (const format of ["collapsed", "pprof", "firefox", "speedscope", "svg"]) {
  compare(`parity: export for ${format}`, () => {
    const session = open(recording);
    admit(session, "textstat", program);
    const query = { event: 0, direction: "callees", group: "process", inlines: "shown" };
    const work = session.export({ format, query, events: "all", name: basename(recording) });
    const blocks = [];
    for (let last = false; !last; ) {
      const { bytes, isLast } = work.step(session, 1000);
      blocks.push(bytes);
      last = isLast;
    }
    const words = ["export", recording, "--to", format, "--no-local", "--image", program];
    const native = execFileSync(perftab, [...words, "-o", "-"], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
    const unpacked = (bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString("latin1");
    assert.ok(native.length > 1000, `${native.length} bytes`);
    assert.equal(unpacked(Buffer.concat(blocks)), unpacked(native));
  });
}

compare("parity: blocks of any size give the same", () => {
  const whole = functions(open(recording, 2 ** 30), "shown");
  for (const size of [1, 7, 4096, 65_537]) {
    assert.deepEqual(functions(open(recording, size), "shown"), whole, `blocks of ${size}`);
  }
});
