//! Time that threads were off the CPU, with the stack where they left it.
//!
//! Worked out from context switches, which a recording may have in three ways:
//!
//! - samples of `sched:sched_switch`: one says that a thread leaves (with its call chain), why, and
//!   which thread comes;
//! - samples of `context-switches`: a thread leaves, with its call chain;
//! - SWITCH records: a thread leaves or comes, and when, without a call chain.
//!
//! From leaving to coming back is one sample of a derived event, in nanoseconds, at the time of
//! coming back. Rules that keep it true:
//!
//! - A stack is that of a sample taken at the switch itself. SWITCH records alone give a sample
//!   without a stack, under its thread: the last sample on the CPU may be milliseconds old, and a
//!   wrong stack is worse than none.
//! - An end is a switch too. A thread that is met running, or leaving once more, without having
//!   been seen to come back makes its time unknown: it is counted, not guessed. So a recording of
//!   `sched:sched_switch` in one process, which never sees threads come back, needs SWITCH records
//!   beside it (`--switch-events`), or all processes (`-a`).
//! - What had not ended when the recording did is counted, too.
//! - A thread that had to make room could have gone on: that time is an event of its own. What
//!   remains is waiting, which is what `perf record --off-cpu` calls `offcpu-time`.
//! - The idle threads do not count.
//!
//! Stacks end in a frame that says why the thread was off the CPU. It is no code; without it, time
//! off the CPU would look as if its last caller had run, where both are seen together.

use perftab_perfdata::map::{Map, Set};

use perftab_perfdata::decode::attr::Attr;
use perftab_perfdata::decode::event_format::{EventFormats, SchedSwitchFields};
use perftab_perfdata::decode::off_cpu_sample;
use perftab_perfdata::decode::records::SwitchDirection;
use perftab_perfdata::format::attr::event_type;

use super::event_names;
use crate::{
    Event, EventId, EventOrigin, Frame, FrameId, OFF_CPU_TIME, OffCpu as Why, PREEMPTED_TIME,
    Profile, PseudoFrame, Sample, StackId, ThreadId,
};

/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
const CONTEXT_SWITCHES: u64 = 3;
/// `PERF_COUNT_SW_BPF_OUTPUT`.
const BPF_OUTPUT: u64 = 10;

/// What a sample of an event says of its thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum SampledAt {
    /// It runs.
    Running,
    /// It leaves the CPU.
    Leaving,
    /// It leaves the CPU, and the raw data tell why and for whom.
    Switch(SchedSwitchFields),
    /// It was off the CPU, for as long as the period says: `perf record --off-cpu`.
    OffCpuTime,
    /// It runs, or it was off the CPU: the raw data tell. Names of events stand at the end of a
    /// file, and this one has none.
    BpfOutput,
}

impl SampledAt {
    /// By the kind of event. A tracepoint whose description is not in the file is known by its name
    /// alone; its raw data cannot be read then.
    pub(super) fn of(attr: &Attr, name: &str, formats: &EventFormats) -> Self {
        match attr.event_type {
            event_type::SOFTWARE => match attr.config {
                CONTEXT_SWITCHES => Self::Leaving,
                BPF_OUTPUT if name == off_cpu_sample::EVENT_NAME => Self::OffCpuTime,
                BPF_OUTPUT if name == event_names::of_attr(attr) => Self::BpfOutput,
                _ => Self::Running,
            },
            event_type::TRACEPOINT => {
                let format = formats.by_id(attr.config);
                match format.and_then(SchedSwitchFields::of) {
                    Some(fields) => Self::Switch(fields),
                    None if format.is_none() && name == "sched:sched_switch" => Self::Leaving,
                    None => Self::Running,
                }
            }
            _ => Self::Running,
        }
    }

    /// True if samples of an event are of a thread that runs, whatever it is called and described as.
    pub(super) fn is_always_running(attr: &Attr) -> bool {
        !matches!(
            (attr.event_type, attr.config),
            (event_type::SOFTWARE, CONTEXT_SWITCHES | BPF_OUTPUT) | (event_type::TRACEPOINT, _)
        )
    }
}

/// From `prev_state` of `sched:sched_switch`. States are bits; the lowest eight are those of
/// waiting in all kernels. 0 is running, and the bit above all states says in so many words
/// that the thread was preempted (`__trace_sched_switch_state` in
/// `include/trace/events/sched.h`).
fn of_state(state: u64) -> Why {
    if state & 0xff == 0 { Why::Preempted } else { Why::Blocked }
}

fn event_name(why: Why) -> &'static str {
    match why {
        Why::Blocked => OFF_CPU_TIME,
        Why::Preempted => PREEMPTED_TIME,
    }
}

/// Stands for the event in samples until it is known how many recorded events there are.
fn placeholder(why: Why) -> EventId {
    match why {
        Why::Blocked => EventId(u16::MAX as u32),
        Why::Preempted => EventId(u16::MAX as u32 - 1),
    }
}

/// A thread, and when and where it is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SwitchPoint {
    pub tid: u32,
    pub time: u64,
    pub thread: ThreadId,
    /// [`crate::Stacks::EMPTY`] if nothing tells it.
    pub stack: StackId,
    pub cpu: u16,
    /// The sample's row, if the user part of its call chain comes later: a thread returns to user
    /// space after it has come back.
    pub waiting_row: Option<usize>,
}

/// A thread that has left the CPU.
#[derive(Clone, Copy, Debug)]
struct OffCpuThread {
    left: SwitchPoint,
    why: Why,
    reported_by: ReportedBy,
}

/// What said that a thread leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportedBy {
    /// A sample, which the kernel takes first.
    Sample,
    /// A SWITCH record, which follows.
    Record,
}

/// The threads that are off the CPU, by tid.
#[derive(Clone, Default)]
pub(super) struct OffCpu {
    threads: Map<u32, OffCpuThread>,
    /// Threads that ended, as far as records say: they go on for a while, then leave for ever.
    ended: Set<u32>,
    /// The kernel's own numbers of threads → those that records have, where they differ: tracepoints
    /// know nothing of the pid namespace that was recorded from.
    local_tids: Map<u32, u32>,
    /// By event.
    sampled_at: Vec<Option<SampledAt>>,
    /// By [`Why::ALL`]: samples and nanoseconds.
    sums: [(u64, u64); 2],
    unfinished: u64,
    /// Rows whose stack is to be that of another row, once that is complete.
    to_complete: Vec<(usize, usize, Why)>,
    /// By [`Why::ALL`]: what stacks end in.
    ends: [Option<FrameId>; 2],
}

impl OffCpu {
    /// What samples of an event say; `find_out` is asked once.
    pub(super) fn sampled_at(
        &mut self,
        event: EventId,
        find_out: impl FnOnce() -> SampledAt,
    ) -> SampledAt {
        if self.sampled_at.len() <= event.index() {
            self.sampled_at.resize(event.index() + 1, None);
        }
        *self.sampled_at[event.index()].get_or_insert_with(find_out)
    }

    /// What samples of an event say has become known.
    pub(super) fn set_sampled_at(&mut self, event: EventId, at: SampledAt) {
        if let Some(known) = self.sampled_at.get_mut(event.index()) {
            *known = Some(at);
        }
    }

    /// A sample, with its raw data. Returns the time off the CPU that ends with it, which is the next
    /// row of the profile.
    #[must_use]
    pub(super) fn sample(
        &mut self,
        at: SampledAt,
        met: SwitchPoint,
        raw: Option<&[u8]>,
        profile: &mut Profile,
    ) -> Option<Sample> {
        let switch = match at {
            SampledAt::Running | SampledAt::BpfOutput => {
                self.runs(met.tid, met.time);
                return None;
            }
            SampledAt::OffCpuTime => return None,
            SampledAt::Leaving => None,
            SampledAt::Switch(fields) => raw.and_then(|raw| fields.read(raw)),
        };
        let Some(switch) = switch else {
            let (why, reported_by) = (Why::Blocked, ReportedBy::Sample);
            self.leave(OffCpuThread { left: met, why, reported_by });
            return None;
        };
        let mut left = met;
        match met.tid {
            // It ended and has no number any more, but may have to make room until it is gone.
            u32::MAX => {
                left.tid = self.local_tid(switch.prev_tid);
                self.end(left.tid);
            }
            tid if tid != switch.prev_tid => {
                self.local_tids.insert(switch.prev_tid, tid);
            }
            _ => {}
        }
        let why = of_state(switch.prev_state);
        self.leave(OffCpuThread { left, why, reported_by: ReportedBy::Sample });
        self.come_back(self.local_tid(switch.next_tid), met.time, profile)
    }

    /// A SWITCH record. Returns the time off the CPU that ends with it, which is the next row.
    #[must_use]
    pub(super) fn switch(
        &mut self,
        direction: SwitchDirection,
        met: SwitchPoint,
        profile: &mut Profile,
    ) -> Option<Sample> {
        let why = match direction {
            SwitchDirection::In => return self.come_back(met.tid, met.time, profile),
            SwitchDirection::Out => Why::Blocked,
            SwitchDirection::Preempted => Why::Preempted,
        };
        self.leave(OffCpuThread { left: met, why, reported_by: ReportedBy::Record });
        None
    }

    fn local_tid(&self, tid: u32) -> u32 {
        self.local_tids.get(&tid).copied().unwrap_or(tid)
    }

    fn leave(&mut self, now: OffCpuThread) {
        let tid = now.left.tid;
        if matches!(tid, 0 | u32::MAX) {
            return;
        }
        let Some(known) = self.threads.get_mut(&tid) else {
            self.threads.insert(tid, now);
            return;
        };
        if known.reported_by == ReportedBy::Sample && now.reported_by == ReportedBy::Record {
            // The record of the switch that was sampled. Some samples do not say why.
            known.reported_by = ReportedBy::Record;
            if now.why == Why::Preempted {
                known.why = Why::Preempted;
            }
        } else if known.left.time != now.left.time {
            *known = now;
            self.unfinished += 1;
        }
    }

    fn come_back(&mut self, tid: u32, time: u64, profile: &mut Profile) -> Option<Sample> {
        let OffCpuThread { left, why, .. } = self.threads.remove(&tid)?;
        let weight = time.saturating_sub(left.time);
        let (samples, sum) = &mut self.sums[why as usize];
        *samples += 1;
        *sum = sum.saturating_add(weight);
        let event = placeholder(why);
        let SwitchPoint { thread, stack, cpu, waiting_row, .. } = left;
        self.to_complete.extend(waiting_row.map(|row| (profile.samples.len(), row, why)));
        let stack = self.ended_stack(profile, stack, why);
        Some(Sample { time_nanos: time, thread, stack, event, cpu, weight })
    }

    /// The stack with which a thread left, and why it did.
    fn ended_stack(&mut self, profile: &mut Profile, stack: StackId, why: Why) -> StackId {
        let Profile { dsos, frames, stacks, .. } = profile;
        let frame = *self.ends[why as usize].get_or_insert_with(|| {
            let dso = PseudoFrame::off_cpu_in(dsos);
            frames.intern(Frame { dso, address: PseudoFrame::OffCpu(why).number() })
        });
        stacks.intern(stack, frame)
    }

    /// If the thread had left and was not seen to come back, nobody knows when it did.
    #[inline(always)]
    pub(super) fn runs(&mut self, tid: u32, time: u64) {
        // Most recordings have no switches. A group of events samples the switch itself, all at one time.
        if !self.threads.is_empty()
            && self.threads.get(&tid).is_some_and(|thread| thread.left.time < time)
        {
            self.threads.remove(&tid);
            self.unfinished += 1;
        }
    }

    /// A thread ended: sooner or later it does not come back.
    pub(super) fn end(&mut self, tid: u32) {
        self.ended.insert(tid);
    }

    /// A thread began, perhaps under the id of one that ended.
    pub(super) fn begin(&mut self, tid: u32) {
        if self.ended.remove(&tid) {
            self.threads.remove(&tid);
        }
    }

    /// Adds the derived events behind those that were recorded.
    pub(super) fn finish(mut self, profile: &mut Profile) {
        let waiting = self.threads.keys().filter(|tid| !self.ended.contains(tid)).count();
        profile.unfinished_off_cpu = self.unfinished + waiting as u64;
        for (row, like, why) in std::mem::take(&mut self.to_complete) {
            if let Some(complete) = profile.samples.get(like) {
                let stack = self.ended_stack(profile, complete.stack, why);
                profile.samples.set_stack(row, stack);
            }
        }
        for (why, (samples, weight)) in Why::ALL.into_iter().zip(self.sums) {
            if samples == 0 {
                continue;
            }
            let number = profile.events.len() as u16;
            let placeholder = placeholder(why).0 as u16;
            profile.samples.event.replace(placeholder, number);
            let (name, origin) = (event_name(why).to_owned(), EventOrigin::Derived);
            profile.events.push(Event { name, origin, samples, weight, ..Event::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::event_format::EventFormat;

    use super::*;
    use crate::Stacks;

    const FORMAT: &str = "name: sched_switch\nID: 7\nformat:\n\
        field:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n\
        field:pid_t prev_pid;\toffset:16;\tsize:4;\tsigned:1;\n\
        field:pid_t next_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

    #[derive(Default)]
    struct Machine {
        off_cpu: OffCpu,
        profile: Profile,
    }

    /// Threads stand for themselves, and the stack is one frame, the time of the sample; 0 is none.
    fn met(profile: &mut Profile, tid: u32, time: u64, frame: u32) -> SwitchPoint {
        let stack = match frame {
            0 => Stacks::EMPTY,
            frame => profile.stacks.intern(Stacks::EMPTY, FrameId(OTHER_FRAMES + frame)),
        };
        SwitchPoint { tid, time, thread: ThreadId(tid), stack, cpu: 0, waiting_row: None }
    }

    /// Frames of tests have numbers that those of the profile do not reach.
    const OTHER_FRAMES: u32 = 1000;

    impl Machine {
        fn sampled(&mut self, at: SampledAt, tid: u32, time: u64) {
            let met = met(&mut self.profile, tid, time, time as u32);
            let derived = self.off_cpu.sample(at, met, None, &mut self.profile);
            derived.into_iter().for_each(|row| self.profile.samples.push(row));
        }

        fn record(&mut self, direction: SwitchDirection, tid: u32, time: u64) {
            let met = met(&mut self.profile, tid, time, 0);
            let derived = self.off_cpu.switch(direction, met, &mut self.profile);
            derived.into_iter().for_each(|row| self.profile.samples.push(row));
        }

        /// Name of the event, thread, stack and nanoseconds of each sample, and what is unknown.
        fn finish(mut self) -> (Vec<(String, u32, u32, u64)>, u64) {
            let name = "cycles".to_owned();
            self.profile.events.push(Event { name, ..Event::default() });
            self.off_cpu.finish(&mut self.profile);
            let Profile { samples, events, unfinished_off_cpu, stacks, frames, .. } = self.profile;
            let row = |row: usize| {
                let event = &events[usize::from(samples.event[row])];
                assert_eq!(event.origin, EventOrigin::Derived);
                let name = event.name.clone();
                let (caller, end) = stacks.get(samples.stack[row]).expect("an end at least");
                assert_eq!(
                    event_name(Why::ALL[frames.get(end).address as usize]),
                    name,
                    "the stack says why"
                );
                let stack = stacks.get(caller).map_or(0, |(_, frame)| frame.0 - OTHER_FRAMES);
                (name, samples.thread.at(row).0, stack, samples.weight.at(row))
            };
            ((0..samples.len()).map(row).collect(), unfinished_off_cpu)
        }
    }

    #[track_caller]
    fn check(machine: Machine, expected: &[(&str, u32, u32, u64)], unfinished: u64) {
        let expected: Vec<_> = expected
            .iter()
            .map(|&(name, tid, stack, weight)| (name.to_owned(), tid, stack, weight))
            .collect();
        assert_eq!(machine.finish(), (expected, unfinished));
    }

    #[test]
    fn a_time_has_the_stack_of_the_sample_at_the_switch() {
        let mut machine = Machine::default();
        machine.sampled(SampledAt::Running, 5, 90);
        machine.sampled(SampledAt::Leaving, 5, 100);
        machine.record(SwitchDirection::Out, 5, 101);
        machine.record(SwitchDirection::In, 5, 150);
        machine.sampled(SampledAt::Running, 5, 160);
        // Without a sample at the switch the stack before it is none.
        machine.record(SwitchDirection::Preempted, 5, 170);
        machine.record(SwitchDirection::In, 5, 171);
        // A sample that does not know why it is taken.
        machine.sampled(SampledAt::Leaving, 5, 200);
        machine.record(SwitchDirection::Preempted, 5, 201);
        machine.record(SwitchDirection::In, 5, 230);
        machine.record(SwitchDirection::In, 5, 240);
        let expected = [
            ("offcpu-time", 5, 100, 50),
            ("preempted-time", 5, 0, 1),
            ("preempted-time", 5, 200, 30),
        ];
        check(machine, &expected, 0);
    }

    #[test]
    fn what_has_no_known_end_is_counted_and_not_shown() {
        let mut machine = Machine::default();
        // It runs on without having come back, as where only its own process was recorded.
        machine.sampled(SampledAt::Leaving, 5, 100);
        machine.sampled(SampledAt::Running, 5, 100);
        machine.sampled(SampledAt::Running, 5, 120);
        machine.record(SwitchDirection::In, 5, 130);
        // It leaves once more.
        machine.sampled(SampledAt::Leaving, 6, 100);
        machine.sampled(SampledAt::Leaving, 6, 140);
        machine.record(SwitchDirection::In, 6, 150);
        // It waits when the recording ends; idle threads and those that ended do not.
        for tid in [0, 7, 8] {
            machine.record(SwitchDirection::Out, tid, 200);
        }
        machine.off_cpu.end(8);
        check(machine, &[("offcpu-time", 6, 140, 10)], 3);
    }

    #[test]
    fn a_switch_says_who_leaves_and_who_comes() {
        let order = perftab_perfdata::decode::ByteOrder::Little;
        let producer = perftab_perfdata::decode::event_format::Producer { order, long_size: 8 };
        let formats =
            EventFormats::new(EventFormat::parse("sched", FORMAT, producer).into_iter().collect());
        let mut attr = [0; 64];
        (attr[0], attr[8]) = (2, 7); // a tracepoint, number 7
        let attr = Attr::read(&attr, 0, order).expect("an attr");
        let at = SampledAt::of(&attr, "", &formats);
        assert!(matches!(at, SampledAt::Switch(_)), "{at:?}");

        let mut machine = Machine::default();
        let mut switch = |tid: u32, time: u64, prev: u32, state: u64, next: u32| {
            let mut raw = vec![0; 20];
            raw[4..8].copy_from_slice(&next.to_le_bytes());
            raw[8..16].copy_from_slice(&state.to_le_bytes());
            raw[16..20].copy_from_slice(&prev.to_le_bytes());
            let met = met(&mut machine.profile, tid, time, time as u32);
            let derived = machine.off_cpu.sample(at, met, Some(&raw), &mut machine.profile);
            derived.into_iter().for_each(|row| machine.profile.samples.push(row));
        };
        switch(5, 100, 5, 1, 6);
        switch(6, 130, 6, 0, 5);
        switch(5, 180, 5, 0x100, 0);
        switch(0, 200, 0, 0, 6);
        // Records count threads as the recorder's pid namespace does, tracepoints as the kernel.
        switch(31, 300, 1031, 2, 5);
        switch(5, 350, 5, 1, 1031);
        // It is dead: nothing has its number.
        switch(u32::MAX, 400, 6, 0x40, 5);
        let expected = [
            ("offcpu-time", 5, 100, 30),
            ("preempted-time", 6, 130, 70),
            ("preempted-time", 5, 180, 120),
            ("offcpu-time", 31, 300, 50),
            ("offcpu-time", 5, 350, 50),
        ];
        check(machine, &expected, 0);
    }
}
