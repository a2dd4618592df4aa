//! What a `perf.data` file looks like on disk: constants and layouts, shared by the reader
//! (`decode`) and by the recorder, so that the two cannot disagree.
//!
//! Numbers come from the kernel's `include/uapi/linux/perf_event.h` and from perf's
//! `tools/perf/util/header.h` and `tools/lib/perf/include/perf/event.h`.

pub mod attr;
pub mod build_id;
pub mod elf_note;
pub mod feature;
pub mod footer;
pub mod header;
pub mod package_note;
pub mod perftab_section;
pub mod record;
pub mod tracing_data;
pub mod write;

pub use build_id::{BuildId, IdLength};
