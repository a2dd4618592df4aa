//! Compressed records → what comes out of them, for an [`Ingest`](super::Ingest) elsewhere.
//!
//! To unpack them takes about as long as to read what came out. So a host with another thread unpacks
//! on it what the first one reads next. Both find the records in the same way, so chunks need no numbers.

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::compressed::ZstdStream;
use perftab_perfdata::decode::wrapper::UnpackError;

use super::compressed::chunk_of;
use super::walker::{Damage, Entry, Sink, Walker};

/// What came out of some packed bytes.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// How many of these there were.
    pub taken: u64,
    /// They themselves, where there are other records between those that are compressed.
    pub packed: Vec<u8>,
    /// What came out of them.
    pub bytes: Vec<u8>,
    /// Out of which chunk it came, in their order.
    pub chunks: Vec<UnpackedChunk>,
    /// Why nothing more comes out, if so: it was found in the last of the chunks.
    pub failure: Option<UnpackFailure>,
    /// Whether more follows.
    pub rest: Rest,
}

/// What one compressed record gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackedChunk {
    /// How many bytes came out.
    pub length: usize,
    /// As [`ZstdStream::decoded`] said then.
    pub decoded: Option<u64>,
}

/// Why packed bytes could not be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackFailure {
    /// About where among the packed bytes.
    pub offset: u64,
    /// For humans.
    pub message: String,
}

/// What follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// More, maybe.
    #[default]
    More,
    /// Nothing: the packed bytes have ended. Of compressed records a last chunk, which no record
    /// has, is what was held back.
    Nothing,
}

impl From<&UnpackError> for UnpackFailure {
    fn from(error: &UnpackError) -> Self {
        Self { offset: error.offset, message: error.to_string() }
    }
}

/// What one chunk gave.
#[derive(Clone, Copy)]
pub(super) struct ChunkAhead<'a> {
    pub bytes: &'a [u8],
    pub decoded: Option<u64>,
    pub failure: Option<&'a UnpackFailure>,
}

/// What chunks gave, one after the other.
pub(super) struct ChunksAhead<'a> {
    bytes: &'a [u8],
    chunks: &'a [UnpackedChunk],
    failure: Option<&'a UnpackFailure>,
}

impl<'a> ChunksAhead<'a> {
    pub(super) fn of(unpacked: &'a Unpacked) -> Self {
        let Unpacked { bytes, chunks, failure, .. } = unpacked;
        Self { bytes, chunks, failure: failure.as_ref() }
    }

    pub(super) fn next(&mut self) -> Option<ChunkAhead<'a>> {
        let (UnpackedChunk { length, decoded }, chunks) = self.chunks.split_first()?;
        let (bytes, rest) = self.bytes.split_at((*length).min(self.bytes.len()));
        (self.bytes, self.chunks) = (rest, chunks);
        let failure = self.failure.filter(|_| chunks.is_empty());
        Some(ChunkAhead { bytes, decoded: *decoded, failure })
    }
}

/// Unpacks the compressed records of a stream.
pub struct RecordsAhead {
    walker: Walker,
    chunks: Chunks,
}

/// Takes the records as they stand in the file, and of them those that are compressed.
struct Chunks {
    order: ByteOrder,
    zstd: ZstdStream,
    state: State,
    /// Since the last that was handed on.
    unpacked: Unpacked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Failed,
}

impl RecordsAhead {
    /// From the first record on.
    pub fn new(order: ByteOrder, offset: u64) -> Self {
        let (zstd, unpacked) = (ZstdStream::default(), Unpacked::default());
        let chunks = Chunks { order, zstd, state: State::Reading, unpacked };
        Self { walker: Walker::new(order, offset), chunks }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, block: &[u8]) {
        self.chunks.unpacked.taken += block.len() as u64;
        self.chunks.unpacked.packed.extend_from_slice(block);
        self.walker.push(block, &mut self.chunks);
    }

    /// True if no record can be read any more.
    pub fn are_over(&self) -> bool {
        self.walker.is_broken()
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        let Chunks { zstd, state, unpacked, .. } = &mut self.chunks;
        if *state == State::Reading {
            let begin = unpacked.bytes.len();
            zstd.finish(&mut unpacked.bytes);
            let length = unpacked.bytes.len() - begin;
            unpacked.chunks.push(UnpackedChunk { length, decoded: None });
        }
        unpacked.rest = Rest::Nothing;
    }

    /// What has come out since this was asked last.
    pub fn unpacked(&mut self) -> &mut Unpacked {
        &mut self.chunks.unpacked
    }
}

impl Sink for Chunks {
    fn record(&mut self, entry: Entry<'_>) {
        let Self { order, zstd, state, unpacked } = self;
        let Some(chunk) = chunk_of(entry, *order) else { return };
        if *state == State::Failed {
            return;
        }
        let begin = unpacked.bytes.len();
        if let Err(error) = zstd.push(chunk, &mut unpacked.bytes) {
            unpacked.failure = Some(UnpackFailure::from(&error));
            *state = State::Failed;
        }
        let length = unpacked.bytes.len() - begin;
        unpacked.chunks.push(UnpackedChunk { length, decoded: zstd.decoded() });
    }

    fn damage(&mut self, _: u64, _: Damage<'_>) {}
}
