//! The file that is written: header, ids, attrs, data, the feature sections, perftab's own section.
//!
//! At any moment it is a file that tools read: after each round the header says how much data there
//! is. (perf leaves a size of zero until the end, and then refuses to read on.) Feature sections
//! stand behind the data, which grows; so each second a *checkpoint* puts what the end would write
//! far ahead of it, and each round puts a table that leads there behind its data. A recorder that is
//! killed leaves all but its last second, with its features.
//!
//! Each change becomes true by one write, that of the header. The table that it leads to stands where
//! the next records belong: these are *held* until the header leads to the next table, behind them.
//! Then they are written, and only a recorder killed just between these two writes leaves damage,
//! behind all that the header told of before. (Tried: naming no features in between. Then whoever is
//! killed there leaves none.) A round that is shorter than the table is held as a whole.
//!
//! The disk may fill up at any write, so space for the end is allocated before the data that could
//! take it; what was recorded until then is completed like any other recording.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::footer::Footer;
use perftab_perfdata::format::header::{FILE_HEADER_SIZE, SECTION_SIZE};
use perftab_perfdata::format::write;
use perftab_perfdata::format::write::{FileHeader, Section};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::write_behind::{RingsFill, WriteBehindFile};
use crate::output::{self, Readers};
use crate::result_file::{is_full, with_remedy};

/// Kept free for the feature sections.
const END_RESERVE: u64 = 256 << 10;
/// Kept free for them by a recording that is shorter than they may be.
const SMALLEST_END_RESERVE: u64 = 16 << 10;
/// Allocated in one go, so that few writes need to allocate.
const ALLOCATION: u64 = 4 << 20;
/// A checkpoint stands so far behind the data: several rounds fit in between. On a disk the gap
/// takes no space but what is allocated anyway. (Tests need not write as much to get there.)
const CHECKPOINT_AHEAD: u64 = if cfg!(test) { 64 << 10 } else { 2 * ALLOCATION };

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
    file: WriteBehindFile,
    path: PathBuf,
    /// As it stands in the file.
    header: FileHeader,
    /// End of the data, with what is held of it.
    end: u64,
    /// Records that belong where the table stands that the header leads to.
    held: Vec<u8>,
    kind: OutputKind,
    /// Space is allocated up to here; `None` on a file system that cannot allocate ahead.
    allocated: Option<u64>,
    /// The latest.
    checkpoint: Option<Checkpoint>,
    /// The payloads that the header leads to.
    linked: Option<Range<u64>>,
    /// Names that it had as it was made: not every file system tells.
    names: u64,
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
struct Checkpoint {
    /// Where its payloads are in the file.
    payloads: Range<u64>,
    end: FileEnd,
}

impl Checkpoint {
    fn table(&self) -> Vec<u8> {
        write::feature_table(self.payloads.start, &self.end.features)
    }

    fn features(&self) -> Vec<Feature> {
        self.end.features.iter().map(|(feature, _)| *feature).collect()
    }
}

impl RecordingFile {
    /// Creates the file, for its owner only, with everything that comes before the data. A
    /// recording that is there already is renamed to `FILE.old`, as perf does.
    pub fn create(path: &Path, events: &[EventHead<'_>], rings: RingsFill) -> Result<Self> {
        check_kind(path)?;
        keep_old(path)?;
        let mut file = output::create_private(path)?;
        let (header, head) = head(events);
        if let Err(error) = file.write_all(&head) {
            // An empty file would be taken for a recording, and a later one for its successor.
            if file.metadata().is_ok_and(|meta| meta.is_file()) {
                let _ = fs::remove_file(path);
            }
            return Err(with_remedy(error))
                .with_context(|| format!("{} cannot be written", path.display()));
        }
        let end = header.data.offset;
        let (kind, allocated, names) = match file.metadata() {
            Ok(meta) if meta.is_file() => (OutputKind::File, Some(end), meta.nlink()),
            _ => (OutputKind::Device, None, 0),
        };
        Ok(Self {
            file: WriteBehindFile::new(file, rings),
            path: path.to_owned(),
            header,
            end,
            held: Vec::new(),
            kind,
            allocated,
            checkpoint: None,
            linked: None,
            names,
        })
    }

    /// Whether somebody has removed it since: what is written then is nowhere.
    fn is_removed(&self) -> bool {
        self.names > 0 && self.file.file().metadata().is_ok_and(|meta| meta.nlink() == 0)
    }

    /// Bytes of records written.
    pub fn data_size(&self) -> u64 {
        self.end - self.header.data.offset
    }

    /// End of the data that the header tells of.
    fn told_end(&self) -> u64 {
        self.header.data.offset + self.header.data.size
    }

    /// End of the table that the header leads to.
    fn table_end(&self) -> u64 {
        self.told_end() + SECTION_SIZE * self.header.features.len() as u64
    }

    /// [`WriteBehindFile::has_room`].
    pub fn has_room(&mut self, within: Duration) -> bool {
        self.file.has_room(within)
    }

    /// Appends whole records. If that fails nothing of them is kept.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let end = self.end + records.len() as u64;
        if let Err(error) = self.allocate(end) {
            self.remove_checkpoint();
            return Err(error);
        }
        self.make_way(end);
        let over_table = self.table_end().saturating_sub(self.end).min(records.len() as u64);
        let (over_table, behind) = records.split_at(over_table as usize);
        if let Err(error) = self.write(behind, self.end + over_table.len() as u64) {
            self.allocated = self.allocated.map(|_| self.end);
            self.remove_checkpoint();
            return Err(error);
        }
        self.held.extend_from_slice(over_table);
        self.end = end;
        Ok(())
    }

    /// Says in the header how much data there is by now, and where the features of the last
    /// checkpoint are. What fails here is tried again the next time.
    pub fn acknowledge(&mut self) {
        let _ = self.link();
    }

    fn link(&mut self) -> io::Result<()> {
        let features = self.checkpoint.as_ref().map(Checkpoint::features).unwrap_or_default();
        let table = self.checkpoint.as_ref().map(Checkpoint::table).unwrap_or_default();
        if self.end < self.table_end() && features == self.header.features {
            // All that is new is held, and stays so: there is no place for another table.
            self.write(&table, self.told_end())?;
        } else {
            if self.end < self.table_end() {
                self.withdraw_features()?;
            }
            self.write(&table, self.end)?;
            let mut header = FileHeader { features, ..self.header.clone() };
            header.data.size = self.data_size();
            self.write(&header.encode(), 0)?;
            self.write_held()?;
            self.header = header;
        }
        let linked = self.checkpoint.as_ref().map(|checkpoint| checkpoint.payloads.clone());
        if let Some(payloads) = linked.clone().filter(|_| linked != self.linked) {
            // The footer is the last of the file, whatever stood there before.
            self.file.set_len(payloads.end)?;
        }
        self.linked = linked;
        Ok(())
    }

    /// Puts what would stand behind the data into the file, should the recorder be killed; the
    /// next [`Self::acknowledge`] leads there. False if there is no space for it: the last one stays.
    pub fn checkpoint(&mut self, mut end: FileEnd) -> bool {
        if self.kind == OutputKind::Device {
            return false;
        }
        end.features.sort_by_key(|(feature, _)| *feature);
        let placed = self.place(end, self.end).is_ok();
        match &self.checkpoint {
            _ if placed => {}
            // Its footer is the last of the file again.
            Some(last) => drop(self.file.set_len(last.payloads.end)),
            None => self.remove_checkpoint(),
        }
        placed
    }

    /// Places a checkpoint ahead of data up to `data_end`, and not over what the header leads to.
    fn place(&mut self, end: FileEnd, data_end: u64) -> io::Result<()> {
        let bytes = payloads(&end);
        let length = bytes.len() as u64;
        // The end, with as much, has space before it.
        let ahead = data_end + CHECKPOINT_AHEAD + length;
        let at = match &self.linked {
            Some(linked) if ahead < linked.end && linked.start < ahead + length => {
                linked.end + CHECKPOINT_AHEAD
            }
            _ => ahead,
        };
        self.reserve(at, length)?;
        self.write(&bytes, at)?;
        self.checkpoint = Some(Checkpoint { payloads: at..at + length, end });
        Ok(())
    }

    /// Where data up to `data_end` would come up to the checkpoint, it goes on ahead first.
    fn make_way(&mut self, data_end: u64) {
        let reached = data_end + SMALLEST_END_RESERVE;
        let Some(checkpoint) = &self.checkpoint else { return };
        if checkpoint.payloads.start >= reached {
            return;
        }
        let end = checkpoint.end.clone();
        let moved = self.place(end, data_end).and_then(|()| match &self.checkpoint {
            Some(checkpoint) if checkpoint.features() == self.header.features => {
                self.write(&checkpoint.table(), self.told_end())
            }
            _ => self.withdraw_features(),
        });
        match moved {
            Ok(()) => self.linked = self.checkpoint.as_ref().map(|it| it.payloads.clone()),
            Err(_) => self.remove_checkpoint(),
        }
    }

    /// The header leads to no features any more: what is held has its place.
    fn withdraw_features(&mut self) -> io::Result<()> {
        if !self.header.features.is_empty() {
            let header = FileHeader { features: Vec::new(), ..self.header.clone() };
            self.write(&header.encode(), 0)?;
            self.header = header;
        }
        self.write_held()
    }

    /// Writes what is held to its place.
    fn write_held(&mut self) -> io::Result<()> {
        let mut held = std::mem::take(&mut self.held);
        let written = self.write(&held, self.told_end());
        if written.is_ok() {
            held.clear();
        }
        self.held = held;
        written
    }

    /// Writes where there is space for it, maybe later, as the disk may be slow.
    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self.allocated {
            Some(_) => self.file.write_behind(bytes, at),
            None => self.file.write_all_at(bytes, at),
        }
    }

    /// Gives its space back, and keeps what is allocated for the end.
    fn remove_checkpoint(&mut self) {
        // What fails here fails when the file is completed, too.
        let _ = self.withdraw_features();
        (self.checkpoint, self.linked) = (None, None);
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
        let mut full = Errno::NOSPC.into();
        for until in [needed + ALLOCATION, needed, least] {
            match self.reserve(self.end, until - self.end) {
                Ok(()) => {
                    self.allocated = self.allocated.map(|_| until);
                    return Ok(());
                }
                Err(error) => full = error,
            }
        }
        Err(full)
    }

    /// Allocates this part of the file, on a file system that can. Fails only where there is no space.
    fn reserve(&mut self, at: u64, length: u64) -> io::Result<()> {
        if self.allocated.is_none() || length == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(self.file.file(), FallocateFlags::KEEP_SIZE, at, length) {
            Ok(()) => Ok(()),
            Err(error) if is_full(&error.into()) => Err(error.into()),
            Err(_) => {
                self.allocated = None;
                Ok(())
            }
        }
    }

    /// Writes the end and the final header. If there is no space for all of it, the largest parts
    /// are left out. Returns the file's size.
    pub fn finish(mut self, mut end: FileEnd) -> Result<(u64, LeftOut)> {
        if self.is_removed() {
            bail!(
                "{} was removed while it was recorded: nothing is left of it",
                self.path.display()
            );
        }
        self.file.flush().map_err(|error| self.failed(error))?;
        end.features.sort_by_key(|(feature, _)| *feature);
        self.end_what_is_held();
        // Far ahead first, so that at no moment the file is without an end.
        let is_placed = self.checkpoint(end.clone());
        self.acknowledge();
        if is_placed && let Some(size) = self.bring_near() {
            return Ok((size, LeftOut::Nothing));
        }
        self.withdraw_features().map_err(|error| self.failed(error))?;
        self.remove_checkpoint();
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

    /// What is held is too short for a table behind it. Where nothing follows, rounds may: they
    /// only say that nothing older comes.
    fn end_what_is_held(&mut self) {
        let mut rounds = Vec::new();
        while !self.held.is_empty() && self.end + (rounds.len() as u64) < self.table_end() {
            write::finished_round(&mut rounds);
        }
        // Without space they are not needed either.
        let _ = self.append(&rounds);
    }

    /// Moves the checkpoint, which is the end by now, from far ahead to right behind the data.
    /// Returns the file's size; `None` if that is not possible.
    fn bring_near(&mut self) -> Option<u64> {
        let checkpoint = self.checkpoint.as_ref()?;
        let is_linked = self.linked.as_ref() == Some(&checkpoint.payloads) && self.held.is_empty();
        let at = self.table_end();
        let bytes = payloads(&checkpoint.end);
        let size = at + bytes.len() as u64;
        if !is_linked || size > checkpoint.payloads.start {
            return None;
        }
        self.file.write_all_at(&bytes, at).ok()?;
        let table = write::feature_table(at, &checkpoint.end.features);
        self.file.write_all_at(&table, self.told_end()).ok()?;
        self.file.set_len(size).ok()?;
        Some(size)
    }

    fn failed(&self, error: io::Error) -> anyhow::Error {
        anyhow::Error::new(with_remedy(error))
            .context(format!("{} cannot be completed", self.path.display()))
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
    match output::there(path, Readers::Owner)?.filter(Metadata::is_file) {
        Some(empty) if empty.len() == 0 => {
            // It may be another's, or open to others. Where it has to stay, we see to that when we open it.
            let _ = fs::remove_file(path);
        }
        Some(_) => {
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            fs::rename(path, old).with_context(|| path.display().to_string())?;
        }
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
