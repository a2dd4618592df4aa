//! Records that are not samples, a file for each family.
//!
//! A record that nobody needs has no decoder: it is passed over by its size and counted by the
//! name of its type.

mod aux;
mod call_chain;
mod cgroup;
mod event;
mod header;
mod kernel_symbol;
mod loss;
mod mapping;
mod namespaces;
mod switch;
mod task;

pub use aux::{AuxFlags, AuxTraceError, aux_trace_size, decode_aux_flags};
pub use call_chain::DeferredCallChain;
pub use cgroup::CgroupRecord;
pub use event::{EventUpdate, EventUpdateKind};
pub use header::{decode_feature, decode_header_attr, tracing_data};
pub use kernel_symbol::{KernelSymbolChange, KernelSymbolRecord};
pub use loss::{LossesToldOf, decode_lost, lost_by};
pub use mapping::{MappingAccess, MmapRecord};
pub use namespaces::NamespacesRecord;
pub use switch::SwitchDirection;
pub use task::{CommCause, CommRecord, ForkMappings, TaskRecord, ThreadNames};

use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::record::{RECORD_HEADER_SIZE, RecordType, misc};

/// simpleperf's own types of records begin here.
const SIMPLEPERF_FIRST_TYPE: u32 = 32768;

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// What it is.
    pub record_type: RecordType,
    /// Flags, by type.
    pub misc: u16,
    /// Bytes of the whole record.
    pub size: usize,
}

impl RecordHeader {
    /// The header that `bytes` begin with; `None` if they are fewer than eight.
    #[inline]
    pub fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let header = bytes.first_chunk::<RECORD_HEADER_SIZE>()?;
        let [t0, t1, t2, t3, m0, m1, s0, s1] = *header;
        let record_type = RecordType(order.u32([t0, t1, t2, t3]));
        let (mut misc, mut size) = (order.u16([m0, m1]), u32::from(order.u16([s0, s1])));
        if record_type.0 >= SIMPLEPERF_FIRST_TYPE {
            // simpleperf's own records have the upper half of their size there.
            size |= u32::from(misc) << 16;
            misc = 0;
        }
        Some(Self { record_type, misc, size: size as usize })
    }

    /// The whole record that `records` begin with, its header first, and what follows it. `None`
    /// at their end, and where no record can begin: its size is less than its header's or more
    /// than there is.
    #[inline]
    pub fn split(records: &[u8], order: ByteOrder) -> Option<(Self, &[u8], &[u8])> {
        let header = Self::read(records, order).filter(|it| it.size >= RECORD_HEADER_SIZE)?;
        let (record, rest) = records.split_at_checked(header.size)?;
        Some((header, record, rest))
    }

    /// The CPU mode in `misc`.
    pub fn cpu_mode(self) -> u16 {
        self.misc & misc::CPUMODE_MASK
    }
}

/// What follows the header of a whole record that lies at `offset`; `what` names it in errors.
fn body<'a>(
    bytes: &'a [u8],
    offset: u64,
    order: ByteOrder,
    what: &'static str,
) -> Result<Cursor<'a>, DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, what);
    cursor.take(RECORD_HEADER_SIZE)?;
    Ok(cursor)
}
