//! One stream of bytes → its records, those that are compressed in it included.
//!
//! A recording has one stream; one in a folder has one for each file of it. Compressed records are
//! chunks of one zstd stream per stream, whose content is records again. Those may straddle
//! chunks, and stand between records that are not compressed.
//!
//! The decoder holds bytes back, so what is in a chunk comes out when later ones are read. All
//! that compressed records have in common with the others is the rounds: a round that ends between
//! two chunks ends when what is in the first of them has come out.

use std::collections::VecDeque;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::compressed::ZstdStream;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::decode::wrapper::UnpackError;
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType};

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
    fn unpacking_failed(&mut self, offset: u64, error: &UnpackError);
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

struct Compressed {
    zstd: ZstdStream,
    walker: Walker,
    unpacked: Vec<u8>,
    /// Bytes that have come out.
    out: u64,
    /// Rounds that end when more have.
    rounds: VecDeque<Round>,
    state: State,
}

/// One round or several that end at one place in what comes out.
struct Round {
    end: u64,
    header: RecordHeader,
    times: u64,
}

impl Round {
    fn finish(&self, offset: u64, sink: &mut impl StreamSink) {
        (0..self.times)
            .for_each(|_| sink.record(Entry { offset, header: self.header, bytes: &[] }));
    }
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

    /// Takes the next bytes; what lies behind its end is ignored.
    pub(super) fn push(&mut self, block: &[u8], sink: &mut impl StreamSink) {
        let Some((_, wanted)) = self.wants() else { return };
        let length = usize::try_from(wanted).unwrap_or(usize::MAX).min(block.len());
        self.walker
            .push(&block[..length], &mut FileRecordSink { reassembly: &mut self.reassembly, sink });
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
        let body = &entry.bytes[RECORD_HEADER_SIZE..];
        match entry.header.record_type {
            RecordType::COMPRESSED => self.reassembly.unpack(entry.offset, body, self.sink),
            RecordType::COMPRESSED2 => {
                // `u64 size`, then that many bytes and padding.
                let Some((size, chunk)) = body.split_first_chunk() else { return };
                let size = usize::try_from(self.reassembly.order.u64(*size)).unwrap_or(usize::MAX);
                let chunk = &chunk[..size.min(chunk.len())];
                self.reassembly.unpack(entry.offset, chunk, self.sink);
            }
            RecordType::SIMPLEPERF_SPLIT if self.reassembly.split.len() <= MAX_SPLIT => {
                self.reassembly.split.extend_from_slice(body);
            }
            RecordType::SIMPLEPERF_SPLIT_END => self.reassembly.join(entry.offset, self.sink),
            _ => {}
        }
    }

    fn damage(&mut self, offset: u64, damage: Damage<'_>) {
        self.sink.damage(offset, damage);
    }
}

impl Reassembly {
    /// Unpacks a chunk, which stands in the record at `offset`, and reads on in what it gives.
    fn unpack(&mut self, offset: u64, chunk: &[u8], sink: &mut impl StreamSink) {
        let order = self.order;
        let new = || Box::new(Compressed::new(order));
        self.compressed.get_or_insert_with(new).unpack(offset, chunk, sink);
    }

    /// The record that simpleperf has split is complete.
    fn join(&mut self, offset: u64, sink: &mut impl StreamSink) {
        let record = std::mem::take(&mut self.split);
        if let Some((header, bytes, _)) = RecordHeader::split(&record, self.order) {
            sink.record(Entry { offset, header, bytes });
        }
    }
}

impl Compressed {
    fn new(order: ByteOrder) -> Self {
        Self {
            zstd: ZstdStream::default(),
            walker: Walker::new(order, 0),
            unpacked: Vec::new(),
            out: 0,
            rounds: VecDeque::new(),
            state: State::Reading,
        }
    }

    fn unpack(&mut self, offset: u64, chunk: &[u8], sink: &mut impl StreamSink) {
        if self.state == State::Ended {
            return;
        }
        self.unpacked.clear();
        let done = self.zstd.push(chunk, &mut self.unpacked);
        self.walk(offset, sink);
        if let Err(error) = done {
            sink.unpacking_failed(offset, &error);
            self.state = State::Ended;
        }
    }

    /// A round ended after the chunks that were unpacked.
    fn finish_round(&mut self, entry: Entry<'_>, sink: &mut impl StreamSink) {
        let end = match self.state {
            State::Reading => self.zstd.decoded(),
            State::Ended => Some(self.out),
        };
        let Some(end) = end else {
            // Where it ends cannot be told until a window has come out. A round that ended too late
            // would let records go on that older ones follow; one that never ends holds some more
            // of them back.
            sink.round_passed_over();
            return;
        };
        if end <= self.out {
            sink.record(entry);
            return;
        }
        match self.rounds.back_mut() {
            Some(last) if last.end == end => last.times += 1,
            _ => self.rounds.push_back(Round { end, header: entry.header, times: 1 }),
        }
    }

    /// Reads what has come out, and ends rounds where they end in it.
    fn walk(&mut self, offset: u64, sink: &mut impl StreamSink) {
        let Self { walker, unpacked, out, rounds, .. } = self;
        let mut rest = &unpacked[..];
        loop {
            let next = rounds.front().map_or(u64::MAX, |round| round.end);
            let length = usize::try_from(next.saturating_sub(*out)).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at(length.min(rest.len()));
            walker.push(piece, &mut UnpackedRecordSink { offset, sink });
            *out += piece.len() as u64;
            rest = after;
            if rounds.front().is_none_or(|round| round.end > *out) {
                return;
            }
            if let Some(round) = rounds.pop_front() {
                round.finish(offset, sink);
            }
        }
    }

    /// No chunk follows; the stream ends at `offset`.
    fn finish(&mut self, offset: u64, sink: &mut impl StreamSink) {
        if self.state == State::Reading {
            self.state = State::Ended;
            self.unpacked.clear();
            self.zstd.finish(&mut self.unpacked);
            self.walk(offset, sink);
            self.walker.finish(0, &mut UnpackedRecordSink { offset, sink });
        }
        self.rounds.drain(..).for_each(|round| round.finish(offset, sink));
    }
}

/// Takes the records that came out of a compressed one, whose offset they get.
struct UnpackedRecordSink<'a, S> {
    offset: u64,
    sink: &'a mut S,
}

impl<S: Sink> Sink for UnpackedRecordSink<'_, S> {
    fn record(&mut self, entry: Entry<'_>) {
        self.sink.record(Entry { offset: self.offset, ..entry });
    }

    fn damage(&mut self, _: u64, damage: Damage<'_>) {
        self.sink.damage(self.offset, damage);
    }
}
