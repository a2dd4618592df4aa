//! Bytes pushed in blocks that are cut anywhere → whole records.
//!
//! A record is borrowed from the block that it lies in; only one that a block cut is copied. Where
//! a record ends is all that is looked at here, so bytes that nobody needs are passed over
//! without being kept, and memory is bounded by what is pushed.

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType};

/// A record on its way into the profile; a sample's bytes may end with its call chain.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// Where it begins in the file; of a compressed record, the one that it came out of.
    pub offset: u64,
    pub header: RecordHeader,
    /// Of tracing data, with what follows the record.
    pub bytes: &'a [u8],
}

/// What takes the records.
pub(super) trait Sink {
    /// A whole record.
    fn record(&mut self, entry: Entry<'_>);

    /// Something else.
    fn damage(&mut self, offset: u64, damage: Damage<'_>);
}

/// What is met that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage<'a> {
    /// A record with a size that cannot be. Where the next one begins cannot be told, so nothing
    /// more is read.
    ImpossibleSize(usize),
    /// A record of a type so large that nobody has it: other bytes than records. Nothing more is
    /// read.
    NoRecord,
    /// A line of text, or the start of a long one.
    Text(&'a [u8]),
    /// A record of so many bytes that it was passed over.
    TooLarge(u64),
    /// The end comes inside a record, or that many bytes before it should.
    Truncated {
        /// How many; 0 if that is not known.
        missing: u64,
    },
}

/// Finds the records in what is pushed.
pub(super) struct Walker {
    order: ByteOrder,
    /// Offset of the next record, so of the first byte of `cut` if there is one.
    offset: u64,
    /// The first bytes of a record that the last block cut.
    cut: Vec<u8>,
    /// What has come of a line of text.
    line: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A record comes next.
    Records,
    /// That many bytes come next that nobody needs.
    Skipping(u64),
    /// The rest of a line of text comes next, which begins at this offset.
    Text(u64),
    /// Where the next record begins cannot be told.
    Broken,
}

/// What some bytes begin with.
enum Extent {
    /// A whole record and what belongs to it: its bytes, and how many behind it nobody needs.
    Whole { header: RecordHeader, size: usize, skip: u64 },
    /// A record of which at least so many bytes are missing.
    Cut(usize),
    /// A record that is passed over as a whole.
    TooLarge(u64),
    /// A line of text.
    Text,
    /// No record.
    Damage(Damage<'static>),
}

/// No record that something is made of is larger. The largest real ones are tracing data of all
/// events and simpleperf's kernel symbols, each of some MB.
const MAX_RECORD: u64 = 256 << 20;
/// Types above are nobody's: perf has less than 100, simpleperf counts from 32768.
const MAX_TYPE: u32 = 0xffff;
/// As much of a line of text as a message shows.
const SHOWN_TEXT: usize = 200;

impl Walker {
    /// The next byte pushed lies at `offset`.
    pub(super) fn new(order: ByteOrder, offset: u64) -> Self {
        Self { order, offset, cut: Vec::new(), line: Vec::new(), state: State::Records }
    }

    /// Offset of the next byte to be pushed.
    pub(super) fn next(&self) -> u64 {
        self.offset + self.cut.len() as u64
    }

    /// True if nothing can be read any more.
    pub(super) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// How many of the next bytes nobody needs.
    pub(super) fn skips(&self) -> u64 {
        match self.state {
            State::Skipping(left) => left,
            _ => 0,
        }
    }

    /// Passes over bytes that nobody needs without seeing them.
    pub(super) fn jump(&mut self, bytes: u64) {
        if let State::Skipping(left) = self.state {
            let bytes = bytes.min(left);
            self.offset = self.offset.saturating_add(bytes);
            self.state = if bytes == left { State::Records } else { State::Skipping(left - bytes) };
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, mut block: &[u8], sink: &mut impl Sink) {
        while !block.is_empty() {
            block = match self.state {
                State::Records if self.cut.is_empty() => self.walk(block, sink),
                State::Records => self.complete(block, sink),
                State::Skipping(left) => {
                    let taken = left.min(block.len() as u64);
                    self.jump(taken);
                    &block[taken as usize..]
                }
                State::Text(start) => self.pass_text(start, block, sink),
                State::Broken => return,
            };
        }
    }

    /// Nothing more comes, although `missing` bytes more should have.
    pub(super) fn finish(&mut self, missing: u64, sink: &mut impl Sink) {
        match self.state {
            State::Broken => return,
            State::Text(start) => sink.damage(start, Damage::Text(&self.line)),
            State::Records if missing == 0 && self.cut.is_empty() => {}
            State::Records if missing == 0 && is_text(&self.cut) => {
                sink.damage(self.offset, Damage::Text(&self.cut));
            }
            _ => sink.damage(self.offset, Damage::Truncated { missing }),
        }
        self.state = State::Broken;
    }

    /// Reads the whole records that `block` begins with and keeps the record that it cuts;
    /// returns what has not been looked at.
    fn walk<'b>(&mut self, mut block: &'b [u8], sink: &mut impl Sink) -> &'b [u8] {
        while !block.is_empty() {
            match extent(block, self.order) {
                Extent::Whole { header, size, skip } => {
                    let (record, rest) = block.split_at(size);
                    sink.record(Entry { offset: self.offset, header, bytes: record });
                    self.offset += size as u64;
                    block = rest;
                    if skip > 0 {
                        self.state = State::Skipping(skip);
                        return block;
                    }
                }
                Extent::Cut(_) => {
                    self.cut.extend_from_slice(block);
                    return &[];
                }
                Extent::TooLarge(size) => {
                    sink.damage(self.offset, Damage::TooLarge(size));
                    self.state = State::Skipping(size);
                    return block;
                }
                Extent::Text => {
                    self.state = State::Text(self.offset);
                    return block;
                }
                Extent::Damage(damage) => {
                    sink.damage(self.offset, damage);
                    self.state = State::Broken;
                    return &[];
                }
            }
        }
        block
    }

    /// Adds to the record that the last block cut what it needs; returns the rest.
    fn complete<'b>(&mut self, block: &'b [u8], sink: &mut impl Sink) -> &'b [u8] {
        let Extent::Cut(missing) = extent(&self.cut, self.order) else { return &[] };
        let (head, rest) = block.split_at(missing.min(block.len()));
        self.cut.extend_from_slice(head);
        if let Extent::Cut(_) = extent(&self.cut, self.order) {
            return rest;
        }
        let mut known = std::mem::take(&mut self.cut);
        // Of what is no record, more than is looked at here may have been gathered: none is lost.
        self.push(&known, sink);
        if self.cut.is_empty() {
            // Its memory serves the next one that is cut.
            known.clear();
            self.cut = known;
        }
        rest
    }

    /// Passes over the rest of a line and tells of it.
    fn pass_text<'b>(&mut self, start: u64, block: &'b [u8], sink: &mut impl Sink) -> &'b [u8] {
        let newline = block.iter().position(|&byte| byte == b'\n');
        let line = &block[..newline.unwrap_or(block.len())];
        self.line.extend_from_slice(&line[..line.len().min(SHOWN_TEXT - self.line.len())]);
        let passed = newline.map_or(line.len(), |at| at + 1);
        self.offset += passed as u64;
        if newline.is_some() {
            sink.damage(start, Damage::Text(&self.line));
            self.line.clear();
            self.state = State::Records;
        }
        &block[passed..]
    }
}

#[inline]
fn extent(bytes: &[u8], order: ByteOrder) -> Extent {
    let Some(header) = RecordHeader::read(bytes, order) else {
        return Extent::Cut(RECORD_HEADER_SIZE - bytes.len());
    };
    if header.record_type.0 >= RecordType::HEADER_TRACING_DATA.0 {
        return extent_of_tools(header, bytes, order);
    }
    match header.size {
        size if size < RECORD_HEADER_SIZE => Extent::Damage(Damage::ImpossibleSize(size)),
        size if size <= bytes.len() => Extent::Whole { header, size, skip: 0 },
        size => Extent::Cut(size - bytes.len()),
    }
}

/// Of records that tools write: some are followed by bytes that belong to them.
fn extent_of_tools(header: RecordHeader, bytes: &[u8], order: ByteOrder) -> Extent {
    if header.record_type.0 > MAX_TYPE {
        return match is_text(&bytes[..RECORD_HEADER_SIZE]) {
            true => Extent::Text,
            false => Extent::Damage(Damage::NoRecord),
        };
    }
    if header.size < RECORD_HEADER_SIZE {
        return Extent::Damage(Damage::ImpossibleSize(header.size));
    }
    let (follows, skip) = match header.record_type {
        RecordType::HEADER_TRACING_DATA => match tracing_data_behind(header, bytes, order) {
            Ok(size) => (size, 0),
            Err(missing) => return Extent::Cut(missing),
        },
        RecordType::AUXTRACE if header.size >= 16 => match bytes.get(8..16) {
            Some(size) => (0, order.u64(size.try_into().unwrap_or_default())),
            None => return Extent::Cut(16 - bytes.len()),
        },
        _ => (0, 0),
    };
    let size = header.size as u64 + follows;
    match usize::try_from(size) {
        Ok(size) if size <= bytes.len() => Extent::Whole { header, size, skip },
        Ok(missing) if size <= MAX_RECORD => Extent::Cut(missing - bytes.len()),
        _ => Extent::TooLarge(size),
    }
}

/// How many bytes follow a HEADER_TRACING_DATA record: `u32 size` in it tells. simpleperf has them
/// inside of the record. An error says how many bytes are missing to tell.
fn tracing_data_behind(header: RecordHeader, bytes: &[u8], order: ByteOrder) -> Result<u64, usize> {
    const FIELDS: usize = 12;
    const PADDED: usize = 16;
    if header.size < FIELDS {
        return Ok(0);
    }
    let Some(size) = bytes.get(8..FIELDS) else { return Err(FIELDS - bytes.len()) };
    let size = order.u32(size.try_into().unwrap_or_default());
    let is_inside = header.size > PADDED && size as usize <= header.size - FIELDS;
    Ok(if is_inside { 0 } else { u64::from(size) })
}

/// True if a person could have been meant to read it. No record begins so: its type is small, so
/// that there are zeros. A byte or two of a record may look like text.
fn is_text(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    bytes.len() >= 4 && bytes.iter().all(is_text)
}
