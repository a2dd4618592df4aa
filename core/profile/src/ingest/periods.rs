//! Periods of samples that carry counter values (`sample_type` READ).
//!
//! Such a sample says how far each counter has come, of its event or of the whole group, and is a
//! sample of each event whose counter went on: with the difference to its last value as period.
//! With `perf record -e '{a,b}:S'` only the group's leader has interrupts and this is how the
//! others are sampled (`perf_session__deliver_sample` in `tools/perf/util/session.c`).

use perftab_perfdata::map::Map;

/// The last value of each counter.
#[derive(Default)]
pub(super) struct Periods {
    last: Map<CounterKey, u64>,
}

/// What has a count of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CounterKey {
    /// The event's id, which it has for each CPU or thread that it was opened on.
    pub id: u64,
    /// The thread, for an inherited event: threads that begin later count under the id of the
    /// one that began them.
    pub inherited_by: Option<u32>,
}

impl Periods {
    /// How much a counter has counted since it was read last; since it began, at first.
    pub(super) fn advance(&mut self, counter: CounterKey, value: u64) -> u64 {
        let last = self.last.insert(counter, value).unwrap_or(0);
        // Less than before: it was reset, as by exec.
        value.checked_sub(last).unwrap_or(value)
    }
}
