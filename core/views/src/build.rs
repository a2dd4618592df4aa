//! From the samples of a query to its call tree.
//!
//! The tree is grown from the stacks of the samples, the outermost caller as the root, goes through
//! the steps, and is turned in the end. That takes seconds where samples are many.

use perftab_names::{Inlining, Symbols};
use perftab_perfdata::slice::{BoxedWork, Slice, at_once};
use perftab_profile::{DsoKind, FrameId, Profile, StackId, Stacks};

use crate::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::function_ref::Resolver;
use crate::inverted::Inverted;
use crate::ordering::{Numbers, ordered};
use crate::shown::Account;
use crate::weights::{FilteredSamples, GroupWeights, Levels};
use crate::{Direction, Inlines, Query, rewrite, turn, weights};

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
        let taken = weights::filtered(profile, query, levels, slice).await;
        slice.next().await;
        let steps = Vec::new();
        let mut account = Account { left: taken.sum, by_filter: taken.removed, steps };
        let (mut tree, mut ends) =
            grown(profile, symbols, query.inlines, detail, taken, slice).await;
        let mut resolver = Resolver::new(profile, symbols);
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
    profile: &Profile,
    symbols: &Symbols,
    inlines: Inlines,
    detail: TreeDetail,
    taken: FilteredSamples,
    slice: &Slice,
) -> (CallTree, Option<Ends>) {
    let slice = slice.in_units_of(ROWS_OF_A_STACK);
    let FilteredSamples { groups, group_of_thread, .. } = taken;
    let stacks = profile.stacks.len();
    let mut ends = (detail == TreeDetail::Ends).then(|| Ends::new(group_of_thread, stacks));
    let met: usize = groups.iter().map(|group| group.stacks.len()).sum();
    slice.expect(met);
    // A call node for each stack is what there is without names; short ranges have fewer.
    let tree = GrowingTree::with_room_for(stacks.min(met.saturating_mul(4)));
    let (of_stack, made) = (vec![NONE; stacks], Vec::new());
    let mut grower = CallNodeGrower { profile, symbols, inlines, tree, of_stack, made };
    let roots: Vec<CallNodeId> = groups.iter().map(|group| grower.root(group)).collect();
    for (root, GroupWeights { number, stacks, .. }) in roots.into_iter().zip(groups) {
        let mut all = 0..stacks.len();
        while let Some(part) = slice.part(&mut all).await {
            for &(leaf, sum) in &stacks[part] {
                let node = grower.grow(root, leaf);
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
    profile: &'a Profile,
    symbols: &'a Symbols,
    inlines: Inlines,
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
    /// What a group's stacks are below.
    fn root(&mut self, group: &GroupWeights) -> CallNodeId {
        let names = group.groups.iter();
        names.fold(CallNodeId::ROOT, |at, &name| self.tree.child(at, Label::Group(name), None))
    }

    /// With another group.
    fn begin_again(&mut self) {
        for stack in self.made.drain(..) {
            self.of_stack[stack.index()] = NONE;
        }
    }

    fn grow(&mut self, root: CallNodeId, leaf: StackId) -> CallNodeId {
        let Self { profile, symbols, inlines, tree, of_stack, made } = self;
        let first_missing = made.len();
        let mut stack = leaf;
        while stack != Stacks::EMPTY && of_stack[stack.index()] == NONE {
            made.push(stack);
            stack = profile.stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix);
        }
        let mut grown = match stack {
            Stacks::EMPTY => Grown::new(root, true),
            known => of_stack[known.index()],
        };
        for &stack in made[first_missing..].iter().rev() {
            if let Some((_, frame)) = profile.stacks.get(stack) {
                let (node, is_alone) = (grown.node(), grown.is_alone());
                let unnamed = if is_alone { symbols.own_function(frame) } else { None };
                grown = match unnamed.filter(|_| is_mapped(profile, frame)) {
                    Some(function) => {
                        let label = Label::Function(function);
                        Grown::new(tree.push(node, label, Some(frame)), true)
                    }
                    None => {
                        let node = descend(profile, symbols, *inlines, tree, node, frame);
                        Grown::new(node, false)
                    }
                };
            }
            of_stack[stack.index()] = grown;
        }
        grown.node()
    }
}

fn is_mapped(profile: &Profile, frame: FrameId) -> bool {
    profile.dsos.get(profile.frames.get(frame).dso).kind != DsoKind::Unmapped
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
    if !is_mapped(profile, frame) {
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
