//! Records that a ring had no room for: readers are told at once, and what runs is described anew, so that only what
//! was sampled in between may have wrong names.

use std::time::{Duration, Instant};

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::{LossesToldOf, RecordHeader, lost_by};
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write;

use super::clock::Clock;
use super::describe::DESCRIBE_ROUND;
use super::options::Plan;
use super::ring::Fill;
use super::session::{Session, is_due_again};
use super::tally;
use super::tasks::RunningTasks;
use super::unwound::Lending;

/// What was lost of mappings and threads.
#[derive(Default)]
pub struct Gaps {
    told_of: LossesToldOf,
    mappings: Mappings,
    /// When what runs was described anew, and how long that took.
    described: Option<(Instant, Duration)>,
}

/// Whether readers know what is mapped.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mappings {
    #[default]
    Known,
    /// Something was lost since they were told.
    Doubtful,
}

impl Gaps {
    fn is_description_due(&self) -> bool {
        self.mappings == Mappings::Doubtful && self.described.is_none_or(is_due_again)
    }
}

impl Session {
    /// The kernel says what a ring of sideband lost with its next record, which may come late or
    /// never; but samples are doubtful from the last record before. So that is said at once, by a LOST
    /// record of nothing, as the number is yet to come. The ring's records stand in the buffer from
    /// `start` on.
    pub(super) fn mark_gaps(&mut self, ring: usize, id: u64, start: usize, fill: Fill) {
        let (mut gaps, mut before) = (Vec::new(), None);
        let mut records = &self.buffer[start..];
        while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
            if header.record_type == RecordType::LOST {
                let lost = tally::lost_in(record);
                self.counters.add_reported(ring, lost);
                // Before the first one is the end of what was read before, where that was full.
                gaps.extend(before);
                let counter = lost_by(record, 0, ByteOrder::NATIVE).unwrap_or(id);
                if self.part.gaps.told_of.is_new(counter, lost) {
                    self.part.gaps.mappings = Mappings::Doubtful;
                }
            }
            before = self.trailer.time_of(record).or(before);
            records = rest;
        }
        if fill == Fill::Full && self.counters.has_new_loss(ring) {
            gaps.push(before.unwrap_or(self.latest()));
        }
        for time in gaps {
            write::lost(&mut self.buffer, id, 0, self.trailer.at(time));
            self.part.gaps.told_of.is_new(id, 0);
            self.part.gaps.mappings = Mappings::Doubtful;
        }
    }

    /// Describes what runs once more, if records of it were lost: what is mapped from now on comes by its own records.
    pub(super) fn describe_after_gaps(&mut self, plan: &Plan) {
        if !self.part.gaps.is_description_due() {
            return;
        }
        let begun = Instant::now();
        let trailer = self.trailer.at(Clock::record_time());
        let mut tasks =
            RunningTasks::new(trailer, plan.chains.described_mappings(), plan.namespaces);
        self.part.gaps.mappings = Mappings::Known;
        let mut emptied = begun;
        for pid in self.running_processes(plan) {
            tasks.write_process(pid, &mut self.buffer);
            if emptied.elapsed() >= DESCRIBE_ROUND {
                self.empty_rings(Lending::Refused);
                emptied = Instant::now();
            }
        }
        self.part.gaps.described = Some((Instant::now(), begun.elapsed()));
    }

    /// Writes down what the counters lost, as perf does for samples: LOST records come with the next
    /// record of their ring, and after the last there is none. They do not say what it was either.
    pub(super) fn write_late_losses(&mut self) {
        let trailer = self.trailer.at(self.part.tally.latest);
        let before = self.parts.as_ref().map(|parts| parts.losses).unwrap_or_default();
        let lost = self.counters.lost_samples().unwrap_or(0).saturating_sub(before.samples);
        if lost > self.part.tally.lost_samples {
            write::lost_samples(&mut self.buffer, lost, trailer);
        }
        let lost = self.counters.lost_sideband().unwrap_or(0).saturating_sub(before.sideband);
        let told_of = self.part.gaps.told_of.to_come();
        if let Some(late) = lost.checked_sub(self.part.tally.lost_sideband).filter(|late| *late > 0)
            && let Some(id) = told_of.or(self.counters.sideband.ids.first().copied())
        {
            write::lost(&mut self.buffer, id, late, trailer);
        }
        self.part.take(&mut self.buffer);
        self.part.write_all_packed();
    }
}
