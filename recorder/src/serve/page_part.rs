//! Parts of the page as a browser needs them. To unpack them takes it a tenth of a second, of the half that a page takes
//! until it reads a recording; here it takes a few milliseconds, while the browser starts.

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lzma_rust2::LzmaReader;

use crate::page::PAGE;

/// What a page of this server may ask for. It has all of it itself, too: whoever saves it has a whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePart {
    /// Script, worker and style sheet, with a zero byte between them.
    Code,
    /// The streams of the WebAssembly, as the page has them (`www/src/worker/packed_wasm.ts`), but all after the first
    /// unpacked: that copies from tables which only the page makes.
    Wasm,
}

static CODE: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| plain(&block("code")?));
static WASM: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| plain_streams(&block("wasm")?));

/// Says of a stream's size that the stream is not packed.
const PLAIN: u32 = 1 << 31;
/// No part takes more, in KiB.
const MEMORY: u32 = 64 << 10;

impl PagePart {
    /// Unpacks all of them, for whoever asks later.
    pub fn prepare() {
        LazyLock::force(&CODE);
        LazyLock::force(&WASM);
    }

    /// It, once it is unpacked; `None` if this binary has no page. A page that got one part relies on the other.
    pub fn bytes(self) -> Option<&'static [u8]> {
        let (code, wasm) = (CODE.as_deref()?, WASM.as_deref()?);
        Some(match self {
            Self::Code => code,
            Self::Wasm => wasm,
        })
    }
}

/// What is in a data block of the page.
fn block(id: &str) -> Option<Vec<u8>> {
    let (_, block) = PAGE.split_once(&format!(" id=\"{id}\">"))?;
    // The line that says that a block is whole is no base64.
    let text = block.split(['\n', '<']).next()?;
    STANDARD.decode(text).ok()
}

fn plain(packed: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    LzmaReader::new_mem_limit(packed, MEMORY, None).ok()?.read_to_end(&mut plain).ok()?;
    Some(plain)
}

fn plain_streams(packed: &[u8]) -> Option<Vec<u8>> {
    let (size, mut rest) = packed.split_first_chunk::<4>()?;
    let mut streams = size.to_vec();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (stream, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        if streams.len() == size.len() {
            streams.extend(length);
            streams.extend(stream);
            continue;
        }
        let stream = plain(stream)?;
        streams.extend((PLAIN | u32::try_from(stream.len()).ok()?).to_le_bytes());
        streams.extend(stream);
    }
    Some(streams)
}
