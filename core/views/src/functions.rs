//! Functions with self and total, each counted once per sample however it recurs.

use perftab_perfdata::map::Map;
use std::cmp::Ordering;

use perftab_names::{ByFunction, Symbols};
use perftab_perfdata::slice::{Slice, at_once};
use perftab_perfdata::sorting::{sort, take_places};
use perftab_profile::{Dso, DsoId, Profile};
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
    at_once(async |slice| sums_by_row(tree, slice).await.0)
}

/// The same in slices of call nodes; and by call node its position among them, or [`NO_ROW`].
pub(super) async fn sums_by_row(tree: &CallTree, slice: &Slice) -> (Vec<FunctionSum>, Vec<u32>) {
    let (mut rows, mut sums) = (Rows::default(), Vec::new());
    let mut row_of = Vec::with_capacity(tree.len());
    let mut ids = 0..tree.len();
    while let Some(part) = slice.part(&mut ids).await {
        row_of
            .extend(part.map(|id| row_of_node(tree, CallNodeId(id as u32), &mut rows, &mut sums)));
    }
    add_up_in_slices(tree, &row_of, &mut sums, slice).await;
    (sums, row_of)
}

fn row_of_node(
    tree: &CallTree,
    id: CallNodeId,
    rows: &mut Rows,
    sums: &mut Vec<FunctionSum>,
) -> u32 {
    let label = function_of(tree.label(id));
    let Some(row) = rows.row(label) else { return NO_ROW };
    if *row == NO_ROW {
        *row = sums.len() as u32;
        let (self_sum, total) = (Sum::default(), Sum::default());
        let inlined = Inlining::Always;
        sums.push(FunctionSum { label, self_sum, total, inlined, heaviest: id });
    }
    *row
}

/// A row that call nodes are added up in.
pub(super) trait SumRow {
    /// Adds what ended in a call node of the row.
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId);
    /// Adds what went through a call node of the row that no other one of the row leads to.
    fn add_total(&mut self, tree: &CallTree, id: CallNodeId);
}

/// Adds every call node to its row: what ended in it, and, once however the row's call nodes lead
/// to each other, what went through it. `row_of` has a position in `rows` for each call node, or
/// [`NO_ROW`].
pub(super) fn add_up(tree: &CallTree, row_of: &[u32], rows: &mut [impl SumRow]) {
    at_once(async |slice| add_up_in_slices(tree, row_of, rows, slice).await);
}

async fn add_up_in_slices(
    tree: &CallTree,
    row_of: &[u32],
    rows: &mut [impl SumRow],
    slice: &Slice,
) {
    // How many call nodes of each row lie on the walk's path.
    let mut on_path = vec![0_u32; rows.len()];
    let mut open = vec![(CallNodeId::ROOT, Visit::Enter)];
    let mut visits = 0..2 * tree.len();
    while let Some(part) = slice.part(&mut visits).await {
        for _ in part {
            let Some((id, visit)) = open.pop() else { return };
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
                rows[row].add_total(tree, id);
            }
            rows[row].add_self(tree, id);
            on_path[row] += 1;
        }
    }
}

impl SumRow for FunctionSum {
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId) {
        let own = tree.self_sum(id);
        if own != Sum::default() {
            self.self_sum.add(own);
        }
        if self.inlined == Inlining::Always && !matches!(tree.label(id), Label::Inlined(_)) {
            self.inlined = Inlining::NotAlways;
        }
    }

    fn add_total(&mut self, tree: &CallTree, id: CallNodeId) {
        let total = tree.total(id);
        self.total.add(total);
        if total.weight > tree.total(self.heaviest).weight {
            self.heaviest = id;
        }
    }
}

/// No row: not met yet, or no code.
pub(super) const NO_ROW: u32 = u32::MAX;

/// The row of each function.
struct Rows {
    of_function: ByFunction<u32>,
    of_dso: Map<DsoId, u32>,
    no_mapping: Option<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        let of_function = ByFunction::new(NO_ROW);
        Self { of_function, of_dso: Map::new(), no_mapping: None }
    }
}

impl Rows {
    /// Where a label's row is noted; `None` for labels that are no code.
    fn row(&mut self, label: Label) -> Option<&mut u32> {
        match label {
            Label::All | Label::Group(_) | Label::Family(_) => None,
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
    /// What one access cost, where rows are memory accesses; others stand by self.
    Mean,
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
            FunctionKey::SelfWeight | FunctionKey::Mean => {
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

/// The functions of a call tree, as many of them in order as were asked for: of hundreds of thousands a
/// table shows the first, and to put all in order takes as long as to make the tree.
#[derive(Default)]
pub struct OrderedFunctions {
    sums: Vec<FunctionSum>,
    /// So many are in order, and before all others.
    in_order: usize,
}

/// At least so many are put in order at once.
const FIRST: usize = 1024;

impl OrderedFunctions {
    /// None is in order yet. In slices of call nodes.
    pub async fn new(tree: &CallTree, slice: &Slice) -> Self {
        let (sums, _) = sums_by_row(tree, slice).await;
        Self { sums, in_order: 0 }
    }

    /// With at least the first `count` in order, or all if there are fewer; those that are must be in the
    /// same order. In slices of functions.
    pub async fn with_first(
        mut self,
        names: (&Profile, &Symbols),
        order: FunctionOrder,
        count: usize,
        slice: &Slice,
    ) -> Self {
        if self.has_first(count) {
            return self;
        }
        // Who scrolls asks for the next ones soon.
        let count = count.checked_next_power_of_two().map_or(usize::MAX, |count| count.max(FIRST));
        let rest = &mut self.sums[self.in_order..];
        let wanted = (count - self.in_order).min(rest.len());
        let sorting = FunctionSorting::new(names, order);
        let kept = sorting.gather_first(rest, wanted, slice).await;
        // Runs are sorted, and in the end merged.
        let (mut rows, mut runs) = (0..kept, 0);
        while let Some(run) = slice.part(&mut rows).await {
            sorting.sort(&mut rest[run]);
            runs += 1;
        }
        if runs > 1 {
            slice.rest().await;
            sorting.sort(&mut rest[..kept]);
        }
        self.in_order += wanted;
        self
    }

    /// How many are in order.
    pub fn in_order(&self) -> usize {
        self.in_order
    }

    /// True if so many are in order, or all.
    pub fn has_first(&self, count: usize) -> bool {
        self.in_order >= count.min(self.sums.len())
    }

    /// All of them: the first ones in order.
    pub fn all(&self) -> &[FunctionSum] {
        &self.sums
    }
}

/// Puts functions in order. Numbers that stand side by side decide nearly always; what they leave open is
/// looked up. Of hundreds of thousands of addresses without a name, keys with everything in them took
/// three times as long to sort, and a text for each took longer than everything else.
struct FunctionSorting<'a> {
    profile: &'a Profile,
    labels: Labels<'a>,
    order: FunctionOrder,
    /// [`dso_places`].
    dso_places: Vec<u64>,
}

/// By DSO, if that is what rows are ordered by: its place among the names, from 1 on.
pub(super) fn dso_places(profile: &Profile, order: FunctionOrder) -> Vec<u64> {
    if order.key != FunctionKey::Dso {
        return Vec::new();
    }
    let mut names: Vec<&str> = profile.dsos.iter().map(|(_, dso)| dso.name()).collect();
    sort(&mut names);
    let place = |dso: &Dso| names.partition_point(|name| *name < dso.name()) as u64 + 1;
    profile.dsos.iter().map(|(_, dso)| place(dso)).collect()
}

/// What decides first, then second and third: less is before.
type Numbers = [u64; 3];

impl<'a> FunctionSorting<'a> {
    fn new((profile, symbols): (&'a Profile, &'a Symbols), order: FunctionOrder) -> Self {
        let dso_places = dso_places(profile, order);
        Self { profile, labels: Labels::new(profile, symbols), order, dso_places }
    }

    fn numbers(&self, sum: &FunctionSum) -> Numbers {
        let directed = |number: u64| match self.order.direction {
            SortDirection::Descending => !number,
            SortDirection::Ascending => number,
        };
        let (own, total) = (sum.self_sum.weight, sum.total.weight);
        let name = self.labels.name_key(sum.label).number();
        match self.order.key {
            FunctionKey::SelfWeight | FunctionKey::Mean => [directed(own), directed(total), name],
            FunctionKey::Total => [directed(total), directed(own), name],
            FunctionKey::Name => [directed(name), 0, 0],
            FunctionKey::Dso => {
                let dso = self.labels.dso(sum.label);
                let place = dso.map_or(0, |dso| self.dso_places[dso.index()]);
                [directed(place), !own, name]
            }
        }
    }

    fn compare(&self, one: (&Numbers, &FunctionSum), other: (&Numbers, &FunctionSum)) -> Ordering {
        one.0.cmp(other.0).then_with(|| self.compare_texts(one.1, other.1))
    }

    #[cold]
    fn compare_texts(&self, one: &FunctionSum, other: &FunctionSum) -> Ordering {
        let key = |sum| FunctionSortKey::of(self.profile, &self.labels, sum);
        key(*one).compare(&key(*other), self.order)
    }

    /// Moves the first `wanted` functions to the front, in no order, and a few more; how many in all.
    async fn gather_first(&self, sums: &mut [FunctionSum], wanted: usize, slice: &Slice) -> usize {
        if wanted == sums.len() {
            return wanted;
        }
        let room = wanted.saturating_mul(2);
        let mut kept = 0;
        // What is after it is not among the first.
        let mut last: Option<(Numbers, FunctionSum)> = None;
        let mut rows = 0..sums.len();
        while let Some(part) = slice.part(&mut rows).await {
            for row in part {
                let key = (&self.numbers(&sums[row]), &sums[row]);
                if last.as_ref().is_some_and(|(last, of)| self.compare(key, (last, of)).is_gt()) {
                    continue;
                }
                sums.swap(row, kept);
                kept += 1;
                if kept == room {
                    self.sort(&mut sums[..kept]);
                    kept = wanted;
                    last = Some((self.numbers(&sums[wanted - 1]), sums[wanted - 1]));
                }
            }
        }
        kept
    }

    fn sort(&self, sums: &mut [FunctionSum]) {
        let mut keyed: Vec<(Numbers, u32)> =
            (0..).zip(&*sums).map(|(row, sum)| (self.numbers(sum), row)).collect();
        // Not through a pointer (perfdata::sorting): a table of many functions took a fifth longer.
        keyed.sort_by(|one, other| {
            let sum = |row: u32| &sums[row as usize];
            self.compare((&one.0, sum(one.1)), (&other.0, sum(other.1)))
        });
        take_places(sums, keyed.into_iter().map(|(_, row)| row as usize).collect());
    }
}

/// A function beside everything that it may be ordered by.
struct FunctionSortKey<'a> {
    sum: FunctionSum,
    name: NameKey<'a>,
    dso: Option<&'a str>,
}

impl<'a> FunctionSortKey<'a> {
    fn of(profile: &'a Profile, labels: &Labels<'a>, sum: FunctionSum) -> Self {
        let dso = labels.dso(sum.label).map(|dso| profile.dsos.get(dso).name());
        Self { sum, name: labels.name_key(sum.label), dso }
    }

    /// Never equal, so that it does not matter in what order they are met.
    fn compare(&self, other: &Self, order: FunctionOrder) -> Ordering {
        let number = |label| match label {
            Label::Dso(dso) => (Some(dso), None),
            label => (None, label.function()),
        };
        let by_number = || number(self.sum.label).cmp(&number(other.sum.label));
        order.compare(self, other).then_with(by_number)
    }
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
