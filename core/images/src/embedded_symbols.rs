//! Symbols that a stripped file still has, elsewhere than in `.symtab`.
//!
//! - `.gnu_debugdata`: an ELF file with the symbols that `.dynsym` has not, packed by xz ("MiniDebugInfo" in
//!   gdb's manual). Fedora's programs have one.
//! - `.gopclntab`: `go/`.

use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use perftab_perfdata::decode::{ReadError, SliceSource};

use super::dwarf::{Budget, over_budget};
use super::elf::Elf;
use super::go::go_section;
use super::image::Image;

const DEBUG_DATA: &str = ".gnu_debugdata";

/// The file in `.gnu_debugdata`. What cannot be unpacked is not there.
pub(super) fn mini_debug_file(image: &Image, budget: &Budget) -> Result<Option<Image>, ReadError> {
    let elf = image.elf();
    let Some((elf, section)) = elf.and_then(|elf| Some((elf, elf.section_with_bytes(DEBUG_DATA)?)))
    else {
        return Ok(None);
    };
    let packed = image.section_within(elf, section, budget)?;
    let mut bytes = Vec::new();
    let mut unwrap = Unwrap::new(Wrapper::Xz);
    let mut input = packed.as_slice();
    while let Ok(Some(piece)) = unwrap.next(&mut input) {
        budget.hold(piece.len() as u64).map_err(|_| over_budget())?;
        bytes.extend_from_slice(piece);
    }
    let mut held = Ok(());
    let finished = unwrap.finish(&mut |piece| {
        held = held.and(budget.hold(piece.len() as u64));
        if held.is_ok() {
            bytes.extend_from_slice(piece);
        }
    });
    held.map_err(|_| over_budget())?;
    let is_whole = finished.is_ok();
    let open = || Image::open(image.name(), Box::new(SliceSource::new(bytes))).ok();
    Ok(is_whole.then(open).flatten())
}

/// The name of a symbol as the linker wrote it into `.symtab`: `NAME@VERSION`, or `NAME@@VERSION` for the
/// version that is linked by default.
pub(super) fn without_version(symbol: &str) -> &str {
    let Some((name, version)) = symbol.split_once('@') else { return symbol };
    let version = version.strip_prefix('@').unwrap_or(version);
    let is_of_version = |at: char| at.is_ascii_alphanumeric() || "_.-".contains(at);
    let is_version = version.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    match !name.is_empty() && is_version && version.chars().all(is_of_version) {
        true => name,
        false => symbol,
    }
}

/// The symbols that a stripped file has packed inside of it.
pub(super) fn embedded_in(images: &[&Image], budget: &Budget) -> Result<Option<Image>, ReadError> {
    for image in images {
        if let Some(embedded) = mini_debug_file(image, budget)? {
            return Ok(Some(embedded));
        }
    }
    Ok(None)
}

/// Whether a file has symbols that are read here.
pub(super) fn exist_in(elf: &Elf) -> bool {
    elf.section_with_bytes(DEBUG_DATA).is_some() || go_section(elf).is_some()
}
