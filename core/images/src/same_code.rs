//! Whether two files of one build-id hold the same code.
//!
//! They do, unless somebody changed one of them after it was linked or gave two builds one id
//! (`--build-id=0x…`). Nothing recorded tells which of the two ran, so the gate keeps the one that
//! it has and refuses the other.
//!
//! A debug file has no code, but its sections say where the code of its binary lies. Contents are
//! compared where both files have them, except for kernels and the vdso: of these one file may be
//! a copy of memory, which the kernel patches at boot (arch/x86/kernel/alternative.c).

use object::elf;
use perftab_perfdata::decode::ReadError;

use super::elf::{Elf, Section, Segment};
use super::image::Image;

/// So much is compared at a time.
const BLOCK: u64 = 1 << 20;

/// How much of the code is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparedPart {
    /// Where it lies.
    Layout,
    /// Every byte too.
    Content,
}

/// False if the files cannot be of one build. What cannot be read is not compared: a file cut short
/// gives what it still has.
pub(super) fn is_same_code(first: &Image, second: &Image, compared: ComparedPart) -> bool {
    let (Some(first_elf), Some(second_elf)) = (first.elf(), second.elf()) else { return true };
    let (mut first_code, mut second_code) = (sections(first_elf), sections(second_elf));
    if first_code.is_empty() || second_code.is_empty() {
        // Somebody cut the section headers off. A debug file has no others that count.
        if !has_code(first_elf) || !has_code(second_elf) {
            return true;
        }
        (first_code, second_code) = (segments(first_elf), segments(second_elf));
    }
    first_code.len() == second_code.len()
        && first_code.iter().zip(&second_code).all(|(a, b)| {
            (a.address, a.size) == (b.address, b.size)
                && (compared == ComparedPart::Layout || has_same_bytes(first, a, second, b))
        })
}

/// True if the file holds the code itself: it has an executable segment with bytes, and the
/// sections there are not all mere placeholders. One may be: a program's memory for code that it makes.
///
/// A debug file has the segments of its binary, but `objcopy --only-keep-debug` gives them other
/// offsets and no bytes, while `eu-strip -f` keeps the binary's offsets and sizes. So segments
/// alone do not tell; code sections of type NOBITS do.
pub(super) fn has_code(elf: &Elf) -> bool {
    let has_bytes = elf.segments.iter().any(|s| s.is_executable_load() && s.file_size > 0);
    let mut code = elf.sections.iter().filter(|it| it.is_executable() && it.size > 0).peekable();
    let is_placeholder = code.peek().is_some() && code.all(|it| it.kind == elf::SHT_NOBITS);
    has_bytes && !is_placeholder
}

/// A piece of code.
struct Code {
    address: u64,
    size: u64,
    /// Where its bytes are, if the file has them.
    offset: Option<u64>,
}

/// The sections of code, in the order of their headers.
fn sections(elf: &Elf) -> Vec<Code> {
    let is_code = |section: &&Section| section.is_executable() && section.is_allocated();
    let code = |section: &Section| Code {
        address: section.address,
        size: section.size,
        offset: section.has_bytes().then_some(section.offset),
    };
    elf.sections.iter().filter(is_code).map(code).collect()
}

/// The segments of code.
fn segments(elf: &Elf) -> Vec<Code> {
    let code = |segment: &Segment| Code {
        address: segment.address,
        size: segment.file_size,
        offset: Some(segment.offset),
    };
    elf.segments.iter().filter(|segment| segment.is_executable_load()).map(code).collect()
}

fn has_same_bytes(first: &Image, a: &Code, second: &Image, b: &Code) -> bool {
    let (Some(a_offset), Some(b_offset)) = (a.offset, b.offset) else { return true };
    let mut at = 0;
    while at < a.size {
        let length = BLOCK.min(a.size - at);
        let read = |image: &Image, offset: u64| -> Result<Vec<u8>, ReadError> {
            image.source().read_vec(offset.saturating_add(at), length)
        };
        match (read(first, a_offset), read(second, b_offset)) {
            (Ok(a), Ok(b)) if a != b => return false,
            (Ok(_), Ok(_)) => at += length,
            _ => return true,
        }
    }
    true
}
