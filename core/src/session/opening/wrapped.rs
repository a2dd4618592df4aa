//! A recording that is packed as a whole: gzip, xz or zstd around it.
//!
//! Nothing in it can be had but from front to back, and how its records are read depends on what
//! stands behind them: the names of events, formats of tracepoints, which recorder it was. So it is
//! unpacked twice, once for what stands around the records and once for these. Of a recorder that
//! was killed nobody knows where the records end, but what it left stands at the end of the file. A
//! pipe has everything among its records and is unpacked once.
//!
//! Two passes take 1.3 to 1.5 times as long as one, as unpacking is the smaller part.

use perftab_perfdata::decode::features::Features;
use perftab_perfdata::decode::header::{Form, Header, Start};
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::error::{DecodeError, DecodeErrorKind, WarningKind};
use perftab_profile::Profile;
use perftab_profile::ingest::{
    Ingest, Ingested, Lookups, Rest, SampleWatcher, StackDumps, UnpackFailure, Unpacked,
};

use super::{PackedForm, Packing, WantedBytes};
use crate::session::FormatInfo;

/// What is kept of the bytes before the records; real ones have some KB.
const MAX_BEFORE: u64 = 64 << 20;
/// What is kept of the bytes after the records; real ones have some MB.
const MAX_AFTER: usize = 256 << 20;
/// What is kept of the end of a file whose records end nobody knows where.
const MAX_LAST: usize = 16 << 20;
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
    passes: u64,
    contents: Contents,
    state: State,
}

enum State {
    /// The first of two passes: what stands after the records is wanted.
    Looking(Option<(StackDumps, SampleWatcher)>),
    /// Records are read.
    Reading(Box<Ingest>),
    Ended(Box<Ingest>),
}

/// What is unpacked around the records.
struct Contents {
    start: Start,
    header: Header,
    /// Offset of the next unpacked byte.
    position: u64,
    /// At least what stands before the records: what `perf inject` wrote of a pipe says that its
    /// events stand among them.
    before: Vec<u8>,
    /// What follows the records; the last bytes, if it is not known where the records end.
    after: Vec<u8>,
}

impl PackedRecording {
    /// Unpacks as much as is needed to tell what it is.
    pub(super) fn new(
        wrapper: Wrapper,
        source: &dyn ByteSource,
    ) -> Result<(Self, FormatInfo), DecodeError> {
        let mut before = look(wrapper, source, Start::LOOK_AHEAD)?;
        let start = Start::parse(&before).map_err(|error| inside(wrapper, error))?;
        if start.form == Form::File && start.data.offset > Start::LOOK_AHEAD {
            before = look(wrapper, source, start.data.offset.min(MAX_BEFORE))?;
        }
        let header = Header::begin(&start, &KeptPieces::new(&before, UNKNOWN))?;
        let mut format = FormatInfo::of_recording(&header);
        format.wrapper = wrapper.name();
        let (passes, state) = match header.form {
            Form::File => (2, State::Looking(None)),
            Form::Pipe => {
                let ingest = Ingest::new(&header, Features::default(), &[header.data]);
                (1, State::Reading(Box::new(ingest)))
            }
        };
        let wrapped = Self {
            wrapper,
            packed_length: source.len(),
            packed: 0,
            unwrap: Unwrap::new(wrapper),
            passes,
            contents: Contents { start, header, position: 0, before, after: Vec::new() },
            state,
        };
        Ok((wrapped, format))
    }

    /// Has every sample shown to `watcher` and nothing else made of it.
    pub(super) fn replay(&mut self, dumps: StackDumps, watcher: SampleWatcher) {
        match &mut self.state {
            State::Looking(waiting) => *waiting = Some((dumps, watcher)),
            State::Reading(ingest) | State::Ended(ingest) => ingest.replay(dumps, watcher),
        }
    }

    /// All that is left of the packed file.
    pub(super) fn wants(&self) -> Option<WantedBytes> {
        let length = self.packed_length - self.packed;
        (!self.is_over()).then_some(WantedBytes { part: 0, offset: self.packed, length })
    }

    /// Packed bytes of all passes.
    pub(super) fn total(&self) -> u64 {
        self.packed_length.saturating_mul(self.passes)
    }

    /// Samples met.
    pub(super) fn samples(&self) -> u64 {
        match &self.state {
            State::Looking(_) => 0,
            State::Reading(ingest) | State::Ended(ingest) => ingest.samples(),
        }
    }

    /// What was looked up for call chains; `None` before records are read.
    pub(super) fn lookups(&self) -> Option<Lookups> {
        match &self.state {
            State::Looking(_) => None,
            State::Reading(ingest) | State::Ended(ingest) => Some(ingest.lookups()),
        }
    }

    /// What has been read so far; `None` before records are read.
    pub(super) fn so_far(&self) -> Option<Profile> {
        match &self.state {
            State::Looking(_) => None,
            State::Reading(ingest) | State::Ended(ingest) => Some(ingest.so_far()),
        }
    }

    /// Packed bytes of which records were read, and of how many.
    pub(super) fn pass(&self) -> (u64, u64) {
        let packed = match &self.state {
            State::Looking(_) => 0,
            State::Reading(_) | State::Ended(_) => self.packed,
        };
        (packed, self.packed_length)
    }

    pub(super) fn push(&mut self, block: &[u8]) {
        if self.is_over() {
            return;
        }
        let left = usize::try_from(self.packed_length - self.packed).unwrap_or(usize::MAX);
        let block = &block[..block.len().min(left)];
        self.packed += block.len() as u64;
        let is_last = block.is_empty() || self.packed == self.packed_length;
        let Self { unwrap, contents, state, .. } = self;
        let out = &mut |unpacked: &[u8]| contents.take(unpacked, state);
        let pushed = match unwrap.push(block, out) {
            Ok(()) if is_last => unwrap.finish(out),
            pushed => pushed,
        };
        // On to the end even where no records can be read any more: the checksum stands there.
        if is_last || pushed.is_err() {
            self.finish_pass(pushed.err().as_ref().map(UnpackFailure::from));
        }
    }

    /// What there is to unpack ahead.
    pub(super) fn packing(&self) -> Packing {
        let form = PackedForm::Wrapper(self.wrapper);
        Packing { begin: 0, end: self.packed_length, passes: self.passes, form }
    }

    pub(super) fn push_unpacked(&mut self, unpacked: Unpacked) {
        if self.is_over() {
            return;
        }
        self.packed = self.packed.saturating_add(unpacked.taken).min(self.packed_length);
        self.contents.take(&unpacked.bytes, &mut self.state);
        if unpacked.rest == Rest::Nothing {
            self.finish_pass(unpacked.failure);
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    fn finish_pass(&mut self, failure: Option<UnpackFailure>) {
        let state = std::mem::replace(&mut self.state, State::Looking(None));
        self.state = match state {
            State::Looking(replay) => {
                let mut ingest = self.contents.ingest();
                if let Some((dumps, watcher)) = replay {
                    ingest.replay(dumps, watcher);
                }
                self.packed = 0;
                self.unwrap = Unwrap::new(self.wrapper);
                State::Reading(Box::new(ingest))
            }
            State::Reading(mut ingest) => {
                if let Some(UnpackFailure { offset, message }) = failure {
                    let message = format!(
                        "The file could not be unpacked to its end: {message}. What came before is \
                         shown."
                    );
                    ingest.warn(WarningKind::Unpacking, Some(offset), message);
                }
                State::Ended(ingest)
            }
            State::Ended(ingest) => State::Ended(ingest),
        };
    }

    /// Ends the reading, early too.
    pub(super) fn finish(self) -> Ingested {
        self.end().finish()
    }

    /// Ends a replay.
    pub(super) fn finish_replay(self) {
        self.end().finish_replay();
    }

    fn end(mut self) -> Box<Ingest> {
        loop {
            match self.state {
                State::Ended(ingest) => return ingest,
                _ => self.finish_pass(None),
            }
        }
    }
}

impl Contents {
    /// Takes the next unpacked bytes.
    fn take(&mut self, bytes: &[u8], state: &mut State) {
        let data = self.header.data;
        let from = self.position;
        self.position = from.saturating_add(bytes.len() as u64);
        // Where the records begin and end, counted in these bytes.
        let cut = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
        let begin = cut(data.offset).min(bytes.len());
        let end = cut(data.end().unwrap_or(UNKNOWN)).clamp(begin, bytes.len());
        match state {
            State::Looking(_) => match self.records_end() {
                Some(_) => {
                    let room = MAX_AFTER.saturating_sub(self.after.len());
                    let after = &bytes[end..];
                    self.after.extend_from_slice(&after[..after.len().min(room)]);
                }
                None => {
                    self.after.extend_from_slice(bytes);
                    if self.after.len() > 2 * MAX_LAST {
                        self.after.drain(..self.after.len() - MAX_LAST);
                    }
                }
            },
            State::Reading(ingest) if begin < end => ingest.push(STREAM, &bytes[begin..end]),
            State::Reading(_) | State::Ended(_) => {}
        }
    }

    /// Where the header says that they end; `None` if the recorder was killed.
    fn records_end(&self) -> Option<u64> {
        self.header.data.end().filter(|&end| end != UNKNOWN)
    }

    /// All has been unpacked once: what is behind the records is known.
    fn ingest(&mut self) -> Ingest {
        let last = self.position.saturating_sub(self.after.len() as u64);
        let after = self.records_end().unwrap_or(last);
        let kept =
            KeptPieces { pieces: [(0, &self.before), (after, &self.after)], length: self.position };
        let mut features = Features::default();
        if let Ok(header) = Header::follow(&self.start, &kept) {
            features = Features::read(&kept, &header);
            self.header = header;
        }
        self.position = 0;
        self.after = Vec::new();
        Ingest::new(&self.header, features, &[self.header.data])
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
