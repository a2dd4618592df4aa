//! The identity recorded is that of the file as mapped.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_core::session::ProfileInfo;
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::perftab_section;
use perftab_perfdata::identity::Identity;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::open::open_path;
use perftab_tests::perf::until_it_ran;
use perftab_tests::perftab_at;
use perftab_tests::perftab_binary;
use perftab_tests::program::{compile, content_hash};

use crate::record::recorder::{
    BUSY_ID, Recorder, RunningProcess, busy, busy_again, busy_without_id, is_installed, is_root,
    wait_for,
};

const OTHER_ID: &str = "b0551e5b0551e5b0551e5b0551e5b0551e500002";

/// b03, b04, b05: replaced while it is recorded, both builds keep their own id, and it is said.
#[test]
fn b04_a_replaced_binary_keeps_both_ids() {
    let test = "b04_a_replaced_binary_keeps_both_ids";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let newer = busy_again(&recorder.folder, OTHER_ID);
    // A rename, as package managers do it: another inode under the same path.
    let script = format!(
        "{0} 100 && mv {1} {0} && {0} 100",
        program.to_str().unwrap(),
        newer.to_str().unwrap()
    );
    let recorded = recorder.run(&["-g", "--", "sh", "-c", &script]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let replaced = format!("{} was replaced while it was recorded", program.display());
    assert!(recorded.said.contains(&replaced), "{}", recorded.said);

    let events = recorder.perf(&["script", "--show-mmap-events"]);
    // perf 6.1 lists one id for each name, the last; the table itself has both.
    let table = recorder.feature(Feature::BUILD_ID).unwrap();
    for id in [BUSY_ID, OTHER_ID] {
        let mapped = events.lines().any(|line| {
            line.contains("PERF_RECORD_MMAP2") && line.contains(id) && line.contains("/busy")
        });
        assert!(mapped, "no mapping has {id}");
        let id = BuildId::from_hex(id).unwrap();
        assert!(table.windows(20).any(|bytes| bytes == id.as_bytes()), "{id} is not in the table");
    }
}

/// b03, b07, b12: what ran before and was replaced since has the id of what is mapped, and its stacks are walked by that.
#[test]
fn b07_a_running_process_has_the_id_of_its_inode() {
    let test = "b07_a_running_process_has_the_id_of_its_inode";
    if !is_installed(test, "perf") || !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let running = RunningProcess::program(&program, &[]);
    wait_for("exec", || {
        fs::read_link(format!("/proc/{}/exe", running.pid())).is_ok_and(|exe| exe == program)
    });
    let newer = busy_again(&recorder.folder, OTHER_ID);
    fs::rename(newer, &program).unwrap();

    let how = ["-e", "cpu-clock:u", "--call-graph", "dwarf", "-p", &running.pid(), "--"];
    let mut command = how.map(str::to_owned).to_vec();
    command.extend(until_it_ran(running.0.id(), 10));
    let recorded = recorder.run(&command);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(recorded.samples() > 0);
    let events = recorder.perf(&["script", "--show-mmap-events"]);
    let ours: Vec<&str> = events.lines().filter(|line| line.contains("/busy")).collect();
    assert!(!ours.is_empty() && ours.iter().all(|line| !line.contains(OTHER_ID)), "{ours:?}");
    assert!(ours.iter().any(|line| line.contains(BUSY_ID)), "{ours:?}");
    // While it runs it has its file, and names.
    let mut report = Command::new(perftab_binary());
    report.arg("report").arg(&recorder.file).env_remove("DEBUGINFOD_URLS");
    let report = report.ended().expect("perftab runs");
    let [printed, said] = [report.stdout, report.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(printed.contains(" user_work ") && !said.contains("/busy"), "{printed}{said}");
    let kept = recorder.copies_by_perf();
    assert!(kept * 4 < recorded.samples(), "{kept} of {} keep copies", recorded.samples());
}

/// b08: what the dynamic linker maps has an id too.
#[test]
fn b08_shared_libraries_have_ids() {
    let test = "b08_shared_libraries_have_ids";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["--", program.to_str().unwrap(), "50"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let table = recorder.perf(&["buildid-list"]);
    for name in ["libc.so", "ld-linux", "[vdso]"] {
        assert!(table.contains(name), "{name} is not in\n{table}");
    }
}

/// The kernel tells no id of it, and the recorder only that of what ran before.
#[test]
fn the_vdso_of_what_begins_meanwhile_has_its_id() {
    const SOURCE: &str = "
#include <time.h>
int main(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 200000000L);
    return 0;
}
";
    let test = "the_vdso_of_what_begins_meanwhile_has_its_id";
    if !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = compile(&recorder.folder, "clock", OTHER_ID, SOURCE);
    let recorded = recorder.run(&["-e", "cpu-clock", "-a", "--", program.to_str().unwrap()]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let info = open_path(&recorder.file).unwrap().info();
    let vdsos: Vec<_> = info.dsos.iter().filter(|row| row.name == "[vdso]").collect();
    let [vdso] = vdsos[..] else { panic!("there is one of all processes: {vdsos:?}") };
    assert!(vdso.build_id.is_some() && vdso.samples > 0, "{vdso:?}");
}

/// What is hashed once is known until it changes, and by that alone.
#[test]
fn the_hash_of_a_large_file_is_kept_until_it_changes() {
    let test = "the_hash_of_a_large_file_is_kept_until_it_changes";
    let recorder = Recorder::new();
    let Some(program) = cargo(test) else { return };
    let hashed = || {
        let mut record = perftab_at(&recorder.folder, &["record", "-o"]);
        record.arg(&recorder.file).arg("--").arg(&program).arg("--version");
        let recorded = record.ended().expect("perftab runs");
        assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
        let session = open_path(&recorder.file).unwrap();
        let mut dsos = session.profile().dsos.iter();
        match dsos.find(|(_, dso)| Path::new(&dso.path) == program).expect("it ran").1.identity {
            Some(Identity::Content(hash)) => Some(hash.to_string()),
            _ => None,
        }
    };
    let hash = content_hash(&program);
    assert_eq!(hashed().as_deref(), Some(&hash[..]));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let kept = recorder.folder.join(".cache/perftab/hashes").join(boot.trim());
    let Ok(lines) = fs::read_to_string(&kept) else {
        println!("SKIPPED: {test}: {} is not on a file system that proves it", program.display());
        return;
    };
    assert!(lines.contains(&format!(" {hash}\n")), "{lines}");
    // It is not read again.
    let other = hash.replace(|_: char| true, "a");
    let replace = |lines: String| {
        fs::remove_file(&kept).unwrap();
        fs::write(&kept, lines).unwrap();
    };
    replace(lines.replace(&hash, &other));
    assert_eq!(hashed(), Some(other.clone()));
    // Of an inode that has changed since.
    let changed = format!("{}.", fs::metadata(&program).unwrap().ctime());
    replace(lines.replace(&hash, &other).replace(&changed, "1."));
    assert_eq!(hashed(), Some(hash));
}

/// As in a container: a path that leads nowhere here. Without a build-id its content tells what it is.
#[test]
fn a_file_that_only_its_process_sees_is_identified() {
    let test = "a_file_that_only_its_process_sees_is_identified";
    if !is_root(test) || !is_installed(test, "unshare") {
        return;
    }
    let recorder = Recorder::new();
    let hash = content_hash(&busy_without_id(&recorder.folder));
    fs::create_dir(recorder.folder.join("mounted")).unwrap();
    let script = "mount -t tmpfs none mounted && cp without_id mounted/app && exec mounted/app";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).current_dir(&*recorder.folder);
    let mut running = RunningProcess(command.spawn().unwrap());
    let app = recorder.folder.join("mounted/app");
    let exe = format!("/proc/{}/exe", running.pid());
    wait_for("exec", || {
        let ended = running.0.try_wait().unwrap().is_some();
        ended || fs::read_link(&exe).is_ok_and(|exe| exe == app)
    });
    if running.0.try_wait().unwrap().is_some() {
        println!("SKIPPED: {test}: nothing may be mounted here");
        return;
    }
    let how = ["-e", "cpu-clock:u", "-p", &running.pid(), "--"];
    let mut command = how.map(str::to_owned).to_vec();
    command.extend(until_it_ran(running.0.id(), 10));
    let recorded = recorder.run(&command);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let session = open_path(&recorder.file).unwrap();
    let mut dsos = session.profile().dsos.iter();
    let dso = dsos.find(|(_, dso)| Path::new(&dso.path) == app).expect("it ran").1;
    let Some(Identity::Content(found)) = dso.identity else { panic!("{:?}", dso.identity) };
    assert_eq!(found.to_string(), hash);
    // Once it has ended, nobody has the file.
    let report = || {
        let mut report = perftab_at(&recorder.folder, &["report", "perf.data"]);
        let report = report.ended().expect("perftab runs");
        [report.stdout, report.stderr].map(|it| String::from_utf8(it).unwrap())
    };
    let is_missing = format!("the file that ran is not here: {},", app.display());
    let [printed, said] = report();
    assert!(printed.contains(" user_work ") && !said.contains(&is_missing), "{printed}{said}");
    drop(running);
    let [printed, said] = report();
    assert!(!printed.contains(" user_work ") && said.contains(&is_missing), "{printed}{said}");
}

/// The cargo of rustc's folder, which is large and has no build-id.
fn cargo(test: &str) -> Option<PathBuf> {
    let said = Command::new("rustc").args(["--print", "sysroot"]).ended();
    let folder = said.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    let program = folder.map(|it| Path::new(it.trim()).join("bin/cargo"));
    let is_hashed = |bytes: Vec<u8>| {
        bytes.len() > 1 << 20 && build_id_of_elf(&SliceSource::new(bytes)).is_none()
    };
    let program = program.filter(|it| fs::read(it).is_ok_and(is_hashed));
    if program.is_none() {
        println!("SKIPPED: {test}: rustc has no large cargo without a build-id beside it");
    }
    program
}

/// b26: the first recordings have our section as feature 200.
#[test]
fn b26_a_recording_with_our_section_as_a_feature_still_opens() {
    let recorder = Recorder::new();
    let without_id = busy_without_id(&recorder.folder);
    let recorded = recorder.run(&["-g", "--", without_id.to_str().unwrap(), "100"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let whole = open_path(&recorder.file).unwrap().info();
    let id_in = |info: &ProfileInfo| {
        let dso = info.dsos.iter().find(|dso| dso.name == "without_id").expect("it ran");
        dso.build_id.clone()
    };
    assert!(id_in(&whole).is_some(), "the section has its hash");

    let section = perftab_section::decode(&recorder.section().unwrap()).unwrap();
    let older = as_feature(&fs::read(&recorder.file).unwrap(), &perftab_section::encode(&section));
    let path = recorder.folder.join("older.data");
    fs::write(&path, older).unwrap();
    let older = open_path(&path).unwrap().info();
    assert_eq!(older.samples, whole.samples);
    assert_eq!(id_in(&older), id_in(&whole));
    assert_eq!(older.host.hostname, whole.host.hostname);
    // Not every library has frame pointers.
    let mut kinds = older.warnings.iter().map(|warning| warning.kind);
    assert!(kinds.all(|kind| kind == WarningKind::NoFramePointers), "{:?}", older.warnings);
}

/// A recording of ours with the section as its last feature, and nothing behind it.
fn as_feature(recording: &[u8], section: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_ne_bytes(recording[at..at + 8].try_into().unwrap());
    let table = (word(40) + word(48)) as usize;
    let count: u32 = (72..104).step_by(8).map(|at| word(at).count_ones()).sum();
    let payloads = table + 16 * count as usize;
    // The last section ends where our own began.
    let end = word(payloads - 16) + word(payloads - 8);
    let mut older = recording[..table].to_vec();
    older[72 + 200 / 8] |= 1 << (200 % 8);
    for entry in (table..payloads).step_by(16) {
        older.extend((word(entry) + 16).to_ne_bytes());
        older.extend(word(entry + 8).to_ne_bytes());
    }
    older.extend((end + 16).to_ne_bytes());
    older.extend((section.len() as u64).to_ne_bytes());
    older.extend(&recording[payloads..end as usize]);
    older.extend(section);
    older
}

/// A buffer for code that a program makes itself does not make it a debug file.
#[test]
fn a_program_with_executable_memory_of_its_own_has_its_names() {
    const SOURCE: &str = r#"
        __asm__(".section .jitbuf,\"awx\",@nobits\n.skip 65536\n.text\n");
        volatile unsigned long sink;
        __attribute__((noinline)) void spin(void) { for (long i = 0; i < 50000000; i++) sink += i; }
        int main(void) { spin(); return 0; }
    "#;
    let recorder = Recorder::new();
    let program = compile(&recorder.folder, "maker", OTHER_ID, SOURCE);
    let recorded = recorder.run(&["-g", "--", program.to_str().unwrap()]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let mut session = open_path(&recorder.file).unwrap();
    let source = SliceSource::new(fs::read(&program).unwrap());
    session.admit("maker", Box::new(source)).expect("it is what ran");
    session.name_all_frames();
    let (profile, symbols) = (session.profile(), session.symbols());
    let name = |(frame, _)| symbols.function(symbols.merged(frame)).name;
    let names: Vec<_> = profile.frames.iter().filter_map(name).collect();
    assert!(names.contains(&"spin"), "{names:?}: {:?}", session.dsos());
}
