//! The names of a profile's frames: the only source of names for views, exports and links.
//!
//! ```text
//! MatchedImage, MatchedSymbols, ForcedImage → Symbols → views, exports, links
//! ```
#![forbid(unsafe_code)]

mod data_names;
mod frames_by_dso;
mod functions;
mod hints;
mod ledger;
mod lookup;
mod matched_symbols;
mod naming_work;
mod symbols;

pub use data_names::{DataNames, DataObject};
pub use functions::{ByFunction, FunctionId, Provenance};
pub use hints::{Hint, hints, public_debuginfod};
pub use ledger::{Attempt, Ledger, LedgerRow, Status};
pub use lookup::KnownName;
pub use matched_symbols::MatchedSymbols;
pub use naming_work::NamingWork;
pub use symbols::{FileId, Function, Inlining, Level, Naming, Symbols};
