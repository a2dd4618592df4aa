// Every method of the protocol, over the one session that is open.

import type { Comparison } from "../generated/perftab_web.js";
import { Session } from "../generated/perftab_web.js";
import type { Args, CompareRequest, FunctionsOrder, Method, Result } from "../session/types.ts";
import { Compared } from "./compared.ts";
import { fetchDso } from "./debuginfod.ts";
import { admit, force } from "./naming.ts";
import { fetchLateIds } from "./late_ids.ts";
import { partOfFile, partOfUrl } from "./parts.ts";
import { peek } from "./peek.ts";
import { read } from "./reading.ts";
import { rangePreview, scanned } from "./scans.ts";
import type { Slices } from "./slices.ts";
import type { Memory } from "./wasm.ts";

/** What a call of method `M` knows besides its arguments. */
interface Context {
  slices: Slices;
}

type Handlers = {
  [M in Method]: (args: Args<M>, context: Context) => Result<M> | Promise<Result<M>>;
};

export class Calls {
  readonly #memory: Memory;
  #session: Session | null = null;
  readonly #compared = new Compared();
  /** Counts sessions, so that no two of them have a generation in common. */
  #opened = 0;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Ids of call nodes are of one generation: names that change, or another profile, begin a new one. */
  get generation(): number {
    return this.#opened * 1e6 + (this.#session?.generation ?? 0) + this.#compared.generation;
  }

  readonly handlers: Handlers = {
    peek: ({ files }, { slices }) => peek(files, slices),
    open: async ({ parts }, { slices }) => this.#replace(await read(parts.map(partOfFile), slices)),
    openUrl: async (args, { slices }) => this.#replace(await readUrl(args, slices)),
    openLink: ({ payload }) => this.#replace(Session.openLink(payload)),
    info: () => this.#open.info(),
    dsos: () => this.#open.dsos(),
    filteredCoverage: ({ query }) => this.#open.filteredCoverage(query),
    dsoUsers: ({ dso }) => this.#open.dsoUsers(dso),
    coverage: () => this.#open.coverage(),
    generation: () => this.generation,
    admit: ({ files }, { slices }) => admit(this.#sessions, files, slices),
    force: ({ dso, file }, { slices }) => force(this.#open, dso, file, slices),
    unforce: ({ dso }) => {
      this.#open.unforce(dso);
      return null;
    },
    countAs: ({ dso, countedAs }) => {
      this.#open.countAs(dso, countedAs);
      return null;
    },
    fetchDebuginfod: (request, { slices }) => {
      const asked = request.which === "second" ? this.#compared.second : this.#open;
      return fetchDso(asked, this.#sessions.filter((other) => other !== asked), request, slices);
    },
    flameGraph: ({ query, window }) => this.#open.flameGraph(query, window),
    callNodeDetail: ({ query, callNode }) => this.#open.callNodeDetail(query, callNode),
    findCallNode: ({ query, place }) => this.#open.findCallNode(query, place),
    callTreeChildren: ({ query, callNode, from, to }) => this.#open.callTreeChildren(query, callNode, from ?? 0, to),
    callTreePath: ({ query, callNode }) => this.#open.callTreePath(query, callNode),
    functions: ({ query, order, groupBy, from, to }) => this.#open.functions(query, orderFor(order), groupBy ?? "function", from, to),
    timeOrder: ({ query, window }) => this.#open.timeOrder(query, window),
    sandwich: ({ query, function: wanted }) => this.#open.sandwich(query, wanted),
    search: ({ query, text }) => this.#open.search(query, text),
    shown: ({ query }) => this.#open.shown(query),
    functionRef: ({ functionId }) => this.#open.functionRef(functionId),
    dsoRef: ({ dso }) => this.#open.dsoRef(dso),
    callNodePath: ({ query, callNode }) => this.#open.callNodePath(query, callNode),
    tasks: ({ event }) => this.#open.tasks(event),
    timeline: ({ query, request }, { slices }) => scanned(this.#open, this.#open.timeline(query, request), slices),
    heatMap: ({ query, request }, { slices }) => scanned(this.#open, this.#open.heatMap(query, request), slices),
    heatCell: ({ query, start, end }) => this.#open.heatCell(query, start, end),
    marks: ({ start, end }) => this.#open.marks(start, end),
    rangePreview: (request, { slices }) => rangePreview(this.#open, request, slices),
    openSecond: async ({ parts }, { slices }) => this.#replaceSecond(await read(parts.map(partOfFile), slices)),
    openSecondUrl: async (args, { slices }) => this.#replaceSecond(await readUrl(args, slices)),
    secondInfo: () => this.#compared.second.info(),
    comparedSides: ({ request }) => this.#compare(request).sides(),
    comparedGraph: ({ request, view, window }) => this.#compare(request).flameGraph(view, window),
    comparedDetail: ({ request, view, callNode }) => this.#compare(request).detail(view, callNode),
    comparedChanges: ({ request, view, rows }) => this.#compare(request).changes(view, rows),
    comparedDsos: ({ request, view }) => this.#compare(request).dsos(view),
    comparedSearch: ({ request, view, text }) => this.#compare(request).search(view, text),
    share: (request) => share(this.#open, request),
    exportCollapsed: ({ query }) => new Blob([this.#open.exportCollapsed(query)], { type: "text/plain" }),
    memory: () => this.#memory.buffer.byteLength,
  };

  get #open(): Session {
    if (this.#session === null) {
      throw { kind: "nothing-open", message: "no profile is open" };
    }
    return this.#session;
  }

  /** All that are open, the first one first: what is dropped names either. */
  get #sessions(): Session[] {
    const second = this.#compared.secondOrNull;
    return second === null ? [this.#open] : [this.#open, second];
  }

  #compare(request: CompareRequest): Comparison {
    return this.#compared.of(request, this.#open, this.generation);
  }

  #replaceSecond(session: Session): Result<"info"> {
    this.#compared.replace(session);
    return session.info();
  }

  #replace(session: Session): Result<"info"> {
    this.#compared.replace(null);
    this.#session?.free();
    this.#session = session;
    this.#opened += 1;
    return session.info();
  }
}

async function readUrl({ parts, lateIds }: Args<"openUrl">, slices: Slices): Promise<Session> {
  const session = await read(parts.map(({ url, size }) => partOfUrl(url, size, slices.signal)), slices);
  session.distrust(await fetchLateIds(lateIds, slices));
  return session;
}

/** What asks by the number of a call node; the root's number is always the same. */
export function asksByCallNode(method: Method, args: unknown): boolean {
  switch (method) {
    case "callNodeDetail":
    case "callTreeChildren":
    case "callTreePath":
    case "callNodePath":
    case "comparedDetail":
      return (args as Args<"callNodeDetail">).callNode !== 0;
    case "flameGraph":
    case "comparedGraph":
    case "rangePreview":
      return (args as Args<"flameGraph">).window.root !== 0;
    default:
      return false;
  }
}

function orderFor({ key, descending }: FunctionsOrder): { key: FunctionsOrder["key"]; direction: "descending" | "ascending" } {
  return { key, direction: descending ? "descending" : "ascending" };
}

/** The address and its `#` count as part of the link. */
function share(session: Session, { budget, base, parts }: Args<"share">): Result<"share"> {
  const before = base.length + 1;
  const shared = session.share(Math.max(0, budget - before), parts);
  return { ...shared, characters: before + shared.payload.length };
}
