//! One range after the other: the call tree of a query for each of many ranges of time.
//!
//! While a range is dragged, its graph is to follow within a tenth of a second, with ten million
//! samples too. So once for all ranges each sample is *placed*: where it ends in the tree of callees
//! of all samples, before any step, is written into a column. After that a range costs the samples
//! by which it differs from the range before (or from all, or from none, whatever is closest), and a
//! pass over the call nodes. That is exact, and what the page keeps showing when the drag has ended.
//!
//! Tried and rejected: sums of heavy call nodes by time bins, subtracted at a range's ends. They need
//! more memory than four bytes a sample and are wrong between two bins, and call nodes that are heavy
//! in a short range only are not among them.
//!
//! Placing takes as long as building a tree, so it is done in steps.

use std::ops::Range;

use crate::profile::{Column, IdTable, Profile, StackId, Stacks, hash_pair};
use crate::symbolize::Symbols;
use crate::views::build::{self, Built};
use crate::views::call_tree::{CallNodeId, CallTree, GrowingTree, Label};
use crate::views::filter::{Filter, FilterKind, RangeSide};
use crate::views::rewrite;
use crate::views::shown::Account;
use crate::views::tasks::TaskSums;
use crate::views::weights::{Levels, Sum, ThreadGroups, group_of_threads};
use crate::views::{Inlines, Query};

/// More call nodes than this are not worth it: without names each stack is one, and adding up that
/// many takes longer than what is saved.
const MOST_CALL_NODES: usize = 1 << 20;
/// Written for a sample that is not of the event.
const OTHER_EVENT: u32 = u32::MAX;
/// Written for a sample that a filter takes away: this and the filter's position.
const REMOVED: u32 = u32::MAX - 16;

/// The part of a query that decides where samples are placed.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedBy {
    filters: Query,
    levels: Levels,
    inlines: Inlines,
}

impl PlacedBy {
    /// Of a query, whatever its range.
    pub fn of(query: &Query) -> Self {
        let filters = TaskSums::key(query);
        Self { filters, levels: rewrite::levels(query), inlines: query.inlines }
    }
}

/// Samples while they are placed.
pub struct Placing {
    by: PlacedBy,
    groups: ThreadGroups,
    /// By group: the innermost call node that stands for it.
    roots: Vec<CallNodeId>,
    of_stack: OfStack,
    tree: GrowingTree,
    places: Column<u32>,
}

/// What came of a step.
pub enum Placement {
    /// There are more rows.
    More(Placing),
    /// All samples are placed.
    Done(Placed),
    /// There are too many call nodes.
    TooMany,
}

impl Placing {
    /// For the samples of a query.
    pub fn new(profile: &Profile, query: &Query) -> Self {
        let by = PlacedBy::of(query);
        let groups = group_of_threads(profile, by.levels);
        let mut tree = GrowingTree::with_room_for(0);
        let root = |names: &Vec<_>| {
            names
                .iter()
                .fold(CallNodeId::ROOT, |at, &name| tree.child(at, Label::Group(name), None))
        };
        let roots = groups.names.iter().map(root).collect();
        let of_stack = OfStack::new(profile.stacks.len());
        Self { by, groups, roots, of_stack, tree, places: Column::default() }
    }

    /// What samples are placed by.
    pub fn by(&self) -> &PlacedBy {
        &self.by
    }

    /// Places the samples of so many more rows.
    pub fn step(mut self, profile: &Profile, symbols: &Symbols, rows: usize) -> Placement {
        let by = self.by.clone();
        let filter = Filter::new(profile, &by.filters);
        let samples = &profile.samples;
        let from = self.places.len();
        let to = from.saturating_add(rows).min(samples.len());
        let mut missing = Vec::new();
        for row in from..to {
            let place = match filter.is_of_event(row).then(|| filter.removed_by(row)) {
                None => OTHER_EVENT,
                Some(Some(kind)) => REMOVED + kind as u32,
                Some(None) => {
                    let group = self.groups.of_thread[samples.thread[row].index()];
                    let stack = samples.stack[row];
                    self.place(profile, symbols, group, stack, &mut missing).0
                }
            };
            self.places.push(place);
        }
        if self.tree.len() > MOST_CALL_NODES {
            return Placement::TooMany;
        }
        if to < samples.len() {
            return Placement::More(self);
        }
        let Self { by, tree, places, .. } = self;
        Placement::Done(Placed::new(profile, by, tree.without_sums(), places))
    }

    /// How many rows have been gone through.
    pub fn rows_done(&self) -> usize {
        self.places.len()
    }

    /// The call node of a stack of a group. Those of its prefixes are kept too, so that each is made
    /// once.
    fn place(
        &mut self,
        profile: &Profile,
        symbols: &Symbols,
        group: u32,
        leaf: StackId,
        missing: &mut Vec<StackId>,
    ) -> CallNodeId {
        let mut stack = leaf;
        let mut at = loop {
            if stack == Stacks::EMPTY {
                break self.roots[group as usize];
            }
            if let Some(known) = self.of_stack.get(group, stack) {
                break known;
            }
            missing.push(stack);
            stack = profile.stacks.get(stack).map_or(Stacks::EMPTY, |(prefix, _)| prefix);
        };
        while let Some(stack) = missing.pop() {
            if let Some((_, frame)) = profile.stacks.get(stack) {
                let (inlines, tree) = (self.by.inlines, &mut self.tree);
                at = build::descend(profile, symbols, inlines, tree, at, frame);
            }
            self.of_stack.insert(group, stack, at);
        }
        at
    }
}

/// The call nodes of stacks, by group. Nearly every stack is of one group, whose call node stands in
/// a column; those of others are looked up.
struct OfStack {
    /// By stack: the group that had it first, and the call node.
    first: Vec<(u32, CallNodeId)>,
    others: Vec<(u32, StackId, CallNodeId)>,
    index: IdTable,
}

/// In [`OfStack`]: no sample has been met.
const NO_GROUP: u32 = u32::MAX;

impl OfStack {
    fn new(stacks: usize) -> Self {
        let first = vec![(NO_GROUP, CallNodeId::ROOT); stacks];
        Self { first, others: Vec::new(), index: IdTable::default() }
    }

    fn hash(group: u32, stack: StackId) -> u32 {
        hash_pair(group.into(), stack.0.into()) as u32
    }

    fn get(&self, group: u32, stack: StackId) -> Option<CallNodeId> {
        let (first, at) = self.first[stack.index()];
        if first == group {
            return Some(at);
        }
        if first == NO_GROUP {
            return None;
        }
        let Self { others, index, .. } = self;
        let row = index.find(Self::hash(group, stack), |row| {
            let (known_group, known_stack, _) = others[row as usize];
            (known_group, known_stack) == (group, stack)
        });
        row.map(|row| others[row as usize].2)
    }

    fn insert(&mut self, group: u32, stack: StackId, at: CallNodeId) {
        let first = &mut self.first[stack.index()];
        if first.0 == NO_GROUP {
            *first = (group, at);
            return;
        }
        let Self { others, index, .. } = self;
        index.find_or_insert(
            others.len(),
            Self::hash(group, stack),
            |_| false,
            |row| Self::hash(others[row as usize].0, others[row as usize].1),
        );
        others.push((group, stack, at));
    }
}

/// All samples of a query, placed.
pub struct Placed {
    by: PlacedBy,
    /// Callees of all samples; without sums.
    tree: CallTree,
    /// By row.
    places: Column<u32>,
    /// What all samples come to.
    whole: Sums,
    /// What the samples of the last range came to.
    last: Sums,
}

/// Sums of some rows.
#[derive(Clone)]
struct Sums {
    rows: Range<usize>,
    /// By call node, and after them by filter what it takes away.
    sums: Vec<Sum>,
}

impl Sums {
    fn none(call_nodes: usize) -> Self {
        Self { rows: 0..0, sums: vec![Sum::default(); call_nodes + FilterKind::ALL.len()] }
    }

    fn distance(&self, rows: &Range<usize>) -> usize {
        match self.rows.start.max(rows.start) < self.rows.end.min(rows.end) {
            true => self.rows.start.abs_diff(rows.start) + self.rows.end.abs_diff(rows.end),
            false => self.rows.len() + rows.len(),
        }
    }
}

impl Placed {
    fn new(profile: &Profile, by: PlacedBy, tree: CallTree, places: Column<u32>) -> Self {
        let none = Sums::none(tree.len());
        let mut placed = Self { by, tree, places, whole: none.clone(), last: none };
        placed.go_to(profile, 0..profile.samples.len());
        placed.whole = placed.last.clone();
        placed
    }

    /// What samples are placed by.
    pub fn by(&self) -> &PlacedBy {
        &self.by
    }

    /// The tree that [`build::build`] makes of a query with the same [`PlacedBy`] and a range.
    pub fn build(&mut self, profile: &Profile, symbols: &Symbols, query: &Query) -> Built {
        let sums = self.sums(profile, query);
        let (of_nodes, of_filters) = sums.split_at(self.tree.len());
        let mut by_filter = [Sum::default(); FilterKind::ALL.len()];
        by_filter.copy_from_slice(of_filters);
        let tree = self.tree.with_sums(of_nodes);
        let left = tree.total(CallNodeId::ROOT);
        let account = Account { left, by_filter, steps: Vec::new() };
        build::from_callees(profile, symbols, query, self.by.levels, tree, account, &mut None)
    }

    /// By call node and filter: what the samples of a query's range come to.
    fn sums(&mut self, profile: &Profile, query: &Query) -> Vec<Sum> {
        let samples = &profile.samples;
        let filter = Filter::new(profile, query);
        let takes = |row: usize| filter.removed_by(row) != Some(FilterKind::Range);
        if !samples.is_in_order() {
            // Rows of a range do not stand together.
            let mut sums = Sums::none(self.tree.len());
            for row in (0..samples.len()).filter(|&row| takes(row)) {
                add(&mut sums.sums, self.places[row], filter.sum(row));
            }
            return sums.sums;
        }
        let Some(range) = query.range else { return self.whole.sums.clone() };
        let inside = filter.rows_inside(range);
        self.go_to(profile, inside);
        match range.side {
            RangeSide::Inside => self.last.sums.clone(),
            RangeSide::Outside => {
                let pairs = self.whole.sums.iter().zip(&self.last.sums);
                pairs.map(|(&whole, &inside)| minus(whole, inside)).collect()
            }
        }
    }

    /// Makes `last` the sums of these rows, from whichever sums are closest.
    fn go_to(&mut self, profile: &Profile, rows: Range<usize>) {
        let none = Sums { rows: 0..0, sums: Vec::new() };
        let mut nearest = self.last.distance(&rows);
        if self.whole.distance(&rows) < nearest {
            self.last.clone_from(&self.whole);
            nearest = self.last.distance(&rows);
        }
        if none.distance(&rows) < nearest {
            self.last.sums.fill(Sum::default());
            self.last.rows = rows.start..rows.start;
        }
        let before = std::mem::replace(&mut self.last.rows, rows.clone());
        let shared = before.start.max(rows.start)..before.end.min(rows.end);
        match shared.start < shared.end {
            true => {
                self.take_away(profile, before.start..shared.start);
                self.take_away(profile, shared.end..before.end);
                self.add(profile, rows.start..shared.start);
                self.add(profile, shared.end..rows.end);
            }
            false => {
                self.take_away(profile, before);
                self.add(profile, rows);
            }
        }
    }

    fn add(&mut self, profile: &Profile, rows: Range<usize>) {
        for row in rows {
            add(&mut self.last.sums, self.places[row], sum(profile, row));
        }
    }

    fn take_away(&mut self, profile: &Profile, rows: Range<usize>) {
        for row in rows {
            if let Some(known) = slot(&mut self.last.sums, self.places[row]) {
                *known = minus(*known, sum(profile, row));
            }
        }
    }
}

fn sum(profile: &Profile, row: usize) -> Sum {
    Sum { weight: profile.samples.weight[row], samples: profile.samples.count(row) }
}

/// Sums wrap here, so that what was added can be taken away again whatever the weights are.
fn add(sums: &mut [Sum], place: u32, sum: Sum) {
    if let Some(known) = slot(sums, place) {
        known.weight = known.weight.wrapping_add(sum.weight);
        known.samples = known.samples.wrapping_add(sum.samples);
    }
}

fn minus(sum: Sum, part: Sum) -> Sum {
    Sum {
        weight: sum.weight.wrapping_sub(part.weight),
        samples: sum.samples.wrapping_sub(part.samples),
    }
}

fn slot(sums: &mut [Sum], place: u32) -> Option<&mut Sum> {
    let call_nodes = sums.len() - FilterKind::ALL.len();
    match place {
        OTHER_EVENT => None,
        REMOVED.. => sums.get_mut(call_nodes + (place - REMOVED) as usize),
        _ => sums.get_mut(place as usize),
    }
}
