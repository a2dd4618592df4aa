//! Names of the kernel: b14 b15 b16 b19 b20 b21 b22 b23 b24 b25 b28 b32.
//!
//! Real parts: Debian's vmlinux with the recordings, kallsyms and notes of a guest that
//! ran them, moved by KASLR; this machine's kernel as perf records it. What a name must be is said
//! by the kernel's own /proc/kallsyms, `nm` and `addr2line`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::Session;
use perftab_images::{Image, Rejection, stamped_kallsyms};
use perftab_names::Status;
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_profile::DsoKind;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::guest::Guest;
use perftab_tests::open::{open, open_path};
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::synth::{
    At, Attr, BuildIdEntry, Event, MappedFile, Mapping, Order, Recording, Sample, TableLayout,
};

const KERNEL: u16 = kernel::PERF_RECORD_MISC_KERNEL as u16;
const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
/// What perf writes where the end of the kernel is not known.
pub const UNKNOWN_END: u64 = u64::MAX;

/// All names of each address.
type Names = BTreeMap<u64, BTreeSet<String>>;

/// The kernel's own functions in a text like /proc/kallsyms.
fn kallsyms_functions(text: &str) -> Names {
    let mut names = Names::new();
    for line in text.lines().filter(|line| !line.contains('\t')) {
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        if matches!(fields[1], "t" | "T" | "w" | "W") {
            let address = u64::from_str_radix(fields[0], 16).expect("an address");
            names.entry(address).or_default().insert(fields[2].to_owned());
        }
    }
    names
}

/// The names of the nearest function at or below an address.
fn names_at(names: &Names, address: u64) -> Option<&BTreeSet<String>> {
    Some(names.range(..=address).next_back()?.1)
}

pub fn output(command: &mut Command) -> String {
    let output = command.ended().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The guest's vmlinux without its half gigabyte of DWARF, made once for this program.
fn vmlinux(guest: &Guest) -> &'static Path {
    static STRIPPED: OnceLock<(TestFolder, PathBuf)> = OnceLock::new();
    let (_, path) = STRIPPED.get_or_init(|| {
        let folder = TestFolder::new();
        let path = folder.join("vmlinux");
        output(Command::new("objcopy").arg("--strip-debug").arg(guest.kernel.vmlinux()).arg(&path));
        (folder, path)
    });
    path
}

/// The guest's kernel as it says itself.
pub struct GuestKernelFacts {
    id: BuildId,
    notes: Vec<u8>,
    kallsyms: String,
}

impl GuestKernelFacts {
    pub fn of(guest: &Guest) -> Self {
        let notes = fs::read(guest.file("notes")).expect("the guest's notes");
        // NT_GNU_BUILD_ID, wherever it stands: found by readelf's rules, not by ours.
        let at = notes.windows(8).position(|it| it == b"\x03\0\0\0GNU\0").expect("a build-id");
        let kallsyms = fs::read_to_string(guest.file("kallsyms")).expect("the guest's kallsyms");
        Self { id: BuildId::new(&notes[at + 8..at + 28]).expect("an id"), notes, kallsyms }
    }

    pub fn address_of(&self, name: &str) -> u64 {
        let end = format!(" {name}");
        let line = self.kallsyms.lines().find(|line| line.ends_with(&end)).expect("a symbol");
        u64::from_str_radix(&line[..16], 16).expect("an address")
    }
}

/// A recording of nothing yet.
pub fn recording() -> Recording {
    let sample_type = kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID | kernel::PERF_SAMPLE_TIME;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, sample_type);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "cpu-clock", attr, 1)]);
    recording.feature_string(3, "host"); // else it seems unfinished
    recording
}

/// A mapping in the kernel, as perf makes it up.
pub fn map(it: &mut Recording, path: &str, range: std::ops::Range<u64>, offset: u64, id: &[u8]) {
    let file = match id {
        [] => MappedFile::Inode(0, 0, 0, 0),
        id => MappedFile::BuildId(id),
    };
    let (pid, tid, addresses) = (u32::MAX, 0, range);
    it.mmap2(At::default(), &Mapping { misc: KERNEL, pid, tid, addresses, offset, file, path });
}

pub fn samples(it: &mut Recording, addresses: impl IntoIterator<Item = u64>) {
    for (time, ip) in (1..).zip(addresses) {
        let (misc, pid, tid) = (KERNEL, 7, 7);
        it.sample(0, &Sample { misc, ip, pid, tid, time, period: 1, ..Sample::default() });
    }
}

pub fn opened(it: &Recording) -> Session {
    open(&it.file()).expect("it opens")
}

pub fn admit(session: &mut Session, path: &Path) -> Result<(), Rejection> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let admitted = session.admit(&path.to_string_lossy(), Box::new(SliceSource::new(bytes)));
    session.name_all_frames();
    admitted.map(|_| ())
}

/// Addresses and names of all frames in DSOs of a kind.
pub fn names(session: &Session, kind: DsoKind) -> Vec<(u64, Option<String>)> {
    let profile = session.profile();
    let of_kind =
        profile.frames.iter().filter(|(_, frame)| profile.dsos.get(frame.dso).kind == kind);
    let symbols = session.symbols();
    let name = |id| symbols.function(symbols.merged(id)).name.map(str::to_owned);
    of_kind.map(|(id, frame)| (frame.address, name(id))).collect()
}

pub fn named(session: &Session, kind: DsoKind) -> usize {
    names(session, kind).iter().filter(|(_, name)| name.is_some()).count()
}

/// Every name is one that the kernel itself has there, and most addresses have one.
#[track_caller]
fn check_kernel(session: &Session, truth: &Names) {
    let all = names(session, DsoKind::Kernel);
    let mut count = 0;
    for (address, name) in &all {
        let Some(name) = name else { continue };
        let expected = names_at(truth, *address);
        assert!(expected.is_some_and(|it| it.contains(name)), "{address:x}: {name}, {expected:?}");
        count += 1;
    }
    assert!(count * 100 >= all.len() * 97, "{count} of {} have a name", all.len());
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b24_b32_a_real_kernel_moved_by_kaslr_is_named_by_its_vmlinux() {
    let test = "b24_b32_a_real_kernel_moved_by_kaslr_is_named_by_its_vmlinux";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let truth = kallsyms_functions(&booted.kallsyms);
    for file in ["perf.data", "perf-buildid-mmap.data"] {
        let mut session = open_path(&guest.file(file)).expect("it opens");
        assert_eq!(named(&session, DsoKind::Kernel), 0);
        admit(&mut session, vmlinux(guest)).expect("the guest's kernel");
        check_kernel(&session, &truth);
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b14_b15_b16_an_entry_under_any_path_is_the_kernels_and_both_are_shown() {
    let test = "b14_b15_b16_an_entry_under_any_path_is_the_kernels_and_both_are_shown";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let truth = kallsyms_functions(&booted.kallsyms);
    let (start, end) = (booted.address_of("_text"), booted.address_of("_etext"));
    let module = [7; 20];
    for path in ["/home/me/linux/build/vmlinux", "/boot/vmlinux-6.1.0-56", "/k", "vmlinux"] {
        let mut it = recording();
        map(&mut it, "[kernel.kallsyms]_text", start..end, start, &[]);
        map(&mut it, "/opt/driver/fast-net", end..end + 4096, 0, &[]);
        samples(&mut it, truth.range(start..end).map(|(&address, _)| address).step_by(97));
        let entry = |name, id| BuildIdEntry { misc: KERNEL, pid: -1, id, name };
        let entries =
            [entry("/opt/driver/fast-net", &module[..]), entry(path, booted.id.as_bytes())];
        it.build_ids(TableLayout::WithSize, &entries);

        let mut session = opened(&it);
        let row = |session: &Session, kind| {
            let row = session.dsos().into_iter().find(|row| row.kind == kind).expect("a row");
            (row.path, row.listed_as, row.build_id)
        };
        let id = Some(booted.id.to_string());
        let expected = ("[kernel.kallsyms]".to_owned(), Some(path.to_owned()), id);
        assert_eq!(row(&session, "kernel"), expected);
        let expected = ("/opt/driver/fast-net".to_owned(), None, Some("07".repeat(20)));
        assert_eq!(row(&session, "module"), expected);
        admit(&mut session, vmlinux(guest)).expect("the kernel");
        check_kernel(&session, &truth);

        let folder = TestFolder::new();
        let file = folder.write("perf.data", &it.file());
        let list = output(Command::new(perftab_binary()).args(["buildid", "list"]).arg(&file));
        let line = |line: &&str| line.starts_with(&booted.id.to_string());
        let line = list.lines().find(line).expect("a line for the kernel");
        assert!(line.contains(path) || line.contains("[kernel.kallsyms]"), "{line}");
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b24_the_symbol_that_was_recorded_is_the_one_that_moves_the_kernel() {
    let test = "b24_the_symbol_that_was_recorded_is_the_one_that_moves_the_kernel";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let (text, end) = (booted.address_of("_text"), booted.address_of("_etext"));
    let truth = kallsyms_functions(&booted.kallsyms);
    let id = booted.id.as_bytes();
    let named_with = |path: &str, offset: u64| {
        let mut it = recording();
        map(&mut it, path, text..end, offset, id);
        samples(&mut it, truth.range(text..end).map(|(&address, _)| address).step_by(997));
        let mut session = opened(&it);
        admit(&mut session, vmlinux(guest)).expect("the kernel");
        if named(&session, DsoKind::Kernel) > 0 {
            check_kernel(&session, &truth);
        }
        let row = session.dsos().into_iter().find(|row| row.kind == "kernel").expect("a row");
        (named(&session, DsoKind::Kernel) > 0, row.reason.is_some())
    };
    // `_stext` is where `_text` is on x86.
    for path in [
        "[kernel.kallsyms]_text",
        "[kernel.kallsyms]_stext",
        "[kernel.kallsyms]",
        "[kernel.kallsyms._text]",
        "[kernel.kallsyms]_text and what a later perf adds",
    ] {
        assert_eq!(named_with(path, text), (true, false), "{path}");
        // Hidden: nothing says how far it was moved, and that is said.
        assert_eq!(named_with(path, 0), (false, true), "{path}");
    }
    // A symbol that the vmlinux has not, and an address that is none of a kernel's start.
    assert_eq!(named_with("[kernel.kallsyms]somewhere", text), (false, true));
    assert_eq!(named_with("[kernel.kallsyms]_text", text + 0x40), (false, true));
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b23_kallsyms_are_those_of_the_id_in_the_notes_wherever_it_stands() {
    let test = "b23_kallsyms_are_those_of_the_id_in_the_notes_wherever_it_stands";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let truth = kallsyms_functions(&booted.kallsyms);
    let own = own_note(&booted.id);
    let other = [&b"\x04\0\0\0\x14\0\0\0\x03\0\0\0Xen\0"[..], &[9; 20]].concat();
    let others = [&b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"[..], &[9; 20]].concat();
    let admitted = |notes: &[u8]| {
        let mut session = open_path(&guest.file("perf.data")).expect("it opens");
        let source = Box::new(SliceSource::new(booted.kallsyms.clone().into_bytes()));
        let image = Image::open_kallsyms("/proc/kallsyms", source, notes);
        let admitted = session.admit_image("/proc/kallsyms", image).is_ok();
        session.name_all_frames();
        check_if(admitted, &session, &truth);
        admitted
    };
    assert!(admitted(&booted.notes), "the guest's notes");
    assert!(admitted(&[&other[..], &own].concat()), "behind another of its type");
    assert!(admitted(&[&own[..], &other].concat()), "before it");
    assert!(!admitted(&others), "the notes of another kernel");
    assert!(!admitted(b""), "none");
}

fn own_note(id: &BuildId) -> Vec<u8> {
    [&b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"[..], id.as_bytes()].concat()
}

#[track_caller]
fn check_if(admitted: bool, session: &Session, truth: &Names) {
    match admitted {
        true => check_kernel(session, truth),
        false => assert_eq!(named(session, DsoKind::Kernel), 0),
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b20_b32_copies_of_kallsyms_name_their_own_kernel_and_no_other() {
    let test = "b20_b32_copies_of_kallsyms_name_their_own_kernel_and_no_other";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let truth = kallsyms_functions(&booted.kallsyms);
    let offer = |image: Result<Image, _>| {
        let mut session = open_path(&guest.file("perf.data")).expect("it opens");
        let admitted = session.admit_image("kallsyms", image).map(|_| ());
        session.name_all_frames();
        check_if(admitted.is_ok(), &session, &truth);
        admitted
    };
    let source = |bytes: &[u8]| Box::new(SliceSource::new(bytes.to_vec()));
    let cached = |text: &str| {
        offer(Image::open_cached_kallsyms("kallsyms", source(text.as_bytes()), booted.id))
    };
    let text = &booted.kallsyms;
    // As perf keeps it: the folder's name is believed only with both ends of the kernel.
    assert_eq!(cached(text), Ok(()));
    let moved = |by: u64| -> String {
        let line = |line: &str| {
            let address = u64::from_str_radix(&line[..16], 16).expect("an address");
            let address = if address >> 63 == 1 { address.wrapping_add(by) } else { address };
            format!("{address:016x}{}\n", &line[16..])
        };
        text.lines().map(line).collect()
    };
    let other_boot = moved(0x20_0000);
    assert!(matches!(cached(&other_boot), Err(Rejection::KallsymsDisagrees { .. })));
    // Another kernel at the same place, as every kernel without KASLR is: it ends elsewhere.
    let etext = format!("{:016x} T _etext", booted.address_of("_etext"));
    let longer = format!("{:016x} T _etext", booted.address_of("_etext") + 0x1000);
    let other_kernel = text.replace(&etext, &longer);
    assert!(matches!(cached(&other_kernel), Err(Rejection::KallsymsDisagrees { .. })));
    // With a stamp it is slid, whatever boot it is of; and it holds for one id only.
    for text in [text, &other_boot] {
        let stamped = |id| stamped_kallsyms(id, text.as_bytes());
        assert_eq!(offer(Image::open("kallsyms", source(&stamped(booted.id)))), Ok(()));
        let other = BuildId::new(&[9; 20]).expect("an id");
        let refused = offer(Image::open("kallsyms", source(&stamped(other))));
        assert!(matches!(refused, Err(Rejection::NothingRecordedHasIt { .. })));
    }
    let bare = offer(Image::open("kallsyms", source(text.as_bytes())));
    assert_eq!(bare, Err(Rejection::KallsymsWithoutIdentity));
    let hidden: String = text.lines().map(|line| format!("{:016x}{}\n", 0, &line[16..])).collect();
    let hidden = offer(Image::open_kallsyms("kallsyms", source(hidden.as_bytes()), &booted.notes));
    assert!(matches!(hidden, Err(Rejection::KallsymsUnusable { .. })), "{hidden:?}");
}

/// The guest's vmlinux with one bit of its note changed: another build.
fn rebuilt(guest: &Guest, booted: &GuestKernelFacts) -> Vec<u8> {
    let mut rebuilt = fs::read(vmlinux(guest)).expect("the kernel");
    let note = own_note(&booted.id);
    let at = rebuilt.windows(note.len()).position(|it| it == note).expect("its note");
    rebuilt[at + note.len() - 1] ^= 1;
    rebuilt
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b21_b22_b30_a_vmlinux_that_was_rebuilt_behind_its_link_is_refused() {
    let test = "b21_b22_b30_a_vmlinux_that_was_rebuilt_behind_its_link_is_refused";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let folder = TestFolder::new();
    let link = folder.join("vmlinux");
    std::os::unix::fs::symlink(vmlinux(guest), &link).expect("a link");
    let mut session = open_path(&guest.file("perf.data")).expect("it opens");
    admit(&mut session, &link).expect("the kernel that ran");

    let rebuilt = folder.write("rebuilt", &rebuilt(guest, &booted));
    fs::remove_file(&link).expect("the link");
    std::os::unix::fs::symlink(rebuilt, &link).expect("a link");
    let mut session = open_path(&guest.file("perf.data")).expect("it opens");
    let refused = admit(&mut session, &link);
    assert!(matches!(refused, Err(Rejection::NothingRecordedHasIt { .. })), "{refused:?}");
    assert_eq!(named(&session, DsoKind::Kernel), 0);
    let row = session.dsos().into_iter().find(|row| row.kind == "kernel").expect("a row");
    assert_eq!(row.status, Status::Mismatched);
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b20_b28_b33_elsewhere_nothing_of_the_running_kernel_is_used_and_what_is_missing_is_said() {
    let test =
        "b20_b28_b33_elsewhere_nothing_of_the_running_kernel_is_used_and_what_is_missing_is_said";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let home = TestFolder::new();
    let perftab = |arguments: &[&str]| {
        let mut command = Command::new(perftab_binary());
        command.args(arguments).arg(guest.file("perf.data"));
        command.env("HOME", &*home).env("XDG_CACHE_HOME", &*home).env_remove("DEBUGINFOD_URLS");
        let output = command.ended().expect("perftab runs");
        assert!(output.status.success(), "{output:?}");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (report, said) = perftab(&["report", "--json"]);
    let missing = format!("No kallsyms or vmlinux with build-id {} was found", booted.id);
    assert!(said.contains(&missing), "{said}");
    let reason = format!("Only kallsyms or a vmlinux with build-id {} has its names", booted.id);
    assert!(report.contains(&reason), "the reason stands in the row of the kernel");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let functions = report["functions"].as_array().expect("functions");
    let of_kernel = functions.iter().filter(|it| it["dso"] == "[kernel.kallsyms]");
    assert!(of_kernel.clone().count() > 10);
    assert!(of_kernel.clone().all(|it| it["name"].is_null()), "{of_kernel:?}");

    let (list, _) = perftab(&["buildid", "list", "-H"]);
    let kernel = format!("{} [kernel.kallsyms]", booted.id);
    assert!(list.lines().any(|line| line == kernel), "{list}");
    assert!(!list.contains(&"0".repeat(40)), "{list}");
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b25_a_vmlinux_that_is_named_skips_the_search_and_is_marked_unless_it_matches() {
    let test = "b25_a_vmlinux_that_is_named_skips_the_search_and_is_marked_unless_it_matches";
    let Some(guest) = Guest::get(test) else { return };
    let booted = GuestKernelFacts::of(guest);
    let home = TestFolder::new();
    let id = booted.id.to_string();
    // What a search would find, and take.
    let cached = format!(".debug/.build-id/{}/{}/kallsyms", &id[..2], &id[2..]);
    home.write(&cached, &stamped_kallsyms(booted.id, booted.kallsyms.as_bytes()));
    let rebuilt = home.write("vmlinux-rebuilt", &rebuilt(guest, &booted));
    // The kernel's row, and which of its functions have names and marks.
    let report = |vmlinux: Option<&Path>| {
        let mut command = Command::new(perftab_binary());
        command.args(["report", "--json"]).arg(guest.file("perf.data"));
        vmlinux.iter().for_each(|path| _ = command.arg("--vmlinux").arg(path));
        command.env("HOME", &*home).env("XDG_CACHE_HOME", &*home).env_remove("DEBUGINFOD_URLS");
        let report: serde_json::Value = serde_json::from_str(&output(&mut command)).expect("JSON");
        let dsos = report["dsos"].as_array().expect("DSOs");
        let row = dsos.iter().find(|row| row["kind"] == "kernel").expect("the kernel").clone();
        let functions = report["functions"].as_array().expect("functions").clone();
        let named = functions
            .into_iter()
            .filter(|it| it["dso"] == "[kernel.kallsyms]" && !it["name"].is_null());
        let (forced, honest): (Vec<_>, Vec<_>) = named.partition(|it| it["forced"] == true);
        let image = row["image"].as_str().unwrap_or_default().to_owned();
        (row["status"].as_str().expect("a status").to_owned(), image, forced.len(), honest.len())
    };
    let (status, image, forced, honest) = report(None);
    assert_eq!((&*status, forced), ("matched", 0));
    assert!(image.ends_with("kallsyms") && honest > 10, "{image}: {honest}");
    let (status, image, forced, honest) = report(Some(vmlinux(guest)));
    assert_eq!((&*status, &*image, forced), ("matched", &*vmlinux(guest).to_string_lossy(), 0));
    assert!(honest > 10);
    let (status, image, forced, honest) = report(Some(&rebuilt));
    assert_eq!((&*status, &*image, honest), ("forced", &*rebuilt.to_string_lossy(), 0));
    assert!(forced > 10);
}

#[test]
fn b24_b32_text_and_stext_are_not_taken_for_each_other() {
    // On arm64 `_stext` lies 64 KiB behind `_text`.
    let (text, stext) = (0xffff_8000_0800_0000_u64, 0xffff_8000_0801_0000_u64);
    let function = |n: u64| stext + n * 0x100;
    let mut kallsyms = format!("{text:016x} T _text\n{stext:016x} T _stext\n");
    for n in 1..0x800 {
        kallsyms.push_str(&format!("{:016x} t function_{n:x}\n", function(n)));
    }
    kallsyms.push_str(&format!("{:016x} T _etext\n", function(0x800)));
    let id = [5; 20];
    let name_with = |path: &str, reference: u64, slide: u64| {
        let mut it = recording();
        let range = text + slide..function(0x800) + slide;
        map(&mut it, path, range, reference + slide, &id);
        samples(&mut it, [function(0x123) + slide + 4]);
        let mut session = opened(&it);
        let stamped = stamped_kallsyms(BuildId::new(&id).expect("an id"), kallsyms.as_bytes());
        let admitted = session.admit("kallsyms", Box::new(SliceSource::new(stamped)));
        assert!(admitted.is_ok(), "{admitted:?}");
        session.name_all_frames();
        names(&session, DsoKind::Kernel).remove(0).1
    };
    let expected = Some("function_123".to_owned());
    for slide in [0, 0x20_0000, 0x1234_0000] {
        assert_eq!(name_with("[kernel.kallsyms]_text", text, slide), expected);
        assert_eq!(name_with("[kernel.kallsyms]_stext", stext, slide), expected);
        // Which of the two it was is not recorded.
        assert_eq!(name_with("[kernel.kallsyms]", text, slide), None);
    }
}

#[test]
fn b20_what_perf_records_of_this_kernel_is_named_as_perf_names_it() {
    let test = "b20_what_perf_records_of_this_kernel_is_named_as_perf_names_it";
    let folder = TestFolder::new();
    let hidden = fs::read_to_string("/proc/kallsyms")
        .is_ok_and(|text| text.lines().take(50).all(|line| line.starts_with("0000000000000000")));
    let installed = Command::new("perf").arg("--version").ended().is_ok();
    if hidden || !installed {
        println!("SKIPPED: {test}: no perf, or kernel.kptr_restrict hides the kernel's addresses");
        return;
    }
    let file = folder.join("perf.data");
    let perf = || {
        let mut perf = Command::new("perf");
        perf.env("HOME", &*folder);
        perf
    };
    let mut record = perf();
    record.args(["record", "-q", "-e", "cpu-clock", "-F", "2000", "-o"]).arg(&file).args([
        "--",
        "find",
        "/usr/share/doc",
        "/usr/lib",
        "-name",
        "no such file",
    ]);
    let recorded = until_the_kernel_lets(&mut record).expect("perf runs");
    assert!(recorded.status.success(), "{recorded:?}");
    let script = output(
        perf().args(["script", "-F", "ip,sym", "--kallsyms=/proc/kallsyms", "-i"]).arg(&file),
    );
    let by_perf: HashMap<u64, String> = script
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .filter_map(|(ip, name)| {
            let ip = u64::from_str_radix(ip, 16).ok().filter(|ip| ip >> 63 == 1)?;
            Some((ip, name.trim().to_owned()))
        })
        .collect();
    assert!(by_perf.len() > 20, "few samples in the kernel: {script}");

    let mut session = open_path(&file).expect("it opens");
    let read = |path: &str| fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let source = Box::new(SliceSource::new(read("/proc/kallsyms")));
    let image = Image::open_kallsyms("/proc/kallsyms", source, &read("/sys/kernel/notes"));
    session.admit_image("/proc/kallsyms", image).expect("this kernel");
    session.name_all_frames();
    let by_us: HashMap<u64, Option<String>> =
        names(&session, DsoKind::Kernel).into_iter().collect();
    for (address, name) in &by_perf {
        let of_us = by_us.get(address).cloned().flatten();
        assert_eq!(of_us.as_deref(), Some(name.as_str()), "{address:x}");
    }

    // What perf put into its cache at the end of the recording is taken from there.
    let id = session.profile().dsos.iter().find(|(_, dso)| dso.kind == DsoKind::Kernel);
    let id = id.and_then(|(_, dso)| dso.build_id()).expect("the kernel's id").to_string();
    let cached = folder.join(format!(".debug/.build-id/{}/{}/kallsyms", &id[..2], &id[2..]));
    if cached.is_file() {
        let mut session = open_path(&file).expect("it opens");
        let source = Box::new(SliceSource::new(fs::read(&cached).expect("the copy")));
        let id = BuildId::from_hex(&id).expect("an id");
        let image = Image::open_cached_kallsyms("kallsyms", source, id);
        session.admit_image("kallsyms", image).expect("perf's copy");
        session.name_all_frames();
        assert_eq!(named(&session, DsoKind::Kernel), by_us.values().flatten().count());
    }
}

#[test]
fn b19_names_under_three_characters_are_dsos_like_others() {
    let mut it = recording();
    map(&mut it, "[kernel.kallsyms]_text", 1 << 63..(1 << 63) + 4096, 1 << 63, &[1; 20]);
    for (number, path) in (1..).zip(["[a]", "/b", "[]", "["]) {
        let start = (1 << 63) + number * 0x10000;
        map(&mut it, path, start..start + 4096, 0, &[]);
        samples(&mut it, [start + 8]);
    }
    let (misc, pid, tid, path) = (USER, 7, 7, "/c");
    let file = MappedFile::BuildId(&[6; 20]);
    it.mmap2(
        At { pid, tid, ..At::default() },
        &Mapping { misc, pid, tid, addresses: 0x1000..0x2000, offset: 0, file, path },
    );
    let entry = |id, name| BuildIdEntry { misc: KERNEL, pid: -1, id, name };
    let ids = [[2; 20], [3; 20], [1; 20]];
    let entries = [entry(&ids[0], "/x/a.ko"), entry(&ids[1], "/b"), entry(&ids[2], "k")];
    it.build_ids(TableLayout::WithSize, &entries);
    let rows: BTreeMap<String, (String, Option<String>)> = opened(&it)
        .dsos()
        .into_iter()
        .map(|row| (row.path, (row.kind.to_owned(), row.build_id)))
        .collect();
    let expect = |path: &str, kind: &str, id: Option<u8>| {
        let id = id.map(|id| format!("{id:02x}").repeat(20));
        assert_eq!(rows.get(path), Some(&(kind.to_owned(), id)), "{path}: {rows:?}");
    };
    expect("[kernel.kallsyms]", "kernel", Some(1));
    expect("[a]", "module", Some(2));
    expect("/b", "module", Some(3));
    expect("[]", "module", None);
    expect("[", "module", None);
    expect("/c", "user", Some(6));
}
