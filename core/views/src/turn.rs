//! From the tree that steps left to the one that is shown: its groups, or what hangs on a function.

use crate::call_tree::{CallNodeId, CallTree, GrowingTree};
use crate::function_ref::Resolver;
use crate::rewrite::{Copies, NOWHERE, as_root, is_group, leaves, rewrite};
use crate::weights::{Levels, Sum};
use crate::{Group, Query, Side, families};

/// The tree that a query shows, its children in no order, made of one with the outermost caller as
/// the root below `levels` of groups. An inverted one is made of what is shown of callees.
pub(super) fn shown(
    resolver: &mut Resolver<'_>,
    query: &Query,
    levels: Levels,
    tree: &CallTree,
) -> GrowingTree {
    match &query.around {
        Some(around) => {
            let set = resolver.functions(&around.function);
            let roots = roots(tree, &|id| set.has(tree.label(id)));
            match around.side {
                Side::Callees => callees_of(tree, &roots),
                Side::Callers => callers_of(tree, &roots),
            }
        }
        None if has_narrow_families(query, tree) => callees(tree, None),
        None => callees(tree, levels.position(query.group)),
    }
}

fn has_narrow_families(query: &Query, tree: &CallTree) -> bool {
    let first = tree.ids().filter(|&id| tree.parent(id) == Some(CallNodeId::ROOT));
    families::first_level(query) == Group::Auto
        && families::are_narrow(first.map(|id| tree.total(id).weight))
}

/// Leaves out all groups but those of one level.
fn callees(tree: &CallTree, group: Option<usize>) -> GrowingTree {
    let mut new = GrowingTree::with_room_for(tree.len());
    let mut copies = Copies::with_groups(tree, group);
    for leaf in leaves(tree) {
        let at = copies.of(&mut new, leaf);
        new.move_self(at, tree, leaf);
    }
    new
}

/// By call node: the outermost of some that leads to it, itself included.
fn roots(tree: &CallTree, is_root: &dyn Fn(CallNodeId) -> bool) -> Vec<Option<CallNodeId>> {
    let mut roots: Vec<Option<CallNodeId>> = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        let before = tree.parent(id).and_then(|parent| roots[parent.0 as usize]);
        roots.push(before.or_else(|| is_root(id).then_some(id)));
    }
    roots
}

fn callees_of(tree: &CallTree, roots: &[Option<CallNodeId>]) -> GrowingTree {
    rewrite(tree, &mut |new, id, caller| match roots[id.0 as usize] {
        None => NOWHERE,
        Some(root) if root == id => {
            new.child(CallNodeId::ROOT, as_root(tree.label(id)), tree.frame(id))
        }
        Some(_) => new.child(caller, tree.label(id), tree.frame(id)),
    })
}

fn callers_of(tree: &CallTree, roots: &[Option<CallNodeId>]) -> GrowingTree {
    let mut new = GrowingTree::with_room_for(0);
    let is_met = |id: &CallNodeId| roots[id.0 as usize] == Some(*id) && tree.total(*id).samples > 0;
    for root in tree.ids().filter(is_met) {
        let at = new.child(CallNodeId::ROOT, as_root(tree.label(root)), tree.frame(root));
        let callers = std::iter::successors(tree.parent(root), |&id| tree.parent(id));
        let code = callers.take_while(|&id| !is_group(tree.label(id)));
        let at = code.fold(at, |at, id| new.child(at, tree.label(id), tree.frame(id)));
        let sum: Sum = tree.total(root);
        new.add_self(at, sum);
    }
    new
}
