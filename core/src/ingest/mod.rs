//! Blocks of records, pushed in file order → a [`Profile`].
//!
//! ```text
//! push(block) → whole records → time_order → per process: address_space → call_chain → columns
//! ```
//!
//! Memory is that of the columns and of the records of two rounds of the recorder, whatever the
//! file's size: a record is dropped as soon as it is in the profile, and stack dumps are passed
//! over without being kept.

mod address_space;
mod build_ids;
mod call_chain;
mod events;
mod kernel;
mod tasks;
mod time_order;
mod warnings;

use std::collections::BTreeMap;

use crate::decode::attr::TrailerLayout;
use crate::decode::features::{BuildIdEntry, Features};
use crate::decode::header::{Header, RecordingEnd};
use crate::decode::records::{CommRecord, MmapRecord, RecordHeader, TaskRecord, decode_lost};
use crate::decode::{ByteOrder, features, sample};
use crate::error::{DecodeError, Warning, WarningKind};
use crate::format::record::{KERNEL_PID, RECORD_HEADER_SIZE, RecordType, misc};
use crate::profile::{Profile, Sample};

use call_chain::CallChains;
use events::Events;
use kernel::Kernel;
use tasks::Tasks;
use time_order::TimeOrder;
use warnings::Warnings;

/// Reads the records of a recording into a [`Profile`].
pub struct Ingest {
    order: ByteOrder,
    /// Offset in the file of the next byte to be pushed.
    offset: u64,
    /// The first bytes of a record that the last block cut.
    cut: Vec<u8>,
    /// Bytes of the data section that have not come yet.
    remaining: u64,
    state: StreamState,
    time_order: TimeOrder,
    reader: Reader,
}

/// Whether more records can be made of what is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Reading,
    /// A record's size was impossible: where the next one begins cannot be told.
    Broken,
}

impl Ingest {
    /// For the records that follow `header`.
    pub fn new(header: &Header, features: &Features) -> Self {
        let mut warnings = Warnings::default();
        if header.end == RecordingEnd::Died {
            warnings.add(WarningKind::Unfinished, Some(header.data.offset), || {
                "The recorder did not finish. Host, events and build-ids from the end of the file \
                 are absent."
                    .to_owned()
            });
        }
        for (feature, error) in &features.unreadable {
            warnings.add(WarningKind::Unreadable, Some(error.offset), || {
                format!("Feature section {} could not be read: {error}.", feature.0)
            });
        }
        Self {
            order: header.order,
            offset: header.data.offset,
            cut: Vec::new(),
            remaining: header.data.size,
            state: StreamState::Reading,
            time_order: TimeOrder::default(),
            reader: Reader::new(header, features, warnings),
        }
    }

    /// Takes the next bytes of the data section, cut anywhere. Bytes after its end are ignored.
    pub fn push(&mut self, block: &[u8]) {
        let take = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(block.len());
        let mut block = &block[..take];
        self.remaining -= take as u64;
        while !self.cut.is_empty() && !block.is_empty() && self.state == StreamState::Reading {
            let missing = match RecordHeader::read(&self.cut, self.order) {
                Some(header) => header.size.saturating_sub(self.cut.len()),
                None => RECORD_HEADER_SIZE - self.cut.len(),
            };
            let (head, rest) = block.split_at(missing.min(block.len()));
            self.cut.extend_from_slice(head);
            block = rest;
            if RecordHeader::read(&self.cut, self.order).is_some_and(|h| h.size <= self.cut.len()) {
                let whole = std::mem::take(&mut self.cut);
                self.walk(&whole);
            }
        }
        if self.state == StreamState::Reading && !block.is_empty() {
            let walked = self.walk(block);
            self.cut.extend_from_slice(&block[walked..]);
        }
    }

    /// Reads the whole records that `bytes` begin with; returns how many bytes these are.
    fn walk(&mut self, bytes: &[u8]) -> usize {
        let mut position = 0;
        while let Some(header) = RecordHeader::read(&bytes[position..], self.order) {
            if header.size < RECORD_HEADER_SIZE {
                let size = header.size;
                self.reader.warnings.add(WarningKind::Truncated, Some(self.offset), || {
                    format!(
                        "The rest could not be read: a record of {size} bytes cannot be. What \
                         came before it is shown."
                    )
                });
                self.state = StreamState::Broken;
                return bytes.len();
            }
            let Some(record) = bytes[position..].get(..header.size) else { break };
            self.record(header, record);
            position += header.size;
            self.offset += header.size as u64;
        }
        position
    }

    /// A whole record: into the order of time, or straight on if it has no time.
    fn record(&mut self, header: RecordHeader, record: &[u8]) {
        self.reader.count(header.record_type);
        if header.record_type == RecordType::FINISHED_ROUND {
            let reader = &mut self.reader;
            self.time_order.finish_round(|entry| reader.read(entry));
            return;
        }
        let (time, keep) = self.reader.time_and_length(header, record);
        let entry = Entry { offset: self.offset, header, bytes: &record[..keep] };
        match time {
            Some(time) if time != 0 => {
                let reader = &mut self.reader;
                self.time_order.push(time, entry, |entry| reader.read(entry));
            }
            _ => self.reader.read(entry),
        }
    }

    /// How many samples have been met.
    pub fn samples(&self) -> u64 {
        self.reader.records.get(&RecordType::SAMPLE).copied().unwrap_or(0)
    }

    /// Ends the stream and returns the profile and what was lost on the way.
    pub fn finish(mut self) -> (Profile, Vec<Warning>) {
        if self.state == StreamState::Reading && (self.remaining > 0 || !self.cut.is_empty()) {
            let missing = self.remaining;
            self.reader.warnings.add(WarningKind::Truncated, Some(self.offset), || match missing {
                0 => "The data ends inside a record, which was left out.".to_owned(),
                _ => format!("The file was cut: {missing} bytes of its data are missing."),
            });
        }
        let reader = &mut self.reader;
        self.time_order.finish(|entry| reader.read(entry));
        self.reader.finish(&self.time_order)
    }
}

/// A record on its way into the profile; a sample's bytes end with its call chain.
#[derive(Clone, Copy)]
struct Entry<'a> {
    offset: u64,
    header: RecordHeader,
    bytes: &'a [u8],
}

/// What reads records that are in order, and everything they change.
struct Reader {
    order: ByteOrder,
    events: Events,
    build_ids: Vec<BuildIdEntry>,
    stream_build_ids: Vec<BuildIdEntry>,
    records: BTreeMap<RecordType, u64>,
    tasks: Tasks,
    kernel: Kernel,
    call_chains: CallChains,
    profile: Profile,
    warnings: Warnings,
}

impl Reader {
    fn new(header: &Header, features: &Features, warnings: Warnings) -> Self {
        let mut profile = Profile { host: features.host.clone(), ..Profile::default() };
        let events = Events::new(&header.events, &features.event_names);
        profile.events = events.initial();
        Self {
            order: header.order,
            events,
            build_ids: features.build_ids.clone(),
            stream_build_ids: Vec::new(),
            records: BTreeMap::new(),
            tasks: Tasks::default(),
            kernel: Kernel::default(),
            call_chains: CallChains::default(),
            profile,
            warnings,
        }
    }

    fn count(&mut self, record_type: RecordType) {
        *self.records.entry(record_type).or_default() += 1;
    }

    /// A record's time, and how many of its bytes are worth keeping.
    fn time_and_length(&self, header: RecordHeader, record: &[u8]) -> (Option<u64>, usize) {
        if header.record_type.0 >= RecordType::HEADER_ATTR.0 {
            return (None, record.len());
        }
        let body = &record[RECORD_HEADER_SIZE..];
        if header.record_type == RecordType::SAMPLE {
            let Some(layout) = self.events.sample_layout(body, self.order) else {
                return (None, record.len());
            };
            let time = layout.time.and_then(|at| body.get(at..)?.first_chunk().copied());
            let end = sample::tail_start(layout, body, self.order);
            let keep = end.map_or(record.len(), |end| RECORD_HEADER_SIZE + end);
            return (time.map(|bytes| self.order.u64(bytes)), keep);
        }
        let trailer = self.trailer(record);
        (TrailerLayout::field(record, trailer.time, self.order), record.len())
    }

    fn trailer(&self, record: &[u8]) -> TrailerLayout {
        self.events.trailer_layout(record, self.order)
    }

    fn read(&mut self, entry: Entry<'_>) {
        if let Err(error) = self.try_read(entry) {
            let Entry { offset, header, .. } = entry;
            self.warnings.add(WarningKind::Unreadable, Some(offset), || {
                let name = header.record_type.name().unwrap_or("unknown");
                format!("Records of type {name} could not be read: {error}.")
            });
        }
    }

    fn try_read(&mut self, entry: Entry<'_>) -> Result<(), DecodeError> {
        let Entry { offset, header, bytes } = entry;
        let order = self.order;
        // What precedes the trailer: a path without its padding could run into it.
        let body = || {
            let trailer = self.trailer(bytes).size;
            &bytes[..bytes.len().saturating_sub(trailer).max(RECORD_HEADER_SIZE)]
        };
        match header.record_type {
            RecordType::SAMPLE => self.sample(entry),
            RecordType::MMAP | RecordType::MMAP2 => {
                self.mmap(header, &MmapRecord::decode(header, body(), offset, order)?);
            }
            RecordType::COMM => {
                let comm = CommRecord::decode(header, body(), offset, order)?;
                self.tasks.comm(&mut self.profile, &comm);
            }
            RecordType::FORK => {
                let task = TaskRecord::decode(header, bytes, offset, order)?;
                self.tasks.fork(&mut self.profile, task);
            }
            RecordType::LOST => {
                self.profile.lost.events += decode_lost(header, bytes, offset, order)?;
            }
            RecordType::LOST_SAMPLES => {
                self.profile.lost.samples += decode_lost(header, bytes, offset, order)?;
            }
            RecordType::HEADER_BUILD_ID => {
                let entry = features::read_build_id_entry(header, bytes, offset, order)?;
                self.stream_build_ids.extend(entry);
            }
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => {
                self.warnings.add(WarningKind::Unsupported, Some(offset), || {
                    "Compressed records were passed over: this version does not read them."
                        .to_owned()
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn mmap(&mut self, header: RecordHeader, mmap: &MmapRecord<'_>) {
        let cpu_mode = header.cpu_mode();
        if cpu_mode == misc::CPUMODE_KERNEL || mmap.pid == KERNEL_PID {
            self.kernel.map(&mut self.profile.dsos, mmap);
        } else if cpu_mode != misc::CPUMODE_GUEST_KERNEL && cpu_mode != misc::CPUMODE_GUEST_USER {
            self.tasks.map(&mut self.profile, mmap);
        }
    }

    fn sample(&mut self, entry: Entry<'_>) {
        let Entry { offset, header, bytes } = entry;
        let body = &bytes[RECORD_HEADER_SIZE..];
        let Some(event) = self.events.of_sample(body, self.order) else {
            self.warnings.add(WarningKind::UnknownEvent, Some(offset), || {
                "Samples of events that the file does not describe were left out.".to_owned()
            });
            return;
        };
        let layout = self.events.layout(event);
        let Some(raw) = sample::decode(layout, body, self.order) else {
            self.warnings.add(WarningKind::Unreadable, Some(offset), || {
                "Samples whose fields do not fit into their record were left out.".to_owned()
            });
            return;
        };
        let thread = self.tasks.thread(&mut self.profile, raw.pid, raw.tid);
        let stack = self.call_chains.intern(
            &mut self.profile,
            &mut self.kernel,
            self.tasks.address_space(raw.pid),
            &raw,
            header.cpu_mode(),
        );
        let weight = raw.period.unwrap_or(self.events.default_weight(event));
        let counted = &mut self.profile.events[event.index()];
        counted.samples += 1;
        counted.weight = counted.weight.saturating_add(weight);
        self.profile.samples.push(Sample {
            time_nanos: raw.time_nanos.unwrap_or(0),
            thread,
            stack,
            event,
            cpu: raw.cpu.and_then(|cpu| u16::try_from(cpu).ok()).unwrap_or(u16::MAX),
            weight,
        });
    }

    fn finish(mut self, time_order: &TimeOrder) -> (Profile, Vec<Warning>) {
        if time_order.late() > 0 {
            let late = time_order.late();
            self.warnings.add(WarningKind::OutOfOrder, None, || {
                format!("{late} records came later than the order of the file allows.")
            });
        }
        let lost = self.profile.lost;
        if lost.events > 0 || lost.samples > 0 {
            self.warnings.add(WarningKind::Lost, None, || {
                format!(
                    "The recorder lost {} records and {} samples: the buffers were full. Record \
                     with a lower frequency or larger buffers.",
                    lost.events, lost.samples
                )
            });
        }
        build_ids::apply(
            &mut self.profile.dsos,
            &self.build_ids,
            &self.stream_build_ids,
            &mut self.warnings,
        );
        for (record_type, count) in self.records {
            let name = record_type.name().unwrap_or("UNKNOWN");
            *self.profile.records.entry(name).or_default() += count;
        }
        (self.profile, self.warnings.finish())
    }
}
