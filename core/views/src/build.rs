//! From the samples of a query to its call tree.
//!
//! The tree is grown from the stacks of the samples, the outermost caller as the root, goes through
//! the steps, and is turned in the end. That takes seconds where samples are many.

use std::num::NonZeroU32;

use perftab_names::{FunctionId, Inlining, Symbols};
use perftab_perfdata::map::Map;
use perftab_perfdata::slice::{BoxedWork, Slice, at_once};
use perftab_profile::{DsoKind, FrameId, Profile, StackId, Stacks};

use crate::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::function_ref::{FunctionSet, Resolver};
use crate::inverted::Inverted;
use crate::ordering::{Numbers, ordered};
use crate::shown::Account;
use crate::weights::{FilteredSamples, GroupWeights, Levels};
use crate::{Direction, Inlines, Query, Unnamed, families, rewrite, turn, weights};

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

/// What is to be known of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeDetail {
    /// The tree.
    Tree,
    /// Also where samples end in it; of a query of callees. Few views ask for that, and it takes memory
    /// for each stack.
    Ends,
}

/// Makes the call tree of a query, all of it: of an inverted one too.
pub fn build(profile: &Profile, symbols: &Symbols, query: &Query) -> BuiltTree {
    let built = all(profile, symbols, query, TreeDetail::Tree).0;
    BuiltTree { tree: whole(query, built.tree), ..built }
}

/// All of what a query shows, of what was built in slices.
pub fn whole(query: &Query, built: CallTree) -> CallTree {
    match query.direction {
        Direction::Inverted if query.around.is_none() => Inverted::new(built.into()).into_whole(),
        _ => built,
    }
}

/// Makes the call tree of a query for callees, and notes where each sample ends in it.
pub fn build_with_ends(profile: &Profile, symbols: &Symbols, query: &Query) -> (BuiltTree, Ends) {
    debug_assert!(query.direction == Direction::Callees && query.around.is_none());
    all(profile, symbols, query, TreeDetail::Ends)
}

fn all(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    detail: TreeDetail,
) -> (BuiltTree, Ends) {
    at_once(async |slice| build_in_slices(profile, symbols, query, detail, slice).await)
}

/// Makes the call tree of a query, whatever its direction: that of its callees, which an inverted one is made
/// of. In slices of rows, and of passes over the tree.
pub fn build_in_slices<'a>(
    profile: &'a Profile,
    symbols: &'a Symbols,
    query: &'a Query,
    detail: TreeDetail,
    slice: &'a Slice,
) -> BoxedWork<'a, (BuiltTree, Ends)> {
    Box::pin(async move {
        let levels = rewrite::levels(query);
        let rows = Filter::new(profile, query).rows().len();
        slice.expect(rows + profile.stacks.len() * ROWS_OF_A_STACK);
        let mut taken = weights::filtered(profile, query, levels, slice).await;
        families::leave_out_narrow(query, &mut taken.groups);
        slice.next().await;
        let steps = Vec::new();
        let mut account = Account { left: taken.sum, by_filter: taken.removed, steps };
        let mut resolver = Resolver::new(profile, symbols);
        let calls = Calls::of(profile, symbols, query);
        let (mut tree, mut ends) = grown((calls, query.outermost), detail, taken, slice).await;
        for step in 0..query.steps.len() {
            slice.next().await;
            let taken = rewrite::step(&mut resolver, query, levels, tree, &mut ends, step);
            tree = taken.0;
            account.steps.push(taken.1);
        }
        // Without steps it has no groups but those that are shown, and no call node without samples.
        if query.around.is_some() || !query.steps.is_empty() {
            slice.next().await;
            let shown = turn::shown(&mut resolver, query, levels, &tree);
            if let Some(ends) = &mut ends {
                ends.move_on(shown.moved());
            }
            tree = shown.add_up();
        }
        // Trees of ranges are made in two ways ([`super::placed`]), and call nodes are asked for by number.
        let numbers = if query.range.is_none() { Numbers::Kept } else { Numbers::ByWeight };
        let (tree, moved) = ordered(tree, numbers, &slice.in_units_of(ROWS_OF_A_PASS)).await;
        if let Some((ends, moved)) = ends.as_mut().zip(moved) {
            ends.move_on(&moved);
        }
        (BuiltTree { tree, account }, ends.unwrap_or_default())
    })
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

/// The call nodes of what was taken, group after group; and where samples end in them, if that is asked for.
async fn grown(
    (calls, outermost): (Calls<'_>, Option<NonZeroU32>),
    detail: TreeDetail,
    taken: FilteredSamples,
    slice: &Slice,
) -> (CallTree, Option<Ends>) {
    let profile = calls.profile;
    let slice = slice.in_units_of(ROWS_OF_A_STACK);
    let FilteredSamples { groups, group_of_thread, .. } = taken;
    let stacks = profile.stacks.len();
    let mut ends = (detail == TreeDetail::Ends).then(|| Ends::new(group_of_thread, stacks));
    let met: usize = groups.iter().map(|group| group.stacks.len()).sum();
    slice.expect(met);
    // A call node for each stack is what there is without names; short ranges have fewer.
    let tree = GrowingTree::with_room_for(stacks.min(met.saturating_mul(4)));
    let (of_stack, made) = (vec![NONE; stacks], Vec::new());
    let mut grower = CallNodeGrower { calls, tree, of_stack, made };
    let roots: Vec<CallNodeId> = groups.iter().map(|group| grower.root(group)).collect();
    for (root, GroupWeights { number, stacks, .. }) in roots.into_iter().zip(groups) {
        let mut all = 0..stacks.len();
        while let Some(part) = slice.part(&mut all).await {
            for &(leaf, sum) in &stacks[part] {
                let node = match outermost {
                    None => grower.grow(root, leaf),
                    Some(most) => grower.grow_outermost(root, leaf, most),
                };
                grower.tree.add_self(node, sum);
                if let Some(ends) = &mut ends {
                    ends.note(number, leaf, node);
                }
            }
        }
        grower.begin_again();
    }
    (grower.tree.add_up(), ends)
}

/// Grows the call nodes of the stacks of one group. Each stack's call node is a descendant of its prefix's,
/// so each prefix is looked up once. Those of code without a name below nothing but such code, as nearly all is at
/// first, are looked up nowhere: a quarter of the time of such a tree.
struct CallNodeGrower<'a> {
    calls: Calls<'a>,
    tree: GrowingTree,
    /// By stack, its call node in the group, if that has been made.
    of_stack: Vec<Grown>,
    /// The stacks that have one.
    made: Vec<StackId>,
}

/// The call node of a stack: its number, and one bit, which is set if no other stack of the group has it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Grown(u32);

/// Not made yet.
const NONE: Grown = Grown(u32::MAX);

impl Grown {
    fn new(node: CallNodeId, is_alone: bool) -> Self {
        Self(node.0 << 1 | u32::from(is_alone))
    }

    fn node(self) -> CallNodeId {
        CallNodeId(self.0 >> 1)
    }

    fn is_alone(self) -> bool {
        self.0 & 1 == 1
    }
}

impl CallNodeGrower<'_> {
    /// Of a stack so many of its outermost frames, and its innermost.
    fn grow_outermost(&mut self, root: CallNodeId, leaf: StackId, most: NonZeroU32) -> CallNodeId {
        let Self { calls, tree, .. } = self;
        let frames: Vec<FrameId> = calls.profile.stacks.frames(leaf).collect();
        let left_out = frames.len().saturating_sub(most.get() as usize);
        let innermost = frames.first().filter(|_| left_out > 0);
        let kept = frames[left_out..].iter().rev().chain(innermost);
        kept.fold(root, |node, &frame| calls.descend(tree, node, frame))
    }

    /// What a group's stacks are below.
    fn root(&mut self, group: &GroupWeights) -> CallNodeId {
        let groups = group.groups.iter();
        groups.fold(CallNodeId::ROOT, |at, &group| self.tree.child(at, group, None))
    }

    /// With another group.
    fn begin_again(&mut self) {
        for stack in self.made.drain(..) {
            self.of_stack[stack.index()] = NONE;
        }
    }

    fn grow(&mut self, root: CallNodeId, leaf: StackId) -> CallNodeId {
        let Self { calls, tree, of_stack, made } = self;
        let stacks = &calls.profile.stacks;
        let first_missing = made.len();
        let mut stack = leaf;
        while stack != Stacks::EMPTY && of_stack[stack.index()] == NONE {
            made.push(stack);
            stack = stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix);
        }
        let mut grown = match stack {
            Stacks::EMPTY => Grown::new(root, true),
            known => of_stack[known.index()],
        };
        for &stack in made[first_missing..].iter().rev() {
            if let Some((_, frame)) = stacks.get(stack) {
                let (node, is_alone) = (grown.node(), grown.is_alone());
                grown = match calls.own_function(frame).filter(|_| is_alone) {
                    Some(function) => {
                        let label = Label::Function(function);
                        Grown::new(tree.push(node, label, Some(frame)), true)
                    }
                    None => Grown::new(calls.descend(tree, node, frame), false),
                };
            }
            of_stack[stack.index()] = grown;
        }
        grown.node()
    }
}

/// What frames are calls of, as a query shows them.
pub struct Calls<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    inlines: Inlines,
    unnamed: Unnamed,
    /// By DSO, what its code without a name is put together as: that of all memory without a file is one.
    rests: Vec<FunctionId>,
    /// Code without a name that is not put together with other code of its DSO: what the query names.
    apart: FunctionSet,
}

impl<'a> Calls<'a> {
    /// As this query shows them.
    pub fn of(profile: &'a Profile, symbols: &'a Symbols, query: &Query) -> Self {
        let Query { inlines, unnamed, .. } = *query;
        let apart = Resolver::new(profile, symbols).addresses_in(query);
        let mut memory = Map::new();
        let rests = profile.dsos.iter().map(|(id, dso)| match dso.kind {
            DsoKind::Anon => *memory.entry(dso.path.as_str()).or_insert(FunctionId::unnamed_of(id)),
            _ => FunctionId::unnamed_of(id),
        });
        Self { profile, symbols, inlines, unnamed, rests: rests.collect(), apart }
    }

    /// The function that stands for this frame alone, whatever is around it.
    fn own_function(&self, frame: FrameId) -> Option<FunctionId> {
        let is_alone = self.unnamed == Unnamed::EachAddress && self.is_mapped(frame);
        self.symbols.own_function(frame).filter(|_| is_alone)
    }

    fn is_mapped(&self, frame: FrameId) -> bool {
        let dso = self.profile.frames.get(frame).dso;
        self.profile.dsos.get(dso).kind != DsoKind::Unmapped
    }

    /// The call node of `frame` below `node`: one level, or one for each inlined function; or `node`, if
    /// both are code without a name that is shown as one.
    fn descend(&self, tree: &mut GrowingTree, node: CallNodeId, frame: FrameId) -> CallNodeId {
        if !self.is_mapped(frame) {
            return tree.child(node, Label::NoMapping, Some(frame));
        }
        if self.inlines == Inlines::Merged {
            let merged = self.symbols.merged(frame);
            return self.enter(tree, node, frame, (merged, Inlining::Called));
        }
        let levels = self.symbols.levels(frame).iter();
        let levels = levels.map(|level| (level.function, level.inlining));
        levels.fold(node, |node, level| self.enter(tree, node, frame, level))
    }

    fn enter(
        &self,
        tree: &mut GrowingTree,
        node: CallNodeId,
        frame: FrameId,
        (function, inlining): (FunctionId, Inlining),
    ) -> CallNodeId {
        let shown = self.shown(function);
        if shown.as_unnamed_of().is_some() && tree.label(node).function() == Some(shown) {
            return node;
        }
        let label = match inlining {
            Inlining::Called => Label::Function(shown),
            Inlining::Inlined => Label::Inlined(shown),
        };
        tree.child(node, label, Some(frame))
    }

    /// What a function is shown as.
    pub fn shown(&self, id: FunctionId) -> FunctionId {
        if self.unnamed == Unnamed::EachAddress || self.apart.has(Label::Function(id)) {
            return id;
        }
        let function = self.symbols.function(id);
        function.name.map_or(self.rests[function.dso.index()], |_| id)
    }
}
