//! From the samples of a query to its call tree.
//!
//! Without steps the tree is grown from the stacks as it is shown. With steps it is grown with the
//! outermost caller as the root first, goes through them, and is turned in the end.

use crate::profile::{DsoKind, FrameId, Profile, StackId, Stacks};
use crate::symbolize::{Inlining, Symbols};
use crate::views::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::views::ends::Ends;
use crate::views::function_ref::Resolver;
use crate::views::inverted::Inverter;
use crate::views::shown::Account;
use crate::views::weights::{GroupWeights, Levels, take};
use crate::views::{Direction, Inlines, Query, rewrite, turn};

/// A tree, and how it came to be what it is.
pub struct Built {
    /// What is shown.
    pub tree: CallTree,
    /// What was taken away.
    pub account: Account,
}

/// Makes the call tree of a query.
pub fn build(profile: &Profile, symbols: &Symbols, query: &Query) -> Built {
    make(profile, symbols, query, Noting::Nothing).0
}

/// Makes the call tree of a query for callees, and notes where each sample ends in it.
pub fn build_with_ends(profile: &Profile, symbols: &Symbols, query: &Query) -> (Built, Ends) {
    debug_assert!(query.direction == Direction::Callees && query.around.is_none());
    let (built, ends) = make(profile, symbols, query, Noting::Ends);
    (built, ends.unwrap_or_default())
}

/// What is noted while a tree is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noting {
    Nothing,
    Ends,
}

fn make(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    noting: Noting,
) -> (Built, Option<Ends>) {
    let is_plain = query.steps.is_empty() && query.around.is_none();
    let (levels, direction) = match is_plain {
        true => (Levels::of(query.group), query.direction),
        false => (rewrite::levels(query), Direction::Callees),
    };
    let taken = take(profile, query, levels);
    let mut builder = Builder::new(profile, symbols, query.inlines);
    if noting == Noting::Ends {
        builder.ends = Some(Ends::new(taken.group_of_thread, profile.stacks.len()));
    }
    builder.add_groups(taken.groups, direction);
    let account = |steps| Account { left: taken.sum, by_filter: taken.removed, steps };
    if is_plain {
        let (mut ends, tree) = (builder.ends, builder.tree.add_up());
        let built = Built { tree: in_order(query, tree, &mut ends), account: account(Vec::new()) };
        return (built, ends);
    }
    let mut ends = builder.ends;
    let (tree, account) = (builder.tree.add_up(), account(Vec::new()));
    let built = from_callees(profile, symbols, query, levels, tree, account, &mut ends);
    (built, ends)
}

/// Makes the call tree of a query out of that of the callees of its samples, below `levels` of
/// groups; `account` has nothing of steps yet, and `ends` are moved along.
pub(super) fn from_callees(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    levels: Levels,
    tree: CallTree,
    account: Account,
    ends: &mut Option<Ends>,
) -> Built {
    if query.steps.is_empty() && query.around.is_none() && query.direction == Direction::Callees {
        return Built { tree: in_order(query, tree, ends), account };
    }
    let mut resolver = Resolver::new(profile, symbols);
    let (tree, steps) = rewrite::all(&mut resolver, query, levels, tree, ends);
    let shown = turn::shown(&mut resolver, query, levels, &tree);
    if let Some(ends) = ends {
        ends.move_on(shown.moved());
    }
    let tree = in_order(query, shown.add_up(), ends);
    Built { tree, account: Account { steps, ..account } }
}

/// Trees of ranges are made in two ways ([`super::placed`]), and call nodes are asked for by number.
fn in_order(query: &Query, tree: CallTree, ends: &mut Option<Ends>) -> CallTree {
    if query.range.is_none() {
        return tree.with_children_in_order();
    }
    let (tree, moved) = tree.in_order_of_weight();
    if let Some(ends) = ends {
        ends.move_on(&moved);
    }
    tree
}

struct Builder<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    inlines: Inlines,
    tree: GrowingTree,
    /// By stack, its call node in the group that is being added, if that has been made.
    of_stack: Vec<CallNodeId>,
    /// Filled where it is there.
    ends: Option<Ends>,
}

/// Not made yet.
const NONE: CallNodeId = CallNodeId(u32::MAX);

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile, symbols: &'a Symbols, inlines: Inlines) -> Self {
        // A call node for each stack is what there is without names.
        let tree = GrowingTree::with_room_for(profile.stacks.len());
        Self { profile, symbols, inlines, tree, of_stack: Vec::new(), ends: None }
    }

    fn add_groups(&mut self, groups: Vec<GroupWeights>, direction: Direction) {
        let root = |group: &GroupWeights| {
            let names = group.groups.iter();
            names.fold(CallNodeId::ROOT, |at, &name| self.tree.child(at, Label::Group(name), None))
        };
        let roots: Vec<CallNodeId> = groups.iter().map(root).collect();
        let mut inverter = Inverter::new(self.profile, self.symbols, self.inlines);
        for (group, root) in groups.into_iter().zip(roots) {
            match direction {
                Direction::Callees => self.add_callees(root, &group),
                Direction::Inverted => inverter.add(&mut self.tree, root, &group),
            }
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
                    node = self.descend(node, frame);
                }
                self.of_stack[stack.index()] = node;
                made.push(stack);
            }
            self.tree.add_self(node, sum);
            if let Some(ends) = &mut self.ends {
                ends.note(group.number, leaf, node);
            }
        }
        for stack in made {
            self.of_stack[stack.index()] = NONE;
        }
    }

    fn prefix(&self, stack: StackId) -> StackId {
        self.profile.stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix)
    }

    fn descend(&mut self, node: CallNodeId, frame: FrameId) -> CallNodeId {
        descend(self.profile, self.symbols, self.inlines, &mut self.tree, node, frame)
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
