//! Build-ids beside the mappings: the table at the file's end (BUILD_ID, feature 2) and the records
//! that `perf inject -b` puts into the stream; `write_build_id` in tools/perf/util/build-id.c, and
//! what it was in older versions.

use super::{Bytes, Recording};

const HEADER_BUILD_ID: u32 = 67;
const HAS_SIZE: u16 = 1 << 15;

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct BuildIdEntry<'a> {
    /// CPU mode: 1 kernel, 2 user.
    pub misc: u16,
    /// -1 for this machine, else the process that is a guest.
    pub pid: i32,
    /// Up to 20 bytes.
    pub id: &'a [u8],
    /// Path.
    pub name: &'a str,
}

/// How a line lies in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLayout {
    /// Since Linux 5.11: bit 15 of misc, the id's size behind it.
    WithSize,
    /// 2010 to 5.10: 20 bytes, filled up with zeros.
    TwentyBytes,
    /// Until Linux 2.6.33: no pid.
    WithoutPid,
    /// perf 6.12.0: 36 zeros more behind the name than the header counts.
    ExcessPadding,
    /// simpleperf: 20 bytes, and the type is that of the record in streams.
    Simpleperf,
}

impl Recording {
    /// BUILD_ID 2: the table.
    pub fn build_ids(&mut self, layout: TableLayout, entries: &[BuildIdEntry]) -> &mut Self {
        let mut table = self.bytes();
        entries.iter().for_each(|entry| table_entry(&mut table, layout, entry));
        self.feature(2, table.take())
    }

    /// HEADER_BUILD_ID: a line of the table in the stream.
    pub fn header_build_id(&mut self, entry: &BuildIdEntry) -> &mut Self {
        let body = entry_body(self.bytes(), entry, Some(entry.id.len()), 8);
        self.record(HEADER_BUILD_ID, entry.misc | HAS_SIZE, &body)
    }
}

fn table_entry(table: &mut Bytes, layout: TableLayout, entry: &BuildIdEntry) {
    let fresh = table.fresh();
    let (kind, misc, body) = match layout {
        TableLayout::WithSize => {
            (0, entry.misc | HAS_SIZE, entry_body(fresh, entry, Some(entry.id.len()), 64))
        }
        TableLayout::ExcessPadding => {
            (0, entry.misc | HAS_SIZE, entry_body(fresh, entry, Some(entry.id.len()), 8))
        }
        TableLayout::TwentyBytes => (0, entry.misc, entry_body(fresh, entry, None, 64)),
        TableLayout::Simpleperf => (67, entry.misc, entry_body(fresh, entry, None, 64)),
        TableLayout::WithoutPid => (0, entry.misc, body_without_pid(fresh, entry)),
    };
    table.u32(kind).u16(misc).u16(8 + body.len() as u16).raw(&body);
    if layout == TableLayout::ExcessPadding {
        table.zeros(36);
    }
}

/// pid, 20 bytes of id, its size if it is told, three bytes, name with zeros to a multiple.
fn entry_body(
    mut body: Bytes,
    entry: &BuildIdEntry,
    size: Option<usize>,
    multiple: usize,
) -> Vec<u8> {
    body.i32(entry.pid).raw(entry.id).zeros(20 - entry.id.len());
    body.u8(size.unwrap_or(0) as u8).zeros(3);
    name(&mut body, entry.name, multiple);
    body.take()
}

/// 20 bytes of id, zeros to eight, name.
fn body_without_pid(mut body: Bytes, entry: &BuildIdEntry) -> Vec<u8> {
    body.raw(entry.id).zeros(20 - entry.id.len()).pad(8);
    name(&mut body, entry.name, 64);
    body.take()
}

fn name(body: &mut Bytes, name: &str, multiple: usize) {
    body.fixed(name, (name.len() + 1).next_multiple_of(multiple));
}
