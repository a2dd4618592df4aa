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

pub use aux::{AuxFlags, AuxTraceError, decode_aux_flags};
pub use call_chain::DeferredCallChain;
pub use cgroup::CgroupRecord;
pub use event::{EventUpdate, EventUpdateKind};
pub use header::{decode_feature, decode_header_attr};
pub use kernel_symbol::{KernelSymbolChange, KernelSymbolRecord};
pub use loss::decode_lost;
pub use mapping::{MappingAccess, MmapRecord};
pub use namespaces::NamespacesRecord;
pub use switch::SwitchDirection;
pub use task::{CommCause, CommRecord, ForkMappings, TaskRecord, ThreadNames};

use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::record::{RECORD_HEADER_SIZE, RecordType, misc};

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
        Some(Self {
            record_type: RecordType(order.u32([t0, t1, t2, t3])),
            misc: order.u16([m0, m1]),
            size: usize::from(order.u16([s0, s1])),
        })
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
