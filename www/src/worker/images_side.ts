// The images of a session, which live in a worker of their own: this is the session's end.
//
// It begins with the first file that is given or asked for, and ends with the session, which gives its memory back. What
// its files turned out to be is taken in at once, and the addresses of those that match are asked for in turn, newest
// files last. What is said of them waits until the page wants names: those of several files are shown together.
//
// Whatever comes is compared with what was recorded where it is taken in. If the worker dies, the session lives on with
// the names that it has, and the next file begins another.

import type { Findings, ForceOutcome, NameAnswer, NameRequest, NotUsed, OfferReport, Session } from "../generated/perftab_web.js";
import { Cancelled, Caller, SessionError, WorkerDied } from "../session/caller.ts";
import type { Port } from "../session/caller.ts";
import type {
  Args,
  CodeOfFile,
  FetchRequest,
  ListedCode,
  ReadSource,
  Reply,
  Result,
  Server,
  SessionFailure,
} from "../session/types.ts";
import type {
  CodeOfBuild,
  DsoHeat,
  GivenFile,
  HowListed,
  ImagesProtocol,
  NotedSource,
  PlacesOfFile,
  Told,
} from "./images_protocol.ts";
import type { CodeSource } from "./listing.ts";
import { instructionsAt, listCode } from "./listing.ts";
import { madeCodeOf } from "./made_code.ts";
import { ROWS } from "./scans.ts";
import type { Slices } from "./slices.ts";
import { CancelledCall } from "./slices.ts";

/** Addresses asked for at once: some of a second's work, after which the worker hears what else it is asked. */
const ASKED = 1 << 12;

/** The little of a session that is used here. */
export type NamedSession = Pick<
  Session,
  | "annotatedMade"
  | "askData"
  | "askNames"
  | "dsoTable"
  | "forceable"
  | "asksForUnwindTables"
  | "lookUpData"
  | "loseNames"
  | "madeCode"
  | "namingProgress"
  | "prepareNames"
  | "showNames"
  | "takeCodeTables"
  | "takeData"
  | "takeFindings"
  | "takeForced"
  | "takeNames"
  | "takeUnwindTables"
  | "unwindable"
>;

/** The little of `Worker` that is used here. */
export interface ImagesPort extends Omit<Port, "onmessage"> {
  onmessage: ((event: MessageEvent<Reply | Told>) => void) | null;
}

/** Begins a worker for the images of a profile. */
export type BeginImages = (table: ReturnType<Session["dsoTable"]>) => ImagesPort;

export class ImagesSide {
  readonly #session: NamedSession;
  readonly #begin: BeginImages;
  #caller: Caller<ImagesProtocol> | null = null;
  #hasEnded = false;
  /** Where files are from that may name others there. */
  #machine: Server | null = null;
  /** What processes said of the code that they made, by name. */
  readonly #madeCode = new Map<string, GivenFile["bytes"]>();
  /** Builds whose code that was asked for, and as what. */
  readonly #codeAsked = new Set<string>();
  /** Kernels of whose memory there is a copy. */
  readonly #inMemory = new Set<string>();
  /** By DSO: stops what was asked last. */
  readonly #asking = new Map<number, { ticket: number; abort: AbortController }>();
  /** Questions for names that are not answered. None of them rejects. */
  readonly #awaited = new Set<Promise<void>>();
  /** Answers that are not taken in. */
  #said: NameAnswer[] = [];
  /** Where `perftab view` says what processes of the recording say of their code. */
  codeUrl: string | null = null;
  /** Bytes that the worker holds, as it said last. */
  bytes = 0;

  constructor(session: NamedSession, begin: BeginImages) {
    this.#session = session;
    this.#begin = begin;
  }

  /** Offers files; what became of each. */
  async offer(files: readonly GivenFile[], slices: Slices): Promise<OfferReport[]> {
    const reports = await this.#call("offer", { files }, slices);
    if (!reports.some(({ notUsed }) => notUsed.some(isOfCode))) {
      return reports;
    }
    // The files alone do not tell whether it is the code that ran.
    const decided = this.#session.takeCodeTables(await this.#call("codeTables", {}, slices));
    for (const { name } of decided.used) {
      const file = files.find((each) => each.name === name);
      if (file !== undefined) {
        this.#madeCode.set(name, file.bytes);
      }
    }
    this.askNames();
    return reports.map((report) => settled(report, decided));
  }

  /** Asks a server for a DSO, and offers what comes. */
  fetch(request: FetchRequest, slices: Slices): Promise<ImagesProtocol["fetch"]["result"]> {
    // Only stacks of user space are copied.
    if (request.server.kind === "this-machine") {
      this.#machine = request.server;
    }
    const unwinds = this.#session.asksForUnwindTables && ["user", "vdso"].includes(request.dso.kind);
    return this.#call("fetch", { ...request, unwinds }, slices);
  }

  /** Names a DSO from a file that is not the one that ran. */
  async force(dso: number, file: GivenFile, slices: Slices): Promise<ForceOutcome> {
    const addresses = this.#session.forceable(dso);
    const { forced, outcome } = await this.#call("insist", { dso, addresses, file }, slices, [addresses.buffer]);
    this.checkOpen(slices);
    return outcome ?? this.#session.takeForced(dso, forced);
  }

  /** The code where samples ended, by DSO. */
  async listCode(
    heat: readonly DsoHeat[],
    codeOf: (dso: number) => CodeOfBuild | null,
    how: HowListed,
    slices: Slices,
  ): Promise<ListedCode[]> {
    const listed: ListedCode[] = [];
    for (const each of heat) {
      if (this.#session.madeCode(each.dso, each.addresses[0] ?? 0n) !== null) {
        listed.push(await listCode(this.#made, each, how, slices));
        continue;
      }
      const code = codeOf(each.dso);
      await this.#fetchMemory(code, slices);
      // Without a file there is no worker.
      const list = (): Promise<ListedCode> | ListedCode =>
        this.#caller === null ? { pieces: [], ended: "no-code" } : this.#call("listCode", { heat: each, how }, slices);
      const found = await list();
      const isMore = found.ended === "no-code" && (await this.#fetchCode(code, slices));
      listed.push(isMore ? await list() : found);
    }
    return listed;
  }

  /** The instructions at addresses of a DSO; empty where no file has its code. */
  async instructionsAt(
    dso: number,
    addresses: BigUint64Array,
    codeOf: (dso: number) => CodeOfBuild | null,
    how: HowListed,
    slices: Slices,
  ): Promise<string[]> {
    if (this.#session.madeCode(dso, addresses[0] ?? 0n) !== null) {
      return await instructionsAt(this.#made, { dso, addresses, how }, slices);
    }
    const code = codeOf(dso);
    await this.#fetchMemory(code, slices);
    if (this.#caller === null) {
      return [];
    }
    const list = (): Promise<string[]> => this.#call("instructionsAt", { dso, addresses, how }, slices);
    const texts = await list();
    const isMore = texts.every((text) => text === "") && (await this.#fetchCode(code, slices));
    return isMore ? await list() : texts;
  }

  /** What is known of source files for code of a DSO. */
  async sourcesOf(dso: number, files: readonly PlacesOfFile[], slices: Slices): Promise<NotedSource[]> {
    return this.#caller === null ? [] : await this.#call("sourcesOf", { dso, files }, slices);
  }

  get #made(): CodeSource {
    return madeCodeOf(this.#session, this.#madeCode, this.codeUrl);
  }

  /** Asks a server for a source file. */
  fetchSource(asked: Args<"fetchSource">, slices: Slices): Promise<Result<"fetchSource">> {
    return this.#call("fetchSource", asked, slices);
  }

  /** The text of a source file that is in the debug information. */
  async embeddedSource(code: CodeOfFile, slices: Slices): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.#caller === null ? null : await this.#call("embeddedSource", code, slices);
  }

  /** What a kernel's file has is not what ran, so a copy of its memory is asked for first. */
  async #fetchMemory(code: CodeOfBuild | null, slices: Slices): Promise<void> {
    if (code?.artifact === "memory" && (await this.#fetch(code, slices))) {
      this.#inMemory.add(code.id);
    }
  }

  /**
   * A debug file names code without having it; whether the machine of `perftab view` has it. Of a kernel it has the symbols
   * which say where functions are in the copy.
   */
  async #fetchCode(code: CodeOfBuild | null, slices: Slices): Promise<boolean> {
    const isOfUse = code !== null && (code.artifact === "executable" || this.#inMemory.has(code.id));
    return isOfUse && (await this.#fetch({ id: code.id, artifact: "executable" }, slices));
  }

  /** Whether it is of use, the first time that it is asked for. */
  async #fetch(code: CodeOfBuild, slices: Slices): Promise<boolean> {
    const server = this.#machine;
    const key = `${code.id}/${code.artifact}`;
    if (server === null || this.#codeAsked.has(key)) {
      return false;
    }
    this.#codeAsked.add(key);
    return await this.#call("code", { server, code }, slices);
  }

  /** Compares a source file with what was compiled. */
  readSource(file: File, md5: Uint8Array | null, listing: string, slices: Slices): Promise<ReadSource> {
    return this.#call("readSource", { file, md5, listing }, slices);
  }

  /** Takes in how stacks are unwound in the files that have come. */
  async takeUnwindTables(slices: Slices): Promise<void> {
    this.checkOpen(slices);
    for (const dso of this.#session.unwindable()) {
      this.#session.takeUnwindTables(dso, await this.#call("unwindTables", { dso }, slices));
    }
  }

  /** Names accessed data by the files that have come since this was called last; whether any did. */
  async nameData(slices: Slices): Promise<boolean> {
    this.checkOpen(slices);
    while (!this.#session.lookUpData(ROWS)) {
      await slices.breathe({ stage: "counting", done: 0, total: 1 });
      this.checkOpen(slices);
    }
    let isNew = false;
    for (let request = this.#session.askData(); request !== null; request = this.#session.askData()) {
      const answer = await this.#call("nameObjects", request, slices);
      if (answer !== null) {
        this.#session.takeData(request.dso, request.addresses, answer);
        isNew = true;
      }
    }
    return isNew;
  }

  /** Waits for the names of all files that match so far, and takes them in. */
  async nameFrames(slices: Slices): Promise<void> {
    const progress = (): { stage: "naming"; done: number; total: number } => ({
      stage: "naming",
      ...this.#session.namingProgress(),
    });
    this.checkOpen(slices);
    do {
      for (const answer of [...this.#awaited]) {
        await slices.wait(answer, progress());
        this.checkOpen(slices);
      }
      // What units were split off shows only where names are looked up.
    } while (this.#machine !== null && (await this.#call("companions", { server: this.#machine }, slices)));
    for (let answer = this.#said.shift(); answer !== undefined; answer = this.#said.shift()) {
      this.#session.takeNames(answer);
      await slices.breathe(progress());
      this.checkOpen(slices);
    }
    // A key that is pressed meanwhile is answered with the names before, and one after it from what is made here.
    while (!this.#session.prepareNames(ROWS)) {
      await slices.breathe(progress());
      this.checkOpen(slices);
    }
    this.#session.showNames();
  }

  /** The session is closed. */
  end(): void {
    this.#hasEnded = true;
    this.#said = [];
    this.#caller?.end();
  }

  /** Throws if the call was cancelled, or the session is closed. */
  checkOpen(slices: Slices): void {
    slices.check();
    if (this.#hasEnded) {
      throw new CancelledCall();
    }
  }

  async #call<M extends keyof ImagesProtocol>(
    method: M,
    args: ImagesProtocol[M]["args"],
    slices: Slices,
    transfer: Transferable[] = [],
  ): Promise<ImagesProtocol[M]["result"]> {
    this.checkOpen(slices);
    const { signal } = slices;
    try {
      const answer = await this.#worker.call(
        method,
        args,
        { signal, onProgress: (progress) => slices.report(progress) },
        transfer,
      );
      this.checkOpen(slices);
      return answer;
    } catch (error) {
      throw failureOf(error);
    }
  }

  get #worker(): Caller<ImagesProtocol> {
    this.#caller ??= this.#beginWorker();
    return this.#caller;
  }

  #beginWorker(): Caller<ImagesProtocol> {
    const worker = this.#newWorker();
    const port: Port = {
      onmessage: null,
      onerror: null,
      postMessage: (message, transfer) => worker.postMessage(message, transfer),
      terminate: () => worker.terminate(),
    };
    worker.onmessage = ({ data }) => {
      if ("findings" in data) {
        this.#hear(data);
      } else {
        port.onmessage?.({ data } as MessageEvent<Reply>);
      }
    };
    worker.onerror = (event) => {
      // Else the page would be told that the session's worker failed.
      event.preventDefault();
      port.onerror?.(event);
    };
    return new Caller<ImagesProtocol>(port, (why) => this.#lose(why));
  }

  #newWorker(): ImagesPort {
    try {
      return this.#begin(this.#session.dsoTable());
    } catch (error) {
      throw new WorkerDied(error instanceof Error ? error.message : String(error));
    }
  }

  /** The worker has stopped: what it has said is all that it says. */
  #lose(why: string): void {
    this.#caller = null;
    this.#machine = null;
    this.bytes = 0;
    if (this.#hasEnded) {
      return;
    }
    for (const answer of this.#said.splice(0)) {
      this.#session.takeNames(answer);
    }
    this.#session.loseNames(stopped(why));
  }

  #hear({ findings, bytes }: Told): void {
    if (this.#hasEnded) {
      return;
    }
    this.bytes = bytes;
    if (findings !== null) {
      this.#takeFindings(findings);
    }
  }

  #takeFindings(findings: Findings): void {
    this.#session.takeFindings(findings);
    this.askNames();
  }

  /** Asks for all names that are to be had. */
  askNames(): void {
    for (let request = this.#session.askNames(ASKED); request !== null; request = this.#session.askNames(ASKED)) {
      const answer = this.#name(request).then(
        (said) => void this.#said.push(said),
        // Cancelled, or the worker died: its names are not to come.
        () => undefined,
      );
      this.#awaited.add(answer);
      void answer.then(() => this.#awaited.delete(answer));
    }
  }

  /** What was asked of a DSO before another file came for it is not asked any more. */
  #name(request: NameRequest): Promise<NameAnswer> {
    const { dso, ticket, addresses } = request;
    let asking = this.#asking.get(dso);
    if (asking?.ticket !== ticket) {
      asking?.abort.abort();
      asking = { ticket, abort: new AbortController() };
      this.#asking.set(dso, asking);
    }
    return this.#worker.call("name", request, { signal: asking.abort.signal }, [addresses.buffer]);
  }
}

/** What a process says of its code. */
function isOfCode({ reason }: NotUsed): boolean {
  return reason.kind === "code-table";
}

/** A report with what was decided on in place of what was not. */
function settled({ used, notUsed, ...others }: OfferReport, decided: OfferReport): OfferReport {
  const named =
    (name: string) =>
    (file: { name: string }): boolean =>
      file.name === name;
  const open = notUsed.filter(isOfCode);
  return {
    ...others,
    used: [...used, ...open.flatMap(({ name }) => decided.used.filter(named(name)))],
    notUsed: notUsed.flatMap((file) => {
      const isUsed = isOfCode(file) && decided.used.some(named(file.name));
      return isUsed ? [] : [(isOfCode(file) ? decided.notUsed.find(named(file.name)) : undefined) ?? file];
    }),
  };
}

/** As the session's worker throws it. */
function failureOf(error: unknown): unknown {
  if (error instanceof Cancelled) {
    return new CancelledCall();
  }
  if (error instanceof SessionError) {
    return error.failure;
  }
  if (error instanceof WorkerDied) {
    return { kind: "images-died", message: stopped(error.message) } satisfies SessionFailure;
  }
  return error;
}

function stopped(why: string): string {
  const [first = ""] = why.split("\n");
  return `the worker that read them stopped: ${first}`;
}
