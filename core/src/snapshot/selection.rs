//! Which call nodes are kept, and what becomes of the weight of the others.

use super::tree::Tree;
use super::{Contents, Fidelity, MAX_NODES};
use crate::views::weights::Sum;

/// Call nodes from the heaviest to the lightest. Any start of it holds the callers of all that it
/// holds, because a caller is not lighter than what it calls.
pub(super) struct Order {
    nodes: Vec<u32>,
    /// All that there were, folded ones not counted.
    pub total: usize,
}

impl Order {
    pub fn new(contents: &Contents<'_>, tree: &Tree) -> Self {
        let mut nodes: Vec<u32> = (1..tree.nodes.len() as u32)
            .filter(|&node| tree.can_be_kept(contents, node as usize))
            .collect();
        let total = nodes.len();
        // Stable: callers have lower indexes, so they stay before what they call.
        nodes.sort_by(|&a, &b| {
            let share = |node: u32| tree.nodes[node as usize].share;
            share(b).total_cmp(&share(a))
        });
        nodes.truncate(MAX_NODES / tree.events().max(1));
        Self { nodes, total }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Keeps the heaviest `count`.
    pub fn select(&self, tree: &Tree, count: usize) -> Selection {
        let events = tree.events();
        let mut keeper: Vec<u32> = vec![DROPPED; tree.nodes.len()];
        keeper[0] = 0;
        for &node in &self.nodes[..count] {
            keeper[node as usize] = node;
        }
        let mut folded = vec![Sum::default(); tree.nodes.len() * events];
        let mut children = vec![Vec::new(); tree.nodes.len()];
        for node in 1..tree.nodes.len() {
            let parent = tree.nodes[node].parent as usize;
            if keeper[node] == DROPPED {
                keeper[node] = keeper[parent];
                for event in 0..events {
                    let slot = keeper[node] as usize * events + event;
                    folded[slot].add(tree.own(node, event));
                }
            } else {
                children[parent].push(node as u32);
            }
        }
        let threshold_share = match count.checked_sub(1).and_then(|last| self.nodes.get(last)) {
            Some(_) if count == self.total => 0.0,
            Some(&lightest) => tree.nodes[lightest as usize].share,
            None => 1.0,
        };
        Selection { children, folded, events, count, threshold_share }
    }
}

/// Not kept.
const DROPPED: u32 = u32::MAX;

/// The call nodes that are kept.
pub(super) struct Selection {
    /// Of each call node, what it calls that is kept.
    pub children: Vec<Vec<u32>>,
    folded: Vec<Sum>,
    events: usize,
    count: usize,
    pub threshold_share: f64,
}

impl Selection {
    /// The sum of what a kept call node called that is not kept.
    pub fn folded(&self, node: usize, event: usize) -> Sum {
        self.folded[node * self.events + event]
    }

    /// True if anything below a kept call node is not kept.
    pub fn has_folded(&self, node: usize) -> bool {
        (0..self.events).any(|event| self.folded(node, event) != Sum::default())
    }

    pub fn fidelity(&self, contents: &Contents<'_>, total: usize) -> Fidelity {
        let weight = contents.profile.events.first().map_or(0, |event| event.weight);
        let folded = match self.events {
            0 => 0,
            events => self
                .folded
                .iter()
                .step_by(events)
                .fold(0, |sum: u64, folded| sum.saturating_add(folded.weight)),
        };
        let kept = weight.saturating_sub(folded);
        Fidelity {
            kept_nodes: self.count as u64,
            total_nodes: total as u64,
            kept_weight_share: if weight == 0 { 1.0 } else { kept as f64 / weight as f64 },
            threshold_share: self.threshold_share,
            folded_weight: folded,
            ..Fidelity::default()
        }
    }
}
