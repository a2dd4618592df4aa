// Every method of the protocol, over the one session that is open.

import type { Comparison } from "../generated/perftab_web.js";
import { Session } from "../generated/perftab_web.js";
import type { Args, CompareRequest, Facts, FunctionsOrder, Method, Query, Result } from "../session/types.ts";
import { callNodeAround } from "./call_node.ts";
import { Comparisons } from "./compared.ts";
import { exported } from "./exported.ts";
import { admit } from "./given.ts";
import type { BeginImages } from "./images_side.ts";
import { ImagesSide } from "./images_side.ts";
import { partOfFile, partOfUrl } from "./parts.ts";
import { peek, unpackText } from "./peek.ts";
import type { Reading, Underway } from "./reading.ts";
import { read } from "./reading.ts";
import { allSteps, close, followOn, placed, ROWS, scanned } from "./scans.ts";
import { fetchText, tellFiles } from "./served.ts";
import type { Slices } from "./slices.ts";
import type { TreeDetail } from "./trees.ts";
import { ofTree, Turns } from "./trees.ts";
import type { Memory } from "./wasm.ts";

/** What a call of method `M` knows besides its arguments. */
interface Context {
  slices: Slices;
  /** The generation whose call nodes the page knew when it asked. */
  generation: number;
}

type Handlers = {
  [M in Method]: (args: Args<M>, context: Context) => Result<M> | Promise<Result<M>>;
};

export class Calls {
  readonly #memory: Memory;
  readonly #beginImages: BeginImages;
  #session: Session | null = null;
  /** The files of each session that is open. */
  readonly #sides = new Map<Session, ImagesSide>();
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

  readonly handlers: Handlers = {
    peek: ({ files }, { slices }) => peek(files, slices),
    unpackText: ({ file }, { slices }) => unpackText(file, slices),
    open: ({ parts }, { slices }) => this.#read((underway) => read(parts.map(partOfFile), slices, underway)),
    openUrl: (args, { slices }) => this.#read((underway) => readUrl(args, slices, underway)),
    readSoFar: () => {
      const soFar = this.#reading?.opening.soFar() ?? null;
      return soFar && this.#grow(soFar);
    },
    stopReading: () => {
      this.#reading?.stop();
      return null;
    },
    openLink: ({ payload }) => this.#replace(Session.openLink(payload), "another"),
    facts: ({ query, callNodes }, { slices, generation }) => {
      const own = this.#told.get(generation);
      if (own === undefined || callNodes.every((callNode) => callNode === 0)) {
        return { ...this.#facts(), callNodes: callNodes.map(() => 0) };
      }
      return this.#ofTree(query, slices, (session) => ({
        ...this.#facts(),
        callNodes: callNodes.map((callNode) => session.findMoved(query, own, callNode)),
      }));
    },
    info: () => this.#open.info(),
    dsos: () => this.#open.dsos(),
    filteredCoverage: ({ query }, { slices }) =>
      this.#ofLeft(query, slices, (session) => scanned(session, session.filteredCoverage(query), slices)),
    dsoUsers: ({ dsos }, { slices }) => scanned(this.#open, this.#open.dsoUsers(Uint32Array.from(dsos)), slices),
    coverage: () => this.#open.coverage(),
    generation: () => this.generation,
    admit: ({ files }, { slices }) => admit(this.#openSides, files, slices),
    force: async ({ dso, file }, { slices }) => {
      const side = this.#sideOf(this.#open);
      const outcome = await side.force(dso, file, slices);
      await side.nameFrames(slices);
      return outcome;
    },
    unforce: ({ dso }) => {
      this.#open.unforce(dso);
      return null;
    },
    countAs: ({ dso, countedAs }) => {
      this.#open.countAs(dso, countedAs);
      return null;
    },
    fetchDebuginfod: async (request, { slices }) => {
      const asked = this.#sideOf(request.which === "second" ? this.#compared.second : this.#open);
      const { answers, found } = await asked.fetch(request, slices);
      // One build may have run in both recordings.
      if (found !== null) {
        await Promise.all(this.#openSides.filter((side) => side !== asked).map((other) => other.offer([found], slices)));
      }
      return { answers };
    },
    nameFrames: async (_, { slices }) => {
      for (const side of this.#openSides) {
        await side.nameFrames(slices);
      }
      return null;
    },
    flameGraph: ({ query, window }, { slices }) =>
      this.#ofTree(query, slices, (session) => scanned(session, session.flameGraph(query, window), slices)),
    callNode: (args, { slices }) => this.#ofTree(args.query, slices, (session) => callNodeAround(session, args)),
    callNodeDetail: ({ query, callNode }, { slices }) =>
      this.#ofTree(query, slices, (session) => session.callNodeDetail(query, callNode)),
    occurrence: async ({ query, request }, { slices }) => {
      await this.#ofTree(calleesOf(query), slices, () => undefined, "ends");
      const scan = await this.#ofTree(query, slices, (session) => session.occurrence(query, request));
      return scanned(this.#open, scan, slices);
    },
    findCallNode: ({ query, place }, { slices }) => this.#ofTree(query, slices, (session) => session.findCallNode(query, place)),
    callTreeChildren: ({ query, callNode, from, to }, { slices }) =>
      this.#ofTree(query, slices, (session) => session.callTreeChildren(query, callNode, from ?? 0, to)),
    callTreePath: ({ query, callNode }, { slices }) =>
      this.#ofTree(query, slices, (session) => session.callTreePath(query, callNode)),
    functions: ({ query, order, groupBy, from, to }, { slices }) => {
      const by = groupBy ?? "function";
      const view = async (session: Session): Promise<Result<"functions">> => {
        if (by === "function") {
          await allSteps([session], () => session.sortFunctions(query, orderFor(order), ROWS), slices);
        }
        return session.functions(query, orderFor(order), by, from, to);
      };
      return this.#ofTree(calleesOf(query), slices, view, by === "thread" ? "ends" : "tree");
    },
    timeOrder: ({ query, window }, { slices }) =>
      this.#ofTree(calleesOf(query), slices, (session) => session.timeOrder(query, window), "ends"),
    sandwich: ({ query, function: wanted }, { slices }) =>
      this.#ofTree(calleesOf(query), slices, (session) => session.sandwich(query, wanted)),
    hotLines: ({ query, function: wanted }, { slices }) =>
      this.#ofTree(calleesOf(query), slices, (session) => session.hotLines(query, wanted), "ends"),
    search: ({ query, text }, { slices }) =>
      this.#ofTree(query, slices, (session) => scanned(session, session.search(query, text), slices)),
    shown: ({ query }, { slices }) => this.#ofTree(query, slices, (session) => session.shown(query)),
    functionRef: ({ functionId }) => this.#open.functionRef(functionId),
    dsoRef: ({ dso }) => this.#open.dsoRef(dso),
    callNodePath: ({ query, callNode }, { slices }) =>
      this.#ofTree(query, slices, (session) => session.callNodePath(query, callNode)),
    tasks: ({ event }) => this.#open.tasks(event),
    timeline: ({ query, request }, { slices }) =>
      this.#ofLeft(query, slices, (session) => scanned(session, session.timeline(query, request), slices)),
    heatMap: ({ query, request }, { slices }) =>
      this.#ofLeft(query, slices, (session) => scanned(session, session.heatMap(query, request), slices)),
    heatCell: ({ query, start, end }, { slices }) =>
      this.#ofLeft(query, slices, (session) => session.heatCell(query, start, end)),
    marks: ({ start, end }) => this.#open.marks(start, end),
    rangePreview: (request, { slices }) => this.#rangePreview(request, slices),
    openSecond: async ({ parts }, { slices }) => this.#replaceSecond(await read(parts.map(partOfFile), slices)),
    openSecondUrl: async (args, { slices }) => this.#replaceSecond(await readUrl(args, slices)),
    comparedSides: ({ request }, { slices }) => this.#compare(request, slices, (compared) => compared.sides()),
    comparedGraph: ({ request, view, window }, { slices }) =>
      this.#compare(request, slices, (compared) => compared.flameGraph(view, window)),
    comparedDetail: ({ request, view, callNode }, { slices }) =>
      this.#compare(request, slices, (compared) => compared.detail(view, callNode)),
    comparedChildren: ({ request, view, callNode, most }, { slices }) =>
      this.#compare(request, slices, (compared) => compared.children(view, callNode, most)),
    comparedChanges: ({ request, view, rows }, { slices }) =>
      this.#compare(request, slices, (compared) => compared.changes(view, rows)),
    comparedDsos: ({ request, view }, { slices }) => this.#compare(request, slices, (compared) => compared.dsos(view)),
    comparedSearch: ({ request, view, text }, { slices }) =>
      this.#compare(request, slices, (compared) => compared.search(view, text)),
    share: (request, { slices }) => share(this.#open, request, slices),
    endSharing: () => {
      this.#open.endSharing();
      return null;
    },
    export: ({ request }, { slices }) => exported(this.#open, request, slices),
    exportLimits: ({ requests }) => requests.map((request) => this.#open.exportLimits(request)),
    renameProblem: ({ pattern }) => Session.renameProblem(pattern) ?? null,
    memory: () => [...this.#sides.values()].reduce((sum, { bytes }) => sum + bytes, this.#memory.buffer.byteLength),
  };

  get #open(): Session {
    if (this.#session === null) {
      throw { kind: "nothing-open", message: "no profile is open" };
    }
    return this.#session;
  }

  /** Opens what is read, which may be looked at meanwhile. */
  async #read(read: (underway: Underway) => Promise<Session>): Promise<Facts> {
    this.#soFar = null;
    const session = await read((reading) => {
      this.#reading = reading;
    });
    return this.#grow(session);
  }

  /** More of what is being read takes the place of less. */
  #grow(session: Session): Facts {
    const isMore = this.#soFar !== null && this.#soFar === this.#session;
    this.#soFar = session;
    return this.#replace(session, isMore ? "more" : "another");
  }

  /** Of all that are open, the first one first: what is dropped names either. */
  get #openSides(): ImagesSide[] {
    const second = this.#compared.secondOrNull;
    return (second === null ? [this.#open] : [this.#open, second]).map((session) => this.#sideOf(session));
  }

  #sideOf(session: Session): ImagesSide {
    const side = this.#sides.get(session) ?? new ImagesSide(session, this.#beginImages);
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

  /** What a view says of a query's tree, which is made first. */
  #ofTree<Answer>(
    query: Query,
    slices: Slices,
    view: (session: Session) => Answer | Promise<Answer>,
    noted: TreeDetail = "tree",
  ): Promise<Answer> {
    return this.#turns.take(slices, () => {
      const session = this.#open;
      return ofTree(session, query, noted, slices, () => view(session));
    });
  }

  /** A view of all times, in which steps may take samples away: which, only the tree of callees says. */
  async #ofLeft<Answer>(query: Query, slices: Slices, view: (session: Session) => Answer | Promise<Answer>): Promise<Answer> {
    // What a query leaves out has its default.
    const { steps = [] } = query;
    if (steps.length === 0) {
      return view(this.#open);
    }
    return await this.#ofTree(calleesOf({ ...query, range: null }), slices, view, "ends");
  }

  async #rangePreview({ query, range, window }: Args<"rangePreview">, slices: Slices): Promise<Result<"rangePreview">> {
    const session = this.#open;
    for (;;) {
      const preview = session.rangePreview(query, range, window);
      if (preview !== null) {
        return preview;
      }
      // Of the first range: a tree with where samples end takes its turn; placing them lets others in between.
      await this.#ofTree(calleesOf({ ...query, range: null }), slices, () => undefined, "ends");
      await placed(session, query, slices);
    }
  }

  #compare<Answer>(request: CompareRequest, slices: Slices, view: (comparison: Comparison) => Answer): Promise<Answer> {
    return this.#turns.take(slices, async () =>
      view(await this.#compared.of(request, this.#open, () => this.generation, slices)),
    );
  }

  #replaceSecond(session: Session): Result<"info"> {
    this.#compared.replace(session);
    return session.info();
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
    }
    this.#session = session;
    this.#opened += 1;
    return this.#facts();
  }

  #facts(): Facts {
    const said = (session: Session): Pick<Facts, "info" | "coverage"> => ({
      info: session.info(),
      coverage: session.coverage(),
    });
    const second = this.#compared.secondOrNull;
    this.#told.set(this.generation, this.#open.generation);
    return { ...said(this.#open), generation: this.generation, second: second && said(second) };
  }
}

async function readUrl({ carrier, parts, files }: Args<"openUrl">, slices: Slices, underway?: Underway): Promise<Session> {
  const session =
    carrier === null
      ? await read(
          parts.map(({ url, size }) => partOfUrl(url, size, slices.signal)),
          slices,
          underway,
        )
      : Session.openLink(await fetchText(parts[0]?.url ?? "", slices));
  try {
    await tellFiles(session, files, slices);
    return session;
  } catch (error) {
    close(session);
    throw error;
  }
}

/** What asks by the number of a call node; the root's number is always the same. */
export function asksByCallNode(method: Method, args: unknown): boolean {
  switch (method) {
    case "callNode":
    case "callNodeDetail":
    case "callTreeChildren":
    case "callTreePath":
    case "callNodePath":
    case "comparedDetail":
    case "comparedChildren":
      return (args as Args<"callNodeDetail">).callNode !== 0;
    case "occurrence":
      return (args as Args<"occurrence">).request.subject.kind === "call-node";
    case "flameGraph":
    case "comparedGraph":
    case "rangePreview":
      return (args as Args<"flameGraph">).window.root !== 0;
    default:
      return false;
  }
}

/** Views of functions know no direction. */
function calleesOf(query: Query): Query {
  return { ...query, direction: "callees", around: null };
}

function orderFor({ key, descending }: FunctionsOrder): { key: FunctionsOrder["key"]; direction: "descending" | "ascending" } {
  return { key, direction: descending ? "descending" : "ascending" };
}

/** The address and its `#` count as part of the link. */
async function share(session: Session, { budget, base, options }: Args<"share">, slices: Slices): Promise<Result<"share">> {
  const before = base.length + 1;
  const shared = await scanned(session, session.share({ ...options, characters: Math.max(0, budget - before) }), slices);
  return { ...shared, characters: before + shared.payload.length };
}
