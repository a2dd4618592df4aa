//! Samples by their time within a period: columns are periods, rows are parts of one, downwards.
//!
//! **CPUs busy.** How many CPUs were at work in a time. Of an event that counts nanoseconds on the
//! CPU it is weight by time. Of any other each sample stands for the event's usual distance between
//! two samples of a thread ([`super::time_order::usual_distance`]), since most lie between samples of
//! a thread that ran all the time. That time lies where the sample stands ([`super::sample_spans`]). The
//! idle threads do not count, no more CPUs are busy than there are, and a sample fills at most one CPU for
//! as much of a time as was recorded.
//!
//! **Threads off the CPU.** A sample of a derived event is a wait, which ends when the sample was taken
//! and lasts for its weight: each moment of it counts where it lies, and any number of threads may
//! wait at once.

use perftab_perfdata::map::Map;
use std::ops::Range;
use std::sync::Arc;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::slice::Slice;
use perftab_perfdata::text::printable;
use perftab_profile::{DsoKind, EventOrigin, Profile, Thread, Unit};
use serde::{Deserialize, Serialize};

use crate::Query;
use crate::column::{Float32Array, Float64Array, Uint32Array};
use crate::ends::RemainingSamples;
use crate::filter::Filter;
use crate::idle::is_idle_process;
use crate::label::NO_MAPPING;
use crate::sample_spans::{SampleSpan, SampleSpans};
use crate::serialize_weight;
use crate::tasks::{self, NO_CPU, TaskSums};

const LONGEST_PERIOD: u64 = 3_600_000_000_000;
const MOST_ROWS: u32 = 100;
/// More cells are asked for in parts.
const MOST_CELLS: u64 = 1 << 20;

/// What is asked of a heat map. Times are nanoseconds since the first of the recording.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct HeatRequest {
    /// Time of a column, up to an hour. A cell has a whole number of nanoseconds of it, the rest is left out.
    pub period: f64,
    /// Cells of a column: 1 to 100.
    pub rows: u32,
    /// A time in the first column.
    pub start: f64,
    /// A time after the last; 0 for the end of the recording.
    pub end: f64,
}

/// Samples by their time within a period: cells, column by column and in each row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct HeatMap {
    /// Where the first column begins, in nanoseconds since the first time of the recording.
    #[serde(serialize_with = "serialize_weight")]
    pub start: u64,
    /// How many columns: fewer than asked for if there are very many; ask for the rest then.
    pub columns: u32,
    /// Cells of a column.
    pub rows: u32,
    /// Samples of each cell.
    pub samples: Uint32Array,
    /// CPUs that were busy in each, or threads that waited.
    pub busy: Float32Array,
    /// CPUs that there are; if that is not known, and of waits, as many as [`Self::busy`] says at
    /// once; at least 1.
    pub cpus: u32,
    /// Samples of each row, over all columns.
    pub row_totals: Float64Array,
}

/// What was sampled in a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct HeatCell {
    /// How many samples.
    pub samples: u64,
    /// How many CPUs were busy, or threads waited; `None` if all of the recording is one moment.
    pub cpus_busy: Option<f64>,
    /// The function that most of them ended in: its name, or its DSO and address.
    pub mostly: Option<String>,
}

/// For how much time of a CPU the samples of a query stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Busy {
    /// Each for its weight.
    Weight,
    /// Each for so many nanoseconds.
    Each(f64),
}

/// How busy a recording's CPUs were.
#[derive(Clone)]
pub struct Load {
    busy: Busy,
    /// For how long a sample stands: [`super::sample_spans::period`].
    period: u64,
    /// 0 if it is not known, or no limit.
    cpus: u32,
    /// By thread: it is what a CPU does that has nothing to do.
    idle: Arc<[bool]>,
    /// By event: its samples are waits.
    waits: Arc<[bool]>,
}

impl Load {
    /// Of an event, whose usual distance and period are given.
    pub fn new(profile: &Profile, event: u32, usual_distance: u64, period: u64) -> Self {
        let is_time = profile.event(event).is_some_and(|event| event.unit() == Unit::Ns);
        let busy = if is_time { Busy::Weight } else { Busy::Each(usual_distance as f64) };
        let threads = profile.threads.threads.iter();
        let is_idle =
            |thread: &Thread| is_idle_process(profile, profile.threads.process(thread.process));
        let waits: Arc<[bool]> =
            profile.events.iter().map(|event| event.origin == EventOrigin::Derived).collect();
        let origin = profile.event(event).map(|event| event.origin);
        let cpus = match origin.unwrap_or_default() {
            EventOrigin::Derived => 0,
            EventOrigin::Recorded => {
                let known = profile.host.cpus.or(profile.machine.cpus_available).unwrap_or(0);
                known.max(cpus_met(profile))
            }
        };
        Self { busy, period, cpus, idle: threads.map(is_idle).collect(), waits }
    }

    fn is_wait(&self, profile: &Profile, row: usize) -> bool {
        self.waits.get(usize::from(profile.samples.event[row])).is_some_and(|&is_wait| is_wait)
    }

    fn is_idle(&self, profile: &Profile, row: usize) -> bool {
        self.idle[profile.samples.thread.at(row).index()]
    }

    /// Nanoseconds of a CPU that the sample of a row stands for.
    fn nanos(&self, profile: &Profile, row: usize) -> f64 {
        let samples = &profile.samples;
        if self.is_idle(profile, row) {
            return 0.0;
        }
        match self.busy {
            Busy::Weight => samples.weight.at(row) as f64,
            Busy::Each(nanos) => nanos * samples.count(row) as f64,
        }
    }

    /// Nanoseconds of a CPU that such a share of the sample of a row stands for in a time, of which only what
    /// was recorded counts: one sample is of one CPU.
    fn nanos_in(nanos: f64, share: f64, times: &Range<u64>, recorded: &Range<u64>) -> f64 {
        let start = times.start.max(recorded.start);
        let most = times.end.min(recorded.end).saturating_sub(start).max(1);
        (nanos * share).min(most as f64)
    }

    fn at_most(&self, busy: f64) -> f64 {
        if self.cpus == 0 { busy } else { busy.min(f64::from(self.cpus)) }
    }
}

/// How many CPUs samples say that they were on.
fn cpus_met(profile: &Profile) -> u32 {
    let mut met = vec![false; usize::from(u16::MAX) + 1];
    for cpu in profile.samples.cpu.iter() {
        met[usize::from(cpu)] = true;
    }
    met[usize::from(NO_CPU)] = false;
    met.into_iter().filter(|&met| met).count() as u32
}

/// The heat map of the samples of `query`, whatever its range, of which its steps leave these. In slices of
/// rows.
pub async fn heat_map(
    profile: &Profile,
    query: &Query,
    request: &HeatRequest,
    load: &Load,
    left: &RemainingSamples,
    slice: &Slice,
) -> HeatMap {
    let mut growing = GrowingMap::blank(profile, request);
    let times = growing.times();
    let mut spans = SampleSpans::new(profile, load.period);
    let query = TaskSums::key(query);
    let filter = Filter::new(profile, &query);
    let mut rows = spans.rows(profile, &times);
    slice.expect(rows.len());
    while let Some(part) = slice.part(&mut rows).await {
        for row in part {
            if let Some(span) = spans.next_left(profile, &filter, left, row) {
                growing.add(profile, load, &times, row, &span);
            }
        }
    }
    growing.finish(load)
}

/// A heat map while samples are added up.
struct GrowingMap {
    map: HeatMap,
    cell_nanos: u64,
    recorded: Range<u64>,
    /// By cell: how many more waits than in the cell before fill it from its beginning to its end.
    filled: Vec<f32>,
}

impl GrowingMap {
    fn blank(profile: &Profile, request: &HeatRequest) -> Self {
        let rows = u64::from(request.rows.clamp(1, MOST_ROWS));
        let cell_nanos = ((request.period as u64).min(LONGEST_PERIOD) / rows).max(1);
        let period = cell_nanos * rows;
        let times = tasks::window(profile, request.start as u64, request.end as u64);
        let start = times.start - times.start % period;
        let columns = (times.end - start).div_ceil(period).min(MOST_CELLS / rows);
        let cells = (columns * rows) as usize;
        let map = HeatMap {
            start,
            columns: columns as u32,
            rows: rows as u32,
            samples: vec![0; cells].into(),
            busy: vec![0.0; cells].into(),
            cpus: 0,
            row_totals: vec![0.0; rows as usize].into(),
        };
        let filled = vec![0.0; cells + 1];
        Self { map, cell_nanos, recorded: tasks::window(profile, 0, 0), filled }
    }

    fn times(&self) -> Range<u64> {
        let length = (self.map.busy.len() as u64).saturating_mul(self.cell_nanos);
        self.map.start..self.map.start.saturating_add(length)
    }

    fn add(
        &mut self,
        profile: &Profile,
        load: &Load,
        times: &Range<u64>,
        row: usize,
        span: &SampleSpan,
    ) {
        let samples = &profile.samples;
        let is_wait = load.is_wait(profile, row);
        if !is_wait {
            let (nanos, busy) = (load.nanos(profile, row), &mut self.map.busy);
            let cells = busy.len();
            span.spread(times, cells, |cell, share| {
                let start = times.start + cell as u64 * self.cell_nanos;
                let of_cell = start..start + self.cell_nanos;
                busy[cell] += Load::nanos_in(nanos, share, &of_cell, &self.recorded) as f32;
            });
        }
        if !times.contains(&span.end) {
            return;
        }
        if is_wait && !load.is_idle(profile, row) {
            self.add_wait(span.end.saturating_sub(samples.weight.at(row))..span.end);
        }
        let cell = ((span.end - times.start) / self.cell_nanos) as usize;
        let samples = samples.count(row);
        let count = &mut self.map.samples[cell];
        *count = count.saturating_add(u32::try_from(samples).unwrap_or(u32::MAX));
        self.map.row_totals[cell % self.map.rows as usize] += samples as f64;
    }

    /// Adds a wait to the cells that it lies in: in part to the first and the last, and to all between
    /// by where they begin and end, since a wait may be as long as the recording.
    fn add_wait(&mut self, times: Range<u64>) {
        let cells = self.map.busy.len() as u64;
        let start = times.start.saturating_sub(self.map.start).min(cells * self.cell_nanos);
        let end = times.end.saturating_sub(self.map.start).min(cells * self.cell_nanos);
        if start >= end {
            return;
        }
        let (first, last) = (start / self.cell_nanos, (end - 1) / self.cell_nanos);
        if first == last {
            self.map.busy[first as usize] += (end - start) as f32;
            return;
        }
        self.map.busy[first as usize] += ((first + 1) * self.cell_nanos - start) as f32;
        self.map.busy[last as usize] += (end - last * self.cell_nanos) as f32;
        self.filled[first as usize + 1] += 1.0;
        self.filled[last as usize] -= 1.0;
    }

    fn finish(self, load: &Load) -> HeatMap {
        let Self { mut map, cell_nanos, filled, .. } = self;
        let mut waits = 0.0;
        for (busy, more) in map.busy.iter_mut().zip(filled) {
            waits += more;
            *busy = load.at_most(f64::from(*busy) / cell_nanos as f64) as f32 + waits;
        }
        let most = map.busy.iter().copied().fold(1.0, f32::max);
        map.cpus = if load.cpus == 0 { most.ceil() as u32 } else { load.cpus };
        map
    }
}

/// What was sampled from a time on and before another, of what steps leave.
pub fn cell(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    load: &Load,
    left: &RemainingSamples,
    times: Range<u64>,
) -> HeatCell {
    let query = TaskSums::key(query);
    let filter = Filter::new(profile, &query);
    let mut spans = SampleSpans::new(profile, load.period);
    let samples = &profile.samples;
    let (mut count, mut nanos) = (0_u64, waited(profile, &query, load, left, &times));
    let recorded = tasks::window(profile, 0, 0);
    let length = times.end.saturating_sub(times.start).max(1) as f64;
    // Leaves are few where samples are many.
    let mut leaves: Map<Option<Leaf>, u64> = Map::new();
    for row in spans.rows(profile, &times) {
        if !filter.is_of_event(row) {
            continue;
        }
        let Some(span) = spans.next(profile, row) else { continue };
        if filter.removed_by(row).is_some() || !left.has(profile, row) {
            continue;
        }
        if !load.is_wait(profile, row) {
            let of_row = load.nanos(profile, row);
            nanos += Load::nanos_in(of_row, span.share_in(&times), &times, &recorded);
        }
        if !times.contains(&span.end) {
            continue;
        }
        let samples_of_row = samples.count(row);
        count = count.saturating_add(samples_of_row);
        let frame = profile.stacks.get(samples.stack[row]).map(|(_, frame)| frame);
        let leaf = frame.and_then(|frame| symbols.levels(frame).last());
        let leaf = leaf.map(|level| Leaf(level.function));
        let known = leaves.entry(leaf).or_default();
        *known = known.saturating_add(samples_of_row);
    }
    let most = leaves.into_iter().max_by_key(|&(leaf, count)| (count, std::cmp::Reverse(leaf)));
    let is_moment = recorded.end - recorded.start <= 1;
    HeatCell {
        samples: count,
        cpus_busy: (!is_moment).then(|| load.at_most(nanos / length)),
        mostly: most.and_then(|(leaf, _)| Some(leaf?.text(profile, symbols))),
    }
}

/// For how many nanoseconds threads waited in a time, also in waits that ended after it.
fn waited(
    profile: &Profile,
    query: &Query,
    load: &Load,
    left: &RemainingSamples,
    times: &Range<u64>,
) -> f64 {
    let filter = Filter::new(profile, query);
    if !filter.has_any(&load.waits) {
        return 0.0; // Nor is every sample to be looked at.
    }
    let first = profile.first_time().unwrap_or_default();
    let mut nanos = 0.0;
    for row in filter.rows() {
        if !filter.is_of_event(row) || !load.is_wait(profile, row) {
            continue;
        }
        let end = profile.samples.time_nanos.at(row).saturating_sub(first);
        let start = end.saturating_sub(profile.samples.weight.at(row));
        let is_taken = filter.removed_by(row).is_none() && left.has(profile, row);
        if is_taken && !load.is_idle(profile, row) {
            nanos += end.min(times.end).saturating_sub(start.max(times.start)) as f64;
        }
    }
    nanos
}

/// The function that a stack ends in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Leaf(FunctionId);

impl Leaf {
    fn text(self, profile: &Profile, symbols: &Symbols) -> String {
        let function = symbols.function(self.0);
        let dso = profile.dsos.get(function.dso);
        match function.name {
            Some(name) => printable(name).into_owned(),
            None if dso.kind == DsoKind::Unmapped => NO_MAPPING.to_owned(),
            None => format!("{}+{:#x}", printable(dso.name()), function.address),
        }
    }
}
