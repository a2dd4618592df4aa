//! When things were: timeline, heat map and marks. What goes through all samples does so in steps,
//! so that a host can stop it.

use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, MarkKind, Marks};
use perftab_views::column::{Float64Array, Uint8Array};
use perftab_views::dso_users::{DsoUsers, UsersScan};
use perftab_views::ends::RemainingSamples;
use perftab_views::heat_map::{self, HeatCell, HeatMap, HeatRequest, HeatScan, Load};
use perftab_views::placed;
use perftab_views::sample_spans::{self, SampleSpans};
use perftab_views::tasks::{self, TaskRows, TaskSums};
use perftab_views::timeline::{self, Timeline, TimelineRequest, TimelineScan};
use perftab_views::transform::Transform;
use perftab_views::{Query, binned};
use serde::Serialize;

use crate::session::{Session, TreeDetail};

/// Sums kept: those of the query that is shown, and of the one before.
const SUMS_KEPT: usize = 2;

/// What views of time are made from, kept as long as it is true.
#[derive(Default)]
pub(super) struct Times {
    /// By [`key`].
    sums: Vec<(Query, TaskSums)>,
    /// [`timeline::leaf_kinds`], until names change.
    leaf_kinds: Option<Vec<u8>>,
    /// Of the event that was asked for last.
    load: Option<(u32, Load)>,
    /// [`sample_spans::period`] of the same.
    period: Option<(u32, u64)>,
}

impl Times {
    /// Names have changed.
    pub(super) fn names_changed(&mut self) {
        self.leaf_kinds = None;
        // Steps name functions.
        self.sums.retain(|(query, _)| query.steps.is_empty());
    }
}

/// How far a [`Scan`] has come, or what it found.
#[derive(Debug)]
pub enum ScanStep<T> {
    /// There is more to do.
    More {
        /// Rows of samples gone through.
        done: usize,
        /// All that there are to go through.
        total: usize,
    },
    /// That was all.
    Done(T),
}

impl<T> ScanStep<T> {
    /// The same of what is made of it.
    pub fn map<Made>(self, make: impl FnOnce(T) -> Made) -> ScanStep<Made> {
        match self {
            Self::More { done, total } => ScanStep::More { done, total },
            Self::Done(found) => ScanStep::Done(make(found)),
        }
    }
}

/// Something that is added up from all samples, a step at a time.
pub trait Scan {
    /// What comes out of it.
    type Answer;

    /// Goes through about so many rows of samples more.
    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<Self::Answer>;
}

/// A [`Timeline`] to be.
pub struct TimelineWork {
    query: Query,
    request: TimelineRequest,
    state: TimelineState,
    /// Rows gone through.
    done: usize,
}

enum TimelineState {
    /// What steps leave is to be found out.
    Steps,
    Sums(TaskSums),
    Bins(Box<TimelineScan>),
    /// From the bins that a link has.
    Drawn(Timeline),
    Done,
}

impl Scan for TimelineWork {
    type Answer = Timeline;

    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<Timeline> {
        let all = session.profile.samples.len();
        let state = match std::mem::replace(&mut self.state, TimelineState::Done) {
            TimelineState::Steps => match session.left(&self.query, rows) {
                ScanStep::Done(left) => TimelineState::Sums(TaskSums::of(left)),
                ScanStep::More { done, total } => {
                    self.state = TimelineState::Steps;
                    return ScanStep::More { done, total: total.saturating_add(2 * all) };
                }
            },
            state => state,
        };
        let period = session.sample_period(self.query.event);
        let Session { profile, symbols, times, .. } = session;
        match state {
            TimelineState::Sums(mut sums) => {
                let before = sums.rows_done();
                let is_done = sums.step(profile, &self.query, rows);
                self.done += sums.rows_done() - before;
                if !is_done {
                    self.state = TimelineState::Sums(sums);
                    return ScanStep::More { done: self.done, total: 2 * all };
                }
                let spans = SampleSpans::new(profile, period);
                let scan = TimelineScan::new(profile, &self.query, &self.request, &sums, spans);
                times.keep(&self.query, sums);
                let total = self.done + scan.rows_left();
                self.state = TimelineState::Bins(Box::new(scan));
                ScanStep::More { done: self.done, total }
            }
            TimelineState::Bins(mut scan) => {
                let kinds =
                    times.leaf_kinds.get_or_insert_with(|| timeline::leaf_kinds(profile, symbols));
                let before = scan.rows_left();
                if scan.step(profile, kinds, rows) {
                    return ScanStep::Done(scan.finish());
                }
                let left = scan.rows_left();
                self.done += before - left;
                self.state = TimelineState::Bins(scan);
                ScanStep::More { done: self.done, total: self.done + left }
            }
            TimelineState::Drawn(timeline) => ScanStep::Done(timeline),
            TimelineState::Steps | TimelineState::Done => ScanStep::Done(Timeline::default()),
        }
    }
}

/// A [`HeatMap`] to be.
pub struct HeatMapWork {
    state: HeatMapState,
    rows: usize,
}

enum HeatMapState {
    /// What steps leave is to be found out.
    Steps(Box<(Query, HeatRequest)>),
    Cells(Box<HeatScan>),
    Done,
}

impl Scan for HeatMapWork {
    type Answer = HeatMap;

    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<HeatMap> {
        let mut scan = match std::mem::replace(&mut self.state, HeatMapState::Done) {
            HeatMapState::Done => return ScanStep::Done(HeatMap::default()),
            HeatMapState::Cells(scan) => scan,
            HeatMapState::Steps(asked) => match session.left(&asked.0, rows) {
                ScanStep::Done(left) => {
                    let (query, request) = &*asked;
                    let load = session.load(query.event);
                    let scan = HeatScan::new(&session.profile, query, request, load, left);
                    self.rows = scan.rows_left();
                    Box::new(scan)
                }
                ScanStep::More { done, total } => {
                    self.state = HeatMapState::Steps(asked);
                    return ScanStep::More { done, total };
                }
            },
        };
        if scan.step(&session.profile, rows) {
            return ScanStep::Done(scan.finish());
        }
        let left = scan.rows_left();
        self.state = HeatMapState::Cells(scan);
        ScanStep::More { done: self.rows - left, total: self.rows }
    }
}

/// Who ran DSOs, and when: to be.
pub struct DsoUsersWork(UsersScan);

impl Scan for DsoUsersWork {
    type Answer = Vec<DsoUsers>;

    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<Vec<DsoUsers>> {
        if self.0.step(&session.profile, rows) {
            let scan = std::mem::replace(&mut self.0, UsersScan::new(Vec::new()));
            return ScanStep::Done(scan.finish());
        }
        let (done, total) = self.0.progress(&session.profile);
        ScanStep::More { done, total }
    }
}

/// Moments worth a mark, by time, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct MarkRows {
    /// Nanoseconds since the first time of the recording.
    pub time: Float64Array,
    /// 0 for lost records, 1 for exec, 2 for fork.
    pub kind: Uint8Array,
    /// How many each stands for.
    pub count: Float64Array,
    /// Name of the process, of the first of several; empty for lost records.
    pub text: Vec<String>,
}

/// Queries that are the same but for what is left out here have the same sums.
fn key(query: &Query) -> Query {
    let filters = TaskSums::key(query);
    match query.steps.iter().any(Transform::drops) {
        true => Query { steps: query.steps.clone(), inlines: query.inlines, ..filters },
        false => filters,
    }
}

impl Times {
    fn known(&self, key: &Query) -> Option<&TaskSums> {
        self.sums.iter().find(|(known, _)| known == key).map(|(_, sums)| sums)
    }

    fn keep(&mut self, query: &Query, sums: TaskSums) {
        let key = key(query);
        if self.known(&key).is_none() {
            if self.sums.len() == SUMS_KEPT {
                self.sums.remove(0);
            }
            self.sums.push((key, sums));
        }
    }
}

impl Session {
    /// Every process, thread and CPU that has samples of an event.
    pub fn tasks(&mut self, event: u32) -> TaskRows {
        let query = Query { event, ..Query::default() };
        if let Some(sums) = self.times.known(&query) {
            return tasks::rows(&self.profile, sums);
        }
        let sums = TaskSums::new(&self.profile, &query);
        let rows = tasks::rows(&self.profile, &sums);
        self.times.keep(&query, sums);
        rows
    }

    /// Begins to look for who ran these DSOs, and when.
    pub fn dso_users(&self, dsos: Vec<DsoId>) -> DsoUsersWork {
        DsoUsersWork(UsersScan::new(dsos))
    }

    /// What the steps of a query leave, whatever its range: where any takes samples away, its tree of
    /// callees is made for that, about so many rows at a time.
    pub(super) fn left(&mut self, query: &Query, rows: usize) -> ScanStep<RemainingSamples> {
        if !query.steps.iter().any(Transform::drops) {
            return ScanStep::Done(RemainingSamples::default());
        }
        let callees = placed::callees_of(query);
        if let ScanStep::More { done, total } = self.make_tree(&callees, TreeDetail::Ends, rows) {
            return ScanStep::More { done, total };
        }
        let ends = self.trees.with_ends(&callees).map(|(_, ends)| ends).unwrap_or_default();
        ScanStep::Done(RemainingSamples::of(ends))
    }

    /// The same at once.
    pub(super) fn all_left(&mut self, query: &Query) -> RemainingSamples {
        loop {
            if let ScanStep::Done(left) = self.left(query, usize::MAX) {
                return left;
            }
        }
    }

    /// Begins a timeline of what the query's filters and steps leave, its range apart.
    pub fn timeline(&self, query: &Query, request: TimelineRequest) -> TimelineWork {
        let known = self.times.known(&key(query));
        let state = match (&self.profile.bins, known) {
            (Some(bins), _) => {
                TimelineState::Drawn(binned::timeline(&self.profile, bins, query, &request))
            }
            (None, None) => TimelineState::Steps,
            (None, Some(sums)) => TimelineState::Sums(sums.clone()),
        };
        TimelineWork { query: query.clone(), request, state, done: 0 }
    }

    /// Begins a heat map of what the query's filters and steps leave, its range apart.
    pub fn heat_map(&self, query: &Query, request: &HeatRequest) -> HeatMapWork {
        let asked = Box::new((query.clone(), request.clone()));
        HeatMapWork { state: HeatMapState::Steps(asked), rows: 0 }
    }

    /// What was sampled from a time on and before another, in nanoseconds since the first of the
    /// recording; the query's own range counts for nothing.
    pub fn heat_cell(&mut self, query: &Query, start: u64, end: u64) -> HeatCell {
        let (load, left) = (self.load(query.event), self.all_left(query));
        heat_map::cell(&self.profile, &self.symbols, query, &load, &left, start..end)
    }

    /// It takes a pass over all samples, and never changes.
    fn load(&mut self, event: u32) -> Load {
        if let Some((_, load)) = self.times.load.as_ref().filter(|(known, _)| *known == event) {
            return load.clone();
        }
        let distance = self.usual_distance(event);
        let period = self.sample_period(event);
        let load = Load::new(&self.profile, event, distance, period);
        self.times.load = Some((event, load.clone()));
        load
    }

    /// Nor does this.
    fn sample_period(&mut self, event: u32) -> u64 {
        if let Some((_, period)) = self.times.period.filter(|&(known, _)| known == event) {
            return period;
        }
        let period = sample_spans::period(&self.profile, event);
        self.times.period = Some((event, period));
        period
    }

    /// What is worth a mark from a time on and before another, in nanoseconds since the first of
    /// the recording. What was before that, stands at 0.
    pub fn marks(&self, start: u64, end: u64) -> MarkRows {
        let Some(first) = self.profile.first_time() else { return MarkRows::default() };
        let from = if start == 0 { 0 } else { first.saturating_add(start) };
        let marks: &Marks = &self.profile.marks;
        let mut rows = MarkRows::default();
        for mark in marks.between(from, first.saturating_add(end)) {
            rows.time.push(mark.time_nanos.saturating_sub(first) as f64);
            rows.kind.push(match mark.kind {
                MarkKind::Lost => 0,
                MarkKind::Exec => 1,
                MarkKind::Fork => 2,
            });
            rows.count.push(mark.count as f64);
            let name = mark.process.map(|name| self.profile.strings.get(name));
            rows.text.push(printable(name.unwrap_or_default()).into_owned());
        }
        rows
    }
}
