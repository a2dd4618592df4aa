// A call tree as large as one likes, the same for the same seed: what views are developed and measured with.

import { Flag, Kind, NONE } from "../../src/session/types.ts";

export interface TreeNode {
  id: number;
  parent: TreeNode | null;
  children: TreeNode[];
  name: string;
  dso: string;
  kind: number;
  flags: number;
  functionId: number;
  self: number;
  total: number;
  depth: number;
}

/** A small generator of numbers of 0 to 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Origin {
  dso: string;
  kind: number;
  names: string[];
}

const ORIGINS: Origin[] = [
  {
    dso: "nginx",
    kind: Kind.Own,
    names: [
      "main",
      "ngx_worker_process_cycle",
      "ngx_process_events_and_timers",
      "ngx_http_process_request_line",
      "ngx_http_core_run_phases",
      "ngx_http_static_handler",
      "ngx_http_gzip_body_filter",
      "ngx_http_output_filter",
    ],
  },
  {
    dso: "edge-auth",
    kind: Kind.Own,
    names: [
      "tokio::runtime::task::harness::Harness<T, S>::poll",
      "<alloc::vec::Vec<T, A> as core::ops::drop::Drop>::drop",
      "core::slice::sort::unstable::quicksort::<u64, fn(&u64, &u64) -> bool>",
      "edge_auth::token::verify::{{closure}}",
      "std::collections::hash::map::HashMap<alloc::string::String, edge_auth::route::Route, ahash::RandomState>::get",
    ],
  },
  {
    dso: "libc.so.6",
    kind: Kind.System,
    names: ["__libc_start_main_impl", "malloc", "_int_free", "__memmove_avx_unaligned_erms", "sendfile64", "read"],
  },
  { dso: "libz.so.1.3.1", kind: Kind.System, names: ["deflate", "deflate_slow", "longest_match", "fill_window", "crc32_z"] },
  {
    dso: "[kernel.kallsyms]",
    kind: Kind.Kernel,
    names: [
      "entry_SYSCALL_64_after_hwframe",
      "do_syscall_64",
      "__do_sys_sendfile64",
      "tcp_sendmsg_locked",
      "ip_queue_xmit",
      "copy_folio_to_iter",
      "cpuidle_enter_state",
    ],
  },
  { dso: "[jit] node 4121", kind: Kind.Jit, names: ["JS:*renderToString", "JS:~escapeHtml", "Builtins_RegExpPrototypeExec"] },
  { dso: "libcrypto.so.3", kind: Kind.Unnamed, names: [] },
];

const PROCESSES = ["nginx", "edge-auth", "node", "swapper/0"];

/**
 * A tree of about `size` call nodes, its children sorted by weight, heaviest first. Trees that share `functions` have
 * the same number for the same function.
 */
export function randomTree(seed: number, size: number, samples: number, functions: Map<string, number> = new Map()): TreeNode[] {
  const next = random(seed);
  const nodes: TreeNode[] = [];
  const add = (parent: TreeNode | null, name: string, dso: string, kind: number, flags: number): TreeNode => {
    const key = `${dso} ${name}`;
    const functionId = flags & Flag.Pseudo ? NONE : (functions.get(key) ?? functions.size);
    if (functionId !== NONE) {
      functions.set(key, functionId);
    }
    const node = {
      id: nodes.length,
      parent,
      children: [],
      name,
      dso,
      kind,
      flags,
      functionId,
      self: 0,
      total: 0,
      depth: parent ? parent.depth + 1 : 0,
    };
    nodes.push(node);
    parent?.children.push(node);
    return node;
  };
  const root = add(null, "all", "", Kind.Pseudo, Flag.Pseudo);
  for (const process of PROCESSES) {
    add(root, process, "", Kind.Pseudo, Flag.Pseudo);
  }
  while (nodes.length < size) {
    // Recent nodes are likelier parents, so that stacks become deep.
    const parent = nodes[1 + Math.floor((nodes.length - 1) * next() ** 0.6)] as TreeNode;
    if (parent.depth > 60) {
      continue;
    }
    const stay = next() < 0.7 ? ORIGINS.find((each) => each.dso === parent.dso) : undefined;
    const origin = stay ?? (ORIGINS[Math.floor(next() * ORIGINS.length)] as Origin);
    const name =
      origin.names[Math.floor(next() * origin.names.length)] ?? `0x${(0x1b0000 + Math.floor(next() * 4096) * 16).toString(16)}`;
    const forced = origin.dso === "libz.so.1.3.1" && next() < 0.15 ? Flag.Forced : 0;
    const inlined = origin.dso === "edge-auth" && next() < 0.4 ? Flag.Inlined : 0;
    add(parent, name, origin.dso, origin.kind, forced | inlined);
  }
  for (let i = 0; i < samples; i++) {
    const node = nodes[1 + Math.floor((nodes.length - 1) * next() ** 2.2)] as TreeNode;
    node.self += 1;
  }
  for (const node of [...nodes].reverse()) {
    node.total += node.self;
    if (node.parent) {
      node.parent.total += node.total;
    }
  }
  for (const node of nodes) {
    node.children.sort((a, b) => b.total - a.total || a.id - b.id);
    node.children = node.children.filter((child) => child.total > 0);
  }
  return nodes;
}
