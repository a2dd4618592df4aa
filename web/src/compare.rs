//! Two sessions compared, for the worker.

use js_sys::Object;
use perftab_core::Query;
use perftab_core::session::{ComparedQuestion, ComparedTrees, ComparisonBuilder};
use perftab_crossing::{from_js, to_js};
use wasm_bindgen::prelude::*;

use crate::Session;
use crate::asked::{JsArguments, step_object};

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
        unchecked_return_type = "{ done: number; total: number; answer?: never } | { answer: Comparison }"
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
    /// Answers a question. Throws a `Failure` if there is no such, or an argument is none.
    #[wasm_bindgen(unchecked_return_type = "unknown")]
    pub fn answer(&self, question: &str, arguments: JsValue) -> Result<JsValue, JsValue> {
        to_js(&self.0.answer(&ComparedQuestion::read(question, &JsArguments(arguments))?))
    }
}
