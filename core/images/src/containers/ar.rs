//! ar(5), and with it .deb (deb(5)): members behind headers of 60 characters, each at an even
//! offset. Names longer than the header has room for stay as it has them.

use super::{Container, ContainerError, Part, collect, member_name, take};

pub(super) const MAGIC: [u8; 8] = *b"!<arch>\n";
const FORM: &str = "ar";
const HEADER: usize = 60;

#[derive(Default)]
pub(super) struct Ar {
    place: Place,
    field: Vec<u8>,
}

/// What the next bytes belong to.
#[derive(Default)]
enum Place {
    #[default]
    Magic,
    Header,
    Member {
        left: u64,
        padding: u64,
    },
    Padding {
        left: u64,
    },
}

impl Ar {
    fn header(header: &[u8]) -> Option<(String, u64)> {
        let header: &[u8; HEADER] = header.try_into().ok()?;
        if &header[58..] != b"`\n" {
            return None;
        }
        let size = std::str::from_utf8(header[48..58].trim_ascii()).ok()?.parse().ok()?;
        // GNU ar ends names with a slash, so that they may end with spaces.
        let name = header[..16].trim_ascii_end();
        Some((member_name(name.strip_suffix(b"/").unwrap_or(name)), size))
    }
}

impl Container for Ar {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        loop {
            match &mut self.place {
                Place::Magic => {
                    if !collect(&mut self.field, MAGIC.len(), input) {
                        return Ok(Part::NeedsInput);
                    }
                    self.field.clear();
                    self.place = Place::Header;
                }
                Place::Header => {
                    if !collect(&mut self.field, HEADER, input) {
                        return Ok(Part::NeedsInput);
                    }
                    let what = "a header cannot be read";
                    let (name, size) = Self::header(&self.field)
                        .ok_or(ContainerError::Damaged { form: FORM, what })?;
                    self.field.clear();
                    self.place = Place::Member { left: size, padding: size % 2 };
                    return Ok(Part::Begin { name });
                }
                Place::Member { left: 0, padding } => {
                    self.place = Place::Padding { left: *padding };
                    return Ok(Part::End);
                }
                Place::Member { left, .. } => {
                    return Ok(Part::of_bytes(take(left, input)));
                }
                Place::Padding { left: 0 } => self.place = Place::Header,
                Place::Padding { left } => {
                    if take(left, input).is_empty() {
                        return Ok(Part::NeedsInput);
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Result<(), ContainerError> {
        match self.place {
            // The last member need not be padded.
            Place::Header | Place::Padding { .. } if self.field.is_empty() => Ok(()),
            _ => Err(ContainerError::Truncated { form: FORM }),
        }
    }
}
