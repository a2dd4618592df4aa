import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { scpCommand, shellWord, verifyCommand, viewCommand } from "../src/ledger/shell_word.ts";

test("a shell reads a quoted word as it is", () => {
  for (const word of ["plain/path-1.so", "two words", "it's", '$(touch x); `y` & > \\ "z"', "a\nb", "*"]) {
    const read = execFileSync("sh", ["-c", `printf %s ${shellWord(word)}`], { encoding: "utf8" });
    assert.equal(read, word);
  }
});

test("the host of a recording cannot add options or commands", () => {
  assert.equal(scpCommand("web-07", "/usr/bin/nginx"), "scp web-07:/usr/bin/nginx .");
  assert.equal(scpCommand("-oProxyCommand=x", "/a"), "scp -- -oProxyCommand=x:/a .");
  assert.equal(scpCommand("-o x", "/a"), "scp -- '-o x:/a' .");
  assert.equal(scpCommand("$(x)", "/a b"), "scp '$(x):/a b' .");
});

test("nor can the name of a recording", () => {
  assert.equal(verifyCommand("web-07.perf.data"), "perftab buildid verify web-07.perf.data");
  assert.equal(verifyCommand("-o x"), "perftab buildid verify './-o x'");
  assert.equal(viewCommand("https://a.example", "a.data"), "DEBUGINFOD_URLS=https://a.example perftab view a.data");
  assert.equal(viewCommand("https://a https://b;id", "-o x"), "DEBUGINFOD_URLS='https://a https://b;id' perftab view './-o x'");
});
