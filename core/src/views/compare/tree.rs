//! Two call trees → one.

use super::labels::Labeller;
use super::{Side, Source, Sums};
use crate::profile::{IdTable, hash_pair};
use crate::views::call_tree::CallNodeId;

/// The call nodes of both sides, each once.
pub(super) struct Merged {
    pub label: Vec<u32>,
    pub parent: Vec<CallNodeId>,
    pub self_sums: Vec<Sums>,
}

/// Merges the trees, the side before first.
pub(super) fn merge(sources: [&Source<'_>; 2], labeller: &mut Labeller<'_>) -> Merged {
    let mut builder = Builder {
        merged: Merged { label: Vec::new(), parent: Vec::new(), self_sums: Vec::new() },
        index: IdTable::default(),
    };
    for (side, source) in Side::BOTH.into_iter().zip(sources) {
        let tree = source.tree;
        let mut merged = Vec::with_capacity(tree.len());
        for id in tree.ids() {
            let parent = tree.parent(id).map_or(CallNodeId::ROOT, |id| merged[id.0 as usize]);
            let label = labeller.label(side, tree.label(id));
            let row = builder.find(parent, label, tree.parent(id).is_none());
            builder.merged.self_sums[row.0 as usize].of_mut(side).add(tree.self_sum(id));
            merged.push(row);
        }
    }
    builder.merged
}

struct Builder {
    merged: Merged,
    index: IdTable,
}

impl Builder {
    fn find(&mut self, parent: CallNodeId, label: u32, is_root: bool) -> CallNodeId {
        let Self { merged, index } = self;
        if is_root && !merged.label.is_empty() {
            return CallNodeId::ROOT;
        }
        let hash = |label: u32, parent: CallNodeId| {
            hash_pair(u64::from(label), u64::from(parent.0)) as u32
        };
        let Merged { label: labels, parent: parents, self_sums } = merged;
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
