//! cpio in its "new" form (Linux, Documentation/driver-api/early-userspace/buffer-format.rst), as rpm and the
//! kernel's initramfs have it: headers of 13 fields of 8 hex digits behind `070701` or `070702`, a name and
//! the bytes, both padded to 4. Regular files are given.

use super::{Container, ContainerError, Part, collect, member_name, take};

const FORM: &str = "cpio";
const MAGIC: usize = 6;
const FIELD: usize = 8;
const HEADER: usize = MAGIC + 13 * FIELD;
const MAX_NAME: u64 = 64 << 10;
const MODE: usize = 1;
const FILE_SIZE: usize = 6;
const NAME_SIZE: usize = 11;
/// S_IFMT and S_IFREG of POSIX.
const KIND: u64 = 0o170_000;
const REGULAR: u64 = 0o100_000;

/// Whether a file that begins with these bytes is a cpio archive.
pub(super) fn begins_archive(first_bytes: &[u8]) -> bool {
    first_bytes.get(..HEADER).is_some_and(|header| {
        has_magic(header) && header[MAGIC..].iter().all(u8::is_ascii_hexdigit)
    })
}

fn has_magic(header: &[u8]) -> bool {
    header.starts_with(b"070701") || header.starts_with(b"070702")
}

#[derive(Default)]
pub(super) struct Cpio {
    place: Place,
    field: Vec<u8>,
}

/// What the next bytes belong to.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Header,
    Name {
        is_file: bool,
        size: u64,
        /// Of the name, with its zero.
        length: usize,
    },
    File {
        left: u64,
        padding: u64,
    },
    Skipped {
        left: u64,
    },
    /// Behind the last member.
    Behind,
}

impl Cpio {
    fn header(header: &[u8]) -> Option<Place> {
        if !has_magic(header) {
            return None;
        }
        let number = |index: usize| {
            let start = MAGIC + index * FIELD;
            let digits = std::str::from_utf8(header.get(start..start + FIELD)?).ok()?;
            u64::from_str_radix(digits, 16).ok()
        };
        let length = number(NAME_SIZE).filter(|length| (1..=MAX_NAME).contains(length))?;
        let is_file = number(MODE)? & KIND == REGULAR;
        Some(Place::Name { is_file, size: number(FILE_SIZE)?, length: length as usize })
    }

    fn name(&mut self, is_file: bool, size: u64, length: usize) -> Option<String> {
        let field = std::mem::take(&mut self.field);
        let name = field.get(..length - 1).unwrap_or_default();
        let padding = size.wrapping_neg() % 4;
        self.place = match (name, is_file) {
            (b"TRAILER!!!", _) => Place::Behind,
            (_, true) => Place::File { left: size, padding },
            (_, false) => Place::Skipped { left: size + padding },
        };
        matches!(self.place, Place::File { .. }).then(|| member_name(name))
    }
}

impl Container for Cpio {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        loop {
            match &mut self.place {
                Place::Header => {
                    if !collect(&mut self.field, HEADER, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let what = "a header cannot be read";
                    self.place = Self::header(&self.field)
                        .ok_or(ContainerError::Damaged { form: FORM, what })?;
                    self.field.clear();
                }
                &mut Place::Name { is_file, size, length } => {
                    let padded = (HEADER + length).next_multiple_of(4) - HEADER;
                    if !collect(&mut self.field, padded, input) {
                        return Ok(Part::NeedsInput);
                    }
                    if let Some(name) = self.name(is_file, size, length) {
                        return Ok(Part::Begin { name });
                    }
                }
                Place::File { left: 0, padding } => {
                    self.place = Place::Skipped { left: *padding };
                    return Ok(Part::End);
                }
                Place::File { left, .. } => {
                    return Ok(Part::of_bytes(take(left, input)));
                }
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
            _ => Err(ContainerError::Truncated { form: FORM }),
        }
    }
}
