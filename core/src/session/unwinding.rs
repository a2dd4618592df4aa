//! Stacks from copies of them: samples of `perf record --call-graph dwarf` have the registers and the innermost
//! kilobytes of the user stack, and the files that ran tell how to walk these.
//!
//! Copies are too large to keep, so the recording is read once more ([`Replay`](super::Replay)), and each sample is shown
//! to an [`Unwinding`]. A stack ends where a file lacks. When that file has come, the same is done again for the
//! samples that wait for it.
//!
//! ```text
//! read ─▶ session.unwinding() ─▶ each sample again ─▶ session.take_unwound() ─▶ files for wanted DSOs ─▶ again
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use perftab_images::{
    Caller, CodeState, Images, NoCaller, Registers, Row, StackMemory, UnwindTables, UnwoundMachine,
};
use perftab_perfdata::decode::sample_tail::RegisterAbi;
use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort_by_key, sort_by_numbers};
use perftab_perfdata::text::{counted, grouped, printable};
use perftab_profile::{
    DsoId, DsoKind, Event, EventOrigin, Frame, FrameId, Frames, MappingsKept, Profile, Space,
    StackId, Stacks, ThreadId,
};
use perftab_snapshot::Facts;
use perftab_views::coverage::Uses;

use super::times::Times;
use super::{SampleWatcher, Session, WatchedSample};

/// Frames that a stack may have beside one for each eight bytes of its copy, which is what a call takes.
const SPARE_FRAMES: usize = 8;
/// Signals that may have interrupted one another.
const MAX_SIGNALS: usize = 64;
/// Places that are known at once: half a megabyte.
const KNOWN_PLACES: usize = 1 << 14;
/// DSOs that a message names.
const NAMED: usize = 3;

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
}

/// A sample of time off the CPU, which has the stack of the sample at the switch and one more frame.
#[derive(Clone, Copy)]
struct DerivedRow {
    row: usize,
    /// The stack that the sample at the switch was recorded with.
    recorded: StackId,
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
    /// By row. Whoever unwinds more of them has a share, and may be gone before that is taken in.
    rows: Rc<Vec<UnwoundRow>>,
    /// By row.
    derived: Vec<DerivedRow>,
    /// What the user is told of them.
    said: Vec<Warning>,
}

impl Unwound {
    /// A file of a DSO has come.
    pub fn add_unwindable(&mut self, dso: DsoId) {
        self.unwindable.insert(dso);
    }

    /// Time off the CPU has the stack of the sample at the switch, which is the thread's last one before it.
    fn lengthen_derived(&self, profile: &mut Profile, stacks: &mut Stacks) {
        let mut last: Map<ThreadId, Option<(StackId, StackId)>> = Map::new();
        let (mut next, mut unwound) = (0, self.rows.iter().peekable());
        for &DerivedRow { row, recorded, why } in &self.derived {
            for sample in next..row {
                let known = unwound.next_if(|unwound| unwound.row as usize == sample);
                let stacks = known.map(|it| (it.recorded, profile.samples.stack[sample]));
                last.insert(profile.samples.thread.at(sample), stacks);
            }
            next = row + 1;
            let at_switch = last.get(&profile.samples.thread.at(row)).copied().flatten();
            if let Some((_, now)) = at_switch.filter(|(was, _)| *was == recorded) {
                profile.samples.set_stack(row, stacks.intern(now, why));
            }
        }
    }

    /// Samples with stacks that are longer than their copies.
    pub fn truncated(&self) -> u64 {
        self.rows.iter().filter(|row| row.end == StackEnd::Truncated).count() as u64
    }

    /// Which samples are to be unwound now; `None` if no more can be.
    fn due(&self) -> Option<Due> {
        if self.fresh.is_empty() {
            return None;
        }
        if self.passes == 0 {
            return Some(Due::All);
        }
        let is_due =
            |row: &UnwoundRow| row.end.waits_for().is_some_and(|dso| self.fresh.contains(&dso));
        self.rows.iter().any(is_due).then(|| Due::WaitFor(self.fresh.clone()))
    }
}

impl StackEnd {
    /// The DSO of which another file may tell how to go on.
    fn waits_for(self) -> Option<DsoId> {
        match self {
            Self::NoTables(dso) | Self::NotCovered(dso) => Some(dso),
            Self::Root | Self::Truncated | Self::Lost | Self::NoRegisters => None,
        }
    }
}

/// Stacks being unwound.
pub struct Unwinding(Rc<RefCell<Option<Walker>>>);

impl Unwinding {
    /// What unwinds the samples that a [`Replay`](super::Replay) of the recording shows it, with
    /// [`StackDumps::Shown`](super::StackDumps).
    pub fn watcher(&self) -> SampleWatcher {
        let walker = Rc::clone(&self.0);
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
    /// The addresses of user space on the stack of a sample, innermost first; none if it has no copy of it. Those of
    /// callers are return addresses.
    pub fn addresses(&mut self, sample: &WatchedSample<'_>) -> &[u64] {
        self.0.unwind(sample);
        &self.0.addresses
    }
}

fn derived_rows(profile: &Profile) -> Vec<DerivedRow> {
    let is_derived = |event: &Event| event.origin == EventOrigin::Derived;
    if !profile.events.iter().any(is_derived) {
        return Vec::new();
    }
    let derived = |row: usize| {
        let sample = profile.samples.get(row)?;
        profile.events.get(sample.event.index()).filter(|event| is_derived(event))?;
        let (recorded, why) = profile.stacks.get(sample.stack)?;
        Some(DerivedRow { row, recorded, why })
    };
    (0..profile.samples.len()).filter_map(derived).collect()
}

fn known_row(rows: &[UnwoundRow], row: u32) -> Option<&UnwoundRow> {
    let at = rows.partition_point(|known| known.row < row);
    rows.get(at).filter(|known| known.row == row)
}

type Tables = Map<DsoId, UnwindTables>;

/// What walks stacks.
struct Walker {
    machine: UnwoundMachine,
    profile: Rc<Profile>,
    tables: Tables,
    frames: Frames,
    stacks: Stacks,
    due: Due,
    /// Whose tables are looked at for the first time.
    fresh: Set<DsoId>,
    before: Rc<Vec<UnwoundRow>>,
    done: Vec<(UnwoundRow, StackId)>,
    rules: Rules,
    places: Vec<Place>,
    /// The frames of the stack that is being walked, innermost first.
    walked: Vec<FrameId>,
    /// Their addresses.
    addresses: Vec<u64>,
    inner: Vec<FrameId>,
}

/// Which samples are to be unwound.
enum Due {
    All,
    /// Those that wait for one of these.
    WaitFor(Set<DsoId>),
}

/// The rules for frames.
#[derive(Default)]
struct Rules {
    /// By [`FrameId`].
    of_frames: Vec<Rule>,
    rows: Vec<Row>,
    /// Most of them are of many frames.
    numbers: Map<Row, u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    NotAsked,
    Row(u32),
    NoTables,
    NotCovered,
}

/// An address of a process that was met.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    space: Option<Space>,
    frame: FrameId,
}

/// A copy of a stack.
struct Dump<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl StackMemory for Dump<'_> {
    fn read(&self, address: u64, size: u8) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let read = self.bytes.get(at..)?.get(..usize::from(size))?;
        let mut bytes = [0; 8];
        bytes.get_mut(..read.len())?.copy_from_slice(read);
        Some(u64::from_le_bytes(bytes))
    }
}

impl Session {
    /// Begins to unwind what can be: all samples with copies of their stacks, or when that was done before, those that
    /// wait for files that have come since. `None` if there are none.
    pub fn unwinding(&mut self) -> Option<Unwinding> {
        if let Some(images) = self.images.take() {
            for dso in self.unwindable() {
                self.take_unwind_tables(dso, images.unwind_tables(dso));
            }
            self.images = Some(images);
        }
        let due = self.unwound.due()?;
        let fresh = self.unwound.fresh.clone();
        let before = Rc::clone(&self.unwound.rows);
        let walker = Walker { due, fresh, before, ..self.walker()? };
        Some(Unwinding(Rc::new(Some(walker).into())))
    }

    /// Walks stacks once more. `None` if no sample has a copy of its stack.
    pub fn walk_stacks(&self) -> Option<StackWalk> {
        self.walker().map(StackWalk)
    }

    /// The DSOs of which files have come that may tell how stacks are unwound, where there are stacks for it. Each until
    /// its tables are taken in.
    pub fn unwindable(&self) -> Vec<DsoId> {
        match self.profile.stack_dumps {
            0 => Vec::new(),
            _ => self.unwound.unwindable.iter().copied().collect(),
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

    /// Whether there are stacks to be unwound, and no file is here that tells how in a DSO.
    pub fn lacks_unwind_tables(&self, dso: DsoId) -> bool {
        let has_tables = |images: &Images| images.unwind_tables(dso).is_some();
        self.profile.stack_dumps > 0 && !self.images.as_ref().is_some_and(has_tables)
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
        let machine = self.machine().ok().filter(|_| profile.stack_dumps > 0)?;
        let nowhere = Place { address: 0, space: None, frame: FrameId(0) };
        Some(Walker {
            machine,
            tables: self.unwound.tables.clone(),
            frames: profile.frames.clone(),
            stacks: profile.stacks.clone(),
            profile: Rc::clone(profile),
            due: Due::All,
            fresh: Set::new(),
            before: Rc::default(),
            done: Vec::new(),
            rules: Rules::default(),
            places: vec![nowhere; KNOWN_PLACES],
            walked: Vec::new(),
            addresses: Vec::new(),
            inner: Vec::new(),
        })
    }

    /// Takes in what was unwound. Frames that are new are to be named.
    pub fn take_unwound(&mut self, unwinding: Unwinding) {
        let Some(walker) = unwinding.0.take() else { return };
        let Walker { mut frames, mut stacks, fresh, before, done, profile, .. } = walker;
        // Another one was taken in meanwhile: what this one has found is numbered otherwise.
        if !Rc::ptr_eq(&before, &self.unwound.rows) || !Rc::ptr_eq(&profile, &self.profile) {
            return;
        }
        drop(profile);
        self.unwound.passes += 1;
        for dso in fresh.iter() {
            self.unwound.fresh.remove(dso);
        }
        let known_frames = self.profile.frames.len();
        if self.unwound.passes == 1 {
            self.unwound.derived = derived_rows(&self.profile);
        }
        self.symbols.let_go_of_readers();
        let profile = Rc::make_mut(&mut self.profile);
        self.unwound.rows = Rc::default();
        let mut rows = Rc::unwrap_or_clone(before);
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
        self.unwound.lengthen_derived(profile, &mut stacks);
        frames.drop_index();
        stacks.drop_index();
        (profile.frames, profile.stacks) = (frames, stacks);
        let Uses { frames, dsos } = Uses::of(&self.profile);
        self.frame_uses = frames;
        self.facts = Facts::with_uses(&self.profile, dsos).into();
        self.symbols.change().extend(&self.profile);
        for symbols in &self.embedded {
            self.symbols.change().embedded(&self.profile, symbols);
        }
        self.name_again(known_frames);
        self.times = Times::default();
        self.names_changed();
        self.say_what_is_not_unwound();
    }

    /// Replaces what was said of stacks that are not unwound.
    fn say_what_is_not_unwound(&mut self) {
        let before = std::mem::take(&mut self.unwound.said);
        self.warnings.retain(|it| it.kind != WarningKind::NotUnwound && !before.contains(it));
        let mut stopped: Map<StackEnd, u64> = Map::new();
        for row in &*self.unwound.rows {
            if !matches!(row.end, StackEnd::Root | StackEnd::Truncated) {
                *stopped.entry(row.end).or_default() += 1;
            }
        }
        let mut stopped: Vec<(StackEnd, u64)> =
            stopped.iter().map(|(&end, &samples)| (end, samples)).collect();
        sort_by_key(&mut stopped, |&(end, samples)| (std::cmp::Reverse(samples), end));
        let all: u64 = stopped.iter().map(|(_, samples)| samples).sum();
        let rows = self.unwound.rows.len() as u64;
        let mut said = Vec::new();
        let mut say = |kind, samples, message| {
            let (count, samples) = (1, Some(samples));
            said.push(Warning { kind, offset: None, count, samples, message });
        };
        let have = |samples| counted(samples, "sample has", "samples have");
        if all > 0 {
            let reasons = stopped.iter().take(NAMED).map(|&(end, samples)| {
                let name = |dso| printable(self.profile.dsos.get(dso).name());
                let why = match end {
                    StackEnd::NoTables(dso) => {
                        format!("in {}, of which no file with unwind tables is here", name(dso))
                    }
                    StackEnd::NotCovered(dso) => {
                        format!("in code of {} that its unwind tables do not cover", name(dso))
                    }
                    StackEnd::NoRegisters => "of 32-bit programs or without registers".to_owned(),
                    _ => "where the copy contradicts the files".to_owned(),
                };
                format!("{} {why}", grouped(samples))
            });
            let reasons: Vec<String> = reasons.collect();
            let more = match stopped.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; and in {more} more"),
            };
            let message = format!(
                "{} a stack that stops before the first function of its thread, of {} with a copy \
                 of their stack: {}{more}.",
                have(all),
                grouped(rows),
                reasons.join("; ")
            );
            say(WarningKind::NotUnwound, all, message);
        }
        let without = self.profile.stack_dumps.saturating_sub(rows);
        if without > 0 {
            let message = format!(
                "{} a copy of the user stack that could not be used: it is empty, too much had to \
                 wait for its turn, or the recording has changed since. Only the innermost user \
                 frame is shown.",
                have(without)
            );
            say(WarningKind::NotUnwound, without, message);
        }
        let truncated = self.unwound.truncated();
        if truncated > 0 {
            let message = format!(
                "{} a stack that is longer than its copy: its outermost frames are missing. Record \
                 with a larger one (--call-graph dwarf,BYTES, at most 65528).",
                have(truncated)
            );
            say(WarningKind::TruncatedStacks, truncated, message);
        }
        self.warnings.extend_from_slice(&said);
        self.unwound.said = said;
        sort_by_key(&mut self.warnings, |warning| warning.kind);
    }
}

impl Walker {
    /// Unwinds the stack of a sample, if it has a copy of it and is due.
    fn watch(&mut self, sample: &WatchedSample<'_>) {
        if sample.tail.user_stack.is_none_or(|copy| copy.bytes.is_empty()) {
            return;
        }
        let Some(stack) = sample.stack_in(&self.profile) else { return };
        let row = sample.row as u32;
        let known = known_row(&self.before, row);
        let is_due = match (&self.due, known.map(|known| known.end)) {
            (Due::All, _) => true,
            (Due::WaitFor(dsos), end) => {
                end.and_then(StackEnd::waits_for).is_some_and(|dso| dsos.contains(&dso))
            }
        };
        if !is_due {
            return;
        }
        let recorded = known.map_or(stack, |known| known.recorded);
        if let Some(end) = self.unwind(sample) {
            let stack = self.with_callers(recorded);
            self.done.push((UnwoundRow { row, recorded, end }, stack));
        }
    }

    /// Walks the stack of a sample; `None` if it has no copy of it.
    fn unwind(&mut self, sample: &WatchedSample<'_>) -> Option<StackEnd> {
        self.walked.clear();
        self.addresses.clear();
        let bytes = sample.tail.user_stack?.bytes;
        let space = sample.space_in(&self.profile)?;
        let registers = sample.tail.user_registers.filter(|it| it.abi == RegisterAbi::Bits64);
        let registers =
            registers.and_then(|known| Registers::new(self.machine, |number| known.get(number)));
        let Some(mut registers) = registers else { return Some(StackEnd::NoRegisters) };
        let dump = Dump { start: registers.stack_pointer(), bytes };
        Some(self.walk(space, &mut registers, &dump))
    }

    /// Walks a stack; its user frames are in `walked` then.
    fn walk(&mut self, space: Space, registers: &mut Registers, dump: &Dump<'_>) -> StackEnd {
        let mut lookup = registers.instruction_pointer();
        let (mut state, mut signals) = (CodeState::Interrupted, 0);
        let most = dump.bytes.len() / 8 + SPARE_FRAMES;
        while self.walked.len() < most {
            let Some(frame) = self.place(space, lookup) else { return StackEnd::Lost };
            self.walked.push(frame);
            self.addresses.push(registers.instruction_pointer());
            let dso = self.frames.get(frame).dso;
            let number = match self.rule(frame) {
                Rule::Row(number) => number,
                Rule::NotCovered => return StackEnd::NotCovered(dso),
                Rule::NoTables | Rule::NotAsked => return StackEnd::NoTables(dso),
            };
            let before = registers.stack_pointer();
            lookup = match self.rules.rows[number as usize].step(registers, dump, state) {
                Ok(Caller::Nobody) => return StackEnd::Root,
                Ok(Caller::At(address)) => {
                    (state, signals) = (CodeState::Interrupted, signals + 1);
                    if signals > MAX_SIGNALS {
                        return StackEnd::Lost;
                    }
                    address
                }
                Ok(Caller::Before(address)) => {
                    // A leaf function of arm64 need not have used any of the stack.
                    let is_leaf =
                        state == CodeState::Interrupted && registers.stack_pointer() == before;
                    if registers.stack_pointer() <= before && !is_leaf {
                        return StackEnd::Lost;
                    }
                    state = CodeState::Calls;
                    address.wrapping_sub(1)
                }
                Err(NoCaller::Unreadable(address)) if address >= dump.start => {
                    return StackEnd::Truncated;
                }
                Err(_) => return StackEnd::Lost,
            };
        }
        StackEnd::Truncated
    }

    /// The frame of an address.
    fn place(&mut self, space: Space, address: u64) -> Option<FrameId> {
        // Code is in pages of many processes, at the same place in each.
        let slot = (address ^ address >> 14) as usize % KNOWN_PLACES;
        let known = self.places[slot];
        if known.address == address && known.space == Some(space) {
            return Some(known.frame);
        }
        let frame: Frame = self.profile.mappings.frame_in(space, address)?;
        let frame = self.frames.intern(frame);
        self.places[slot] = Place { address, space: Some(space), frame };
        Some(frame)
    }

    fn rule(&mut self, frame: FrameId) -> Rule {
        let Rules { of_frames, rows, numbers } = &mut self.rules;
        if frame.index() >= of_frames.len() {
            of_frames.resize(self.frames.len(), Rule::NotAsked);
        }
        let known = &mut of_frames[frame.index()];
        if *known == Rule::NotAsked {
            let Frame { dso, address } = self.frames.get(frame);
            *known = match self.tables.get(&dso).map(|tables| tables.row(address)) {
                Some(Some(row)) => Rule::Row(*numbers.entry(row.clone()).or_insert_with(|| {
                    rows.push(row);
                    rows.len() as u32 - 1
                })),
                Some(None) => Rule::NotCovered,
                None => Rule::NoTables,
            };
        }
        *known
    }

    /// The stack that was recorded, below the callers that were found: what of it ran in the kernel.
    fn with_callers(&mut self, recorded: StackId) -> StackId {
        let Self { stacks, frames, profile, inner, walked, .. } = self;
        inner.clear();
        inner.extend(stacks.frames(recorded));
        let is_of_user = |frame: &FrameId| {
            let dso = profile.dsos.get(frames.get(*frame).dso);
            matches!(dso.kind, DsoKind::User | DsoKind::Vdso | DsoKind::Anon)
        };
        while let Some(outermost) = inner.last()
            && (walked.first() == Some(outermost) || is_of_user(outermost))
            && !walked.is_empty()
        {
            inner.pop();
        }
        let outermost_first = walked.iter().rev().chain(inner.iter().rev());
        outermost_first.fold(Stacks::EMPTY, |stack, &frame| stacks.intern(stack, frame))
    }
}
