//! The recording while it runs: rings to file, until something ends it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::perftab_section::RecorderState;
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write;
use perftab_perfdata::format::write::SampleIdTrailer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::clock::Clock;
use super::command::StoppedCommand;
use super::counters::Counters;
use super::events;
use super::identify::{Identified, Identifier};
use super::kernel::RunningKernel;
use super::kernel_modules::KernelModules;
use super::options::{BuildIdTable, Plan, RecordArgs, Target};
use super::recording_file::{EventHead, RecordingFile, is_full};
use super::ring::Fill;
use super::signals::Signals;
use super::tally::{self, Tally};
use super::tasks::{self, RunningTasks};

/// Records are written at least this often, so that little is lost should we be killed.
const PATIENCE: Duration = Duration::from_secs(1);
/// While running processes are described, the rings are emptied this often.
const DESCRIBE_ROUND: Duration = Duration::from_millis(10);
/// Written in pieces of about this size, however many rings there are.
const WRITE_SIZE: usize = 1 << 20;
/// And of about this size once a piece did not fit on the disk any more.
const LAST_WRITES: usize = 16 << 10;

/// Why a recording ended.
#[derive(Debug)]
pub enum Ending {
    /// The command did.
    CommandEnded,
    /// The recorded processes did.
    TargetEnded,
    /// `--duration` is over.
    TimeIsUp,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Asked,
    /// No more could be written.
    WriteFailed(io::Error),
}

/// Records written since the last checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordsSince {
    None,
    Some,
}

/// A recording under way.
pub struct Session {
    pub(super) counters: Counters,
    pub(super) file: RecordingFile,
    pub(super) tally: Tally,
    /// `None` if the kernel is not recorded.
    pub(super) kernel: Option<RunningKernel>,
    pub(super) tasks: RunningTasks,
    /// Where build-ids are written.
    pub(super) build_ids: BuildIdTable,
    /// When the recording began.
    pub(super) clock: Clock,
    /// `None` if no build-ids are wanted.
    pub(super) identifier: Option<Identifier>,
    /// What readers need to know of tracepoints.
    pub(super) tracing_data: Vec<u8>,
    /// When the last checkpoint was due, and how long it took.
    checkpointed: Option<(Instant, Duration)>,
    /// Whether there are records that the last checkpoint does not know.
    records: RecordsSince,
    /// What files are, as the last checkpoint has it.
    identified: Identified,
    trailer: SampleIdTrailer,
    buffer: Vec<u8>,
    /// A write failed: what comes is dropped, and the recording ends.
    failure: Option<io::Error>,
}

impl Session {
    /// Creates the file.
    pub fn begin(counters: Counters, plan: &Plan, args: &RecordArgs) -> Result<Self> {
        let kernel = counters.count_the_kernel().then(|| RunningKernel::read(Path::new("/")));
        let tracing_data = events::tracing_data(Path::new("/"), &counters.tracepoints())?;
        let described: Vec<_> = counters.described().collect();
        let heads: Vec<_> =
            described.iter().map(|(_, attr, ids)| EventHead { attr, ids }).collect();
        let file = RecordingFile::create(&args.output, &heads)?;
        let trailer = SampleIdTrailer::of_sample_type(counters.sample_type());
        let clock = Clock::now();
        let identifier = match plan.build_ids {
            BuildIdTable::Written => {
                Some(Identifier::start(clock).context("a thread cannot be started")?)
            }
            BuildIdTable::LeftOut | BuildIdTable::MappingsOnly => None,
        };
        Ok(Self {
            tally: Tally::new(counters.sample_type(), counters.sideband.ids.iter().copied()),
            tasks: RunningTasks::new(trailer, plan.chains.described_mappings()),
            build_ids: plan.build_ids,
            clock,
            identifier,
            tracing_data,
            checkpointed: None,
            records: RecordsSince::None,
            identified: Identified::default(),
            counters,
            file,
            kernel,
            trailer,
            buffer: Vec::new(),
            failure: None,
        })
    }

    /// Starts the counters, unless the command's exec will, and describes the kernel and the
    /// processes that run already. In this order nothing is missed: what is mapped meanwhile is
    /// recorded twice, which is harmless, as the description has time 0 and so comes first.
    pub fn describe_what_runs(&mut self, plan: &Plan) -> Result<()> {
        if let Some(kernel) = &self.kernel {
            kernel.write_mappings(&mut self.buffer, self.trailer);
        }
        self.write_buffer();
        let processes = match plan.target {
            Target::Command => return Ok(()),
            Target::Cpus(_) | Target::Cgroup(_) => tasks::all_processes(),
            Target::Processes(_) | Target::Threads(_) => self.counters.processes.clone(),
        };
        self.counters.enable().context("the counters cannot be started")?;
        let mut emptied = Instant::now();
        for pid in processes {
            self.tasks.write_process(pid, &mut self.buffer);
            if emptied.elapsed() >= DESCRIBE_ROUND {
                // No FINISHED_ROUND before all is described: readers hold the samples back.
                self.empty_rings();
                emptied = Instant::now();
            }
        }
        self.write_buffer();
        Ok(())
    }

    /// Moves records until something ends the recording, then stops the counters.
    pub fn run(
        &mut self,
        plan: &Plan,
        mut signals: Signals,
        mut command: Option<&mut StoppedCommand>,
    ) -> Result<Ending> {
        let deadline = plan.duration.map(|duration| Instant::now() + duration);
        let mut polled = PolledCounters::new(&self.counters);
        let ending = loop {
            let now = Instant::now();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            let modules = self.kernel.as_ref().map(|kernel| &kernel.modules);
            let patience = modules.map_or(PATIENCE, KernelModules::patience).min(PATIENCE);
            let others = [Some(signals.as_fd()), modules.and_then(KernelModules::as_fd)];
            polled.wait(&self.counters, others, left.unwrap_or(patience).min(patience))?;
            signals.clear();
            self.round();
            if let Some(error) = self.failure.take() {
                break Ending::WriteFailed(error);
            } else if command.as_mut().is_some_and(|command| command.has_ended()) {
                break Ending::CommandEnded;
            } else if signals.asked_to_end() {
                break Ending::Asked;
            } else if polled.target_has_ended(plan) {
                break Ending::TargetEnded;
            } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Ending::TimeIsUp;
            }
        };
        self.counters.disable();
        if !matches!(ending, Ending::WriteFailed(_)) {
            self.round();
        }
        Ok(match self.failure.take() {
            Some(error) => Ending::WriteFailed(error),
            None => ending,
        })
    }

    /// Empties every ring once and says so.
    fn round(&mut self) {
        let before = self.file.data_size();
        self.empty_rings();
        let latest = self.describe_new_modules();
        let has_records = self.file.data_size() > before || !self.buffer.is_empty();
        if has_records {
            write::finished_round(&mut self.buffer);
            self.write_buffer();
            self.records = RecordsSince::Some;
        }
        if let Some(identifier) = &mut self.identifier {
            identifier.add(self.tally.take_new_files_without_id());
        }
        let has_checkpoint = self.checkpoint();
        if has_records || has_checkpoint {
            self.file.acknowledge();
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.modules.looked_after(latest.unwrap_or(self.tally.latest));
        }
    }

    /// Each second, if that takes a hundredth of the time or less, and if it would say anything new:
    /// a file may be written to while there is nothing to record. True if it was.
    fn checkpoint(&mut self) -> bool {
        let is_due = |(last, took): (Instant, Duration)| last.elapsed() >= PATIENCE.max(100 * took);
        if self.failure.is_some() || !self.checkpointed.is_none_or(is_due) {
            return false;
        }
        let begin = Instant::now();
        let identified = self.identifier.as_mut().map(Identifier::so_far).unwrap_or_default();
        if self.records == RecordsSince::None && identified == self.identified {
            return false;
        }
        let end = self.file_end(&identified, RecorderState::AtWork, Vec::new());
        let is_placed = self.file.checkpoint(end);
        if is_placed {
            (self.records, self.identified) = (RecordsSince::None, identified);
        }
        self.checkpointed = Some((Instant::now(), begin.elapsed()));
        is_placed
    }

    /// Writes down what the counters lost, as perf does for samples: LOST records come with the next
    /// record of their ring, and after the last there is none. They do not say what it was either.
    pub(super) fn write_late_losses(&mut self) {
        let trailer = self.trailer.at(self.tally.latest);
        let lost = self.counters.lost_samples().unwrap_or(0);
        if lost > self.tally.lost_samples {
            write::lost_samples(&mut self.buffer, lost, trailer);
        }
        let lost = self.counters.lost_sideband().unwrap_or(0);
        if let Some(late) = lost.checked_sub(self.tally.lost_sideband).filter(|late| *late > 0)
            && let Some(&id) = self.counters.sideband.ids.first()
        {
            write::lost(&mut self.buffer, id, late, trailer);
        }
        self.write_buffer();
    }

    fn empty_rings(&mut self) {
        for index in 0..self.counters.rings.len() {
            let start = self.buffer.len();
            let fill = self.counters.rings[index].drain_into(&mut self.buffer);
            if let Some(id) = self.counters.sideband_id(index) {
                self.mark_gaps(index, id, start, fill);
            }
            if self.buffer.len() >= WRITE_SIZE {
                self.write_buffer();
            }
        }
    }

    /// The kernel says what a ring of sideband lost with its next record, which may come late or
    /// never; but samples are doubtful from the last record before. So that is said at once, by a LOST
    /// record of nothing, as the number is yet to come. The ring's records stand in the buffer from
    /// `start` on.
    fn mark_gaps(&mut self, ring: usize, id: u64, start: usize, fill: Fill) {
        let (mut gaps, mut before) = (Vec::new(), None);
        let mut records = &self.buffer[start..];
        while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
            if header.record_type == RecordType::LOST {
                self.counters.add_reported(ring, tally::lost_in(record));
                // Before the first one is the end of what was read before, where that was full.
                gaps.extend(before);
            }
            before = self.trailer.time_of(record).or(before);
            records = rest;
        }
        if fill == Fill::Full && self.counters.has_new_loss(ring) {
            gaps.push(before.unwrap_or(self.tally.latest));
        }
        for time in gaps {
            write::lost(&mut self.buffer, id, 0, self.trailer.at(time));
        }
    }

    /// Takes note of the records in the buffer and writes them. Only what is in the file counts.
    fn write_buffer(&mut self) {
        let mut records = std::mem::take(&mut self.buffer);
        if self.failure.is_none() && !records.is_empty() {
            let mut written = self.write(&records);
            if written.as_ref().is_err_and(is_full) {
                let (sideband, samples) = part_samples(&records);
                let mut pieces = pieces(&sideband).chain(pieces(&samples));
                written = pieces.try_for_each(|piece| self.write(piece));
            }
            self.failure = written.err();
        }
        records.clear();
        self.buffer = records;
    }

    /// Writes whole records, or nothing of them.
    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.file.append(records)?;
        self.tally.walk(records);
        Ok(())
    }

    /// After the rings were emptied: describes the modules that came since the last round. If there
    /// are any, returns the time of the latest record before it looked.
    fn describe_new_modules(&mut self) -> Option<u64> {
        let change = self.kernel.as_mut()?.modules.look()?;
        self.write_buffer();
        let before = self.tally.latest;
        if change.is_unclear() {
            self.empty_rings();
            self.write_buffer();
        }
        let (kernel, latest) = (self.kernel.as_ref()?, self.tally.latest);
        kernel.modules.write_change(&change, latest, &mut self.buffer, self.trailer);
        Some(before)
    }
}

/// What samples need to be understood, and the samples. Within a round the order in the file does
/// not matter: readers sort it by time.
fn part_samples(mut records: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut sideband, mut samples) = (Vec::new(), Vec::new());
    while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
        let is_sample = header.record_type == RecordType::SAMPLE;
        if is_sample { &mut samples } else { &mut sideband }.extend_from_slice(record);
        records = rest;
    }
    (sideband, samples)
}

/// Whole records in pieces of about [`LAST_WRITES`]: what still fits on a disk that is full is
/// better than nothing of a second's samples.
fn pieces(mut records: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let mut left = records;
        while records.len() - left.len() < LAST_WRITES
            && let Some((_, _, rest)) = RecordHeader::split(left, ByteOrder::NATIVE)
        {
            left = rest;
        }
        let piece = &records[..records.len() - left.len()];
        records = left;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The counters that are polled: for wake-ups, and to learn that their thread has ended.
struct PolledCounters {
    /// Indices into the first event's descriptors; those of ended threads are taken out, as they
    /// would be ready for ever.
    open: Vec<usize>,
    /// The same of those for sideband.
    sideband: Vec<usize>,
}

impl PolledCounters {
    fn new(counters: &Counters) -> Self {
        Self {
            open: (0..counters.events[0].fds.len()).collect(),
            sideband: (0..counters.sideband.fds.len()).collect(),
        }
    }

    /// Waits until a ring is filled so far that it should be read, until one of the others is
    /// readable, or for so long.
    fn wait(
        &mut self,
        counters: &Counters,
        others: [Option<BorrowedFd<'_>>; 2],
        time: Duration,
    ) -> Result<()> {
        let of_open = self.open.iter().map(|index| &counters.events[0].fds[*index]);
        let of_sideband = self.sideband.iter().map(|index| &counters.sideband.fds[*index]);
        let counters = of_open.chain(of_sideband);
        let mut polled: Vec<PollFd<'_>> =
            counters.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
        let others = others.into_iter().flatten();
        polled.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let time = Timespec::try_from(time).context("the time to wait is too long")?;
        match poll(&mut polled, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting for samples failed"),
        }
        let ended = PollFlags::HUP | PollFlags::ERR;
        let mut results = polled.iter().map(|fd| fd.revents().intersects(ended));
        self.open.retain(|_| !results.next().unwrap_or(false));
        self.sideband.retain(|_| !results.next().unwrap_or(false));
        Ok(())
    }

    fn target_has_ended(&self, plan: &Plan) -> bool {
        matches!(plan.target, Target::Processes(_) | Target::Threads(_)) && self.open.is_empty()
    }
}
