//! Two profiles, or two parts of one, as one call tree with the weights of both.
//!
//! Call nodes are matched from the root down: by name of process, and by function as `labels.rs`
//! says. What one side alone has stays, with nothing on the other. Everything that is shown is
//! computed from weights of both sides with a [`Basis`], so that sides of different length can be
//! held beside each other:
//!
//! - a profile beside itself has no change anywhere;
//! - swapping the sides negates every change, exactly;
//! - the sums of each side are those of its own call tree.
//!
//! Constraint: names never pair what a build-id does not vouch for. Forced names are of one side.

mod change;
mod dsos;
mod functions;
mod labels;
mod layout;
mod naming;
#[cfg(test)]
mod tests;
mod tree;

use perftab_perfdata::map::Set;

use perftab_names::{Ledger, Symbols};
use perftab_perfdata::slice::{Slice, at_once};
use perftab_profile::{Profile, Strings};

use crate::Unnamed;
use crate::call_tree::{CallNodeId, CallTree};
use crate::label::OwnCode;
use crate::weights::Sum;

pub use change::{Basis, Change, ComparedSide, Measures, Totals, Width};
pub use dsos::{DsoPair, DsoSide, MatchedBy, Relation};
pub use functions::{ChangeKey, ChangeOrder, FunctionChange};
pub use labels::{ComparedLabel, Name, Presence};
pub use layout::{ComparedGraph, ComparedWindow};

use labels::{LabelNumbers, Labeller};
use tree::MergedTree;

/// What one side is made of.
#[derive(Clone)]
pub struct Source<'a> {
    /// Its columns.
    pub profile: &'a Profile,
    /// Its names.
    pub symbols: &'a Symbols,
    /// Where they come from.
    pub ledger: &'a Ledger,
    /// What is shown of it, each address for itself: the other side may name it.
    pub tree: &'a CallTree,
    /// What becomes of addresses without a name on either side.
    pub unnamed: Unnamed,
    /// What is coloured as own code.
    pub own: OwnCode,
    /// How long what is shown took; 0 if that was not recorded.
    pub nanoseconds: u64,
}

/// Whether the sides are of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recordings {
    /// Of one: every DSO and address is the same in both.
    One,
    /// Of two, or of one that was read twice.
    Two,
}

/// A weight on each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// On the side that counts as earlier.
    pub before: Sum,
    /// On the other.
    pub after: Sum,
}

impl Sums {
    /// Adds both sides of another.
    pub fn add(&mut self, other: Self) {
        self.before.add(other.before);
        self.after.add(other.after);
    }

    /// The sum of one side.
    pub fn of(self, side: ComparedSide) -> Sum {
        match side {
            ComparedSide::Before => self.before,
            ComparedSide::After => self.after,
        }
    }

    fn of_mut(&mut self, side: ComparedSide) -> &mut Sum {
        match side {
            ComparedSide::Before => &mut self.before,
            ComparedSide::After => &mut self.after,
        }
    }

    fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Both sides in one call tree: columns by call node. A parent has a lower number than its
/// children.
pub struct Comparison {
    labels: Vec<ComparedLabel>,
    texts: Strings,
    label: Vec<u32>,
    parent: Vec<CallNodeId>,
    self_sums: Vec<Sums>,
    totals: Vec<Sums>,
    /// First child of each call node in `children`, and one more.
    child_start: Vec<u32>,
    children: Vec<CallNodeId>,
    /// By label the side that may have it without a name, where the other names it.
    without_names: Vec<Option<ComparedSide>>,
    /// The same by call node, of itself or of a caller.
    unnamed_by: Vec<Option<ComparedSide>>,
    functions: Vec<FunctionChange>,
    dsos: Vec<DsoPair>,
    nanoseconds: [u64; 2],
}

impl Comparison {
    /// Compares two trees of callees, or two of callers.
    pub fn new(before: &Source<'_>, after: &Source<'_>, recordings: Recordings) -> Self {
        at_once(async |slice| Self::in_slices([before, after], recordings, slice).await)
    }

    /// The same in slices of call nodes.
    pub async fn in_slices(
        sources: [&Source<'_>; 2],
        recordings: Recordings,
        slice: &Slice,
    ) -> Self {
        let all: usize = sources.iter().map(|source| source.tree.len()).sum();
        slice.expect(3 * all);
        let (pairing, dsos) = dsos::pair(sources, recordings);
        let mut numbered = LabelNumbers::new(sources, &pairing);
        let mut labeller = Labeller {
            sources,
            recordings,
            pairing: &pairing,
            pairs: &dsos,
            numbered: &mut numbered,
        };
        let merged = tree::merge(&mut labeller, slice).await;
        let mut comparison = Self::of(sources, merged, numbered, dsos);
        comparison.functions = functions::changes(&comparison, slice).await;
        comparison.mark_unnamed(sources);
        comparison
    }

    /// All but its functions.
    fn of(
        sources: [&Source<'_>; 2],
        merged: MergedTree,
        numbered: LabelNumbers,
        dsos: Vec<DsoPair>,
    ) -> Self {
        let (labels, texts) = numbered.finish();
        let mut comparison = Self {
            labels,
            texts,
            label: merged.label,
            parent: merged.parent,
            totals: merged.self_sums.clone(),
            self_sums: merged.self_sums,
            child_start: Vec::new(),
            children: Vec::new(),
            without_names: Vec::new(),
            unnamed_by: Vec::new(),
            functions: Vec::new(),
            dsos,
            nanoseconds: sources.map(|source| source.nanoseconds),
        };
        comparison.add_up();
        comparison.add_dso_sums();
        comparison
    }

    /// Number of call nodes, the root included.
    pub fn len(&self) -> usize {
        self.label.len()
    }

    /// True if neither side has anything.
    pub fn is_empty(&self) -> bool {
        self.totals[0].is_zero()
    }

    /// The call node with this number, if there is one.
    pub fn id(&self, number: u32) -> Option<CallNodeId> {
        ((number as usize) < self.len()).then_some(CallNodeId(number))
    }

    /// What it stands for.
    pub fn label(&self, id: CallNodeId) -> &ComparedLabel {
        &self.labels[self.label[id.0 as usize] as usize]
    }

    /// The label of this number, as functions have it.
    pub fn label_of(&self, number: u32) -> &ComparedLabel {
        &self.labels[number as usize]
    }

    /// Samples that pass through any function of these labels, each counted once.
    pub fn through(&self, functions: &Set<u32>) -> Sums {
        let mut sums = Sums::default();
        let mut open = vec![CallNodeId::ROOT];
        while let Some(id) = open.pop() {
            match functions.contains(&self.label(id).function) {
                true => sums.add(self.total(id)),
                false => open.extend_from_slice(self.children(id)),
            }
        }
        sums
    }

    /// Its text, without a mark of the side that it is on.
    pub fn text(&self, label: &ComparedLabel) -> String {
        labels::text(label, &self.texts)
    }

    /// Its caller; `None` for the root.
    pub fn parent(&self, id: CallNodeId) -> Option<CallNodeId> {
        (id != CallNodeId::ROOT).then(|| self.parent[id.0 as usize])
    }

    /// Samples that ended in it.
    pub fn self_sums(&self, id: CallNodeId) -> Sums {
        self.self_sums[id.0 as usize]
    }

    /// Samples that passed through it.
    pub fn total(&self, id: CallNodeId) -> Sums {
        self.totals[id.0 as usize]
    }

    /// Which sides have it; both, where one of them may have it without a name.
    pub fn presence(&self, id: CallNodeId) -> Presence {
        match self.unnamed_by(id) {
            None => Presence::of(self.total(id)),
            Some(_) => Presence::Both,
        }
    }

    /// The side that may have a function without a name, where the other names it.
    pub fn without_names(&self, label: &ComparedLabel) -> Option<ComparedSide> {
        self.without_names[label.function as usize]
    }

    /// The same of a call node or of a caller of it: they are no longer the same calls.
    pub fn unnamed_by(&self, id: CallNodeId) -> Option<ComparedSide> {
        self.unnamed_by[id.0 as usize]
    }

    /// How sums of a call node differ.
    pub fn change(&self, measures: &Measures, id: CallNodeId, sums: Sums) -> Change {
        match self.unnamed_by(id) {
            None => measures.change(sums),
            Some(side) => measures.unknown_change(sums, side),
        }
    }

    /// How a function's samples differ, those that ended in it or all.
    pub fn function_change(
        &self,
        measures: &Measures,
        function: &FunctionChange,
        key: ChangeKey,
    ) -> Change {
        let sums = function.sums(key);
        match self.without_names(self.label_of(function.label)) {
            None => measures.change(sums),
            Some(side) => measures.unknown_change(sums, side),
        }
    }

    /// Which sides have a function; both, where one of them may have it without a name.
    pub fn function_presence(&self, function: &FunctionChange, key: ChangeKey) -> Presence {
        match self.without_names(self.label_of(function.label)) {
            None => Presence::of(function.sums(key)),
            Some(_) => Presence::Both,
        }
    }

    /// Its children, in no order.
    pub fn children(&self, id: CallNodeId) -> &[CallNodeId] {
        let start = self.child_start[id.0 as usize] as usize;
        let end = self.child_start[id.0 as usize + 1] as usize;
        &self.children[start..end]
    }

    /// From the root to the call node, both included.
    pub fn path(&self, id: CallNodeId) -> Vec<CallNodeId> {
        let mut path: Vec<_> = std::iter::successors(Some(id), |&id| self.parent(id)).collect();
        path.reverse();
        path
    }

    /// All functions that either side has, in no order.
    pub fn functions(&self) -> &[FunctionChange] {
        &self.functions
    }

    /// Pairs of DSOs, by the numbers that labels have; of some no sample is shown.
    pub fn dsos(&self) -> &[DsoPair] {
        &self.dsos
    }

    /// What each side has in all, and how long it took.
    pub fn totals(&self) -> Totals {
        Totals { sums: self.totals[0], nanoseconds: self.nanoseconds }
    }

    /// Totals from selves, and children of parents.
    fn add_up(&mut self) {
        let count = self.label.len();
        let mut start = vec![0u32; count + 1];
        for row in (1..count).rev() {
            let parent = self.parent[row].0 as usize;
            let total = self.totals[row];
            self.totals[parent].add(total);
            start[parent + 1] += 1;
        }
        for row in 0..count {
            start[row + 1] += start[row];
        }
        let mut next = start.clone();
        self.children = vec![CallNodeId::ROOT; count.saturating_sub(1)];
        for row in 1..count {
            let slot = &mut next[self.parent[row].0 as usize];
            self.children[*slot as usize] = CallNodeId(row as u32);
            *slot += 1;
        }
        self.child_start = start;
    }

    /// Samples that ended in each pair of DSOs.
    fn add_dso_sums(&mut self) {
        for row in 0..self.label.len() {
            let label = &self.labels[self.label[row] as usize];
            let Some(number) = label.pair else { continue };
            let pair = &mut self.dsos[number as usize];
            pair.is_shown = true;
            pair.self_sums.add(self.self_sums[row]);
            pair.is_named |= naming::is_named(label);
        }
    }
}
