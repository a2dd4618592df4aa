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

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
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
    file: WatchedFile,
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
        Ok(Self {
            file: WatchedFile::new(file),
            path: path.to_owned(),
            header,
            end,
            held: Vec::new(),
            kind,
            allocated,
            checkpoint: None,
            linked: None,
        })
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
        if let Err(error) = self.file.write_all_at(behind, self.end + over_table.len() as u64) {
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
            self.file.write_all_at(&table, self.told_end())?;
        } else {
            if self.end < self.table_end() {
                self.withdraw_features()?;
            }
            self.file.write_all_at(&table, self.end)?;
            let mut header = FileHeader { features, ..self.header.clone() };
            header.data.size = self.data_size();
            self.file.write_all_at(&header.encode(), 0)?;
            self.file.write_all_at(&self.held, self.told_end())?;
            self.held.clear();
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
        self.file.write_all_at(&bytes, at)?;
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
                self.file.write_all_at(&checkpoint.table(), self.told_end())
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
            self.file.write_all_at(&header.encode(), 0)?;
            self.header = header;
        }
        self.file.write_all_at(&self.held, self.told_end())?;
        self.held.clear();
        Ok(())
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
        for until in [needed + ALLOCATION, needed, least] {
            let length = until - self.end;
            match rustix::fs::fallocate(
                &self.file.file,
                FallocateFlags::KEEP_SIZE,
                self.end,
                length,
            ) {
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
        anyhow::Error::new(error).context(format!("{} cannot be completed", self.path.display()))
    }
}

/// The file. Tests look at it after every change.
struct WatchedFile {
    file: File,
    #[cfg(test)]
    after_change: Option<Box<dyn FnMut()>>,
}

impl WatchedFile {
    fn new(file: File) -> Self {
        Self {
            file,
            #[cfg(test)]
            after_change: None,
        }
    }

    fn write_all_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(bytes, at)?;
        self.changed();
        Ok(())
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.changed();
        Ok(())
    }

    #[cfg(test)]
    fn changed(&mut self) {
        if let Some(look) = &mut self.after_change {
            look();
        }
    }

    #[cfg(not(test))]
    fn changed(&self) {}
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
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::late_ids::ThisMachine;
    use crate::record::sys;
    use crate::recording::Recording;
    use perftab_core::format::attr::{event_type, sample_type};
    use perftab_core::format::build_id::BuildId;
    use perftab_core::format::header::DATA_SIZE_OFFSET;
    use perftab_core::format::perftab_section::{
        self, FileIdentity, InodeKey, PerftabSection, RecorderState,
    };
    use perftab_core::format::record::RecordType;
    use perftab_core::format::write::{
        CpuMode, EventDescription, MappedFile, Mmap2, SampleIdTrailer,
    };

    const BITS: u64 = sample_type::IP | sample_type::TID | sample_type::TIME;
    const SAMPLE_SIZE: usize = 32;
    /// A name that nothing but EVENT_DESC has.
    const EVENT: &str = "grains";

    fn temporary(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perftab-unit-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    fn data_size_in(bytes: &[u8]) -> u64 {
        let at = DATA_SIZE_OFFSET as usize;
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    fn attr() -> [u8; sys::ATTR_SIZE] {
        let mut attr = sys::empty_attr();
        attr.type_ = event_type::SOFTWARE;
        attr.sample_period = 1_000_000;
        attr.sample_type = BITS;
        attr.set_sample_id_all(1);
        sys::attr_bytes(&attr)
    }

    /// Samples with these numbers, by turns in each of the two files.
    fn samples(numbers: Range<u64>) -> Vec<u8> {
        let sample = |number: u64| {
            let address = if number.is_multiple_of(2) { 0x40_0100 } else { 0x50_0100 };
            let words = [address, 7 << 32 | 7, 1000 + number];
            let mut record = RecordType::SAMPLE.0.to_ne_bytes().to_vec();
            record.extend_from_slice(&2u16.to_ne_bytes());
            record.extend_from_slice(&(SAMPLE_SIZE as u16).to_ne_bytes());
            record.extend(words.into_iter().flat_map(u64::to_ne_bytes));
            record
        };
        numbers.flat_map(sample).collect()
    }

    /// Two files are mapped without an id: that of one is in the table, of the other in the section.
    fn mappings() -> Vec<u8> {
        let mut out = Vec::new();
        for (inode, address, name) in
            [(11, 0x40_0000, &b"/bin/listed"[..]), (12, 0x50_0000, b"/bin/hashed")]
        {
            let file = MappedFile::Inode { major: 8, minor: 1, inode };
            let map = Mmap2 {
                pid: 7,
                cpu_mode: CpuMode::User,
                address,
                length: 0x1000,
                page_offset: 0,
                file,
                protection: 5,
                flags: 2,
                name,
            };
            write::mmap2(&mut out, &map, SampleIdTrailer::of_sample_type(BITS).at(1));
        }
        out
    }

    /// Payloads of this size and a little more, which differ with each `number`.
    fn file_end(recorder: RecorderState, number: u8, size: usize) -> FileEnd {
        let feature = |feature, encode: &dyn Fn(&mut Vec<u8>)| {
            let mut payload = Vec::new();
            encode(&mut payload);
            (feature, payload)
        };
        let attr = attr();
        let described = [EventDescription { attr: &attr, name: EVENT, ids: &[1, 2] }];
        let id = BuildId::new(&[0xab; 20]).unwrap();
        let features = vec![
            feature(Feature::EVENT_DESC, &|out| write::event_desc(out, &described)),
            feature(Feature::HOSTNAME, &|out| write::string(out, b"mill")),
            feature(Feature::BUILD_ID, &|out| {
                write::build_id_entry(out, CpuMode::User, id, b"/bin/listed");
            }),
            feature(Feature::CPUDESC, &|out| write::string(out, &vec![b'a' + number % 26; size])),
        ];
        let inode = InodeKey { major: 8, minor: 1, inode: 12, generation: 0 };
        let identity = FileIdentity::Content([number; 16]);
        let files = vec![perftab_section::MappedFile { inode, identity }];
        let section = PerftabSection { files, recorder, ..PerftabSection::default() };
        FileEnd { features, section: perftab_section::encode(&section) }
    }

    /// How many samples a recorder that is killed now leaves; everything that has a name must have
    /// it.
    fn samples_of_the_whole(path: &Path) -> u64 {
        let session = Recording::open(path).unwrap().read(ThisMachine::LeftAlone).unwrap();
        let info = session.info();
        let names: Vec<&str> = info.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, [EVENT], "{:?}", info.warnings);
        assert_eq!(info.host.hostname.as_deref(), Some("mill"));
        for name in ["listed", "hashed"] {
            let dso = info.dsos.iter().find(|dso| dso.name == name).expect("it is mapped");
            assert!(dso.build_id.is_some(), "{name}: {:?}", info.warnings);
        }
        info.samples
    }

    /// Rounds of every size, checkpoints that grow and shrink, and data that overtakes them: at any
    /// write the recorder may be killed.
    #[test]
    fn a_recorder_killed_at_any_write_leaves_the_features_and_what_it_acknowledged() {
        let path = temporary("killed");
        let event = EventHead { attr: &attr(), ids: &[1, 2] };
        let mut file = RecordingFile::create(&path, &[event]).unwrap();
        let acknowledged = Rc::new(Cell::new(0));
        let (mut written, mut number) = (0, 0);
        let mut round = |file: &mut RecordingFile, count: u64| {
            file.append(&samples(written..written + count)).unwrap();
            let mut end = Vec::new();
            write::finished_round(&mut end);
            file.append(&end).unwrap();
            written += count;
            written
        };
        let mut end = |recorder, size: usize| {
            number += 1;
            file_end(recorder, number, size)
        };
        // Its first second has no features.
        file.append(&mappings()).unwrap();
        round(&mut file, 1);
        file.checkpoint(end(RecorderState::AtWork, 10));
        file.acknowledge();
        let looks = Rc::new(Cell::new(0));
        file.file.after_change = Some(Box::new({
            let (path, acknowledged, looks) = (path.clone(), acknowledged.clone(), looks.clone());
            move || {
                let samples = samples_of_the_whole(&path);
                assert!(samples >= acknowledged.get(), "{samples} of {}", acknowledged.get());
                looks.set(looks.get() + 1);
            }
        }));
        for (count, checkpoint) in [
            (100, None),
            (0, None),
            (1, Some(10)),
            (1, None),
            (30, Some(3000)),
            (0, Some(20)),
            (300, None),
            (1, Some(90_000)),
            (1, Some(10)),
            (2500, None),
            (3, None),
            (700, Some(500)),
            (3000, Some(10)),
            (1, None),
        ] {
            let written = round(&mut file, count);
            if let Some(size) = checkpoint {
                file.checkpoint(end(RecorderState::AtWork, size));
            }
            file.acknowledge();
            // Less than a table is held.
            let told = samples_of_the_whole(&path);
            assert!(told <= written && written - told <= 2, "{told} of {written}");
            acknowledged.set(told);
        }
        let written = round(&mut file, 1);
        assert!(!file.held.is_empty(), "the end has to deal with it");
        let (size, left_out) = file.finish(end(RecorderState::Ended, 40_000)).unwrap();
        assert_eq!(left_out, LeftOut::Nothing);
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        assert_eq!(samples_of_the_whole(&path), written);
        let session = Recording::open(&path).unwrap().read(ThisMachine::LeftAlone).unwrap();
        let warnings = session.info().warnings;
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(looks.get() > 60, "only {} writes", looks.get());
    }

    /// Its space is not that of every second together.
    #[test]
    fn checkpoints_of_an_idle_recording_take_turns() {
        let path = temporary("idle");
        let event = EventHead { attr: &attr(), ids: &[1, 2] };
        let mut file = RecordingFile::create(&path, &[event]).unwrap();
        file.append(&samples(0..50)).unwrap();
        let mut largest = 0;
        for number in 0..20 {
            file.checkpoint(file_end(RecorderState::AtWork, number, 100_000));
            file.acknowledge();
            largest = largest.max(fs::metadata(&path).unwrap().len());
        }
        assert!(largest < 2 * (CHECKPOINT_AHEAD + 150_000) + 100_000, "{largest}");
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
