//! `-z`: records packed by zstd, on a thread of its own, so that rings are emptied meanwhile.
//!
//! As perf does it (`zstd_compress_stream_to_records` in `tools/perf/util/zstd.c`): one frame that never ends, flushed
//! at the end of each COMPRESSED record. Of such a record perf reads on at once, and refuses one that gives nothing,
//! so none ends within a block. Hence what goes into one is so short that it fits however badly it packs.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::{MAX_RECORD_SIZE, RECORD_HEADER_SIZE, RecordType};
use perftab_perfdata::format::write;
use rustix::event::EventfdFlags;
use zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_flush;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, Strategy};

/// Bytes of records that are packed into one. perf wants to know (`mmap_len` of its feature).
pub const UNPACKED_MAX: usize = 60 << 10;
/// So much may wait to be packed before whoever brings more waits too.
const WAITING_MAX: usize = 64 << 20;

/// How hard it tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackingLevel {
    /// As it suits records: the small tables of level 1, which stay in the cache beside what is recorded, but two of them,
    /// for long and for short matches. Of 19 MB of samples it leaves 15.9 % for 3.8 ms of processor time a megabyte, in
    /// rounds between which others use the cache. Level 1 leaves 16.5 % for 3.6, level 3 15.1 % for 7. A window of 128 KiB
    /// with smaller tables would save a tenth of the time for 1.5 % of the size; longer pieces save nothing.
    Usual,
    /// From 1 to 22, as zstd has it.
    Of(i32),
}

impl PackingLevel {
    /// zstd's level.
    fn number(self) -> i32 {
        match self {
            Self::Usual => 1,
            Self::Of(level) => level,
        }
    }

    fn parameters(self) -> Vec<CParameter> {
        let level = CParameter::CompressionLevel(self.number());
        match self {
            Self::Usual => vec![level, CParameter::Strategy(Strategy::ZSTD_dfast)],
            Self::Of(_) => vec![level],
        }
    }

    /// The payload of the feature COMPRESSED; the ratio says how many times smaller records become.
    pub fn feature(self, ratio: u32) -> Vec<u8> {
        let mut payload = Vec::new();
        write::compressed_feature(
            &mut payload,
            self.number().cast_unsigned(),
            ratio,
            UNPACKED_MAX as u32,
        );
        payload
    }
}

/// What comes back of what was brought.
pub enum Packed {
    /// A COMPRESSED record.
    Record {
        /// All of it.
        bytes: Vec<u8>,
        /// What is in it.
        content: Content,
    },
    /// Everything that was brought at one time has come back; the memory that it was in.
    Batch(Vec<u8>),
    /// It cannot be packed.
    Failed(io::Error),
}

/// What a COMPRESSED record has in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content {
    /// Bytes.
    pub bytes: u64,
    /// Samples that begin in it.
    pub samples: u64,
}

/// Takes records, and gives them back packed, in their order.
pub struct Packer {
    /// `None` once no more comes.
    to: Option<Sender<Vec<u8>>>,
    from: Receiver<Packed>,
    ready: OwnedFd,
    /// Bytes that have not come back.
    waiting: usize,
    /// Bytes that came back, and as what.
    sizes: (u64, u64),
    level: PackingLevel,
}

impl Packer {
    /// Starts the thread. It ends when this is dropped.
    pub fn start(level: PackingLevel) -> io::Result<Self> {
        let (to, batches) = channel::<Vec<u8>>();
        let (packed, from) = channel();
        let ready = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let wake = ready.try_clone()?;
        let mut stream = Stream::new(level)?;
        thread::Builder::new().name("pack".to_owned()).spawn(move || {
            for batch in batches {
                let end = match stream.pack(&batch, &packed) {
                    Ok(()) => Packed::Batch(batch),
                    Err(error) => Packed::Failed(error),
                };
                // Nobody waits for it any more.
                if packed.send(end).is_err() {
                    return;
                }
                let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes());
            }
        })?;
        Ok(Self { to: Some(to), from, ready, waiting: 0, sizes: (0, 0), level })
    }

    /// Readable once something has come back.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// Brings whole records.
    pub fn push(&mut self, records: Vec<u8>) {
        self.waiting += records.len();
        if let Some(to) = &self.to {
            // A thread that died is found out by whoever waits for it.
            let _ = to.send(records);
        }
    }

    /// What has come back; waits for it where too much is on its way.
    pub fn next(&mut self) -> Option<Packed> {
        let mut wakes = [0; 8];
        let _ = rustix::io::read(&self.ready, &mut wakes);
        match self.waiting > WAITING_MAX {
            true => self.next_to_come(),
            false => self.from.try_recv().ok().map(|packed| self.took(packed)),
        }
    }

    /// What comes back next; `None` once everything has.
    pub fn next_to_come(&mut self) -> Option<Packed> {
        if self.waiting == 0 {
            return self.from.try_recv().ok().map(|packed| self.took(packed));
        }
        let died = || Packed::Failed(io::Error::other("the thread that packs has ended"));
        let packed = self.from.recv().unwrap_or_else(|_| died());
        Some(self.took(packed))
    }

    fn took(&mut self, packed: Packed) -> Packed {
        match &packed {
            Packed::Record { bytes, content } => {
                self.waiting = self.waiting.saturating_sub(content.bytes as usize);
                self.sizes = (self.sizes.0 + content.bytes, self.sizes.1 + bytes.len() as u64);
            }
            Packed::Batch(_) => {}
            Packed::Failed(_) => self.waiting = 0,
        }
        packed
    }

    /// Samples that have not come back yet. What else is on its way is given up.
    pub fn give_up(mut self) -> u64 {
        self.to = None;
        let mut samples = 0;
        while let Some(packed) = self.next_to_come() {
            if let Packed::Record { content, .. } = packed {
                samples += content.samples;
            }
        }
        samples
    }

    /// The payload of the feature COMPRESSED.
    pub fn feature(&self) -> Vec<u8> {
        let (unpacked, packed) = self.sizes;
        let ratio = (unpacked + packed / 2).checked_div(packed).unwrap_or(1);
        self.level.feature(u32::try_from(ratio).unwrap_or(u32::MAX))
    }
}

/// The frame.
struct Stream {
    context: CCtx<'static>,
    out: Vec<u8>,
}

impl Stream {
    fn new(level: PackingLevel) -> io::Result<Self> {
        let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        for parameter in level.parameters() {
            context.set_parameter(parameter).map_err(failed)?;
        }
        Ok(Self { context, out: vec![0; MAX_RECORD_SIZE - RECORD_HEADER_SIZE] })
    }

    fn pack(&mut self, records: &[u8], to: &Sender<Packed>) -> io::Result<()> {
        for (piece, samples) in pieces(records) {
            for (index, part) in piece.chunks(UNPACKED_MAX).enumerate() {
                let samples = if index == 0 { samples } else { 0 };
                let mut bytes = Vec::new();
                write::compressed(&mut bytes, self.flush(part)?);
                let content = Content { bytes: part.len() as u64, samples };
                if to.send(Packed::Record { bytes, content }).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self, part: &[u8]) -> io::Result<&[u8]> {
        let mut input = InBuffer::around(part);
        let mut output = OutBuffer::around(&mut self.out[..]);
        let left = self.context.compress_stream2(&mut output, &mut input, ZSTD_e_flush);
        let (length, left) = (output.pos(), left.map_err(failed)?);
        if left > 0 || input.pos < part.len() {
            return Err(io::Error::other("packed records do not fit into one"));
        }
        Ok(&self.out[..length])
    }
}

fn failed(code: usize) -> io::Error {
    io::Error::other(format!("zstd: {}", zstd_safe::get_error_name(code)))
}

/// As many whole records as fit into one, or one that is longer; and the samples among them.
fn pieces(mut records: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    std::iter::from_fn(move || {
        let (mut length, mut samples) = (0, 0);
        while let Some((header, record, _)) =
            RecordHeader::split(&records[length..], ByteOrder::NATIVE)
            && (length == 0 || length + record.len() <= UNPACKED_MAX)
        {
            length += record.len();
            samples += u64::from(header.record_type == RecordType::SAMPLE);
        }
        let (piece, rest) = records.split_at(length);
        records = rest;
        (length > 0).then_some((piece, samples))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that no packing makes shorter.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut words = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_ne_bytes()
        };
        (0..length.div_ceil(8)).flat_map(|_| words()).take(length).collect()
    }

    fn record(kind: RecordType, payload: &[u8]) -> Vec<u8> {
        let size = (RECORD_HEADER_SIZE + payload.len()) as u16;
        [&kind.0.to_ne_bytes()[..], &[0; 2], &size.to_ne_bytes(), payload].concat()
    }

    /// perf refuses a COMPRESSED record that gives nothing, and one that gives more than it was told.
    #[test]
    fn each_record_gives_what_it_holds_by_itself() {
        let largest = record(RecordType::SAMPLE, &noise(MAX_RECORD_SIZE - 8 - 7));
        let small = record(RecordType::COMM, b"12345678").repeat(9000);
        let batches = [[&small[..], &largest, &small].concat(), largest.repeat(3), small];
        let mut packer = Packer::start(PackingLevel::Usual).unwrap();
        batches.iter().for_each(|batch| packer.push(batch.clone()));
        let (mut unpacked, mut samples) = (Vec::new(), 0);
        let mut stream = perftab_perfdata::decode::compressed::ZstdStream::default();
        let mut reader = zstd_safe::DCtx::create();
        while let Some(packed) = packer.next_to_come() {
            let Packed::Record { bytes, content } = packed else { continue };
            let (header, whole, rest) = RecordHeader::split(&bytes, ByteOrder::NATIVE).unwrap();
            assert_eq!((header.record_type, rest), (RecordType::COMPRESSED, &[][..]));
            let payload = &whole[RECORD_HEADER_SIZE..];
            let mut out = vec![0; UNPACKED_MAX];
            let mut output = OutBuffer::around(&mut out[..]);
            // As perf 6.1 does it: once.
            reader.decompress_stream(&mut output, &mut InBuffer::around(payload)).unwrap();
            assert_eq!(output.pos() as u64, content.bytes);
            stream.push(payload, &mut unpacked).unwrap();
            samples += content.samples;
        }
        stream.finish(&mut unpacked);
        assert_eq!(samples, 4);
        assert!(unpacked == batches.concat());
    }
}
