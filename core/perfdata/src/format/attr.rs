//! `struct perf_event_attr`: what was asked of the kernel, and so how each record is laid out.
//!
//! Field offsets and flag bits from `include/uapi/linux/perf_event.h`, attr version 9.

/// Size of the attr's first version; what a size of zero means.
pub const ATTR_SIZE_VER0: u32 = 64;

/// Number of arm64's link register, and of its bit in `sample_regs_user` (`PERF_REG_ARM64_LR` in `asm/perf_regs.h`).
pub const ARM64_LINK_REGISTER: u32 = 30;

/// Bits of `sample_type`: which fields a sample has.
pub mod sample_type {
    /// u64 instruction pointer.
    pub const IP: u64 = 1 << 0;
    /// u32 pid, u32 tid.
    pub const TID: u64 = 1 << 1;
    /// u64 nanoseconds.
    pub const TIME: u64 = 1 << 2;
    /// u64 data address.
    pub const ADDR: u64 = 1 << 3;
    /// Counter values.
    pub const READ: u64 = 1 << 4;
    /// u64 count and the call chain.
    pub const CALLCHAIN: u64 = 1 << 5;
    /// u64 event id.
    pub const ID: u64 = 1 << 6;
    /// u32 cpu, u32 reserved.
    pub const CPU: u64 = 1 << 7;
    /// u64 period.
    pub const PERIOD: u64 = 1 << 8;
    /// u64 id of the inherited event.
    pub const STREAM_ID: u64 = 1 << 9;
    /// u32 size and payload of a tracepoint.
    pub const RAW: u64 = 1 << 10;
    /// Last branches.
    pub const BRANCH_STACK: u64 = 1 << 11;
    /// User registers.
    pub const REGS_USER: u64 = 1 << 12;
    /// Copy of the user stack.
    pub const STACK_USER: u64 = 1 << 13;
    /// u64 weight.
    pub const WEIGHT: u64 = 1 << 14;
    /// u64 memory access description.
    pub const DATA_SRC: u64 = 1 << 15;
    /// u64 event id, at the front of samples and at the end of other records.
    pub const IDENTIFIER: u64 = 1 << 16;
    /// u64 transaction flags.
    pub const TRANSACTION: u64 = 1 << 17;
    /// Registers where the event's interrupt came.
    pub const REGS_INTR: u64 = 1 << 18;
    /// u64 physical data address.
    pub const PHYS_ADDR: u64 = 1 << 19;
    /// u64 size and a piece of the AUX area.
    pub const AUX: u64 = 1 << 20;
    /// u64 cgroup id.
    pub const CGROUP: u64 = 1 << 21;
    /// u64 page size of the data address.
    pub const DATA_PAGE_SIZE: u64 = 1 << 22;
    /// u64 page size of the instruction pointer.
    pub const CODE_PAGE_SIZE: u64 = 1 << 23;
    /// u32, u16, u16 weights, in place of [`WEIGHT`].
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of `read_format`: the shape of counter values.
pub mod read_format {
    /// u64 time the event was enabled.
    pub const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    /// u64 time the event was counting.
    pub const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    /// u64 event id.
    pub const ID: u64 = 1 << 2;
    /// Values of the whole group.
    pub const GROUP: u64 = 1 << 3;
    /// u64 lost samples, since Linux 6.0.
    pub const LOST: u64 = 1 << 4;
}

/// Bits of `branch_sample_type` that change the shape of a branch stack, or what it is
/// (`include/uapi/linux/perf_event.h`, Linux 6.12).
pub mod branch_sample_type {
    /// Branches of user space.
    pub const USER: u64 = 1 << 0;
    /// Branches of every kind.
    pub const ANY: u64 = 1 << 3;
    /// The entries are calls that have not returned.
    pub const CALL_STACK: u64 = 1 << 11;
    /// Entries do not say how they were predicted.
    pub const NO_FLAGS: u64 = 1 << 14;
    /// Entries do not say how long they took.
    pub const NO_CYCLES: u64 = 1 << 15;
    /// u64 index of the newest entry, before the entries.
    pub const HW_INDEX: u64 = 1 << 17;
    /// u64 of counters for each entry, after the entries.
    pub const COUNTERS: u64 = 1 << 19;
}

/// Bits of the attr's flag word, counted from the least significant as little-endian
/// machines lay the C bit field out.
pub mod flag {
    /// Threads and processes that begin are counted too.
    pub const INHERIT: u64 = 1 << 1;
    /// User space is not counted.
    pub const EXCLUDE_USER: u64 = 1 << 4;
    /// The kernel is not counted.
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    /// The hypervisor is not counted.
    pub const EXCLUDE_HV: u64 = 1 << 6;
    /// Period is a frequency.
    pub const FREQ: u64 = 1 << 10;
    /// First of the two bits of `precise_ip`, 0 to 3.
    pub const PRECISE_IP_SHIFT: u32 = 15;
    /// Every record ends in the sample-id trailer.
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    /// The host is not counted, only its guests.
    pub const EXCLUDE_HOST: u64 = 1 << 19;
    /// Guests are not counted.
    pub const EXCLUDE_GUEST: u64 = 1 << 20;
    /// The kernel leaves the user part of call chains away.
    pub const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
    /// Times are by the clock of `clockid`.
    pub const USE_CLOCKID: u64 = 1 << 25;
    /// Build-ids in MMAP2 records, since Linux 5.12.
    pub const BUILD_ID: u64 = 1 << 34;
}

/// Values of the attr's `type`.
pub mod event_type {
    /// Counter of the CPU, generalised.
    pub const HARDWARE: u32 = 0;
    /// Counter of the kernel.
    pub const SOFTWARE: u32 = 1;
    /// Tracepoint; `config` is its id.
    pub const TRACEPOINT: u32 = 2;
    /// Cache event, generalised.
    pub const HW_CACHE: u32 = 3;
    /// Counter of the CPU, by number.
    pub const RAW: u32 = 4;
    /// Hardware breakpoint.
    pub const BREAKPOINT: u32 = 5;
}

/// Names of generalised hardware events by `config`, as perf writes them.
pub const HARDWARE_EVENTS: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];

/// Names of software events by `config`, as perf writes them.
pub const SOFTWARE_EVENTS: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];
