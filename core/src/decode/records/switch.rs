//! SWITCH and SWITCH_CPU_WIDE: a thread got a CPU, or left it.

use super::{RecordHeader, body};
use crate::decode::ByteOrder;
use crate::error::DecodeError;
use crate::format::record::{RecordType, misc};

/// A context switch. The thread that it is about, and when, stand in the record's trailer. Since
/// Linux 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchRecord {
    /// What the thread did.
    pub direction: SwitchDirection,
    /// The thread that had the CPU before or has it next; only where a whole CPU was recorded.
    pub other_tid: Option<u32>,
}

/// What a thread did at a context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchDirection {
    /// It got the CPU.
    In,
    /// It left the CPU to wait for something.
    Out,
    /// It had to leave the CPU although it could have gone on. Said since Linux 4.17.
    Preempted,
}

impl SwitchRecord {
    /// SWITCH has no body; SWITCH_CPU_WIDE is `struct { u32 next_prev_pid, next_prev_tid; }`.
    pub fn decode(
        header: RecordHeader,
        bytes: &[u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let direction = match header.misc & (misc::SWITCH_OUT | misc::SWITCH_OUT_PREEMPT) {
            misc::SWITCH_OUT => SwitchDirection::Out,
            0 | misc::SWITCH_OUT_PREEMPT => SwitchDirection::In,
            _ => SwitchDirection::Preempted,
        };
        let other_tid = match header.record_type {
            RecordType::SWITCH_CPU_WIDE => {
                let mut cursor = body(bytes, offset, order, "a SWITCH record")?;
                let _pid = cursor.u32()?;
                Some(cursor.u32()?)
            }
            _ => None,
        };
        Ok(Self { direction, other_tid })
    }
}
