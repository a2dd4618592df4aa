//! From streams of a snapshot to characters of a link, and back.
//!
//! ```text
//! p1.  base64url without padding of:
//!  0  u8     version: 1
//!  1  u32le  length of all these bytes
//!  5  u32le  CRC-32 of bytes 0 to 4 and of those from 9 on
//!  9  u8     how the streams are packed: 0 deflated, 1 modelled
//! 10  .      the streams
//! ```
//!
//! Modelling makes them a third shorter than deflating does, and takes half a microsecond a byte. So
//! links of a limited length are modelled, and what may be of any length, as saved pages, only if it
//! is small. Else they are deflated: numbers and texts apart from each other, because each has its
//! own Huffman code.

use std::cell::RefCell;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use perftab_perfdata::slice::{Slice, at_once};

use super::coder::Encoder;
use super::fields::{Field, Kind, Streams, put_varint, take_varint};
use super::{MAX_INFLATED, SnapshotError, VERSION, carrier, coder};

const PREFIX: &str = "p1.";
const HEADER: usize = 9;
const INVALID: SnapshotError = SnapshotError::Invalid { what: "compressed data" };

/// To model a byte takes about as long as to take so many rows of samples.
const ROWS_OF_A_SYMBOL: usize = 64;
/// The same of what is deflated.
const ROWS_OF_A_DEFLATED_BYTE: usize = 4;

/// How streams are packed. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Deflated = 0,
    Modelled = 1,
}

impl Method {
    /// For streams of so many bytes that may have so many characters.
    pub fn of(length: usize, characters: usize) -> Self {
        let most = match characters {
            usize::MAX => coder::FEW_SYMBOLS,
            _ => coder::MAX_SYMBOLS,
        };
        if length > most { Self::Deflated } else { Self::Modelled }
    }
}

/// The payload of streams, at once.
pub(super) fn pack(streams: &Streams, method: Method) -> String {
    let encoder = RefCell::default();
    at_once(async |slice| pack_in_slices(streams, method, &encoder, slice).await)
}

/// The same in slices of rows of samples.
pub(super) async fn pack_in_slices(
    streams: &Streams,
    method: Method,
    encoder: &RefCell<Encoder>,
    slice: &Slice,
) -> String {
    if method == Method::Modelled {
        let bytes = coder::encode(streams, encoder, slice.in_units_of(ROWS_OF_A_SYMBOL)).await;
        if streams.len() <= coder::most_symbols(bytes.len()) {
            return seal(&[&[Method::Modelled as u8][..], &bytes].concat());
        }
    }
    let bytes = deflate(streams, &slice.in_units_of(ROWS_OF_A_DEFLATED_BYTE)).await;
    seal(&[&[Method::Deflated as u8][..], &bytes].concat())
}

/// The payload of streams that are packed.
pub(super) fn seal(packed: &[u8]) -> String {
    let mut bytes = [&[VERSION][..], &[0; HEADER - 1], packed].concat();
    let length = bytes.len() as u32;
    bytes[1..5].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&bytes);
    bytes[5..HEADER].copy_from_slice(&checksum.to_le_bytes());
    let mut payload = PREFIX.to_owned();
    URL_SAFE_NO_PAD.encode_string(&bytes, &mut payload);
    payload
}

/// The streams of a payload.
///
/// What follows the payload is left alone: mail programs and chats append punctuation to links,
/// break them into lines, and quote those.
pub(super) fn unpack(text: &str) -> Result<Streams, SnapshotError> {
    let text = text.trim().trim_start_matches('#');
    let encoded = text.strip_prefix(PREFIX).ok_or_else(|| other_version(text))?;
    let characters: Vec<u8> = carrier::characters(encoded.as_bytes()).collect();
    let arrived = PREFIX.len() + characters.len();

    // Twelve characters are the nine bytes of the header.
    let header = characters.get(..12).and_then(|start| URL_SAFE_NO_PAD.decode(start).ok());
    let Some(header) = header else {
        return Err(SnapshotError::CutOff { arrived, expected: None });
    };
    if header[0] > VERSION {
        return Err(SnapshotError::NewerVersion { needed: u32::from(header[0]) });
    }
    // In WebAssembly a usize has 32 bits.
    let expected = (u64::from(u32_at(&header, 1)) * 4).div_ceil(3);
    let whole = usize::try_from(expected).ok().and_then(|expected| characters.get(..expected));
    let Some(characters) = whole else {
        let expected = Some(PREFIX.len() as u64 + expected);
        return Err(SnapshotError::CutOff { arrived, expected });
    };
    let bytes = URL_SAFE_NO_PAD.decode(characters).map_err(|_| SnapshotError::Damaged)?;
    if bytes.len() < HEADER || bytes[0] != VERSION || u32_at(&bytes, 5) != checksum(&bytes) {
        return Err(SnapshotError::Damaged);
    }

    match bytes[HEADER..].split_first() {
        Some((0, rest)) => take_deflated(rest),
        Some((1, rest)) => coder::decode(rest),
        _ => Err(INVALID),
    }
}

/// A body. The numbers begin with the number of streams and their lengths. The streams of a part stand one
/// after the other. In slices of bytes.
async fn deflate(streams: &Streams, slice: &Slice) -> Vec<u8> {
    let (mut numbers, mut texts, mut noise) = (Vec::new(), Vec::new(), Vec::new());
    put_varint(&mut numbers, Field::COUNT as u64);
    for (_, stream) in streams.iter() {
        put_varint(&mut numbers, stream.len() as u64);
    }
    for (field, stream) in streams.iter() {
        match field.kind() {
            Kind::Texts | Kind::Sorted => texts.extend(stream),
            // Nothing makes it shorter.
            Kind::Noise => noise.extend(stream),
            _ => numbers.extend(stream),
        }
    }
    slice.expect(numbers.len() + texts.len());
    let mut bytes = Vec::new();
    for part in [numbers, texts] {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let mut all = 0..part.len();
        while let Some(range) = slice.part(&mut all).await {
            // Writing into memory does not fail.
            let _ = encoder.write_all(&part[range]);
        }
        let deflated = encoder.finish().unwrap_or_default();
        put_varint(&mut bytes, deflated.len() as u64);
        bytes.extend(deflated);
    }
    bytes.append(&mut noise);
    bytes
}

fn take_deflated(mut rest: &[u8]) -> Result<Streams, SnapshotError> {
    let numbers = inflate_next(&mut rest, MAX_INFLATED)?;
    let texts = inflate_next(&mut rest, MAX_INFLATED - numbers.len())?;
    let (mut numbers, mut texts, mut noise) = (numbers.as_slice(), texts.as_slice(), rest);
    let count = take_varint(&mut numbers)?;
    // Each length is a byte at least.
    if count > numbers.len() as u64 {
        return Err(INVALID);
    }
    let mut lengths = Vec::new();
    for _ in 0..count {
        lengths.push(usize::try_from(take_varint(&mut numbers)?).map_err(|_| INVALID)?);
    }
    let mut streams = Streams::default();
    for (&field, length) in Field::ALL.iter().zip(lengths) {
        let rest = match field.kind() {
            Kind::Texts | Kind::Sorted => &mut texts,
            Kind::Noise => &mut noise,
            _ => &mut numbers,
        };
        let (stream, after) = rest.split_at_checked(length).ok_or(INVALID)?;
        streams.get_mut(field).extend_from_slice(stream);
        *rest = after;
    }
    Ok(streams)
}

fn inflate_next(rest: &mut &[u8], limit: usize) -> Result<Vec<u8>, SnapshotError> {
    let length = usize::try_from(take_varint(rest)?).map_err(|_| INVALID)?;
    let (deflated, after) = rest.split_at_checked(length).ok_or(INVALID)?;
    *rest = after;
    let mut bytes = Vec::new();
    let read =
        flate2::read::DeflateDecoder::new(deflated).take(limit as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length <= limit => Ok(bytes),
        _ => Err(INVALID),
    }
}

/// `p2.…` and so on are newer; everything else is no payload.
fn other_version(text: &str) -> SnapshotError {
    let number = text.strip_prefix('p').and_then(|rest| rest.split_once('.'));
    match number.and_then(|(digits, _)| digits.parse().ok()) {
        Some(needed) if needed > u32::from(VERSION) => SnapshotError::NewerVersion { needed },
        _ => SnapshotError::NotASnapshot,
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[..5]);
    crc.update(&bytes[HEADER..]);
    crc.sum()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}
