//! Flame graphs for the worker, which goes on with long ones step by step.

use js_sys::Object;
use perftab_core::Query;
use perftab_core::session::{FlameWindow, FlameWork, Scan};
use wasm_bindgen::prelude::*;

use crate::time::step_object;
use crate::{Session, from_js, to_js};

/// Boxes to be. Whoever wants no more of them frees it.
#[wasm_bindgen]
pub struct FlameScan {
    query: Query,
    root: u32,
    work: FlameWork,
}

#[wasm_bindgen]
impl Session {
    /// Begins to lay out boxes for the width that is there; [`FlameScan::step`] goes on with it.
    #[wasm_bindgen(js_name = flameGraph)]
    pub fn flame_graph(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "FlameWindow")] window: JsValue,
    ) -> Result<FlameScan, JsValue> {
        let (query, window): (Query, FlameWindow) = (from_js(query)?, from_js(window)?);
        let work = self.0.flame_work(&query, &window);
        Ok(FlameScan { query, root: window.root, work })
    }
}

#[wasm_bindgen]
impl FlameScan {
    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: DrawnGraph | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        let step = self.work.step(&mut session.0, rows);
        step_object(step, |graph| to_js(&session.0.drawn(&self.query, self.root, graph)))
    }
}
