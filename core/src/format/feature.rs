//! Feature sections: numbers of the bits in the header's bitmap.
//!
//! `enum` in `tools/perf/util/header.h`. Each set bit has a `{ offset, size }` entry in the table
//! that follows the data section, in ascending order of bits.

/// Number of a feature section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature(pub u8);

impl Feature {
    /// Format descriptions of tracepoints.
    pub const TRACING_DATA: Self = Self(1);
    /// Build-id of every DSO that was hit.
    pub const BUILD_ID: Self = Self(2);
    /// `uname -n`.
    pub const HOSTNAME: Self = Self(3);
    /// `uname -r`.
    pub const OSRELEASE: Self = Self(4);
    /// Version of the recording tool.
    pub const VERSION: Self = Self(5);
    /// `uname -m`.
    pub const ARCH: Self = Self(6);
    /// Available and online CPUs.
    pub const NRCPUS: Self = Self(7);
    /// Name of the CPU.
    pub const CPUDESC: Self = Self(8);
    /// Vendor, family, model and stepping.
    pub const CPUID: Self = Self(9);
    /// Memory in KiB.
    pub const TOTAL_MEM: Self = Self(10);
    /// Arguments of the recording tool.
    pub const CMDLINE: Self = Self(11);
    /// Attributes, ids and names of the events.
    pub const EVENT_DESC: Self = Self(12);
    /// Names of the dynamic PMU types.
    pub const PMU_MAPPINGS: Self = Self(16);
    /// Time of the first and the last sample.
    pub const SAMPLE_TIME: Self = Self(21);
    /// The recording is compressed.
    pub const COMPRESSED: Self = Self(27);
    /// perftab's own section. perf 6.1 and 7.2,
    /// hotspot-perfparser 1.3 and samply 0.13 read past an unknown bit.
    pub const PERFTAB: Self = Self(200);

    /// Bits in the header's bitmap.
    pub const COUNT: u16 = 256;
}
