//! [`Session`]: the only API that a host calls, natively and in the browser.
//!
//! It is synchronous and does no I/O. A host opens a recording with [`Opening`], pushing its
//! records block by block, and gets a session. Then it asks what is wanted, offers files to
//! [`Session::admit`], lets frames be named in slices with [`Session::name_frames`], and asks for
//! views. Calls that take long are cut into slices by the host, so that they can be cancelled.

mod answers;
mod breakdown;
mod callers;
mod compare;
mod compare_rows;
mod comparing;
mod diff;
mod export;
mod flame;
mod force;
mod hot_lines;
mod info;
mod namesakes;
mod occurrence;
mod offer;
mod opening;
mod place_texts;
mod query;
mod ranges;
mod recorded_files;
mod report;
mod sandwich;
mod search;
mod share;
mod time_order;
mod times;
mod trees;

use perftab_perfdata::sorting::sort_by_key;
use std::collections::{BTreeMap, HashSet};

use perftab_export::script;
use perftab_images::{
    DsoImages, Image, MatchedImage, NamingDepth, NotAnImage, RecordedIdentities, Rejection,
    SupplementaryLink,
};
use perftab_names::{Ledger, MatchedSymbols, NamingWork, Status, Symbols};
use perftab_perfdata::decode::ByteSource;
use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::text::printable;
use perftab_profile::ingest::{Ingested, RecordCompression};
use perftab_profile::{CountedAs, DsoId, EmbeddedSymbols, Profile};
use perftab_snapshot::{Facts, Fidelity, LinkCache};
use perftab_views::coverage::FrameUses;

pub use perftab_profile::ingest::{SampleWatcher, WatchedSample};

pub use answers::{CallNodeDetail, CallTreeRows, FlameWindow, FunctionRows, PathStep, Place};
pub use breakdown::{Breakdown, BreakdownRow, Cell};
pub use callers::Caller;
pub use compare::{
    ChangeDetail, ChangesRequest, CompareSearch, CompareView, ComparedDetail, ComparedRow,
    ComparedTrees, DsoPairRow, FunctionDetail, SideTotal,
};
pub use compare_rows::{ChangeRows, ComparedRows, ComparedTreeRows};
pub use comparing::ComparisonBuilder;
pub use diff::{DiffFunction, DiffTotal};
pub use export::{Export, ExportStep, USUAL_LIMIT};
pub use flame::FlameWork;
pub use force::ForceResult;
pub use hot_lines::{Amount, HotInstruction, HotLine, HotLines};
pub use info::{
    AuxInfo, DsoRow, EventInfo, EventTotal, FormatInfo, HostInfo, IdentityKind, LostInfo,
    ProfileInfo, TimeInfo, WantedDso,
};
pub use occurrence::{OccurrenceRequest, OccurrenceWork};
pub use offer::{NotUsed, Offer, OfferReport, OfferStep, UsedFile};
pub use opening::{Opening, OpeningProgress, WantedBytes};
pub use ranges::RangePreview;
pub use recorded_files::{RecordedFile, RecordedFiles, RecordedInode};
pub use report::{
    Coverage, CoverageWork, DsoShare, FilteredCoverage, Report, ReportFunction, ReportFunctions,
};
pub use sandwich::{CodePart, SandwichFacts};
pub use search::{SearchResult, SearchWork};
pub use share::{FidelityInfo, ShareWork, SharedLink};
pub use time_order::TimeWindow;
pub use times::{DsoUsersWork, HeatMapWork, MarkRows, Scan, ScanStep, TimelineWork};
pub use trees::TreeDetail;

/// A recording or link that is open, and everything that is known of its names.
pub struct Session {
    profile: Profile,
    format: FormatInfo,
    warnings: Vec<Warning>,
    /// What was counted once, when everything had been read.
    facts: Facts,
    /// What the coverage is worked out from, whatever has names.
    frame_uses: FrameUses,
    /// What a link holds of its recording; `None` for a recording.
    fidelity: Option<Fidelity>,
    /// How the sender of a link looked at it; empty if that is not known.
    view: String,
    /// What the sender of a link calls it.
    title: Option<String>,
    symbols: Symbols,
    ledger: Ledger,
    recorded: RecordedIdentities,
    images: DsoImages,
    /// Bytes of unpacked images in memory.
    held: u64,
    /// DSOs of which the host knows that they were the same until their build-ids were read.
    vouched: HashSet<DsoId>,
    naming_depth: NamingDepth,
    /// DSOs whose frames are still to be named.
    to_name: Vec<NamingWork>,
    /// What views of time are made from.
    times: times::Times,
    trees: trees::Trees,
    /// What trees of ranges are made from, if any were asked for.
    ranges: ranges::Ranges,
    /// By event: the usual distance between samples.
    distances: BTreeMap<u32, u64>,
    /// What links are made of, if any were asked for.
    link_cache: LinkCache,
    /// Changes whenever names do; ids of call nodes are of one generation.
    generation: u32,
}

/// A file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedFile {
    /// The DSOs that it names.
    pub dsos: Vec<DsoId>,
    /// What it holds, in words.
    pub gives: &'static str,
}

/// How far the naming of frames has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamingProgress {
    /// Frames named.
    pub done: usize,
    /// Frames of the DSOs that files were admitted for since the last time this was complete.
    pub total: usize,
}

impl NamingProgress {
    /// True if every frame that can have a name has it.
    pub fn is_complete(self) -> bool {
        self.done == self.total
    }
}

impl Session {
    fn new(ingested: Ingested, mut format: FormatInfo) -> Self {
        let Ingested { profile, warnings, symbols: embedded, compression } = ingested;
        if compression == RecordCompression::Zstd {
            format.compression = "zstd";
        }
        let warnings = share::printable_warnings(warnings);
        let symbols = Symbols::new(&profile);
        let ledger = Ledger::new(&profile.dsos);
        let recorded = RecordedIdentities::new(&profile.dsos);
        let facts = Facts::of(&profile);
        let frame_uses = FrameUses::of(&profile);
        let mut session = Self {
            profile,
            format,
            warnings,
            facts,
            frame_uses,
            fidelity: None,
            view: String::new(),
            title: None,
            symbols,
            ledger,
            recorded,
            images: DsoImages::default(),
            held: 0,
            vouched: HashSet::new(),
            naming_depth: NamingDepth::default(),
            to_name: Vec::new(),
            trees: trees::Trees::default(),
            distances: BTreeMap::new(),
            ranges: ranges::Ranges::default(),
            times: times::Times::default(),
            link_cache: LinkCache::default(),
            generation: 0,
        };
        for symbols in embedded {
            session.admit_embedded(symbols);
        }
        session
    }

    /// Offers a file. `name` is what the host calls it: it orders nothing and decides nothing,
    /// but tells humans which of their files was refused. An admitted file's names appear as
    /// [`Self::name_frames`] goes on.
    pub fn admit(
        &mut self,
        name: &str,
        source: Box<dyn ByteSource>,
    ) -> Result<AdmittedFile, Rejection> {
        self.admit_image(name, Image::open(name, source))
    }

    /// Offers an image that the host knows more about than its bytes say: see
    /// [`Image::open_kallsyms`] and [`Image::open_cached_kallsyms`].
    pub fn admit_image(
        &mut self,
        name: &str,
        image: Result<Image, NotAnImage>,
    ) -> Result<AdmittedFile, Rejection> {
        let package = image.as_ref().ok().and_then(Image::package);
        let toolchain = image.as_ref().ok().and_then(Image::toolchain);
        let admitted = image.map_err(Rejection::from).and_then(|image| self.try_admit(image));
        if let Err(rejection) = &admitted {
            self.note_refusal(name, rejection);
            if let (
                Rejection::NothingRecordedHasIt { same_name: Some(same), .. },
                Some(toolchain),
            ) = (rejection, toolchain)
            {
                self.ledger.note_toolchain(DsoId(same.dso), toolchain);
            }
        }
        if let Some(package) = package {
            let dsos = match &admitted {
                Ok(admitted) => admitted.dsos.clone(),
                Err(rejection) => self.concerned(name, rejection),
            };
            dsos.into_iter().for_each(|dso| self.ledger.note_package(dso, &package));
        }
        admitted
    }

    /// Says in the ledger why a file is not used, wherever somebody may have thought that it is.
    fn note_refusal(&mut self, name: &str, rejection: &Rejection) {
        self.ledger.refused(rejection);
        let outcome = rejection.to_string();
        for dso in self.concerned(name, rejection) {
            self.ledger.note(dso, name, &outcome);
        }
    }

    /// The DSOs that somebody might have thought a refused file to be of.
    fn concerned(&self, name: &str, rejection: &Rejection) -> Vec<DsoId> {
        match rejection {
            Rejection::KallsymsWithoutIdentity
            | Rejection::KallsymsDisagrees { .. }
            | Rejection::KallsymsUnusable { .. } => self.recorded.kernels().collect(),
            Rejection::PerfMap => self.of_perf_map(name),
            _ => self.recorded.named_like(name),
        }
    }

    /// Notes for the ledger what a host tried to name a DSO: a file, a place or a server, and what
    /// came of it.
    pub fn note_attempt(&mut self, dso: DsoId, what: &str, outcome: &str) {
        self.ledger.note(dso, what, outcome);
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
            let dso = self.profile.dsos.get_mut(id);
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

    /// Files that debug files which were admitted name as what they have in common with others: of
    /// each the name of one that names it, the path that it has for it, and the build-id.
    pub fn wanted_supplementary(&self) -> Vec<(String, SupplementaryLink)> {
        self.images.wanted_supplementary()
    }

    fn try_admit(&mut self, image: Image) -> Result<AdmittedFile, Rejection> {
        let name = image.name().to_owned();
        if !self.recorded.has(&image) && self.images.name_supplementary(&image) {
            let added = self.images.add_supplementary(image).unwrap_or_default();
            let begin = |&dso: &DsoId| self.symbols.begin(dso, self.naming_depth);
            self.to_name.extend(added.dsos.iter().map(begin));
            return Ok(AdmittedFile { dsos: added.dsos, gives: added.gives.sentence() });
        }
        let image = MatchedImage::admit(&self.recorded, image)?;
        let added = self.images.add(image)?;
        for &dso in &added.dsos {
            self.unforce(dso);
            if self.ledger.row(dso).status != Status::Forced {
                self.ledger.matched(dso, &name, added.gives);
            } // Else a link brought forced names, which no file replaces.
            if let Some(why) = self.images.why_unplaced(dso, self.profile.dsos.get(dso)) {
                self.ledger.unplaced(dso, why);
            }
            self.to_name.push(self.symbols.begin(dso, self.naming_depth));
        }
        Ok(AdmittedFile { dsos: added.dsos, gives: added.gives.sentence() })
    }

    /// Symbols that travelled in the recording pass the same gate as a file.
    fn admit_embedded(&mut self, symbols: EmbeddedSymbols) {
        if let Some(matched) = MatchedSymbols::admit(&self.recorded, symbols) {
            self.symbols.embedded(&self.profile, &matched);
            for &dso in matched.dsos() {
                self.ledger.embedded(dso);
            }
        }
    }

    /// How deep the frames of files that are admitted from now on are named.
    pub fn set_naming_depth(&mut self, depth: NamingDepth) {
        self.naming_depth = depth;
    }

    /// Names up to `frames` more frames. Views show the new names at once.
    pub fn name_frames(&mut self, frames: usize) -> NamingProgress {
        let mut left = frames;
        for work in &mut self.to_name {
            let before = work.progress().0;
            if left > 0 && !work.is_done() {
                self.symbols.step(work, &self.profile, &self.images, left);
                if work.is_done()
                    && let Some(lost) = self.images.lost_inlines(work.dso())
                {
                    self.ledger.lost_inlines(work.dso(), &lost);
                }
                left = left.saturating_sub(work.progress().0 - before);
            }
        }
        let progress =
            self.to_name.iter().fold(NamingProgress { done: 0, total: 0 }, |sum, work| {
                let (done, total) = work.progress();
                NamingProgress { done: sum.done + done, total: sum.total + total }
            });
        if left != frames {
            self.names_changed();
        }
        if progress.is_complete() {
            self.to_name.clear();
        }
        progress
    }

    /// Counts a DSO as the user's own code, or as what its folder says. Colours and kinds change,
    /// and with them what was worked out of them; names and weights do not.
    pub fn count_as(&mut self, dso: DsoId, counted_as: CountedAs) {
        if dso.index() < self.profile.dsos.len() {
            self.profile.dsos.get_mut(dso).counted_as = counted_as;
            self.names_changed();
        }
    }

    /// Names every frame that can have a name.
    pub fn name_all_frames(&mut self) {
        while !self.name_frames(usize::MAX).is_complete() {}
    }

    fn names_changed(&mut self) {
        self.times.names_changed();
        self.ranges = ranges::Ranges::default();
        self.trees.names_changed();
        self.link_cache = LinkCache::default();
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
    /// recording shows ([`Opening::watch`]): names may come from the recording's end.
    pub fn write_sample(&self, sample: &WatchedSample<'_>, text: &mut String) {
        script::write_sample(&self.profile, &self.symbols, sample, text);
    }
}
