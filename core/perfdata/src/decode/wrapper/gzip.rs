//! RFC 1952: members, each a header, deflated data, and the CRC-32 and length of what comes out.
//! Several follow on each other where files were joined or packed in parallel.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::decode::unpack::{UnpackErrorKind, Unpacker};

/// ID1, ID2 and the one compression method there is: deflate.
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

const FLAG_CRC: u8 = 1 << 1;
const FLAG_EXTRA: u8 = 1 << 2;
const FLAG_NAME: u8 = 1 << 3;
const FLAG_COMMENT: u8 = 1 << 4;
const FLAGS_RESERVED: u8 = 0xe0;

const OUT: usize = 64 << 10;

/// What the next bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Magic, method, flags, time, extra flags, system: 10 bytes.
    Fixed,
    ExtraLength,
    Extra,
    Name,
    Comment,
    HeaderCrc,
    Deflated,
    /// In the deflated data, which cannot be read on.
    Damaged,
    /// CRC-32 and length modulo 2^32 of what came out.
    Trailer,
    /// Behind a member: another one, or the zeros that tapes pad with.
    Between,
}

pub(super) struct Gzip {
    place: Place,
    flags: u8,
    /// Bytes of this place that came, where it is short.
    field: Vec<u8>,
    /// Bytes that `Extra` still has.
    extra: usize,
    padded: bool,
    inflate: Decompress,
    crc: Crc,
    out: Vec<u8>,
}

impl Default for Gzip {
    fn default() -> Self {
        Self {
            place: Place::Fixed,
            flags: 0,
            field: Vec::new(),
            extra: 0,
            padded: false,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            out: vec![0; OUT],
        }
    }
}

impl Gzip {
    /// Collects a field of `length` bytes; `None` until all of it came.
    fn field<const LENGTH: usize>(&mut self, input: &mut &[u8]) -> Option<[u8; LENGTH]> {
        let missing = LENGTH.saturating_sub(self.field.len());
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.field.extend_from_slice(taken);
        *input = rest;
        let field = *self.field.first_chunk()?;
        self.field.clear();
        Some(field)
    }

    /// Passes over a text with its NUL; whether it ended.
    fn text(input: &mut &[u8]) -> bool {
        let end = input.iter().position(|&byte| byte == 0);
        *input = &input[end.map_or(input.len(), |end| end + 1)..];
        end.is_some()
    }

    /// Where the header goes on behind `place`: its parts are there as the flags say.
    fn after(&self, place: Place) -> Place {
        let parts = [
            (Place::Fixed, FLAG_EXTRA, Place::ExtraLength),
            (Place::Extra, FLAG_NAME, Place::Name),
            (Place::Name, FLAG_COMMENT, Place::Comment),
            (Place::Comment, FLAG_CRC, Place::HeaderCrc),
        ];
        let passed = parts.iter().position(|(before, ..)| *before == place).unwrap_or(parts.len());
        let next = parts[passed..].iter().find(|(_, flag, _)| self.flags & flag != 0);
        next.map_or(Place::Deflated, |(.., part)| *part)
    }

    /// Reads a place that gives no output; whether all of it came.
    fn pass(&mut self, input: &mut &[u8]) -> Result<bool, UnpackErrorKind> {
        let damaged = |what| Err(UnpackErrorKind::Damaged { what });
        match self.place {
            Place::Fixed => {
                let Some(header) = self.field::<10>(input) else { return Ok(false) };
                if !header.starts_with(&MAGIC) {
                    return damaged("its header");
                }
                self.flags = header[3];
                if self.flags & FLAGS_RESERVED != 0 {
                    return damaged("flags of its header");
                }
                self.place = self.after(Place::Fixed);
            }
            Place::ExtraLength => {
                let Some(length) = self.field(input) else { return Ok(false) };
                self.extra = usize::from(u16::from_le_bytes(length));
                self.place = Place::Extra;
            }
            Place::Extra => {
                let (taken, rest) = input.split_at(self.extra.min(input.len()));
                self.extra -= taken.len();
                *input = rest;
                if self.extra > 0 {
                    return Ok(false);
                }
                self.place = self.after(Place::Extra);
            }
            place @ (Place::Name | Place::Comment) => {
                if !Self::text(input) {
                    return Ok(false);
                }
                self.place = self.after(place);
            }
            Place::HeaderCrc => {
                if self.field::<2>(input).is_none() {
                    return Ok(false);
                }
                self.place = Place::Deflated;
            }
            Place::Deflated => {}
            Place::Damaged => return damaged("its deflated data"),
            Place::Trailer => {
                let Some(trailer) = self.field::<8>(input) else { return Ok(false) };
                let stated = u64::from_le_bytes(trailer);
                let found = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
                if stated != found {
                    return Err(UnpackErrorKind::Checksum);
                }
                self.inflate.reset(false);
                self.crc.reset();
                self.place = Place::Between;
            }
            Place::Between => match input.first() {
                None => return Ok(false),
                Some(0) => {
                    self.padded = true;
                    let end = input.iter().position(|&byte| byte != 0).unwrap_or(input.len());
                    *input = &input[end..];
                }
                Some(&first) if first == MAGIC[0] && !self.padded => self.place = Place::Fixed,
                Some(_) => return Err(UnpackErrorKind::Trailing),
            },
        }
        Ok(true)
    }
}

impl Unpacker for Gzip {
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind> {
        loop {
            while self.place != Place::Deflated {
                if !self.pass(input)? {
                    return Ok(None);
                }
            }
            let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut self.out, FlushDecompress::None);
            let read = (self.inflate.total_in() - read) as usize;
            let written = (self.inflate.total_out() - written) as usize;
            *input = input.get(read..).unwrap_or_default();
            let piece = self.out.get(..written).unwrap_or_default();
            self.crc.update(piece);
            match status {
                Ok(Status::StreamEnd) => self.place = Place::Trailer,
                Ok(_) => {}
                Err(_) => self.place = Place::Damaged,
            }
            if !piece.is_empty() {
                break Ok(self.out.get(..written));
            }
            if self.place == Place::Deflated && read == 0 {
                break Ok(None);
            }
        }
    }

    fn may_end(&self) -> bool {
        self.place == Place::Between
    }
}
