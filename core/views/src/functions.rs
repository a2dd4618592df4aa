//! Functions with self and total, each counted once per sample however it recurs.

use std::cmp::Ordering;
use std::collections::HashMap;

use perftab_names::{ByFunction, Symbols};
use perftab_profile::{DsoId, Profile};
use serde::{Deserialize, Serialize};

use crate::call_tree::{CallNodeId, CallTree, Label, Visit};
use crate::label::{Kind, Labels, NameKey};
use crate::weights::Sum;

/// A function, or what stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionSum {
    /// Which; an inlined function has the label of the function, not that of the inlining.
    pub label: Label,
    /// Samples that ended in it.
    pub self_sum: Sum,
    /// Samples that it is anywhere in.
    pub total: Sum,
    /// Whether it was met inlined only.
    pub inlined: Inlining,
    /// Its heaviest call node.
    pub heaviest: CallNodeId,
}

/// How a function was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inlining {
    /// Always inlined into its callers.
    Always,
    /// At least once called.
    NotAlways,
}

/// The label of the function itself, where one is of it inlined.
pub(super) fn function_of(label: Label) -> Label {
    match label {
        Label::Inlined(function) => Label::Function(function),
        label => label,
    }
}

/// Sums a call tree (callees, not inverted) by function.
pub fn sums(tree: &CallTree) -> Vec<FunctionSum> {
    let mut summing = FunctionSumBuilder::default();
    while !summing.step(tree, usize::MAX) {}
    summing.sums
}

/// The functions of a call tree while they are summed: with millions of call nodes in several steps.
#[derive(Default)]
pub(super) struct FunctionSumBuilder {
    rows: Rows,
    /// So far.
    pub sums: Vec<FunctionSum>,
    /// By call node: its position in `sums`, or [`NO_ROW`].
    pub row_of: Vec<u32>,
    adding: Option<RowSums>,
}

impl FunctionSumBuilder {
    /// Goes through so many more call nodes of the tree, which is the same each time; true when there
    /// are none left.
    pub fn step(&mut self, tree: &CallTree, call_nodes: usize) -> bool {
        if let Some(adding) = &mut self.adding {
            return adding.step(tree, &self.row_of, &mut self.sums, call_nodes);
        }
        for id in tree.ids().skip(self.row_of.len()).take(call_nodes) {
            let row = self.row(tree, id);
            self.row_of.push(row);
        }
        if self.row_of.len() == tree.len() {
            self.adding = Some(RowSums::new(self.sums.len()));
        }
        false
    }

    fn row(&mut self, tree: &CallTree, id: CallNodeId) -> u32 {
        let label = function_of(tree.label(id));
        let Some(row) = self.rows.row(label) else { return NO_ROW };
        if *row == NO_ROW {
            *row = self.sums.len() as u32;
            let (self_sum, total) = (Sum::default(), Sum::default());
            let inlined = Inlining::Always;
            self.sums.push(FunctionSum { label, self_sum, total, inlined, heaviest: id });
        }
        *row
    }
}

/// A row that call nodes are added up in.
pub(super) trait SumRow {
    /// Adds what ended in a call node of the row.
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId);
    /// Adds what went through a call node of the row that no other one of the row leads to.
    fn add_total(&mut self, sum: Sum);
}

/// Adds every call node to its row: what ended in it, and, once however the row's call nodes lead
/// to each other, what went through it. `row_of` has a position in `rows` for each call node, or
/// [`NO_ROW`].
pub(super) fn add_up(tree: &CallTree, row_of: &[u32], rows: &mut [impl SumRow]) {
    let mut adding = RowSums::new(rows.len());
    while !adding.step(tree, row_of, rows, usize::MAX) {}
}

/// The same in steps.
struct RowSums {
    /// How many call nodes of each row lie on the walk's path.
    on_path: Vec<u32>,
    open: Vec<(CallNodeId, Visit)>,
}

impl RowSums {
    fn new(rows: usize) -> Self {
        Self { on_path: vec![0; rows], open: vec![(CallNodeId::ROOT, Visit::Enter)] }
    }

    /// Visits so many more call nodes; true when there are none left.
    fn step(
        &mut self,
        tree: &CallTree,
        row_of: &[u32],
        rows: &mut [impl SumRow],
        call_nodes: usize,
    ) -> bool {
        let Self { on_path, open } = self;
        for _ in 0..call_nodes {
            let Some((id, visit)) = open.pop() else { return true };
            if visit == Visit::Enter {
                open.push((id, Visit::Leave));
                open.extend(tree.children(id).iter().rev().map(|&child| (child, Visit::Enter)));
            }
            let row = row_of[id.0 as usize];
            if row == NO_ROW {
                continue;
            }
            let row = row as usize;
            if visit == Visit::Leave {
                on_path[row] -= 1;
                continue;
            }
            if on_path[row] == 0 {
                rows[row].add_total(tree.total(id));
            }
            rows[row].add_self(tree, id);
            on_path[row] += 1;
        }
        false
    }
}

impl SumRow for FunctionSum {
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId) {
        self.self_sum.add(tree.self_sum(id));
        if !matches!(tree.label(id), Label::Inlined(_)) {
            self.inlined = Inlining::NotAlways;
        }
        if tree.total(id).weight > tree.total(self.heaviest).weight {
            self.heaviest = id;
        }
    }

    fn add_total(&mut self, sum: Sum) {
        self.total.add(sum);
    }
}

/// No row: not met yet, or no code.
pub(super) const NO_ROW: u32 = u32::MAX;

/// The row of each function.
struct Rows {
    of_function: ByFunction<u32>,
    of_dso: HashMap<DsoId, u32>,
    no_mapping: Option<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        let of_function = ByFunction::new(NO_ROW);
        Self { of_function, of_dso: HashMap::new(), no_mapping: None }
    }
}

impl Rows {
    /// Where a label's row is noted; `None` for labels that are no code.
    fn row(&mut self, label: Label) -> Option<&mut u32> {
        match label {
            Label::All | Label::Group(_) => None,
            Label::NoMapping => Some(self.no_mapping.get_or_insert(NO_ROW)),
            Label::Dso(dso) => Some(self.of_dso.entry(dso).or_insert(NO_ROW)),
            Label::Function(function) | Label::Inlined(function) => {
                Some(self.of_function.get_mut(function))
            }
        }
    }
}

/// What functions are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKey {
    /// Self, then name.
    #[default]
    #[serde(rename = "self")]
    SelfWeight,
    /// Total, then name.
    Total,
    /// Name.
    Name,
    /// DSO, then self.
    Dso,
}

/// Which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum SortDirection {
    /// Largest first.
    #[default]
    Descending,
    /// Smallest first.
    Ascending,
}

/// An order of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct FunctionOrder {
    /// By what.
    pub key: FunctionKey,
    /// Which way.
    pub direction: SortDirection,
}

/// What a table has a row for.
pub(super) trait Orderable {
    /// Self and total.
    fn sums(&self) -> (Sum, Sum);
    /// By name; what else tells rows of one name apart comes after it.
    fn by_name(&self, other: &Self) -> Ordering;
    /// By DSO, or by what else a row is within.
    fn by_dso(&self, other: &Self) -> Ordering;
}

impl FunctionOrder {
    /// How two rows stand to each other. Texts are compared only where weights do not decide.
    pub(super) fn compare<Row: Orderable>(self, a: &Row, b: &Row) -> Ordering {
        let directed = |ordering: Ordering| match self.direction {
            SortDirection::Descending => ordering.reverse(),
            SortDirection::Ascending => ordering,
        };
        let ((self_a, total_a), (self_b, total_b)) = (a.sums(), b.sums());
        let by_self = self_a.weight.cmp(&self_b.weight);
        let by_total = total_a.weight.cmp(&total_b.weight);
        let by_name = || a.by_name(b);
        match self.key {
            FunctionKey::SelfWeight => {
                directed(by_self).then(directed(by_total)).then_with(by_name)
            }
            FunctionKey::Total => directed(by_total).then(directed(by_self)).then_with(by_name),
            FunctionKey::Name => directed(by_name()),
            FunctionKey::Dso => directed(a.by_dso(b)).then(by_self.reverse()).then_with(by_name),
        }
    }
}

/// A function as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRow {
    /// Its sums.
    pub sum: FunctionSum,
    /// Its name or address.
    pub name: String,
    /// Name of its DSO.
    pub dso: String,
    /// Its colour.
    pub kind: Kind,
    /// Its marks.
    pub marks: u8,
}

/// The functions of a call tree, in order.
pub fn ordered(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    order: FunctionOrder,
) -> Vec<FunctionSum> {
    let mut ordering = OrderingFunctions::new(order);
    while !ordering.step((profile, symbols), tree, usize::MAX) {}
    ordering.finish()
}

/// The functions of a call tree while they are put in order.
pub struct OrderingFunctions {
    order: FunctionOrder,
    summing: FunctionSumBuilder,
    is_summed: bool,
    /// Rows that were sorted, so many at a time: in the end these runs are merged.
    sorted: usize,
}

impl OrderingFunctions {
    /// Nothing is summed yet.
    pub fn new(order: FunctionOrder) -> Self {
        Self { order, summing: FunctionSumBuilder::default(), is_summed: false, sorted: 0 }
    }

    /// Goes on for about as long as so many call nodes take; true when there is no more to do. Tree
    /// and names are the same each time.
    pub fn step(
        &mut self,
        (profile, symbols): (&Profile, &Symbols),
        tree: &CallTree,
        call_nodes: usize,
    ) -> bool {
        if !self.is_summed {
            self.is_summed = self.summing.step(tree, call_nodes);
            return false;
        }
        let Self { summing: FunctionSumBuilder { sums, .. }, sorted, order, .. } = self;
        let is_last = *sorted == sums.len();
        let rows = match is_last {
            true => 0..sums.len(),
            false => *sorted..sorted.saturating_add(call_nodes).min(sums.len()),
        };
        sort((profile, symbols), &mut sums[rows.clone()], *order);
        *sorted = rows.end;
        is_last
    }

    /// The functions.
    pub fn finish(self) -> Vec<FunctionSum> {
        self.summing.sums
    }
}

fn sort((profile, symbols): (&Profile, &Symbols), sums: &mut [FunctionSum], order: FunctionOrder) {
    let labels = Labels::new(profile, symbols);
    let keyed = sums.iter().map(|&sum| FunctionSortKey {
        name: labels.name_key(sum.label),
        dso: labels.dso(sum.label).map(|dso| profile.dsos.get(dso).name()),
        sum,
    });
    let mut keyed: Vec<FunctionSortKey<'_>> = keyed.collect();
    // Not through a pointer (perfdata::sorting): a table of many functions took a fifth longer.
    keyed.sort_by(|a, b| order.compare(a, b));
    sums.iter_mut().zip(keyed).for_each(|(sum, keyed)| *sum = keyed.sum);
}

/// A function beside what it is ordered by. Hundreds of thousands of addresses may have no name:
/// a text for each to compare by took longer than everything else, and looking the name up at
/// each comparison twice as long as looking it up once.
struct FunctionSortKey<'a> {
    sum: FunctionSum,
    name: NameKey<'a>,
    dso: Option<&'a str>,
}

impl Orderable for FunctionSortKey<'_> {
    fn sums(&self) -> (Sum, Sum) {
        (self.sum.self_sum, self.sum.total)
    }

    fn by_name(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name).then_with(|| self.by_dso(other))
    }

    fn by_dso(&self, other: &Self) -> Ordering {
        self.dso.cmp(&other.dso)
    }
}

/// How a function is shown.
pub fn row(labels: &Labels<'_>, sum: FunctionSum) -> FunctionRow {
    FunctionRow {
        name: labels.text(sum.label),
        dso: labels.dso_name(sum.label),
        kind: labels.kind(sum.label),
        marks: labels.marks(sum.label),
        sum,
    }
}
