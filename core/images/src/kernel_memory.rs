//! Code of a kernel as it ran, from a copy of its memory: kernels change themselves as they boot.
//!
//! Such a copy is an ELF core file with the build-id as a note, as `perftab buildid kcore` keeps it; perf's have none, and
//! so are of no build. It has no names: where the kernel began in that memory follows from where it begins and
//! ends in the symbols of its build. Of one build that is the same distance wherever the kernel was put, so a copy of
//! another boot will do.
//!
//! Constraint: a copy has modules too, but nothing in it says which. Only the kernel's own code is read.

use perftab_dsos::DsoKind;

use super::address::Svma;
use super::elf::Segment;
use super::function_code::{MAX_CODE, Machine};
use super::matched_image::MatchedImage;
use super::symbol_table::SymbolTable;

/// Memory is copied in whole pages.
const PAGE: u64 = 4096;
/// A kernel and its modules are some hundred pieces of memory.
const MOST_SEGMENTS: usize = 16_384;

/// A copy of the memory of a kernel.
pub(super) struct KernelMemory(MatchedImage);

impl KernelMemory {
    /// Gives a file back that is something else.
    pub fn of(image: MatchedImage) -> Result<Self, Box<MatchedImage>> {
        match image.kind() == DsoKind::Kernel && image.image().is_memory() {
            true => Ok(Self(image)),
            false => Err(Box::new(image)),
        }
    }

    /// The file.
    pub fn matched(&self) -> &MatchedImage {
        &self.0
    }

    /// The bytes from one address to another, as the symbols of the kernel's build have them.
    pub fn code(&self, symbols: &SymbolTable, from: Svma, to: Svma) -> Option<(Machine, Vec<u8>)> {
        let image = self.0.image();
        let elf = image.elf()?;
        let machine = Machine::from_elf(elf.machine.0)?;
        let [start, end] = ["_stext", "_etext"].map(|name| symbols.reference(name));
        let (start, end) = (start?.0, end?.0);
        let first_page = start - start % PAGE;
        let length = end.checked_next_multiple_of(PAGE)?.checked_sub(first_page)?;
        if from.0 < start || to.0 > end || elf.segments.len() > MOST_SEGMENTS {
            return None;
        }
        let is_kernel = |it: &&Segment| it.is_executable_load() && it.file_size == length;
        let mut kernels = elf.segments.iter().filter(is_kernel);
        // If there are two, nothing tells which it is.
        let (Some(kernel), None) = (kernels.next(), kernels.next()) else { return None };
        let offset = kernel.offset.checked_add(from.0.checked_sub(first_page)?)?;
        let length = to.0.checked_sub(from.0)?.min(MAX_CODE);
        Some((machine, image.source().read_vec(offset, length).ok()?))
    }
}
