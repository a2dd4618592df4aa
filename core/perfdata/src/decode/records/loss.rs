//! LOST and LOST_SAMPLES: records that did not fit into a ring buffer.

use std::collections::BTreeSet;

use super::{RecordHeader, body};
use crate::decode::ByteOrder;
use crate::error::DecodeError;
use crate::format::record::RecordType;

/// How many records a LOST (`u64 id, lost`) or LOST_SAMPLES (`u64 lost`) record tells of.
pub fn decode_lost(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<u64, DecodeError> {
    let mut cursor = body(bytes, offset, order, "a LOST record")?;
    if header.record_type == RecordType::LOST {
        cursor.u64()?;
    }
    cursor.u64()
}

/// The id of the counter that could not write, of a LOST record. Records of other counters of its
/// ring may be among the lost.
pub fn lost_by(bytes: &[u8], offset: u64, order: ByteOrder) -> Result<u64, DecodeError> {
    body(bytes, offset, order, "a LOST record")?.u64()
}

/// Which losses a recorder has told of before the kernel did.
///
/// The kernel writes LOST with the next record of a ring, which may come late. perftab's recorder writes one of nothing
/// for the same counter as soon as it sees a loss, and by then there is room again.
#[derive(Debug, Default)]
pub struct LossesToldOf(BTreeSet<u64>);

impl LossesToldOf {
    /// Takes note of a LOST record of a counter. True if something may have been lost since the LOST before.
    pub fn is_new(&mut self, counter: u64, lost: u64) -> bool {
        match lost {
            0 => {
                self.0.insert(counter);
                true
            }
            _ => !self.0.remove(&counter),
        }
    }

    /// A counter of whose loss the kernel has yet to tell.
    pub fn to_come(&self) -> Option<u64> {
        self.0.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_a_loss_once_more() {
        let mut told = LossesToldOf::default();
        let of = |(counter, lost)| told.is_new(counter, lost);
        let records = [(1, 5), (1, 0), (2, 3), (1, 4), (1, 2), (1, 0), (1, 0), (1, 1)];
        assert_eq!(records.map(of), [true, true, true, false, true, true, true, false]);
        assert_eq!(told.to_come(), None);
    }
}
