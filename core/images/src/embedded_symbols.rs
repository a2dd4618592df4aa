//! Symbols that a stripped file still has, elsewhere than in `.symtab`.
//!
//! - `.gnu_debugdata`: an ELF file with the symbols that `.dynsym` has not, packed by xz ("MiniDebugInfo" in
//!   gdb's manual). Fedora's programs have one.
//! - `.gopclntab`: where each function of Go begins and what it is called, for the program's own use
//!   (Go's src/internal/abi/symtab.go and src/debug/gosym/pclntab.go, 1.26). `strip` and `-ldflags=-s`
//!   leave it.

use object::Endianness;
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use perftab_perfdata::decode::{ReadError, SliceSource};

use super::dwarf::{Budget, over_budget};
use super::elf::{Elf, Section};
use super::image::Image;

const DEBUG_DATA: &str = ".gnu_debugdata";

/// The file in `.gnu_debugdata`. What cannot be unpacked is not there.
pub(super) fn mini_debug_file(image: &Image, budget: &Budget) -> Result<Option<Image>, ReadError> {
    let elf = image.elf();
    let Some((elf, section)) = elf.and_then(|elf| Some((elf, elf.section_with_bytes(DEBUG_DATA)?)))
    else {
        return Ok(None);
    };
    let packed = image.section_within(elf, section, budget)?;
    let mut bytes = Vec::new();
    let mut unwrap = Unwrap::new(Wrapper::Xz);
    let mut input = packed.as_slice();
    while let Ok(Some(piece)) = unwrap.next(&mut input) {
        budget.hold(piece.len() as u64).map_err(|_| over_budget())?;
        bytes.extend_from_slice(piece);
    }
    let mut held = Ok(());
    let finished = unwrap.finish(&mut |piece| {
        held = held.and(budget.hold(piece.len() as u64));
        if held.is_ok() {
            bytes.extend_from_slice(piece);
        }
    });
    held.map_err(|_| over_budget())?;
    let is_whole = finished.is_ok();
    let open = || Image::open(image.name(), Box::new(SliceSource::new(bytes))).ok();
    Ok(is_whole.then(open).flatten())
}

/// The name of a symbol as the linker wrote it into `.symtab`: `NAME@VERSION`, or `NAME@@VERSION` for the
/// version that is linked by default.
pub(super) fn without_version(symbol: &str) -> &str {
    let Some((name, version)) = symbol.split_once('@') else { return symbol };
    let version = version.strip_prefix('@').unwrap_or(version);
    let is_of_version = |at: char| at.is_ascii_alphanumeric() || "_.-".contains(at);
    let is_version = version.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    match !name.is_empty() && is_version && version.chars().all(is_of_version) {
        true => name,
        false => symbol,
    }
}

/// The symbols that a stripped file has packed inside of it.
pub(super) fn embedded_in(images: &[&Image], budget: &Budget) -> Result<Option<Image>, ReadError> {
    for image in images {
        if let Some(embedded) = mini_debug_file(image, budget)? {
            return Ok(Some(embedded));
        }
    }
    Ok(None)
}

/// Whether a file has symbols that are read here.
pub(super) fn exist_in(elf: &Elf) -> bool {
    elf.section_with_bytes(DEBUG_DATA).is_some() || go_section(elf).is_some()
}

/// The functions of a Go program.
#[derive(Debug, Default)]
pub(super) struct GoFunctions {
    /// All names, each ended by a zero.
    pub names: Vec<u8>,
    /// Where each begins and ends, and where its name is.
    pub functions: Vec<(u64, u64, u32)>,
}

/// `.data.rel.ro.gopclntab` in programs that are loaded anywhere.
fn go_section(elf: &Elf) -> Option<&Section> {
    let is_table = |section: &&Section| section.name.ends_with(".gopclntab");
    elf.sections.iter().filter(is_table).find(|section| section.has_bytes())
}

impl GoFunctions {
    /// Reads those of a file; none if it is no Go program, or of a version that is not known.
    pub fn read(image: &Image, budget: &Budget) -> Result<Self, ReadError> {
        let Some((elf, section)) = image.elf().and_then(|elf| Some((elf, go_section(elf)?))) else {
            return Ok(Self::default());
        };
        let bytes = image.section_within(elf, section, budget)?;
        let table = Table { bytes: &bytes, endian: elf.endian };
        let Some(layout) = Layout::of(&table, || text_start(image, elf, section, &table)) else {
            return Ok(Self::default());
        };
        let names = bytes.get(layout.names..).unwrap_or_default();
        let names = names.get(..layout.names_length).unwrap_or(names).to_vec();
        let mut functions = Vec::new();
        for index in 0..layout.count {
            budget.hold_one::<(u64, u64, u32)>().map_err(|_| over_budget())?;
            let Some(function) = layout.function(&table, index) else { break };
            functions.push(function);
        }
        budget.hold(names.len() as u64).map_err(|_| over_budget())?;
        Ok(Self { names, functions })
    }
}

struct Table<'a> {
    bytes: &'a [u8],
    endian: Endianness,
}

impl Table<'_> {
    fn number(&self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(match self.endian {
            Endianness::Little => bytes.iter().rev().fold(0, add),
            Endianness::Big => bytes.iter().fold(0, add),
        })
    }
}

/// Where things are in a table.
struct Layout {
    count: usize,
    /// What is added to where functions begin.
    text_start: u64,
    names: usize,
    names_length: usize,
    /// The list of functions: where each begins, and where more is said of it.
    list: usize,
    /// Bytes of each of both numbers.
    width: usize,
    /// What the places in that list count from.
    details: usize,
}

/// Go 1.2, 1.16, 1.18 and 1.20 each changed the table.
const MAGIC_1_2: u64 = 0xffff_fffb;
const MAGIC_1_16: u64 = 0xffff_fffa;
const MAGIC_1_18: u64 = 0xffff_fff0;
const MAGIC_1_20: u64 = 0xffff_fff1;

/// Magic, two zeros, least length of an instruction and bytes of a pointer; then words of that size.
const WORDS: usize = 8;

impl Layout {
    fn of(table: &Table<'_>, text_start: impl Fn() -> Option<u64>) -> Option<Self> {
        let magic = table.number(0, 4)?;
        let pointer = usize::from(*table.bytes.get(7)?);
        if table.bytes.get(4..6)? != [0, 0] || ![4, 8].contains(&pointer) {
            return None;
        }
        let word =
            |index: usize| usize::try_from(table.number(WORDS + index * pointer, pointer)?).ok();
        let count = word(0)?;
        match magic {
            // nfunc, nfiles, textStart, and where names, units, files, counters and functions are
            MAGIC_1_18 | MAGIC_1_20 => Some(Self {
                count,
                text_start: text_start()?,
                names: word(3)?,
                names_length: word(4)?.checked_sub(word(3)?)?,
                list: word(7)?,
                width: 4,
                details: word(7)?,
            }),
            // The same without textStart.
            MAGIC_1_16 => Some(Self {
                count,
                text_start: 0,
                names: word(2)?,
                names_length: word(3)?.checked_sub(word(2)?)?,
                list: word(6)?,
                width: pointer,
                details: word(6)?,
            }),
            MAGIC_1_2 => Some(Self {
                count,
                text_start: 0,
                names: 0,
                names_length: table.bytes.len(),
                list: WORDS + pointer,
                width: pointer,
                details: 0,
            }),
            _ => None,
        }
    }

    /// Where a function begins and ends, and where its name is among the names.
    fn function(&self, table: &Table<'_>, index: usize) -> Option<(u64, u64, u32)> {
        let entry = |index: usize| self.list.checked_add(index.checked_mul(2 * self.width)?);
        let begin = table.number(entry(index)?, self.width)?;
        let end = table.number(entry(index.checked_add(1)?)?, self.width)?;
        let place = table.number(entry(index)?.checked_add(self.width)?, self.width)?;
        let place = self.details.checked_add(usize::try_from(place).ok()?)?;
        // What is said begins with the address again.
        let name = table.number(place.checked_add(self.width)?, 4)?;
        let address = |offset: u64| self.text_start.wrapping_add(offset);
        Some((address(begin), address(end), u32::try_from(name).ok()?))
    }
}

/// Where the code begins that addresses count from: the third word of the table. In a program that is
/// loaded anywhere, a relocation may have it instead; from Go 1.26 on nothing has, and it is `.text`.
fn text_start(image: &Image, elf: &Elf, section: &Section, table: &Table<'_>) -> Option<u64> {
    let pointer = usize::from(*table.bytes.get(7)?);
    let at = WORDS + 2 * pointer;
    let written = table.number(at, pointer)?;
    if written != 0 {
        return Some(written);
    }
    let mut relocated = None;
    let mut left = image.source().len();
    for relocations in elf.sections.iter().filter(|it| it.name.starts_with(".rela")) {
        // Thousands of headers may name the same ones.
        left = left.checked_sub(relocations.size)?;
        if let Ok(bytes) = image.section_bytes(elf, relocations) {
            elf.for_each_relocation(relocations, &bytes, |relocation| {
                if relocation.offset == section.address.wrapping_add(at as u64) {
                    relocated = relocation.addend.map(i64::cast_unsigned);
                }
            });
        }
    }
    relocated.or_else(|| Some(elf.section_with_bytes(".text")?.address))
}
