//! The timeline of a link that knows no times of single samples: from its bins, which are coarser than
//! those asked for, or not. Filters by DSO and CPU cannot be applied to them.

use perftab_profile::{BinCell, BinTrack, BinsOf, Profile, TimeBins};

use crate::Query;
use crate::filter::Filter;
use crate::tasks::{self, Span, TaskSums};
use crate::timeline::{KINDS, NO_TRACK, Timeline, TimelineRequest, TrackBy};
use crate::weights::Sum;

/// Tracks of the processes and threads that pass a query's filters.
pub fn timeline(
    profile: &Profile,
    bins: &TimeBins,
    query: &Query,
    request: &TimelineRequest,
) -> Timeline {
    let filter = Filter::new(profile, query);
    let events = profile.event_set(query.event);
    let takes =
        |track: &&BinTrack| events.has(track.event.0 as u16) && filter.takes_thread(track.thread);
    let mut spans = vec![Span::default(); profile.threads.threads.len()];
    for track in bins.tracks.iter().filter(takes) {
        spans[track.thread.index()].merge(span(bins, track));
    }
    let by = match bins.of {
        // A thread stands for each process.
        BinsOf::Processes if request.by == TrackBy::Thread => TrackBy::Process,
        _ => request.by,
    };
    let request = TimelineRequest { by, ..request.clone() };
    let times = tasks::window(profile, request.start as u64, request.end as u64);
    let sums = TaskSums::of_threads(spans);
    let (mut timeline, lanes) = Timeline::blank(profile, &sums, &request, times);
    if bins.of == BinsOf::Processes {
        for track in &mut timeline.tracks {
            track.sub.clear();
            track.threads = 0;
        }
    }
    for track in bins.tracks.iter().filter(takes) {
        let [process, thread] = lanes.of_thread(track.thread);
        for lane in [0, process, thread].into_iter().filter(|&lane| lane != NO_TRACK) {
            track.cells.iter().for_each(|cell| add(&mut timeline, bins, lane, cell));
        }
    }
    timeline.with_peaks()
}

/// When a bin begins: as many nanoseconds as it has bins before it.
fn beginning(bins: &TimeBins, bin: u32) -> u64 {
    (u128::from(bins.length) * u128::from(bin) / u128::from(bins.count.max(1))) as u64
}

fn span(bins: &TimeBins, track: &BinTrack) -> Span {
    let first = track.cells.iter().map(|cell| cell.bin).min();
    let last = track.cells.iter().map(|cell| cell.bin).max();
    let times = first.zip(last).map(|(first, last)| {
        (beginning(bins, first), beginning(bins, last.saturating_add(1)).saturating_sub(1))
    });
    Span { sum: Sum { weight: track.weight, samples: track.samples }, times }
}

/// Spreads a cell over the bins that were asked for.
fn add(timeline: &mut Timeline, bins: &TimeBins, lane: u32, cell: &BinCell) {
    let (from, to) = (beginning(bins, cell.bin), beginning(bins, cell.bin.saturating_add(1)));
    let (start, end) = (timeline.start, timeline.end);
    if to <= start || from >= end {
        return;
    }
    let per_nano = f64::from(timeline.bins) / (end - start).max(1) as f64;
    let place = |time: u64| (time.saturating_sub(start)) as f64 * per_nano;
    let whole = (to - from).max(1) as f64 * per_nano;
    let (left, right) = (place(from.max(start)), place(to.min(end)));
    let last = timeline.bins.saturating_sub(1);
    for bin in (left as u32).min(last)..=(right as u32).min(last) {
        let part = right.min(f64::from(bin) + 1.0) - left.max(f64::from(bin));
        let at = (lane as usize * timeline.bins as usize + bin as usize) * KINDS;
        let weight = cell.weight as f64 * part.max(0.0) / whole;
        timeline.weights[at + usize::from(cell.kind)] += weight as f32;
    }
}
