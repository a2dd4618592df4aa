//! Reads bins of time, and the threads that they are of.

use perftab_perfdata::map::Map;

use perftab_profile::{
    BinCell, BinTrack, BinsOf, EventId, ProcessId, Profile, Thread, ThreadId, TimeBins,
};
use perftab_views::timeline::KINDS;
use perftab_views::weights::Sum;

use super::decode::{at_most, invalid};
use super::fields::{Field, Reader};
use super::samples::{Unit, next_number, read_threads};
use super::{SnapshotError, Times};

/// Reads the number of each process that is in the tree.
pub(super) fn read_pids(
    read: &mut Reader<'_>,
    processes: usize,
) -> Result<Vec<u32>, SnapshotError> {
    let mut pid = 0;
    let pids = (0..processes).map(|_| {
        pid = next_number(read, pid)?;
        Ok(pid)
    });
    pids.collect()
}

/// Reads bins. `groups` are the threads that stand for the processes of the tree, the last for those that
/// are not in it; `None` where nothing was sampled.
pub(super) fn read_bins(
    read: &mut Reader<'_>,
    profile: &mut Profile,
    times: Times,
    groups: &[Option<ThreadId>],
    units: &[Unit],
) -> Result<TimeBins, SnapshotError> {
    let of = if times == Times::Threads { BinsOf::Threads } else { BinsOf::Processes };
    let count = match read.number(Field::Times)? {
        exponent if exponent < 32 => 1 << exponent,
        _ => 0,
    };
    if !(TimeBins::FEWEST..=TimeBins::MOST).contains(&count) {
        return invalid("a number of bins");
    }
    let length = read.number(Field::Times)?.max(1);
    let mut bins = TimeBins { of, count, length, tracks: Vec::new() };
    let threads = threads(read, profile, groups)?;
    let groups = match of {
        BinsOf::Threads => groups.get(groups.len().saturating_sub(1)..).unwrap_or_default(),
        BinsOf::Processes => groups,
    };
    let sums = sums(profile);
    let mut cells = 0;
    for (event, unit) in (0..).map(EventId).zip(units) {
        let mut add = |read: &mut Reader<'_>, thread, sum| {
            let track = track(read, count, event, thread, sum, unit)?;
            cells += track.cells.len();
            bins.tracks.push(track);
            at_most(TimeBins::MOST_CELLS, cells)
        };
        for &thread in &threads {
            let samples = read.number(Field::Bins)?;
            if samples > 0 {
                let sum = Sum { samples, weight: read.number(Field::Bins)? };
                add(read, thread, sum)?;
            }
        }
        for &thread in groups {
            let known = thread.and_then(|thread| Some((thread, *sums.get(&(event, thread))?)));
            match known {
                Some((thread, sum)) => drop(add(read, thread, sum)?),
                None if read.byte(Field::Bins)? == 0 => {}
                None => return invalid("bins of nothing"),
            }
        }
    }
    Ok(bins)
}

/// Adds the threads that have tracks of their own.
fn threads(
    read: &mut Reader<'_>,
    profile: &mut Profile,
    groups: &[Option<ThreadId>],
) -> Result<Vec<ThreadId>, SnapshotError> {
    let mut threads = Vec::new();
    for (group, tid, name) in read_threads(read, profile)? {
        let Some(&Some(stands_for)) = groups.get(group as usize) else {
            return invalid("a thread");
        };
        let process: ProcessId = profile.threads.thread(stands_for).process;
        threads.push(profile.threads.add_thread(Thread { process, tid, name }));
    }
    Ok(threads)
}

/// What the call tree has of each thread.
fn sums(profile: &Profile) -> Map<(EventId, ThreadId), Sum> {
    let samples = &profile.samples;
    let mut sums: Map<(EventId, ThreadId), Sum> = Map::new();
    for row in 0..samples.len() {
        let event = EventId(u32::from(samples.event[row]));
        let sum = Sum { weight: samples.weight.at(row), samples: samples.count(row) };
        sums.entry((event, samples.thread.at(row))).or_default().add(sum);
    }
    sums
}

/// `unit` × 2^`shift`, rounded down and at least 1; `None` if it is too large. A sample lies in several bins,
/// so that cells have parts of a unit.
pub(super) fn step_of(unit: u64, shift: i8) -> Option<u64> {
    let bits = u32::from(shift.unsigned_abs());
    match shift < 0 {
        true => Some(unit.checked_shr(bits).unwrap_or(0).max(1)),
        false => 1u64.checked_shl(bits).and_then(|steps| unit.checked_mul(steps)),
    }
}

/// Reads a track whose cells are `sum` together.
fn track(
    read: &mut Reader<'_>,
    bins: u32,
    event: EventId,
    thread: ThreadId,
    sum: Sum,
    unit: &Unit,
) -> Result<BinTrack, SnapshotError> {
    let Sum { samples, weight } = sum;
    let mut cells: Vec<BinCell> = Vec::new();
    let kinds = read.byte(Field::Bins)?;
    if kinds >> KINDS != 0 {
        return invalid("a kind of code");
    }
    if kinds != 0 {
        let step = step_of(unit.unit, read.byte(Field::Bins)? as i8);
        let mut left = weight;
        for kind in (0..KINDS as u8).filter(|kind| kinds & 1 << kind != 0) {
            for bin in 0..bins {
                let steps = read.number(Field::Bins)?;
                let weight = step.and_then(|step| step.checked_mul(steps));
                let Some((weight, rest)) = weight.and_then(|it| Some((it, left.checked_sub(it)?)))
                else {
                    return invalid("a bin");
                };
                left = rest;
                if weight > 0 {
                    cells.push(BinCell { kind, bin, weight });
                }
            }
        }
        // Less than a step was lost to rounding.
        match cells.last_mut() {
            Some(last) => last.weight += left,
            None => {
                cells.push(BinCell { kind: kinds.trailing_zeros() as u8, bin: 0, weight: left })
            }
        }
    }
    Ok(BinTrack { event, thread, samples, weight, cells })
}
