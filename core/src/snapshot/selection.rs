//! Which call nodes are kept, and what becomes of the weight of the others.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::scope::Scope;
use super::tree::Tree;
use super::{Contents, Fidelity, MAX_NODES};
use crate::symbolize::FunctionId;
use crate::views::weights::Sum;

/// Call nodes in the order in which they are worth being kept: the larger their share and the fewer
/// bytes they take. Any start of it holds the callers of all that it holds.
pub(super) struct Order {
    nodes: Vec<u32>,
    /// What the nodes up to each are expected to take, in eighths of a byte; any unit would do.
    costs: Vec<u64>,
    /// All that there were, folded ones not counted.
    pub total: usize,
}

/// A call node takes about a byte: where it is, what is called, and how often.
const COST_OF_CALL: u64 = 8;
/// What a function takes that is not there yet, besides its name.
const COST_OF_FUNCTION: u64 = 16;
/// A long name is mostly guessed from others.
const MOST_COST_OF_NAME: usize = 200;

/// A call node whose caller is kept.
#[derive(PartialEq)]
struct Candidate {
    worth: f64,
    node: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Order {
    pub fn new(contents: &Contents<'_>, tree: &Tree) -> Self {
        let calls = Calls::new(contents, tree);
        let total = calls.next.iter().filter(|next| next.is_some()).count();
        let mut order = Self { nodes: Vec::with_capacity(total), costs: Vec::new(), total };
        let mut named: HashSet<FunctionId> = HashSet::new();
        // Candidates are worth more when another call of their function is kept.
        let mut waiting: HashMap<FunctionId, Vec<u32>> = HashMap::new();
        let mut is_kept = vec![false; tree.nodes.len()];
        let mut candidates = BinaryHeap::new();
        let cost = |node: u32, named: &HashSet<FunctionId>| {
            let function = tree.nodes[node as usize].label.function();
            COST_OF_CALL
                + function.filter(|it| !named.contains(it)).map_or(0, |function| {
                    let name = contents.symbols.function(function).name;
                    COST_OF_FUNCTION
                        + name.map_or(16, |name| name.len().min(MOST_COST_OF_NAME)) as u64
                })
        };
        // Of the cost only the root, so that what is heavy is not lost for a long name.
        let candidate = |node: u32, named: &HashSet<FunctionId>| Candidate {
            worth: tree.nodes[node as usize].share / (cost(node, named) as f64).sqrt(),
            node,
        };
        let mut kept = Some(0);
        let events = (0..tree.events()).filter(|&event| tree.all(event) != Sum::default()).count();
        while order.nodes.len() < MAX_NODES / events.max(1) {
            for node in kept.into_iter().flat_map(|node| calls.of(node)) {
                if let Some(function) = tree.nodes[node as usize].label.function()
                    && !named.contains(&function)
                {
                    waiting.entry(function).or_default().push(node);
                }
                candidates.push(candidate(node, &named));
            }
            kept = None;
            let Some(Candidate { node, .. }) = candidates.pop() else { break };
            if std::mem::replace(&mut is_kept[node as usize], true) {
                continue;
            }
            order.add(node, cost(node, &named));
            kept = Some(node);
            if let Some(function) = tree.nodes[node as usize].label.function()
                && named.insert(function)
            {
                let others = waiting.remove(&function).unwrap_or_default();
                let others = others.into_iter().filter(|&other| !is_kept[other as usize]);
                candidates.extend(others.map(|other| candidate(other, &named)));
            }
        }
        order
    }

    fn add(&mut self, node: u32, cost: u64) {
        self.nodes.push(node);
        self.costs.push(self.costs.last().copied().unwrap_or_default() + cost);
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What the first `count` are expected to take, in a unit of no meaning.
    pub fn cost(&self, count: usize) -> f64 {
        count.checked_sub(1).map_or(0.0, |last| self.costs[last] as f64)
    }

    /// How many take about so much.
    pub fn count(&self, cost: f64) -> usize {
        self.costs.partition_point(|&all| all as f64 <= cost)
    }

    /// Gives up one that does not fit where others might.
    pub fn give_up(&mut self, index: usize) {
        self.nodes.remove(index);
        self.costs.remove(index);
    }

    /// Keeps the first `count`, but for those whose caller was given up.
    pub fn select(&self, tree: &Tree, count: usize) -> Selection {
        let events = tree.events();
        let mut is_chosen = vec![false; tree.nodes.len()];
        self.nodes[..count].iter().for_each(|&node| is_chosen[node as usize] = true);
        let mut keeper: Vec<u32> = vec![0; tree.nodes.len()];
        let mut folded = vec![Sum::default(); tree.nodes.len() * events];
        let mut children = vec![Vec::new(); tree.nodes.len()];
        let (mut count, mut threshold_share) = (0, 0f64);
        for node in 1..tree.nodes.len() {
            let parent = tree.nodes[node].parent;
            if is_chosen[node] && keeper[parent as usize] == parent {
                keeper[node] = node as u32;
                children[parent as usize].push(node as u32);
                count += 1;
            } else {
                keeper[node] = keeper[parent as usize];
                threshold_share = threshold_share.max(tree.nodes[node].share);
                for event in 0..events {
                    let slot = keeper[node] as usize * events + event;
                    folded[slot].add(tree.own(node, event));
                }
            }
        }
        if count == self.total {
            threshold_share = 0.0;
        }
        Selection { children, folded, events, count, threshold_share }
    }
}

/// What each call node calls, of what can be kept: a chain through the next call of the same caller.
struct Calls {
    first: Vec<u32>,
    /// `None` for what cannot be kept, 0 for the end of a chain.
    next: Vec<Option<u32>>,
}

impl Calls {
    fn new(contents: &Contents<'_>, tree: &Tree) -> Self {
        let mut calls =
            Self { first: vec![0; tree.nodes.len()], next: vec![None; tree.nodes.len()] };
        for node in (1..tree.nodes.len()).rev() {
            if tree.can_be_kept(contents, node) {
                let first = &mut calls.first[tree.nodes[node].parent as usize];
                calls.next[node] = Some(std::mem::replace(first, node as u32));
            }
        }
        calls
    }

    fn of(&self, caller: u32) -> impl Iterator<Item = u32> {
        let is_call = |node: u32| Some(node).filter(|&node| node != 0);
        let first = is_call(self.first[caller as usize]);
        std::iter::successors(first, move |&node| self.next[node as usize].and_then(is_call))
    }
}

/// The call nodes that are kept.
pub(super) struct Selection {
    /// Of each call node, what it calls that is kept.
    pub children: Vec<Vec<u32>>,
    folded: Vec<Sum>,
    events: usize,
    count: usize,
    /// Share of the heaviest call node that is not kept; 0 if all are.
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

    pub fn fidelity(&self, scope: &Scope<'_>, total: usize) -> Fidelity {
        let weight = scope.events.first().map_or(0, |all| all.weight);
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
