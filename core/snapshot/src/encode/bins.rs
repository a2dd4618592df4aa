//! How much there was when: what bins of time a snapshot can have of a profile, and how fine it has them.
//!
//! As in the timeline of a recording, the weight of a sample lies in the time for which it stands. At its
//! moment, steady work would be a comb wherever bins and period do not fit each other.

use perftab_perfdata::map::Map;
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_key;
use std::iter::Peekable;
use std::ops::Range;

use perftab_profile::{BinCell, BinTrack, BinsOf, EventId, Profile, ThreadId, TimeBins};
use perftab_views::Query;
use perftab_views::filter::{Filter, FilterKind};
use perftab_views::function_ref::DsoRef;
use perftab_views::label::OwnCode;
use perftab_views::sample_spans::{SampleSpan, SampleSpans, period};
use perftab_views::timeline::leaf_kinds;

use crate::Contents;
use crate::scope::Scope;
use crate::tree::Tree;

/// A track to be.
struct TrackBuilder {
    track: BinTrack,
    /// Cells as of which each bin and kind may be there several times.
    loose: usize,
}

/// Of more events each sample stands at its moment: all that is known of CPUs is kept for each.
const MOST_SPREAD_EVENTS: usize = 64;
/// The newest cells of a track among which a sample's is looked for.
const NEWEST_CELLS: usize = 16;

/// The finest bins that there are of what a query leaves, of each thread. `None` where they would not be of
/// all samples: some have no time. In slices of rows.
pub(super) async fn finest(
    contents: &Contents<'_>,
    scope: &Scope,
    query: Option<&Query>,
    own: &[DsoRef],
    tree: &Tree,
    slice: &Slice,
) -> Option<TimeBins> {
    let profile = contents.profile;
    if let Some(bins) = &profile.bins {
        return query.map_or_else(|| Some(bins.clone()), |query| filtered(profile, bins, query));
    }
    let (first, _) = scope.facts.time?;
    let samples = &profile.samples;
    let mut last = None;
    let mut rows = 0..samples.len();
    while let Some(part) = slice.part(&mut rows).await {
        let since = |row: usize| samples.time_nanos.at(row).saturating_sub(first);
        last = last.max(tree.rows_in(profile, part).map(|(row, _)| since(row)).max());
    }
    let length = last?.saturating_add(1);
    let mut binning = Binning {
        first,
        length,
        kinds: leaf_kinds(profile, contents.symbols, &OwnCode::named(profile, own)),
        tracks: Map::new(),
        spans: spans(profile),
    };
    let mut rows = 0..samples.len();
    while let Some(part) = slice.part(&mut rows).await {
        binning.add(profile, tree, part)?;
    }
    let mut tracks: Vec<BinTrack> =
        binning.tracks.into_values().map(|it| in_order(it.track)).collect();
    sort_by_key(&mut tracks, |track| (track.event, track.thread));
    Some(TimeBins { of: BinsOf::Threads, count: TimeBins::MOST, length, tracks })
}

/// Bins while samples are added.
struct Binning {
    first: u64,
    length: u64,
    /// By stack.
    kinds: Vec<u8>,
    tracks: Map<(EventId, ThreadId), TrackBuilder>,
    /// By event.
    spans: Vec<Option<SampleSpans>>,
}

impl Binning {
    /// Adds rows of samples; `None` if one has no time.
    fn add(&mut self, profile: &Profile, tree: &Tree, range: Range<usize>) -> Option<()> {
        let samples = &profile.samples;
        let shift = self.first.saturating_sub(profile.first_time().unwrap_or(self.first));
        let mut taken: Peekable<_> = tree.rows_in(profile, range.clone()).peekable();
        for row in range {
            // What is not taken has been on its CPU, too.
            let event = usize::from(samples.event[row]);
            let spans = self.spans.get_mut(event).and_then(Option::as_mut);
            let span = spans.and_then(|spans| spans.next(profile, row));
            if taken.next_if(|(next, _)| *next == row).is_none() {
                continue;
            }
            let sample = samples.get(row).filter(|sample| sample.time_nanos != 0)?;
            let end = sample.time_nanos.saturating_sub(self.first);
            let start = span.map_or(end, |span| span.start.saturating_sub(shift).min(end));
            let kind = self.kinds[sample.stack.index()];
            let (event, thread) = (sample.event, sample.thread);
            let building = self
                .tracks
                .entry((event, thread))
                .or_insert_with(|| TrackBuilder { track: empty_track(event, thread), loose: 0 });
            let track = &mut building.track;
            track.samples = track.samples.saturating_add(samples.count(row));
            track.weight = track.weight.saturating_add(sample.weight);
            building.add(SampleSpan { start, end }, self.length, kind, sample.weight);
        }
        Some(())
    }
}

impl TrackBuilder {
    /// Spreads a sample over the bins in which it lies. Parts are rounded so that they add up to it.
    fn add(&mut self, span: SampleSpan, length: u64, kind: u8, weight: u64) {
        let (mut share_before, mut before) = (0.0, 0);
        let mut last = None;
        span.spread(&(0..length), TimeBins::MOST as usize, |bin, share| {
            share_before += share;
            let upto = ((weight as f64 * share_before).round() as u64).clamp(before, weight);
            self.add_cell(BinCell { kind, bin: bin as u32, weight: upto - before });
            before = upto;
            last = Some(bin);
        });
        let bin = last.map_or(0, |bin| bin as u32);
        self.add_cell(BinCell { kind, bin, weight: weight - before });
    }

    fn add_cell(&mut self, cell: BinCell) {
        if cell.weight == 0 {
            return;
        }
        let cells = &mut self.track.cells;
        // Samples are in order of time: the cells of a bin are among the last ones.
        let mut newest = cells.iter_mut().rev().take(NEWEST_CELLS);
        match newest.find(|it| (it.bin, it.kind) == (cell.bin, cell.kind)) {
            Some(known) => known.weight = known.weight.saturating_add(cell.weight),
            None => cells.push(cell),
        }
        if cells.len() > self.loose.saturating_mul(2).max(CELLS_OF_A_TRACK) {
            merge_cells(cells);
            self.loose = cells.len();
        }
    }
}

/// More cells than a track usually has: these are merged where several are of one bin and kind.
const CELLS_OF_A_TRACK: usize = 4 * TimeBins::MOST as usize;

/// For which time the samples of each event stand.
fn spans(profile: &Profile) -> Vec<Option<SampleSpans>> {
    let events = (0u32..).take(profile.events.len());
    let spread = |event: u32| SampleSpans::new(profile, period(profile, event));
    events.map(|event| ((event as usize) < MOST_SPREAD_EVENTS).then(|| spread(event))).collect()
}

fn empty_track(event: EventId, thread: ThreadId) -> BinTrack {
    BinTrack { event, thread, samples: 0, weight: 0, cells: Vec::new() }
}

/// What a query leaves of bins. Processes can be taken away; other filters, and steps, leave a part of each
/// bin that is not known.
fn filtered(profile: &Profile, bins: &TimeBins, query: &Query) -> Option<TimeBins> {
    let others = FilterKind::ALL.into_iter().filter(|&kind| kind != FilterKind::Processes);
    if others.into_iter().any(|kind| kind.is_set(query)) || !query.steps.is_empty() {
        return None;
    }
    let filter = Filter::new(profile, query);
    let mut bins = bins.clone();
    bins.tracks.retain(|track| filter.takes_thread(track.thread));
    Some(bins)
}

/// The same in fewer bins, or of fewer tracks: all those become one that `merged` makes one thread.
pub(super) fn coarser(
    bins: &TimeBins,
    of: BinsOf,
    count: u32,
    merged: impl Fn(ThreadId) -> ThreadId,
) -> TimeBins {
    let by = (bins.count / count.max(1)).max(1);
    let mut tracks: Map<(EventId, ThreadId), BinTrack> = Map::new();
    for track in &bins.tracks {
        let (event, thread) = (track.event, merged(track.thread));
        let sum = tracks.entry((event, thread)).or_insert_with(|| empty_track(event, thread));
        sum.samples = sum.samples.saturating_add(track.samples);
        sum.weight = sum.weight.saturating_add(track.weight);
        sum.cells.extend(track.cells.iter().map(|cell| BinCell { bin: cell.bin / by, ..*cell }));
    }
    let tracks = tracks.into_sorted().into_iter().map(|(_, track)| in_order(track)).collect();
    TimeBins { of, count: bins.count / by, length: bins.length, tracks }
}

/// Cells by kind and bin, each once.
fn in_order(mut track: BinTrack) -> BinTrack {
    merge_cells(&mut track.cells);
    track
}

fn merge_cells(cells: &mut Vec<BinCell>) {
    sort_by_key(cells, |cell| (cell.kind, cell.bin));
    cells.dedup_by(|next, cell| {
        let is_same = (next.kind, next.bin) == (cell.kind, cell.bin);
        if is_same {
            cell.weight = cell.weight.saturating_add(next.weight);
        }
        is_same
    });
}
