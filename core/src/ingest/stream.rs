//! The bytes of one stream, pushed in blocks cut anywhere → its whole records.
//!
//! A record is borrowed from the block that it lies in; only one that a block cut is copied. Where
//! a record ends is all that is looked at here, so bytes that nobody needs are passed over
//! without being kept.

use crate::decode::ByteOrder;
use crate::decode::records::RecordHeader;
use crate::format::record::RECORD_HEADER_SIZE;

/// A record on its way into the profile; a sample's bytes may end with its call chain.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    pub header: RecordHeader,
    pub bytes: &'a [u8],
}

/// What takes the records of a stream.
pub(super) trait Sink {
    /// A whole record.
    fn record(&mut self, entry: Entry<'_>);

    /// Where a record should begin, none can: the stream cannot be read on. The size is what
    /// stands there as the record's.
    fn broken(&mut self, offset: u64, size: usize);

    /// The stream ended at `offset`, inside a record or with so many bytes of it missing.
    fn truncated(&mut self, offset: u64, missing: u64);
}

/// One stream: the data section of a file.
pub(super) struct Stream {
    order: ByteOrder,
    /// Offset of the next record in the file, so of the first byte of `cut` if there is one.
    offset: u64,
    /// Offset after the last byte of the stream.
    end: u64,
    /// The first bytes of a record that the last block cut.
    cut: Vec<u8>,
    state: State,
}

/// Whether more records can be made of what is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// Where the next record begins cannot be told.
    Broken,
    /// Nothing more comes.
    Ended,
}

/// What some bytes begin with.
enum Extent {
    /// A whole record.
    Whole(RecordHeader),
    /// A record of which at least so many bytes are missing.
    Cut(usize),
    /// Nothing that can be a record; the size that stands there.
    Impossible(usize),
}

impl Stream {
    /// The bytes from `offset` to before `end`.
    pub(super) fn new(order: ByteOrder, offset: u64, end: u64) -> Self {
        Self { order, offset, end, cut: Vec::new(), state: State::Reading }
    }

    /// Where in the file the next byte is wanted, and how many from there; `None` if no more are.
    pub(super) fn wants(&self) -> Option<(u64, u64)> {
        let next = self.offset + self.cut.len() as u64;
        (self.state == State::Reading && next < self.end).then(|| (next, self.end - next))
    }

    /// Takes the next bytes. Those after its end are ignored; none at all say that it ended early.
    pub(super) fn push(&mut self, block: &[u8], sink: &mut impl Sink) {
        let Some((_, wanted)) = self.wants() else { return };
        if block.is_empty() {
            self.finish(sink);
        }
        let mut block = &block[..usize::try_from(wanted).unwrap_or(usize::MAX).min(block.len())];
        while !block.is_empty() && self.state == State::Reading {
            block = match self.cut.is_empty() {
                true => self.walk(block, sink),
                false => self.complete(block, sink),
            };
        }
        if self.offset >= self.end {
            self.finish(sink);
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        if self.state == State::Reading {
            let next = self.offset + self.cut.len() as u64;
            if next < self.end || !self.cut.is_empty() {
                sink.truncated(self.offset, self.end.saturating_sub(next));
            }
            self.state = State::Ended;
        }
    }

    /// Reads the whole records that `block` begins with and keeps the record that it cuts;
    /// returns what has not been looked at.
    fn walk<'b>(&mut self, mut block: &'b [u8], sink: &mut impl Sink) -> &'b [u8] {
        while !block.is_empty() {
            match extent(block, self.order) {
                Extent::Whole(header) => {
                    let (record, rest) = block.split_at(header.size);
                    sink.record(Entry { offset: self.offset, header, bytes: record });
                    self.offset += record.len() as u64;
                    block = rest;
                }
                Extent::Cut(_) => {
                    self.cut.extend_from_slice(block);
                    return &[];
                }
                Extent::Impossible(size) => {
                    self.state = State::Broken;
                    sink.broken(self.offset, size);
                    return &[];
                }
            }
        }
        block
    }

    /// Adds to the record that the last block cut what it needs; returns the rest.
    fn complete<'b>(&mut self, block: &'b [u8], sink: &mut impl Sink) -> &'b [u8] {
        let Extent::Cut(missing) = extent(&self.cut, self.order) else { return block };
        let (head, rest) = block.split_at(missing.min(block.len()));
        self.cut.extend_from_slice(head);
        if let Extent::Cut(_) = extent(&self.cut, self.order) {
            return rest;
        }
        let mut whole = std::mem::take(&mut self.cut);
        self.walk(&whole, sink);
        // Its memory serves the next one that is cut.
        whole.clear();
        self.cut = whole;
        rest
    }
}

#[inline]
fn extent(bytes: &[u8], order: ByteOrder) -> Extent {
    let Some(header) = RecordHeader::read(bytes, order) else {
        return Extent::Cut(RECORD_HEADER_SIZE - bytes.len());
    };
    if header.size < RECORD_HEADER_SIZE {
        return Extent::Impossible(header.size);
    }
    match header.size.checked_sub(bytes.len()) {
        None | Some(0) => Extent::Whole(header),
        Some(missing) => Extent::Cut(missing),
    }
}
