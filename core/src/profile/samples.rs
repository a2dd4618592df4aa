//! Observations, as columns.

use super::column::Column;
use super::{EventId, StackId, ThreadId};

/// One observation; in a profile that comes from a link, all those with the same stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, in nanoseconds of the recorder's clock; 0 if not recorded.
    pub time_nanos: u64,
    /// Who ran.
    pub thread: ThreadId,
    /// What ran.
    pub stack: StackId,
    /// Which event.
    pub event: EventId,
    /// Where; `u16::MAX` if not recorded.
    pub cpu: u16,
    /// The period: how much of the event it stands for.
    pub weight: u64,
}

/// All observations, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Nanoseconds.
    pub time_nanos: Column<u64>,
    /// Who ran.
    pub thread: Column<ThreadId>,
    /// What ran.
    pub stack: Column<StackId>,
    /// Which event.
    pub event: Column<u16>,
    /// Where.
    pub cpu: Column<u16>,
    /// Periods.
    pub weight: Column<u64>,
    /// How many observations a row stands for; empty: one each.
    pub count: Vec<u32>,
}

impl Samples {
    /// Adds one observation.
    pub fn push(&mut self, sample: Sample) {
        self.time_nanos.push(sample.time_nanos);
        self.thread.push(sample.thread);
        self.stack.push(sample.stack);
        self.event.push(sample.event.0 as u16);
        self.cpu.push(sample.cpu);
        self.weight.push(sample.weight);
    }

    /// A row again, as it was added.
    pub fn get(&self, row: usize) -> Option<Sample> {
        Some(Sample {
            time_nanos: *self.time_nanos.get(row)?,
            thread: *self.thread.get(row)?,
            stack: *self.stack.get(row)?,
            event: EventId(u32::from(*self.event.get(row)?)),
            cpu: *self.cpu.get(row)?,
            weight: *self.weight.get(row)?,
        })
    }

    /// Gives a row another stack: the rest of it has become known.
    pub fn set_stack(&mut self, row: usize, stack: StackId) {
        self.stack.set(row, stack);
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// How many observations row `index` stands for.
    pub fn count(&self, index: usize) -> u64 {
        self.count.get(index).map_or(1, |&count| u64::from(count))
    }
}
