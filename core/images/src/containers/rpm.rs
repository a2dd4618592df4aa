//! rpm (rpm's docs/manual/format.md): a lead of 96 bytes, a header with signatures, padded to 8 bytes, a
//! header that describes the package, and the payload, which is packed and is a cpio archive inside.
//!
//! A header is 8e ad e8 01, four bytes, how many entries it has and how many bytes of data, both big-endian; then
//! entries of 16 bytes and the data. What they say is not needed: the payload shows itself what it is.

use super::{Container, ContainerError, Part, collect, take};

pub(super) const MAGIC: [u8; 4] = [0xed, 0xab, 0xee, 0xdb];
const FORM: &str = "rpm";
const LEAD: usize = 96;
const HEADER: usize = 16;
const HEADER_MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 0x01];

#[derive(Default)]
pub(super) struct Rpm {
    place: Place,
    field: Vec<u8>,
}

/// What the next bytes belong to.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Lead,
    Header(Header),
    /// What a header holds.
    Entries {
        of: Header,
        left: u64,
    },
    Payload,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    Signatures,
    Package,
}

impl Header {
    /// How many bytes follow the beginning of one.
    fn length(self, field: &[u8]) -> Option<u64> {
        let field: &[u8; HEADER] = field.try_into().ok()?;
        if !field.starts_with(&HEADER_MAGIC) {
            return None;
        }
        let number = |at: usize| field[at..at + 4].iter().fold(0, |n, &b| n << 8 | u64::from(b));
        let length = number(8) * 16 + number(12);
        Some(match self {
            Self::Signatures => length.next_multiple_of(8),
            Self::Package => length,
        })
    }
}

impl Container for Rpm {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        loop {
            match &mut self.place {
                Place::Lead => {
                    if !collect(&mut self.field, LEAD, input) {
                        return Ok(Part::NeedsInput);
                    }
                    self.field.clear();
                    self.place = Place::Header(Header::Signatures);
                }
                &mut Place::Header(of) => {
                    if !collect(&mut self.field, HEADER, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let what = "a header cannot be read";
                    let left = of
                        .length(&self.field)
                        .ok_or(ContainerError::Damaged { form: FORM, what })?;
                    self.field.clear();
                    self.place = Place::Entries { of, left };
                }
                &mut Place::Entries { of: Header::Signatures, left: 0 } => {
                    self.place = Place::Header(Header::Package);
                }
                Place::Entries { left: 0, .. } => {
                    self.place = Place::Payload;
                    return Ok(Part::Begin { name: String::new() });
                }
                Place::Entries { left, .. } => {
                    if take(left, input).is_empty() {
                        return Ok(Part::NeedsInput);
                    }
                }
                Place::Payload => {
                    let piece = std::mem::take(input);
                    return Ok(if piece.is_empty() {
                        Part::NeedsInput
                    } else {
                        Part::Bytes(piece)
                    });
                }
            }
        }
    }

    fn finish(&mut self) -> Result<(), ContainerError> {
        match self.place {
            Place::Payload => Ok(()),
            _ => Err(ContainerError::Truncated { form: FORM }),
        }
    }
}
