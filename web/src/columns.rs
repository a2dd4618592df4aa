//! Answers as objects of typed arrays.

use js_sys::{
    Array, Float32Array, Float64Array, Object, Reflect, Uint8Array, Uint16Array, Uint32Array,
};
use perftab_core::session::{CallTreeRows, FunctionRows, SearchResult};
use perftab_core::{FlameGraph, ForceError, TimeOrder};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const COLUMNS: &str = "
/** Boxes of a flame graph, row by row; those of a row from left to right. */
export interface FlameGraph {
  depths: number;
  /** First box of each row, and one more. */
  rowStart: Uint32Array;
  start: Float32Array;
  end: Float32Array;
  /** 0xffffffff for a box that stands for several. */
  callNode: Uint32Array;
  /** How many those are, else 0: narrow calls, or unnamed code of one DSO. */
  folded: Uint32Array;
  kind: Uint8Array;
  shade: Uint8Array;
  flags: Uint8Array;
  functionId: Uint32Array;
  /** Number in the ledger, 0xffffffff for none. */
  dso: Uint32Array;
  /** Position in `labels`, 0xffffffff for none. */
  label: Uint32Array;
  labels: string[];
  total: Float64Array;
  self: Float64Array;
  /** From the root to the call node that fills the width. */
  path: PathStep[];
  rootTotal: number;
  rootSamples: number;
  allTotal: number;
  allSamples: number;
  generation: number;
}
/** One thread's stacks along time. The first row is the thread; call nodes are those of the query's tree of callees. */
export interface TimeOrder extends FlameGraph {
  /** By box. */
  samples: Float64Array;
  /** Why there is no box. */
  nothing: EmptyReason | null;
  /** The event's usual distance between samples of a thread, in nanoseconds. */
  distance: number;
}
export interface CallTreeRows {
  callNode: Uint32Array;
  depth: Uint16Array;
  childCount: Uint32Array;
  total: Float64Array;
  self: Float64Array;
  functionId: Uint32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  names: string[];
  dsos: string[];
  /** Numbers in the ledger, 0xffffffff for none. */
  dso: Uint32Array;
  samples: Float64Array;
  posInSet: Uint32Array;
  setSize: Uint32Array;
}
export interface FunctionRows {
  totalCount: number;
  /** The weight of all samples, and the largest of those that end in a row. */
  allTotal: number;
  largestSelf: number;
  /**
   * What a row is known by: the number of a function, the number of a DSO in the ledger, a tid, or the number of a source
   * file. 0xffffffff for what is none of these.
   */
  functionId: Uint32Array;
  /** The heaviest call node of each; 0xffffffff for threads. */
  heaviest: Uint32Array;
  self: Float64Array;
  total: Float64Array;
  kind: Uint8Array;
  flags: Uint8Array;
  /** Of a file its path, of a thread its last name and its number. */
  names: string[];
  /** Names of DSOs; of processes, where rows are threads. */
  dsos: string[];
}
export interface SearchResult {
  functions: number;
  samples: number;
  weight: number;
  share: number;
  /** The heaviest call node of each function, heaviest function first. */
  matches: Uint32Array;
  /** Why the text cannot be looked for, in words; null if it can. */
  problem: string | null;
}
";

/// What became of a file that the user insisted on.
#[derive(Serialize, Tsify)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ForceOutcome {
    /// It names the DSO, and every name is marked.
    Forced {
        /// Frames that got a name.
        frames: usize,
    },
    /// It is the file that ran: nothing had to be forced.
    Matched {
        /// Numbers in the ledger of the DSOs that it names.
        dsos: Vec<u32>,
        /// What it holds, in words.
        gives: &'static str,
    },
    /// It is of no use.
    Refused {
        /// Why.
        reason: ForceError,
        /// The same in words.
        message: String,
    },
}

/// An object with these properties.
pub fn object(properties: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in properties {
        add(&object, name, value.clone());
    }
    object
}

/// Adds a property to an object that has just been made.
pub fn add(object: &Object, name: &str, value: impl Into<JsValue>) {
    // Setting a property of a plain object cannot fail.
    let _ = Reflect::set(object, &name.into(), &value.into());
}

/// An array of texts.
pub fn texts(texts: &[String]) -> JsValue {
    texts.iter().map(|text| JsValue::from_str(text)).collect::<Array>().into()
}

/// As the TypeScript type of the name.
pub fn flame_graph(graph: &FlameGraph) -> Object {
    object(&[
        ("depths", JsValue::from(graph.row_start.len().saturating_sub(1) as u32)),
        ("rowStart", Uint32Array::from(&graph.row_start[..]).into()),
        ("start", Float32Array::from(&graph.start[..]).into()),
        ("end", Float32Array::from(&graph.end[..]).into()),
        ("callNode", Uint32Array::from(&graph.call_node[..]).into()),
        ("folded", Uint32Array::from(&graph.folded[..]).into()),
        ("kind", Uint8Array::from(&graph.kind[..]).into()),
        ("shade", Uint8Array::from(&graph.shade[..]).into()),
        ("flags", Uint8Array::from(&graph.marks[..]).into()),
        ("functionId", Uint32Array::from(&graph.function[..]).into()),
        ("dso", Uint32Array::from(&graph.dso[..]).into()),
        ("label", Uint32Array::from(&graph.label[..]).into()),
        ("labels", texts(&graph.labels)),
        ("total", Float64Array::from(&graph.total[..]).into()),
        ("self", Float64Array::from(&graph.self_weight[..]).into()),
    ])
}

/// As the TypeScript type of the name, but for what is of the whole query. The way to what fills
/// the width is none, and what fills it is the thread.
pub fn time_order(order: &TimeOrder) -> Object {
    let answer = flame_graph(&order.graph);
    let samples: Vec<f64> = order.samples.iter().map(|&samples| samples as f64).collect();
    add(&answer, "rootTotal", order.graph.total.first().copied().unwrap_or_default());
    add(&answer, "rootSamples", samples.first().copied().unwrap_or_default());
    add(&answer, "samples", Float64Array::from(&samples[..]));
    add(&answer, "nothing", order.nothing.map_or(JsValue::NULL, |why| why.name().into()));
    add(&answer, "distance", order.distance as f64);
    add(&answer, "path", Array::new());
    answer
}

/// As the TypeScript type of the name.
pub fn call_tree_rows(rows: &CallTreeRows) -> Object {
    object(&[
        ("callNode", Uint32Array::from(&rows.call_node[..]).into()),
        ("depth", Uint16Array::from(&rows.depth[..]).into()),
        ("dso", Uint32Array::from(&rows.dso[..]).into()),
        ("samples", Float64Array::from(&rows.samples[..]).into()),
        ("posInSet", Uint32Array::from(&rows.pos_in_set[..]).into()),
        ("setSize", Uint32Array::from(&rows.set_size[..]).into()),
        ("childCount", Uint32Array::from(&rows.child_count[..]).into()),
        ("total", Float64Array::from(&rows.total[..]).into()),
        ("self", Float64Array::from(&rows.self_weight[..]).into()),
        ("functionId", Uint32Array::from(&rows.function[..]).into()),
        ("kind", Uint8Array::from(&rows.kind[..]).into()),
        ("flags", Uint8Array::from(&rows.marks[..]).into()),
        ("names", texts(&rows.names)),
        ("dsos", texts(&rows.dsos)),
    ])
}

/// As the TypeScript type of the name.
pub fn function_rows(rows: &FunctionRows) -> Object {
    object(&[
        ("totalCount", JsValue::from(rows.count)),
        ("allTotal", JsValue::from(rows.all_total)),
        ("largestSelf", JsValue::from(rows.largest_self)),
        ("functionId", Uint32Array::from(&rows.function[..]).into()),
        ("heaviest", Uint32Array::from(&rows.heaviest[..]).into()),
        ("self", Float64Array::from(&rows.self_weight[..]).into()),
        ("total", Float64Array::from(&rows.total[..]).into()),
        ("kind", Uint8Array::from(&rows.kind[..]).into()),
        ("flags", Uint8Array::from(&rows.marks[..]).into()),
        ("names", texts(&rows.names)),
        ("dsos", texts(&rows.dsos)),
    ])
}

/// As the TypeScript type of the name.
pub fn search_result(found: &SearchResult) -> Object {
    let problem = found.problem.as_ref().map(ToString::to_string);
    object(&[
        ("functions", JsValue::from(found.functions)),
        ("samples", JsValue::from(found.samples as f64)),
        ("weight", JsValue::from(found.weight)),
        ("share", JsValue::from(found.share)),
        ("matches", Uint32Array::from(&found.matches[..]).into()),
        ("problem", problem.map_or(JsValue::NULL, |problem| JsValue::from(&problem))),
    ])
}
