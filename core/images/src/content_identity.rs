//! What identifies a file without a build-id: SHA-256 over all of it, the first 16 bytes.
//!
//! Less would not do. A hash of a file's ends, which is common, is the same for a rebuild with its
//! functions in another order. One of all that is executed is the same for a rebuild with other
//! names of functions, and one with symbols the same for other names of what was inlined.

use perftab_dsos::ContentHash;
use perftab_perfdata::decode::{ByteSource, ReadError};
use sha2::{Digest, Sha256};

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
        if let Some(hash) = source.content_hash() {
            self.read = source.len();
            return Ok(Some(hash));
        }
        let pause = self.read.saturating_add(bytes as u64);
        while self.read < source.len().min(pause) {
            let length = BLOCK.min(source.len() - self.read);
            self.hash.update(source.read_vec(self.read, length)?);
            self.read += length;
        }
        if self.read < source.len() {
            return Ok(None);
        }
        let hash = ContentHash::of_sha256(self.hash.finalize_reset().into());
        source.keep_content_hash(hash);
        Ok(Some(hash))
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

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::SliceSource;

    use super::*;

    /// A source of a host that has hashed it, and that nobody has to read.
    struct Hashed(ContentHash);

    impl ByteSource for Hashed {
        fn len(&self) -> u64 {
            3
        }

        fn content_hash(&self) -> Option<ContentHash> {
            Some(self.0)
        }

        fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<(), ReadError> {
            Err(ReadError::new("nobody has to read it"))
        }
    }

    #[test]
    fn it_is_half_of_sha_256_whoever_has_hashed() {
        // FIPS 180-2, B.1: "abc".
        let half = 0xba78_16bf_8f01_cfea_4141_40de_5dae_2223_u128.to_be_bytes();
        assert_eq!(content_hash(&SliceSource::new(*b"abc")), Ok(ContentHash(half)));
        let mut whole = [0xff; 32];
        whole[..16].copy_from_slice(&half);
        let hashed = Hashed(ContentHash::of_sha256(whole));
        assert_eq!(content_hash(&hashed), Ok(ContentHash(half)));
    }
}
