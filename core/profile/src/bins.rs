//! How much there was when, of a profile that comes from a link without single samples.

use super::{EventId, ThreadId};

/// Sums by bins of time, which are all of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeBins {
    /// What a track is of.
    pub of: BinsOf,
    /// How many bins there are: a power of two from [`Self::FEWEST`] to [`Self::MOST`].
    pub count: u32,
    /// From the beginning of the first to the end of the last, in nanoseconds; 1 or more. The first
    /// begins with the first sample.
    pub length: u64,
    /// In no order; of each event and thread one.
    pub tracks: Vec<BinTrack>,
}

impl TimeBins {
    /// Fewer than this are no timeline.
    pub const FEWEST: u32 = 16;
    /// More than this tell nothing that could be seen.
    pub const MOST: u32 = 1024;
    /// Cells of all tracks.
    pub const MOST_CELLS: usize = 1 << 20;
}

/// What a track is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinsOf {
    /// All processes of one name.
    Processes,
    /// A thread.
    Threads,
}

/// An event's samples of one thread, or of the thread that stands for a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinTrack {
    /// Of what.
    pub event: EventId,
    /// Whose.
    pub thread: ThreadId,
    /// How many.
    pub samples: u64,
    /// Their weight, which is that of all cells.
    pub weight: u64,
    /// What is not zero, by kind and bin.
    pub cells: Vec<BinCell>,
}

/// The weight of a bin's samples that ended in one kind of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinCell {
    /// Which area of a timeline it is part of, as `views::timeline` counts them; less than its `KINDS`.
    pub kind: u8,
    /// Which bin, from 0.
    pub bin: u32,
    /// How much. Rounded to about a hundredth of the track's largest, the sum apart.
    pub weight: u64,
}
