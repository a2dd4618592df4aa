//! The samples that are written, by event and thread, and the calls that they need.

use perftab_perfdata::sorting::sort_by_key;
use perftab_profile::{Profile, ThreadId};
use perftab_views::Query;
use perftab_views::filter::Filter;
use perftab_views::weights::Sum;

use super::calls::Calls;

/// What is written. Rows are four bytes each, and calls a bit more than one.
#[derive(Default)]
pub struct ExportedSamples {
    /// In the order in which they are written; at least one.
    pub events: Vec<EventRows>,
    /// Calls that samples pass through, by number. Events share one table of stacks; with steps
    /// each has a tree, and so a table, of its own.
    pub tables: Vec<Vec<bool>>,
}

/// The samples of one event.
pub struct EventRows {
    /// The event's number, filters and steps.
    pub query: Query,
    /// Its threads, heaviest first.
    pub tracks: Vec<Track>,
}

/// The samples of one thread.
pub struct Track {
    pub thread: ThreadId,
    /// In the order of time.
    pub rows: Vec<u32>,
    pub sum: Sum,
}

impl ExportedSamples {
    /// The table of an event's calls.
    pub fn table(&self, event: usize) -> usize {
        event.min(self.tables.len().saturating_sub(1))
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

/// Finds what is to be written, a step at a time.
pub struct ExportedSamplesBuilder {
    queries: Vec<Query>,
    taken: ExportedSamples,
    /// Of the event that is gone through: rows by thread; `None` before it was begun.
    threads: Option<Vec<Track>>,
    row: usize,
    rows_done: usize,
}

impl ExportedSamplesBuilder {
    /// Nothing is found so far of the events of `queries`.
    pub fn new(queries: Vec<Query>) -> Self {
        Self { queries, taken: ExportedSamples::default(), threads: None, row: 0, rows_done: 0 }
    }

    /// The query of the event that is gone through now; `None` when all were.
    pub fn query(&self) -> Option<&Query> {
        self.queries.get(self.taken.events.len())
    }

    /// Goes through so many more rows of the event's samples.
    pub fn step(&mut self, calls: &Calls<'_>, rows: usize) {
        let Some(query) = self.queries.get(self.taken.events.len()) else { return };
        let profile = calls.profile;
        let filter = Filter::new(profile, query);
        let all = filter.rows();
        if self.threads.is_none() {
            self.row = all.start;
            if Calls::need_tree(query) || self.taken.tables.is_empty() {
                self.taken.tables.push(vec![false; calls.len()]);
            }
        }
        let threads = self.threads.get_or_insert_with(|| no_rows(profile));
        let Some(used) = self.taken.tables.last_mut() else { return };
        let until = self.row.saturating_add(rows).min(all.end);
        let samples = &profile.samples;
        for row in self.row.min(until)..until {
            if !filter.is_of_event(row) || filter.removed_by(row).is_some() {
                continue;
            }
            let thread = samples.thread[row];
            let Some(end) = calls.end(thread, samples.stack[row]) else { continue };
            used[end as usize] = true;
            let track = &mut threads[thread.index()];
            track.rows.push(row as u32);
            track.sum.add(filter.sum(row));
        }
        self.rows_done += until.saturating_sub(self.row);
        self.row = until;
        if until >= all.end {
            self.end_event(calls, query.clone());
        }
    }

    fn end_event(&mut self, calls: &Calls<'_>, query: Query) {
        let mut tracks = self.threads.take().unwrap_or_default();
        tracks.retain(|track| !track.rows.is_empty());
        sort_by_key(&mut tracks, |track| std::cmp::Reverse(track.sum.weight));
        let times = &calls.profile.samples.time_nanos;
        if !calls.profile.samples.is_in_order() {
            let by_time = |row: &u32| times[*row as usize];
            tracks.iter_mut().for_each(|track| sort_by_key(&mut track.rows, by_time));
        }
        if let Some(used) = self.taken.tables.last_mut() {
            // Callers have lower numbers, so each is met after all that it called.
            for call in (1..used.len()).rev() {
                let caller = calls.caller(call as u32).filter(|_| used[call]);
                caller.into_iter().for_each(|caller| used[caller as usize] = true);
            }
        }
        self.taken.events.push(EventRows { query, tracks });
    }

    /// How many rows were gone through, those of all events.
    pub fn rows_done(&self) -> usize {
        self.rows_done
    }

    /// What was found.
    pub fn finish(self) -> ExportedSamples {
        self.taken
    }
}

fn no_rows(profile: &Profile) -> Vec<Track> {
    let threads = (0..profile.threads.threads.len() as u32).map(ThreadId);
    threads.map(|thread| Track { thread, rows: Vec::new(), sum: Sum::default() }).collect()
}
