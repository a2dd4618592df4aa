//! The recording while it runs: rings to file, until something ends it.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::perftab_section::RecorderState;
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write;
use perftab_perfdata::format::write::SampleIdTrailer;

use super::clock::Clock;
use super::command::StoppedCommand;
use super::counters::Counters;
use super::events;
use super::identify::{Identified, Identifier};
use super::kernel::RunningKernel;
use super::kernel_modules::KernelModules;
use super::options::{BuildIdTable, Plan, RecordArgs, Target};
use super::packer::{Packed, Packer};
use super::polled::{PolledCounters, Woken};
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
    /// Bytes of records that were taken from the buffer.
    taken: u64,
    /// `None` if records are written as they are.
    packer: Option<Packer>,
    /// What the feature COMPRESSED says, once records are packed no more.
    packing: Vec<u8>,
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
        let packer = plan.packing.map(Packer::start).transpose();
        Ok(Self {
            packer: packer.context("records cannot be packed")?,
            packing: Vec::new(),
            taken: 0,
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
            let others: Vec<_> = modules
                .and_then(KernelModules::as_fd)
                .into_iter()
                .chain([signals.as_fd()])
                .collect();
            let packer = self.packer.as_ref().map(Packer::as_fd);
            let patience = left.unwrap_or(patience).min(patience);
            match polled.wait(&self.counters, packer, &others, patience)? {
                Woken::ByPackerAlone => self.write_packed(Packer::next),
                Woken::ForARound => {
                    signals.clear();
                    self.round();
                }
            }
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
            self.write_packed(Packer::next_to_come);
        }
        Ok(match self.failure.take() {
            Some(error) => Ending::WriteFailed(error),
            None => ending,
        })
    }

    /// Empties every ring once and says so.
    fn round(&mut self) {
        let before = self.taken;
        self.empty_rings();
        let latest = self.describe_new_modules();
        let has_records = self.taken > before || !self.buffer.is_empty();
        if has_records {
            write::finished_round(&mut self.buffer);
            self.write_buffer();
            self.records = RecordsSince::Some;
        }
        if let Some(identifier) = &mut self.identifier {
            identifier.add(self.tally.take_new_files_without_id());
        }
        let has_checkpoint = self.checkpoint();
        self.write_packed(Packer::next);
        if has_checkpoint || (has_records && self.packer.is_none()) {
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
        self.write_packed(Packer::next_to_come);
    }

    /// The payload of the feature COMPRESSED; empty if nothing was packed.
    pub(super) fn compression(&self) -> Vec<u8> {
        self.packer.as_ref().map_or_else(|| self.packing.clone(), Packer::feature)
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

    /// Takes note of the records in the buffer and writes them, or has them packed. Only what is in the
    /// file counts.
    fn write_buffer(&mut self) {
        let mut records = std::mem::take(&mut self.buffer);
        self.taken += records.len() as u64;
        if self.failure.is_none() && !records.is_empty() {
            if let Some(packer) = &mut self.packer {
                self.tally.walk(&records);
                packer.push(records);
                return self.write_packed(Packer::next);
            }
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

    /// Writes what comes back from the packer.
    fn write_packed(&mut self, next: impl Fn(&mut Packer) -> Option<Packed>) {
        let mut missing = 0;
        let failure = loop {
            match self.packer.as_mut().and_then(&next) {
                None => return,
                Some(Packed::Record { bytes, content }) => {
                    if let Err(error) = self.file.append(&bytes) {
                        missing = content.samples;
                        break error;
                    }
                }
                Some(Packed::Batch(mut memory)) => {
                    // Before the features say how, nobody can unpack it.
                    if self.checkpointed.is_some() {
                        self.file.acknowledge();
                    }
                    if self.buffer.capacity() == 0 {
                        memory.clear();
                        self.buffer = memory;
                    }
                }
                Some(Packed::Failed(error)) => break error,
            }
        };
        // What is packed refers to what was packed before: nothing after a gap can be read.
        if let Some(packer) = self.packer.take() {
            self.packing = packer.feature();
            missing += packer.give_up();
        }
        self.tally.samples = self.tally.samples.saturating_sub(missing);
        self.failure = Some(failure);
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
