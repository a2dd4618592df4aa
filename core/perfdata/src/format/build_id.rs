//! Build-id: the bytes of the GNU note that identify a build.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A build-id as recorded or found: 1 to 20 bytes, not all zero.
///
/// The bytes are never swapped, whatever the byte order of the file. Most linkers write 20
/// (SHA-1), some 16 (MD5, UUID) or 8 (xxhash).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId {
    length: u8,
    bytes: [u8; Self::MAX_LENGTH],
}

/// Whether it was recorded how long an id is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdLength {
    /// It has as many bytes as it says.
    #[default]
    Recorded,
    /// It has 20 bytes, which may be a shorter id and zeros.
    AtMost,
}

impl BuildId {
    /// `BUILD_ID_SIZE_MAX` of the kernel.
    pub const MAX_LENGTH: usize = 20;

    /// `None` for what is not an identity: no bytes, more than 20, or all of them zero.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() || bytes.len() > Self::MAX_LENGTH || bytes.iter().all(|&b| b == 0) {
            return None;
        }
        let mut id = Self { length: bytes.len() as u8, bytes: [0; Self::MAX_LENGTH] };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// Reads hex digits, as in a debuginfod URL.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if !digits.len().is_multiple_of(2) || digits.len() > 2 * Self::MAX_LENGTH {
            return None;
        }
        let mut bytes = [0; Self::MAX_LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = (pair[0] as char).to_digit(16)?;
            let low = (pair[1] as char).to_digit(16)?;
            *byte = (high * 16 + low) as u8;
        }
        Self::new(&bytes[..digits.len() / 2])
    }

    /// True if this id, of which that is known of its length, may be a shorter one with zeros: perf
    /// before Linux 5.11 filled up to 20 bytes and wrote no length, and later ones take the padding
    /// of the note along, up to a multiple of 4 bytes, where they read it themselves
    /// (`read_build_id` in tools/perf/util/symbol-elf.c, Linux 6.1).
    pub fn may_be(self, shorter: Self, length: IdLength) -> bool {
        let is_padding = match length {
            IdLength::AtMost => usize::from(self.length) == Self::MAX_LENGTH,
            IdLength::Recorded => self.length == shorter.length.next_multiple_of(4),
        };
        shorter.length < self.length && self.bytes == shorter.bytes && is_padding
    }

    /// The id without the zeros that it may be padded with; `None` if it cannot be.
    pub fn without_padding(self) -> Option<Self> {
        let length = self.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let may_be_padded =
            usize::from(self.length) == Self::MAX_LENGTH && length < Self::MAX_LENGTH;
        may_be_padded.then_some(Self { length: length as u8, ..self })
    }

    /// The bytes, as many as there are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// As hex digits.
impl Serialize for BuildId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BuildId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Self::from_hex(&digits).ok_or_else(|| D::Error::custom("no build-id in hex digits"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}
