//! Blocks of records, pushed in file order → a [`Profile`].
//!
//! ```text
//! push(block) → stream: whole records → time_order → reader: tasks, address_space, call_chain
//! ```
//!
//! Memory is that of the columns and of the records of two rounds of the recorder, whatever the
//! file's size: a record is dropped as soon as it is in the profile, and stack dumps are passed
//! over without being kept.

mod address_space;
mod build_ids;
mod call_chain;
mod deferred;
mod embedded;
mod event_names;
mod events;
mod kernel;
mod kernel_symbols;
mod off_cpu;
mod periods;
mod reader;
mod sample;
mod stream;
mod tasks;
mod time_order;
mod warnings;
mod watch;

use crate::decode::features::Features;
use crate::decode::header::{Header, RecordingEnd};
use crate::decode::sample_tail::NO_STACK_DUMP;
use crate::error::{Warning, WarningKind};
use crate::format::record::RecordType;
use crate::profile::Profile;
use crate::symbolize::EmbeddedSymbols;

use reader::Reader;
use stream::{Entry, Sink, Stream};
use time_order::TimeOrder;
use warnings::Warnings;

pub use watch::{SampleWatcher, WatchedSample};

/// Reads the records of a recording into a [`Profile`].
pub struct Ingest {
    stream: Stream,
    records: Records,
}

/// What a recording gives when all of it has been read.
pub struct Ingested {
    /// The columns.
    pub profile: Profile,
    /// What was lost or is doubtful.
    pub warnings: Vec<Warning>,
    /// Symbols that travelled in it. They pass the gate as a file does.
    pub symbols: Vec<EmbeddedSymbols>,
}

impl Ingest {
    /// For the records that follow `header`. What `features` lacks may come with the records.
    pub fn new(header: &Header, features: Features) -> Self {
        let mut warnings = Warnings::default();
        if header.end == RecordingEnd::Died {
            warnings.add(WarningKind::Unfinished, Some(header.data.offset), || {
                "The recorder did not finish. Host, events and build-ids from the end of the file \
                 are absent."
                    .to_owned()
            });
        }
        let end = header.data.end().unwrap_or(u64::MAX);
        let mut reader = Reader::new(header.order, features, warnings);
        reader.add_events(header.events.iter().cloned());
        Self {
            stream: Stream::new(header.order, header.data.offset, end),
            records: Records { time_order: TimeOrder::default(), reader, without_dump: Vec::new() },
        }
    }

    /// Has every sample that is read from now on shown to `watcher`.
    pub fn watch(&mut self, watcher: SampleWatcher) {
        self.records.reader.watch(watcher);
    }

    /// Which bytes are wanted next: offset in the file and how many from there. `None`: all read.
    pub fn wants(&self) -> Option<(u64, u64)> {
        self.stream.wants()
    }

    /// Takes the next of the bytes that are wanted, cut anywhere; none at all say that there are
    /// no more.
    pub fn push(&mut self, block: &[u8]) {
        self.stream.push(block, &mut self.records);
    }

    /// How many samples have been met.
    pub fn samples(&self) -> u64 {
        self.records.reader.samples()
    }

    /// Ends the reading and returns what was read and what was lost on the way.
    pub fn finish(mut self) -> Ingested {
        self.stream.finish(&mut self.records);
        let Records { mut time_order, mut reader, .. } = self.records;
        time_order.finish(|entry| reader.read(entry));
        reader.finish(&time_order)
    }
}

/// Takes the records of a stream: into the order of time, or straight on where they have none.
struct Records {
    time_order: TimeOrder,
    reader: Reader,
    /// Memory for a sample without its stack dump.
    without_dump: Vec<u8>,
}

impl Sink for Records {
    fn record(&mut self, entry: Entry<'_>) {
        let Self { time_order, reader, without_dump } = self;
        reader.count(entry.header.record_type);
        if entry.header.record_type == RecordType::FINISHED_ROUND {
            time_order.finish_round(|entry| reader.read(entry));
            return;
        }
        let (time, dump) = reader.time_and_dump(entry.header, entry.bytes);
        let entry = match dump {
            None => entry,
            Some(dump) => {
                without_dump.clear();
                without_dump.extend_from_slice(&entry.bytes[..dump.start]);
                without_dump.extend_from_slice(&NO_STACK_DUMP);
                without_dump.extend_from_slice(&entry.bytes[dump.end..]);
                Entry { bytes: without_dump, ..entry }
            }
        };
        match time {
            Some(time) if time != 0 => time_order.push(time, entry, |entry| reader.read(entry)),
            _ => reader.read(entry),
        }
    }

    fn broken(&mut self, offset: u64, size: usize) {
        self.reader.warnings.add(WarningKind::Truncated, Some(offset), || {
            format!(
                "The rest could not be read: a record of {size} bytes cannot be. What came \
                 before it is shown."
            )
        });
    }

    fn truncated(&mut self, offset: u64, missing: u64) {
        self.reader.warnings.add(WarningKind::Truncated, Some(offset), || match missing {
            0 => "The data ends inside a record, which was left out.".to_owned(),
            _ => format!("The file was cut: {missing} bytes of its data are missing."),
        });
    }
}
