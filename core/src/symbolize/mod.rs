//! Names, and only through the gate.
//!
//! ```text
//! bytes of a file → Image → MatchedImage::admit → SymbolTable, InlineFrames → Symbols → views
//! ```
//!
//! A file that does not pass can be forced ([`ForcedImage`]); each of its names is marked.
//!
//! [`Symbols`] is the only source of names for views, exports and links.

mod address;
mod code_ranges;
mod content_identity;
pub mod demangle;
mod dso_images;
mod dwarf;
mod elf;
mod embedded;
mod forced;
mod function_code;
mod function_starts;
mod functions;
mod hints;
mod image;
mod inline_frames;
mod kallsyms;
mod kernel_module;
mod ledger;
mod lookup;
mod mapped_code;
mod matched_image;
mod perf_map;
mod placement;
mod plt;
mod recorded;
mod rejection;
mod same_code;
mod supplementary;
mod symbol_table;
mod symbols;
mod toolchain;
mod whole;

pub use address::{FileOffset, Svma};
pub(crate) use content_identity::ContentHashing;
pub use content_identity::content_hash;
pub use demangle::demangle;
pub use dso_images::{AddedImage, DsoImages, Extent, LostInlines};
pub use embedded::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};
pub use forced::{ForceError, ForcedImage, ForcedNames};
pub use function_code::{FunctionCode, Machine};
pub use functions::{FunctionId, Provenance};
pub use hints::{Hint, hints};
pub use image::{Image, NotAnImage};
pub use inline_frames::{InlineFrames, InlineLevel};
pub use kallsyms::{Disagreement, KALLSYMS_START, Kallsyms, KallsymsFault, stamped_kallsyms};
pub use ledger::{Attempt, ImageContents, Ledger, LedgerRow, Status};
pub use lookup::KnownName;
pub use matched_image::{MatchedImage, MatchedSymbols};
pub use recorded::RecordedIdentities;
pub use rejection::{Rejection, SameName};
pub use supplementary::SupplementaryLink;
pub use symbol_table::{Symbol, SymbolKind, SymbolTable};
pub use symbols::{
    FileId, Function, Inlining, Level, Naming, NamingDepth, NamingWork, PLT_SUFFIX, Symbols,
};
pub use whole::check_whole;
