//! Where perftab's own section stands: at the end of the file, in front of a footer that says so.
//!
//! It has no bit in the header. perf looks up what to do with a feature in a table, by the number
//! of every bit that is set, and `perf inject` of 6.1 crashes on a number that its table does not
//! have (`do_write_feat` in `tools/perf/util/header.c`). No reader looks behind the last section.
//! The first recordings of perftab have the section as feature 200.
//!
//! ```text
//! file                      footer, little-endian
//!  .  the recording          0  u8[16]  "perftab section\0"
//!  .  the section           16  u64     bytes of the section
//!  .  the footer            24  u32     CRC-32 of the section
//!                           28  u32     zero
//! ```

use super::perftab_section::{self, PerftabSection, SectionError};

const MAGIC: [u8; 16] = *b"perftab section\0";

/// The last bytes of a file that has perftab's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Bytes of the section, which ends where the footer begins.
    pub length: u64,
    checksum: u32,
}

impl Footer {
    /// Bytes of a footer.
    pub const SIZE: u64 = 32;

    /// Of a section with this payload.
    pub fn of(payload: &[u8]) -> Self {
        Self { length: payload.len() as u64, checksum: checksum(payload) }
    }

    /// As it stands in the file.
    pub fn encode(self) -> [u8; Self::SIZE as usize] {
        let mut bytes = [0; Self::SIZE as usize];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// Reads the last bytes of a file; `None` if they are no footer.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(&MAGIC)?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let (checksum, _) = bytes.split_first_chunk()?;
        Some(Self { length: u64::from_le_bytes(*length), checksum: u32::from_le_bytes(*checksum) })
    }

    /// Reads the section, if its bytes are those that were written.
    pub fn open(self, payload: &[u8]) -> Result<PerftabSection, SectionError> {
        if Self::of(payload) != self {
            return Err(SectionError::Damaged);
        }
        perftab_section::decode(payload)
    }
}

fn checksum(payload: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(payload);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_leads_to_the_section_and_holds_its_bytes() {
        let payload = perftab_section::encode(&PerftabSection::default());
        let bytes = Footer::of(&payload).encode();
        let footer = Footer::decode(&bytes).unwrap();
        assert_eq!(footer.length, payload.len() as u64);
        assert_eq!(footer.open(&payload), Ok(PerftabSection::default()));
        let mut flipped = payload.clone();
        flipped[20] ^= 1;
        assert_eq!(footer.open(&flipped), Err(SectionError::Damaged));
        assert_eq!(footer.open(&payload[1..]), Err(SectionError::Damaged));
        // CRC-32 as zlib computes it, of nine digits.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn other_bytes_are_no_footer() {
        assert_eq!(Footer::decode(&[0; 32]), None);
        assert_eq!(Footer::decode(&MAGIC), None);
        assert_eq!(Footer::decode(&[]), None);
    }
}
