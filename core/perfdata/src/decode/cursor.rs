//! Checked reads in the file's byte order.

use serde::Serialize;

use crate::error::{DecodeError, DecodeErrorKind};

/// Byte order of the machine that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "lowercase")]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// That of this machine, in which its kernel writes.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Two bytes as a number.
    #[inline]
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Four bytes as a number.
    #[inline]
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Eight bytes as a number.
    #[inline]
    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// Reads forward through a piece of a file, and knows where in the file it is.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the file.
    offset: u64,
    order: ByteOrder,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// Over `bytes`, which lie at `offset` in the file; `what` names them in errors.
    pub fn new(bytes: &'a [u8], offset: u64, order: ByteOrder, what: &'static str) -> Self {
        Self { bytes, offset, order, what }
    }

    /// Where the next byte lies in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Byte order of what is read.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(DecodeErrorKind::Truncated { what: self.what }.at(self.offset));
        };
        self.bytes = rest;
        self.offset += count as u64;
        Ok(taken)
    }

    /// As [`Self::take`], of a length that the file states.
    pub fn take_u64(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        match usize::try_from(count) {
            Ok(count) => self.take(count),
            Err(_) => Err(DecodeErrorKind::Truncated { what: self.what }.at(self.offset)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(self.order.u16(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(self.order.u32(self.array()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(self.order.u64(self.array()?))
    }

    /// The rest, up to the first NUL.
    pub fn c_string(&mut self) -> &'a [u8] {
        let rest = self.rest();
        until_nul(rest)
    }

    /// A feature section's string: u32 padded length, then that many bytes, of which the first
    /// NUL ends the text (`do_read_string` in `tools/perf/util/header.c`).
    pub fn sized_string(&mut self) -> Result<String, DecodeError> {
        let length = self.u32()?;
        let bytes = self.take_u64(u64::from(length))?;
        Ok(String::from_utf8_lossy(until_nul(bytes)).into_owned())
    }
}

/// `bytes` up to the first NUL; all of them if there is none.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}
