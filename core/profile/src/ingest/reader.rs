//! Records in the order of time → columns of the profile.

use perftab_perfdata::map::Map;
use std::ops::Range;

use perftab_perfdata::decode::attr::TrailerLayout;
use perftab_perfdata::decode::features::{self, BuildIdEntry, Features};
use perftab_perfdata::decode::header::EventAttr;
use perftab_perfdata::decode::records::{
    AuxTraceError, CgroupRecord, CommCause, CommRecord, DeferredCallChain, EventUpdate,
    EventUpdateKind, KernelSymbolRecord, MmapRecord, NamespacesRecord, RecordHeader, TaskRecord,
    ThreadNames, aux_trace_size, decode_aux_flags, decode_feature, decode_header_attr, decode_lost,
    lost_by, tracing_data,
};
use perftab_perfdata::decode::{ByteOrder, sample_tail};
use perftab_perfdata::error::{DecodeError, WarningKind};
use perftab_perfdata::format::attr::sample_type;
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::record::{KERNEL_PID, RECORD_HEADER_SIZE, RecordType, misc};
use perftab_perfdata::text::counted;

use super::address_space::AddressSpace;
use super::build_ids;
use super::call_chain::CallChains;
use super::deferred::DeferredSamples;
use super::doubt::{Doubt, Mappings};
use super::embedded::{self, PerftabSectionData};
use super::events::{Added, Events};
use super::funnel::CutChains;
use super::kernel::Kernels;
use super::kernel_symbols::KernelSymbols;
use super::off_cpu::OffCpu;
use super::periods::Periods;
use super::record_counts::RecordCounts;
use super::sample::cpu_number;
use super::simpleperf_symbols;
use super::tasks::{Forked, Tasks};
use super::time_order::{TimeOrder, Timed};
use super::walker::Entry;
use super::warnings::Warnings;
use super::watch::Replay;
use super::{Ingested, KeptDumps, RecordCompression};
use crate::{Identity, MappedFrom, Mark, MarkKind, Profile, PseudoFrame, StringId, WallClockTime};

/// What reads records that are in order, and everything they change.
pub(super) struct Reader {
    pub(super) order: ByteOrder,
    pub(super) events: Events,
    pub(super) features: Features,
    stream_build_ids: Vec<BuildIdEntry>,
    pub(super) doubt: Doubt,
    records: RecordCounts,
    pub(super) tasks: Tasks,
    pub(super) kernels: Kernels,
    pub(super) kernel_symbols: KernelSymbols,
    pub(super) call_chains: CallChains,
    pub(super) periods: Periods,
    pub(super) deferred: DeferredSamples,
    pub(super) off_cpu: OffCpu,
    /// If samples are only to be shown.
    pub(super) replay: Option<Replay>,
    pub(super) profile: Profile,
    /// Samples that state no time.
    pub(super) timeless: u64,
    /// Samples of user space whose pid is that of idle threads.
    pub(super) outside: u64,
    /// Samples with that pid of which nothing tells whether user space or an idle thread was there.
    pub(super) idle_or_outside: u64,
    /// Samples with a copy of their user stack.
    pub(super) stack_dumps: u64,
    /// Those among them that have no user frame at all.
    pub(super) without_user_frame: u64,
    /// Samples that could not be used.
    pub(super) unreadable_samples: u64,
    pub(super) cut_chains: CutChains,
    /// Whether some process had the vdso of a 64-bit machine.
    has_native_vdso: bool,
    pub(super) warnings: Warnings,
}

impl Reader {
    pub(super) fn new(order: ByteOrder, features: Features, warnings: Warnings) -> Self {
        let section = features.perftab.as_ref().and_then(|section| section.as_ref().ok());
        let sideband = section.map(|section| section.sideband.iter().copied());
        let doubt = Doubt::new(sideband.into_iter().flatten());
        let mut reader = Self {
            order,
            events: Events::default(),
            features,
            stream_build_ids: Vec::new(),
            has_native_vdso: false,
            doubt,
            records: RecordCounts::default(),
            tasks: Tasks::default(),
            kernels: Kernels::default(),
            kernel_symbols: KernelSymbols::default(),
            call_chains: CallChains::default(),
            periods: Periods::default(),
            deferred: DeferredSamples::default(),
            off_cpu: OffCpu::default(),
            replay: None,
            profile: Profile::default(),
            timeless: 0,
            outside: 0,
            idle_or_outside: 0,
            stack_dumps: 0,
            without_user_frame: 0,
            unreadable_samples: 0,
            cut_chains: CutChains::default(),
            warnings,
        };
        reader.suggest_saved_comms();
        reader
    }

    /// The kernel's tracer remembers names of threads: for those that no record names.
    fn suggest_saved_comms(&mut self) {
        for comm in &self.features.tracing.comms {
            self.tasks.suggest_name(&mut self.profile, comm.tid, &comm.name);
        }
    }

    /// Events, as they become known: those of the header, or one with each HEADER_ATTR record.
    pub(super) fn add_events(&mut self, attrs: impl IntoIterator<Item = EventAttr>) {
        for attr in attrs {
            if self.events.add(attr) == Added::TooMany {
                self.warnings.add(WarningKind::UnknownEvent, None, || {
                    let most = self.events.len();
                    format!("Events beyond the first {most} were left out, with their samples.")
                });
            }
        }
        if self.events.have_accesses() {
            self.tasks.keep_data();
        }
        self.events.describe(&self.features.event_names);
        self.profile.events.resize_with(self.events.len(), Default::default);
    }

    /// How many samples have been met.
    pub(super) fn samples(&self) -> u64 {
        self.records.of(RecordType::SAMPLE)
    }

    pub(super) fn count(&mut self, record_type: RecordType) {
        self.records.add(record_type);
    }

    /// A record's time, and which of its bytes are a stack dump.
    pub(super) fn time_and_dump(
        &self,
        header: RecordHeader,
        record: &[u8],
    ) -> (Option<u64>, Option<Range<usize>>) {
        if header.record_type.0 >= RecordType::HEADER_ATTR.0 {
            return (None, None);
        }
        if header.record_type == RecordType::SAMPLE {
            let body = &record[RECORD_HEADER_SIZE..];
            let Some(layout) = self.events.sample_layout(body, self.order) else {
                return (None, None);
            };
            let time = layout.time.and_then(|at| body.get(at..)?.first_chunk().copied());
            let dump = sample_tail::stack_dump(layout, body, self.order);
            let in_record = |place| place + RECORD_HEADER_SIZE;
            let dump = dump.map(|dump| in_record(dump.start)..in_record(dump.end));
            return (time.map(|bytes| self.order.u64(bytes)), dump);
        }
        let trailer = self.trailer(record);
        (TrailerLayout::field(record, trailer.time, self.order), None)
    }

    /// Whether a sample was to have a copy of its stack, though none was found that ends where it should.
    pub(super) fn may_have_dump(&self, header: RecordHeader, record: &[u8]) -> bool {
        let body = record.get(RECORD_HEADER_SIZE..).unwrap_or_default();
        header.record_type == RecordType::SAMPLE
            && self
                .events
                .sample_layout(body, self.order)
                .is_some_and(|layout| layout.tail.has(sample_type::STACK_USER))
    }

    pub(super) fn trailer(&self, record: &[u8]) -> TrailerLayout {
        self.events.trailer_layout(record, self.order)
    }

    /// Reads a record whose turn has come.
    #[inline(always)]
    pub(super) fn read_timed(&mut self, timed: Timed<'_>) {
        match timed {
            Timed::Sample(sample) => {
                self.add_plain(sample);
                self.bound_mappings();
            }
            Timed::Record(_, entry) => self.read(entry),
        }
    }

    /// Reads a record.
    pub(super) fn read(&mut self, entry: Entry<'_>) {
        if let Err(error) = self.try_read(entry) {
            let Entry { offset, header, .. } = entry;
            let name = header.record_type.name().unwrap_or("unknown");
            self.warnings.add_of(name, WarningKind::Unreadable, Some(offset), || {
                format!("Records of type {name} could not be read: {error}.")
            });
        }
        self.bound_mappings();
    }

    /// Leaves the history of mappings behind where it has become too large.
    #[inline(always)]
    fn bound_mappings(&mut self) {
        if self.profile.mappings.is_overgrown() {
            let spaces = self.tasks.spaces().chain(self.kernels.spaces());
            AddressSpace::keep_only(&mut self.profile.mappings, spaces);
        }
    }

    fn try_read(&mut self, entry: Entry<'_>) -> Result<(), DecodeError> {
        let Entry { offset, header, bytes } = entry;
        let order = self.order;
        // The recorder makes up records of other types, too, to say what was there before.
        if let RecordType::SAMPLE | RecordType::EXIT | RecordType::LOST = header.record_type {
            self.kernel_symbols.begin();
        }
        // What precedes the trailer: a path without its padding could run into it.
        let body = || {
            let trailer = self.trailer(bytes).size;
            &bytes[..bytes.len().saturating_sub(trailer).max(RECORD_HEADER_SIZE)]
        };
        match header.record_type {
            RecordType::SAMPLE => self.sample(entry),
            RecordType::MMAP | RecordType::MMAP2 => {
                let mut mmap = MmapRecord::decode(header, body(), offset, order)?;
                // What simpleperf writes there of maps that it did not see made is no inode.
                if self.features.is_of_simpleperf() && mmap.mapped_from.build_id().is_none() {
                    mmap.mapped_from = MappedFrom::Nothing;
                }
                self.mmap(header, &mmap);
            }
            RecordType::COMM => {
                let comm = CommRecord::decode(header, body(), offset, order)?;
                if comm.cause == CommCause::Exec {
                    self.mark(bytes, MarkKind::Exec, 1, Some(&comm.name));
                }
                self.tasks.comm(&mut self.profile, &comm);
            }
            RecordType::FORK => {
                let task = TaskRecord::decode(header, bytes, offset, order)?;
                if self.tasks.fork(&mut self.profile, task) == Forked::Begun {
                    self.off_cpu.begin(task.tid);
                    if task.pid != task.parent_pid {
                        let name = self.tasks.process_name(&self.profile, task.pid);
                        self.mark_of(bytes, MarkKind::Fork, 1, name);
                    }
                }
            }
            RecordType::EXIT => {
                let task = TaskRecord::decode(header, bytes, offset, order)?;
                self.tasks.exit(&self.profile, task);
                self.off_cpu.end(task.tid);
            }
            RecordType::CGROUP => {
                let CgroupRecord { id, path } = CgroupRecord::decode(body(), offset, order)?;
                self.profile.cgroups.entry(id).or_default().path = Some(path.into_owned());
            }
            RecordType::NAMESPACES => {
                let namespaces = NamespacesRecord::decode(body(), offset, order)?;
                self.tasks.enter(&mut self.profile, namespaces);
            }
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => self.switch(header, bytes),
            RecordType::KSYMBOL => {
                let record = KernelSymbolRecord::decode(body(), offset, order)?;
                let time = TrailerLayout::field(bytes, self.trailer(bytes).time, order);
                let (kernel, profile) = (&mut self.kernels.host, &mut self.profile);
                self.kernel_symbols.change(kernel, profile, &record, time);
            }
            RecordType::LOST => {
                let lost = decode_lost(header, bytes, offset, order)?;
                let id = lost_by(bytes, offset, order)?;
                let cpu = cpu_number(self.trailer(bytes).cpu(bytes, order));
                if self.doubt.lost(id, cpu, lost) == Mappings::Doubtful {
                    self.tasks.lost_mappings();
                }
                self.profile.lost.events = self.profile.lost.events.saturating_add(lost);
                // perftab's recorder writes one of nothing as soon as mappings may lack.
                if lost > 0 {
                    self.mark(bytes, MarkKind::Lost, lost, None);
                }
            }
            RecordType::LOST_SAMPLES => {
                let lost = decode_lost(header, bytes, offset, order)?;
                self.profile.lost.samples = self.profile.lost.samples.saturating_add(lost);
                // The recorder writes what the kernel counted when it ends, and nobody knows when
                // it was lost; LOST records say when their part was.
                if !self.counts_lost_samples() {
                    self.mark(bytes, MarkKind::Lost, lost, None);
                }
            }
            RecordType::CALLCHAIN_DEFERRED => {
                let chain = DeferredCallChain::decode(body(), offset, order)?;
                self.deferred_chain(bytes, chain);
            }
            RecordType::EVENT_UPDATE => {
                let update = EventUpdate::decode(bytes, offset, order)?;
                if let EventUpdateKind::Name(name) = update.kind {
                    self.events.rename(update.id, &name);
                }
            }
            RecordType::THREAD_MAP => {
                for (tid, name) in ThreadNames::decode(bytes, offset, order)? {
                    self.tasks.suggest_name(&mut self.profile, tid, &name);
                }
            }
            RecordType::AUX if decode_aux_flags(bytes, offset, order)?.is_lossy() => {
                self.warnings.add(WarningKind::Lost, Some(offset), || {
                    "Parts of the instruction trace were lost: its buffer was full. Record with a \
                     larger one (-m ,SIZE)."
                        .to_owned()
                });
            }
            RecordType::AUXTRACE_ERROR => {
                let error = AuxTraceError::decode(bytes, offset, order)?;
                self.warnings.add(WarningKind::Lost, Some(offset), || {
                    format!("The instruction trace could not be decoded: {}.", error.message)
                });
            }
            RecordType::HEADER_BUILD_ID => {
                let entry = features::read_build_id_entry(header, bytes, offset, order)?;
                self.stream_build_ids.extend(entry);
            }
            RecordType::HEADER_ATTR => {
                self.add_events([decode_header_attr(bytes, offset, order)?]);
            }
            RecordType::HEADER_FEATURE => {
                let (feature, payload) = decode_feature(bytes, offset, order)?;
                let at = offset + (bytes.len() - payload.len()) as u64;
                self.features.take(feature, payload, at, order)?;
                if feature == Feature::EVENT_DESC {
                    self.events.describe(&self.features.event_names);
                }
            }
            RecordType::HEADER_TRACING_DATA | RecordType::SIMPLEPERF_TRACING_DATA => {
                let payload = tracing_data(header, bytes, offset, order)?;
                let at = offset + (bytes.len() - payload.len()) as u64;
                let taken = self.features.take(Feature::TRACING_DATA, payload, at, order);
                self.suggest_saved_comms();
                taken?;
            }
            RecordType::AUXTRACE => {
                let aux = &mut self.profile.aux;
                aux.records += 1;
                aux.bytes = aux.bytes.saturating_add(aux_trace_size(bytes, offset, order)?);
            }
            other if other.name().is_none() => {
                self.warnings.add(WarningKind::Unsupported, Some(offset), || {
                    "Records of unknown types were skipped. A newer perftab may read them."
                        .to_owned()
                });
            }
            _ => {}
        }
        if header.record_type != RecordType::SAMPLE
            && header.record_type.0 < RecordType::HEADER_ATTR.0
        {
            let trailer = self.trailer(bytes);
            let counter = TrailerLayout::field(bytes, trailer.id, order);
            self.doubt.record(counter, cpu_number(trailer.cpu(bytes, order)));
        }
        Ok(())
    }

    /// Notes when something happened. What the recorder makes up, to say what was there before it
    /// began, has no time or the time 0, and did not happen then.
    fn mark(&mut self, record: &[u8], kind: MarkKind, count: u64, process: Option<&str>) {
        let process = process.map(|name| self.profile.strings.intern(name));
        self.mark_of(record, kind, count, process);
    }

    fn mark_of(&mut self, record: &[u8], kind: MarkKind, count: u64, process: Option<StringId>) {
        let time = TrailerLayout::field(record, self.trailer(record).time, self.order);
        let time = time.filter(|&time| time != 0 && count != 0);
        if let Some(time_nanos) = time {
            self.profile.marks.push(Mark { time_nanos, kind, count, process });
        }
    }

    fn mmap(&mut self, header: RecordHeader, mmap: &MmapRecord<'_>) {
        match header.cpu_mode() {
            misc::CPUMODE_GUEST_KERNEL => self.kernels.guests.map(&mut self.profile, mmap),
            misc::CPUMODE_KERNEL => self.kernels.host.map(&mut self.profile, mmap),
            // What is mapped in a guest's processes: samples do not say which of them ran.
            misc::CPUMODE_GUEST_USER => {}
            _ if mmap.pid == KERNEL_PID => self.kernels.host.map(&mut self.profile, mmap),
            _ if self.is_compat_vdso(mmap) => {
                let path = "[vdso32]".into();
                self.tasks.map(&mut self.profile, &MmapRecord { path, ..mmap.clone() });
            }
            _ => {
                self.has_native_vdso |= mmap.path == "[vdso]" && mmap.address >= 1 << 32;
                self.tasks.map(&mut self.profile, mmap);
            }
        }
    }

    /// True for the vdso that a 64-bit kernel gives to 32-bit processes: another file, under the same
    /// name in mappings. perf's table calls it `[vdso32]` (`DSO__NAME_VDSO32` in
    /// tools/perf/util/vdso.h, Linux 6.12).
    fn is_compat_vdso(&self, mmap: &MmapRecord<'_>) -> bool {
        let end = mmap.address.saturating_add(mmap.length);
        let arch = self.features.host.arch.as_deref();
        let is_64_bit = arch.is_none_or(|arch| arch.contains("64") || arch == "s390x");
        // That a recorder said it runs on 32 bits (linux32) is no proof.
        let is_64_bit = is_64_bit || self.has_native_vdso;
        mmap.path == "[vdso]" && end <= 1 << 32 && is_64_bit
    }

    /// What was read and understood, and has no place in a profile yet.
    fn warn_of_what_is_not_shown(&mut self) {
        let Self { warnings, stack_dumps, without_user_frame, records, .. } = self;
        if *stack_dumps > 0 {
            let message = format!(
                "{} a copy of the user stack that is not unwound: only the innermost user frame is \
                 shown{}.",
                counted(*stack_dumps, "sample has", "samples have"),
                match without_user_frame {
                    0 => String::new(),
                    none => format!(
                        ", and of {} in the kernel none, as nothing says where it was called",
                        counted(*none, "sample", "samples")
                    ),
                }
            );
            warnings.add_samples(WarningKind::NotUnwound, *stack_dumps, message);
        }
        let cut = self.cut_chains.count(&self.features);
        if let Some(message) = cut.describe() {
            warnings.add_samples(WarningKind::TruncatedStacks, cut.samples(), message);
        }
        if let Some((samples, message)) = self.cut_chains.describe_behind_copies() {
            warnings.add_samples(WarningKind::StacksReadLater, samples, message);
        }
        let has = |record_type| records.of(record_type) > 0;
        if has(RecordType::STAT) && !has(RecordType::SAMPLE) {
            warnings.add(WarningKind::Unsupported, None, || {
                "This is a recording of perf stat: it has counts and no samples. perf stat report \
                 shows them."
                    .to_owned()
            });
        }
    }

    fn warn_of_what_was_lost(&mut self, profile: &Profile) {
        let lost = profile.lost;
        if lost.events > 0 || lost.samples > 0 {
            let message = format!(
                "The recorder lost {} and {}: the buffers were full. Record with a lower frequency \
                 or larger buffers.",
                counted(lost.events, "record", "records"),
                counted(lost.samples, "sample", "samples")
            );
            let samples = profile.funnel.map_or(lost.samples, |funnel| funnel.lost);
            self.warnings.add_samples(WarningKind::Lost, samples, message);
        }
        let doubtful = self.doubt.count();
        if doubtful > 0 {
            let message = format!(
                "{} may have the names of another program: mappings may be among the records that \
                 were lost. Record with larger buffers.",
                counted(doubtful, "sample", "samples")
            );
            self.warnings.add_samples(WarningKind::Lost, doubtful, message);
        }
    }

    /// A recorder in a PID namespace is told pid 0 of each process outside of it, as of idle threads.
    fn warn_of_what_was_outside(&mut self) {
        let Self { outside, idle_or_outside, .. } = *self;
        let unclear = match idle_or_outside {
            0 => String::new(),
            more => format!(
                " {} in the kernel with pid 0: of such processes, or of idle CPUs.",
                counted(more, "sample", "samples")
            ),
        };
        if outside > 0 {
            let message = format!(
                "{} of processes outside of the PID namespace of the recorder. To it they all have \
                 pid 0, so their own code has no names.{unclear} Record outside of the container.",
                counted(outside, "sample is", "samples are")
            );
            self.warnings.add_samples(WarningKind::Ambiguous, outside, message);
        } else if self.tasks.outside_records() > 0 && idle_or_outside > 0 {
            let message = format!(
                "{} pid 0: of idle CPUs, or of processes outside of the PID namespace of the \
                 recorder. Record outside of the container.",
                counted(idle_or_outside, "sample in the kernel has", "samples in the kernel have")
            );
            self.warnings.add_samples(WarningKind::Ambiguous, idle_or_outside, message);
        }
    }

    /// What has been read so far, as a profile of its own. Nothing in it is final: more samples
    /// come, those that wait for the rest of their call chain still do, and threads may yet be
    /// named.
    pub(super) fn so_far(&self) -> Profile {
        let mut profile = self.profile.clone();
        self.complete(&mut profile, self.off_cpu.clone());
        let section = self.features.perftab.as_ref().and_then(|section| section.as_ref().ok());
        let files = section.map(|section| embedded::files(&section.files)).unwrap_or_default();
        self.identify(&mut profile, &files, &mut Warnings::default());
        // Records that wait for others have been counted.
        profile.records.remove("SAMPLE");
        profile.funnel = None;
        profile.stacks.drop_index();
        profile.frames.drop_index();
        profile.mappings.settle();
        profile
    }

    /// Adds to a profile what is told beside its records.
    fn complete(&self, profile: &mut Profile, off_cpu: OffCpu) {
        let names =
            self.events.names(&self.features.event_names, |id| self.features.tracepoint(id));
        let described = names.into_iter().zip(self.events.call_chains());
        for (event, (name, call_chains)) in profile.events.iter_mut().zip(described) {
            event.name = name;
            event.call_chains = call_chains;
        }
        for (event, attr) in profile.events.iter_mut().zip(self.events.attrs()) {
            event.attr = Some(*attr);
        }
        profile.funnel = Some(self.funnel(profile.lost));
        off_cpu.finish(profile);
        profile.wall_clock = WallClockTime::of(&profile.events);
        profile.host = self.features.host.clone();
        profile.machine = self.features.machine.clone();
        profile.recorder = self.features.recorder.clone();
        // perf before 5.10 says it nowhere else.
        profile.recorder.clock = profile.recorder.clock.or(self.events.clock());
        profile.clocks = self.features.clocks;
        profile.stack_dumps = self.stack_dumps;
        if self.stack_dumps > 0 {
            // For frames that say where stacks end, when they have been unwound.
            PseudoFrame::unwinding_in(&mut profile.dsos);
        }
        for (record_type, count) in self.records.iter() {
            let name = record_type.name().unwrap_or("UNKNOWN");
            *profile.records.entry(name).or_default() += count;
        }
    }

    /// Gives identities to DSOs that were mapped without one. `files` is what perftab's own section
    /// tells of files by inode.
    fn identify(
        &self,
        profile: &mut Profile,
        files: &Map<MappedFrom, Identity>,
        warnings: &mut Warnings,
    ) {
        // Before those are added that no mapping has.
        let sampled = profile.frames.iter().map(|(_, frame)| frame.dso).collect();
        let sources = build_ids::Sources {
            files,
            stream: &self.stream_build_ids,
            table: &self.features.build_ids,
            recorder: self.features.recorder.version.as_deref(),
        };
        build_ids::apply(&mut profile.dsos, &sampled, &sources, warnings);
    }

    pub(super) fn finish(
        mut self,
        time_order: &TimeOrder,
        dumps: KeptDumps,
        compression: RecordCompression,
    ) -> Ingested {
        self.finish_samples();
        self.warn_of_what_is_not_shown();
        for (feature, error) in &self.features.unreadable {
            self.warnings.add_named(WarningKind::Unreadable, Some(error.offset), || {
                format!("Could not read {}: {error}.", feature.name())
            });
        }
        let mut profile = std::mem::take(&mut self.profile);
        let off_cpu = std::mem::take(&mut self.off_cpu);
        self.complete(&mut profile, off_cpu);
        self.warn_of_what_was_lost(&profile);
        self.warn_of_what_was_outside();
        if time_order.late() > 0 {
            let late = time_order.late();
            self.warnings.add(WarningKind::OutOfOrder, None, || {
                format!(
                    "{} too late for the order of the file, so samples near there may be shown with \
                     an earlier or later thread or mapping.",
                    counted(late, "record came", "records came")
                )
            });
        }
        if self.timeless > 0 {
            let message = format!(
                "{} no time: the order is that of the file. Record with -T to see when they were.",
                counted(self.timeless, "sample has", "samples have")
            );
            self.warnings.add_samples(WarningKind::NoTime, self.timeless, message);
        }
        let embedded = PerftabSectionData::take(&mut self.features, &mut self.warnings);
        profile.host.distribution = embedded.distribution;
        let symbol_files = std::mem::take(&mut self.features.symbol_files);
        let of_files = simpleperf_symbols::symbols(symbol_files, &profile.dsos);
        let mut warnings = std::mem::take(&mut self.warnings);
        if profile.samples.is_empty() && warnings.has(WarningKind::Unfinished) {
            warnings.add(WarningKind::Unfinished, None, || {
                "The recording was cut off before any sample was written.".to_owned()
            });
        }
        self.identify(&mut profile, &embedded.files, &mut warnings);
        let mut symbols = embedded.symbols;
        symbols.extend(of_files);
        symbols.extend(self.kernel_symbols.finish(&profile.dsos));
        profile.stacks.drop_index();
        profile.frames.drop_index();
        profile.mappings.settle();
        let (perf_maps, embedded_files) = (embedded.perf_maps, embedded.embedded);
        let warnings = warnings.finish();
        Ingested { profile, dumps, warnings, symbols, perf_maps, embedded_files, compression }
    }
}
