//! Records → columns of numbers, without a single name of a function. Names are `perftab_names`',
//! and come only through the gate.
//!
//! [`ingest`] reads a recording into a [`Profile`], which does not change after that. Everything is interned and refers to each other by index; the index types are distinct, so
//! that a frame cannot be taken for a stack. Tables only grow while [`ingest`] fills them.
#![forbid(unsafe_code)]

mod accesses;
mod bins;
mod chunks;
mod column;
mod digest;
mod embedded;
mod events;
mod frames;
mod id_table;
pub mod ingest;
mod leaf_callers;
mod mappings;
mod marks;
mod narrow_column;
mod placed_code;
mod samples;
mod space;
mod stacks;
mod strings;
mod threads;

use perftab_perfdata::map::Map;
use std::ops::Range;

use perftab_dsos::index_types;
use serde::{Deserialize, Serialize};

pub use perftab_dsos::{
    CodeChange, ContentHash, Dso, DsoId, DsoKind, Dsos, ExecutableMapping, Identity, KernelPlace,
    MappedBy, MappedFrom, OffCpu, ProcessId, PseudoFrame, RecordedBy, advice_on_copy,
};
pub use perftab_perfdata::machine::{
    BpfProgram, Clocks, CoreKind, CpuCache, Distribution, EventGroup, Host, Machine, NumaNode, Pmu,
    Property, Recorder, WallClock,
};

pub use accesses::{Access, Accesses};
pub use bins::{BinCell, BinTrack, BinsOf, TimeBins};
pub use column::Column;
pub use embedded::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};
pub use events::{CallChains, Event, EventOrigin, EventSet, Unit, WallClockTime, counted};
pub use events::{OFF_CPU_TIME, PREEMPTED_TIME};
pub use frames::{Frame, Frames};
pub use id_table::{IdTable, hash_pair};
pub use leaf_callers::{LeafCaller, LeafCallers};
pub use mappings::{MappedIn, Mappings, MappingsKept};
pub use marks::{Mark, MarkKind, Marks};
pub use narrow_column::NarrowColumn;
pub use placed_code::{CodeInTime, CodeMet, RunTime};
pub use samples::{Sample, Samples};
pub use space::Space;
pub use stacks::Stacks;
pub use strings::{Strings, hash_text};
pub use threads::{Namespaces, Process, Thread, Threads};

index_types! {
    /// A string in [`Strings`].
    StringId;
    /// An address in a DSO, in [`Frames`].
    FrameId;
    /// A call stack in [`Stacks`].
    StackId;
    /// A thread under one name, in [`Threads`].
    ThreadId;
    /// Position of an event in [`Profile::events`].
    EventId;
}

/// Samples and records that the kernel or the recorder dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Records of any kind (LOST).
    pub events: u64,
    /// Samples (LOST_SAMPLES).
    pub samples: u64,
}

/// What became of what the kernel sampled, in SAMPLE records: of `recorded`, `lost` never came into
/// the file and `unreadable` could not be used. The rest is shown, `truncated` of it with stacks that
/// lack their outermost frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Funnel {
    /// Samples that the kernel took, as far as is known.
    pub recorded: u64,
    /// Those that the recorder lost. Older kernels count other records among them.
    pub lost: u64,
    /// Those in the file that could not be read, or are of no event that it describes.
    pub unreadable: u64,
    /// Those with call chains as long as they could be.
    pub truncated: u64,
    /// Those that a profile has.
    pub shown: u64,
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

/// A recording, read. A copy shares the columns of samples.
#[derive(Clone, Debug, Default)]
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
    /// Memory accesses that they were taken of.
    pub accesses: Accesses,
    /// What was mapped where at each of them.
    pub mappings: Mappings,
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
    pub records: Map<&'static str, u64>,
    /// What was dropped.
    pub lost: Lost,
    /// Samples with a copy of their user stack.
    pub stack_dumps: u64,
    /// Callers that call chains may lack.
    pub leaf_callers: LeafCallers,
    /// Samples with branches.
    pub branch_stacks: u64,
    /// Control groups, by the id that samples have.
    pub cgroups: Map<u64, Cgroup>,
    /// Times off the CPU that are in no derived event: how they ended was not recorded.
    pub unfinished_off_cpu: u64,
    /// What was passed over of AUX areas.
    pub aux: AuxData,
    /// Moments worth a mark.
    pub marks: Marks,
    /// When there was how much, in a link whose samples have no times.
    pub bins: Option<TimeBins>,
    /// Time on and off the CPU together, where both are known. Its number is that after `events`.
    pub wall_clock: Option<WallClockTime>,
    /// What became of samples on the way here; `None`: not known, as in a link.
    pub funnel: Option<Funnel>,
}

impl Profile {
    /// Whether the unwind tables of files tell more of its stacks than it has.
    pub fn asks_for_unwind_tables(&self) -> bool {
        self.stack_dumps > 0 || !self.leaf_callers.is_empty()
    }

    /// What the process of a row had mapped then; `None` also if no history is [kept](Mappings::kept).
    pub fn user_space_at(&self, row: usize) -> Option<Space> {
        let process = self.threads.thread(self.samples.thread.get(row)?).process;
        self.mappings.space_at(process.into(), row)
    }

    /// An event by its number in a query, that of the wall clock included.
    pub fn event(&self, number: u32) -> Option<&Event> {
        let combined = || self.wall_clock.as_ref().map(|wall| &wall.event);
        match (number as usize).checked_sub(self.events.len()) {
            None => self.events.get(number as usize),
            Some(0) => combined(),
            Some(_) => None,
        }
    }

    /// The events whose samples an event's number stands for.
    pub fn event_set(&self, number: u32) -> EventSet {
        match &self.wall_clock {
            Some(wall) if number as usize == self.events.len() => {
                EventSet::new(wall.parts.iter().copied())
            }
            // Samples count events in sixteen bits.
            _ => EventSet::new((number <= u32::from(u16::MAX)).then_some(EventId(number))),
        }
    }

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
        let times = self.recorded_rows().map(|row| self.samples.time_nanos.at(row));
        let mut times = times.filter(|&time| time != 0);
        match self.samples.is_in_order() {
            true => times.next(),
            false => times.min(),
        }
    }

    /// Rows of samples that the file has.
    pub fn recorded_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.recorded_rows_of(0..self.samples.len())
    }

    /// Those among these rows.
    pub fn recorded_rows_of(&self, rows: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let is_derived = |event: &Event| event.origin == EventOrigin::Derived;
        let derived: Vec<bool> = self.events.iter().map(is_derived).collect();
        let event_of_row = &self.samples.event;
        rows.filter(move |&row| !derived.get(usize::from(event_of_row[row])).is_some_and(|&it| it))
    }
}
