//! Branches that the CPU recorded: `perftab report -b` and what else is told of them.
//!
//! A profile has none of them, so the recording is read once more ([`Replay`](super::Replay)), and each sample is
//! shown to a [`BranchReading`]. That sums the branches of those samples that filters leave, by frames, which are
//! named like any other.
//!
//! ```text
//! read ─▶ session.branches(query) ─▶ each sample again ─▶ session.take_branches() ─▶ names ─▶ tables
//! ```

mod page;
mod shown;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use perftab_perfdata::decode::sample_tail::{BranchStack, BranchesAsked};
use perftab_profile::{DsoId, DsoKind, Frame, Frames, MappingsKept, Profile, StackId};
use perftab_views::Query;
use perftab_views::branches::history::{History, HistoryBuilder};
use perftab_views::branches::{Branch, BranchDetail, BranchSums};
use perftab_views::filter::Filter;
use perftab_views::weights::Sum;

pub(super) use page::KeptBranches;
pub use page::{BranchBlock, BranchBlocks, BranchWay};
pub use shown::{
    BranchCell, BranchHistory, BranchTable, BranchTableRow, CodeName, CodePlace, FunctionBlocks,
    HistoryStep, ShownBlock, ShownRun, TimedRuns,
};

use super::frame_places::FramePlaces;
use super::{SampleWatcher, Session, WatchedSample};

/// Branches being read, and what is made of them.
pub struct BranchReading<G>(Rc<RefCell<Option<Reader<G>>>>);

impl<G: Gather> BranchReading<G> {
    /// What takes the branches of the samples that a [`Replay`](super::Replay) of the recording shows it.
    pub fn watcher(&self) -> SampleWatcher {
        let reader = Rc::clone(&self.0);
        Box::new(move |sample| {
            if let Some(reader) = reader.borrow_mut().as_mut() {
                reader.watch(sample);
            }
        })
    }
}

struct Reader<G> {
    profile: Arc<Profile>,
    frames: Frames,
    places: FramePlaces,
    /// By row, whether filters leave it.
    takes: Vec<bool>,
    /// What kernel addresses belong to that are in no map.
    kernel: Option<DsoId>,
    /// Those of a sample.
    branches: Vec<Branch>,
    gathered: G,
}

/// What is made of branches. A type for each, so that no host has the code of what it does not ask for.
pub trait Gather: 'static {
    /// Takes the branches of a sample, newest first.
    fn take(&mut self, sample: &BranchedSample<'_>, branches: &[Branch]);
}

/// What else is known of a sample.
pub struct BranchedSample<'a> {
    profile: &'a Profile,
    frames: &'a Frames,
    stack: StackId,
    sum: Sum,
    /// `None` if it has no branches.
    asked: Option<BranchesAsked>,
}

/// Sums of branches, as far as they are read.
pub struct SummedBranches(BranchSums, BranchDetail);

impl Gather for SummedBranches {
    fn take(&mut self, sample: &BranchedSample<'_>, branches: &[Branch]) {
        if let Some(asked) = sample.asked {
            self.0.add(branches.iter().copied(), asked, self.1);
        }
    }
}

impl Gather for HistoryBuilder {
    fn take(&mut self, sample: &BranchedSample<'_>, branches: &[Branch]) {
        let stack = sample.profile.stacks.frames(sample.stack);
        self.add(&|frame| sample.frames.get(frame), stack, branches, sample.sum);
    }
}

impl<G: Gather> Reader<G> {
    fn watch(&mut self, sample: &WatchedSample<'_>) {
        if !self.takes.get(sample.row).is_some_and(|&takes| takes) {
            return;
        }
        // Of another sample, the file has changed since.
        let Some(stack) = sample.stack_in(&self.profile) else { return };
        let spaces = sample.spaces_when_taken(&self.profile);
        let Self { profile, frames, places, kernel, branches, gathered, .. } = self;
        let mut frame = |address| {
            let mut spaces = spaces.into_iter().flatten();
            let mapped = spaces.find_map(|it| places.frame(profile, frames, it, address));
            mapped.or_else(|| Some(frames.intern(upper(address, *kernel)?)))
        };
        branches.clear();
        let recorded = sample.tail.branches;
        branches.extend(recorded.iter().flat_map(BranchStack::filled).map(|branch| Branch {
            from: frame(branch.from),
            to: frame(branch.to),
            flags: branch.flags,
        }));
        let sum = Sum { weight: sample.weight, samples: 1 };
        let asked = recorded.map(|branches| branches.asked);
        gathered.take(&BranchedSample { profile, frames, stack, sum, asked }, branches);
    }
}

/// The frame of an address in no map: kernels with 64 bits have the upper half of the addresses.
fn upper(address: u64, kernel: Option<DsoId>) -> Option<Frame> {
    kernel.filter(|_| address >> 63 == 1).map(|dso| Frame { dso, address })
}

fn kernel_of(profile: &Profile) -> Option<DsoId> {
    let mut kernels = profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::Kernel);
    kernels.next().map(|(id, _)| id)
}

/// Finds where the branches of single samples are, for whoever shows these.
pub struct BranchPlaces {
    /// What kernel addresses belong to that are in no map.
    kernel: Option<DsoId>,
}

impl BranchPlaces {
    /// Of the samples of a recording.
    pub fn new(session: &Session) -> Self {
        Self { kernel: kernel_of(&session.profile) }
    }

    /// The frame of an address that a branch of a sample has; `None` if it is in no mapping.
    pub fn frame(
        &self,
        session: &Session,
        sample: &WatchedSample<'_>,
        address: u64,
    ) -> Option<Frame> {
        let mut spaces = sample.spaces_when_taken(&session.profile).into_iter().flatten();
        let mapped = spaces.find_map(|it| session.profile.mappings.frame_in(it, address));
        mapped.or_else(|| upper(address, self.kernel))
    }
}

impl Session {
    /// Begins to read the branches of the samples that the filters of a query leave, or of all; steps do not count.
    /// Says why if there are none.
    pub fn branches(
        &self,
        query: Option<&Query>,
        detail: BranchDetail,
    ) -> Result<BranchReading<SummedBranches>, &'static str> {
        self.read_branches(query, SummedBranches(BranchSums::default(), detail))
    }

    /// The same for [`Self::take_branch_history`].
    pub fn branch_history(
        &self,
        query: &Query,
    ) -> Result<BranchReading<HistoryBuilder>, &'static str> {
        self.read_branches(Some(query), HistoryBuilder::default())
    }

    fn read_branches<G: Gather>(
        &self,
        query: Option<&Query>,
        gathered: G,
    ) -> Result<BranchReading<G>, &'static str> {
        if self.profile.branch_stacks == 0 {
            return Err("the recording has no branches; record them with perf record -b");
        }
        if self.profile.mappings.kept() != MappingsKept::History {
            return Err(
                "the recording maps too much to tell where its branches are; record for a \
                        shorter time",
            );
        }
        let filter = query.map(|query| Filter::new(&self.profile, query));
        let passes = |row| {
            let passes = |it: &Filter<'_>| it.is_of_event(row) && it.removed_by(row).is_none();
            filter.as_ref().is_none_or(passes)
        };
        let reader = Reader {
            profile: Arc::clone(&self.profile),
            frames: self.profile.frames.clone(),
            places: FramePlaces::new(),
            takes: (0..self.profile.samples.len()).map(passes).collect(),
            kernel: kernel_of(&self.profile),
            branches: Vec::new(),
            gathered,
        };
        Ok(BranchReading(Rc::new(Some(reader).into())))
    }

    /// Takes in where the branches are that were read: files of that code are wanted, and its frames are to be named.
    pub fn take_branches(&mut self, reading: BranchReading<SummedBranches>) -> BranchSums {
        self.take_gathered(reading).map(|it| it.0).unwrap_or_default()
    }

    /// The same of what [`Self::branch_history`] began.
    pub fn take_branch_history(&mut self, reading: BranchReading<HistoryBuilder>) -> History {
        self.take_gathered(reading).map(HistoryBuilder::finish).unwrap_or_default()
    }

    fn take_gathered<G>(&mut self, reading: BranchReading<G>) -> Option<G> {
        let Reader { profile, mut frames, gathered, .. } = reading.0.take()?;
        // Something else was taken in meanwhile: what these frames are numbered by is another list.
        if !Arc::ptr_eq(&profile, &self.profile) {
            return None;
        }
        drop(profile);
        let known = self.profile.frames.len();
        if frames.len() == known {
            return Some(gathered);
        }
        self.in_branches.extend(frames.iter().skip(known).map(|(_, frame)| frame.dso));
        self.symbols.let_go_of_readers();
        frames.drop_index();
        Arc::make_mut(&mut self.profile).frames = frames;
        self.frames_changed(known, self.code_tables.len());
        Some(gathered)
    }
}
