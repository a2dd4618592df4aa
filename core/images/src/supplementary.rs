//! What several debug files have in common, which dwz(1) moves into one file more.
//!
//! A debug file names it in `.gnu_debugaltlink` (elfutils, libdw/dwarf_getalt.c): a path, ended by a
//! zero, and the build-id that the other file has. With DWARF 5 (`dwz -5`; section 7.3.6), both have a
//! `.debug_sup`: a version (2 bytes), 1 in the file that is shared and 0 in others, the path, ended by a zero,
//! and the length (ULEB128) and bytes of an id. Nothing that ran has that id. So the gate for it
//! is this: the file's own id is the one that a matched image names. A path only says where to look, and
//! what is in the file is read only through the DWARF of that image.

use perftab_perfdata::format::BuildId;

use super::image::Image;
use super::matched_image::MatchedImage;

/// A path and an id are not longer.
const MAX_LENGTH: u64 = 8192;

/// What a debug file says of the file that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplementaryLink {
    /// Absolute, or from the folder of the debug file on.
    pub path: String,
    /// The id of the other file: its build-id, or that of its `.debug_sup`.
    pub build_id: BuildId,
}

impl SupplementaryLink {
    /// The link in an image; `None` if it has none.
    pub fn of(image: &Image) -> Option<Self> {
        if let Some(Sup { path, id, role: Role::User }) = Sup::of(image) {
            return Some(Self { path, build_id: id });
        }
        let bytes = short_section(image, ".gnu_debugaltlink")?;
        let (path, id) = split_text(&bytes)?;
        Some(Self { path, build_id: BuildId::new(id)? })
    }
}

/// A `.debug_sup`.
struct Sup {
    role: Role,
    path: String,
    id: BuildId,
}

enum Role {
    User,
    Shared,
}

impl Sup {
    fn of(image: &Image) -> Option<Self> {
        let bytes = short_section(image, ".debug_sup")?;
        let role = match bytes.get(2)? {
            0 => Role::User,
            _ => Role::Shared,
        };
        let (path, rest) = split_text(bytes.get(3..)?)?;
        // No id has 128 bytes, so the length is one byte.
        let (&length, id) = rest.split_first()?;
        Some(Self { role, path, id: BuildId::new(id.get(..usize::from(length))?)? })
    }
}

fn short_section(image: &Image, name: &str) -> Option<Vec<u8>> {
    let elf = image.elf()?;
    let section = elf.section_with_bytes(name)?;
    let length = elf.inflated_size(image.source(), section).ok()?;
    if length.max(section.size) > MAX_LENGTH {
        return None;
    }
    image.section_bytes(elf, section).ok()
}

/// The text up to the first zero, and what is behind that.
fn split_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((String::from_utf8_lossy(bytes.get(..end)?).into_owned(), bytes.get(end + 1..)?))
}

/// The id that others name an image by.
pub(super) fn id_of(image: &Image) -> Option<BuildId> {
    match Sup::of(image) {
        Some(Sup { id, role: Role::Shared, .. }) => Some(id),
        _ => image.build_id(),
    }
}

/// Whether others may name it.
pub(super) fn has_id(image: &Image) -> bool {
    id_of(image).is_some()
}

/// A file that a matched image names by its id.
#[derive(Debug)]
pub struct SupplementaryImage {
    image: Box<Image>,
}

impl SupplementaryImage {
    /// Admits `image` if `by` names its id; gives it back if not.
    pub fn admit(by: &MatchedImage, image: Box<Image>) -> Result<Self, Box<Image>> {
        if is_named(by, &image) { Ok(Self { image }) } else { Err(image) }
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
    let named = SupplementaryLink::of(by.image()).map(|link| link.build_id);
    named.is_some() && named == id_of(image)
}
