//! Inline frames, files and lines from DWARF, or from what a Go program has of its own.
//!
//! Sections are read whole when the first address is looked up, and shared by reference count, so
//! that the look-up can be kept between the slices of a long naming. Look up addresses in
//! ascending order: then each unit is parsed once and while it is in the cache. What all of it may
//! cost has a bound (`dwarf/`).

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use gimli::{EndianArcSlice, Reader as _, RunTimeEndian, SectionId};
use object::elf;
use perftab_perfdata::decode::ReadError;

use super::address::Svma;
use super::code_ranges::CodeRanges;
use super::companion::{CompanionId, NamedCompanion};
use super::dwarf::{Budget, Fault, Found, MissingUnit, Units, over_budget};
use super::elf::{Elf, MAX_NAME, Section};
use super::go::GoLines;
use super::image::Image;
use super::kernel_module::{ModuleLayout, RelocatedSections};
use super::matched_image::MatchedImage;
use super::split_units::SplitImage;
use super::supplementary::SupplementaryImage;
use super::symbol_table::SymbolTable;
use super::unwinding::FrameSections;

/// The debug information of one file, ready for look-ups.
pub struct InlineFrames(Form);

enum Form {
    Dwarf(Box<Units>),
    Go(GoLines),
}

/// One level of a call at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineLevel<'a> {
    /// Name as in DWARF: the linkage name if there is one, still mangled.
    pub function: Option<Cow<'a, str>>,
    /// Path of the source file.
    pub file: Option<Rc<str>>,
    /// Line in it, counted from 1.
    pub line: Option<u32>,
}

impl InlineFrames {
    /// True if the image has some to read.
    pub fn exist_in(image: &MatchedImage) -> bool {
        image.image().elf().is_some_and(has_dwarf) || GoLines::exist_in(image.image())
    }

    /// Reads the DWARF of an image, with what it has in common with others; `None` if it has none. What
    /// the symbols of its build hold is a part of what the image may use.
    pub fn read(
        image: &MatchedImage,
        supplementary: Option<&SupplementaryImage>,
        symbols: &SymbolTable,
    ) -> Result<Option<Self>, ReadError> {
        Self::of(image.image(), supplementary, symbols)
    }

    /// Reads what a Go program has for itself; `None` if it is none. DWARF has more names: these call all shapes of
    /// a generic function alike.
    pub fn read_go(image: &MatchedImage, symbols: &SymbolTable) -> Result<Option<Self>, ReadError> {
        let lines = GoLines::read(image.image(), budget(image.image(), symbols)?)?;
        Ok(lines.map(|lines| Self(Form::Go(lines))))
    }

    /// The DWARF of an image whose right to give names somebody else answers for.
    pub(super) fn of(
        image: &Image,
        supplementary: Option<&SupplementaryImage>,
        symbols: &SymbolTable,
    ) -> Result<Option<Self>, ReadError> {
        let Some(elf) = image.elf().filter(|elf| has_dwarf(elf)) else { return Ok(None) };
        let endian = elf.dwarf_endian();
        let budget = budget(image, symbols)?;
        let layout = ModuleLayout::of(elf);
        if elf.kind == elf::ET_REL && layout.is_none() {
            return Ok(None);
        }
        let relocate = |layout: &_| RelocatedSections::new(image, elf, layout, &budget);
        let relocated = layout.as_ref().map(relocate).transpose()?;
        let mut dwarf = gimli::Dwarf::load(|id: SectionId| {
            let section = wanted(id).then(|| named(elf, id)).flatten();
            hold(&budget, image, elf, section)?;
            let bytes = match (section, &relocated) {
                (Some(section), Some(relocated)) => relocated.section_bytes(section)?,
                (Some(section), None) => image.section_bytes(elf, section)?,
                (None, _) => Vec::new(),
            };
            Ok::<_, ReadError>(EndianArcSlice::new(Arc::from(bytes), endian))
        })?;
        let other = supplementary.map(SupplementaryImage::image);
        if let Some((other, elf)) = other.and_then(|other| Some((other, other.elf()?))) {
            dwarf.load_sup(|id: SectionId| {
                let section = wanted(id).then(|| named(elf, id)).flatten();
                hold(&budget, other, elf, section)?;
                let bytes = match section {
                    Some(section) => other.section_bytes(elf, section)?,
                    None => Vec::new(),
                };
                Ok::<_, ReadError>(EndianArcSlice::new(Arc::from(bytes), endian))
            })?;
        }
        drop(relocated);
        let code = CodeRanges::of(elf, layout.as_ref());
        let units = Units::read(dwarf, code, budget).map_err(|fault| said(fault, image.name()))?;
        Ok(Some(Self(Form::Dwarf(Box::new(units)))))
    }

    fn units(&self) -> Option<&Units> {
        match &self.0 {
            Form::Dwarf(units) => Some(units),
            Form::Go(_) => None,
        }
    }

    /// Whether a file has the unit of some skeleton that is here.
    pub(super) fn name_split(&self, split: &SplitImage) -> bool {
        self.units().is_some_and(|units| units.name_split(split))
    }

    /// Reads units of which only skeletons are here from this file too, if they fit `program`.
    pub(super) fn add_split(&self, split: &Rc<SplitImage>, program: &Arc<FrameSections>) {
        if let Some(units) = self.units() {
            units.add_split(split, program);
        }
    }

    /// Units that were looked for and are not here.
    pub(super) fn missing_units(&self) -> Vec<MissingUnit> {
        self.units().map(Units::missing).unwrap_or_default()
    }

    /// All units of which only skeletons are here.
    pub(super) fn split_units(&self) -> Vec<NamedCompanion> {
        let named = |(id, path)| NamedCompanion { id: CompanionId::Unit(id), path };
        let units = self.units().map(Units::split_units).unwrap_or_default();
        units.into_iter().map(named).collect()
    }

    /// Where functions begin, in no order.
    pub(super) fn function_starts(&self) -> Vec<u64> {
        self.units().map(Units::function_starts).unwrap_or_default()
    }

    /// Reads every unit once.
    pub(super) fn check(&self, name: &str) -> Result<(), ReadError> {
        self.units().map_or(Ok(()), Units::check).map_err(|fault| said(fault, name))
    }

    /// True if some address has no levels because they would need more than the file may use.
    pub fn is_over_budget(&self) -> bool {
        match &self.0 {
            Form::Dwarf(units) => units.fault().is_some(),
            Form::Go(lines) => lines.is_over_budget(),
        }
    }

    /// Calls `each` for the levels at `address`, innermost first; the last one is the function
    /// that the linker knows. Damaged information gives fewer levels, or none.
    pub fn at(&self, address: Svma, mut each: impl FnMut(InlineLevel<'_>)) {
        let units = match &self.0 {
            Form::Dwarf(units) => units,
            Form::Go(lines) => return lines.at(address.0, each),
        };
        let Some(found) = units.find(address.0) else { return };
        let mut level = |name: Option<&_>, file: Option<u64>, line: u32| {
            each(InlineLevel {
                function: name.and_then(text),
                file: file.and_then(|file| units.path(&found, file)),
                line: Some(line).filter(|&line| line != 0),
            });
        };
        let (mut file, mut line) = found.row().map_or((None, 0), |(file, line)| (Some(file), line));
        for (name, call_file, call_line) in found.bodies().into_iter().rev() {
            level(name, file, line);
            (file, line) = (call_file, call_line);
        }
        level(found.function().flatten(), file, line);
    }

    /// MD5 of the source file of this path that the code at `address` was made of, where the compiler
    /// has noted it (DWARF 5, section 6.2.4.1, DW_LNCT_MD5; clang does, gcc does not).
    pub fn source_md5(&self, address: Svma, path: &str) -> Option<[u8; 16]> {
        let units = self.units()?;
        let found: Found = units.find(address.0)?;
        units.md5(&found, path)
    }

    /// The text of the source file of this path that the code at `address` was made of, where the compiler has put it
    /// in (DW_LNCT_LLVM_source, which `clang -gembed-source` writes into DWARF 5).
    pub fn embedded_source(&self, address: Svma, path: &str) -> Option<Vec<u8>> {
        let units = self.units()?;
        let found: Found = units.find(address.0)?;
        units.source(&found, path)
    }
}

/// What an image may use, less what its symbols hold.
fn budget(image: &Image, symbols: &SymbolTable) -> Result<Budget, ReadError> {
    let budget = Budget::of_file(symbols.file_bytes().max(image.source().len()));
    budget.hold(symbols.memory() as u64).map_err(|_| over_budget())?;
    Ok(budget)
}

fn has_dwarf(elf: &Elf) -> bool {
    let has = |name| elf.section_with_bytes(name).is_some();
    has(".debug_info") || has(".zdebug_info")
}

fn said(fault: Fault, name: &str) -> ReadError {
    match fault {
        Fault::Memory | Fault::Work => over_budget(),
        Fault::Damaged => ReadError::new(format!("{name}: its DWARF cannot be understood")),
    }
}

/// A name; none if it is longer than any.
fn text(name: &EndianArcSlice<RunTimeEndian>) -> Option<Cow<'_, str>> {
    (name.len() <= MAX_NAME).then(|| name.to_string_lossy().ok()).flatten()
}

/// Takes memory for a section, as long as it will be when it is inflated.
fn hold(
    budget: &Budget,
    image: &Image,
    elf: &Elf,
    section: Option<&Section>,
) -> Result<(), ReadError> {
    let Some(section) = section else { return Ok(()) };
    // Twice: as it is read, and as it is kept.
    budget.hold_sections(elf.inflated_size(image.source(), section)?.saturating_mul(2))
}

/// The sections that look-ups touch; others (locations, types, macros) stay on disk.
fn wanted(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    )
}

fn named(elf: &Elf, id: SectionId) -> Option<&Section> {
    elf.section_with_bytes(id.name()).or_else(|| {
        let zlib = id.name().replacen(".debug", ".zdebug", 1);
        elf.section_with_bytes(&zlib)
    })
}
