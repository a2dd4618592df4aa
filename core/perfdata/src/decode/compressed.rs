//! The records of COMPRESSED and COMPRESSED2: zstd data that goes on from record to record.
//!
//! perf feeds one compressor for as long as it records (for each thread's file in a directory) and
//! flushes it at the end of each record (`zstd_compress_stream_to_records` in
//! `tools/perf/util/zstd.c`, since 5.2). So there is one frame, without a content size, that never
//! ends; and each chunk, the payload of one record, holds whole blocks. A chunk that ends inside a
//! block is read all the same, with the next one.
//!
//! The decoder holds a window back while its frame goes on, half a megabyte at perf's usual level.
//! So bytes come out later than their chunk goes in; where their place is among the records around
//! the chunks, [`ZstdStream::decoded`] tells. A decoder of our own that holds nothing back was
//! written and given up: it was twelve hundred lines for what this does in a few.

use crate::decode::unpack::{self, UnpackError, UnpackErrorKind, Unpacker};
use crate::decode::zstd::Zstd;

/// What one chunk may give. perf compresses what is in a ring buffer at a time and splits that into
/// records of at most 64 KiB; a ring buffer of default size is 528 KiB, large ones some MiB.
pub const CHUNK_OUTPUT_MAX: usize = 64 << 20;

/// The stream of a file, or of one file of a directory.
#[derive(Default)]
pub struct ZstdStream {
    zstd: Zstd,
    /// Compressed bytes used up, of all chunks.
    taken: u64,
    failed: Option<UnpackError>,
}

impl ZstdStream {
    /// Takes the next chunk and appends to `out` what has come out: bytes of records, of which the
    /// last may go on in the next chunk.
    ///
    /// What was appended before or with an error stays valid. After an error nothing more can be
    /// read of the stream, and every push gives the error again; its offset counts bytes of chunks.
    pub fn push(&mut self, mut chunk: &[u8], out: &mut Vec<u8>) -> Result<(), UnpackError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let begin = out.len();
        loop {
            let before = chunk.len();
            let result = match self.zstd.next(&mut chunk) {
                Ok(Some(_)) if out.len() - begin >= CHUNK_OUTPUT_MAX => {
                    Err(UnpackErrorKind::TooLong)
                }
                Ok(Some(piece)) => {
                    out.extend_from_slice(piece);
                    Ok(true)
                }
                Ok(None) => Ok(false),
                Err(kind) => Err(kind),
            };
            self.taken += (before - chunk.len()) as u64;
            match result {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(kind) => {
                    self.finish(out);
                    let error = UnpackError { format: "zstd", offset: self.taken, kind };
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
    }

    /// How many bytes all chunks so far hold, those included that have not come out. `None` while
    /// the decoder cannot tell: until more than a window has come.
    pub fn decoded(&self) -> Option<u64> {
        self.zstd.decoded()
    }

    /// Says that no chunk follows, and appends to `out` what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        unpack::drain(&mut self.zstd, &mut |piece| out.extend_from_slice(piece));
    }
}
