//! How much of what is shown has names, and who ran DSOs, for the worker, which finds out step by step.

use js_sys::Object;
use perftab_core::DsoId;
use perftab_core::session::{CoverageWork, DsoUsersWork, Scan};
use wasm_bindgen::prelude::*;

use crate::time::step_object;
use crate::{Session, from_js, to_js};

/// How much has names, to be known. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct CoverageScan(CoverageWork);

#[wasm_bindgen]
impl Session {
    /// Begins to find out how much of what the filters and steps of a query leave has names;
    /// [`CoverageScan::step`] goes on with it.
    #[wasm_bindgen(js_name = filteredCoverage)]
    pub fn filtered_coverage(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
    ) -> Result<CoverageScan, JsValue> {
        Ok(CoverageScan(self.0.coverage_work(&from_js(query)?)))
    }

    /// Begins to look for who ran these DSOs, and when; [`DsoUsersScan::step`] goes on with it.
    #[wasm_bindgen(js_name = dsoUsers)]
    pub fn dso_users(&self, dsos: Vec<u32>) -> DsoUsersScan {
        DsoUsersScan(self.0.dso_users(dsos.into_iter().map(DsoId).collect()))
    }
}

/// Who ran DSOs, to be known. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct DsoUsersScan(DsoUsersWork);

#[wasm_bindgen]
impl DsoUsersScan {
    /// Goes through about so many stacks or rows of samples; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: DsoUsers[] | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |it| to_js(&it))
    }
}

#[wasm_bindgen]
impl CoverageScan {
    /// Goes through about so many rows of samples; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: FilteredCoverage | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |it| to_js(&it))
    }
}
