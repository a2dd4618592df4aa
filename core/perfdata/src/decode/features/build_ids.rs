//! The build-id table: an entry for each DSO that was hit, with the id of the file that was on
//! disk when the recording ended.
//!
//! ```c
//! struct perf_record_header_build_id {  // tools/lib/perf/include/perf/event.h
//!     struct perf_event_header header;  //  0  misc: cpumode, bit 15: size is valid (Linux 5.11)
//!     s32 pid;                          //  8  -1, or a guest
//!     u8  build_id[20], size, _[3];     // 12
//!     char filename[];                  // 36  padded with zeros: to 64 bytes, since 6.12 to 8
//! };
//! ```
//!
//! The type in the header is 0; simpleperf writes that of the HEADER_BUILD_ID record. Entries are
//! told from damage by their headers, since `perf inject` (7.2) from a pipe into a file puts the
//! table where ids and attrs are. Two more layouts are read:
//!
//! - before Linux 2.6.34 there was no pid: the id began at 8 and the name at 32;
//! - Linux 6.12.0 wrote 36 bytes of padding too many after each name.

use crate::decode::cursor::until_nul;
use crate::decode::records::RecordHeader;
use crate::decode::{ByteOrder, Cursor};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::format::record::{RECORD_HEADER_SIZE, RecordType, misc};
use crate::format::{BuildId, IdLength};

const WHAT: &str = "an entry of the build-id table";
/// What Linux 6.12.0 padded too much: the size of the struct above.
const EXCESS_PADDING: usize = 36;

/// An entry of the build-id table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildIdEntry {
    /// The CPU mode: kernel or user, of the host or of a guest.
    pub cpu_mode: u16,
    /// The id.
    pub build_id: BuildId,
    /// How much of it is certain.
    pub length: IdLength,
    /// The DSO's path, or `[kernel.kallsyms]` and the like.
    pub path: String,
}

/// Where an entry has its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// As above.
    WithPid,
    /// Before Linux 2.6.34.
    WithoutPid,
}

/// Reads the table; what came before an error stays.
pub(super) fn read_table(
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> (Vec<BuildIdEntry>, Result<(), DecodeError>) {
    let read = read_entries(bytes, offset, order, Layout::WithPid);
    // `[kernel.kallsyms]` where the name does not begin.
    if read.0.iter().any(|entry| entry.path.starts_with("nel.kallsyms]")) {
        return read_entries(bytes, offset, order, Layout::WithoutPid);
    }
    read
}

fn read_entries(
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
    layout: Layout,
) -> (Vec<BuildIdEntry>, Result<(), DecodeError>) {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while rest.iter().take(EXCESS_PADDING + RECORD_HEADER_SIZE).any(|&byte| byte != 0) {
        rest = without_excess_padding(rest, order);
        let at = offset + (bytes.len() - rest.len()) as u64;
        let Some((header, entry, after)) = RecordHeader::split(rest, order) else {
            return (entries, Err(DecodeErrorKind::Truncated { what: WHAT }.at(at)));
        };
        if !is_entry(header) {
            let value = header.record_type.0.into();
            let what = "the type of an entry of the build-id table";
            return (entries, Err(DecodeErrorKind::Invalid { what, value }.at(at)));
        }
        match read_entry(header, entry, at, order, layout) {
            Ok(entry) => entries.extend(entry),
            Err(error) => return (entries, Err(error)),
        }
        rest = after;
    }
    (entries, Ok(()))
}

fn is_entry(header: RecordHeader) -> bool {
    let known = [RecordType(0), RecordType::HEADER_BUILD_ID];
    known.contains(&header.record_type) && header.cpu_mode() <= misc::CPUMODE_GUEST_USER
}

/// `table` without the zeros that Linux 6.12.0 put before an entry. A header may begin with zeros
/// too, so as many are taken for padding as may be.
fn without_excess_padding(table: &[u8], order: ByteOrder) -> &[u8] {
    if RecordHeader::read(table, order).is_none_or(|header| header.size != 0) {
        return table;
    }
    let zeros = table.iter().take(EXCESS_PADDING).take_while(|&&byte| byte == 0).count();
    let next = (1..=zeros).rev().filter_map(|count| table.get(count..)).find(|rest| {
        RecordHeader::split(rest, order)
            .is_some_and(|(header, ..)| is_entry(header) && header.size > EXCESS_PADDING)
    });
    next.unwrap_or(table)
}

/// A HEADER_BUILD_ID record, which has the layout of an entry; `None` if its id is no identity.
pub fn read_build_id_entry(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<Option<BuildIdEntry>, DecodeError> {
    read_entry(header, bytes, offset, order, Layout::WithPid)
}

fn read_entry(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
    layout: Layout,
) -> Result<Option<BuildIdEntry>, DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, WHAT);
    cursor.take(RECORD_HEADER_SIZE)?;
    if layout == Layout::WithPid {
        // A guest is told by the CPU mode too.
        let _pid = cursor.u32()?;
    }
    let id = cursor.take(BuildId::MAX_LENGTH)?;
    let size = cursor.u8()?;
    cursor.take(3)?;
    let (length, size) = match (layout, header.misc & misc::BUILD_ID_SIZE) {
        (Layout::WithoutPid, _) | (_, 0) => (IdLength::AtMost, BuildId::MAX_LENGTH),
        _ => (IdLength::Recorded, usize::from(size)),
    };
    let path = String::from_utf8_lossy(until_nul(cursor.rest())).into_owned();
    // Of a longer id there is only a part, which other builds may share.
    let build_id = id.get(..size).and_then(BuildId::new).filter(|_| !path.is_empty());
    let cpu_mode = header.cpu_mode();
    Ok(build_id.map(|build_id| BuildIdEntry { cpu_mode, build_id, length, path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 20] = *b"\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaaABCDEFGHIJ";

    /// One entry, its name padded to a multiple of `align`, then `excess` zeros.
    fn entry(misc: u16, id: &[u8], size: u8, name: &str, align: usize, excess: usize) -> Vec<u8> {
        let name_size = (name.len() + 1).next_multiple_of(align);
        let mut bytes = vec![0; 4];
        bytes.extend(misc.to_le_bytes());
        bytes.extend((36 + name_size as u16).to_le_bytes());
        bytes.extend((-1i32).to_le_bytes());
        bytes.extend(id);
        bytes.resize(32, 0);
        bytes.extend([size, 0, 0, 0]);
        bytes.extend(name.as_bytes());
        bytes.resize(36 + name_size + excess, 0);
        bytes
    }

    fn read(bytes: &[u8]) -> (Vec<(String, String)>, Result<(), DecodeError>) {
        let (entries, read) = read_table(bytes, 0, ByteOrder::Little);
        (entries.into_iter().map(|it| (it.build_id.to_string(), it.path)).collect(), read)
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sizes_and_paddings_of_all_versions_are_read() {
        for (align, excess) in [(64, 0), (8, 0), (8, 36), (1, 0)] {
            let names = ["[kernel.kallsyms]", "/bin/a", "/lib/seven77", "[vdso]"];
            let table = [
                entry(1, &ID, 0, names[0], align, excess),
                entry(2 | 1 << 15, &ID[..16], 16, names[1], align, excess),
                entry(2, &ID[..16], 0, names[2], align, excess),
                entry(2 | 1 << 15, &ID, 20, names[3], align, excess),
                entry(2, &[0; 20], 0, "/nothing", align, excess),
                entry(2 | 1 << 15, &ID, 0, "/nothing either", align, excess),
                entry(2 | 1 << 15, &ID, 32, "/a part of an id", align, excess),
                entry(2 | 1 << 15, &ID, 255, "/no size", align, excess),
            ];
            let ids = [hex(&ID), hex(&ID[..16]), hex(&[&ID[..16], &[0; 4]].concat()), hex(&ID)];
            let expected: Vec<_> = ids.into_iter().zip(names.map(str::to_owned)).collect();
            assert_eq!(read(&table.concat()), (expected, Ok(())), "{align} {excess}");
        }
    }

    #[test]
    fn tables_without_a_pid_are_read() {
        let old = |misc: u16, name: &str| {
            let mut bytes = entry(misc, &ID, 0, name, 64, 0);
            bytes.drain(8..12);
            let size = bytes.len() as u16;
            bytes[6..8].copy_from_slice(&size.to_le_bytes());
            bytes
        };
        let table = [old(1, "[kernel.kallsyms]"), old(2, "/bin/a")].concat();
        let expected = ["[kernel.kallsyms]", "/bin/a"].map(|name| (hex(&ID), name.to_owned()));
        assert_eq!(read(&table), (expected.to_vec(), Ok(())));
    }

    #[test]
    fn what_is_no_entry_ends_the_table_and_is_said() {
        let whole = [entry(1, &ID, 0, "[kernel.kallsyms]", 8, 0), entry(2, &ID, 0, "/a", 8, 0)];
        let whole = whole.concat();
        for length in 0..whole.len() {
            let (entries, read) = read(&whole[..length]);
            let is_cut = length % 60 != 0;
            assert_eq!(entries.len(), length / 60, "{length}");
            assert_eq!(
                read.is_err(),
                is_cut && whole[length / 60 * 60..length].iter().any(|&b| b != 0)
            );
        }
        // Ids of events and an attr, which the table may lie upon.
        let attr = [4711u64.to_le_bytes(), [0, 0, 0, 0, 136, 0, 0, 0]].concat();
        let (entries, read) = read(&[whole, attr].concat());
        assert_eq!(entries.len(), 2);
        assert!(read.is_err());
    }
}
