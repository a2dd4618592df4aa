//! Trees with the innermost frames as roots, made where they are looked at.
//!
//! Without names nearly every stack has callers of its own, so an inverted tree may have ten times as
//! many call nodes as that of callees, of which a screen shows a few thousand. So a call node's
//! children are made when it is opened: the samples below it are parted by what called it next, and
//! each part is a new call node. Of nine million samples the whole tree took 20 seconds and 2.3 GB in
//! WebAssembly.
//!
//! Numbers of call nodes are handed out as they are opened. [`Inverted::opened`] has the order, so that
//! a tree that is made again can be given the same numbers.

use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_numbers;
use std::cell::{Ref, RefCell};
use std::ops::{Deref, Range};
use std::sync::Arc;

use perftab_profile::{IdTable, hash_pair};

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::flame_graph::{Amount, Source};
use crate::rewrite::{is_group, leaves};
use crate::weights::Sum;

/// Samples that end in one call node of callees, and how far their way to the root was followed.
#[derive(Clone, Copy)]
struct Cursor {
    end: CallNodeId,
    /// The call that was passed last; [`Cursor::NONE`] before the first.
    at: CallNodeId,
}

impl Cursor {
    const NONE: CallNodeId = CallNodeId(u32::MAX);
}

/// A tree of callees, inverted as far as it was opened.
#[derive(Default)]
pub struct Inverted {
    callees: Arc<CallTree>,
    /// Those of a call node stand together.
    cursors: Vec<Cursor>,
    /// By call node: its cursors.
    of_node: Vec<Range<u32>>,
    tree: CallTree,
    opened: Vec<CallNodeId>,
    /// What was begun and is not open yet.
    opening: Option<Box<CallNodeOpening>>,
}

/// A call node before it has a number.
struct Child {
    label: Label,
    first: Cursor,
    total: Sum,
    own: Sum,
    cursors: Range<u32>,
}

/// A call node whose children are being made.
struct CallNodeOpening {
    id: CallNodeId,
    children: Vec<Child>,
    /// Finds the child of a label.
    of_label: IdTable,
    /// Of the cursors so far: which child it goes to, or [`CallNodeOpening::ENDS`], and where it is then.
    passed: Vec<(u32, Cursor)>,
    /// Cursors that end in the call node.
    ends: u32,
}

impl CallNodeOpening {
    const ENDS: u32 = u32::MAX;

    fn new(id: CallNodeId) -> Self {
        Self { id, children: Vec::new(), of_label: IdTable::default(), passed: Vec::new(), ends: 0 }
    }

    /// The child that a cursor goes to that has just passed a call of this label.
    fn child(&mut self, label: Label, cursor: Cursor) -> (u32, &mut Child) {
        let Self { children, of_label, .. } = self;
        let row = of_label.find_or_insert(
            children.len(),
            hash_pair(label.key(), 0) as u32,
            |row| children[row as usize].label == label,
            |row| hash_pair(children[row as usize].label.key(), 0) as u32,
        );
        if row as usize == children.len() {
            let (total, own) = (Sum::default(), Sum::default());
            children.push(Child { label, first: cursor, total, own, cursors: 0..0 });
        }
        (row, &mut children[row as usize])
    }
}

impl Inverted {
    /// Of callees below at most one level of groups; nothing but the groups is open.
    pub fn new(callees: Arc<CallTree>) -> Self {
        // By call node: its group, or the root.
        let mut group_of: Vec<CallNodeId> = Vec::with_capacity(callees.len());
        for id in callees.ids() {
            group_of.push(match callees.parent(id) {
                None => CallNodeId::ROOT,
                Some(CallNodeId::ROOT) if is_group(callees.label(id)) => id,
                Some(CallNodeId::ROOT) => CallNodeId::ROOT,
                Some(parent) => group_of[parent.0 as usize],
            });
        }
        let cursors = leaves(&callees).map(|end| Cursor { end, at: Cursor::NONE });
        let mut cursors: Vec<Cursor> = cursors.collect();
        let all = 0..cursors.len() as u32;
        let mut tree = CallTree::default();
        tree.push(CallNodeId::ROOT, Label::All, None, Sum::default(), Sum::default());
        let of_node = vec![all.clone()];
        let has_groups = cursors.iter().any(|cursor| group_of[cursor.end.0 as usize].0 > 0);
        if has_groups {
            sort_by_numbers(&mut cursors, |cursor| (group_of[cursor.end.0 as usize].0.into(), 0));
        }
        let (opened, opening) = (Vec::new(), None);
        let mut inverted = Self { callees, cursors, of_node, tree, opened, opening };
        // Samples without a frame are their group's.
        let total = inverted.sums_of(&inverted.cursors).0;
        let own = inverted.callees.self_sum(CallNodeId::ROOT);
        inverted.tree.set_sums(CallNodeId::ROOT, own, total);
        if has_groups {
            let groups = inverted.cursors.chunk_by(|one, other| {
                group_of[one.end.0 as usize] == group_of[other.end.0 as usize]
            });
            let mut start = 0;
            let groups = groups.map(|cursors| {
                let range = start..start + cursors.len() as u32;
                start = range.end;
                let group = group_of[cursors[0].end.0 as usize];
                inverted.child(inverted.callees.label(group), cursors, range)
            });
            let groups = groups.collect();
            inverted.add_children(CallNodeId::ROOT, groups);
        }
        inverted
    }

    /// Opens all call nodes.
    pub fn into_whole(mut self) -> CallTree {
        let mut next = 0;
        while let Some(id) = self.tree.id(next) {
            self.open(id);
            next += 1;
        }
        self.tree
    }

    /// What has been made of it: children of call nodes that were opened.
    pub fn tree(&self) -> &CallTree {
        &self.tree
    }

    /// The same, of a tree that is not looked at any more.
    pub fn into_tree(self) -> CallTree {
        self.tree
    }

    /// What it is made of.
    pub fn callees(&self) -> &Arc<CallTree> {
        &self.callees
    }

    /// The call node that samples through a call node of callees pass: those of the end below it that
    /// most of them have.
    pub fn call_node_of(&mut self, call: CallNodeId) -> Option<CallNodeId> {
        let callees = Arc::clone(&self.callees);
        let mut end = call;
        while let Some(&heaviest) = callees.children(end).first()
            && callees.total(heaviest).weight > callees.self_sum(end).weight
        {
            end = heaviest;
        }
        let calls = self.calls(Cursor { end, at: call });
        let outermost = callees.path(call).into_iter().skip(1);
        let group = outermost.take_while(|&id| is_group(callees.label(id))).last();
        let from = match group {
            None => CallNodeId::ROOT,
            Some(group) => self.child_with(CallNodeId::ROOT, callees.label(group))?,
        };
        calls.into_iter().try_fold(from, |at, call| self.child_with(at, callees.label(call)))
    }

    /// By call node of callees: where the samples that end in it are, as far as was opened.
    pub(super) fn ends(&self) -> Vec<CallNodeId> {
        let mut ends = vec![CallNodeId::ROOT; self.callees.len()];
        // Those of a call node go through its callers, which have higher numbers.
        for id in self.tree.ids() {
            let Range { start, end } = self.of_node[id.0 as usize].clone();
            for cursor in &self.cursors[start as usize..end as usize] {
                ends[cursor.end.0 as usize] = id;
            }
        }
        ends
    }

    fn child_with(&mut self, at: CallNodeId, label: Label) -> Option<CallNodeId> {
        self.open(at);
        let mut children = self.tree.children(at).iter();
        children.find(|&&child| self.tree.label(child) == label).copied()
    }

    /// Call nodes that have been opened, in order.
    pub fn opened(&self) -> &[CallNodeId] {
        &self.opened
    }

    /// Makes the children of a call node, if they have not been.
    pub fn open(&mut self, id: CallNodeId) {
        let mut left = usize::MAX;
        while !self.open_more(id, &mut left) {}
    }

    /// Goes on with that for about so many of its cursors, which are counted down; true when the children
    /// are there. One is opened at a time: whoever opens another meanwhile begins anew.
    pub fn open_more(&mut self, id: CallNodeId, left: &mut usize) -> bool {
        if self.tree.has_known_children(id) {
            return true;
        }
        let range = self.of_node[id.0 as usize].clone();
        let begun = self.opening.take().filter(|opening| opening.id == id);
        let mut opening = begun.unwrap_or_else(|| Box::new(CallNodeOpening::new(id)));
        let from = range.start as usize + opening.passed.len();
        let to = from.saturating_add((*left).max(1)).min(range.end as usize);
        for at in from..to {
            self.pass(&mut opening, self.cursors[at]);
        }
        *left = left.saturating_sub(to - from);
        if to < range.end as usize {
            self.opening = Some(opening);
            return false;
        }
        self.hand_out(*opening, range.start);
        true
    }

    /// The same until the children are there.
    pub async fn open_in_slices(&mut self, id: CallNodeId, slice: &Slice) {
        slice.until(|left| self.open_more(id, left)).await;
    }

    /// Follows a cursor to the next call, which is of one of the children.
    fn pass(&self, opening: &mut CallNodeOpening, cursor: Cursor) {
        let Some(at) = self.next(cursor) else {
            opening.ends += 1;
            opening.passed.push((CallNodeOpening::ENDS, cursor));
            return;
        };
        let cursor = Cursor { at, ..cursor };
        let sum = self.callees.self_sum(cursor.end);
        let ends_there = self.next(cursor).is_none();
        let (number, child) = opening.child(self.callees.label(at), cursor);
        child.total.add(sum);
        if ends_there {
            child.own.add(sum);
        }
        child.cursors.end += 1;
        opening.passed.push((number, cursor));
    }

    /// Puts the cursors of each child together, in the order that they had, behind those that end.
    fn hand_out(&mut self, opening: CallNodeOpening, start: u32) {
        let CallNodeOpening { id, mut children, passed, ends, .. } = opening;
        let mut next = start + ends;
        for child in &mut children {
            let count = child.cursors.end;
            child.cursors = next..next;
            next += count;
        }
        let mut end = start;
        for (number, cursor) in passed {
            let place = match children.get_mut(number as usize) {
                None => &mut end,
                Some(child) => &mut child.cursors.end,
            };
            self.cursors[*place as usize] = cursor;
            *place += 1;
        }
        self.add_children(id, children);
        self.opened.push(id);
    }

    fn child(&self, label: Label, cursors: &[Cursor], range: Range<u32>) -> Child {
        let (total, own) = self.sums_of(cursors);
        Child { label, first: cursors[0], total, own, cursors: range }
    }

    /// Heaviest first; of equals in an order that depends on nothing but what they stand for.
    fn add_children(&mut self, parent: CallNodeId, mut children: Vec<Child>) {
        sort_by_numbers(&mut children, |child| (!child.total.weight, child.label.key()));
        let first = self.tree.len() as u32;
        for child in children {
            let Child { label, first, total, own, cursors } = child;
            let frame = (first.at != Cursor::NONE).then(|| self.callees.frame(first.at)).flatten();
            self.tree.push(parent, label, frame, own, total);
            self.of_node.push(cursors);
        }
        self.tree.set_children(parent, first..self.tree.len() as u32);
    }

    /// All samples of some cursors, and those that end where these are.
    fn sums_of(&self, cursors: &[Cursor]) -> (Sum, Sum) {
        let (mut total, mut own) = (Sum::default(), Sum::default());
        for &cursor in cursors {
            let sum = self.callees.self_sum(cursor.end);
            total.add(sum);
            if self.next(cursor).is_none() {
                own.add(sum);
            }
        }
        (total, own)
    }

    /// What called the call that was passed last; `None` at the root or a group.
    fn next(&self, cursor: Cursor) -> Option<CallNodeId> {
        let next = match cursor.at {
            Cursor::NONE => cursor.end,
            at => self.callees.parent(at)?,
        };
        (!is_group(self.callees.label(next))).then_some(next)
    }

    /// The calls from where a cursor's samples end to where it is.
    fn calls(&self, cursor: Cursor) -> Vec<CallNodeId> {
        let mut calls = Vec::new();
        let mut passed = Cursor { at: Cursor::NONE, ..cursor };
        while passed.at != cursor.at {
            let Some(next) = self.next(passed) else { break };
            passed.at = next;
            calls.push(next);
        }
        calls
    }

    /// How many calls lead to a call node.
    fn depth(&self, id: CallNodeId) -> usize {
        let way = std::iter::successors(Some(id), |&id| self.tree.parent(id));
        way.filter(|&id| !is_group(self.tree.label(id))).count()
    }
}

/// Samples of call nodes that share a box with others, by how far their way to the root was followed.
/// Ways meet there, so there are fewer in each row of a graph: a way for each end took two seconds of
/// a million samples without names.
#[derive(Clone, Copy)]
pub struct Way {
    /// A call node that was made and that they are of, or below.
    from: CallNodeId,
    /// Where they are, and one of their ends.
    cursor: Cursor,
    /// Their weight.
    weight: u64,
    /// How many call nodes they are of; one that is on several ways counts for each.
    nodes: u32,
}

impl Way {
    fn join(&mut self, other: &Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.nodes = self.nodes.saturating_add(other.nodes);
    }
}

/// Who shares it opens more of it between slices of the drawing.
impl Source for &RefCell<Inverted> {
    type Part = Way;

    fn tree(&self) -> impl Deref<Target = CallTree> {
        Ref::map(self.borrow(), |inverted| &inverted.tree)
    }

    fn open(&self, id: CallNodeId, left: &mut usize) -> bool {
        self.borrow_mut().open_more(id, left)
    }

    fn for_each_part(&self, id: CallNodeId, add: &mut dyn FnMut(Way)) {
        let inverted = self.borrow();
        let Range { start, end } = inverted.of_node[id.0 as usize].clone();
        let is_open = inverted.tree.has_known_children(id);
        let calls = if is_open { inverted.depth(id) } else { 0 };
        for &cursor in &inverted.cursors[start as usize..end as usize] {
            // Cursors of what is open have gone on.
            let cursor = match calls.checked_sub(1) {
                None => cursor,
                Some(last) => Cursor { at: inverted.calls(cursor)[last], ..cursor },
            };
            let weight = inverted.callees.self_sum(cursor.end).weight;
            add(Way { from: id, cursor, weight, nodes: 1 });
        }
    }

    fn label(&self, part: Way) -> Label {
        self.borrow().callees.label(part.cursor.at)
    }

    fn rank(&self, part: Way) -> CallNodeId {
        part.cursor.end
    }

    fn amount(&self, part: Way) -> Amount {
        let own = if self.borrow().next(part.cursor).is_none() { part.weight } else { 0 };
        Amount { total: part.weight, own, nodes: part.nodes, labels: 1 }
    }

    fn for_each_below(&self, part: Way, add: &mut dyn FnMut(Way)) {
        let next = self.borrow().next(part.cursor);
        if let Some(at) = next {
            add(Way { cursor: Cursor { at, ..part.cursor }, ..part });
        }
    }

    fn meets_at(&self, part: Way) -> Option<u32> {
        Some(part.cursor.at.0)
    }

    fn join(&self, one: &mut Way, other: Way) {
        one.join(&other);
    }

    /// Of unnamed ones how many addresses there are.
    fn count(&self, amount: Amount) -> u32 {
        if amount.labels > 1 { amount.labels } else { amount.nodes }
    }

    fn only(&self, parts: &[Way]) -> Option<CallNodeId> {
        let mut inverted = self.borrow_mut();
        let &Way { from, cursor, nodes, .. } = parts.first()?;
        let mut below = inverted.calls(cursor).into_iter().skip(inverted.depth(from)).peekable();
        let is_it = below.peek().is_none() && parts.iter().all(|way| way.from == from);
        if !is_it && (parts.len() > 1 || nodes > 1) {
            return None;
        }
        let callees = Arc::clone(&inverted.callees);
        below.try_fold(from, |at, call| inverted.child_with(at, callees.label(call)))
    }
}
