//! Samples as most are: a time, a thread that ran, and a call chain, with which the record ends.
//!
//! They are decoded when their bytes are pushed, and wait for their turn decoded. Every other record
//! waits as its bytes: also a sample that says more, or that is to be shown again. To look at each
//! sample twice, when it was pushed and when its turn had come, took a sixth of the time of reading.
//!
//! In a later reading, a sample that was shown at once and has served waits in the same way, without its call chain: all
//! that is left of it is its row.

use perftab_perfdata::decode::attr::{Attr, SampleLayout};
use perftab_perfdata::decode::sample::{self, RawSample, Words};
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType, misc};

use super::call_chain::Chain;
use super::deferred::DeferredSamples;
use super::off_cpu::SampledAt;
use super::reader::Reader;
use super::sample::{cpu_number, has_user_part};
use super::tasks::OUTSIDE;
use super::user_part::UserPart;
use super::walker::Entry;
use super::watch::{DumpedSample, SampleKey};
use crate::{EventId, Sample, Stacks};

/// A plain sample.
#[derive(Clone, Copy)]
pub(super) struct PlainSample<'a> {
    pub fields: PlainFields,
    /// Words of the call chain, in the byte order of the file.
    pub call_chain: &'a [u8],
}

/// What has the same size in each.
#[derive(Clone, Copy)]
pub(super) struct PlainFields {
    /// Nanoseconds of the recorder's clock; not 0.
    pub time_nanos: u64,
    /// Instruction pointer; 0 if not recorded.
    ip: u64,
    weight: u64,
    pid: u32,
    tid: u32,
    event: u16,
    cpu: u16,
    cpu_mode: u16,
}

/// Whether samples of an event may be plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleShape {
    /// They are, if they have a time and end where they should.
    Plain,
    /// They have more fields, or tell of more than a thread that runs.
    Other,
}

impl SampleShape {
    /// Of the samples of an event.
    pub(super) fn of(attr: &Attr, layout: &SampleLayout) -> Self {
        let has_no_more = layout.tail.is_empty() && layout.read_format.is_none();
        match has_no_more && layout.time.is_some() && SampledAt::is_always_running(attr) {
            true => Self::Plain,
            false => Self::Other,
        }
    }
}

impl Reader {
    /// The record, if it is a plain sample.
    #[inline(always)]
    pub(super) fn plain<'a>(
        &self,
        Entry { header, bytes, .. }: Entry<'a>,
    ) -> Option<PlainSample<'a>> {
        if header.record_type != RecordType::SAMPLE || self.replay.is_some() {
            return None;
        }
        let body = bytes.get(RECORD_HEADER_SIZE..)?;
        let event = self.events.of_sample(body, self.order)?;
        if self.events.shape(event) != SampleShape::Plain {
            return None;
        }
        let RawSample { ip, pid, tid, time_nanos, cpu, period, call_chain, tail, .. } =
            sample::decode(self.events.layout(event), body, self.order)?;
        let time_nanos = time_nanos.filter(|&time| time != 0)?;
        if !tail.is_empty() || DeferredSamples::cookie(call_chain).is_some() {
            return None;
        }
        let fields = PlainFields {
            time_nanos,
            ip,
            weight: period.unwrap_or_else(|| self.events.default_weight(event)),
            pid,
            tid,
            event: event.0 as u16,
            cpu: cpu_number(cpu),
            cpu_mode: header.cpu_mode(),
        };
        Some(PlainSample { fields, call_chain: call_chain.bytes() })
    }

    /// What is left of a sample that was shown at once and has served; `None` if its turn is to come all the same, as it
    /// tells more than that a thread ran.
    pub(super) fn served(&self, sample: &DumpedSample<'_>) -> Option<PlainSample<'static>> {
        let DumpedSample { key, pid, .. } = *sample;
        let SampleKey { time_nanos, tid, event, cpu, weight } = key;
        let is_plain = time_nanos != 0
            && pid != OUTSIDE
            && SampledAt::is_always_running(self.events.attr(event));
        let fields = PlainFields {
            time_nanos,
            ip: 0,
            weight,
            pid,
            tid,
            event: event.0 as u16,
            cpu,
            cpu_mode: misc::CPUMODE_USER,
        };
        is_plain.then_some(PlainSample { fields, call_chain: &[] })
    }

    /// Adds the row of a plain sample, whose turn has come, or passes over it if there has been one.
    #[inline(always)]
    pub(super) fn add_plain(&mut self, PlainSample { fields, call_chain }: PlainSample<'_>) {
        let PlainFields { time_nanos, ip, weight, pid, tid, event, cpu, cpu_mode } = fields;
        self.kernel_symbols.begin();
        let call_chain = Words::new(call_chain, self.order);
        let event = EventId(event.into());
        let task = self.meet_sample(pid, tid, cpu, || has_user_part(cpu_mode, call_chain));
        if let Some(replay) = &mut self.replay {
            replay.pass_over();
            self.off_cpu.runs(tid, time_nanos);
            return;
        }
        let chain = Chain {
            kernels: &mut self.kernels,
            user: self.tasks.space(task),
            ip,
            words: call_chain,
            user_part: UserPart::InChain,
            cpu_mode,
        };
        let outermost = self.call_chains.intern_later(&mut self.profile, chain);
        self.note_chain(event, call_chain, UserPart::InChain, outermost);
        let (thread, stack) = (task.thread, Stacks::EMPTY);
        self.add_to_profile(Sample { time_nanos, thread, stack, event, cpu, weight });
        self.off_cpu.runs(tid, time_nanos);
    }
}
