//! Records: header, type numbers and the bits of `misc`.
//!
//! ```c
//! struct perf_event_header { u32 type; u16 misc; u16 size; };   // size of the whole record
//! ```

/// Bytes of the header that begins every record.
pub const RECORD_HEADER_SIZE: usize = 8;
/// Largest record: `size` is a u16.
pub const MAX_RECORD_SIZE: usize = u16::MAX as usize;

/// What names of memory that no file is behind begin with, as MMAP2 records and /proc/PID/maps have them
/// (`tools/perf/util/map.h`, `is_anon_memory` and its neighbours).
const MEMORY: [&[u8]; 9] = [
    b"//anon",
    b"[anon",
    b"[heap]",
    b"[stack",
    b"/memfd:",
    b"anon_inode:",
    b"/dev/zero",
    b"/SYSV",
    b"/anon_hugepage",
];

/// Whether this is the name of memory that a process has, and no path of a file: that never has a build-id.
pub fn is_memory(name: &[u8]) -> bool {
    MEMORY.iter().any(|memory| name.starts_with(memory))
}

/// Type of a record. Below 64 the kernel writes it (or a tool in the same shape), from 64 on a
/// tool (`enum perf_user_event_type` in `tools/lib/perf/include/perf/event.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(pub u32);

macro_rules! record_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl RecordType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Name as perf's `PERF_RECORD_*` has it, without that prefix.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

record_types! {
    /// A file was mapped; superseded by MMAP2.
    MMAP = 1;
    /// The ring buffer was full.
    LOST = 2;
    /// A thread was named.
    COMM = 3;
    /// A thread ended.
    EXIT = 4;
    /// Sampling was throttled.
    THROTTLE = 5;
    /// Sampling goes on.
    UNTHROTTLE = 6;
    /// A thread began.
    FORK = 7;
    /// Counter values at exit.
    READ = 8;
    /// One observation.
    SAMPLE = 9;
    /// A file was mapped.
    MMAP2 = 10;
    /// New data in the AUX area.
    AUX = 11;
    /// An instruction trace began.
    ITRACE_START = 12;
    /// Samples that were lost.
    LOST_SAMPLES = 13;
    /// Context switch.
    SWITCH = 14;
    /// Context switch, with the other thread.
    SWITCH_CPU_WIDE = 15;
    /// Namespaces of a thread.
    NAMESPACES = 16;
    /// A kernel symbol came or went.
    KSYMBOL = 17;
    /// A BPF program was loaded or unloaded.
    BPF_EVENT = 18;
    /// A cgroup and its path.
    CGROUP = 19;
    /// Kernel code was patched.
    TEXT_POKE = 20;
    /// Hardware id of an AUX output.
    AUX_OUTPUT_HW_ID = 21;
    /// User call chain that follows its sample, since Linux 6.19.
    CALLCHAIN_DEFERRED = 22;
    /// Attr of an event, in pipe mode.
    HEADER_ATTR = 64;
    /// Obsolete.
    EVENT_TYPE = 65;
    /// Format descriptions of tracepoints, in pipe mode.
    HEADER_TRACING_DATA = 66;
    /// Build-id of a DSO.
    HEADER_BUILD_ID = 67;
    /// Every ring buffer has been read once more.
    FINISHED_ROUND = 68;
    /// CPU and thread of each event id.
    ID_INDEX = 69;
    /// How to decode the AUX area.
    AUXTRACE_INFO = 70;
    /// AUX data, which follows outside the record.
    AUXTRACE = 71;
    /// AUX data could not be decoded.
    AUXTRACE_ERROR = 72;
    /// Threads that were measured.
    THREAD_MAP = 73;
    /// CPUs that were measured.
    CPU_MAP = 74;
    /// `perf stat`.
    STAT_CONFIG = 75;
    /// `perf stat`.
    STAT = 76;
    /// `perf stat`.
    STAT_ROUND = 77;
    /// Unit, scale, name or CPUs of an event.
    EVENT_UPDATE = 78;
    /// Conversion between TSC and time.
    TIME_CONV = 79;
    /// A feature section, in pipe mode.
    HEADER_FEATURE = 80;
    /// zstd-compressed records.
    COMPRESSED = 81;
    /// State at the start has been written.
    FINISHED_INIT = 82;
    /// zstd-compressed records, with their size.
    COMPRESSED2 = 83;
    /// Variables of a BPF program.
    BPF_METADATA = 84;
    /// `perf sched stats`.
    SCHEDSTAT_CPU = 85;
    /// `perf sched stats`.
    SCHEDSTAT_DOMAIN = 86;
    // simpleperf's own, from `enum simpleperf_record_type` in its `record.h`.
    /// Kernel symbols of simpleperf.
    SIMPLEPERF_KERNEL_SYMBOL = 32769;
    /// A DSO of simpleperf.
    SIMPLEPERF_DSO = 32770;
    /// A symbol of simpleperf.
    SIMPLEPERF_SYMBOL = 32771;
    /// A piece of a record that is too large for one.
    SIMPLEPERF_SPLIT = 32772;
    /// The last piece of it has come.
    SIMPLEPERF_SPLIT_END = 32773;
    /// Ids of simpleperf's events.
    SIMPLEPERF_EVENT_ID = 32774;
    /// A call chain of simpleperf's own unwinding.
    SIMPLEPERF_CALLCHAIN = 32775;
    /// How an unwinding by simpleperf ended.
    SIMPLEPERF_UNWINDING_RESULT = 32776;
    /// Format descriptions of tracepoints.
    SIMPLEPERF_TRACING_DATA = 32777;
    /// For simpleperf's developers.
    SIMPLEPERF_DEBUG = 32778;
}

/// Bits of `misc`.
pub mod misc {
    /// The three bits that hold the CPU mode.
    pub const CPUMODE_MASK: u16 = 7;
    /// Kernel.
    pub const CPUMODE_KERNEL: u16 = 1;
    /// User space.
    pub const CPUMODE_USER: u16 = 2;
    /// Hypervisor.
    pub const CPUMODE_HYPERVISOR: u16 = 3;
    /// Kernel of a guest.
    pub const CPUMODE_GUEST_KERNEL: u16 = 4;
    /// User space of a guest.
    pub const CPUMODE_GUEST_USER: u16 = 5;
    /// MMAP, MMAP2: not executable. COMM: caused by exec.
    pub const MMAP_DATA: u16 = 1 << 13;
    /// COMM: caused by exec. The same bit as [`MMAP_DATA`].
    pub const COMM_EXEC: u16 = 1 << 13;
    /// FORK: synthesised, the process's own mappings follow. The same bit as [`MMAP_DATA`].
    pub const FORK_EXEC: u16 = 1 << 13;
    /// SWITCH, SWITCH_CPU_WIDE: the thread leaves the CPU. The same bit as [`MMAP_DATA`].
    pub const SWITCH_OUT: u16 = 1 << 13;
    /// SWITCH, SWITCH_CPU_WIDE: it could have gone on. The same bit as [`MMAP_BUILD_ID`].
    pub const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
    /// MMAP2: the union holds a build-id, not an inode.
    pub const MMAP_BUILD_ID: u16 = 1 << 14;
    /// Build-id entry: its size byte is valid, since perf 5.11.
    pub const BUILD_ID_SIZE: u16 = 1 << 15;
}

/// Words of a call chain from here on are context markers (`PERF_CONTEXT_MAX` is -4095).
pub const CONTEXT_MARKER_MIN: u64 = (-4095i64) as u64;
/// What follows was executed by the hypervisor.
pub const CONTEXT_HYPERVISOR: u64 = (-32i64) as u64;
/// What follows was executed by the kernel.
pub const CONTEXT_KERNEL: u64 = (-128i64) as u64;
/// What follows was executed in user space.
pub const CONTEXT_USER: u64 = (-512i64) as u64;
/// The next word is a cookie; a CALLCHAIN_DEFERRED record brings the user part.
pub const CONTEXT_USER_DEFERRED: u64 = (-640i64) as u64;
/// What follows was executed by a guest.
pub const CONTEXT_GUEST: u64 = (-2048i64) as u64;
/// What follows was executed by a guest's kernel.
pub const CONTEXT_GUEST_KERNEL: u64 = (-2176i64) as u64;
/// What follows was executed in a guest's user space.
pub const CONTEXT_GUEST_USER: u64 = (-2560i64) as u64;

/// The pid that kernel maps are recorded under (-1).
pub const KERNEL_PID: u32 = u32::MAX;
