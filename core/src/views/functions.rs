//! Functions with self and total, each counted once per sample however it recurs.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::profile::{DsoId, Profile};
use crate::symbolize::Symbols;
use crate::views::call_tree::{CallNodeId, CallTree, Label, Visit};
use crate::views::label::{Kind, Labels, NameKey};
use crate::views::weights::Sum;

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
    let mut rows = Rows::default();
    let mut sums: Vec<FunctionSum> = Vec::new();
    let mut row_of = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        let label = function_of(tree.label(id));
        let Some(row) = rows.row(label) else {
            row_of.push(NO_ROW);
            continue;
        };
        if *row == NO_ROW {
            *row = sums.len() as u32;
            let (self_sum, total) = (Sum::default(), Sum::default());
            let inlined = Inlining::Always;
            sums.push(FunctionSum { label, self_sum, total, inlined, heaviest: id });
        }
        row_of.push(*row);
    }
    add_up(tree, &row_of, &mut sums);
    sums
}

/// A row that call nodes are added up in.
pub(super) trait AddedUp {
    /// Adds what ended in a call node of the row.
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId);
    /// Adds what went through a call node of the row that no other one of the row leads to.
    fn add_total(&mut self, sum: Sum);
}

/// Adds every call node to its row: what ended in it, and, once however the row's call nodes lead
/// to each other, what went through it. `row_of` has a position in `rows` for each call node, or
/// [`NO_ROW`].
pub(super) fn add_up(tree: &CallTree, row_of: &[u32], rows: &mut [impl AddedUp]) {
    // How many call nodes of each row lie on the walk's path.
    let mut on_path = vec![0u32; rows.len()];
    tree.walk(|id, visit| {
        let row = row_of[id.0 as usize];
        if row == NO_ROW {
            return;
        }
        let row = row as usize;
        if visit == Visit::Leave {
            on_path[row] -= 1;
            return;
        }
        if on_path[row] == 0 {
            rows[row].add_total(tree.total(id));
        }
        rows[row].add_self(tree, id);
        on_path[row] += 1;
    });
}

impl AddedUp for FunctionSum {
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

/// The row of each function, by its number: a table by hash took a third of the time of a report.
#[derive(Default)]
struct Rows {
    of_function: Vec<u32>,
    of_dso: HashMap<DsoId, u32>,
    no_mapping: Option<u32>,
}

impl Rows {
    /// Where a label's row is noted; `None` for labels that are no code.
    fn row(&mut self, label: Label) -> Option<&mut u32> {
        match label {
            Label::All | Label::Group(_) => None,
            Label::NoMapping => Some(self.no_mapping.get_or_insert(NO_ROW)),
            Label::Dso(dso) => Some(self.of_dso.entry(dso).or_insert(NO_ROW)),
            Label::Function(function) | Label::Inlined(function) => {
                let index = function.0 as usize;
                if index >= self.of_function.len() {
                    self.of_function.resize((index + 1).next_power_of_two(), NO_ROW);
                }
                Some(&mut self.of_function[index])
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
    let labels = Labels::new(profile, symbols);
    let sums = sums(tree);
    let mut keyed: Vec<Keyed<'_>> = sums
        .into_iter()
        .map(|sum| Keyed {
            name: labels.name_key(sum.label),
            dso: labels.dso(sum.label).map(|dso| profile.dsos.get(dso).name()),
            sum,
        })
        .collect();
    keyed.sort_by(|a, b| {
        let directed = |ordering: Ordering| match order.direction {
            SortDirection::Descending => ordering.reverse(),
            SortDirection::Ascending => ordering,
        };
        let by_self = || a.sum.self_sum.weight.cmp(&b.sum.self_sum.weight);
        let by_total = || a.sum.total.weight.cmp(&b.sum.total.weight);
        let by_dso = || a.dso.cmp(&b.dso);
        let by_name = || a.name.cmp(&b.name).then_with(by_dso);
        match order.key {
            FunctionKey::SelfWeight => {
                directed(by_self()).then_with(|| directed(by_total())).then_with(by_name)
            }
            FunctionKey::Total => {
                directed(by_total()).then_with(|| directed(by_self())).then_with(by_name)
            }
            FunctionKey::Name => directed(by_name()),
            FunctionKey::Dso => {
                directed(by_dso()).then_with(|| by_self().reverse()).then_with(by_name)
            }
        }
    });
    keyed.into_iter().map(|keyed| keyed.sum).collect()
}

/// A function beside what it is ordered by. Hundreds of thousands of addresses may have no name:
/// a text for each to compare by took longer than everything else, and looking the name up at
/// each comparison twice as long as looking it up once.
struct Keyed<'a> {
    sum: FunctionSum,
    name: NameKey<'a>,
    dso: Option<&'a str>,
}

/// How a function is shown.
pub fn row(profile: &Profile, symbols: &Symbols, sum: FunctionSum) -> FunctionRow {
    let labels = Labels::new(profile, symbols);
    FunctionRow {
        name: labels.text(sum.label),
        dso: labels.dso_name(sum.label),
        kind: labels.kind(sum.label),
        marks: labels.marks(sum.label),
        sum,
    }
}
