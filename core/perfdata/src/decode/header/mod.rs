//! The file header, its sections and the feature table.
//!
//! Nothing here fails a file that has records: what is damaged is left out and said. Sections may
//! lie in any order, overlap, or lie outside of the file.

mod start;

use crate::decode::attr::Attr;
use crate::decode::{ByteOrder, ByteSource, Cursor};
use crate::error::{DecodeError, DecodeErrorKind, Warning, WarningKind};
use crate::format::attr::ATTR_SIZE_VER0;
use crate::format::feature::Feature;
use crate::format::header::SECTION_SIZE;

pub use start::{Form, Start};

/// Limit on the number of events, as perf has it.
const MAX_ATTRS: u64 = 65_536;
/// Limit on the event ids of one attr.
const MAX_IDS: u64 = 1 << 24;
/// Limit on the stride of the list of events. The attr of today has 144 bytes.
const MAX_ATTR_STRIDE: u64 = 4096;

/// A piece of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Section {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self { offset: cursor.u64()?, size: cursor.u64()? })
    }

    /// The first byte after it; `None` if that cannot be in any file.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }
}

/// An event as the header describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct EventAttr {
    /// What was asked of the kernel.
    pub attr: Attr,
    /// Ids under which its records come.
    pub ids: Vec<u64>,
}

/// Everything that stands before the first record, and where the rest stands.
#[derive(Clone, Debug)]
pub struct Header {
    /// Byte order of the whole file.
    pub order: ByteOrder,
    /// File or pipe.
    pub form: Form,
    /// The events, in the file's order; none in pipe mode.
    pub events: Vec<EventAttr>,
    /// Where the records stand. If the recorder died, and in pipe mode, its size is taken from
    /// the file's length. Its end is a number, but may lie outside of the file.
    pub data: Section,
    /// How the recording ended.
    pub end: RecordingEnd,
    /// The feature sections, ascending by number; none if the recorder died. The table ends with
    /// an error where the file does.
    pub features: Vec<(Feature, Result<Section, DecodeError>)>,
    /// What of the header cannot be used.
    pub damage: Vec<Warning>,
}

/// How the recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The recorder finished the file, or wrote a stream, of which that cannot be told.
    Finished,
    /// It died: the data goes on to the end of the file, and no feature says more.
    Died,
}

impl Header {
    /// Reads the header of a recording. An error says that there is none, or that neither events
    /// nor records could be found.
    pub fn read(source: &dyn ByteSource) -> Result<Self, DecodeError> {
        let first = source.len().min(Start::LOOK_AHEAD);
        let start = Start::parse(&read(source, 0, first, "the file header")?)?;
        Self::follow(&start, source)
    }

    /// Reads what `start` leads to.
    pub fn follow(start: &Start, source: &dyn ByteSource) -> Result<Self, DecodeError> {
        let mut header = Self::begin(start, source)?;
        header.complete(start, source);
        Ok(header)
    }

    /// Reads the events and says where the records are: all that is needed before these.
    pub fn begin(start: &Start, source: &dyn ByteSource) -> Result<Self, DecodeError> {
        let length = source.len();
        let mut header = Self {
            order: start.order,
            form: start.form,
            events: Vec::new(),
            data: start.data,
            end: RecordingEnd::Finished,
            features: Vec::new(),
            damage: Vec::new(),
        };
        if start.offset > 0 {
            let message = "Text before the recording was skipped. Keep the \
                           recorder's messages out of the recording (2>messages).";
            header.damaged(0, WarningKind::Text, message.to_owned());
        }
        if start.form == Form::Pipe {
            header.data.size = length.saturating_sub(header.data.offset);
            return Ok(header);
        }
        let events = header.read_attrs(source, start);
        header.end = recording_end(start);
        if header.end == RecordingEnd::Died {
            // What `perf inject` has not finished has its events after the data.
            let end = match start.attrs.offset > start.data.offset {
                true => start.attrs.offset.min(length),
                false => length,
            };
            header.data.size = end.saturating_sub(header.data.offset);
        }
        // A section whose end cannot be a number goes on to the end of the file.
        header.data.size = header.data.size.min(u64::MAX - header.data.offset);
        let has_records = header.data.size > 0 && header.data.offset < length;
        match events {
            Err(error) if !has_records => return Err(error),
            Err(error) => {
                let offset = error.offset;
                let message = format!("The list of events could not be read: {error}.");
                header.damaged(offset, WarningKind::BadSection, message);
            }
            Ok(()) => {}
        }
        Ok(header)
    }

    /// Finds the feature sections, which stand after the records.
    pub fn complete(&mut self, start: &Start, source: &dyn ByteSource) {
        if start.form == Form::File && self.end == RecordingEnd::Finished {
            self.read_feature_table(source, &start.features());
        }
    }

    fn damaged(&mut self, offset: u64, kind: WarningKind, message: String) {
        self.damage.push(Warning { kind, offset: Some(offset), count: 1, samples: None, message });
    }

    /// The list of events. Its stride is the size of an attr of that recorder and of its section
    /// of ids; the attr itself may be shorter. Entries that the file does not hold are left out.
    fn read_attrs(&mut self, source: &dyn ByteSource, start: &Start) -> Result<(), DecodeError> {
        let Start { attr_stride: stride, attrs, .. } = *start;
        let invalid = |what, value, offset| DecodeErrorKind::Invalid { what, value }.at(offset);
        if !(u64::from(ATTR_SIZE_VER0) + SECTION_SIZE..=MAX_ATTR_STRIDE).contains(&stride) {
            return Err(invalid("the size of an attr", stride, 16));
        }
        let said = attrs.size / stride;
        if said == 0 || said > MAX_ATTRS {
            return Err(invalid("the number of events", said, 32));
        }
        let there = source.len().saturating_sub(attrs.offset) / stride;
        if there == 0 {
            let end = source.len().min(attrs.offset);
            return Err(DecodeErrorKind::Truncated { what: "the list of events" }.at(end));
        }
        if there < said {
            let message = format!("{} of {said} events are outside the file.", said - there);
            self.damaged(attrs.offset, WarningKind::BadSection, message);
        }
        let count = said.min(there);
        let bytes = read(source, attrs.offset, count * stride, "the list of events")?;
        for (index, entry) in bytes.chunks_exact(stride as usize).enumerate() {
            let offset = attrs.offset + index as u64 * stride;
            let (attr, section) = entry.split_at(entry.len() - SECTION_SIZE as usize);
            let attr = Attr::read(attr, offset, start.order)?;
            let section_offset = offset + stride - SECTION_SIZE;
            let mut cursor = Cursor::new(section, section_offset, start.order, "an attr");
            let section = Section::read(&mut cursor)?;
            let ids = match read_ids(source, section, start.order) {
                Ok(ids) => ids,
                // That costs the distinction between events, not the file.
                Err(error) => {
                    let message = format!("The ids of an event could not be read: {error}.");
                    self.damaged(section_offset, WarningKind::BadSection, message);
                    Vec::new()
                }
            };
            self.events.push(EventAttr { attr, ids });
        }
        Ok(())
    }

    /// The table after the data: one section for each feature. What cannot be read ends it; no
    /// feature fails the file.
    fn read_feature_table(&mut self, source: &dyn ByteSource, features: &[Feature]) {
        const WHAT: &str = "the table of features";
        let Some(mut offset) = self.data.end() else { return };
        for &feature in features {
            let section = read(source, offset, SECTION_SIZE, WHAT).and_then(|entry| {
                Section::read(&mut Cursor::new(&entry, offset, self.order, WHAT))
            });
            let ends = section.is_err();
            self.features.push((feature, section));
            if ends {
                return;
            }
            offset += SECTION_SIZE;
        }
    }
}

/// A recorder writes the size of its data, and then its features, when it ends. perf leaves the
/// size 0 until then and sets the bits before, so that they say nothing; perftab keeps the size
/// up to date, and the bits clear for its first second.
fn recording_end(start: &Start) -> RecordingEnd {
    let has_no_features = start.feature_words.is_some_and(|words| words == [0; 32]);
    let data_is_last = start.attrs.offset < start.data.offset;
    match start.data.size {
        0 => RecordingEnd::Died,
        _ if has_no_features && data_is_last => RecordingEnd::Died,
        _ => RecordingEnd::Finished,
    }
}

fn read_ids(
    source: &dyn ByteSource,
    section: Section,
    order: ByteOrder,
) -> Result<Vec<u64>, DecodeError> {
    let count = section.size / 8;
    if count > MAX_IDS {
        let what = "the number of ids of an event";
        return Err(DecodeErrorKind::Invalid { what, value: count }.at(section.offset));
    }
    let ids = read(source, section.offset, count * 8, "the ids of an event")?;
    let ids = ids.chunks_exact(8).map(|id| order.u64(id.try_into().unwrap_or_default()));
    Ok(ids.collect())
}

/// Reads `length` bytes of something that must be there.
pub(super) fn read(
    source: &dyn ByteSource,
    offset: u64,
    length: u64,
    what: &'static str,
) -> Result<Vec<u8>, DecodeError> {
    if offset.checked_add(length).is_none_or(|end| end > source.len()) {
        return Err(DecodeErrorKind::Truncated { what }.at(source.len().min(offset)));
    }
    source
        .read_vec(offset, length)
        .map_err(|error| DecodeErrorKind::Read { message: error.to_string() }.at(offset))
}
