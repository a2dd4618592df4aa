//! One stream of bytes → its records, those that are compressed in it included.
//!
//! A recording has one stream; one in a folder has one for each file of it. Compressed records are
//! chunks of one zstd stream per stream, whose content is records again. Those may straddle
//! chunks, and stand between records that are not compressed.

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType};

use super::compressed::{Compressed, chunk_of};
use super::unpack_ahead::{ChunksAhead, UnpackFailure};
use super::walker::{Damage, Entry, Sink, Walker};

/// Fewer bytes that nobody needs are read and dropped: a host that reads ahead has them already.
const MIN_JUMP: u64 = 256 << 10;
/// As for a record: what simpleperf splits is no larger.
const MAX_SPLIT: usize = 256 << 20;

/// What takes the records of a stream.
pub(super) trait StreamSink: Sink {
    /// A round ended whose place among the records is not known.
    fn round_passed_over(&mut self);

    /// Packed records could not be unpacked.
    fn unpacking_failed(&mut self, offset: u64, failure: &UnpackFailure);
}

/// The records of one file.
pub(super) struct Stream {
    walker: Walker,
    reassembly: Reassembly,
    /// Offset after the last byte; `u64::MAX` if that is not known.
    end: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Ended,
}

/// What came in pieces, in records of the stream.
struct Reassembly {
    order: ByteOrder,
    compressed: Option<Box<Compressed>>,
    /// A record that simpleperf has split.
    split: Vec<u8>,
}

impl Stream {
    /// The bytes from `offset` to before `end`.
    pub(super) fn new(order: ByteOrder, offset: u64, end: u64) -> Self {
        let reassembly = Reassembly { order, compressed: None, split: Vec::new() };
        Self { walker: Walker::new(order, offset), reassembly, end, state: State::Reading }
    }

    /// Offset of the next byte and how many are wanted from there; `None` if no more are.
    pub(super) fn wants(&self) -> Option<(u64, u64)> {
        let next = self.walker.next();
        let reads = self.state == State::Reading && !self.walker.is_broken() && next < self.end;
        reads.then(|| (next, self.end - next))
    }

    /// True if some of it was compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.reassembly.compressed.is_some()
    }

    /// Takes the next bytes, with what came out of the compressed records among them if they were unpacked
    /// before; then so were all. What lies behind the end is ignored.
    pub(super) fn push(
        &mut self,
        block: &[u8],
        ahead: Option<ChunksAhead<'_>>,
        sink: &mut impl StreamSink,
    ) {
        let Some((_, wanted)) = self.wants() else { return };
        let length = usize::try_from(wanted).unwrap_or(usize::MAX).min(block.len());
        let Self { walker, reassembly, .. } = self;
        let mut sink = FileRecordSink { reassembly, ahead, sink };
        walker.push(&block[..length], &mut sink);
        let FileRecordSink { reassembly, ahead, .. } = sink;
        if let Some(mut chunks) = ahead
            && let Some(chunk) = chunks.next()
            && let Some(compressed) = &mut reassembly.compressed
        {
            compressed.hold_back(chunk.bytes);
        }
    }

    /// Passes over bytes that nobody needs, where they are many: the next one that is wanted does
    /// not follow on those that were pushed. Returns how many.
    pub(super) fn jump(&mut self) -> u64 {
        let skips = self.walker.skips();
        if skips < MIN_JUMP {
            return 0;
        }
        let skips = skips.min(self.end.saturating_sub(self.walker.next()));
        self.walker.jump(skips);
        skips
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, sink: &mut impl StreamSink) {
        if self.state == State::Ended {
            return;
        }
        self.state = State::Ended;
        if let Some(compressed) = &mut self.reassembly.compressed {
            compressed.finish(self.walker.next(), sink);
        }
        let missing = match self.end {
            u64::MAX => 0,
            end => end.saturating_sub(self.walker.next()),
        };
        self.walker.finish(missing, sink);
    }
}

/// Takes the records of a stream as they stand in the file.
struct FileRecordSink<'a, S> {
    reassembly: &'a mut Reassembly,
    ahead: Option<ChunksAhead<'a>>,
    sink: &'a mut S,
}

impl<S: StreamSink> Sink for FileRecordSink<'_, S> {
    fn record(&mut self, entry: Entry<'_>) {
        if entry.header.record_type == RecordType::FINISHED_ROUND
            && let Some(compressed) = &mut self.reassembly.compressed
        {
            compressed.finish_round(entry, self.sink);
            return;
        }
        self.sink.record(entry);
        match entry.header.record_type {
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => self.compressed(entry),
            RecordType::SIMPLEPERF_SPLIT if self.reassembly.split.len() <= MAX_SPLIT => {
                self.reassembly.split.extend_from_slice(&entry.bytes[RECORD_HEADER_SIZE..]);
            }
            RecordType::SIMPLEPERF_SPLIT_END => self.reassembly.join(entry.offset, self.sink),
            _ => {}
        }
    }

    fn damage(&mut self, offset: u64, damage: Damage<'_>) {
        self.sink.damage(offset, damage);
    }
}

impl<S: StreamSink> FileRecordSink<'_, S> {
    /// Reads on in what is in a compressed record.
    fn compressed(&mut self, entry: Entry<'_>) {
        let Self { reassembly, ahead, sink } = self;
        let Some(chunk) = chunk_of(entry, reassembly.order) else { return };
        let compressed = &mut reassembly.compressed;
        let compressed = compressed.get_or_insert_with(|| Compressed::new(reassembly.order));
        match ahead {
            None => compressed.unpack(entry.offset, chunk, *sink),
            Some(chunks) => {
                if let Some(chunk) = chunks.next() {
                    compressed.take(entry.offset, chunk, *sink);
                }
            }
        }
    }
}

impl Reassembly {
    /// The record that simpleperf has split is complete.
    fn join(&mut self, offset: u64, sink: &mut impl StreamSink) {
        let record = std::mem::take(&mut self.split);
        if let Some((header, bytes, _)) = RecordHeader::split(&record, self.order) {
            sink.record(Entry { offset, header, bytes });
        }
    }
}
