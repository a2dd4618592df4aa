//! Features that describe the recorder: its clock, its groups, the BPF programs it met.

use super::machine::count;
use super::text::text;
use crate::decode::Cursor;
use crate::decode::cursor::until_nul;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::machine::{BpfProgram, Clocks, EventGroup, Recorder, WallClock};
use crate::text::printable;

/// `u32 n`, then n × { string name, `u32 leader, members` }.
pub(super) fn groups(recorder: &mut Recorder, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    recorder.groups.clear();
    for _ in 0..count(cursor, "the number of groups")? {
        let name = text(cursor)?;
        // perf's placeholder for a group without a name.
        let name = if name == "{anon_group}" { String::new() } else { name };
        let (leader, members) = (cursor.u32()?, cursor.u32()?);
        recorder.groups.push(EventGroup { name, leader, members });
    }
    Ok(())
}

/// `u32 version` (1), `u32 clockid`, `u64 wall, clock`: one moment by both clocks.
pub(super) fn clock_data(
    recorder: &mut Recorder,
    clocks: &mut Clocks,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    let offset = cursor.offset();
    let version = cursor.u32()?;
    if version != 1 {
        let what = "the version of the clock data";
        return Err(DecodeErrorKind::Invalid { what, value: version.into() }.at(offset));
    }
    recorder.clock = clock_name(cursor.u32()?);
    let (wall_nanos, clock_nanos) = (cursor.u64()?, cursor.u64()?);
    clocks.wall = Some(WallClock { clock_nanos, wall_nanos });
    Ok(())
}

/// `clockid_t` of clock_gettime(2).
pub fn clock_name(id: u32) -> Option<&'static str> {
    Some(match id {
        0 => "realtime",
        1 => "monotonic",
        4 => "monotonic_raw",
        7 => "boottime",
        11 => "tai",
        _ => return None,
    })
}

/// `u32 n`, then n × { `u32 info_len, data_len`, `u64 arrays`, info, data }.
///
/// ```c
/// struct bpf_prog_info {              // include/uapi/linux/bpf.h
///     u32 type, id; u8 tag[8];        //  0
///     u32 jited_len, xlated_len;      // 16
///     u64 jited, xlated, load_time;   // 24
///     u32 uid, nr_map_ids;            // 48
///     u64 map_ids; char name[16];     // 56   name since Linux 4.15
///     …
/// ```
pub(super) fn bpf_programs(
    recorder: &mut Recorder,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    recorder.bpf_programs.clear();
    for _ in 0..count(cursor, "the number of BPF programs")? {
        let (info_length, data_length) = (cursor.u32()?, cursor.u32()?);
        let _arrays = cursor.u64()?;
        let offset = cursor.offset();
        let info = cursor.take_u64(info_length.into())?;
        cursor.take_u64(data_length.into())?;
        let mut info = Cursor::new(info, offset, cursor.order(), "a BPF program");
        let _type = info.u32()?;
        let id = info.u32()?;
        let tag = info.take(8)?.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = info.take(48).and_then(|_| info.take(16)).map_or(&[][..], until_nul);
        let name = printable(&String::from_utf8_lossy(name)).into_owned();
        recorder.bpf_programs.push(BpfProgram { id, name, tag });
    }
    Ok(())
}
