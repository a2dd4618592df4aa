import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerUrl, readServerUrls } from "../src/ledger/servers.ts";
import { describeFailure, payloadOf, viewOf } from "../src/open/failure.ts";
import type { GivenFile } from "../src/open/given.ts";
import { sizeOf, sortGiven } from "../src/open/given.ts";
import { readServed, servedSize } from "../src/open/served.ts";
import { sniffAll, sniffBytes } from "../src/open/sniff.ts";
import { readBase, shareBase } from "../src/share/base.ts";

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

test("files are told apart by their first bytes", () => {
  assert.equal(sniffBytes(ascii("PERFILE2\x68\0")), "profile");
  assert.equal(sniffBytes(ascii("2ELIFREP")), "profile");
  assert.equal(sniffBytes(ascii("PERFFILE")), "profile");
  assert.equal(sniffBytes(ascii("\x1f\x8b\x08\0\0\0\0\0")), "compressed");
  assert.equal(sniffBytes(ascii("\xfd7zXZ\0\0\x04")), "compressed");
  assert.equal(sniffBytes(ascii("\x28\xb5\x2f\xfd\x04\x50")), "compressed");
  assert.equal(sniffBytes(ascii("BZh91AY&SY")), "compressed");
  assert.equal(sniffBytes(ascii("\x7fELF\x02\x01\x01\0")), "binary");
  assert.equal(sniffBytes(ascii("PERF")), "other");
  const tar = ascii(`./usr/bin/nginx${"\0".repeat(242)}ustar\0`);
  const archives = [ascii("PK\x03\x04"), ascii("!<arch>\ndebian-binary"), tar];
  const symbols = ["ffffffff81000000 T _stext\n", "# perftab kallsyms build-id=00", "7f00a000 1c0 LazyCompile:*render\n"];
  for (const head of [...archives, ...symbols.map(ascii)]) {
    assert.equal(sniffBytes(head), "candidate");
  }
  assert.equal(sniffBytes(ascii("# Notes\nface the facts")), "other");
  assert.equal(sniffBytes(new Uint8Array()), "other");
});

test("a recorder's messages may stand before what it wrote into a pipe", () => {
  const message = "[ perf record: Woken up 1 times to write data ]\n";
  assert.equal(sniffBytes(ascii(`${message}PERFILE2\x10\0\0\0\0\0\0\0`)), "profile");
  assert.equal(sniffBytes(ascii(`${message}2ELIFREP\0\0\0\0\0\0\0\x10`)), "profile");
  assert.equal(sniffBytes(ascii("A file of perf begins with PERFILE2 or 2ELIFREP.\n")), "other");
});

test("a compressed file is a recording if one comes out of it", async () => {
  const packed = (name: string): File => new File([ascii("\x1f\x8b\x08\0") as BlobPart], name);
  const files = [packed("perf.data.gz"), new File(["# Notes"], "notes"), packed("nginx.debug.gz"), packed("cut.gz")];
  const inside = [ascii("PERFILE2"), ascii("\x7fELF\x02\x01\x01\0"), new Uint8Array()];
  const asked: string[] = [];
  const kinds = await sniffAll(files, async (wrapped) => {
    asked.push(...wrapped.map(({ name }) => name));
    return inside;
  });
  assert.deepEqual(asked, ["perf.data.gz", "nginx.debug.gz", "cut.gz"]);
  assert.deepEqual(kinds, ["compressed", "other", "candidate", "other"]);
});

/** What comes of paths, each with what its bytes say; a path without a folder came by itself. */
function sortPaths(paths: Record<string, "profile" | "binary" | "other">): ReturnType<typeof sortGiven> {
  const given = Object.keys(paths).map((path): GivenFile => {
    const slash = path.lastIndexOf("/");
    return { file: new File(["12"], path.slice(slash + 1)), folder: path.slice(0, Math.max(0, slash)) };
  });
  return sortGiven(given, Object.values(paths));
}

test("a folder with data and its streams is one recording", () => {
  const { recordings, binaries, others } = sortPaths({
    "/tmp/perf.data/data.10": "other",
    "/tmp/perf.data/data.2": "other",
    "/tmp/perf.data/data": "profile",
    "/tmp/perf.data/notes": "other",
    "/tmp/bin/nginx": "binary",
  });
  assert.deepEqual(
    recordings.map(({ name, parts }) => [name, parts.map((part) => part.name)]),
    [["perf.data", ["data", "data.2", "data.10"]]],
  );
  assert.deepEqual(recordings.map(sizeOf), [6]);
  assert.deepEqual(
    binaries.map(({ name }) => name),
    ["nginx"],
  );
  assert.deepEqual(
    others.map(({ name }) => name),
    ["notes"],
  );
});

test("the same files picked one by one are one recording too", () => {
  const { recordings, others } = sortPaths({ "data.0": "other", data: "profile", "data.1": "other" });
  assert.deepEqual(
    recordings.map(({ name, parts }) => [name, parts.length]),
    [["data", 3]],
  );
  assert.deepEqual(others, []);
});

test("two folders are two recordings, and streams of neither stay what they are", () => {
  const { recordings, others } = sortPaths({
    "a/data": "profile",
    "a/data.0": "other",
    "b/data": "profile",
    "b/data.0": "other",
    "c/data.0": "other",
  });
  assert.deepEqual(
    recordings.map(({ name, parts }) => [name, parts.length]),
    [
      ["a", 2],
      ["b", 2],
    ],
  );
  assert.equal(others.length, 1);
  const failure = { kind: "not-perf-data", message: "", firstBytes: [9, 0, 0, 0] };
  assert.match(describeFailure("data.0", failure), /Open the folder/);
});

test("a file named data without streams is a recording of one file", () => {
  const { recordings } = sortPaths({ "perf/data": "profile", "perf/perf.data": "profile" });
  assert.deepEqual(
    recordings.map(({ name, parts }) => [name, parts.length]),
    [
      ["data", 1],
      ["perf.data", 1],
    ],
  );
});

test("a link is found in what was pasted", () => {
  assert.equal(payloadOf(" https://perftab.invalid/#p1.Ab-_c\n"), "p1.Ab-_c");
  assert.equal(payloadOf("#p1.abc&s1&view=tree"), "p1.abc");
  assert.equal(payloadOf("p12.abc"), "p12.abc");
  assert.equal(payloadOf("https://example.org/#section"), null);
  // As a reply quotes it.
  assert.equal(payloadOf("> so see\n> https://x.example/#p1.Ab\r\n> -_c\n"), "p1.Ab-_c");
  assert.equal(payloadOf(">> > p1.Ab\n>> > cd"), "p1.Abcd");
  assert.equal(payloadOf("<https://x.example/#p1.Ab>\n> cd"), "p1.Ab");
  assert.deepEqual(viewOf("> https://x.example/#p1.Ab&s2&vi\n> ew=tree")?.view, "tree");
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
  const several = readServerUrls(" https://a.example  b.example:8002 http:// a.example\n");
  assert.deepEqual(
    several.map(({ host }) => host),
    ["a.example", "b.example:8002"],
  );
});

test("what perftab view serves is read with suspicion", () => {
  assert.deepEqual(readServed("t&", { profiles: [{ name: "a", size: 3 }], debuginfod: ["https://d"] }), {
    token: "t&",
    profiles: [
      {
        name: "a",
        carrier: null,
        parts: [{ url: "/profile/0?token=t%26", size: 3 }],
        files: "/profile/0/files?token=t%26",
        code: "/profile/0/code?token=t%26",
        trusted: { list: "/profile/0/trusted?token=t%26", file: "/local/trusted/0/DSO?token=t%26" },
      },
    ],
    debuginfod: ["https://d"],
  });
  const folder = readServed("t", {
    profiles: [
      {
        name: "d",
        size: 9,
        parts: [
          { name: "data", size: 4 },
          { name: "data.0", size: 5 },
        ],
      },
    ],
  });
  const parts = [
    { url: "/profile/0/0?token=t", size: 4 },
    { url: "/profile/0/1?token=t", size: 5 },
  ];
  const trusted = { list: "/profile/0/trusted?token=t", file: "/local/trusted/0/DSO?token=t" };
  assert.deepEqual(folder?.profiles, [
    { name: "d", carrier: null, parts, files: "/profile/0/files?token=t", code: "/profile/0/code?token=t", trusted },
  ]);
  assert.deepEqual(folder?.profiles.map(servedSize), [9]);
  const shared = readServed("t", { profiles: ["link", "page", "ftp"].map((carrier) => ({ name: "s", size: 9, carrier })) });
  assert.deepEqual(
    shared?.profiles.map(({ carrier }) => carrier),
    ["link", "page", null],
  );
  for (const reply of [null, 3, "x", {}, { profiles: {} }]) {
    assert.equal(readServed("t", reply), null);
  }
});
