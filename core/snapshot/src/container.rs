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
//! own Huffman code. Both take long, so [`PackingTask`]
//! does it in steps.

use std::collections::VecDeque;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::coder::{Encoder, EncodingTask};
use super::fields::{Field, Kind, Streams, put_varint, take_varint};
use super::{MAX_INFLATED, SnapshotError, VERSION, carrier, coder};

const PREFIX: &str = "p1.";
const HEADER: usize = 9;
const INVALID: SnapshotError = SnapshotError::Invalid { what: "compressed data" };

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

/// Streams that are becoming a payload.
pub(super) enum PackingTask {
    Modelled(EncodingTask),
    Deflated(DeflatingTask),
}

impl PackingTask {
    pub fn new(streams: Streams, method: Method, encoder: &mut Encoder) -> Self {
        match method {
            Method::Modelled => Self::Modelled(encoder.begin(streams)),
            Method::Deflated => Self::Deflated(DeflatingTask::new(&streams)),
        }
    }

    /// Goes on for about as long as it takes to model so many bytes; the payload when that was all.
    /// The encoder is the one that it was begun with.
    pub fn step(&mut self, encoder: &mut Encoder, symbols: usize) -> Option<String> {
        let (method, bytes) = match self {
            Self::Modelled(coding) => {
                let (bytes, streams) = encoder.step(coding, symbols)?;
                if streams.len() > coder::most_symbols(bytes.len()) {
                    *self = Self::Deflated(DeflatingTask::new(&streams));
                    return None;
                }
                (Method::Modelled, bytes)
            }
            Self::Deflated(deflating) => {
                let bytes = symbols.saturating_mul(DEFLATED_IN_A_SYMBOL);
                (Method::Deflated, deflating.step(bytes)?)
            }
        };
        Some(seal(&[&[method as u8][..], &bytes].concat()))
    }
}

/// The payload of streams, at once.
pub(super) fn pack(streams: &Streams, method: Method) -> String {
    let mut encoder = Encoder::default();
    let mut packing = PackingTask::new(streams.clone(), method, &mut encoder);
    loop {
        if let Some(payload) = packing.step(&mut encoder, usize::MAX) {
            return payload;
        }
    }
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

/// Bytes that are deflated in about the time that it takes to model one.
const DEFLATED_IN_A_SYMBOL: usize = 16;

/// A body that is being deflated. The numbers begin with the number of streams and their lengths. The
/// streams of a part stand one after the other.
pub(super) struct DeflatingTask {
    /// Numbers, then texts; those that are left.
    parts: VecDeque<Vec<u8>>,
    /// Bytes of the first one that are written.
    done: usize,
    encoder: DeflateEncoder<Vec<u8>>,
    /// Nothing makes it shorter.
    noise: Vec<u8>,
    bytes: Vec<u8>,
}

impl DeflatingTask {
    fn new(streams: &Streams) -> Self {
        let (mut numbers, mut texts, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        put_varint(&mut numbers, Field::COUNT as u64);
        for (_, stream) in streams.iter() {
            put_varint(&mut numbers, stream.len() as u64);
        }
        for (field, stream) in streams.iter() {
            match field.kind() {
                Kind::Texts | Kind::Sorted => texts.extend(stream),
                Kind::Noise => noise.extend(stream),
                _ => numbers.extend(stream),
            }
        }
        let (parts, encoder) = ([numbers, texts].into(), new_encoder());
        Self { parts, done: 0, encoder, noise, bytes: Vec::new() }
    }

    /// Goes on for so many bytes; the body when that was all.
    fn step(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let Some(part) = self.parts.front() else {
            self.bytes.append(&mut self.noise);
            return Some(std::mem::take(&mut self.bytes));
        };
        let to = self.done.saturating_add(bytes.max(1)).min(part.len());
        // Writing into memory does not fail.
        let _ = self.encoder.write_all(&part[self.done..to]);
        self.done = to;
        if to == part.len() {
            let encoder = std::mem::replace(&mut self.encoder, new_encoder());
            let deflated = encoder.finish().unwrap_or_default();
            put_varint(&mut self.bytes, deflated.len() as u64);
            self.bytes.extend(deflated);
            self.parts.pop_front();
            self.done = 0;
        }
        None
    }
}

fn new_encoder() -> DeflateEncoder<Vec<u8>> {
    DeflateEncoder::new(Vec::new(), Compression::best())
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
