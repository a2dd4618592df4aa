//! One function between its callers and its callees, as the page asks for it.

use std::num::NonZeroU32;

use perftab_names::Status;
use perftab_perfdata::text::printable;
use perftab_views::call_tree::Label;
use perftab_views::function_ref::FunctionRef;
use perftab_views::label::{Labels, OwnCode};
use perftab_views::{Direction, Query, sandwich};
use serde::Serialize;

use crate::session::Session;

/// What the band between callers and callees says of a function. The callers and callees are trees
/// of a query with `around`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct SandwichFacts {
    /// Which function it is, for `around` and steps.
    pub function: FunctionRef,
    /// Its number.
    pub function_id: u32,
    /// Its name or address.
    pub name: String,
    /// [`perftab_views::label::Kind`].
    pub kind: u8,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// Number of its DSO in the ledger.
    pub dso_id: u32,
    /// Name of its DSO.
    pub dso: String,
    /// Whether that has names.
    pub dso_status: Status,
    /// Recorded build-id of the DSO.
    pub build_id: Option<String>,
    /// Source file, of one of its addresses.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Weight of samples that ended in it.
    pub self_weight: f64,
    /// Weight of samples that it is anywhere in.
    pub total_weight: f64,
    /// Samples that ended in it.
    pub self_samples: u64,
    /// Samples that it is anywhere in.
    pub total_samples: u64,
    /// Weight of samples that ended in it or in functions inlined into it.
    pub own_code_weight: f64,
    /// The parts of that: itself first, then what is inlined, most weight first. Nothing but itself
    /// where inlined functions are merged.
    pub parts: Vec<CodePart>,
    /// Its heaviest call node in the query's tree of callees.
    pub heaviest: u32,
}

/// A function, or one that is inlined into it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct CodePart {
    /// Its number.
    pub function_id: u32,
    /// Its name.
    pub name: String,
    /// [`perftab_views::label::Kind`].
    pub kind: u8,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// Weight of samples that ended in it here.
    pub weight: f64,
    /// Those samples.
    pub samples: u64,
}

impl Session {
    /// What is known of a function among the samples of a query; `None` if none of them has it.
    /// Inverting changes nothing here, nor does the tree around a function.
    pub fn sandwich(&mut self, query: &Query, function: &FunctionRef) -> Option<SandwichFacts> {
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        let index = self.tree_index(&query);
        let (profile, symbols, tree) =
            (&self.profile, &self.symbols, self.trees.cached[index].tree.get());
        let found = sandwich::sandwich(profile, symbols, tree, function)?;
        let label = tree.label(found.heaviest);
        let id = label.function()?;
        let own = OwnCode::of(profile, &query);
        let labels = Labels::new(profile, symbols).counting(&own);
        let dso_id = symbols.function(id).dso;
        let dso = profile.dsos.get(dso_id);
        let level = tree.frame(found.heaviest).and_then(|frame| self.level(frame, label));
        let parts = found.parts.iter().map(|&(part, sum)| {
            let label = if part == id { Label::Function(part) } else { Label::Inlined(part) };
            CodePart {
                function_id: part.0,
                name: labels.text(label),
                kind: labels.kind(label) as u8,
                flags: labels.marks(label),
                weight: sum.weight as f64,
                samples: sum.samples,
            }
        });
        Some(SandwichFacts {
            function: FunctionRef::of(profile, symbols, id),
            function_id: id.0,
            name: labels.text(label),
            kind: labels.kind(label) as u8,
            flags: labels.marks(label),
            dso_id: dso_id.0,
            dso: printable(dso.name()).into_owned(),
            dso_status: self.ledger.row(dso_id).status,
            build_id: dso.identity.map(|identity| identity.to_string()),
            file: level
                .and_then(|level| level.file)
                .map(|id| printable(symbols.file(id)).into_owned()),
            line: level.and_then(|level| level.line).map(NonZeroU32::get),
            self_weight: found.self_sum.weight as f64,
            total_weight: found.total.weight as f64,
            self_samples: found.self_sum.samples,
            total_samples: found.total.samples,
            own_code_weight: found.own_code.weight as f64,
            parts: parts.collect(),
            heaviest: found.heaviest.0,
        })
    }
}
