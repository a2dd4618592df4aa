//! The immutable result of reading a recording: columns of numbers, without a single name of a
//! function. Names are `symbolize`'s, and come only through its gate.
//!
//! Everything is interned and refers to each other by index; the index types are distinct, so
//! that a frame cannot be taken for a stack. Tables only grow while `ingest` fills them.

mod column;
mod digest;
mod dsos;
mod frames;
mod id_table;
mod machine;
mod samples;
mod stacks;
mod strings;
mod threads;

use std::collections::BTreeMap;

pub use column::Column;
pub use dsos::{ContentHash, Dso, DsoKind, Dsos, Identity, KernelPlace, MappedFrom, RecordedBy};
pub use frames::{Frame, Frames};
pub use id_table::{IdTable, hash_pair};
pub use machine::{
    BpfProgram, Clocks, CoreKind, CpuCache, Distribution, EventGroup, Machine, NumaNode, Pmu,
    Property, Recorder, WallClock,
};
pub use samples::{Sample, Samples};
pub use stacks::Stacks;
pub use strings::{Strings, hash_text};
pub use threads::{Namespaces, Process, Thread, Threads};

macro_rules! index_types {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(pub u32);

            impl $name {
                /// Position in the table's columns.
                pub fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}

index_types! {
    /// A string in [`Strings`].
    StringId;
    /// A mapped file in [`Dsos`].
    DsoId;
    /// An address in a DSO, in [`Frames`].
    FrameId;
    /// A call stack in [`Stacks`].
    StackId;
    /// A process in [`Threads`].
    ProcessId;
    /// A thread under one name, in [`Threads`].
    ThreadId;
    /// Position of an event in [`Profile::events`].
    EventId;
}

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Name, as `cycles` or `sched:sched_switch`.
    pub name: String,
    /// Whether the file has samples of it.
    pub origin: EventOrigin,
    /// Number of samples.
    pub samples: u64,
    /// Sum of the samples' weights, in the event's own unit.
    pub weight: u64,
}

/// Where the samples of an event come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventOrigin {
    /// They are in the file.
    #[default]
    Recorded,
    /// They were worked out from other records. They tell of the same recording once more, so they
    /// are never counted together with recorded ones.
    Derived,
}

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

/// Samples and records that the kernel or the recorder dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Records of any kind (LOST).
    pub events: u64,
    /// Samples (LOST_SAMPLES).
    pub samples: u64,
}

/// Data of AUX areas (Intel PT, Arm SPE and the like), which is counted and not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuxData {
    /// Pieces of it (AUXTRACE).
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// Path below the mount point; `None` if only samples tell of it.
    pub path: Option<String>,
    /// SAMPLE records in it.
    pub samples: u64,
}

/// A recording, read.
#[derive(Debug, Default)]
pub struct Profile {
    /// Interned strings.
    pub strings: Strings,
    /// Mapped files.
    pub dsos: Dsos,
    /// Processes and their threads.
    pub threads: Threads,
    /// Addresses in DSOs.
    pub frames: Frames,
    /// Call stacks, as a prefix tree.
    pub stacks: Stacks,
    /// Observations, in the order of time.
    pub samples: Samples,
    /// What was counted; derived events come after recorded ones.
    pub events: Vec<Event>,
    /// Where it was recorded.
    pub host: Host,
    /// More of that machine.
    pub machine: Machine,
    /// What recorded and how.
    pub recorder: Recorder,
    /// Its clocks.
    pub clocks: Clocks,
    /// Records by the name of their type.
    pub records: BTreeMap<&'static str, u64>,
    /// What was dropped.
    pub lost: Lost,
    /// Control groups, by the id that samples have.
    pub cgroups: BTreeMap<u64, Cgroup>,
    /// Times off the CPU that are in no derived event: how they ended was not recorded.
    pub unfinished_off_cpu: u64,
    /// What was passed over of AUX areas.
    pub aux: AuxData,
}

impl Profile {
    /// How many samples the file has, of all events.
    pub fn recorded_samples(&self) -> u64 {
        let recorded = self.events.iter().filter(|event| event.origin == EventOrigin::Recorded);
        recorded.fold(0, |sum, event| sum.saturating_add(event.samples))
    }

    /// SAMPLE records of the file. One that reads the counters of a group is a sample of each of
    /// its events, and one that cannot be read of none.
    pub fn sample_records(&self) -> u64 {
        self.records.get("SAMPLE").copied().unwrap_or_else(|| self.recorded_samples())
    }

    /// The first time that a sample of the file has, in nanoseconds of the recorder's clock; what
    /// times in queries and views count from. `None` if samples have no time.
    pub fn first_time(&self) -> Option<u64> {
        let times = self.recorded_rows().map(|row| self.samples.time_nanos[row]);
        let mut times = times.filter(|&time| time != 0);
        match self.samples.is_in_order() {
            true => times.next(),
            false => times.min(),
        }
    }

    /// Rows of samples that the file has.
    pub fn recorded_rows(&self) -> impl Iterator<Item = usize> + '_ {
        let is_derived = |event: &Event| event.origin == EventOrigin::Derived;
        let derived: Vec<bool> = self.events.iter().map(is_derived).collect();
        let event_of_row = &self.samples.event;
        (0..self.samples.len())
            .filter(move |&row| !derived.get(usize::from(event_of_row[row])).is_some_and(|&it| it))
    }
}
