//! From the first byte of a recording to a [`Session`].

mod unpack_ahead;
mod wrapped;

use perftab_perfdata::decode::ByteSource;
use perftab_perfdata::decode::features::{Compression, Features};
use perftab_perfdata::decode::header::{Header, Section};
use perftab_perfdata::decode::wrapper::Wrapper;
use perftab_perfdata::error::{DecodeError, DecodeErrorKind, Warning, WarningKind};
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::text::grouped;
use perftab_profile::ingest::{
    Ingest, Ingested, KeptDumps, Lookups, RecordCompression, SampleWatcher, StackDumps, Unpacked,
};
use wrapped::PackedRecording;

use crate::session::{FormatInfo, Replay, Session};

pub use unpack_ahead::{PackedForm, Packing, UnpackAhead};

/// A recording that is being read: what a host does is the same for every form of it.
///
/// ```no_run
/// # fn host(source: &dyn perftab_perfdata::decode::ByteSource) -> Result<(), Box<dyn std::error::Error>> {
/// use perftab_core::session::Opening;
/// let mut opening = Opening::new(&[source])?;
/// while let Some(wanted) = opening.wants() {
///     opening.push(&source.read_vec(wanted.offset, wanted.length.min(1 << 20))?);
/// }
/// let session = opening.finish();
/// # Ok(())
/// # }
/// ```
pub struct Opening {
    format: FormatInfo,
    reading: Reading,
    pushed: u64,
}

/// How the parts are read.
enum Reading {
    /// Where the bytes stand that are wanted.
    Plain(Box<PlainRecording>),
    /// From front to back, since they are packed.
    Wrapped(Box<PackedRecording>),
}

/// Parts that can be read at any offset: each is a stream of records.
struct PlainRecording {
    ingest: Ingest,
    lengths: Vec<u64>,
    total: u64,
    jumped: u64,
    packing: Option<Packing>,
}

/// Bytes to be pushed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedBytes {
    /// Of which part; 0 for a recording of one file.
    pub part: usize,
    /// From where in it. After a push this is mostly where that one ended, but need not be.
    pub offset: u64,
    /// How many from there; they may come in blocks of any size.
    pub length: u64,
}

/// How far the reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningProgress {
    /// Bytes read or passed over.
    pub bytes: u64,
    /// Bytes that there are to read.
    pub total: u64,
    /// Samples met.
    pub samples: u64,
}

impl Opening {
    /// Reads what is needed before the records. `parts` is the one file; of a recording in a
    /// folder it is `data` first, and then `data.0`, `data.1` and so on in any order.
    pub fn new(parts: &[&dyn ByteSource]) -> Result<Self, DecodeError> {
        let (&main, more) = parts
            .split_first()
            .ok_or_else(|| DecodeErrorKind::NotPerfData { first_bytes: Vec::new() }.at(0))?;
        let (format, reading) = match wrapper_of(main)? {
            Some(wrapper) => {
                let (wrapped, format) = PackedRecording::new(wrapper, main)?;
                (format, Reading::Wrapped(Box::new(wrapped)))
            }
            None => {
                let (plain, format) = PlainRecording::new(main, more)?;
                (format, Reading::Plain(Box::new(plain)))
            }
        };
        Ok(Self { format, reading, pushed: 0 })
    }

    /// Reads a recording that was read before, to have every sample shown to `watcher`. Nothing may
    /// have been pushed yet.
    pub fn replay(mut self, dumps: StackDumps, watcher: SampleWatcher) -> Replay {
        match &mut self.reading {
            Reading::Plain(plain) => plain.ingest.replay(dumps, watcher),
            Reading::Wrapped(wrapped) => wrapped.replay(dumps, watcher),
        }
        Replay::new(self)
    }

    /// Says that files of the folder that it is recorded in are not there.
    pub fn lacks_parts(&mut self) {
        if let Reading::Plain(plain) = &mut self.reading {
            let message = "Files of this recording are missing in its folder: data.0, data.1 and so on \
                           are not complete, so samples are missing.";
            plain.ingest.warn(WarningKind::PartsMissing, None, message.to_owned());
        }
    }

    /// Which bytes are wanted next; `None` if all have been read.
    pub fn wants(&self) -> Option<WantedBytes> {
        match &self.reading {
            Reading::Plain(plain) => plain.wants(),
            Reading::Wrapped(wrapped) => wrapped.wants(),
        }
    }

    /// Takes the bytes from where [`Self::wants`] says on, as many as it says or fewer. None at
    /// all say that the part has no more.
    pub fn push(&mut self, block: &[u8]) {
        self.pushed = self.pushed.saturating_add(block.len() as u64);
        match &mut self.reading {
            Reading::Plain(plain) => plain.push(block),
            Reading::Wrapped(wrapped) => wrapped.push(block),
        }
    }

    /// What is packed in it, where a host may unpack that on another thread: `None` if nothing is, or in several files.
    /// Only before the first push.
    pub fn packing(&self) -> Option<Packing> {
        match &self.reading {
            Reading::Plain(plain) => plain.packing,
            Reading::Wrapped(wrapped) => Some(wrapped.packing()),
        }
    }

    /// Takes what an [`UnpackAhead`] made of the packed bytes, in the place of these. All have to come so. What a decoder
    /// holds back comes with the last of them, so of a reading that ends before it is missing.
    pub fn push_unpacked(&mut self, unpacked: Unpacked) {
        self.pushed = self.pushed.saturating_add(unpacked.taken);
        match &mut self.reading {
            Reading::Plain(plain) => plain.push_unpacked(&unpacked),
            Reading::Wrapped(wrapped) => wrapped.push_unpacked(unpacked),
        }
    }

    /// How far it has come.
    pub fn progress(&self) -> OpeningProgress {
        let (jumped, total, samples) = match &self.reading {
            Reading::Plain(plain) => (plain.jumped, plain.total, plain.ingest.samples()),
            Reading::Wrapped(wrapped) => (0, wrapped.total(), wrapped.samples()),
        };
        OpeningProgress { bytes: self.pushed.saturating_add(jumped).min(total), total, samples }
    }

    /// What was looked up for call chains so far; `None` if no record was read.
    pub fn lookups(&self) -> Option<Lookups> {
        match &self.reading {
            Reading::Plain(plain) => Some(plain.ingest.lookups()),
            Reading::Wrapped(wrapped) => wrapped.lookups(),
        }
    }

    /// What has been read so far, as a session of its own: a picture of a large recording long before
    /// its end. `None` as long as no record was read. Reading goes on and no later session knows of this
    /// one, but frames have the same numbers in all. Columns of samples are shared, the rest is copied.
    pub fn so_far(&self) -> Option<Session> {
        let profile = match &self.reading {
            Reading::Plain(plain) => plain.ingest.so_far(),
            Reading::Wrapped(wrapped) => wrapped.so_far()?,
        };
        let (warnings, symbols) = (vec![self.part_read()], Vec::new());
        let compression = RecordCompression::None;
        let (perf_maps, embedded_files) = (Vec::new(), Vec::new());
        let dumps = KeptDumps::default();
        let ingested =
            Ingested { profile, dumps, warnings, symbols, perf_maps, embedded_files, compression };
        Some(Session::new(ingested, self.format.clone()))
    }

    /// Says how much of the recording has been read.
    fn part_read(&self) -> Warning {
        let (bytes, total) = match &self.reading {
            Reading::Plain(_) => {
                let OpeningProgress { bytes, total, .. } = self.progress();
                (bytes, total)
            }
            Reading::Wrapped(wrapped) => wrapped.pass(),
        };
        let message = format!(
            "{} of {} MB of the recording have been read; the rest is not shown.",
            grouped(bytes / 1_000_000),
            // As the page rounds it elsewhere.
            grouped(total.saturating_add(500_000) / 1_000_000)
        );
        let (kind, samples) = (WarningKind::PartRead, None);
        Warning { kind, offset: None, count: 1, samples, message }
    }

    /// Ends the reading, early too: what has been pushed is shown.
    pub fn finish(self) -> Session {
        let format = self.format.clone();
        let part_read = self.wants().map(|_| self.part_read());
        let mut ingested = self.finish_reading();
        if let Some(part_read) = part_read {
            // Whatever record was cut, it was cut by ending here.
            ingested.warnings.retain(|warning| warning.kind != WarningKind::Truncated);
            ingested.warnings.insert(0, part_read);
        }
        Session::new(ingested, format)
    }

    /// Ends a replay.
    pub(super) fn finish_replay(self) {
        match self.reading {
            Reading::Plain(plain) => plain.ingest.finish_replay(),
            Reading::Wrapped(wrapped) => wrapped.finish_replay(),
        }
    }

    fn finish_reading(self) -> Ingested {
        match self.reading {
            Reading::Plain(plain) => plain.ingest.finish(),
            Reading::Wrapped(wrapped) => wrapped.finish(),
        }
    }
}

impl PlainRecording {
    fn new(
        main: &dyn ByteSource,
        more: &[&dyn ByteSource],
    ) -> Result<(Self, FormatInfo), DecodeError> {
        let header = Header::read(main)?;
        let features = Features::read(main, &header);
        let mut format = FormatInfo::of_recording(&header);
        let lengths: Vec<u64> =
            std::iter::once(main).chain(more.iter().copied()).map(ByteSource::len).collect();
        // The files beside `data` are records from their first byte on.
        let beside = lengths[1..].iter().map(|&size| Section { offset: 0, size });
        let streams: Vec<Section> = std::iter::once(header.data).chain(beside).collect();
        let is_part_of_folder = features.directory.is_some();
        let is_zstd = |how: Compression| how.algorithm == Compression::ZSTD;
        // AUX data is not packed, and may be most of a file: it is passed over without being read.
        let has_aux = header.features.iter().any(|(feature, _)| *feature == Feature::AUXTRACE);
        let is_packed = features.compression.is_some_and(is_zstd) && !has_aux && more.is_empty();
        let mut ingest = Ingest::new(&header, features, &streams);
        match (is_part_of_folder, more.is_empty()) {
            (true, true) => ingest.warn(
                WarningKind::PartsMissing,
                None,
                "This is one file of a recording in a folder; samples are in the files beside it, \
                 data.0 and so on. Open the folder, or all of its files."
                    .to_owned(),
            ),
            (_, true) => {}
            (_, false) => format.mode = "directory",
        }
        let in_main = lengths[0].saturating_sub(header.data.offset).min(header.data.size);
        let total = lengths[1..].iter().fold(in_main, |sum, length| sum.saturating_add(*length));
        let mut plain = Self { ingest, lengths, total, jumped: 0, packing: None };
        plain.end_what_is_over();
        plain.packing = plain.wants().filter(|_| is_packed).map(|wanted| Packing {
            begin: wanted.offset,
            end: wanted.offset.saturating_add(wanted.length),
            passes: 1,
            form: PackedForm::Records(header.order),
        });
        Ok((plain, format))
    }

    fn wants(&self) -> Option<WantedBytes> {
        let wanted = self.ingest.wants()?;
        let there = self.lengths[wanted.stream].checked_sub(wanted.offset)?;
        // A cut file has fewer bytes than its header says.
        let length = wanted.length.min(there);
        Some(WantedBytes { part: wanted.stream, offset: wanted.offset, length })
    }

    fn push(&mut self, block: &[u8]) {
        let Some(WantedBytes { part, .. }) = self.wants() else { return };
        match block {
            [] => self.ingest.end(part),
            _ => {
                self.ingest.push(part, block);
                self.jumped = self.jumped.saturating_add(self.ingest.jump(part));
            }
        }
        self.end_what_is_over();
    }

    fn push_unpacked(&mut self, unpacked: &Unpacked) {
        let Some(WantedBytes { part, .. }) = self.wants() else { return };
        self.ingest.push_unpacked(part, unpacked);
        self.end_what_is_over();
    }

    /// Ends the streams whose files have no more bytes, although their headers say so.
    fn end_what_is_over(&mut self) {
        while let Some(wanted) = self.ingest.wants() {
            if wanted.offset < self.lengths[wanted.stream] {
                break;
            }
            self.ingest.end(wanted.stream);
        }
    }
}

/// What a file is packed in, by its first bytes.
fn wrapper_of(source: &dyn ByteSource) -> Result<Option<Wrapper>, DecodeError> {
    let length = source.len().min(Wrapper::MAGIC_LENGTH as u64);
    let first = source
        .read_vec(0, length)
        .map_err(|error| DecodeErrorKind::Read { message: error.to_string() }.at(0))?;
    Ok(Wrapper::detect(&first))
}
