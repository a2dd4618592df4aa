//! The matched files of each DSO, and from an address in a recording to an address in a file.
//!
//! One build may have two files: the binary and its separate debug file. Segments come from the
//! binary, because only there they say where the code lies in the file that was mapped; symbols
//! and DWARF come from whichever has them.

use std::cell::OnceCell;
use std::collections::HashMap;

use object::elf;

use super::address::{FileOffset, Svma};
use super::inline_frames::InlineFrames;
use super::ledger::Gives;
use super::matched_image::MatchedImage;
use super::symbol_table::SymbolTable;
use crate::decode::ReadError;
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
    /// Takes an image in. Fails only if its symbols cannot be read.
    pub fn add(&mut self, image: MatchedImage) -> Result<AddedImage, ReadError> {
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
    fn add(&mut self, image: MatchedImage) -> Result<Gives, ReadError> {
        let gives = gives(&image);
        // Binaries first: their segments and their linkage table are the ones that count.
        let place = if has_code(&image) { 0 } else { self.images.len() };
        self.images.insert(place, image);
        match SymbolTable::read(&self.images) {
            Ok(symbols) => self.symbols = symbols,
            Err(error) => {
                self.images.remove(place);
                return Err(error);
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

    pub fn inline_frames(&self) -> Option<&InlineFrames> {
        let read = || self.images.iter().find_map(|image| InlineFrames::read(image).ok().flatten());
        self.inline_frames.get_or_init(read).as_ref()
    }

    /// How frame addresses of `dso` become addresses of this build.
    pub fn placement(&self, dso: &Dso) -> Option<Placement<'_>> {
        let image = self.images.first()?;
        match dso.kind {
            DsoKind::Kernel => {
                let reference = dso.kernel_place.reference.filter(|&address| address != 0)?;
                let svma = ["_text", "_stext"].iter().find_map(|n| self.symbols.address_of(n))?;
                Some(Placement::Slide(reference.wrapping_sub(svma.0)))
            }
            // Where the sections of a module lie is not known here.
            DsoKind::Module | DsoKind::Anon | DsoKind::Jit => None,
            DsoKind::Unmapped | DsoKind::Folded => None,
            DsoKind::User | DsoKind::Vdso if has_code(image) => Some(Placement::Segments(image)),
            DsoKind::User | DsoKind::Vdso => {
                let start = dso.executable_offset.map(FileOffset);
                let slide = start.and_then(|start| executable_slide(image, start));
                Some(slide.map_or(Placement::Segments(image), Placement::Slide))
            }
        }
    }
}

/// A rule from frame addresses to addresses of a file.
#[derive(Clone, Copy)]
pub(super) enum Placement<'a> {
    /// Through the program headers of the file that was mapped.
    Segments(&'a MatchedImage),
    /// By a constant: this much is subtracted.
    Slide(u64),
}

impl Placement<'_> {
    pub fn svma(&self, address: u64) -> Option<Svma> {
        match self {
            Self::Segments(image) => image.image().elf().svma_from_file_offset(FileOffset(address)),
            Self::Slide(slide) => Some(Svma(address.wrapping_sub(*slide))),
        }
    }
}

/// True if the file holds the code itself: it has an executable segment with bytes, and the
/// sections there are not mere placeholders.
///
/// A debug file has the segments of its binary, but `objcopy --only-keep-debug` gives them other
/// offsets and no bytes, while `eu-strip -f` keeps the binary's offsets and sizes. So segments
/// alone do not tell; code sections of type NOBITS do.
fn has_code(image: &MatchedImage) -> bool {
    let elf = image.image().elf();
    let has_bytes = elf.segments.iter().any(|s| s.is_executable_load() && s.file_size > 0);
    let is_placeholder = elf.sections.iter().any(|section| {
        section.is_executable() && section.kind == elf::SHT_NOBITS && section.size > 0
    });
    has_bytes && !is_placeholder
}

/// File offset − address in the file, for a debug file whose segments have lost their offsets.
///
/// Known are the offset at which the executable mapping began (`start`, recorded: the segment's
/// offset rounded down to a page), and the segment's address. Their difference, rounded down to
/// the segment's alignment, is what the linker used: addresses and offsets are congruent modulo
/// the alignment, and a page is not larger than that. It holds whatever the size of a page was,
/// and only if the file has one executable segment.
fn executable_slide(image: &MatchedImage, start: FileOffset) -> Option<u64> {
    let elf = image.image().elf();
    let mut executable = elf.segments.iter().filter(|segment| segment.is_executable_load());
    let (segment, None) = (executable.next()?, executable.next()) else { return None };
    let align = segment.align.max(1);
    if !align.is_power_of_two() {
        return None;
    }
    let svma_ahead = segment.address.wrapping_sub(start.0) & !(align - 1);
    Some(svma_ahead.wrapping_neg())
}

fn gives(image: &MatchedImage) -> Gives {
    let elf = image.image().elf();
    let has = |names: &[&str]| names.iter().any(|n| elf.section_with_bytes(n).is_some());
    let has_kind = |kind| elf.section_of_kind(kind).is_some();
    Gives {
        functions: has_kind(elf::SHT_SYMTAB) || has_kind(elf::SHT_DYNSYM),
        inlines: InlineFrames::exist_in(image),
        unwinding: has(&[".eh_frame", ".debug_frame", ".zdebug_frame"]),
    }
}
