//! Reads a snapshot: its bytes into tables and call nodes, which `rebuild` makes a profile of.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;

use perftab_names::{Inlining, Ledger, LedgerRow, Provenance, Status};
use perftab_perfdata::error::Warning;
use perftab_perfdata::format::{BuildId, IdLength};
use perftab_profile::{
    ContentHash, Dso, DsoId, DsoKind, Event, ExecutableMapping, Host, Identity, KernelPlace, Lost,
    MappedFrom, Profile,
};
use perftab_views::coverage::{self, DsoUse, FrameCoverage};
use perftab_views::weights::Sum;

use super::bins::read_pids;
use super::codes::{self, gives_of};
use super::container;
use super::fields::{Field, Reader, unzigzag};
use super::heat::read_heat;
use super::rebuild::{Rebuild, add_pseudo_dso};
use super::{
    BILLION, MAX_COUNTED, MAX_DEPTH, MAX_DSOS, MAX_MAPPINGS, MAX_NODES, MAX_PROCESSES, MAX_WARNINGS,
};
use super::{
    Contents, FOLDED, Facts, Fidelity, LeftOut, OriginalTree, Snapshot, SnapshotError, Times,
};

/// Opens a payload (`p1.…`).
pub fn decode(payload: &str) -> Result<Snapshot, SnapshotError> {
    let streams = container::unpack(payload)?;
    let mut read = Reader::new(&streams);
    let mut profile = Profile::default();
    let (facts, fidelity, lost, recorded) = read_facts(&mut read)?;
    let view = read_view(&mut read)?;
    profile.lost = lost;
    profile.host = read_host(&mut read)?;
    let warnings = read_warnings(&mut read)?;
    let title;
    (title, profile.recorder.version) = read_about(&mut read)?;
    let (mut rows, mut uses) = read_dsos(&mut read, &mut profile)?;
    let functions = read_functions(&mut read, &profile, &rows)?;
    let nodes = read_nodes(&mut read, &functions, profile.dsos.len())?;
    let times = match read.left(Field::Times) {
        0 => Times::None,
        _ => entry(&codes::TIMES, read.byte(Field::Times)?)?,
    };

    let folded = add_pseudo_dso(&mut profile, DsoKind::Folded, FOLDED);
    let unmapped = add_pseudo_dso(&mut profile, DsoKind::Unmapped, "[no mapping]");
    for dso in [folded, unmapped] {
        rows.push(LedgerRow::new(profile.dsos.get(dso)));
        uses.push(DsoUse::default());
    }
    let mut builder = Rebuild::new(profile, functions, folded, unmapped);
    let pids = match times {
        Times::Processes | Times::Threads => read_pids(&mut read, processes(&nodes))?,
        Times::None | Times::Samples => Vec::new(),
    };
    let places = builder.add_nodes(&nodes, &pids)?;
    let units = builder.add_events(&mut read)?;
    match times {
        Times::Samples => {
            builder.add_samples(&mut read, &units, &places, &facts)?;
        }
        Times::None => builder.add_sums(&mut read, &units, &places)?,
        Times::Processes | Times::Threads => {
            builder.add_sums(&mut read, &units, &places)?;
            builder.add_bins(&mut read, times, &units)?;
        }
    }
    let (profile, mut symbols, functions) = builder.finish();
    check_totals(&profile)?;
    let (heat, texts) = read_heat(&mut read, &profile, &mut symbols, &functions, &units)?;
    let part_of = read_part_of(&mut read, profile.events.len())?;
    let ledger = Ledger::from_rows(rows);
    let folded = recorded.without(&coverage::frames(&profile, &symbols));
    let facts = Facts { uses, folded, part_of, heat, texts, ..facts };
    // Two of the DSOs are the pseudo ones of this side.
    let kept_dsos = profile.dsos.len() as u64 - 2;
    let total_dsos = kept_dsos.saturating_add(facts.left_out.dsos);
    let fidelity = Fidelity { kept_dsos, total_dsos, times, ..fidelity };
    Ok(Snapshot { profile, symbols, ledger, warnings, facts, fidelity, view, title })
}

/// Every sample of an event ended in a call node, and none in two.
fn check_totals(profile: &Profile) -> Result<(), SnapshotError> {
    let samples = &profile.samples;
    let mut sums = vec![Sum::default(); profile.events.len()];
    for row in 0..samples.len() {
        let sum = Sum { samples: samples.count(row), weight: samples.weight.at(row) };
        sums[usize::from(samples.event[row])].add(sum);
    }
    let is_whole =
        |(event, sum): (&Event, &Sum)| *sum == Sum { samples: event.samples, weight: event.weight };
    if profile.events.iter().zip(&sums).all(is_whole) { Ok(()) } else { invalid("totals") }
}

fn processes(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| matches!(node.what, NodeKind::Group(_))).count()
}

impl Snapshot {
    /// For another snapshot of this one.
    pub fn contents(&self) -> Contents<'_> {
        Contents {
            profile: &self.profile,
            symbols: &self.symbols,
            ledger: &self.ledger,
            warnings: &self.warnings,
            facts: &self.facts,
        }
    }
}

pub(super) fn invalid<T>(what: &'static str) -> Result<T, SnapshotError> {
    Err(SnapshotError::Invalid { what })
}

/// A number of things that a snapshot may have.
pub(super) fn at_most(limit: usize, count: usize) -> Result<usize, SnapshotError> {
    if count > limit { invalid("a number of things") } else { Ok(count) }
}

/// Facts, fidelity, losses, and how much of the recording had names.
fn read_facts(
    read: &mut Reader<'_>,
) -> Result<(Facts, Fidelity, Lost, FrameCoverage), SnapshotError> {
    let has_time = read.number(Field::Facts)? != 0;
    let (start, length) = (read.number(Field::Facts)?, read.number(Field::Facts)?);
    let mut next = || counted(read.number(Field::Facts)?);
    let time = has_time.then(|| (start, start.saturating_add(length)));
    let facts = Facts { time, processes: next()?, threads: next()?, ..Facts::default() };
    let lost = Lost { events: next()?, samples: next()? };
    let (kept_nodes, nodes) = (next()?, next()?);
    let kept_weight_share = share(next()?);
    let before = OriginalTree { nodes, threshold: next()?.min(BILLION) };
    let fidelity = Fidelity {
        kept_nodes,
        total_nodes: nodes,
        kept_weight_share,
        threshold_share: before.threshold(),
        folded_weight: next()?,
        ..Fidelity::default()
    };
    if fidelity.kept_nodes > fidelity.total_nodes {
        return invalid("what was kept");
    }
    let mut recorded = FrameCoverage {
        frames: next()?,
        named: next()?,
        named_leaves: next()?,
        ..FrameCoverage::default()
    };
    let mut left_out = LeftOut { dsos: next()?, ..LeftOut::default() };
    for samples in &mut left_out.leaf_samples {
        *samples = next()?;
    }
    if read.left(Field::Facts) > 0 {
        recorded.forced = read.number(Field::Facts)?;
        recorded.forced_leaves = read.number(Field::Facts)?;
    }
    Ok((Facts { left_out, before: Some(before), ..facts }, fidelity, lost, recorded))
}

/// A number of things, or a weight: pages have no larger ones.
fn counted(number: u64) -> Result<u64, SnapshotError> {
    if number > MAX_COUNTED { invalid("a number") } else { Ok(number) }
}

fn share(billionths: u64) -> f64 {
    billionths.min(BILLION) as f64 / BILLION as f64
}

/// How the sender looked at it; what could be in no address is passed over.
fn read_view(read: &mut Reader<'_>) -> Result<String, SnapshotError> {
    if read.left(Field::View) == 0 {
        return Ok(String::new());
    }
    let Ok(text) = read.text(Field::View) else { return Ok(String::new()) };
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    Ok(if is_plain { text } else { String::new() })
}

/// What the recording has of each event, if this is a part of it.
fn read_part_of(read: &mut Reader<'_>, events: usize) -> Result<Vec<Sum>, SnapshotError> {
    if read.left(Field::PartOf) == 0 {
        return Ok(Vec::new());
    }
    let mut next = || read.number(Field::PartOf);
    (0..events).map(|_| Ok(Sum { samples: next()?, weight: next()? })).collect()
}

fn read_host(read: &mut Reader<'_>) -> Result<Host, SnapshotError> {
    if read.left(Field::HostNumbers) == 0 {
        return Ok(Host::default());
    }
    let mut text = || read.optional_text(Field::Host);
    let (hostname, os_release, arch) = (text()?, text()?, text()?);
    let cpus = read.number(Field::HostNumbers)?.checked_sub(1).map(|cpus| cpus.min(1 << 20) as u32);
    let arguments = read.count(Field::HostNumbers, Field::Host)?;
    let cmdline: Result<_, _> = (0..arguments).map(|_| read.text(Field::Host)).collect();
    // Links do not have the distribution: it tells where names are to be had, and links have them.
    Ok(Host { hostname, os_release, arch, cpus, cmdline: cmdline?, distribution: None })
}

/// What the sender calls it, and the version of what recorded it; links before this stream know neither.
fn read_about(read: &mut Reader<'_>) -> Result<(Option<String>, Option<String>), SnapshotError> {
    if read.left(Field::About) == 0 {
        return Ok((None, None));
    }
    Ok((read.optional_text(Field::About)?, read.optional_text(Field::About)?))
}

fn read_warnings(read: &mut Reader<'_>) -> Result<Vec<Warning>, SnapshotError> {
    let count = at_most(MAX_WARNINGS, read.count(Field::WarningNumbers, Field::Warnings)?)?;
    let mut warnings = Vec::new();
    for _ in 0..count {
        let kind = entry(&codes::WARNING_KINDS, read.byte(Field::WarningNumbers)?)?;
        let offset = read.number(Field::WarningNumbers)?.checked_sub(1);
        let count = read.number(Field::WarningNumbers)?;
        // Writers before this stream did not count them.
        let samples = match read.left(Field::WarningSamples) {
            0 => None,
            _ => read.number(Field::WarningSamples)?.checked_sub(1),
        };
        let message = read.text(Field::Warnings)?;
        warnings.push(Warning { kind, offset, count, samples, message });
    }
    Ok(warnings)
}

/// What stands at a position of a table of codes.
pub(super) fn entry<T: Copy>(table: &[T], code: u8) -> Result<T, SnapshotError> {
    table.get(usize::from(code)).copied().ok_or(SnapshotError::Invalid { what: "a kind" })
}

fn read_dsos(
    read: &mut Reader<'_>,
    profile: &mut Profile,
) -> Result<(Vec<LedgerRow>, Vec<DsoUse>), SnapshotError> {
    let count = at_most(MAX_DSOS, read.texts_left(Field::PATHS))?;
    let mut path = String::new();
    let (mut rows, mut uses) = (Vec::new(), Vec::new());
    for _ in 0..count {
        path = read.next_text(Field::PATHS, &path)?;
        let kind = read.byte(Field::DsoKinds)?;
        let identity = read_identity(read)?;
        let status = read.byte(Field::DsoStatuses)?;
        let mut row = LedgerRow::with_status(entry(&codes::STATUSES, status & 7)?, None);
        row.set_holds(gives_of(status >> 3));
        row.reason = read.optional_text(Field::DsoTexts)?;
        row.image = read.optional_text(Field::DsoTexts)?;
        row.found = read.optional_text(Field::DsoTexts)?;
        rows.push(row);
        profile.dsos.add(Dso {
            path: path.clone(),
            kind: entry(&codes::DSO_KINDS, kind & 15)?,
            mapped_from: match identity {
                Some(Identity::Gnu(id)) => MappedFrom::BuildId(id),
                _ => MappedFrom::Nothing,
            },
            identity,
            // A link has ids as they are.
            id_length: IdLength::Recorded,
            recorded_by: entry(&codes::RECORDED_BY, kind >> 4)?,
            no_identity_because: None,
            listed_as: None,
            is_deleted: false,
            executable: read
                .number(Field::DsoPlaces)?
                .checked_sub(1)
                .map(mapped_at)
                .into_iter()
                .collect(),
            process: None,
            kernel_place: KernelPlace {
                reference: read.number(Field::DsoPlaces)?.checked_sub(1),
                ..KernelPlace::default()
            },
        });
        uses.push(DsoUse {
            leaf_samples: read.number(Field::DsoUses)?,
            samples: read.number(Field::DsoUses)?,
        });
    }
    read_mappings(read, profile)?;
    Ok((rows, uses))
}

/// A mapping of which only the start is known.
fn mapped_at(offset: u64) -> ExecutableMapping {
    ExecutableMapping { offset, length: None }
}

/// Where the code of DSOs was mapped from whose code was mapped from several places.
fn read_mappings(read: &mut Reader<'_>, profile: &mut Profile) -> Result<(), SnapshotError> {
    while read.left(Field::DsoMappings) > 0 {
        let position = read.number(Field::DsoMappings)? as usize;
        if position >= profile.dsos.len() {
            return invalid("a mapping");
        }
        let count = at_most(MAX_MAPPINGS, read.number(Field::DsoMappings)? as usize)?;
        let dso = profile.dsos.get_mut(DsoId(position as u32));
        dso.executable.clear();
        for _ in 0..count {
            let offset = read.number(Field::DsoMappings)?;
            let length = Some(read.number(Field::DsoMappings)?).filter(|&length| length > 0);
            dso.add_executable(ExecutableMapping { offset, length });
        }
    }
    Ok(())
}

fn read_identity(read: &mut Reader<'_>) -> Result<Option<Identity>, SnapshotError> {
    let length = read.byte(Field::DsoIdentityLengths)?;
    if length == codes::CONTENT_HASH {
        let bytes = read.bytes(Field::DsoIdentities, 16)?;
        return Ok(bytes.try_into().ok().map(|hash| Identity::Content(ContentHash(hash))));
    }
    if length == 0 {
        return Ok(None);
    }
    let id = BuildId::new(read.bytes(Field::DsoIdentities, usize::from(length))?);
    match id {
        Some(id) => Ok(Some(Identity::Gnu(id))),
        None => invalid("a build-id"),
    }
}

/// A function as it was written.
pub(super) enum DecodedFunction {
    Named { dso: DsoId, name: String, provenance: Provenance, file: Option<usize> },
    Unnamed { dso: DsoId, address: u64 },
}

pub(super) struct Functions {
    pub(super) decoded: Vec<DecodedFunction>,
    pub(super) files: Vec<String>,
}

/// Whether names may come from there in a DSO of this status: what is forced is never mixed with what
/// matched, and no file was used of what is missing or another build.
fn may_come(provenance: Provenance, status: Status) -> bool {
    match provenance {
        Provenance::Forced => status == Status::Forced,
        // Of a file without symbols there are the entries of its linkage table.
        Provenance::Matched => {
            matches!(status, Status::Matched | Status::Embedded | Status::NoSymbols)
        }
        Provenance::SelfNamed => status == Status::SelfNamed,
        Provenance::Embedded | Provenance::Unnamed => true,
    }
}

fn read_functions(
    read: &mut Reader<'_>,
    profile: &Profile,
    rows: &[LedgerRow],
) -> Result<Functions, SnapshotError> {
    let count = at_most(MAX_NODES, read.texts_left(Field::FILES))?;
    let mut files: Vec<String> = Vec::new();
    for _ in 0..count {
        let before = files.last().map_or("", String::as_str);
        let file = read.next_text(Field::FILES, before)?;
        files.push(file);
    }
    let mut decoded = Vec::new();
    let mut name = String::new();
    for ((dso, _), row) in profile.dsos.iter().zip(rows) {
        let named = read.count(Field::DsoFunctions, Field::NameProvenances)?;
        let unnamed = read.count(Field::DsoFunctions, Field::Addresses)?;
        at_most(MAX_NODES, decoded.len() + named + unnamed)?;
        for _ in 0..named {
            name = read.next_text(Field::NAMES, &name)?;
            let provenance = entry(&codes::PROVENANCES, read.byte(Field::NameProvenances)?)?;
            if !may_come(provenance, row.status) {
                return invalid("a name of a file that was not used");
            }
            let file = match read.number(Field::NameFiles)?.checked_sub(1) {
                None => None,
                Some(file) if file < files.len() as u64 => Some(file as usize),
                Some(_) => return invalid("a source file"),
            };
            decoded.push(DecodedFunction::Named { dso, name: name.clone(), provenance, file });
        }
        let mut address = 0u64;
        for _ in 0..unnamed {
            address = address.wrapping_add(read.number(Field::Addresses)?);
            decoded.push(DecodedFunction::Unnamed { dso, address });
        }
    }
    Ok(Functions { decoded, files })
}

/// A call node as it was written.
pub(super) struct Node {
    pub(super) parent: u32,
    /// Callers above it.
    depth: u32,
    pub(super) what: NodeKind,
}

pub(super) enum NodeKind {
    Root,
    Group(String),
    Folded,
    NoMapping,
    Function {
        index: usize,
        inlining: Inlining,
        line: Option<NonZeroU32>,
    },
    /// All functions of a DSO that called each other.
    Dso(DsoId),
}

/// Reads the tree; callers come before what they call.
fn read_nodes(
    read: &mut Reader<'_>,
    functions: &Functions,
    dsos: usize,
) -> Result<Vec<Node>, SnapshotError> {
    let groups = at_most(MAX_PROCESSES, read.texts_left(Field::GROUPS))?;
    // Each that was kept may have a folded one below it.
    at_most(MAX_NODES * 2, read.left(Field::NodeChildren))?;
    let mut nodes: Vec<Node> = Vec::new();
    // Callers whose calls are not complete: index, code, calls left.
    let mut callers: Vec<(u32, u64, u64)> = Vec::new();
    let mut met: Map<u64, Vec<u64>> = Map::new();
    let mut lines: Map<u64, i64> = Map::new();
    let mut group = String::new();
    loop {
        let children = read.number(Field::NodeChildren)?;
        let caller = callers.last_mut().map(|(index, code, left)| {
            *left -= 1;
            (*index, *code)
        });
        let (parent, code, what) = match caller {
            None if children != groups as u64 => return invalid("processes"),
            None => (0, codes::CODE_GROUP, NodeKind::Root),
            Some((0, _)) => {
                group = read.next_text(Field::GROUPS, &group)?;
                (0, codes::CODE_GROUP, NodeKind::Group(group.clone()))
            }
            Some((parent, caller)) => {
                let call = read_call(read, met.entry(caller).or_default())?;
                let code = call >> 1;
                let what = read_what(read, functions, dsos, call, &mut lines)?;
                (parent, code, what)
            }
        };
        let depth = nodes.get(parent as usize).map_or(0, |caller| caller.depth + 1);
        // The deepest that is kept may have a folded one below it.
        at_most(MAX_DEPTH + 1, depth as usize)?;
        nodes.push(Node { parent, depth, what });
        while callers.last().is_some_and(|&(_, _, left)| left == 0) {
            callers.pop();
        }
        if children > read.left(Field::NodeChildren) as u64 {
            return invalid("a call tree");
        }
        if children > 0 {
            callers.push((nodes.len() as u32 - 1, code, children));
        }
        if callers.is_empty() {
            return Ok(nodes);
        }
    }
}

/// A call: its number among those met under the same caller, or a new one.
fn read_call(read: &mut Reader<'_>, met: &mut Vec<u64>) -> Result<u64, SnapshotError> {
    match read.number(Field::NodePairs)?.checked_sub(1) {
        None => {
            let call = read.number(Field::NodeFunctions)?;
            met.push(call);
            Ok(call)
        }
        Some(number) => {
            let call = usize::try_from(number).ok().and_then(|number| met.get(number));
            call.copied().ok_or(SnapshotError::Invalid { what: "a call" })
        }
    }
}

fn read_what(
    read: &mut Reader<'_>,
    functions: &Functions,
    dsos: usize,
    call: u64,
    lines: &mut Map<u64, i64>,
) -> Result<NodeKind, SnapshotError> {
    let code = call >> 1;
    let inlining = if call & 1 == 0 { Inlining::Called } else { Inlining::Inlined };
    if code == codes::CODE_FOLDED {
        return Ok(NodeKind::Folded);
    }
    let Some(index) = code.checked_sub(codes::CODE_FUNCTIONS) else {
        return Ok(NodeKind::NoMapping);
    };
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let line = match functions.decoded.get(index) {
        None => {
            let dso = index.checked_sub(functions.decoded.len()).filter(|&dso| dso < dsos);
            let dso = dso.ok_or(SnapshotError::Invalid { what: "a function" })?;
            return Ok(NodeKind::Dso(DsoId(dso as u32)));
        }
        Some(DecodedFunction::Named { file: Some(_), .. }) => {
            let line = lines.entry(code).or_default();
            *line = line.wrapping_add(unzigzag(read.number(Field::NodeLines)?));
            u32::try_from(*line).ok().and_then(NonZeroU32::new)
        }
        Some(_) => None,
    };
    Ok(NodeKind::Function { index, inlining, line })
}
