//! The file at any moment, opened by core.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use perftab_perfdata::format::attr::{event_type, sample_type};
use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::header::DATA_SIZE_OFFSET;
use perftab_perfdata::format::perftab_section;
use perftab_perfdata::format::perftab_section::{
    FileIdentity, InodeKey, PerftabSection, RecorderState,
};
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write::{
    CpuMode, EventDescription, MappedFile, Mmap2, SampleIdTrailer,
};

use super::*;
use crate::late_ids::ThisMachine;
use crate::record::sys;
use crate::recording::Recording;

const BITS: u64 = sample_type::IP | sample_type::TID | sample_type::TIME;
const SAMPLE_SIZE: usize = 32;
/// A name that nothing but EVENT_DESC has.
const EVENT: &str = "grains";

fn temporary(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("perftab-unit-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn data_size_in(bytes: &[u8]) -> u64 {
    let at = DATA_SIZE_OFFSET as usize;
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn attr() -> sys::AttrBytes {
    let mut attr = sys::empty_attr();
    attr.type_ = event_type::SOFTWARE;
    attr.sample_period = 1_000_000;
    attr.sample_type = BITS;
    attr.set_sample_id_all(1);
    sys::attr_bytes(&attr)
}

/// Samples with these numbers, by turns in each of the two files.
fn samples(numbers: Range<u64>) -> Vec<u8> {
    let sample = |number: u64| {
        let address = if number.is_multiple_of(2) { 0x40_0100 } else { 0x50_0100 };
        let words = [address, 7 << 32 | 7, 1000 + number];
        let mut record = RecordType::SAMPLE.0.to_ne_bytes().to_vec();
        record.extend_from_slice(&2u16.to_ne_bytes());
        record.extend_from_slice(&(SAMPLE_SIZE as u16).to_ne_bytes());
        record.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        record
    };
    numbers.flat_map(sample).collect()
}

/// Two files are mapped without an id: that of one is in the table, of the other in the section.
fn mappings() -> Vec<u8> {
    let mut out = Vec::new();
    for (inode, address, name) in
        [(11, 0x40_0000, &b"/bin/listed"[..]), (12, 0x50_0000, b"/bin/hashed")]
    {
        let file = MappedFile::Inode { major: 8, minor: 1, inode };
        let map = Mmap2 {
            pid: 7,
            cpu_mode: CpuMode::User,
            address,
            length: 0x1000,
            page_offset: 0,
            file,
            protection: 5,
            flags: 2,
            name,
        };
        write::mmap2(&mut out, &map, SampleIdTrailer::of_sample_type(BITS).at(1));
    }
    out
}

/// Payloads of this size and a little more, which differ with each `number`.
fn file_end(recorder: RecorderState, number: u8, size: usize) -> FileEnd {
    let feature = |feature, encode: &dyn Fn(&mut Vec<u8>)| {
        let mut payload = Vec::new();
        encode(&mut payload);
        (feature, payload)
    };
    let attr = attr();
    let described = [EventDescription { attr: &attr, name: EVENT, ids: &[1, 2] }];
    let id = BuildId::new(&[0xab; 20]).unwrap();
    let features = vec![
        feature(Feature::EVENT_DESC, &|out| write::event_desc(out, &described)),
        feature(Feature::HOSTNAME, &|out| write::string(out, b"mill")),
        feature(Feature::BUILD_ID, &|out| {
            write::build_id_entry(out, CpuMode::User, id, b"/bin/listed");
        }),
        feature(Feature::CPUDESC, &|out| write::string(out, &vec![b'a' + number % 26; size])),
    ];
    let inode = InodeKey { major: 8, minor: 1, inode: 12, generation: 0 };
    let identity = FileIdentity::Content([number; 16]);
    let files = vec![perftab_section::MappedFile { inode, identity }];
    let section = PerftabSection { files, recorder, ..PerftabSection::default() };
    FileEnd { features, section: perftab_section::encode(&section) }
}

/// How many samples a recorder that is killed now leaves; everything that has a name must have
/// it.
fn samples_of_the_whole(path: &Path) -> u64 {
    let session = Recording::open(path).unwrap().read(ThisMachine::LeftAlone).unwrap();
    let info = session.info();
    let names: Vec<&str> = info.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, [EVENT], "{:?}", info.warnings);
    assert_eq!(info.host.hostname.as_deref(), Some("mill"));
    for name in ["listed", "hashed"] {
        let dso = info.dsos.iter().find(|dso| dso.name == name).expect("it is mapped");
        assert!(dso.build_id.is_some(), "{name}: {:?}", info.warnings);
    }
    info.samples
}

/// Rounds of every size, checkpoints that grow and shrink, and data that overtakes them: at any
/// write the recorder may be killed.
#[test]
fn a_recorder_killed_at_any_write_leaves_the_features_and_what_it_acknowledged() {
    assert_whole_at_any_write("killed", usize::MAX);
}

/// However far it has come by then.
#[test]
fn a_recorder_killed_while_another_thread_writes_leaves_the_features_and_whole_rounds() {
    assert_whole_at_any_write("killed-behind", 0);
}

/// With writes of this size and larger made by a thread.
fn assert_whole_at_any_write(name: &str, large: usize) {
    let path = temporary(name);
    let event = EventHead { attr: &attr(), ids: &[1, 2] };
    let mut file = RecordingFile::create(&path, &[event], RingsFill::Slowly).unwrap();
    // What is there after a write is there after each later one; what was written at once, as soon as it was acknowledged.
    let there = Arc::new(AtomicU64::new(0));
    let (mut written, mut number) = (0, 0);
    let mut round = |file: &mut RecordingFile, count: u64| {
        file.append(&samples(written..written + count)).unwrap();
        let mut end = Vec::new();
        write::finished_round(&mut end);
        file.append(&end).unwrap();
        written += count;
        written
    };
    let mut end = |recorder, size: usize| {
        number += 1;
        file_end(recorder, number, size)
    };
    // Its first second has no features.
    file.append(&mappings()).unwrap();
    round(&mut file, 1);
    file.checkpoint(end(RecorderState::AtWork, 10));
    file.acknowledge();
    let looks = Arc::new(AtomicU64::new(0));
    file.file.watch(large, {
        let (path, there, looks) = (path.clone(), there.clone(), looks.clone());
        Arc::new(move || {
            let samples = samples_of_the_whole(&path);
            let before = there.fetch_max(samples, Ordering::Relaxed);
            assert!(samples >= before, "{samples} of {before}");
            looks.fetch_add(1, Ordering::Relaxed);
        })
    });
    for (count, checkpoint) in [
        (100, None),
        (0, None),
        (1, Some(10)),
        (1, None),
        (30, Some(3000)),
        (0, Some(20)),
        (300, None),
        (1, Some(90_000)),
        (1, Some(10)),
        (2500, None),
        (3, None),
        (700, Some(500)),
        (3000, Some(10)),
        (1, None),
    ] {
        let written = round(&mut file, count);
        if let Some(size) = checkpoint {
            file.checkpoint(end(RecorderState::AtWork, size));
        }
        file.acknowledge();
        if large > 0 {
            // Less than a table is held.
            let told = samples_of_the_whole(&path);
            assert!(told <= written && written - told <= 2, "{told} of {written}");
        }
    }
    let written = round(&mut file, 1);
    assert!(!file.held.is_empty(), "the end has to deal with it");
    let (size, left_out) = file.finish(end(RecorderState::Ended, 40_000)).unwrap();
    assert_eq!(left_out, LeftOut::Nothing);
    assert_eq!(fs::metadata(&path).unwrap().len(), size);
    assert_eq!(samples_of_the_whole(&path), written);
    let session = Recording::open(&path).unwrap().read(ThisMachine::LeftAlone).unwrap();
    let warnings = session.info().warnings;
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(looks.load(Ordering::Relaxed) > 60, "{looks:?}");
}

/// Its space is not that of every second together.
#[test]
fn checkpoints_of_an_idle_recording_take_turns() {
    let path = temporary("idle");
    let event = EventHead { attr: &attr(), ids: &[1, 2] };
    let mut file = RecordingFile::create(&path, &[event], RingsFill::Slowly).unwrap();
    file.append(&samples(0..50)).unwrap();
    let mut largest = 0;
    for number in 0..20 {
        file.checkpoint(file_end(RecorderState::AtWork, number, 100_000));
        file.acknowledge();
        largest = largest.max(fs::metadata(&path).unwrap().len());
    }
    assert!(largest < 2 * (CHECKPOINT_AHEAD + 150_000) + 100_000, "{largest}");
}

#[test]
fn the_header_is_completed_at_the_end_and_the_old_file_kept() {
    let path = temporary("completed");
    fs::write(&path, b"an older recording").unwrap();
    let event = EventHead { attr: &[0; 112], ids: &[1, 2] };
    let mut file = RecordingFile::create(&path, &[event], RingsFill::Slowly).unwrap();
    file.append(&[7; 64]).unwrap();
    file.acknowledge();
    let before = fs::read(&path).unwrap();
    assert_eq!(data_size_in(&before), 64);
    assert_eq!(before[72..104], [0; 32], "no features yet");
    assert_eq!(before.len(), 104 + 16 + 128 + 64);
    let features = vec![(Feature::HOSTNAME, vec![1; 8])];
    let (size, left_out) = file.finish(FileEnd { features, section: Vec::new() }).unwrap();
    let after = fs::read(&path).unwrap();
    assert_eq!(data_size_in(&after), 64);
    assert_eq!(after.len() as u64, size);
    assert_eq!(&after[after.len() - 8..], &[1; 8]);
    assert_eq!(left_out, LeftOut::Nothing);
    let old = fs::read(path.with_file_name("completed.old")).unwrap();
    assert_eq!(old, b"an older recording");
}
