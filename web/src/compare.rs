//! Two sessions compared, for the worker.

use js_sys::{Float64Array, Int8Array, Object, Uint8Array, Uint32Array};
use perftab_core::session::{
    ChangeRows, CompareView, ComparedRows, ComparedTreeRows, ComparedTrees, ComparisonBuilder,
    FlameWindow,
};
use perftab_core::{ComparedGraph, Query};
use wasm_bindgen::prelude::*;

use crate::time::step_object;
use crate::{Session, columns, from_js, to_js};

#[wasm_bindgen(typescript_custom_section)]
const COLUMNS: &str = "
/** Boxes of both sides. Totals are what their width is made of, on the basis; `dso` is the number of a pair. */
export interface ComparedGraph extends FlameGraph {
  /** By box, on the basis: percent, weight in a second, or weight. */
  before: Float64Array;
  after: Float64Array;
  /** -3 to 3. */
  step: Int8Array;
  /** 0 both, 1 only after, 2 only before. */
  presence: Uint8Array;
}
/** What rows of both sides have in common; weights are on the basis. */
interface ComparedRows {
  before: Float64Array;
  after: Float64Array;
  change: Float64Array;
  /** 1 if the change is beyond noise. */
  certain: Uint8Array;
  /** 0 both, 1 only after, 2 only before. */
  presence: Uint8Array;
  kind: Uint8Array;
  flags: Uint8Array;
  names: string[];
  dsos: string[];
  /** The side that has no names where the other has: 1 before, 2 after; it cannot be compared. */
  withoutNames: Uint8Array;
}
/** Call nodes of both sides: samples through each. */
export interface ComparedTreeRows extends ComparedRows {
  callNode: Uint32Array;
  functionId: Uint32Array;
  childCount: Uint32Array;
  posInSet: Uint32Array;
  setSize: Uint32Array;
}
export interface ChangeRows extends ComparedRows {
  totalCount: number;
  /** The largest change of all, without its sign. */
  largest: number;
  functionId: Uint32Array;
  /** The call node of each that has the most samples. */
  heaviest: Uint32Array;
}
";

/// A comparison to be. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct ComparisonWork(ComparisonBuilder);

#[wasm_bindgen]
impl ComparisonWork {
    /// Both sides may be of one session.
    #[wasm_bindgen(constructor)]
    pub fn new(
        before: &Session,
        #[wasm_bindgen(unchecked_param_type = "Query")] before_query: JsValue,
        after: &Session,
        #[wasm_bindgen(unchecked_param_type = "Query")] after_query: JsValue,
    ) -> Result<ComparisonWork, JsValue> {
        let queries: [Query; 2] = [from_js(before_query)?, from_js(after_query)?];
        let (before, after) = ((&before.0, &queries[0]), (&after.0, &queries[1]));
        Ok(Self(ComparisonBuilder::new(before, after)))
    }

    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: Comparison | null }"
    )]
    pub fn step(
        &mut self,
        before: &Session,
        after: &Session,
        rows: usize,
    ) -> Result<Object, JsValue> {
        let step = self.0.step([&before.0, &after.0], rows);
        step_object(step, |compared| Ok(Comparison(compared).into()))
    }
}

/// What two queries show, beside each other; made anew when names change.
#[wasm_bindgen]
pub struct Comparison(ComparedTrees);

#[wasm_bindgen]
impl Comparison {
    /// What each side has in all: before, after.
    #[wasm_bindgen(unchecked_return_type = "[SideTotal, SideTotal]")]
    pub fn sides(&self) -> Result<JsValue, JsValue> {
        to_js(&self.0.sides())
    }

    /// Boxes for the width that is there.
    #[wasm_bindgen(js_name = flameGraph, unchecked_return_type = "ComparedGraph")]
    pub fn flame_graph(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        #[wasm_bindgen(unchecked_param_type = "FlameWindow")] window: JsValue,
    ) -> Result<Object, JsValue> {
        let (view, window): (CompareView, FlameWindow) = (from_js(view)?, from_js(window)?);
        let answer = compared_graph(&self.0.flame_graph(view, &window));
        columns::add(&answer, "path", to_js(&self.0.path(window.root))?);
        for (call_node, total, samples) in
            [(0, "allTotal", "allSamples"), (window.root, "rootTotal", "rootSamples")]
        {
            let (width, count) = self.0.width(view, call_node);
            columns::add(&answer, total, width);
            columns::add(&answer, samples, count as f64);
        }
        Ok(answer)
    }

    /// Everything about a call node of both sides; null if there is none with this id.
    #[wasm_bindgen(unchecked_return_type = "ComparedDetail | null")]
    pub fn detail(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        call_node: u32,
    ) -> Result<JsValue, JsValue> {
        to_js(&self.0.detail(from_js(view)?, call_node))
    }

    /// The callees of a call node, those with most weight on both sides first; at most so many.
    #[wasm_bindgen(unchecked_return_type = "ComparedTreeRows")]
    pub fn children(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        call_node: u32,
        most: usize,
    ) -> Result<Object, JsValue> {
        Ok(tree_rows(&self.0.children(from_js(view)?, call_node, most)))
    }

    /// Functions and how they changed.
    #[wasm_bindgen(unchecked_return_type = "ChangeRows")]
    pub fn changes(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        #[wasm_bindgen(unchecked_param_type = "ChangesRequest")] request: JsValue,
    ) -> Result<Object, JsValue> {
        Ok(change_rows(&self.0.changes(from_js(view)?, &from_js(request)?)))
    }

    /// Pairs of DSOs, most weight first.
    #[wasm_bindgen(unchecked_return_type = "DsoPairRow[]")]
    pub fn dsos(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
    ) -> Result<JsValue, JsValue> {
        to_js(&self.0.dsos(from_js(view)?))
    }

    /// What a text finds.
    #[wasm_bindgen(unchecked_return_type = "CompareSearch")]
    pub fn search(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        text: &str,
    ) -> Result<JsValue, JsValue> {
        to_js(&self.0.search(from_js(view)?, text))
    }
}

fn compared_graph(graph: &ComparedGraph) -> Object {
    let answer = columns::flame_graph(&graph.boxes);
    columns::add(&answer, "before", Float64Array::from(&graph.before[..]));
    columns::add(&answer, "after", Float64Array::from(&graph.after[..]));
    columns::add(&answer, "step", Int8Array::from(&graph.step[..]));
    columns::add(&answer, "presence", Uint8Array::from(&graph.presence[..]));
    // Numbers of call nodes are those of the comparison, which its maker counts.
    columns::add(&answer, "generation", 0);
    answer
}

fn tree_rows(rows: &ComparedTreeRows) -> Object {
    let columns = columns::object(&[
        ("callNode", Uint32Array::from(&rows.call_node[..]).into()),
        ("functionId", Uint32Array::from(&rows.function[..]).into()),
        ("childCount", Uint32Array::from(&rows.child_count[..]).into()),
        ("posInSet", Uint32Array::from(&rows.pos_in_set[..]).into()),
        ("setSize", Uint32Array::from(&rows.set_size[..]).into()),
    ]);
    add_compared(&columns, &rows.rows);
    columns
}

fn change_rows(rows: &ChangeRows) -> Object {
    let columns = columns::object(&[
        ("totalCount", JsValue::from(rows.count)),
        ("largest", JsValue::from(rows.largest)),
        ("functionId", Uint32Array::from(&rows.function[..]).into()),
        ("heaviest", Uint32Array::from(&rows.heaviest[..]).into()),
    ]);
    add_compared(&columns, &rows.rows);
    columns
}

/// Adds the columns that all rows of both sides have.
fn add_compared(columns: &Object, rows: &ComparedRows) {
    columns::add(columns, "before", Float64Array::from(&rows.before[..]));
    columns::add(columns, "after", Float64Array::from(&rows.after[..]));
    columns::add(columns, "change", Float64Array::from(&rows.change[..]));
    columns::add(columns, "certain", Uint8Array::from(&rows.certain[..]));
    columns::add(columns, "presence", Uint8Array::from(&rows.presence[..]));
    columns::add(columns, "kind", Uint8Array::from(&rows.kind[..]));
    columns::add(columns, "flags", Uint8Array::from(&rows.marks[..]));
    columns::add(columns, "names", columns::texts(&rows.names));
    columns::add(columns, "dsos", columns::texts(&rows.dsos));
    columns::add(columns, "withoutNames", Uint8Array::from(&rows.without_names[..]));
}
