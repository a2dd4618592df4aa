//! The file header, its sections and the feature table.

use crate::decode::attr::Attr;
use crate::decode::{ByteOrder, ByteSource, Cursor};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::format::feature::Feature;
use crate::format::header::{
    FILE_HEADER_SIZE, MAGIC_BIG, MAGIC_LITTLE, MAGIC_V1, PIPE_HEADER_SIZE, SECTION_SIZE,
};

/// Limit on the attr section: 65536 attrs of 144 bytes, as perf has it.
const MAX_ATTRS: u64 = 65_536;
/// Limit on the event ids of one attr.
const MAX_IDS: u64 = 1 << 24;

/// A piece of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The events, in the file's order.
    pub events: Vec<EventAttr>,
    /// Where the records stand. If the recorder died its size is taken from the file's length.
    pub data: Section,
    /// True to what the recorder left: did it write the size of its data?
    pub end: RecordingEnd,
    /// The feature sections, ascending by number; none if the recorder died. The table ends with
    /// an error where the file does.
    pub features: Vec<(Feature, Result<Section, DecodeError>)>,
}

/// How the recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The recorder finished the file.
    Finished,
    /// It died: the data goes on to the end of the file, and no feature says more.
    Died,
}

impl Header {
    /// Reads the header of a recording in file mode.
    pub fn read(source: &dyn ByteSource) -> Result<Self, DecodeError> {
        let start = read(source, 0, source.len().min(FILE_HEADER_SIZE), "the file header")?;
        let order = byte_order(&start)?;
        let mut cursor = Cursor::new(&start, 0, order, "the file header");
        cursor.take(8)?;
        match cursor.u64()? {
            FILE_HEADER_SIZE => {}
            PIPE_HEADER_SIZE => return Err(unsupported("a recording in pipe mode", 8)),
            value => {
                return Err(DecodeErrorKind::Invalid {
                    what: "the size of the file header",
                    value,
                }
                .at(8));
            }
        }
        let attr_size = cursor.u64()?;
        let attrs = Section::read(&mut cursor)?;
        let mut data = Section::read(&mut cursor)?;
        let _event_types = Section::read(&mut cursor)?;
        let mut feature_words = [0; 4];
        for word in &mut feature_words {
            *word = cursor.u64()?;
        }

        let events = read_attrs(source, order, attr_size, attrs)?;
        let end = recording_end(data, attrs, feature_words);
        let features = match end {
            RecordingEnd::Finished => read_feature_table(source, order, data, feature_words),
            RecordingEnd::Died => {
                data.size = source.len().saturating_sub(data.offset);
                Vec::new()
            }
        };
        Ok(Self { order, events, data, end, features })
    }
}

/// A recorder writes the size of its data, and then its features, when it ends. perf leaves the
/// size 0 until then and sets the bits before, so that they say nothing; perftab keeps the size
/// up to date and the bits clear.
fn recording_end(data: Section, attrs: Section, feature_words: [u64; 4]) -> RecordingEnd {
    let has_features = feature_words.iter().any(|&word| word != 0);
    let data_is_last = attrs.offset < data.offset;
    match data.size {
        0 => RecordingEnd::Died,
        _ if !has_features && data_is_last => RecordingEnd::Died,
        _ => RecordingEnd::Finished,
    }
}

fn unsupported(what: &'static str, offset: u64) -> DecodeError {
    DecodeErrorKind::Unsupported { what }.at(offset)
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

fn byte_order(start: &[u8]) -> Result<ByteOrder, DecodeError> {
    match start.first_chunk::<8>() {
        Some(&MAGIC_LITTLE) => Ok(ByteOrder::Little),
        Some(&MAGIC_BIG) => Ok(ByteOrder::Big),
        Some(&MAGIC_V1) => Err(unsupported("version 1 of the format", 0)),
        None if !start.is_empty()
            && (MAGIC_LITTLE.starts_with(start) || MAGIC_BIG.starts_with(start)) =>
        {
            Err(DecodeErrorKind::Truncated { what: "the file header" }.at(start.len() as u64))
        }
        _ => {
            let first_bytes = start[..start.len().min(4)].to_vec();
            Err(DecodeErrorKind::NotPerfData { first_bytes }.at(0))
        }
    }
}

/// The attr array. Its stride is `attr_size`, of which the last 16 bytes are the section of ids;
/// the attr itself may be shorter than the rest.
fn read_attrs(
    source: &dyn ByteSource,
    order: ByteOrder,
    attr_size: u64,
    attrs: Section,
) -> Result<Vec<EventAttr>, DecodeError> {
    let invalid = |what, value, offset| DecodeErrorKind::Invalid { what, value }.at(offset);
    if !(64 + SECTION_SIZE..=4096).contains(&attr_size) {
        return Err(invalid("the size of an attr", attr_size, 16));
    }
    let count = attrs.size / attr_size;
    if count == 0 || count > MAX_ATTRS {
        return Err(invalid("the number of events", count, 32));
    }
    let bytes = read(source, attrs.offset, count * attr_size, "the list of events")?;
    let mut events = Vec::new();
    for (index, entry) in bytes.chunks_exact(attr_size as usize).enumerate() {
        let offset = attrs.offset + index as u64 * attr_size;
        let (attr, section) = entry.split_at(entry.len() - SECTION_SIZE as usize);
        let attr = Attr::read(attr, offset, order)?;
        let section_offset = offset + attr_size - SECTION_SIZE;
        let ids = Section::read(&mut Cursor::new(section, section_offset, order, "an attr"))?;
        if ids.size / 8 > MAX_IDS {
            return Err(invalid("the number of ids of an event", ids.size / 8, section_offset));
        }
        // Ids out of the file cost the distinction between events, not the file.
        let ids =
            read(source, ids.offset, ids.size / 8 * 8, "the ids of an event").unwrap_or_default();
        let ids = ids.chunks_exact(8).map(|id| order.u64(id.try_into().unwrap_or_default()));
        events.push(EventAttr { attr, ids: ids.collect() });
    }
    Ok(events)
}

/// The table after the data: one section for each bit that is set. What cannot be read ends it;
/// no feature fails the file.
fn read_feature_table(
    source: &dyn ByteSource,
    order: ByteOrder,
    data: Section,
    words: [u64; 4],
) -> Vec<(Feature, Result<Section, DecodeError>)> {
    const WHAT: &str = "the table of features";
    let bits =
        (0..Feature::COUNT).filter(|bit| words[usize::from(bit / 64)] >> (bit % 64) & 1 == 1);
    let mut features = Vec::new();
    let Some(mut offset) = data.end() else { return features };
    for bit in bits {
        let section = read(source, offset, SECTION_SIZE, WHAT)
            .and_then(|entry| Section::read(&mut Cursor::new(&entry, offset, order, WHAT)));
        let ends = section.is_err();
        features.push((Feature(bit as u8), section));
        if ends {
            break;
        }
        offset += SECTION_SIZE;
    }
    features
}
