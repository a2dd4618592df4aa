// A session over a random tree, answering what views ask. Layout as the protocol says; timing is not real.

import type { CallOptions, Session } from "../../src/session/client.ts";
import type {
  Args,
  CallNodeAround,
  CallNodeDetail,
  CallTreeRows,
  FlameGraph,
  FlameWindow,
  FunctionRows,
  Method,
  Query,
  Result,
} from "../../src/session/types.ts";
import { denseGraph } from "./dense_graph.ts";
import { fakeHeatCell, fakeHeatMap, fakeMarks, fakeTasks, fakeTimeline } from "./fake_time.ts";
import { Flag, Kind, NONE } from "../../src/session/types.ts";
import type { TreeNode } from "./random_tree.ts";
import { randomTree } from "./random_tree.ts";

const PERIOD = 250_000;
export const DSOS = [
  "nginx",
  "edge-auth",
  "libc.so.6",
  "libz.so.1.3.1",
  "[kernel.kallsyms]",
  "[jit] node 4121",
  "libcrypto.so.3",
];

/** The number in the ledger of the DSO of a call node. */
function dsoOf(node: TreeNode | null): number {
  const at = DSOS.indexOf(node?.dso ?? "");
  return at < 0 ? NONE : at;
}

/**
 * `dense` answers every layout with a graph as full as the painting budget allows for; `plain` with boxes of one colour
 * and without labels.
 */
type Layouts = "of-the-tree" | "dense" | "plain";

export class FakeSession implements Session {
  readonly #trees: Record<Query["direction"], TreeNode[]>;
  calls = 0;
  /** Besides those that each process has anyway. */
  threads = 0;
  generation = 0;

  readonly #layouts: Layouts;
  /** The last one that was answered. */
  graph: FlameGraph | null = null;

  constructor(size: number, samples: number, layouts: Layouts = "of-the-tree", seed = 7) {
    this.#layouts = layouts;
    const functions = new Map<string, number>();
    this.#trees = {
      callees: randomTree(seed, size, samples, functions),
      inverted: randomTree(seed + 1, size, samples, functions),
    };
  }

  get samples(): number {
    return this.#trees.callees[0]?.total ?? 0;
  }

  get asked(): number {
    return this.calls;
  }

  async answered(): Promise<void> {}

  async call<M extends Method>(method: M, args: Args<M>, _options?: CallOptions): Promise<Result<M>> {
    this.calls++;
    await new Promise((resolve) => setTimeout(resolve, 3));
    const answers: Partial<Record<Method, (args: never) => unknown>> = {
      flameGraph: ({ query, window }: Args<"flameGraph">) => this.#flameGraph(query, window),
      callNode: ({ query, callNode, most }: Args<"callNode">) => this.#around(query, callNode, most),
      callNodeDetail: ({ query, callNode }: Args<"callNodeDetail">) => this.#detail(query, callNode),
      callTreeChildren: ({ query, callNode, from, to }: Args<"callTreeChildren">) => this.#children(query, callNode, from, to),
      callTreePath: ({ query, callNode }: Args<"callTreePath">) => this.#rows(pathOf(this.#node(query, callNode))),
      functions: ({ query, order, from, to }: Args<"functions">) => this.#functions(query, order, from, to),
      rangePreview: ({ query, window }: Args<"rangePreview">) => this.#flameGraph(query, window),
      timeline: ({ request }: Args<"timeline">) => fakeTimeline(request, this.threads),
      tasks: fakeTasks,
      marks: fakeMarks,
      heatMap: ({ request }: Args<"heatMap">) => fakeHeatMap(request),
      heatCell: ({ start, end }: Args<"heatCell">) => fakeHeatCell(start, end),
    };
    const answer = answers[method];
    if (!answer) {
      throw new Error(`the fake session knows no ${method}`);
    }
    return answer(args as never) as Result<M>;
  }

  #node(query: Query, callNode: number): TreeNode {
    const node = this.#trees[query.direction][callNode];
    if (!node) {
      throw new Error(`no call node ${callNode}`);
    }
    return node;
  }

  #flameGraph(query: Query, window: FlameWindow): FlameGraph {
    const ofTree = (): FlameGraph => layOut(this.#node(query, window.root), window, this.#node(query, 0).total);
    const graph = this.#layouts === "dense" ? denseGraph(window) : ofTree();
    if (this.#layouts === "plain") {
      graph.label.fill(NONE);
      graph.kind.fill(Kind.Own);
      graph.flags.fill(0);
      graph.shade.fill(0);
      graph.folded.fill(0);
    }
    // The transferred columns of a real session are the page's own too.
    if (window.root === 0 && window.minPx < 1) {
      this.graph = graph;
    }
    return graph;
  }

  #detail(query: Query, callNode: number): CallNodeDetail | null {
    if (callNode >= this.#trees[query.direction].length) {
      return null;
    }
    const node = this.#node(query, callNode);
    const siblings = node.parent?.children ?? [node];
    const at = siblings.indexOf(node);
    const isPseudo = (node.flags & Flag.Pseudo) !== 0;
    return {
      callNode,
      name: node.name,
      functionId: node.functionId === NONE ? null : node.functionId,
      dsoId: null,
      dso: isPseudo ? null : node.dso,
      dsoStatus: isPseudo ? null : node.flags & Flag.Forced ? "forced" : node.kind === Kind.Unnamed ? "missing" : "matched",
      buildId: isPseudo ? null : "9f31c07a5be2d05e9f31c07a5be2d05e9f31c07a",
      address: isPseudo ? null : `0x${node.id.toString(16)}`,
      file: node.kind === Kind.Own ? "src/http/ngx_http_request.c" : null,
      line: node.kind === Kind.Own ? 1271 : null,
      inlined: (node.flags & Flag.Inlined) !== 0,
      kind: node.kind,
      flags: node.flags,
      processes: [],
      totalWeight: node.total * PERIOD,
      selfWeight: node.self * PERIOD,
      totalSamples: node.total,
      selfSamples: node.self,
      path: pathOf(node)
        .slice(1)
        .map((each) => each.name),
      pathKinds: pathOf(node)
        .slice(1)
        .map((each) => each.kind),
      pathFlags: pathOf(node)
        .slice(1)
        .map((each) => each.flags),
      pathNodes: pathOf(node)
        .slice(1)
        .map((each) => each.id),
      pathFrames: pathOf(node)
        .slice(1)
        .map((each) => each.id),
      depth: node.depth,
      parent: node.parent?.id ?? null,
      heaviestChild: node.children[0]?.id ?? null,
      previousSibling: siblings[at - 1]?.id ?? null,
      nextSibling: siblings[at + 1]?.id ?? null,
      setSize: siblings.length,
      posInSet: at + 1,
      childCount: node.children.length,
    };
  }

  #around(query: Query, callNode: number, most: number): CallNodeAround | null {
    const detail = this.#detail(query, callNode);
    if (detail === null) {
      return null;
    }
    const { parent, posInSet } = detail;
    return {
      detail,
      path: this.#rows(pathOf(this.#node(query, callNode))),
      siblings: parent === null ? null : this.#children(query, parent, Math.max(0, posInSet - 1 - most / 2), posInSet + most / 2),
      children: this.#children(query, callNode, 0, most),
    };
  }

  #children(query: Query, callNode: number, from = 0, to?: number): CallTreeRows {
    return this.#rows(this.#node(query, callNode).children.slice(from, to));
  }

  #rows(children: TreeNode[]): CallTreeRows {
    return {
      callNode: Uint32Array.from(children, (each) => each.id),
      depth: Uint16Array.from(children, (each) => each.depth),
      childCount: Uint32Array.from(children, (each) => each.children.length),
      total: Float64Array.from(children, (each) => each.total * PERIOD),
      self: Float64Array.from(children, (each) => each.self * PERIOD),
      functionId: Uint32Array.from(children, (each) => each.functionId),
      kind: Uint8Array.from(children, (each) => each.kind),
      flags: Uint8Array.from(children, (each) => each.flags),
      names: children.map((each) => each.name),
      dsos: children.map((each) => each.dso),
      dso: Uint32Array.from(children, dsoOf),
      samples: Float64Array.from(children, (each) => each.total),
      posInSet: Uint32Array.from(children, (each) => (each.parent?.children.indexOf(each) ?? 0) + 1),
      setSize: Uint32Array.from(children, (each) => each.parent?.children.length ?? 1),
    };
  }

  #functions(query: Query, order: Args<"functions">["order"], from: number, to: number): FunctionRows {
    const byId = new Map<number, { node: TreeNode; self: number; total: number }>();
    for (const node of this.#trees[query.direction]) {
      if (node.functionId === NONE || node.total === 0) {
        continue;
      }
      const sum = byId.get(node.functionId) ?? { node, self: 0, total: 0 };
      sum.self += node.self;
      if (
        !pathOf(node)
          .slice(0, -1)
          .some((each) => each.functionId === node.functionId)
      ) {
        sum.total += node.total;
      }
      if (node.total > sum.node.total) {
        sum.node = node;
      }
      byId.set(node.functionId, sum);
    }
    const way = order.direction === "descending" ? -1 : 1;
    const rows = [...byId.values()].sort((a, b) => {
      const difference =
        order.key === "self" || order.key === "mean"
          ? a.self - b.self
          : order.key === "total"
            ? a.total - b.total
            : a.node[order.key].localeCompare(b.node[order.key]);
      return way * difference || a.node.functionId - b.node.functionId;
    });
    const shown = rows.slice(from, to);
    return {
      totalCount: rows.length,
      unnamed: 0,
      allTotal: (this.#trees[query.direction][0]?.total ?? 0) * PERIOD,
      largestSelf: Math.max(0, ...rows.map((each) => each.self * PERIOD)),
      functionId: Uint32Array.from(shown, (each) => each.node.functionId),
      heaviest: Uint32Array.from(shown, (each) => each.node.id),
      self: Float64Array.from(shown, (each) => each.self * PERIOD),
      total: Float64Array.from(shown, (each) => each.total * PERIOD),
      kind: Uint8Array.from(shown, (each) => each.node.kind),
      flags: Uint8Array.from(shown, (each) => each.node.flags),
      names: shown.map((each) => each.node.name),
      dsos: shown.map((each) => each.node.dso),
    };
  }
}

function pathOf(node: TreeNode): TreeNode[] {
  const path: TreeNode[] = [];
  for (let at: TreeNode | null = node; at; at = at.parent) {
    path.unshift(at);
  }
  return path;
}

interface Box {
  node: TreeNode | null;
  folded: number;
  total: number;
  start: number;
  end: number;
}

/** Lays a subtree out row by row; calls narrower than `minPx` fold into one box per parent. */
export function layOut(root: TreeNode, window: FlameWindow, allTotal: number): FlameGraph {
  const rows: Box[][] = [[{ node: root, folded: 0, total: root.total, start: 0, end: window.widthPx }]];
  for (let row = rows[0]; row && row.length > 0; row = rows.at(-1)) {
    const below = row.flatMap((box) => childBoxes(box, window.minPx));
    if (below.length === 0) {
      break;
    }
    rows.push(below);
  }
  const boxes = rows.flat();
  const labels: string[] = [];
  const labelIndex = new Map<string, number>();
  const label = (box: Box): number => {
    if (!box.node || box.end - box.start < 20) {
      return NONE;
    }
    const known = labelIndex.get(box.node.name) ?? labels.push(box.node.name) - 1;
    labelIndex.set(box.node.name, known);
    return known;
  };
  let sum = 0;
  const matches = (box: Box): boolean =>
    window.search !== "" && box.node !== null && box.node.name.toLowerCase().includes(window.search.toLowerCase());
  return {
    depths: rows.length,
    rowStart: Uint32Array.from([0, ...rows.map((row) => (sum += row.length))]),
    start: Float32Array.from(boxes, (box) => box.start),
    end: Float32Array.from(boxes, (box) => box.end),
    callNode: Uint32Array.from(boxes, (box) => box.node?.id ?? NONE),
    folded: Uint32Array.from(boxes, (box) => box.folded),
    kind: Uint8Array.from(boxes, (box) => box.node?.kind ?? Kind.Folded),
    shade: Uint8Array.from(boxes, (box) => (box.node ? box.node.functionId % 3 : 0)),
    flags: Uint8Array.from(boxes, (box) => (box.node?.flags ?? 0) | (matches(box) ? Flag.Match : 0)),
    functionId: Uint32Array.from(boxes, (box) => box.node?.functionId ?? NONE),
    dso: Uint32Array.from(boxes, (box) => dsoOf(box.node)),
    label: Uint32Array.from(boxes, label),
    labels,
    total: Float64Array.from(boxes, (box) => box.total * PERIOD),
    self: Float64Array.from(boxes, (box) => (box.node?.self ?? box.total) * PERIOD),
    path: pathOf(root)
      .slice(0, -1)
      .map((each) => ({ callNode: each.id, name: each.name, flags: each.flags })),
    rootTotal: root.total * PERIOD,
    rootSamples: root.total,
    allTotal: allTotal * PERIOD,
    allSamples: 100,
    generation: 0,
  };
}

function childBoxes(box: Box, minPx: number): Box[] {
  if (!box.node || box.node.total === 0) {
    return [];
  }
  const scale = (box.end - box.start) / box.node.total;
  const boxes: Box[] = [];
  let start = box.start;
  let folded = 0;
  let total = 0;
  for (const child of box.node.children) {
    const width = child.total * scale;
    if (width < minPx) {
      folded++;
      total += child.total;
      continue;
    }
    boxes.push({ node: child, folded: 0, total: child.total, start, end: start + width });
    start += width;
  }
  if (total * scale >= minPx) {
    boxes.push({ node: null, folded, total, start, end: start + total * scale });
  }
  return boxes;
}
