//! Who ran a call node or a function, and when.
//!
//! Samples end in the query's tree of callees ([`Ends`]), whichever way the tree on the screen
//! stands. So it is decided once by call node of that tree which ends are meant; then the samples
//! are gone through once, in steps.

use std::ops::Range;

use perftab_names::FunctionId;
use perftab_perfdata::slice::Slice;
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
#[serde(rename_all = "kebab-case", tag = "kind", content = "id", try_from = "SubjectFields")]
pub enum Subject {
    /// A call node of the query's tree.
    CallNode(u32),
    /// A function, wherever it is called.
    Function(u32),
}

/// As with steps (`transform.rs`).
#[derive(Deserialize)]
struct SubjectFields {
    kind: String,
    id: u32,
}

impl TryFrom<SubjectFields> for Subject {
    type Error = &'static str;

    fn try_from(SubjectFields { kind, id }: SubjectFields) -> Result<Self, &'static str> {
        match kind.as_str() {
            "call-node" => Ok(Self::CallNode(id)),
            "function" => Ok(Self::Function(id)),
            _ => Err("a call node or a function is asked about"),
        }
    }
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
    pub fn ends(&self, tree: &CallTree) -> Vec<bool> {
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
    let is_group = |label: &Label| matches!(label, Label::Group(_) | Label::Family(_));
    let (groups, calls): (Vec<Label>, Vec<Label>) = way.iter().partition(|label| is_group(label));
    let mut outwards = std::iter::successors(Some(id), |&id| tree.parent(id));
    let mut labels = outwards.by_ref().map(|id| tree.label(id));
    calls.iter().all(|call| labels.next() == Some(*call))
        && groups.iter().all(|group| labels.find(is_group) == Some(*group))
}

/// Who ran what is meant, and when: of the samples that a query of callees takes, whose ends these are, and
/// by call node of its tree whether it is meant ([`ResolvedSubject::ends`]). In slices of rows.
pub async fn occurrence(
    profile: &Profile,
    query: &Query,
    ends: &Ends,
    meant: &[bool],
    bins: u32,
    slice: &Slice,
) -> Occurrence {
    let filter = Filter::new(profile, query);
    let mut rows = filter.rows();
    let mut runners = RunnerCounts::new(profile);
    let mut times = TimeBins::of(profile, query, bins);
    slice.expect(rows.len());
    while let Some(part) = slice.part(&mut rows).await {
        for row in part {
            let thread = profile.samples.thread.at(row);
            let is_meant = filter.is_of_event(row)
                && filter.removed_by(row).is_none()
                && ends
                    .of(thread, profile.samples.stack[row])
                    .is_some_and(|end| meant[end.0 as usize]);
            if is_meant {
                let sum = filter.sum(row);
                runners.add(thread, sum.samples);
                times.add(profile.samples.time_nanos.at(row), sum.weight);
            }
        }
    }
    let TimeBins { window, bins, .. } = times;
    let (start, end) = (window.start as f64, window.end as f64);
    Occurrence { runners: runners.finish(profile), start, end, bins }
}

/// Weight by time; nothing where samples have no time.
struct TimeBins {
    first: u64,
    window: Range<u64>,
    bins: Vec<f64>,
}

impl TimeBins {
    fn of(profile: &Profile, query: &Query, bins: u32) -> Self {
        let Some(first) = profile.first_time() else {
            return Self { first: 0, window: 0..0, bins: Vec::new() };
        };
        let inside = query.range.filter(|range| range.side == RangeSide::Inside);
        let (start, end) = inside.map_or((0, 0), |range| (range.start, range.end));
        let window = tasks::window(profile, start, end);
        Self { first, window, bins: vec![0.0; bins.clamp(1, MOST_BINS) as usize] }
    }

    fn add(&mut self, time: u64, weight: u64) {
        let Some(last) = self.bins.len().checked_sub(1) else { return };
        // What is before the first time is in the first bin, as for every filter.
        let since = time.saturating_sub(self.first).saturating_sub(self.window.start);
        let length = (self.window.end - self.window.start).max(1);
        let bin = (since as f64 * self.bins.len() as f64 / length as f64) as usize;
        self.bins[bin.min(last)] += weight as f64;
    }
}
