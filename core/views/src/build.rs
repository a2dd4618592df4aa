//! From the samples of a query to its call tree.
//!
//! The tree is grown from the stacks of the samples, the outermost caller as the root, goes through
//! the steps, and is turned in the end. That takes seconds where samples are many, so [`CallTreeBuilder`] does
//! it in steps, between which a host can let go of it.

use perftab_names::{Inlining, Symbols};
use perftab_profile::{DsoKind, FrameId, Profile, StackId, Stacks};

use crate::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::ends::Ends;
use crate::function_ref::Resolver;
use crate::inverted::Inverted;
use crate::ordering::{ChildOrdering, Numbers};
use crate::shown::Account;
use crate::weights::{FilteredSamples, FilteringSamples, GroupWeights, Levels};
use crate::{Direction, Inlines, Query, rewrite, turn};

/// To grow the call nodes of a stack takes about as long as to take so many rows.
const ROWS_OF_A_STACK: usize = 8;
/// To put a call node in order is done in several passes, each of which takes about as long as so many.
const ROWS_OF_A_PASS: usize = 2;

/// A tree, and how it came to be what it is.
pub struct BuiltTree {
    /// What is shown.
    pub tree: CallTree,
    /// What was taken away.
    pub account: Account,
}

/// Makes the call tree of a query, all of it: of an inverted one too.
pub fn build(profile: &Profile, symbols: &Symbols, query: &Query) -> BuiltTree {
    let built = all_steps(CallTreeBuilder::new(profile, query), profile, symbols).0;
    match query.direction {
        Direction::Inverted if query.around.is_none() => {
            BuiltTree { tree: Inverted::new(built.tree.into()).into_whole(), ..built }
        }
        _ => built,
    }
}

/// Makes the call tree of a query for callees, and notes where each sample ends in it.
pub fn build_with_ends(profile: &Profile, symbols: &Symbols, query: &Query) -> (BuiltTree, Ends) {
    debug_assert!(query.direction == Direction::Callees && query.around.is_none());
    all_steps(CallTreeBuilder::with_ends(profile, query), profile, symbols)
}

fn all_steps(
    mut building: CallTreeBuilder,
    profile: &Profile,
    symbols: &Symbols,
) -> (BuiltTree, Ends) {
    loop {
        match building.step(profile, symbols, usize::MAX) {
            BuildStep::More(more) => building = *more,
            BuildStep::Done(done) => return *done,
        }
    }
}

/// The call tree of a query to be: that of its callees, which an inverted one is made of.
pub struct CallTreeBuilder {
    query: Query,
    levels: Levels,
    ends_tracking: EndsTracking,
    stage: Stage,
    rows: usize,
    stacks: usize,
}

/// Whether it is kept where each sample ends in the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndsTracking {
    Off,
    On,
}

enum Stage {
    /// Samples are summed by stack.
    Taking(FilteringSamples),
    /// The stacks' call nodes are made.
    Growing(CallNodeGrower, Account),
    /// They go through the steps from this one on.
    Rewriting(CallTree, Account, Option<Ends>),
    /// What is left is put in order.
    Ordering(Box<ChildOrdering>, Account, Option<Ends>),
}

/// What came of a step.
pub enum BuildStep {
    /// There is more to do.
    More(Box<CallTreeBuilder>),
    /// The tree, and where samples end in it if that was to be noted.
    Done(Box<(BuiltTree, Ends)>),
}

impl CallTreeBuilder {
    /// Of a query, whatever its direction.
    pub fn new(profile: &Profile, query: &Query) -> Self {
        Self::with_tracking(profile, query, EndsTracking::Off)
    }

    /// The same, and notes where samples end.
    pub fn with_ends(profile: &Profile, query: &Query) -> Self {
        Self::with_tracking(profile, query, EndsTracking::On)
    }

    fn with_tracking(profile: &Profile, query: &Query, ends_tracking: EndsTracking) -> Self {
        let levels = rewrite::levels(query);
        let taking = FilteringSamples::new(profile, query, levels);
        let (rows, stacks) = (taking.rows_left(), profile.stacks.len());
        let stage = Stage::Taking(taking);
        Self { query: query.clone(), levels, ends_tracking, stage, rows, stacks }
    }

    /// How many rows have been gone through, and how many there are; a stack counts as several.
    pub fn progress(&self) -> (usize, usize) {
        let stacks = self.stacks * ROWS_OF_A_STACK;
        let done = match &self.stage {
            Stage::Taking(taking) => self.rows - taking.rows_left(),
            Stage::Growing(growing, _) => self.rows + growing.stacks_done * ROWS_OF_A_STACK,
            Stage::Rewriting(..) | Stage::Ordering(..) => self.rows + stacks,
        };
        (done, self.rows + stacks)
    }

    /// Goes on for about as long as so many rows take, or one pass over the tree.
    pub fn step(self, profile: &Profile, symbols: &Symbols, rows: usize) -> BuildStep {
        let Self { query, levels, ends_tracking, stage, rows: all_rows, mut stacks } = self;
        let stage = match stage {
            Stage::Taking(mut taking) => match taking.step(profile, rows) {
                false => Stage::Taking(taking),
                true => {
                    let taken = taking.finish();
                    stacks = taken.groups.iter().map(|group| group.stacks.len()).sum();
                    let steps = Vec::new();
                    let account = Account { left: taken.sum, by_filter: taken.removed, steps };
                    Stage::Growing(
                        CallNodeGrower::new(profile, query.inlines, ends_tracking, taken),
                        account,
                    )
                }
            },
            Stage::Growing(mut growing, account) => {
                match growing.step(profile, symbols, (rows / ROWS_OF_A_STACK).max(1)) {
                    false => Stage::Growing(growing, account),
                    true => Stage::Rewriting(growing.tree.add_up(), account, growing.ends),
                }
            }
            Stage::Rewriting(tree, mut account, mut ends) => {
                let mut resolver = Resolver::new(profile, symbols);
                match query.steps.get(account.steps.len()) {
                    Some(_) => {
                        let next = account.steps.len();
                        let tree =
                            rewrite::step(&mut resolver, &query, levels, tree, &mut ends, next);
                        account.steps.push(tree.1);
                        Stage::Rewriting(tree.0, account, ends)
                    }
                    None => {
                        let tree = turned(&mut resolver, &query, levels, tree, &mut ends);
                        let ordering = ChildOrdering::new(tree, numbers(&query));
                        Stage::Ordering(Box::new(ordering), account, ends)
                    }
                }
            }
            Stage::Ordering(mut ordering, account, mut ends) => {
                if ordering.step((rows / ROWS_OF_A_PASS).max(1)) {
                    let (tree, moved) = ordering.finish();
                    if let Some((ends, moved)) = ends.as_mut().zip(moved) {
                        ends.move_on(&moved);
                    }
                    let built = BuiltTree { tree, account };
                    return BuildStep::Done(Box::new((built, ends.unwrap_or_default())));
                }
                Stage::Ordering(ordering, account, ends)
            }
        };
        let more = Self { query, levels, ends_tracking, stage, rows: all_rows, stacks };
        BuildStep::More(Box::new(more))
    }
}

/// What a query shows of a tree that went through its steps and has its groups; children are in no
/// order.
pub(super) fn placed(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    tree: CallTree,
) -> CallTree {
    if query.around.is_none() {
        return tree.with_children();
    }
    let mut resolver = Resolver::new(profile, symbols);
    let levels = Levels::of(query.group);
    turn::shown(&mut resolver, query, levels, &tree).add_up().with_children()
}

/// With the groups that are shown, or the tree that hangs on a function.
fn turned(
    resolver: &mut Resolver<'_>,
    query: &Query,
    levels: Levels,
    tree: CallTree,
    ends: &mut Option<Ends>,
) -> CallTree {
    // Without steps it has no groups but those that are shown, and no call node without samples.
    if query.around.is_none() && query.steps.is_empty() {
        return tree;
    }
    let shown = turn::shown(resolver, query, levels, &tree);
    if let Some(ends) = ends {
        ends.move_on(shown.moved());
    }
    shown.add_up()
}

/// Trees of ranges are made in two ways ([`super::placed`]), and call nodes are asked for by number.
fn numbers(query: &Query) -> Numbers {
    if query.range.is_none() { Numbers::Kept } else { Numbers::ByWeight }
}

/// Grows the call nodes of stacks, group after group. Each stack's call node is a descendant of its
/// prefix's, so each prefix is looked up once.
struct CallNodeGrower {
    inlines: Inlines,
    tree: GrowingTree,
    /// Each below its root.
    groups: std::vec::IntoIter<(CallNodeId, GroupWeights)>,
    /// The group that is being grown, and how many of its stacks have been.
    current: Option<(CallNodeId, GroupWeights, usize)>,
    /// By stack, its call node in that group, if that has been made.
    of_stack: Vec<CallNodeId>,
    /// The stacks that have one.
    made: Vec<StackId>,
    /// Filled where it is there.
    ends: Option<Ends>,
    stacks_done: usize,
}

/// Not made yet.
const NONE: CallNodeId = CallNodeId(u32::MAX);

impl CallNodeGrower {
    fn new(
        profile: &Profile,
        inlines: Inlines,
        ends_tracking: EndsTracking,
        taken: FilteredSamples,
    ) -> Self {
        let stacks = profile.stacks.len();
        let ends =
            (ends_tracking == EndsTracking::On).then(|| Ends::new(taken.group_of_thread, stacks));
        // A call node for each stack is what there is without names; short ranges have fewer.
        let met: usize = taken.groups.iter().map(|group| group.stacks.len()).sum();
        let mut tree = GrowingTree::with_room_for(stacks.min(met.saturating_mul(4)));
        let root = |group: GroupWeights| {
            let names = group.groups.iter();
            let root =
                names.fold(CallNodeId::ROOT, |at, &name| tree.child(at, Label::Group(name), None));
            (root, group)
        };
        let groups: Vec<_> = taken.groups.into_iter().map(root).collect();
        Self {
            inlines,
            tree,
            groups: groups.into_iter(),
            current: None,
            of_stack: vec![NONE; stacks],
            made: Vec::new(),
            ends,
            stacks_done: 0,
        }
    }

    /// Grows those of so many more stacks; true when there are none left.
    fn step(&mut self, profile: &Profile, symbols: &Symbols, stacks: usize) -> bool {
        let mut left = stacks;
        while left > 0 {
            let next = || self.groups.next().map(|(root, group)| (root, group, 0));
            let Some((root, group, done)) = self.current.take().or_else(next) else { return true };
            let to = done.saturating_add(left).min(group.stacks.len());
            for &(leaf, sum) in &group.stacks[done..to] {
                let node = self.grow(profile, symbols, root, leaf);
                self.tree.add_self(node, sum);
                if let Some(ends) = &mut self.ends {
                    ends.note(group.number, leaf, node);
                }
            }
            left -= to - done;
            self.stacks_done += to - done;
            if to < group.stacks.len() {
                self.current = Some((root, group, to));
            } else {
                for stack in self.made.drain(..) {
                    self.of_stack[stack.index()] = NONE;
                }
            }
        }
        false
    }

    fn grow(
        &mut self,
        profile: &Profile,
        symbols: &Symbols,
        root: CallNodeId,
        leaf: StackId,
    ) -> CallNodeId {
        let first_missing = self.made.len();
        let mut stack = leaf;
        while stack != Stacks::EMPTY && self.of_stack[stack.index()] == NONE {
            self.made.push(stack);
            stack = profile.stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix);
        }
        let mut node = match stack {
            Stacks::EMPTY => root,
            known => self.of_stack[known.index()],
        };
        for place in (first_missing..self.made.len()).rev() {
            let stack = self.made[place];
            if let Some((_, frame)) = profile.stacks.get(stack) {
                node = descend(profile, symbols, self.inlines, &mut self.tree, node, frame);
            }
            self.of_stack[stack.index()] = node;
        }
        node
    }
}

/// The call node of `frame` below `node`: one level, or one for each inlined function.
pub(super) fn descend(
    profile: &Profile,
    symbols: &Symbols,
    inlines: Inlines,
    tree: &mut GrowingTree,
    node: CallNodeId,
    frame: FrameId,
) -> CallNodeId {
    let dso = profile.frames.get(frame).dso;
    if profile.dsos.get(dso).kind == DsoKind::Unmapped {
        return tree.child(node, Label::NoMapping, Some(frame));
    }
    if inlines == Inlines::Merged {
        return tree.child(node, Label::Function(symbols.merged(frame)), Some(frame));
    }
    symbols.levels(frame).iter().fold(node, |node, level| {
        let label = match level.inlining {
            Inlining::Called => Label::Function(level.function),
            Inlining::Inlined => Label::Inlined(level.function),
        };
        tree.child(node, label, Some(frame))
    })
}
