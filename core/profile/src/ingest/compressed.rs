//! The chunks of a stream's compressed records → the records in them.
//!
//! The decoder holds bytes back, so what is in a chunk comes out when later ones are read. All
//! that compressed records have in common with the others is the rounds: a round that ends between
//! two chunks ends when what is in the first of them has come out.

use std::collections::VecDeque;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::compressed::ZstdStream;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType};

use super::stream::StreamSink;
use super::unpack_ahead::{ChunkAhead, UnpackFailure};
use super::walker::{Damage, Entry, Sink, Walker};

/// Bytes of a stream of zstd in a compressed record; `None` in any other.
pub(super) fn chunk_of(entry: Entry<'_>, order: ByteOrder) -> Option<&[u8]> {
    match entry.header.record_type {
        RecordType::COMPRESSED => Some(&entry.bytes[RECORD_HEADER_SIZE..]),
        RecordType::COMPRESSED2 => {
            // `u64 size`, then that many bytes and padding.
            let (size, chunk) = entry.bytes[RECORD_HEADER_SIZE..].split_first_chunk()?;
            let size = usize::try_from(order.u64(*size)).unwrap_or(usize::MAX);
            Some(&chunk[..size.min(chunk.len())])
        }
        _ => None,
    }
}

/// What the chunks of a stream are read with.
pub(super) struct Compressed {
    /// `None` if chunks were unpacked before they came.
    zstd: Option<Box<ZstdStream>>,
    /// What came out of a chunk; at last what was held back.
    unpacked: Vec<u8>,
    walker: Walker,
    /// Bytes that have come out.
    out: u64,
    /// Bytes that all chunks so far hold, if that can be told.
    decoded: Option<u64>,
    /// Rounds that end when more have come out.
    rounds: VecDeque<Round>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Ended,
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

impl Compressed {
    /// From the first chunk on.
    pub(super) fn new(order: ByteOrder) -> Box<Self> {
        Box::new(Self {
            zstd: None,
            unpacked: Vec::new(),
            walker: Walker::new(order, 0),
            out: 0,
            decoded: None,
            rounds: VecDeque::new(),
            state: State::Reading,
        })
    }

    /// Unpacks a chunk, which stands in the record at `offset`, and reads on in what it gives.
    pub(super) fn unpack(&mut self, offset: u64, chunk: &[u8], sink: &mut impl StreamSink) {
        if self.state == State::Ended {
            return;
        }
        let mut bytes = std::mem::take(&mut self.unpacked);
        bytes.clear();
        let zstd = self.zstd.get_or_insert_default();
        let failure = zstd.push(chunk, &mut bytes).err().as_ref().map(UnpackFailure::from);
        let decoded = zstd.decoded();
        self.take(offset, ChunkAhead { bytes: &bytes, decoded, failure: failure.as_ref() }, sink);
        self.unpacked = bytes;
    }

    /// Reads on in what the chunk in the record at `offset` gave.
    pub(super) fn take(&mut self, offset: u64, chunk: ChunkAhead<'_>, sink: &mut impl StreamSink) {
        if self.state == State::Ended {
            return;
        }
        self.decoded = chunk.decoded;
        self.walk(offset, chunk.bytes, sink);
        if let Some(failure) = chunk.failure {
            sink.unpacking_failed(offset, failure);
            self.state = State::Ended;
        }
    }

    /// Keeps what comes out behind the last chunk, where that is known before.
    pub(super) fn hold_back(&mut self, bytes: &[u8]) {
        self.unpacked = bytes.to_vec();
    }

    /// A round ended after the chunks that were unpacked.
    pub(super) fn finish_round(&mut self, entry: Entry<'_>, sink: &mut impl StreamSink) {
        let end = match self.state {
            State::Reading => self.decoded,
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
    fn walk(&mut self, offset: u64, mut rest: &[u8], sink: &mut impl StreamSink) {
        let Self { walker, out, rounds, .. } = self;
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
    pub(super) fn finish(&mut self, offset: u64, sink: &mut impl StreamSink) {
        if self.state == State::Reading {
            self.state = State::Ended;
            let mut held_back = std::mem::take(&mut self.unpacked);
            if let Some(zstd) = &mut self.zstd {
                held_back.clear();
                zstd.finish(&mut held_back);
            }
            self.walk(offset, &held_back, sink);
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
