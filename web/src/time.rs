//! Timeline, heat map and marks for the worker, which goes on with long ones step by step.

use js_sys::{Array, Float32Array, Float64Array, Object, Uint8Array, Uint32Array};
use perftab_core::session::{
    FlameWindow, HeatMapWork, MarkRows, OccurrenceRequest, OccurrenceWork, RangePreview, Scan,
    ScanStep, TimelineWork, TreeDetail,
};
use perftab_core::{HeatMap, HeatRequest, KINDS, Query, Timeline, TimelineRequest};
use wasm_bindgen::prelude::*;

use crate::columns::object;
use crate::{Session, from_js, to_js};

#[wasm_bindgen(typescript_custom_section)]
const COLUMNS: &str = "
/** The weight of samples by time. Times are nanoseconds since the first of the recording. */
export interface Timeline {
  start: number;
  end: number;
  bins: number;
  /** Stacked in this order: own code, system, kernel, JIT, unnamed, what is no code. */
  kinds: number;
  /** The first is all CPUs. */
  tracks: Track[];
  /** Tracks that there was no room for. */
  leftOut: number;
  /** Track by track, bin by bin, kind by kind. */
  weights: Float32Array;
}
/** Samples by the fraction of a second; cells second by second, row by row. */
export interface HeatMap {
  start: number;
  seconds: number;
  rows: number;
  samples: Uint32Array;
  /** CPUs busy. */
  busy: Float32Array;
  /** CPUs that there are. */
  cpus: number;
  rowTotals: Float64Array;
}
/** Moments worth a mark, by time. */
export interface Marks {
  time: Float64Array;
  /** 0 lost records, 1 exec, 2 fork. */
  kind: Uint8Array;
  count: Float64Array;
  /** Name of the process. */
  text: string[];
}
";

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
    #[wasm_bindgen(js_name = rangePreview, unchecked_return_type = "FlameGraph | null")]
    pub fn range_preview(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "TimeRange")] range: JsValue,
        #[wasm_bindgen(unchecked_param_type = "FlameWindow")] window: JsValue,
    ) -> Result<JsValue, JsValue> {
        let window: FlameWindow = from_js(window)?;
        let preview = self.0.range_preview(&from_js(query)?, from_js(range)?, &window);
        let Some(RangePreview { graph, path, root, all }) = preview else {
            return Ok(JsValue::NULL);
        };
        let answer = crate::columns::flame_graph(&graph);
        crate::add_totals(&answer, to_js(&path)?, (root.weight as f64, root.samples), all);
        crate::columns::add(&answer, "generation", self.0.generation());
        Ok(answer.into())
    }

    /// What is worth a mark from a time on and before another.
    #[wasm_bindgen(unchecked_return_type = "Marks")]
    pub fn marks(&self, start: f64, end: f64) -> Object {
        marks(&self.0.marks(start as u64, end as u64))
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
        step_object(self.0.step(&mut session.0, rows), |it| Ok(timeline(&it)?.into()))
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
        step_object(self.0.step(&mut session.0, rows), |it| Ok(heat_map(&it).into()))
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

fn timeline(timeline: &Timeline) -> Result<Object, JsValue> {
    Ok(object(&[
        ("start", JsValue::from(timeline.start as f64)),
        ("end", JsValue::from(timeline.end as f64)),
        ("bins", JsValue::from(timeline.bins)),
        ("kinds", JsValue::from(KINDS as u32)),
        ("tracks", to_js(&timeline.tracks)?),
        ("leftOut", JsValue::from(timeline.left_out)),
        ("weights", Float32Array::from(&timeline.weights[..]).into()),
    ]))
}

fn heat_map(map: &HeatMap) -> Object {
    object(&[
        ("start", JsValue::from(map.start as f64)),
        ("seconds", JsValue::from(map.seconds)),
        ("rows", JsValue::from(map.rows)),
        ("samples", Uint32Array::from(&map.samples[..]).into()),
        ("busy", Float32Array::from(&map.busy[..]).into()),
        ("cpus", JsValue::from(map.cpus)),
        ("rowTotals", Float64Array::from(&map.row_totals[..]).into()),
    ])
}

fn marks(marks: &MarkRows) -> Object {
    let text = marks.text.iter().map(|text| JsValue::from_str(text)).collect::<Array>();
    object(&[
        ("time", Float64Array::from(&marks.time[..]).into()),
        ("kind", Uint8Array::from(&marks.kind[..]).into()),
        ("count", Float64Array::from(&marks.count[..]).into()),
        ("text", text.into()),
    ])
}
