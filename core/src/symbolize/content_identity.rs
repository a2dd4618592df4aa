//! What identifies a file without a build-id: a hash of everything in it that decides what runs.
//!
//! SHA-256 over the headers (of the file, its segments and its sections) and over every executable
//! segment, then over the length of the file; the first 16 bytes of it. Pieces are taken in the
//! order of the file, overlapping ones as one, each behind its offset and its length, all numbers
//! as big-endian u64. So a rebuild that only puts functions in another order is another file.
//! Hashes of a file's ends, which are common, do not tell those apart.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::elf::Elf;
use crate::decode::{ByteSource, ReadError};
use crate::profile::ContentHash;

/// Bytes read at once.
const BLOCK: u64 = 1 << 20;

/// The hash of an ELF file; `None` of a file of another kind. It reads as much as is executable, so
/// a source may end it with an error.
pub fn content_hash(source: &dyn ByteSource) -> Result<Option<ContentHash>, ReadError> {
    match Elf::read(source) {
        Ok(elf) => hash(&elf, source).map(Some),
        Err(super::elf::ElfError::NotElf { .. }) => Ok(None),
        Err(super::elf::ElfError::Read(error)) => Err(error),
    }
}

pub(super) fn hash(elf: &Elf, source: &dyn ByteSource) -> Result<ContentHash, ReadError> {
    let mut hash = Sha256::new();
    for Range { start, end } in decisive_ranges(elf, source.len()) {
        hash.update(start.to_be_bytes());
        hash.update((end - start).to_be_bytes());
        let mut at = start;
        while at < end {
            let length = BLOCK.min(end - at);
            hash.update(source.read_vec(at, length)?);
            at += length;
        }
    }
    hash.update(source.len().to_be_bytes());
    let mut first_half = [0; 16];
    first_half.copy_from_slice(&hash.finalize()[..16]);
    Ok(ContentHash(first_half))
}

/// Ascending and apart, so that headers that claim the same bytes many times cost them once.
fn decisive_ranges(elf: &Elf, length: u64) -> Vec<Range<u64>> {
    let code = elf.segments.iter().filter(|segment| segment.is_executable_load());
    let code = code.map(|segment| segment.offset..segment.offset.saturating_add(segment.file_size));
    let mut ranges: Vec<_> = elf.headers.iter().cloned().chain(code).collect();
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let end = range.end.min(length);
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(end),
            _ if range.start < end => apart.push(range.start..end),
            _ => {}
        }
    }
    apart
}
