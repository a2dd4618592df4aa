//! Puts records into the order of time with bounded memory: holds them back until nothing older
//! can come, as [`super::merge`] tells.

use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::sorting::places_by_numbers;

use super::held_bytes::{HeldBytes, Piece};
use super::plain::{PlainFields, PlainSample};
use super::reader::Reader;
use super::walker::Entry;

/// Bytes held back before records go on although no round has ended: recordings without rounds.
const MAX_HELD_BYTES: usize = 256 << 20;

/// What has a time, and waits for its turn.
#[derive(Clone, Copy)]
pub(super) enum Timed<'a> {
    /// A sample that was decoded.
    Sample(PlainSample<'a>),
    /// Any other record, with its time.
    Record(u64, Entry<'a>),
}

impl Timed<'_> {
    /// Nanoseconds of the recorder's clock.
    pub(super) fn time(&self) -> u64 {
        match self {
            Self::Sample(sample) => sample.fields.time_nanos,
            Self::Record(time, _) => *time,
        }
    }
}

/// Holds records back until their turn has come.
#[derive(Default)]
pub(super) struct TimeOrder {
    held: Vec<Held>,
    /// Memory for those that stay.
    spare: Vec<Held>,
    bytes: HeldBytes,
    /// Bytes of the records that are held, as they stand in the file.
    size: usize,
    /// Time of the last record that went on.
    released: u64,
    late: u64,
}

#[derive(Clone, Copy)]
struct Held {
    /// Records of one time are in the order of their streams, whatever was read first.
    stream: u32,
    /// Bytes of the record.
    size: u32,
    /// The call chain of a sample, or the whole record.
    bytes: Piece,
    what: HeldWhat,
}

#[derive(Clone, Copy)]
enum HeldWhat {
    Sample(PlainFields),
    Record { time: u64, offset: u64, header: RecordHeader },
}

impl Held {
    fn time(&self) -> u64 {
        match self.what {
            HeldWhat::Sample(fields) => fields.time_nanos,
            HeldWhat::Record { time, .. } => time,
        }
    }

    fn timed<'a>(&self, bytes: &'a HeldBytes) -> Timed<'a> {
        let bytes = bytes.get(self.bytes);
        match self.what {
            HeldWhat::Sample(fields) => Timed::Sample(PlainSample { fields, call_chain: bytes }),
            HeldWhat::Record { time, offset, header } => {
                Timed::Record(time, Entry { offset, header, bytes })
            }
        }
    }
}

impl TimeOrder {
    /// Takes a record of a stream; what goes on goes to the reader.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        stream: usize,
        timed: Timed<'_>,
        size: usize,
        reader: &mut Reader,
    ) {
        let (bytes, what) = match timed {
            Timed::Sample(PlainSample { fields, call_chain }) => {
                (call_chain, HeldWhat::Sample(fields))
            }
            Timed::Record(time, Entry { offset, header, bytes }) => {
                (bytes, HeldWhat::Record { time, offset, header })
            }
        };
        let bytes = self.bytes.hold(bytes);
        self.held.push(Held { stream: stream as u32, size: size as u32, bytes, what });
        self.size += size;
        self.late += u64::from(timed.time() < self.released);
        // By what is in the file, not by what is kept of it: whoever reads a recording again decodes no
        // sample early, and must meet everything in the same order.
        if self.size + self.held.len() * size_of::<Held>() > MAX_HELD_BYTES {
            let middle = self.middle_time();
            self.release_until(middle, reader);
        }
    }

    /// Bytes of memory that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.held()
    }

    /// Nothing more comes, or what comes may say how what is held is to be read.
    pub(super) fn finish(&mut self, reader: &mut Reader) {
        self.release_until(u64::MAX, reader);
    }

    /// Records that came after younger ones had gone on.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    fn middle_time(&self) -> u64 {
        let mut times: Vec<u64> = self.held.iter().map(Held::time).collect();
        let middle = times.len() / 2;
        *times.select_nth_unstable(middle).1
    }

    /// Nothing that comes is older than `limit`: what is not younger goes on.
    pub(super) fn settle(&mut self, limit: u64, reader: &mut Reader) {
        if limit > self.released {
            self.release_until(limit, reader);
        }
    }

    fn release_until(&mut self, limit: u64, reader: &mut Reader) {
        let Self { held, spare, bytes, size, released, .. } = self;
        // Stable, and quick on what the rings have in order already.
        let places = places_by_numbers(held, |held| (held.time(), held.stream.into()));
        let count = places.partition_point(|&place| held[place].time() <= limit);
        for &place in &places[..count] {
            let held = &held[place];
            reader.read_timed(held.timed(bytes));
            bytes.give_back(held.bytes);
            *size -= held.size as usize;
            *released = held.time().max(*released);
        }
        spare.clear();
        spare.extend(places[count..].iter().map(|&place| held[place]));
        std::mem::swap(held, spare);
        if bytes.is_sparse() {
            let mut anew = HeldBytes::default();
            held.iter_mut().for_each(|held| held.bytes = anew.hold(bytes.get(held.bytes)));
            *bytes = anew;
        }
    }
}
