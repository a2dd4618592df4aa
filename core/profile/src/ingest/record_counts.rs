//! How many records of each type were met.

use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::map::Map;

/// Types below are counted without a look-up: all that the kernel and perf write.
const COMMON: usize = 128;

/// The counts.
pub(super) struct RecordCounts {
    common: [u64; COMMON],
    others: Map<RecordType, u64>,
}

impl Default for RecordCounts {
    fn default() -> Self {
        Self { common: [0; COMMON], others: Map::new() }
    }
}

impl RecordCounts {
    /// One more.
    #[inline(always)]
    pub(super) fn add(&mut self, record_type: RecordType) {
        match self.common.get_mut(record_type.0 as usize) {
            Some(count) => *count += 1,
            None => *self.others.entry(record_type).or_default() += 1,
        }
    }

    /// How many there were of a type.
    pub(super) fn of(&self, record_type: RecordType) -> u64 {
        match self.common.get(record_type.0 as usize) {
            Some(&count) => count,
            None => self.others.get(&record_type).copied().unwrap_or(0),
        }
    }

    /// All types that were met, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RecordType, u64)> + '_ {
        let common = (0..).map(RecordType).zip(self.common).filter(|&(_, count)| count > 0);
        common.chain(self.others.iter().map(|(&record_type, &count)| (record_type, count)))
    }
}
