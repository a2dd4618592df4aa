//! What changed, by function.

use std::cmp::Ordering;

use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by;
use serde::{Deserialize, Serialize};

use super::{Comparison, Measures, Name, Presence, Sums};
use crate::call_tree::CallNodeId;
use crate::label::mark;

/// A function of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionChange {
    /// Position among the comparison's labels; not that of an inlined function.
    pub label: u32,
    /// Samples that ended in it.
    pub self_sums: Sums,
    /// Samples that it is anywhere in, recursion counted once.
    pub total: Sums,
    /// True if it was met inlined only.
    pub is_inlined: bool,
    /// Its call node with the most samples, of both sides.
    pub heaviest: CallNodeId,
}

impl FunctionChange {
    /// What is compared of it.
    pub fn sums(&self, key: ChangeKey) -> Sums {
        match key {
            ChangeKey::SelfWeight => self.self_sums,
            ChangeKey::Total => self.total,
        }
    }
}

/// What is compared of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKey {
    /// Self.
    #[default]
    #[serde(rename = "self")]
    SelfWeight,
    /// Total.
    Total,
}

/// What functions are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOrder {
    /// Change, the largest increase first and the largest decrease last.
    #[default]
    Increase,
    /// Change, the largest decrease first.
    Decrease,
    /// Change, whichever way it goes.
    Either,
    /// Weight before.
    Before,
    /// Weight after.
    After,
    /// Name.
    Name,
}

/// The functions of a comparison. In slices of call nodes.
pub(super) async fn changes(comparison: &Comparison, slice: &Slice) -> Vec<FunctionChange> {
    let mut row_of_label: Vec<Option<usize>> = vec![None; comparison.labels.len()];
    let mut changes: Vec<FunctionChange> = Vec::new();
    // By row: how many of its call nodes lie on the way to where the walk is.
    let mut on_path: Vec<u32> = Vec::new();
    let mut open = vec![(CallNodeId::ROOT, Visit::Enter)];
    let mut visits = 0..2 * comparison.len();
    while let Some(part) = slice.part(&mut visits).await {
        for _ in part {
            let Some((id, visit)) = open.pop() else { break };
            if visit == Visit::Enter {
                open.push((id, Visit::Leave));
                open.extend(comparison.children(id).iter().map(|&child| (child, Visit::Enter)));
            }
            if !is_code(comparison, id) {
                continue;
            }
            let label = comparison.label(id);
            let row = *row_of_label[label.function as usize].get_or_insert_with(|| {
                changes.push(FunctionChange {
                    label: label.function,
                    self_sums: Sums::default(),
                    total: Sums::default(),
                    is_inlined: true,
                    heaviest: id,
                });
                on_path.push(0);
                changes.len() - 1
            });
            if visit == Visit::Leave {
                on_path[row] -= 1;
                continue;
            }
            let change = &mut changes[row];
            let total = comparison.total(id);
            if on_path[row] == 0 {
                change.total.add(total);
            }
            change.self_sums.add(comparison.self_sums(id));
            change.is_inlined &= label.marks & mark::INLINED != 0;
            let samples = |sums: Sums| sums.before.samples.saturating_add(sums.after.samples);
            if samples(total) > samples(comparison.total(change.heaviest)) {
                change.heaviest = id;
            }
            on_path[row] += 1;
        }
    }
    changes
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Enter,
    Leave,
}

/// Whether a call node is code: what a table of functions lists.
fn is_code(comparison: &Comparison, id: CallNodeId) -> bool {
    let label = comparison.label(id);
    !matches!(label.name, Name::Other(_)) || label.marks & mark::PSEUDO == 0
}

impl Comparison {
    /// The functions that have any of what is compared, in order: positions in
    /// [`Self::functions`].
    pub fn ordered(&self, measures: &Measures, key: ChangeKey, order: ChangeOrder) -> Vec<u32> {
        self.first_in_order(measures, key, order, usize::MAX)
    }

    /// The same, but that after so many of them the others follow in no order: a table shows a hundred,
    /// and without names there are hundreds of thousands.
    pub fn first_in_order(
        &self,
        measures: &Measures,
        key: ChangeKey,
        order: ChangeOrder,
        most: usize,
    ) -> Vec<u32> {
        let mut rows: Vec<(u32, [f64; 2])> = (0u32..)
            .zip(&self.functions)
            .map(|(row, function)| (row, function.sums(key)))
            .filter(|(_, sums)| Presence::of(*sums) != Presence::Both || sums.before.samples > 0)
            .map(|(row, sums)| (row, measures.values(sums)))
            .collect();
        // What cannot be compared comes last, and has no change.
        let is_unknown = |row: u32| {
            let function = &self.functions[row as usize];
            self.without_names(&self.labels[function.label as usize]).is_some()
        };
        let change = |values: [f64; 2]| values[1] - values[0];
        let more_of = |values: [f64; 2]| values[0].max(values[1]);
        let name = |row: u32| self.name_key(&self.functions[row as usize]);
        let compare = |&(a, one): &(u32, [f64; 2]), &(b, other): &(u32, [f64; 2])| {
            let unknown = [is_unknown(a), is_unknown(b)];
            if unknown != [false; 2] {
                return unknown[0]
                    .cmp(&unknown[1])
                    .then_with(|| more_of(other).total_cmp(&more_of(one)))
                    .then(a.cmp(&b));
            }
            let ordering = match order {
                ChangeOrder::Increase => change(other).total_cmp(&change(one)),
                ChangeOrder::Decrease => change(one).total_cmp(&change(other)),
                ChangeOrder::Either => change(other).abs().total_cmp(&change(one).abs()),
                ChangeOrder::Before => other[0].total_cmp(&one[0]),
                ChangeOrder::After => other[1].total_cmp(&one[1]),
                ChangeOrder::Name => Ordering::Equal,
            };
            // Of equal changes the function that has more comes first, whichever side is which.
            let more = |values: [f64; 2]| match order {
                ChangeOrder::Name => 0.0,
                _ => more_of(values),
            };
            ordering
                .then_with(|| more(other).total_cmp(&more(one)))
                .then_with(|| name(a).cmp(&name(b)))
                .then(a.cmp(&b))
        };
        let first = most.min(rows.len());
        if let Some(last) = first.checked_sub(1) {
            rows.select_nth_unstable_by(last, compare);
        }
        sort_by(&mut rows[..first], compare);
        rows.into_iter().map(|(row, _)| row).collect()
    }

    fn name_key(&self, function: &FunctionChange) -> (u8, &str, u64, Option<u32>) {
        let label = &self.labels[function.label as usize];
        match label.name {
            Name::Function(text) => (0, self.texts.get(text), 0, label.pair),
            Name::Other(text) => (2, self.texts.get(text), 0, label.pair),
            Name::Address { compared, .. } => (1, "", compared, label.pair),
            Name::Unnamed => (1, "", u64::MAX, label.pair),
        }
    }
}
