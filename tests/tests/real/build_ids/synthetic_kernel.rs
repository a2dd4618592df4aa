//! What is required of kernels and modules, without a guest: a kernel and modules that gcc made here,
//! and recordings that say where they lay. What a name must be is said by `nm` and `readelf`.
//!
//! A real kernel that really ran is in `modules.rs`, `module_files.rs` and `kernel.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use perf_event_open_sys::bindings::PERF_RECORD_MISC_KERNEL;
use perftab_images::{Rejection, stamped_kallsyms};
use perftab_names::Status;
use perftab_perfdata::format::BuildId;
use perftab_profile::DsoKind;
use perftab_snapshot::decode;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::servers::{Debuginfod, Viewer};
use perftab_tests::synth::{At, BuildIdEntry, MappedFile, Mapping, Recording, Sample, TableLayout};
use perftab_tests::{http, perftab_at};
use serde_json::Value;

use crate::build_ids::cache::kcore::kcore_of;
use crate::build_ids::kernel::{admit, map, named, names, opened, output, recording, samples};

const KERNEL: u16 = PERF_RECORD_MISC_KERNEL as u16;
/// Where the kernel is linked.
const TEXT: u64 = 0xffff_ffff_8100_0000;
/// Where a module is loaded.
pub const PLACE: u64 = 0xffff_ffff_c040_0000;
pub const KERNEL_ID: [u8; 20] = [0x5e; 20];
pub const REBUILT_ID: [u8; 20] = [0x5f; 20];
pub const MODULE_ID: [u8; 20] = [0x70; 20];
pub const OTHER_MODULE_ID: [u8; 20] = [0x71; 20];

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Functions of 64 bytes one behind the other, in assembly.
fn functions(name: &str, count: usize) -> String {
    let function = |n| {
        let name = format!("{name}_{n}");
        format!(".type {name},@function\n{name}: .skip 64, 0x90\n.size {name}, .-{name}\n")
    };
    (0..count).map(function).collect()
}

/// Assembles `source` to an object file.
fn assemble(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (file, object) = (folder.join(format!("{name}.s")), folder.join(format!("{name}.o")));
    fs::write(&file, source).expect("the source is written");
    output(Command::new("gcc").args(["-g", "-c", "-o"]).args([&object, &file]));
    object
}

/// A kernel as far as symbols, addresses and its note go.
pub fn kernel(folder: &Path, name: &str, functions_are: &str, id: &[u8]) -> PathBuf {
    let functions = functions(functions_are, 40);
    let source = format!(
        ".text\n.globl _text, _stext, _etext\n_text:\n_stext: .skip 4096, 0x90\n{functions}_etext:\n"
    );
    let (object, file) = (assemble(folder, name, &source), folder.join(name));
    let id = format!("--build-id=0x{}", hex(id));
    let place = format!("-Ttext={TEXT:#x}");
    output(Command::new("ld").args(["-e", "_text", &place, &id, "-o"]).args([&file, &object]));
    file
}

/// A module with two sections of code that stay, and one that goes when it has been initialized.
pub fn module(folder: &Path, name: &str, functions_are: &str, id: &[u8]) -> PathBuf {
    let of = |section: &str| functions(&format!("{functions_are}_{section}"), 20);
    let source = format!(
        ".text\n.skip 16, 0x90\n{}.section .init.text,\"ax\",@progbits\n{}\
         .section .seldom.text,\"ax\",@progbits\n.balign 256\n{}",
        of("often"),
        of("once"),
        of("seldom")
    );
    let (object, file) = (assemble(folder, name, &source), folder.join(format!("{name}.ko")));
    let id = format!("--build-id=0x{}", hex(id));
    output(Command::new("ld").args(["-r", &id, "-o"]).args([&file, &object]));
    file
}

/// By address: functions as `nm` lists them.
pub fn by_nm(file: &Path) -> BTreeMap<u64, String> {
    let text = output(Command::new("nm").arg(file));
    let symbol = |line: &str| {
        let [address, "t" | "T", name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let is_function = name.rsplit('_').next().is_some_and(|end| end.parse::<u32>().is_ok());
        let address = u64::from_str_radix(address, 16).expect("an address");
        is_function.then(|| (address, name.to_owned()))
    };
    text.lines().filter_map(symbol).collect()
}

/// By address behind the module's start: functions that stay, laid out as kernel/module/main.c does:
/// sections of code in the file's order, each at a multiple of its alignment, without `.init`.
pub fn of_loaded(file: &Path) -> BTreeMap<u64, String> {
    let sections = output(Command::new("readelf").arg("-SW").arg(file));
    let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut end = 0_u64;
    for line in sections.lines() {
        let Some((_, rest)) = line.split_once("] ") else { continue };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // Name, type, address, offset, size, entry size, flags, link, info, alignment.
        if fields.len() == 10 && fields[6] == "AX" && !fields[0].starts_with(".init") {
            let start = end.next_multiple_of(fields[9].parse().expect("an alignment"));
            starts.insert(fields[0], start);
            end = start + u64::from_str_radix(fields[4], 16).expect("a size");
        }
    }
    assert_eq!(starts.len(), 2, "{sections}");
    // `ADDRESS l F SECTION SIZE NAME`
    let symbols = output(Command::new("objdump").arg("-t").arg(file));
    let symbol = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let start = starts.get(fields.get(3)?).filter(|_| fields[2] == "F")?;
        Some((start + u64::from_str_radix(fields[0], 16).ok()?, (*fields.last()?).to_owned()))
    };
    let functions: BTreeMap<u64, String> = symbols.lines().filter_map(symbol).collect();
    assert_eq!(functions.len(), 40, "{symbols}");
    functions
}

/// A recording of the kernel that lies `slide` bytes behind where it was linked, with a sample in
/// each of its functions.
pub fn of_kernel(functions: &BTreeMap<u64, String>, slide: u64, id: &[u8]) -> Recording {
    let mut it = recording();
    let end = TEXT + 4096 + 40 * 64;
    map(&mut it, "[kernel.kallsyms]_text", TEXT + slide..end + slide, TEXT + slide, id);
    samples(&mut it, functions.keys().map(|address| address + slide + 4));
    it
}

/// What `perftab report --json` says with these arguments.
fn report(home: &Path, recording: &Path, arguments: &[&str]) -> Value {
    let mut command = perftab_at(home, &[&["report", "--json"], arguments].concat());
    serde_json::from_str(&output(command.arg(recording))).expect("JSON")
}

/// Names of the functions in DSOs with this path, and whether they were forced.
fn named_in(report: &Value, dso: &str) -> Vec<(String, bool)> {
    let functions = report["functions"].as_array().expect("functions").iter();
    let of_dso = functions.filter(|it| it["dso"] == dso);
    of_dso.filter_map(|it| Some((it["name"].as_str()?.to_owned(), it["forced"] == true))).collect()
}

fn row_of<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let rows = report["dsos"].as_array().expect("DSOs");
    rows.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {rows:?}"))
}

#[test]
fn b21_b30_a_vmlinux_that_was_rebuilt_behind_its_link_names_nothing() {
    let folder = TestFolder::new();
    let vmlinux = kernel(&folder, "vmlinux-6.1.0", "made", &KERNEL_ID);
    let rebuilt = kernel(&folder, "vmlinux-6.1.1", "rebuilt", &REBUILT_ID);
    let link = folder.join("vmlinux");
    symlink(&vmlinux, &link).expect("a link");
    let it = of_kernel(&by_nm(&vmlinux), 0, &KERNEL_ID);
    let mut session = opened(&it);
    admit(&mut session, &link).expect("the kernel that was recorded");
    assert_eq!(named(&session, DsoKind::Kernel), 40);

    fs::remove_file(&link).expect("the link");
    symlink(&rebuilt, &link).expect("a link");
    let mut session = opened(&it);
    let refused = admit(&mut session, &link).expect_err("another kernel");
    assert!(
        matches!(&refused, Rejection::NothingRecordedHasIt { found, .. } if *found == hex(&REBUILT_ID)),
        "{refused:?}"
    );
    assert_eq!(named(&session, DsoKind::Kernel), 0);
    let row = session.dsos().into_iter().find(|row| row.kind == "kernel").expect("a row");
    assert_eq!(row.status, Status::Mismatched);
}

#[test]
fn b24_b32_a_moved_kernel_is_named_as_nm_names_it_and_no_other_at_its_place() {
    let folder = TestFolder::new();
    let vmlinux = kernel(&folder, "vmlinux", "made", &KERNEL_ID);
    let other = kernel(&folder, "other", "other", &REBUILT_ID);
    let functions = by_nm(&vmlinux);
    assert_eq!(functions.len(), 40);
    for slide in [0, 0x20_0000, 0x1fe0_0000] {
        let mut session = opened(&of_kernel(&functions, slide, &KERNEL_ID));
        admit(&mut session, &other).expect_err("the same addresses, another kernel");
        assert_eq!(named(&session, DsoKind::Kernel), 0);
        admit(&mut session, &vmlinux).expect("the kernel that was recorded");
        let found: BTreeMap<u64, String> = names(&session, DsoKind::Kernel)
            .into_iter()
            .filter_map(|(address, name)| Some((address - slide - 4, name?)))
            .collect();
        assert_eq!(found, functions, "moved by {slide:#x}");
    }
}

#[test]
fn b14_b15_b16_the_tables_entry_for_the_kernel_counts_under_any_path() {
    let folder = TestFolder::new();
    let vmlinux = kernel(&folder, "made", "made", &KERNEL_ID);
    let functions = by_nm(&vmlinux);
    for path in ["/home/me/linux/vmlinux", "/boot/vmlinux-6.1.0-56", "/k", "vmlinux"] {
        let mut it = of_kernel(&functions, 0, &[]);
        map(&mut it, "/opt/driver/fast-net", PLACE..PLACE + 4096, 0, &[]);
        let entry = |name, id| BuildIdEntry { misc: KERNEL, pid: -1, id, name };
        let entries = [entry("/opt/driver/fast-net", &MODULE_ID[..]), entry(path, &KERNEL_ID)];
        it.build_ids(TableLayout::WithSize, &entries);
        let mut session = opened(&it);
        let row = |kind: &str| {
            let row = session.dsos().into_iter().find(|row| row.kind == kind).expect("a row");
            (row.path, row.listed_as, row.build_id)
        };
        let listed_as = Some(path.to_owned());
        let expected = ("[kernel.kallsyms]".to_owned(), listed_as, Some(hex(&KERNEL_ID)));
        assert_eq!(row("kernel"), expected);
        let expected = ("/opt/driver/fast-net".to_owned(), None, Some(hex(&MODULE_ID)));
        assert_eq!(row("module"), expected);
        admit(&mut session, &vmlinux).expect("the kernel");
        assert_eq!(named(&session, DsoKind::Kernel), functions.len(), "{path}");
    }
}

/// At addresses where the kernel that runs here has functions of its own.
#[test]
fn b20_b28_b33_of_another_kernel_nothing_is_named_and_its_id_is_said() {
    let folder = TestFolder::new();
    let kallsyms = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let running: Vec<u64> = kallsyms
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|kind| matches!(kind, "t" | "T")))
        .filter_map(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok())
        .filter(|address| *address >= TEXT)
        .take(50)
        .collect();
    // Where the running kernel hides its addresses, there is nothing to confuse.
    let start = running.iter().copied().min().unwrap_or(TEXT) & !0xfff;
    let addresses: Vec<u64> = (0..50).map(|n| running.get(n).copied().unwrap_or(start)).collect();
    let recorded = |name: &str, id: &[u8], listed: &[u8]| {
        let mut it = recording();
        map(&mut it, "[kernel.kallsyms]_text", start..start + 0x1000_0000, start, id);
        samples(&mut it, addresses.iter().copied());
        let entry = BuildIdEntry { misc: KERNEL, pid: -1, id: listed, name: "[kernel.kallsyms]" };
        it.build_ids(TableLayout::WithSize, &[entry]);
        folder.write(name, &it.file())
    };
    let list =
        |recording: &Path| output(perftab_at(&folder, &["buildid", "list", "-H"]).arg(recording));

    let of_another = recorded("another.data", &KERNEL_ID, &KERNEL_ID);
    let said = report(&folder, &of_another, &[]);
    assert_eq!(named_in(&said, "[kernel.kallsyms]"), []);
    let row = row_of(&said, "kernel");
    assert_eq!((&row["status"], &row["build_id"]), (&"missing".into(), &hex(&KERNEL_ID).into()));
    assert!(row["reason"].as_str().is_some_and(|it| it.contains(&hex(&KERNEL_ID))), "{row}");
    let listed = list(&of_another);
    assert_eq!(listed.trim(), format!("{} [kernel.kallsyms]", hex(&KERNEL_ID)));

    // As a perf that could not read the notes wrote it.
    let of_zeros = recorded("zeros.data", &[], &[0; 20]);
    let said = report(&folder, &of_zeros, &[]);
    assert_eq!(named_in(&said, "[kernel.kallsyms]"), []);
    assert_eq!(row_of(&said, "kernel")["build_id"], Value::Null);
    assert!(!list(&of_zeros).contains(&"0".repeat(40)), "{}", list(&of_zeros));
}

#[test]
fn b25_the_vmlinux_that_is_named_is_taken_and_marked_unless_it_matches() {
    let home = TestFolder::new();
    let vmlinux = kernel(&home, "vmlinux", "made", &KERNEL_ID);
    let rebuilt = kernel(&home, "rebuilt", "rebuilt", &REBUILT_ID);
    let functions = by_nm(&vmlinux);
    let recording = home.write("perf.data", &of_kernel(&functions, 0, &KERNEL_ID).file());
    // What a search finds.
    let id = hex(&KERNEL_ID);
    let line = |address: u64, name: &str| format!("{address:016x} T {name}\n");
    let listed: String = functions.iter().map(|(at, name)| line(*at, name)).collect();
    let kallsyms = [
        line(TEXT, "_text"),
        line(TEXT, "_stext"),
        listed.replace(" made_", " found_"),
        line(TEXT + 4096 + 40 * 64, "_etext"),
    ];
    let stamped = BuildId::new(&KERNEL_ID).expect("an id");
    let stamped = stamped_kallsyms(stamped, kallsyms.concat().as_bytes());
    home.write(&format!(".debug/.build-id/{}/{}/kallsyms", &id[..2], &id[2..]), &stamped);

    let named = |arguments: &[&str], starts: &str, is_forced: bool| {
        let said = report(&home, &recording, arguments);
        let named = named_in(&said, "[kernel.kallsyms]");
        let is_so =
            |(name, forced): &(String, bool)| name.starts_with(starts) && *forced == is_forced;
        assert!(named.len() == 40 && named.iter().all(is_so), "{arguments:?}: {named:?}");
        row_of(&said, "kernel")["status"].clone()
    };
    assert_eq!(named(&[], "found_", false), "matched");
    let [vmlinux, rebuilt] = [&vmlinux, &rebuilt].map(|path| path.to_str().expect("UTF-8"));
    assert_eq!(named(&["--vmlinux", vmlinux], "made_", false), "matched");
    assert_eq!(named(&["--vmlinux", rebuilt], "rebuilt_", true), "forced");

    // Only the matched file has its code, wherever the kernel lay.
    let moved = home.write("moved.data", &of_kernel(&functions, 0x20_0000, &KERNEL_ID).file());
    for recording in [&recording, &moved] {
        let annotate = |vmlinux: &str, function: &str| {
            let arguments = ["annotate", "--json", "--vmlinux", vmlinux];
            let mut command = perftab_at(&home, &arguments);
            command.arg(recording).arg(function).ended().expect("it runs")
        };
        let (start, name) = functions.iter().nth(3).expect("a function");
        let said = annotate(vmlinux, name);
        let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        let instructions = said["functions"][0]["instructions"].as_array().expect("instructions");
        let listed = instructions.iter().map(|it| (&it["address"], &it["text"], &it["samples"]));
        let nop = Value::from("nop");
        let expected: Vec<Value> = (0..64).map(|at| format!("{:#x}", start + at).into()).collect();
        assert!(listed.clone().map(|(address, ..)| address).eq(&expected), "{said}");
        assert!(listed.clone().all(|(_, text, _)| *text == nop), "{said}");
        let sampled: Vec<&Value> =
            listed.filter(|(.., samples)| **samples != 0).map(|(address, ..)| address).collect();
        assert_eq!(sampled, [&expected[4]]);
        let refused = annotate(rebuilt, &name.replace("made", "rebuilt"));
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && why.contains("name its vmlinux with --vmlinux"),
            "{why}"
        );
    }
    // A copy of the memory says what ran, also where the kernel lay elsewhere in that boot. Here its code was changed.
    let place = TEXT + 0x60_0000;
    let end = 4096 + 40 * 64;
    let symbol = |offset: u64, name: &str| format!("{:016x} T {name}\n", place + offset);
    let of_functions = functions.iter().map(|(at, name)| symbol(at - TEXT, name));
    let of_functions = of_functions.collect::<String>().replace(" made_", " found_");
    let ends = symbol(0, "_text") + &symbol(0, "_stext") + &symbol(end, "_etext");
    home.write("root/proc/kallsyms", (ends + &of_functions).as_bytes());
    home.write("root/proc/modules", b"");
    let note = [&[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &KERNEL_ID].concat();
    home.write("root/sys/kernel/notes", &note);
    let memory = kcore_of(&[(place, vec![0xcc; 0x4000])]);
    let kcore = home.write("root/proc/kcore", &memory);
    output(perftab_at(&home, &["buildid", "kcore"]).arg(&kcore));
    for recording in [&recording, &moved] {
        let annotate = |arguments: &[&str]| {
            let arguments = [&["annotate", "--json"], arguments].concat();
            let mut command = perftab_at(&home, &arguments);
            command.arg(recording).arg("found_3").ended().expect("it runs")
        };
        let said: Value = serde_json::from_slice(&annotate(&[]).stdout).expect("JSON");
        let instructions = said["functions"][0]["instructions"].as_array().expect("instructions");
        assert_eq!(instructions.len(), 64);
        assert!(instructions.iter().all(|it| it["text"] == "int3"), "{said}");
        assert_eq!(instructions[4]["samples"], 1);
        // What a link tells is the same.
        let mut share = perftab_at(&home, &["share", "--include", "assembly"]);
        let link = output(share.arg(recording));
        let (_, payload) = link.trim().split_once('#').expect("a payload");
        let link = decode(payload).expect("it opens");
        let told: Vec<&str> = link.facts.texts.instructions().map(|(.., text)| text).collect();
        assert!(told.len() > 30 && told.iter().all(|text| *text == "int3"), "{told:?}");
    }
    // The page asks by build-id, and by no other.
    let viewer = Viewer::start_with(home, &[], &[]);
    let memory = viewer.get(&format!("/local/buildid/{id}/memory"));
    assert_eq!((memory.status, memory.body.get(..4)), (200, Some(&b"\x7fELF"[..])));
    let other = viewer.get(&format!("/local/buildid/{}/memory", hex(&REBUILT_ID)));
    assert_eq!(other.status, 404);
    let alone = Viewer::start(&["--no-local"]);
    assert_eq!(alone.get(&format!("/local/buildid/{id}/memory")).status, 404);
}

/// A copy of memory that says of which kernel it is.
fn memory_of(id: &[u8], segments: &[(u64, usize)]) -> Vec<u8> {
    const PT_NOTE: u8 = 4;
    let note = [&[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", id].concat();
    let memory = segments.iter().map(|&(address, length)| (address, vec![0xcc; length]));
    let mut bytes = kcore_of(&std::iter::once((0, note)).chain(memory).collect::<Vec<_>>());
    // The first program header.
    bytes[64] = PT_NOTE;
    bytes
}

/// The kernel has two pages; of what does not say where it is nothing is shown.
#[test]
fn a_copy_of_memory_tells_code_only_where_the_kernel_is_found_in_it() {
    const ELSEWHERE: u64 = 0xffff_ffff_9000_0000;
    let folder = TestFolder::new();
    let vmlinux = kernel(&folder, "vmlinux", "made", &KERNEL_ID);
    let functions = by_nm(&vmlinux);
    let first = *functions.keys().next().expect("a function");
    let code = |memory: &[u8], has_names: bool| {
        let mut session = opened(&of_kernel(&functions, 0x20_0000, &KERNEL_ID));
        if has_names {
            admit(&mut session, &vmlinux).expect("the kernel");
        }
        let given = admit(&mut session, &folder.write("kcore", memory));
        let (dso, _) = session.profile().dsos.iter().find(|(_, it)| it.kind == DsoKind::Kernel)?;
        let code = session.code_in_memory(dso, first + 0x20_0000 + 4)?;
        assert!(given.is_ok() && code.start == first + 0x20_0000 && code.start_in_file.0 == first);
        Some(code.bytes)
    };
    let whole = memory_of(&KERNEL_ID, &[(0x1000, 0x1000), (ELSEWHERE, 0x2000)]);
    assert_eq!(code(&whole, true), Some(vec![0xcc; 64]));
    assert_eq!(code(&whole, false), None, "nothing says where functions are");
    for segments in [
        &[][..],
        &[(ELSEWHERE, 0x1000)],
        &[(ELSEWHERE, 0x3000)],
        &[(ELSEWHERE, 0x2000), (ELSEWHERE + 0x2000, 0x2000)],
        &[(u64::MAX - 0xfff, 0x3000)],
    ] {
        assert_eq!(code(&memory_of(&KERNEL_ID, segments), true), None, "{segments:x?}");
    }
    assert_eq!(code(&memory_of(&REBUILT_ID, &[(ELSEWHERE, 0x2000)]), true), None);
    // Cut off, and a segment that reaches around all of memory.
    assert_eq!(code(&whole[..whole.len() - 1], true), None);
    for field in [8, 16, 32] {
        let mut absurd = whole.clone();
        absurd[64 + 2 * 56 + field..][..8].fill(0xff);
        let found = code(&absurd, true);
        // Where it lay is of no account.
        assert_eq!(found.is_some(), field == 16, "{field}");
    }
}

/// A recording of a module under this path, with a sample in each function that stays.
fn of_module(path: &str, functions: &BTreeMap<u64, String>) -> Recording {
    let mut it = recording();
    map(&mut it, "[kernel.kallsyms]_text", TEXT..TEXT + 0x100_0000, TEXT, &KERNEL_ID);
    map(&mut it, path, PLACE..PLACE + 0x4000, 0, &MODULE_ID);
    samples(&mut it, functions.keys().map(|offset| PLACE + offset + 4).chain([TEXT + 64]));
    it
}

fn found(session: &perftab_core::session::Session) -> BTreeMap<u64, String> {
    let names = names(session, DsoKind::Module).into_iter();
    names.filter_map(|(address, name)| Some((address - PLACE - 4, name?))).collect()
}

#[test]
fn b16_b17_b18_a_module_is_named_by_its_file_packed_or_not_whatever_it_is_called() {
    let test = "b16_b17_b18_a_module_is_named_by_its_file_packed_or_not_whatever_it_is_called";
    let folder = TestFolder::new();
    let plain = module(&folder, "tides", "tide", &MODULE_ID);
    let functions = of_loaded(&plain);
    let mut packed = vec![folder.join("hashing")];
    fs::copy(&plain, &packed[0]).expect("a copy");
    for (packer, end) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        match Command::new(packer).args(["-k", "-f"]).arg(&plain).ended() {
            Ok(done) if done.status.success() => {
                packed.push(folder.join(format!("tides.ko.{end}")))
            }
            _ => println!("SKIPPED: {test}: {packer} is not installed"),
        }
    }
    let paths = ["/lib/modules/6.1.0/kernel/net/tides.ko.xz", "[tides]", "/opt/tides/hashing"];
    for path in paths {
        let it = of_module(path, &functions);
        let mut session = opened(&it);
        admit(&mut session, &plain).expect("the module");
        assert_eq!(found(&session), functions, "{path}");
        assert_eq!(named(&session, DsoKind::Kernel), 0, "a module is not the kernel");
        let recording = folder.write("perf.data", &it.file());
        for file in &packed {
            let file = file.to_str().expect("UTF-8");
            let said = report(&folder, &recording, &["--no-local", "--image", file]);
            assert_eq!(named_in(&said, path).len(), functions.len(), "{path} by {file}");
            assert_eq!(named_in(&said, "[kernel.kallsyms]"), [], "{path} by {file}");
        }
    }
}

/// A module and what takes its place, as `perftab record` writes it down: the second one's mapping
/// comes when it was seen. A sample in each of these functions of each.
pub fn of_replaced_module(functions: &BTreeMap<u64, String>) -> Recording {
    let mut it = recording();
    for (time, id) in [(1_000, &MODULE_ID), (2_000, &OTHER_MODULE_ID)] {
        let (pid, tid) = (u32::MAX, 0);
        let addresses = PLACE..PLACE + 0x4000;
        let (file, path) = (MappedFile::BuildId(id), "/lib/modules/6.1.0/kernel/tides.ko");
        let mapping = Mapping { misc: KERNEL, pid, tid, addresses, offset: 0, file, path };
        it.mmap2(At { time, ..At::default() }, &mapping);
        for (time, offset) in (time + 1..).zip(functions.keys()) {
            let ip = PLACE + offset + 4;
            let sample =
                Sample { misc: KERNEL, ip, pid: 7, tid: 7, time, period: 1, ..Sample::default() };
            it.sample(0, &sample);
        }
    }
    it
}

#[test]
fn b06_a_module_and_what_takes_its_place_have_each_their_own_names() {
    let folder = TestFolder::new();
    let first = module(&folder, "tides", "tide", &MODULE_ID);
    fs::create_dir(folder.join("newer")).expect("a folder");
    let second = module(&folder.join("newer"), "tides", "ebb", &OTHER_MODULE_ID);
    let (of_first, of_second) = (of_loaded(&first), of_loaded(&second));
    let it = of_replaced_module(&of_first);
    let named_by = |files: &[&Path]| {
        let mut session = opened(&it);
        files.iter().for_each(|file| admit(&mut session, file).expect("it was loaded"));
        let mut all: Vec<String> =
            names(&session, DsoKind::Module).into_iter().filter_map(|(_, name)| name).collect();
        all.sort();
        all
    };
    let sorted = |modules: &[&BTreeMap<u64, String>]| {
        let mut all: Vec<String> =
            modules.iter().flat_map(|functions| functions.values()).cloned().collect();
        all.sort();
        all
    };
    assert_eq!(named_by(&[&first]), sorted(&[&of_first]));
    assert_eq!(named_by(&[&second]), sorted(&[&of_second]));
    assert_eq!(named_by(&[&first, &second]), sorted(&[&of_first, &of_second]));
}

#[test]
fn b38_a_debuginfod_with_debug_files_of_modules_alone_names_them() {
    let test = "b38_a_debuginfod_with_debug_files_of_modules_alone_names_them";
    let (folder, served) = (TestFolder::new(), TestFolder::new());
    let plain = module(&folder, "tides", "tide", &MODULE_ID);
    let functions = of_loaded(&plain);
    let debug = served.join("tides.debug");
    output(Command::new("objcopy").arg("--only-keep-debug").args([&plain, &debug]));
    let Some(server) = Debuginfod::start(&served) else {
        println!("SKIPPED: {test}: debuginfod is not installed");
        return;
    };
    let url = server.url();
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let id = hex(&MODULE_ID);
    let status = |kind: &str| http::get(port, &format!("/buildid/{id}/{kind}"), &[]).status;
    assert_eq!((status("debuginfo"), status("executable")), (200, 404));
    let path = "/lib/modules/6.1.0/kernel/net/tides.ko.xz";
    let recording = folder.write("perf.data", &of_module(path, &functions).file());
    let said = report(&folder, &recording, &["--no-local", "--debuginfod", &url]);
    let mut named: Vec<String> = named_in(&said, path).into_iter().map(|(name, _)| name).collect();
    named.sort();
    let mut expected: Vec<String> = functions.into_values().collect();
    expected.sort();
    assert_eq!(named, expected);
}
