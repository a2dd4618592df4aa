//! What a recording has walked of stacks, and what comes back.

use std::io;

use super::clock::Clock;
use super::counters::Counters;
use super::options::{Plan, Rate};
use super::part::RecordsSince;
use super::session::{Session, WRITE_SIZE};
use super::unwinding::Unwinder;

/// What rings of samples have room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingsHold {
    /// All that comes while tables of unwind rules are loaded.
    TwoFifthsOfASecond,
    /// Less, or nobody knows.
    Less,
}

/// Whether records may stay in their rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lending {
    /// They are walked at once.
    Allowed,
    /// Nobody knows when they will be.
    Refused,
}

impl RingsHold {
    /// Of such a recording.
    pub fn of(plan: &Plan, counters: &Counters) -> Self {
        let rates = counters.events.iter().map(|event| match event.spec.rate(plan.rate) {
            Rate::Frequency(hz) => hz,
            Rate::Period(_) => u64::MAX,
        });
        let samples = rates.fold(0, u64::saturating_add);
        let a_second = samples.saturating_mul(plan.chains.sample_size());
        match a_second / 5 * 2 <= counters.ring_bytes as u64 {
            true => Self::TwoFifthsOfASecond,
            false => Self::Less,
        }
    }
}

impl Session {
    /// Has stacks walked where the kernel has copied them, if the ring has room for what comes meanwhile. False if its records
    /// have to be copied once more. (At 499 Hz that took a seventh of all processor time.) While anything is lent, the kernel
    /// gets no space back.
    pub(super) fn try_lend(&mut self, index: usize) -> bool {
        let is_of_samples = self.counters.sideband_id(index).is_none();
        let ring = &mut self.counters.rings[index];
        let may_lend =
            self.rings_hold == RingsHold::TwoFifthsOfASecond && is_of_samples && !ring.is_lent();
        let unwinder = self.unwinder.as_mut().filter(|unwinder| may_lend && unwinder.is_settled());
        let Some(unwinder) = unwinder else { return false };
        ring.lend(|records| unwinder.push_taken(records));
        true
    }

    /// Samples begin.
    pub(super) fn expect_deep_stacks(&mut self) {
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.expect_deep_stacks();
        }
    }

    /// Empties every ring to have stacks walked, and leaves the rest to the next [`Self::round`]: also to say so,
    /// as modules have to be described before that.
    pub(super) fn round_of_stacks(&mut self) {
        let begun = Clock::record_time();
        let before = self.taken();
        self.empty_rings(Lending::Allowed);
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.push(&mut self.buffer);
            if unwinder.taken() > before || unwinder.holds_samples() {
                unwinder.end_round(begun, Vec::new());
            }
        }
    }

    /// Writes the records whose stacks were walked; true if there are any.
    pub(super) fn write_what_is_unwound(&mut self) -> bool {
        self.write_unwound(Unwinder::next)
    }

    /// The same with all that there are: they have come from before this time.
    pub(super) fn write_all_unwound(&mut self, horizon: u64) {
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.end_round(horizon, Vec::new());
            self.write_unwound(Unwinder::next_to_come);
        }
    }

    fn write_unwound(
        &mut self,
        next: impl Fn(&mut Unwinder) -> io::Result<Option<Vec<u8>>>,
    ) -> bool {
        let (mut is_any, mut unwound) = (false, Vec::new());
        loop {
            match self.unwinder.as_mut().map_or(Ok(None), &next) {
                Ok(None) => break,
                Ok(Some(records)) => {
                    is_any |= !records.is_empty();
                    match unwound.is_empty() {
                        true => unwound = records,
                        false => unwound.extend_from_slice(&records),
                    }
                    if unwound.len() >= WRITE_SIZE {
                        self.take(&mut unwound);
                    }
                }
                Err(error) => {
                    self.part.failure.get_or_insert(error);
                    self.unwinder = None;
                    break;
                }
            }
        }
        self.take(&mut unwound);
        if is_any {
            self.part.records = RecordsSince::Some;
        }
        is_any
    }
}
