//! The call tree: stacks merged by function.

use crate::profile::{DsoKind, FrameId, IdTable, Profile, StackId, Stacks, StringId, hash_pair};
use crate::symbolize::{FunctionId, Inlining, Symbols};
use crate::views::weights::{GroupWeights, Sum, by_group};
use crate::views::{Direction, Inlines, Query};

/// A call node: a place in the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// A function that was called.
    Function(FunctionId),
    /// A function inlined into its caller.
    Inlined(FunctionId),
    /// Words of call chains in no mapping.
    NoMapping,
}

impl Label {
    /// The function, for the labels that have one.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            Self::Function(function) | Self::Inlined(function) => Some(function),
            Self::All | Self::Group(_) | Self::NoMapping => None,
        }
    }

    fn key(self) -> u64 {
        match self {
            Self::All => 0,
            Self::NoMapping => 1,
            Self::Group(name) => 1 << 32 | u64::from(name.0),
            Self::Function(function) => 2 << 32 | u64::from(function.0),
            Self::Inlined(function) => 3 << 32 | u64::from(function.0),
        }
    }
}

/// A call tree, as columns by [`CallNodeId`]. A parent always has a lower id than its children.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    label: Vec<Label>,
    parent: Vec<CallNodeId>,
    /// A frame that led here: where the code is.
    frame: Vec<Option<FrameId>>,
    self_sum: Vec<Sum>,
    total: Vec<Sum>,
    /// First child of each call node in `children`, and one more.
    child_start: Vec<u32>,
    /// Children, each call node's heaviest first.
    children: Vec<CallNodeId>,
}

impl CallTree {
    /// Merges the samples that `query` asks for.
    pub fn new(profile: &Profile, symbols: &Symbols, query: &Query) -> Self {
        let mut builder = Builder::new(profile, symbols, query);
        for group in by_group(profile, query) {
            builder.add_group(&group);
        }
        builder.finish()
    }

    /// Number of call nodes, the root included.
    pub fn len(&self) -> usize {
        self.label.len()
    }

    /// True if there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.label.len() <= 1
    }

    /// The call node with this number, if there is one.
    pub fn id(&self, number: u32) -> Option<CallNodeId> {
        ((number as usize) < self.len()).then_some(CallNodeId(number))
    }

    /// What it stands for.
    pub fn label(&self, id: CallNodeId) -> Label {
        self.label[id.index()]
    }

    /// Its caller; `None` for the root.
    pub fn parent(&self, id: CallNodeId) -> Option<CallNodeId> {
        (id != CallNodeId::ROOT).then(|| self.parent[id.index()])
    }

    /// A frame that led to it, if it stands for code.
    pub fn frame(&self, id: CallNodeId) -> Option<FrameId> {
        self.frame[id.index()]
    }

    /// Samples that ended in it.
    pub fn self_sum(&self, id: CallNodeId) -> Sum {
        self.self_sum[id.index()]
    }

    /// Samples that passed through it.
    pub fn total(&self, id: CallNodeId) -> Sum {
        self.total[id.index()]
    }

    /// Its children, heaviest first.
    pub fn children(&self, id: CallNodeId) -> &[CallNodeId] {
        let start = self.child_start[id.index()] as usize;
        let end = self.child_start[id.index() + 1] as usize;
        &self.children[start..end]
    }

    /// All call nodes, parents before children.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = CallNodeId> + use<> {
        (0..self.label.len() as u32).map(CallNodeId)
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

/// Which side of a call node's children a walk is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Before them.
    Enter,
    /// After them.
    Leave,
}

struct Builder<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    query: &'a Query,
    tree: CallTree,
    index: IdTable,
    /// By stack, its call node in the group that is being added, if that has been made.
    of_stack: Vec<CallNodeId>,
}

/// Not made yet.
const NONE: CallNodeId = CallNodeId(u32::MAX);

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile, symbols: &'a Symbols, query: &'a Query) -> Self {
        let mut builder = Self {
            profile,
            symbols,
            query,
            tree: CallTree::default(),
            index: IdTable::default(),
            of_stack: Vec::new(),
        };
        builder.reserve();
        builder.add(CallNodeId::ROOT, Label::All, None);
        builder
    }

    /// Room for a call node for each stack, which is what there is without names. Growing by
    /// copies would leave holes of the same size in WebAssembly's memory, which only grows; room
    /// that is not used is never touched.
    fn reserve(&mut self) {
        let stacks = self.profile.stacks.len();
        self.tree.parent.reserve(stacks);
        self.tree.label.reserve(stacks);
        self.tree.frame.reserve(stacks);
        self.tree.self_sum.reserve(stacks);
    }

    fn add_group(&mut self, group: &GroupWeights) {
        let root = match group.group {
            Some(name) => self.child(CallNodeId::ROOT, Label::Group(name), None),
            None => CallNodeId::ROOT,
        };
        match self.query.direction {
            Direction::Callees => self.add_callees(root, group),
            Direction::Inverted => self.add_inverted(root, group),
        }
    }

    /// Each stack's call node is a descendant of its prefix's, so each prefix is looked up once.
    fn add_callees(&mut self, root: CallNodeId, group: &GroupWeights) {
        self.of_stack.resize(self.profile.stacks.len(), NONE);
        let mut made = Vec::new();
        let mut missing = Vec::new();
        for &(leaf, sum) in &group.stacks {
            let mut stack = leaf;
            while stack != Stacks::EMPTY && self.of_stack[stack.index()] == NONE {
                missing.push(stack);
                stack = self.prefix(stack);
            }
            let mut node = match stack {
                Stacks::EMPTY => root,
                known => self.of_stack[known.index()],
            };
            while let Some(stack) = missing.pop() {
                if let Some((_, frame)) = self.profile.stacks.get(stack) {
                    node = self.descend(node, frame, Order::OutermostFirst);
                }
                self.of_stack[stack.index()] = node;
                made.push(stack);
            }
            self.tree.self_sum[node.index()].add(sum);
        }
        for stack in made {
            self.of_stack[stack.index()] = NONE;
        }
    }

    fn add_inverted(&mut self, root: CallNodeId, group: &GroupWeights) {
        for &(leaf, sum) in &group.stacks {
            let mut node = root;
            for frame in self.profile.stacks.frames(leaf) {
                node = self.descend(node, frame, Order::InnermostFirst);
            }
            self.tree.self_sum[node.index()].add(sum);
        }
    }

    fn prefix(&self, stack: StackId) -> StackId {
        self.profile.stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix)
    }

    /// The call node of `frame` below `node`: one level, or one for each inlined function.
    fn descend(&mut self, node: CallNodeId, frame: FrameId, order: Order) -> CallNodeId {
        let dso = self.profile.frames.get(frame).dso;
        if self.profile.dsos.get(dso).kind == DsoKind::Unmapped {
            return self.child(node, Label::NoMapping, Some(frame));
        }
        let symbols = self.symbols;
        if self.query.inlines == Inlines::Merged {
            return self.child(node, Label::Function(symbols.merged(frame)), Some(frame));
        }
        let levels = symbols.levels(frame);
        let mut add = |node, index: usize| {
            let function = levels[index].function;
            let label = match levels[index].inlining {
                Inlining::Called => Label::Function(function),
                Inlining::Inlined => Label::Inlined(function),
            };
            self.child(node, label, Some(frame))
        };
        match order {
            Order::OutermostFirst => (0..levels.len()).fold(node, &mut add),
            Order::InnermostFirst => (0..levels.len()).rev().fold(node, &mut add),
        }
    }

    fn child(&mut self, parent: CallNodeId, label: Label, frame: Option<FrameId>) -> CallNodeId {
        let Self { tree, index, .. } = self;
        let hash = |row: u32| {
            let row = row as usize;
            hash_pair(tree.label[row].key(), u64::from(tree.parent[row].0)) as u32
        };
        let row = index.find_or_insert(
            tree.label.len(),
            hash_pair(label.key(), u64::from(parent.0)) as u32,
            |row| tree.parent[row as usize] == parent && tree.label[row as usize] == label,
            hash,
        );
        if row as usize == self.tree.label.len() {
            self.add(parent, label, frame);
        }
        CallNodeId(row)
    }

    fn add(&mut self, parent: CallNodeId, label: Label, frame: Option<FrameId>) {
        self.tree.parent.push(parent);
        self.tree.label.push(label);
        self.tree.frame.push(frame);
        self.tree.self_sum.push(Sum::default());
    }

    fn finish(self) -> CallTree {
        let mut tree = self.tree;
        tree.parent.shrink_to_fit();
        tree.label.shrink_to_fit();
        tree.frame.shrink_to_fit();
        tree.self_sum.shrink_to_fit();
        tree.total = tree.self_sum.clone();
        for id in tree.ids().rev() {
            if let Some(parent) = tree.parent(id) {
                let total = tree.total[id.index()];
                tree.total[parent.index()].add(total);
            }
        }
        tree.sort_children();
        tree
    }
}

/// In which order the levels of one frame are added.
#[derive(Clone, Copy)]
enum Order {
    OutermostFirst,
    InnermostFirst,
}

impl CallTree {
    fn sort_children(&mut self) {
        let count = self.label.len();
        let mut start = vec![0u32; count + 1];
        for parent in self.parent.iter().skip(1) {
            start[parent.index() + 1] += 1;
        }
        for row in 0..count {
            start[row + 1] += start[row];
        }
        let mut next = start.clone();
        let mut children = vec![CallNodeId::ROOT; count.saturating_sub(1)];
        for (row, parent) in self.parent.iter().enumerate().skip(1) {
            let slot = &mut next[parent.index()];
            children[*slot as usize] = CallNodeId(row as u32);
            *slot += 1;
        }
        for row in 0..count {
            let children = &mut children[start[row] as usize..start[row + 1] as usize];
            // Equal weights stay in the order in which they were met first.
            children.sort_by_key(|child| std::cmp::Reverse(self.total[child.index()].weight));
        }
        self.child_start = start;
        self.children = children;
    }
}
