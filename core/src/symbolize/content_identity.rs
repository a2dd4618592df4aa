//! What identifies a file without a build-id: SHA-256 over all of it, the first 16 bytes.
//!
//! Less would not do. A hash of a file's ends, which is common, is the same for a rebuild with its
//! functions in another order. One of all that is executed is the same for a rebuild with other
//! names of functions, and one with symbols the same for other names of what was inlined.

use sha2::{Digest, Sha256};

use crate::decode::{ByteSource, ReadError};
use crate::profile::ContentHash;

/// Bytes read at once.
const BLOCK: u64 = 1 << 20;

/// The hash of a file. It reads everything, so a source may end it with an error.
pub fn content_hash(source: &dyn ByteSource) -> Result<ContentHash, ReadError> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < source.len() {
        let length = BLOCK.min(source.len() - at);
        hash.update(source.read_vec(at, length)?);
        at += length;
    }
    let mut first_half = [0; 16];
    first_half.copy_from_slice(&hash.finalize()[..16]);
    Ok(ContentHash(first_half))
}
