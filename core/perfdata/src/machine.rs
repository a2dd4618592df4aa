//! What a recording says of the machine and of the recorder: for people, nothing depends on it.
//! Empty where the recording says nothing.

use serde::Serialize;

/// What the recording says of the machine it was made on; empty where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs online.
    pub cpus: Option<u32>,
    /// The recorder's arguments.
    pub cmdline: Vec<String>,
    /// Which distribution it ran.
    pub distribution: Option<Distribution>,
}

/// The machine that was recorded on, beyond [`Host`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct Machine {
    /// Name of the CPU, as "AMD EPYC".
    pub cpu: Option<String>,
    /// Vendor, family, model and stepping; on Arm the MIDR.
    pub cpu_id: Option<String>,
    /// CPUs that there are, online or not.
    pub cpus_available: Option<u32>,
    /// CPU packages.
    pub sockets: Option<u32>,
    /// By CPU, the package that it is in.
    #[serde(skip)]
    pub socket_of_cpu: Vec<u32>,
    /// Cores of all packages, each of one or more CPUs.
    pub cores: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u32>,
    /// Memory by distance.
    pub numa_nodes: Vec<NumaNode>,
    /// One entry for each cache, of the kinds that the recorder lists.
    pub caches: Vec<CpuCache>,
    /// Kinds of cores, where a machine has several.
    pub core_kinds: Vec<CoreKind>,
    /// What counts: the number is the type of an event's attr.
    pub pmus: Vec<Pmu>,
    /// `e_machine` of the recorder's ELF file: 62 is x86-64, 183 is AArch64.
    pub e_machine: Option<u32>,
}

/// What the machine runs: os-release(5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct Distribution {
    /// In lower case, without spaces: "debian".
    pub id: String,
    /// Ids of those that it derives from, closest first.
    pub like: Vec<String>,
    /// "12"; null where there are no versions.
    pub version: Option<String>,
    /// For people: "Debian GNU/Linux".
    pub name: Option<String>,
}

/// Memory that some CPUs are close to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// The CPUs, as "0-7,16-23".
    pub cpus: String,
}

/// A cache of the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct CpuCache {
    /// 1 is next to the core.
    pub level: u32,
    /// "Data", "Instruction" or "Unified".
    pub kind: String,
    /// As the kernel writes it: "32K".
    pub size: String,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Lines that an address can be in.
    pub ways: u32,
    /// The CPUs that share it, as "0-1".
    pub cpus: String,
}

/// The cores of one kind of a machine that has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct CoreKind {
    /// Its PMU, as "cpu_atom".
    pub pmu: String,
    /// The CPUs, as "8-15".
    pub cpus: String,
}

/// Something that counts events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Pmu {
    /// Type of the attrs of its events; `None` where only its capabilities were recorded.
    pub event_type: Option<u32>,
    /// As "cpu" or "breakpoint".
    pub name: String,
    /// As "branches=32".
    pub capabilities: Vec<String>,
}

/// What recorded and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct Recorder {
    /// Version of the tool, as it states it.
    pub version: Option<String>,
    /// The clock of all times: `clockid` of perf, else the kernel's own for perf events.
    pub clock: Option<&'static str>,
    /// Groups of events that were counted together.
    pub groups: Vec<EventGroup>,
    /// BPF programs that were loaded.
    pub bpf_programs: Vec<BpfProgram>,
    /// What else the recorder noted (simpleperf), by name.
    pub properties: Vec<Property>,
}

/// Events that were counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct EventGroup {
    /// Its name; empty unless the user gave one.
    pub name: String,
    /// Position of its first event.
    pub leader: u32,
    /// Number of its events.
    pub members: u32,
}

/// A BPF program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct BpfProgram {
    /// The kernel's number.
    pub id: u32,
    /// As its loader named it; the kernel keeps 15 characters.
    pub name: String,
    /// Hash of its instructions, in hex.
    pub tag: String,
}

/// A fact under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Property {
    /// What it is.
    pub name: String,
    /// What it is worth.
    pub value: String,
}

/// Times of a recording, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// One moment by two clocks.
    pub wall: Option<WallClock>,
    /// First and last sample, as the recorder noted them.
    pub sample_time: Option<(u64, u64)>,
}

/// One moment by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// By the recording's clock.
    pub clock_nanos: u64,
    /// Since 1970, UTC.
    pub wall_nanos: u64,
}

impl WallClock {
    /// When a time of the recording was, in nanoseconds since 1970.
    pub fn wall_nanos(self, time_nanos: u64) -> u64 {
        self.wall_nanos.wrapping_sub(self.clock_nanos).wrapping_add(time_nanos)
    }
}
