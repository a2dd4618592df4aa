//! Functions and coverage in one answer: `perftab report`.

use perftab_perfdata::map::Map;
use std::borrow::Cow;
use std::sync::Arc;

use perftab_names::{Provenance, Symbols};
use perftab_perfdata::error::Warning;
use perftab_perfdata::slice::Work;
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, Identity, Profile};
use perftab_views::coverage::{DsoUse, FrameCoverage, Uses, filtered};
use perftab_views::ends::RemainingSamples;
use perftab_views::filter::FilterKind;
use perftab_views::function_ref::FunctionRef;
use perftab_views::functions::{FunctionOrder, FunctionSum, Inlining};
use perftab_views::transform::Transform;
use perftab_views::{Direction, Query, serialize_weight};
use serde::{Serialize, Serializer};

use crate::session::times::ScanStep;
use crate::session::{DsoRow, FidelityInfo, FormatInfo, Session};

/// Everything that `perftab report --json` prints.
#[derive(Clone, Serialize)]
pub struct Report<'a> {
    /// Where this is from: a recording, a link or a page.
    pub format: &'a FormatInfo,
    /// What a link or page holds of its recording; null for a recording.
    pub fidelity: Option<FidelityInfo>,
    /// The event's name.
    pub event: &'a str,
    /// Its samples that are shown.
    pub samples: u64,
    /// Their weight, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Its samples, those that filters and steps took away included.
    pub all_samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub all_weight: u64,
    /// Functions in order.
    pub functions: ReportFunctions<'a>,
    /// How much has names.
    pub coverage: Coverage,
    /// Mapped files.
    pub dsos: Vec<DsoRow>,
    /// What was lost or is doubtful.
    pub warnings: &'a [Warning],
}

/// Functions in order. Hundreds of thousands of addresses may have no name, so each is made of
/// its sums only when it is looked at.
#[derive(Clone, Copy)]
pub struct ReportFunctions<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    sums: &'a [FunctionSum],
}

/// A function, or an address without a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportFunction<'a> {
    /// Name; null if there is none.
    pub name: Option<Cow<'a, str>>,
    /// Address in its DSO, if there is no name; in JSON as hex.
    #[serde(serialize_with = "serialize_hex")]
    pub address: Option<u64>,
    /// Path of its DSO.
    pub dso: Option<&'a str>,
    /// The DSO's recorded build-id.
    #[serde(serialize_with = "serialize_identity")]
    pub build_id: Option<Identity>,
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
    /// Those with a name of the build that ran.
    pub named: u64,
    /// Those with a forced name, which is none of the above.
    pub forced: u64,
    /// Samples.
    pub samples: u64,
    /// Samples whose innermost frame has a name of the build that ran.
    pub named_leaves: u64,
    /// Samples whose innermost frame has a forced name.
    pub forced_leaves: u64,
    /// Samples by the status of the DSO that they ended in.
    #[cfg_attr(feature = "typescript", tsify(type = "Record<string, number>"))]
    pub by_status: Map<&'static str, u64>,
    /// Stacks known to have been cut; null where that is not known, as of a link or a part.
    pub truncated_stacks: Option<u64>,
}

/// How much of what a query's filters and steps leave has names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct FilteredCoverage {
    /// Of all recorded events; without truncated stacks.
    pub coverage: Coverage,
    /// DSOs that are in it.
    pub dsos: Vec<DsoShare>,
}

/// How much of what passes a query's filters is in a DSO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DsoShare {
    /// Number of the DSO in the ledger.
    pub dso: u32,
    /// Samples that end in it.
    pub leaf_samples: u64,
    /// Samples that it is anywhere in.
    pub samples: u64,
    /// Of those that end in it, samples that end in code without a name.
    pub unnamed_leaf_samples: u64,
}

impl Coverage {
    fn new(
        frames: &FrameCoverage,
        by_status: Map<&'static str, u64>,
        truncated: Option<u64>,
    ) -> Self {
        Self {
            frames: frames.frames,
            named: frames.named,
            forced: frames.forced,
            samples: frames.samples,
            named_leaves: frames.named_leaves,
            forced_leaves: frames.forced_leaves,
            by_status,
            truncated_stacks: truncated,
        }
    }
}

impl Session {
    /// How much has names.
    pub fn coverage(&self) -> Coverage {
        let names = self.frame_uses.names(&self.profile, &self.symbols);
        let frames = names.frames.with(&self.facts.folded);
        let of_copies = self.unwound.truncated();
        let truncated = self.profile.funnel.map(|funnel| funnel.truncated + of_copies);
        let mut by_status = self.by_status(&self.facts.uses);
        for (status, samples) in self.facts.left_out.leaf_samples().filter(|(_, n)| *n > 0) {
            *by_status.entry(status.name()).or_default() += samples;
        }
        Coverage::new(&frames, by_status, truncated)
    }

    /// The same of what the filters and steps of a query leave, and how much of it is in each DSO. A link does
    /// not hold what filters ask about, so of one it is of little use.
    pub fn filtered_coverage(&mut self, query: &Query) -> FilteredCoverage {
        let mut work = CoverageWork::new(query);
        loop {
            if let ScanStep::Done(coverage) = work.step(self, usize::MAX) {
                return coverage;
            }
        }
    }

    fn by_status(&self, uses: &[DsoUse]) -> Map<&'static str, u64> {
        let mut by_status = Map::new();
        for (id, used) in uses.iter().enumerate() {
            let status = self.ledger.row(DsoId(id as u32)).status.name();
            *by_status.entry(status).or_default() += used.leaf_samples;
        }
        by_status
    }

    /// Functions of a query in order, at most `limit` of them. How much has names is said of what
    /// its filters and steps leave, of all events.
    pub fn report(&mut self, query: &Query, order: FunctionOrder, limit: usize) -> Report<'_> {
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        let is_filtered = FilterKind::ALL.iter().any(|kind| kind.is_set(&query));
        let coverage = match is_filtered || query.steps.iter().any(Transform::drops) {
            true => self.filtered_coverage(&query).coverage,
            false => self.coverage(),
        };
        let dsos = self.dsos();
        let shown = self.total(&query);
        self.order_functions(&query, order, limit);
        let sums = self.functions_in_order(&query);
        let event = self.profile.event(query.event);
        Report {
            format: &self.format,
            fidelity: self.fidelity.map(FidelityInfo::from),
            event: event.map_or("", |event| event.name.as_str()),
            samples: shown.samples,
            weight: shown.weight,
            all_samples: event.map_or(0, |event| event.samples),
            all_weight: event.map_or(0, |event| event.weight),
            functions: ReportFunctions {
                profile: &self.profile,
                symbols: &self.symbols,
                sums: &sums[..limit.min(sums.len())],
            },
            coverage,
            dsos,
            warnings: &self.warnings,
        }
    }
}

impl<'a> ReportFunctions<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ReportFunction<'a>> + use<'a> {
        let functions = *self;
        self.sums.iter().map(move |sum| functions.function(sum))
    }

    /// Those in which samples ended and that have a name, in order, as other questions ask for them.
    pub fn ended_in(&self) -> impl Iterator<Item = FunctionRef> + use<'a> {
        let Self { profile, symbols, sums } = *self;
        let ended = sums.iter().filter(|sum| sum.self_sum.weight > 0);
        let refs =
            ended.filter_map(|sum| Some(FunctionRef::of(profile, symbols, sum.label.function()?)));
        refs.filter(|function| function.name.is_some())
    }

    fn function(&self, sum: &FunctionSum) -> ReportFunction<'a> {
        let function = sum.label.function().map(|id| self.symbols.function(id));
        let dso = function.map(|function| self.profile.dsos.get(function.dso));
        let name = function.and_then(|function| function.name);
        ReportFunction {
            name: name.map(printable),
            address: function.filter(|_| name.is_none()).map(|function| function.address),
            dso: dso.map(|dso| dso.path.as_str()),
            build_id: dso.and_then(|dso| dso.identity),
            self_weight: sum.self_sum.weight,
            total: sum.total.weight,
            self_samples: sum.self_sum.samples,
            total_samples: sum.total.samples,
            inlined: sum.inlined == Inlining::Always,
            forced: function.is_some_and(|function| function.provenance == Provenance::Forced),
        }
    }
}

impl Serialize for ReportFunctions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

pub(in crate::session) fn serialize_hex<S: Serializer>(
    address: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => serializer.collect_str(&format_args!("{address:x}")),
        None => serializer.serialize_none(),
    }
}

fn serialize_identity<S: Serializer>(
    identity: &Option<Identity>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match identity {
        Some(identity) => serializer.collect_str(identity),
        None => serializer.serialize_none(),
    }
}

/// A [`FilteredCoverage`] to be.
pub(super) struct CoverageWork {
    query: Query,
    /// Of names; if these change it begins anew.
    generation: u32,
    /// By event, as far as it is known: what steps leave.
    left: Vec<RemainingSamples>,
    counting: Option<Work<Uses>>,
}

impl CoverageWork {
    pub fn new(query: &Query) -> Self {
        Self { query: query.clone(), generation: 0, left: Vec::new(), counting: None }
    }

    pub fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<FilteredCoverage> {
        if self.generation != session.generation {
            let generation = session.generation;
            *self = Self { generation, ..Self::new(&self.query) };
        }
        let Self { query, left, counting, .. } = self;
        let drops = query.steps.iter().any(Transform::drops);
        while drops && left.len() < session.profile.events.len() {
            let event = left.len() as u32;
            match session.left(&Query { event, ..query.clone() }, rows) {
                ScanStep::More { done, total } => return ScanStep::More { done, total },
                ScanStep::Done(more) => left.push(more),
            }
        }
        let begin = || {
            let (profile, query) = (Arc::clone(&session.profile), query.clone());
            let left = std::mem::take(left);
            Work::new(async move |slice| filtered(&profile, &query, &left, &slice).await)
        };
        ScanStep::of(counting.get_or_insert_with(begin), rows).map(|uses| session.named(&uses))
    }
}

impl Session {
    fn named(&self, Uses { frames, dsos, .. }: &Uses) -> FilteredCoverage {
        let names = frames.names(&self.profile, &self.symbols);
        let used = dsos.iter().enumerate().filter(|(_, used)| used.samples > 0);
        let share = |(id, used): (usize, &DsoUse)| DsoShare {
            dso: id as u32,
            leaf_samples: used.leaf_samples,
            samples: used.samples,
            unnamed_leaf_samples: names.unnamed_leaves[id],
        };
        let coverage = Coverage::new(&names.frames, self.by_status(dsos), None);
        FilteredCoverage { coverage, dsos: used.map(share).collect() }
    }
}
