//! What identifies a mapped file, as far as the recording says.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::BuildId;

/// Hash of a file's content, recorded where a file has no GNU build-id.
///
/// The first 16 bytes of its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 16]);

impl ContentHash {
    /// Of all of a file.
    pub fn of_sha256(hash: [u8; 32]) -> Self {
        let mut first_half = [0; 16];
        first_half.copy_from_slice(&hash[..16]);
        Self(first_half)
    }

    /// Reads 32 hex digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let is_hex = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u128::from_str_radix(digits, 16).ok())?.map(|hash| Self(hash.to_be_bytes()))
    }
}

/// As hex digits.
impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Self::from_hex(&digits).ok_or_else(|| D::Error::custom("no hash in 32 hex digits"))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// What a file is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Identity {
    /// The GNU note's bytes.
    Gnu(BuildId),
    /// A hash of the content.
    Content(ContentHash),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gnu(id) => id.fmt(f),
            Self::Content(hash) => hash.fmt(f),
        }
    }
}

/// What an MMAP2 record says of the file behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MappedFrom {
    /// Its build-id.
    BuildId(BuildId),
    /// Its inode.
    Inode {
        /// Device, major.
        major: u32,
        /// Device, minor.
        minor: u32,
        /// Inode number.
        inode: u64,
        /// Generation of the inode.
        generation: u64,
    },
    /// Nothing (an MMAP record, or no file).
    Nothing,
}

impl MappedFrom {
    /// The build-id, if that is what was recorded.
    pub fn build_id(self) -> Option<BuildId> {
        match self {
            Self::BuildId(id) => Some(id),
            _ => None,
        }
    }

    /// The same, with less told; `None` if nothing less can be told. What was mapped before the
    /// recording began is told by the recorder, which does not know the generation of an inode
    /// (perf) or the inode itself (simpleperf); what is mapped later is told by the kernel. So
    /// `libc.so` comes in two forms and is one file all the same.
    pub fn less_told(self) -> Option<Self> {
        match self {
            Self::Inode { generation: 0, .. } => Some(Self::Nothing),
            Self::Inode { major, minor, inode, .. } => {
                Some(Self::Inode { major, minor, inode, generation: 0 })
            }
            Self::BuildId(_) | Self::Nothing => None,
        }
    }
}
