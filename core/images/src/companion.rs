//! Files that did not run, and have a part of the debug information of those that did: what dwz(1) moved
//! out of several (`supplementary.rs`), and what a compiler split off (`split_units.rs`).
//!
//! Each is used only through a matched image that names it by an id. They may come before that image:
//! then they wait ([`Waiting`]), as far as there is room.

use object::elf;

use super::dso_images::{AddedImage, DsoImages};
use super::elf::Elf;
use super::image::Image;
use super::split_units::SplitImage;
use super::supplementary::has_id;

/// Most files that wait for another that names them: each may take a descriptor of the host, of which
/// some systems permit 4,096.
const MAX_WAITING: usize = 3000;

/// A file that others may name.
#[derive(Debug)]
pub struct Companion(Kind);

#[derive(Debug)]
pub(super) enum Kind {
    Shared(Box<Image>),
    Split(Box<SplitImage>),
}

/// Units that naming has found to be in other files, which are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingUnits {
    /// What the host calls the files that name them.
    pub named_by: Vec<String>,
    /// Where the compiler put each unit, as a path of the machine that it ran on.
    pub paths: Vec<String>,
}

impl Companion {
    /// Takes a file that others may name; gives any other back.
    pub fn of(image: Image) -> Result<Self, Box<Image>> {
        match SplitImage::open(image) {
            Ok(split) => Ok(Self(Kind::Split(Box::new(split)))),
            Err(image) if may_be_shared(&image) => Ok(Self(Kind::Shared(image))),
            Err(image) => Err(image),
        }
    }

    /// What the host calls it.
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Shared(image) => image.name(),
            Kind::Split(split) => split.name(),
        }
    }

    pub(super) fn into_kind(self) -> Kind {
        self.0
    }
}

impl From<Kind> for Companion {
    fn from(kind: Kind) -> Self {
        Self(kind)
    }
}

/// Whether dwz may have written it: debug information with an id, and no place for code.
fn may_be_shared(image: &Image) -> bool {
    let has = |elf: &Elf, name| elf.section_with_bytes(name).is_some();
    let is_alike = |elf: &Elf| {
        elf.kind == elf::ET_REL
            && (has(elf, ".debug_info") || has(elf, ".debug_str"))
            && elf.sections.iter().all(|section| !section.is_executable())
    };
    image.elf().is_some_and(is_alike) && has_id(image)
}

/// Files that nothing here names so far.
#[derive(Default)]
pub(super) struct Waiting(Vec<Companion>);

impl Waiting {
    /// Keeps one for later; whether there was room.
    pub fn push(&mut self, companion: Companion) -> bool {
        let has_room = self.0.len() < MAX_WAITING;
        if has_room {
            self.0.push(companion);
        }
        has_room
    }

    /// Takes those into `files` that are named by now; tells of each what it is called.
    pub fn add_named(&mut self, files: &mut DsoImages) -> Vec<(String, AddedImage)> {
        let mut added = Vec::new();
        for companion in std::mem::take(&mut self.0) {
            let name = companion.name().to_owned();
            match files.add_companion(companion) {
                Ok(image) => added.push((name, image)),
                Err(companion) => self.0.push(*companion),
            }
        }
        added
    }

    /// What they are called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Companion::name)
    }
}
