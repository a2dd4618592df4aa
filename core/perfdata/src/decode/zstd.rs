//! zstd (RFC 8878), in pieces: ruzstd decodes blocks, this finds where each begins and ends.
//!
//! ruzstd wants a whole block at a time, and keeps a window of what came out back until its frame
//! ends. A frame that breaks off is therefore ended here, so that nothing which came is lost.
//!
//! Not read: dictionaries. Nothing that records has one.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::decode::unpack::{UnpackErrorKind, Unpacker, WINDOW_MAX};

const MAGIC: u32 = 0xfd2f_b528;
/// Frames that hold something of others: sixteen magics, a length, and that many bytes.
const MAGIC_SKIPPABLE: u32 = 0x184d_2a50;

const OUT: usize = 64 << 10;
/// An empty block, the last of its frame, and room for a checksum that nobody compares.
const END_OF_FRAME: [u8; 3 + CHECKSUM] = [1, 0, 0, 0, 0, 0, 0];
const CHECKSUM: usize = 4;

/// Whether a file that begins with these bytes is made of zstd frames.
pub(super) fn begins_frame(first_bytes: &[u8]) -> bool {
    magic(first_bytes).is_some()
}

/// What a frame begins with.
enum Magic {
    Frame,
    Skippable,
}

fn magic(first_bytes: &[u8]) -> Option<Magic> {
    match u32::from_le_bytes(*first_bytes.first_chunk()?) {
        MAGIC => Some(Magic::Frame),
        magic if magic & !0xf == MAGIC_SKIPPABLE => Some(Magic::Skippable),
        _ => None,
    }
}

/// Decodes frame after frame.
pub(super) struct Zstd {
    place: Place,
    /// The beginning of an item that is not whole yet: a header, or a block with its header and
    /// the checksum behind the last one.
    begun: Vec<u8>,
    frames: u64,
    frame: FrameHeader,
    /// What the frame gave so far; its window is held back on top of that.
    given: u64,
    decoder: FrameDecoder,
    out: Vec<u8>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FrameHeader,
    Skipped {
        bytes: u64,
    },
    Block,
    /// Every block of the frame was decoded: length and checksum are still to be compared.
    FrameEnd,
    /// The frame broke off.
    BrokenOff,
}

impl Default for Zstd {
    fn default() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_MAX);
        Self {
            place: Place::FrameHeader,
            begun: Vec::new(),
            frames: 0,
            frame: FrameHeader::default(),
            given: 0,
            decoder,
            out: vec![0; OUT],
        }
    }
}

impl Zstd {
    /// How many bytes the blocks that came so far hold, those that are held back included; `None`
    /// where that cannot be told yet, which is less than a window.
    ///
    /// Only between calls of `next`, when everything that can come out has.
    pub(super) fn decoded(&self) -> Option<u64> {
        (self.given > 0).then(|| self.given + self.frame.window)
    }

    /// How many bytes the next item has, as far as its first bytes tell: more than there are, if
    /// they do not tell all.
    fn item_length(&self, first_bytes: &[u8]) -> usize {
        if self.place == Place::Block {
            let Some(header) = first_bytes.first_chunk() else { return 3 };
            let BlockHeader { is_last, stored } = BlockHeader::read(*header);
            let has_checksum = is_last && self.frame.has_checksum;
            return 3 + stored + if has_checksum { CHECKSUM } else { 0 };
        }
        match magic(first_bytes) {
            Some(Magic::Frame) => first_bytes.get(4).map_or(5, |byte| FrameHeader::length(*byte)),
            Some(Magic::Skippable) => 8,
            // Enough to see that it is none.
            None => 4,
        }
    }

    /// Reads a whole item.
    fn take_item(&mut self, item: &[u8]) -> Result<(), UnpackErrorKind> {
        if self.place == Place::Block {
            let strategy = BlockDecodingStrategy::UptoBlocks(1);
            return match self.decoder.decode_blocks(item, strategy) {
                Ok(true) => {
                    self.place = Place::FrameEnd;
                    Ok(())
                }
                Ok(false) => Ok(()),
                Err(_) => Err(damaged("a block cannot be decoded")),
            };
        }
        let fields = item.get(4..).unwrap_or_default();
        match magic(item) {
            Some(Magic::Frame) => {}
            Some(Magic::Skippable) => {
                self.frames += 1;
                self.place = Place::Skipped { bytes: Fields(fields).take(4) };
                return Ok(());
            }
            None if self.frames == 0 => return Err(damaged("it does not start with a frame")),
            None => return Err(UnpackErrorKind::Trailing),
        }
        self.frames += 1;
        self.frame = FrameHeader::read(fields)?;
        self.given = 0;
        self.decoder.reset(item).map_err(|_| damaged("a frame's header cannot be read"))?;
        self.place = Place::Block;
        Ok(())
    }

    /// Reads the next item; false when `input` has no whole one.
    fn advance(&mut self, input: &mut &[u8]) -> Result<bool, UnpackErrorKind> {
        loop {
            match &mut self.place {
                Place::BrokenOff => return Ok(false),
                Place::FrameEnd => self.check_frame()?,
                Place::Skipped { bytes } => {
                    let now = usize::try_from(*bytes).unwrap_or(usize::MAX).min(input.len());
                    *input = &input[now..];
                    *bytes -= now as u64;
                    if *bytes > 0 {
                        return Ok(false);
                    }
                    self.place = Place::FrameHeader;
                }
                Place::FrameHeader | Place::Block => {}
            }
            if self.begun.is_empty() {
                // Mostly an item lies in one block of input and is read where it lies.
                if let Some((item, rest)) = input.split_at_checked(self.item_length(input)) {
                    *input = rest;
                    self.take_item(item)?;
                    return Ok(true);
                }
            }
            let missing = self.item_length(&self.begun).saturating_sub(self.begun.len());
            if missing == 0 {
                let mut item = std::mem::take(&mut self.begun);
                let taken = self.take_item(&item);
                item.clear();
                self.begun = item;
                return taken.map(|()| true);
            }
            if input.is_empty() {
                return Ok(false);
            }
            let (now, rest) = input.split_at(missing.min(input.len()));
            self.begun.extend_from_slice(now);
            *input = rest;
        }
    }

    /// Whether the frame, of which everything has come out, kept what its header promised.
    fn check_frame(&mut self) -> Result<(), UnpackErrorKind> {
        self.place = Place::FrameHeader;
        let calculated = self.decoder.get_calculated_checksum();
        if self.frame.has_checksum && self.decoder.get_checksum_from_data() != calculated {
            return Err(UnpackErrorKind::Checksum);
        }
        match self.frame.content_size {
            Some(size) if size != self.given => {
                Err(damaged("a frame's length differs from its header"))
            }
            _ => Ok(()),
        }
    }
}

impl Unpacker for Zstd {
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind> {
        loop {
            let read = self.decoder.read(&mut self.out);
            match read.map_err(|_| damaged("a block cannot be decoded"))? {
                0 if self.advance(input)? => {}
                0 => return Ok(None),
                length => {
                    self.given += length as u64;
                    return Ok(Some(&self.out[..length]));
                }
            }
        }
    }

    fn may_end(&self) -> bool {
        self.place == Place::FrameHeader && self.begun.is_empty() && self.frames > 0
    }

    fn break_off(&mut self) {
        if self.place == Place::Block {
            // A last block may be whole although the checksum behind it is not.
            if let Some(header) = self.begun.first_chunk()
                && self.begun.len() >= 3 + BlockHeader::read(*header).stored
            {
                let strategy = BlockDecodingStrategy::UptoBlocks(1);
                let _ended = self.decoder.decode_blocks(&self.begun[..], strategy);
            }
            // Decodes nothing: it makes the decoder hand out the window.
            let _ended = self.decoder.decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::All);
        }
        self.place = Place::BrokenOff;
    }
}

// ---- headers ------------------------------------------------------------------------------

/// What a frame's header says.
#[derive(Clone, Copy, Debug, Default)]
struct FrameHeader {
    has_checksum: bool,
    content_size: Option<u64>,
    /// How far back a block may refer, in bytes.
    window: u64,
}

impl FrameHeader {
    const SINGLE_SEGMENT: u8 = 1 << 5;
    const HAS_CHECKSUM: u8 = 1 << 2;

    /// Bytes of magic, descriptor, window unless the frame is one segment, dictionary and content
    /// size.
    fn length(descriptor: u8) -> usize {
        let window = usize::from(descriptor & Self::SINGLE_SEGMENT == 0);
        let sizes = Self::dictionary_id_length(descriptor) + Self::content_size_length(descriptor);
        5 + window + sizes
    }

    fn dictionary_id_length(descriptor: u8) -> usize {
        [0, 1, 2, 4][usize::from(descriptor & 3)]
    }

    fn content_size_length(descriptor: u8) -> usize {
        match descriptor >> 6 {
            0 => usize::from(descriptor & Self::SINGLE_SEGMENT != 0),
            flag => 1 << flag,
        }
    }

    /// What follows on the magic.
    fn read(bytes: &[u8]) -> Result<Self, UnpackErrorKind> {
        let mut fields = Fields(bytes);
        let descriptor = fields.take(1) as u8;
        if descriptor & 1 << 3 != 0 {
            return Err(UnpackErrorKind::Unsupported { what: "an option of newer versions" });
        }
        let window = (descriptor & Self::SINGLE_SEGMENT == 0).then(|| {
            let byte = fields.take(1);
            let base = 1_u64 << (10 + (byte >> 3));
            base + base / 8 * (byte & 7)
        });
        if fields.take(Self::dictionary_id_length(descriptor)) != 0 {
            return Err(UnpackErrorKind::Unsupported { what: "a dictionary" });
        }
        let content_size = match Self::content_size_length(descriptor) {
            0 => None,
            2 => Some(fields.take(2) + 256),
            length => Some(fields.take(length)),
        };
        let window = window.or(content_size).unwrap_or(0);
        if window > WINDOW_MAX {
            return Err(UnpackErrorKind::Window { bytes: window });
        }
        Ok(Self { has_checksum: descriptor & Self::HAS_CHECKSUM != 0, content_size, window })
    }
}

struct BlockHeader {
    is_last: bool,
    /// Bytes that follow: those of the block, or the one that is to be repeated.
    stored: usize,
}

impl BlockHeader {
    fn read([a, b, c]: [u8; 3]) -> Self {
        let word = u32::from_le_bytes([a, b, c, 0]);
        let is_repeated = word >> 1 & 3 == 1;
        let stored = if is_repeated { 1 } else { (word >> 3) as usize };
        Self { is_last: word & 1 != 0, stored }
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
