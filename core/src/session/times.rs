//! When things were: timeline, heat map and marks. What goes through all samples does so in slices,
//! so that a host can stop it.

use std::rc::Rc;
use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, MarkKind, Marks};
use perftab_views::column::{Float64Array, Uint8Array};
use perftab_views::dso_users::{self, DsoUsers};
use perftab_views::ends::RemainingSamples;
use perftab_views::heat_map::{self, HeatCell, HeatMap, HeatRequest, Load};
use perftab_views::label::OwnCode;
use perftab_views::placed;
use perftab_views::sample_spans::{self, SampleSpans};
use perftab_views::tasks::{self, TaskRows, TaskSums};
use perftab_views::timeline::{self, Timeline, TimelineRequest};
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
    /// What will be one of them, whoever asks first.
    summing: Vec<(Query, Work<TaskSums>)>,
    /// [`timeline::leaf_kinds`] of what counts as own code, until names change.
    leaf_kinds: Option<(OwnCode, Rc<[u8]>)>,
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

/// How far work has come, or what came of it.
#[derive(Debug)]
pub enum ScanStep<T> {
    /// There is more to do.
    More {
        /// Rows of samples gone through, or what takes as long.
        done: usize,
        /// All that there are to go through.
        total: usize,
    },
    /// That was all.
    Done(T),
}

impl<T> ScanStep<T> {
    /// Goes on with work for about as long as so many rows of samples take.
    pub(super) fn of(work: &mut Work<T>, rows: usize) -> Self
    where
        T: 'static,
    {
        match work.step(rows) {
            Some(found) => Self::Done(found),
            None => Self::of_more(work.progress()),
        }
    }

    pub(super) fn of_more((done, total): (usize, usize)) -> Self {
        Self::More { done, total }
    }

    /// The same of what is made of it.
    pub fn map<Made>(self, make: impl FnOnce(T) -> Made) -> ScanStep<Made> {
        match self {
            Self::More { done, total } => ScanStep::More { done, total },
            Self::Done(found) => ScanStep::Done(make(found)),
        }
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
        true => {
            let (steps, inlines, unnamed) = (query.steps.clone(), query.inlines, query.unnamed);
            Query { steps, inlines, unnamed, ..filters }
        }
        false => filters,
    }
}

impl Times {
    fn known(&self, key: &Query) -> Option<&TaskSums> {
        self.sums.iter().find(|(known, _)| known == key).map(|(_, sums)| sums)
    }

    fn keep(&mut self, key: Query, sums: TaskSums) {
        if self.sums.len() == SUMS_KEPT {
            self.sums.remove(0);
        }
        self.sums.push((key, sums));
    }
}

impl Session {
    /// Every process, thread and CPU that has samples of an event, in slices of rows.
    pub(super) fn tasks(&mut self, event: u32, rows: usize) -> ScanStep<TaskRows> {
        let sums = self.task_sums(&Query { event, ..Query::default() }, rows);
        sums.map(|sums| tasks::rows(&self.profile, &sums))
    }

    /// What was sampled of each of what the query's filters and steps leave, its range apart. The menu of tasks
    /// and the timeline are asked for at once: what one has summed, the other goes on with.
    pub(super) fn task_sums(&mut self, query: &Query, rows: usize) -> ScanStep<TaskSums> {
        let key = key(query);
        if let Some(known) = self.times.known(&key) {
            return ScanStep::Done(known.clone());
        }
        self.times.summing.retain(|(_, work)| work.goes_on());
        let begun = self.times.summing.iter().position(|(of, _)| *of == key);
        let at = begun.unwrap_or_else(|| {
            let (profile, query, left) =
                (Arc::clone(&self.profile), query.clone(), self.all_left(query));
            let work = Work::new(async move |slice| {
                slice.expect(profile.samples.len());
                TaskSums::of(&profile, &query, left, &slice).await
            });
            // What steps leave is of these names.
            if !key.steps.is_empty() {
                self.symbols.is_read_by(&work);
            }
            let summing = &mut self.times.summing;
            // Who asks for more than these at once has given some of them up.
            if summing.len() == SUMS_KEPT {
                summing.remove(0);
            }
            summing.push((key.clone(), work));
            summing.len() - 1
        });
        let step = ScanStep::of(&mut self.times.summing[at].1, rows);
        if let ScanStep::Done(sums) = &step {
            self.times.summing.remove(at);
            self.times.keep(key, sums.clone());
        }
        step
    }

    /// What the steps of a query leave, whatever its range: where any takes samples away, its tree of
    /// callees is made for that, about so many rows at a time.
    pub(super) fn left(&mut self, query: &Query, rows: usize) -> ScanStep<RemainingSamples> {
        if !query.steps.iter().any(Transform::drops) {
            return ScanStep::Done(RemainingSamples::default());
        }
        let callees = placed::callees_of(query);
        self.make_tree(&callees, TreeDetail::Ends, rows).map(|()| {
            let ends = self.trees.with_ends(&callees).map(|(_, ends)| ends).unwrap_or_default();
            RemainingSamples::of(ends)
        })
    }

    /// The same at once.
    pub(super) fn all_left(&mut self, query: &Query) -> RemainingSamples {
        loop {
            if let ScanStep::Done(left) = self.left(query, usize::MAX) {
                return left;
            }
        }
    }

    /// The timeline of what the query's filters and steps leave, its range apart, of which these are the sums.
    pub(super) fn timeline(
        &mut self,
        query: &Query,
        request: &TimelineRequest,
        sums: TaskSums,
    ) -> Work<Timeline> {
        let (query, request) = (query.clone(), request.clone());
        let (period, kinds) = (self.sample_period(query.event), self.leaf_kinds(&query));
        let profile = Arc::clone(&self.profile);
        // What steps leave, and kinds of code, are of these names.
        let work = Work::new(async move |slice| {
            if let Some(bins) = &profile.bins {
                return binned::timeline(&profile, bins, &query, &request);
            }
            let spans = SampleSpans::new(&profile, period);
            timeline::timeline(&profile, &query, &request, &sums, spans, &kinds, &slice).await
        });
        self.symbols.is_read_by(&work);
        work
    }

    /// The heat map of what the query's filters and steps leave, its range apart.
    pub(super) fn heat_map(&mut self, query: &Query, request: &HeatRequest) -> Work<HeatMap> {
        let (query, request) = (query.clone(), request.clone());
        let (load, left) = (self.load(query.event), self.all_left(&query));
        let profile = Arc::clone(&self.profile);
        let work = Work::new(async move |slice| {
            heat_map::heat_map(&profile, &query, &request, &load, &left, &slice).await
        });
        self.symbols.is_read_by(&work);
        work
    }

    /// Who ran these DSOs, and when.
    pub(super) fn dso_users(&self, dsos: Vec<DsoId>) -> Work<Vec<DsoUsers>> {
        let profile = Arc::clone(&self.profile);
        Work::new(async move |slice| dso_users::users(&profile, &dsos, &slice).await)
    }

    /// What was sampled from a time on and before another, in nanoseconds since the first of the
    /// recording; the query's own range counts for nothing.
    pub fn heat_cell(&mut self, query: &Query, start: u64, end: u64) -> HeatCell {
        let (load, left) = (self.load(query.event), self.all_left(query));
        heat_map::cell(&self.profile, &self.symbols, query, &load, &left, start..end)
    }

    fn leaf_kinds(&mut self, query: &Query) -> Rc<[u8]> {
        let Self { times, profile, symbols, .. } = self;
        let own = OwnCode::of(profile, query);
        let known = times.leaf_kinds.take().filter(|(of, _)| *of == own);
        let kinds = || timeline::leaf_kinds(profile, symbols, &own).into();
        let kinds = known.map_or_else(kinds, |(_, kinds)| kinds);
        times.leaf_kinds = Some((own, Rc::clone(&kinds)));
        kinds
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
