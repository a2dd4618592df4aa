//! Which call nodes are kept, and what becomes of the weight of the others.

use perftab_perfdata::map::{Map, Set};
use std::cmp;
use std::collections::BinaryHeap;
use std::sync::Arc;

use perftab_names::FunctionId;
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_numbers;
use perftab_views::call_tree::Label;
use perftab_views::weights::Sum;

use super::scope::Scope;
use super::tree::Tree;
use super::{Contents, Fidelity, MAX_NODES, MAX_PROCESSES};

/// Call nodes in the order in which they are worth being kept: the larger their share and the fewer
/// bytes they take. Any start of it holds the callers of all that it holds.
#[derive(Clone)]
pub(super) struct Order {
    nodes: Vec<u32>,
    /// What the nodes up to each are expected to take, in eighths of a byte; any unit would do.
    costs: Vec<u64>,
    /// All that there were, folded ones not counted.
    pub total: usize,
    calls: Arc<Calls>,
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
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.worth.total_cmp(&other.worth).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// An order that is being made.
struct OrderBuilder<'a> {
    contents: &'a Contents<'a>,
    tree: &'a Tree,
    order: Order,
    named: Set<FunctionId>,
    /// Candidates are worth more when another call of their function is kept.
    waiting: Map<FunctionId, Vec<u32>>,
    is_kept: Vec<bool>,
    candidates: BinaryHeap<Candidate>,
    /// The call node whose calls are candidates next.
    kept: Option<u32>,
    /// How many of those kept are processes.
    processes: usize,
}

impl<'a> OrderBuilder<'a> {
    fn new(contents: &'a Contents<'a>, tree: &'a Tree) -> Self {
        let calls = Calls::new(contents, tree);
        let total = calls.can_be_kept.iter().filter(|&&can_be_kept| can_be_kept).count();
        let order = Order { nodes: Vec::new(), costs: Vec::new(), total, calls: calls.into() };
        Self {
            contents,
            tree,
            order,
            named: Set::new(),
            waiting: Map::new(),
            is_kept: vec![false; tree.nodes.len()],
            candidates: BinaryHeap::new(),
            kept: Some(0),
            processes: 0,
        }
    }

    /// Puts the next one in order; `None` if there are none left.
    fn keep_next(&mut self) -> Option<()> {
        let calls = Arc::clone(&self.order.calls);
        for node in self.kept.take().into_iter().flat_map(|node| calls.of(node)) {
            if !calls.can_be_kept[node as usize] {
                continue;
            }
            if let Some(function) = self.function(node)
                && !self.named.contains(&function)
            {
                self.waiting.entry(function).or_default().push(node);
            }
            self.candidates.push(self.candidate(node));
        }
        let Candidate { node, .. } = self.candidates.pop()?;
        let is_process = matches!(self.tree.nodes[node as usize].label, Label::Group(_));
        if is_process && self.processes == MAX_PROCESSES {
            return Some(());
        }
        if std::mem::replace(&mut self.is_kept[node as usize], true) {
            return Some(());
        }
        self.processes += usize::from(is_process);
        self.order.add(node, self.cost(node));
        self.kept = Some(node);
        if let Some(function) = self.function(node)
            && self.named.insert(function)
        {
            let others = self.waiting.remove(&function).unwrap_or_default();
            for other in others.into_iter().filter(|&other| !self.is_kept[other as usize]) {
                self.candidates.push(self.candidate(other));
            }
        }
        Some(())
    }

    fn function(&self, node: u32) -> Option<FunctionId> {
        self.tree.nodes[node as usize].label.function()
    }

    fn cost(&self, node: u32) -> u64 {
        let new = self.function(node).filter(|function| !self.named.contains(function));
        COST_OF_CALL
            + new.map_or(0, |function| {
                let name = self.contents.symbols.function(function).name;
                COST_OF_FUNCTION + name.map_or(16, |name| name.len().min(MOST_COST_OF_NAME)) as u64
            })
    }

    /// Of the cost only the root, so that what is heavy is not lost for a long name.
    fn candidate(&self, node: u32) -> Candidate {
        let cost = self.cost(node) as f64;
        Candidate { worth: self.tree.nodes[node as usize].share / cost.sqrt(), node }
    }
}

impl Order {
    /// Of all that a tree has. In slices of call nodes.
    pub async fn of(contents: &Contents<'_>, tree: &Tree, slice: &Slice) -> Self {
        let events = (0..tree.events()).filter(|&event| tree.all(event) != Sum::default()).count();
        let most = MAX_NODES / events.max(1);
        let mut building = OrderBuilder::new(contents, tree);
        while building.order.len() < most && building.keep_next().is_some() {
            slice.count();
            slice.rest().await;
        }
        building.order
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
        let mut chosen = self.nodes[..count].to_vec();
        sort_by_numbers(&mut chosen, |&node| (node.into(), 0));
        let mut kept = Selection {
            nodes: vec![0],
            children: vec![Vec::new()],
            folded: Vec::new(),
            events: tree.events(),
            threshold_share: 0.0,
        };
        for node in chosen {
            let parent = tree.nodes[node as usize].parent;
            if let Some(parent) = kept.place(parent as usize) {
                kept.children[parent].push(node);
                kept.nodes.push(node);
                kept.children.push(Vec::new());
            }
        }
        kept.fold(tree, &self.calls);
        if kept.count() == self.total {
            kept.threshold_share = 0.0;
        }
        kept
    }
}

/// What each call node calls: a chain through the next call of the same caller.
struct Calls {
    first: Vec<u32>,
    /// 0 is the end of a chain.
    next: Vec<u32>,
    can_be_kept: Vec<bool>,
}

impl Calls {
    fn new(contents: &Contents<'_>, tree: &Tree) -> Self {
        let count = tree.nodes.len();
        let mut calls =
            Self { first: vec![0; count], next: vec![0; count], can_be_kept: vec![false; count] };
        for node in (1..count).rev() {
            let first = &mut calls.first[tree.nodes[node].parent as usize];
            calls.next[node] = std::mem::replace(first, node as u32);
            calls.can_be_kept[node] = tree.can_be_kept(contents, node);
        }
        calls
    }

    fn of(&self, caller: u32) -> impl Iterator<Item = u32> {
        let is_call = |node: u32| Some(node).filter(|&node| node != 0);
        let first = is_call(self.first[caller as usize]);
        std::iter::successors(first, move |&node| is_call(self.next[node as usize]))
    }
}

/// The call nodes that are kept. What it costs goes with them, not with all that there are.
pub(super) struct Selection {
    /// By number, the root first: callers before what they call.
    nodes: Vec<u32>,
    /// Of each of these, what it calls that is kept.
    children: Vec<Vec<u32>>,
    /// Of each of these, as many sums as there are events.
    folded: Vec<Sum>,
    events: usize,
    /// Share of the heaviest call node that is not kept; 0 if all are.
    pub threshold_share: f64,
}

impl Selection {
    /// Kept call nodes, the root apart.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[1..]
    }

    fn count(&self) -> usize {
        self.nodes().len()
    }

    fn place(&self, node: usize) -> Option<usize> {
        self.nodes.binary_search(&(node as u32)).ok()
    }

    /// What a kept call node calls that is kept.
    pub fn children(&self, node: usize) -> &[u32] {
        self.place(node).map_or(&[], |place| &self.children[place])
    }

    /// Sums what kept call nodes call that is not kept. No call node is heavier than its caller, so the
    /// heaviest one that is not kept is called by one that is.
    fn fold(&mut self, tree: &Tree, calls: &Calls) {
        let Self { nodes, children, folded: all_folded, events, threshold_share } = self;
        for (&node, kept) in nodes.iter().zip(children) {
            // What is left when the rest is taken away: of those that are not kept there are far more.
            all_folded.extend((0..*events).map(|event| {
                let below =
                    tree.total(node as usize, event).without(tree.own(node as usize, event));
                let total = |sum: Sum, &call: &u32| sum.without(tree.total(call as usize, event));
                kept.iter().fold(below, total)
            }));
            // Both are by number.
            let mut kept = kept.iter().copied().peekable();
            for call in calls.of(node).filter(|call| kept.next_if_eq(call).is_none()) {
                *threshold_share = threshold_share.max(tree.nodes[call as usize].share);
            }
        }
    }

    /// The sum of what a kept call node called that is not kept.
    pub fn folded(&self, node: usize, event: usize) -> Sum {
        self.place(node).map_or(Sum::default(), |place| self.folded[place * self.events + event])
    }

    /// True if anything below a kept call node is not kept.
    pub fn has_folded(&self, node: usize) -> bool {
        (0..self.events).any(|event| self.folded(node, event) != Sum::default())
    }

    pub fn fidelity(&self, scope: &Scope, total: usize) -> Fidelity {
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
            kept_nodes: self.count() as u64,
            total_nodes: total as u64,
            kept_weight_share: if weight == 0 { 1.0 } else { kept as f64 / weight as f64 },
            threshold_share: self.threshold_share,
            folded_weight: folded,
            ..Fidelity::default()
        }
    }
}
