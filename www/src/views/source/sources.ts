// The text of source files: from the debug information, from files that were given, which are kept until somebody looks at code
// that was compiled from one of their path, from the machine of `perftab view`, or from debuginfod servers that the user has
// agreed to. All of it is compared with what the compiler noted.

import { signal } from "@preact/signals";
import type { GivenFile } from "../../open/given.ts";
import { noteSent } from "../../ledger/debuginfod.ts";
import { areAllowed, servers } from "../../ledger/servers.ts";
import { served } from "../../open/served.ts";
import { dataBlock } from "../../session/data_block.ts";
import type { Session } from "../../session/client.ts";
import { SessionError } from "../../session/client.ts";
import type { Server, ServerAnswer, ServerOutcome, TextCheck } from "../../session/types.ts";
import { dsos } from "../../state/app.ts";
import { counted, bytes } from "../../state/format.ts";
import { toast } from "../../state/toasts.ts";
import { nextTask } from "../../worker/slices.ts";
import { readViewAnswers } from "../../worker/view_answers.ts";
import type { SourceFile } from "./listing.ts";
import { candidates, movedFolder, movedPath, movingFolder, partsOf, shownText } from "./listing.ts";

/** As `core/listing` has them. */
const SUFFIXES = new Set(
  (
    "adb asm c c++ cc cpp cu cxx d def f f03 f08 f90 f95 for go h h++ hh hpp hxx inc inl ipp java js kt l m mjs ml mm nim pas py " +
    "pyx rs s swift tcc ts y zig"
  ).split(" "),
);

/** Nobody writes a source file that is longer. */
const MAX_SOURCE = 16 << 20;
const MOST_FILES = 20_000;
/** Files of one name that are compared with a sum. */
const MOST_TRIES = 8;

interface KeptFile {
  path: string;
  file: File;
  /** Those that were given together have the same number, and later ones a higher. */
  given: number;
}

/** Those that were given. */
const kept = signal<readonly KeptFile[]>([]);

export type SourceText =
  | {
      kind: "here";
      lines: readonly string[];
      from: string;
      check: Exclude<TextCheck, "unknown">;
      modified: number;
      /** Whether the user said that it is this one of several. */
      isChosen?: boolean;
    }
  /** Another file than was compiled, or one of several: `among` are these, by their paths. */
  | { kind: "refused"; from: string; why: string; among?: readonly string[] }
  /** With what servers said instead of sending it. */
  | { kind: "missing"; tried: readonly ServerAnswer[] };

/** Whether a sum or the debug information itself says that it was compiled. */
export const isVouched = (check: TextCheck): boolean => check === "checked" || check === "embedded";

const MISSING: SourceText = { kind: "missing", tried: [] };

/** What a text is looked for by. */
export type Sought = Pick<SourceFile, "path" | "md5" | "code" | "at">;

/** By path and sum: what became of each file that was looked for. */
export const sourceTexts = signal<ReadonlyMap<string, SourceText>>(new Map());

/** Without a sum, the text of one build says nothing of another's. */
export function keyOf({ path, md5, at }: Pick<Sought, "path" | "md5" | "at">): string {
  const build = md5 === null ? dsos.value.find(({ id }) => id === at?.dso)?.build_id : md5.join();
  return `${build ?? ""} ${path}`;
}

export function isSource({ file: { name } }: GivenFile): boolean {
  return isNamedAsSource(name);
}

/** `java` and `go` are programs. */
function isNamedAsSource(name: string): boolean {
  return name.includes(".") && SUFFIXES.has(name.slice(name.lastIndexOf(".") + 1).toLowerCase());
}

/** Keeps the source files among those that were given, and gives back the others. */
export function keepSources(given: readonly GivenFile[]): GivenFile[] {
  const sources = given.filter(isSource);
  if (sources.length > 0) {
    const before = kept.peek();
    const number = (before[0]?.given ?? 0) + 1;
    const added = sources.map(({ file, folder }) => ({
      path: folder === "" ? file.name : `${folder}/${file.name}`,
      file,
      given: number,
    }));
    kept.value = [...added, ...before].slice(0, MOST_FILES);
    moved.value = new Map();
    const more = added.length > MOST_FILES ? ` The other ${added.length - MOST_FILES} are too many.` : "";
    const words = counted(Math.min(added.length, MOST_FILES), "source file", "source files");
    toast("info", `${words} kept for the source view.${more}`);
  }
  return given.filter((each) => !isSource(each));
}

/** Folders of debug information, and those that the user says they are, until other files are given. */
const moved = signal<ReadonlyMap<string, string>>(new Map());

/** Of several files that end like a path this is the one: whatever lay beside it then lies beside it now. */
export function chooseAmong(path: string, given: string): void {
  const { from, to } = movedFolder(path, given);
  moved.value = new Map(moved.peek()).set(from, to);
}

/** Takes that back, for all that lies beside it. */
export function forgetChoice(path: string): void {
  const left = new Map(moved.peek());
  left.delete(movingFolder(path, left) ?? "");
  moved.value = left;
}

interface Search {
  files: readonly KeptFile[];
  moved: ReadonlyMap<string, string>;
  /** The machine of `perftab view` can be asked once a file has the code. */
  code: Sought["code"];
  at: Sought["at"];
  /** Those that may be asked. */
  servers: readonly Server[];
}

/** How each text is looked for, or was, and what became of it: what is found for a link alone is not kept. */
const searches = new Map<string, Search>();

function searchFor({ code, at }: Sought): Search {
  return {
    files: kept.value,
    moved: moved.value,
    code,
    at,
    servers: areAllowed() ? servers.value.filter(({ kind }) => kind !== "this-machine") : [],
  };
}

/** Whether a search can find more than the one before. */
function findsMore(search: Search, before: Search): boolean {
  const hasCode = (search.code !== null && before.code === null) || (search.at !== null && before.at === null);
  const isNew = ({ url }: Server): boolean => !before.servers.some((asked) => asked.url === url);
  return before.files !== search.files || before.moved !== search.moved || hasCode || search.servers.some(isNew);
}

/**
 * Looks for the text of a file among those that were given. What was found before stays until there is an answer. An effect that
 * calls this does so again when there is more to be found.
 */
export async function findSource(session: Session, of: Sought): Promise<void> {
  const key = keyOf(of);
  const search = searchFor(of);
  const before = searches.get(key);
  if (before !== undefined && !findsMore(search, before)) {
    return;
  }
  searches.set(key, search);
  try {
    const found = await look(session, of, search);
    if (searches.get(key) === search) {
      sourceTexts.value = new Map(sourceTexts.peek()).set(key, found);
    }
  } catch (error) {
    if (searches.get(key) === search) {
      searches.delete(key);
    }
    throw error;
  }
}

/** Servers that did not answer may do so now. */
export async function askAgain(session: Session, of: Sought): Promise<void> {
  searches.delete(keyOf(of));
  await findSource(session, of);
}

const FAILED: ReadonlySet<ServerOutcome> = new Set(["unreachable", "no-cors", "failed"] as const);

/** Whether a server may have the text, and did not say so. */
export function hasFailed(text: SourceText | null): boolean {
  return text?.kind === "missing" && text.tried.some(({ outcome }) => FAILED.has(outcome));
}

/** What a link tells of a file. */
export interface ToldLines {
  check: TextCheck;
  texts: string[];
}

/** What links told, so that the next one asks nobody again. */
const told = new Map<string, { search: Search; lines: ToldLines | null }>();

/** Lines of a file whose text is at hand, by number; null if it is not, or is another file's. */
export async function linesAt(session: Session, of: Sought, numbers: Uint32Array): Promise<ToldLines | null> {
  const search = searchFor(of);
  const key = `${keyOf(of)} ${numbers.join()}`;
  const before = told.get(key);
  if (before !== undefined && !findsMore(search, before.search)) {
    return before.lines;
  }
  const shown = searches.get(keyOf(of));
  const present = shown === undefined || findsMore(search, shown) ? undefined : sourceTexts.peek().get(keyOf(of));
  const text = present === undefined || hasFailed(present) ? await look(session, of, search) : present;
  const lines =
    text.kind === "here"
      ? { check: text.check, texts: Array.from(numbers, (number) => shownText(text.lines[number - 1] ?? "")) }
      : null;
  // The next link asks servers again that did not answer.
  if (!hasFailed(text)) {
    told.set(key, { search, lines });
  }
  return lines;
}

async function look(session: Session, of: Sought, { files, moved: folders, servers: asked }: Search): Promise<SourceText> {
  const inside = await lookInside(session, of);
  if (inside.kind === "here") {
    return inside;
  }
  const given = await lookAmong(session, of, files, folders);
  if (given.kind !== "missing") {
    // What somebody gave is what they want to see, also where it is refused.
    return given;
  }
  return served.peek() === null ? await askServers(session, of, asked) : await askMachine(session, of, asked);
}

/** What `perftab view` says of where a source is from, if that is no file. */
const ORIGINS = new Map([
  ["debug information", "the debug information"],
  ["debuginfod", "a debuginfod server"],
]);
export const INSIDE = "the debug information";

/** The compiler may have put it into the debug information. What is there was compiled, unless its sum is another. */
async function lookInside(session: Session, { path, md5, at }: Sought): Promise<SourceText> {
  const bytes = at === null ? null : await session.call("embeddedSource", { ...at, path });
  if (bytes === null) {
    return MISSING;
  }
  const text = await read(session, { path: INSIDE, file: fileOf(bytes, path), given: 0 }, md5);
  return text.kind === "here" && text.check === "not-checked" ? { ...text, check: "embedded" } : text;
}

function fileOf(content: BlobPart, path: string, lastModified = 0): File {
  return new File([content], path, { lastModified });
}

/**
 * The machine that `perftab view` runs on may have it: it is told which code is shown, and no path. It asks its servers once the
 * user has agreed to that.
 */
async function askMachine(session: Session, { path, md5, code }: Sought, asked: Search["servers"]): Promise<SourceText> {
  const [token, row] = [served.peek()?.token, dsos.peek().find(({ id }) => id === code?.dso)];
  if (token === undefined || code === null || row?.build_id == null) {
    return MISSING;
  }
  const keeper = areAllowed() ? "/debuginfod/source" : "/source";
  const build = row.identity === "content" ? `content/${row.build_id}` : row.build_id;
  const address = `${keeper}/${build}/${code.address.toString(16)}?token=${encodeURIComponent(token)}`;
  asked.forEach(({ host }) => noteSent(host, row.build_id ?? "", path));
  try {
    const reply = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (reply.status === 409) {
      return { kind: "refused", from: path, why: (await reply.text()).trim() };
    }
    if (reply.status === 204) {
      return MISSING;
    }
    if (!reply.ok) {
      return { kind: "missing", tried: readViewAnswers(reply.status, await reply.text()) };
    }
    const lastModified = Number(reply.headers.get("perftab-modified") ?? 0);
    const from = ORIGINS.get(reply.headers.get("perftab-from") ?? "") ?? path;
    const text = await read(session, { path: from, file: fileOf(await reply.blob(), path, lastModified), given: 0 }, md5);
    return text.kind === "here" && text.check === "not-checked" && from === INSIDE ? { ...text, check: "embedded" } : text;
  } catch (error) {
    if (error instanceof TypeError) {
      // It has ended.
      return MISSING;
    }
    throw error;
  }
}

/** The build that a debuginfod is asked for a source by; null for what it cannot have. */
function buildOf({ path, code }: Sought): string | null {
  const row = dsos.value.find(({ id }) => id === code?.dso);
  return row?.identity === "gnu" && path.startsWith("/") && isNamedAsSource(path) ? row.build_id : null;
}

/** Whether a server could have it that is named here, or is behind `perftab view` and has not been agreed to. */
export function mayAskServers(of: Sought): boolean {
  const isBehind = served.value !== null && servers.value.some(({ kind }) => kind === "perftab-view");
  return (served.value === null || (isBehind && !areAllowed())) && buildOf(of) !== null;
}

/** One server after the other, until one has the file that was compiled. */
async function askServers(session: Session, of: Sought, asked: Search["servers"]): Promise<SourceText> {
  const { path, md5 } = of;
  const id = buildOf(of);
  const tried: ServerAnswer[] = [];
  let refused: SourceText | null = null;
  for (const server of id === null ? [] : asked) {
    noteSent(server.host, id ?? "", path);
    const { answer, bytes: content } = await session.call("fetchSource", { server, id: id ?? "", path });
    tried.push(answer);
    if (content !== null) {
      const text = await read(session, { path: server.host, file: fileOf(content, path), given: 0 }, md5);
      if (text.kind === "here") {
        return text;
      }
      refused ??= text;
    }
  }
  return refused ?? { kind: "missing", tried };
}

async function lookAmong(
  session: Session,
  { path, md5 }: Sought,
  files: readonly KeptFile[],
  folders: Search["moved"],
): Promise<SourceText> {
  const paths = files.map((each) => each.path);
  const wanted = md5 === null ? movedPath(path, folders) : null;
  const placed = wanted === null ? -1 : paths.findIndex((each) => partsOf(each).join("/") === wanted);
  const placedOne = files[placed];
  if (placedOne !== undefined) {
    const text = await read(session, placedOne, md5);
    return text.kind === "here" ? { ...text, isChosen: true } : text;
  }
  const found = candidates(path, paths);
  const [best] = found;
  if (best === undefined) {
    return MISSING;
  }
  if (md5 === null) {
    const alike = found.filter(({ parts }) => parts === best.parts).flatMap(({ at }) => files[at] ?? []);
    // A file that is given again is instead of the one before.
    const isReplaced = (one: KeptFile): boolean => alike.some((other) => other.path === one.path && other.given > one.given);
    const among = alike.filter((one) => !isReplaced(one)).map((one) => one.path);
    if (among.length > 1) {
      const why = `${among.length} files end like this path. Choose the right one, or add the folder that has it`;
      return { kind: "refused", from: path, why, among };
    }
  }
  let refused: SourceText = MISSING;
  // Where there is a sum it decides, whatever folder a file is in.
  for (const { at } of found.slice(0, md5 === null ? 1 : MOST_TRIES)) {
    const one = files[at];
    const text: SourceText = one === undefined ? refused : await read(session, one, md5);
    if (text.kind === "here") {
      return text;
    }
    refused = refused.kind === "missing" ? text : refused;
  }
  return refused;
}

async function read(session: Session, { path: from, file }: KeptFile, md5: Uint8Array | null): Promise<SourceText> {
  if (file.size > MAX_SOURCE) {
    return { kind: "refused", from, why: `it has ${bytes(file.size)}, and no source file is longer than ${bytes(MAX_SOURCE)}` };
  }
  try {
    const { why, text } = await session.call("readSource", { file, md5, listing: await dataBlock("listing") });
    if (why !== null) {
      return { kind: "refused", from, why };
    }
    const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
    if (lines.at(-1) === "") {
      lines.pop();
    }
    // Of a long file, to show it is as much again.
    await nextTask();
    return { kind: "here", lines, from, check: md5 === null ? "not-checked" : "checked", modified: file.lastModified };
  } catch (error) {
    if (error instanceof SessionError) {
      return { kind: "refused", from, why: error.message };
    }
    throw error;
  }
}
