// The page reads every fixture as the binary does: the digest of all columns is the one that the
// native session wrote beside the fixture (tests/tests/pure/fixtures), whatever the size of the blocks.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { open } from "./session.mjs";

const folder = fileURLToPath(new URL("../fixtures", import.meta.url));

/** The files of a recording; of a folder `data` first. */
function parts(path) {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path).filter((file) => file.startsWith("data"));
  return files.sort().map((file) => join(path, file));
}

test("parity: all columns of every fixture", () => {
  const recordings = readdirSync(folder).filter((name) => name.endsWith(".perf.data"));
  assert.ok(recordings.length > 60, `${recordings.length} fixtures`);
  for (const name of recordings) {
    const golden = readFileSync(join(folder, name.replace(/\.data$/, ".txt")), "utf8");
    const digest = golden.match(/^digest (\w+)$/m)?.[1];
    const files = parts(join(folder, name));
    if (digest === undefined) {
      assert.match(golden, /^error: /, `${name} has neither digest nor error`);
      assert.throws(() => open(files), name);
      continue;
    }
    for (const size of [7, 4096, 2 ** 20]) {
      assert.equal(open(files, size).digest(), digest, `${name} in blocks of ${size}`);
    }
  }
});
