//! A candidate file: what it is and who it is, before anybody decides whether it is used.
//!
//! Opening reads headers and notes only. The content behind them is reached through
//! [`super::MatchedImage`] alone, so nothing in this file gives a name.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use object::elf;
use perftab_dsos::{ContentHash, Identity};
use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes, content_in_notes};
use perftab_perfdata::format::package_note::{PackageNote, package_in_notes};

use super::code_table::CodeTable;
use super::content_identity::{self, ContentHashing, content_hash};
use super::dwarf::{Budget, over_budget};
use super::elf::{Class, Elf, ElfError, Section};
use super::kallsyms::{Kallsyms, KallsymsFault};
use super::{jitdump, perf_map};

/// A note section or segment longer than this is not searched.
const MAX_NOTES: u64 = 1 << 20;
/// So much of the start of a file tells what kind of text it is.
const TEXT_START: u64 = 4096;

/// A candidate: an ELF file (executable, shared object, separate debug file), the symbols of a
/// kernel as text, or what a process says of its code.
pub struct Image {
    name: String,
    source: Box<dyn ByteSource>,
    content: Content,
    identity: FoundIdentity,
    basis: Basis,
}

/// What says who it is.
enum FoundIdentity {
    /// Its build-id, or nothing.
    Gnu(Option<BuildId>),
    /// All of it, which is read only if somebody asks; `None` if that failed.
    Content(OnceLock<Option<ContentHash>>),
}

/// What kind of candidate it is.
pub(super) enum Content {
    Elf(Elf),
    Kallsyms(Kallsyms),
    /// Of a process; read when somebody asks.
    Code(CodeForm),
}

/// How a process says what code it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeForm {
    PerfMap,
    Jitdump,
}

/// What an image's identity rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Its own bytes, or those of the kernel that it was read from.
    Content,
    /// The name of the folder that it lies in: the addresses that were recorded must agree.
    Claim,
}

/// Why a file is no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAnImage {
    /// It is something else; these are the bytes it begins with (at most 16).
    NotElf {
        /// The first bytes of the file.
        first_bytes: Vec<u8>,
    },
    /// It has the symbols of a kernel as text, but of no use.
    Kallsyms(KallsymsFault),
    /// Its bytes could not be had.
    Unreadable {
        /// What the host said.
        message: String,
    },
}

impl From<KallsymsFault> for NotAnImage {
    fn from(fault: KallsymsFault) -> Self {
        match fault {
            KallsymsFault::Unreadable { message } => Self::Unreadable { message },
            fault => Self::Kallsyms(fault),
        }
    }
}

impl Image {
    /// Opens a file; its content says what it is. `name` is shown to humans and decides nothing.
    pub fn open(name: &str, source: Box<dyn ByteSource>) -> Result<Self, NotAnImage> {
        let unreadable = |error: ReadError| NotAnImage::Unreadable { message: error.to_string() };
        let (content, identity) = match Elf::read(&*source) {
            Ok(elf) if elf.end > source.len() => {
                let message = format!(
                    "it is truncated at {} of {} bytes: copy or fetch it again",
                    source.len(),
                    elf.end
                );
                return Err(NotAnImage::Unreadable { message });
            }
            Ok(elf) => {
                let identity = match gnu_build_id(&elf, &*source) {
                    Some(id) => FoundIdentity::Gnu(Some(id)),
                    None => match in_notes(&elf, &*source, content_in_notes) {
                        Some(of_whole) => FoundIdentity::Content(OnceLock::from(Some(of_whole))),
                        None if source.len() > content_identity::MAX_LENGTH => {
                            FoundIdentity::Gnu(None)
                        }
                        None => FoundIdentity::Content(OnceLock::new()),
                    },
                };
                (Content::Elf(elf), identity)
            }
            Err(ElfError::NotElf { first_bytes }) => {
                let start = source.read_vec(0, source.len().min(TEXT_START)).map_err(unreadable)?;
                if Kallsyms::detect(&start) {
                    let kallsyms = Kallsyms::read(&*source)?;
                    let identity = FoundIdentity::Gnu(kallsyms.stamp());
                    (Content::Kallsyms(kallsyms), identity)
                } else if jitdump::is_jitdump(&start) {
                    (Content::Code(CodeForm::Jitdump), FoundIdentity::Gnu(None))
                } else if perf_map::is_perf_map(&start) {
                    (Content::Code(CodeForm::PerfMap), FoundIdentity::Gnu(None))
                } else {
                    return Err(NotAnImage::NotElf { first_bytes });
                }
            }
            Err(ElfError::Read(error)) => return Err(unreadable(error)),
        };
        Ok(Self { name: name.to_owned(), source, content, identity, basis: Basis::Content })
    }

    /// Opens `/proc/kallsyms`; `notes` are the bytes of `/sys/kernel/notes`, read beside it, in
    /// which the build-id stands.
    pub fn open_kallsyms(
        name: &str,
        source: Box<dyn ByteSource>,
        notes: &[u8],
    ) -> Result<Self, NotAnImage> {
        let kallsyms = Kallsyms::read(&*source)?;
        let id =
            [Endian::Little, Endian::Big].into_iter().find_map(|e| build_id_in_notes(notes, e));
        if kallsyms.stamp().is_some_and(|stamp| Some(stamp) != id) {
            return Err(KallsymsFault::StampBroken.into());
        }
        let (name, identity) = (name.to_owned(), FoundIdentity::Gnu(id));
        let content = Content::Kallsyms(kallsyms);
        Ok(Self { name, source, content, identity, basis: Basis::Content })
    }

    /// Opens a copy of kallsyms that a cache keeps under a build-id. Unless its first line vouches
    /// for an id, this one is a claim, and the addresses that were recorded must agree with it.
    pub fn open_cached_kallsyms(
        name: &str,
        source: Box<dyn ByteSource>,
        id: BuildId,
    ) -> Result<Self, NotAnImage> {
        let kallsyms = Kallsyms::read(&*source)?;
        let (id, basis) = match kallsyms.stamp() {
            Some(stamp) => (stamp, Basis::Content),
            None => (id, Basis::Claim),
        };
        let (name, identity) = (name.to_owned(), FoundIdentity::Gnu(Some(id)));
        Ok(Self { name, source, content: Content::Kallsyms(kallsyms), identity, basis })
    }

    /// What the host calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The GNU build-id found in an ELF file's notes, or else the hash of its content, or of that of the whole if it says that
    /// it is a part of it. `None`:
    /// nothing in the file says what it is of, so it never matches (what a process says of its
    /// code, a copy of kallsyms without a stamp). The first time, a hash takes as long as reading all of the file.
    pub fn identity(&self) -> Option<Identity> {
        match &self.identity {
            FoundIdentity::Gnu(id) => id.map(Identity::Gnu),
            FoundIdentity::Content(hash) => {
                let read = || content_hash(&*self.source).ok();
                hash.get_or_init(read).map(Identity::Content)
            }
        }
    }

    /// Whether [`Self::identity`] would have to read all of it.
    pub fn is_unread(&self) -> bool {
        matches!(&self.identity, FoundIdentity::Content(hash) if hash.get().is_none())
    }

    /// Reads on for about so many bytes; true when there is nothing more to read for its identity.
    pub fn read_on(&self, hashing: &mut ContentHashing, bytes: usize) -> Result<bool, ReadError> {
        let FoundIdentity::Content(known) = &self.identity else { return Ok(true) };
        let hash = hashing.step(&*self.source, bytes)?;
        if let Some(hash) = hash {
            known.get_or_init(|| Some(hash));
        }
        Ok(hash.is_some())
    }

    /// Its build-id, as [`Self::identity`] has it.
    pub fn build_id(&self) -> Option<BuildId> {
        match &self.identity {
            FoundIdentity::Gnu(id) => *id,
            FoundIdentity::Content(_) => None,
        }
    }

    /// Where the bytes of a section lie in the file; `None` if it has none of this name.
    pub fn section_range(&self, name: &str) -> Option<Range<u64>> {
        let section = self.elf()?.section_with_bytes(name)?;
        Some(section.offset..section.offset.checked_add(section.size)?)
    }

    /// What its note says of the package that it is from.
    pub fn package(&self) -> Option<PackageNote> {
        match &self.content {
            Content::Elf(elf) => in_notes(elf, &*self.source, package_in_notes),
            Content::Kallsyms(_) | Content::Code(_) => None,
        }
    }

    /// The file name that `.gnu_debuglink` gives its debug file: a place to look, no more.
    ///
    /// The section is the name, ended by a zero, padding to four bytes, and a CRC-32 (gdb's
    /// manual, "Debugging Information in Separate Files"). The build-id is the better check.
    pub fn debug_link(&self) -> Option<String> {
        let section = self.elf()?.section_with_bytes(".gnu_debuglink")?;
        let bytes = self.source.read_vec(section.offset, section.size.min(MAX_NOTES)).ok()?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        String::from_utf8(bytes[..end].to_vec()).ok().filter(|name| !name.is_empty())
    }

    /// What it says of a process's code, if it is of that kind.
    pub fn code_table(&self) -> Option<Result<CodeTable, ReadError>> {
        match self.content {
            Content::Code(CodeForm::PerfMap) => Some(perf_map::read(&self.name, &*self.source)),
            Content::Code(CodeForm::Jitdump) => Some(jitdump::read(&self.name, &*self.source)),
            Content::Elf(_) | Content::Kallsyms(_) => None,
        }
    }

    /// Whether it is a copy of memory, as of a kernel: code without names.
    pub fn is_memory(&self) -> bool {
        let is_it = |elf: &Elf| elf.kind == elf::ET_CORE && elf.class == Class::Elf64;
        self.elf().is_some_and(is_it)
    }

    /// The layout, if it is an ELF file.
    pub(super) fn elf(&self) -> Option<&Elf> {
        match &self.content {
            Content::Elf(elf) => Some(elf),
            Content::Kallsyms(_) | Content::Code(_) => None,
        }
    }

    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    pub(super) fn basis(&self) -> Basis {
        self.basis
    }

    pub(super) fn source(&self) -> &dyn ByteSource {
        &*self.source
    }

    /// The bytes of a section of `elf`, which is [`Self::elf`].
    pub(super) fn section_bytes(&self, elf: &Elf, section: &Section) -> Result<Vec<u8>, ReadError> {
        elf.section_bytes(&*self.source, section)
    }

    /// The same, charged to what the image may use.
    pub(super) fn section_within(
        &self,
        elf: &Elf,
        section: &Section,
        budget: &Budget,
    ) -> Result<Vec<u8>, ReadError> {
        let size = elf.inflated_size(&*self.source, section)?;
        budget.hold(size).map_err(|_| over_budget())?;
        elf.section_bytes(&*self.source, section)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.build_id() {
            Some(id) => write!(f, "Image({}, {id})", self.name),
            None => write!(f, "Image({}, no build-id)", self.name),
        }
    }
}

/// Searches note sections, then note segments (a file may have only one of both).
fn gnu_build_id(elf: &Elf, source: &dyn ByteSource) -> Option<BuildId> {
    in_notes(elf, source, build_id_in_notes)
}

/// What `find` first finds in a note section or segment.
fn in_notes<T>(
    elf: &Elf,
    source: &dyn ByteSource,
    find: fn(&[u8], Endian) -> Option<T>,
) -> Option<T> {
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
        .find_map(|(offset, size)| find(&source.read_vec(offset, size).ok()?, endian))
}
