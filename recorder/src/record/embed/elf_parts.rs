//! Parts of an ELF file, as an ELF file of its own.
//!
//! It is what `eu-strip -f` makes of a debug file: all headers are those of the whole, and sections that are left out have
//! the type NOBITS. So a reader finds its build-id, and where its code was mapped, as in the whole. If it has none, a last
//! section says what the content hash of the whole is.

use std::fs::File;

use object::elf::{self, FileHeader32, FileHeader64, SectionHeader32, SectionHeader64};
use object::pod::{Pod, bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, U16, U32, U64};
use perftab_core::Identity;
use perftab_perfdata::format::elf_note::{Endian, content_note};
use perftab_perfdata::identity::ContentHash;

use crate::images::identity;

/// A group of sections that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfPart {
    /// Rules by which callers are found.
    Unwind,
    /// Symbol tables.
    Symbols,
}

impl ElfPart {
    fn sections(self) -> &'static [&'static [u8]] {
        match self {
            Self::Unwind => &[b".eh_frame", b".eh_frame_hdr", b".debug_frame"],
            Self::Symbols => &[b".symtab", b".strtab", b".dynsym", b".dynstr", b".gnu_debugdata"],
        }
    }
}

/// What every part has: names of sections, and how the debug file is called.
const ALWAYS: [&[u8]; 2] = [b".shstrtab", b".gnu_debuglink"];
/// The build-id and a few more; longer notes are left out.
const NOTES_MAX: u64 = 64 << 10;
/// Enough for what any section needs that is kept.
const ALIGNMENT: usize = 16;

/// An ELF file, wherever it is.
pub enum WholeElf {
    /// On this machine.
    File(File),
    /// In no file: the vdso.
    Memory(Vec<u8>),
}

/// Parts of a file that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// A file with these alone.
    Are(Vec<u8>),
    /// It has none of them, or is no ELF file.
    None,
    /// There is no room for them.
    TooLarge,
}

impl WholeElf {
    /// Whether it has this identity now.
    pub fn is(&self, wanted: Identity) -> bool {
        match self {
            Self::File(file) => identity::of(file) == Some(wanted),
            Self::Memory(_) => false,
        }
    }

    /// A file with these parts alone, of at most so many bytes; `hash` is that of all of it if it has no build-id.
    pub fn parts(&self, kept: &[ElfPart], hash: Option<ContentHash>, most: usize) -> Parts {
        let parts = match self {
            Self::File(file) => of_any_class(&ReadCache::new(file), kept, hash, most),
            Self::Memory(bytes) => of_any_class(&bytes[..], kept, hash, most),
        };
        parts.unwrap_or(Parts::None)
    }
}

fn of_any_class<'data>(
    data: impl ReadRef<'data>,
    kept: &[ElfPart],
    hash: Option<ContentHash>,
    most: usize,
) -> Option<Parts> {
    match FileHeader64::<Endianness>::parse(data) {
        Ok(header) => of(header, data, kept, hash, most),
        Err(_) => of(FileHeader32::<Endianness>::parse(data).ok()?, data, kept, hash, most),
    }
}

fn of<'data, H: Class, R: ReadRef<'data>>(
    header: &'data H,
    data: R,
    kept: &[ElfPart],
    hash: Option<ContentHash>,
    most: usize,
) -> Option<Parts> {
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let sections = header.sections(endian, data).ok()?;
    let name = |section| sections.section_name(endian, section).unwrap_or_default();
    let is_asked = |section| kept.iter().any(|part| part.sections().contains(&name(section)));
    let has_bytes = |section: &H::SectionHeader| {
        ![elf::SHT_NULL, elf::SHT_NOBITS].contains(&section.sh_type(endian))
    };
    if !sections.iter().any(|section| is_asked(section) && has_bytes(section)) {
        return None;
    }
    let segments_at = size_of::<H>();
    let mut out = vec![0; segments_at];
    out.extend_from_slice(bytes_of_slice(segments));
    let mut headers = Vec::new();
    for section in sections.iter() {
        let is_note = section.sh_type(endian) == elf::SHT_NOTE;
        let size: u64 = section.sh_size(endian).into();
        let is_kept =
            is_asked(section) || ALWAYS.contains(&name(section)) || is_note && size <= NOTES_MAX;
        headers.push(match (is_kept, has_bytes(section)) {
            (_, false) => *section,
            (false, true) => H::without_bytes(section, endian),
            (true, true) if size > most as u64 => return Some(Parts::TooLarge),
            (true, true) => {
                let bytes = section.data(endian, data).ok()?;
                out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
                if out.len() + bytes.len() > most {
                    return Some(Parts::TooLarge);
                }
                let offset = out.len();
                out.extend_from_slice(bytes);
                H::placed(section, endian, offset)
            }
        });
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    if let Some(hash) = hash {
        let note = content_note(hash, byte_order(endian));
        let null = *headers.first()?;
        headers.push(H::note(&null, endian, out.len(), note.len()));
        out.extend_from_slice(&note);
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    }
    // Of more sections the first has their number.
    let count = u16::try_from(headers.len()).ok().filter(|count| *count < elf::SHN_LORESERVE)?;
    let header = header.with_tables(endian, segments_at, out.len(), count);
    out[..segments_at].copy_from_slice(bytes_of(&header));
    out.extend_from_slice(bytes_of_slice(&headers));
    Some(if out.len() <= most { Parts::Are(out) } else { Parts::TooLarge })
}

fn byte_order(endian: Endianness) -> Endian {
    match endian {
        Endianness::Little => Endian::Little,
        Endianness::Big => Endian::Big,
    }
}

/// What is changed in headers, of files of 32 and of 64 bits.
trait Class: FileHeader<Endian = Endianness, SectionHeader: Pod> + Pod {
    /// The same with its tables at these offsets, and so many sections.
    fn with_tables(&self, endian: Endianness, segments: usize, sections: usize, count: u16)
    -> Self;
    /// A section of notes, without a name; the first of all files is zero.
    fn note(
        null: &Self::SectionHeader,
        endian: Endianness,
        at: usize,
        size: usize,
    ) -> Self::SectionHeader;
    /// A section whose bytes are somewhere else.
    fn placed(section: &Self::SectionHeader, endian: Endianness, at: usize) -> Self::SectionHeader;
    /// A section whose bytes are left out.
    fn without_bytes(section: &Self::SectionHeader, endian: Endianness) -> Self::SectionHeader;
}

impl Class for FileHeader64<Endianness> {
    fn with_tables(
        &self,
        endian: Endianness,
        segments: usize,
        sections: usize,
        count: u16,
    ) -> Self {
        let at = |offset: usize| U64::new(endian, offset as u64);
        Self {
            e_phoff: at(segments),
            e_shoff: at(sections),
            e_shnum: U16::new(endian, count),
            ..*self
        }
    }

    fn note(
        null: &Self::SectionHeader,
        endian: Endianness,
        at: usize,
        size: usize,
    ) -> Self::SectionHeader {
        SectionHeader64 {
            sh_type: U32::new(endian, elf::SHT_NOTE),
            sh_offset: U64::new(endian, at as u64),
            sh_size: U64::new(endian, size as u64),
            sh_addralign: U64::new(endian, 4),
            ..*null
        }
    }

    fn placed(section: &Self::SectionHeader, endian: Endianness, at: usize) -> Self::SectionHeader {
        SectionHeader64 { sh_offset: U64::new(endian, at as u64), ..*section }
    }

    fn without_bytes(section: &Self::SectionHeader, endian: Endianness) -> Self::SectionHeader {
        SectionHeader64 { sh_type: U32::new(endian, elf::SHT_NOBITS), ..*section }
    }
}

impl Class for FileHeader32<Endianness> {
    fn with_tables(
        &self,
        endian: Endianness,
        segments: usize,
        sections: usize,
        count: u16,
    ) -> Self {
        // No part is longer than a file of 32 bits may be.
        let at = |offset: usize| U32::new(endian, offset as u32);
        Self {
            e_phoff: at(segments),
            e_shoff: at(sections),
            e_shnum: U16::new(endian, count),
            ..*self
        }
    }

    fn note(
        null: &Self::SectionHeader,
        endian: Endianness,
        at: usize,
        size: usize,
    ) -> Self::SectionHeader {
        SectionHeader32 {
            sh_type: U32::new(endian, elf::SHT_NOTE),
            sh_offset: U32::new(endian, at as u32),
            sh_size: U32::new(endian, size as u32),
            sh_addralign: U32::new(endian, 4),
            ..*null
        }
    }

    fn placed(section: &Self::SectionHeader, endian: Endianness, at: usize) -> Self::SectionHeader {
        SectionHeader32 { sh_offset: U32::new(endian, at as u32), ..*section }
    }

    fn without_bytes(section: &Self::SectionHeader, endian: Endianness) -> Self::SectionHeader {
        SectionHeader32 { sh_type: U32::new(endian, elf::SHT_NOBITS), ..*section }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_told_from_what_is_not_there() {
        let this = || WholeElf::File(File::open(std::env::current_exe().unwrap()).unwrap());
        let Parts::Are(unwind) = this().parts(&[ElfPart::Unwind], None, usize::MAX) else {
            panic!("this program has unwind tables");
        };
        assert_eq!(this().parts(&[ElfPart::Unwind], None, unwind.len() - 1), Parts::TooLarge);
        assert_eq!(this().parts(&[ElfPart::Unwind], None, 100), Parts::TooLarge);
        let of_unwind = WholeElf::Memory(unwind.clone());
        assert_eq!(of_unwind.parts(&[ElfPart::Unwind], None, unwind.len()), Parts::Are(unwind));
        assert_eq!(of_unwind.parts(&[ElfPart::Symbols], None, usize::MAX), Parts::None);
        assert_eq!(of_unwind.parts(&[ElfPart::Symbols], None, 0), Parts::None);
        let text = WholeElf::Memory(b"no ELF file".to_vec());
        assert_eq!(text.parts(&[ElfPart::Unwind], None, 0), Parts::None);
    }
}
