//! Opens recordings in core, as a host does.

use perftab_core::decode::{ByteSource, SliceSource};
use perftab_core::error::DecodeError;
use perftab_core::session::{Opening, Session, WantedBytes};

/// Opens a recording, pushing its records in blocks of `block` bytes.
pub fn open_in_blocks(file: &[u8], block: usize) -> Result<Session, DecodeError> {
    open_parts(&[file], block)
}

/// Opens a recording of several files, pushing what it wants in blocks of `block` bytes.
pub fn open_parts(parts: &[&[u8]], block: usize) -> Result<Session, DecodeError> {
    let sources: Vec<_> = parts.iter().map(|&part| SliceSource::new(part)).collect();
    let sources: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    let mut opening = Opening::new(&sources)?;
    while let Some(WantedBytes { part, offset, length }) = opening.wants() {
        let rest = parts[part].get(offset as usize..).unwrap_or_default();
        let length = (length.min(block as u64) as usize).min(rest.len());
        opening.push(&rest[..length]);
    }
    Ok(opening.finish())
}

/// Opens a recording.
pub fn open(file: &[u8]) -> Result<Session, DecodeError> {
    open_in_blocks(file, 1 << 20)
}
