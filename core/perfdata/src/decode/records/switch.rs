//! SWITCH and SWITCH_CPU_WIDE: a thread got a CPU, or left it. Since Linux 4.3.
//!
//! The thread that a record is about, and when, stand in its trailer. SWITCH has no body;
//! SWITCH_CPU_WIDE has `struct { u32 next_prev_pid, next_prev_tid; }`, the thread that had the CPU
//! before or has it next. Nobody needs it: that thread has a record of its own.

use super::RecordHeader;
use crate::format::record::misc;

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

impl SwitchDirection {
    /// Of a SWITCH or SWITCH_CPU_WIDE record.
    pub fn of(header: RecordHeader) -> Self {
        match (header.misc & misc::SWITCH_OUT, header.misc & misc::SWITCH_OUT_PREEMPT) {
            (0, _) => Self::In,
            (_, 0) => Self::Out,
            _ => Self::Preempted,
        }
    }
}
