//! One recording in every form it can have reads as the same recording; and what is wrong with a
//! form is said, with its place.

use std::fs;

use perftab_core::session::{Opening, ProfileInfo, Session, WantedBytes};
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::footer::Footer;
use perftab_perfdata::format::perftab_section;
use perftab_perfdata::format::perftab_section::{
    EmbeddedFile, FileIdentity, InodeKey, MappedFile, PerftabSection, RecorderState,
};
use perftab_tests::fixtures;
use perftab_tests::fixtures::story::{
    SERVER, USUAL, at, describe, sample, story, tell, usual_events,
};
use perftab_tests::open::{open, open_in_blocks, open_parts, packed};
use perftab_tests::perf_data::{IN_USER, PerfData, RecordStamp};
use perftab_tests::synth::{
    Attr, AttrsAt, Event, FileForm, Order, Packaging, Recording, Version, Zstd, context,
};

/// Samples of the story.
const SAMPLES: u64 = 6;

/// Samples in their order, each with its thread's name, weight and frames.
fn samples(session: &Session) -> Vec<String> {
    let profile = session.profile();
    let frame = |frame| {
        let frame = profile.frames.get(frame);
        format!("{}+{:x}", profile.dsos.get(frame.dso).name(), frame.address)
    };
    let row = |row| {
        let sample = profile.samples.get(row).expect("a row");
        let frames: Vec<_> = profile.stacks.frames(sample.stack).map(frame).collect();
        let name = profile.strings.get(profile.threads.thread(sample.thread).name);
        let event = &profile.events[sample.event.index()].name;
        let (time, weight) = (sample.time_nanos, sample.weight);
        format!("{time} {name} {event} {weight} {}", frames.join(" "))
    };
    (0..profile.samples.len()).map(row).collect()
}

fn kinds(session: &Session) -> Vec<WarningKind> {
    session.warnings().iter().map(|warning| warning.kind).collect()
}

/// What must be equal in every form: all of it but the form, and the records that only some have.
fn without_form(mut info: ProfileInfo) -> ProfileInfo {
    let plain = open(&story(Order::Little).file()).expect("a file").info();
    info.format = plain.format;
    for name in ["COMPRESSED", "COMPRESSED2", "HEADER_ATTR", "HEADER_FEATURE"] {
        info.records.remove(name);
    }
    // Where they are counted from differs: a table has no place in a stream.
    info.warnings.iter_mut().for_each(|warning| warning.offset = None);
    info
}

fn compressed(packaging: Packaging, chunk: usize) -> Recording {
    let mut recording = Recording::new(Order::Little, usual_events());
    recording.compressed(&mut Zstd::new(packaging), chunk, tell);
    describe(&mut recording);
    recording
}

#[test]
fn every_form_reads_as_the_same_recording() {
    let little = story(Order::Little);
    let big = story(Order::Big);
    let form = FileForm::default();
    let plain = open(&little.file()).expect("a file");
    assert_eq!(plain.info().samples, SAMPLES, "the whole story");
    let same = [
        ("big endian", big.file()),
        ("words of 32 bits", big.file_as(FileForm { long: 4, ..form })),
        ("attrs last", little.file_as(FileForm { attrs: AttrsAt::Back, ..form })),
        ("attrs with room", little.file_as(FileForm { attr_room: Some(200), ..form })),
        ("version 1", little.file_as(FileForm { version: Version::One, ..form })),
        ("version 1, big endian", big.file_as(FileForm { version: Version::One, ..form })),
        ("compressed", compressed(Packaging::Compressed, 50).file()),
        ("compressed, with sizes", compressed(Packaging::Compressed2, 7).file()),
    ];
    for (name, file) in same {
        for block in [1, 7, 100, 1 << 20] {
            let session = open_in_blocks(&file, block).expect(name);
            assert_eq!(samples(&session), samples(&plain), "{name} in blocks of {block}");
            let (ours, theirs) = (without_form(session.info()), without_form(plain.info()));
            assert_eq!(ours, theirs, "{name} in blocks of {block}");
        }
    }
}

#[test]
fn a_pipe_has_the_same_samples_and_events() {
    let plain = open(&story(Order::Little).file()).expect("a file");
    for order in [Order::Little, Order::Big] {
        for block in [1, 13, 1 << 20] {
            let session = open_in_blocks(&story(order).pipe(), block).expect("a pipe");
            let info = session.info();
            assert_eq!(info.format.mode, "pipe");
            assert_eq!(info.events, plain.info().events);
            assert_eq!(info.host, plain.info().host);
            assert_eq!(samples(&session).len() as u64, SAMPLES);
        }
    }
}

#[test]
fn a_header_without_features_is_read_without() {
    let form = FileForm { header_size: 72, ..FileForm::default() };
    let session = open(&story(Order::Little).file_as(form)).expect("an old file");
    assert_eq!((session.info().samples, session.info().host.hostname), (SAMPLES, None));
    assert!(!kinds(&session).contains(&WarningKind::Unfinished), "{:?}", session.warnings());
}

#[test]
fn packed_recordings_read_as_what_is_in_them() {
    let little = story(Order::Little);
    let attrs_last = FileForm { attrs: AttrsAt::Back, ..FileForm::default() };
    for (name, file, passes) in [
        ("file", little.file(), 2),
        ("pipe", little.pipe(), 1),
        ("attrs last", little.file_as(attrs_last), 2),
    ] {
        let packed = packed(&file);
        let plain = open(&file).expect(name);
        for block in [1, 100, 1 << 20] {
            let session = open_in_blocks(&packed, block).expect(name);
            assert_eq!(session.info().format.wrapper, "zstd");
            assert_eq!(samples(&session), samples(&plain), "{name}");
            assert_eq!(without_form(session.info()), without_form(plain.info()), "{name}");
        }
        let source = SliceSource::new(packed.clone());
        let opening = Opening::new(&[&source]).expect(name);
        assert_eq!(opening.progress().total, passes * packed.len() as u64, "{name}");
        // What is cut is shown as far as it goes; a start that is cut is no recording.
        for length in 0..packed.len() {
            if let Ok(session) = open(&packed[..length]) {
                assert!(
                    kinds(&session).contains(&WarningKind::Unpacking),
                    "{name} cut at {length}"
                );
            }
        }
    }
}

/// How records are read depends on what stands behind them: whose samples are off-CPU time, which
/// recorder wrote the inodes, which formats tracepoints have.
#[test]
fn every_recording_reads_packed_as_it_does_unpacked() {
    let mut compared = 0;
    for path in fixtures::recordings() {
        let name = path.file_name().expect("a name").to_string_lossy();
        let name = name.trim_end_matches(".perf.data");
        if !path.is_file() {
            continue;
        }
        let file = fs::read(&path).expect("a fixture");
        let plain = open(&file).expect("it opens");
        let told = |session: &Session| {
            let mut info = session.info();
            info.format.wrapper = "none";
            info.warnings.iter_mut().for_each(|warning| warning.offset = None);
            info
        };
        if plain.info().format.wrapper != "none" {
            continue;
        }
        let packed = open(&packed(&file)).expect("it opens packed");
        assert_eq!(samples(&packed), samples(&plain), "{name}");
        assert_eq!(told(&packed), told(&plain), "{name}");
        compared += 1;
    }
    assert!(compared > 80, "{compared}");
}

/// What simpleperf writes for inodes of maps that it did not see made differs from one to the next.
#[test]
fn inodes_of_simpleperf_make_no_second_dso_of_one_path() {
    const AT: RecordStamp = RecordStamp { pid: 7, tid: 7, time: 100 };
    let file = PerfData::new()
        .mmap_inode(AT, 0x10_0000..0x20_0000, 5, "/lib/a.so")
        .mmap_inode(AT, 0x30_0000..0x40_0000, 6, "/lib/a.so")
        .sample(AT, 1, &[IN_USER, 0x10_0010])
        .sample(AT, 1, &[IN_USER, 0x30_0010])
        .feature(129, b"simpleperf_version\x001.2\0".to_vec())
        .finish();
    for bytes in [packed(&file), file] {
        let dsos = open(&bytes).expect("a recording").dsos();
        let of_path = dsos.iter().filter(|row| row.path == "/lib/a.so");
        assert_eq!(of_path.map(|row| row.samples).collect::<Vec<_>>(), [2]);
    }
}

/// A recorder that was killed leaves its own section at the end of the file, behind what it had
/// not yet written.
#[test]
fn a_recording_of_a_killed_recorder_reads_packed_as_it_does_unpacked() {
    let section = PerftabSection {
        files: vec![MappedFile {
            inode: InodeKey { major: 8, minor: 1, inode: 4711, generation: 0 },
            identity: FileIdentity::Content([7; 16]),
        }],
        sideband: vec![999],
        // Whoever opens a recording has not asked for an archive to be unpacked.
        embedded: [("a.zip", &b"PK\x03\x04"[..]), ("a.so", b"\x7fELF")]
            .map(|(name, bytes)| EmbeddedFile { name: name.to_owned(), bytes: bytes.into() })
            .to_vec(),
        recorder: RecorderState::AtWork,
        ..PerftabSection::default()
    };
    let section = perftab_section::encode(&section);
    let mut recording = Recording::new(Order::Little, usual_events());
    tell(&mut recording);
    // As of perftab, which keeps the size up to date, and as of perf, which does not.
    for data_size in [Some(recording.data.len() as u64), Some(0)] {
        let mut file = recording.file_as(FileForm { data_size, ..FileForm::default() });
        file.extend([0; 4096]);
        file.extend(&section);
        file.extend(Footer::of(&section).encode());
        let plain = open(&file).expect("it opens");
        let identities = |session: &Session| {
            let dsos = session.profile().dsos.iter();
            dsos.map(|(_, dso)| format!("{} {:?}", dso.path, dso.identity)).collect::<Vec<_>>()
        };
        assert!(identities(&plain).iter().any(|it| it.contains("Content")), "the section is read");
        let embedded: Vec<&str> =
            plain.embedded_files().iter().map(|file| file.name.as_str()).collect();
        assert_eq!(embedded, ["a.so"]);
        for block in [1000, 1 << 20] {
            let packed = open_in_blocks(&packed(&file), block).expect("it opens packed");
            assert_eq!(samples(&packed), samples(&plain));
            assert_eq!(identities(&packed), identities(&plain));
            assert_eq!(without_form(packed.info()), without_form(plain.info()));
        }
    }
}

/// Events that are worked out need numbers of their own: at 65,535 events, time off the CPU was
/// counted as a recorded event's.
#[test]
fn more_events_than_have_numbers_are_left_out_and_said() {
    let attr = Attr::new(1, 0, USUAL);
    let event = |index| Event::new(index, "cpu-clock", attr, 1);
    let recording = Recording::new(Order::Little, (0..65_536).map(event).collect());
    let session = open(&recording.file()).expect("it opens");
    assert_eq!(session.info().events.len(), 65_500);
    assert!(kinds(&session).contains(&WarningKind::UnknownEvent), "{:?}", session.warnings());
}

/// The decoder holds a window back: all of a small recording, until it hears that nothing follows.
#[test]
fn a_packed_recording_that_is_cut_opens_with_what_is_in_it() {
    let mut recording = Recording::new(Order::Little, usual_events());
    tell(&mut recording);
    for turn in 0..5_000 {
        recording.sample(0, &sample(at(10, 5_000 + turn, 0), 100, 1, &[context::USER, SERVER]));
    }
    let file = recording.file();
    assert!(file.len() > 256 << 10, "blocks of zstd have 128 KiB at most");
    let packed = packed(&file);
    let session = open(&packed[..packed.len() - 1]).expect("most of it is there");
    assert!(session.info().samples > 2_000, "{}", session.info().samples);
    assert!(kinds(&session).contains(&WarningKind::Unpacking));
}

#[test]
fn what_is_packed_and_no_recording_is_said_of_what_is_packed() {
    let error = open(&packed(b"\x7fELF\x02\x01")).err().expect("a program");
    let said = "not a perf.data file: the zstd data begins with 7f 45 4c 46";
    assert_eq!(error.to_string(), said);
}

/// Two streams whose samples alternate in time, and what their order must be.
fn folder() -> (Vec<Vec<u8>>, Vec<u64>) {
    let mut streams = vec![Recording::new(Order::Little, usual_events()); 2];
    let mut times = Vec::new();
    for turn in 0..3000u64 {
        let cpu = (turn / 7 % 2) as u32;
        let when = at(10, 5_000 + turn, cpu);
        times.push(when.time);
        let chain = vec![SERVER + turn % 50; 1000];
        let chain = [&[context::USER][..], &chain].concat();
        streams[cpu as usize].sample(0, &sample(when, 100 + u64::from(cpu), 1, &chain));
    }
    let files = story(Order::Little).directory(&streams);
    (files.into_iter().map(|(_, bytes)| bytes).collect(), times)
}

#[test]
fn the_files_of_a_folder_are_merged_by_time() {
    let (files, times) = folder();
    let parts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    assert!(parts[1].len() > 8 << 20, "more than is held back");
    for block in [64 << 10, 1 << 20, usize::MAX] {
        let session = open_parts(&parts, block).expect("a folder");
        assert_eq!(session.info().format.mode, "directory");
        assert_eq!(session.info().samples, SAMPLES + 3000);
        let read: Vec<u64> = (0..SAMPLES as usize + 3000)
            .map(|row| session.profile().samples.get(row).expect("a row").time_nanos)
            .collect();
        assert_eq!(read[SAMPLES as usize..], times, "in blocks of {block}");
        assert!(!kinds(&session).contains(&WarningKind::OutOfOrder));
    }
}

#[test]
fn the_main_file_of_a_folder_alone_says_what_is_missing() {
    let (files, _) = folder();
    let session = open(&files[0]).expect("it is a file of its own");
    assert_eq!(session.info().samples, SAMPLES);
    assert!(kinds(&session).contains(&WarningKind::PartsMissing));
}

#[test]
fn aux_data_is_jumped_over_and_counted() {
    let mut recording = Recording::new(Order::Little, usual_events());
    recording.auxtrace(0, &vec![0xab; 3 << 20], 10, 0).auxtrace(3 << 20, &[1; 16], 10, 0);
    tell(&mut recording);
    describe(&mut recording);
    let file = recording.file();
    let source = SliceSource::new(file.clone());
    let mut opening = Opening::new(&[&source]).expect("a file");
    let mut read = 0;
    while let Some(WantedBytes { offset, length, .. }) = opening.wants() {
        let block = source.read_vec(offset, length.min(4096)).expect("what is wanted is there");
        read += block.len();
        opening.push(&block);
    }
    assert!(read < 20_000, "{read} bytes read");
    let progress = opening.progress();
    assert_eq!(progress.bytes, progress.total, "what was jumped over is done");
    let session = opening.finish();
    let info = session.info();
    assert_eq!((info.aux.records, info.aux.bytes), (2, (3 << 20) + 16));
    // What was lost, and what that leaves in doubt.
    let lost = vec![WarningKind::Lost, WarningKind::Lost];
    assert_eq!((info.samples, kinds(&session)), (SAMPLES, lost));
    // The same, where a host cannot jump.
    assert_eq!(open_in_blocks(&file, 1 << 22).expect("a file").info().samples, SAMPLES);
}

const MESSAGE: &[u8] = b"[ perf record: Woken up 1 times to write data ]\n";

#[test]
fn text_around_and_in_a_pipe_is_passed_over_and_said() {
    let mut recording = story(Order::Little);
    recording.outside_of_records(MESSAGE);
    recording.sample(0, &sample(at(10, 9_000, 0), 100, 1, &[context::USER, SERVER]));
    let whole =
        [b"WARNING: no kernel symbols\n\n", &recording.pipe()[..], MESSAGE, b"done"].concat();
    for block in [1, 50, 1 << 20] {
        let session = open_in_blocks(&whole, block).expect("a pipe behind text");
        assert_eq!(session.info().samples, SAMPLES + 1, "in blocks of {block}");
        let text: Vec<_> =
            session.warnings().iter().filter(|it| it.kind == WarningKind::Text).collect();
        assert_eq!(text.iter().map(|it| it.count).sum::<u64>(), 4, "{text:?}");
        assert!(text.iter().any(|it| it.message.contains("Woken up 1 times")), "{text:?}");
        assert!(!kinds(&session).contains(&WarningKind::Truncated));
    }
}

/// The story, damage, and one more sample.
fn with_damage(damage: &[u8]) -> (Vec<u8>, u64) {
    let mut recording = story(Order::Little);
    let at_offset = recording.data.len() as u64;
    recording.outside_of_records(damage);
    recording.sample(0, &sample(at(10, 9_000, 0), 100, 1, &[context::USER, SERVER]));
    let file = recording.file();
    let data = u64::from_le_bytes(file[40..48].try_into().expect("eight bytes"));
    (file, data + at_offset)
}

#[test]
fn what_is_no_record_ends_the_reading_and_is_said_with_its_place() {
    for damage in [[9, 0, 0, 0, 0, 0, 7, 0], [0xff; 8], [9, 0, 0, 0, 0, 0, 0, 0]] {
        let (file, offset) = with_damage(&damage);
        let session = open(&file).expect("there are records before it");
        assert_eq!(session.info().samples, SAMPLES);
        let damaged = session.warnings().iter().find(|it| it.kind == WarningKind::Damaged);
        assert_eq!(damaged.and_then(|it| it.offset), Some(offset), "{damage:?}");
        assert_eq!(session.info().host.hostname.as_deref(), Some("web-07"), "features are read");
    }
}

#[test]
fn records_of_unknown_types_are_passed_over_by_their_size() {
    let mut unknown = vec![63, 0, 0, 0, 0, 0, 24, 0];
    unknown.resize(24, 0xee);
    let (file, _) = with_damage(&unknown);
    let session = open(&file).expect("a file");
    assert_eq!((session.info().samples, session.info().records["UNKNOWN"]), (SAMPLES + 1, 1));
    assert!(!kinds(&session).contains(&WarningKind::Damaged));
}

#[test]
fn large_records_of_simpleperf_are_read_and_too_large_ones_passed_over() {
    // A type of its own: the upper half of the size stands where misc is.
    let mut large = [32778u32.to_le_bytes(), [2, 0, 8, 0]].concat();
    large.resize((2 << 16) + 8, 0);
    let (file, _) = with_damage(&large);
    for block in [1000, 1 << 20] {
        let session = open_in_blocks(&file, block).expect("a file");
        assert_eq!(
            (session.info().samples, kinds(&session)),
            (SAMPLES + 1, vec![WarningKind::Lost, WarningKind::Lost])
        );
    }
    let too_large = [32778u32.to_le_bytes(), [0xff; 4]].concat();
    let (file, offset) = with_damage(&too_large);
    let session = open(&file).expect("a file");
    assert_eq!(session.info().samples, SAMPLES);
    let said: Vec<_> = session.warnings().iter().filter(|it| it.offset == Some(offset)).collect();
    assert!(said.iter().any(|it| it.kind == WarningKind::Unreadable), "{said:?}");
}

#[test]
fn a_recorder_that_died_leaves_records_to_the_end_of_the_file() {
    let form = FileForm { data_size: Some(0), ..FileForm::default() };
    let session = open(&story(Order::Little).file_as(form)).expect("records are there");
    assert_eq!((session.info().samples, session.info().host.hostname), (SAMPLES, None));
    assert!(kinds(&session).contains(&WarningKind::Unfinished));
}

/// A file with one u64 of its header replaced.
fn patched(at: usize, word: u64) -> Vec<u8> {
    let mut file = story(Order::Little).file();
    file[at..at + 8].copy_from_slice(&word.to_le_bytes());
    file
}

#[test]
fn sections_out_of_place_are_said_and_the_rest_is_read() {
    let length = story(Order::Little).file().len() as u64;
    // The list of events lies outside of the file; it begins inside and ends outside.
    for (at, word) in [(24, length), (24, u64::MAX - 3), (32, 1 << 20)] {
        let session = open(&patched(at, word)).expect("there are records");
        assert!(kinds(&session).contains(&WarningKind::BadSection), "{at}: {word:#x}");
        // EVENT_DESC has the attrs too.
        assert_eq!(session.info().samples, SAMPLES, "{at}: {word:#x}");
    }
    // The data ends outside of the file, or where no file can.
    for size in [length, u64::MAX] {
        let session = open(&patched(48, size)).expect("there are records");
        assert_eq!(session.info().samples, SAMPLES, "{size:#x}");
        let said = kinds(&session);
        assert!(
            said.contains(&WarningKind::Truncated) || said.contains(&WarningKind::Damaged),
            "{size:#x}: {said:?}"
        );
    }
    // The data begins outside of it.
    assert!(open(&patched(40, length)).expect("events are there").info().samples == 0);
}

#[test]
fn samples_without_a_time_stay_in_the_order_of_the_file() {
    let mut events = usual_events();
    let time = perf_event_open_sys::bindings::PERF_SAMPLE_TIME;
    events.iter_mut().for_each(|event| event.attr.kernel.sample_type &= !u64::from(time));
    let mut recording = Recording::new(Order::Little, events);
    for (turn, time) in [30, 10, 20].into_iter().enumerate() {
        let weight = turn as u64 + 1;
        recording.sample(0, &sample(at(10, time, 0), 100, weight, &[context::USER, SERVER]));
    }
    let session = open(&recording.file()).expect("a file");
    let weights: Vec<u64> =
        (0..3).map(|row| session.profile().samples.get(row).expect("a row").weight).collect();
    assert_eq!(weights, [1, 2, 3]);
    assert!(kinds(&session).contains(&WarningKind::NoTime));
}

#[test]
fn records_that_come_too_late_are_counted() {
    let mut recording = Recording::new(Order::Little, usual_events());
    for time in [1000, 2000, 500] {
        recording.sample(0, &sample(at(10, time, 0), 100, 1, &[context::USER, SERVER])).round();
        recording.round();
    }
    let session = open(&recording.file()).expect("a file");
    let late = session.warnings().iter().find(|it| it.kind == WarningKind::OutOfOrder);
    assert!(late.is_some_and(|it| it.message.starts_with("1 record came")), "{late:?}");
    assert_eq!(session.info().samples, 3);
}
