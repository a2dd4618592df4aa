//! How much there was when: what bins of time a snapshot can have of a profile, and how fine it has them.

use std::collections::{BTreeMap, HashMap};

use crate::profile::{BinCell, BinTrack, BinsOf, EventId, Profile, ThreadId, TimeBins};
use crate::snapshot::Contents;
use crate::snapshot::scope::Scope;
use crate::snapshot::tree::Tree;
use crate::views::Query;
use crate::views::filter::{Filter, FilterKind};
use crate::views::timeline::leaf_kinds;

/// The finest bins that there are of what a query leaves, of each thread. `None` where they would not be
/// of all samples: some have no time.
pub(super) fn finest(
    contents: &Contents<'_>,
    scope: &Scope<'_>,
    query: Option<&Query>,
    tree: &Tree,
) -> Option<TimeBins> {
    let profile = contents.profile;
    if let Some(bins) = &profile.bins {
        return match query {
            None => Some(bins.clone()),
            Some(query) => filtered(profile, bins, query),
        };
    }
    let samples = &profile.samples;
    let (first, _) = scope.facts.time?;
    let since = |row: usize| samples.time_nanos[row].saturating_sub(first);
    let length = tree.rows(profile).map(|(row, _)| since(row)).max()?.saturating_add(1);
    let kinds = leaf_kinds(profile, contents.symbols);
    let mut tracks: HashMap<(EventId, ThreadId), BinTrack> = HashMap::new();
    for (row, _) in tree.rows(profile) {
        let sample = samples.get(row).filter(|sample| sample.time_nanos != 0)?;
        let bin = u128::from(since(row)) * u128::from(TimeBins::MOST) / u128::from(length);
        let kind = kinds[sample.stack.index()];
        let cell = BinCell { kind, bin: bin as u32, weight: sample.weight };
        let (event, thread) = (sample.event, sample.thread);
        let track = tracks.entry((event, thread)).or_insert_with(|| BinTrack {
            event,
            thread,
            samples: 0,
            weight: 0,
            cells: Vec::new(),
        });
        track.samples = track.samples.saturating_add(samples.count(row));
        track.weight = track.weight.saturating_add(sample.weight);
        // Samples are in order of time: the cells of a bin are the last ones.
        let known = track.cells.iter_mut().rev().take_while(|it| it.bin == cell.bin);
        match known.into_iter().find(|it| it.kind == kind) {
            Some(known) => known.weight = known.weight.saturating_add(cell.weight),
            None => track.cells.push(cell),
        }
    }
    let mut tracks: Vec<BinTrack> = tracks.into_values().map(in_order).collect();
    tracks.sort_unstable_by_key(|track| (track.event, track.thread));
    Some(TimeBins { of: BinsOf::Threads, count: TimeBins::MOST, length, tracks })
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
    let mut tracks: BTreeMap<(EventId, ThreadId), BinTrack> = BTreeMap::new();
    for track in &bins.tracks {
        let (event, thread) = (track.event, merged(track.thread));
        let sum = tracks.entry((event, thread)).or_insert_with(|| BinTrack {
            event,
            thread,
            samples: 0,
            weight: 0,
            cells: Vec::new(),
        });
        sum.samples = sum.samples.saturating_add(track.samples);
        sum.weight = sum.weight.saturating_add(track.weight);
        sum.cells.extend(track.cells.iter().map(|cell| BinCell { bin: cell.bin / by, ..*cell }));
    }
    let tracks = tracks.into_values().map(in_order).collect();
    TimeBins { of, count: bins.count / by, length: bins.length, tracks }
}

/// Cells by kind and bin, each once.
fn in_order(mut track: BinTrack) -> BinTrack {
    track.cells.sort_unstable_by_key(|cell| (cell.kind, cell.bin));
    track.cells.dedup_by(|next, cell| {
        let is_same = (next.kind, next.bin) == (cell.kind, cell.bin);
        if is_same {
            cell.weight = cell.weight.saturating_add(next.weight);
        }
        is_same
    });
    track
}
