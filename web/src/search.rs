//! Searches for the worker, which goes on with long ones step by step.

use js_sys::Object;
use perftab_core::session::{Scan, SearchWork};
use wasm_bindgen::prelude::*;

use crate::time::step_object;
use crate::{Session, from_js, to_js};

/// What a text finds, to be known. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct SearchScan(SearchWork);

#[wasm_bindgen]
impl Session {
    /// Begins to look for a text; [`SearchScan::step`] goes on with it.
    pub fn search(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        text: &str,
    ) -> Result<SearchScan, JsValue> {
        Ok(SearchScan(self.0.search_work(&from_js(query)?, text)))
    }
}

#[wasm_bindgen]
impl SearchScan {
    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: SearchResult | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        let step = self.0.step(&mut session.0, rows);
        step_object(step, |found| to_js(&found))
    }
}
