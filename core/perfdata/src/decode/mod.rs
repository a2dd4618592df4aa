//! Bytes to borrowed records. Nothing here keeps state between records; `ingest` does.
//!
//! All arithmetic on values of the file is checked here, so that nothing after it has to.

pub mod attr;
pub mod compressed;
pub mod cursor;
pub mod data_source;
pub mod event_format;
pub mod features;
pub mod header;
pub mod off_cpu_sample;
pub mod print_format;
pub mod records;
pub mod sample;
pub mod sample_tail;
pub mod simpleperf;
mod source;
pub mod tracing_data;
pub mod unpack;
pub mod wrapper;
mod zstd;

pub use cursor::{ByteOrder, Cursor};
pub use source::{ByteSource, ReadError, SliceSource};
