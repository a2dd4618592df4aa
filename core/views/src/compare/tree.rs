//! Two call trees → one.

use perftab_perfdata::slice::Slice;
use perftab_profile::{IdTable, hash_pair};

use super::labels::Labeller;
use super::{ComparedSide, Sums};
use crate::call_tree::CallNodeId;

/// The call nodes of both sides, each once.
#[derive(Default)]
pub(super) struct MergedTree {
    pub label: Vec<u32>,
    pub parent: Vec<CallNodeId>,
    pub self_sums: Vec<Sums>,
}

/// Merges both trees, the side before first. In slices of call nodes.
pub(super) async fn merge(labeller: &mut Labeller<'_>, slice: &Slice) -> MergedTree {
    let mut merged = MergedTree::default();
    let mut index = IdTable::default();
    for side in [ComparedSide::Before, ComparedSide::After] {
        let tree = labeller.sources[side as usize].tree;
        // By call node of this side: what it is in both.
        let mut of_side: Vec<CallNodeId> = Vec::with_capacity(tree.len());
        let mut ids = 0..tree.len();
        while let Some(part) = slice.part(&mut ids).await {
            for id in part.map(|id| CallNodeId(id as u32)) {
                let parent = tree.parent(id).map(|id| of_side[id.0 as usize]);
                let label = labeller.label(side, tree.label(id));
                let above = parent.filter(|parent| merged.label[parent.0 as usize] == label);
                let row = match above.filter(|_| labeller.is_one(label)) {
                    Some(above) => above,
                    None => merged.find(&mut index, parent, label),
                };
                merged.self_sums[row.0 as usize].of_mut(side).add(tree.self_sum(id));
                of_side.push(row);
            }
        }
    }
    merged
}

impl MergedTree {
    fn find(&mut self, index: &mut IdTable, parent: Option<CallNodeId>, label: u32) -> CallNodeId {
        if parent.is_none() && !self.label.is_empty() {
            return CallNodeId::ROOT;
        }
        let parent = parent.unwrap_or(CallNodeId::ROOT);
        let hash = |label: u32, parent: CallNodeId| {
            hash_pair(u64::from(label), u64::from(parent.0)) as u32
        };
        let Self { label: labels, parent: parents, self_sums } = self;
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
