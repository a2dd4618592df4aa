//! The first bytes of a recording: which form it has, and where its sections are said to lie.

use super::Section;
use crate::decode::{ByteOrder, Cursor};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::format::feature::Feature;
use crate::format::header::{
    FILE_HEADER_SIZE, FILE_HEADER_SIZE_WITHOUT_FEATURES, MAGIC_BIG, MAGIC_LITTLE, MAGIC_V1,
    PIPE_HEADER_SIZE,
};

/// Bytes of the magic.
const MAGIC_SIZE: usize = 8;

/// Which form a recording has. It is a property of the bytes, not of how they were had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Sections, found from the header.
    File,
    /// Records from the header to the end; what a file has in sections comes as records.
    Pipe,
}

/// The file header, or what stands in its place in pipe mode.
#[derive(Clone, Debug)]
pub struct Start {
    /// Byte order of the whole recording.
    pub order: ByteOrder,
    /// Its form.
    pub form: Form,
    /// Where the header begins: behind text, if a recorder's messages were written before it.
    pub offset: u64,
    /// Whether the header says which feature sections there are. The oldest do not.
    pub feature_words: Option<[u8; 32]>,
    /// Stride of the list of events.
    pub attr_stride: u64,
    /// The list of events.
    pub attrs: Section,
    /// The records, as the header has it: a size of 0 if the recorder died.
    pub data: Section,
}

impl Start {
    /// How many of the first bytes [`Self::parse`] should see: text before the header of a pipe
    /// may be so long.
    pub const LOOK_AHEAD: u64 = 64 << 10;

    /// Reads the header from the first bytes of a recording.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (text, bytes) = match behind_text(bytes) {
            Some(text) => bytes.split_at(text),
            None => (&[][..], bytes),
        };
        let offset = text.len() as u64;
        let order = byte_order(bytes, offset)?;
        let mut cursor = Cursor::new(bytes, offset, order, "the file header");
        cursor.take(MAGIC_SIZE)?;
        let size_offset = cursor.offset();
        let size = cursor.u64()?;
        let form = match size {
            PIPE_HEADER_SIZE => Form::Pipe,
            FILE_HEADER_SIZE | FILE_HEADER_SIZE_WITHOUT_FEATURES => Form::File,
            value => {
                let what = "the size of the file header";
                return Err(DecodeErrorKind::Invalid { what, value }.at(size_offset));
            }
        };
        let mut start = Self {
            order,
            form,
            offset,
            feature_words: None,
            attr_stride: 0,
            attrs: Section::default(),
            data: Section { offset: offset + PIPE_HEADER_SIZE, size: 0 },
        };
        if form == Form::File {
            start.attr_stride = cursor.u64()?;
            start.attrs = Section::read(&mut cursor)?;
            start.data = Section::read(&mut cursor)?;
            let _event_types = Section::read(&mut cursor)?;
            if size == FILE_HEADER_SIZE {
                start.feature_words = cursor.take(32)?.try_into().ok();
            }
        }
        Ok(start)
    }

    /// The features that the header says there are, ascending.
    ///
    /// A C bitmap is an array of `unsigned long`. Of a little-endian recorder its bytes are the
    /// same whatever the size of those; of a big-endian one they are not. perf tells by the bit
    /// that every version since 2.6.38 sets, HOSTNAME (`perf_file_header__read` in
    /// `tools/perf/util/header.c`); those before it set the lowest bits alone.
    pub fn features(&self) -> Vec<Feature> {
        let Some(bytes) = self.feature_words else { return Vec::new() };
        let with_words_of = |size: usize| {
            let bit = |&bit: &u16| {
                let (word, bit) = (usize::from(bit) / (8 * size), usize::from(bit) % (8 * size));
                let byte = match self.order {
                    ByteOrder::Little => bit / 8,
                    ByteOrder::Big => size - 1 - bit / 8,
                };
                bytes[word * size + byte] >> (bit % 8) & 1 == 1
            };
            let bits = (0..Feature::COUNT).filter(bit);
            bits.map(|bit| Feature(bit as u8)).collect::<Vec<_>>()
        };
        let of_64 = with_words_of(8);
        let of_32 = with_words_of(4);
        let is_older = || of_64.iter().all(|feature| feature.0 >= 32);
        let has_hostname = |features: &[Feature]| features.contains(&Feature::HOSTNAME);
        match !has_hostname(&of_64) && (has_hostname(&of_32) || is_older()) {
            true => of_32,
            false => of_64,
        }
    }
}

/// Where the header of a pipe begins if what a recorder printed stands before it:
/// `perf record -o - 2>&1` mixes both.
fn behind_text(bytes: &[u8]) -> Option<usize> {
    let begins_with_magic = |bytes: &[u8]| {
        [MAGIC_LITTLE, MAGIC_BIG, MAGIC_V1].iter().any(|magic| bytes.starts_with(magic))
    };
    if begins_with_magic(bytes) {
        return None;
    }
    let window = &bytes[..bytes.len().min(Start::LOOK_AHEAD as usize)];
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || *byte >= 128;
    let text = window.iter().take_while(|byte| is_text(byte)).count();
    // The magic is letters too. A line ends before it.
    let newline = |&at: &usize| window[at - 1] == b'\n';
    (1..=text).filter(newline).find(|&at| {
        let size = window.get(at + MAGIC_SIZE..at + 16);
        begins_with_magic(&window[at..])
            && size.is_some_and(|size| size.contains(&(PIPE_HEADER_SIZE as u8)))
    })
}

fn byte_order(start: &[u8], offset: u64) -> Result<ByteOrder, DecodeError> {
    match start.first_chunk::<MAGIC_SIZE>() {
        Some(&MAGIC_LITTLE) => Ok(ByteOrder::Little),
        Some(&MAGIC_BIG) => Ok(ByteOrder::Big),
        // Version 1 has the same magic in both orders. The header's size tells: it is small.
        Some(&MAGIC_V1) => Ok(match start.get(MAGIC_SIZE..).and_then(|size| size.first_chunk()) {
            Some(size) if u64::from_le_bytes(*size) > u64::from_be_bytes(*size) => ByteOrder::Big,
            _ => ByteOrder::Little,
        }),
        None if !start.is_empty()
            && [MAGIC_LITTLE, MAGIC_BIG, MAGIC_V1].iter().any(|magic| magic.starts_with(start)) =>
        {
            let end = offset + start.len() as u64;
            Err(DecodeErrorKind::Truncated { what: "the file header" }.at(end))
        }
        _ => {
            let first_bytes = start[..start.len().min(4)].to_vec();
            Err(DecodeErrorKind::NotPerfData { first_bytes }.at(0))
        }
    }
}
