//! The file that is written: header, ids, attrs, data, the feature sections, perftab's own section.
//!
//! At any moment it is a file that tools read: after each round the header says how much data there
//! is. (perf leaves a size of zero until the end, and then refuses to read on.) Feature sections
//! stand behind the data, which grows; so each second a *checkpoint* puts what the end would write
//! far ahead of it, and each round puts a table that leads there behind its data. While a round is
//! written over the last table, the header names no features. So a recorder that is killed leaves
//! all but its last second, mostly with its features, else without.
//!
//! The disk may fill up at any write, so space for the end is allocated before the data that could
//! take it; what was recorded until then is completed like any other recording.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use perftab_core::format::feature::Feature;
use perftab_core::format::footer::Footer;
use perftab_core::format::header::{FILE_HEADER_SIZE, SECTION_SIZE};
use perftab_core::format::write::{self, FileHeader, Section};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::output::{self, Readers};

/// Kept free for the feature sections.
const END_RESERVE: u64 = 256 << 10;
/// Kept free for them by a recording that is shorter than they may be.
const SMALLEST_END_RESERVE: u64 = 16 << 10;
/// Allocated in one go, so that few writes need to allocate.
const ALLOCATION: u64 = 4 << 20;
/// A checkpoint stands so far behind the data: several rounds fit in between. On a disk the gap
/// takes no space but what is allocated anyway.
const CHECKPOINT_AHEAD: u64 = 2 * ALLOCATION;

/// An event's part of the file's head.
pub struct EventHead<'a> {
    /// As the kernel took it.
    pub attr: &'a [u8],
    /// As the kernel gave them.
    pub ids: &'a [u64],
}

/// What stands behind the data.
#[derive(Clone, Debug, Default)]
pub struct FileEnd {
    /// Feature sections, in any order.
    pub features: Vec<(Feature, Vec<u8>)>,
    /// perftab's own section; empty if there is nothing to say.
    pub section: Vec<u8>,
}

/// What a disk that was full had no space for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Nothing.
    Nothing,
    /// Some of the end: build-ids, symbols.
    Something,
}

/// A recording that is being written.
pub struct RecordingFile {
    file: File,
    path: PathBuf,
    header: FileHeader,
    /// End of the data written so far.
    end: u64,
    kind: OutputKind,
    /// Space is allocated up to here; `None` on a file system that cannot allocate ahead.
    allocated: Option<u64>,
    checkpoint: Checkpoint,
}

/// Where the recording is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    /// A file on a disk.
    File,
    /// A device, which has no length and keeps nothing.
    Device,
}

/// What a recorder that is killed leaves of the end.
enum Checkpoint {
    None,
    /// Payloads are in the file, from `at` on. The header may name the features or not.
    Placed {
        at: u64,
        end: FileEnd,
    },
}

impl RecordingFile {
    /// Creates the file, for its owner only, with everything that comes before the data. A
    /// recording that is there already is renamed to `FILE.old`, as perf does.
    pub fn create(path: &Path, events: &[EventHead<'_>]) -> Result<Self> {
        check_kind(path)?;
        keep_old(path)?;
        let mut file = output::create(path, Readers::Owner)?;
        let (header, head) = head(events);
        file.write_all(&head).with_context(|| format!("{} cannot be written", path.display()))?;
        let end = header.data.offset;
        let (kind, allocated) = match file.metadata() {
            Ok(meta) if meta.is_file() => (OutputKind::File, Some(end)),
            _ => (OutputKind::Device, None),
        };
        let (path, checkpoint) = (path.to_owned(), Checkpoint::None);
        Ok(Self { file, path, header, end, kind, allocated, checkpoint })
    }

    /// Bytes of records written.
    pub fn data_size(&self) -> u64 {
        self.end - self.header.data.offset
    }

    /// Appends whole records. If that fails nothing of them is kept.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.withdraw_features()?;
        let end = self.end + records.len() as u64;
        if let Err(error) = self.allocate(end) {
            self.remove_checkpoint();
            return Err(error);
        }
        if let Err(error) = self.file.write_all_at(records, self.end) {
            self.checkpoint = Checkpoint::None;
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end = end;
        Ok(())
    }

    /// Says in the header how much data there is by now, and where the features of the last
    /// checkpoint are. A failure is that of the next write too.
    pub fn acknowledge(&mut self) {
        self.move_checkpoint();
        let mut header = FileHeader { features: Vec::new(), ..self.header.clone() };
        header.data.size = self.data_size();
        if let Checkpoint::Placed { at, end } = &self.checkpoint {
            let table = write::feature_table(*at, &end.features);
            if self.file.write_all_at(&table, self.end).is_ok() {
                header.features = end.features.iter().map(|(feature, _)| *feature).collect();
            }
        }
        if self.file.write_all_at(&header.encode(), 0).is_ok() {
            self.header = header;
        }
    }

    /// Puts what would stand behind the data into the file, should the recorder be killed; the
    /// next [`Self::acknowledge`] leads there. Without space for it there is none.
    pub fn checkpoint(&mut self, mut end: FileEnd) {
        end.features.sort_by_key(|(feature, _)| *feature);
        if self.kind == OutputKind::File && self.withdraw_features().is_ok() {
            self.place(end);
        }
    }

    fn place(&mut self, end: FileEnd) {
        let at = self.end + CHECKPOINT_AHEAD;
        let payloads = payloads(&end);
        let placed = self.file.write_all_at(&payloads, at);
        // The footer is the last of the file, whatever stood there before.
        match placed.and_then(|()| self.file.set_len(at + payloads.len() as u64)) {
            Ok(()) => self.checkpoint = Checkpoint::Placed { at, end },
            Err(_) => self.remove_checkpoint(),
        }
    }

    /// Where the data has come up to the checkpoint, it goes on ahead.
    fn move_checkpoint(&mut self) {
        let reached = self.end + SMALLEST_END_RESERVE;
        match std::mem::replace(&mut self.checkpoint, Checkpoint::None) {
            Checkpoint::Placed { at, end } if at < reached => self.place(end),
            checkpoint => self.checkpoint = checkpoint,
        }
    }

    /// What is written next goes over the table of features: the header names none until there is
    /// another.
    fn withdraw_features(&mut self) -> io::Result<()> {
        if !self.header.features.is_empty() {
            self.header.features.clear();
            self.file.write_all_at(&self.header.encode(), 0)?;
        }
        Ok(())
    }

    /// Gives its space back, and keeps what is allocated for the end.
    fn remove_checkpoint(&mut self) {
        self.checkpoint = Checkpoint::None;
        if self.kind == OutputKind::File {
            let _ = self.file.set_len(self.end.max(self.allocated.unwrap_or(0)));
        }
    }

    /// Allocates for data up to `end` and for what follows it, and more if there is more. On a
    /// disk that has hardly anything, a short recording is worth more than its kernel symbols.
    fn allocate(&mut self, end: u64) -> io::Result<()> {
        let Some(allocated) = self.allocated else { return Ok(()) };
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
                    self.allocated = Some(until);
                    return Ok(());
                }
                Err(error) if is_full(&error.into()) => {}
                Err(_) => {
                    self.allocated = None;
                    return Ok(());
                }
            }
        }
        Err(Errno::NOSPC.into())
    }

    /// Writes the end and the final header. If there is no space for all of it, the largest parts
    /// are left out. Returns the file's size.
    pub fn finish(mut self, mut end: FileEnd) -> Result<(u64, LeftOut)> {
        self.withdraw_features().map_err(|error| self.failed(error))?;
        self.remove_checkpoint();
        end.features.sort_by_key(|(feature, _)| *feature);
        let mut left_out = LeftOut::Nothing;
        let size = loop {
            let payloads_at = self.end + SECTION_SIZE * end.features.len() as u64;
            let mut bytes = write::feature_table(payloads_at, &end.features);
            bytes.extend(payloads(&end));
            match self.file.write_all_at(&bytes, self.end) {
                Ok(()) => break self.end + bytes.len() as u64,
                Err(error) if is_full(&error) && leave_out_the_largest(&mut end) => {
                    left_out = LeftOut::Something;
                }
                Err(error) => return Err(self.failed(error)),
            }
        };
        self.header.data.size = self.data_size();
        self.header.features = end.features.iter().map(|(feature, _)| *feature).collect();
        self.file.write_all_at(&self.header.encode(), 0).map_err(|error| self.failed(error))?;
        if self.kind == OutputKind::File {
            // Gives back what was allocated ahead.
            self.file.set_len(size).map_err(|error| self.failed(error))?;
        }
        Ok((size, left_out))
    }

    fn failed(&self, error: io::Error) -> anyhow::Error {
        anyhow::Error::new(error).context(format!("{} cannot be completed", self.path.display()))
    }
}

/// The payloads of the features, then perftab's section with its footer, which ends the file.
fn payloads(end: &FileEnd) -> Vec<u8> {
    let mut bytes = Vec::new();
    end.features.iter().for_each(|(_, payload)| bytes.extend_from_slice(payload));
    if !end.section.is_empty() {
        bytes.extend_from_slice(&end.section);
        bytes.extend_from_slice(&Footer::of(&end.section).encode());
    }
    bytes
}

/// Takes out the largest payload. False if there is none left.
fn leave_out_the_largest(end: &mut FileEnd) -> bool {
    let sizes = end.features.iter().map(|(_, payload)| payload.len());
    let largest = sizes.enumerate().max_by_key(|(_, size)| *size);
    match largest {
        Some((index, size)) if size >= end.section.len() => drop(end.features.remove(index)),
        _ if end.section.is_empty() => return false,
        _ => end.section.clear(),
    }
    true
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

/// What cannot become a recording is refused before anything runs.
fn check_kind(path: &Path) -> Result<()> {
    let shown = path.display();
    let Ok(there) = fs::metadata(path) else { return Ok(()) };
    let kind = there.file_type();
    if kind.is_fifo() || kind.is_socket() {
        bail!(
            "{shown} is a pipe: a recording is completed at its start when it ends, so it needs \
             a file; name one with -o"
        );
    }
    if kind.is_dir() || kind.is_block_device() {
        bail!("{shown} is no file: name one with -o");
    }
    Ok(())
}

fn keep_old(path: &Path) -> Result<()> {
    let there = output::open_there(path)?.and_then(|file| file.metadata().ok());
    if there.is_some_and(|meta| meta.is_file() && meta.len() > 0) {
        let mut old = path.as_os_str().to_owned();
        old.push(".old");
        fs::rename(path, old).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perftab_core::format::header::DATA_SIZE_OFFSET;

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
        let features = vec![(Feature::HOSTNAME, vec![1; 8])];
        let (size, left_out) = file.finish(FileEnd { features, section: Vec::new() }).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(data_size_in(&after), 64);
        assert_eq!(after.len() as u64, size);
        assert_eq!(&after[after.len() - 8..], &[1; 8]);
        assert_eq!(left_out, LeftOut::Nothing);
        let old = fs::read(path.with_file_name("completed.old")).unwrap();
        assert_eq!(old, b"an older recording");
    }
}
