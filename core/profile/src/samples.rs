//! Observations, as columns.

use std::ops::Range;

use super::{Column, EventId, NarrowColumn, StackId, ThreadId};

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
    pub time_nanos: NarrowColumn<u64>,
    /// Who ran.
    pub thread: NarrowColumn<ThreadId>,
    /// What ran.
    pub stack: Column<StackId>,
    /// Which event.
    pub event: Column<u16>,
    /// Where.
    pub cpu: NarrowColumn<u16>,
    /// Periods.
    pub weight: NarrowColumn<u64>,
    /// How many observations a row stands for; empty: one each.
    pub count: Vec<u32>,
    order: Order,
}

/// Whether a row has a time before that of the row above it, as only damage brings about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Kept,
    Broken,
}

impl Samples {
    /// Adds one observation.
    #[inline(always)]
    pub fn push(&mut self, sample: Sample) {
        let before = self.len().checked_sub(1).and_then(|row| self.time_nanos.get(row));
        if before.is_some_and(|before| sample.time_nanos < before) {
            self.order = Order::Broken;
        }
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
            time_nanos: self.time_nanos.get(row)?,
            thread: self.thread.get(row)?,
            stack: *self.stack.get(row)?,
            event: EventId(u32::from(*self.event.get(row)?)),
            cpu: self.cpu.get(row)?,
            weight: self.weight.get(row)?,
        })
    }

    /// Gives a row another stack: the rest of it has become known.
    pub fn set_stack(&mut self, row: usize, stack: StackId) {
        self.stack.set(row, stack);
    }

    /// True if no row has a time before that of the row above it.
    pub fn is_in_order(&self) -> bool {
        self.order == Order::Kept
    }

    /// Where all rows are with a time from `start` to before `end`. Others may be among them.
    pub fn rows_within(&self, start: u64, end: u64) -> Range<usize> {
        if self.order == Order::Broken {
            return 0..self.len();
        }
        let first = self.first_row_from(start);
        first..self.first_row_from(end).max(first)
    }

    /// The rows of a time, if there are at most so many of them and rows are in the order of time.
    pub fn rows_at(&self, time: u64, most: usize) -> Option<Range<usize>> {
        let first = self.is_in_order().then(|| self.first_row_from(time))?;
        let is_at = |row: &usize| self.time_nanos.get(*row) == Some(time);
        let count = (first..).take_while(is_at).take(most + 1).count();
        (count <= most).then_some(first..first + count)
    }

    fn first_row_from(&self, time: u64) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.time_nanos.at(middle) < time {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
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
