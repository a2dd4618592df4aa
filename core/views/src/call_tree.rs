//! The call tree: stacks merged by function.

use std::ops::Range;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::map::Index;
use perftab_profile::{DsoId, FrameId, Profile, StringId, hash_pair};

use crate::weights::Sum;
use crate::{Query, build};

/// A call node: a place in the call tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallNodeId(pub u32);

impl CallNodeId {
    /// The root, which stands for all that is shown.
    pub const ROOT: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a call node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// Everything.
    All,
    /// A process or thread, by name.
    Group(StringId),
    /// Processes whose names differ in digits only, by one of those names ([`super::families`]).
    Family(StringId),
    /// A function that was called.
    Function(FunctionId),
    /// A function inlined into its caller.
    Inlined(FunctionId),
    /// All functions of a DSO that called each other, collapsed into one.
    Dso(DsoId),
    /// Words of call chains in no mapping.
    NoMapping,
}

impl Label {
    /// The function, for the labels that have one.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            Self::Function(function) | Self::Inlined(function) => Some(function),
            Self::All | Self::Group(_) | Self::Family(_) | Self::Dso(_) | Self::NoMapping => None,
        }
    }

    /// True for all, and for what stands between that and code.
    pub fn is_group(self) -> bool {
        matches!(self, Self::All | Self::Group(_) | Self::Family(_))
    }

    /// Another one for each label.
    pub(super) fn key(self) -> u64 {
        match self {
            Self::All => 0,
            Self::NoMapping => 1,
            Self::Group(name) => 1 << 32 | u64::from(name.0),
            Self::Function(function) => 2 << 32 | u64::from(function.0),
            Self::Inlined(function) => 3 << 32 | u64::from(function.0),
            Self::Dso(dso) => 4 << 32 | u64::from(dso.0),
            Self::Family(name) => 5 << 32 | u64::from(name.0),
        }
    }
}

/// What a call node is, whatever was sampled: one read of memory for who looks it up by parent and label.
#[derive(Clone, Copy, Debug)]
struct Node {
    label: Label,
    parent: CallNodeId,
    /// A frame that led here: where the code is; or [`NO_FRAME`].
    frame: FrameId,
}

const NO_FRAME: FrameId = FrameId(u32::MAX);

impl Node {
    fn new(parent: CallNodeId, label: Label, frame: Option<FrameId>) -> Self {
        Self { label, parent, frame: frame.unwrap_or(NO_FRAME) }
    }

    fn frame(&self) -> Option<FrameId> {
        (self.frame != NO_FRAME).then_some(self.frame)
    }
}

/// Children that have not been made stand nowhere.
const UNKNOWN: (u32, u32) = (u32::MAX, u32::MAX);

/// A call tree, by [`CallNodeId`]. A parent always has a lower id than its children.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    self_sum: Vec<Sum>,
    total: Vec<Sum>,
    /// Where each call node's children stand in `children`; [`UNKNOWN`] until they are made.
    child_places: Vec<(u32, u32)>,
    /// Children, each call node's heaviest first.
    children: Vec<CallNodeId>,
}

impl CallTree {
    /// Merges the samples that `query` asks for.
    pub fn new(profile: &Profile, symbols: &Symbols, query: &Query) -> Self {
        build::build(profile, symbols, query).tree
    }

    /// Number of call nodes, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The call node with this number, if there is one.
    pub fn id(&self, number: u32) -> Option<CallNodeId> {
        ((number as usize) < self.len()).then_some(CallNodeId(number))
    }

    /// What it stands for.
    pub fn label(&self, id: CallNodeId) -> Label {
        self.nodes[id.index()].label
    }

    /// Its caller; `None` for the root.
    pub fn parent(&self, id: CallNodeId) -> Option<CallNodeId> {
        (id != CallNodeId::ROOT).then(|| self.nodes[id.index()].parent)
    }

    /// A frame that led to it, if it stands for code.
    pub fn frame(&self, id: CallNodeId) -> Option<FrameId> {
        self.nodes[id.index()].frame()
    }

    /// Samples that ended in it.
    pub fn self_sum(&self, id: CallNodeId) -> Sum {
        self.self_sum[id.index()]
    }

    /// Samples that passed through it.
    pub fn total(&self, id: CallNodeId) -> Sum {
        self.total[id.index()]
    }

    /// Its children, heaviest first; none where they have not been made ([`super::inverted`]).
    pub fn children(&self, id: CallNodeId) -> &[CallNodeId] {
        match self.child_places[id.index()] {
            UNKNOWN => &[],
            (start, end) => &self.children[start as usize..end as usize],
        }
    }

    /// False if its children have not been made.
    pub(super) fn has_known_children(&self, id: CallNodeId) -> bool {
        self.child_places[id.index()] != UNKNOWN
    }

    /// Adds a call node, whose children are not known; all of one parent follow each other.
    pub(super) fn push(
        &mut self,
        parent: CallNodeId,
        label: Label,
        frame: Option<FrameId>,
        self_sum: Sum,
        total: Sum,
    ) {
        self.children.extend((!self.nodes.is_empty()).then_some(CallNodeId(self.len() as u32)));
        self.nodes.push(Node::new(parent, label, frame));
        self.self_sum.push(self_sum);
        self.total.push(total);
        self.child_places.push(UNKNOWN);
    }

    /// Says which of the call nodes that were pushed are its children.
    pub(super) fn set_children(&mut self, id: CallNodeId, children: Range<u32>) {
        // Every call node but the root has a place among children, so that of a number is one before.
        self.child_places[id.index()] = (children.start - 1, children.end - 1);
    }

    /// Says what ends in a call node that was pushed, and what passes through it.
    pub(super) fn set_sums(&mut self, id: CallNodeId, self_sum: Sum, total: Sum) {
        self.self_sum[id.index()] = self_sum;
        self.total[id.index()] = total;
    }

    /// All call nodes, parents before children.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = CallNodeId> + use<> {
        (0..self.nodes.len() as u32).map(CallNodeId)
    }

    /// From its outermost ancestor (the root) to the call node itself.
    pub fn path(&self, id: CallNodeId) -> Vec<CallNodeId> {
        let mut path: Vec<_> = std::iter::successors(Some(id), |&id| self.parent(id)).collect();
        path.reverse();
        path
    }

    /// Calls `enter` before and `leave` after the children of each call node.
    pub fn walk(&self, mut visit: impl FnMut(CallNodeId, Visit)) {
        let mut open = vec![(CallNodeId::ROOT, Visit::Enter)];
        while let Some((id, step)) = open.pop() {
            visit(id, step);
            if step == Visit::Enter {
                open.push((id, Visit::Leave));
                open.extend(self.children(id).iter().rev().map(|&child| (child, Visit::Enter)));
            }
        }
    }
}

/// The ways to the call nodes of a tree that is gone: less than half of what it took.
pub struct Ways(Vec<Node>);

impl Ways {
    /// To the call nodes of a tree.
    pub fn of(tree: CallTree) -> Self {
        Self(tree.nodes)
    }

    /// The calls on the way to a call node, the outermost first; none if there is no such call node.
    pub fn to(&self, call_node: u32) -> Vec<(Label, Option<FrameId>)> {
        let mut way = Vec::new();
        let mut at = call_node as usize;
        while let Some(node) = self.0.get(at).filter(|_| at > 0) {
            way.push((node.label, node.frame()));
            at = node.parent.index();
        }
        way.reverse();
        way
    }
}

/// Which side of a call node's children a walk is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Before them.
    Enter,
    /// After them.
    Leave,
}

/// A call tree that call nodes are still added to.
pub(super) struct GrowingTree {
    tree: CallTree,
    index: Index,
    /// Where samples of another tree went, by call node there.
    moved: Vec<CallNodeId>,
}

impl GrowingTree {
    /// No call node.
    pub const NOWHERE: CallNodeId = CallNodeId(u32::MAX);

    /// Nothing but the root. There is room for `count` call nodes: growing by copies would leave
    /// holes of the same size in WebAssembly's memory, which only grows; room that is not used is
    /// never touched.
    pub fn with_room_for(count: usize) -> Self {
        let mut tree = CallTree::default();
        tree.nodes.reserve(count);
        tree.self_sum.reserve(count);
        let mut growing = Self { tree, index: Index::default(), moved: Vec::new() };
        growing.push(CallNodeId::ROOT, Label::All, None);
        growing
    }

    /// The call node of `label` below `parent`, new or known.
    pub fn child(
        &mut self,
        parent: CallNodeId,
        label: Label,
        frame: Option<FrameId>,
    ) -> CallNodeId {
        let Self { tree, index, .. } = self;
        let hash = hash_pair(label.key(), u64::from(parent.0)) as u32;
        let is_it = |row: usize| tree.nodes[row].parent == parent && tree.nodes[row].label == label;
        match index.find(hash, is_it) {
            Some(row) => CallNodeId(row as u32),
            None => {
                index.add(hash, tree.nodes.len());
                self.push(parent, label, frame)
            }
        }
    }

    /// Adds samples that ended in a call node.
    pub fn add_self(&mut self, id: CallNodeId, sum: Sum) {
        self.tree.self_sum[id.index()].add(sum);
    }

    /// Adds the samples that ended in a call node of another tree.
    pub fn move_self(&mut self, to: CallNodeId, from: &CallTree, id: CallNodeId) {
        self.add_self(to, from.self_sum(id));
        if self.moved.len() <= id.index() {
            self.moved.resize(from.len(), Self::NOWHERE);
        }
        self.moved[id.index()] = to;
    }

    /// Where the samples of the other tree went, by call node there; [`Self::NOWHERE`] if they were
    /// not moved here.
    pub fn moved(&self) -> &[CallNodeId] {
        &self.moved
    }

    /// What a call node that was added stands for.
    pub fn label(&self, id: CallNodeId) -> Label {
        self.tree.label(id)
    }

    /// The caller of a call node that was added; the root is its own.
    pub fn parent(&self, id: CallNodeId) -> CallNodeId {
        self.tree.nodes[id.index()].parent
    }

    /// A new call node. [`Self::child`] does not find it, so only whoever made it adds to it.
    pub fn push(&mut self, parent: CallNodeId, label: Label, frame: Option<FrameId>) -> CallNodeId {
        let id = CallNodeId(self.tree.nodes.len() as u32);
        self.tree.nodes.push(Node::new(parent, label, frame));
        self.tree.self_sum.push(Sum::default());
        id
    }

    /// Adds up totals, without the order of children.
    pub fn add_up(self) -> CallTree {
        let Self { mut tree, index, moved } = self;
        drop((index, moved));
        tree.nodes.shrink_to_fit();
        tree.self_sum.shrink_to_fit();
        tree.add_up();
        tree
    }
}

impl CallTree {
    /// Some of the call nodes, without sums, for [`Self::with_sums`]; the callers of each and the root are
    /// among them. Also by call node which of them it is, or is below.
    pub(super) fn part(&self, has: impl Fn(CallNodeId) -> bool) -> (Self, Vec<u32>) {
        let mut part = Self::default();
        let mut to: Vec<u32> = Vec::with_capacity(self.len());
        for id in self.ids() {
            let parent = self.parent(id).map_or(0, |parent| to[parent.index()]);
            if id != CallNodeId::ROOT && !has(id) {
                to.push(parent);
                continue;
            }
            to.push(part.nodes.len() as u32);
            part.nodes.push(Node { parent: CallNodeId(parent), ..self.nodes[id.index()] });
        }
        (part, to)
    }

    /// The same call nodes with other samples that ended in them, those apart that none passed
    /// through. Totals are added up; children are in no order.
    pub(super) fn with_sums(&self, self_sums: &[Sum]) -> Self {
        let mut has_samples: Vec<bool> = self_sums.iter().map(|sum| sum.samples > 0).collect();
        for id in self.ids().rev().filter(|&id| id != CallNodeId::ROOT) {
            let parent = self.nodes[id.index()].parent;
            has_samples[parent.index()] |= has_samples[id.index()];
        }
        has_samples[CallNodeId::ROOT.index()] = true;
        let mut kept = Self::default();
        let mut to = vec![CallNodeId::ROOT; self.len()];
        for id in self.ids().filter(|id| has_samples[id.index()]) {
            to[id.index()] = CallNodeId(kept.nodes.len() as u32);
            let node = self.nodes[id.index()];
            kept.nodes.push(Node { parent: to[node.parent.index()], ..node });
            kept.self_sum.push(self_sums[id.index()]);
        }
        kept.add_up();
        kept
    }

    /// Nothing, with room for so many call nodes.
    pub(super) fn with_room_for(count: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(count),
            self_sum: Vec::with_capacity(count),
            total: Vec::with_capacity(count),
            child_places: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Adds a call node of another tree below one that is there, for [`Self::with_child_places`].
    pub(super) fn push_copy(&mut self, tree: &Self, id: CallNodeId, parent: CallNodeId) {
        self.nodes.push(Node { parent, ..tree.nodes[id.index()] });
        self.self_sum.push(tree.self_sum(id));
        self.total.push(tree.total(id));
    }

    /// The same with these children: by call node where in them its own begin and end.
    pub(super) fn with_child_places(
        self,
        child_places: Vec<(u32, u32)>,
        children: Vec<CallNodeId>,
    ) -> Self {
        Self { child_places, children, ..self }
    }

    fn add_up(&mut self) {
        self.total.clone_from(&self.self_sum);
        for id in self.ids().rev() {
            if let Some(parent) = self.parent(id) {
                let total = self.total[id.index()];
                self.total[parent.index()].add(total);
            }
        }
    }

    /// The same, each call node's children in no order.
    pub(super) fn with_children(mut self) -> Self {
        self.find_children();
        self
    }

    /// By call node its children, in the order in which they were met.
    fn find_children(&mut self) {
        let mut places = vec![(0u32, 0u32); self.len()];
        for node in self.nodes.iter().skip(1) {
            places[node.parent.index()].1 += 1;
        }
        let mut next = 0;
        for (start, end) in &mut places {
            let count = std::mem::replace(end, next);
            *start = next;
            next += count;
        }
        // Ends go on as children are put in.
        let mut children = vec![CallNodeId::ROOT; self.len().saturating_sub(1)];
        for (row, node) in self.nodes.iter().enumerate().skip(1) {
            let (_, end) = &mut places[node.parent.index()];
            children[*end as usize] = CallNodeId(row as u32);
            *end += 1;
        }
        self.child_places = places;
        self.children = children;
    }
}
