//! The spaces in which a code address is counted.
//!
//! An address at run time (AVMA) is turned into a file offset by `ingest`, because only the
//! recording knows the mappings. What follows here is from the file offset to the address that
//! the ELF file itself uses (SVMA), because only the image knows its segments.

/// Offset from the start of the file that was mapped, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOffset(pub u64);

/// Address as stated in an ELF file: `p_vaddr`, `st_value`, DWARF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Svma(pub u64);
