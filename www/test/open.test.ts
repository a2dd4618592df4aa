import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerUrl } from "../src/ledger/debuginfod.ts";
import { describeFailure, payloadOf } from "../src/open/failure.ts";
import { readServed } from "../src/open/served.ts";
import { sniffBytes } from "../src/open/sniff.ts";
import { readBase, shareBase } from "../src/share/base.ts";

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

test("files are told apart by their first bytes", () => {
  assert.equal(sniffBytes(ascii("PERFILE2\x68\0")), "profile");
  assert.equal(sniffBytes(ascii("2ELIFREP")), "profile");
  assert.equal(sniffBytes(ascii("\x7fELF\x02\x01\x01\0")), "binary");
  assert.equal(sniffBytes(ascii("PERF")), "other");
  assert.equal(sniffBytes(new Uint8Array()), "other");
});

test("a link is found in what was pasted", () => {
  assert.equal(payloadOf(" https://perftab.invalid/#p1.Ab-_c\n"), "p1.Ab-_c");
  assert.equal(payloadOf("#p1.abc&s1&view=tree"), "p1.abc");
  assert.equal(payloadOf("p12.abc"), "p12.abc");
  assert.equal(payloadOf("https://example.org/#section"), null);
  // Cut off, yet a link.
  for (const cut of ["https://x.example/#p1.", "https://x.example/#p1", "#p1."]) {
    assert.equal(payloadOf(cut), "p1.", cut);
  }
  assert.equal(payloadOf("p12"), null);
  assert.equal(payloadOf(""), null);
  assert.equal(payloadOf("https://debuginfod.example.org/p1.abc"), null);
});

test("a file that is no profile is answered with its first bytes", () => {
  const failure = { kind: "not-perf-data", message: "", firstBytes: [0x23, 0x20, 0x4e, 0x6f, 0x74] };
  assert.equal(describeFailure("notes.txt", failure), "notes.txt is not a perf.data file. It begins with 23 20 4e 6f.");
  assert.equal(describeFailure("x", { ...failure, firstBytes: [] }), "x is not a perf.data file. It is empty.");
});

test("a link names an address that others can reach, or one that nobody can own", () => {
  const at = (text: string): string => shareBase(new URL(text));
  assert.equal(at("https://host.example/perftab/?x=1#p1.a"), "https://host.example/perftab/");
  for (const own of ["http://127.0.0.1:8080/?token=a", "http://localhost/", "http://[::1]:80/", "file:///tmp/perftab.html"]) {
    assert.equal(at(own), "https://perftab.invalid/", own);
  }
  assert.equal(readBase("https://host.example/p#old"), "https://host.example/p");
  assert.equal(readBase("javascript:alert(1)"), null);
  assert.equal(readBase("perftab"), null);
});

test("a debuginfod may be named with or without its scheme", () => {
  assert.equal(readServerUrl("debuginfod.example.org")?.href, "https://debuginfod.example.org/");
  assert.equal(readServerUrl("http://127.0.0.1:8002/")?.host, "127.0.0.1:8002");
  assert.equal(readServerUrl("  "), null);
  assert.equal(readServerUrl("http://"), null);
});

test("what perftab view serves is read with suspicion", () => {
  assert.deepEqual(readServed("t&", { profiles: [{ name: "a", size: 3 }], debuginfod: ["https://d"] }), {
    token: "t&",
    profiles: [{ name: "a", size: 3, url: "/profile/0?token=t%26" }],
    debuginfod: ["https://d"],
  });
  for (const reply of [null, 3, "x", {}, { profiles: {} }]) {
    assert.equal(readServed("t", reply), null);
  }
});
