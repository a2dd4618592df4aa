//! Puts records into the order of time with bounded memory: holds them back until nothing older
//! can come, as [`super::merge`] tells.

use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::sorting::places_by_numbers;

use super::walker::Entry;

/// Bytes held back before records go on although no round has ended: recordings without rounds.
const MAX_HELD_BYTES: usize = 256 << 20;

/// A buffer that is larger is given back when it is empty.
const MAX_SPARE_BYTES: usize = 16 << 20;

/// Holds records back until their turn has come.
#[derive(Default)]
pub(super) struct TimeOrder {
    held: Vec<HeldRecord>,
    bytes: Vec<u8>,
    /// Memory for the bytes that stay.
    spare: Vec<u8>,
    /// Time of the last record that went on.
    released: u64,
    late: u64,
}

#[derive(Clone, Copy)]
struct HeldRecord {
    time: u64,
    offset: u64,
    header: RecordHeader,
    /// Records of one time are in the order of their streams, whatever was read first.
    stream: u32,
    start: usize,
    length: usize,
}

impl TimeOrder {
    /// Takes a record of a stream with a time; `release` is called for what goes on.
    pub(super) fn push(
        &mut self,
        stream: usize,
        time: u64,
        entry: Entry<'_>,
        release: impl FnMut(Entry<'_>),
    ) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.bytes);
        let Entry { offset, header, bytes } = entry;
        let stream = stream as u32;
        self.held.push(HeldRecord { time, offset, header, stream, start, length: bytes.len() });
        if time < self.released {
            self.late += 1;
        }
        if self.bytes.len() > MAX_HELD_BYTES {
            let middle = self.middle_time();
            self.release_until(middle, release);
        }
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

    /// Nothing that comes is older than `limit`: what is not younger goes on.
    pub(super) fn settle(&mut self, limit: u64, release: impl FnMut(Entry<'_>)) {
        if limit > self.released {
            self.release_until(limit, release);
        }
    }

    fn release_until(&mut self, limit: u64, mut release: impl FnMut(Entry<'_>)) {
        // Stable, and quick on what the rings have in order already.
        let places = places_by_numbers(&self.held, |held| (held.time, held.stream.into()));
        let count = places.partition_point(|&place| self.held[place].time <= limit);
        for &place in &places[..count] {
            let HeldRecord { time, offset, header, start, length, .. } = self.held[place];
            release(Entry { offset, header, bytes: &self.bytes[start..start + length] });
            self.released = self.released.max(time);
        }
        // What stays moves to the front of another buffer, and the two take turns: new memory for
        // each round was a twentieth of the time of reading.
        let mut bytes = std::mem::take(&mut self.spare);
        let stays = places[count..].iter().map(|&place| self.held[place]);
        bytes.reserve_exact(stays.clone().map(|held| held.length).sum());
        let stays = stays.map(|held| {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[held.start..held.start + held.length]);
            HeldRecord { start, ..held }
        });
        self.held = stays.collect();
        self.spare = std::mem::replace(&mut self.bytes, bytes);
        self.spare.clear();
        if self.spare.capacity() > MAX_SPARE_BYTES {
            self.spare = Vec::new();
        }
    }
}
