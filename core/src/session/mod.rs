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
mod diff;
mod force;
mod info;
mod namesakes;
mod offer;
mod opening;
mod query;
mod ranges;
mod report;
mod sandwich;
mod share;
mod time_order;
mod times;

use std::collections::{BTreeMap, HashSet};

use crate::decode::ByteSource;
use crate::error::{Warning, WarningKind};
use crate::export::{collapsed, script};
use crate::ingest::{Ingested, RecordCompression};
use crate::profile::{CountedAs, DsoId, Profile};
use crate::snapshot::{Facts, Fidelity};
use crate::symbolize::{
    DsoImages, EmbeddedSymbols, Image, Ledger, MatchedImage, MatchedSymbols, NamingDepth,
    NamingWork, NotAnImage, RecordedIdentities, Rejection, Status, SupplementaryLink, Symbols,
};
use crate::text::printable;
use crate::views::Query;
use crate::views::build::{Built, build, build_with_ends};
use crate::views::call_tree::CallTree;
use crate::views::ends::Ends;
use crate::views::functions::{self, FunctionOrder, FunctionSum};
use crate::views::grouped::{self, GroupBy, GroupRow};
use crate::views::shown::Account;

pub use crate::ingest::{SampleWatcher, WatchedSample};

pub use answers::{
    CallNodeDetail, CallTreeRows, FlameWindow, FunctionRows, PathStep, Place, SearchResult,
};
pub use breakdown::{Breakdown, BreakdownRow, Cell};
pub use callers::Caller;
pub use compare::{
    ChangeDetail, ChangeRows, ChangesRequest, CompareSearch, CompareView, ComparedDetail,
    ComparedRow, Comparing, DsoPairRow, SideTotal,
};
pub use diff::{DiffFunction, DiffTotal};
pub use force::Forced;
pub use info::{
    AuxInfo, DsoRow, EventInfo, FormatInfo, HostInfo, IdentityKind, LostInfo, ProfileInfo,
    TimeInfo, Wanted,
};
pub use offer::{NotUsed, Offer, OfferReport, OfferStep, UsedFile};
pub use opening::{Opening, OpeningProgress, WantedBytes};
pub use report::{Coverage, DsoShare, FilteredCoverage, Report, ReportFunction, ReportFunctions};
pub use sandwich::{CodePart, SandwichFacts};
pub use share::{FidelityInfo, ShareOptions, SharedLink};
pub use time_order::TimeWindow;
pub use times::{HeatMapWork, MarkRows, Scan, ScanStep, TimelineWork};

/// Trees kept: callees, inverted, and callers and callees of one function stand side by side, and
/// each is asked for again while the page scrolls or is drawn anew.
const TREES_KEPT: usize = 4;
/// Of trees that have more than [`LARGE_TREES`] call nodes together.
const LARGE_TREES_KEPT: usize = 2;
/// Call nodes, of about 60 bytes each.
const LARGE_TREES: usize = 1 << 20;

/// A recording or link that is open, and everything that is known of its names.
pub struct Session {
    profile: Profile,
    format: FormatInfo,
    warnings: Vec<Warning>,
    /// What was counted once, when everything had been read.
    facts: Facts,
    /// What a link holds of its recording; `None` for a recording.
    fidelity: Option<Fidelity>,
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
    made: Vec<Made>,
    /// What trees of ranges are made from, if any were asked for.
    ranges: ranges::Ranges,
    /// By event: the usual distance between samples.
    distances: BTreeMap<u32, u64>,
    /// Changes whenever names do; ids of call nodes are of one generation.
    generation: u32,
}

/// What has been made for a query.
struct Made {
    query: Query,
    tree: CallTree,
    account: Account,
    functions: Option<(FunctionOrder, Vec<FunctionSum>)>,
    grouped: Option<(FunctionOrder, GroupBy, Vec<GroupRow>)>,
    /// Where samples end, if that was asked for.
    ends: Ends,
}

/// A file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
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
        let mut session = Self {
            profile,
            format,
            warnings,
            facts,
            fidelity: None,
            symbols,
            ledger,
            recorded,
            images: DsoImages::default(),
            held: 0,
            vouched: HashSet::new(),
            naming_depth: NamingDepth::default(),
            to_name: Vec::new(),
            made: Vec::new(),
            distances: BTreeMap::new(),
            ranges: ranges::Ranges::default(),
            times: times::Times::default(),
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
    ) -> Result<Admitted, Rejection> {
        self.admit_image(name, Image::open(name, source))
    }

    /// Offers an image that the host knows more about than its bytes say: see
    /// [`Image::open_kallsyms`] and [`Image::open_cached_kallsyms`].
    pub fn admit_image(
        &mut self,
        name: &str,
        image: Result<Image, NotAnImage>,
    ) -> Result<Admitted, Rejection> {
        let package = image.as_ref().ok().and_then(Image::package);
        let made_by = image.as_ref().ok().and_then(Image::made_by);
        let admitted = image.map_err(Rejection::from).and_then(|image| self.try_admit(image));
        if let Err(rejection) = &admitted {
            self.note_refusal(name, rejection);
            if let (Rejection::NothingRecordedHasIt { same_name: Some(same), .. }, Some(made_by)) =
                (rejection, made_by)
            {
                self.ledger.note_made_by(DsoId(same.dso), made_by);
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
        self.warnings.push(Warning { kind, offset: None, count: paths.len() as u64, message });
        self.warnings.sort_by_key(|warning| warning.kind);
    }

    /// Files that debug files which were admitted name as what they have in common with others: of
    /// each the name of one that names it, the path that it has for it, and the build-id.
    pub fn wanted_supplementary(&self) -> Vec<(String, SupplementaryLink)> {
        self.images.wanted_supplementary()
    }

    fn try_admit(&mut self, image: Image) -> Result<Admitted, Rejection> {
        let name = image.name().to_owned();
        if !self.recorded.has(&image) && self.images.name_supplementary(&image) {
            let added = self.images.add_supplementary(image).unwrap_or_default();
            let begin = |&dso: &DsoId| self.symbols.begin(dso, self.naming_depth);
            self.to_name.extend(added.dsos.iter().map(begin));
            return Ok(Admitted { dsos: added.dsos, gives: added.gives.sentence() });
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
        Ok(Admitted { dsos: added.dsos, gives: added.gives.sentence() })
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
        self.made.clear();
        self.generation = self.generation.wrapping_add(1);
    }

    /// Where the call tree of a query is, made if it was not there; the last one.
    fn made(&mut self, query: &Query) -> usize {
        self.find(query).unwrap_or_else(|| {
            self.make_room(query);
            let built = self
                .ranges
                .build(&self.profile, &self.symbols, query)
                .unwrap_or_else(|| build(&self.profile, &self.symbols, query));
            self.keep(query, built, Ends::default())
        })
    }

    /// The same, with what is known of where samples end; for a query of callees. Few trees are
    /// asked for that, and it takes memory for each stack: a tree without it is made again.
    fn made_with_ends(&mut self, query: &Query) -> usize {
        if let Some(known) = self.find(query) {
            if self.made[known].ends.are_known() {
                return known;
            }
            self.made.pop();
        }
        self.make_room(query);
        let (built, ends) = build_with_ends(&self.profile, &self.symbols, query);
        self.keep(query, built, ends)
    }

    /// Puts a query's tree last, if it was made.
    fn find(&mut self, query: &Query) -> Option<usize> {
        let known = self.made.iter().position(|made| made.query == *query)?;
        self.made[known..].rotate_left(1);
        Some(self.made.len() - 1)
    }

    /// Before a tree is made: in WebAssembly memory is never given back.
    fn make_room(&mut self, query: &Query) {
        // Of one range after the other only the last two are of use.
        let is_of_other_range = |made: &Made| {
            made.query.range.is_some() && query.range.is_some() && {
                Query { range: query.range, ..made.query.clone() } == *query
            }
        };
        if let Some(last) = self.made.iter().rposition(is_of_other_range) {
            let mut place = 0..;
            self.made.retain(|made| place.next() == Some(last) || !is_of_other_range(made));
        }
        let nodes = |made: &[Made]| made.iter().map(|made| made.tree.len()).sum::<usize>();
        while self.made.len() >= TREES_KEPT
            || (self.made.len() >= LARGE_TREES_KEPT && nodes(&self.made) > LARGE_TREES)
        {
            self.made.remove(0);
        }
    }

    fn keep(&mut self, query: &Query, built: Built, ends: Ends) -> usize {
        let (Built { tree, account }, query) = (built, query.clone());
        self.made.push(Made { query, tree, account, functions: None, grouped: None, ends });
        self.made.len() - 1
    }

    /// The call tree of a query.
    fn tree(&mut self, query: &Query) -> &CallTree {
        let made = self.made(query);
        &self.made[made].tree
    }

    /// Everything that the views of a query are made from.
    fn parts(&mut self, query: &Query) -> (&Profile, &Symbols, &CallTree) {
        let made = self.made(query);
        (&self.profile, &self.symbols, &self.made[made].tree)
    }

    /// The same, and in which call node each sample ends; for a query of callees.
    fn parts_and_ends(&mut self, query: &Query) -> (&Profile, &Symbols, &CallTree, &Ends) {
        let made = self.made_with_ends(query);
        let Made { tree, ends, .. } = &self.made[made];
        (&self.profile, &self.symbols, tree, ends)
    }

    /// The functions of a query in order. A table that scrolls asks for the same ones again.
    fn ordered_functions(&mut self, query: &Query, order: FunctionOrder) -> &[FunctionSum] {
        self.order_functions(query, order);
        self.functions_in_order(query)
    }

    fn order_functions(&mut self, query: &Query, order: FunctionOrder) {
        let made = self.made(query);
        let Made { tree, functions, .. } = &mut self.made[made];
        if functions.as_ref().is_none_or(|(known, _)| *known != order) {
            let ordered = functions::ordered(&self.profile, &self.symbols, tree, order);
            *functions = Some((order, ordered));
        }
    }

    /// Those that [`Self::order_functions`] has put in order.
    fn functions_in_order(&self, query: &Query) -> &[FunctionSum] {
        let made = self.made.iter().find(|made| made.query == *query);
        made.and_then(|made| made.functions.as_ref()).map_or(&[], |(_, functions)| functions)
    }

    /// The files, DSOs or threads of a query in order; no functions.
    fn grouped(&mut self, query: &Query, order: FunctionOrder, by: GroupBy) -> &[GroupRow] {
        let made = match by {
            GroupBy::Thread => self.made_with_ends(query),
            GroupBy::Function | GroupBy::File | GroupBy::Dso => self.made(query),
        };
        let (profile, symbols) = (&self.profile, &self.symbols);
        let Made { tree, ends, grouped, .. } = &mut self.made[made];
        if grouped.as_ref().is_none_or(|known| (known.0, known.1) != (order, by)) {
            let rows = match by {
                GroupBy::Function => Vec::new(),
                GroupBy::File => grouped::by_file(profile, symbols, tree, order),
                GroupBy::Dso => grouped::by_dso(profile, symbols, tree, order),
                GroupBy::Thread => grouped::by_thread(profile, symbols, query, ends, order),
            };
            *grouped = Some((order, by, rows));
        }
        grouped.as_ref().map_or(&[], |(_, _, rows)| rows)
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

    /// Stacks as text, one a line, outermost function first, with their weight.
    pub fn export_collapsed(&mut self, query: &Query) -> String {
        let (profile, symbols, tree) = self.parts(query);
        collapsed::export(profile, symbols, tree)
    }
}
