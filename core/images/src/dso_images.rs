//! The matched files of each DSO.
//!
//! One build may have two files: the binary and its separate debug file. Segments come from the
//! binary, because only there they say where the code lies in the file that was mapped; symbols
//! and DWARF come from whichever has them.

use perftab_perfdata::format::BuildId;
use perftab_perfdata::map::Map;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use object::elf;
use perftab_dsos::{Dso, DsoId, DsoKind};
use serde::{Deserialize, Serialize};

use super::companion::{
    Companion, CompanionId, Kind, MissingUnits, NamedCompanion, may_have_skeletons,
};
use super::dwarf::{Misfit, MissingUnit, over_budget};
use super::elf::Elf;
use super::embedded_symbols;
use super::image::Image;
use super::image_contents::ImageContents;
use super::inline_frames::InlineFrames;
use super::kernel_memory::KernelMemory;
use super::matched_image::MatchedImage;
use super::placement::{Placement, Unplaced};
use super::rejection::Rejection;
use super::same_code::{ComparedPart, has_code, is_same_code};
use super::split_units::SplitImage;
use super::supplementary::{SupplementaryImage, SupplementaryLink, is_named};
use super::symbol_table::{Addresses, SymbolTable};
use super::unwinding::{FrameSections, leaf_code};

/// All files that passed the gate, by the DSOs that they name.
#[derive(Default)]
pub struct DsoImages {
    builds: Vec<Build>,
    of_dso: Map<DsoId, usize>,
    /// What debug files have in common.
    supplementary: Vec<Rc<SupplementaryImage>>,
    /// What compilers split off, by one of the ids in each.
    splits: Map<u64, Vec<Rc<SplitImage>>>,
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
    /// Of a kernel: the first that came.
    memory: Option<KernelMemory>,
    symbols: SymbolTable,
    /// Read at the first look-up; empty if they cannot be.
    objects: OnceCell<SymbolTable>,
    supplementary: Option<Rc<SupplementaryImage>>,
    splits: Vec<Rc<SplitImage>>,
    /// Read at the first look-up.
    inline_frames: OnceCell<DebugInformation>,
    /// The same.
    frame_sections: OnceCell<Arc<FrameSections>>,
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
    /// Forgets which files DSOs have from this number on.
    pub fn keep_dsos(&mut self, count: usize) {
        self.of_dso.retain(|dso, _| dso.index() < count);
    }

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

    /// Takes in a file that matched ones name; gives it back if none does.
    pub fn add_companion(&mut self, companion: Companion) -> Result<AddedImage, Box<Companion>> {
        let dsos = match companion.into_kind() {
            Kind::Shared(image) => self.add_supplementary(image).map_err(Kind::Shared),
            Kind::Split(split) => self.add_split(split).map_err(Kind::Split),
        };
        let gives = ImageContents { inlines: true, ..ImageContents::default() };
        dsos.map(|dsos| AddedImage { dsos, gives }).map_err(|kind| Box::new(kind.into()))
    }

    fn add_supplementary(&mut self, image: Box<Image>) -> Result<Vec<DsoId>, Box<Image>> {
        let images = self.builds.iter().flat_map(|build| &build.images);
        let Some(by) = images.into_iter().find(|by| is_named(by, &image)) else {
            return Err(image);
        };
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
        Ok(dsos)
    }

    /// Builds whose debug information has to be read to know that.
    fn add_split(&mut self, split: Box<SplitImage>) -> Result<Vec<DsoId>, Box<SplitImage>> {
        let names = |build: &Build| {
            let frames = build.inline_frames().filter(|_| build.may_have_skeletons());
            frames.is_some_and(|frames| frames.name_split(&split))
        };
        let naming: Vec<usize> =
            (0..self.builds.len()).filter(|&index| names(&self.builds[index])).collect();
        if naming.is_empty() {
            return Err(split);
        }
        let first = split.ids().next().map_or(0, |id| id.0);
        let alike = self.splits.entry(first).or_default();
        let split = match alike.iter().find(|known| known.is_same(&split)) {
            Some(known) => Rc::clone(known),
            None => {
                let split: Rc<SplitImage> = Rc::from(split);
                alike.push(Rc::clone(&split));
                split
            }
        };
        let mut dsos = Vec::new();
        for index in naming {
            let build = &mut self.builds[index];
            if build.splits.iter().all(|known| !Rc::ptr_eq(known, &split)) {
                build.add_split(Rc::clone(&split));
            }
            dsos.extend(build.images.first().into_iter().flat_map(MatchedImage::dsos));
        }
        Ok(dsos)
    }

    /// The units that naming has found to be in files which are not here.
    pub fn missing_units(&self) -> Vec<MissingUnits> {
        let missing = |build: &Build| {
            let unit =
                |MissingUnit { id, path, .. }| NamedCompanion { id: CompanionId::Unit(id), path };
            let units: Vec<_> = build.missing_units().into_iter().map(unit).collect();
            let named_by = build.images.iter().map(|image| image.name().to_owned()).collect();
            (!units.is_empty()).then_some(MissingUnits {
                named_by,
                build_id: build.build_id(),
                units,
            })
        };
        self.builds.iter().filter_map(missing).collect()
    }

    /// The companions that files of these builds name, and that naming wanted and did not find.
    pub fn wanted_companions(&self) -> Vec<(BuildId, CompanionId)> {
        let mut wanted = Vec::new();
        for build in &self.builds {
            let Some(id) = build.build_id() else { continue };
            let units = build.missing_units().into_iter().map(|unit| CompanionId::Unit(unit.id));
            wanted.extend(units.map(|unit| (id, unit)));
            if build.supplementary.is_none() {
                let links = build.images.iter().map(|image| SupplementaryLink::of(image.image()));
                let links = links.flatten().map(|link| CompanionId::Shared(link.build_id));
                wanted.extend(links.take(1).map(|link| (id, link)));
            }
        }
        wanted
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
        let missing = build.missing_units();
        let misfits = missing.iter().filter_map(|unit| Some((unit, unit.misfit?)));
        if let Some((unit, Misfit { begin, in_unit, in_program })) = misfits.clone().next() {
            let others = misfits.count() - 1;
            let others = if others == 0 { String::new() } else { format!(" (and {others} more)") };
            let why = format!(
                "{}{others} is of another build, though it has the right id: the function at {begin:#x} has \
                 {in_unit} bytes there and {in_program} in the program. Give the files of the build that ran",
                file_name(&unit.path)
            );
            return Some(LostInlines { why, extent: Extent::Part });
        }
        if let Some(first) = missing.first() {
            let (first, others) = (file_name(&first.path), missing.len() - 1);
            let others = if others == 0 { String::new() } else { format!(" and {others} more") };
            let why = format!("they are in {first}{others}: give these files, or their .dwp");
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
        let image = match KernelMemory::of(image) {
            Ok(memory) => {
                self.memory.get_or_insert(memory);
                return Ok(ImageContents { memory: true, ..ImageContents::default() });
            }
            Err(image) => *image,
        };
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
        if gives.inlines || gives.unwinding && !self.splits.is_empty() {
            self.inline_frames = OnceCell::new();
        }
        Ok(gives)
    }

    /// Notes that names had to be left out.
    pub fn note_lost_texts(&self) {
        self.lost_texts.set(true);
    }

    /// A copy of a kernel's memory.
    pub fn memory(&self) -> Option<&KernelMemory> {
        self.memory.as_ref()
    }

    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    pub fn objects(&self) -> &SymbolTable {
        self.objects.get_or_init(|| SymbolTable::of_objects(&self.images).unwrap_or_default())
    }

    pub fn frame_sections(&self) -> &Arc<FrameSections> {
        let images = self.images.iter().map(MatchedImage::image);
        self.frame_sections.get_or_init(|| FrameSections::read(images).into())
    }

    /// None where names come from a list: addresses there are not those of DWARF.
    pub fn inline_frames(&self) -> Option<&InlineFrames> {
        if self.symbols.addresses() == Addresses::AtRunTime {
            return None;
        }
        self.inline_frames.get_or_init(|| self.read_debug_information()).frames.as_ref()
    }

    /// The DWARF of the first image which has some that can be read, or else what a Go program has for itself.
    fn read_debug_information(&self) -> DebugInformation {
        let mut fault = None;
        for image in &self.images {
            let supplementary = self.supplementary.as_deref();
            let supplementary = supplementary.filter(|shared| shared.is_named_by(image));
            match InlineFrames::read(image, supplementary, &self.symbols) {
                Ok(None) => {}
                Ok(Some(frames)) => {
                    let splits = self.splits.iter().filter(|split| frames.name_split(split));
                    splits.for_each(|split| frames.add_split(split, self.frame_sections()));
                    return DebugInformation { frames: Some(frames), fault };
                }
                Err(error) => fault = Some(error.to_string()),
            }
        }
        for image in &self.images {
            match InlineFrames::read_go(image, &self.symbols) {
                Ok(None) => {}
                Ok(frames) => return DebugInformation { frames, fault },
                Err(error) => fault = Some(error.to_string()),
            }
        }
        DebugInformation { frames: None, fault }
    }

    fn build_id(&self) -> Option<BuildId> {
        self.images.iter().find_map(|image| image.image().build_id())
    }

    fn may_have_skeletons(&self) -> bool {
        self.images.iter().filter_map(|image| image.image().elf()).any(may_have_skeletons)
    }

    fn add_split(&mut self, split: Rc<SplitImage>) {
        if let Some(frames) = self.inline_frames() {
            frames.add_split(&split, self.frame_sections());
        }
        self.splits.push(split);
    }

    fn missing_units(&self) -> Vec<MissingUnit> {
        let read = self.inline_frames.get().and_then(|read| read.frames.as_ref());
        read.map(InlineFrames::missing_units).unwrap_or_default()
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

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// True if an ELF file has symbols.
fn has_functions(image: &Image) -> bool {
    let has = |elf: &Elf, kind| elf.section_of_kind(kind).is_some();
    image.elf().is_some_and(|elf| {
        has(elf, elf::SHT_SYMTAB) || has(elf, elf::SHT_DYNSYM) || embedded_symbols::exist_in(elf)
    })
}

fn gives(image: &MatchedImage) -> ImageContents {
    let Some(elf) = image.image().elf() else {
        return ImageContents { functions: true, ..ImageContents::default() };
    };
    let has = |names: &[&str]| names.iter().any(|n| elf.section_with_bytes(n).is_some());
    ImageContents {
        functions: has_functions(image.image()),
        inlines: InlineFrames::exist_in(image),
        unwinding: has(&[".eh_frame", ".debug_frame", ".zdebug_frame"])
            || leaf_code::exists_in(image.image()),
        memory: false,
        symbol_table: elf.section_of_kind(elf::SHT_SYMTAB).is_some()
            || embedded_symbols::exist_in(elf),
    }
}
