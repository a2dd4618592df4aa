//! The .xz file format: streams, each of blocks with a check of what comes out, an index and a
//! footer; between streams zeros in multiples of four.
//!
//! Of damaged data up to [`OUT`] bytes before the damage are lost: the decoder does not say how
//! many of them it had written when it met it.

use xz4rust::{XzDecoder, XzError};

use crate::decode::unpack::{UnpackErrorKind, Unpacker, WINDOW_MAX};

/// Header magic.
pub(super) const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

const OUT: usize = 16 << 10;

pub(super) struct Xz {
    decoder: Box<XzDecoder<'static>>,
    place: Place,
    out: Vec<u8>,
}

/// What the next bytes belong to.
enum Place {
    /// A stream, of which bytes came.
    Inside,
    /// Behind a stream, and so many zeros.
    Between { zeros: u64 },
}

impl Default for Xz {
    fn default() -> Self {
        // The dictionary grows when a block's header says how large it has to be.
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(0, WINDOW_MAX as usize);
        Self { decoder, place: Place::Inside, out: vec![0; OUT] }
    }
}

impl Unpacker for Xz {
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind> {
        loop {
            if let Place::Between { zeros } = &mut self.place {
                let end = input.iter().position(|&byte| byte != 0).unwrap_or(input.len());
                *zeros += end as u64;
                *input = &input[end..];
                match input.first() {
                    None => return Ok(None),
                    Some(&first) if first == MAGIC[0] && *zeros % 4 == 0 => {
                        self.decoder.reset();
                        self.place = Place::Inside;
                    }
                    Some(_) => return Err(UnpackErrorKind::Trailing),
                }
            }
            if input.is_empty() {
                return Ok(None);
            }
            let result = match self.decoder.decode(input, &mut self.out) {
                Err(XzError::NeedsLargerInputBuffer) => return Ok(None),
                result => result.map_err(kind)?,
            };
            *input = input.get(result.input_consumed()..).unwrap_or_default();
            if result.is_end_of_stream() {
                self.place = Place::Between { zeros: 0 };
            }
            let written = result.output_produced();
            if written > 0 {
                break Ok(self.out.get(..written));
            }
        }
    }

    fn may_end(&self) -> bool {
        matches!(self.place, Place::Between { zeros } if zeros % 4 == 0)
    }
}

fn kind(error: XzError) -> UnpackErrorKind {
    let damaged = |what| UnpackErrorKind::Damaged { what };
    let unsupported = |what| UnpackErrorKind::Unsupported { what };
    match error {
        XzError::DictionaryTooLarge(bytes) => UnpackErrorKind::Window { bytes },
        XzError::ContentCrc32Mismatch(..)
        | XzError::ContentCrc64Mismatch(..)
        | XzError::ContentSha256Mismatch(..) => UnpackErrorKind::Checksum,
        XzError::UnsupportedCheckType(_) => {
            unsupported("a check other than CRC-32, CRC-64 and SHA-256")
        }
        XzError::BcjFilterNotSupported | XzError::DeltaFilterUnsupported => {
            unsupported("a filter other than LZMA2")
        }
        XzError::UnsupportedStreamHeaderOption
        | XzError::UnsupportedBlockHeaderOption
        | XzError::UnsupportedLzmaProperties(_) => unsupported("an option of newer versions"),
        XzError::StreamHeaderMagicNumberMismatch | XzError::StreamHeaderCrc32Mismatch(..) => {
            damaged("the header of a stream")
        }
        XzError::BlockHeaderTooSmall | XzError::BlockHeaderCrc32Mismatch(..) => {
            damaged("the header of a block")
        }
        XzError::CorruptedDataInBlockIndex | XzError::IndexCrc32Mismatch(..) => {
            damaged("the index of a stream")
        }
        XzError::FooterMagicNumberMismatch
        | XzError::FooterCheckTypeMismatch(..)
        | XzError::FooterCrc32Mismatch(..)
        | XzError::FooterDecoderIndexMismatch(..) => damaged("the footer of a stream"),
        _ => damaged("the data of a block"),
    }
}
