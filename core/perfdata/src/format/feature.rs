//! Feature sections: numbers of the bits in the header's bitmap.
//!
//! `enum` in `tools/perf/util/header.h`; simpleperf's own are in its `record_file_format.h`. Each
//! set bit has a `{ offset, size }` entry in the table that follows the data section, in ascending
//! order of bits.

/// Number of a feature section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature(pub u8);

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)*) => {
        impl Feature {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// What it is, in words for people.
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => $words,)*
                    _ => "a feature section",
                }
            }

            /// True for those that have a name here.
            pub fn is_known(self) -> bool {
                matches!(self.0, $($number)|*)
            }
        }
    };
}

features! {
    /// Format descriptions of tracepoints.
    TRACING_DATA = 1, "the tracing data";
    /// Build-id of every DSO that was hit.
    BUILD_ID = 2, "the build-id table";
    /// `uname -n`.
    HOSTNAME = 3, "the host's name";
    /// `uname -r`.
    OSRELEASE = 4, "the kernel's release";
    /// Version of the recording tool.
    VERSION = 5, "the recorder's version";
    /// `uname -m`.
    ARCH = 6, "the architecture";
    /// Available and online CPUs.
    NRCPUS = 7, "the number of CPUs";
    /// Name of the CPU.
    CPUDESC = 8, "the CPU's name";
    /// Vendor, family, model and stepping.
    CPUID = 9, "the CPU's id";
    /// Memory in KiB.
    TOTAL_MEM = 10, "the size of the memory";
    /// Arguments of the recording tool.
    CMDLINE = 11, "the command line";
    /// Attributes, ids and names of the events.
    EVENT_DESC = 12, "the names of the events";
    /// Packages, cores and dies.
    CPU_TOPOLOGY = 13, "the CPU topology";
    /// Memory by distance.
    NUMA_TOPOLOGY = 14, "the NUMA topology";
    /// Samples have branch stacks; nothing in it.
    BRANCH_STACK = 15, "the mark of branch stacks";
    /// Names of the dynamic PMU types.
    PMU_MAPPINGS = 16, "the list of PMUs";
    /// Events that were counted together.
    GROUP_DESC = 17, "the groups of events";
    /// Where the AUXTRACE records are.
    AUXTRACE = 18, "the index of AUX data";
    /// Made by `perf stat`; nothing in it.
    STAT = 19, "the mark of perf stat";
    /// The CPU's caches.
    CACHE = 20, "the list of caches";
    /// Time of the first and the last sample.
    SAMPLE_TIME = 21, "the time of the samples";
    /// Blocks of memory by node.
    MEM_TOPOLOGY = 22, "the memory topology";
    /// Resolution of the clock.
    CLOCKID = 23, "the clock's resolution";
    /// Version of the directory form.
    DIR_FORMAT = 24, "the version of the directory form";
    /// BPF programs that were loaded.
    BPF_PROG_INFO = 25, "the list of BPF programs";
    /// Types of BPF programs.
    BPF_BTF = 26, "the types of BPF programs";
    /// The recording is compressed.
    COMPRESSED = 27, "the description of the compression";
    /// Capabilities of the PMU `cpu`.
    CPU_PMU_CAPS = 28, "the capabilities of the CPU's PMU";
    /// One moment by the recording's clock and by the wall's.
    CLOCK_DATA = 29, "the wall clock's time";
    /// Cores of several kinds.
    HYBRID_TOPOLOGY = 30, "the kinds of cores";
    /// Capabilities of PMUs.
    PMU_CAPS = 31, "the capabilities of PMUs";
    /// Domains of the scheduler.
    CPU_DOMAIN_INFO = 32, "the scheduler's domains";
    /// Of the recorder's ELF file.
    E_MACHINE = 33, "the recorder's machine type";
    /// Bytes of a cache line.
    CLN_SIZE = 34, "the size of a cache line";
    /// simpleperf: symbols of files.
    SIMPLEPERF_FILE = 128, "simpleperf's list of symbols";
    /// simpleperf: facts by name.
    SIMPLEPERF_META_INFO = 129, "simpleperf's list of facts";
    /// simpleperf: symbols of files, in Protocol Buffers.
    SIMPLEPERF_FILE2 = 132, "simpleperf's list of symbols";
    /// perftab's own section, in its first recordings; now it stands at the end (`footer.rs`).
    PERFTAB = 200, "perftab's own section";
}

impl Feature {
    /// Bits in the header's bitmap.
    pub const COUNT: u16 = 256;
}
