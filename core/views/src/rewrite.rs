//! The steps of a query at work: from call tree to call tree.
//!
//! The trees in here have the outermost caller as the root, below [`Levels`] of groups, so that a
//! step can tell processes apart even where they are not shown. A step decides for each call node
//! where its samples go; callers have lower numbers than what they call, so one pass in ascending
//! order is enough. Each step takes time in proportion to the tree, whatever a query says.

use perftab_profile::Profile;

use crate::call_path::CallPath;
use crate::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::ends::Ends;
use crate::function_ref::{FunctionSet, PathPart, Resolver};
use crate::idle::IdleFinder;
use crate::search::{Finder, Pattern};
use crate::shown::Effect;
use crate::transform::Transform;
use crate::weights::{Levels, Sum};
use crate::{Direction, Group, Query, families};

/// Steps beyond have no effect: nobody takes so many, and each costs a pass over the tree.
pub const MOST_STEPS: usize = 100;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepAccount {
    /// What it took away.
    pub removed: Sum,
    /// Whether it changed anything.
    pub effect: Effect,
}

/// The groups that a query's steps and its tree tell apart.
pub(super) fn levels(query: &Query) -> Levels {
    let shown = if query.around.is_some() { Group::None } else { families::first_level(query) };
    let parts = query.steps.iter().flat_map(Transform::path);
    // What is idle is told by its process.
    let of_idle = query.steps.contains(&Transform::DropIdle).then_some(Group::Process);
    let levels = Levels::of(shown).with(of_idle.unwrap_or(Group::None));
    parts.fold(levels, |levels, part| match part {
        PathPart::Process { .. } => levels.with(Group::Process),
        PathPart::Thread { .. } => levels.with(Group::Thread),
        _ => levels,
    })
}

/// Takes one of a query's steps, by its position; `ends` are moved along.
pub(super) fn step(
    resolver: &mut Resolver<'_>,
    query: &Query,
    levels: Levels,
    tree: CallTree,
    ends: &mut Option<Ends>,
    index: usize,
) -> (CallTree, StepAccount) {
    let step = query.steps.get(index).filter(|_| index < MOST_STEPS);
    let Some(rewritten) = step.and_then(|step| one(resolver, query, levels, &tree, step)) else {
        return (tree, StepAccount { removed: Sum::default(), effect: Effect::None });
    };
    let before = tree.total(CallNodeId::ROOT);
    if let Some(ends) = ends {
        ends.move_on(rewritten.tree.moved());
    }
    let tree = rewritten.tree.add_up();
    let removed = before.without(tree.total(CallNodeId::ROOT));
    let effect = if removed.samples > 0 { Effect::Some } else { rewritten.effect };
    (tree, StepAccount { removed, effect })
}

/// A tree after a step.
struct RewrittenTree {
    tree: GrowingTree,
    /// Whether anything changed but for what was taken away.
    effect: Effect,
}

/// `None` if the step changes nothing.
fn one(
    resolver: &mut Resolver<'_>,
    query: &Query,
    levels: Levels,
    tree: &CallTree,
    step: &Transform,
) -> Option<RewrittenTree> {
    match step {
        Transform::Merge { function } => {
            let set = resolver.functions(function);
            Some(merge(tree, &|id| set.has(tree.label(id))))
        }
        Transform::Focus { function } => {
            let set = resolver.functions(function);
            Some(focus(tree, &|id| set.has(tree.label(id))))
        }
        Transform::Drop { function } => {
            let set = resolver.functions(function);
            Some(without(tree, &mut |id| set.has(tree.label(id))))
        }
        Transform::DropIdle => {
            let mut idle = IdleFinder::new(resolver.profile, resolver.symbols, query);
            Some(without(tree, &mut |id| idle.finds(tree, id)))
        }
        Transform::CollapseFunction { function } => {
            let set = resolver.functions(function);
            Some(collapse_function(tree, &set))
        }
        Transform::CollapseDso { dso } => {
            let dsos = resolver.dsos(dso).to_vec();
            let first = *dsos.first()?;
            let symbols = resolver.symbols;
            let is_in = |label: Label| match label {
                Label::Dso(dso) => dsos.contains(&dso),
                label => label
                    .function()
                    .is_some_and(|id| dsos.binary_search(&symbols.function(id).dso).is_ok()),
            };
            Some(collapse_runs(tree, Label::Dso(first), &is_in))
        }
        Transform::CollapseRecursion => Some(collapse_recursion(tree)),
        Transform::Search { text } => {
            let pattern = Pattern::new(text)?;
            let mut finder = Finder::new(resolver.profile, resolver.symbols, &pattern);
            Some(with_match(tree, &mut finder))
        }
        Transform::MergeCallNode { path, direction: Direction::Callees } => {
            let ends = CallPath::new(resolver, levels, path)?.ends(tree, resolver.profile);
            Some(merge(tree, &|id| ends[id.0 as usize]))
        }
        Transform::FocusSubtree { path, direction: Direction::Callees } => {
            let ends = CallPath::new(resolver, levels, path)?.ends(tree, resolver.profile);
            Some(focus(tree, &|id| ends[id.0 as usize]))
        }
        Transform::MergeCallNode { path, direction: Direction::Inverted } => {
            let path = CallPath::new(resolver, levels, path)?;
            Some(merge_inverted(tree, resolver.profile, &path))
        }
        Transform::FocusSubtree { path, direction: Direction::Inverted } => {
            let path = CallPath::new(resolver, levels, path)?;
            Some(focus_inverted(tree, resolver.profile, &path))
        }
    }
}

/// Samples go nowhere: they are taken away.
pub(super) const NOWHERE: CallNodeId = GrowingTree::NOWHERE;

/// What a rule says where a call node's samples go, given where those of its caller went.
pub(super) type Rule<'a> = dyn FnMut(&mut GrowingTree, CallNodeId, CallNodeId) -> CallNodeId + 'a;

/// A new tree, by a rule that is asked for each call node that samples passed through.
pub(super) fn rewrite(tree: &CallTree, rule: &mut Rule<'_>) -> GrowingTree {
    let mut new = GrowingTree::with_room_for(0);
    let mut to = vec![NOWHERE; tree.len()];
    for id in tree.ids().filter(|&id| tree.total(id).samples > 0) {
        let caller = tree.parent(id).map_or(NOWHERE, |parent| to[parent.0 as usize]);
        let at = rule(&mut new, id, caller);
        to[id.0 as usize] = at;
        if at != NOWHERE {
            new.move_self(at, tree, id);
        }
    }
    new
}

/// The rule that changes nothing.
fn keep(tree: &CallTree, new: &mut GrowingTree, id: CallNodeId, caller: CallNodeId) -> CallNodeId {
    match (id, caller) {
        (CallNodeId::ROOT, _) => CallNodeId::ROOT,
        (_, NOWHERE) => NOWHERE,
        _ => new.child(caller, tree.label(id), tree.frame(id)),
    }
}

/// Copies of call nodes with all that leads to them, each made when it is first asked for: what
/// nothing ends below is not copied.
pub(super) struct Copies<'a> {
    tree: &'a CallTree,
    groups: Groups,
    to: Vec<CallNodeId>,
    missing: Vec<CallNodeId>,
}

/// Which groups are copied.
#[derive(Clone, Copy)]
enum Groups {
    All,
    OfLevel(usize),
    None,
}

impl<'a> Copies<'a> {
    pub fn new(tree: &'a CallTree) -> Self {
        let mut to = vec![NOWHERE; tree.len()];
        to[0] = CallNodeId::ROOT;
        Self { tree, groups: Groups::All, to, missing: Vec::new() }
    }

    /// Leaves out all groups but those of one level, from 0.
    pub fn with_groups(tree: &'a CallTree, level: Option<usize>) -> Self {
        Self { groups: level.map_or(Groups::None, Groups::OfLevel), ..Self::new(tree) }
    }

    pub fn of(&mut self, new: &mut GrowingTree, id: CallNodeId) -> CallNodeId {
        let mut known = id;
        while self.to[known.0 as usize] == NOWHERE {
            self.missing.push(known);
            known = self.tree.parent(known).unwrap_or_default();
        }
        let mut at = self.to[known.0 as usize];
        while let Some(id) = self.missing.pop() {
            if !self.is_left_out(id) {
                at = new.child(at, self.tree.label(id), self.tree.frame(id));
            }
            self.to[id.0 as usize] = at;
        }
        at
    }

    fn is_left_out(&self, id: CallNodeId) -> bool {
        let level = usize::from(self.tree.parent(id) != Some(CallNodeId::ROOT));
        let is_left_out = match self.groups {
            Groups::All => false,
            Groups::OfLevel(kept) => kept != level,
            Groups::None => true,
        };
        is_left_out && is_group(self.tree.label(id))
    }
}

/// Call nodes that samples ended in.
pub(super) fn leaves(tree: &CallTree) -> impl Iterator<Item = CallNodeId> + '_ {
    tree.ids().filter(|&id| tree.self_sum(id).samples > 0)
}

pub(super) fn is_group(label: Label) -> bool {
    label.is_group()
}

fn merge(tree: &CallTree, is_merged: &dyn Fn(CallNodeId) -> bool) -> RewrittenTree {
    let mut effect = Effect::None;
    let tree = rewrite(tree, &mut |new, id, caller| match is_merged(id) {
        true => {
            effect = Effect::Some;
            caller
        }
        false => keep(tree, new, id, caller),
    });
    RewrittenTree { tree, effect }
}

fn focus(tree: &CallTree, is_root: &dyn Fn(CallNodeId) -> bool) -> RewrittenTree {
    let mut effect = Effect::None;
    let mut groups = Copies::new(tree);
    // By call node: the group that it is in.
    let mut group_of: Vec<CallNodeId> = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        group_of.push(match tree.parent(id) {
            Some(parent) if !is_group(tree.label(id)) => group_of[parent.0 as usize],
            _ => id,
        });
    }
    let new = rewrite(tree, &mut |new, id, caller| {
        if caller != NOWHERE {
            return keep(tree, new, id, caller);
        }
        let label = tree.label(id);
        if !is_root(id) || is_group(label) {
            return NOWHERE;
        }
        let group = group_of[id.0 as usize];
        if tree.parent(id) != Some(group) || as_root(label) != label {
            effect = Effect::Some;
        }
        let group = groups.of(new, group);
        new.child(group, as_root(label), tree.frame(id))
    });
    RewrittenTree { tree: new, effect }
}

/// What stands alone is inlined into nothing.
pub(super) fn as_root(label: Label) -> Label {
    match label {
        Label::Inlined(function) => Label::Function(function),
        label => label,
    }
}

/// Keeps the samples that end in some call nodes.
fn keep_leaves(tree: &CallTree, is_kept: &[bool]) -> RewrittenTree {
    let mut new = GrowingTree::with_room_for(0);
    let mut copies = Copies::new(tree);
    for leaf in leaves(tree).filter(|leaf| is_kept[leaf.0 as usize]) {
        let at = copies.of(&mut new, leaf);
        new.move_self(at, tree, leaf);
    }
    RewrittenTree { tree: new, effect: Effect::None }
}

/// By call node: whether one on the way to it, or itself, is one of those that are asked for.
fn on_the_way(tree: &CallTree, is_one: &mut dyn FnMut(CallNodeId) -> bool) -> Vec<bool> {
    let mut met: Vec<bool> = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        let before = tree.parent(id).is_some_and(|parent| met[parent.0 as usize]);
        met.push(before || is_one(id));
    }
    met
}

fn without(tree: &CallTree, is_one: &mut dyn FnMut(CallNodeId) -> bool) -> RewrittenTree {
    let mut kept = on_the_way(tree, is_one);
    kept.iter_mut().for_each(|met| *met = !*met);
    keep_leaves(tree, &kept)
}

fn with_match(tree: &CallTree, finder: &mut Finder<'_>) -> RewrittenTree {
    keep_leaves(tree, &on_the_way(tree, &mut |id| finder.finds(tree.label(id))))
}

fn collapse_function(tree: &CallTree, set: &FunctionSet) -> RewrittenTree {
    let mut effect = Effect::None;
    let mut is_collapsed = vec![false; tree.len()];
    let new = rewrite(tree, &mut |new, id, caller| {
        if tree.parent(id).is_some_and(|parent| is_collapsed[parent.0 as usize]) {
            is_collapsed[id.0 as usize] = true;
            effect = Effect::Some;
            return caller;
        }
        is_collapsed[id.0 as usize] = set.has(tree.label(id));
        keep(tree, new, id, caller)
    });
    RewrittenTree { tree: new, effect }
}

fn collapse_runs(tree: &CallTree, one: Label, is_in: &dyn Fn(Label) -> bool) -> RewrittenTree {
    let mut effect = Effect::None;
    let new = rewrite(tree, &mut |new, id, caller| {
        let label = tree.label(id);
        if !is_in(label) {
            return keep(tree, new, id, caller);
        }
        if label != one {
            effect = Effect::Some;
        }
        match new.label(caller) == one {
            true => caller,
            false => new.child(caller, one, tree.frame(id)),
        }
    });
    RewrittenTree { tree: new, effect }
}

fn collapse_recursion(tree: &CallTree) -> RewrittenTree {
    let mut effect = Effect::None;
    let new = rewrite(tree, &mut |new, id, caller| {
        // Code without a name that is met again is mostly other code.
        let function = tree.label(id).function().filter(|id| id.as_unnamed_of().is_none());
        let met_before = function.and_then(|function| {
            let mut way = std::iter::successors(Some(caller), |&at| {
                (!is_group(new.label(at))).then(|| new.parent(at))
            });
            way.find(|&at| new.label(at).function() == Some(function))
        });
        match met_before {
            Some(first) => {
                effect = Effect::Some;
                first
            }
            None => keep(tree, new, id, caller),
        }
    });
    RewrittenTree { tree: new, effect }
}

fn merge_inverted(tree: &CallTree, profile: &Profile, path: &CallPath) -> RewrittenTree {
    let mut effect = Effect::None;
    let mut new = GrowingTree::with_room_for(0);
    let mut copies = Copies::new(tree);
    for leaf in leaves(tree) {
        let Some(end) = path.end_from(tree, profile, leaf) else {
            let at = copies.of(&mut new, leaf);
            new.move_self(at, tree, leaf);
            continue;
        };
        effect = Effect::Some;
        let called_by_it: Vec<CallNodeId> =
            std::iter::successors(Some(leaf), |&id| tree.parent(id))
                .take_while(|&id| id != end)
                .collect();
        let mut at = copies.of(&mut new, tree.parent(end).unwrap_or_default());
        for id in called_by_it.into_iter().rev() {
            at = new.child(at, tree.label(id), tree.frame(id));
        }
        new.move_self(at, tree, leaf);
    }
    RewrittenTree { tree: new, effect }
}

fn focus_inverted(tree: &CallTree, profile: &Profile, path: &CallPath) -> RewrittenTree {
    let mut effect = Effect::None;
    let mut new = GrowingTree::with_room_for(0);
    let mut copies = Copies::new(tree);
    for leaf in leaves(tree) {
        if let Some(end) = path.end_from(tree, profile, leaf) {
            if end != leaf {
                effect = Effect::Some;
            }
            let at = copies.of(&mut new, end);
            new.move_self(at, tree, leaf);
        }
    }
    RewrittenTree { tree: new, effect }
}
