//! A decoder of zstd (RFC 8878) that hands out every block as soon as it is whole.
//!
//! Why one of our own: perf never ends its frame, and the records between its chunks have to be
//! read in their place. The crate there is (ruzstd 0.9) hands out nothing that is still inside the
//! window while a frame goes on: half a megabyte at perf's usual level would be held back at all
//! times, and lost where a recording breaks off. This one takes half its time, too.
//! `tests/` compares this one with what the `zstd` tool makes, at all of its levels.
//!
//! Not read: dictionaries. Nothing that records has one.

mod bits;
mod block;
mod checksum;
mod fse;
mod huffman;
mod sequences;

use crate::decode::unpack::{UnpackErrorKind, Unpacker, WINDOW_MAX};

use block::Blocks;
use checksum::Xxh64;

const MAGIC: u32 = 0xfd2f_b528;
/// Frames that hold something of others: sixteen magics, a length, and that many bytes.
const MAGIC_SKIPPABLE: u32 = 0x184d_2a50;
/// Largest block, of what is stored and of what comes out.
const BLOCK_MAX: usize = 128 << 10;

/// Whether a file that begins with these bytes is made of zstd frames.
pub(super) fn begins_frame(first_bytes: &[u8]) -> bool {
    let magic = first_bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    magic.is_some_and(|magic| magic == MAGIC || magic & !0xf == MAGIC_SKIPPABLE)
}

/// Decodes frame after frame.
#[derive(Default)]
pub(super) struct Zstd {
    place: Place,
    /// The beginning of an item (a header, a block with its header, a checksum) that is not whole
    /// yet. At most one block.
    begun: Vec<u8>,
    frames: u64,
    frame: Frame,
    blocks: Blocks,
    /// Of what the frame gave, if it ends with a checksum.
    checksum: Xxh64,
}

/// Which item comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    FrameHeader,
    Skipped {
        bytes: u64,
    },
    Block,
    Checksum,
}

/// What a frame's header says and what came of it.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    has_checksum: bool,
    content_size: Option<u64>,
    given: u64,
    block_max: usize,
}

impl Zstd {
    /// How many bytes the next item has, as far as its first bytes tell: more than there are, if
    /// they do not tell all.
    fn item_length(&self, first_bytes: &[u8]) -> Result<usize, UnpackErrorKind> {
        match self.place {
            Place::Skipped { .. } => Ok(0),
            Place::Checksum => Ok(4),
            Place::Block => {
                let Some(header) = first_bytes.first_chunk() else { return Ok(3) };
                let BlockHeader { kind, size, .. } = BlockHeader::read(*header)?;
                if size > self.frame.block_max {
                    return Err(damaged("a block is longer than it can be"));
                }
                Ok(if kind == BlockKind::Repeated { 3 + 1 } else { 3 + size })
            }
            Place::FrameHeader => {
                let Some(magic) = first_bytes.first_chunk() else { return Ok(4) };
                let magic = u32::from_le_bytes(*magic);
                if magic & !0xf == MAGIC_SKIPPABLE {
                    return Ok(8);
                }
                if magic != MAGIC {
                    return Err(match self.frames {
                        0 => damaged("it does not begin with a frame"),
                        _ => UnpackErrorKind::Trailing,
                    });
                }
                Ok(first_bytes.get(4).map_or(5, |descriptor| frame_header_length(*descriptor)))
            }
        }
    }

    /// Reads a whole item. Whether it was a block, which may have given output.
    fn take_item(&mut self, item: &[u8]) -> Result<bool, UnpackErrorKind> {
        match self.place {
            Place::Skipped { .. } => {}
            Place::FrameHeader => self.take_frame_header(item)?,
            Place::Block => {
                let Some((header, body)) = item.split_first_chunk() else { return Ok(false) };
                self.take_block(BlockHeader::read(*header)?, body)?;
                return Ok(true);
            }
            Place::Checksum => {
                // The low half of the hash.
                if item != &self.checksum.finish().to_le_bytes()[..4] {
                    return Err(UnpackErrorKind::Checksum);
                }
                self.place = Place::FrameHeader;
            }
        }
        Ok(false)
    }

    fn take_frame_header(&mut self, item: &[u8]) -> Result<(), UnpackErrorKind> {
        self.frames += 1;
        let mut fields = Fields(item.get(4..).unwrap_or_default());
        if !item.starts_with(&MAGIC.to_le_bytes()) {
            self.place = Place::Skipped { bytes: fields.take(4) };
            return Ok(());
        }
        let descriptor = fields.take(1) as u8;
        if descriptor & 1 << 3 != 0 {
            return Err(UnpackErrorKind::Unsupported { what: "an option of newer versions" });
        }
        let window = match descriptor & SINGLE_SEGMENT {
            0 => {
                let byte = fields.take(1);
                let base = 1_u64 << (10 + (byte >> 3));
                Some(base + base / 8 * (byte & 7))
            }
            _ => None,
        };
        if fields.take(dictionary_id_length(descriptor)) != 0 {
            return Err(UnpackErrorKind::Unsupported { what: "a dictionary" });
        }
        let content_size = match content_size_length(descriptor) {
            0 => None,
            2 => Some(fields.take(2) + 256),
            length => Some(fields.take(length)),
        };
        let window = window.or(content_size).unwrap_or(0);
        if window > WINDOW_MAX {
            return Err(UnpackErrorKind::Window { bytes: window });
        }
        let window = window as usize;
        self.frame = Frame {
            has_checksum: descriptor & HAS_CHECKSUM != 0,
            content_size,
            given: 0,
            block_max: window.min(BLOCK_MAX),
        };
        self.checksum = Xxh64::default();
        self.blocks.begin_frame(window);
        self.place = Place::Block;
        Ok(())
    }

    fn take_block(&mut self, header: BlockHeader, body: &[u8]) -> Result<(), UnpackErrorKind> {
        let BlockHeader { last, kind, size } = header;
        match kind {
            BlockKind::Raw => self.blocks.raw(body),
            BlockKind::Repeated => self.blocks.repeated(body, size),
            BlockKind::Compressed => {
                self.blocks.compressed(body, self.frame.block_max)?;
            }
        }
        self.frame.given += self.blocks.output().len() as u64;
        if self.frame.has_checksum {
            self.checksum.update(self.blocks.output());
        }
        if last {
            if self.frame.content_size.is_some_and(|size| size != self.frame.given) {
                return Err(damaged("a frame has another length than its header says"));
            }
            self.place = match self.frame.has_checksum {
                true => Place::Checksum,
                false => Place::FrameHeader,
            };
        }
        Ok(())
    }

    /// Skips and collects; whether a block came out whole.
    fn advance(&mut self, input: &mut &[u8]) -> Result<bool, UnpackErrorKind> {
        loop {
            if let Place::Skipped { bytes } = &mut self.place {
                let now = usize::try_from(*bytes).unwrap_or(usize::MAX).min(input.len());
                *input = &input[now..];
                *bytes -= now as u64;
                if *bytes > 0 {
                    return Ok(false);
                }
                self.place = Place::FrameHeader;
            }
            if self.begun.is_empty() {
                // Mostly an item lies in one block of input and is read where it lies.
                if let Some((item, rest)) = input.split_at_checked(self.item_length(input)?) {
                    *input = rest;
                    if self.take_item(item)? {
                        return Ok(true);
                    }
                    continue;
                }
            }
            let missing = self.item_length(&self.begun)?.saturating_sub(self.begun.len());
            if missing > 0 {
                if input.is_empty() {
                    return Ok(false);
                }
                let (now, rest) = input.split_at(missing.min(input.len()));
                self.begun.extend_from_slice(now);
                *input = rest;
                continue;
            }
            let mut item = std::mem::take(&mut self.begun);
            let whole = self.take_item(&item);
            item.clear();
            self.begun = item;
            if whole? {
                return Ok(true);
            }
        }
    }
}

impl Unpacker for Zstd {
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind> {
        while self.advance(input)? {
            if !self.blocks.output().is_empty() {
                return Ok(Some(self.blocks.output()));
            }
        }
        Ok(None)
    }

    fn may_end(&self) -> bool {
        self.place == Place::FrameHeader && self.begun.is_empty() && self.frames > 0
    }
}

// ---- headers ------------------------------------------------------------------------------

const SINGLE_SEGMENT: u8 = 1 << 5;
const HAS_CHECKSUM: u8 = 1 << 2;

fn dictionary_id_length(descriptor: u8) -> usize {
    [0, 1, 2, 4][usize::from(descriptor & 3)]
}

fn content_size_length(descriptor: u8) -> usize {
    match descriptor >> 6 {
        0 => usize::from(descriptor & SINGLE_SEGMENT != 0),
        flag => 1 << flag,
    }
}

/// Magic, descriptor, window unless the frame is one segment, dictionary, content size.
fn frame_header_length(descriptor: u8) -> usize {
    let window = usize::from(descriptor & SINGLE_SEGMENT == 0);
    5 + window + dictionary_id_length(descriptor) + content_size_length(descriptor)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Raw,
    /// One byte, many times.
    Repeated,
    Compressed,
}

#[derive(Clone, Copy)]
struct BlockHeader {
    last: bool,
    kind: BlockKind,
    /// What is stored or, of `Repeated`, what comes out.
    size: usize,
}

impl BlockHeader {
    fn read([a, b, c]: [u8; 3]) -> Result<Self, UnpackErrorKind> {
        let word = u32::from_le_bytes([a, b, c, 0]);
        let kind = match word >> 1 & 3 {
            0 => BlockKind::Raw,
            1 => BlockKind::Repeated,
            2 => BlockKind::Compressed,
            _ => return Err(damaged("a block of unknown kind")),
        };
        Ok(Self { last: word & 1 != 0, kind, size: (word >> 3) as usize })
    }
}

/// Little-endian numbers of a header of which all bytes are there.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take(&mut self, length: usize) -> u64 {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

fn damaged(what: &'static str) -> UnpackErrorKind {
    UnpackErrorKind::Damaged { what }
}
