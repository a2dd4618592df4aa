//! Samples whose user call chain comes later.
//!
//! Since Linux 6.19 a sample taken in the kernel may have a cookie in place of its user call
//! chain; CALLCHAIN_DEFERRED brings the chain when the thread returns to user space, once for all
//! samples that wait for it. Until then they stand in the profile with their kernel part.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_key;
use std::ops::Range;

use perftab_perfdata::decode::sample::Words;
use perftab_perfdata::format::record::CONTEXT_USER_DEFERRED;

use super::watch::WaitingRecord;
use crate::{EventId, StackId};

/// Samples that wait at one time. Threads that sleep in the kernel keep theirs waiting, but a
/// real machine has some thousands of those; beyond this a file is broken, or made to harm.
const MAX_WAITING: usize = 1 << 18;

/// Bytes of the records among them that are to be shown: a record has up to 64 KiB, and a packed file
/// next to none for each.
const MAX_RECORD_BYTES: usize = 128 << 20;

/// A thread, and the cookie that its samples have in place of their user call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cookie {
    pub tid: u32,
    pub cookie: u64,
}

/// A sample that waits.
pub(super) struct DeferredSample {
    /// Its rows in the profile: several, if it told of several events, or none.
    pub rows: Range<usize>,
    /// The event that took it.
    pub event: EventId,
    /// What its own chain has, which is the kernel part. Until the rest comes its rows have what its
    /// other fields say, too.
    pub stack: StackId,
    /// The record, if somebody wants to see it when it is complete.
    pub record: Option<WaitingRecord>,
}

impl DeferredSample {
    fn record_bytes(&self) -> usize {
        self.record.as_ref().map_or(0, WaitingRecord::size)
    }
}

/// All samples that wait.
#[derive(Default)]
pub(super) struct DeferredSamples {
    waiting: Map<Cookie, Vec<DeferredSample>>,
    count: usize,
    record_bytes: usize,
    given_up: u64,
}

impl DeferredSamples {
    /// The cookie that a call chain ends with.
    #[inline(always)]
    pub(super) fn cookie(call_chain: Words<'_>) -> Option<u64> {
        let before_last = call_chain.len().checked_sub(2)?;
        let is_deferred = call_chain.get(before_last) == Some(CONTEXT_USER_DEFERRED);
        is_deferred.then(|| call_chain.get(before_last + 1)).flatten()
    }

    /// Lets a sample wait; gives it back if too many do.
    pub(super) fn wait(
        &mut self,
        cookie: Cookie,
        sample: DeferredSample,
    ) -> Result<(), DeferredSample> {
        let record_bytes = self.record_bytes + sample.record_bytes();
        if self.count == MAX_WAITING || record_bytes > MAX_RECORD_BYTES {
            self.given_up += 1;
            return Err(sample);
        }
        self.count += 1;
        self.record_bytes = record_bytes;
        self.waiting.entry(cookie).or_default().push(sample);
        Ok(())
    }

    /// The samples whose call chain has come, in their order.
    pub(super) fn take(&mut self, cookie: Cookie) -> Vec<DeferredSample> {
        let samples = self.waiting.remove(&cookie).unwrap_or_default();
        self.count -= samples.len();
        self.record_bytes -= samples.iter().map(DeferredSample::record_bytes).sum::<usize>();
        samples
    }

    /// The samples whose call chain never came, in their order.
    pub(super) fn take_rest(&mut self) -> Vec<DeferredSample> {
        let mut rest: Vec<DeferredSample> =
            self.waiting.drain().flat_map(|(_, samples)| samples).collect();
        sort_by_key(&mut rest, |sample| sample.rows.start);
        self.given_up += rest.len() as u64;
        self.count = 0;
        self.record_bytes = 0;
        rest
    }

    /// How many samples stayed without the user part of their call chain.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stacks;

    fn sample(row: usize, bytes: usize) -> DeferredSample {
        let record = WaitingRecord { rows: Vec::new(), bytes: vec![0; bytes] };
        let (event, stack) = (EventId(0), Stacks::EMPTY);
        DeferredSample { rows: row..row + 1, event, stack, record: Some(record) }
    }

    #[test]
    fn records_that_wait_are_bounded_in_bytes() {
        let mut all = DeferredSamples::default();
        let [first, second] = [1, 2].map(|cookie| Cookie { tid: 7, cookie });
        let megabyte = 1 << 20;
        let fit = (0..).take_while(|&row| all.wait(first, sample(row, megabyte)).is_ok()).count();
        assert_eq!(fit, MAX_RECORD_BYTES / megabyte);
        assert_eq!(
            all.wait(second, sample(fit, megabyte)).map_err(|it| it.rows),
            Err(fit..fit + 1)
        );
        assert_eq!(all.given_up(), 2);
        // Those without a record take none of it.
        let without = DeferredSample { record: None, ..sample(fit, 0) };
        assert!(all.wait(second, without).is_ok());
        assert_eq!(all.take(first).len(), fit);
        assert!(all.wait(second, sample(fit + 1, megabyte)).is_ok());
        assert_eq!(all.take_rest().len(), 2);
        let again = (0..).take_while(|&row| all.wait(first, sample(row, megabyte)).is_ok()).count();
        assert_eq!(again, fit);
    }
}
