//! A candidate file: what it is and who it is, before anybody decides whether it is used.
//!
//! Opening reads headers and notes only. The content behind them is reached through
//! [`super::MatchedImage`] alone, so nothing in this file gives a name.

use std::fmt;
use std::ops::Range;

use object::elf;
use sha2::{Digest, Sha256};

use super::elf::{Elf, ElfError, Section};
use crate::decode::{ByteSource, ReadError};
use crate::format::BuildId;
use crate::format::elf_note::{Endian, build_id_in_notes};
use crate::profile::{ContentHash, Identity};

/// A note section or segment longer than this is not searched.
const MAX_NOTES: u64 = 1 << 20;
/// How much of each end of a file its content hash covers.
const HASHED_END: u64 = 4096;

/// An ELF file: executable, shared object or separate debug file.
pub struct Image {
    name: String,
    source: Box<dyn ByteSource>,
    elf: Elf,
    identity: Identity,
}

/// Why a file is no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAnImage {
    /// It is something else; these are the bytes it begins with (at most 16).
    NotElf {
        /// The first bytes of the file.
        first_bytes: Vec<u8>,
    },
    /// Its bytes could not be had.
    Unreadable {
        /// What the host said.
        message: String,
    },
}

impl Image {
    /// Opens a file. `name` is shown to humans and decides nothing.
    pub fn open(name: &str, source: Box<dyn ByteSource>) -> Result<Self, NotAnImage> {
        let unreadable = |error: ReadError| NotAnImage::Unreadable { message: error.to_string() };
        let elf = Elf::read(&*source).map_err(|error| match error {
            ElfError::NotElf { first_bytes } => NotAnImage::NotElf { first_bytes },
            ElfError::Read(error) => unreadable(error),
        })?;
        let identity = match gnu_build_id(&elf, &*source) {
            Some(id) => Identity::Gnu(id),
            None => Identity::Content(content_hash(&*source).map_err(unreadable)?),
        };
        Ok(Self { name: name.to_owned(), source, elf, identity })
    }

    /// What the host calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The GNU build-id found in its notes, or else the hash of its content.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Where the bytes of a section lie in the file; `None` if it has none of this name.
    pub fn section_range(&self, name: &str) -> Option<Range<u64>> {
        let section = self.elf.section_with_bytes(name)?;
        Some(section.offset..section.offset.checked_add(section.size)?)
    }

    /// The file name that `.gnu_debuglink` gives its debug file: a place to look, no more.
    ///
    /// The section is the name, ended by a zero, padding to four bytes, and a CRC-32 (gdb's
    /// manual, "Debugging Information in Separate Files"). The build-id is the better check.
    pub fn debug_link(&self) -> Option<String> {
        let section = self.elf.section_with_bytes(".gnu_debuglink")?;
        let bytes = self.source.read_vec(section.offset, section.size.min(MAX_NOTES)).ok()?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        String::from_utf8(bytes[..end].to_vec()).ok().filter(|name| !name.is_empty())
    }

    pub(super) fn elf(&self) -> &Elf {
        &self.elf
    }

    pub(super) fn section_bytes(&self, section: &Section) -> Result<Vec<u8>, ReadError> {
        self.elf.section_bytes(&*self.source, section)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {})", self.name, self.identity)
    }
}

/// Hash that identifies a file without a build-id: see [`ContentHash`].
///
/// It is here for both sides: the recorder hashes the file that was mapped, the gate the file
/// that is offered.
pub fn content_hash(source: &dyn ByteSource) -> Result<ContentHash, ReadError> {
    let length = source.len();
    let end = length.min(HASHED_END);
    let mut hash = Sha256::new();
    hash.update(source.read_vec(0, end)?);
    hash.update(source.read_vec(length - end, end)?);
    hash.update(length.to_be_bytes());
    let mut first_half = [0; 16];
    first_half.copy_from_slice(&hash.finalize()[..16]);
    Ok(ContentHash(first_half))
}

/// Searches note sections, then note segments (a file may have only one of both).
fn gnu_build_id(elf: &Elf, source: &dyn ByteSource) -> Option<BuildId> {
    let endian = match elf.endian {
        object::Endianness::Little => Endian::Little,
        object::Endianness::Big => Endian::Big,
    };
    let sections = elf
        .sections
        .iter()
        .filter(|section| section.kind == elf::SHT_NOTE)
        .map(|section| (section.offset, section.size));
    let segments = elf
        .segments
        .iter()
        .filter(|segment| segment.kind == elf::PT_NOTE)
        .map(|segment| (segment.offset, segment.file_size));
    sections
        .chain(segments)
        .filter(|&(_, size)| size <= MAX_NOTES)
        .find_map(|(offset, size)| build_id_in_notes(&source.read_vec(offset, size).ok()?, endian))
}
