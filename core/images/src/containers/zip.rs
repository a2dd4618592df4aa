//! zip (APPNOTE.TXT 6.3), read in order: the header before each member says what is needed, so the
//! list at the end is not looked at.
//!
//! Stored and deflated members are given, with their CRC-32 checked. Passed over: encrypted ones
//! and other methods. Of a member that is not deflated and whose size only follows behind it nobody
//! can tell where it ends; that, and split archives, are errors.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Container, ContainerError, Part, collect, member_name, take};

const FORM: &str = "zip";
const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
/// Bytes of a local header before name and extra fields.
const HEADER: usize = 30;
const FLAG_ENCRYPTED: u16 = 1;
/// Sizes and checksum follow on the member.
const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// Number of the extra field that holds sizes of 8 bytes.
const ZIP64: u64 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const OUT: usize = 64 << 10;

/// Whether a file that begins with these bytes is a zip archive with a member.
pub(super) fn begins_archive(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(&LOCAL_HEADER)
}

pub(super) struct Zip {
    place: Place,
    field: Vec<u8>,
    member: Member,
    inflate: Decompress,
    out: Vec<u8>,
    crc: Crc,
}

impl Default for Zip {
    fn default() -> Self {
        Self {
            place: Place::Header,
            field: Vec::new(),
            member: Member::default(),
            inflate: Decompress::new(false),
            out: vec![0; OUT],
            crc: Crc::new(),
        }
    }
}

/// What the next bytes belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Stored {
        left: u64,
    },
    /// `left` packed bytes; `None` where the data itself says where it ends.
    Deflated {
        left: Option<u64>,
    },
    Descriptor,
    Skipped {
        left: u64,
    },
    /// In the list at the end.
    Behind,
}

/// What the header of a member says that is needed behind it.
#[derive(Clone, Copy, Default)]
struct Member {
    crc: u32,
    has_descriptor: bool,
    /// Its descriptor has sizes of 8 bytes.
    is_zip64: bool,
}

impl Zip {
    /// Reads a header with its name and extra fields; the name if the member is given.
    fn header(&mut self, header: &[u8]) -> Result<Option<String>, ContainerError> {
        let u16_at = |at| number(header, at, 2) as u16;
        let (flags, method) = (u16_at(6), u16_at(8));
        let name_end = HEADER + usize::from(u16_at(26));
        let name = member_name(header.get(HEADER..name_end).unwrap_or_default());
        let extra = zip64_field(header.get(name_end..).unwrap_or_default());
        let mut packed = number(header, 18, 4);
        if packed == u64::from(u32::MAX) {
            // Both sizes are in the extra field, the unpacked one first.
            packed = extra.map_or(packed, |extra| number(extra, 8, 8));
        }
        let has_descriptor = flags & FLAG_DESCRIPTOR != 0;
        self.member =
            Member { crc: number(header, 14, 4) as u32, has_descriptor, is_zip64: extra.is_some() };
        self.crc.reset();
        let is_plain = flags & FLAG_ENCRYPTED == 0;
        self.place = match method {
            DEFLATED if is_plain => {
                self.inflate.reset(false);
                Place::Deflated { left: (!has_descriptor).then_some(packed) }
            }
            // With a descriptor it has to be empty: its checksum tells if it is not.
            STORED if is_plain => Place::Stored { left: packed },
            _ if has_descriptor => {
                return Err(damaged("a member does not say where it ends"));
            }
            _ => Place::Skipped { left: packed },
        };
        let is_given = !matches!(self.place, Place::Skipped { .. });
        Ok(is_given.then_some(name))
    }

    /// Inflates a piece; `None` if more input is needed, an empty one at the end.
    fn inflate(
        &mut self,
        left: Option<u64>,
        input: &mut &[u8],
    ) -> Result<Option<usize>, ContainerError> {
        let most = left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let given = input.len().min(most);
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(&input[..given], &mut self.out, FlushDecompress::None)
            .map_err(|_| damaged("a member cannot be inflated"))?;
        let read = self.inflate.total_in() - read;
        let written = (self.inflate.total_out() - written) as usize;
        *input = input.get(read as usize..).unwrap_or_default();
        let left = left.map(|left| left - read);
        self.place = Place::Deflated { left };
        if status == Status::StreamEnd {
            if left.is_some_and(|left| left > 0) {
                return Err(damaged("a member is longer than its data"));
            }
            self.place = Place::Stored { left: 0 };
        } else if read == 0 && written == 0 {
            return match left {
                Some(0) => Err(damaged("a member ends early")),
                _ => Ok(None),
            };
        }
        Ok(Some(written))
    }

    /// What follows on a member: its checksum, where it was not said before.
    fn descriptor(&mut self, input: &mut &[u8]) -> Result<bool, ContainerError> {
        let sizes = if self.member.is_zip64 { 16 } else { 8 };
        if !collect(&mut self.field, 4, input) {
            return Ok(false);
        }
        // Its signature is optional.
        let signature = if self.field.starts_with(&DESCRIPTOR) { 4 } else { 0 };
        if !collect(&mut self.field, signature + 4 + sizes, input) {
            return Ok(false);
        }
        self.member.crc = number(&self.field, signature, 4) as u32;
        self.field.clear();
        Ok(true)
    }

    fn check(&mut self) -> Result<(), ContainerError> {
        self.place = Place::Header;
        if self.crc.sum() == self.member.crc {
            Ok(())
        } else {
            Err(damaged("a member's checksum does not match"))
        }
    }
}

impl Container for Zip {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        loop {
            match self.place {
                Place::Header => {
                    if !collect(&mut self.field, 4, input) {
                        return Ok(Part::NeedsInput);
                    }
                    if !self.field.starts_with(&LOCAL_HEADER) {
                        if !self.field.starts_with(b"PK") {
                            return Err(damaged("a header cannot be read"));
                        }
                        self.place = Place::Behind;
                        continue;
                    }
                    if !collect(&mut self.field, HEADER, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let names = number(&self.field, 26, 2) + number(&self.field, 28, 2);
                    if !collect(&mut self.field, HEADER + names as usize, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let header = std::mem::take(&mut self.field);
                    if let Some(name) = self.header(&header)? {
                        return Ok(Part::Begin { name });
                    }
                }
                Place::Stored { left: 0 } if self.member.has_descriptor => {
                    self.place = Place::Descriptor;
                }
                Place::Stored { left: 0 } => {
                    self.check()?;
                    return Ok(Part::End);
                }
                Place::Stored { mut left } => {
                    let taken = take(&mut left, input);
                    self.place = Place::Stored { left };
                    self.crc.update(taken);
                    return Ok(Part::of_bytes(taken));
                }
                Place::Deflated { left } => match self.inflate(left, input)? {
                    None => return Ok(Part::NeedsInput),
                    Some(0) => {}
                    Some(written) => {
                        let piece = self.out.get(..written).unwrap_or_default();
                        self.crc.update(piece);
                        return Ok(Part::Bytes(piece));
                    }
                },
                Place::Descriptor => {
                    if !self.descriptor(input)? {
                        return Ok(Part::NeedsInput);
                    }
                    self.check()?;
                    return Ok(Part::End);
                }
                Place::Skipped { left: 0 } => self.place = Place::Header,
                Place::Skipped { mut left } => {
                    let taken = take(&mut left, input);
                    self.place = Place::Skipped { left };
                    if taken.is_empty() {
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
            _ => Err(ContainerError::Truncated { form: FORM }),
        }
    }
}

fn damaged(what: &'static str) -> ContainerError {
    ContainerError::Damaged { form: FORM, what }
}

/// Little-endian; 0 where there are not so many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(length)).unwrap_or_default();
    field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The field of zip64 among the extra fields of a header.
fn zip64_field(mut fields: &[u8]) -> Option<&[u8]> {
    while fields.len() >= 4 {
        let end = 4 + number(fields, 2, 2) as usize;
        let (field, rest) = fields.split_at_checked(end)?;
        if number(field, 0, 2) == ZIP64 {
            return field.get(4..);
        }
        fields = rest;
    }
    None
}
