//! From bytes of a snapshot to characters of a link, and back.
//!
//! ```text
//! p1.  base64url without padding of:
//!  0  u8     version: 1
//!  1  u32le  length of all these bytes
//!  5  u32le  CRC-32 of bytes 0 to 4 and of those from 9 on
//!  9  varint length of the deflated numbers; the numbers
//!  .  varint length of the deflated texts; the texts
//!  .  what does not deflate: the rest
//! ```
//!
//! Numbers and texts deflate apart from each other, because each has its own Huffman code: that
//! is 4 to 7 % shorter than one stream.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::fields::{put_varint, take_varint};
use super::{MAX_INFLATED, SnapshotError, VERSION};

const PREFIX: &str = "p1.";
const HEADER: usize = 9;

/// What a snapshot consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub numbers: Vec<u8>,
    pub texts: Vec<u8>,
    /// Identities: nothing makes them shorter.
    pub raw: Vec<u8>,
}

impl Body {
    pub fn len(&self) -> usize {
        self.numbers.len() + self.texts.len() + self.raw.len()
    }
}

/// The payload of a body.
pub(super) fn pack(body: &Body) -> String {
    let mut bytes = vec![0; HEADER];
    for part in [&body.numbers, &body.texts] {
        let deflated = deflate(part);
        put_varint(&mut bytes, deflated.len() as u64);
        bytes.extend(deflated);
    }
    bytes.extend_from_slice(&body.raw);
    bytes[0] = VERSION;
    let length = bytes.len() as u32;
    bytes[1..5].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&bytes);
    bytes[5..HEADER].copy_from_slice(&checksum.to_le_bytes());
    let mut payload = PREFIX.to_owned();
    URL_SAFE_NO_PAD.encode_string(&bytes, &mut payload);
    payload
}

/// The body of a payload.
///
/// What follows the payload is left alone: mail programs and chats append punctuation to links,
/// and break them into lines.
pub(super) fn unpack(text: &str) -> Result<Body, SnapshotError> {
    let text = text.trim().trim_start_matches('#');
    let encoded = text.strip_prefix(PREFIX).ok_or_else(|| other_version(text))?;
    let characters: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .collect();
    let arrived = PREFIX.len() + characters.len();

    // Twelve characters are the nine bytes of the header.
    let header = characters.get(..12).and_then(|start| URL_SAFE_NO_PAD.decode(start).ok());
    let Some(header) = header else {
        return Err(SnapshotError::CutOff { arrived, expected: None });
    };
    if header[0] > VERSION {
        return Err(SnapshotError::NewerVersion { needed: u32::from(header[0]) });
    }
    let length = u32_at(&header, 1) as usize;
    let expected = length.saturating_mul(4).div_ceil(3);
    let Some(characters) = characters.get(..expected) else {
        let expected = Some(PREFIX.len() + expected);
        return Err(SnapshotError::CutOff { arrived, expected });
    };
    let bytes = URL_SAFE_NO_PAD.decode(characters).map_err(|_| SnapshotError::Damaged)?;
    if bytes.len() < HEADER || bytes[0] != VERSION || u32_at(&bytes, 5) != checksum(&bytes) {
        return Err(SnapshotError::Damaged);
    }

    let mut rest = &bytes[HEADER..];
    let numbers = inflate_next(&mut rest, MAX_INFLATED)?;
    let texts = inflate_next(&mut rest, MAX_INFLATED - numbers.len())?;
    Ok(Body { numbers, texts, raw: rest.to_vec() })
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    // Writing into memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn inflate_next(rest: &mut &[u8], limit: usize) -> Result<Vec<u8>, SnapshotError> {
    let invalid = SnapshotError::Invalid { what: "compressed data" };
    let length = usize::try_from(take_varint(rest)?).map_err(|_| invalid.clone())?;
    let Some((deflated, after)) = rest.split_at_checked(length) else { return Err(invalid) };
    *rest = after;
    let mut bytes = Vec::new();
    let read =
        flate2::read::DeflateDecoder::new(deflated).take(limit as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length <= limit => Ok(bytes),
        _ => Err(invalid),
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
