//! Decodes `perf.data`, names frames by build-id and computes views.
//!
//! The folders stand in the order in which data flows:
//!
//! ```text
//! bytes → decode → ingest → profile → symbolize → views → screen
//! ```
//!
//! Constraints that hold everywhere in this crate:
//!
//! - It never does I/O of its own: no sockets, clocks, threads or files. Bytes arrive through
//!   [`decode::ByteSource`] or are pushed into [`session::Opening`].
//! - It never panics, whatever the input; every allocation is bounded by bytes that are there.
//! - A name comes only from a [`symbolize::MatchedImage`], and there is one way to make one.
//! - It is compiled natively and to WebAssembly from the same source, and gives the same columns.
#![forbid(unsafe_code)]

mod containers;
pub mod decode;
#[cfg(test)]
mod density;
pub mod error;
pub mod export;
pub mod format;
pub mod ingest;
pub mod profile;
pub mod session;
pub mod snapshot;
pub mod symbolize;
pub mod text;
pub mod views;
