//! Random access to bytes that a host holds: a file, a `File` of the browser, a slice.

use std::fmt;
use std::sync::Arc;

use crate::identity::ContentHash;

/// Bytes that can be read at any offset.
///
/// Hosts implement it with `pread` or `FileReaderSync`; so of a debug file of three gigabytes
/// only the sections touched are read. It takes `&self` so that one source can serve several
/// readers.
pub trait ByteSource {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// True if there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes from `offset` on, or fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError>;

    /// The hash of all of it, where the host has it. A browser hashes several times as fast as
    /// WebAssembly, and beside it. `None` where it has to be read for that.
    fn content_hash(&self) -> Option<ContentHash> {
        None
    }

    /// Tells the host the hash of all of it, as it was read.
    fn keep_content_hash(&self, _hash: ContentHash) {}

    /// Reads `length` bytes from `offset` on. The length is checked against [`Self::len`] before
    /// anything is allocated.
    fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>, ReadError> {
        if offset.checked_add(length).is_none_or(|end| end > self.len()) {
            return Err(ReadError::out_of_bounds(offset, length));
        }
        let length =
            usize::try_from(length).map_err(|_| ReadError::out_of_bounds(offset, length))?;
        // In a tab, a debug file's section can be more than there is memory for.
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(length)
            .map_err(|_| ReadError::new(format!("no memory for {length} bytes")))?;
        buffer.resize(length, 0);
        self.read_at(offset, &mut buffer)?;
        Ok(buffer)
    }
}

/// Why bytes could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    message: String,
}

impl ReadError {
    /// With what the host says of it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    fn out_of_bounds(offset: u64, length: u64) -> Self {
        Self::new(format!("{length} bytes at {offset:#x} are outside the file"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

/// A source over bytes in memory: an unpacked archive member, a test.
#[derive(Clone, Debug)]
pub struct SliceSource {
    bytes: Arc<[u8]>,
}

impl SliceSource {
    /// Takes the bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: bytes.into() }
    }
}

impl ByteSource for SliceSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let wanted = usize::try_from(offset)
            .ok()
            .and_then(|start| self.bytes.get(start..start.checked_add(buffer.len())?));
        match wanted {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(ReadError::out_of_bounds(offset, buffer.len() as u64)),
        }
    }
}
