//! Recordings damaged in every place: nothing panics, memory stays bounded, and what is missing is
//! said.

use std::collections::BTreeSet;
use std::fs;

use perftab_perfdata::error::WarningKind;
use perftab_tests::fixtures;
use perftab_tests::open::open;
use perftab_tests::own_process::{in_own_process, peak_memory};
use perftab_tests::perf_data::{IN_KERNEL, IN_USER, PerfData, RecordStamp};
use perftab_tests::tier::part_of;

/// A recording of every record that the smallest writer here has, and a few features.
fn recording() -> PerfData {
    let when = |time| RecordStamp { pid: 40, tid: 40, time };
    PerfData::new()
        .mmap_kernel(0xffff_ffff_8100_0000..0xffff_ffff_8200_0000, &[7; 20])
        .comm(0, when(0), "sh")
        .mmap(when(10), 0x40_0000..0x40_4000, 0, &[9; 20], "/usr/bin/work")
        .mmap_inode(when(11), 0x7f00_0000..0x7f00_8000, 77, "/usr/lib/libwork.so")
        .sample(when(20), 1000, &[IN_KERNEL, 0xffff_ffff_8100_1234, IN_USER, 0x40_1000])
        .sample(when(30), 1000, &[IN_USER, 0x40_1010, 0x7f00_1010])
        .round()
        .fork(RecordStamp { pid: 41, tid: 41, time: 35 }, 40)
        .comm(1 << 13, RecordStamp { pid: 41, tid: 41, time: 36 }, "work")
        .lost(when(40), 5)
        .sample(RecordStamp { pid: 41, tid: 41, time: 45 }, 1000, &[IN_USER, 0x40_1020])
        .round()
        .feature_string(3, "host")
        .feature_string(4, "6.1.0")
        .build_id_table(&[(1, &[7; 20], "[kernel.kallsyms]"), (2, &[9; 20], "/usr/bin/work")])
}

/// Opens it and looks at it; how much damage is warned of (what the kernel lost is none), or the
/// error. Never panics.
fn look(file: &[u8], damage: &str) -> Result<usize, String> {
    let looked = std::panic::catch_unwind(|| {
        let mut session = open(file).map_err(|error| error.to_string())?;
        serde_json::to_string(&session.info()).expect("JSON");
        session.export_collapsed(&perftab_views::Query::default());
        Ok(session.warnings().iter().filter(|it| it.kind != WarningKind::Lost).count())
    });
    looked.unwrap_or_else(|_| panic!("it panics: {damage}"))
}

/// Far more than such small files need, far less than their lengths can be made to claim.
fn assert_memory_is_bounded() {
    let peak = peak_memory();
    assert!(peak < 600 << 20, "{peak} bytes");
}

#[test]
fn the_whole_recording_has_no_damage() {
    assert_eq!(look(&recording().finish(), "none"), Ok(0));
}

#[test]
fn a_cut_at_every_byte_is_said() {
    let whole = recording().finish();
    for cut in part_of(0..whole.len(), 400, "bytes") {
        let damage = format!("cut at {cut} of {}", whole.len());
        if let Ok(warnings) = look(&whole[..cut], &damage) {
            assert!(warnings > 0, "nothing is said: {damage}");
        }
    }
}

#[test]
fn an_unfinished_recording_cut_at_every_byte_is_said() {
    let whole = recording().unfinished();
    for cut in part_of(0..whole.len(), 400, "bytes") {
        let damage = format!("unfinished, cut at {cut}");
        if let Ok(warnings) = look(&whole[..cut], &damage) {
            assert!(warnings > 0, "nothing is said: {damage}");
        }
    }
}

#[test]
fn every_byte_may_be_any_other() {
    in_own_process("damage::every_byte_may_be_any_other", || {
        let whole = recording().finish();
        let mut file = whole.clone();
        for at in part_of(0..whole.len(), 400, "bytes") {
            for change in [1, 0x80, 0xff, whole[at]] {
                file[at] = whole[at] ^ change;
                drop(look(&file, &format!("byte {at} is {}", file[at])));
            }
            file[at] = whole[at];
        }
        assert_memory_is_bounded();
    });
}

#[test]
fn every_length_may_be_any_other() {
    in_own_process("damage::every_length_may_be_any_other", || {
        let whole = recording().finish();
        let places = [2, 4, 8].into_iter().flat_map(|width| {
            (0..whole.len() + 1 - width).step_by(width).map(move |at| (at, width))
        });
        for (at, width) in part_of(places, 400, "places of lengths") {
            let largest = u64::MAX >> (64 - 8 * width);
            for value in [0, 1, 7, 9, largest / 2, largest / 2 + 1, largest - 7, largest] {
                let bytes = value.to_le_bytes();
                if bytes[..width] != whole[at..at + width] {
                    let mut file = whole.clone();
                    file[at..at + width].copy_from_slice(&bytes[..width]);
                    drop(look(&file, &format!("{width} bytes at {at} are {value:#x}")));
                }
            }
        }
        assert_memory_is_bounded();
    });
}

/// Larger fixtures are damaged at so many places, not at every one.
const PLACES: usize = 300;
/// In the fast tier, of all places of all fixtures.
const FEW_PLACES: usize = 2_500;

/// Where the records of a pipe end: what was cut off there, nothing can tell. None for files.
fn ends_of_records(file: &[u8]) -> BTreeSet<usize> {
    let is_big = file.starts_with(b"2ELIFREP");
    let number = |at: usize, length: usize| {
        let bytes = file.get(at..at + length)?;
        let add = |number, byte: &u8| number << 8 | usize::from(*byte);
        Some(if is_big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    };
    let is_pipe = is_big || file.starts_with(b"PERFILE2");
    let mut ends = BTreeSet::new();
    let mut at = if is_pipe && number(8, 8) == Some(16) { 16 } else { file.len() };
    while let (Some(kind), Some(size)) = (number(at, 4), number(at + 6, 2)) {
        ends.insert(at);
        // Two kinds are followed by what does not count as theirs.
        let follows = match kind {
            66 => number(at + 8, 4),
            71 => number(at + 8, 8),
            _ => None,
        };
        at += size.max(8) + follows.unwrap_or(0);
    }
    ends.insert(at);
    ends
}

#[test]
fn fixtures_may_be_cut_and_changed_anywhere() {
    in_own_process("damage::fixtures_may_be_cut_and_changed_anywhere", || {
        let fixtures: Vec<_> = fixtures::recordings()
            .into_iter()
            .filter(|path| path.is_file())
            .map(|path| (path.display().to_string(), fs::read(&path).expect("the fixture")))
            .collect();
        let places = fixtures.iter().flat_map(|(name, whole)| {
            let places = (0..whole.len()).step_by(whole.len().div_ceil(PLACES));
            places.map(move |at| (name, whole, at))
        });
        let mut unsaid = Vec::new();
        for (name, whole, at) in part_of(places, FEW_PLACES, "places in fixtures") {
            let cut = look(&whole[..at], &format!("{name} cut at {at}"));
            if cut == Ok(0) && !ends_of_records(whole).contains(&at) {
                unsaid.push(format!("{name} cut at {at}"));
            }
            let mut file = whole.clone();
            file[at] ^= 0xff;
            drop(look(&file, &format!("{name} changed at {at}")));
        }
        assert!(unsaid.is_empty(), "nothing is said: {unsaid:#?}");
        assert_memory_is_bounded();
    });
}
