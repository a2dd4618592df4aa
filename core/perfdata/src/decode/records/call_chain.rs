//! CALLCHAIN_DEFERRED: the user part of call chains, taken when the kernel returns to user space.

use super::body;
use crate::decode::ByteOrder;
use crate::decode::sample::Words;
use crate::error::{DecodeError, DecodeErrorKind};

/// The user part of the call chains of all samples that have its cookie (Linux 6.19).
///
/// ```c
/// struct { u64 cookie, nr, ips[nr]; };  // include/uapi/linux/perf_event.h
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeferredCallChain<'a> {
    /// What stands after the marker in the samples that it belongs to.
    pub cookie: u64,
    /// Words, innermost first; the kernel begins them with the marker of user space.
    pub words: Words<'a>,
}

impl<'a> DeferredCallChain<'a> {
    /// Decodes CALLCHAIN_DEFERRED.
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a CALLCHAIN_DEFERRED record")?;
        let cookie = cursor.u64()?;
        let count = cursor.u64()?;
        let what = "the length of a deferred call chain";
        let size = count
            .checked_mul(8)
            .ok_or(DecodeErrorKind::Invalid { what, value: count }.at(cursor.offset()))?;
        Ok(Self { cookie, words: Words::new(cursor.take_u64(size)?, order) })
    }
}
