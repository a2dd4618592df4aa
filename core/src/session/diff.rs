//! What changed, as `perftab diff` prints it.

use perftab_views::compare::{
    Basis, ChangeKey, ChangeOrder, ComparedSide, FunctionChange, Measures, Name, Presence,
};
use perftab_views::label::mark;
use serde::Serialize;

use super::compare::{CompareView, ComparedTrees};

/// A function in `perftab diff --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffFunction {
    /// Name; null if there is none.
    pub name: Option<String>,
    /// Address in its DSO, if that is what it is compared by, as hex.
    pub address: Option<String>,
    /// Name of its DSO.
    pub dso: Option<String>,
    /// `before` or `after` for what the other side lacks.
    pub only: Option<&'static str>,
    /// The side that has no names for the DSO where the other has: changes are 0 then, as they are not known.
    pub without_names: Option<ComparedSide>,
    /// Whether the name comes from a file that does not match.
    pub forced: bool,
    /// Self before, on the basis.
    pub before: f64,
    /// Self after.
    pub after: f64,
    /// How much more it is after.
    pub change: f64,
    /// Whether that is beyond noise.
    pub certain: bool,
    /// Samples that ended in it, before and after.
    pub samples: [u64; 2],
    /// The same of samples that it is anywhere in.
    pub total: DiffTotal,
}

/// A total in `perftab diff --json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DiffTotal {
    /// Before, on the basis.
    pub before: f64,
    /// After.
    pub after: f64,
    /// How much more it is after.
    pub change: f64,
    /// Whether that is beyond noise.
    pub certain: bool,
}

impl ComparedTrees {
    /// Functions as a report lists them, at most `limit`.
    pub fn diff(
        &self,
        basis: Basis,
        key: ChangeKey,
        order: ChangeOrder,
        limit: usize,
    ) -> Vec<DiffFunction> {
        let measures = self.measures(CompareView { basis, ..CompareView::default() });
        let rows = self.comparison.ordered(&measures, key, order);
        let functions = self.comparison.functions();
        let function = |row: u32| self.diff_function(&measures, &functions[row as usize]);
        rows.into_iter().take(limit).map(function).collect()
    }

    fn diff_function(&self, measures: &Measures, function: &FunctionChange) -> DiffFunction {
        let label = self.comparison.label_of(function.label);
        let own = self.comparison.function_change(measures, function, ChangeKey::SelfWeight);
        let total = self.comparison.function_change(measures, function, ChangeKey::Total);
        let (name, address) = match label.name {
            Name::Function(_) | Name::Other(_) => (Some(self.comparison.text(label)), None),
            Name::Address { shown, .. } => (None, Some(format!("{shown:x}"))),
            Name::Unnamed => (None, None),
        };
        DiffFunction {
            name,
            address,
            dso: label.pair.map(|pair| self.pair(pair).name.clone()),
            only: match self.comparison.function_presence(function, ChangeKey::Total) {
                Presence::Both => None,
                Presence::OnlyBefore => Some("before"),
                Presence::OnlyAfter => Some("after"),
            },
            without_names: total.without_names,
            forced: label.marks & mark::FORCED != 0,
            before: own.before,
            after: own.after,
            change: own.change,
            certain: own.is_certain,
            samples: [function.self_sums.before.samples, function.self_sums.after.samples],
            total: DiffTotal {
                before: total.before,
                after: total.after,
                change: total.change,
                certain: total.is_certain,
            },
        }
    }
}
