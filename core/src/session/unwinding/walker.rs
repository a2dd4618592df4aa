//! What walks stacks.

use std::sync::Arc;

use perftab_images::{
    AddressBits, Caller, CodeState, NoCaller, Registers, Row, RowMemory, StackCopy, UnwindTables,
    UnwoundMachine,
};
use perftab_perfdata::decode::sample_tail::{RegisterAbi, SampleTail, UserStack};
use perftab_perfdata::map::{Map, Set};
use perftab_profile::ingest::KeptReading;
use perftab_profile::{
    DsoId, DsoKind, Frame, FrameId, Frames, ProcessId, Profile, PseudoFrame, Space,
};

use super::chains::{WalkedChains, WalkedRow};
use super::{CallerGuesses, RuledCode, StackEnd, UnwoundRow};
use crate::session::frame_places::FramePlaces;
use crate::session::{DumpUse, DumpedSample, WatchedSample};

/// Frames that a stack may have beside one for each eight bytes of its copy, which is what a call takes.
const SPARE_FRAMES: usize = 8;
/// Signals that may have interrupted one another.
const MAX_SIGNALS: u32 = 64;

/// Bytes that stacks may have by default (`ulimit -s`).
const MAX_STACK: u64 = 8 << 20;

pub(super) type Tables = Map<DsoId, UnwindTables>;

/// What walks stacks.
pub(super) struct Walker {
    pub(super) machine: UnwoundMachine,
    pub profile: Arc<Profile>,
    pub(super) tables: Tables,
    /// Code that processes made and say how its callers are found.
    pub made: Map<ProcessId, RuledCode>,
    pub guesses: CallerGuesses,
    /// The DSO of frames that say how a stack was unwound.
    remarks: Option<DsoId>,
    /// Those of the profile, and others as they are met.
    pub(super) frames: Frames,
    pub(super) chains: WalkedChains,
    pub due: Due,
    /// Whose tables are looked at for the first time.
    pub fresh: Set<DsoId>,
    pub before: Arc<Vec<UnwoundRow>>,
    pub(super) done: Vec<WalkedRow>,
    rules: Rules,
    places: FramePlaces,
    /// The frames of the stack that is being walked, innermost first.
    walked: Vec<FrameId>,
    /// Their addresses.
    addresses: Vec<u64>,
}

/// How far a stack was walked.
struct Walk {
    space: Space,
    process: ProcessId,
    time_nanos: u64,
    registers: Registers,
    /// Where the next rules are looked up.
    lookup: u64,
    state: CodeState,
    signals: u32,
    /// Frames that it may have.
    most: usize,
    /// The DSO where the first caller was guessed.
    guessed: Option<DsoId>,
}

/// Where a walk ended.
struct Walked {
    end: StackEnd,
    /// The DSO where the first caller was guessed.
    guessed: Option<DsoId>,
    /// Bytes that were to be copied.
    copied: u32,
}

/// Which samples are to be unwound.
#[derive(Clone)]
pub(super) enum Due {
    All,
    /// Those that wait for one of these.
    WaitFor(Set<DsoId>),
    /// Those that wait for any.
    Waiting,
}

impl Due {
    pub fn takes(&self, known: Option<&UnwoundRow>) -> bool {
        match self {
            Self::All => true,
            Self::WaitFor(dsos) => {
                known.and_then(UnwoundRow::waits_for).is_some_and(|dso| dsos.contains(&dso))
            }
            Self::Waiting => known.and_then(UnwoundRow::waits_for).is_some(),
        }
    }
}

/// The rules for frames.
#[derive(Default)]
struct Rules {
    /// By [`FrameId`].
    of_frames: Vec<Rule>,
    rows: Vec<Row>,
    /// Most of them are of many frames.
    numbers: Map<Row, u32>,
    memory: RowMemory,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    NotAsked,
    Row(u32),
    NoTables,
    NotCovered,
}

/// Whether an address is in what the stack may have behind its copy.
fn ends_before(copy: &StackCopy<'_>, address: Option<u64>) -> bool {
    let end = copy.start.saturating_add(copy.bytes.len() as u64);
    // Room for the return address behind it.
    let from = end.saturating_sub(8);
    address.is_some_and(|it| it % 8 == 0 && (from..from.saturating_add(MAX_STACK)).contains(&it))
}

fn has_copy(tail: &SampleTail<'_>) -> bool {
    tail.user_stack.is_some_and(|copy| !copy.bytes.is_empty())
}

fn known_row(rows: &[UnwoundRow], row: u32) -> Option<&UnwoundRow> {
    let at = rows.partition_point(|known| known.row < row);
    rows.get(at).filter(|known| known.row == row)
}

impl Walker {
    pub fn new(
        machine: UnwoundMachine,
        profile: Arc<Profile>,
        tables: Tables,
        guesses: CallerGuesses,
    ) -> Self {
        Self {
            machine,
            tables,
            made: Map::new(),
            guesses,
            remarks: PseudoFrame::known_unwinding_in(&profile.dsos),
            frames: profile.frames.clone(),
            chains: WalkedChains::default(),
            profile,
            due: Due::All,
            fresh: Set::new(),
            before: Arc::default(),
            done: Vec::new(),
            rules: Rules::default(),
            places: FramePlaces::new(),
            walked: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Unwinds the stack of a sample as soon as its copy is there, if its row is known.
    pub fn watch_dump(&mut self, sample: &DumpedSample<'_>) -> DumpUse {
        let Some(row) = sample.row_in(&self.profile) else { return DumpUse::Waits };
        // Code that a process made is gone through by time.
        let thread = self.profile.samples.thread.at(row);
        if self.made.contains_key(&self.profile.threads.thread(thread).process) {
            return DumpUse::Waits;
        }
        self.unwind_row(row, self.profile.user_space_at(row), &sample.tail);
        DumpUse::Done
    }

    /// Unwinds the stack of a sample whose turn has come, if its copy waited for that.
    pub fn watch(&mut self, sample: &WatchedSample<'_>) {
        if has_copy(&sample.tail) && sample.stack_in(&self.profile).is_some() {
            self.unwind_row(sample.row, sample.space_in(&self.profile), &sample.tail);
        }
    }

    /// Unwinds the copy that was put together last, which is of this row, if it is due.
    pub fn unwind_kept_row(&mut self, row: usize, kept: &mut KeptReading) {
        if self.due.takes(known_row(&self.before, row as u32)) {
            self.unwind_row(row, self.profile.user_space_at(row), &kept.tail());
        }
    }

    /// Unwinds the stack of a row, if there is a copy of it and it is due.
    pub fn unwind_row(&mut self, row: usize, space: Option<Space>, tail: &SampleTail<'_>) {
        if !has_copy(tail) {
            return;
        }
        let Some(&stack) = self.profile.samples.stack.get(row) else { return };
        let known = known_row(&self.before, row as u32);
        if !self.due.takes(known) {
            return;
        }
        let recorded = known.map_or(stack, |known| known.recorded);
        let Some(Walked { end, guessed, copied }) = self.unwind(row, space, tail) else { return };
        self.keep(UnwoundRow { row: row as u32, recorded, end, guessed }, copied);
    }

    /// The stack of a row is what was walked.
    fn keep(&mut self, row: UnwoundRow, copied: u32) {
        let foot = row.end.foot(copied).and_then(|foot| self.remark(foot));
        let chain = self.chains.add(&self.walked, foot);
        self.done.push(WalkedRow { row, chain, innermost: self.walked.first().copied() });
    }

    fn remark(&mut self, remark: PseudoFrame) -> Option<FrameId> {
        Some(self.frames.intern(Frame { dso: self.remarks?, address: remark.number() }))
    }

    /// The addresses of user space on the stack of a sample, innermost first; none if it has no copy of it.
    pub fn addresses_of(&mut self, sample: &WatchedSample<'_>) -> &[u64] {
        self.unwind(sample.row, sample.space_in(&self.profile), &sample.tail);
        &self.addresses
    }

    /// Walks a stack. `None` if there is no copy of it.
    fn unwind(
        &mut self,
        row: usize,
        space: Option<Space>,
        tail: &SampleTail<'_>,
    ) -> Option<Walked> {
        self.walked.clear();
        self.addresses.clear();
        let UserStack { bytes, most, .. } = tail.user_stack?;
        let copied = u32::try_from(most).unwrap_or(u32::MAX);
        let space = space?;
        let registers = tail.user_registers.filter(|it| it.abi == RegisterAbi::Bits64);
        let bits = AddressBits::up_to(self.profile.mappings.highest_in(space).unwrap_or(u64::MAX));
        let registers = registers
            .and_then(|known| Registers::new(self.machine, bits, |number| known.get(number)));
        let Some(registers) = registers else {
            return Some(Walked { end: StackEnd::NoRegisters, guessed: None, copied });
        };
        let dump = StackCopy { start: registers.stack_pointer(), bytes };
        let row = self.profile.samples.get(row)?;
        let mut walk = Walk {
            space,
            process: self.profile.threads.thread(row.thread).process,
            time_nanos: row.time_nanos,
            lookup: registers.instruction_pointer(),
            registers,
            state: CodeState::Interrupted,
            signals: 0,
            most: bytes.len() / 8 + SPARE_FRAMES,
            guessed: None,
        };
        let end = self.walk(&mut walk, &dump);
        Some(Walked { end, guessed: walk.guessed, copied })
    }

    /// Walks a stack on; its user frames are in `walked` then.
    fn walk(&mut self, walk: &mut Walk, dump: &StackCopy<'_>) -> StackEnd {
        while self.walked.len() < walk.most {
            let Some(frame) = self.place(walk.space, walk.lookup) else { return StackEnd::Lost };
            self.walked.push(frame);
            self.addresses.push(walk.registers.instruction_pointer());
            let ruled = self.made_code(walk, frame).unwrap_or(frame);
            let dso = self.frames.get(ruled).dso;
            let stopped = match self.rule(ruled, walk.process) {
                Rule::Row(number) => Ok(number),
                Rule::NotCovered if self.is_made_up(walk, frame) => return StackEnd::Root,
                Rule::NotCovered => Err(StackEnd::NotCovered(dso)),
                Rule::NoTables | Rule::NotAsked => Err(StackEnd::NoTables(dso)),
            };
            let number = match stopped {
                Ok(number) => number,
                Err(_) if self.guess(walk, dump, dso) => continue,
                // The chain of frame pointers goes on behind the copy.
                Err(_) if walk.guessed.is_some() && ends_before(dump, walk.registers.frame()) => {
                    return StackEnd::Truncated;
                }
                Err(end) => return end,
            };
            let before = walk.registers.stack_pointer();
            let row = &self.rules.rows[number as usize];
            walk.lookup = match row.step(&mut walk.registers, dump, walk.state) {
                Ok(Caller::Nobody) => return StackEnd::Root,
                Ok(Caller::At(address)) => {
                    (walk.state, walk.signals) = (CodeState::Interrupted, walk.signals + 1);
                    if walk.signals > MAX_SIGNALS {
                        return StackEnd::Lost;
                    }
                    address
                }
                Ok(Caller::Before(address)) => {
                    // A leaf function of arm64 need not have used any of the stack.
                    let is_leaf = walk.state == CodeState::Interrupted
                        && walk.registers.stack_pointer() == before;
                    if walk.registers.stack_pointer() <= before && !is_leaf {
                        return StackEnd::Lost;
                    }
                    walk.state = CodeState::Calls;
                    address.wrapping_sub(1)
                }
                // What a signal has interrupted may have another stack.
                Err(NoCaller::Unreadable(address)) if address >= dump.start || walk.signals > 0 => {
                    return StackEnd::Truncated;
                }
                Err(_) => return StackEnd::Lost,
            };
        }
        StackEnd::Truncated
    }

    /// Whether a caller has called nothing: what a function returns to is where another one begins, and nothing but padding
    /// is before it. So whoever made the stack has written that there, as `makecontext` does for the first function of a
    /// coroutine.
    fn is_made_up(&self, walk: &Walk, frame: FrameId) -> bool {
        let Frame { dso, address } = self.frames.get(frame);
        let begins = |tables: &UnwindTables| tables.begins_behind_padding(address.wrapping_add(1));
        walk.state == CodeState::Calls && self.tables.get(&dso).is_some_and(begins)
    }

    /// Goes on by the frame pointer where no file tells how, if that is wanted and leads to code.
    fn guess(&mut self, walk: &mut Walk, dump: &StackCopy<'_>, dso: DsoId) -> bool {
        if self.guesses == CallerGuesses::None {
            return false;
        }
        let mut caller = walk.registers.clone();
        let address = caller.follow_frame_pointer(dump).filter(|&address| address != 0);
        let Some(lookup) = address.map(|address| address - 1) else { return false };
        if self.place(walk.space, lookup).is_none() {
            return false;
        }
        (walk.registers, walk.lookup, walk.state) = (caller, lookup, CodeState::Calls);
        if walk.guessed.is_none() {
            walk.guessed = Some(dso);
            let mark = self.remark(PseudoFrame::Guessed);
            self.walked.extend(mark);
        }
        true
    }

    /// The frame of an address.
    #[inline(always)]
    fn place(&mut self, space: Space, address: u64) -> Option<FrameId> {
        self.places.frame(&self.profile, &mut self.frames, space, address)
    }

    /// The frame of code of its time, of a frame in memory without a file: there are rules for that.
    fn made_code(&mut self, walk: &Walk, frame: FrameId) -> Option<FrameId> {
        let code = self.made.get_mut(&walk.process)?;
        let Frame { dso, address } = self.frames.get(frame);
        if self.profile.dsos.get(dso).kind != DsoKind::Anon {
            return None;
        }
        let made = code.frame(walk.time_nanos, address)?;
        Some(self.frames.intern(made))
    }

    /// The rule for a frame of this process.
    #[inline(always)]
    fn rule(&mut self, frame: FrameId, process: ProcessId) -> Rule {
        let Rules { of_frames, rows, numbers, memory } = &mut self.rules;
        if frame.index() >= of_frames.len() {
            of_frames.resize(self.frames.len(), Rule::NotAsked);
        }
        let known = &mut of_frames[frame.index()];
        if *known == Rule::NotAsked {
            let Frame { dso, address } = self.frames.get(frame);
            let of_file = self.tables.get(&dso).map(|tables| tables.row(address, memory));
            let made = self.made.get(&process).filter(|code| code.dso() == dso);
            *known = match of_file.or_else(|| Some(made?.row(address, memory))) {
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
}
