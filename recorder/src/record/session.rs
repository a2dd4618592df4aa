//! The recording while it runs: rings to file, until something ends it.

use std::cell::OnceCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perftab_perfdata::format::perftab_section::{PerftabSection, RecorderState};
use perftab_perfdata::format::write;
use perftab_perfdata::format::write::SampleIdTrailer;

use super::clock::Clock;
use super::command::StoppedCommand;
use super::control::{Control, Request};
use super::counters::Counters;
use super::embed::{EmbedKind, Embedding, ProcessCode};
use super::events;
use super::finish::stream_head;
use super::flight::Flight;
use super::host::Machine;
use super::identify::Identifier;
use super::kernel::RunningKernel;
use super::kernel_modules::KernelModules;
use super::live_line::LiveLine;
use super::options::{BuildIdTable, CallChains, KeptSamples, Plan, Start};
use super::output_options::OutputPlan;
use super::part::{Destination, Memory, Part, RecordsSince};
use super::parts::Parts;
use super::polled::{PolledCounters, Woken};
use super::recording_file::{EventHead, RecordingFile};
use super::recording_stream::RecordingStream;
use super::ring_copy::RingCopy;
use super::sample_layouts::SampleLayouts;
use super::signals::{Signals, Usr2};
use super::stack_sample::StackSamples;
use super::sys;
use super::tally::Tally;
use super::tasks::RunningTasks;
use super::unwinding::Unwinder;
use super::unwound::{Lending, RingsHold};
use crate::images::kernel_copies::KernelCopies;
use crate::output::{notice, printable};

/// Records are written at least this often, so that little is lost should we be killed.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long rounds of deep stacks may do nothing but empty the rings and walk. Everything that a round does besides took a third of
/// the main thread's time when it was done each 5 ms.
const WRITTEN_AT_LEAST: Duration = Duration::from_millis(100);
pub(super) const CANNOT_START: &str = "the counters cannot be started";
/// How long the disk is waited for at a time.
const DISK_PATIENCE: Duration = Duration::from_millis(20);
/// Written in pieces of about this size, however many rings there are.
pub(super) const WRITE_SIZE: usize = 1 << 20;

/// Whether it is time for something that was done last at this time, and took so long: each second, if that takes a
/// hundredth of the time or less.
pub(super) fn is_due_again((last, took): (Instant, Duration)) -> bool {
    last.elapsed() >= PATIENCE.max(100 * took)
}

/// Why a recording ended.
#[derive(Debug)]
pub enum Ending {
    /// The command did.
    CommandEnded,
    /// The recorded processes did.
    TargetEnded,
    /// `--duration` is over.
    TimeIsUp,
    /// The file has what `--max-size` lets it have.
    SizeReached,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Asked,
    /// No more could be written.
    WriteFailed(io::Error),
}

/// What is printed of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loudness {
    /// What came of it.
    Usual,
    /// Only errors and warnings.
    Quiet,
}

/// Whether the recording goes on.
enum Obeyed {
    All,
    Stop,
}

/// A recording under way.
pub struct Session {
    pub(super) counters: Counters,
    /// What is written at present.
    pub(super) part: Part,
    /// `None` if the kernel is not recorded.
    pub(super) kernel: Option<RunningKernel>,
    pub(super) tasks: RunningTasks,
    /// What travels in the recording.
    pub(super) embed: Vec<EmbedKind>,
    /// Where build-ids are written.
    pub(super) build_ids: BuildIdTable,
    /// When the recording began.
    pub(super) clock: Clock,
    /// When the counters were started, or could have been.
    pub(super) began: Instant,
    /// Read once it is wanted.
    pub(super) machine: OnceCell<Machine>,
    /// perftab's own section of the last checkpoint, and its bytes.
    pub(super) section: Option<(PerftabSection, Vec<u8>)>,
    /// `None` if no build-ids are wanted.
    pub(super) identifier: Option<Identifier>,
    /// What readers need to know of tracepoints.
    pub(super) tracing_data: Vec<u8>,
    pub(super) trailer: SampleIdTrailer,
    /// `None` unless it goes on in other files.
    pub(super) parts: Option<Parts>,
    /// `None` unless it is a flight recorder.
    pub(super) flight: Option<Flight>,
    /// Records that were lost before the part that is written at present.
    pub(super) lost_before: u64,
    /// Whether only errors and warnings are printed.
    pub(super) is_quiet: bool,
    /// `None` if nobody watches, or no more.
    pub(super) live: Option<LiveLine>,
    /// `None` if stacks are left to readers.
    pub(super) unwinder: Option<Unwinder>,
    /// Adds parts of files to what is complete, once there is any of it.
    pub(super) embedding: Option<Embedding>,
    /// Where the fields of samples stand.
    pub(super) layouts: SampleLayouts,
    ring_copy: RingCopy,
    pub(super) rings_hold: RingsHold,
    pub(super) buffer: Vec<u8>,
}

impl Session {
    /// Creates the file, or begins the stream.
    pub fn begin(counters: Counters, plan: &Plan, loudness: Loudness) -> Result<Self> {
        let described: Vec<_> = counters.described().collect();
        let heads: Vec<_> =
            described.iter().map(|(_, attr, ids)| EventHead { attr, ids }).collect();
        let to = match &plan.output {
            OutputPlan::File(path) | OutputPlan::Parts(path, _) => Destination::File(Box::new(
                RecordingFile::create(path, &heads, counters.rings_fill())?,
            )),
            OutputPlan::Flight(..) => Destination::Memory(Memory::default()),
            OutputPlan::Stream => {
                let head = stream_head(&counters, plan.packing)?;
                Destination::Stream(RecordingStream::begin(&head)?)
            }
        };
        Self::begin_to(to, counters, plan, loudness)
    }

    /// The same with records that go somewhere.
    pub fn begin_to(
        to: Destination,
        counters: Counters,
        plan: &Plan,
        loudness: Loudness,
    ) -> Result<Self> {
        let read = || RunningKernel::read(Path::new("/"), &KernelCopies::of_user());
        let kernel = counters.count_the_kernel().then(read);
        let tracing_data = events::tracing_data(Path::new("/"), &counters.tracepoints())?;
        let trailer = SampleIdTrailer::of_sample_type(counters.sample_type());
        let layouts = SampleLayouts::of(&counters)?;
        let clock = Clock::now();
        let identifier = match plan.build_ids {
            BuildIdTable::Written => {
                Some(Identifier::start(clock).context("a thread cannot be started")?)
            }
            BuildIdTable::LeftOut | BuildIdTable::MappingsOnly => None,
        };
        let copied = counters.events.first().map_or(0, |event| event.attr.sample_stack_user);
        let stack_samples = StackSamples::new(layouts.clone(), copied);
        let unwinder = match (plan.chains, plan.samples, stack_samples.clone()) {
            (CallChains::Unwound { of_made_code, .. }, KeptSamples::All, Some(samples)) => {
                let started = Unwinder::start(&counters, samples, trailer, clock, of_made_code);
                started.context("a thread cannot be started")?
            }
            _ => None,
        };
        let live = match loudness {
            Loudness::Usual => LiveLine::begin(plan, || stream_head(&counters, None).ok()),
            Loudness::Quiet => None,
        };
        let ring_copy = match unwinder.as_ref().and(stack_samples) {
            Some(samples) => RingCopy::WithoutRoomOfStacks(samples),
            None => RingCopy::of_chains(plan, &layouts),
        };
        let rings_hold = RingsHold::of(plan, &counters);
        let sideband = counters.sideband.ids.iter().copied();
        let tally = Tally::new(layouts.clone(), trailer, sideband);
        Ok(Self {
            part: match plan.samples {
                KeptSamples::All => Part::begin(to, tally, plan.packing)?,
                KeptSamples::Latest => Part::begin(to, tally, None)?,
            },
            flight: match plan.samples {
                KeptSamples::All => None,
                KeptSamples::Latest => Some(Flight::new(&plan.triggers)),
            },
            tasks: RunningTasks::new(trailer, plan.chains.described_mappings(), plan.namespaces),
            embed: plan.embed.clone(),
            build_ids: plan.build_ids,
            clock,
            began: Instant::now(),
            machine: OnceCell::new(),
            section: None,
            identifier,
            tracing_data,
            counters,
            kernel,
            trailer,
            parts: match &plan.output {
                OutputPlan::Parts(path, rotation) | OutputPlan::Flight(path, rotation) => {
                    Some(Parts::new(path, *rotation))
                }
                OutputPlan::File(_) | OutputPlan::Stream => None,
            },
            lost_before: 0,
            is_quiet: loudness == Loudness::Quiet,
            live,
            unwinder,
            layouts,
            ring_copy,
            rings_hold,
            embedding: None,
            buffer: Vec::new(),
        })
    }

    /// When `--duration` is over.
    pub(super) fn deadline(&self, plan: &Plan) -> Option<Instant> {
        plan.duration.map(|duration| self.began + duration)
    }

    pub(super) fn enable_samples(&mut self) -> Result<()> {
        self.counters.enable_samples().context(CANNOT_START)?;
        self.expect_deep_stacks();
        Ok(())
    }

    /// Moves records until something ends the recording, then stops the counters.
    pub fn run(
        &mut self,
        plan: &Plan,
        mut signals: Signals,
        mut control: Option<Control>,
        mut command: Option<&mut StoppedCommand>,
    ) -> Result<Ending> {
        let mut starts = match plan.start {
            Start::After(delay) => Some(Instant::now() + delay),
            Start::AtOnce | Start::OnRequest => None,
        };
        // What ran was described since, which may take long.
        self.expect_deep_stacks();
        let deadline = self.deadline(plan);
        let mut polled = PolledCounters::new(&self.counters);
        let mut round = Instant::now();
        let ending = loop {
            let now = Instant::now();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            let modules = self.kernel.as_ref().map(|kernel| &kernel.modules);
            let patience = modules.map_or(PATIENCE, KernelModules::patience).min(PATIENCE);
            let others: Vec<_> = modules
                .and_then(KernelModules::as_fd)
                .into_iter()
                .chain([signals.as_fd()])
                .chain(control.as_ref().and_then(Control::as_fd))
                .collect();
            let until_start = starts.map(|starts| starts.saturating_duration_since(now));
            let of_part = self.parts.as_ref().and_then(Parts::patience);
            let patience =
                [left, until_start, of_part].into_iter().flatten().fold(patience, Duration::min);
            let patience = patience.min(self.part.to.patience());
            let of_stacks = self.unwinder.as_ref().map_or(Duration::MAX, Unwinder::patience);
            let is_for_stacks = of_stacks < patience && round.elapsed() < WRITTEN_AT_LEAST;
            // While the disk is behind, rings wait; whoever ends the recording does not.
            let has_room = self.part.to.has_room(DISK_PATIENCE.min(patience));
            let helpers = [self.part.packed(), self.unwinder.as_ref().map(Unwinder::as_fd)];
            let helpers = helpers.into_iter().flatten().filter(|_| !is_for_stacks);
            let helpers: Vec<_> = helpers.collect();
            let woken = match has_room {
                true => polled.wait(&self.counters, &helpers, &others, patience.min(of_stacks))?,
                false => Woken::DiskIsBehind,
            };
            match woken {
                Woken::DiskIsBehind => signals.clear(),
                Woken::Nobody if is_for_stacks => {
                    self.round_of_stacks();
                    continue;
                }
                Woken::HelpersAlone => {
                    self.write_what_is_unwound();
                    self.part.write_what_is_packed(&mut self.buffer);
                }
                Woken::Nobody | Woken::Others => {
                    round = Instant::now();
                    signals.clear();
                    self.round();
                    self.describe_after_gaps(plan);
                    self.live.iter_mut().for_each(|line| line.show(&self.part));
                }
            }
            if let Some(error) = self.part.failure.take() {
                break Ending::WriteFailed(error);
            } else if command.as_mut().is_some_and(|command| command.has_ended()) {
                break Ending::CommandEnded;
            } else if signals.asked_to_end() {
                break Ending::Asked;
            } else if polled.target_has_ended(plan) {
                break Ending::TargetEnded;
            } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Ending::TimeIsUp;
            } else if plan.max_size.is_some_and(|most| self.part.to.data_size() >= most) {
                break Ending::SizeReached;
            }
            if starts.take_if(|starts| Instant::now() >= *starts).is_some() {
                self.enable_samples()?;
            }
            let went_on = self.go_on(plan, signals.took_usr2());
            let obeyed = went_on.and_then(|()| self.obey(plan, control.as_mut(), &mut starts));
            match obeyed {
                Ok(Obeyed::All) => {}
                Ok(Obeyed::Stop) => break Ending::Asked,
                Err(error) => break Ending::WriteFailed(io::Error::other(format!("{error:#}"))),
            }
        };
        self.live = None;
        self.counters.disable();
        if !matches!(ending, Ending::WriteFailed(_)) {
            self.round();
            // Counters have stopped.
            self.write_all_unwound(u64::MAX);
            self.part.write_all_packed();
        }
        Ok(match self.part.failure.take() {
            Some(error) => Ending::WriteFailed(error),
            None => ending,
        })
    }

    /// Does what others ask for. Whoever says whether samples are taken has the word, not the delay that `starts` ends.
    fn obey(
        &mut self,
        plan: &Plan,
        control: Option<&mut Control>,
        starts: &mut Option<Instant>,
    ) -> Result<Obeyed> {
        let Some(control) = control else { return Ok(Obeyed::All) };
        for request in control.take() {
            if matches!(request, Request::Enable(None) | Request::Disable(None)) {
                *starts = None;
            }
            match request {
                Request::Enable(None) => self.enable_samples()?,
                Request::Disable(None) => self.counters.disable_samples(),
                Request::Enable(Some(ref event)) => self.switch(event, sys::enable),
                Request::Disable(Some(ref event)) => self.switch(event, sys::disable),
                Request::Evlist => self.counters.names().for_each(|name| {
                    notice(printable(name));
                }),
                Request::Snapshot => {
                    self.go_on(plan, Usr2::Came)?;
                    if let Some(embedding) = &self.embedding {
                        let done = control.done().clone();
                        embedding.then(move || done.acknowledge());
                        continue;
                    }
                }
                Request::Stop | Request::Ping => {}
            }
            control.done().acknowledge();
            if request == Request::Stop {
                return Ok(Obeyed::Stop);
            }
        }
        Ok(Obeyed::All)
    }

    /// Starts or stops the counters of an event. What cannot be done is no reason to end the recording.
    fn switch(&self, event: &str, how: impl Fn(BorrowedFd<'_>) -> io::Result<()>) {
        let shown = printable(event);
        match self.counters.of_event(event).map(how).reduce(Result::and) {
            None => {
                notice(format_args!("--control: {shown} is not recorded; evlist lists what is"))
            }
            Some(Err(error)) => notice(format_args!("--control: {shown}: {error}")),
            Some(Ok(())) => {}
        }
    }

    /// Begins another file, or writes what is kept, if there is reason.
    fn go_on(&mut self, plan: &Plan, usr2: Usr2) -> Result<()> {
        if let Destination::Reader(reader) = &self.part.to
            && (usr2 == Usr2::Came || reader.has_enough())
        {
            return self.begin_anew(plan);
        }
        let Some(flight) = &mut self.flight else {
            return match usr2 == Usr2::Came || self.part_is_due() {
                true => self.begin_next_part(plan),
                false => Ok(()),
            };
        };
        let why = flight.triggered();
        if usr2 == Usr2::Came || why.is_some() {
            self.write_flight(plan, why.as_deref())?;
        }
        self.forget_what_is_old(plan)
    }

    /// Empties every ring once and says so.
    fn round(&mut self) {
        let begun = Clock::record_time();
        let before = self.taken();
        self.empty_rings(Lending::Allowed);
        let mut has_records = self.end_round(begun, before);
        if self.unwinder.is_some() {
            has_records = self.write_what_is_unwound();
        }
        if let Some(identifier) = &mut self.identifier {
            identifier.add(self.part.tally.take_new_files_without_id());
        }
        let has_checkpoint = self.checkpoint();
        self.part.write_what_is_packed(&mut self.buffer);
        if has_checkpoint || (has_records && !self.part.is_packed()) {
            self.part.to.acknowledge();
        }
    }

    /// Describes the modules that came since this was last done: a mapping may not be older than what rounds before have
    /// ended. Says that rings were emptied, if anything was in them: then it is true.
    fn end_round(&mut self, begun: u64, taken_before: u64) -> bool {
        let latest = self.describe_new_modules();
        let is_waited_for = self.unwinder.as_ref().is_some_and(Unwinder::has_to_end);
        let has_records = self.taken() > taken_before || !self.buffer.is_empty() || is_waited_for;
        // Of what is kept, samples are still to come.
        if has_records && self.flight.is_none() {
            match &mut self.unwinder {
                Some(unwinder) => {
                    let mut end = Vec::new();
                    write::finished_round(&mut end);
                    unwinder.push(&mut self.buffer);
                    unwinder.end_round(begun, end);
                }
                None => {
                    write::finished_round(&mut self.buffer);
                    self.write_buffer();
                    self.part.records = RecordsSince::Some;
                }
            }
        }
        let now = self.latest();
        if let Some(kernel) = &mut self.kernel {
            kernel.modules.looked_after(latest.unwrap_or(now));
        }
        has_records
    }

    /// Bytes of records from rings, wherever they are by now.
    pub(super) fn taken(&self) -> u64 {
        self.unwinder.as_ref().map_or_else(|| self.part.taken(), Unwinder::taken)
    }

    /// Time of the latest record from rings.
    pub(super) fn latest(&self) -> u64 {
        self.part.tally.latest.max(self.unwinder.as_ref().map_or(0, Unwinder::latest))
    }

    /// As often as it is due, if it would say anything new: a file may be written to while there is nothing to record.
    /// True if it was.
    fn checkpoint(&mut self) -> bool {
        let is_file = matches!(self.part.to, Destination::File(_));
        if !is_file
            || self.part.failure.is_some()
            || !self.part.checkpointed.is_none_or(is_due_again)
        {
            return false;
        }
        let begin = Instant::now();
        let identified = self.identifier.as_mut().map(Identifier::so_far).unwrap_or_default();
        if self.part.records == RecordsSince::None && identified == self.part.identified {
            return false;
        }
        let end = self.file_end(&identified, RecorderState::AtWork, ProcessCode::default());
        let is_placed = self.part.to.checkpoint(end);
        if is_placed {
            (self.part.records, self.part.identified) = (RecordsSince::None, identified);
        }
        self.part.checkpointed = Some((Instant::now(), begin.elapsed()));
        is_placed
    }

    pub(super) fn empty_rings(&mut self, lending: Lending) {
        for index in 0..self.counters.rings.len() {
            if lending == Lending::Allowed && self.try_lend(index) {
                continue;
            }
            let start = self.buffer.len();
            let (buffer, copy) = (&mut self.buffer, &self.ring_copy);
            let fill = self.counters.rings[index].drain(|ring| copy.copy(&ring, buffer));
            if let Some(id) = self.counters.sideband_id(index) {
                self.mark_gaps(index, id, start, fill);
            }
            if self.buffer.len() >= WRITE_SIZE {
                self.write_buffer();
            }
        }
    }

    /// Hands the records in the buffer on.
    pub(super) fn write_buffer(&mut self) {
        match &mut self.unwinder {
            Some(unwinder) => unwinder.push(&mut self.buffer),
            None => {
                let mut records = std::mem::take(&mut self.buffer);
                self.take(&mut records);
                self.buffer = records;
            }
        }
    }

    /// Takes whole records as they are written.
    pub(super) fn take(&mut self, records: &mut Vec<u8>) {
        if let Some(line) = &mut self.live {
            line.take(records);
        }
        self.part.take(records);
    }
}
