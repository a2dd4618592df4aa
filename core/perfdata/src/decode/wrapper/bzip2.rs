//! bzip2: streams, each of blocks with a checksum, and a checksum of those; joined files are joined
//! streams.

use bzip2::{Decompress, Status};

use crate::decode::unpack::{UnpackErrorKind, Unpacker};

/// `BZh`, the size of a block in units of 100 kB as a digit, and the six bytes that a block begins
/// with (pi) or, where there is none, the end of the stream (its square root).
const MAGIC: [u8; 3] = *b"BZh";
const OUT: usize = 64 << 10;

/// Whether a file that begins with these bytes is made of bzip2 streams. The six bytes behind the
/// header are compared as far as they are there.
pub(super) fn begins_stream(first_bytes: &[u8]) -> bool {
    let Some((header, rest)) = first_bytes.split_first_chunk::<4>() else { return false };
    let begins = |mark: [u8; 6]| rest.iter().zip(mark).all(|(byte, expected)| *byte == expected);
    header.starts_with(&MAGIC)
        && matches!(header[3], b'1'..=b'9')
        && (begins([0x31, 0x41, 0x59, 0x26, 0x53, 0x59])
            || begins([0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
}

pub(super) struct Bzip2 {
    decoder: Decompress,
    place: Place,
    out: Vec<u8>,
}

/// What the next bytes belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    /// Behind a stream.
    Between,
    Damaged,
}

impl Default for Bzip2 {
    fn default() -> Self {
        Self { decoder: Decompress::new(false), place: Place::Inside, out: vec![0; OUT] }
    }
}

impl Unpacker for Bzip2 {
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind> {
        loop {
            if self.place == Place::Between {
                match input.first() {
                    None => return Ok(None),
                    Some(&first) if first == MAGIC[0] => {
                        self.decoder = Decompress::new(false);
                        self.place = Place::Inside;
                    }
                    Some(_) => return Err(UnpackErrorKind::Trailing),
                }
            }
            if self.place == Place::Damaged {
                return Err(UnpackErrorKind::Damaged { what: "a block cannot be decoded" });
            }
            let (read, written) = (self.decoder.total_in(), self.decoder.total_out());
            let status = self.decoder.decompress(input, &mut self.out);
            let read = (self.decoder.total_in() - read) as usize;
            let written = (self.decoder.total_out() - written) as usize;
            *input = input.get(read..).unwrap_or_default();
            match status {
                Ok(Status::StreamEnd) => self.place = Place::Between,
                Ok(_) => {}
                Err(_) => self.place = Place::Damaged,
            }
            if written > 0 {
                return Ok(self.out.get(..written));
            }
            if self.place == Place::Inside && read == 0 {
                return Ok(None);
            }
        }
    }

    fn may_end(&self) -> bool {
        self.place == Place::Between
    }
}
