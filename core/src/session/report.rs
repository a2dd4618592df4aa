//! Functions and coverage in one answer: `perftab report`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Warning;
use crate::profile::{DsoId, Profile};
use crate::session::{DsoRow, Session};
use crate::symbolize::Symbols;
use crate::views::call_tree::Label;
use crate::views::functions::{self, FunctionOrder, FunctionRow, Inlining};
use crate::views::label::mark;
use crate::views::{Direction, Query, coverage, serialize_weight};

/// Everything that `perftab report --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The event's name.
    pub event: String,
    /// Its samples.
    pub samples: u64,
    /// Their weight, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Functions in order.
    pub functions: Vec<ReportFunction>,
    /// How much has names.
    pub coverage: Coverage,
    /// Mapped files.
    pub dsos: Vec<DsoRow>,
    /// What was lost or is doubtful.
    pub warnings: Vec<Warning>,
}

/// A function, or an address without a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportFunction {
    /// Name; null if there is none.
    pub name: Option<String>,
    /// Address in its DSO, in hex, if there is no name.
    pub address: Option<String>,
    /// Path of its DSO.
    pub dso: Option<String>,
    /// The DSO's recorded build-id.
    pub build_id: Option<String>,
    /// Weight of the samples that ended in it.
    #[serde(rename = "self", serialize_with = "serialize_weight")]
    pub self_weight: u64,
    /// Weight of the samples that it is anywhere in.
    #[serde(serialize_with = "serialize_weight")]
    pub total: u64,
    /// Samples that ended in it.
    pub self_samples: u64,
    /// Samples that it is anywhere in.
    pub total_samples: u64,
    /// True if it was met inlined only.
    pub inlined: bool,
    /// True if the name comes from a file that does not match.
    pub forced: bool,
}

/// How much of what was sampled has names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(hashmap_as_object))]
pub struct Coverage {
    /// Frames of all samples: a stack seen twice counts twice.
    pub frames: u64,
    /// Those with a name.
    pub named: u64,
    /// Samples.
    pub samples: u64,
    /// Samples whose innermost frame has a name.
    pub named_leaves: u64,
    /// Samples by the status of the DSO that they ended in.
    pub by_status: BTreeMap<&'static str, u64>,
    /// Stacks known to have been cut.
    pub truncated_stacks: u64,
}

impl Session {
    /// How much has names.
    pub fn coverage(&self) -> Coverage {
        let frames = coverage::frames(&self.profile, &self.symbols).with(&self.facts.folded);
        let mut by_status = BTreeMap::new();
        for (id, used) in self.facts.uses.iter().enumerate() {
            let status = self.ledger.row(DsoId(id as u32)).status.name();
            *by_status.entry(status).or_default() += used.leaf_samples;
        }
        for (status, samples) in self.facts.left_out.leaf_samples().filter(|(_, n)| *n > 0) {
            *by_status.entry(status.name()).or_default() += samples;
        }
        Coverage {
            frames: frames.frames,
            named: frames.named,
            samples: frames.samples,
            named_leaves: frames.named_leaves,
            by_status,
            truncated_stacks: 0,
        }
    }

    /// Functions of an event in order, at most `limit` of them.
    pub fn report(&mut self, query: &Query, order: FunctionOrder, limit: usize) -> Report {
        let query = Query { direction: Direction::Callees, ..*query };
        let (coverage, dsos) = (self.coverage(), self.dsos());
        let warnings = self.warnings.clone();
        let event = self.profile.events.get(query.event as usize).cloned();
        let functions = self.ordered_functions(&query, order);
        let functions = functions[..limit.min(functions.len())].to_vec();
        let (profile, symbols) = (&self.profile, &self.symbols);
        let functions = functions.into_iter().map(|sum| functions::row(profile, symbols, sum));
        Report {
            event: event.as_ref().map_or_else(String::new, |event| event.name.clone()),
            samples: event.as_ref().map_or(0, |event| event.samples),
            weight: event.map_or(0, |event| event.weight),
            functions: functions.map(|row| report_function(profile, symbols, row)).collect(),
            coverage,
            dsos,
            warnings,
        }
    }
}

fn report_function(profile: &Profile, symbols: &Symbols, row: FunctionRow) -> ReportFunction {
    let function = match row.sum.label {
        Label::Function(id) | Label::Inlined(id) => Some(symbols.function(id)),
        Label::All | Label::Group(_) | Label::NoMapping => None,
    };
    let dso = function.map(|function| profile.dsos.get(function.dso));
    let is_named = function.is_some_and(|function| function.name.is_some());
    ReportFunction {
        name: is_named.then_some(row.name),
        address: function
            .filter(|function| function.name.is_none())
            .map(|function| format!("{:x}", function.address)),
        dso: dso.map(|dso| dso.path.clone()),
        build_id: dso.and_then(|dso| dso.identity).map(|identity| identity.to_string()),
        self_weight: row.sum.self_sum.weight,
        total: row.sum.total.weight,
        self_samples: row.sum.self_sum.samples,
        total_samples: row.sum.total.samples,
        inlined: row.sum.inlined == Inlining::Always,
        forced: row.marks & mark::FORCED != 0,
    }
}
