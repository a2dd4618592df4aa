//! What walks stacks.

use std::sync::Arc;

use perftab_images::{
    Registers, Row, RowMemory, RuleFound, StackCopy, UnwindTables, UnwoundMachine, Walk, WalkEnd,
    WalkedCode,
};
use perftab_perfdata::address_bits::AddressBits;
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

/// A stack that is being walked.
struct Passage<'a> {
    walker: &'a mut Walker,
    space: Space,
    process: ProcessId,
    time_nanos: u64,
}

/// A frame that was walked.
#[derive(Clone, Copy)]
struct Passed {
    frame: FrameId,
    /// What the rules are of: the same, or the code of its time.
    ruled: FrameId,
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

    /// The addresses of user space on the stack of a sample, innermost first; none if there are no more than its chain
    /// has.
    pub fn addresses_of(&mut self, sample: &WatchedSample<'_>) -> &[u64] {
        self.addresses.clear();
        // Of a stack that the recorder walked only registers may be left.
        if has_copy(&sample.tail) {
            self.unwind(sample.row, sample.space_in(&self.profile), &sample.tail);
        } else if let Some(addresses) = self.with_leaf_caller(sample) {
            self.addresses = addresses;
        }
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
        let dump = StackCopy { start: registers.stack_pointer(), bytes, beyond: &[] };
        let row = self.profile.samples.get(row)?;
        let process = self.profile.threads.thread(row.thread).process;
        let mut walk = Walk::new(registers, &dump);
        let mut passage = Passage { space, process, time_nanos: row.time_nanos, walker: self };
        let (end, guessed) = passage.walk(&mut walk, &dump);
        Some(Walked { end, guessed, copied })
    }

    /// The frame of an address.
    #[inline(always)]
    fn place(&mut self, space: Space, address: u64) -> Option<FrameId> {
        self.places.frame(&self.profile, &mut self.frames, space, address)
    }

    /// The frame of code of its time, of a frame in memory without a file: there are rules for that.
    fn made_code(
        &mut self,
        process: ProcessId,
        time_nanos: u64,
        frame: FrameId,
    ) -> Option<FrameId> {
        let code = self.made.get_mut(&process)?;
        let Frame { dso, address } = self.frames.get(frame);
        if self.profile.dsos.get(dso).kind != DsoKind::Anon {
            return None;
        }
        let made = code.frame(time_nanos, address)?;
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
            let of_file = self.tables.get(&dso).map(|tables| tables.rules().row(address, memory));
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

impl Passage<'_> {
    /// Walks a stack on; its user frames are in `walked` then. Also says where the first caller was guessed.
    fn walk(&mut self, walk: &mut Walk, dump: &StackCopy<'_>) -> (StackEnd, Option<DsoId>) {
        let mut guessed = None;
        let end = loop {
            let end = walk.go(self, dump);
            let dso = |at: Passed| self.walker.frames.get(at.ruled).dso;
            let (at, end) = match end {
                WalkEnd::Root => break StackEnd::Root,
                WalkEnd::Truncated => break StackEnd::Truncated,
                WalkEnd::ReturnProbe => break StackEnd::ReturnProbe,
                WalkEnd::Lost => break StackEnd::Lost,
                WalkEnd::NoTables(at) => (dso(at), StackEnd::NoTables(dso(at))),
                WalkEnd::NotCovered(at) => (dso(at), StackEnd::NotCovered(dso(at))),
            };
            if self.guess(walk, dump) {
                if guessed.is_none() {
                    guessed = Some(at);
                    let mark = self.walker.remark(PseudoFrame::Guessed);
                    self.walker.walked.extend(mark);
                }
                continue;
            }
            // The chain of frame pointers goes on behind the copy.
            let ends = guessed.is_some() && ends_before(dump, walk.registers().frame());
            break if ends { StackEnd::Truncated } else { end };
        };
        (end, guessed)
    }

    /// Goes on by the frame pointer where no file tells how, if that is wanted and leads to code.
    fn guess(&mut self, walk: &mut Walk, dump: &StackCopy<'_>) -> bool {
        if self.walker.guesses == CallerGuesses::None {
            return false;
        }
        let mut caller = walk.registers().clone();
        let address = caller.follow_frame_pointer(dump).filter(|&address| address != 0);
        let Some(address) = address else { return false };
        if self.walker.place(self.space, address - 1).is_none() {
            return false;
        }
        walk.go_on_in(caller, address);
        true
    }
}

impl WalkedCode for Passage<'_> {
    type Place = Passed;

    #[inline(always)]
    fn enter(&mut self, address: u64, next: u64, _: u64) -> Option<Passed> {
        let walker = &mut *self.walker;
        let frame = walker.place(self.space, address)?;
        walker.walked.push(frame);
        walker.addresses.push(next);
        let made = walker.made_code(self.process, self.time_nanos, frame);
        Some(Passed { frame, ruled: made.unwrap_or(frame) })
    }

    #[inline(always)]
    fn rule(&mut self, at: Passed) -> RuleFound<'_> {
        match self.walker.rule(at.ruled, self.process) {
            Rule::Row(number) => RuleFound::Row(&self.walker.rules.rows[number as usize]),
            Rule::NotCovered => RuleFound::NotCovered,
            Rule::NoTables | Rule::NotAsked => RuleFound::NoTables,
        }
    }

    fn ends_before_function(&self, at: Passed) -> bool {
        let Frame { dso, address } = self.walker.frames.get(at.frame);
        let begins =
            |tables: &UnwindTables| tables.rules().begins_behind_padding(address.wrapping_add(1));
        self.walker.tables.get(&dso).is_some_and(begins)
    }
}
