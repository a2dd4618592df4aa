//! One range after the other: what the graph of a query is for each of many ranges of time.
//!
//! While a range is dragged, its graph is to follow within a tenth of a second, with ten million
//! samples too. So once for all ranges each sample is *placed*: where it ends in the query's tree is
//! written into a column. After that a range costs the samples by which it differs from the range
//! before (or from all, or from none, whatever is closest), and a pass over the tree's call nodes.
//!
//! That tree has the wide call nodes only; a sample that ends below one is placed in it. What is
//! placed has the exact total in each range. Narrow are call nodes that would be drawn in a short
//! range alone: of such a range the graph is coarse while it is dragged, and made anew when the drag
//! has ended. With every call node a pass took up to two seconds, where code without names has
//! millions of them.
//!
//! Tried and rejected: sums of heavy call nodes by time bins, subtracted at a range's ends. They need
//! more memory than four bytes a sample and are wrong between two bins.

use std::ops::Range;
use std::sync::Arc;

use perftab_names::Symbols;
use perftab_perfdata::slice::Slice;
use perftab_profile::{Column, Profile};

use crate::build;
use crate::call_tree::{CallNodeId, CallTree};
use crate::ends::Ends;
use crate::filter::{Filter, FilterKind, RangeSide};
use crate::inverted::Inverted;
use crate::tasks::TaskSums;
use crate::weights::Sum;
use crate::{Direction, Query};

/// Call nodes that samples are placed in: a pass over so many takes a few milliseconds.
pub const MOST_CALL_NODES: usize = 1 << 18;
/// Call nodes that are made of an inverted tree to find the wide ones.
const MOST_OPENED: usize = 1 << 20;
/// To open a call node takes about as long for each of its ends as to place so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 8;
/// Written for a sample that a filter or a step takes away.
const NOWHERE: u32 = u32::MAX;

/// The query that decides where samples are placed: the same for all ranges.
pub fn key(query: &Query) -> Query {
    Query { range: None, ..query.clone() }
}

/// The query whose tree samples are placed in, with where they end in it.
pub fn callees_of(query: &Query) -> Query {
    Query { direction: Direction::Callees, around: None, ..key(query) }
}

/// The wide call nodes of a tree, and where in them samples are placed.
struct WideNodes {
    /// Without sums.
    tree: CallTree,
    /// By call node of callees that samples end in.
    place: Vec<u32>,
}

impl WideNodes {
    /// Of callees, or of what hangs on a function.
    fn of(callees: &CallTree, most: usize) -> Self {
        let (tree, place) = Self::among(callees, most);
        Self { tree, place }
    }

    /// Of an inverted tree whose wide call nodes are open.
    fn of_inverted(inverted: &Inverted, most: usize) -> Self {
        let (tree, places) = Self::among(inverted.tree(), most);
        let place = inverted.ends();
        Self { tree, place: place.into_iter().map(|id| places[id.0 as usize]).collect() }
    }

    /// The wide ones, at most so many, and by call node which of them it is or is below.
    fn among(tree: &CallTree, most: usize) -> (CallTree, Vec<u32>) {
        let width = Width::of(tree);
        let wide = |least| tree.ids().filter(move |&id| width.is_wide(tree.total(id), least));
        let mut least = 1;
        while wide(least).count() > most {
            least *= 2;
        }
        // A caller is as wide as what it calls, so it is among them.
        tree.part(|id| width.is_wide(tree.total(id), least))
    }
}

/// What counts as wide: many samples, or few that weigh as much as many.
#[derive(Clone, Copy)]
struct Width {
    weight_of_sample: f64,
}

impl Width {
    fn of(tree: &CallTree) -> Self {
        let all = tree.total(CallNodeId::ROOT);
        Self { weight_of_sample: all.weight as f64 / all.samples.max(1) as f64 }
    }

    fn is_wide(self, total: Sum, least: u64) -> bool {
        total.samples >= least || total.weight as f64 >= least as f64 * self.weight_of_sample
    }
}

/// An inverted tree whose wide call nodes are open. In slices of call nodes.
async fn opened(callees: Arc<CallTree>, most: usize, slice: &Slice) -> Inverted {
    let mut inverted = Inverted::new(callees);
    let width = Width::of(inverted.tree());
    // Those with so many samples count as wide.
    let least = inverted.tree().total(CallNodeId::ROOT).samples / most as u64;
    let mut next = 0;
    while let Some(id) = inverted.tree().id(next).filter(|_| inverted.tree().len() < MOST_OPENED) {
        if width.is_wide(inverted.tree().total(id), least) {
            inverted.open_in_slices(id, slice).await;
        }
        slice.count();
        slice.rest().await;
        next += 1;
    }
    inverted
}

/// Places the samples of a query, by the tree of [`callees_of`] it and where they end there, in at most so
/// many call nodes. In slices of rows.
pub async fn place(
    profile: &Profile,
    query: &Query,
    callees: Arc<CallTree>,
    ends: Arc<Ends>,
    most: usize,
    slice: &Slice,
) -> PlacedSamples {
    let samples = &profile.samples;
    slice.expect(samples.len());
    let is_whole = query.direction == Direction::Callees || query.around.is_some();
    let WideNodes { tree, place } = match is_whole {
        true => WideNodes::of(&callees, most),
        false => {
            let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
            WideNodes::of_inverted(&opened(callees, most, &slice).await, most)
        }
    };
    let filters = TaskSums::key(query);
    let filter = Filter::new(profile, &filters);
    let mut places = Column::default();
    let mut rows = 0..samples.len();
    slice.expect(rows.len());
    while let Some(part) = slice.part(&mut rows).await {
        for row in part {
            let is_taken = filter.is_of_event(row) && filter.removed_by(row).is_none();
            let end = is_taken.then(|| ends.of(samples.thread.at(row), samples.stack[row]));
            let place = end.flatten().map(|end| place[end.0 as usize]);
            places.push(place.unwrap_or(NOWHERE));
        }
    }
    PlacedSamples::new(profile, key(query), tree, places)
}

/// All samples of a query, placed.
pub struct PlacedSamples {
    by: Query,
    /// Wide call nodes of all samples; without sums.
    tree: CallTree,
    /// By row.
    places: Column<u32>,
    /// What all samples come to.
    whole: Sums,
    /// What the samples of the last range came to.
    last: Sums,
}

/// Sums of some rows, by call node.
#[derive(Clone)]
struct Sums {
    rows: Range<usize>,
    sums: Vec<Sum>,
}

impl Sums {
    fn none(call_nodes: usize) -> Self {
        Self { rows: 0..0, sums: vec![Sum::default(); call_nodes] }
    }

    fn distance(&self, rows: &Range<usize>) -> usize {
        match self.rows.start.max(rows.start) < self.rows.end.min(rows.end) {
            true => self.rows.start.abs_diff(rows.start) + self.rows.end.abs_diff(rows.end),
            false => self.rows.len() + rows.len(),
        }
    }
}

impl PlacedSamples {
    fn new(profile: &Profile, by: Query, tree: CallTree, places: Column<u32>) -> Self {
        let none = Sums::none(tree.len());
        let mut placed = Self { by, tree, places, whole: none.clone(), last: none };
        placed.go_to(profile, 0..profile.samples.len());
        placed.whole = placed.last.clone();
        placed
    }

    /// What samples are placed by.
    pub fn by(&self) -> &Query {
        &self.by
    }

    /// The wide call nodes of a query that has a range and is else the one that samples are placed by.
    /// Those that none of its samples pass are left out; children are in no order.
    pub fn tree(&mut self, profile: &Profile, symbols: &Symbols, query: &Query) -> CallTree {
        let sums = self.sums(profile, query);
        build::placed(profile, symbols, query, self.tree.with_sums(&sums))
    }

    /// By call node: what the samples of a query's range come to.
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
            if let Some(known) = self.last.sums.get_mut(self.places[row] as usize) {
                *known = minus(*known, sum(profile, row));
            }
        }
    }
}

fn sum(profile: &Profile, row: usize) -> Sum {
    Sum { weight: profile.samples.weight.at(row), samples: profile.samples.count(row) }
}

/// Sums wrap here, so that what was added can be taken away again whatever the weights are.
fn add(sums: &mut [Sum], place: u32, sum: Sum) {
    if let Some(known) = sums.get_mut(place as usize) {
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
