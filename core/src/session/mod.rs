//! [`Session`]: the only API that a host calls, natively and in the browser.
//!
//! It is synchronous and does no I/O. A host opens a recording with [`Opening`], pushing its
//! records block by block, and gets a session. Then it asks what is wanted, offers files to
//! [`Session::admit`], lets frames be named in slices with [`Session::name_frames`], and asks for
//! views. Calls that take long are cut into slices by the host, so that they can be cancelled.

mod accesses;
mod annotated;
mod answers;
mod branches;
mod breakdown;
mod call_node_around;
mod callers;
mod code_tables;
mod code_wanted;
mod compare;
mod compare_rows;
mod comparing;
mod data_names;
mod diff;
mod drawn;
mod export;
mod flame;
mod frame_places;
mod frame_pointers;
mod going_on;
mod hot_lines;
mod images_here;
mod info;
mod names;
mod namesakes;
mod occurrence;
mod opening;
mod place_texts;
mod query;
mod questions;
mod ranges;
mod recorded_files;
mod replay;
mod report;
mod sandwich;
mod search;
mod share;
mod shared_names;
mod time_order;
mod times;
mod trees;
mod unwinding;

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::sort_by_key;
use std::rc::Rc;
use std::sync::Arc;

use perftab_export::script::{self, Field, Traces};
use perftab_export::script_fields::{self, Layout, Names};
use perftab_images::{CodeTable, Images, RecordedIdentities, is_jitdump};
use perftab_names::{Ledger, MatchedSymbols, Symbols};
use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::format::perftab_section::EmbeddedFile;
use perftab_perfdata::text::printable;
use perftab_profile::ingest::{Ingested, RecordCompression};
use perftab_profile::{DsoId, EmbeddedSymbols, MappedIn, Profile};
use perftab_snapshot::{Facts, Fidelity};
use perftab_views::Query;
use perftab_views::coverage::{FrameUses, Uses};
use perftab_views::filter::Filter;
use perftab_views::place_texts::PlaceTexts;

pub use perftab_images::{AdmittedFile, NotUsed, OfferReport, OfferStep, UsedFile};
pub use perftab_profile::ingest::{
    DumpUse, DumpWatcher, DumpedSample, SampleWatcher, StackDumps, Unpacked, WatchedSample,
};

pub use accesses::AccessRows;
pub use annotated::{AnnotatedCode, DecodedCode};
pub use answers::{CallNodeDetail, CallTreeRows, FlameWindow, FunctionRows, PathStep, Place};
pub use branches::{
    BranchBlock, BranchBlocks, BranchCell, BranchHistory, BranchPlaces, BranchReading, BranchTable,
    BranchTableRow, BranchWay, BranchedSample, CodeName, CodePlace, FunctionBlocks, Gather,
    HistoryStep, ShownBlock, ShownRun, SummedBranches, TimedRuns,
};
pub use breakdown::{Breakdown, BreakdownRow, Cell};
pub use call_node_around::CallNodeAround;
pub use callers::{Caller, Callers, CallersExtent};
pub use code_tables::MadeCodePlace;
pub use code_wanted::{CodeWanted, RecordedJitdump, code_from_bytes, code_to_bytes};
pub use compare::{
    ChangeDetail, ChangesRequest, CompareSearch, CompareView, ComparedDetail, ComparedRow,
    ComparedTrees, DsoPairRow, FunctionDetail, SideTotal,
};
pub use compare_rows::{ChangeRows, ComparedRows, ComparedTreeRows};
pub use comparing::ComparisonBuilder;
pub use data_names::DataRequest;
pub use diff::{DiffFunction, DiffTotal};
pub use drawn::{DrawnComparison, DrawnGraph, DrawnTimeOrder};
pub use export::{Export, ExportContents, ExportStep, USUAL_LIMIT};
pub use flame::FlameWork;
pub use hot_lines::{Amount, CodeHeat, CodeHeatRows, HotInstruction, HotLine, HotLines};
pub use images_here::{ForceResult, Offer};
pub use info::{
    AuxInfo, DsoRow, EventInfo, EventTotal, FormatInfo, HostInfo, IdentityKind, LostInfo,
    ProfileInfo, TimeInfo, WantedDso,
};
pub use names::NamingProgress;
pub use occurrence::OccurrenceRequest;
pub use opening::{Opening, OpeningProgress, PackedForm, Packing, UnpackAhead, WantedBytes};
pub use perftab_views::build::TreeDetail;
pub use place_texts::HotPlaceRows;
pub use questions::{Answer, Arguments, Asked, ComparedAnswer, ComparedQuestion, Question};
pub use ranges::RangePreview;
pub use recorded_files::{RecordedFile, RecordedFiles, RecordedInode};
pub use replay::Replay;
pub use report::{Coverage, DsoShare, FilteredCoverage, Report, ReportFunction, ReportFunctions};
pub use sandwich::{CodePart, SandwichFacts};
pub use search::{FoundRows, SearchResult};
pub use share::{FidelityInfo, ShareWork, SharedLink};
pub use time_order::TimeWindow;
pub use times::{MarkRows, ScanStep};
pub use unwinding::{CallerGuesses, StackWalk, Unwinding, UnwindingShare, UnwoundShare};

/// A recording or link that is open, and everything that is known of its names.
pub struct Session {
    /// Work in progress has a share of it.
    profile: Arc<Profile>,
    format: FormatInfo,
    warnings: Vec<Warning>,
    /// What was counted once, when everything had been read.
    facts: Rc<Facts>,
    /// What the coverage is worked out from, whatever has names.
    frame_uses: FrameUses,
    /// What a link holds of its recording; `None` for a recording.
    fidelity: Option<Fidelity>,
    /// How the sender of a link looked at it; empty if that is not known.
    view: String,
    /// What the sender of a link calls it.
    title: Option<String>,
    symbols: shared_names::SharedNames,
    ledger: Ledger,
    recorded: RecordedIdentities,
    naming: names::Naming,
    /// The files, where the host keeps them here.
    images: Option<Images>,
    /// DSOs of which the host knows that they were the same until their build-ids were read.
    vouched: Set<DsoId>,
    /// Symbols that travelled in the recording.
    embedded: Vec<MatchedSymbols>,
    /// Files that travelled in the recording, until a host takes them.
    embedded_files: Vec<EmbeddedFile>,
    /// DSOs that branches are in or lead to.
    in_branches: Set<DsoId>,
    /// Branches that blocks of functions are asked of, once somebody has read them.
    kept_branches: Option<branches::KeptBranches>,
    /// What processes say of their code.
    code_tables: Vec<code_tables::PlacedTable>,
    /// What the recording has of that, or was offered, and nobody ran yet: stacks may be unwound into it.
    waiting_code: Vec<CodeTable>,
    /// The processes of which the machine of the recording was asked what code they made.
    code_asked: Set<u32>,
    unwound: unwinding::Unwound,
    /// Where the data of memory accesses lay, and what is called what there.
    data: data_names::AccessedData,
    /// What views of time are made from.
    times: times::Times,
    trees: trees::Trees,
    /// Those of the next generation; none of them is of other names than there are.
    next_trees: trees::Trees,
    /// What trees of ranges are made from, if any were asked for.
    ranges: ranges::Ranges,
    /// By event: the usual distance between samples.
    distances: Map<u32, u64>,
    /// What links are made of, if any were asked for.
    link_cache: share::LinkCache,
    /// What stands at lines and instructions by a link, once a host has read more.
    brought_texts: Option<PlaceTexts>,
    /// Changes whenever names do; ids of call nodes are of one generation.
    generation: u32,
}

/// Whether it is what recorders embed.
fn is_plain_image(file: &EmbeddedFile) -> bool {
    file.bytes.starts_with(b"\x7fELF") || is_jitdump(&file.bytes)
}

impl Session {
    fn new(ingested: Ingested, mut format: FormatInfo) -> Self {
        let Ingested {
            profile,
            dumps,
            warnings,
            symbols: embedded,
            perf_maps,
            embedded_files,
            compression,
        } = ingested;
        if compression == RecordCompression::Zstd {
            format.compression = "zstd";
        }
        let mut warnings = share::printable_warnings(warnings);
        let symbols = Symbols::new(&profile);
        let ledger = Ledger::new(&profile.dsos);
        let recorded = RecordedIdentities::new(&profile.dsos);
        let Uses { frames: frame_uses, dsos, lost_callers } = Uses::of(&profile);
        if let Some(warning) = frame_pointers::missing(&profile, &dsos, &lost_callers) {
            let behind = warnings.iter().position(|it| it.kind > warning.kind);
            warnings.insert(behind.unwrap_or(warnings.len()), warning);
        }
        let facts = Facts::with_uses(&profile, dsos);
        let mut session = Self {
            profile: profile.into(),
            format,
            warnings,
            facts: facts.into(),
            frame_uses,
            fidelity: None,
            view: String::new(),
            title: None,
            symbols: symbols.into(),
            ledger,
            recorded,
            naming: names::Naming::default(),
            images: None,
            vouched: Set::new(),
            embedded: Vec::new(),
            embedded_files: embedded_files.into_iter().filter(is_plain_image).collect(),
            in_branches: Set::new(),
            kept_branches: None,
            code_tables: Vec::new(),
            waiting_code: code_tables::recorded(perf_maps),
            code_asked: Set::new(),
            unwound: unwinding::Unwound::of(dumps),
            data: data_names::AccessedData::default(),
            trees: trees::Trees::default(),
            next_trees: trees::Trees::default(),
            distances: Map::new(),
            ranges: ranges::Ranges::default(),
            times: times::Times::default(),
            link_cache: share::LinkCache::default(),
            brought_texts: None,
            generation: 0,
        };
        for symbols in embedded {
            session.admit_embedded(symbols);
        }
        session.take_waiting_code();
        session.say_what_can_be_unwound();
        session
    }

    /// Notes for the ledger what a host tried to name a DSO: a file, a place or a server, and what
    /// came of it.
    pub fn note_attempt(&mut self, dso: DsoId, what: &str, outcome: &str) {
        self.ledger.note(dso, what, outcome);
    }

    /// Files that travelled in the recording: a host offers them like those that it is given. Nobody chose them, so none is
    /// an archive that would have to be unpacked.
    pub fn embedded_files(&self) -> &[EmbeddedFile] {
        &self.embedded_files
    }

    /// The same for a host that keeps them itself. There are none the second time.
    pub fn take_embedded_files(&mut self) -> Vec<EmbeddedFile> {
        std::mem::take(&mut self.embedded_files)
    }

    /// The host of the recording sees that these files did not change while it was made, so that
    /// it does not matter when their build-ids were read.
    pub fn vouch(&mut self, dsos: impl IntoIterator<Item = DsoId>) {
        self.vouched.extend(dsos);
    }

    /// Takes the identity away from DSOs whose build-id was read after their file had become
    /// another: what only the host of the recording can see. Before any file is offered.
    pub fn distrust(&mut self, dsos: &[DsoId]) {
        let mut paths = Vec::new();
        let count = self.profile.dsos.len();
        for &id in dsos.iter().filter(|id| id.index() < count) {
            let dso = Arc::make_mut(&mut self.profile).dsos.get_mut(id);
            dso.identity = None;
            dso.recorded_by = None;
            dso.no_identity_because = Some(
                "its file was replaced or written to during the recording, and its build-id was \
                 read only afterwards",
            );
            self.ledger.begin_again(id, dso);
            paths.push(printable(&dso.path).into_owned());
        }
        if paths.is_empty() {
            return;
        }
        self.recorded = RecordedIdentities::new(&self.profile.dsos);
        self.images = None;
        let message = format!(
            "Replaced or written to during the recording, with build-ids that were read only \
             afterwards, so these stay without names: {}. Record with `perf record \
             --buildid-mmap` or `perftab record`.",
            paths.join(", ")
        );
        let kind = WarningKind::Ambiguous;
        let count = paths.len() as u64;
        self.warnings.push(Warning { kind, offset: None, count, samples: None, message });
        sort_by_key(&mut self.warnings, |warning| warning.kind);
    }

    /// Symbols that travelled in the recording pass the same gate as a file.
    fn admit_embedded(&mut self, symbols: EmbeddedSymbols) {
        if let Some(matched) = MatchedSymbols::admit(&self.recorded, symbols) {
            self.symbols.change().embedded(&self.profile, &matched);
            for &dso in matched.dsos() {
                self.ledger.embedded(dso);
            }
            self.embedded.push(matched);
        }
    }

    pub(super) fn names_changed(&mut self) {
        self.symbols.let_go_of_readers();
        self.times.names_changed();
        self.data.known_rows = None;
        self.ranges = ranges::Ranges::default();
        self.trees.names_changed(self.generation);
        self.next_trees = trees::Trees::default();
        self.link_cache = share::LinkCache::default();
        self.naming.all_shown();
        self.generation = self.generation.wrapping_add(1);
    }

    /// What was lost or is doubtful.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The columns; for exports and tests.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The names; for exports and tests.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Appends a sample as text, for scripts. The sample is one that a second reading of the same
    /// recording shows ([`Replay`]): names may come from the recording's end. `unwound` is what a [`StackWalk`] says of
    /// it, `more` are lines of the host's own.
    pub fn write_sample(
        &self,
        sample: &WatchedSample<'_>,
        unwound: &[u64],
        fields: &[Field],
        (traces, more): (&mut Traces, &str),
        text: &mut String,
    ) {
        self.with_names(sample, |names| {
            script::write_sample(names, sample, unwound, fields, traces, more, text);
        });
    }

    /// Hands out what a sample's names come from.
    fn with_names(&self, sample: &WatchedSample<'_>, write: impl FnOnce(&Names<'_>)) {
        let kernel = |address| self.profile.mappings.find(MappedIn::Kernel, sample.row, address);
        let function_at = |address| self.symbol_at(kernel(address)?);
        let offset = |frame| Some(self.symbol_at(self.profile.frames.get(frame))?.1);
        let (profile, symbols) = (&*self.profile, &self.symbols);
        write(&Names { profile, symbols, offset: &offset, function_at: &function_at });
    }

    /// Appends a sample in another layout.
    pub fn write_fields(
        &self,
        sample: &WatchedSample<'_>,
        unwound: &[u64],
        layout: &Layout,
        traces: &mut Traces,
        text: &mut String,
    ) {
        self.with_names(sample, |names| {
            script_fields::write_fields(names, sample, unwound, layout, traces, text);
        });
    }

    /// The function that a sample ended in; `None` if that has no name.
    pub fn leaf_name(&self, sample: &WatchedSample<'_>) -> Option<&str> {
        let stack = sample.stack_in(&self.profile)?;
        let frame = self.profile.stacks.frames(stack).next()?;
        self.symbols.function(self.symbols.levels(frame).last()?.function).name
    }

    /// Which rows of the profile a query's filters take, by their numbers; of all events.
    pub fn taken_rows(&self, query: &Query) -> Vec<bool> {
        let filter = Filter::new(&self.profile, query);
        let rows = 0..self.profile.samples.len();
        rows.map(|row| filter.removed_by(row).is_none()).collect()
    }
}
