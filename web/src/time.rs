//! Timeline, heat map and marks for the worker, which goes on with long ones step by step.

use js_sys::Object;
use perftab_core::session::{
    FlameWindow, HeatMapWork, OccurrenceRequest, OccurrenceWork, Scan, ScanStep, TimelineWork,
    TreeDetail,
};
use perftab_core::{HeatRequest, Query, TimelineRequest};
use wasm_bindgen::prelude::*;

use crate::columns::object;
use crate::{Session, from_js, to_js};

#[wasm_bindgen]
impl Session {
    /// Every process, thread and CPU that has samples of an event.
    #[wasm_bindgen(unchecked_return_type = "TaskRows")]
    pub fn tasks(&mut self, event: u32) -> Result<JsValue, JsValue> {
        to_js(&self.0.tasks(event))
    }

    /// Begins a timeline; [`TimelineScan::step`] goes on with it.
    pub fn timeline(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "TimelineRequest")] request: JsValue,
    ) -> Result<TimelineScan, JsValue> {
        let (query, request): (Query, TimelineRequest) = (from_js(query)?, from_js(request)?);
        Ok(TimelineScan(self.0.timeline(&query, request)))
    }

    /// Begins a heat map; [`HeatMapScan::step`] goes on with it.
    #[wasm_bindgen(js_name = heatMap)]
    pub fn heat_map(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "HeatRequest")] request: JsValue,
    ) -> Result<HeatMapScan, JsValue> {
        let (query, request): (Query, HeatRequest) = (from_js(query)?, from_js(request)?);
        Ok(HeatMapScan(self.0.heat_map(&query, &request)))
    }

    /// Begins to look for who ran a call node or a function, and when; [`OccurrenceScan::step`] goes
    /// on with it.
    pub fn occurrence(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "OccurrenceRequest")] request: JsValue,
    ) -> Result<OccurrenceScan, JsValue> {
        let (query, request): (Query, OccurrenceRequest) = (from_js(query)?, from_js(request)?);
        Ok(OccurrenceScan(self.0.occurrence(&query, &request)))
    }

    /// What was sampled from a time on and before another.
    #[wasm_bindgen(js_name = heatCell, unchecked_return_type = "HeatCell")]
    pub fn heat_cell(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        start: f64,
        end: f64,
    ) -> Result<JsValue, JsValue> {
        // Casts from floats saturate; what is no number is 0.
        to_js(&self.0.heat_cell(&from_js(query)?, start as u64, end as u64))
    }

    /// Makes graphs of a query's ranges quick: goes through about so many rows of samples more.
    #[wasm_bindgen(
        js_name = placeSamples,
        unchecked_return_type = "{ done: number; total: number; answer: true | null }"
    )]
    pub fn place_samples(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        rows: usize,
    ) -> Result<Object, JsValue> {
        let step = self.0.place_samples(&from_js(query)?, rows);
        step_object(step, |()| Ok(JsValue::TRUE))
    }

    /// Makes the call tree of a query: goes on for about as long as so many rows of samples take.
    #[wasm_bindgen(
        js_name = makeTree,
        unchecked_return_type = "{ done: number; total: number; answer: true | null }"
    )]
    pub fn make_tree(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "\"tree\" | \"ends\"")] noted: &str,
        rows: usize,
    ) -> Result<Object, JsValue> {
        let noted = if noted == "ends" { TreeDetail::Ends } else { TreeDetail::Tree };
        step_object(self.0.make_tree(&from_js(query)?, noted, rows), |()| Ok(JsValue::TRUE))
    }

    /// The graph of a query with this range instead of its own; null if samples are not placed.
    #[wasm_bindgen(js_name = rangePreview, unchecked_return_type = "DrawnGraph | null")]
    pub fn range_preview(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "TimeRange")] range: JsValue,
        #[wasm_bindgen(unchecked_param_type = "FlameWindow")] window: JsValue,
    ) -> Result<JsValue, JsValue> {
        let window: FlameWindow = from_js(window)?;
        let preview = self.0.range_preview(&from_js(query)?, from_js(range)?, &window);
        to_js(&preview.map(|preview| self.0.drawn_preview(preview)))
    }

    /// What is worth a mark from a time on and before another.
    #[wasm_bindgen(unchecked_return_type = "MarkRows")]
    pub fn marks(&self, start: f64, end: f64) -> Result<JsValue, JsValue> {
        to_js(&self.0.marks(start as u64, end as u64))
    }
}

/// A timeline to be. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct TimelineScan(TimelineWork);

#[wasm_bindgen]
impl TimelineScan {
    /// Goes through about so many rows of samples; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: Timeline | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |it| to_js(&it))
    }
}

/// A heat map to be. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct HeatMapScan(HeatMapWork);

#[wasm_bindgen]
impl HeatMapScan {
    /// Goes through about so many rows of samples; the answer comes with the last step.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: HeatMap | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |it| to_js(&it))
    }
}

/// Who ran something, to be known. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct OccurrenceScan(OccurrenceWork);

#[wasm_bindgen]
impl OccurrenceScan {
    /// Goes through about so many rows of samples; the answer comes with the last step: a list of
    /// one, or of none where there is nothing that it could be asked of.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: Occurrence[] | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |it| to_js(&Vec::from_iter(it)))
    }
}

/// A step as the worker knows it.
pub fn step_object<T>(
    step: ScanStep<T>,
    to_js: impl FnOnce(T) -> Result<JsValue, JsValue>,
) -> Result<Object, JsValue> {
    let (done, total, answer) = match step {
        ScanStep::More { done, total } => (done, total, JsValue::NULL),
        ScanStep::Done(answer) => (0, 0, to_js(answer)?),
    };
    Ok(object(&[
        ("done", JsValue::from(done as f64)),
        ("total", JsValue::from(total as f64)),
        ("answer", answer),
    ]))
}
