//! A recording read once more, for those who want more of its samples than the profile keeps: their
//! raw call chains, branches, registers and fields.
//!
//! The same code reads the same records in the same order, so each sample is met with the number
//! that its row has in the profile. Nothing is kept of it this time: what it became is in that row.

use perftab_perfdata::decode::event_format::EventFormat;
use perftab_perfdata::decode::sample::{self, Words};
use perftab_perfdata::decode::sample_tail::SampleTail;
use perftab_perfdata::format::record::{
    CONTEXT_MARKER_MIN, CONTEXT_USER, CONTEXT_USER_DEFERRED, RECORD_HEADER_SIZE,
};

use super::deferred::DeferredSamples;
use super::kept_dumps::KeptDumps;
use super::reader::Reader;
use super::sample::cpu_number;
use super::user_part::UserPart;
use crate::{EventId, Frame, MappedIn, Profile, Sample, Space, StackId, ThreadId};

/// Sees each sample once, in the order of the profile's rows, but for those whose call chain came
/// later: these are shown when it did.
pub type SampleWatcher = Box<dyn FnMut(&WatchedSample<'_>)>;

/// Sees a sample with a copy of its stack as soon as its bytes are there, long before its turn.
pub type DumpWatcher = Box<dyn FnMut(&DumpedSample<'_>) -> DumpUse>;

/// Whether a copy of a stack has served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpUse {
    /// The sample is left out when its turn comes, or shown without the copy.
    Done,
    /// It waits with its sample.
    Waits,
}

/// What becomes of the copies of user stacks that samples have.
pub enum StackDumps {
    /// They are left out before samples wait for their turn.
    LeftOut,
    /// So they are, and kept beside the profile.
    Kept(Box<KeptDumps>),
    /// They wait with their samples: memory is that of two rounds of the recorder with all their copies, as far as
    /// there is room for them.
    Shown,
    /// This is shown them at once, and only those wait that it has no use for yet. To copy them, and to come back when
    /// they are in no cache any more, took a third of the time of unwinding.
    ShownAtOnce(DumpWatcher),
}

/// A sample with a copy of its stack before its turn.
#[derive(Clone, Copy, Debug)]
pub struct DumpedSample<'a> {
    pub(super) key: SampleKey,
    pub(super) pid: u32,
    /// What follows the call chain.
    pub tail: SampleTail<'a>,
}

/// What tells a sample from others.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleKey {
    pub time_nanos: u64,
    pub tid: u32,
    pub event: EventId,
    pub cpu: u16,
    pub weight: u64,
}

/// Rows of one time that are looked at for a sample.
const MOST_OF_ONE_TIME: usize = 16;

impl DumpedSample<'_> {
    /// Its row in the profile of the recording, if only one can be it.
    pub fn row_in(&self, profile: &Profile) -> Option<usize> {
        self.key.row_in(profile)
    }
}

impl SampleKey {
    /// The row in the profile of the recording, if only one can be it.
    pub fn row_in(&self, profile: &Profile) -> Option<usize> {
        let Self { time_nanos, tid, event, cpu, weight } = *self;
        let samples = &profile.samples;
        let rows = samples.rows_at(time_nanos, MOST_OF_ONE_TIME)?;
        let is_it = |row: &usize| {
            samples.get(*row).is_some_and(|sample| {
                (sample.event, sample.weight, sample.cpu) == (event, weight, cpu)
                    && profile.threads.thread(sample.thread).tid == tid
            })
        };
        let mut found = rows.filter(is_it);
        found.next().filter(|_| found.next().is_none())
    }
}

impl Reader {
    /// The sample of a record, if it has one row and nothing of it comes later.
    pub(super) fn dumped<'a>(&self, record: &'a [u8]) -> Option<DumpedSample<'a>> {
        let body = record.get(RECORD_HEADER_SIZE..)?;
        let event = self.events.of_sample(body, self.order)?;
        let layout = self.events.layout(event);
        let raw = sample::decode(layout, body, self.order)?;
        if raw.counters.is_some() || DeferredSamples::cookie(raw.call_chain).is_some() {
            return None;
        }
        let (tail, _) = SampleTail::decode(&layout.tail, raw.tail, self.order);
        let key = SampleKey {
            time_nanos: raw.time_nanos?,
            tid: raw.tid,
            event,
            cpu: cpu_number(raw.cpu),
            weight: raw.period.unwrap_or(self.events.default_weight(event)),
        };
        Some(DumpedSample { key, pid: raw.pid, tail })
    }
}

/// Shows samples.
pub(super) struct Replay {
    pub watcher: SampleWatcher,
    /// Number of the next row.
    next_row: usize,
    /// Those of the sample that is being read.
    rows: Vec<RowAgain>,
}

/// A row of the profile, as it is known without it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowAgain {
    pub row: usize,
    pub thread: ThreadId,
    pub event: EventId,
    pub weight: u64,
}

/// A sample that waits for the rest of its call chain.
pub(super) struct WaitingRecord {
    pub rows: Vec<RowAgain>,
    pub bytes: Vec<u8>,
}

impl WaitingRecord {
    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.rows.capacity() * size_of::<RowAgain>()
    }
}

impl Replay {
    pub(super) fn new(watcher: SampleWatcher) -> Self {
        Self { watcher, next_row: 0, rows: Vec::new() }
    }

    /// Number of the next row.
    pub(super) fn next_row(&self) -> usize {
        self.next_row
    }

    /// Meets a row.
    pub(super) fn add(&mut self, sample: &Sample) {
        let Sample { thread, event, weight, .. } = *sample;
        self.rows.push(RowAgain { row: self.next_row, thread, event, weight });
        self.next_row += 1;
    }

    /// Passes over a row that was derived.
    pub(super) fn pass_over(&mut self) {
        self.next_row += 1;
    }

    /// The rows that were met since this was asked last.
    pub(super) fn take_rows(&mut self) -> Vec<RowAgain> {
        std::mem::take(&mut self.rows)
    }

    /// Gives back the memory of such rows.
    pub(super) fn reuse(&mut self, mut rows: Vec<RowAgain>) {
        rows.clear();
        self.rows = rows;
    }
}

/// A sample, raw and read.
#[derive(Clone, Copy, Debug)]
pub struct WatchedSample<'a> {
    /// Threads, and how they are called, as far as the reading has come. It has no samples.
    pub so_far: &'a Profile,
    /// Its row in the profile of the recording.
    pub row: usize,
    /// Process; `u32::MAX` if not recorded.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the recorder's clock.
    pub time_nanos: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// What was counted.
    pub event: EventId,
    /// How much of it the sample stands for.
    pub weight: u64,
    /// Who ran, in `so_far`.
    pub thread: ThreadId,
    /// Instruction pointer.
    pub ip: u64,
    /// Address of data.
    pub data_address: Option<u64>,
    /// Words of the call chain, markers included.
    pub call_chain: Words<'a>,
    /// The user part of the call chain, where the kernel took it later.
    pub deferred_chain: Words<'a>,
    /// The user part of the call chain, where the kernel did not walk it.
    pub user_part: UserPart<'a>,
    /// What follows the call chain.
    pub tail: SampleTail<'a>,
    /// How the raw data of a tracepoint is to be read.
    pub format: Option<&'a EventFormat>,
}

impl WatchedSample<'_> {
    /// The stack that it has in the profile of the recording; `None` if its row there is of another
    /// sample: the file has changed since.
    pub fn stack_in(&self, profile: &Profile) -> Option<StackId> {
        let row = profile.samples.get(self.row)?;
        let is_same = (row.time_nanos, row.event, row.weight, row.cpu)
            == (self.time_nanos.unwrap_or(0), self.event, self.weight, cpu_number(self.cpu));
        is_same.then_some(row.stack)
    }

    /// What its process had mapped at an address of user space, in the profile of the recording; `None`
    /// also if that [keeps](crate::Mappings::kept) no history. For a return address, one less is to be
    /// asked for.
    ///
    /// A sample whose user part came later has no answer: until then its process may have mapped other
    /// things, or become another.
    pub fn mapped_at(&self, profile: &Profile, address: u64) -> Option<Frame> {
        profile.mappings.frame_in(self.space_in(profile)?, address)
    }

    /// All that [`Self::mapped_at`] tells of, for whoever asks for many addresses.
    pub fn space_in(&self, profile: &Profile) -> Option<Space> {
        if !self.deferred_chain.is_empty() {
            return None;
        }
        self.spaces_when_taken(profile)[0]
    }

    /// What its process and the kernel had mapped when it was taken, whenever its user part came.
    pub fn spaces_when_taken(&self, profile: &Profile) -> [Option<Space>; 2] {
        if self.stack_in(profile).is_none() {
            return [None; 2];
        }
        let kernel = profile.mappings.space_at(MappedIn::Kernel, self.row);
        [profile.user_space_at(self.row), kernel]
    }

    /// The addresses of the call chain, innermost first, or the instruction pointer if it has
    /// none. Without markers, everything else as the kernel wrote it.
    pub fn addresses(&self) -> Vec<u64> {
        let mut addresses = Vec::new();
        let mut words = self.call_chain.iter();
        let mut before = None;
        while let Some(word) = words.next() {
            let after = before.replace(word);
            match word {
                CONTEXT_USER_DEFERRED => drop(words.next()),
                CONTEXT_MARKER_MIN.. => {}
                _ => {
                    addresses.push(word);
                    if let (Some(CONTEXT_USER), UserPart::Calls(calls)) = (after, self.user_part) {
                        addresses.extend(calls.iter().map(|call| call.from).filter(|&it| it != 0));
                        return addresses;
                    }
                }
            }
        }
        let deferred = self.deferred_chain.iter().filter(|&word| word < CONTEXT_MARKER_MIN);
        let of_chain = addresses.len();
        addresses.extend(deferred);
        match self.user_part {
            UserPart::Called(pointer) if addresses.len() == of_chain => addresses.push(pointer),
            _ if addresses.is_empty() && self.ip != 0 => addresses.push(self.ip),
            _ => {}
        }
        addresses
    }
}
