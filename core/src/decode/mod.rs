//! Bytes to borrowed records. Nothing here keeps state between records; `ingest` does.

mod source;

pub use source::{ByteSource, ReadError, SliceSource};
