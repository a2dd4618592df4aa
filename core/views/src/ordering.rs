//! The children of a call tree, put in order in steps.

use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_numbers;

use crate::call_tree::{CallNodeId, CallTree};

/// What the numbers of call nodes are in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Those that they have.
    Kept,
    /// In an order that depends on nothing but what call nodes stand for and weigh: a row of the tree
    /// after the other, heaviest children first. So trees that were made of one query in different ways
    /// have the same numbers.
    ByWeight,
}

/// Puts the children of a tree whose totals are added up in order, heaviest first; in a new order also tells
/// where each call node is now. In slices of call nodes, each of which is gone through several times.
pub(super) async fn ordered(
    tree: CallTree,
    numbers: Numbers,
    slice: &Slice,
) -> (CallTree, Option<Vec<CallNodeId>>) {
    let Children { mut places, mut children } = Children::found(&tree, slice).await;
    let count = tree.len();
    let mut rows = 0..count;
    if numbers == Numbers::Kept {
        while let Some(part) = slice.part(&mut rows).await {
            for &(start, end) in &places[part] {
                // Equal weights stay in the order in which they were met first.
                sort_by_numbers(&mut children[start as usize..end as usize], |&child| {
                    (!tree.total(child).weight, 0)
                });
            }
        }
        return (tree.with_child_places(places, children), None);
    }
    let mut order = Vec::with_capacity(count);
    order.extend(tree.id(0));
    while let Some(part) = slice.part(&mut rows).await {
        for at in part {
            let Some(&CallNodeId(id)) = order.get(at) else { break };
            let (start, end) = places[id as usize];
            let children = &mut children[start as usize..end as usize];
            // No two of one call node have the same label.
            sort_by_numbers(children, |&child| {
                (!tree.total(child).weight, tree.label(child).key())
            });
            order.extend_from_slice(children);
        }
    }
    let mut moved = vec![CallNodeId::ROOT; count];
    rows = 0..count;
    while let Some(part) = slice.part(&mut rows).await {
        for place in part {
            moved[order[place].0 as usize] = CallNodeId(place as u32);
        }
    }
    let mut new = CallTree::with_room_for(count);
    rows = 0..count;
    while let Some(part) = slice.part(&mut rows).await {
        for &id in &order[part] {
            let parent = tree.parent(id).unwrap_or(CallNodeId::ROOT);
            new.push_copy(&tree, id, moved[parent.0 as usize]);
        }
    }
    places = child_places(&order, &places);
    children.clear();
    children.extend((1..count as u32).map(CallNodeId));
    (new.with_child_places(places, children), Some(moved))
}

/// The children of all call nodes.
struct Children {
    /// By call node: where its children begin and end.
    places: Vec<(u32, u32)>,
    /// Those of one call node in ascending order.
    children: Vec<CallNodeId>,
}

impl Children {
    async fn found(tree: &CallTree, slice: &Slice) -> Self {
        let count = tree.len();
        let mut places = vec![(0, 0); count];
        let mut rows = 0..count;
        while let Some(part) = slice.part(&mut rows).await {
            for parent in part.filter_map(|row| tree.parent(CallNodeId(row as u32))) {
                places[parent.0 as usize].1 += 1;
            }
        }
        // Each ends where it begins, until children are put in.
        let mut next = 0;
        rows = 0..count;
        while let Some(part) = slice.part(&mut rows).await {
            for (start, end) in &mut places[part] {
                (*start, next) = (next, next + *end);
                *end = *start;
            }
        }
        let mut children = vec![CallNodeId::ROOT; count.saturating_sub(1)];
        rows = 0..count;
        while let Some(part) = slice.part(&mut rows).await {
            for id in part.map(|row| CallNodeId(row as u32)) {
                let Some(parent) = tree.parent(id) else { continue };
                let (_, end) = &mut places[parent.0 as usize];
                children[*end as usize] = id;
                *end += 1;
            }
        }
        Self { places, children }
    }
}

/// Children follow each other in a new order, those of one call node after those of the one before.
fn child_places(order: &[CallNodeId], before: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let places = order.iter().scan(0, |next, id| {
        let (start, end) = before[id.0 as usize];
        let from = *next;
        *next += end - start;
        Some((from, *next))
    });
    places.collect()
}
