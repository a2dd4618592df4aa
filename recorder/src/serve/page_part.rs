//! Parts of the page as a browser needs them. To unpack them takes it 190 ms, of the half second that a page takes until it
//! reads a recording; here it takes some 35 ms, while the browser starts.

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lzma_rust2::LzmaReader;
use perftab_streams::Stream;

use crate::page::PAGE;

/// What a page of this server may ask for. It has all of it itself, too: whoever saves it has a whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePart {
    /// Script, worker and style sheet, with a zero byte between them.
    Code,
    /// The WebAssembly of sessions.
    Wasm,
    /// That of their images.
    Images,
}

static CODE: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| plain(&block("code")?, None));
static WASM: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| module(&block("wasm")?));
static IMAGES: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| module(&block("images")?));

/// No part takes more, in KiB.
const MEMORY: u32 = 64 << 10;

impl PagePart {
    /// Unpacks all of them, for whoever asks later.
    pub fn prepare() {
        LazyLock::force(&CODE);
        LazyLock::force(&WASM);
        LazyLock::force(&IMAGES);
    }

    /// By which a browser compiles WebAssembly while it arrives.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Code => "application/octet-stream",
            Self::Wasm | Self::Images => "application/wasm",
        }
    }

    /// It, once it is unpacked; `None` if this binary has no page. A page that got the code relies on the session's
    /// WebAssembly.
    pub fn bytes(self) -> Option<&'static [u8]> {
        match self {
            Self::Code => WASM.as_deref().and(CODE.as_deref()),
            Self::Wasm => WASM.as_deref(),
            Self::Images => IMAGES.as_deref(),
        }
    }
}

/// What is in a data block of the page.
fn block(id: &str) -> Option<Vec<u8>> {
    let (_, block) = PAGE.split_once(&format!(" id=\"{id}\">"))?;
    // The line that says that a block is whole is no base64.
    let text = block.split(['\n', '<']).next()?;
    STANDARD.decode(text).ok()
}

/// What a file of LZMA holds. It may copy from what was known before.
fn plain(packed: &[u8], known: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    LzmaReader::new_mem_limit(packed, MEMORY, known).ok()?.read_to_end(&mut plain).ok()?;
    Some(plain)
}

/// What was packed as in `xtask/bundle`: the size of the module, and each of its streams with its size before it.
fn module(packed: &[u8]) -> Option<Vec<u8>> {
    let (size, mut rest) = packed.split_first_chunk::<4>()?;
    let mut streams = <[Vec<u8>; perftab_streams::STREAMS]>::default();
    for (kind, stream) in Stream::ALL.into_iter().zip(&mut streams) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (packed, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let known = matches!(kind, Stream::Rest).then(perftab_streams::known_tables);
        (*stream, rest) = (plain(packed, known.as_deref())?, after);
    }
    perftab_streams::join(&streams, u32::from_le_bytes(*size) as usize).ok()
}
