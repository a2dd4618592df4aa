//! Files that did not run, and have a part of the debug information of those that did: what dwz(1) moved
//! out of several (`supplementary.rs`), and what a compiler split off (`split_units.rs`).
//!
//! Each is used only through a matched image that names it by an id. They may come before that image:
//! then they wait ([`Waiting`]), as far as there is room.

use std::fmt;
use std::str::FromStr;

use gimli::DwoId;
use object::elf;
use perftab_perfdata::format::BuildId;

use super::dso_images::{AddedImage, DsoImages};
use super::elf::Elf;
use super::image::Image;
use super::inline_frames::InlineFrames;
use super::split_units::SplitImage;
use super::supplementary::{SupplementaryLink, has_id, id_of};
use super::symbol_table::SymbolTable;

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

/// What a file names a companion by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompanionId {
    /// A unit's dwo id.
    Unit(DwoId),
    /// The id of what dwz moved out.
    Shared(BuildId),
}

impl fmt::Display for CompanionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(id) => write!(f, "unit/{:016x}", id.0),
            Self::Shared(id) => write!(f, "shared/{id}"),
        }
    }
}

impl FromStr for CompanionId {
    type Err = ();

    /// Reads what `to_string` writes.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, digits) = text.split_once('/').ok_or(())?;
        match kind {
            "unit" if digits.len() == 16 && digits.bytes().all(|it| it.is_ascii_hexdigit()) => {
                u64::from_str_radix(digits, 16).map(|id| Self::Unit(DwoId(id))).map_err(|_| ())
            }
            "shared" => BuildId::from_hex(digits).map(Self::Shared).ok_or(()),
            _ => Err(()),
        }
    }
}

/// A companion that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCompanion {
    /// By what.
    pub id: CompanionId,
    /// Where compiler or dwz put it, as a path of the machine that it ran on; from the folder of the file on if it is
    /// not absolute.
    pub path: String,
}

/// Units that naming has found to be in other files, which are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingUnits {
    /// What the host calls the files that name them.
    pub named_by: Vec<String>,
    /// What these files are, if they say so.
    pub build_id: Option<BuildId>,
    /// The units.
    pub units: Vec<NamedCompanion>,
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

    /// What others may name it by, as far as it says itself: a package has many units.
    pub fn ids(&self) -> Vec<CompanionId> {
        match &self.0 {
            Kind::Split(split) => split.ids().map(CompanionId::Unit).collect(),
            Kind::Shared(image) => id_of(image).map(CompanionId::Shared).into_iter().collect(),
        }
    }

    /// Whether it is what others name by this id, as far as it says itself.
    pub fn is(&self, id: CompanionId) -> bool {
        match (&self.0, id) {
            (Kind::Split(split), CompanionId::Unit(id)) => split.claims(id),
            (Kind::Shared(image), CompanionId::Shared(id)) => id_of(image) == Some(id),
            _ => false,
        }
    }

    /// The companions that an image names, whether or not it is of a build that was recorded: where to look for files
    /// that only [`super::Images`] use. What cannot be read names none.
    pub fn named_by(image: &Image) -> Vec<NamedCompanion> {
        let shared = SupplementaryLink::of(image).map(|SupplementaryLink { path, build_id }| {
            NamedCompanion { id: CompanionId::Shared(build_id), path }
        });
        let units = image
            .elf()
            .filter(|elf| may_have_skeletons(elf))
            .and_then(|_| InlineFrames::of(image, None, &SymbolTable::default()).ok().flatten());
        shared.into_iter().chain(units.into_iter().flat_map(|it| it.split_units())).collect()
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

/// Units of programs have nothing but skeletons only beside a table of addresses.
pub(super) fn may_have_skeletons(elf: &Elf) -> bool {
    [".debug_addr", ".zdebug_addr"].iter().any(|name| elf.section_with_bytes(name).is_some())
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
