//! The matched files of each DSO, and from an address in a recording to an address in a file.
//!
//! One build may have two files: the binary and its separate debug file. Segments come from the
//! binary, because only there they say where the code lies in the file that was mapped; symbols
//! and DWARF come from whichever has them.

use std::cell::OnceCell;
use std::collections::HashMap;

use object::elf;

use super::address::{FileOffset, Svma};
use super::elf::Elf;
use super::image::{Content, Image};
use super::inline_frames::InlineFrames;
use super::ledger::Gives;
use super::matched_image::MatchedImage;
use super::rejection::Rejection;
use super::same_code::{Compared, has_code, is_same_code};
use super::symbol_table::SymbolTable;
use crate::profile::{Dso, DsoId, DsoKind};

/// All files that passed the gate, by the DSOs that they name.
#[derive(Default)]
pub struct DsoImages {
    builds: Vec<Build>,
    of_dso: HashMap<DsoId, usize>,
}

/// What became of an image that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedImage {
    /// The DSOs to name again.
    pub dsos: Vec<DsoId>,
    /// What the file itself holds.
    pub gives: Gives,
}

/// The files of one build.
#[derive(Default)]
pub(super) struct Build {
    images: Vec<MatchedImage>,
    symbols: SymbolTable,
    /// Read at the first look-up; `None` inside: there is none that can be read.
    inline_frames: OnceCell<Option<InlineFrames>>,
}

impl DsoImages {
    /// Takes an image in. Refuses one that has other code than those of its build that came
    /// before, and one whose symbols cannot be read.
    pub fn add(&mut self, image: MatchedImage) -> Result<AddedImage, Rejection> {
        let dsos = image.dsos().to_vec();
        let known = dsos.iter().find_map(|dso| self.of_dso.get(dso).copied());
        let index = known.unwrap_or(self.builds.len());
        if index == self.builds.len() {
            self.builds.push(Build::default());
        }
        let gives = self.builds[index].add(image)?;
        for &dso in &dsos {
            self.of_dso.insert(dso, index);
        }
        Ok(AddedImage { dsos, gives })
    }

    /// The files of one DSO.
    pub(super) fn build(&self, dso: DsoId) -> Option<&Build> {
        self.builds.get(*self.of_dso.get(&dso)?)
    }

    /// The matched files of a DSO, in the order in which they came.
    pub fn of(&self, dso: DsoId) -> &[MatchedImage] {
        self.build(dso).map_or(&[], |build| &build.images)
    }
}

impl Build {
    fn add(&mut self, image: MatchedImage) -> Result<Gives, Rejection> {
        let compared = match image.kind() {
            DsoKind::User | DsoKind::Module => Compared::Content,
            _ => Compared::Layout,
        };
        let is_other =
            |known: &&MatchedImage| !is_same_code(known.image(), image.image(), compared);
        if let Some(first) = self.images.iter().find(is_other) {
            let (found, first) = (image.identity().to_string(), first.name().to_owned());
            return Err(Rejection::SameIdOtherCode { found, first });
        }
        let gives = gives(&image);
        // Binaries first: their segments and their linkage table are the ones that count.
        let has_code = image.image().elf().is_some_and(has_code);
        let place = if has_code { 0 } else { self.images.len() };
        self.images.insert(place, image);
        match SymbolTable::read(&self.images) {
            Ok(symbols) => self.symbols = symbols,
            Err(error) => {
                self.images.remove(place);
                return Err(Rejection::Unreadable { message: error.to_string() });
            }
        }
        if gives.inlines {
            self.inline_frames = OnceCell::new();
        }
        Ok(gives)
    }

    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// None where names come from a list: addresses there are not those of DWARF.
    pub fn inline_frames(&self) -> Option<&InlineFrames> {
        let images = || self.images.iter().map(MatchedImage::image);
        if images().any(|image| image.elf().is_none()) && !images().any(has_functions) {
            return None;
        }
        let read = || self.images.iter().find_map(|image| InlineFrames::read(image).ok().flatten());
        self.inline_frames.get_or_init(read).as_ref()
    }

    /// How frame addresses of `dso` become addresses of this build.
    pub fn placement(&self, dso: &Dso) -> Option<Placement<'_>> {
        Placement::of(dso, self.images.first()?.image(), &self.symbols)
    }
}

/// A rule from frame addresses to addresses of a file.
#[derive(Clone, Copy)]
pub(super) enum Placement<'a> {
    /// Through the program headers of the file that was mapped.
    Segments(&'a Elf),
    /// By a constant: this much is subtracted.
    Slide(u64),
}

impl<'a> Placement<'a> {
    /// How frame addresses of `dso` become addresses in `symbols`, whose first file is `image`.
    pub fn of(dso: &Dso, image: &'a Image, symbols: &SymbolTable) -> Option<Self> {
        let elf = match image.content() {
            Content::Elf(elf) => elf,
            Content::Kallsyms(kallsyms) => {
                let place = &dso.kernel_place;
                let reference = place.reference.filter(|_| place.moved_to.is_empty())?;
                let symbol = place.symbol.as_deref().unwrap_or("_text");
                let then = kallsyms.address_of(symbol)?;
                return (dso.kind == DsoKind::Kernel)
                    .then_some(Self::Slide(reference.wrapping_sub(then)));
            }
            // It has addresses at run time, as the frames of memory without a file have.
            Content::PerfMap => {
                return (dso.kind == DsoKind::Anon).then_some(Self::Slide(0));
            }
        };
        match dso.kind {
            DsoKind::Kernel => {
                let reference = dso.kernel_place.reference.filter(|&address| address != 0)?;
                let svma = ["_text", "_stext"].iter().find_map(|n| symbols.address_of(n))?;
                Some(Self::Slide(reference.wrapping_sub(svma.0)))
            }
            // Where the sections of a module lie is not known here.
            DsoKind::Module | DsoKind::Anon | DsoKind::Jit => None,
            DsoKind::Unmapped | DsoKind::Folded => None,
            DsoKind::User | DsoKind::Vdso if has_code(elf) => Some(Self::Segments(elf)),
            DsoKind::User | DsoKind::Vdso => {
                let start = dso.executable_offset.map(FileOffset);
                let slide = start.and_then(|start| executable_slide(elf, start));
                Some(slide.map_or(Self::Segments(elf), Self::Slide))
            }
        }
    }

    pub fn svma(&self, address: u64) -> Option<Svma> {
        match self {
            Self::Segments(elf) => elf.svma_from_file_offset(FileOffset(address)),
            Self::Slide(slide) => Some(Svma(address.wrapping_sub(*slide))),
        }
    }
}

/// File offset − address in the file, for a debug file whose segments have lost their offsets.
///
/// Known are the offset at which the executable mapping began (`start`, recorded: the segment's
/// offset rounded down to a page), and the segment's address. Their difference, rounded down to
/// the segment's alignment, is what the linker used: addresses and offsets are congruent modulo
/// the alignment, and a page is not larger than that. It holds whatever the size of a page was,
/// and only if the file has one executable segment.
fn executable_slide(elf: &Elf, start: FileOffset) -> Option<u64> {
    let mut executable = elf.segments.iter().filter(|segment| segment.is_executable_load());
    let (segment, None) = (executable.next()?, executable.next()) else { return None };
    let align = segment.align.max(1);
    if !align.is_power_of_two() {
        return None;
    }
    let svma_ahead = segment.address.wrapping_sub(start.0) & !(align - 1);
    Some(svma_ahead.wrapping_neg())
}

/// True if an ELF file has symbols.
fn has_functions(image: &Image) -> bool {
    let has = |elf: &Elf, kind| elf.section_of_kind(kind).is_some();
    image.elf().is_some_and(|elf| has(elf, elf::SHT_SYMTAB) || has(elf, elf::SHT_DYNSYM))
}

fn gives(image: &MatchedImage) -> Gives {
    let Some(elf) = image.image().elf() else {
        return Gives { functions: true, ..Gives::default() };
    };
    let has = |names: &[&str]| names.iter().any(|n| elf.section_with_bytes(n).is_some());
    Gives {
        functions: has_functions(image.image()),
        inlines: InlineFrames::exist_in(image),
        unwinding: has(&[".eh_frame", ".debug_frame", ".zdebug_frame"]),
    }
}
