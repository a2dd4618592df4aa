//! What is written of times: the finest bins that there is room for, of threads or of processes.

use perftab_perfdata::map::Map;

use perftab_perfdata::sorting::sort;
use perftab_profile::{
    BinTrack, BinsOf, EventId, ProcessId, StringId, ThreadId, Threads, TimeBins,
};
use perftab_views::timeline::KINDS;

use super::bins::coarser;
use super::body::Body;
use super::calls::Entry;
use super::heat::Heat;
use super::sums::Unit;
use super::tasks::{group_numbers, write_number};
use crate::bins::step_of;
use crate::codes::{self, code};
use crate::fields::{Counts, Field, Writer};
use crate::{MAX_THREADS, Times};

/// What a snapshot may tell of times, and of where in functions samples ended.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub most: Times,
    /// The finest bins that there are.
    pub finest: Option<&'a TimeBins>,
    /// About as many bytes as bins may have.
    pub bytes: usize,
    /// The hottest functions, unless they are to be left out.
    pub heat: Option<&'a Heat>,
    /// About as many bytes as these may have.
    pub heat_bytes: usize,
}

/// Forms of bins, from those that tell the most: of what, how many, and about how many steps the largest
/// cell of a track has. Where one does not fit, the next may.
const FORMS: [(Times, u32, u64); 10] = [
    (Times::Threads, 1024, STEPS),
    (Times::Threads, 512, STEPS),
    (Times::Threads, 256, STEPS),
    (Times::Processes, 512, STEPS),
    (Times::Processes, 256, STEPS),
    (Times::Processes, 128, STEPS),
    (Times::Processes, 64, STEPS),
    (Times::Processes, 32, STEPS),
    // In a link of 2,000 characters with a dozen processes, it is these or nothing.
    (Times::Processes, 32, STEPS / 4),
    (Times::Processes, 32, STEPS / 10),
];

/// More than pixels that the area of a track is high.
const STEPS: u64 = 100;

impl<'a> Body<'_, 'a> {
    /// Writes the finest bins that there is room for.
    pub fn write_bins(&self, out: &mut Writer<'a>, entries: &[Entry], units: &[Unit]) -> Times {
        let Some(finest) = self.room.finest.filter(|_| self.room.bytes > 0) else {
            return Times::None;
        };
        let threads = &self.contents.profile.threads;
        let groups = Groups { numbers: group_numbers(entries), threads };
        let is_there = |times: Times| match finest.of {
            BinsOf::Processes => times == Times::Processes,
            BinsOf::Threads => true,
        };
        for (times, count, steps) in FORMS {
            if !is_there(times) || times > self.room.most || count > finest.count {
                continue;
            }
            let bins = groups.coarser(finest, times, count);
            let cells: usize = bins.tracks.iter().map(|track| track.cells.len()).sum();
            if cells > TimeBins::MOST_CELLS {
                continue;
            }
            let mut part = Writer::default();
            part.byte(Field::Times, code(&codes::TIMES, &times));
            part.number(Field::Times, u64::from(bins.count.ilog2()));
            part.number(Field::Times, bins.length);
            let pids = groups.heaviest(finest);
            pids.iter().fold(0, |before, &pid| write_number(&mut part, pid, before));
            let tracks = Tracks::new(&bins, &groups, steps);
            if tracks.threads.len() > MAX_THREADS {
                continue;
            }
            self.write_threads(&mut part, &tracks.threads);
            let mut limit = Limit::new(self.room.bytes);
            let mut events = (0..).map(EventId).zip(units);
            let is_written =
                events.all(|(event, unit)| tracks.write(&mut part, event, unit.unit, &mut limit));
            if is_written && part.packed_about() <= self.room.bytes {
                out.append(part);
                return times;
            }
        }
        Times::None
    }
}

/// Tells early that bins will not fit: of a profile with thousands of threads most of the time of a link
/// went into those that were too fine.
struct Limit {
    bytes: usize,
    counts: Counts,
    seen: usize,
}

impl Limit {
    /// Bytes that are looked at together.
    const BLOCK: usize = 4096;

    fn new(bytes: usize) -> Self {
        Self { bytes, counts: Counts::default(), seen: 0 }
    }

    /// False if what is written is too much already, as [`Writer::packed_about`] would say.
    fn holds(&mut self, out: &Writer<'_>) -> bool {
        let more = out.since(Field::Bins, self.seen);
        if more.len() < Self::BLOCK {
            return true;
        }
        self.seen += more.len();
        self.counts.add(more);
        (self.counts.bits() / 8.0) as usize <= self.bytes
    }
}

/// Processes of one name, as the tree has them; the last group are those that it has not.
struct Groups<'a> {
    numbers: Map<StringId, u64>,
    threads: &'a Threads,
}

impl Groups<'_> {
    fn of(&self, thread: ThreadId) -> u64 {
        let name = self.threads.process(self.threads.thread(thread).process).name;
        self.numbers.get(&name).copied().unwrap_or(self.folded())
    }

    fn folded(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// The first thread of a group stands for it, unless threads are told apart.
    fn coarser(&self, finest: &TimeBins, times: Times, count: u32) -> TimeBins {
        let mut first: Map<u64, ThreadId> = Map::new();
        for track in &finest.tracks {
            first.entry(self.of(track.thread)).or_insert(track.thread);
        }
        let (of, apart) = match times {
            Times::Threads => (BinsOf::Threads, self.folded()),
            _ => (BinsOf::Processes, 0),
        };
        coarser(finest, of, count, |thread| match self.of(thread) {
            group if group < apart => thread,
            group => first[&group],
        })
    }

    /// By group: the number of the process that has most of its samples.
    fn heaviest(&self, finest: &TimeBins) -> Vec<u32> {
        let mut samples: Map<(u64, ProcessId), u64> = Map::new();
        for track in &finest.tracks {
            let process = self.threads.thread(track.thread).process;
            *samples.entry((self.of(track.thread), process)).or_default() += track.samples;
        }
        let mut heaviest = vec![(0, 0); self.numbers.len()];
        for ((group, process), samples) in samples.into_sorted() {
            let Some(known) = heaviest.get_mut(group as usize) else { continue };
            if samples > known.0 {
                *known = (samples, self.threads.process(process).pid);
            }
        }
        heaviest.into_iter().map(|(_, pid)| pid).collect()
    }
}

/// Tracks in the order in which they are written: threads, then groups.
struct Tracks<'a> {
    bins: &'a TimeBins,
    /// Of the largest cell of each.
    steps: u64,
    of: Map<(EventId, ThreadId), &'a BinTrack>,
    /// Threads that have tracks of their own, with their groups.
    threads: Vec<(u64, ThreadId)>,
    /// The thread that stands for each group that has a track. Without threads that is all of them, else
    /// what was folded.
    groups: Vec<Option<ThreadId>>,
}

impl<'a> Tracks<'a> {
    fn new(bins: &'a TimeBins, groups: &Groups<'_>, steps: u64) -> Self {
        let of = bins.tracks.iter().map(|track| ((track.event, track.thread), track)).collect();
        let folded = groups.folded();
        let mut slots: Vec<_> =
            bins.tracks.iter().map(|track| (groups.of(track.thread), track.thread)).collect();
        sort(&mut slots);
        slots.dedup();
        let (mut threads, mut of_group) = (Vec::new(), Map::new());
        for (group, thread) in slots {
            match bins.of {
                BinsOf::Threads if group < folded => threads.push((group, thread)),
                _ => drop(of_group.insert(group, thread)),
            }
        }
        let first = if bins.of == BinsOf::Threads { folded } else { 0 };
        let groups = (first..=folded).map(|group| of_group.get(&group).copied()).collect();
        Self { bins, steps, of, threads, groups }
    }

    /// Writes all of an event; false if that is too much.
    fn write(&self, out: &mut Writer<'_>, event: EventId, unit: u64, limit: &mut Limit) -> bool {
        let track = |thread: ThreadId| self.of.get(&(event, thread)).copied();
        for &(_, thread) in &self.threads {
            let track = track(thread);
            out.number(Field::Bins, track.map_or(0, |track| track.samples));
            if let Some(track) = track {
                out.number(Field::Bins, track.weight);
                write_track(out, self.bins, track, unit, self.steps);
            }
            if !limit.holds(out) {
                return false;
            }
        }
        // The call tree has how much there is of a group.
        for thread in &self.groups {
            match thread.and_then(track) {
                Some(track) => write_track(out, self.bins, track, unit, self.steps),
                None => out.byte(Field::Bins, 0),
            }
        }
        limit.holds(out)
    }
}

/// Writes the kinds that a track has, the size of a step, and for each kind the steps of each bin.
fn write_track(out: &mut Writer<'_>, bins: &TimeBins, track: &BinTrack, unit: u64, steps: u64) {
    let kinds = track.cells.iter().fold(0, |kinds, cell| kinds | 1u8 << cell.kind);
    out.byte(Field::Bins, kinds);
    if kinds == 0 {
        return;
    }
    let peak = track.cells.iter().map(|cell| cell.weight).max().unwrap_or_default();
    let finest = -(unit.max(1).ilog2() as i8);
    let is_coarse = |shift: &i8| step_of(unit, *shift).is_some_and(|step| peak / step <= steps);
    let shift = (finest..64).find(is_coarse).unwrap_or_default();
    out.byte(Field::Bins, shift as u8);
    let step = step_of(unit, shift).unwrap_or(unit).max(1);
    let mut cells = track.cells.iter().peekable();
    // Rounded so that the sum of all is less than a step too small.
    let (mut sum, mut written) = (0u64, 0);
    for kind in (0..KINDS as u8).filter(|kind| kinds & 1 << kind != 0) {
        for bin in 0..bins.count {
            if let Some(cell) = cells.next_if(|cell| (cell.kind, cell.bin) == (kind, bin)) {
                sum = sum.saturating_add(cell.weight);
            }
            out.number(Field::Bins, sum / step - written);
            written = sum / step;
        }
    }
}
