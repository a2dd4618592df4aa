//! Opens recordings in core, as a host does.

use perftab_core::decode::{ByteSource, SliceSource};
use perftab_core::error::DecodeError;
use perftab_core::session::{Opening, Session};

/// Opens a recording, pushing its records in blocks of `block` bytes.
pub fn open_in_blocks(file: &[u8], block: usize) -> Result<Session, DecodeError> {
    let source = SliceSource::new(file);
    let mut opening = Opening::new(&source)?;
    let data = opening.data();
    let mut offset = data.offset;
    while offset < data.offset + data.size {
        let length = (data.offset + data.size - offset).min(block as u64);
        opening.push(&source.read_vec(offset, length).expect("inside of the file"));
        offset += length;
    }
    Ok(opening.finish())
}

/// Opens a recording.
pub fn open(file: &[u8]) -> Result<Session, DecodeError> {
    open_in_blocks(file, 1 << 20)
}
