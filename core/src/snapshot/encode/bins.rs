//! How much there was when: what bins of time a snapshot can have of a profile, and how fine it has them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::profile::{BinCell, BinTrack, BinsOf, EventId, Profile, ThreadId, TimeBins};
use crate::snapshot::Contents;
use crate::snapshot::scope::Scope;
use crate::snapshot::tree::Tree;
use crate::views::Query;
use crate::views::filter::{Filter, FilterKind};
use crate::views::timeline::leaf_kinds;

/// The finest bins that there are of what a query leaves, of each thread, while they are made.
pub(super) struct TimeBinsBuilder {
    first: u64,
    /// By stack.
    kinds: Vec<u8>,
    stage: Stage,
    /// Rows gone through in this stage.
    done: usize,
    tracks: HashMap<(EventId, ThreadId), BinTrack>,
}

enum Stage {
    /// When the last sample was, since the first of the recording, as far as is known.
    Length(Option<u64>),
    Cells {
        length: u64,
    },
    Done(Option<TimeBins>),
}

impl TimeBinsBuilder {
    /// Samples that have no time have no bins.
    pub fn new(contents: &Contents<'_>, scope: &Scope, query: Option<&Query>) -> Self {
        let profile = contents.profile;
        let (stage, kinds) = match (&profile.bins, query) {
            (Some(bins), None) => (Stage::Done(Some(bins.clone())), Vec::new()),
            (Some(bins), Some(query)) => (Stage::Done(filtered(profile, bins, query)), Vec::new()),
            (None, _) => match scope.facts.time {
                None => (Stage::Done(None), Vec::new()),
                Some(_) => (Stage::Length(None), leaf_kinds(profile, contents.symbols)),
            },
        };
        let first = scope.facts.time.map_or(0, |(first, _)| first);
        Self { first, kinds, stage, done: 0, tracks: HashMap::new() }
    }

    /// Goes through about so many rows of samples more; true when that was all.
    pub fn step(&mut self, contents: &Contents<'_>, tree: &Tree, rows: usize) -> bool {
        let profile = contents.profile;
        let samples = &profile.samples;
        let to = self.done.saturating_add(rows.max(1)).min(samples.len());
        let range = std::mem::replace(&mut self.done, to)..to;
        let is_last = to == samples.len();
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done(None)) {
            Stage::Length(last) => {
                let since = |row: usize| samples.time_nanos[row].saturating_sub(self.first);
                let here = tree.rows_in(profile, range).map(|(row, _)| since(row)).max();
                match last.max(here) {
                    Some(last) if is_last => {
                        self.done = 0;
                        Stage::Cells { length: last.saturating_add(1) }
                    }
                    None if is_last => Stage::Done(None),
                    last => Stage::Length(last),
                }
            }
            Stage::Cells { length } => match self.add(contents, tree, range, length) {
                None => Stage::Done(None),
                Some(()) if is_last => {
                    let tracks = std::mem::take(&mut self.tracks).into_values();
                    let mut tracks: Vec<BinTrack> = tracks.map(in_order).collect();
                    tracks.sort_unstable_by_key(|track| (track.event, track.thread));
                    let (of, count) = (BinsOf::Threads, TimeBins::MOST);
                    Stage::Done(Some(TimeBins { of, count, length, tracks }))
                }
                Some(()) => Stage::Cells { length },
            },
            done => done,
        };
        matches!(self.stage, Stage::Done(_))
    }

    /// What was made; `None` where it would not be of all samples: some have no time.
    pub fn finish(self) -> Option<TimeBins> {
        match self.stage {
            Stage::Done(bins) => bins,
            Stage::Length(_) | Stage::Cells { .. } => None,
        }
    }

    /// Adds rows of samples; `None` if one has no time.
    fn add(
        &mut self,
        contents: &Contents<'_>,
        tree: &Tree,
        range: Range<usize>,
        length: u64,
    ) -> Option<()> {
        let samples = &contents.profile.samples;
        for (row, _) in tree.rows_in(contents.profile, range) {
            let sample = samples.get(row).filter(|sample| sample.time_nanos != 0)?;
            let since = u128::from(sample.time_nanos.saturating_sub(self.first));
            let bin = (since * u128::from(TimeBins::MOST) / u128::from(length)) as u32;
            let kind = self.kinds[sample.stack.index()];
            let (event, thread) = (sample.event, sample.thread);
            let track = self.tracks.entry((event, thread)).or_insert_with(|| BinTrack {
                event,
                thread,
                samples: 0,
                weight: 0,
                cells: Vec::new(),
            });
            track.samples = track.samples.saturating_add(samples.count(row));
            track.weight = track.weight.saturating_add(sample.weight);
            // Samples are in order of time: the cells of a bin are the last ones.
            let known = track.cells.iter_mut().rev().take_while(|it| it.bin == bin);
            match known.into_iter().find(|it| it.kind == kind) {
                Some(known) => known.weight = known.weight.saturating_add(sample.weight),
                None => track.cells.push(BinCell { kind, bin, weight: sample.weight }),
            }
        }
        Some(())
    }
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
