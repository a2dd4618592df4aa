//! `--call-graph dwarf`: stacks are walked while they are recorded. Records that are walked in their rings have to be, before
//! more can come, by the thread that empties these; all others, and whatever needs a file to be read, are brought to a thread
//! of its own, so that rings are emptied meanwhile. A sample whose stack was walked to its root has its call chain, and no copy
//! of the stack any more; all others stay as they are, and who reads the recording walks them by the files that it finds.

mod code;
mod deep_stacks;
mod files;
mod frames;
mod records;
mod rounds;
mod spaces;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use perftab_core::images::UnwoundMachine;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::write::SampleIdTrailer;
use rustix::event::EventfdFlags;

use super::clock::Clock;
use super::counters::Counters;
use super::options::StackCopy;
use super::ring::TakenRecords;
use super::stack_sample::StackSamples;
use files::Reading;
use records::Records;
pub use rounds::Fared;
use rounds::Rounds;

/// So much may wait before samples go on without being walked.
const WAITING_MAX: usize = 64 << 20;
/// Rounds are so short where stacks are longer than their copies, until there have been none for a second.
const DEEP_PATIENCE: Duration = Duration::from_millis(15);
const DEEP_FOR: Duration = Duration::from_secs(1);
/// So many pieces of memory for records are used again, and none that is larger.
const SPARE_MAX: usize = 4;
const LARGEST_SPARE: usize = 16 << 20;
/// A round that takes as long had tables to load.
const LONG_ROUND: Duration = Duration::from_millis(50);
/// So long after that, others may have to be loaded.
const SETTLED_AFTER: Duration = Duration::from_millis(500);
/// So much may wait before whoever brings more waits too.
const WAITING_MOST: usize = 4 * WAITING_MAX;

/// Walks the samples of a recording.
pub struct Unwinder {
    /// `None` once no more comes.
    to: Option<Sender<Brought>>,
    from: Receiver<Done>,
    ready: OwnedFd,
    /// Those of the thread, while anything is to come.
    rounds: Arc<Mutex<Rounds>>,
    records: Records,
    /// What of the present round has come.
    round: Vec<TakenRecords>,
    /// Bytes that have not come back, but for those in rings.
    waiting: usize,
    /// How often something will come back.
    to_come: usize,
    /// Bytes that were brought.
    taken: u64,
    /// Time of the latest record that was brought.
    latest: u64,
    fared: Fared,
    /// Memory for records to come.
    spare: Vec<Vec<u8>>,
    /// What has come back and is yet to be written.
    arrived: VecDeque<Vec<u8>>,
    /// When one came back whose stack is longer than its copy, or when samples began: there may be some.
    may_be_deep: Instant,
    /// When a round came back that had taken long, or this began.
    unsettled: Instant,
    /// Samples of the last round that wait for the next.
    held: u64,
    /// Whether readers are yet to be told of rounds that were brought.
    is_untold: bool,
}

/// What may be brought to the thread.
enum Brought {
    /// What ran before.
    Described(Vec<u8>),
    /// Records that go on as they are.
    InHaste(Vec<u8>),
    /// A round that is whole, at once: whoever is brought a piece wakes up to wait for the next.
    Round {
        pieces: Vec<TakenRecords>,
        /// All records have come from before this time.
        horizon: u64,
        /// What says so to readers.
        end: Vec<u8>,
    },
    /// The rest of a round, which needs a file; so many bytes are not in rings.
    Rest(usize),
}

/// What has come back.
#[derive(Default)]
struct Done {
    records: Vec<u8>,
    /// The memory of those that were brought.
    emptied: Vec<Vec<u8>>,
    /// Bytes that this was when it was brought, but for those in rings.
    brought: usize,
    fared: Fared,
    /// Samples that wait for the next round; `None` if none has ended.
    held: Option<u64>,
    /// How long that took.
    took: Duration,
}

impl Unwinder {
    /// Starts the thread, which ends when this is dropped; `None` if samples have no times that tell when they were
    /// taken, or if nothing is known of the machine.
    pub fn start(
        counters: &Counters,
        samples: StackSamples,
        trailer: SampleIdTrailer,
        clock: Clock,
        of_made_code: StackCopy,
    ) -> io::Result<Option<Self>> {
        let machine = UnwoundMachine::of(std::env::consts::ARCH);
        let (Some(machine), true) = (machine, counters.run_by_clock()) else {
            return Ok(None);
        };
        let sideband = counters.sideband.ids.clone();
        let of_made_code = usize::try_from(of_made_code.0).unwrap_or(usize::MAX);
        Self::of(Records { samples, trailer, sideband, machine, clock, of_made_code }).map(Some)
    }

    fn of(records: Records) -> io::Result<Self> {
        let (to, brought) = channel();
        let (done, from) = channel();
        let ready = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let wake = ready.try_clone()?;
        let rounds = Arc::new(Mutex::new(Rounds::new(records.clone())));
        let of_thread = Arc::clone(&rounds);
        thread::Builder::new().name("unwind".to_owned()).spawn(move || {
            for brought in brought {
                let Ok(mut rounds) = of_thread.lock() else { return };
                let walked = walk(&mut rounds, brought).unwrap_or_default();
                drop(rounds);
                // Nobody waits for it any more.
                if done.send(walked).is_err() {
                    return;
                }
                let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes());
            }
        })?;
        let (waiting, to_come, taken, latest, fared) = (0, 0, 0, 0, Fared::default());
        let to = Some(to);
        let (spare, arrived) = (Vec::new(), VecDeque::new());
        Ok(Self {
            to,
            from,
            ready,
            rounds,
            records,
            round: Vec::new(),
            waiting,
            to_come,
            taken,
            latest,
            fared,
            spare,
            arrived,
            may_be_deep: Instant::now(),
            unsettled: Instant::now(),
            held: 0,
            is_untold: false,
        })
    }

    /// Readable once something has come back.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// Bytes that were brought.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Time of the latest record that was brought.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// How long a round may take. What of a stack is beyond its copy is read after a round, and may be gone by then. Of a gcc
    /// and rustc build at 499 Hz, recorded for 15 s by all at once, rounds of 25, 15, 8 and 5 ms leave 1.3, 1.1, 0.9 and 0.9 %
    /// of the stacks cut, and take 570, 600, 690 and 730 ms of processor time. They are short from the beginning: a long
    /// first round, in which nobody knows yet, leaves up to 0.8 % more. To read stacks before a round is walked gains nothing
    /// then. To be woken by each copy that is full (`wakeup_watermark`) takes half as much again of users without
    /// privileges, whose copies have 8 KiB.
    pub fn patience(&self) -> Duration {
        match self.may_be_deep.elapsed() < DEEP_FOR {
            true => DEEP_PATIENCE,
            false => Duration::MAX,
        }
    }

    /// Samples begin, and nobody knows yet whether some have such stacks, nor which tables they need.
    pub fn expect_deep_stacks(&mut self) {
        (self.may_be_deep, self.unsettled) = (Instant::now(), Instant::now());
    }

    /// Whether rounds come back without delay, as far as one can tell: when samples begin, many tables are loaded.
    pub fn is_settled(&self) -> bool {
        self.unsettled.elapsed() >= SETTLED_AFTER
    }

    /// Whether samples wait for another round, even if nothing new is in it.
    pub fn holds_samples(&self) -> bool {
        self.held > 0
    }

    /// Whether there is a round to end, even if nothing new is in it.
    pub fn has_to_end(&self) -> bool {
        self.is_untold || self.holds_samples()
    }

    /// How samples fared that have come back.
    pub fn fared(&self) -> Fared {
        self.fared
    }

    /// Has it know what ran before.
    pub fn know(&mut self, described: &[u8]) {
        self.send(Brought::Described(described.to_vec()));
    }

    /// Brings whole records of a round.
    pub fn push(&mut self, buffer: &mut Vec<u8>) {
        if buffer.is_empty() {
            return;
        }
        self.take_what_has_come();
        let mut spare = self.spare.pop().unwrap_or_default();
        spare.clear();
        let records = std::mem::replace(buffer, spare);
        self.count(&records);
        self.waiting += records.len();
        match self.waiting > WAITING_MAX {
            true => self.send(Brought::InHaste(records)),
            false => self.round.push(TakenRecords::Copied(records)),
        }
    }

    /// Brings whole records of a round that may be in their ring.
    pub fn push_taken(&mut self, records: TakenRecords) {
        self.take_what_has_come();
        self.count(&records);
        self.waiting += records.copied();
        self.round.push(records);
    }

    /// Takes note of how much was brought, and of the time of the latest.
    fn count(&mut self, records: &[u8]) {
        let mut left = records;
        while let Some((header, record, rest)) = RecordHeader::split(left, ByteOrder::NATIVE) {
            self.latest = self.latest.max(self.records.time(header, record).unwrap_or(0));
            left = rest;
        }
        self.taken += records.len() as u64;
    }

    /// The round is whole: all records have come from before this time. What says so to readers comes back behind them all; it
    /// may be left to a later round.
    pub fn end_round(&mut self, horizon: u64, end: Vec<u8>) {
        let pieces = std::mem::take(&mut self.round);
        self.is_untold = end.is_empty();
        self.take_what_has_come();
        let is_lent = pieces.iter().any(|piece| matches!(piece, TakenRecords::Lent(_)));
        let rounds = Arc::clone(&self.rounds);
        let Some(Ok(mut rounds)) = (is_lent && self.to_come == 0).then(|| rounds.try_lock()) else {
            return self.send(Brought::Round { pieces, horizon, end });
        };
        // What is lent has to be walked before its ring is emptied again, here as there. To wake the thread for the few samples
        // of 15 ms took a tenth of all processor time.
        let begun = Instant::now();
        let brought = begin(&mut rounds, pieces, horizon, end);
        match go_on(&mut rounds, brought, Reading::Refused, begun) {
            Some(done) => {
                self.to_come += 1;
                self.took(done);
            }
            None => self.send(Brought::Rest(brought)),
        }
    }

    fn send(&mut self, brought: Brought) {
        self.to_come += 1;
        if let Some(to) = &self.to {
            // A thread that died is found out by whoever waits for it.
            let _ = to.send(brought);
        }
    }

    /// Records that have come back; waits for them where too much is on its way.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut wakes = [0; 8];
        let _ = rustix::io::read(&self.ready, &mut wakes);
        self.take_what_has_come();
        match self.waiting > WAITING_MOST {
            true => self.next_to_come(),
            false => Ok(self.arrived.pop_front()),
        }
    }

    /// Records that come back next; `None` once all have that are of whole rounds. The last round may bring no bytes, and samples
    /// that waited for it.
    pub fn next_to_come(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.take_what_has_come();
        if self.arrived.is_empty() && self.to_come > 0 {
            let died = |_| io::Error::other("the thread that walks stacks has ended");
            let done = self.from.recv().map_err(died)?;
            self.took(done);
        }
        Ok(self.arrived.pop_front())
    }

    /// Memory is used again at once: it is in the processor's caches, and two or three pieces of it are enough. Where it
    /// waited for records to be written, twenty pieces were, which took a tenth of all time.
    fn take_what_has_come(&mut self) {
        while let Ok(done) = self.from.try_recv() {
            self.took(done);
        }
    }

    fn took(&mut self, done: Done) {
        let Done { records, emptied, brought, fared, held, took } = done;
        for memory in emptied {
            if self.spare.len() < SPARE_MAX && memory.capacity() <= LARGEST_SPARE {
                self.spare.push(memory);
            }
        }
        self.waiting = self.waiting.saturating_sub(brought);
        self.to_come -= 1;
        self.fared.add(fared);
        self.held = held.unwrap_or(self.held);
        if fared.cut + fared.beyond + fared.held > 0 {
            self.may_be_deep = Instant::now();
        }
        if took >= LONG_ROUND {
            self.unsettled = Instant::now();
        }
        self.arrived.push_back(records);
    }
}

/// What becomes of what was brought; `None` if there is nothing of it.
fn walk(rounds: &mut Rounds, brought: Brought) -> Option<Done> {
    let begun = Instant::now();
    let brought = match brought {
        Brought::Described(described) => {
            rounds.know(&described);
            return Some(Done { took: begun.elapsed(), ..Done::default() });
        }
        Brought::InHaste(records) => {
            let (brought, records) = (records.len(), rounds.pass(records));
            let (fared, took) = (rounds.take_fared(), begun.elapsed());
            return Some(Done { records, brought, fared, took, ..Done::default() });
        }
        Brought::Round { pieces, horizon, end } => begin(rounds, pieces, horizon, end),
        Brought::Rest(brought) => brought,
    };
    go_on(rounds, brought, Reading::Allowed, begun)
}

/// Says that a round is whole. Returns how many bytes of it are not in rings.
fn begin(rounds: &mut Rounds, pieces: Vec<TakenRecords>, horizon: u64, end: Vec<u8>) -> usize {
    let brought = pieces.iter().map(TakenRecords::copied).sum();
    pieces.into_iter().for_each(|piece| rounds.add(piece));
    rounds.end(horizon, end);
    brought
}

/// Goes through the round that is whole; `None` if a file has to be read, and may not be.
fn go_on(rounds: &mut Rounds, brought: usize, reading: Reading, begun: Instant) -> Option<Done> {
    let (records, emptied) = rounds.go_on(reading)?;
    // The kernel gets back what was lent.
    let emptied = emptied.into_iter().filter_map(|taken| match taken {
        TakenRecords::Copied(memory) => Some(memory),
        TakenRecords::Lent(_) => None,
    });
    let (emptied, fared) = (emptied.collect(), rounds.take_fared());
    Some(Done { records, emptied, brought, fared, held: Some(fared.held), took: begun.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::super::stack_sample::tests::sample;
    use super::*;

    #[test]
    fn a_round_is_finished_once_all_of_it_came_back_in_haste_or_not() {
        let mut unwinder = Unwinder::of(rounds::tests::records()).expect("a thread");
        let [walked, in_haste, end] = [10, 20, 30].map(|time| sample(0, time, &[0; 64], 64));
        unwinder.push(&mut walked.clone());
        unwinder.waiting = WAITING_MAX;
        unwinder.push(&mut in_haste.clone());
        unwinder.end_round(40, end.clone());
        let mut came = Vec::new();
        while let Some(records) = unwinder.next_to_come().expect("it lives") {
            came.extend(records);
        }
        assert!(came == [in_haste, walked, end].concat());
    }
}
