//! Who ran a call node or a function, and when.
//!
//! Samples end in the query's tree of callees ([`Ends`]), whichever way the tree on the screen
//! stands. So it is decided once by call node of that tree which ends are meant; then the samples
//! are gone through once, in steps.

use std::ops::Range;

use perftab_names::FunctionId;
use perftab_profile::Profile;
use serde::{Deserialize, Serialize};

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::ends::Ends;
use crate::filter::{Filter, RangeSide};
use crate::runners::{RunnerCounts, Runners};
use crate::{Direction, Query, tasks};

/// More bins than pixels are of no use.
const MOST_BINS: u32 = 4096;

/// What is asked about, by its number of the present names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case", tag = "kind", content = "id")]
pub enum Subject {
    /// A call node of the query's tree.
    CallNode(u32),
    /// A function, wherever it is called.
    Function(u32),
}

/// Who ran it, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Occurrence {
    /// Processes and their threads.
    pub runners: Runners,
    /// When the first bin begins, in nanoseconds since the first time of the recording: where the
    /// query's range does, or the recording.
    pub start: f64,
    /// When the last one ends.
    pub end: f64,
    /// Weight of its samples by time, in bins of one length; none where samples have no times.
    pub bins: Vec<f64>,
}

/// What a [`Subject`] is, in words that hold for the tree that samples end in.
#[derive(Clone, Debug, PartialEq)]
pub enum ResolvedSubject {
    /// The call node with these labels from the root down, the root left out, in a tree of this
    /// direction.
    Path(Direction, Vec<Label>),
    /// A function.
    Function(FunctionId),
}

impl ResolvedSubject {
    /// A call node of a tree.
    pub fn call_node(tree: &CallTree, direction: Direction, id: CallNodeId) -> Self {
        let way = tree.path(id).into_iter().skip(1).map(|id| tree.label(id));
        Self::Path(direction, way.collect())
    }

    /// By call node of the query's tree of callees: whether samples that end there are meant.
    fn ends(&self, tree: &CallTree) -> Vec<bool> {
        match self {
            Self::Function(function) => {
                below(tree, |id| tree.label(id).function() == Some(*function))
            }
            Self::Path(Direction::Callees, way) => {
                let step = |at: CallNodeId, label: &Label| {
                    tree.children(at).iter().copied().find(|&child| tree.label(child) == *label)
                };
                let found = way.iter().try_fold(CallNodeId::ROOT, step);
                below(tree, |id| Some(id) == found)
            }
            Self::Path(Direction::Inverted, way) => {
                tree.ids().map(|id| ends_the_other_way(tree, id, way)).collect()
            }
        }
    }
}

/// By call node: whether it or a caller of it is one of those. Callers have lower numbers.
fn below(tree: &CallTree, is_one: impl Fn(CallNodeId) -> bool) -> Vec<bool> {
    let mut below = vec![false; tree.len()];
    for id in tree.ids() {
        let of_caller = tree.parent(id).is_some_and(|caller| below[caller.0 as usize]);
        below[id.0 as usize] = of_caller || is_one(id);
    }
    below
}

/// Whether samples that end in `id` pass through the call node of the inverted tree that `way` leads
/// to: groups, then from the innermost function outwards.
fn ends_the_other_way(tree: &CallTree, id: CallNodeId, way: &[Label]) -> bool {
    let is_group = |label: &Label| matches!(label, Label::Group(_));
    let (groups, calls): (Vec<Label>, Vec<Label>) = way.iter().partition(|label| is_group(label));
    let mut outwards = std::iter::successors(Some(id), |&id| tree.parent(id));
    let mut labels = outwards.by_ref().map(|id| tree.label(id));
    calls.iter().all(|call| labels.next() == Some(*call))
        && groups.iter().all(|group| labels.find(is_group) == Some(*group))
}

/// An [`Occurrence`] to be.
pub struct OccurrenceScan {
    query: Query,
    meant: Vec<bool>,
    times: Option<(u64, Range<u64>)>,
    runners: RunnerCounts,
    bins: Vec<f64>,
    rows: Range<usize>,
}

impl OccurrenceScan {
    /// Of the samples that a query of callees takes; `tree` is its tree.
    pub fn new(
        profile: &Profile,
        query: &Query,
        tree: &CallTree,
        meant: &ResolvedSubject,
        bins: u32,
    ) -> Self {
        let inside = query.range.filter(|range| range.side == RangeSide::Inside);
        let (start, end) = inside.map_or((0, 0), |range| (range.start, range.end));
        let window = tasks::window(profile, start, end);
        let times = profile.first_time().map(|first| (first, window));
        let bins = if times.is_some() { bins.clamp(1, MOST_BINS) } else { 0 };
        Self {
            query: query.clone(),
            meant: meant.ends(tree),
            times,
            runners: RunnerCounts::new(profile),
            bins: vec![0.0; bins as usize],
            rows: Filter::new(profile, query).rows(),
        }
    }

    /// Goes through so many more rows; true when there are none left. `ends` are those of the
    /// query.
    pub fn step(&mut self, profile: &Profile, ends: &Ends, rows: usize) -> bool {
        let filter = Filter::new(profile, &self.query);
        let samples = &profile.samples;
        let to = self.rows.start.saturating_add(rows).min(self.rows.end);
        for row in self.rows.start..to {
            let thread = samples.thread[row];
            let is_meant = filter.is_of_event(row)
                && filter.removed_by(row).is_none()
                && ends
                    .of(thread, samples.stack[row])
                    .is_some_and(|end| self.meant[end.0 as usize]);
            if is_meant {
                let sum = filter.sum(row);
                self.runners.add(thread, sum.samples);
                self.add_at(samples.time_nanos[row], sum.weight);
            }
        }
        self.rows.start = to;
        self.rows.is_empty()
    }

    fn add_at(&mut self, time: u64, weight: u64) {
        let Some((first, window)) = &self.times else { return };
        // What is before the first time is in the first bin, as for every filter.
        let since = time.saturating_sub(*first).saturating_sub(window.start);
        let length = (window.end - window.start).max(1);
        let bin = (since as f64 * self.bins.len() as f64 / length as f64) as usize;
        let last = self.bins.len() - 1;
        self.bins[bin.min(last)] += weight as f64;
    }

    /// Rows that are left.
    pub fn rows_left(&self) -> usize {
        self.rows.len()
    }

    /// What [`Self::step`] has added up.
    pub fn finish(self, profile: &Profile) -> Occurrence {
        let window = self.times.map_or(0..0, |(_, window)| window);
        Occurrence {
            runners: self.runners.finish(profile),
            start: window.start as f64,
            end: window.end as f64,
            bins: self.bins,
        }
    }
}
