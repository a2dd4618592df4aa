//! The children of a call tree, put in order in steps.

use perftab_perfdata::sorting::sort_by_numbers;
use std::ops::Range;

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

/// A tree whose children are being put in order, heaviest first.
pub(super) struct ChildOrdering {
    tree: CallTree,
    numbers: Numbers,
    pass: Pass,
    /// Call nodes that this pass has gone through.
    done: usize,
    /// By call node: where its children begin and end.
    places: Vec<(u32, u32)>,
    children: Vec<CallNodeId>,
    /// Of a new order: the call nodes in it, by call node its new number, and the new columns.
    order: Vec<CallNodeId>,
    moved: Vec<CallNodeId>,
    new: CallTree,
}

/// What is done with each call node, one pass after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Counts the children of its caller.
    Count,
    /// Gives its children room.
    Room,
    /// Puts it into that of its caller.
    Place,
    /// Sorts its children; in a new order that comes row by row.
    Sort,
    /// Gives it its new number.
    Number,
    /// Copies it to where that is.
    Copy,
    Done,
}

impl ChildOrdering {
    /// Of a tree whose totals are added up.
    pub fn new(tree: CallTree, numbers: Numbers) -> Self {
        let places = vec![(0, 0); tree.len()];
        Self {
            tree,
            numbers,
            pass: Pass::Count,
            done: 0,
            places,
            children: Vec::new(),
            order: Vec::new(),
            moved: Vec::new(),
            new: CallTree::default(),
        }
    }

    /// Goes through about so many more call nodes; true when all is done.
    pub fn step(&mut self, call_nodes: usize) -> bool {
        let mut left = call_nodes;
        while left > 0 && self.pass != Pass::Done {
            let rows = self.done..self.done.saturating_add(left).min(self.tree.len());
            left -= rows.len();
            self.done = rows.end;
            let is_last = rows.end == self.tree.len();
            match self.pass {
                Pass::Count => self.count(rows),
                Pass::Room => self.make_room(rows),
                Pass::Place => self.place(rows),
                Pass::Sort if self.numbers == Numbers::Kept => rows.for_each(|row| self.sort(row)),
                Pass::Sort => self.sort_next(rows),
                Pass::Number => self.number(rows),
                Pass::Copy => self.copy(rows),
                Pass::Done => {}
            }
            if is_last {
                self.begin_next();
            }
        }
        self.pass == Pass::Done
    }

    /// The tree; in a new order with it where each call node is now.
    pub fn finish(self) -> (CallTree, Option<Vec<CallNodeId>>) {
        match self.numbers {
            Numbers::Kept => (self.tree.with_child_places(self.places, self.children), None),
            Numbers::ByWeight => {
                let children = (1..self.new.len() as u32).map(CallNodeId).collect();
                (self.new.with_child_places(self.places, children), Some(self.moved))
            }
        }
    }

    fn begin_next(&mut self) {
        let count = self.tree.len();
        self.done = 0;
        self.pass = match self.pass {
            Pass::Count => Pass::Room,
            Pass::Room => {
                self.children = vec![CallNodeId::ROOT; count.saturating_sub(1)];
                Pass::Place
            }
            Pass::Place => {
                if self.numbers == Numbers::ByWeight && count > 0 {
                    self.order.reserve_exact(count);
                    self.order.push(CallNodeId::ROOT);
                }
                Pass::Sort
            }
            Pass::Sort if self.numbers == Numbers::ByWeight => {
                self.moved = vec![CallNodeId::ROOT; count];
                Pass::Number
            }
            Pass::Number => {
                self.new = CallTree::with_room_for(count);
                Pass::Copy
            }
            Pass::Copy => {
                self.places = child_places(&self.order, &self.places);
                Pass::Done
            }
            Pass::Sort | Pass::Done => Pass::Done,
        };
    }

    fn count(&mut self, rows: Range<usize>) {
        for parent in rows.filter_map(|row| self.tree.parent(CallNodeId(row as u32))) {
            self.places[parent.0 as usize].1 += 1;
        }
    }

    fn make_room(&mut self, rows: Range<usize>) {
        let mut next = match rows.start.checked_sub(1) {
            None => 0,
            Some(before) => self.places[before].1,
        };
        // Both ends are where it begins, until children are put in.
        for row in rows.clone() {
            let count = self.places[row].1;
            self.places[row].0 = next;
            next += count;
            self.places[row].1 = next;
        }
    }

    fn place(&mut self, rows: Range<usize>) {
        // From the last on, each is put in front of those that are there: they keep their order.
        let last = self.tree.len();
        for row in rows.map(|row| last - 1 - row) {
            let id = CallNodeId(row as u32);
            let Some(parent) = self.tree.parent(id) else { continue };
            let (_, end) = &mut self.places[parent.0 as usize];
            *end -= 1;
            self.children[*end as usize] = id;
        }
    }

    /// Where the children of a call node are, now that each end has come down to the beginning.
    fn places_of(&self, row: usize) -> Range<usize> {
        let end = self.places.get(row + 1).map_or(self.children.len(), |next| next.0 as usize);
        self.places[row].0 as usize..end
    }

    fn sort(&mut self, row: usize) {
        let places = self.places_of(row);
        self.places[row].1 = places.end as u32;
        let tree = &self.tree;
        // Equal weights stay in the order in which they were met first.
        sort_by_numbers(&mut self.children[places], |&child| (!tree.total(child).weight, 0));
    }

    fn sort_next(&mut self, rows: Range<usize>) {
        for at in rows {
            let Some(&id) = self.order.get(at) else { return };
            let places = self.places_of(id.0 as usize);
            self.places[id.0 as usize].1 = places.end as u32;
            let (tree, children) = (&self.tree, &mut self.children[places]);
            // No two of one call node have the same label.
            sort_by_numbers(children, |&child| {
                (!tree.total(child).weight, tree.label(child).key())
            });
            self.order.extend_from_slice(children);
        }
    }

    fn number(&mut self, rows: Range<usize>) {
        for place in rows {
            self.moved[self.order[place].0 as usize] = CallNodeId(place as u32);
        }
    }

    fn copy(&mut self, rows: Range<usize>) {
        for place in rows {
            let id = self.order[place];
            let parent = self.tree.parent(id).unwrap_or(CallNodeId::ROOT);
            self.new.push_copy(&self.tree, id, self.moved[parent.0 as usize]);
        }
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
