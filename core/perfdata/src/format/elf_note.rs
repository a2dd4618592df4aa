//! Finds the GNU build-id note: in bare notes (/sys/kernel/notes, /sys/module/NAME/notes/…) and in
//! an ELF file or a vdso in memory, through its program headers.
//!
//! The recorder uses this for files that may be gigabytes or hostile, so only the ELF header, the
//! program headers and the note segments are read, each bounded. Section headers are not looked
//! at: what is mapped has segments.
//!
//! ```c
//! typedef struct { Elf32_Word n_namesz, n_descsz, n_type; } Elf32_Nhdr;  // then name, desc
//! ```

use super::build_id::BuildId;
use crate::decode::ByteSource;
use crate::identity::ContentHash;

const NT_GNU_BUILD_ID: u32 = 3;
/// Of a part of a file without a build-id: the [`ContentHash`] of the whole, which nobody can tell of the part.
const NT_PERFTAB_CONTENT: u32 = 1;
const PERFTAB: &[u8] = b"perftab\0";
const PT_NOTE: u32 = 4;
/// `PN_XNUM`, the most program headers that the header can count, is far above any real file.
const PROGRAM_HEADERS_MAX: u64 = 1024;
/// A note segment of the kernel is under a kilobyte; Go and some packagers write a few.
const NOTES_MAX: u64 = 1 << 20;

/// Byte order of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The order of this machine; what the kernel's own notes have.
    pub const NATIVE: Self =
        if cfg!(target_endian = "little") { Endian::Little } else { Endian::Big };

    /// The number that up to eight bytes are.
    pub fn uint(self, bytes: &[u8]) -> u64 {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self {
            Endian::Little => bytes.iter().rev().fold(0, fold),
            Endian::Big => bytes.iter().fold(0, fold),
        }
    }
}

/// The build-id among `notes`, wherever it stands.
pub fn build_id_in_notes(notes: &[u8], endian: Endian) -> Option<BuildId> {
    BuildId::new(find_note(notes, endian, NT_GNU_BUILD_ID, b"GNU\0")?)
}

/// What a part of a file says of the whole.
pub fn content_in_notes(notes: &[u8], endian: Endian) -> Option<ContentHash> {
    let hash = find_note(notes, endian, NT_PERFTAB_CONTENT, PERFTAB)?;
    hash.try_into().ok().map(ContentHash)
}

/// The note that says so.
pub fn content_note(hash: ContentHash, endian: Endian) -> Vec<u8> {
    let word = |value: usize| match endian {
        Endian::Little => (value as u32).to_le_bytes(),
        Endian::Big => (value as u32).to_be_bytes(),
    };
    let header = [PERFTAB.len(), hash.0.len(), NT_PERFTAB_CONTENT as usize].map(word);
    [header.as_flattened(), PERFTAB, &hash.0].concat()
}

/// What the first note of this type and owner holds.
pub(super) fn find_note<'a>(
    notes_bytes: &'a [u8],
    endian: Endian,
    note_type: u32,
    owner: &'a [u8],
) -> Option<&'a [u8]> {
    notes(notes_bytes, endian, note_type, owner).next()
}

/// What each note of this type and owner holds. Names and descriptions are padded to 4 bytes.
pub fn notes<'a>(
    bytes: &'a [u8],
    endian: Endian,
    note_type: u32,
    owner: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(bytes);
    let all = std::iter::from_fn(move || {
        let (header, after) = rest.take()?.split_at_checked(12)?;
        let word = |at: usize| endian.uint(&header[at..at + 4]);
        let name_size = usize::try_from(word(0)).ok()?;
        let description_size = usize::try_from(word(4)).ok()?;
        let name = after.get(..name_size)?;
        let after = after.get(name_size.checked_next_multiple_of(4)?..)?;
        let description = after.get(..description_size)?;
        // The last description need not be padded.
        let padded = description_size.checked_next_multiple_of(4);
        rest = padded.and_then(|padded| after.get(padded..));
        Some((word(8), name, description))
    });
    all.filter(move |(kind, name, _)| *kind == u64::from(note_type) && *name == owner)
        .map(|(.., description)| description)
}

/// The build-id of an ELF image. `None`: not ELF, no such note, or damaged.
pub fn build_id_of_elf(image: &dyn ByteSource) -> Option<BuildId> {
    let ident = image.read_vec(0, 20).ok()?;
    if ident[..4] != *b"\x7fELF" {
        return None;
    }
    let endian = match ident[5] {
        1 => Endian::Little,
        2 => Endian::Big,
        _ => return None,
    };
    let layout = match ident[4] {
        1 => &ELF32,
        2 => &ELF64,
        _ => return None,
    };
    let header = image.read_vec(0, layout.header_size).ok()?;
    let field = |bytes: &[u8], (at, size): (usize, usize)| endian.uint(&bytes[at..at + size]);
    let table = field(&header, layout.phoff);
    let entry_size = field(&header, layout.phentsize);
    let count = field(&header, layout.phnum).min(PROGRAM_HEADERS_MAX);
    if entry_size < layout.program_header_size {
        return None;
    }
    for index in 0..count {
        let at = table.checked_add(index * entry_size)?;
        let program_header = image.read_vec(at, layout.program_header_size).ok()?;
        if endian.uint(&program_header[..4]) != u64::from(PT_NOTE) {
            continue;
        }
        let offset = field(&program_header, layout.p_offset);
        let size = field(&program_header, layout.p_filesz).min(NOTES_MAX);
        let id = image.read_vec(offset, size).ok().and_then(|n| build_id_in_notes(&n, endian));
        if id.is_some() {
            return id;
        }
    }
    None
}

/// Where the fields of interest stand: (offset, size) in the ELF or in the program header.
struct Layout {
    header_size: u64,
    phoff: (usize, usize),
    phentsize: (usize, usize),
    phnum: (usize, usize),
    program_header_size: u64,
    p_offset: (usize, usize),
    p_filesz: (usize, usize),
}

const ELF32: Layout = Layout {
    header_size: 52,
    phoff: (28, 4),
    phentsize: (42, 2),
    phnum: (44, 2),
    program_header_size: 32,
    p_offset: (4, 4),
    p_filesz: (16, 4),
};

const ELF64: Layout = Layout {
    header_size: 64,
    phoff: (32, 8),
    phentsize: (54, 2),
    phnum: (56, 2),
    program_header_size: 56,
    p_offset: (8, 8),
    p_filesz: (32, 8),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::SliceSource;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(&(description.len() as u32).to_le_bytes());
        out.extend_from_slice(&kind.to_le_bytes());
        for part in [name, description] {
            out.extend_from_slice(part);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out
    }

    fn elf64(notes: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 64 + 56];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        image[32] = 64;
        image[54] = 56;
        image[56] = 1;
        image[64] = PT_NOTE as u8;
        image[64 + 8] = 120;
        image[64 + 32..64 + 36].copy_from_slice(&(notes.len() as u32).to_le_bytes());
        image.extend_from_slice(notes);
        image
    }

    fn id_of(image: &[u8]) -> Option<BuildId> {
        build_id_of_elf(&SliceSource::new(image.to_vec()))
    }

    #[test]
    fn found_wherever_it_stands() {
        let mut notes = note(b"Xen\0", 18, b"some pages");
        notes.extend_from_slice(&note(b"Linux\0", 3, b"not an id"));
        notes.extend_from_slice(&note(b"GNU\0", 3, &[0xab; 20]));
        notes.extend_from_slice(&note(b"GNU\0", 5, b"property"));
        assert_eq!(build_id_in_notes(&notes, Endian::Little), BuildId::new(&[0xab; 20]));
        assert_eq!(id_of(&elf64(&notes)), BuildId::new(&[0xab; 20]));
    }

    #[test]
    fn a_part_says_what_the_whole_is() {
        let hash = ContentHash([0x5a; 16]);
        for endian in [Endian::Little, Endian::Big] {
            let said = content_note(hash, endian);
            assert_eq!(content_in_notes(&said, endian), Some(hash));
            assert_eq!(build_id_in_notes(&said, endian), None);
        }
        let little = note(b"perftab\0", 1, &[0x5a; 16]);
        assert_eq!(content_note(hash, Endian::Little), little);
        assert_eq!(content_in_notes(&note(b"perftab\0", 1, &[0x5a; 20]), Endian::Little), None);
        assert_eq!(content_in_notes(&note(b"GNU\0", 1, &[0x5a; 16]), Endian::Little), None);
    }

    #[test]
    fn none_without_the_note() {
        assert_eq!(build_id_in_notes(&note(b"GNU\0", 1, &[0; 16]), Endian::Little), None);
        assert_eq!(id_of(b"#!/bin/sh\necho this is no ELF file\n"), None);
        assert_eq!(id_of(b""), None);
    }

    #[test]
    fn no_truncation_or_flipped_byte_panics() {
        let image = elf64(&note(b"GNU\0", 3, &[0xab; 8]));
        for cut in 0..image.len() {
            assert_eq!(id_of(&image[..cut]), None);
        }
        for at in 0..image.len() {
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = image.clone();
                damaged[at] = byte;
                let _ = id_of(&damaged);
            }
        }
    }
}
