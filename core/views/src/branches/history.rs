//! Samples by the branches that led to them: `perf report --branch-history`.
//!
//! A tree whose roots are the frames that samples ended in. Below each are the branches before, the newest first, and
//! then those callers that are not among the branches. Short loops are folded.

use std::cmp::Reverse;
use std::mem::take;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::decode::sample_tail::BranchFlags;
use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::{sort_by_key, sort_by_numbers};
use perftab_profile::{Frame, FrameId};

use super::Branch;
use super::rows::was_mispredicted;
use crate::weights::Sum;

/// Nodes of a tree. What goes beyond is cut.
const MOST_NODES: usize = 1 << 20;
/// Branches of the longest loop that is folded.
const LONGEST_LOOP: usize = 16;
/// The longest instruction that calls: a return address lies no farther behind it. (perf takes eight bytes, too.)
const LONGEST_CALL: u64 = 8;

/// What comes before something else on the way to a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// The sample itself ended here.
    Leaf(FrameId),
    /// A branch; `None` is in no mapping.
    Branch(Option<FrameId>, Option<FrameId>),
    /// A caller.
    Caller(FrameId),
}

/// What is known of the branches of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// How often; more often than there are samples where it is in a loop.
    pub times: u64,
    /// How often it was mispredicted, of those.
    pub mispredicted: u64,
    /// Cycles since the branch before.
    pub cycles: u64,
    /// How often these are known.
    pub timed: u64,
}

impl Taken {
    fn once(flags: BranchFlags) -> Self {
        let (cycles, mispredicted) = (flags.cycles().into(), was_mispredicted(flags) == Some(true));
        Self { times: 1, mispredicted: mispredicted.into(), cycles, timed: u64::from(cycles > 0) }
    }

    fn add(&mut self, more: Self) {
        self.times = self.times.saturating_add(more.times);
        self.mispredicted = self.mispredicted.saturating_add(more.mispredicted);
        self.cycles = self.cycles.saturating_add(more.cycles);
        self.timed = self.timed.saturating_add(more.timed);
    }
}

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    parent: u32,
    before: Before,
    sum: Sum,
    taken: Taken,
}

/// No node: the parent of the roots.
const NOTHING: u32 = u32::MAX;

/// The tree while samples are added.
#[derive(Debug, Default)]
pub struct HistoryBuilder {
    nodes: Vec<Node>,
    numbers: Map<(u32, Before), u32>,
    /// The steps of the sample that is being added.
    steps: Vec<(Before, Taken)>,
    /// Samples that were cut.
    cut: u64,
    all: Sum,
}

impl HistoryBuilder {
    /// Adds a sample: the frames of its stack, innermost first, and its branches, newest first.
    pub fn add(
        &mut self,
        frames: &dyn Fn(FrameId) -> Frame,
        stack: impl Iterator<Item = FrameId>,
        branches: &[Branch],
        sum: Sum,
    ) {
        let mut steps = take(&mut self.steps);
        let mut callers = stack.peekable();
        steps.clear();
        steps.extend(callers.next().map(|leaf| (Before::Leaf(leaf), Taken::default())));
        let first = steps.len();
        for branch in branches {
            let is_call = |caller: &FrameId| {
                branch.from.is_some_and(|from| is_call(frames(from), frames(*caller)))
            };
            callers.next_if(is_call);
            steps.push((Before::Branch(branch.from, branch.to), Taken::once(branch.flags)));
            fold(&mut steps, first);
        }
        steps.extend(callers.map(|caller| (Before::Caller(caller), Taken::default())));
        self.all.add(sum);
        self.add_steps(&steps, sum);
        self.steps = steps;
    }

    fn add_steps(&mut self, steps: &[(Before, Taken)], sum: Sum) {
        let mut parent = NOTHING;
        for &(before, taken) in steps {
            let known = self.numbers.get(&(parent, before)).copied();
            if known.is_none() && self.nodes.len() >= MOST_NODES {
                self.cut += 1;
                return;
            }
            let number = known.unwrap_or_else(|| {
                let number = self.nodes.len() as u32;
                self.numbers.insert((parent, before), number);
                let (sum, taken) = (Sum::default(), Taken::default());
                self.nodes.push(Node { parent, before, sum, taken });
                number
            });
            let node = &mut self.nodes[number as usize];
            node.sum.add(sum);
            node.taken.add(taken);
            parent = number;
        }
    }

    /// All have been added.
    pub fn finish(self) -> History {
        let Self { nodes, cut, all, .. } = self;
        let mut children: Vec<u32> = (0..nodes.len() as u32).collect();
        sort_by_numbers(&mut children, |&node| (nodes[node as usize].parent.into(), node.into()));
        History { nodes, children, cut, all }
    }
}

/// Whether a caller is the call that a branch was: perf's way to tell.
fn is_call(branch: Frame, caller: Frame) -> bool {
    let distance = caller.address.checked_sub(branch.address);
    branch.dso == caller.dso && distance.is_some_and(|it| it < LONGEST_CALL)
}

/// Folds what the last steps repeat.
fn fold(steps: &mut Vec<(Before, Taken)>, first: usize) {
    let longest = ((steps.len() - first) / 2).min(LONGEST_LOOP);
    for length in 1..=longest {
        let last = steps.len() - length;
        let is_same = (last..steps.len()).all(|at| steps[at].0 == steps[at - length].0);
        if is_same {
            for at in last..steps.len() {
                let again = steps[at].1;
                steps[at - length].1.add(again);
            }
            steps.truncate(last);
            return;
        }
    }
}

/// Samples by the branches that led to them.
#[derive(Clone, Debug, Default)]
pub struct History {
    nodes: Vec<Node>,
    /// All nodes, by their parents.
    children: Vec<u32>,
    /// Samples with ways that were cut, as all together are too many.
    pub cut: u64,
    /// All samples.
    pub all: Sum,
}

/// Nodes that are shown as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What they are; of leaves one of them.
    pub before: Before,
    /// Samples.
    pub sum: Sum,
    /// What is known of their branches.
    pub taken: Taken,
    nodes: Vec<u32>,
}

impl History {
    /// The functions that samples ended in, heaviest first.
    pub fn functions(&self, symbols: &Symbols) -> Vec<Step> {
        let key = |before| match before {
            Before::Leaf(frame) => Some(symbols.merged(frame)),
            _ => None,
        };
        self.joined(&[NOTHING], |before| key(before).map_or(Key::Way(before), Key::Function))
    }

    /// What came before, heaviest first.
    pub fn before(&self, step: &Step) -> Vec<Step> {
        self.joined(&step.nodes, Key::Way)
    }

    /// The children of some nodes, those with the same key as one.
    fn joined(&self, parents: &[u32], key: impl Fn(Before) -> Key) -> Vec<Step> {
        let mut steps: Map<Key, Step> = Map::new();
        for &number in parents.iter().flat_map(|&parent| self.children_of(parent)) {
            let Node { before, sum, taken, .. } = self.nodes[number as usize];
            let none =
                || Step { before, sum: Sum::default(), taken: Taken::default(), nodes: vec![] };
            let step = steps.entry(key(before)).or_insert_with(none);
            step.sum.add(sum);
            step.taken.add(taken);
            step.nodes.push(number);
        }
        let mut steps: Vec<Step> = steps.into_values().collect();
        sort_by_key(&mut steps, |step| (Reverse(step.sum.weight), step.nodes[0]));
        steps
    }

    fn children_of(&self, parent: u32) -> &[u32] {
        let parent_of = |&node: &u32| self.nodes[node as usize].parent;
        let first = self.children.partition_point(|node| parent_of(node) < parent);
        let rest = &self.children[first..];
        &rest[..rest.partition_point(|node| parent_of(node) == parent)]
    }
}

/// What nodes are joined by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Function(FunctionId),
    Way(Before),
}
