//! Where a program can be probed, as offsets in its file, which is how kernels are told: its
//! functions, and the probes that its authors put into it (SDT).
//!
//! `<sys/sdt.h>` writes a note into `.note.stapsdt` for each place of such a probe, of type 3 and
//! owner `stapsdt`:
//!
//! ```c
//! { address pc, base, semaphore; char provider[], name[], arguments[]; }
//! ```
//!
//! `base` is where section `.stapsdt.base` was linked. Who moves a file later (prelink) moves that
//! section, and not what the notes say. `semaphore` counts who looks; 0 for none.
//! (<https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation>)

use std::collections::BTreeSet;

use object::elf;
use perftab_perfdata::decode::ReadError;
use perftab_perfdata::format::elf_note::{Endian, notes};

use super::address::{FileOffset, Svma};
use super::demangle::{demangle, without_parameters};
use super::dwarf::Budget;
use super::elf::{Class, Elf, Segment, text_at};
use super::embedded_symbols::{mini_debug_file, without_version};
use super::function_code::{FunctionCode, MAX_CODE};
use super::image::Image;

const NOTES: &str = ".note.stapsdt";
const BASE: &str = ".stapsdt.base";
const OWNER: &[u8] = b"stapsdt\0";
const NOTE_TYPE: u32 = 3;

/// What the dynamic linker reads is no larger than this.
const MAX_DYNAMIC: u64 = 1 << 20;
const MAX_STRINGS: u64 = 64 << 20;
/// Bytes of names that are looked at; those of Chromium, with all symbols, are some 200 MB.
const MAX_NAMES: usize = 512 << 20;
/// Bytes of mangled names that are put into words, of those that may be meant.
const MAX_DEMANGLED: usize = 32 << 20;
/// Names that are said to be similar.
const MAX_SIMILAR: usize = 3;
/// A longer name is similar to none.
const MAX_COMPARED: usize = 64;

/// A place of a probe that the authors of a program put into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticProbe {
    /// `python`
    pub provider: String,
    /// `function__entry`
    pub name: String,
    /// Where it is.
    pub place: FileOffset,
    /// Counts who looks, if it has that.
    pub semaphore: Option<FileOffset>,
    /// What is passed to it, as an assembler of its machine writes it: `-4@%eax 8@16(%rsp)`.
    pub arguments: String,
}

/// What is there of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundFunctions {
    /// Functions of this name: at least one, ascending.
    At(Vec<Svma>),
    /// None; these names are the most similar ones.
    Similar(Vec<String>),
}

/// What a program has the dynamic linker load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// The linker itself.
    pub interpreter: Option<String>,
    /// Names of libraries (`DT_NEEDED`).
    pub libraries: Vec<String>,
    /// Folders that are searched first (`DT_RUNPATH`, else `DT_RPATH`), as they are written.
    pub folders: Vec<String>,
}

impl Image {
    /// Whether it is a program, a library or another ELF file.
    pub fn is_elf(&self) -> bool {
        self.elf().is_some()
    }

    /// Places of its probes, in the order of its notes. Those that are not in its file are left out.
    pub fn static_probes(&self) -> Result<Vec<StaticProbe>, ReadError> {
        let Some(elf) = self.elf() else { return Ok(Vec::new()) };
        let budget = Budget::of_file(self.source().len());
        let base = elf.sections.iter().find(|section| section.name == BASE);
        let base = base.map(|section| section.address);
        let mut probes = Vec::new();
        for section in elf.sections.iter().filter(|section| section.name == NOTES) {
            let bytes = self.section_within(elf, section, &budget)?;
            let found = notes(&bytes, endian(elf), NOTE_TYPE, OWNER);
            probes.extend(found.filter_map(|note| static_probe(elf, note, base)));
        }
        Ok(probes)
    }

    /// Functions of this name, as it is in the symbols or, without parameters or with them, as it is
    /// shown. `debug_file` has more symbols.
    pub fn functions_called(
        &self,
        name: &str,
        debug_file: Option<&Image>,
    ) -> Result<FoundFunctions, ReadError> {
        let budget = Budget::of_file(self.source().len());
        let embedded = mini_debug_file(self, &budget)?;
        let images: Vec<&Image> =
            [Some(self), debug_file, embedded.as_ref()].into_iter().flatten().collect();
        let (mut exact, mut shown) = (BTreeSet::new(), BTreeSet::new());
        let mut demangled = MAX_DEMANGLED;
        for image in &images {
            for_each_function(image, |symbol, address| {
                if symbol == name {
                    exact.insert(address);
                } else if exact.is_empty()
                    && may_be_shown_as(symbol, name)
                    && !symbol.ends_with(COLD)
                {
                    demangled = demangled.saturating_sub(symbol.len());
                    if demangled > 0 && is_shown_as(symbol, name) {
                        shown.insert(address);
                    }
                }
            })?;
        }
        let found = if exact.is_empty() { shown } else { exact };
        if !found.is_empty() {
            return Ok(FoundFunctions::At(found.into_iter().collect()));
        }
        let (mut similar, mut demangled) = (BTreeSet::new(), MAX_DEMANGLED);
        for image in &images {
            for_each_function(image, |symbol, _| {
                demangled = demangled.saturating_sub(symbol.len());
                if demangled == 0 {
                    return;
                }
                let shown = demangle(symbol);
                let shown = without_parameters(&shown);
                if let Some(distance) = distance(shown, name) {
                    similar.insert((distance, shown.to_owned()));
                    if similar.len() > MAX_SIMILAR {
                        similar.pop_last();
                    }
                }
            })?;
        }
        Ok(FoundFunctions::Similar(similar.into_iter().map(|(_, name)| name).collect()))
    }

    /// The code from where the function of an address begins to behind that address; `None` if no symbol says where it
    /// begins.
    pub fn code_up_to(
        &self,
        address: Svma,
        debug_file: Option<&Image>,
    ) -> Result<Option<FunctionCode>, ReadError> {
        let embedded = mini_debug_file(self, &Budget::of_file(self.source().len()))?;
        let mut start = None;
        for image in [Some(self), debug_file, embedded.as_ref()].into_iter().flatten() {
            for_each_function(image, |_, at| {
                if at <= address {
                    start = start.max(Some(at));
                }
            })?;
        }
        let length = |start: Svma| address.0 - start.0 + LONGEST_INSTRUCTION;
        let Some(start) = start.filter(|start| length(*start) <= MAX_CODE) else { return Ok(None) };
        let code = self.code(start, length(start))?;
        Ok(code.map(|(machine, bytes)| FunctionCode {
            machine,
            start: start.0,
            start_in_file: start,
            bytes,
        }))
    }

    /// Where in the file the code at an address is.
    pub fn code_offset(&self, address: Svma) -> Option<FileOffset> {
        offset_in(self.elf()?, address, Segment::is_executable_load)
    }

    /// What the dynamic linker would load for it.
    pub fn loads(&self) -> Loads {
        self.elf().and_then(|elf| self.read_loads(elf)).unwrap_or_default()
    }

    fn read_loads(&self, elf: &Elf) -> Option<Loads> {
        let segment = |kind| elf.segments.iter().find(|segment| segment.kind == kind);
        let bytes = |segment: &Segment, most: u64| {
            self.source().read_vec(segment.offset, segment.file_size.min(most)).ok()
        };
        let interpreter = segment(elf::PT_INTERP).and_then(|it| bytes(it, MAX_DYNAMIC));
        let interpreter = interpreter.map(|path| text_at(&path, 0).to_owned());
        let mut loads = Loads { interpreter, ..Loads::default() };
        let Some(dynamic) = segment(elf::PT_DYNAMIC) else { return Some(loads) };
        let (dynamic, size) = (bytes(dynamic, MAX_DYNAMIC)?, usize::from(elf.address_size()));
        let entries = || {
            let words = dynamic.chunks_exact(2 * size);
            let words = words.map(|it| (uint(elf, &it[..size]), uint(elf, &it[size..])));
            words.take_while(|(tag, _)| *tag != NULL)
        };
        let value = |wanted| entries().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
        let (address, length) = (value(STRTAB)?, value(STRSZ)?);
        let strings = offset_in(elf, Svma(address), |segment| segment.kind == elf::PT_LOAD)?;
        let strings = self.source().read_vec(strings.0, length.min(MAX_STRINGS)).ok()?;
        let text =
            |at: u64| text_at(&strings, usize::try_from(at).unwrap_or(usize::MAX)).to_owned();
        loads.libraries =
            entries().filter(|(tag, _)| *tag == NEEDED).map(|(_, at)| text(at)).collect();
        if let Some(at) = value(RUNPATH).or_else(|| value(RPATH)) {
            loads.folders = text(at).split(':').map(str::to_owned).collect();
        }
        Some(loads)
    }
}

/// What GCC puts elsewhere of a function, as it is seldom run, has its name and this.
const COLD: &str = ".cold";
/// Of any machine.
const LONGEST_INSTRUCTION: u64 = 16;

/// Tags of the dynamic section (`elf.h`).
const NULL: u64 = 0;
const NEEDED: u64 = 1;
const STRTAB: u64 = 5;
const STRSZ: u64 = 10;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

fn static_probe(elf: &Elf, note: &[u8], base: Option<u64>) -> Option<StaticProbe> {
    let size = usize::from(elf.address_size());
    let (addresses, texts) = note.split_at_checked(3 * size)?;
    let address = |index: usize| uint(elf, &addresses[index * size..][..size]);
    let moved = match (base, address(1)) {
        (Some(now), linked) if linked != 0 => now.wrapping_sub(linked),
        _ => 0,
    };
    let mut texts = texts.split(|byte| *byte == 0);
    let mut text = || Some(std::str::from_utf8(texts.next()?).ok()?.to_owned());
    let (provider, name, arguments) = (text()?, text()?, text().unwrap_or_default());
    let place = Svma(address(0).wrapping_add(moved));
    let semaphore = match address(2) {
        0 => None,
        // A place that cannot be counted at would never be reached.
        linked => Some(offset_in(elf, Svma(linked.wrapping_add(moved)), |segment| {
            segment.kind == elf::PT_LOAD
        })?),
    };
    let place = offset_in(elf, place, Segment::is_executable_load)?;
    Some(StaticProbe { provider, name, place, semaphore, arguments })
}

/// Calls `each` for every function that is in this file, of both of its tables: of most twice.
fn for_each_function(image: &Image, mut each: impl FnMut(&str, Svma)) -> Result<(), ReadError> {
    let Some(elf) = image.elf() else { return Ok(()) };
    let budget = Budget::of_file(image.source().len());
    let mut left = MAX_NAMES;
    for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        let Some(table) = elf.section_of_kind(kind) else { continue };
        let Some(strings) = elf.sections.get(table.link as usize) else { continue };
        let symbols = image.section_within(elf, table, &budget)?;
        let strings = image.section_within(elf, strings, &budget)?;
        elf.for_each_symbol(&symbols, |symbol| {
            // Of an indirect function (IFUNC) that is where it is chosen which one runs.
            if left > 0 && symbol.kind == elf::STT_FUNC && symbol.section.0 != elf::SHN_UNDEF.0 {
                let name = without_version(text_at(&strings, symbol.name as usize));
                left = left.saturating_sub(name.len());
                if !name.is_empty() {
                    each(name, Svma(symbol.value));
                }
            }
        });
    }
    Ok(())
}

/// Whether a mangled name has the last word of `name` in it, as it must.
fn may_be_shown_as(symbol: &str, name: &str) -> bool {
    let word = name.split('(').next().unwrap_or(name);
    let word = word.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
    symbol.contains(word.unwrap_or(name))
}

/// Whether a mangled name is shown as `name`, with or without its parameters.
fn is_shown_as(symbol: &str, name: &str) -> bool {
    let shown = demangle(symbol);
    shown == name || without_parameters(&shown) == name
}

/// How many letters have to be changed; `None` if more than a third of them, or if there are too many.
fn distance(known: &str, name: &str) -> Option<usize> {
    let most = name.len() / 3 + 1;
    if known.len() > MAX_COMPARED || known.len().abs_diff(name.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (at, letter) in name.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in known.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

fn offset_in(elf: &Elf, address: Svma, is_meant: fn(&Segment) -> bool) -> Option<FileOffset> {
    let mut segments = elf.segments.iter().filter(|segment| is_meant(segment));
    segments.find_map(|segment| Some(segment.file_range_from(address)?.0))
}

fn endian(elf: &Elf) -> Endian {
    match elf.endian {
        object::Endianness::Little => Endian::Little,
        object::Endianness::Big => Endian::Big,
    }
}

fn uint(elf: &Elf, bytes: &[u8]) -> u64 {
    debug_assert!(elf.class == Class::Elf64 || bytes.len() == 4);
    endian(elf).uint(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_differ_in_few_letters() {
        assert_eq!(distance("malloc", "maloc"), Some(1));
        assert_eq!(distance("target", "target"), Some(0));
        assert_eq!(distance("main", "target"), None);
        assert_eq!(distance("", ""), Some(0));
        assert_eq!(distance(&"a".repeat(100), &"a".repeat(100)), None);
    }

    #[test]
    fn names_are_found_as_they_are_shown() {
        for name in ["mill::grind", "mill::grind(int)"] {
            assert!(may_be_shown_as("_ZN4mill5grindEi", name), "{name}");
            assert!(is_shown_as("_ZN4mill5grindEi", name), "{name}");
        }
        assert!(!is_shown_as("_ZN4mill5grindEi", "grind"));
        assert!(!is_shown_as("_ZN4mill5grindEi", "mill::grin"));
    }
}
