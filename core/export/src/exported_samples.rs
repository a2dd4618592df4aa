//! The samples that are written, by event and thread, and the calls that they need.

use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_key;
use perftab_profile::{Profile, ThreadId};
use perftab_views::Query;
use perftab_views::filter::Filter;
use perftab_views::weights::Sum;

use crate::calls::Calls;
use crate::source::Source;

/// What is written. Rows are four bytes each, and calls a bit more than one.
#[derive(Default)]
pub(crate) struct ExportedSamples {
    /// In the order in which they are written; at least one.
    pub events: Vec<EventRows>,
    /// Calls that samples pass through, by number. Events share one table of stacks; with steps
    /// each has a tree, and so a table, of its own.
    pub tables: Vec<Vec<bool>>,
}

/// The samples of one event.
pub(crate) struct EventRows {
    /// The event's number, filters and steps.
    pub query: Query,
    /// Its threads, heaviest first.
    pub tracks: Vec<Track>,
}

/// The samples of one thread.
pub(crate) struct Track {
    pub thread: ThreadId,
    /// In the order of time.
    pub rows: Vec<u32>,
    pub sum: Sum,
}

impl ExportedSamples {
    /// Finds what is to be written of the events of `queries`.
    pub async fn of(source: &Source, queries: Vec<Query>, slice: &Slice) -> Self {
        let profile = &*source.profile;
        let mut taken = Self::default();
        for query in queries {
            let calls = source.calls(&query, slice).await;
            if Calls::need_tree(&query) || taken.tables.is_empty() {
                taken.tables.push(vec![false; calls.len()]);
            }
            let mut tracks = no_rows(profile);
            let filter = Filter::new(profile, &query);
            let mut rows = filter.rows();
            slice.expect(2 * profile.samples.len());
            while let Some(part) = slice.part(&mut rows).await {
                let Some(used) = taken.tables.last_mut() else { break };
                for row in part {
                    if !filter.is_of_event(row) || filter.removed_by(row).is_some() {
                        continue;
                    }
                    let thread = profile.samples.thread.at(row);
                    let stack = profile.samples.stack[row];
                    let Some(end) = calls.end(thread, stack) else { continue };
                    used[end as usize] = true;
                    let track = &mut tracks[thread.index()];
                    track.rows.push(row as u32);
                    track.sum.add(filter.sum(row));
                }
            }
            put_in_order(profile, &mut tracks);
            if let Some(used) = taken.tables.last_mut() {
                // Callers have lower numbers, so each is met after all that it called.
                for call in (1..used.len()).rev() {
                    let caller = calls.caller(call as u32).filter(|_| used[call]);
                    caller.into_iter().for_each(|caller| used[caller as usize] = true);
                }
            }
            taken.events.push(EventRows { query, tracks });
            slice.next().await;
        }
        taken
    }

    /// The table of an event's calls.
    pub fn table(&self, event: usize) -> usize {
        event.min(self.tables.len().saturating_sub(1))
    }

    /// The query that a table's calls are of.
    pub fn query_of(&self, table: usize) -> &Query {
        // Where events share one table, the stacks are the same for all.
        &self.events[table].query
    }

    /// All threads with the place of their event, event after event.
    pub fn tracks(&self) -> impl Iterator<Item = (usize, &Track)> {
        let events = self.events.iter().enumerate();
        events.flat_map(|(event, rows)| rows.tracks.iter().map(move |track| (event, track)))
    }

    /// True of the first thread of the first event that has any.
    pub fn is_first(&self, (event, track): (usize, usize)) -> bool {
        track == 0 && self.events[..event].iter().all(|before| before.tracks.is_empty())
    }

    /// Samples of all events.
    pub fn samples(&self) -> usize {
        self.tracks().map(|(_, track)| track.rows.len()).sum()
    }

    /// Calls of all tables that samples pass through.
    pub fn calls(&self) -> usize {
        self.tables.iter().flatten().filter(|&&is_used| is_used).count()
    }
}

/// Heaviest threads first, their samples in the order of time.
fn put_in_order(profile: &Profile, tracks: &mut Vec<Track>) {
    tracks.retain(|track| !track.rows.is_empty());
    sort_by_key(tracks, |track| std::cmp::Reverse(track.sum.weight));
    if !profile.samples.is_in_order() {
        let by_time = |row: &u32| profile.samples.time_nanos.at(*row as usize);
        tracks.iter_mut().for_each(|track| sort_by_key(&mut track.rows, by_time));
    }
}

fn no_rows(profile: &Profile) -> Vec<Track> {
    let threads = (0..profile.threads.threads.len() as u32).map(ThreadId);
    threads.map(|thread| Track { thread, rows: Vec::new(), sum: Sum::default() }).collect()
}
