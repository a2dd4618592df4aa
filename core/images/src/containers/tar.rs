//! tar: POSIX.1 (ustar, pax) and what GNU tar adds ("tar-format", "Basic Tar Format" in its manual).
//!
//! Every member is a header of 512 bytes, its bytes, and zeros up to the next 512. Regular files
//! are given, sparse ones with their holes (`sparse.rs`); links, folders and devices have no bytes and are
//! passed over. Of sparse files whose map cannot be read, or that are too long, it is said.

use super::sparse::{Map, MapPlace, Run, ZEROS};
use super::{Container, ContainerError, Part, collect, member_name, take};

/// Header and padding come in these.
pub(super) const BLOCK: usize = 512;
const FORM: &str = "tar";
/// Bytes of a member that tells of the next one: a name, or pax's records, among them a map of a sparse
/// file.
const MAX_EXTENSION: u64 = 1 << 20;
/// A sparse file's map in front of its bytes is no longer.
const MAX_MAP: usize = 256 << 10;

/// Whether a file that begins with these bytes is a tar archive: its first header has the right
/// checksum. Older forms have no other mark.
pub(super) fn begins_archive(first_bytes: &[u8]) -> bool {
    first_bytes.first_chunk().is_some_and(|block| Header(block).is_valid())
}

#[derive(Default)]
pub(super) struct Tar {
    place: Place,
    field: Vec<u8>,
    /// What extensions say of the next member.
    next_name: Option<Vec<u8>>,
    next_size: Option<u64>,
    next_sparse: Option<Map>,
    /// Of the member, if it is sparse: what is still to be given, last first.
    runs: Vec<Run>,
}

/// What the next bytes belong to.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Header,
    /// A long name, or pax's records.
    Extension {
        kind: Extension,
        size: u64,
    },
    File {
        left: u64,
        padding: u64,
    },
    /// The rest of the map of a sparse file, of which so much is stored.
    SparseMap {
        rest: MapRest,
        stored: u64,
    },
    /// A file that is given by its runs.
    Sparse {
        padding: u64,
    },
    Skipped {
        left: u64,
    },
    /// Behind the end: whatever pads the tape.
    Behind,
}

/// Where the rest of a map is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MapRest {
    /// In blocks behind the header.
    Blocks,
    /// In the first blocks of what is stored.
    Front,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extension {
    LongName,
    Pax,
}

impl Tar {
    fn header(&mut self, block: &[u8; BLOCK]) -> Result<Option<Part<'static>>, ContainerError> {
        let header = Header(block);
        if block.iter().all(|&byte| byte == 0) {
            self.place = Place::Behind;
            return Ok(None);
        }
        if !header.is_valid() {
            return Err(damaged("a header's checksum does not match"));
        }
        let size = header.size().ok_or(damaged("a member's size cannot be read"))?;
        let kind = match header.kind() {
            b'L' => Some(Extension::LongName),
            b'x' => Some(Extension::Pax),
            _ => None,
        };
        if let Some(kind) = kind {
            if size > MAX_EXTENSION {
                return Err(damaged("a name is too long"));
            }
            self.place = Place::Extension { kind, size };
            return Ok(None);
        }
        let size = self.next_size.take().unwrap_or(size);
        let name = self.next_name.take();
        let sparse = self.next_sparse.take();
        let padding = size.wrapping_neg() % BLOCK as u64;
        let is_file = matches!(header.kind(), b'0' | b'\0' | b'7');
        let name = name.unwrap_or_else(|| header.name());
        if header.kind() == b'S' || (is_file && sparse.is_some()) {
            let (map, has_more) = match sparse {
                Some(map) => (map, false),
                None => Map::of_header(block),
            };
            return Ok(self.begin_sparse(map, has_more, name, size));
        }
        // Before POSIX, a folder was a file whose name ends so.
        if !is_file || name.ends_with(b"/") {
            let left = if header.has_bytes() { size.saturating_add(padding) } else { 0 };
            self.place = Place::Skipped { left };
            return Ok(None);
        }
        self.place = Place::File { left: size, padding };
        Ok(Some(Part::Begin { name: member_name(&name) }))
    }

    fn begin_sparse(
        &mut self,
        map: Map,
        has_more: bool,
        name: Vec<u8>,
        stored: u64,
    ) -> Option<Part<'static>> {
        let rest = match map.place() {
            _ if has_more => Some(MapRest::Blocks),
            MapPlace::Bytes => Some(MapRest::Front),
            MapPlace::Headers | MapPlace::Nowhere => None,
        };
        match rest {
            Some(rest) => {
                (self.next_sparse, self.next_name) = (Some(map), Some(name));
                self.place = Place::SparseMap { rest, stored };
                None
            }
            None => Some(self.begin_runs(&map, &name, stored)),
        }
    }

    /// The map is whole: begins the member, or passes it over.
    fn begin_runs(&mut self, map: &Map, name: &[u8], stored: u64) -> Part<'static> {
        let padding = stored.wrapping_neg() % BLOCK as u64;
        let name = member_name(name);
        match map.runs(stored) {
            Ok(runs) => {
                self.runs = runs;
                self.place = Place::Sparse { padding };
                Part::Begin { name }
            }
            Err(why) => {
                self.place = Place::Skipped { left: stored.saturating_add(padding) };
                Part::Lost { name, why }
            }
        }
    }

    /// Takes in a block of a sparse file's map.
    fn map_block(
        &mut self,
        rest: MapRest,
        stored: u64,
    ) -> Result<Option<Part<'static>>, ContainerError> {
        let Some(mut map) = self.next_sparse.take() else { return Ok(None) };
        let mut stored = stored;
        let has_more = match rest {
            MapRest::Blocks => {
                let block = std::mem::take(&mut self.field);
                block.first_chunk().is_some_and(|block| map.add_block(block))
            }
            MapRest::Front => !map.add_front(&self.field),
        };
        if has_more && self.field.len() < MAX_MAP {
            self.next_sparse = Some(map);
            return Ok(None);
        }
        if rest == MapRest::Front {
            // It is a part of what is stored.
            let length = self.field.len() as u64;
            stored = stored.checked_sub(length).ok_or(damaged("a sparse file is too short"))?;
            self.field.clear();
        }
        let name = self.next_name.take().unwrap_or_default();
        Ok(Some(self.begin_runs(&map, &name, stored)))
    }

    fn extension(&mut self, kind: Extension, bytes: &[u8]) {
        match kind {
            Extension::LongName => self.next_name = Some(until_zero(bytes).to_owned()),
            Extension::Pax => {
                for (key, value) in PaxRecords(bytes) {
                    match key {
                        b"path" => self.next_name = Some(value.to_owned()),
                        b"size" => {
                            self.next_size = std::str::from_utf8(value)
                                .ok()
                                .and_then(|digits| digits.parse().ok());
                        }
                        _ => {
                            let Some(key) = key.strip_prefix(b"GNU.sparse.") else { continue };
                            self.next_sparse.get_or_insert_default().add_record(key, value);
                            if key == b"name" {
                                self.next_name = Some(value.to_owned());
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Container for Tar {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        loop {
            match &mut self.place {
                Place::Header => {
                    if !collect(&mut self.field, BLOCK, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let field = std::mem::take(&mut self.field);
                    let Some(block) = field.first_chunk() else { return Ok(Part::NeedsInput) };
                    if let Some(part) = self.header(block)? {
                        return Ok(part);
                    }
                }
                &mut Place::Extension { kind, size } => {
                    let padded = size.next_multiple_of(BLOCK as u64) as usize;
                    if !collect(&mut self.field, padded, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let field = std::mem::take(&mut self.field);
                    self.extension(kind, field.get(..size as usize).unwrap_or_default());
                    self.place = Place::Header;
                }
                Place::File { left: 0, padding } => {
                    self.place = Place::Skipped { left: *padding };
                    return Ok(Part::End);
                }
                Place::File { left, .. } => {
                    return Ok(Part::of_bytes(take(left, input)));
                }
                &mut Place::SparseMap { rest, stored } => {
                    let length = match rest {
                        MapRest::Blocks => BLOCK,
                        MapRest::Front => (self.field.len() + 1).next_multiple_of(BLOCK),
                    };
                    if !collect(&mut self.field, length, input) {
                        return Ok(Part::NeedsInput);
                    }
                    if let Some(part) = self.map_block(rest, stored)? {
                        return Ok(part);
                    }
                }
                &mut Place::Sparse { padding } => match self.runs.last_mut() {
                    None => {
                        self.place = Place::Skipped { left: padding };
                        return Ok(Part::End);
                    }
                    Some(Run::Hole(0) | Run::Data(0)) => {
                        self.runs.pop();
                    }
                    Some(Run::Hole(left)) => {
                        return Ok(Part::Bytes(take(left, &mut &ZEROS[..])));
                    }
                    Some(Run::Data(left)) => {
                        return Ok(Part::of_bytes(take(left, input)));
                    }
                },
                Place::Skipped { left: 0 } => self.place = Place::Header,
                Place::Skipped { left } => {
                    if take(left, input).is_empty() {
                        return Ok(Part::NeedsInput);
                    }
                }
                Place::Behind => {
                    *input = &[];
                    return Ok(Part::NeedsInput);
                }
            }
        }
    }

    fn finish(&mut self) -> Result<(), ContainerError> {
        match self.place {
            Place::Behind => Ok(()),
            // Two blocks of zeros should end it; some writers leave them out.
            Place::Header | Place::Skipped { left: 0 } if self.field.is_empty() => Ok(()),
            _ => Err(ContainerError::Truncated { form: FORM }),
        }
    }
}

pub(super) fn damaged(what: &'static str) -> ContainerError {
    ContainerError::Damaged { form: FORM, what }
}

struct Header<'a>(&'a [u8; BLOCK]);

impl Header<'_> {
    const CHECKSUM: std::ops::Range<usize> = 148..156;

    fn is_valid(&self) -> bool {
        let stated = octal(&self.0[Self::CHECKSUM]);
        let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
        let field: u64 = self.0[Self::CHECKSUM].iter().map(|&byte| u64::from(byte)).sum();
        // The field itself counts as spaces.
        stated == Some(sum - field + 8 * u64::from(b' '))
    }

    fn kind(&self) -> u8 {
        self.0[156]
    }

    /// Links and devices may state a size and have no bytes.
    fn has_bytes(&self) -> bool {
        !matches!(self.kind(), b'1'..=b'6')
    }

    fn size(&self) -> Option<u64> {
        number(&self.0[124..136])
    }

    fn name(&self) -> Vec<u8> {
        let name = until_zero(&self.0[..100]);
        let prefix = until_zero(&self.0[345..500]);
        let has_prefix = &self.0[257..263] == b"ustar\0" && !prefix.is_empty();
        if has_prefix { [prefix, b"/", name].concat() } else { name.to_owned() }
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A number of 12 bytes: octal digits, or what GNU tar writes where those are too few: a first byte with the highest bit
/// says that the rest is a number, big-endian.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    if field.first()? & 0x80 == 0 {
        return octal(field);
    }
    let (high, low) = field.split_at_checked(4)?;
    let is_small = high[0] == 0x80 && high[1..].iter().all(|&byte| byte == 0);
    let number = low.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    (is_small && low.len() == 8 && number <= i64::MAX as u64).then_some(number)
}

/// Octal digits between spaces or zeros; an empty field is 0.
fn octal(field: &[u8]) -> Option<u64> {
    let text = until_zero(field).trim_ascii();
    text.iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// `LENGTH KEY=VALUE\n`, the length counting all of it.
struct PaxRecords<'a>(&'a [u8]);

impl<'a> Iterator for PaxRecords<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let space = self.0.iter().position(|&byte| byte == b' ')?;
        let length: usize = std::str::from_utf8(&self.0[..space]).ok()?.parse().ok()?;
        let (record, rest) = self.0.split_at_checked(length)?;
        let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|&byte| byte == b'=')?;
        self.0 = rest;
        Some((&record[..equals], &record[equals + 1..]))
    }
}
