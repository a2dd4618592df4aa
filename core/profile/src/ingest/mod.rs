//! Blocks of records, pushed in file order → a [`Profile`].
//!
//! ```text
//! push(block) → stream: walker, zstd → merge, time_order → reader: tasks, call_chain, columns
//! ```
//!
//! Memory is that of the columns and of the records of two rounds of the recorder, whatever the
//! file's size: a record is dropped as soon as it is in the profile, and stack dumps are passed
//! over without being kept.

mod address_space;
mod build_ids;
mod call_chain;
mod compressed;
mod deferred;
mod doubt;
mod embedded;
mod event_names;
mod events;
mod funnel;
mod held_bytes;
mod kept_dumps;
mod kernel;
mod kernel_symbols;
mod merge;
mod off_cpu;
mod periods;
mod plain;
mod reader;
mod record_counts;
mod sample;
mod simpleperf_symbols;
mod stream;
mod tasks;
mod time_order;
mod unpack_ahead;
mod user_part;
mod walker;
mod warnings;
mod watch;

use merge::Merge;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::features::Features;
use perftab_perfdata::decode::header::{Header, RecordingEnd, Section};
use perftab_perfdata::decode::records::decode_feature;
use perftab_perfdata::decode::sample_tail::NO_STACK_DUMP;
use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::header::{MAGIC_BIG, MAGIC_LITTLE};
use perftab_perfdata::format::perftab_section::{EmbeddedFile, PerfMap};
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::text::printable;
use reader::Reader;
use stream::{Stream, StreamSink};
use time_order::{TimeOrder, Timed};
use unpack_ahead::ChunksAhead;
use walker::{Damage, Entry, Sink};
use warnings::Warnings;

use crate::EmbeddedSymbols;
use crate::Profile;

pub use call_chain::Lookups;
pub use kept_dumps::{KeptDumps, KeptReading};
pub use unpack_ahead::{RecordsAhead, Rest, UnpackFailure, Unpacked, UnpackedChunk};
pub use user_part::UserPart;
pub use watch::{DumpUse, DumpWatcher, DumpedSample, SampleWatcher, StackDumps, WatchedSample};

/// So many bytes of what waits may be copies of stacks, where these are shown; more are left out. A tab has 4 GiB for
/// everything.
const MAX_DUMPS: usize = if usize::BITS == 32 { 512 << 20 } else { 4 << 30 };

/// Reads the records of a recording into a [`Profile`].
pub struct Ingest {
    streams: Vec<Stream>,
    records: Records,
}

/// Bytes of a stream that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedOfStream {
    /// Which stream.
    pub stream: usize,
    /// From where in its file.
    pub offset: u64,
    /// How many from there.
    pub length: u64,
}

/// What a recording gives when all of it has been read.
pub struct Ingested {
    /// The columns.
    pub profile: Profile,
    /// The copies of user stacks that its samples had.
    pub dumps: KeptDumps,
    /// What was lost or is doubtful.
    pub warnings: Vec<Warning>,
    /// Symbols that travelled in it. They pass the gate as a file does.
    pub symbols: Vec<EmbeddedSymbols>,
    /// What processes say in it of the code that they made.
    pub perf_maps: Vec<PerfMap>,
    /// Files that travel with it.
    pub embedded_files: Vec<EmbeddedFile>,
    /// Whether records were compressed.
    pub compression: RecordCompression,
}

/// Whether records of a recording are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordCompression {
    /// None is.
    None,
    /// Some are, with zstd.
    Zstd,
}

impl Ingest {
    /// For the records that follow `header`, in one stream or several: each is a section of a
    /// file. A size of `u64::MAX` says that the size is not known. `features` has everything that
    /// the file says beside its records: how these are read depends on it. Only a pipe has it among
    /// them.
    pub fn new(header: &Header, features: Features, streams: &[Section]) -> Self {
        let mut warnings = Warnings::default();
        for damage in &header.damage {
            warnings.add_named(damage.kind, damage.offset, || damage.message.clone());
        }
        if header.end == RecordingEnd::Died {
            warnings.add(WarningKind::Unfinished, Some(header.data.offset), || {
                "The recorder did not finish. Host, events and build-ids from the end of the file \
                 are absent."
                    .to_owned()
            });
        }
        let mut reader = Reader::new(header.order, features, warnings);
        reader.add_events(header.events.iter().cloned());
        let stream = |section: &Section| {
            let end = section.end().unwrap_or(u64::MAX);
            Stream::new(header.order, section.offset, end)
        };
        let merge = Merge::new(streams.len());
        Self {
            streams: streams.iter().map(stream).collect(),
            records: Records {
                merge,
                time_order: TimeOrder::default(),
                reader,
                dumps: StackDumps::Kept(Box::default()),
                without_dump: Vec::new(),
            },
        }
    }

    /// Has every sample shown to `watcher` instead of put into a profile: the recording has been
    /// read before. Nothing was read of it yet this time.
    pub fn replay(&mut self, dumps: StackDumps, watcher: SampleWatcher) {
        self.records.dumps = dumps;
        self.records.reader.replay(watcher);
    }

    /// Ends a replay. The samples that were still held back are shown now.
    pub fn finish_replay(mut self) {
        self.end_all();
        let Records { mut time_order, mut reader, .. } = self.records;
        time_order.finish(&mut reader);
        reader.finish_samples();
    }

    fn end_all(&mut self) {
        for stream in 0..self.streams.len() {
            self.end(stream);
        }
    }

    /// Which bytes are wanted next; `None`: all have been read.
    pub fn wants(&self) -> Option<WantedOfStream> {
        let wanted = |stream: usize| self.streams.get(stream).and_then(Stream::wants);
        let stream = self.records.merge.next(|stream| wanted(stream).is_some())?;
        let (offset, length) = wanted(stream)?;
        Some(WantedOfStream { stream, offset, length })
    }

    /// Takes the next bytes of a stream, cut anywhere.
    pub fn push(&mut self, stream: usize, block: &[u8]) {
        self.push_with(stream, block, None);
    }

    /// Takes the next bytes of a stream with what a [`RecordsAhead`] unpacked of them. All of the stream has to
    /// come so.
    pub fn push_unpacked(&mut self, stream: usize, unpacked: &Unpacked) {
        self.push_with(stream, &unpacked.packed, Some(ChunksAhead::of(unpacked)));
        if unpacked.rest == Rest::Nothing {
            self.end(stream);
        }
    }

    fn push_with(&mut self, stream: usize, block: &[u8], ahead: Option<ChunksAhead<'_>>) {
        let Some(from) = self.streams.get_mut(stream) else { return };
        from.push(block, ahead, &mut self.records.of(stream));
        self.records.reader.find_stacks();
        if from.wants().is_none() {
            self.end(stream);
        }
    }

    /// Passes over the next bytes of a stream where they are many that nobody needs; returns how
    /// many.
    pub fn jump(&mut self, stream: usize) -> u64 {
        let Some(from) = self.streams.get_mut(stream) else { return 0 };
        let jumped = from.jump();
        if from.wants().is_none() {
            self.end(stream);
        }
        jumped
    }

    /// Says that a stream has no more bytes.
    pub fn end(&mut self, stream: usize) {
        let Some(from) = self.streams.get_mut(stream) else { return };
        from.finish(&mut self.records.of(stream));
        let settled = self.records.merge.finish(stream);
        self.records.settle(settled);
        self.records.reader.find_stacks();
    }

    /// Something of the file that could not be read.
    pub fn warn(&mut self, kind: WarningKind, offset: Option<u64>, message: String) {
        self.records.reader.warnings.add_named(kind, offset, || message);
    }

    /// How many samples have been met.
    pub fn samples(&self) -> u64 {
        self.records.reader.samples()
    }

    /// What was looked up for their call chains.
    pub fn lookups(&self) -> Lookups {
        self.records.reader.call_chains.lookups()
    }

    /// What has been read so far, as a profile of its own; reading goes on. It has no symbols and no
    /// warnings yet.
    pub fn so_far(&self) -> Profile {
        self.records.reader.so_far()
    }

    /// Ends the reading and returns what was read and what was lost on the way.
    pub fn finish(mut self) -> Ingested {
        self.end_all();
        let compression = match self.streams.iter().any(Stream::is_compressed) {
            true => RecordCompression::Zstd,
            false => RecordCompression::None,
        };
        let Records { mut time_order, mut reader, dumps, .. } = self.records;
        time_order.finish(&mut reader);
        let dumps = match dumps {
            StackDumps::Kept(kept) => kept.end(),
            _ => KeptDumps::default(),
        };
        reader.finish(&time_order, dumps, compression)
    }
}

/// Takes the records of all streams: into the order of time, or straight on where they have none.
struct Records {
    merge: Merge,
    time_order: TimeOrder,
    reader: Reader,
    dumps: StackDumps,
    /// Memory for a sample without its stack dump.
    without_dump: Vec<u8>,
}

impl Records {
    fn of(&mut self, stream: usize) -> RecordsOf<'_> {
        RecordsOf { stream, records: self }
    }

    /// Takes a record that has been counted and is no plain sample.
    fn other(&mut self, stream: usize, entry: Entry<'_>) {
        if entry.header.record_type == RecordType::FINISHED_ROUND {
            let settled = self.merge.finish_round(stream);
            self.settle(settled);
            return;
        }
        if changes_events(entry, self.reader.order) {
            // What was held is of the events that were known before, also of samples that are not decoded yet.
            self.time_order.finish(&mut self.reader);
        }
        let (time, dump) = self.reader.time_and_dump(entry.header, entry.bytes);
        let mut without_dump = std::mem::take(&mut self.without_dump);
        // As if the copy were left out, so that records go on in the same order in every reading.
        let mut size = entry.bytes.len();
        let mut served = None;
        let bytes = match dump {
            None => {
                if let StackDumps::Kept(kept) = &mut self.dumps
                    && self.reader.may_have_dump(entry.header, entry.bytes)
                {
                    kept.keep(|| None);
                }
                entry.bytes
            }
            Some(dump) => {
                size = size - dump.len() + NO_STACK_DUMP.len();
                let waits = match &mut self.dumps {
                    StackDumps::LeftOut => DumpUse::Done,
                    StackDumps::Kept(kept) => {
                        kept.keep(|| self.reader.dumped(entry.bytes));
                        DumpUse::Done
                    }
                    StackDumps::Shown => DumpUse::Waits,
                    StackDumps::ShownAtOnce(watcher) => {
                        let sample = self.reader.dumped(entry.bytes);
                        let dump_use = sample.map_or(DumpUse::Waits, |it| watcher(&it));
                        if dump_use == DumpUse::Done {
                            served = sample.and_then(|it| self.reader.served(&it));
                        }
                        dump_use
                    }
                };
                if waits == DumpUse::Waits && self.time_order.bytes() < MAX_DUMPS {
                    entry.bytes
                } else {
                    self.reader.stack_dumps += u64::from(dump.len() > NO_STACK_DUMP.len());
                    if served.is_none() {
                        without_dump.clear();
                        without_dump.extend_from_slice(&entry.bytes[..dump.start]);
                        without_dump.extend_from_slice(&NO_STACK_DUMP);
                        without_dump.extend_from_slice(&entry.bytes[dump.end..]);
                    }
                    &without_dump
                }
            }
        };
        let entry = Entry { bytes, ..entry };
        match (served, time) {
            (Some(sample), _) => self.hold(stream, Timed::Sample(sample), size),
            (None, Some(time)) if time != 0 => {
                self.hold(stream, Timed::Record(time, entry), size);
            }
            _ => self.reader.read(entry),
        }
        self.without_dump = without_dump;
    }

    /// Lets a record of so many bytes wait for its turn.
    fn hold(&mut self, stream: usize, timed: Timed<'_>, size: usize) {
        let Self { merge, time_order, reader, .. } = self;
        time_order.push(stream, timed, size, reader);
        if let Some(settled) = merge.record(stream, timed.time(), size) {
            self.settle(settled);
        }
    }

    /// All streams have come to this time.
    fn settle(&mut self, time: u64) {
        self.time_order.settle(time, &mut self.reader);
    }
}

/// True for records that describe events: in a pipe, where they come before all samples.
fn changes_events(entry: Entry<'_>, order: ByteOrder) -> bool {
    match entry.header.record_type {
        RecordType::HEADER_ATTR => true,
        RecordType::HEADER_FEATURE => decode_feature(entry.bytes, entry.offset, order)
            .is_ok_and(|(feature, _)| feature == Feature::EVENT_DESC),
        _ => false,
    }
}

/// Takes the records of one stream.
struct RecordsOf<'a> {
    stream: usize,
    records: &'a mut Records,
}

impl Sink for RecordsOf<'_> {
    #[inline(always)]
    fn record(&mut self, entry: Entry<'_>) {
        let Self { stream, records } = self;
        records.reader.count(entry.header.record_type);
        match records.reader.plain(entry) {
            Some(sample) => records.hold(*stream, Timed::Sample(sample), entry.bytes.len()),
            None => records.other(*stream, entry),
        }
    }

    fn damage(&mut self, offset: u64, damage: Damage<'_>) {
        let warnings = &mut self.records.reader.warnings;
        let offset = Some(offset);
        match damage {
            Damage::ImpossibleSize(size) => warnings.add(WarningKind::Damaged, offset, || {
                format!(
                    "The rest could not be read: record size {size}. What came before it is shown."
                )
            }),
            Damage::NoRecord => warnings.add(WarningKind::Damaged, offset, || {
                "The rest could not be read: there is no record at this offset. What came before it \
                 is shown."
                    .to_owned()
            }),
            Damage::Text(line)
                if line.starts_with(&MAGIC_LITTLE) || line.starts_with(&MAGIC_BIG) =>
            {
                warnings.add(WarningKind::Damaged, offset, || {
                    "A second recording follows the first and was left out. Open it separately."
                        .to_owned()
                })
            }
            Damage::Text(line) => warnings.add(WarningKind::Text, offset, || {
                let line = printable(&String::from_utf8_lossy(line)).into_owned();
                format!(
                    "Text between the records was skipped: \"{}\". Keep the \
                     recorder's messages out of the recording (2>messages).",
                    line.trim()
                )
            }),
            Damage::TooLarge(size) => warnings.add(WarningKind::Unreadable, offset, || {
                format!("A record of {size} bytes was skipped: no known record is that large.")
            }),
            Damage::Truncated { missing: 0 } => {
                warnings.add(WarningKind::Truncated, offset, || {
                    "The data ends inside a record, which was left out.".to_owned()
                })
            }
            Damage::Truncated { missing } => warnings.add(WarningKind::Truncated, offset, || {
                format!(
                    "The file is truncated: {missing} bytes of its records and everything after \
                     them are missing."
                )
            }),
        }
    }
}

impl StreamSink for RecordsOf<'_> {
    fn round_passed_over(&mut self) {
        self.records.reader.count(RecordType::FINISHED_ROUND);
    }

    fn unpacking_failed(&mut self, offset: u64, failure: &UnpackFailure) {
        self.records.reader.warnings.add(WarningKind::Unpacking, Some(offset), || {
            format!("Compressed records from there on could not be read: {}.", failure.message)
        });
    }
}
