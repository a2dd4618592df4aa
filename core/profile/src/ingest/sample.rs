//! A SAMPLE record → rows of the profile: one, or one for each event whose counter it reads.

use perftab_perfdata::address_bits::AddressBits;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::attr::{SampleLayout, TrailerLayout};
use perftab_perfdata::decode::data_source::DataSource;
use perftab_perfdata::decode::off_cpu_sample::{self, OffCpuSample};
use perftab_perfdata::decode::records::{DeferredCallChain, RecordHeader, SwitchDirection};
use perftab_perfdata::decode::sample::{self, RawSample, Words};
use perftab_perfdata::decode::sample_tail::{SampleTail, TailEnd, Weight};
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::attr::sample_type;
use perftab_perfdata::format::record::{
    CONTEXT_MARKER_MIN, CONTEXT_USER, CONTEXT_USER_DEFERRED, RECORD_HEADER_SIZE, misc,
};
use perftab_perfdata::text::counted;

use super::call_chain::Chain;
use super::deferred::{Cookie, DeferredSample, DeferredSamples};
use super::events::IdAgreement;
use super::off_cpu::{SampledAt, SwitchPoint};
use super::periods::CounterKey;
use super::reader::Reader;
use super::tasks::{OUTSIDE, SampledTask};
use super::user_part::{UserPart, leaf_and_link};
use super::walker::Entry;
use super::watch::{Replay, RowAgain, SampleWatcher, WaitingRecord, WatchedSample};
use crate::{Access, EventId, LeafCaller, Mappings, Sample, StackId, Stacks};

/// A sample whose fields are known, before it is in the profile.
struct DecodedSample<'a> {
    event: EventId,
    at: SampledAt,
    raw: RawSample<'a>,
    /// What follows the call chain. Most samples end with it, and nothing is made for those, or moved.
    tail: Option<Box<SampleTail<'a>>>,
    user_part: UserPart<'a>,
}

impl DecodedSample<'_> {
    /// True if something tells that it is of a thread with a user space: idle threads have none.
    fn is_of_user(&self, mode: u16) -> bool {
        self.tail.as_ref().is_some_and(|tail| tail.user_registers.is_some())
            || has_user_part(mode, self.raw.call_chain)
    }

    /// The memory access that it was taken of, if its event says what that was.
    fn access(&self, layout: &SampleLayout) -> Option<Access> {
        let tail = self.tail.as_deref().filter(|_| layout.tail.has_access())?;
        Some(Access {
            address: self.raw.data_address.unwrap_or(0),
            source: tail.data_source.map_or(DataSource::NONE, DataSource::new),
            cost: tail.weight.map_or(0, Weight::cost),
            physical_address: tail.physical_address.unwrap_or(0),
            page_size: tail.data_page_size.unwrap_or(0),
        })
    }

    /// True if it has one row, and nothing asks for the stack of that before all has been read.
    fn may_wait(&self) -> bool {
        matches!(self.at, SampledAt::Running) && self.raw.counters.is_none()
    }
}

impl Reader {
    /// Has every sample shown to `watcher`, and nothing else made of it: no stacks, so nobody asks what
    /// is mapped.
    pub(super) fn replay(&mut self, watcher: SampleWatcher) {
        self.profile.mappings = Mappings::nothing();
        self.replay = Some(Replay::new(watcher));
    }

    /// Number of the next row.
    fn next_row(&self) -> usize {
        let replayed = self.replay.as_ref().map(Replay::next_row);
        replayed.unwrap_or_else(|| self.profile.samples.len())
    }

    pub(super) fn sample(&mut self, entry: Entry<'_>) {
        let Some(decoded) = self.decode_sample(entry) else {
            self.unreadable_samples += 1;
            return;
        };
        let raw = &decoded.raw;
        self.timeless += u64::from(raw.time_nanos.is_none());
        self.without_user_frame += u64::from(decoded.user_part == UserPart::Unknown);
        let cpu_mode = entry.header.cpu_mode();
        let first_row = self.next_row();
        let cpu = cpu_number(raw.cpu);
        let task = self.meet_sample(raw.pid, raw.tid, cpu, || decoded.is_of_user(cpu_mode));
        let cookie = DeferredSamples::cookie(raw.call_chain);
        let (mut stack, mut in_chain) = (Stacks::EMPTY, Stacks::EMPTY);
        if self.replay.is_none() {
            let Self { call_chains, profile, kernels, tasks, .. } = self;
            let mut chain = |ip, user_part| {
                let (kernels, user, words) = (&mut *kernels, tasks.space(task), raw.call_chain);
                let chain = Chain { kernels, user, ip, words, user_part, cpu_mode };
                match decoded.may_wait() && cookie.is_none() {
                    true => (Stacks::EMPTY, call_chains.intern_later(profile, chain)),
                    false => call_chains.intern(profile, chain),
                }
            };
            let outermost;
            (stack, outermost) = chain(raw.ip, decoded.user_part);
            in_chain = stack;
            if cookie.is_some() {
                // What the fields say in place of a chain is in the part that comes later.
                (in_chain, _) = chain(0, UserPart::InChain);
            }
            self.note_chain(decoded.event, raw.call_chain, decoded.user_part, outermost);
        }
        let row = Sample {
            time_nanos: raw.time_nanos.unwrap_or(0),
            thread: task.thread,
            stack,
            event: decoded.event,
            cpu,
            weight: raw.period.unwrap_or(self.events.default_weight(decoded.event)),
        };
        let branches = decoded.tail.as_ref().and_then(|tail| tail.branches);
        self.profile.branch_stacks += u64::from(branches.is_some_and(|it| !it.is_empty()));
        if let Some(cgroup) = decoded.tail.as_ref().and_then(|tail| tail.cgroup) {
            self.profile.cgroups.entry(cgroup).or_default().samples += 1;
        }
        self.add_rows(entry, &decoded, row);
        let rows = first_row..self.next_row();
        let shown = self.replay.as_mut().map(Replay::take_rows);
        let access = decoded.access(self.events.layout(decoded.event));
        if let (None, Some(access)) = (&shown, access) {
            rows.clone().for_each(|row| self.profile.accesses.push(row, access));
        }
        if shown.is_none()
            && let Some(caller) = self.leaf_caller(&decoded, task)
        {
            rows.clone().for_each(|row| self.profile.leaf_callers.push(row, caller));
        }
        let waiting_row = cookie.filter(|_| shown.is_none()).and(rows.clone().next());
        self.follow_switch(&decoded, row, waiting_row);
        if let Some(cookie) = cookie {
            let record = shown.map(|rows| WaitingRecord { rows, bytes: entry.bytes.to_vec() });
            let event = decoded.event;
            let waiting = DeferredSample { rows, event, stack: in_chain, record };
            let cookie = Cookie { tid: raw.tid, cookie };
            if let Err(waiting) = self.deferred.wait(cookie, waiting) {
                self.show_completed(&waiting, Words::new(&[], self.order));
            }
        } else if let Some(rows) = shown {
            self.show(&rows, &decoded, Words::new(&[], self.order));
            if let Some(replay) = &mut self.replay {
                replay.reuse(rows);
            }
        }
    }

    /// The caller that its call chain may lack.
    fn leaf_caller(&self, decoded: &DecodedSample<'_>, task: SampledTask) -> Option<LeafCaller> {
        let DecodedSample { event, raw, tail, .. } = decoded;
        let (layout, arch) = (self.events.layout(*event), self.features.host.arch.as_deref());
        let (leaf, link) = leaf_and_link(layout, raw, tail.as_deref()?, arch)?;
        let (space, all) = (self.tasks.space(task), &self.profile.mappings);
        let frame = |address| Some(space.find(all, address)?.frame(address));
        let bits = AddressBits::up_to(space.highest(all)?);
        Some(LeafCaller { leaf: frame(leaf)?, caller: frame(bits.of(link).checked_sub(1)?)? })
    }

    /// Who was sampled, and everything that each sample tells whatever else it says.
    #[inline(always)]
    pub(super) fn meet_sample(
        &mut self,
        pid: u32,
        tid: u32,
        cpu: u16,
        is_of_user: impl FnOnce() -> bool,
    ) -> SampledTask {
        let row = self.next_row();
        let task = match pid {
            OUTSIDE if is_of_user() => {
                self.outside += 1;
                self.tasks.sampled_outside(&mut self.profile)
            }
            pid => {
                self.idle_or_outside += u64::from(pid == OUTSIDE);
                self.tasks.sampled(&mut self.profile, pid, tid)
            }
        };
        self.kernels.met(&mut self.profile.mappings, row);
        self.doubt.sample(cpu, task.mappings);
        task
    }

    /// The fields of a sample; what is wrong with them becomes a warning.
    #[inline(always)]
    fn decode_sample<'a>(&mut self, entry: Entry<'a>) -> Option<DecodedSample<'a>> {
        let Entry { offset, bytes, .. } = entry;
        let body = bytes.get(RECORD_HEADER_SIZE..)?;
        let Some(event) = self.events.of_sample(body, self.order) else {
            self.warnings.add_sample(WarningKind::UnknownEvent, offset, || {
                "Samples of events that the file does not describe were left out.".to_owned()
            });
            return None;
        };
        let mut at = self.sampled_at(event);
        let layout = self.events.layout(event);
        let Some(mut raw) = sample::decode(layout, body, self.order) else {
            self.warnings.add_sample(WarningKind::Unreadable, offset, || {
                "Samples with fields beyond the end of their record were left out.".to_owned()
            });
            return None;
        };
        let (mut tail, end) = tail(layout, &raw, self.order);
        if end != TailEnd::Exact {
            self.warnings.add_sample(WarningKind::Unreadable, offset, || {
                "Samples are longer than their fields. Their time, thread and call chain are \
                 used; what comes after the call chain may be wrong."
                    .to_owned()
            });
        }
        if let SampledAt::BpfOutput = at {
            at = self.bpf_output(event, tail.as_ref().and_then(|tail| tail.raw));
        }
        if let (SampledAt::OffCpuTime, Some(tail)) = (at, &mut tail)
            && let Some(wrapped) = tail.raw
        {
            match OffCpuSample::decode(wrapped, self.order) {
                Ok(wrapped) => self.unwrap_off_cpu(wrapped, &mut raw, tail),
                Err(error) => {
                    self.warnings.add_sample(WarningKind::Unreadable, offset, || {
                        format!("Off-CPU samples were left out: {error}.")
                    });
                    return None;
                }
            }
        }
        let arch = self.features.host.arch.as_deref();
        let layout = self.events.layout(event);
        let user_part = UserPart::of(layout, entry.header.cpu_mode(), &raw, tail.as_deref(), arch);
        Some(DecodedSample { event, at, raw, tail, user_part })
    }

    /// Puts the fields of a wrapped sample in place of those around it.
    fn unwrap_off_cpu<'a>(
        &self,
        wrapped: OffCpuSample<'a>,
        raw: &mut RawSample<'a>,
        tail: &mut SampleTail<'a>,
    ) {
        let [first, second] = wrapped.ids;
        let is_turned = !self.tasks.is_process(first) && self.tasks.is_process(second);
        (raw.pid, raw.tid) = if is_turned { (second, first) } else { (first, second) };
        raw.period = Some(wrapped.period);
        raw.ip = wrapped.call_chain.iter().find(|&word| word < CONTEXT_MARKER_MIN).unwrap_or(0);
        raw.call_chain = wrapped.call_chain;
        tail.cgroup = Some(wrapped.cgroup).filter(|&cgroup| cgroup != 0);
    }

    /// What samples of an event say of their thread.
    fn sampled_at(&mut self, event: EventId) -> SampledAt {
        self.off_cpu.sampled_at(event, || {
            let features = &self.features;
            let names = self.events.names(&features.event_names, |id| features.tracepoint(id));
            let name = names.get(event.index()).map_or("", String::as_str);
            SampledAt::of(self.events.attr(event), name, &features.tracing.formats)
        })
    }

    /// What a sample of an event without a name says, which a BPF program wrote. Time off the CPU is
    /// told by its raw data; before perf 6.16 such samples had fields of their own, and alone of
    /// what BPF programs write no raw data.
    fn bpf_output(&mut self, event: EventId, raw: Option<&[u8]>) -> SampledAt {
        let is_off_cpu = match raw {
            Some(raw) => OffCpuSample::is_in(raw, self.order),
            None => !self.events.layout(event).tail.has(sample_type::RAW),
        };
        if !is_off_cpu {
            return SampledAt::BpfOutput;
        }
        self.events.name(event, off_cpu_sample::EVENT_NAME);
        self.off_cpu.set_sampled_at(event, SampledAt::OffCpuTime);
        SampledAt::OffCpuTime
    }

    /// Adds the row of a sample. One that carries counter values is a sample of each event whose
    /// counter went on since it was read last.
    fn add_rows(&mut self, entry: Entry<'_>, decoded: &DecodedSample<'_>, row: Sample) {
        let counters = decoded.raw.counters.filter(|_| self.events.has_counters(row.event));
        let Some(counters) = counters else { return self.add_row(row) };
        for counter in counters.iter() {
            let owner = counter.id.and_then(|id| Some((id, self.events.by_id(id)?)));
            let Some((id, event)) = owner else {
                self.warnings.add(WarningKind::UnknownEvent, Some(entry.offset), || {
                    "Counter values of events that the file does not describe were left out."
                        .to_owned()
                });
                continue;
            };
            let inherited_by = self.events.is_inherited(event).then_some(decoded.raw.tid);
            let weight = self.periods.advance(CounterKey { id, inherited_by }, counter.value);
            if weight > 0 {
                self.add_row(Sample { event, weight, ..row });
            }
        }
    }

    fn add_row(&mut self, row: Sample) {
        match &mut self.replay {
            Some(replay) => replay.add(&row),
            None => self.add_to_profile(row),
        }
    }

    #[inline(always)]
    pub(super) fn add_to_profile(&mut self, row: Sample) {
        let counted = &mut self.profile.events[row.event.index()];
        counted.samples += 1;
        counted.weight = counted.weight.saturating_add(row.weight);
        self.profile.samples.push(row);
    }

    /// What a sample says of threads that leave the CPU and come back. `waiting_row` is its row, if
    /// the user part of its call chain is still to come.
    fn follow_switch(
        &mut self,
        decoded: &DecodedSample<'_>,
        row: Sample,
        waiting_row: Option<usize>,
    ) {
        let Some(time) = decoded.raw.time_nanos else { return };
        let Sample { thread, stack, cpu, .. } = row;
        let met = SwitchPoint { tid: decoded.raw.tid, time, thread, stack, cpu, waiting_row };
        let raw_data = decoded.tail.as_ref().and_then(|tail| tail.raw);
        let derived = self.off_cpu.sample(decoded.at, met, raw_data, &mut self.profile);
        self.add_derived(derived);
    }

    fn add_derived(&mut self, row: Option<Sample>) {
        match (row, &mut self.replay) {
            (None, _) => {}
            (Some(row), None) => self.profile.samples.push(row),
            (Some(_), Some(replay)) => replay.pass_over(),
        }
    }

    /// A SWITCH record; one that does not say who and when is of no use.
    pub(super) fn switch(&mut self, header: RecordHeader, record: &[u8]) {
        let trailer = self.trailer(record);
        let task = trailer.task(record, self.order);
        let time = TrailerLayout::field(record, trailer.time, self.order);
        let (Some((pid, tid)), Some(time)) = (task, time) else { return };
        let thread = self.tasks.sampled(&mut self.profile, pid, tid).thread;
        let cpu = cpu_number(trailer.cpu(record, self.order));
        let met = SwitchPoint { tid, time, thread, stack: Stacks::EMPTY, cpu, waiting_row: None };
        let direction = SwitchDirection::of(header);
        if matches!(direction, SwitchDirection::In) {
            // A thread that comes back may make a stack, which is to be numbered behind those before it.
            self.find_stacks();
        }
        let derived = self.off_cpu.switch(direction, met, &mut self.profile);
        self.add_derived(derived);
    }

    /// The user part of call chains has come: it goes before the kernel part of each.
    pub(super) fn deferred_chain(&mut self, record: &[u8], chain: DeferredCallChain<'_>) {
        let Some((pid, tid)) = self.trailer(record).task(record, self.order) else { return };
        let samples = self.deferred.take(Cookie { tid, cookie: chain.cookie });
        if samples.is_empty() {
            return;
        }
        if self.replay.is_some() {
            samples.iter().for_each(|sample| self.show_completed(sample, chain.words));
            return;
        }
        let task = match pid {
            OUTSIDE => self.tasks.sampled_outside(&mut self.profile),
            _ => self.tasks.sampled(&mut self.profile, pid, tid),
        };
        let words = Chain {
            kernels: &mut self.kernels,
            user: self.tasks.space(task),
            ip: 0,
            words: chain.words,
            user_part: UserPart::InChain,
            cpu_mode: misc::CPUMODE_USER,
        };
        let (user, outermost) = self.call_chains.intern(&mut self.profile, words);
        if user == Stacks::EMPTY {
            return;
        }
        for sample in samples {
            self.note_chain(sample.event, chain.words, UserPart::InChain, outermost);
            let stack = self.joined(user, sample.stack);
            for row in sample.rows.clone() {
                self.profile.samples.set_stack(row, stack);
            }
        }
    }

    /// `inner` called from `outer`.
    fn joined(&mut self, outer: StackId, inner: StackId) -> StackId {
        let stacks = &mut self.profile.stacks;
        let frames: Vec<_> = stacks.frames(inner).collect();
        frames.into_iter().rev().fold(outer, |stack, frame| stacks.intern(stack, frame))
    }

    /// Gives rows that wait for their stacks what they wait for.
    pub(super) fn find_stacks(&mut self) {
        self.call_chains.intern_waiting(&mut self.profile);
    }

    /// Nothing more comes: what still waits stays as it is.
    pub(super) fn finish_samples(&mut self) {
        self.find_stacks();
        for sample in self.deferred.take_rest() {
            self.show_completed(&sample, Words::new(&[], self.order));
        }
        let given_up = self.deferred.given_up();
        if given_up > 0 {
            let message = format!(
                "{} the user part of the call chain: it should have come when the thread returned \
                 to user space, but did not. Record longer, or with larger buffers, or have the \
                 kernel walk stacks at once (--call-graph fp, without defer).",
                counted(given_up, "sample lacks", "samples lack")
            );
            self.warnings.add_samples(WarningKind::Lost, given_up, message);
        }
        match self.events.agreement() {
            IdAgreement::Agreed => {}
            IdAgreement::DifferentPlaces => self.warnings.add(WarningKind::UnknownEvent, None, || {
                "The events disagree on where a record has its event's id. Each sample was counted \
                 for the event whose id is where that event expects it."
                    .to_owned()
            }),
            IdAgreement::NoIds => {
                let message = "There are several events, but not all records say which of them they \
                               belong to: samples may be counted for another event. Record them one \
                               by one, or with a newer perf.";
                let samples = self.samples();
                self.warnings.add_samples(WarningKind::UnknownEvent, samples, message.to_owned());
            }
        }
    }

    /// Shows a sample that waited for its call chain, if anybody watches.
    fn show_completed(&mut self, waiting: &DeferredSample, deferred_chain: Words<'_>) {
        let Some(WaitingRecord { rows, bytes }) = &waiting.record else { return };
        // It was decoded before; what there was to warn of has been said.
        let Some(body) = bytes.get(RECORD_HEADER_SIZE..) else { return };
        let Some(event) = self.events.of_sample(body, self.order) else { return };
        let layout = self.events.layout(event);
        let Some(raw) = sample::decode(layout, body, self.order) else { return };
        let (tail, _) = tail(layout, &raw, self.order);
        let mode = RecordHeader::read(bytes, self.order).map_or(0, |header| header.cpu_mode());
        let arch = self.features.host.arch.as_deref();
        let user_part = UserPart::of(layout, mode, &raw, tail.as_deref(), arch);
        let decoded = DecodedSample { event, at: SampledAt::Running, raw, tail, user_part };
        self.show(rows, &decoded, deferred_chain);
    }

    fn show(&mut self, rows: &[RowAgain], decoded: &DecodedSample<'_>, deferred_chain: Words<'_>) {
        let Some(replay) = &mut self.replay else { return };
        let DecodedSample { event, raw, tail, user_part, .. } = decoded;
        let tracepoint = self.events.tracepoint(*event);
        let format = tracepoint.and_then(|id| self.features.tracing.formats.by_id(id));
        for &RowAgain { row, thread, event, weight } in rows {
            (replay.watcher)(&WatchedSample {
                so_far: &self.profile,
                row,
                pid: raw.pid,
                tid: raw.tid,
                time_nanos: raw.time_nanos,
                cpu: raw.cpu,
                event,
                weight,
                thread,
                ip: raw.ip,
                data_address: raw.data_address,
                call_chain: raw.call_chain,
                deferred_chain,
                user_part: *user_part,
                tail: tail.as_deref().copied().unwrap_or_default(),
                format,
            });
        }
    }
}

/// True if a sample has a part of user space: it was taken there, or its call chain says so.
pub(super) fn has_user_part(cpu_mode: u16, call_chain: Words<'_>) -> bool {
    let begins = |word| matches!(word, CONTEXT_USER | CONTEXT_USER_DEFERRED);
    cpu_mode == misc::CPUMODE_USER || call_chain.iter().any(begins)
}

/// A CPU as samples have it; `u16::MAX` for none.
pub(super) fn cpu_number(cpu: Option<u32>) -> u16 {
    cpu.and_then(|cpu| u16::try_from(cpu).ok()).unwrap_or(u16::MAX)
}

/// What follows the call chain, and whether the sample ends there.
fn tail<'a>(
    layout: &SampleLayout,
    raw: &RawSample<'a>,
    order: ByteOrder,
) -> (Option<Box<SampleTail<'a>>>, TailEnd) {
    match (layout.tail.is_empty(), raw.tail.is_empty()) {
        (true, true) => (None, TailEnd::Exact),
        (true, false) => (None, TailEnd::Early),
        (false, _) => {
            let (tail, end) = SampleTail::decode(&layout.tail, raw.tail, order);
            (Some(Box::new(tail)), end)
        }
    }
}
