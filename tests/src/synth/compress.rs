//! Records under zstd: one stream for all of a recording, never ended, cut into records wherever
//! the recorder's buffer was full. perf flushes the stream for each.

use zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_flush;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use super::{Bytes, Recording};

const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// Which record carries the compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packaging {
    /// COMPRESSED, until perf 6.14: bytes to the end of the record, of any length.
    Compressed,
    /// COMPRESSED2: the length, the bytes, and zeros to a multiple of eight.
    Compressed2,
}

/// A zstd stream of one recording (in directory form, of one of its streams).
pub struct Zstd {
    context: CCtx<'static>,
    packaging: Packaging,
}

impl Zstd {
    /// At its beginning.
    pub fn new(packaging: Packaging) -> Self {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::CompressionLevel(1)).expect("a level");
        Self { context, packaging }
    }

    /// Compresses and flushes.
    fn flush(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut input = InBuffer::around(bytes);
        let mut out = vec![0; zstd_safe::compress_bound(bytes.len()) + FRAME_HEADER];
        let mut output = OutBuffer::around(&mut out[..]);
        let left = self.context.compress_stream2(&mut output, &mut input, ZSTD_e_flush);
        assert_eq!((left.ok(), input.pos()), (Some(0), bytes.len()), "there is room for all of it");
        let written = output.pos();
        out.truncate(written);
        out
    }
}

/// Room for what the bound, which is of one call for all, does not count.
const FRAME_HEADER: usize = 64;

impl Recording {
    /// Writes records as `write` does, under zstd: `chunk` bytes of them to a record, so that
    /// records may begin in one and end in the next.
    pub fn compressed(
        &mut self,
        zstd: &mut Zstd,
        chunk: usize,
        write: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let outer = std::mem::take(&mut self.data);
        write(self);
        let inner = std::mem::replace(&mut self.data, outer);
        for part in inner.chunks(chunk) {
            let packed = zstd.flush(part);
            match zstd.packaging {
                Packaging::Compressed => self.record(COMPRESSED, 0, &packed),
                Packaging::Compressed2 => {
                    let length = packed.len() as u64;
                    let body = Bytes::new(self.order).u64(length).raw(&packed).pad(8).take();
                    self.record(COMPRESSED2, 0, &body)
                }
            };
        }
        self
    }
}
