//! Opens recordings in core, as a host does.

use std::fs;
use std::path::Path;

use perftab_core::session::{
    Opening, SampleWatcher, Session, StackDumps, UnpackAhead, WantedBytes,
};
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
        opening.push(next(parts[part], offset, length, block));
    }
    Ok(opening.finish())
}

/// Reads a recording of several files once more, in blocks of `block` bytes, and shows its samples.
pub fn replay_parts(
    parts: &[&[u8]],
    block: usize,
    dumps: StackDumps,
    watcher: SampleWatcher,
) -> Result<(), DecodeError> {
    let sources: Vec<_> = parts.iter().map(|&part| SliceSource::new(part)).collect();
    let sources: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    let mut replay = Opening::new(&sources)?.replay(dumps, watcher);
    while let Some(WantedBytes { part, offset, length }) = replay.wants() {
        replay.push(next(parts[part], offset, length, block));
    }
    replay.finish();
    Ok(())
}

/// Opens a recording in which something is packed with what an [`UnpackAhead`] makes of it, given blocks of `block` bytes;
/// also in how many pieces that came. `None` where nothing is packed. Only `there` bytes of the file are left by the
/// time its records are read.
pub fn open_unpacked_ahead(
    file: &[u8],
    there: usize,
    block: usize,
) -> Result<Option<(Session, usize)>, DecodeError> {
    let mut opening = Opening::new(&[&SliceSource::new(file)])?;
    let Some(packing) = opening.packing() else { return Ok(None) };
    let mut ahead = UnpackAhead::new(packing);
    let mut pieces = 0;
    while let Some((offset, length)) = ahead.wants().filter(|_| opening.wants().is_some()) {
        let mut block = next(&file[..there], offset, length, block);
        let end = (block.is_empty() && length > 0).then(|| ahead.end_early()).flatten();
        for unpacked in end.into_iter().chain(std::iter::from_fn(|| ahead.push(&mut block))) {
            pieces += 1;
            opening.push_unpacked(unpacked);
        }
        assert!(block.is_empty(), "all of it was taken");
    }
    assert!(opening.wants().is_none(), "it was read to its end");
    Ok(Some((opening.finish(), pieces)))
}

/// What is pushed next of the bytes that are there.
pub fn next(there: &[u8], offset: u64, length: u64, block: usize) -> &[u8] {
    let rest = there.get(offset as usize..).unwrap_or_default();
    &rest[..rest.len().min(block).min(usize::try_from(length).unwrap_or(usize::MAX))]
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
