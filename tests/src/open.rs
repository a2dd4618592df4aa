//! Opens recordings in core, as a host does.

use std::fs;
use std::path::Path;

use perftab_core::session::{Opening, Session, WantedBytes};
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_perfdata::error::DecodeError;

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

/// What `zstd -1` makes of a recording.
pub fn packed(file: &[u8]) -> Vec<u8> {
    let mut packed = vec![0; zstd_safe::compress_bound(file.len())];
    let size = zstd_safe::compress(&mut packed[..], file, 1).expect("there is room");
    packed.truncate(size);
    packed
}

/// Opens a recording on disk, a file or a folder of files.
pub fn open_path(path: &Path) -> Result<Session, DecodeError> {
    let parts = read_parts(path);
    open_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1 << 20)
}

/// The bytes of a recording's files; of a folder `data` first.
pub fn read_parts(path: &Path) -> Vec<Vec<u8>> {
    let read =
        |file: &Path| fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if !path.is_dir() {
        return vec![read(path)];
    }
    let mut files: Vec<_> = fs::read_dir(path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("data"))
        })
        .collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}
