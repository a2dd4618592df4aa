//! The layout of an ELF file: its segments and sections, of either class and byte order, in one
//! form.
//!
//! Only headers are read here. The content of a section is read when somebody asks for it, so of
//! a debug file of gigabytes only what is needed is touched. All sizes are checked against the
//! bytes that are there before anything is allocated, and compressed sections have a cap.
//!
//! `object` knows the structs. Its `ReadCache` is not used: it keeps every range it ever read, and
//! a malformed file can make it grow far beyond the file.

use gimli::RunTimeEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::read::{CompressedData, CompressionFormat};
use object::{Endianness, pod};
use perftab_perfdata::decode::{ByteSource, ReadError};

use super::address::{FileOffset, Svma};

/// Section headers beyond this are not read (`-ffunction-sections` makes tens of thousands).
const MAX_SECTIONS: u64 = 1 << 20;
/// A longer name is none: thousands of names may be parts of one text.
pub(super) const MAX_NAME: usize = 64 << 10;
/// The same of a section, of which each has a copy.
const MAX_SECTION_NAME: usize = 1024;
/// Names of sections beyond this are not read.
const MAX_SECTION_NAMES: u64 = 64 << 20;
/// A section that inflates to more is not used: no linker wrote one that large, and a tab has 4 GiB for
/// everything.
const MAX_INFLATED: u64 = if usize::BITS == 32 { 1 << 30 } else { 4 << 30 };
/// Whatever the size of a file, a section of it may be this large …
const ALWAYS_INFLATED: u64 = 64 << 20;
/// … or so many times as large as the file. What compilers write shrinks to a tenth.
const MAX_RATIO: u64 = 64;

/// Width of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Elf32,
    Elf64,
}

/// A program header.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub kind: elf::ProgramType,
    pub flags: elf::ProgramFlags,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub memory_size: u64,
    pub align: u64,
}

impl Segment {
    /// True for code that the kernel or the dynamic linker maps.
    pub fn is_executable_load(&self) -> bool {
        self.kind == elf::PT_LOAD && self.flags.0 & elf::PF_X.0 != 0
    }

    /// Where in the file an address is, and how many bytes of the segment the file has from there on.
    pub fn file_range_from(&self, address: Svma) -> Option<(FileOffset, u64)> {
        let at = address.0.checked_sub(self.address).filter(|at| *at < self.file_size)?;
        Some((FileOffset(self.offset.checked_add(at)?), self.file_size - at))
    }
}

/// A section header.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: String,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    /// Index of the section that this one refers to (the strings of a symbol table).
    pub link: u32,
    /// Of relocations: index of the section that they change.
    pub info: u32,
    /// Addresses are a multiple of this; 0 is 1.
    pub align: u64,
}

impl Section {
    /// True if the file holds bytes for it.
    pub fn has_bytes(&self) -> bool {
        self.kind != elf::SHT_NOBITS && self.kind != elf::SHT_NULL && self.size > 0
    }

    /// True if it is in memory when the file runs.
    pub fn is_allocated(&self) -> bool {
        self.flags.0 & elf::SHF_ALLOC.0 != 0
    }

    /// True if its bytes have to be inflated.
    pub fn is_compressed(&self) -> bool {
        self.flags.0 & elf::SHF_COMPRESSED.0 != 0 || self.name.starts_with(".zdebug_")
    }

    /// True for what the program changes, or the dynamic linker before it runs.
    pub fn is_writable(&self) -> bool {
        self.flags.0 & elf::SHF_WRITE.0 != 0
    }

    /// True for instructions.
    pub fn is_executable(&self) -> bool {
        self.flags.0 & elf::SHF_EXECINSTR.0 != 0
    }
}

/// An entry of a symbol table.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSymbol {
    /// Offset into the table's strings.
    pub name: u32,
    pub kind: elf::SymbolType,
    pub bind: elf::SymbolBind,
    pub visibility: elf::SymbolVisibility,
    pub section: elf::SymbolSection,
    pub value: u64,
    pub size: u64,
}

impl RawSymbol {
    /// True if other files cannot refer to it.
    pub fn is_hidden(&self) -> bool {
        [elf::STV_HIDDEN, elf::STV_INTERNAL].contains(&self.visibility)
    }
}

/// An entry of a relocation section.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRelocation {
    /// Where it applies: in a relocatable file, from the start of the section that it changes.
    pub offset: u64,
    /// What to do; the numbers are the machine's.
    pub kind: u32,
    /// Index of its symbol.
    pub symbol: u32,
    /// `None`: it stands in the bytes that are changed.
    pub addend: Option<i64>,
}

/// Why the headers could not be read.
#[derive(Debug)]
pub(super) enum ElfError {
    NotElf { first_bytes: Vec<u8> },
    Read(ReadError),
}

impl From<ReadError> for ElfError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Everything that the headers say.
#[derive(Clone, Debug)]
pub(super) struct Elf {
    pub class: Class,
    pub endian: Endianness,
    pub kind: elf::FileType,
    pub machine: elf::Machine,
    /// Where a process of the file begins; 0 for nowhere.
    pub entry: u64,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    /// Where the last of what the headers tell of ends. A file that is shorter was cut off, as a
    /// download may be: its note still stands, since linkers put it first.
    pub end: u64,
}

impl Elf {
    /// Reads the headers. Tables that lie outside the file are left out.
    pub fn read(source: &dyn ByteSource) -> Result<Self, ElfError> {
        let start = source.read_vec(0, source.len().min(64))?;
        let not_elf = || ElfError::NotElf { first_bytes: start[..start.len().min(16)].to_vec() };
        let Some(ident) = start.get(..16).filter(|ident| ident[..4] == elf::ELFMAG) else {
            return Err(not_elf());
        };
        match ident[4] {
            1 => Self::read_class::<elf::FileHeader32<Endianness>>(source, &start, Class::Elf32),
            2 => Self::read_class::<elf::FileHeader64<Endianness>>(source, &start, Class::Elf64),
            _ => None,
        }
        .ok_or_else(not_elf)
    }

    fn read_class<H: FileHeader<Endian = Endianness>>(
        source: &dyn ByteSource,
        start: &[u8],
        class: Class,
    ) -> Option<Self> {
        let (header, _) = pod::from_bytes::<H>(start).ok()?;
        let endian = header.endian().ok()?;
        let segments = read_segments(source, header, endian).unwrap_or_default();
        let sections = read_sections(source, header, endian).unwrap_or_default();
        Some(Self {
            class,
            endian,
            kind: header.e_type(endian),
            machine: header.e_machine(endian),
            entry: header.e_entry(endian).into(),
            end: content_end(header, endian, &segments, &sections),
            segments,
            sections,
        })
    }

    /// The first section of this name that has bytes.
    pub fn section_with_bytes(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.has_bytes())
    }

    /// The first section of this type that has bytes.
    pub fn section_of_kind(&self, kind: elf::SectionType) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind && section.has_bytes())
    }

    /// Its byte order, as gimli has it.
    pub fn dwarf_endian(&self) -> RunTimeEndian {
        match self.endian {
            Endianness::Little => RunTimeEndian::Little,
            Endianness::Big => RunTimeEndian::Big,
        }
    }

    /// Whether `$x`, `$d` and so on mark code and data, and name nothing.
    pub fn has_mapping_symbols(&self) -> bool {
        matches!(self.machine, elf::EM_ARM | elf::EM_AARCH64 | elf::EM_RISCV)
    }

    /// Bytes of an address.
    pub fn address_size(&self) -> u8 {
        match self.class {
            Class::Elf32 => 4,
            Class::Elf64 => 8,
        }
    }

    /// The address that the file itself uses for the code at `offset`.
    pub fn svma_from_file_offset(&self, offset: FileOffset) -> Option<Svma> {
        svma_in(&self.segments, offset)
    }

    /// The same of data. The last page of what is mapped of a file goes on in memory, behind what the file
    /// has: with variables that are zero at first.
    pub fn svma_of_data(&self, offset: FileOffset) -> Option<Svma> {
        let zeros = || {
            let last = self.segments.iter().rev().find(|segment| segment.kind == elf::PT_LOAD)?;
            let at = offset.0.checked_sub(last.offset).filter(|&at| at < last.memory_size)?;
            Some(Svma(at.wrapping_add(last.address)))
        };
        self.svma_from_file_offset(offset).or_else(zeros)
    }

    /// Calls `each` for every entry of the symbol table `table`, whose bytes these are.
    pub fn for_each_symbol(&self, table: &[u8], each: impl FnMut(RawSymbol)) {
        match self.class {
            Class::Elf32 => symbols::<elf::Sym32<Endianness>>(table, self.endian, each),
            Class::Elf64 => symbols::<elf::Sym64<Endianness>>(table, self.endian, each),
        }
    }

    /// Calls `each` for every relocation in `section`, whose bytes these are.
    ///
    /// (Only machines whose relocations are understood come here; 64-bit MIPS, which packs the
    /// index differently, is none of them.)
    pub fn for_each_relocation(
        &self,
        section: &Section,
        bytes: &[u8],
        mut each: impl FnMut(RawRelocation),
    ) {
        let endian = self.endian;
        match (self.class, section.kind == elf::SHT_RELA) {
            (Class::Elf64, true) => {
                for r in structs::<elf::Rela64<_>>(bytes) {
                    let (offset, addend) = (r.r_offset.get(endian), r.r_addend.get(endian));
                    let (kind, symbol) = (r.r_type(endian, false).0, r.r_sym(endian, false));
                    each(RawRelocation { offset, kind, symbol, addend: Some(addend) });
                }
            }
            (Class::Elf64, false) => {
                for r in structs::<elf::Rel64<_>>(bytes) {
                    let offset = r.r_offset.get(endian);
                    let (kind, symbol) = (r.r_type(endian).0, r.r_sym(endian));
                    each(RawRelocation { offset, kind, symbol, addend: None });
                }
            }
            (Class::Elf32, true) => {
                for r in structs::<elf::Rela32<_>>(bytes) {
                    let (offset, addend) = (r.r_offset.get(endian), r.r_addend.get(endian));
                    let (offset, addend) = (u64::from(offset), Some(i64::from(addend)));
                    let (kind, symbol) = (r.r_type(endian).0, r.r_sym(endian));
                    each(RawRelocation { offset, kind, symbol, addend });
                }
            }
            (Class::Elf32, false) => {
                for r in structs::<elf::Rel32<_>>(bytes) {
                    let offset = u64::from(r.r_offset.get(endian));
                    let (kind, symbol) = (r.r_type(endian).0, r.r_sym(endian));
                    each(RawRelocation { offset, kind, symbol, addend: None });
                }
            }
        }
    }

    /// The section's bytes, inflated if it is compressed (`SHF_COMPRESSED`, or the older
    /// `.zdebug_*` with "ZLIB" and a big-endian length in front).
    pub fn section_bytes(
        &self,
        source: &dyn ByteSource,
        section: &Section,
    ) -> Result<Vec<u8>, ReadError> {
        if !section.has_bytes() {
            return Ok(Vec::new());
        }
        let bytes = source.read_vec(section.offset, section.size)?;
        let (format, size, skip) = if section.flags.0 & elf::SHF_COMPRESSED.0 != 0 {
            self.compression(&bytes)
                .ok_or_else(|| ReadError::new(format!("{}: unknown compression", section.name)))?
        } else if let (true, Some((b"ZLIB", rest))) =
            (section.name.starts_with(".zdebug_"), bytes.split_first_chunk())
        {
            let size = rest.first_chunk().map_or(0, |size| u64::from_be_bytes(*size));
            (CompressionFormat::Zlib, size, 12)
        } else {
            return Ok(bytes);
        };
        let packed = bytes.get(skip..).unwrap_or_default();
        let limit = ALWAYS_INFLATED.saturating_add(source.len().saturating_mul(MAX_RATIO));
        inflate(format, packed, size, limit.min(MAX_INFLATED))
            .ok_or_else(|| ReadError::new(format!("{} cannot be inflated", section.name)))
    }

    /// How long the section's bytes are once they are inflated.
    pub fn inflated_size(
        &self,
        source: &dyn ByteSource,
        section: &Section,
    ) -> Result<u64, ReadError> {
        let start = || source.read_vec(section.offset, section.size.min(24));
        if section.flags.0 & elf::SHF_COMPRESSED.0 != 0 {
            Ok(self.compression(&start()?).map_or(0, |(_, size, _)| size))
        } else if section.name.starts_with(".zdebug_") {
            let size = start()?.get(4..).and_then(|rest| rest.first_chunk().copied());
            Ok(size.map_or(0, u64::from_be_bytes))
        } else {
            Ok(section.size)
        }
    }

    /// Format, inflated size and length of the header of a compressed section.
    fn compression(&self, bytes: &[u8]) -> Option<(CompressionFormat, u64, usize)> {
        let (kind, size, skip) = match self.class {
            Class::Elf32 => {
                let header = structs::<elf::CompressionHeader32<Endianness>>(bytes).first()?;
                let (kind, size) = (header.ch_type.get(self.endian), header.ch_size);
                (kind, u64::from(size.get(self.endian)), 12)
            }
            Class::Elf64 => {
                let header = structs::<elf::CompressionHeader64<Endianness>>(bytes).first()?;
                (header.ch_type.get(self.endian), header.ch_size.get(self.endian), 24)
            }
        };
        let format = match kind {
            elf::ELFCOMPRESS_ZLIB => CompressionFormat::Zlib,
            elf::ELFCOMPRESS_ZSTD => CompressionFormat::Zstandard,
            _ => return None,
        };
        Some((format, size, skip))
    }
}

/// The address that a file with these segments uses for the code at `offset`.
///
/// Pages of neighbouring segments overlap in the file, so an executable segment is preferred.
pub(super) fn svma_in(segments: &[Segment], offset: FileOffset) -> Option<Svma> {
    let within = |segment: &&Segment| {
        segment.kind == elf::PT_LOAD
            && offset.0.checked_sub(segment.offset).is_some_and(|at| at < segment.file_size)
    };
    let segments = || segments.iter().filter(within);
    let segment = segments().find(|s| s.is_executable_load()).or_else(|| segments().next())?;
    Some(Svma((offset.0 - segment.offset).wrapping_add(segment.address)))
}

fn inflate(
    format: CompressionFormat,
    data: &[u8],
    uncompressed_size: u64,
    limit: u64,
) -> Option<Vec<u8>> {
    if uncompressed_size > limit {
        return None;
    }
    let inflated = CompressedData { format, data, uncompressed_size }.decompress().ok()?;
    Some(inflated.into_owned())
}

/// As many whole structs as the bytes hold.
fn structs<T: pod::Pod>(bytes: &[u8]) -> &[T] {
    let count = bytes.len() / size_of::<T>().max(1);
    pod::slice_from_bytes::<T>(bytes, count).map_or(&[], |(structs, _)| structs)
}

fn symbols<S: Sym<Endian = Endianness> + pod::Pod>(
    table: &[u8],
    endian: Endianness,
    mut each: impl FnMut(RawSymbol),
) {
    for symbol in structs::<S>(table) {
        each(RawSymbol {
            name: symbol.st_name(endian),
            kind: symbol.st_type(),
            bind: symbol.st_bind(),
            visibility: symbol.st_visibility(),
            section: symbol.st_shndx(endian),
            value: symbol.st_value(endian).into(),
            size: symbol.st_size(endian).into(),
        });
    }
}

fn read_segments<H: FileHeader<Endian = Endianness>>(
    source: &dyn ByteSource,
    header: &H,
    endian: Endianness,
) -> Option<Vec<Segment>> {
    let size = size_of::<H::ProgramHeader>() as u64;
    let count = match header.e_phnum(endian) {
        // More than fit into the field: section 0 holds the count.
        elf::PN_XNUM => section_zero(source, header, endian)?.sh_info(endian).into(),
        count => u64::from(count),
    };
    let bytes = source.read_vec(header.e_phoff(endian).into(), count.checked_mul(size)?).ok()?;
    let segments = structs::<H::ProgramHeader>(&bytes).iter().map(|segment| Segment {
        kind: segment.p_type(endian),
        flags: segment.p_flags(endian),
        offset: segment.p_offset(endian).into(),
        address: segment.p_vaddr(endian).into(),
        file_size: segment.p_filesz(endian).into(),
        memory_size: segment.p_memsz(endian).into(),
        align: segment.p_align(endian).into(),
    });
    Some(segments.collect())
}

fn read_sections<H: FileHeader<Endian = Endianness>>(
    source: &dyn ByteSource,
    header: &H,
    endian: Endianness,
) -> Option<Vec<Section>> {
    let start = header.e_shoff(endian).into();
    if start == 0 {
        return None;
    }
    let zero = section_zero(source, header, endian)?;
    let count = match header.e_shnum(endian) {
        0 => zero.sh_size(endian).into(),
        count => u64::from(count),
    };
    let size = size_of::<H::SectionHeader>() as u64;
    let bytes = source.read_vec(start, count.min(MAX_SECTIONS).checked_mul(size)?).ok()?;
    let headers = structs::<H::SectionHeader>(&bytes);

    let names = match header.e_shstrndx(endian) {
        elf::SHN_XINDEX => zero.sh_link(endian) as usize,
        index => usize::from(index.0),
    };
    let names = headers
        .get(names)
        .and_then(|section| {
            let length = section.sh_size(endian).into().min(MAX_SECTION_NAMES);
            source.read_vec(section.sh_offset(endian).into(), length).ok()
        })
        .unwrap_or_default();
    let sections = headers.iter().map(|section| Section {
        name: text_within(&names, section.sh_name(endian) as usize, MAX_SECTION_NAME).to_owned(),
        kind: section.sh_type(endian),
        flags: section.sh_flags(endian),
        address: section.sh_addr(endian).into(),
        offset: section.sh_offset(endian).into(),
        size: section.sh_size(endian).into(),
        link: section.sh_link(endian),
        info: section.sh_info(endian),
        align: section.sh_addralign(endian).into(),
    });
    Some(sections.collect())
}

/// The sections tell; in a file without any, its segments (those of a debug file have kept the
/// sizes of what is not in it).
fn content_end<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    segments: &[Segment],
    sections: &[Section],
) -> u64 {
    let start: u64 = header.e_shoff(endian).into();
    if start == 0 {
        let loaded = segments.iter().filter(|segment| segment.kind == elf::PT_LOAD);
        let ends = loaded.map(|segment| segment.offset.saturating_add(segment.file_size));
        return ends.max().unwrap_or(0);
    }
    let count = sections.len().max(header.e_shnum(endian).into()) as u64;
    let table = count.saturating_mul(size_of::<H::SectionHeader>() as u64);
    let with_bytes = sections.iter().filter(|section| section.has_bytes());
    let ends = with_bytes.map(|section| section.offset.saturating_add(section.size));
    ends.max().unwrap_or(0).max(start.saturating_add(table))
}

/// Section 0 holds the counts that do not fit into the file header.
fn section_zero<H: FileHeader<Endian = Endianness>>(
    source: &dyn ByteSource,
    header: &H,
    endian: Endianness,
) -> Option<H::SectionHeader> {
    let size = size_of::<H::SectionHeader>() as u64;
    let bytes = source.read_vec(header.e_shoff(endian).into(), size).ok()?;
    structs::<H::SectionHeader>(&bytes).first().copied()
}

/// The text from `start` to the next NUL; empty if it is not there, is too long for a name or is not
/// UTF-8.
pub(super) fn text_at(strings: &[u8], start: usize) -> &str {
    text_within(strings, start, MAX_NAME)
}

/// The same of at most so many bytes.
fn text_within(strings: &[u8], start: usize, longest: usize) -> &str {
    let rest = strings.get(start..).unwrap_or_default();
    let rest = &rest[..rest.len().min(longest)];
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or_default();
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}
