//! A recording that is packed as a whole: gzip, xz or zstd around it.
//!
//! Nothing in it can be had but from front to back. So what stands before the records is kept, the
//! records are read as they come, and what stands after them is kept for the end. Two kinds of
//! recordings need something from behind the records before them, and are unpacked twice: those
//! whose list of events stands there, and those with tracepoints, whose formats stand there.

use super::WantedBytes;
use crate::decode::features::Features;
use crate::decode::header::{Form, Header, Start};
use crate::decode::wrapper::{UnpackError, Unwrap, Wrapper};
use crate::decode::{ByteSource, ReadError};
use crate::error::{DecodeError, DecodeErrorKind, WarningKind};
use crate::format::attr::event_type;
use crate::format::feature::Feature;
use crate::ingest::{Ingest, Ingested, SampleWatcher};
use crate::session::FormatInfo;

/// What is kept of the bytes before the records; real ones have some KB.
const MAX_BEFORE: u64 = 64 << 20;
/// What is kept of the bytes after the records; real ones have some MB.
const MAX_AFTER: usize = 256 << 20;
/// Packed bytes read at once while the start is looked for.
const LOOK_BLOCK: u64 = 64 << 10;
/// Length of a recording, and of a pipe's records, that only its end will tell.
const UNKNOWN: u64 = u64::MAX;

/// The only stream there is.
const STREAM: usize = 0;

/// A packed recording that is being read.
pub(super) struct PackedRecording {
    wrapper: Wrapper,
    /// Length of the packed file.
    packed_length: u64,
    /// Packed bytes taken in this pass.
    packed: u64,
    unwrap: Unwrap,
    contents: Contents,
    passes: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first of two passes: what stands after the records is wanted.
    Looking,
    /// Records are read.
    Reading,
    Ended,
}

/// What is unpacked, and where it goes.
struct Contents {
    start: Start,
    /// What can be told of it before the records.
    header: Header,
    /// Offset of the next unpacked byte.
    position: u64,
    before: Vec<u8>,
    after: Vec<u8>,
    ingest: Ingest,
}

impl PackedRecording {
    /// Unpacks as much as is needed to tell what it is.
    pub(super) fn new(
        wrapper: Wrapper,
        source: &dyn ByteSource,
    ) -> Result<(Self, FormatInfo), DecodeError> {
        let start = look(wrapper, source, Start::LOOK_AHEAD)?;
        let start = Start::parse(&start).map_err(|error| inside(wrapper, error))?;
        let before = match start.form {
            Form::Pipe => Vec::new(),
            Form::File => look(wrapper, source, start.data.offset.min(MAX_BEFORE))?,
        };
        let header = Header::begin(&start, &KeptPieces::new(&before, UNKNOWN))?;
        let state = match needs_what_is_behind(&start, &header) {
            true => State::Looking,
            false => State::Reading,
        };
        let mut format = FormatInfo::of_recording(&header);
        format.wrapper = wrapper.name();
        let ingest = Ingest::new(&header, Features::default(), &[header.data]);
        let wrapped = Self {
            wrapper,
            packed_length: source.len(),
            packed: 0,
            unwrap: Unwrap::new(wrapper),
            contents: Contents { start, header, position: 0, before, after: Vec::new(), ingest },
            passes: if state == State::Looking { 2 } else { 1 },
            state,
        };
        Ok((wrapped, format))
    }

    /// Has every sample shown to `watcher`.
    pub(super) fn watch(&mut self, watcher: SampleWatcher) {
        self.contents.ingest.watch(watcher);
    }

    /// All that is left of the packed file.
    pub(super) fn wants(&self) -> Option<WantedBytes> {
        let wants = self.state != State::Ended;
        let length = self.packed_length - self.packed;
        wants.then_some(WantedBytes { part: 0, offset: self.packed, length })
    }

    /// Packed bytes of all passes.
    pub(super) fn total(&self) -> u64 {
        self.packed_length.saturating_mul(self.passes)
    }

    /// Samples met.
    pub(super) fn samples(&self) -> u64 {
        self.contents.ingest.samples()
    }

    pub(super) fn push(&mut self, block: &[u8]) {
        if self.state == State::Ended {
            return;
        }
        let left = usize::try_from(self.packed_length - self.packed).unwrap_or(usize::MAX);
        let block = &block[..block.len().min(left)];
        self.packed += block.len() as u64;
        let is_over = block.is_empty() || self.packed == self.packed_length;
        let Self { unwrap, contents, state, .. } = self;
        let out = &mut |unpacked: &[u8]| contents.take(unpacked, *state);
        let pushed = match unwrap.push(block, out) {
            Ok(()) if is_over => unwrap.finish(out),
            pushed => pushed,
        };
        // On to the end even where no records can be read any more: the checksum stands there.
        if is_over || pushed.is_err() {
            self.finish_pass(pushed);
        }
    }

    fn finish_pass(&mut self, unpacked: Result<(), UnpackError>) {
        match self.state {
            State::Looking => {
                self.contents.begin_second_pass();
                self.packed = 0;
                self.unwrap = Unwrap::new(self.wrapper);
                self.state = State::Reading;
            }
            State::Reading => {
                if self.passes == 1 {
                    self.contents.add_features();
                }
                if let Err(error) = unpacked {
                    let message = format!(
                        "The file could not be unpacked to its end: {error}. What came before is \
                         shown."
                    );
                    let at = Some(error.offset);
                    self.contents.ingest.warn(WarningKind::Unpacking, at, message);
                }
                self.state = State::Ended;
            }
            State::Ended => {}
        }
    }

    /// Ends the reading, early too.
    pub(super) fn finish(mut self) -> Ingested {
        while self.state != State::Ended {
            self.finish_pass(Ok(()));
        }
        self.contents.ingest.finish()
    }
}

impl Contents {
    /// Takes the next unpacked bytes.
    fn take(&mut self, bytes: &[u8], state: State) {
        let data = self.header.data;
        let from = self.position;
        self.position = from.saturating_add(bytes.len() as u64);
        // Where the records begin and end, counted in these bytes.
        let cut = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
        let begin = cut(data.offset).min(bytes.len());
        let end = cut(data.end().unwrap_or(UNKNOWN)).clamp(begin, bytes.len());
        if state == State::Reading && begin < end {
            self.ingest.push(STREAM, &bytes[begin..end]);
        }
        let room = MAX_AFTER.saturating_sub(self.after.len());
        let after = &bytes[end..];
        self.after.extend_from_slice(&after[..after.len().min(room)]);
    }

    /// What is kept of a file that has been unpacked to its end.
    fn kept(&self) -> KeptPieces<'_> {
        let after = self.header.data.end().unwrap_or(UNKNOWN);
        KeptPieces { pieces: [(0, &self.before), (after, &self.after)], length: self.position }
    }

    /// All has been seen once: what was behind the records is known.
    fn begin_second_pass(&mut self) {
        if let Ok(header) = Header::follow(&self.start, &self.kept()) {
            let features = Features::read(&self.kept(), &header);
            let watcher = self.ingest.take_watcher();
            self.ingest = Ingest::new(&header, features, &[header.data]);
            if let Some(watcher) = watcher {
                self.ingest.watch(watcher);
            }
            self.header = header;
        }
        self.position = 0;
        self.after = Vec::new();
    }

    /// The records have been read, and what stands behind them is there.
    fn add_features(&mut self) {
        let mut header = self.header.clone();
        header.damage.clear();
        header.complete(&self.start, &self.kept());
        if self.start.form == Form::File {
            let features = Features::read(&self.kept(), &header);
            self.ingest.set_features(features);
        }
        for damage in header.damage {
            self.ingest.warn(damage.kind, damage.offset, damage.message);
        }
    }
}

/// What is wrong with the bytes that are packed is not said of those of the file.
fn inside(wrapper: Wrapper, error: DecodeError) -> DecodeError {
    match error.kind {
        DecodeErrorKind::NotPerfData { first_bytes } => {
            let wrapper = wrapper.name();
            DecodeErrorKind::NotPerfDataInside { wrapper, first_bytes }.at(0)
        }
        kind => kind.at(error.offset),
    }
}

/// True if the records cannot be read before what stands behind them.
fn needs_what_is_behind(start: &Start, header: &Header) -> bool {
    if start.form == Form::Pipe {
        return false;
    }
    let features = start.features();
    let mut types = header.events.iter().map(|event| event.attr.event_type);
    let has_tracepoints = types.any(|event_type| event_type == event_type::TRACEPOINT);
    let lacks_ids = header.events.len() > 1 && header.events.iter().any(|it| it.ids.is_empty());
    !header.damage.is_empty()
        || has_tracepoints && features.contains(&Feature::TRACING_DATA)
        || lacks_ids && features.contains(&Feature::EVENT_DESC)
}

/// The first `length` unpacked bytes, or as many as there are.
fn look(wrapper: Wrapper, source: &dyn ByteSource, length: u64) -> Result<Vec<u8>, DecodeError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut unwrap = Unwrap::new(wrapper);
    let mut first = Vec::new();
    let mut offset = 0;
    while first.len() < length && offset < source.len() {
        let block = source
            .read_vec(offset, LOOK_BLOCK.min(source.len() - offset))
            .map_err(|error| DecodeErrorKind::Read { message: error.to_string() }.at(offset))?;
        offset += block.len() as u64;
        let out = &mut |unpacked: &[u8]| {
            let wanted = unpacked.len().min(length - first.len());
            first.extend_from_slice(&unpacked[..wanted]);
        };
        let pushed = match unwrap.push(&block, out) {
            // A cut file has in it what its decoder still holds back.
            Ok(()) if offset == source.len() => unwrap.finish(out),
            pushed => pushed,
        };
        match pushed {
            Err(error) if first.is_empty() => {
                return Err(DecodeErrorKind::Unpacking { message: error.to_string() }.at(0));
            }
            Err(_) => break,
            Ok(()) => {}
        }
    }
    Ok(first)
}

/// The pieces that were kept of a file, where they stood in it.
struct KeptPieces<'a> {
    pieces: [(u64, &'a [u8]); 2],
    length: u64,
}

impl<'a> KeptPieces<'a> {
    fn new(before: &'a [u8], length: u64) -> Self {
        Self { pieces: [(0, before), (length, &[])], length }
    }

    fn find(&self, offset: u64, length: u64) -> Option<&'a [u8]> {
        self.pieces.iter().find_map(|&(start, bytes)| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let length = usize::try_from(length).ok()?;
            bytes.get(from..from.checked_add(length)?)
        })
    }
}

impl ByteSource for KeptPieces<'_> {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        buffer.copy_from_slice(&self.read_vec(offset, buffer.len() as u64)?);
        Ok(())
    }

    fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>, ReadError> {
        let found = self.find(offset, length).map(<[u8]>::to_vec);
        found.ok_or_else(|| ReadError::new("that part was not kept"))
    }
}
