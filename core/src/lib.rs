//! Decodes `perf.data`, names frames by build-id and computes views.
//!
//! The face of its parts, which are a crate each, in the order in which data flows:
//!
//! ```text
//! bytes → perfdata → profile → names → views → screen
//! binaries → images ──────────┘
//! ```
//!
//! Constraints that hold everywhere in them:
//!
//! - It never does I/O of its own: no sockets, clocks, threads or files. Bytes arrive through
//!   [`perftab_perfdata::decode::ByteSource`] or are pushed into [`session::Opening`].
//! - It never panics, whatever the input; every allocation is bounded by bytes that are there.
//! - A name comes only from a [`perftab_images::MatchedImage`], and there is one way to make one.
//! - It is compiled natively and to WebAssembly from the same source, and gives the same columns.
#![forbid(unsafe_code)]

pub mod images;
pub mod session;
mod terms;

pub use terms::*;
