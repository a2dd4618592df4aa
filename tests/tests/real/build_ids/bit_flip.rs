//! One bit of an id is another id: a real recording of a real program with a separate debug file,
//! and each of the 160 bits flipped in turn, wherever the id stands. Unflipped, everything has its
//! name; flipped, nothing of the program ever has one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use perftab_core::session::Session;
use perftab_images::Rejection;
use perftab_perfdata::decode::SliceSource;
use perftab_snapshot::{Privacy, ShareOptions};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::open::open;
use perftab_tests::tier::part_of;
use serde_json::Value;

use super::builds::{Builds, Ids, OLDER, OLDER_ID, stderr, text};

const BITS: usize = 160;

/// Those that are flipped, each in turn.
#[track_caller]
fn bits() -> Vec<usize> {
    part_of(0..BITS, 12, "bits")
}

/// The parts that an id stands in, whole.
struct Parts {
    builds: Builds,
    /// Build-ids in mmap events and in the table.
    recording: Vec<u8>,
    /// The same by `perf record`, with ids in the table only and in mmap events; if it is there.
    by_perf: Vec<Vec<u8>>,
    /// What ran: stripped.
    binary: Vec<u8>,
    debug_file: Vec<u8>,
    /// What `perftab buildid archive` packs, unpacked to a plain tar.
    archive: Vec<u8>,
}

fn parts() -> &'static Parts {
    static PARTS: OnceLock<Parts> = OnceLock::new();
    PARTS.get_or_init(|| {
        let builds = Builds::new(Ids::Different);
        let debug_file = builds.folder.join("tide.debug");
        let program = builds.program.clone();
        run("objcopy", &["--only-keep-debug", text(&builds.older), text(&debug_file)]);
        run("strip", &["-o", text(&program), text(&builds.older)]);
        let (file, _) = builds.record(&[], &[text(&program), "150"]);
        let recording = fs::read(&file).expect("a recording");
        let packed = builds.folder.join("packed.tar.gz");
        let output = builds.perftab(&[
            "buildid",
            "archive",
            text(&file),
            "--image",
            text(&debug_file),
            "-o",
            text(&packed),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let by_perf = match super::builds::is_installed("bit_flip", "perf") {
            true => [&[][..], &["--buildid-mmap"]]
                .map(|options| builds.record_by_perf(options, &[text(&program), "150"]))
                .map(|file| fs::read(file).expect("a recording"))
                .into(),
            false => Vec::new(),
        };
        let read = |path: &Path| fs::read(path).expect("a file");
        Parts {
            recording,
            by_perf,
            binary: read(&program),
            debug_file: read(&debug_file),
            archive: run("gzip", &["-dc", text(&packed)]),
            builds,
        }
    })
}

fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).ended().expect("it runs");
    assert!(output.status.success(), "{program} {arguments:?}: {}", stderr(&output));
    output.stdout
}

fn id() -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&OLDER_ID[at..at + 2], 16).expect("hex");
    (0..OLDER_ID.len()).step_by(2).map(byte).collect()
}

/// Where the id stands; at least once.
fn places(bytes: &[u8]) -> Vec<usize> {
    let id = id();
    let places = bytes.windows(id.len()).enumerate();
    let places: Vec<usize> = places.filter(|(_, it)| *it == id).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "the id is nowhere");
    places
}

/// A copy with one bit of the id flipped, at all places or at some.
fn flipped(bytes: &[u8], places: &[usize], bit: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    for place in places {
        flipped[place + bit / 8] ^= 1 << (bit % 8);
    }
    flipped
}

fn session(recording: &[u8]) -> Session {
    open(recording).expect("it opens")
}

fn admit(session: &mut Session, name: &str, bytes: &[u8]) -> Result<(), Rejection> {
    session.admit(name, Box::new(SliceSource::new(bytes.to_vec()))).map(|_| ())
}

/// Names of the program's functions. It is the only DSO that files are offered for.
fn names(session: &mut Session) -> Vec<String> {
    session.name_all_frames();
    let (profile, symbols) = (session.profile(), session.symbols());
    let of_program = profile
        .frames
        .iter()
        .filter(|(_, frame)| profile.dsos.get(frame.dso).path.ends_with("/tide"));
    let levels = of_program.flat_map(|(frame, _)| symbols.levels(frame));
    let functions = levels.map(|level| symbols.function(level.function));
    functions.filter_map(|function| function.name.map(str::to_owned)).collect()
}

fn has_names(session: &mut Session) -> bool {
    names(session).iter().any(|name| name == OLDER)
}

#[test]
fn b30_a_flipped_bit_in_the_recording_leaves_no_name() {
    let parts = parts();
    for recording in std::iter::once(&parts.recording).chain(&parts.by_perf) {
        let places = places(recording);
        let named = |recording: &[u8]| {
            let mut session = session(recording);
            let _ = admit(&mut session, "tide", &parts.binary);
            let _ = admit(&mut session, "tide.debug", &parts.debug_file);
            names(&mut session)
        };
        assert!(named(recording).iter().any(|name| name == OLDER), "unflipped it has names");
        for bit in bits() {
            assert_eq!(named(&flipped(recording, &places, bit)), [""; 0], "bit {bit}");
        }
    }
}

/// A table that knows the right id does not help a mapping that says another: the mapping is what
/// ran, and the table what lay there at the end.
#[test]
fn b30_a_flipped_bit_in_the_mapping_alone_leaves_no_name() {
    let parts = parts();
    let places = places(&parts.recording);
    assert!(places.len() >= 2, "the id stands in mappings and in the table: {places:?}");
    // The table is a feature section, behind the data.
    let (&table, mappings) = places.split_last().expect("some");
    for bit in bits() {
        let mut session = session(&flipped(&parts.recording, mappings, bit));
        let _ = admit(&mut session, "tide", &parts.binary);
        let _ = admit(&mut session, "tide.debug", &parts.debug_file);
        assert_eq!(names(&mut session), [""; 0], "bit {bit}, table at {table}");
    }
}

#[test]
fn b30_a_flipped_bit_in_a_file_gets_it_refused() {
    let parts = parts();
    for (name, bytes) in [("tide", &parts.binary), ("tide.debug", &parts.debug_file)] {
        let places = places(bytes);
        let mut whole = session(&parts.recording);
        admit(&mut whole, name, bytes).expect("unflipped it is used");
        for bit in bits() {
            let mut session = session(&parts.recording);
            let refused = admit(&mut session, name, &flipped(bytes, &places, bit));
            let Err(Rejection::NothingRecordedHasIt { found, same_name: Some(same_name) }) =
                refused
            else {
                panic!("{name}, bit {bit}: {refused:?}");
            };
            assert_ne!(found, OLDER_ID);
            assert_eq!(same_name.wanted, OLDER_ID);
            assert_eq!(names(&mut session), [""; 0], "{name}, bit {bit}");
        }
    }
}

#[test]
fn b30_a_flipped_bit_in_an_archive_gets_its_members_refused() {
    let parts = parts();
    let places = places(&parts.archive);
    assert!(places.len() >= 2, "binary and debug file are in it: {places:?}");
    let named = |archive: &[u8]| {
        let mut session = session(&parts.recording);
        let source = Box::new(SliceSource::new(archive.to_vec()));
        session.offer("packed.tar", source).finish(&mut session);
        names(&mut session)
    };
    assert!(named(&parts.archive).iter().any(|name| name == OLDER), "unflipped it names");
    for bit in bits() {
        assert_eq!(named(&flipped(&parts.archive, &places, bit)), [""; 0], "bit {bit}");
    }
}

#[test]
fn b30_a_flipped_bit_in_a_link_leaves_the_recipient_without_names() {
    let parts = parts();
    let privacy = Privacy::everything();
    let options = ShareOptions { characters: 1 << 20, privacy, ..ShareOptions::default() };
    let opened = |recording: &[u8]| {
        let payload = session(recording).share(&options).expect("it fits").payload;
        let mut recipient = Session::from_snapshot(&payload).expect("it opens");
        let _ = admit(&mut recipient, "tide", &parts.binary);
        let _ = admit(&mut recipient, "tide.debug", &parts.debug_file);
        recipient
    };
    assert!(has_names(&mut opened(&parts.recording)), "unflipped the recipient has names");
    let places = places(&parts.recording);
    for bit in bits() {
        let mut recipient = opened(&flipped(&parts.recording, &places, bit));
        assert_eq!(names(&mut recipient), [""; 0], "bit {bit}");
    }
}

/// The command line sees the same gate: a sample of the bits, among them the first and the last.
#[test]
fn b30_a_flipped_bit_names_nothing_on_the_command_line() {
    let parts = parts();
    let builds = &parts.builds;
    let folder = builds.folder.join("flipped");
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("a file");
        path
    };
    let whole = write("whole.data", &parts.recording);
    let (binary, debug) = (builds.program.as_path(), builds.folder.join("tide.debug"));
    assert!(builds.functions(&whole, &[binary, &debug]).are_named(), "unflipped it has names");
    for bit in [0, 77, BITS - 1] {
        let flip = |name: &str, bytes: &[u8]| write(name, &flipped(bytes, &places(bytes), bit));
        let recording = flip("flipped.data", &parts.recording);
        let situations: [(&Path, Vec<PathBuf>); 3] = [
            (&recording, vec![binary.to_owned(), debug.clone()]),
            (&whole, vec![flip("tide", &parts.binary), flip("tide.debug", &parts.debug_file)]),
            (&whole, vec![flip("packed.tar", &parts.archive)]),
        ];
        for (recording, images) in situations {
            let images: Vec<&Path> = images.iter().map(PathBuf::as_path).collect();
            let functions = builds.functions(recording, &images);
            assert!(!functions.0.is_empty() && !functions.are_named(), "bit {bit}: {functions:?}");
            let dsos = builds.dsos(recording, &images);
            let is_refused = |dso: &Value| dso["status"] == "mismatched" || dso["samples"] == 0;
            assert!(dsos.iter().all(is_refused), "bit {bit}: {dsos:?}");
        }
    }
}
