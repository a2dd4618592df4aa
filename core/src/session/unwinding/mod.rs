//! Stacks from copies of them: samples of `perf record --call-graph dwarf` have the registers and the innermost
//! kilobytes of the user stack, and the files that ran tell how to walk these.
//!
//! Chains by frame pointers of arm64 lack one caller each, which the same rules find (`leaf_callers.rs`).
//!
//! An [`Unwinding`] walks the copies as they were kept when the recording was read ([`KeptDumps`]). Where they are too large
//! for that, the recording is read once more ([`Replay`](super::Replay)), and each sample is shown to it. A stack ends where
//! a file lacks. When that file has come, the same is done again for the samples that wait.
//!
//! ```text
//! read ─▶ session.unwinding() ─▶ each copy ─▶ session.take_unwound() ─▶ files for wanted DSOs ─▶ again
//! ```

mod chains;
mod leaf_callers;
mod made_code;
mod said;
mod shares;
mod walker;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use perftab_images::{UnwindTables, UnwoundMachine};
use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort_by_key, sort_by_numbers};
use perftab_profile::{
    Dso, DsoId, DsoKind, Dsos, Event, EventOrigin, FrameId, MappingsKept, ProcessId, Profile,
    PseudoFrame, Samples, StackId, Stacks, ThreadId,
};
use serde::Deserialize;

use chains::Numbered;
pub(super) use made_code::RuledCode;
pub use shares::{UnwindingShare, UnwoundShare};
use walker::{Due, Tables, Walker};

use super::times::ScanStep;
use super::{DumpUse, SampleWatcher, Session, StackDumps, WatchedSample};
use perftab_profile::ingest::{KeptDumps, KeptReading};

/// Where a stack that was unwound ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum StackEnd {
    /// At the first function of its thread.
    Root,
    /// Where the copy ends.
    Truncated,
    /// In a DSO of which no file is here that tells how to go on.
    NoTables(DsoId),
    /// In code of a DSO that its file does not tell of.
    NotCovered(DsoId),
    /// Where a probe of a function's return hides its caller.
    ReturnProbe,
    /// At an address in no mapping, or where the copy contradicts the files.
    Lost,
    /// At once: the program has 32 bits, or its registers were not recorded.
    NoRegisters,
}

/// A sample whose stack was unwound.
#[derive(Clone, Copy)]
struct UnwoundRow {
    row: u32,
    /// The stack that it was recorded with.
    recorded: StackId,
    end: StackEnd,
    /// The DSO where the first caller was guessed.
    guessed: Option<DsoId>,
}

impl UnwoundRow {
    /// The DSO of which another file may tell how to go on.
    fn waits_for(&self) -> Option<DsoId> {
        self.guessed.or_else(|| self.end.waits_for())
    }
}

/// Whether callers are guessed where files do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum CallerGuesses {
    /// A stack ends there.
    #[default]
    None,
    /// It goes on by the frame pointer, as if the code had set one up. What is outside of there is marked.
    ByFramePointer,
}

/// A sample of time off the CPU, which has the stack of the sample at the switch and one more frame.
#[derive(Clone, Copy)]
struct DerivedRow {
    row: usize,
    /// The row of the sample at the switch.
    at_switch: usize,
    why: FrameId,
}

/// What was unwound so far.
#[derive(Default)]
pub(super) struct Unwound {
    /// DSOs of which files have come that may tell how stacks are unwound.
    unwindable: Set<DsoId>,
    tables: Tables,
    /// Those that came after samples were looked at last.
    fresh: Set<DsoId>,
    /// How often samples were looked at.
    passes: u32,
    guesses: CallerGuesses,
    /// What it was when samples were looked at last.
    guessed: CallerGuesses,
    /// By row. Whoever unwinds more of them has a share, and may be gone before that is taken in.
    rows: Arc<Vec<UnwoundRow>>,
    /// Copies of stacks, if there was room for them.
    kept: Arc<KeptDumps>,
    /// By row.
    derived: Vec<DerivedRow>,
    /// Which callers that link registers may have are in stacks, by their numbers.
    leaf_callers: Vec<bool>,
    /// What the user is told of them.
    said: Vec<Warning>,
}

impl Unwound {
    /// Nothing yet of these.
    pub fn of(kept: KeptDumps) -> Self {
        Self { kept: kept.into(), ..Self::default() }
    }

    /// A file of a DSO has come.
    pub fn add_unwindable(&mut self, dso: DsoId) {
        self.unwindable.insert(dso);
    }

    /// Takes over the tables of an earlier session of the same reading, whose first DSOs, so many, are the same.
    pub fn take_tables_of(&mut self, earlier: &mut Self, known: usize) {
        for (dso, tables) in std::mem::take(&mut earlier.tables) {
            if dso.index() < known {
                self.tables.insert(dso, tables);
                self.fresh.insert(dso);
            }
        }
    }

    /// It is said how the callers are found of code that a process made: of stacks that stop in its memory without a file.
    pub fn code_has_rules(&mut self, dsos: &Dsos, process: ProcessId) {
        let memory = |dso: &Dso| dso.kind == DsoKind::Anon && dso.process == Some(process);
        self.fresh.extend(dsos.iter().filter(|(_, dso)| memory(dso)).map(|(id, _)| id));
    }

    /// Time off the CPU has the stack of the sample at the switch.
    fn lengthen_derived(&self, samples: &mut Samples, stacks: &mut Stacks) {
        for &DerivedRow { row, at_switch, why } in &self.derived {
            samples.set_stack(row, stacks.intern(samples.stack[at_switch], why));
        }
    }

    /// Samples with stacks that are longer than their copies.
    pub fn truncated(&self) -> u64 {
        self.rows.iter().filter(|row| row.end == StackEnd::Truncated).count() as u64
    }

    /// Which samples are to be unwound now; `None` if no more can be.
    fn due(&self, profile: &Profile) -> Option<Due> {
        if self.fresh.is_empty() && self.guesses == self.guessed {
            return None;
        }
        if self.passes == 0 {
            return Some(Due::All);
        }
        let due = match self.guesses == self.guessed {
            true => Due::WaitFor(self.fresh.clone()),
            false => Due::Waiting,
        };
        let of_leaf = || self.fresh.iter().any(|&dso| profile.leaf_callers.ask_for_tables_of(dso));
        (self.rows.iter().any(|row| due.takes(Some(row))) || of_leaf()).then_some(due)
    }
}

impl StackEnd {
    /// The frame that says so in views; `copied` is how many bytes of the stack were to be copied.
    fn foot(self, copied: u32) -> Option<PseudoFrame> {
        Some(match self {
            Self::Root => return None,
            Self::Truncated => PseudoFrame::Truncated { copied },
            Self::NoTables(dso) => PseudoFrame::NoUnwindTables(dso),
            Self::NotCovered(dso) => PseudoFrame::NotCovered(dso),
            Self::ReturnProbe => PseudoFrame::ReturnProbe,
            Self::Lost => PseudoFrame::NoCaller,
            Self::NoRegisters => PseudoFrame::NoRegisters,
        })
    }

    /// The DSO of which another file may tell how to go on.
    fn waits_for(self) -> Option<DsoId> {
        match self {
            Self::NoTables(dso) | Self::NotCovered(dso) => Some(dso),
            Self::Root | Self::Truncated | Self::ReturnProbe | Self::Lost | Self::NoRegisters => {
                None
            }
        }
    }
}

/// Stacks being unwound.
pub struct Unwinding {
    walker: Rc<RefCell<Option<Walker>>>,
    kept: Option<KeptReading>,
}

impl Unwinding {
    /// Unwinds the copies that were kept when the recording was read, for about as long as so many samples take; `None`
    /// if they were not: then a [`Replay`](super::Replay) shows them to [`Self::dumps`] and [`Self::watcher`].
    pub fn unwind_kept(&mut self, samples: usize) -> Option<ScanStep<()>> {
        let kept = self.kept.as_mut()?;
        let mut walker = self.walker.borrow_mut();
        for _ in 0..samples {
            let Some(row) = kept.go_on() else { return Some(ScanStep::Done(())) };
            if let Some(walker) = walker.as_mut() {
                walker.unwind_kept_row(row, kept);
            }
        }
        let (done, total) = kept.progress();
        Some(ScanStep::More { done, total })
    }

    /// What unwinds the copies that a [`Replay`](super::Replay) of the recording shows it.
    pub fn dumps(&self) -> StackDumps {
        let walker = Rc::clone(&self.walker);
        StackDumps::ShownAtOnce(Box::new(move |sample| match walker.borrow_mut().as_mut() {
            Some(walker) => walker.watch_dump(sample),
            None => DumpUse::Done,
        }))
    }

    /// What unwinds those that waited for the turn of their sample.
    pub fn watcher(&self) -> SampleWatcher {
        let walker = Rc::clone(&self.walker);
        Box::new(move |sample| {
            if let Some(walker) = walker.borrow_mut().as_mut() {
                walker.watch(sample);
            }
        })
    }
}

/// Walks the stacks of samples once more, for whoever wants the addresses: a profile has none of them.
pub struct StackWalk(Walker);

impl StackWalk {
    /// The addresses of user space on the stack of a sample, innermost first; none if there are no more than its chain
    /// has. Those of callers are return addresses.
    pub fn addresses(&mut self, sample: &WatchedSample<'_>) -> &[u64] {
        self.0.addresses_of(sample)
    }
}

/// Those whose sample at the switch is there: the thread's last one before it, with the same stack.
fn derived_rows(Profile { events, samples, stacks, .. }: &Profile) -> Vec<DerivedRow> {
    let is_derived = |event: &Event| event.origin == EventOrigin::Derived;
    let mut derived = Vec::new();
    if !events.iter().any(is_derived) {
        return derived;
    }
    let mut last: Map<ThreadId, usize> = Map::new();
    for row in 0..samples.len() {
        let Some(sample) = samples.get(row) else { continue };
        if !events.get(sample.event.index()).is_some_and(is_derived) {
            last.insert(sample.thread, row);
            continue;
        }
        let at_switch = last.get(&sample.thread).copied();
        // SWITCH records alone have no stack.
        if let (Some(at_switch), Some((recorded, why))) = (at_switch, stacks.get(sample.stack))
            && recorded != Stacks::EMPTY
            && samples.stack[at_switch] == recorded
        {
            derived.push(DerivedRow { row, at_switch, why });
        }
    }
    derived
}

impl Session {
    /// Gives back the copies of stacks that were kept: no file comes any more.
    pub fn forget_kept_dumps(&mut self) {
        self.unwound.kept = Arc::default();
    }

    /// Whether callers are guessed where files do not tell; stacks follow when they are unwound next.
    pub fn guess_callers(&mut self, guesses: CallerGuesses) {
        self.unwound.guesses = guesses;
    }

    /// As [`Self::unwinding`], by the tables that were taken in.
    pub fn unwinding_by_taken_tables(&mut self) -> Option<Unwinding> {
        let due = self.unwound.due(&self.profile)?;
        let walker = self.walker_of(due)?;
        let kept = match (self.profile.stack_dumps, walker.made.is_empty()) {
            // Link registers are all that is looked at.
            (0, _) => Some(KeptReading::nothing()),
            (_, true) => self.unwound.kept.read(&self.profile),
            // Code that a process made is gone through by time.
            (_, false) => None,
        };
        Some(Unwinding { walker: Rc::new(Some(walker).into()), kept })
    }

    fn walker_of(&self, due: Due) -> Option<Walker> {
        let mut walker = self.walker()?;
        walker.due = due;
        walker.fresh = self.unwound.fresh.clone();
        walker.before = Arc::clone(&self.unwound.rows);
        Some(walker)
    }

    /// Walks stacks once more. `None` if no sample has a copy of its stack, or a register with a caller.
    pub fn walk_stacks(&self) -> Option<StackWalk> {
        self.walker().map(StackWalk)
    }

    /// The DSOs of which files have come that may tell how stacks are unwound, where there are stacks for it. Each until
    /// its tables are taken in.
    pub fn unwindable(&self) -> Vec<DsoId> {
        match self.profile.asks_for_unwind_tables() {
            true => self.unwound.unwindable.iter().copied().collect(),
            false => Vec::new(),
        }
    }

    /// Takes in how stacks are unwound in a DSO; `None` if its files do not tell. What is not of the build that was
    /// recorded tells nothing.
    pub fn take_unwind_tables(&mut self, dso: DsoId, tables: Option<UnwindTables>) {
        self.unwound.unwindable.remove(&dso);
        let Some(mut tables) = tables.filter(|it| self.recorded.admits(dso, it.identity())) else {
            return;
        };
        // One build may have run under many paths.
        self.unwound.tables.iter().for_each(|(_, other)| tables.share(other));
        self.unwound.tables.insert(dso, tables);
        self.unwound.fresh.insert(dso);
    }

    /// Says of stacks that were copied whether they will be unwound.
    pub(super) fn say_what_can_be_unwound(&mut self) {
        let what = match self.machine() {
            Ok(_) => "They are unwound as far as the files that ran are at hand.",
            Err(why) => why,
        };
        let not_unwound = |warning: &&mut Warning| warning.kind == WarningKind::NotUnwound;
        for warning in self.warnings.iter_mut().filter(not_unwound) {
            warning.message = format!("{} {what}", warning.message);
        }
    }

    /// What stacks are of, or why they are not unwound.
    fn machine(&self) -> Result<UnwoundMachine, &'static str> {
        let arch = self.profile.host.arch.as_deref();
        if self.profile.mappings.kept() != MappingsKept::History {
            return Err("They are not unwound, as the recording maps too much to keep track of. \
                        Record for a shorter time, or with frame pointers (-g).");
        }
        arch.and_then(UnwoundMachine::of).ok_or(
            "They are not unwound, as the recording is not known to be of x86-64 or arm64. Record \
             with frame pointers (-g).",
        )
    }

    fn walker(&self) -> Option<Walker> {
        let profile = &self.profile;
        let machine = self.machine().ok().filter(|_| profile.asks_for_unwind_tables())?;
        let Unwound { tables, guesses, .. } = &self.unwound;
        let mut walker = Walker::new(machine, Arc::clone(profile), tables.clone(), *guesses);
        walker.made = self.code_with_rules();
        Some(walker)
    }

    /// Takes in what was unwound. Frames that are new are to be named.
    pub fn take_unwound(&mut self, unwinding: Unwinding) {
        let Some(mut walker) = unwinding.walker.take() else { return };
        // Another one was taken in meanwhile: what this one has found is numbered otherwise.
        let is_of_this = Arc::ptr_eq(&walker.before, &self.unwound.rows)
            && Arc::ptr_eq(&walker.profile, &self.profile);
        if !is_of_this {
            return;
        }
        let leaf_callers = walker.leaf_callers();
        let Numbered { mut frames, mut stacks, rows: done } = walker.number();
        let Walker { fresh, before, profile, guesses, .. } = walker;
        drop(profile);
        self.unwound.passes += 1;
        self.unwound.guessed = guesses;
        for dso in fresh.iter() {
            self.unwound.fresh.remove(dso);
        }
        let known_frames = self.profile.frames.len();
        if self.unwound.passes == 1 {
            self.unwound.derived = derived_rows(&self.profile);
        }
        self.symbols.let_go_of_readers();
        let profile = Arc::make_mut(&mut self.profile);
        self.unwound.rows = Arc::default();
        let mut rows = Arc::unwrap_or_clone(before);
        for (row, stack) in done {
            profile.samples.set_stack(row.row as usize, stack);
            rows.push(row);
        }
        // Stable: of two of a sample the last counts.
        sort_by_numbers(&mut rows, |row| (u64::from(row.row), 0));
        rows.reverse();
        rows.dedup_by_key(|row| row.row);
        rows.reverse();
        self.unwound.rows = rows.into();
        self.unwound.put_leaf_callers(&leaf_callers, profile, (&mut frames, &mut stacks));
        self.unwound.lengthen_derived(&mut profile.samples, &mut stacks);
        frames.drop_index();
        stacks.drop_index();
        (profile.frames, profile.stacks) = (frames, stacks);
        self.frames_changed(known_frames, 0);
        self.take_waiting_code();
        self.say_what_is_not_unwound();
    }

    /// Replaces what was said of stacks that are not unwound.
    fn say_what_is_not_unwound(&mut self) {
        let before = std::mem::take(&mut self.unwound.said);
        self.warnings.retain(|it| it.kind != WarningKind::NotUnwound && !before.contains(it));
        let said = said::of(&self.profile, &self.unwound.rows);
        self.warnings.extend_from_slice(&said);
        self.unwound.said = said;
        sort_by_key(&mut self.warnings, |warning| warning.kind);
    }
}
