// A query as fields of an address, readable and short:
//
//     event=1&direction=inverted&group=thread&inlines=merged&unnamed=each-address
//     range=21.6-31.85           seconds since the first time, to the nanosecond; `!` before it: all but these
//     processes=4121,4122  threads=4121  cpus=0,3  comms=nginx,node
//     files=/usr/bin/nginx;9f31c07a,/usr/lib/libz.so.1   DSOs that the rest names by their place here; with build-id
//     dsos=1
//     own=1                      counted as own code
//     step=drop;epoll_wait;1     one a transform, in order of effect; a function is name;file, or ;file;address, or
//                                ;file for all code in it that has no name
//     step=focus-subtree;callees,process;nginx,;main;0    a call node is the way to it: `;` begins a function
//     around=callers;main;0
//     lines=main;0               no part of the query: the function whose lines are shown
//
// Names are escaped so far that `&`, `=`, `,` and `;` are ours, and chats do not cut the link off. What is at its default
// is not written. Whatever was typed or cut off is read as far as it makes sense, within the bounds below: a field or a
// step that makes none is passed over, and noted.

import type { AroundFunction, DsoRef, FunctionRef, PathPart, Query, TimeRange, Transform } from "../session/types.ts";

export type Field = readonly [name: string, value: string];

export const DEFAULT_QUERY: Query = {
  event: 0,
  direction: "callees",
  group: "auto",
  inlines: "shown",
  unnamed: "one-per-dso",
  range: null,
  processes: [],
  threads: [],
  cpus: [],
  comms: [],
  dsos: [],
  own: [],
  steps: [],
  around: null,
};

/** More than anybody clicks together; less than would stall the session. */
const MOST_STEPS = 64;
export const MOST_LISTED = 4096;
const MOST_FILES = 1024;
export const MOST_OWN = 64;
const DEEPEST_PATH = 1024;
const LONGEST_TEXT = 4096;

const MOST_U32 = 0xffffffff;
const MOST_CPU = 0xffff;

// Writing -------------------------------------------------------------------------------------------------------------

/** The fields of what is not at its default, and of the function whose lines are shown. */
export function writeQuery(query: Query, lines: FunctionRef | null): Field[] {
  const files = new Files();
  const fields: Field[] = [];
  const put = (name: string, value: string): void => {
    if (value !== "") {
      fields.push([name, value]);
    }
  };
  const unless = (value: string | number, fallback: string | number): string => (value === fallback ? "" : String(value));
  put("event", unless(query.event, DEFAULT_QUERY.event));
  put("direction", unless(query.direction, DEFAULT_QUERY.direction));
  put("group", unless(query.group, DEFAULT_QUERY.group));
  put("inlines", unless(query.inlines, DEFAULT_QUERY.inlines));
  put("unnamed", unless(query.unnamed, DEFAULT_QUERY.unnamed));
  put("range", query.range === null ? "" : writeRange(query.range));
  put("processes", query.processes.join(","));
  put("threads", query.threads.join(","));
  put("cpus", query.cpus.join(","));
  put("comms", query.comms.map(escaped).join(","));
  // The files come before what names them, so they are written last and put in between.
  const here = fields.length;
  put("dsos", query.dsos.map((dso) => files.place(dso)).join(","));
  put("own", query.own.map((dso) => files.place(dso)).join(","));
  for (const step of query.steps) {
    put("step", writeStep(step, files));
  }
  put("around", query.around === null ? "" : `${query.around.side};${writeFunction(query.around.function, files)}`);
  put("lines", lines === null ? "" : writeFunction(lines, files));
  if (files.written !== "") {
    fields.splice(here, 0, ["files", files.written]);
  }
  return fields;
}

/** DSOs in the order in which they were first named. */
class Files {
  readonly #texts: string[] = [];

  place(dso: DsoRef): number {
    const text = dso.buildId === null ? escaped(dso.path) : `${escaped(dso.path)};${escaped(dso.buildId)}`;
    const known = this.#texts.indexOf(text);
    return known === -1 ? this.#texts.push(text) - 1 : known;
  }

  get written(): string {
    return this.#texts.join(",");
  }
}

/** Nanoseconds as seconds, without what is not needed: "21.6". */
export function writeSeconds(nanoseconds: number): string {
  const whole = Math.floor(nanoseconds / 1e9);
  const rest = String(nanoseconds - whole * 1e9)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return rest === "" ? String(whole) : `${whole}.${rest}`;
}

function writeRange({ start, end, side }: TimeRange): string {
  return `${side === "outside" ? "!" : ""}${writeSeconds(start)}-${writeSeconds(end)}`;
}

function writeFunction({ dso, name, address }: FunctionRef, files: Files): string {
  const place = `${escaped(name ?? "")};${files.place(dso)}`;
  return address === null ? place : `${place};${escaped(address)}`;
}

function writePath(path: readonly PathPart[], files: Files): string {
  return (
    path
      // biome-ignore lint/suspicious/useIterableCallbackReturn: every kind returns, as TypeScript checks
      .map((part) => {
        switch (part.kind) {
          case "process":
          case "thread":
            return `${part.kind};${escaped(part.name)}`;
          case "function":
            // By far the most frequent, so without a word for it.
            return `;${writeFunction(part.function, files)}`;
          case "inlined":
            return `${part.kind};${writeFunction(part.function, files)}`;
          case "dso":
            return `${part.kind};${files.place(part.dso)}`;
          case "no-mapping":
            return part.kind;
        }
      })
      .join(",")
  );
}

function writeStep(step: Transform, files: Files): string {
  switch (step.kind) {
    case "merge":
    case "focus":
    case "drop":
    case "collapse-function":
      return `${step.kind};${writeFunction(step.function, files)}`;
    case "merge-call-node":
    case "focus-subtree":
      return `${step.kind};${step.direction},${writePath(step.path, files)}`;
    case "collapse-dso":
      return `${step.kind};${files.place(step.dso)}`;
    case "collapse-recursion":
    case "drop-idle":
      return step.kind;
    case "search":
      return `${step.kind};${escaped(step.text)}`;
  }
}

/** Percent-escaped, but for what is plain in a fragment and common in names. */
export function escaped(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"))
    .replace(/%(?:3A|2F|40|2B|24)/g, decodeURIComponent)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** null where the escapes make no sense, or where it is longer than any name. */
export function unescaped(text: string): string | null {
  try {
    const plain = decodeURIComponent(text);
    return plain.length <= LONGEST_TEXT ? plain : null;
  } catch {
    return null;
  }
}

// Reading -------------------------------------------------------------------------------------------------------------

/** Fields while they are read. A field that stands twice counts once, steps apart. */
export class Fields {
  readonly #fields: readonly Field[];
  readonly #read = new Set<string>();
  readonly #senseless: string[] = [];

  constructor(fields: readonly Field[]) {
    this.#fields = fields.filter(([name, value]) => name !== "" || value !== "");
  }

  /** What a field says, as far as that makes sense; `fallback` where there is no such field, or an empty one. */
  read<T>(name: string, fallback: T, read: (text: string) => T | null): T {
    this.#read.add(name);
    const text = this.#fields.find(([each]) => each === name)?.[1] ?? "";
    return text === "" ? fallback : (read(text) ?? this.#passOver(name, text, fallback));
  }

  choose<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    return this.read(name, fallback, (text) => choices.find((choice) => choice === text) ?? null);
  }

  /** A list whose parts are read one by one; those that make no sense are left out. */
  list<T>(name: string, read: (part: string) => T | null, most = MOST_LISTED): T[] {
    return this.read<T[]>(name, [], (text) => {
      const parts = text.split(",", MOST_LISTED);
      const found = parts.slice(0, most).flatMap((part) => read(part) ?? []);
      return found.length === parts.length ? found : this.#passOver(name, text, found);
    });
  }

  /** Each field of the name that makes sense, up to so many. */
  each<T>(name: string, most: number, read: (text: string) => T | null): T[] {
    this.#read.add(name);
    const texts = this.#fields.filter(([each]) => each === name).map(([, text]) => text);
    return texts.flatMap((text, place) => (place < most ? read(text) : null) ?? this.#passOver(name, text, []));
  }

  /** Every field, or part of one, that was passed over: "step=fly;a", "pie=1". */
  get passedOver(): string[] {
    const unknown = this.#fields.filter(([name]) => !this.#read.has(name));
    return [...this.#senseless, ...unknown.map(([name, value]) => (value === "" ? name : `${name}=${value}`))];
  }

  #passOver<T>(name: string, text: string, instead: T): T {
    this.#senseless.push(`${name}=${text}`);
    return instead;
  }
}

/** The query that the fields say. */
export function readQuery(fields: Fields): Query {
  const numbers = (name: string, most: number): number[] => [...new Set(fields.list(name, (part) => readNumber(part, most)))];
  const files = readFiles(fields);
  return {
    event: fields.read("event", DEFAULT_QUERY.event, (text) => readNumber(text, MOST_U32)),
    direction: fields.choose("direction", ["callees", "inverted"], DEFAULT_QUERY.direction),
    group: fields.choose("group", ["auto", "process", "thread", "none"], DEFAULT_QUERY.group),
    inlines: fields.choose("inlines", ["shown", "merged"], DEFAULT_QUERY.inlines),
    unnamed: fields.choose("unnamed", ["one-per-dso", "each-address"], DEFAULT_QUERY.unnamed),
    range: fields.read<TimeRange | null>("range", null, readRange),
    processes: numbers("processes", MOST_U32),
    threads: numbers("threads", MOST_U32),
    cpus: numbers("cpus", MOST_CPU),
    comms: fields.list("comms", (text) => unescaped(text) || null),
    dsos: fields.list("dsos", (text) => fileAt(files, text)),
    own: fields.list("own", (text) => fileAt(files, text), MOST_OWN),
    steps: fields.each("step", MOST_STEPS, (text) => readStep(text, files)),
    around: fields.read<AroundFunction | null>("around", null, (text) => readAround(text, files)),
  };
}

/** The function whose lines are shown; null where callers and callees are. */
export function readLines(fields: Fields): FunctionRef | null {
  const files = readFiles(fields);
  return fields.read<FunctionRef | null>("lines", null, (text) => readFunction(text.split(";"), files));
}

/** A file that makes no sense is noted with whatever names it. */
function readFiles(fields: Fields): (DsoRef | null)[] {
  return fields.read<(DsoRef | null)[]>("files", [], (text) => text.split(",", MOST_FILES).map(readFile));
}

function readNumber(text: string, most: number): number | null {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return number <= most ? number : null;
}

/** "21.6" in nanoseconds. */
export function readSeconds(text: string): number | null {
  const [, whole, rest = ""] = /^(\d{1,6})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  return whole === undefined ? null : Number(whole) * 1e9 + Number(rest.padEnd(9, "0"));
}

function readRange(text: string): TimeRange | null {
  const [, not, from = "", to = ""] = /^(!?)([\d.]+)-([\d.]+)$/.exec(text) ?? [];
  const [start, end] = [readSeconds(from), readSeconds(to)];
  return start === null || end === null || start >= end ? null : { start, end, side: not === "!" ? "outside" : "inside" };
}

function readFile(text: string): DsoRef | null {
  const [path = "", buildId] = text.split(";", 2).map(unescaped);
  return path === null || path === "" || buildId === null ? null : { path, buildId: buildId ?? null };
}

function fileAt(files: readonly (DsoRef | null)[], text: string | undefined): DsoRef | null {
  const place = readNumber(text ?? "", MOST_FILES);
  return place === null ? null : (files[place] ?? null);
}

function readFunction(parts: readonly string[], files: readonly (DsoRef | null)[]): FunctionRef | null {
  const [written = "", place, address] = parts;
  const [name, dso] = [unescaped(written), fileAt(files, place)];
  const isAddress = address === undefined || /^0x[0-9a-f]{1,16}$/.test(address);
  if (name === null || dso === null || !isAddress) {
    return null;
  }
  return { dso, name: name === "" ? null : name, address: address ?? null };
}

function readPath(parts: readonly string[], files: readonly (DsoRef | null)[]): PathPart[] | null {
  const path = parts.map((text) => readPathPart(text, files));
  // A path with a gap would be another path.
  const whole = path.filter((part) => part !== null);
  return whole.length === path.length && whole.length > 0 && whole.length <= DEEPEST_PATH ? whole : null;
}

function readPathPart(text: string, files: readonly (DsoRef | null)[]): PathPart | null {
  const [kind, ...rest] = text.split(";");
  switch (kind) {
    case "process":
    case "thread": {
      const name = unescaped(rest[0] ?? "");
      return name === null ? null : { kind, name };
    }
    case "":
    case "inlined": {
      const found = readFunction(rest, files);
      return found && { kind: kind === "" ? "function" : kind, function: found };
    }
    case "dso": {
      const dso = fileAt(files, rest[0]);
      return dso && { kind, dso };
    }
    case "no-mapping":
      return { kind };
    default:
      return null;
  }
}

function readStep(text: string, files: readonly (DsoRef | null)[]): Transform | null {
  const [head = "", ...path] = text.split(",");
  const [kind, ...parts] = head.split(";");
  switch (kind) {
    case "merge":
    case "focus":
    case "drop":
    case "collapse-function": {
      const found = readFunction(parts, files);
      return found && { kind, function: found };
    }
    case "merge-call-node":
    case "focus-subtree": {
      const found = readPath(path, files);
      const direction = parts[0] === "inverted" ? "inverted" : "callees";
      return found && { kind, path: found, direction };
    }
    case "collapse-dso": {
      const dso = fileAt(files, parts[0]);
      return dso && { kind, dso };
    }
    case "collapse-recursion":
    case "drop-idle":
      return { kind };
    case "search": {
      const wanted = unescaped(parts[0] ?? "");
      return wanted ? { kind, text: wanted } : null;
    }
    default:
      return null;
  }
}

function readAround(text: string, files: readonly (DsoRef | null)[]): AroundFunction | null {
  const [side, ...parts] = text.split(";");
  const found = readFunction(parts, files);
  return found && (side === "callers" || side === "callees") ? { side, function: found } : null;
}
