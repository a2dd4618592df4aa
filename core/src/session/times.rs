//! When things were: timeline, heat map and marks. What goes through all samples does so in slices,
//! so that a host can stop it.

use std::rc::Rc;

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

use crate::session::desk::Desk;
use crate::session::{Session, TreeDetail};

/// Sums kept: those of the query that is shown, and of the one before.
const SUMS_KEPT: usize = 2;

/// What views of time are made from, kept as long as it is true.
#[derive(Default)]
pub(super) struct Times {
    /// By [`key`].
    sums: Vec<(Query, TaskSums)>,
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

    fn keep(&mut self, query: &Query, sums: &TaskSums) {
        let key = key(query);
        if self.known(&key).is_none() {
            if self.sums.len() == SUMS_KEPT {
                self.sums.remove(0);
            }
            self.sums.push((key, sums.clone()));
        }
    }
}

impl Desk {
    /// What the steps of a query leave, whatever its range: where any takes samples away, its tree of
    /// callees is made for that.
    pub async fn left(&self, query: &Query) -> RemainingSamples {
        if query.steps.iter().any(Transform::drops) {
            self.make_tree(&placed::callees_of(query), TreeDetail::Ends).await;
        }
        self.ask(|session| session.known_left(query))
    }

    /// The timeline of what the query's filters and steps leave, its range apart.
    pub async fn timeline(&self, query: Query, request: TimelineRequest) -> Timeline {
        let profile = self.ask(|session| Rc::clone(&session.profile));
        if let Some(bins) = &profile.bins {
            return binned::timeline(&profile, bins, &query, &request);
        }
        let known = self.ask(|session| session.times.known(&key(&query)).cloned());
        let sums = match known {
            Some(sums) => sums,
            None => {
                let left = self.left(&query).await;
                self.slice.expect(2 * profile.samples.len());
                TaskSums::of(&profile, &query, left, &self.slice).await
            }
        };
        let (period, kinds) = self.ask(|session| {
            session.times.keep(&query, &sums);
            (session.sample_period(query.event), session.leaf_kinds(&query))
        });
        let spans = SampleSpans::new(&profile, period);
        timeline::timeline(&profile, &query, &request, &sums, spans, &kinds, &self.slice).await
    }

    /// The heat map of the same.
    pub async fn heat_map(&self, query: Query, request: HeatRequest) -> HeatMap {
        let left = self.left(&query).await;
        let (profile, load) =
            self.ask(|session| (Rc::clone(&session.profile), session.load(query.event)));
        heat_map::heat_map(&profile, &query, &request, &load, &left, &self.slice).await
    }

    /// Who ran these DSOs, and when.
    pub async fn dso_users(&self, dsos: Vec<DsoId>) -> Vec<DsoUsers> {
        let profile = self.ask(|session| Rc::clone(&session.profile));
        dso_users::users(&profile, &dsos, &self.slice).await
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
        self.times.keep(&query, &sums);
        rows
    }

    /// What the steps of a query leave, whatever its range, where its tree of callees is there if any takes
    /// samples away.
    fn known_left(&self, query: &Query) -> RemainingSamples {
        let ends = self.trees.with_ends(&placed::callees_of(query)).map(|(_, ends)| ends);
        match query.steps.iter().any(Transform::drops) {
            true => RemainingSamples::of(ends.unwrap_or_default()),
            false => RemainingSamples::default(),
        }
    }

    /// What was sampled from a time on and before another, in nanoseconds since the first of the
    /// recording; the query's own range counts for nothing.
    pub fn heat_cell(&mut self, query: &Query, start: u64, end: u64) -> HeatCell {
        if query.steps.iter().any(Transform::drops) {
            self.parts_and_ends(&placed::callees_of(query));
        }
        let (load, left) = (self.load(query.event), self.known_left(query));
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
