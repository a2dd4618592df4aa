//! LOST and LOST_SAMPLES: records that did not fit into a ring buffer.

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
