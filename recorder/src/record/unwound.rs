//! What a recording gives to the thread that walks stacks, and what comes back.

use std::io;

use super::clock::Clock;
use super::part::RecordsSince;
use super::session::{Session, WRITE_SIZE};
use super::unwinding::Unwinder;

impl Session {
    /// Samples begin.
    pub(super) fn expect_deep_stacks(&mut self) {
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.expect_deep_stacks();
        }
    }

    /// Empties every ring for the thread that walks stacks, and leaves the rest to the next [`Self::round`]: also to say so,
    /// as modules have to be described before that.
    pub(super) fn round_of_stacks(&mut self) {
        let begun = Clock::record_time();
        let before = self.taken();
        self.empty_rings();
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
