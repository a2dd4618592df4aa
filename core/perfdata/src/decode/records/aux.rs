//! AUX and AUXTRACE_ERROR: instruction traces, of which only the losses are told here.

use std::borrow::Cow;

use super::body;
use crate::decode::ByteOrder;
use crate::decode::cursor::until_nul;
use crate::error::DecodeError;

/// `PERF_AUX_FLAG_*`: what became of a piece of AUX data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuxFlags(u64);

impl AuxFlags {
    const TRUNCATED: u64 = 1 << 0;
    const PARTIAL: u64 = 1 << 2;
    const COLLISION: u64 = 1 << 3;

    /// True if part of the trace is missing: the buffer was full, or another trace was in the way.
    pub fn is_lossy(self) -> bool {
        self.0 & (Self::TRUNCATED | Self::PARTIAL | Self::COLLISION) != 0
    }
}

/// AUX: `struct { u64 aux_offset, aux_size, flags; }`.
pub fn decode_aux_flags(
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<AuxFlags, DecodeError> {
    let mut cursor = body(bytes, offset, order, "an AUX record")?;
    let _offset = cursor.u64()?;
    let _size = cursor.u64()?;
    Ok(AuxFlags(cursor.u64()?))
}

/// What the recorder could not decode of a trace.
///
/// ```c
/// struct { u32 type, code, cpu, pid, tid, fmt; u64 ip; [u64 time if fmt]; char msg[64]; };
/// // struct perf_record_auxtrace_error in tools/lib/perf/include/perf/event.h
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AuxTraceError<'a> {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// In the recorder's words.
    pub message: Cow<'a, str>,
}

impl<'a> AuxTraceError<'a> {
    /// Decodes AUXTRACE_ERROR.
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "an AUXTRACE_ERROR record")?;
        let (_type, _code, _cpu) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (pid, tid) = (cursor.u32()?, cursor.u32()?);
        let format = cursor.u32()?;
        let _ip = cursor.u64()?;
        if format != 0 {
            let _time = cursor.u64()?;
        }
        // Older recorders end the record with the text.
        let message = &cursor.rest()[..cursor.rest().len().min(64)];
        Ok(Self { pid, tid, message: String::from_utf8_lossy(until_nul(message)) })
    }
}

/// How many bytes of AUX data follow an AUXTRACE record: `struct { u64 size, offset, reference;
/// u32 idx, tid, cpu, _; }`.
pub fn aux_trace_size(bytes: &[u8], offset: u64, order: ByteOrder) -> Result<u64, DecodeError> {
    body(bytes, offset, order, "an AUXTRACE record")?.u64()
}
