//! What several debug files have in common, which dwz(1) moves into one file more.
//!
//! A debug file names it in `.gnu_debugaltlink` (elfutils, libdw/dwarf_getalt.c): a path, ended by a
//! zero, and the build-id that the other file has. Nothing that ran has that id. So the gate for it
//! is this: the id in the file's own note is the one that a matched image names. A path only says
//! where to look, and what is in the file is read only through the DWARF of that image.

use perftab_dsos::Identity;
use perftab_perfdata::format::BuildId;

use super::image::Image;
use super::matched_image::MatchedImage;

const SECTION: &str = ".gnu_debugaltlink";
/// A path and an id are not longer.
const MAX_LENGTH: u64 = 8192;

/// What a debug file says of the file that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplementaryLink {
    /// Absolute, or from the folder of the debug file on.
    pub path: String,
    /// The id of the other file.
    pub build_id: BuildId,
}

impl SupplementaryLink {
    /// The link in an image; `None` if it has none.
    pub fn of(image: &Image) -> Option<Self> {
        let elf = image.elf()?;
        let section = elf.section_with_bytes(SECTION)?;
        let length = elf.inflated_size(image.source(), section).ok()?;
        if length.max(section.size) > MAX_LENGTH {
            return None;
        }
        let bytes = image.section_bytes(elf, section).ok()?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        let path = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
        Some(Self { path, build_id: BuildId::new(bytes.get(end + 1..)?)? })
    }
}

/// A file that a matched image names by its build-id.
#[derive(Debug)]
pub struct SupplementaryImage {
    image: Image,
}

impl SupplementaryImage {
    /// Admits `image` if `by` names its build-id.
    pub fn admit(by: &MatchedImage, image: Image) -> Option<Self> {
        is_named(by, &image).then_some(Self { image })
    }

    /// Whether `by` names this file too: packages share one.
    pub fn is_named_by(&self, by: &MatchedImage) -> bool {
        is_named(by, &self.image)
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }
}

/// Whether a matched image names the build-id of `image`.
pub(super) fn is_named(by: &MatchedImage, image: &Image) -> bool {
    let named = SupplementaryLink::of(by.image()).map(|link| Identity::Gnu(link.build_id));
    named.is_some() && named == image.identity()
}
