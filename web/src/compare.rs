//! Two sessions compared, for the worker.

use js_sys::Object;
use perftab_core::Query;
use perftab_core::session::{CompareView, ComparedTrees, ComparisonBuilder, FlameWindow};
use wasm_bindgen::prelude::*;

use crate::time::step_object;
use crate::{Session, from_js, to_js};

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
    #[wasm_bindgen(js_name = flameGraph, unchecked_return_type = "DrawnComparison")]
    pub fn flame_graph(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        #[wasm_bindgen(unchecked_param_type = "FlameWindow")] window: JsValue,
    ) -> Result<JsValue, JsValue> {
        let (view, window): (CompareView, FlameWindow) = (from_js(view)?, from_js(window)?);
        to_js(&self.0.drawn(view, &window))
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
    ) -> Result<JsValue, JsValue> {
        to_js(&self.0.children(from_js(view)?, call_node, most))
    }

    /// Functions and how they changed.
    #[wasm_bindgen(unchecked_return_type = "ChangeRows")]
    pub fn changes(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CompareView")] view: JsValue,
        #[wasm_bindgen(unchecked_param_type = "ChangesRequest")] request: JsValue,
    ) -> Result<JsValue, JsValue> {
        to_js(&self.0.changes(from_js(view)?, &from_js(request)?))
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
