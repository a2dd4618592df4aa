//! What a Go program says of its functions in `.gopclntab`, for its own use: where each begins, what it is called
//! ([`GoFunctions`]), and the lines and the inlined calls in it ([`GoLines`]). `strip` and `-ldflags=-s -w` leave
//! it. (Go's src/internal/abi/symtab.go, src/runtime/symtab.go and src/debug/gosym/pclntab.go, 1.26)

mod lines;
mod module_data;

use object::Endianness;
use perftab_perfdata::decode::ReadError;

use super::dwarf::{Budget, over_budget};
use super::elf::{Elf, RawRelocation, Section};
use super::image::Image;

pub(super) use lines::GoLines;

/// The functions of a Go program.
#[derive(Debug, Default)]
pub(super) struct GoFunctions {
    /// All names, each ended by a zero.
    pub names: Vec<u8>,
    /// Where each begins and ends, and where its name is.
    pub functions: Vec<(u64, u64, u32)>,
}

/// `.data.rel.ro.gopclntab` in programs that are loaded anywhere.
pub(super) fn go_section(elf: &Elf) -> Option<&Section> {
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
    /// Where more than that is said; `None` of programs older than Go 1.18, which nobody builds any more.
    more: Option<More>,
    /// The list of functions: where each begins, and where more is said of it.
    list: usize,
    /// Bytes of each of both numbers.
    width: usize,
    /// What the places in that list count from.
    details: usize,
}

/// Where lines are found in a table.
#[derive(Clone, Copy)]
struct More {
    release: Release,
    /// Numbers of the files of each unit.
    units: usize,
    files: usize,
    /// What is said of addresses, list after list.
    values: usize,
}

/// What else differs between tables that have lines here.
#[derive(Clone, Copy)]
enum Release {
    Go118,
    Go120,
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
                more: Some(More {
                    release: if magic == MAGIC_1_18 { Release::Go118 } else { Release::Go120 },
                    units: word(4)?,
                    files: word(5)?,
                    values: word(6)?,
                }),
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
                more: None,
                list: word(6)?,
                width: pointer,
                details: word(6)?,
            }),
            MAGIC_1_2 => Some(Self {
                count,
                text_start: 0,
                names: 0,
                names_length: table.bytes.len(),
                more: None,
                list: WORDS + pointer,
                width: pointer,
                details: 0,
            }),
            _ => None,
        }
    }

    /// Where a function begins and ends, and where its name is among the names.
    fn function(&self, table: &Table<'_>, index: usize) -> Option<(u64, u64, u32)> {
        let (begin, end) = self.extent(table, index)?;
        // What is said begins with the address again.
        let name = table.number(self.described(table, index)?.checked_add(self.width)?, 4)?;
        Some((begin, end, u32::try_from(name).ok()?))
    }

    /// Where a function begins and ends.
    fn extent(&self, table: &Table<'_>, index: usize) -> Option<(u64, u64)> {
        let begin = table.number(self.entry(index)?, self.width)?;
        let end = table.number(self.entry(index.checked_add(1)?)?, self.width)?;
        let address = |offset: u64| self.text_start.wrapping_add(offset);
        Some((address(begin), address(end)))
    }

    /// Where more is said of a function.
    fn described(&self, table: &Table<'_>, index: usize) -> Option<usize> {
        let place = table.number(self.entry(index)?.checked_add(self.width)?, self.width)?;
        self.details.checked_add(usize::try_from(place).ok()?)
    }

    fn entry(&self, index: usize) -> Option<usize> {
        self.list.checked_add(index.checked_mul(2 * self.width)?)
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
    for_each_relocation(image, elf, |relocation| {
        if relocation.offset == section.address.wrapping_add(at as u64) {
            relocated = relocation.addend.map(i64::cast_unsigned);
        }
    })?;
    relocated.or_else(|| Some(elf.section_with_bytes(".text")?.address))
}

/// Calls `each` for what is put into its data when a program is loaded; `None` if there is more of it than in any.
fn for_each_relocation(
    image: &Image,
    elf: &Elf,
    mut each: impl FnMut(RawRelocation),
) -> Option<()> {
    let mut left = image.source().len();
    for relocations in elf.sections.iter().filter(|it| it.name.starts_with(".rela")) {
        // Thousands of headers may name the same ones.
        left = left.checked_sub(relocations.size)?;
        if let Ok(bytes) = image.section_bytes(elf, relocations) {
            elf.for_each_relocation(relocations, &bytes, &mut each);
        }
    }
    Some(())
}
