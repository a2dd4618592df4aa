//! Which samples a query takes.
//!
//! Each filter decides a sample by itself, so their order changes nothing but which of them is
//! said to have taken a sample away: the first.

use perftab_perfdata::map::Set;
use std::ops::Range;

use perftab_profile::{DsoId, EventSet, Profile, StackId, ThreadId};
use serde::{Deserialize, Serialize};

use crate::Query;
use crate::weights::Sum;

/// A part of the recording's time, or the rest. In nanoseconds since [`Profile::first_time`];
/// a sample without a time lies in no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct TimeRange {
    /// When it begins.
    pub start: u64,
    /// When it has ended.
    pub end: u64,
    /// Which side of its limits is taken.
    pub side: RangeSide,
}

/// Which side of a range's limits is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum RangeSide {
    /// What lies between them.
    #[default]
    Inside,
    /// Everything else.
    Outside,
}

/// A filter of a query, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// [`Query::range`].
    Range,
    /// [`Query::processes`].
    Processes,
    /// [`Query::threads`].
    Threads,
    /// [`Query::comms`].
    Comms,
    /// [`Query::cpus`].
    Cpus,
    /// [`Query::dsos`].
    Dsos,
}

impl FilterKind {
    /// In the order in which samples are said to be taken away.
    pub const ALL: [Self; 6] =
        [Self::Range, Self::Processes, Self::Threads, Self::Comms, Self::Cpus, Self::Dsos];

    /// Whether the query has such a filter.
    pub fn is_set(self, query: &Query) -> bool {
        match self {
            Self::Range => query.range.is_some(),
            Self::Processes => !query.processes.is_empty(),
            Self::Threads => !query.threads.is_empty(),
            Self::Comms => !query.comms.is_empty(),
            Self::Cpus => !query.cpus.is_empty(),
            Self::Dsos => !query.dsos.is_empty(),
        }
    }
}

/// The filters of a query, ready to decide.
pub struct Filter<'a> {
    profile: &'a Profile,
    events: EventSet,
    range: Option<Times>,
    /// Of the range; empty: all of it.
    spans: Vec<Times>,
    /// By [`perftab_profile::ThreadId`]: the first filter that the thread does not pass.
    threads: Option<Vec<Option<FilterKind>>>,
    cpus: Option<Set<u16>>,
    /// By [`DsoId`]: whether samples that end in it are taken.
    dsos: Option<Vec<bool>>,
}

/// Times of the recorder's clock.
struct Times {
    start: u64,
    end: u64,
    side: RangeSide,
}

impl Times {
    fn of(profile: &Profile, range: TimeRange) -> Self {
        // 0 stands for no time. Derived events may have times before the first that was recorded:
        // they count as taken then.
        let first = profile.first_time().unwrap_or_default();
        let at = |nanos: u64| if nanos == 0 { 1 } else { first.saturating_add(nanos) };
        Self { start: at(range.start), end: at(range.end), side: range.side }
    }

    fn take(&self, time: u64) -> bool {
        (self.start <= time && time < self.end) == (self.side == RangeSide::Inside)
    }
}

impl<'a> Filter<'a> {
    /// The filters of `query`.
    pub fn new(profile: &'a Profile, query: &Query) -> Self {
        let is_set = |kind: FilterKind| kind.is_set(query);
        let by_thread = [FilterKind::Processes, FilterKind::Threads, FilterKind::Comms];
        Self {
            profile,
            events: profile.event_set(query.event),
            range: query.range.map(|range| Times::of(profile, range)),
            spans: query.spans.iter().map(|span| Times::of(profile, inside(span))).collect(),
            threads: by_thread.into_iter().any(is_set).then(|| threads(profile, query)),
            cpus: is_set(FilterKind::Cpus).then(|| query.cpus.iter().copied().collect()),
            dsos: is_set(FilterKind::Dsos).then(|| dsos(profile, query)),
        }
    }

    /// Rows among which all samples are that pass.
    pub fn rows(&self) -> Range<usize> {
        match &self.range {
            Some(Times { start, end, side: RangeSide::Inside }) => {
                self.profile.samples.rows_within(*start, *end)
            }
            _ => 0..self.profile.samples.len(),
        }
    }

    /// Rows between the limits of a range, whichever side of them it takes.
    pub(super) fn rows_inside(&self, range: TimeRange) -> Range<usize> {
        let Times { start, end, .. } = Times::of(self.profile, range);
        self.profile.samples.rows_within(start, end)
    }

    /// True if the sample of this row is of the query's event, or of one of its parts.
    pub fn is_of_event(&self, row: usize) -> bool {
        self.events.has(self.profile.samples.event[row])
    }

    /// True if the query's event, or one of its parts, is among those of a list by
    /// [`perftab_profile::EventId`].
    pub fn has_any(&self, events: &[bool]) -> bool {
        let mut ids = (0..=u16::MAX).zip(events);
        ids.any(|(id, &is_meant)| is_meant && self.events.has(id))
    }

    /// False if samples of this thread are taken away whatever else they are.
    pub fn takes_thread(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|kinds| kinds[thread.index()].is_none())
    }

    /// The first filter that takes the sample of this row away; `None` if it passes.
    pub fn removed_by(&self, row: usize) -> Option<FilterKind> {
        let samples = &self.profile.samples;
        if self.range.as_ref().is_some_and(|range| !range.take(samples.time_nanos.at(row))) {
            return Some(FilterKind::Range);
        }
        let is_in = |span: &Times| span.take(samples.time_nanos.at(row));
        if !self.spans.is_empty() && !self.spans.iter().any(is_in) {
            return Some(FilterKind::Range);
        }
        let of_thread =
            self.threads.as_ref().and_then(|kinds| kinds[samples.thread.at(row).index()]);
        if of_thread.is_some() {
            return of_thread;
        }
        if self.cpus.as_ref().is_some_and(|cpus| !cpus.contains(&samples.cpu.at(row))) {
            return Some(FilterKind::Cpus);
        }
        let takes = |dsos: &Vec<bool>| {
            leaf_dso(self.profile, samples.stack[row]).is_some_and(|dso| dsos[dso.index()])
        };
        self.dsos.as_ref().is_some_and(|dsos| !takes(dsos)).then_some(FilterKind::Dsos)
    }

    /// What the sample of this row counts for.
    pub fn sum(&self, row: usize) -> Sum {
        let samples = &self.profile.samples;
        Sum { weight: samples.weight.at(row), samples: samples.count(row) }
    }
}

fn inside(span: &Range<u64>) -> TimeRange {
    TimeRange { start: span.start, end: span.end, side: RangeSide::Inside }
}

fn leaf_dso(profile: &Profile, stack: StackId) -> Option<DsoId> {
    profile.stacks.get(stack).map(|(_, frame)| profile.frames.get(frame).dso)
}

fn threads(profile: &Profile, query: &Query) -> Vec<Option<FilterKind>> {
    let lacks = |wanted: &[u32], id: u32| !wanted.is_empty() && !wanted.contains(&id);
    let threads = profile.threads.threads.iter().map(|thread| {
        let name = profile.strings.get(thread.name);
        if lacks(&query.processes, profile.threads.process(thread.process).pid) {
            Some(FilterKind::Processes)
        } else if lacks(&query.threads, thread.tid) {
            Some(FilterKind::Threads)
        } else if !query.comms.is_empty() && !query.comms.iter().any(|comm| comm == name) {
            Some(FilterKind::Comms)
        } else {
            None
        }
    });
    threads.collect()
}

fn dsos(profile: &Profile, query: &Query) -> Vec<bool> {
    let is_wanted = |dso| query.dsos.iter().any(|wanted| wanted.means(dso));
    profile.dsos.iter().map(|(_, dso)| is_wanted(dso)).collect()
}
