//! Inline frames, files and lines from DWARF.
//!
//! Sections are read whole when the first address is looked up, and shared by reference count, so
//! that the look-up can be kept between the slices of a long naming. Look up addresses in
//! ascending order: then each unit is parsed once and while it is in the cache.

use std::borrow::Cow;
use std::sync::Arc;

use addr2line::{Context, LookupResult};
use gimli::{EndianArcSlice, Reader as _, RunTimeEndian, SectionId};
use object::elf;

use super::address::Svma;
use super::elf::{Elf, Section};
use super::kernel_module::{ModuleLayout, RelocatedSections};
use super::matched_image::MatchedImage;
use super::supplementary::SupplementaryImage;
use crate::decode::ReadError;

/// More levels than this at one address are not kept.
const MAX_LEVELS: usize = 256;

type Reader = EndianArcSlice<RunTimeEndian>;

/// The DWARF of one file, ready for look-ups.
pub struct InlineFrames {
    context: Context<Reader>,
}

/// One level of a call at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineLevel<'a> {
    /// Name as in DWARF: the linkage name if there is one, still mangled.
    pub function: Option<Cow<'a, str>>,
    /// Path of the source file.
    pub file: Option<&'a str>,
    /// Line in it, counted from 1.
    pub line: Option<u32>,
}

impl InlineFrames {
    /// True if the image has DWARF to read.
    pub fn exist_in(image: &MatchedImage) -> bool {
        let has = |elf: &Elf, name| elf.section_with_bytes(name).is_some();
        let elf = image.image().elf();
        elf.is_some_and(|elf| has(elf, ".debug_info") || has(elf, ".zdebug_info"))
    }

    /// Reads the DWARF of an image, with what it has in common with others; `None` if it has none.
    pub fn read(
        image: &MatchedImage,
        supplementary: Option<&SupplementaryImage>,
    ) -> Result<Option<Self>, ReadError> {
        let has_dwarf = Self::exist_in(image);
        let image = image.image();
        let Some(elf) = image.elf().filter(|_| has_dwarf) else { return Ok(None) };
        let endian = match elf.endian {
            object::Endianness::Little => RunTimeEndian::Little,
            object::Endianness::Big => RunTimeEndian::Big,
        };
        let relocated = match elf.kind == elf::ET_REL {
            true => match ModuleLayout::of(elf) {
                Some(layout) => Some(RelocatedSections::new(image, elf, &layout)?),
                None => return Ok(None),
            },
            false => None,
        };
        let mut dwarf = gimli::Dwarf::load(|id: SectionId| {
            let bytes = match (wanted(id).then(|| named(elf, id)).flatten(), &relocated) {
                (Some(section), Some(relocated)) => relocated.section_bytes(section)?,
                (Some(section), None) => image.section_bytes(elf, section)?,
                (None, _) => Vec::new(),
            };
            Ok::<_, ReadError>(EndianArcSlice::new(Arc::from(bytes), endian))
        })?;
        let other = supplementary.map(SupplementaryImage::image);
        if let Some((other, elf)) = other.and_then(|other| Some((other, other.elf()?))) {
            dwarf.load_sup(|id: SectionId| {
                let bytes = match wanted(id).then(|| named(elf, id)).flatten() {
                    Some(section) => other.section_bytes(elf, section)?,
                    None => Vec::new(),
                };
                Ok::<_, ReadError>(EndianArcSlice::new(Arc::from(bytes), endian))
            })?;
        }
        let context = Context::from_dwarf(dwarf)
            .map_err(|error| ReadError::new(format!("{}: {error}", image.name())))?;
        Ok(Some(Self { context }))
    }

    /// Calls `each` for the levels at `address`, innermost first; the last one is the function
    /// that the linker knows. Damaged DWARF gives fewer levels, or none.
    pub fn at(&self, address: Svma, mut each: impl FnMut(InlineLevel<'_>)) {
        let frames = match self.context.find_frames(address.0) {
            LookupResult::Output(frames) => frames,
            // Split DWARF lies in other files.
            load @ LookupResult::Load { .. } => load.skip_all_loads(),
        };
        let Ok(mut frames) = frames else { return };
        for _ in 0..MAX_LEVELS {
            let Ok(Some(frame)) = frames.next() else { return };
            let function = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let (file, line) =
                frame.location.as_ref().map_or((None, None), |at| (at.file, at.line));
            each(InlineLevel { function, file, line: line.filter(|&line| line != 0) });
        }
    }

    /// MD5 of the source file of this path that the code at `address` was made of, where the compiler
    /// has noted it (DWARF 5, section 6.2.4.1, DW_LNCT_MD5; clang does, gcc does not).
    pub fn source_md5(&self, address: Svma, path: &str) -> Option<[u8; 16]> {
        let unit = self.context.find_dwarf_and_unit(address.0).skip_all_loads()?;
        let header = unit.line_program.as_ref()?.header();
        if !header.file_has_md5() {
            return None;
        }
        let mut files = header.file_names().iter();
        let file = files.find(|file| path_of(unit, file, header).as_deref() == Some(path))?;
        Some(*file.md5()).filter(|md5| *md5 != [0; 16])
    }
}

/// Path of a line program's file, put together as addr2line does.
fn path_of(
    unit: gimli::UnitRef<'_, Reader>,
    file: &gimli::FileEntry<Reader>,
    header: &gimli::LineProgramHeader<Reader>,
) -> Option<String> {
    let text = |value| {
        let text = unit.attr_string(value).ok()?;
        text.to_string_lossy().ok().map(Cow::into_owned)
    };
    let folder = match file.directory_index() {
        0 => None,
        _ => file.directory(header).map(text),
    };
    let mut path = unit.comp_dir.as_ref().and_then(|folder| folder.to_string_lossy().ok());
    let mut path = path.take().map(Cow::into_owned).unwrap_or_default();
    for part in [folder, Some(text(file.path_name()))].into_iter().flatten() {
        let part = part?;
        if part.starts_with('/') {
            path = part;
        } else {
            if !path.is_empty() && !path.ends_with('/') {
                path.push('/');
            }
            path.push_str(&part);
        }
    }
    Some(path)
}

/// The sections that look-ups touch; others (locations, types, macros) stay on disk.
fn wanted(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    )
}

fn named(elf: &Elf, id: SectionId) -> Option<&Section> {
    elf.section_with_bytes(id.name()).or_else(|| {
        let zlib = id.name().replacen(".debug", ".zdebug", 1);
        elf.section_with_bytes(&zlib)
    })
}
