//! Feature sections: what the recorder says of the machine, the events and the build-ids.

use crate::decode::attr::Attr;
use crate::decode::cursor::until_nul;
use crate::decode::header::{Header, read};
use crate::decode::records::RecordHeader;
use crate::decode::{ByteOrder, ByteSource, Cursor};
use crate::error::DecodeError;
use crate::format::BuildId;
use crate::format::feature::Feature;
use crate::format::record::{RECORD_HEADER_SIZE, misc};
use crate::profile::Host;

/// A feature section larger than this is passed over: the largest real ones (tracing data of all
/// events) have a few MB.
const MAX_FEATURE_SIZE: u64 = 256 << 20;

/// What the feature sections say.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// The machine.
    pub host: Host,
    /// Names of events, with the ids under which their records come.
    pub event_names: Vec<EventName>,
    /// The build-id table.
    pub build_ids: Vec<BuildIdEntry>,
    /// perftab's own section, as it stands in the file.
    pub perftab: Option<Vec<u8>>,
    /// Sections that could not be read, and why.
    pub unreadable: Vec<(Feature, DecodeError)>,
}

/// An event's name, from EVENT_DESC.
#[derive(Clone, Debug, PartialEq)]
pub struct EventName {
    /// Name.
    pub name: String,
    /// Ids under which its records come.
    pub ids: Vec<u64>,
}

/// An entry of the build-id table.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildIdEntry {
    /// The CPU mode: kernel or user.
    pub cpu_mode: u16,
    /// The id.
    pub build_id: BuildId,
    /// The DSO's path, or `[kernel.kallsyms]` and the like.
    pub path: String,
}

impl Features {
    /// Reads the sections of a file. Each that cannot be read is passed over and said.
    pub fn read(source: &dyn ByteSource, header: &Header) -> Self {
        let mut features = Self::default();
        for &(feature, section) in &header.features {
            if !is_wanted(feature) || section.size == 0 || section.size > MAX_FEATURE_SIZE {
                continue;
            }
            let taken = read(source, section.offset, section.size, "a feature section")
                .and_then(|payload| features.take(feature, &payload, section.offset, header.order));
            if let Err(error) = taken {
                features.unreadable.push((feature, error));
            }
        }
        features
    }

    /// Takes what a feature says: the content of a section, or of a HEADER_FEATURE record, at
    /// `offset` in the file.
    pub fn take(
        &mut self,
        feature: Feature,
        payload: &[u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<(), DecodeError> {
        let mut cursor = Cursor::new(payload, offset, order, "a feature section");
        match feature {
            _ if payload.is_empty() => {}
            Feature::BUILD_ID => self.build_ids = read_build_ids(payload, offset, order),
            Feature::HOSTNAME => self.host.hostname = Some(cursor.sized_string()?),
            Feature::OSRELEASE => self.host.os_release = Some(cursor.sized_string()?),
            Feature::ARCH => self.host.arch = Some(cursor.sized_string()?),
            Feature::NRCPUS => {
                let _available = cursor.u32()?;
                self.host.cpus = Some(cursor.u32()?);
            }
            Feature::CMDLINE => self.host.cmdline = read_string_list(&mut cursor)?,
            Feature::EVENT_DESC => self.event_names = read_event_names(&mut cursor)?,
            Feature::PERFTAB => self.perftab = Some(payload.to_vec()),
            _ => {}
        }
        Ok(())
    }
}

/// True for a feature that something is made of; the others are not even read.
fn is_wanted(feature: Feature) -> bool {
    matches!(
        feature,
        Feature::BUILD_ID
            | Feature::HOSTNAME
            | Feature::OSRELEASE
            | Feature::ARCH
            | Feature::NRCPUS
            | Feature::CMDLINE
            | Feature::EVENT_DESC
            | Feature::PERFTAB
    )
}

/// `u32 n`, then n strings.
fn read_string_list(cursor: &mut Cursor<'_>) -> Result<Vec<String>, DecodeError> {
    let count = cursor.u32()?;
    let mut strings = Vec::new();
    for _ in 0..count {
        strings.push(cursor.sized_string()?);
    }
    Ok(strings)
}

/// `u32 n, attr_size`, then n × { attr, `u32 ids`, string name, u64 ids }.
fn read_event_names(cursor: &mut Cursor<'_>) -> Result<Vec<EventName>, DecodeError> {
    let count = cursor.u32()?;
    let attr_size = cursor.u32()?;
    let mut names = Vec::new();
    for _ in 0..count {
        let attr_offset = cursor.offset();
        let attr = cursor.take_u64(u64::from(attr_size))?;
        Attr::read(attr, attr_offset, cursor.order())?;
        let id_count = cursor.u32()?;
        let name = cursor.sized_string()?;
        let mut ids = Vec::new();
        for _ in 0..id_count {
            ids.push(cursor.u64()?);
        }
        names.push(EventName { name, ids });
    }
    Ok(names)
}

/// The table: entries one after the other, until one does not fit.
///
/// ```c
/// struct perf_record_header_build_id {  // tools/lib/perf/include/perf/event.h
///     struct perf_event_header header;  //  0  misc: cpumode, bit 15: size is valid
///     s32 pid;                          //  8
///     u8  build_id[20], size, _[3];     // 12
///     char filename[];                  // 36
/// };
/// ```
fn read_build_ids(bytes: &[u8], offset: u64, order: ByteOrder) -> Vec<BuildIdEntry> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while let Some(header) = RecordHeader::read(rest, order) {
        let Some(entry) = rest.get(..header.size).filter(|_| header.size > RECORD_HEADER_SIZE)
        else {
            break;
        };
        let at = offset + (bytes.len() - rest.len()) as u64;
        if let Ok(Some(entry)) = read_build_id_entry(header, entry, at, order) {
            entries.push(entry);
        }
        rest = &rest[header.size..];
    }
    entries
}

/// One entry, of the table or a HEADER_BUILD_ID record; `None` if its id is no identity.
pub fn read_build_id_entry(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<Option<BuildIdEntry>, DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, "an entry of the build-id table");
    cursor.take(RECORD_HEADER_SIZE)?;
    let _pid = cursor.u32()?;
    let id = cursor.take(BuildId::MAX_LENGTH)?;
    let size = usize::from(cursor.u8()?);
    cursor.take(3)?;
    let size = match header.misc & misc::BUILD_ID_SIZE {
        0 => BuildId::MAX_LENGTH,
        _ => size.min(BuildId::MAX_LENGTH),
    };
    let path = String::from_utf8_lossy(until_nul(cursor.rest())).into_owned();
    Ok(BuildId::new(&id[..size]).map(|build_id| BuildIdEntry {
        cpu_mode: header.cpu_mode(),
        build_id,
        path,
    }))
}
