//! What identifies a file without a build-id: SHA-256 over all of it, the first 16 bytes.
//!
//! Less would not do. A hash of a file's ends, which is common, is the same for a rebuild with its
//! functions in another order. One of all that is executed is the same for a rebuild with other
//! names of functions, and one with symbols the same for other names of what was inlined.

use sha2::{Digest, Sha256};

use crate::decode::{ByteSource, ReadError};
use crate::profile::ContentHash;

/// Longest file that is known by its content: more than the recorder can hash in its two seconds. A
/// recording may name `/proc/kcore`, which is an ELF file of 128 TB.
pub(super) const MAX_LENGTH: u64 = 8 << 30;
/// Bytes read at once.
const BLOCK: u64 = 1 << 20;

/// A hash on its way: of a large file it takes a second or two.
#[derive(Default)]
pub struct ContentHashing {
    hash: Sha256,
    read: u64,
}

impl ContentHashing {
    /// Bytes read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Reads on for about so many bytes, or to the end; then it has the hash.
    pub fn step(
        &mut self,
        source: &dyn ByteSource,
        bytes: usize,
    ) -> Result<Option<ContentHash>, ReadError> {
        let pause = self.read.saturating_add(bytes as u64);
        while self.read < source.len().min(pause) {
            let length = BLOCK.min(source.len() - self.read);
            self.hash.update(source.read_vec(self.read, length)?);
            self.read += length;
        }
        if self.read < source.len() {
            return Ok(None);
        }
        let mut first_half = [0; 16];
        first_half.copy_from_slice(&self.hash.finalize_reset()[..16]);
        Ok(Some(ContentHash(first_half)))
    }
}

/// The hash of a file. It reads everything, so a source may end it with an error.
pub fn content_hash(source: &dyn ByteSource) -> Result<ContentHash, ReadError> {
    let mut hashing = ContentHashing::default();
    loop {
        if let Some(hash) = hashing.step(source, usize::MAX)? {
            return Ok(hash);
        }
    }
}
