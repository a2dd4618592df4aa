//! The matched files of each DSO.
//!
//! One build may have two files: the binary and its separate debug file. Segments come from the
//! binary, because only there they say where the code lies in the file that was mapped; symbols
//! and DWARF come from whichever has them.

use perftab_perfdata::map::Map;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use object::elf;
use perftab_dsos::{Dso, DsoId, DsoKind};
use serde::{Deserialize, Serialize};

use super::dwarf::over_budget;
use super::elf::Elf;
use super::image::Image;
use super::image_contents::ImageContents;
use super::inline_frames::InlineFrames;
use super::matched_image::MatchedImage;
use super::placement::{Placement, Unplaced};
use super::rejection::Rejection;
use super::same_code::{ComparedPart, has_code, is_same_code};
use super::supplementary::{SupplementaryImage, SupplementaryLink, is_named};
use super::symbol_table::{Addresses, SymbolTable};
use super::unwinding::FrameSections;

/// All files that passed the gate, by the DSOs that they name.
#[derive(Default)]
pub struct DsoImages {
    builds: Vec<Build>,
    of_dso: Map<DsoId, usize>,
    /// What debug files have in common.
    supplementary: Vec<Rc<SupplementaryImage>>,
}

/// What became of an image that passed the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedImage {
    /// The DSOs to name again.
    pub dsos: Vec<DsoId>,
    /// What the file itself holds.
    pub gives: ImageContents,
}

/// The files of one build.
#[derive(Default)]
pub(super) struct Build {
    images: Vec<MatchedImage>,
    symbols: SymbolTable,
    /// Read at the first look-up; empty if they cannot be.
    objects: OnceCell<SymbolTable>,
    supplementary: Option<Rc<SupplementaryImage>>,
    /// Read at the first look-up.
    inline_frames: OnceCell<DebugInformation>,
    /// The same.
    frame_sections: OnceCell<Rc<FrameSections>>,
    /// True if naming left some names out.
    lost_texts: Cell<bool>,
}

/// What became of the debug information of a build.
struct DebugInformation {
    /// `None`: there is none that can be read.
    frames: Option<InlineFrames>,
    /// Why some of it could not be read.
    fault: Option<String>,
}

/// Debug information that gave less than there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostInlines {
    /// Why.
    pub why: String,
    /// How much of it is lost.
    pub extent: Extent,
}

/// How much of something is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Some of it.
    Part,
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
        let shared = self.supplementary.iter().find(|shared| shared.is_named_by(&image)).cloned();
        let build = &mut self.builds[index];
        let gives = build.add(image)?;
        if build.supplementary.is_none() {
            build.supplementary = shared;
        }
        for &dso in &dsos {
            self.of_dso.insert(dso, index);
        }
        Ok(AddedImage { dsos, gives })
    }

    /// Whether a matched file names this one as what it has in common with others.
    pub fn name_supplementary(&self, image: &Image) -> bool {
        self.builds.iter().flat_map(|build| &build.images).any(|by| is_named(by, image))
    }

    /// Takes in a file that matched ones name so; `None` if none does.
    pub fn add_supplementary(&mut self, image: Image) -> Option<AddedImage> {
        let images = self.builds.iter().flat_map(|build| &build.images);
        let by = images.into_iter().find(|by| is_named(by, &image))?;
        let admitted = Rc::new(SupplementaryImage::admit(by, image)?);
        let mut dsos = Vec::new();
        for build in &mut self.builds {
            if let Some(by) = build.images.iter().find(|by| admitted.is_named_by(by)) {
                dsos.extend_from_slice(by.dsos());
                build.supplementary = Some(Rc::clone(&admitted));
                build.inline_frames = OnceCell::new();
            }
        }
        self.supplementary.push(admitted);
        Some(AddedImage {
            dsos,
            gives: ImageContents { inlines: true, ..ImageContents::default() },
        })
    }

    /// The files that matched ones name as what they have in common with others, and that are not
    /// here; each with the name of one that names it.
    pub fn wanted_supplementary(&self) -> Vec<(String, SupplementaryLink)> {
        let mut wanted: Vec<(String, SupplementaryLink)> = Vec::new();
        for build in self.builds.iter().filter(|build| build.supplementary.is_none()) {
            for image in &build.images {
                if let Some(link) = SupplementaryLink::of(image.image())
                    && wanted.iter().all(|(_, known)| known.build_id != link.build_id)
                {
                    wanted.push((image.name().to_owned(), link));
                }
            }
        }
        wanted
    }

    /// The files of one DSO.
    pub(super) fn build(&self, dso: DsoId) -> Option<&Build> {
        self.builds.get(*self.of_dso.get(&dso)?)
    }

    /// Why the matched files of a DSO give it no names: a sentence for people.
    pub fn why_unplaced(&self, id: DsoId, dso: &Dso) -> Option<&'static str> {
        self.build(id)?.placement(dso).err().map(Unplaced::sentence)
    }

    /// What naming could not read of the debug information of a DSO.
    pub fn lost_inlines(&self, id: DsoId) -> Option<LostInlines> {
        let build = self.build(id)?;
        if build.lost_texts.get() {
            let why = "its names need more memory than a file of its size may use".to_owned();
            return Some(LostInlines { why, extent: Extent::Part });
        }
        let DebugInformation { frames, fault } = build.inline_frames.get()?;
        match (frames, fault) {
            (None, Some(why)) => Some(LostInlines { why: why.clone(), extent: Extent::Whole }),
            (Some(frames), _) if frames.is_over_budget() => {
                Some(LostInlines { why: over_budget().to_string(), extent: Extent::Part })
            }
            _ => None,
        }
    }

    /// The matched files of a DSO, in the order in which they came.
    pub fn of(&self, dso: DsoId) -> &[MatchedImage] {
        self.build(dso).map_or(&[], |build| &build.images)
    }
}

impl Build {
    fn add(&mut self, image: MatchedImage) -> Result<ImageContents, Rejection> {
        let compared = match image.kind() {
            DsoKind::User | DsoKind::Module => ComparedPart::Content,
            _ => ComparedPart::Layout,
        };
        let is_other =
            |known: &&MatchedImage| !is_same_code(known.image(), image.image(), compared);
        if let Some(first) = self.images.iter().find(is_other) {
            let (found, first) = (image.identity().to_string(), first.name().to_owned());
            return Err(Rejection::SameIdOtherCode { found, first });
        }
        let mut gives = gives(&image);
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
        self.frame_sections = OnceCell::new();
        self.objects = OnceCell::new();
        gives.functions &= self.symbols.has_functions();
        if gives.inlines {
            self.inline_frames = OnceCell::new();
        }
        Ok(gives)
    }

    /// Notes that names had to be left out.
    pub fn note_lost_texts(&self) {
        self.lost_texts.set(true);
    }

    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    pub fn objects(&self) -> &SymbolTable {
        self.objects.get_or_init(|| SymbolTable::of_objects(&self.images).unwrap_or_default())
    }

    pub fn frame_sections(&self) -> &Rc<FrameSections> {
        self.frame_sections.get_or_init(|| FrameSections::read(&self.images).into())
    }

    /// None where names come from a list: addresses there are not those of DWARF.
    pub fn inline_frames(&self) -> Option<&InlineFrames> {
        if self.symbols.addresses() == Addresses::AtRunTime {
            return None;
        }
        self.inline_frames.get_or_init(|| self.read_debug_information()).frames.as_ref()
    }

    /// That of the first image which has some that can be read.
    fn read_debug_information(&self) -> DebugInformation {
        let mut fault = None;
        for image in &self.images {
            let supplementary = self.supplementary.as_deref();
            let supplementary = supplementary.filter(|shared| shared.is_named_by(image));
            match InlineFrames::read(image, supplementary, &self.symbols) {
                Ok(None) => {}
                Ok(frames) => return DebugInformation { frames, fault },
                Err(error) => fault = Some(error.to_string()),
            }
        }
        DebugInformation { frames: None, fault }
    }

    /// How frame addresses of `dso` become addresses of this build: by the first file that tells. What
    /// one file shows to be of two files, no other can tell.
    pub fn placement<'a>(&'a self, dso: &'a Dso) -> Result<Placement<'a>, Unplaced> {
        let images = self.images.iter();
        let placed: Vec<_> =
            images.map(|image| Placement::of(dso, image.image(), &self.symbols)).collect();
        let is_of_several = |placed: &&Result<_, _>| matches!(placed, Err(Unplaced::Several));
        let told = placed.iter().find(is_of_several).or(placed.iter().find(|it| it.is_ok()));
        told.or(placed.first()).copied().unwrap_or(Err(Unplaced::NoCode))
    }
}

/// True if an ELF file has symbols.
fn has_functions(image: &Image) -> bool {
    let has = |elf: &Elf, kind| elf.section_of_kind(kind).is_some();
    image.elf().is_some_and(|elf| has(elf, elf::SHT_SYMTAB) || has(elf, elf::SHT_DYNSYM))
}

fn gives(image: &MatchedImage) -> ImageContents {
    let Some(elf) = image.image().elf() else {
        return ImageContents { functions: true, ..ImageContents::default() };
    };
    let has = |names: &[&str]| names.iter().any(|n| elf.section_with_bytes(n).is_some());
    ImageContents {
        functions: has_functions(image.image()),
        inlines: InlineFrames::exist_in(image),
        unwinding: has(&[".eh_frame", ".debug_frame", ".zdebug_frame"]),
        symbol_table: elf.section_of_kind(elf::SHT_SYMTAB).is_some(),
    }
}
