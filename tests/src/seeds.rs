//! Seeds for the fuzz targets, taken out of recordings: what of a file is an input of which target
//! ([`crate::fuzz`]).
//!
//! Recordings of file mode with the sections where every recorder puts them are enough here, so
//! nothing of core is needed to find them; of links it is.

use perftab_snapshot as snapshot;

/// Inputs of targets, by the target's name.
pub type Seeds = Vec<(&'static str, Vec<u8>)>;

/// Samples of one recording beyond this teach a fuzzer nothing new.
const SAMPLES: usize = 20;

const RECORD_SAMPLE: u32 = 9;
const RECORD_HEADER_FEATURE: u32 = 80;
const RECORD_COMPRESSED: u32 = 81;
const RECORD_COMPRESSED2: u32 = 83;
const FEATURE_TRACING_DATA: u8 = 1;

/// The file itself, and its parts.
pub fn of_recording(file: &[u8]) -> Seeds {
    let mut seeds = vec![("session_file", file.to_vec())];
    match Parts::find(file) {
        None => seeds.push(("decompress", file.to_vec())),
        Some(parts) => {
            seeds.push(("session_pipe", parts.records.to_vec()));
            parts.features(&mut seeds);
            parts.records(&mut seeds);
        }
    }
    seeds
}

/// A link: its text, what is packed in it, and its streams, as the fuzzer takes them.
pub fn of_link(payload: &str) -> Seeds {
    let mut body = Vec::new();
    for stream in snapshot::streams_of(payload).expect("a whole link") {
        // What does not fit its length teaches nothing that its beginning does not.
        let kept = &stream[..stream.len().min(usize::from(u16::MAX))];
        body.extend((kept.len() as u16).to_le_bytes());
        body.extend_from_slice(kept);
    }
    let packed = sealed_in(payload.strip_prefix("p1.").expect("version 1"));
    let text = format!("https://host/#{payload}").into_bytes();
    vec![("snapshot", text), ("snapshot_packed", packed), ("snapshot_body", body)]
}

/// The bytes behind version, length and checksum: base64url (RFC 4648), of which nine are 12 characters.
fn sealed_in(characters: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let value = |character: u8| ALPHABET.iter().position(|&known| known == character);
    let mut bytes = Vec::new();
    for group in characters.as_bytes()[12..].chunks(4) {
        let bits = group.iter().fold(0, |bits, &c| bits << 6 | value(c).expect("base64url"));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&(bits as u32).to_be_bytes()[1..group.len()]);
    }
    bytes
}

struct Parts<'a> {
    file: &'a [u8],
    is_big: bool,
    attr: &'a [u8],
    records: &'a [u8],
    /// Number, and where the section is.
    features: Vec<(u8, usize, usize)>,
}

impl<'a> Parts<'a> {
    /// `None` if it is no perf.data, or nothing to find parts in.
    fn find(file: &'a [u8]) -> Option<Self> {
        let is_big = match file.get(..8)? {
            b"PERFILE2" => false,
            b"2ELIFREP" => true,
            _ => return None,
        };
        let mut parts = Self { file, is_big, attr: &[], records: &[], features: Vec::new() };
        if parts.word(8)? == 16 {
            parts.records = file.get(16..)?;
            parts.attr = parts.records.get(8..).unwrap_or_default();
            return Some(parts);
        }
        parts.attr = file.get(parts.word(24)?..)?;
        let (begin, size) = (parts.word(40)?, parts.word(48)?);
        let end = begin.checked_add(size)?;
        parts.records = file.get(begin..end.min(file.len()))?;
        let bits = parts.word(72)? as u64;
        let numbers = (0..64).filter(|number| bits >> number & 1 != 0);
        for (place, number) in numbers.enumerate() {
            let (Some(offset), Some(size)) =
                (parts.word(end + 16 * place), parts.word(end + 16 * place + 8))
            else {
                break;
            };
            parts.features.push((number, offset, size));
        }
        Some(parts)
    }

    fn word(&self, at: usize) -> Option<usize> {
        let word = *self.file.get(at..)?.first_chunk()?;
        let word = if self.is_big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) };
        usize::try_from(word).ok()
    }

    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; 4]);
        if self.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn feature(&self, number: u8, payload: &[u8], seeds: &mut Seeds) {
        seeds.push(("features", [&[self.is_big.into(), number], payload].concat()));
        if number == FEATURE_TRACING_DATA {
            let length = payload.len().min(usize::from(u16::MAX));
            let length_bytes = (length as u16).to_le_bytes();
            seeds.push(("tracing_data", [&length_bytes, &payload[..length], &[1; 64]].concat()));
        }
    }

    fn features(&self, seeds: &mut Seeds) {
        for &(number, offset, size) in &self.features {
            let end = offset.saturating_add(size);
            if let Some(payload) = self.file.get(offset..end) {
                self.feature(number, payload, seeds);
            }
        }
    }

    fn records(&self, seeds: &mut Seeds) {
        let mut samples = 0;
        let mut stream = Vec::new();
        let mut rest = self.records;
        while rest.len() >= 8 {
            let sizes = self.u32(rest, 4);
            let size = if self.is_big { sizes & 0xffff } else { sizes >> 16 } as usize;
            let Some((record, after)) = rest.split_at_checked(size.max(8)) else { break };
            rest = after;
            let body = &record[8..];
            match self.u32(record, 0) {
                RECORD_SAMPLE if samples < SAMPLES => {
                    let attr_size = (self.u32(self.attr, 4) as usize).clamp(64, 144);
                    let attr = self.attr.get(..attr_size).unwrap_or_default();
                    seeds.push(("sample", [&[self.is_big.into()], attr, body].concat()));
                    samples += 1;
                }
                RECORD_HEADER_FEATURE if body.len() > 8 => {
                    let number = self.u32(body, if self.is_big { 4 } else { 0 });
                    self.feature(number as u8, &body[8..], seeds);
                }
                RECORD_COMPRESSED => stream.extend_from_slice(body),
                RECORD_COMPRESSED2 => stream.extend_from_slice(body.get(8..).unwrap_or_default()),
                _ => {}
            }
        }
        if !stream.is_empty() {
            seeds.push(("decompress", stream));
        }
    }
}
