//! Two call trees → one, in steps.

use perftab_profile::{IdTable, hash_pair};

use super::labels::Labeller;
use super::{ComparedSide, Source, Sums};
use crate::call_tree::CallNodeId;

/// The call nodes of both sides, each once.
pub(super) struct MergedTree {
    pub label: Vec<u32>,
    pub parent: Vec<CallNodeId>,
    pub self_sums: Vec<Sums>,
}

/// The trees while they are merged, the side before first.
pub(super) struct TreeMerge {
    merged: MergedTree,
    index: IdTable,
    side: ComparedSide,
    /// By call node of that side: what it is in both.
    of_side: Vec<CallNodeId>,
}

impl TreeMerge {
    /// Nothing is merged yet.
    pub fn new() -> Self {
        let merged = MergedTree { label: Vec::new(), parent: Vec::new(), self_sums: Vec::new() };
        Self { merged, index: IdTable::default(), side: ComparedSide::Before, of_side: Vec::new() }
    }

    /// Merges so many more call nodes; true when there are none left.
    pub fn step(&mut self, labeller: &mut Labeller<'_>, call_nodes: usize) -> bool {
        let tree = labeller.sources[self.side as usize].tree;
        let from = self.of_side.len();
        for id in tree.ids().skip(from).take(call_nodes) {
            let parent = tree.parent(id).map_or(CallNodeId::ROOT, |id| self.of_side[id.0 as usize]);
            let label = labeller.label(self.side, tree.label(id));
            let row = self.find(parent, label, tree.parent(id).is_none());
            self.merged.self_sums[row.0 as usize].of_mut(self.side).add(tree.self_sum(id));
            self.of_side.push(row);
        }
        if self.of_side.len() < tree.len() {
            return false;
        }
        let is_last = self.side == ComparedSide::After;
        if !is_last {
            self.side = ComparedSide::After;
            self.of_side = Vec::new();
        }
        is_last
    }

    /// How many call nodes of both sides have been gone through.
    pub fn done(&self, sources: [&Source<'_>; 2]) -> usize {
        let before = if self.side == ComparedSide::After { sources[0].tree.len() } else { 0 };
        before + self.of_side.len()
    }

    pub fn finish(self) -> MergedTree {
        self.merged
    }

    fn find(&mut self, parent: CallNodeId, label: u32, is_root: bool) -> CallNodeId {
        let Self { merged, index, .. } = self;
        if is_root && !merged.label.is_empty() {
            return CallNodeId::ROOT;
        }
        let hash = |label: u32, parent: CallNodeId| {
            hash_pair(u64::from(label), u64::from(parent.0)) as u32
        };
        let MergedTree { label: labels, parent: parents, self_sums } = merged;
        let row = index.find_or_insert(
            labels.len(),
            hash(label, parent),
            // Row 0 is the root, which is nobody's child.
            |row| row > 0 && labels[row as usize] == label && parents[row as usize] == parent,
            |row| hash(labels[row as usize], parents[row as usize]),
        );
        if row as usize == labels.len() {
            labels.push(label);
            parents.push(parent);
            self_sums.push(Sums::default());
        }
        CallNodeId(row)
    }
}
