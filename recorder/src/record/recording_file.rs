//! The file that is written: header, ids, attrs, data, then the feature sections.
//!
//! At any moment it is a file that tools read: after each round the header says how much data there
//! is, and names no feature sections until they are there; so a recorder that is killed leaves all
//! but its last second. (perf leaves a size of zero until the end, and then refuses to read on.)
//! The disk may fill up at any write, so space for the end is allocated before the data that could
//! take it; what was recorded until then is completed like any other recording.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use perftab_core::format::feature::Feature;
use perftab_core::format::header::{DATA_SIZE_OFFSET, FILE_HEADER_SIZE, SECTION_SIZE};
use perftab_core::format::write::{self, FileHeader, Section};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Kept free for the feature sections.
const END_RESERVE: u64 = 256 << 10;
/// Kept free for them by a recording that is shorter than they may be.
const SMALLEST_END_RESERVE: u64 = 16 << 10;
/// Allocated in one go, so that few writes need to allocate.
const ALLOCATION: u64 = 4 << 20;

/// An event's part of the file's head.
pub struct EventHead<'a> {
    /// As the kernel took it.
    pub attr: &'a [u8],
    /// As the kernel gave them.
    pub ids: &'a [u64],
}

/// A recording that is being written.
pub struct RecordingFile {
    file: File,
    path: PathBuf,
    header: FileHeader,
    /// End of the data written so far.
    end: u64,
    /// Space is allocated up to here.
    allocated: Allocation,
}

#[derive(Clone, Copy)]
enum Allocation {
    Until(u64),
    /// Not a file on a disk, or a file system that cannot allocate ahead.
    Unsupported,
}

impl RecordingFile {
    /// Creates the file, for its owner only, with everything that comes before the data. A
    /// recording that is there already is renamed to `FILE.old`, as perf does.
    pub fn create(path: &Path, events: &[EventHead<'_>]) -> Result<Self> {
        keep_old(path).with_context(|| path.display().to_string())?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let (header, head) = head(events);
        file.write_all(&head).with_context(|| format!("{} cannot be written", path.display()))?;
        let end = header.data.offset;
        let allocated = match file.metadata() {
            Ok(meta) if meta.is_file() => Allocation::Until(end),
            _ => Allocation::Unsupported,
        };
        Ok(Self { file, path: path.to_owned(), header, end, allocated })
    }

    /// Bytes of records written.
    pub fn data_size(&self) -> u64 {
        self.end - self.header.data.offset
    }

    /// Appends whole records. If that fails nothing of them is kept.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let end = self.end + records.len() as u64;
        self.allocate(end)?;
        if let Err(error) = self.file.write_all_at(records, self.end) {
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end = end;
        Ok(())
    }

    /// Says in the header how much data there is by now. A failure is that of the next write too.
    pub fn acknowledge(&mut self) {
        let _ = self.file.write_all_at(&self.data_size().to_ne_bytes(), DATA_SIZE_OFFSET);
    }

    /// Allocates for data up to `end` and for what follows it, and more if there is more. On a
    /// disk that has hardly anything, a short recording is worth more than its kernel symbols.
    fn allocate(&mut self, end: u64) -> io::Result<()> {
        let Allocation::Until(allocated) = self.allocated else { return Ok(()) };
        let needed = end + END_RESERVE;
        if needed <= allocated {
            return Ok(());
        }
        let is_short = end - self.header.data.offset < END_RESERVE;
        let least = if is_short { end + SMALLEST_END_RESERVE } else { needed };
        for until in [needed + ALLOCATION, needed, least] {
            let length = until - self.end;
            match rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.end, length) {
                Ok(()) => {
                    self.allocated = Allocation::Until(until);
                    return Ok(());
                }
                Err(error) if is_full(&error.into()) => {}
                Err(_) => {
                    self.allocated = Allocation::Unsupported;
                    return Ok(());
                }
            }
        }
        Err(Errno::NOSPC.into())
    }

    /// Writes the feature sections and the final header. If there is no space for all of them,
    /// the largest are left out, named in the result. Returns the file's size.
    pub fn finish(mut self, mut features: Vec<(Feature, Vec<u8>)>) -> Result<(u64, Vec<Feature>)> {
        let mut left_out = Vec::new();
        let end = loop {
            let sections = write::feature_sections(self.end, &mut features);
            match self.file.write_all_at(&sections, self.end) {
                Ok(()) => break self.end + sections.len() as u64,
                Err(error) if is_full(&error) && !features.is_empty() => {
                    let sizes = features.iter().map(|(_, payload)| payload.len());
                    let largest = sizes.enumerate().max_by_key(|(_, size)| *size);
                    let (index, _) = largest.unwrap_or_default();
                    left_out.push(features.remove(index).0);
                }
                Err(error) => return Err(self.failed(error)),
            }
        };
        self.header.data.size = self.data_size();
        self.header.features = features.iter().map(|(feature, _)| *feature).collect();
        self.file.write_all_at(&self.header.encode(), 0).map_err(|error| self.failed(error))?;
        if let Allocation::Until(_) = self.allocated {
            // Gives back what was allocated ahead.
            self.file.set_len(end).map_err(|error| self.failed(error))?;
        }
        Ok((end, left_out))
    }

    fn failed(&self, error: io::Error) -> anyhow::Error {
        anyhow::Error::new(error).context(format!("{} cannot be completed", self.path.display()))
    }
}

/// Whether a write failed for want of space: the disk, a quota, or a limit on file sizes.
pub fn is_full(error: &io::Error) -> bool {
    let full = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    full.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Header, ids of all events, attr array.
fn head(events: &[EventHead<'_>]) -> (FileHeader, Vec<u8>) {
    let attr_size = events.first().map_or(0, |event| event.attr.len());
    let attr_stride = attr_size as u64 + SECTION_SIZE;
    let mut ids = Vec::new();
    let mut attrs = Vec::new();
    for event in events {
        let offset = FILE_HEADER_SIZE + ids.len() as u64;
        ids.extend(event.ids.iter().flat_map(|id| id.to_ne_bytes()));
        let size = 8 * event.ids.len() as u64;
        write::attr_entry(&mut attrs, event.attr, Section { offset, size });
    }
    let attrs_at = FILE_HEADER_SIZE + ids.len() as u64;
    let header = FileHeader {
        attr_stride,
        attrs: Section { offset: attrs_at, size: attrs.len() as u64 },
        data: Section { offset: attrs_at + attrs.len() as u64, size: 0 },
        features: Vec::new(),
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend_from_slice(&ids);
    bytes.extend_from_slice(&attrs);
    (header, bytes)
}

fn keep_old(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() > 0 => {
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            fs::rename(path, old)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perftab-unit-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    fn data_size_in(bytes: &[u8]) -> u64 {
        let at = DATA_SIZE_OFFSET as usize;
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn the_header_is_completed_at_the_end_and_the_old_file_kept() {
        let path = temporary("completed");
        fs::write(&path, b"an older recording").unwrap();
        let event = EventHead { attr: &[0; 112], ids: &[1, 2] };
        let mut file = RecordingFile::create(&path, &[event]).unwrap();
        file.append(&[7; 64]).unwrap();
        file.acknowledge();
        let before = fs::read(&path).unwrap();
        assert_eq!(data_size_in(&before), 64);
        assert_eq!(before[72..104], [0; 32], "no features yet");
        assert_eq!(before.len(), 104 + 16 + 128 + 64);
        let (size, left_out) = file.finish(vec![(Feature::HOSTNAME, vec![1; 8])]).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(data_size_in(&after), 64);
        assert_eq!(after.len() as u64, size);
        assert_eq!(&after[after.len() - 8..], &[1; 8]);
        assert!(left_out.is_empty());
        let old = fs::read(path.with_file_name("completed.old")).unwrap();
        assert_eq!(old, b"an older recording");
    }
}
