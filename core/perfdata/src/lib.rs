//! `perf.data` on disk: layouts, records, features, wrappers; what reads it and what writes it.
//!
//! Nothing here keeps state between records, and nothing here knows what becomes of them.
#![forbid(unsafe_code)]

pub mod address_bits;
pub mod decode;
pub mod error;
pub mod format;
pub mod identity;
pub mod machine;
pub mod map;
pub mod slice;
pub mod sorting;
pub mod text;
