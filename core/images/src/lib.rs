//! Files that may give names, and the gate that decides which do.
//!
//! ```text
//! bytes of a file → Image → MatchedImage::admit → SymbolTable, InlineFrames → names
//! ```
//!
//! A file that does not pass can be forced ([`ForcedImage`]); each of its names is marked. Nothing here
//! knows samples or stacks: it is asked with identities and addresses.
#![forbid(unsafe_code)]

mod address;
mod asked;
mod code_ranges;
mod code_table;
mod companion;
mod compiled_source;
pub mod containers;
mod content_identity;
mod data_reference;
pub mod demangle;
mod disjoint_ranges;
mod dso_images;
mod dwarf;
mod elf;
mod embedded_symbols;
mod findings;
mod forced;
mod function_code;
mod function_starts;
mod go;
mod image;
mod image_contents;
mod images;
mod inline_frames;
mod jitdump;
mod kallsyms;
mod kernel_memory;
mod kernel_module;
mod mapped_code;
mod matched_image;
mod naming;
mod objects;
mod offer;
mod perf_map;
mod placement;
mod plt;
mod probes;
mod recorded;
mod rejection;
mod rest;
mod same_code;
mod split_units;
mod supplementary;
mod symbol_table;
mod toolchain;
mod unwinding;
mod whole;

pub use address::{FileOffset, Svma};
pub use asked::{NameAnswer, NameRequest, Ticket};
pub use code_table::{Clock, CodeTable, LeftOut};
pub use companion::{Companion, CompanionId, MissingUnits, NamedCompanion};
pub use compiled_source::CompiledSource;
pub use content_identity::ContentHashing;
pub use content_identity::content_hash;
pub use data_reference::{DataReference, ReferenceWay};
pub use demangle::{demangle, without_parameters};
pub use dso_images::{AddedImage, DsoImages, Extent, LostInlines};
pub use dwarf::MAX_SOURCE;
pub use findings::{Candidate, Finding, MatchedFile, OtherBuild, Outcome, Refusal};
pub use forced::{ForceError, ForcedImage, ForcedNames};
pub use function_code::{CodeLine, CodeOrigin, FunctionCode, FunctionPlace, MAX_CODE, Machine};
pub use image::{Image, NotAnImage};
pub use image_contents::ImageContents;
pub use images::{AdmittedFile, ForcedFile, Images, InsistedFile};
pub use inline_frames::{InlineFrames, InlineLevel};
pub use jitdump::is_jitdump;
pub use kallsyms::{
    Disagreement, KALLSYMS_START, Kallsyms, KallsymsFault, stamp_of_kallsyms, stamped_kallsyms,
};
pub use matched_image::MatchedImage;
pub use naming::{
    AddressNames, DsoNaming, FileNumber, ForcedAddresses, FunctionNumber, MatchedNames, NamedLevel,
    NamingDepth, PLT_SUFFIX,
};
pub use objects::MatchedObjects;
pub use offer::{NotUsed, Offer, OfferReport, OfferStep, UsedFile};
pub use perf_map::{is_perf_map, lines_left_out};
pub use probes::{FoundFunctions, Loads, StaticProbe};
pub use recorded::RecordedIdentities;
pub use rejection::{Rejection, SameName};
pub use supplementary::SupplementaryLink;
pub use symbol_table::{Symbol, SymbolKind, SymbolTable};
pub use unwinding::{
    FileRules, MadeCodeRules, Registers, Row, RowMemory, RuleFound, StackCopy, UnwindTables,
    UnwoundMachine, Walk, WalkEnd, WalkedCode,
};
pub use whole::check_whole;
