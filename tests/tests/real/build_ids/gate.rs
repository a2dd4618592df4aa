//! The gate: identities of every length, two files of one id, and what is kept of files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use perftab_core::session::Session;
use perftab_images::{Image, MatchedImage, NotAnImage, RecordedIdentities, Rejection};
use perftab_names::Status;
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::{BuildId, IdLength};
use perftab_profile::{DsoId, DsoKind, Dsos, Identity, MappedFrom, RecordedBy};
use perftab_snapshot::{Privacy, ShareOptions};
use perftab_tests::fixtures::story;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::{open, open_path};
use perftab_tests::synth::{
    BuildIdEntry, MappedFile, Mapping, Order, Recording, TableLayout, context, elf,
};
use perftab_tests::tier::part_of;
use serde_json::Value;

use super::builds::{Builds, Ids, NEWER, OLDER, compile, is_installed, stderr, text};

const SOURCE: &str = r#"
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void NAME(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { while (clock() < 0.12 * CLOCKS_PER_SEC) NAME(); return 0; }
"#;

pub fn program(folder: &Path, name: &str, function: &str, build_id: &str) -> std::path::PathBuf {
    let id = format!("-Wl,--build-id={build_id}");
    compile(folder, name, &SOURCE.replace("NAME", function), &[&id])
}

fn admit(session: &mut Session, file: &Path) -> Result<(), Rejection> {
    let bytes = fs::read(file).expect("a file");
    session.admit(text(file), Box::new(SliceSource::new(bytes))).map(|_| ())
}

/// Names in the DSOs of one file name.
fn names(session: &mut Session, dso: &str) -> BTreeSet<String> {
    session.name_all_frames();
    let (profile, symbols) = (session.profile(), session.symbols());
    let frames = profile.frames.iter();
    let of_dso = frames.filter(|(_, frame)| profile.dsos.get(frame.dso).name() == dso);
    let functions = of_dso.map(|(frame, _)| symbols.function(symbols.merged(frame)));
    functions.filter_map(|function| function.name.map(str::to_owned)).collect()
}

/// The note stands at the beginning, so what was cut off by a full disk or a lost connection still
/// has its id, and lacks its symbols.
#[test]
fn b30_a_file_that_was_cut_off_is_no_image() {
    let folder = TestFolder::new();
    let program = program(&folder, "program", "work", &"5a".repeat(20));
    let whole = fs::read(&program).unwrap();
    for length in (64..whole.len()).step_by(61) {
        let source = Box::new(SliceSource::new(whole[..length].to_vec()));
        let refused = Image::open("program", source).expect_err("it is cut off");
        let NotAnImage::Unreadable { message } = &refused else { panic!("{refused:?}") };
        assert!(message.contains(&format!("at {length} of {} bytes", whole.len())), "{message}");
    }
}

#[test]
fn b10_ids_of_every_length_are_recorded_and_decide() {
    const TEST: &str = "b10_ids_of_every_length_are_recorded_and_decide";
    let builds = Builds::new(Ids::None);
    let has_perf = is_installed(TEST, "perf");
    let ids = [
        "7f",
        "0123456789abcdef",
        "0123456789abcdef000000000000000000000000",
        "00112233445566778899aabbccddeeff",
        "0123456789abcdef0123456789abcdef01234567",
    ];
    for id in part_of(ids, 3, "ids") {
        let name = format!("of_{}", id.len() / 2);
        let right = program(&builds.folder, &name, "right", &format!("0x{id}"));
        // Of one length, and one bit apart.
        let last = u8::from_str_radix(&id[id.len() - 2..], 16).expect("hex") ^ 1;
        let near = format!("{}{last:02x}", &id[..id.len() - 2]);
        let wrong = builds.folder.join("wrong");
        fs::create_dir_all(&wrong).expect("a folder");
        let wrong = program(&wrong, &name, "wrong", &format!("0x{near}"));

        let mut recordings = vec![("perftab", builds.record(&[], &[text(&right)]).0)];
        if has_perf {
            for options in [&["--buildid-mmap"][..], &[]] {
                let file = builds.record_by_perf(options, &[text(&right)]);
                let kept = builds.folder.join(format!("{name}-{}.data", options.len()));
                fs::rename(&file, &kept).expect("renamed");
                recordings.push(("perf", kept));
            }
        }
        for (tool, recording) in recordings {
            let mut session = open_path(&recording).expect("it opens");
            let rows = session.dsos();
            let row = rows.iter().find(|row| row.name == name).expect("it was recorded");
            let listed = row.build_id.as_deref().and_then(BuildId::from_hex).expect("an id");
            match tool {
                // It reads the note's padding too: ids shorter than a word end in zeros.
                "perf" => {
                    let id = BuildId::from_hex(id).expect("an id");
                    let lengths = [IdLength::Recorded, IdLength::AtMost];
                    assert!(listed == id || lengths.iter().any(|&it| listed.may_be(id, it)));
                }
                _ => assert_eq!(listed.to_string(), id),
            }
            let refused = admit(&mut session, &wrong);
            assert!(
                matches!(&refused, Err(Rejection::NothingRecordedHasIt { found, .. }) if *found == near),
                "{tool}, {id}: {refused:?}"
            );
            assert_eq!(names(&mut session, &name), BTreeSet::new(), "{tool}, {id}");
            admit(&mut session, &right).expect("it is what ran");
            assert!(names(&mut session, &name).contains("right"), "{tool}, {id}");
        }
    }
}

/// perf's table has the id of the 64-bit vdso, and mappings call both `[vdso]`.
#[test]
fn a_64_bit_vdso_names_nothing_of_32_bit_processes() {
    let id = [0x56; 20];
    let mut recording = Recording::new(Order::Little, story::usual_events());
    for (pid, start) in [(10, 0x7fff_1230_0000), (20, 0xf7fc_0000)] {
        let nothing = MappedFile::Inode(0, 0, 0, 0);
        let addresses = start..start + 0x2000;
        let (misc, tid, offset, file, path) = (2, pid, 0, nothing, "[vdso]");
        let mapping = Mapping { misc, pid, tid, addresses, offset, file, path };
        recording.mmap2(story::at(pid, 1_000, 0), &mapping);
        let chain = [context::USER, start + elf::CODE + 0x10];
        recording.sample(0, &story::sample(story::at(pid, 2_000, 0), 100, 1, &chain));
    }
    let table = [BuildIdEntry { misc: 2, pid: -1, id: &id, name: "[vdso]" }];
    recording.round().feature_string(6, "x86_64").build_ids(TableLayout::WithSize, &table);
    let symbols = [vec![0; 24], elf::symbol(1, elf::CODE, 0x100)].concat();
    let (kind, flags, link) = (elf::SYMTAB, 0, ".strtab");
    let sections = [
        elf::ElfSection { name: ".symtab", kind, flags, bytes: &symbols, address: 0, link },
        elf::ElfSection {
            name: link,
            kind: elf::STRTAB,
            flags,
            bytes: b"\0clock\0",
            address: 0,
            link: "",
        },
    ];
    let vdso = elf::elf(&id, 0x200, &sections);
    let mut session = open(&recording.file()).expect("it opens");
    session.admit("[vdso]", Box::new(SliceSource::new(vdso))).expect("it was recorded");
    assert_eq!(names(&mut session, "[vdso]"), BTreeSet::from(["clock".to_owned()]));
    // One without an entry in the table is another DSO, whose sample has no name.
    let rows = session.dsos();
    let row = rows.iter().find(|row| row.name == "[vdso32]").expect("another vdso");
    assert_eq!((row.samples, &row.build_id), (1, &None), "{row:?}");
    assert_eq!(names(&mut session, "[vdso32]"), BTreeSet::new());
}

#[test]
fn b10_no_id_and_an_id_of_zeros_are_no_identity() {
    let builds = Builds::new(Ids::None);
    for (name, id) in [("none", "none"), ("zeros", "0x0000000000000000")] {
        let file = program(&builds.folder, name, "spun", id);
        let (recording, _) = builds.record(&[], &[text(&file)]);
        let mut session = open_path(&recording).expect("it opens");
        let rows = session.dsos();
        let row = rows.iter().find(|row| row.name == name).expect("it was recorded");
        let image = Image::open(name, Box::new(SliceSource::new(fs::read(&file).unwrap())));
        let found = image.expect("an image").identity().expect("a content hash");
        assert!(matches!(found, Identity::Content(_)), "{found}");
        // Only a hash of the content, if the recorder keeps one, can be matched.
        let admitted = admit(&mut session, &file);
        let has_hash = row.build_id.is_some();
        assert_eq!(admitted.is_ok(), has_hash, "{row:?}: {admitted:?}");
        assert_eq!(names(&mut session, name).contains("spun"), has_hash);
    }
}

/// perf pads ids with zeros where it does not write their length. Two DSOs that differ in nothing
/// else are two, and the reading to the byte comes first.
#[test]
fn b10_padding_is_the_last_reading_and_never_one_of_two() {
    use RecordedBy::{Mmap, Stream, Table};
    let short = BuildId::from_hex("0123456789abcdef0123456789abcdef").expect("an id");
    let padded = BuildId::from_hex("0123456789abcdef0123456789abcdef00000000").expect("an id");
    let builds = Builds::new(Ids::None);
    let image = |id: BuildId| {
        let file = program(&builds.folder, "image", "f", &format!("0x{id}"));
        let bytes = fs::read(file).expect("a file");
        Image::open("image", Box::new(SliceSource::new(bytes))).expect("an image")
    };
    let recorded = |ids: &[(BuildId, RecordedBy)]| {
        let mut dsos = Dsos::default();
        for (index, &(id, recorded_by)) in ids.iter().enumerate() {
            let path = format!("/bin/{index}");
            let dso = dsos.intern(&path, DsoKind::User, MappedFrom::Nothing, None);
            dsos.get_mut(dso).identity = Some(Identity::Gnu(id));
            dsos.get_mut(dso).recorded_by = Some(recorded_by);
            dsos.get_mut(dso).id_length = match recorded_by {
                Mmap => IdLength::Recorded,
                Table | Stream => IdLength::AtMost,
            };
        }
        RecordedIdentities::new(&dsos)
    };
    let admit = |ids: &[(BuildId, RecordedBy)], found: BuildId| {
        let matched = MatchedImage::admit(&recorded(ids), image(found)).ok();
        matched.map_or(Vec::new(), |matched| matched.dsos().to_vec())
    };
    for unsure in [Table, Stream] {
        assert_eq!(admit(&[(padded, unsure)], short), [DsoId(0)]);
        assert_eq!(admit(&[(padded, unsure), (short, Mmap)], short), [DsoId(1)]);
        assert_eq!(admit(&[(short, Mmap), (padded, unsure)], padded), [DsoId(1)]);
    }
    // The kernel says how long an id is.
    assert_eq!(admit(&[(padded, Mmap)], short), []);
    assert_eq!(admit(&[(short, Mmap)], padded), []);
}

#[test]
fn b30_of_two_files_with_one_id_and_other_code_the_first_stays() {
    let builds = Builds::new(Ids::None);
    let id = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
    let first = program(&builds.folder, "twin", "first", id);
    let folder = builds.folder.join("other");
    fs::create_dir_all(&folder).expect("a folder");
    // Other instructions of the same size, a longer function, and the debug file of the latter.
    let patched = folder.join("patched");
    let mut bytes = fs::read(&first).expect("a file");
    let code = symbol_offset(&first, "first");
    bytes[code + 8] ^= 1;
    fs::write(&patched, bytes).expect("a file");
    let longer = SOURCE.replace("NAME", "second").replace("sink += i", "sink += i * sink");
    let longer = compile(&folder, "twin", &longer, &[&format!("-Wl,--build-id={id}")]);
    let debug = folder.join("twin.debug");
    super::builds::run("objcopy", &["--only-keep-debug", text(&longer), text(&debug)]);

    let (recording, _) = builds.record(&[], &[text(&first)]);
    for other in [&patched, &longer, &debug] {
        let mut session = open_path(&recording).expect("it opens");
        admit(&mut session, &first).expect("its id was recorded");
        let refused = admit(&mut session, other).expect_err("other code");
        let Rejection::SameIdOtherCode { found, first: kept } = &refused else {
            panic!("{}: {refused:?}", other.display());
        };
        assert_eq!((&format!("0x{found}"), kept.as_str()), (&id.to_owned(), text(&first)));
        let names = names(&mut session, "twin");
        assert!(names.contains("first") && !names.contains("second"), "{names:?}");
    }
    // Its own debug file is of the same code, however it was made.
    let own = builds.folder.join("twin.debug");
    super::builds::run("objcopy", &["--only-keep-debug", text(&first), text(&own)]);
    let stripped = builds.folder.join("stripped");
    super::builds::run("strip", &["-o", text(&stripped), text(&first)]);
    let mut session = open_path(&recording).expect("it opens");
    for file in [&stripped, &own, &first] {
        admit(&mut session, file).expect("the same code");
    }
}

/// File offset of a function; addresses of code and file offsets are the same where gcc's linker
/// puts code, which readelf confirms.
fn symbol_offset(file: &Path, name: &str) -> usize {
    let symbols = super::builds::run("nm", &[text(file)]);
    let line = symbols.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("a symbol");
    let address = u64::from_str_radix(&line[..16], 16).expect("hex");
    let segments = super::builds::run("readelf", &["-lW", text(file)]);
    let load = segments.lines().find(|line| line.contains("R E")).expect("code");
    let mut fields = load.split_whitespace().skip(1);
    let mut next = || {
        let field = fields.next().and_then(|it| it.strip_prefix("0x")).expect("a number");
        u64::from_str_radix(field, 16).expect("hex")
    };
    let (offset, start) = (next(), next());
    (address - start + offset) as usize
}

#[test]
fn b33_what_is_missing_is_said_by_name_and_id_and_stays_hex() {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&[], &[text(&builds.program), "120"]);
    let info = builds.perftab(&["info", text(&recording), "--json", "--no-local"]);
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    let rows = info["dsos"].as_array().expect("DSOs");
    let row = rows.iter().find(|row| row["path"] == text(&builds.program)).expect("a row");
    assert_eq!((&row["status"], &row["name"]), (&"missing".into(), &"tide".into()));
    assert_eq!(row["build_id"], super::builds::OLDER_ID);
    assert!(!row["hints"].as_array().expect("hints").is_empty(), "{row}");
    let functions = builds.functions(&recording, &[]);
    assert!(!functions.0.is_empty() && !functions.are_named());

    // Given another build under its name: that is said, with both ids, where it is looked for.
    let named = builds.folder.join("given/tide");
    fs::create_dir_all(named.parent().expect("a folder")).expect("a folder");
    fs::copy(&builds.newer, &named).expect("a copy");
    let report =
        builds.perftab(&["report", text(&recording), "--no-local", "--image", text(&named)]);
    let said = stderr(&report);
    for words in [super::builds::OLDER_ID, super::builds::NEWER_ID, text(&named)] {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
    let dsos = builds.dsos(&recording, &[&named]);
    assert_eq!(dsos[0]["status"], "mismatched");
    let tried = dsos[0]["tried"].as_array().expect("attempts");
    assert!(tried.iter().any(|it| it["what"] == text(&named)), "{tried:?}");
    let functions = builds.functions(&recording, &[&named]);
    assert!(!functions.are_named(), "{functions:?}");
}

/// A link keeps names, so it keeps whose they are; what had none is named by that build only.
#[test]
fn b46_names_kept_in_a_link_carry_the_id_that_they_came_from() {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&[], &[text(&builds.program), "120"]);
    let privacy = Privacy::everything();
    let options = ShareOptions { characters: 1 << 20, privacy, ..ShareOptions::default() };
    let mut session = open_path(&recording).expect("it opens");
    admit(&mut session, &builds.older).expect("it is what ran");
    session.name_all_frames();
    let payload = session.share(&options).expect("it fits").payload;

    let mut opened = Session::from_snapshot(&payload).expect("it opens");
    let row = |session: &Session| {
        let rows = session.dsos();
        rows.into_iter().find(|row| row.name == "tide" && row.samples > 0).expect("a row")
    };
    assert_eq!(row(&opened).build_id.as_deref(), Some(super::builds::OLDER_ID));
    assert_eq!(row(&opened).status, Status::Matched);
    admit(&mut opened, &builds.newer).expect_err("another build");
    let kept = names(&mut opened, "tide");
    assert!(kept.contains(OLDER) && !kept.contains(NEWER), "{kept:?}");

    // Without the file the link has addresses, and the id that says who may name them.
    let mut bare = open_path(&recording).expect("it opens");
    bare.name_all_frames();
    let payload = bare.share(&options).expect("it fits").payload;
    let mut opened = Session::from_snapshot(&payload).expect("it opens");
    admit(&mut opened, &builds.newer).expect_err("another build");
    assert_eq!(names(&mut opened, "tide"), BTreeSet::new());
    admit(&mut opened, &builds.older).expect("it is what ran");
    assert!(names(&mut opened, "tide").contains(OLDER));
}

/// The recorder keeps symbols of the kernel with the id of the kernel that they were read from.
/// If what was mapped is another kernel, they name nothing.
#[test]
fn b46_symbols_in_a_recording_count_for_the_id_beside_them_only() {
    const TEST: &str = "b46_symbols_in_a_recording_count_for_the_id_beside_them_only";
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&["-a"], &[text(&builds.program), "120"]);
    let bytes = fs::read(recording).expect("a recording");
    let kernel = |session: &mut Session| names(session, "[kernel.kallsyms]");
    let mut whole = open(&bytes).expect("it opens");
    let right = kernel(&mut whole);
    let rows = whole.dsos();
    let row = rows.iter().find(|row| row.kind == "kernel" && row.status == Status::Embedded);
    let Some(id) = row.and_then(|row| BuildId::from_hex(row.build_id.as_deref()?)) else {
        println!("SKIPPED: {TEST}: this machine hides the addresses of its kernel");
        return;
    };
    assert!(!right.is_empty());
    let id = id.as_bytes();
    let places = bytes.windows(id.len()).enumerate().filter(|(_, it)| *it == id);
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    // The symbols themselves are deflated, with the id that they are of beside them.
    let (mapping, table) = places.split_first().expect("the kernel's mapping has its id");
    let named_after = |changed: &[usize]| {
        let mut recording = bytes.clone();
        changed.iter().for_each(|place| recording[place + 7] ^= 0x20);
        kernel(&mut open(&recording).expect("it opens"))
    };
    assert_eq!(named_after(&[*mapping]), BTreeSet::new(), "of another kernel");
    assert_eq!(named_after(&places), BTreeSet::new(), "of another kernel");
    assert_eq!(named_after(table), right, "the mapping counts, and not the table");
}
