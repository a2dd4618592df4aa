//! A file of a recording, or the stream that it is: what goes into it, and what is noted of that on the way.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::RecordType;

use super::gaps::Gaps;
use super::identify::Identified;
use super::live::{self, RecordsReader};
use super::packer::{Packed, Packer, PackingLevel};
use super::recording_file::{FileEnd, LeftOut, RecordingFile};
use super::recording_stream::RecordingStream;
use super::tally::Tally;
use crate::result_file::is_full;

/// Written in pieces of about this size once one did not fit on the disk any more: what still fits is better than nothing
/// of a second's samples.
const LAST_WRITES: usize = 16 << 10;

/// Where a recording goes.
pub enum Destination {
    /// It is complete at any moment.
    File(Box<RecordingFile>),
    /// Whoever reads it does so at once.
    Stream(RecordingStream),
    /// Whoever reads it is another thread of ours.
    Reader(RecordsReader),
    /// Nowhere yet: what samples will need, should they be written.
    Memory(Memory),
}

/// Records that nobody has written.
#[derive(Default)]
pub struct Memory {
    /// What ran when it began.
    pub described: Vec<u8>,
    /// What came since.
    pub records: Vec<u8>,
}

impl Destination {
    /// Appends whole records. So many bytes of them are there afterwards, also if that fails.
    fn append(&mut self, records: &[u8]) -> (usize, io::Result<()>) {
        let appended = match self {
            Self::File(file) => file.append(records),
            Self::Stream(stream) => return stream.append(records),
            Self::Reader(reader) => reader.append(records),
            Self::Memory(memory) => {
                memory.records.extend_from_slice(records);
                Ok(())
            }
        };
        (if appended.is_ok() { records.len() } else { 0 }, appended)
    }

    /// Bytes of records so far.
    pub fn data_size(&self) -> u64 {
        match self {
            Self::File(file) => file.data_size(),
            Self::Stream(stream) => stream.data_size(),
            Self::Reader(reader) => reader.data_size(),
            Self::Memory(memory) => memory.records.len() as u64,
        }
    }

    /// Whether perftab's own section has a place there.
    pub fn has_section(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Records are read from the rings at least this often.
    pub fn patience(&self) -> Duration {
        match self {
            Self::Reader(_) => live::PATIENCE,
            Self::File(_) | Self::Stream(_) | Self::Memory(_) => Duration::MAX,
        }
    }

    /// Waits so long at most until it takes what rings hold without delay. False if it does not, as the disk is slow.
    pub fn has_room(&mut self, within: Duration) -> bool {
        match self {
            Self::File(file) => file.has_room(within),
            Self::Stream(_) | Self::Reader(_) | Self::Memory(_) => true,
        }
    }

    /// [`RecordingFile::acknowledge`].
    pub fn acknowledge(&mut self) {
        if let Self::File(file) = self {
            file.acknowledge();
        }
    }

    /// [`RecordingFile::checkpoint`].
    pub fn checkpoint(&mut self, end: FileEnd) -> bool {
        match self {
            Self::File(file) => file.checkpoint(end),
            Self::Stream(_) | Self::Reader(_) | Self::Memory(_) => false,
        }
    }

    /// Writes the end. Returns how many bytes there are.
    pub fn finish(self, end: FileEnd) -> Result<(u64, LeftOut)> {
        match self {
            Self::File(file) => file.finish(end),
            Self::Stream(stream) => stream.finish(end),
            Self::Reader(_) | Self::Memory(_) => Ok((0, LeftOut::Nothing)),
        }
    }
}

/// Records written since the last checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsSince {
    /// It knows all.
    None,
    /// It does not know these.
    Some,
}

/// What is recorded from one moment to another.
pub struct Part {
    /// Where it goes.
    pub to: Destination,
    /// What is in it.
    pub tally: Tally,
    /// What of mappings and threads is not.
    pub gaps: Gaps,
    /// When the last checkpoint was due, and how long it took.
    pub checkpointed: Option<(Instant, Duration)>,
    /// Whether there are records that the last checkpoint does not know.
    pub records: RecordsSince,
    /// What files are, as the last checkpoint has it.
    pub identified: Identified,
    /// A write failed: what comes is dropped, and the recording ends.
    pub failure: Option<io::Error>,
    /// Bytes of records that it took.
    taken: u64,
    /// `None` if records are written as they are.
    packer: Option<Packer>,
    /// What the feature COMPRESSED says, once records are packed no more.
    packing: Vec<u8>,
}

impl Part {
    /// With nothing in it.
    pub fn begin(to: Destination, tally: Tally, packing: Option<PackingLevel>) -> Result<Self> {
        let packer = packing.map(Packer::start).transpose();
        Ok(Self {
            to,
            tally,
            gaps: Gaps::default(),
            checkpointed: None,
            records: RecordsSince::None,
            identified: Identified::default(),
            failure: None,
            taken: 0,
            packer: packer.context("records cannot be packed")?,
            packing: Vec::new(),
        })
    }

    /// Bytes of records that it took, packed or not.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether records come back from a thread that packs.
    pub fn is_packed(&self) -> bool {
        self.packer.is_some()
    }

    /// Readable once packed records can be written.
    pub fn packed(&self) -> Option<BorrowedFd<'_>> {
        self.packer.as_ref().map(Packer::as_fd)
    }

    /// The payload of the feature COMPRESSED; empty if nothing was packed.
    pub fn compression(&self) -> Vec<u8> {
        self.packer.as_ref().map_or_else(|| self.packing.clone(), Packer::feature)
    }

    /// Takes records of what ran before.
    pub fn describe(&mut self, records: &mut Vec<u8>) {
        match &mut self.to {
            Destination::Memory(memory) => {
                self.tally.walk(records);
                memory.described.append(records);
            }
            Destination::File(_) | Destination::Stream(_) | Destination::Reader(_) => {
                self.take(records);
            }
        }
    }

    /// Takes note of whole records and writes them, or has them packed; leaves the memory for others.
    /// Only what is in the file counts.
    pub fn take(&mut self, buffer: &mut Vec<u8>) {
        let mut records = std::mem::take(buffer);
        self.taken += records.len() as u64;
        if self.failure.is_none() && !records.is_empty() {
            if let Some(packer) = &mut self.packer {
                self.tally.walk(&records);
                packer.push(records);
                return self.write_packed(Packer::next, buffer);
            }
            let mut written = self.write(&records);
            // What has gone into a stream stays there, in the middle of a record.
            let is_undone = !matches!(self.to, Destination::Stream(_));
            if is_undone && written.as_ref().is_err_and(is_full) {
                let (sideband, samples) = part_samples(&records);
                let mut pieces =
                    pieces(&sideband, LAST_WRITES).chain(pieces(&samples, LAST_WRITES));
                written = pieces.try_for_each(|piece| self.write(piece));
            }
            self.failure = written.err();
        }
        records.clear();
        *buffer = records;
    }

    /// Writes whole records, or, but into a stream, nothing of them.
    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        let (count, written) = self.to.append(records);
        self.tally.walk(&records[..count]);
        written
    }

    /// Writes what has come back packed.
    pub fn write_what_is_packed(&mut self, buffer: &mut Vec<u8>) {
        self.write_packed(Packer::next, buffer);
    }

    /// Waits until all has come back packed, and writes it.
    pub fn write_all_packed(&mut self) {
        self.write_packed(Packer::next_to_come, &mut Vec::new());
    }

    fn write_packed(&mut self, next: impl Fn(&mut Packer) -> Option<Packed>, buffer: &mut Vec<u8>) {
        let mut missing = 0;
        let failure = loop {
            match self.packer.as_mut().and_then(&next) {
                None => return,
                Some(Packed::Record { bytes, content }) => {
                    if let (_, Err(error)) = self.to.append(&bytes) {
                        missing = content.samples;
                        break error;
                    }
                }
                Some(Packed::Batch(mut memory)) => {
                    // Before the features say how, nobody can unpack it.
                    if self.checkpointed.is_some() {
                        self.to.acknowledge();
                    }
                    if buffer.capacity() == 0 {
                        memory.clear();
                        *buffer = memory;
                    }
                }
                Some(Packed::Failed(error)) => break error,
            }
        };
        // What is packed refers to what was packed before: nothing after a gap can be read.
        if let Some(packer) = self.packer.take() {
            self.packing = packer.feature();
            missing += packer.give_up();
        }
        self.tally.samples = self.tally.samples.saturating_sub(missing);
        self.failure = Some(failure);
    }
}

/// What samples need to be understood, and the samples. Within a round the order in the file does
/// not matter: readers sort it by time.
fn part_samples(mut records: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut sideband, mut samples) = (Vec::new(), Vec::new());
    while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
        let is_sample = header.record_type == RecordType::SAMPLE;
        if is_sample { &mut samples } else { &mut sideband }.extend_from_slice(record);
        records = rest;
    }
    (sideband, samples)
}

/// Whole records in pieces of about this size.
pub fn pieces(mut records: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let mut left = records;
        while records.len() - left.len() < size
            && let Some((_, _, rest)) = RecordHeader::split(left, ByteOrder::NATIVE)
        {
            left = rest;
        }
        let piece = &records[..records.len() - left.len()];
        records = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use perftab_perfdata::format::build_id::BuildId;
    use perftab_perfdata::format::feature::Feature;
    use perftab_perfdata::format::write::{CpuMode, build_id_entry};
    use rustix::pipe::PipeFlags;

    use super::*;

    /// A pipe that nobody reads, and that must not wait, takes a part, as a disk does that becomes full.
    #[test]
    fn of_a_stream_that_ends_in_a_record_all_before_it_counts() {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::NONBLOCK).unwrap();
        let stream = RecordingStream::to(File::from(writer));
        let mut part = Part::begin(Destination::Stream(stream), Tally::default(), None).unwrap();
        let size: u16 = 56;
        let mut sample = vec![9, 0, 0, 0, 0, 0];
        sample.extend(size.to_ne_bytes());
        sample.resize(size.into(), 0);
        part.take(&mut sample.repeat(1 << 20 >> 5));
        assert_eq!(part.failure.take().map(|it| it.kind()), Some(io::ErrorKind::WouldBlock));
        let room = taken(&reader);
        assert_eq!(part.tally.samples, room / u64::from(size));
        // Behind half a record, nothing could be read.
        let mut table = Vec::new();
        let id = BuildId::new(&[1; 20]).unwrap();
        build_id_entry(&mut table, CpuMode::User, id, b"/bin/x");
        let end = FileEnd { features: vec![(Feature::BUILD_ID, table)], section: Vec::new() };
        assert_eq!(part.to.finish(end).unwrap(), (room, LeftOut::Something));
        assert_eq!(taken(&reader), 0);
    }

    fn taken(reader: &OwnedFd) -> u64 {
        let mut bytes = Vec::new();
        let _ = File::from(reader.try_clone().unwrap()).read_to_end(&mut bytes);
        bytes.len() as u64
    }
}
