// Every method of the protocol, over the one session that is open. What is a question of a session, or of a comparison, is
// passed on to it; what only the worker can do is here.

import { Session } from "../generated/perftab_web.js";
import type {
  AnswerTo,
  Args,
  ArgsOf,
  CallerGuesses,
  ComparedMethod,
  Facts,
  HostMethod,
  Method,
  Query,
  Result,
  SessionMethod,
  SoughtCallNode,
} from "../session/types.ts";
import { answered, saidAtOnce } from "./asked.ts";
import { Comparisons } from "./compared.ts";
import { exported } from "./exported.ts";
import { admit } from "./given.ts";
import type { CodeOfBuild } from "./images_protocol.ts";
import type { BeginImages } from "./images_side.ts";
import { ImagesSide } from "./images_side.ts";
import type { Part } from "./part_reader.ts";
import { partOfFile, partOfUrl } from "./parts.ts";
import { readPlaces } from "./place_texts.ts";
import { peek, unpackText } from "./peek.ts";
import type { Reading, Underway } from "./reading.ts";
import { read, readBranches, unwind } from "./reading.ts";
import { close, followOn, ROWS } from "./scans.ts";
import { fetchText, takeCode, tellFiles, trustPaths } from "./served.ts";
import type { Slices } from "./slices.ts";
import { Turns } from "./turns.ts";
import type { Memory } from "./wasm.ts";

/** What a call of method `M` knows besides its arguments. */
interface Context {
  slices: Slices;
  /** The generation whose call nodes the page knew when it asked. */
  generation: number;
}

type Handlers = {
  [M in HostMethod]: (args: Args<M>, context: Context) => Result<M> | Promise<Result<M>>;
};

/** Rows of a step of what nobody has asked for yet. What is asked for meanwhile waits until the step is over. */
const ROWS_AHEAD = 1 << 15;

export class Calls {
  readonly #memory: Memory;
  readonly #beginImages: BeginImages;
  #session: Session | null = null;
  /** The files of each session that is open. */
  readonly #sides = new Map<Session, ImagesSide>();
  /** The recordings that sessions were read from: their stacks are in them. */
  readonly #parts = new WeakMap<Session, readonly Part[]>();
  /** Where `perftab view` is asked what processes say of their code. */
  readonly #codeUrls = new WeakMap<Session, string>();
  /** Resolves when no recording is read once more. */
  #rereading: Promise<unknown> = Promise.resolve();
  readonly #compared = new Comparisons((second) => this.#close(second));
  readonly #turns = new Turns();
  /** What is being read to take the place of the session. */
  #reading: Reading | null = null;
  /** What was shown of it last. */
  #soFar: Session | null = null;
  /** Counts sessions, so that no two of them have a generation in common. */
  #opened = 0;
  /** By generation that the page was told of: that of the session. */
  readonly #told = new Map<number, number>();
  /** Whether anything was asked of the open profile, or of less of it: what is mostly asked first is then of no use. */
  #isAsked = false;

  constructor(memory: Memory, beginImages: BeginImages) {
    this.#memory = memory;
    this.#beginImages = beginImages;
  }

  /** Ids of call nodes are of one generation: names that change, or another profile, begin a new one. */
  get generation(): number {
    return this.#opened * 1e6 + (this.#session?.generation ?? 0) + this.#compared.generation;
  }

  /** The page knows the present call nodes, and asks for none of before. */
  knowsPresent(): void {
    if (this.#told.size > 1) {
      this.#told.clear();
      this.#told.set(this.generation, this.#open.generation);
      this.#open.forgetPast();
    }
  }

  /** Goes on with what is mostly asked for first of a profile; true when there is no more to do, or anything was asked. */
  prepareFirst(): boolean {
    return this.#session === null || this.#isAsked || this.#session.prepareFirst(ROWS_AHEAD);
  }

  readonly #handlers: Handlers = {
    peek: ({ files }, { slices }) => peek(files, slices),
    unpackText: ({ file }, { slices }) => unpackText(file, slices),
    open: ({ parts }, { slices }) => this.#read((underway) => this.#readParts(parts.map(partOfFile), slices, underway), slices),
    openUrl: (args, { slices }) => this.#read((underway) => this.#readUrl(args, slices, underway), slices),
    readSoFar: async (_, { slices }) => {
      const reading = this.#reading;
      const soFar = reading?.opening.soFar() ?? null;
      if (soFar === null) {
        return null;
      }
      const isRead = (): boolean => reading === this.#reading;
      await this.#prepare(soFar, slices, isRead);
      if (!isRead()) {
        // All of it is there by now, or nobody wants it any more.
        soFar.free();
        return null;
      }
      return this.#grow(soFar);
    },
    stopReading: () => {
      this.#reading?.stop();
      return null;
    },
    openLink: ({ payload }) => this.#replace(Session.openLink(payload), "another"),
    facts: async ({ query, sought }, { slices, generation }) => {
      for (;;) {
        const before = this.generation;
        const callNodes = await this.#found(query, sought, generation, slices);
        // Names may change while the tree is made.
        if (this.generation === before) {
          return { ...this.#facts(), callNodes };
        }
      }
    },
    generation: () => this.generation,
    admit: ({ files }, { slices }) => admit(this.#openSides, files, slices),
    admitEmbedded: (_, { slices }) => this.#admitEmbedded(slices),
    force: async ({ dso, file }, { slices }) => {
      const side = this.#sideOf(this.#open);
      const outcome = await side.force(dso, { name: file.name, bytes: file }, slices);
      await side.nameFrames(slices);
      return outcome;
    },
    trustPaths: async (trusted, { slices }) => {
      const side = this.#sideOf(this.#open);
      const named = await trustPaths(this.#open, side, trusted, slices);
      await side.nameFrames(slices);
      return named;
    },
    unforce: ({ dso }) => {
      this.#open.unforce(dso);
      return null;
    },
    fetchDebuginfod: async (request, { slices }) => {
      const asked = this.#sideOf(request.which === "second" ? this.#compared.second : this.#open);
      const { answers, found } = await asked.fetch(request, slices);
      // One build may have run in both recordings.
      if (found !== null) {
        const others = this.#openSides.filter((side) => side !== asked);
        // Whatever becomes of it there, it was found.
        await Promise.allSettled(others.map((other) => other.offer([found], slices)));
      }
      return { answers };
    },
    nameFrames: async (_, { slices }) => {
      for (const side of this.#openSides) {
        await side.nameFrames(slices);
      }
      return null;
    },
    listCode: async ({ query, function: of, ...how }, { slices }) => {
      const session = this.#open;
      const side = this.#sideOf(session);
      const heat = await this.#asked("codeHeat", { query, function: of }, slices);
      side.checkOpen(slices);
      return side.listCode(heat, codeOf(session), how, slices);
    },
    readPlaces: async (asked, { slices }) => {
      const session = this.#open;
      const side = this.#sideOf(session);
      const places = await this.#asked("hotPlaces", { options: asked.options }, slices);
      side.checkOpen(slices);
      return await readPlaces(session, side, places, asked, codeOf(session), slices);
    },
    tellLines: ({ path, check, lines, texts }) => {
      this.#open.tellLines(path, check, lines, texts);
      return null;
    },
    fetchSource: (asked, { slices }) => this.#sideOf(this.#open).fetchSource(asked, slices),
    embeddedSource: (code, { slices }) => this.#sideOf(this.#open).embeddedSource(code, slices),
    readSource: ({ file, md5, listing }, { slices }) => this.#sideOf(this.#open).readSource(file, md5, listing, slices),
    nameData: (_, { slices }) => this.#sideOf(this.#open).nameData(slices),
    unwind: ({ guesses }, { slices }) => this.#afterRereading(() => this.#unwindAll(guesses, slices)),
    readBranches: ({ query }, { slices }) => this.#afterRereading(() => this.#readBranches(query, slices)),
    openSecond: async ({ parts }, { slices }) => this.#replaceSecond(await this.#readParts(parts.map(partOfFile), slices)),
    openSecondUrl: async (args, { slices }) => this.#replaceSecond(await this.#readUrl(args, slices)),
    share: (request, { slices }) => this.#share(request, slices),
    endSharing: () => {
      this.#open.endSharing();
      return null;
    },
    export: ({ request }, { slices }) => exported(this.#open, request, slices),
    memory: () => [...this.#sides.values()].reduce((sum, { bytes }) => sum + bytes, this.#memory.buffer.byteLength),
  };

  answer(method: Method, args: unknown, context: Context): unknown {
    const { slices } = context;
    if (Object.hasOwn(this.#handlers, method)) {
      const handler = this.#handlers[method as HostMethod] as (args: unknown, context: Context) => unknown;
      return handler(args, context);
    }
    return isComparison(method)
      ? this.#ofComparison(method, args as Args<ComparedMethod>, slices)
      : this.#asked(method as SessionMethod, args as ArgsOf<SessionMethod>, slices);
  }

  /** Where call nodes of a generation are now: 0 for what is not there any more, and for what is the root. */
  async #found(query: Query, sought: readonly SoughtCallNode[], generation: number, slices: Slices): Promise<number[]> {
    const own = this.#told.get(generation);
    const numbers = sought.map(({ callNode }) => callNode);
    const isAny = numbers.some((callNode) => callNode !== 0);
    const moved =
      isAny && own !== undefined
        ? await this.#asked("movedCallNodes", { query, generation: own, callNodes: numbers }, slices)
        : numbers.map(() => 0);
    // The session does not keep every tree of the names before.
    return Promise.all(
      sought.map(({ callNode, place }, at) =>
        callNode !== 0 && moved[at] === 0 && place !== null
          ? this.#asked("findCallNode", { query, place }, slices)
          : (moved[at] ?? 0),
      ),
    );
  }

  get #open(): Session {
    if (this.#session === null) {
      throw { kind: "nothing-open", message: "no profile is open" };
    }
    return this.#session;
  }

  /** Opens what is read, which may be looked at meanwhile. */
  async #read(read: (underway: Underway) => Promise<Session>, slices: Slices): Promise<Facts> {
    this.#soFar = null;
    const session = await read((reading) => {
      this.#reading = reading;
    });
    await this.#prepare(session, slices);
    return this.#grow(session);
  }

  /** Makes the views of what is about to take the place of less of it; until then that answers. */
  async #prepare(more: Session, slices: Slices, isWanted = (): boolean => true): Promise<void> {
    const less = this.#soFar;
    try {
      while (less !== null && less === this.#session && isWanted() && !more.prepareToFollow(less, ROWS)) {
        await slices.breathe({ stage: "counting", done: 0, total: 1 });
      }
    } catch (error) {
      more.free();
      throw error;
    }
  }

  /** More of what is being read takes the place of less. */
  #grow(session: Session): Facts {
    const isMore = this.#soFar !== null && this.#soFar === this.#session;
    this.#soFar = session;
    return this.#replace(session, isMore ? "more" : "another");
  }

  async #readParts(parts: readonly Part[], slices: Slices, underway?: Underway): Promise<Session> {
    const session = await read(parts, slices, underway);
    this.#parts.set(session, parts);
    return session;
  }

  async #readUrl({ carrier, parts, files, code }: Args<"openUrl">, slices: Slices, underway?: Underway): Promise<Session> {
    const session =
      carrier === null
        ? await this.#readParts(
            parts.map(({ url, size }) => partOfUrl(url, size, slices.signal)),
            slices,
            underway,
          )
        : Session.openLink(await fetchText(parts[0]?.url ?? "", slices));
    try {
      await tellFiles(session, files, slices);
      this.#codeUrls.set(session, code);
      await takeCode(session, code, slices);
      return session;
    } catch (error) {
      close(session);
      throw error;
    }
  }

  /** Offers what travelled in each recording to its own session; whether there was anything. */
  async #admitEmbedded(slices: Slices): Promise<boolean> {
    let hasAny = false;
    for (const session of this.#openSessions) {
      const files = session.takeEmbeddedFiles().map(({ name, bytes }) => ({ name, bytes: new Blob([bytes]) }));
      if (files.length > 0) {
        hasAny = true;
        const side = this.#sideOf(session);
        await side.offer(files, slices);
        side.askNames();
      }
    }
    return hasAny;
  }

  /** What two read at once of one session would have the same numbers. */
  #afterRereading<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#rereading.then(work);
    this.#rereading = result.catch(() => undefined);
    return result;
  }

  async #readBranches(query: Query, slices: Slices): Promise<boolean> {
    slices.check();
    const session = this.#open;
    const parts = this.#parts.get(session);
    if (parts === undefined) {
      return false;
    }
    const side = this.#sideOf(session);
    await readBranches(session, query, parts, slices, () => side.checkOpen(slices));
    side.askNames();
    return true;
  }

  /** Unwinds what can be of all that are open; whether anything could. */
  async #unwindAll(guesses: CallerGuesses, slices: Slices): Promise<boolean> {
    slices.check();
    const unwindOne = async (session: Session, side: ImagesSide): Promise<boolean> => {
      const parts = this.#parts.get(session);
      if (parts === undefined) {
        return false;
      }
      await side.takeUnwindTables(slices);
      session.guessCallers(guesses);
      const goOn = (): Promise<boolean> => unwind(session, parts, slices, () => side.checkOpen(slices));
      const isUnwound = await goOn();
      const code = this.#codeUrls.get(session);
      if (isUnwound && code !== undefined) {
        // Stacks lead to code of which no sample was taken, and a jitdump may tell how they go on.
        await takeCode(session, code, slices);
        side.checkOpen(slices);
        await goOn();
      }
      side.askNames();
      return isUnwound;
    };
    let isUnwound = false;
    const failures: unknown[] = [];
    // Any of them may be closed meanwhile, and what became of one is none of the other's business.
    for (const [session, side] of this.#openSessions.map((session) => [session, this.#sideOf(session)] as const)) {
      try {
        isUnwound = (await unwindOne(session, side)) || isUnwound;
      } catch (error) {
        slices.check();
        failures.push(error);
      }
    }
    if (failures.length > 0 && !isUnwound) {
      throw failures[0];
    }
    return isUnwound;
  }

  get #openSessions(): Session[] {
    const second = this.#compared.secondOrNull;
    return second === null ? [this.#open] : [this.#open, second];
  }

  /** Of all that are open, the first one first: what is dropped names either. */
  get #openSides(): ImagesSide[] {
    return this.#openSessions.map((session) => this.#sideOf(session));
  }

  #sideOf(session: Session): ImagesSide {
    const side = this.#sides.get(session) ?? new ImagesSide(session, this.#beginImages);
    side.codeUrl = this.#codeUrls.get(session) ?? null;
    this.#sides.set(session, side);
    return side;
  }

  #close(session: Session | null): void {
    if (session !== null) {
      this.#endSide(session);
      close(session);
    }
  }

  #endSide(session: Session): void {
    this.#sides.get(session)?.end();
    this.#sides.delete(session);
  }

  /** The address and its `#` count as part of the link. */
  async #share({ budget, base, options }: Args<"share">, slices: Slices): Promise<Result<"share">> {
    const before = base.length + 1;
    const asked = { options: { ...options, characters: Math.max(0, budget - before) } };
    const shared = await this.#asked("share", asked, slices);
    return { ...shared, characters: before + shared.payload.length };
  }

  #asked<M extends SessionMethod>(method: M, args: ArgsOf<M>, slices: Slices): Promise<AnswerTo<M>> {
    this.#isAsked = true;
    return answered(method, args, () => this.#open, this.#turns, slices);
  }

  #ofComparison(method: ComparedMethod, args: Args<ComparedMethod>, slices: Slices): Promise<unknown> {
    return this.#turns.take(slices, async () => {
      const comparison = await this.#compared.of(args.request, this.#open, () => this.generation, slices);
      return comparison.answer(method, args);
    });
  }

  #replaceSecond(session: Session): Result<"info"> {
    this.#compared.replace(session);
    return saidAtOnce(session, "info", {});
  }

  #replace(session: Session, by: "another" | "more"): Facts {
    if (by === "more" && this.#session !== null) {
      this.#compared.forget();
      this.#endSide(this.#session);
      followOn(session, this.#session);
    } else {
      this.#compared.replace(null);
      this.#close(this.#session);
      this.#told.clear();
      this.#isAsked = false;
    }
    this.#session = session;
    this.#opened += 1;
    return this.#facts();
  }

  #facts(): Facts {
    const said = (session: Session): Pick<Facts, "info" | "coverage"> => ({
      info: saidAtOnce(session, "info", {}),
      coverage: saidAtOnce(session, "coverage", {}),
    });
    const second = this.#compared.secondOrNull;
    this.#told.set(this.generation, this.#open.generation);
    return { ...said(this.#open), generation: this.generation, second: second && said(second) };
  }
}

/** The builds whose code a machine may be asked for. */
function codeOf(session: Session): (dso: number) => CodeOfBuild | null {
  return (dso) => {
    const { path = "", buildId: id = null } = saidAtOnce(session, "dsoRef", { dso }) ?? {};
    if (id === null) {
      return null;
    }
    // A kernel's file does not say what ran.
    const isKernel = path.startsWith("[kernel.kallsyms]");
    return isKernel || path.startsWith("/") ? { id, artifact: isKernel ? "memory" : "executable" } : null;
  };
}

/** Their names say so. */
function isComparison(method: Method): method is ComparedMethod {
  return method.startsWith("compared");
}
