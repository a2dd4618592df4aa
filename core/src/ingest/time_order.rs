//! Puts records into the order of time with bounded memory.
//!
//! The recorder reads one ring buffer after the other; each is in order, all together are not.
//! After each round it writes FINISHED_ROUND: nothing that comes later is older than the newest
//! record of the round *before* (`perf_evlist__mmap_read_all` in `tools/perf/builtin-record.c`).
//! So at the end of a round everything up to that limit can go on.

use super::stream::Entry;
use crate::decode::records::RecordHeader;

/// Bytes held back before records go on although no round has ended: files without rounds.
const MAX_HELD_BYTES: usize = 256 << 20;

/// Holds records back until their turn has come.
#[derive(Default)]
pub(super) struct TimeOrder {
    held: Vec<Held>,
    bytes: Vec<u8>,
    /// Newest time seen.
    newest: u64,
    /// Newest time of the round before this one.
    limit: u64,
    /// Time of the last record that went on.
    released: u64,
    late: u64,
}

#[derive(Clone, Copy)]
struct Held {
    time: u64,
    offset: u64,
    header: RecordHeader,
    start: usize,
    length: usize,
}

impl TimeOrder {
    /// Takes a record with a time; `release` is called for what goes on.
    pub(super) fn push(&mut self, time: u64, entry: Entry<'_>, release: impl FnMut(Entry<'_>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.bytes);
        let Entry { offset, header, bytes } = entry;
        self.held.push(Held { time, offset, header, start, length: bytes.len() });
        self.newest = self.newest.max(time);
        if time < self.released {
            self.late += 1;
        }
        if self.bytes.len() > MAX_HELD_BYTES {
            let middle = self.middle_time();
            self.release_until(middle, release);
        }
    }

    /// The recorder has read every ring once more.
    pub(super) fn finish_round(&mut self, release: impl FnMut(Entry<'_>)) {
        let limit = std::mem::replace(&mut self.limit, self.newest);
        self.release_until(limit, release);
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, release: impl FnMut(Entry<'_>)) {
        self.release_until(u64::MAX, release);
    }

    /// Records that came after younger ones had gone on.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    fn middle_time(&self) -> u64 {
        let mut times: Vec<u64> = self.held.iter().map(|held| held.time).collect();
        let middle = times.len() / 2;
        *times.select_nth_unstable(middle).1
    }

    fn release_until(&mut self, limit: u64, mut release: impl FnMut(Entry<'_>)) {
        // Stable, and quick on what the rings have in order already.
        self.held.sort_by_key(|held| held.time);
        let count = self.held.partition_point(|held| held.time <= limit);
        for held in &self.held[..count] {
            let bytes = &self.bytes[held.start..held.start + held.length];
            release(Entry { offset: held.offset, header: held.header, bytes });
        }
        if let Some(last) = count.checked_sub(1) {
            self.released = self.released.max(self.held[last].time);
        }
        // What stays moves to the front of a new buffer of its own size.
        let mut bytes = Vec::with_capacity(self.held[count..].iter().map(|held| held.length).sum());
        self.held.drain(..count);
        for held in &mut self.held {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[held.start..held.start + held.length]);
            held.start = start;
        }
        self.bytes = bytes;
    }
}
