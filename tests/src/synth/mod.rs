//! Writes `perf.data` in every form that there is, from a description: a [`Recording`] is filled
//! with records and features in the order of a recorder, then written as file, pipe or directory.
//!
//! It shares no layout with core, so that one mistake cannot cancel itself: attrs, branch entries
//! and constants are the kernel's own (`perf-event-open-sys`), all else is spelled out here, from
//! `include/uapi/linux/perf_event.h` (records of the kernel), `tools/lib/perf/include/perf/event.h`
//! (records of perf) and `tools/perf/util/header.c` (features). What it writes is checked against
//! perf itself wherever perf is installed (`tests/fixtures`).
//!
//! The same description gives the same bytes, always.

mod attr;
mod build_ids;
mod bytes;
mod compress;
mod container;
pub mod elf;
mod features;
mod jitdump;
mod kernel_records;
mod sample;
mod simpleperf;
mod tool_records;
mod tracing_data;

pub use attr::{Attr, Event};
pub use build_ids::{BuildIdEntry, TableLayout};
pub use bytes::{Bytes, Order};
pub use compress::{Packaging, Zstd};
pub use container::{AttrsAt, FileForm, Recording, Version};
pub use features::{CacheLevel, NumaNode};
pub use jitdump::Jitdump;
pub use kernel_records::{At, MappedFile, Mapping};
pub use sample::{Branch, Regs, Sample, Weight};
pub use simpleperf::SimpleperfFile;
pub use tracing_data::{Field, Tracepoint, TracingData};

use perf_event_open_sys::bindings as kernel;

/// What `perf record -g` has in each sample, with the CPU and the weight.
pub const SAMPLE_TYPE: u32 = kernel::PERF_SAMPLE_IP
    | kernel::PERF_SAMPLE_TID
    | kernel::PERF_SAMPLE_TIME
    | kernel::PERF_SAMPLE_CPU
    | kernel::PERF_SAMPLE_PERIOD
    | kernel::PERF_SAMPLE_CALLCHAIN;

/// Words of call chains that say what the words after them are.
pub mod context {
    use perf_event_open_sys::bindings as kernel;

    /// Kernel code follows.
    pub const KERNEL: u64 = kernel::PERF_CONTEXT_KERNEL;
    /// User code follows.
    pub const USER: u64 = kernel::PERF_CONTEXT_USER;
    /// A cookie follows; the user part comes later, with this cookie.
    pub const USER_DEFERRED: u64 = kernel::PERF_CONTEXT_USER_DEFERRED;
    /// Hypervisor code follows.
    pub const HYPERVISOR: u64 = kernel::PERF_CONTEXT_HV;
    /// Code of a guest's kernel follows.
    pub const GUEST_KERNEL: u64 = kernel::PERF_CONTEXT_GUEST_KERNEL;
    /// Code of a guest's processes follows.
    pub const GUEST_USER: u64 = kernel::PERF_CONTEXT_GUEST_USER;
}
