//! What is recorded of files: their identity as mapped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use perftab_tests::child_process::{self, LimitedCommand};
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::servers::Viewer;
use serde_json::Value;

use crate::build_ids::builds::{
    Builds, Files, Functions, Ids, NEWER, NEWER_ID, OLDER, OLDER_ID, Replaced, compile,
    is_installed, stderr, text,
};

/// Both ran for the same time; of one of them a machine that others share may take more samples.
const ABOUT_HALF: std::ops::Range<f64> = 0.1..0.9;

#[track_caller]
fn each_build_has_its_own_names(functions: &Functions) {
    for (name, id) in [(OLDER, OLDER_ID), (NEWER, NEWER_ID)] {
        let share = functions.share(Some(name), Some(id));
        assert!(ABOUT_HALF.contains(&share), "{name} of {id} has {share}: {functions:?}");
    }
    for (name, id) in [(OLDER, NEWER_ID), (NEWER, OLDER_ID)] {
        assert_eq!(functions.share(Some(name), Some(id)), 0.0, "{functions:?}");
    }
}

#[track_caller]
fn only_the_newer_build_has_names(functions: &Functions) {
    let share = functions.share(Some(NEWER), Some(NEWER_ID));
    assert!(ABOUT_HALF.contains(&share), "{functions:?}");
    let of_older = functions.0.iter().filter(|row| row.build_id.as_deref() == Some(OLDER_ID));
    let of_older: Vec<_> = of_older.collect();
    assert!(!of_older.is_empty(), "{functions:?}");
    assert!(of_older.iter().all(|row| row.name.is_none()), "{functions:?}");
}

/// The centrepiece: one path, two builds in one recording.
fn replaced_while_recorded(recording: &Path, builds: &Builds) {
    let both = [builds.older.as_path(), builds.newer.as_path()];
    each_build_has_its_own_names(&builds.functions(recording, &both));
    only_the_newer_build_has_names(&builds.functions(recording, &both[1..]));
    let mut ids: Vec<_> =
        builds.dsos(recording, &[]).iter().map(|dso| dso["build_id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, [format!("\"{OLDER_ID}\""), format!("\"{NEWER_ID}\"")]);
    let warnings = builds.warnings(recording, "build-id-conflict");
    let named = warnings.iter().any(|text| text.contains(builds.program.to_str().unwrap()));
    assert!(named, "{warnings:?}");
}

#[test]
fn b03_b04_b05_replaced_while_perftab_records_each_build_has_its_own_names() {
    for how in [Replaced::ByRename, Replaced::InPlace] {
        let builds = Builds::new(Ids::Different);
        let (recording, said) = builds.record(&["-g"], &["sh", "-c", &builds.script(how)]);
        replaced_while_recorded(&recording, &builds);
        let warned = format!("{} was replaced while it was recorded", builds.program.display());
        assert!(said.contains(&warned), "{how:?}: {said}");
    }
}

#[test]
fn b03_b04_b05_replaced_while_perf_records_with_ids_each_build_has_its_own_names() {
    let test = "b03_b04_b05_replaced_while_perf_records_with_ids_each_build_has_its_own_names";
    if !is_installed(test, "perf") {
        return;
    }
    for how in [Replaced::ByRename, Replaced::InPlace] {
        let builds = Builds::new(Ids::Different);
        let command = ["sh", "-c", &builds.script(how)];
        let recording = builds.record_by_perf(&["-g", "--buildid-mmap"], &command);
        replaced_while_recorded(&recording, &builds);
    }
}

#[test]
fn b05_what_was_replaced_after_it_ran_is_named_by_the_recorder() {
    let builds = Builds::new(Ids::Different);
    let (program, newer) = (builds.program.display(), builds.newer.display());
    let script = format!("{program} 100 && cp {newer} {program}.new && mv {program}.new {program}");
    let (recording, said) = builds.record(&[], &["sh", "-c", &script]);
    let warned =
        format!("{program} was replaced while it was recorded: another build is there now");
    assert!(said.contains(&warned), "{said}");
    let ids: Vec<_> =
        builds.dsos(&recording, &[]).iter().map(|dso| dso["build_id"].clone()).collect();
    assert_eq!(ids, [OLDER_ID]);
    // Nothing is said of a file that was touched and holds the same build.
    let script =
        format!("{program} 50 && cp {program} {program}.new && mv {program}.new {program}");
    let (_, said) = builds.record(&[], &["sh", "-c", &script]);
    assert!(!said.contains("replaced"), "{said}");
}

/// The table that perf writes at the end goes by path, and here the path was two files.
#[test]
fn b04_b31_replaced_while_perf_records_without_ids_nothing_is_named() {
    let test = "b04_b31_replaced_while_perf_records_without_ids_nothing_is_named";
    if !is_installed(test, "perf") {
        return;
    }
    let builds = Builds::new(Ids::Different);
    let script = builds.script(Replaced::ByRename);
    let recording = builds.record_by_perf(&["-g"], &["sh", "-c", &script]);
    let functions = builds.functions(&recording, &[&builds.older, &builds.newer]);
    assert!(!functions.0.is_empty() && !functions.are_named(), "{functions:?}");
    let sampled = builds.dsos(&recording, &[&builds.older, &builds.newer]);
    let sampled: Vec<_> = sampled.iter().filter(|dso| dso["samples"] != 0).collect();
    assert_eq!(sampled.len(), 2, "{sampled:?}");
    for dso in sampled {
        assert_eq!(dso["status"], "no-identity");
        assert!(dso["reason"].as_str().unwrap().starts_with("ambiguous"), "{dso}");
    }
    assert_eq!(builds.warnings(&recording, "ambiguous").len(), 1);
}

/// One inode, and in the table the one id that was there at the end: what the file was before,
/// nobody wrote down. Where it was recorded the file still tells that it was written to; elsewhere
/// the doubt is all that can be said.
#[test]
fn b05_b31_overwritten_while_perf_records_without_ids_is_seen_where_it_was_recorded() {
    let test = "b05_b31_overwritten_while_perf_records_without_ids_is_seen_where_it_was_recorded";
    if !is_installed(test, "perf") {
        return;
    }
    let mut builds = Builds { files: Files::OfThisMachine, ..Builds::new(Ids::Different) };
    let (program, newer) = (builds.program.display(), builds.newer.display());
    // The second one runs nothing that was not there before: there is one inode in both.
    let renamed = format!("{program} 150 && mv {newer} {program}");
    let in_place = builds.script(Replaced::InPlace);
    // As tools do that copy with the times of the original.
    let with_times = format!("{in_place} && touch -d 2020-01-01 {program}");
    let scripts = [(&["-g", "-N"][..], with_times), (&["-g"], in_place), (&["-g"], renamed)];
    for (options, script) in scripts {
        let recording = builds.record_by_perf(options, &["sh", "-c", &script]);
        let kept = builds.folder.join("kept");
        fs::copy(&builds.program, &kept).unwrap();
        let both = [builds.older.as_path(), kept.as_path()];
        assert!(!builds.functions(&recording, &both).are_named());
        let dsos = builds.dsos(&recording, &both);
        let [dso] = dsos.as_slice() else { panic!("{dsos:?}") };
        assert_eq!(dso["status"], "no-identity", "{dso}");
        let warnings = builds.warnings(&recording, "ambiguous");
        assert!(warnings.iter().any(|it| it.contains(text(&builds.program))), "{warnings:?}");
        // The page cannot see it, so it is told; its ids of DSOs are those of the native command.
        let view = Viewer::start(&[text(&recording)]);
        let late = view.tell_files(&recording);
        // A library is told of, too, when a test beside this one gives up its link to it in a cache of
        // perf's: that is a change like any other.
        let late = late["replaced"].as_array().expect("a list");
        assert!(late.contains(&dso["id"]), "{late:?}");
        drop(view);

        // Copied to another machine, where nothing is at its path, it has the id of the end, with
        // that doubt.
        let copied = builds.folder.join("copied.data");
        fs::copy(&recording, &copied).unwrap();
        fs::remove_file(&builds.program).unwrap();
        builds.files = Files::Given;
        assert!(!builds.functions(&copied, &[&builds.older]).are_named());
        let dsos = builds.dsos(&copied, &[&kept]);
        assert_eq!(
            (&dsos[0]["build_id"], &dsos[0]["recorded_by"]),
            (&NEWER_ID.into(), &"table".into())
        );
        let reason = dsos[0]["reason"].as_str().expect("a doubt");
        assert!(reason.contains("when the recording ended"), "{reason}");
        let report = builds.perftab(&["report", text(&copied), "--image", text(&kept)]);
        builds.files = Files::OfThisMachine;
        let doubts = stderr(&report);
        assert!(doubts.contains("when the recording ended, and are wrong for files"), "{doubts}");
        // A copy over a file that is there would seem to be as old as that.
        fs::remove_file(&copied).unwrap();
        perftab_tests::program::copy(&builds.older, &builds.program);
    }
}

/// perf's cache links to the files that it keeps, which changes their times; they are the same.
#[test]
fn b05_what_perf_puts_into_its_cache_is_not_taken_for_replaced() {
    let test = "b05_what_perf_puts_into_its_cache_is_not_taken_for_replaced";
    if !is_installed(test, "perf") {
        return;
    }
    let builds = Builds { files: Files::OfThisMachine, ..Builds::new(Ids::Different) };
    let recording = builds.record_by_perf(&[], &[text(&builds.program), "150"]);
    let functions = builds.functions(&recording, &[&builds.older]);
    let dsos = builds.dsos(&recording, &[&builds.older]);
    assert!(functions.are_named(), "{functions:?} {dsos:?}");
    assert_eq!(builds.warnings(&recording, "ambiguous"), [""; 0]);
}

#[test]
fn b09_without_any_id_inodes_part_files_and_time_matches_nothing() {
    let builds = Builds::new(Ids::None);
    let both = [builds.older.as_path(), builds.newer.as_path()];
    // Unchanged, the file that ran is known by its content, and no other.
    let program = builds.program.to_str().unwrap();
    let (recording, _) = builds.record(&[], &[program, "100"]);
    let named = builds.functions(&recording, &both);
    assert!(named.0.iter().any(|row| row.name.as_deref() == Some(OLDER)), "{named:?}");
    assert!(!builds.functions(&recording, &[&builds.newer]).are_named());
    assert_eq!(builds.dsos(&recording, &[])[0]["identity"], "content");

    // With no look at the end there is only the inode, and the same path and time are no proof.
    let (recording, _) = builds.record(&["-B"], &[program, "100"]);
    let unnamed = builds.functions(&recording, &both);
    assert!(!unnamed.0.is_empty() && !unnamed.are_named(), "{unnamed:?}");
    assert_eq!(builds.dsos(&recording, &both)[0]["status"], "no-identity");

    // Written to meanwhile, with the time set back: nobody can tell any more.
    let script = builds.script(Replaced::InPlace);
    let script = format!(
        "touch -r {program} {program}.time && {script} && touch -r {program}.time {program}"
    );
    let (recording, _) = builds.record(&[], &["sh", "-c", &script]);
    let unnamed = builds.functions(&recording, &both);
    assert!(!unnamed.0.is_empty() && !unnamed.are_named(), "{unnamed:?}");
}

#[test]
fn b09_two_inodes_without_ids_stay_two_files() {
    let test = "b09_two_inodes_without_ids_stay_two_files";
    let mut recordings = 0;
    for options in [&["--buildid-mmap"][..], &["-B"], &["-N"]] {
        if !is_installed(test, "perf") {
            return;
        }
        let builds = Builds::new(Ids::None);
        let script = builds.script(Replaced::ByRename);
        let recording = builds.record_by_perf(options, &["sh", "-c", &script]);
        let sampled: Vec<_> = builds
            .dsos(&recording, &[&builds.older, &builds.newer])
            .into_iter()
            .filter(|dso| dso["samples"] != 0)
            .collect();
        assert_eq!(sampled.len(), 2, "{options:?}: {sampled:?}");
        assert!(sampled.iter().all(|dso| dso["status"] == "no-identity"), "{sampled:?}");
        // The kernel told device, inode and generation, and perf prints them.
        let events =
            builds.perf(&["script", "-i", recording.to_str().unwrap(), "--show-mmap-events"]);
        let events = String::from_utf8_lossy(&events.stdout).into_owned();
        let path = builds.program.to_str().unwrap();
        let mapped = events.lines().filter(|line| line.ends_with(path));
        let inodes: BTreeSet<_> = mapped.filter_map(|line| line.split(" @ ").nth(1)).collect();
        assert!(inodes.len() >= 2, "{inodes:?}");
        recordings += 1;
    }
    assert_eq!(recordings, 3);
}

#[test]
fn b12_after_an_upgrade_content_decides_and_the_path_does_not() {
    let builds = Builds::new(Ids::Different);
    let program = builds.program.to_str().unwrap();
    let (recording, _) = builds.record(&[], &[program, "150"]);
    let recording = recording.to_str().unwrap();
    let kept = builds.folder.join("anything");
    fs::rename(&builds.program, &kept).unwrap();
    fs::copy(&builds.newer, &builds.program).unwrap();
    // Searched on this machine, where the path leads to the newer build.
    let report = |images: &[&str]| {
        let output = builds.perftab(&[&["report", "--limit", "5", recording], images].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let without = report(&[]);
    assert!(!without.contains(OLDER) && !without.contains(NEWER), "{without}");
    let with = report(&["--image", kept.to_str().unwrap()]);
    assert!(with.contains(OLDER) && !with.contains(NEWER), "{with}");
}

// ---- what has an id -----------------------------------------------------------------------

/// A program whose `through` only ever waits for `work`, each in a library of its own.
fn chain(folder: &TestFolder) -> Vec<PathBuf> {
    // gcc gives a function that calls none no frame, and then its caller is not seen.
    let work = "volatile unsigned long sink;
        static __attribute__((noinline)) void add(int i) { sink += i; }
        void work(void) {
            for (int i = 0; i < 100000; i++) {
                for (int j = 0; j < 50; j++) sink += j;
                add(i);
            }
        }";
    let through = "void work(void); int passed;
        void through(void) { work(); passed++; }";
    let program = "#include <time.h>
        void through(void);
        int main(void) { while (clock() < CLOCKS_PER_SEC / 5) through(); return 0; }";
    let compile = |name, source, flags: &[&str]| compile(folder, name, source, flags);
    let work = compile("libwork.so", work, &["-shared", "-fPIC"]);
    let through = compile("libthrough.so", through, &["-shared", "-fPIC"]);
    let (path, below) = (text(folder), format!("-Wl,-rpath,{}", folder.display()));
    let libraries = ["-Wl,--no-as-needed", "-L", path, &below, "-lthrough", "-lwork"];
    let program = compile("program", program, &libraries);
    vec![program, through, work]
}

/// The build-id that binutils read.
fn id_by_readelf(file: &str) -> String {
    let output = Command::new("readelf").args(["-n", file]).ended().expect("readelf runs");
    let notes = String::from_utf8_lossy(&output.stdout).into_owned();
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: "));
    id.unwrap_or_else(|| panic!("{file} has no build-id: {notes}")).to_owned()
}

fn info(recording: &Path) -> Value {
    let folder = TestFolder::new();
    let output = Command::new(perftab_binary())
        .args(["info", "--json", "--no-local", text(recording)])
        .env("HOME", &*folder)
        .ended()
        .expect("perftab runs");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn b01_b08_every_dso_of_any_call_chain_has_the_id_that_readelf_prints() {
    let builds = Builds::new(Ids::Different);
    let files = chain(&builds.folder);
    let mut options = vec![&["-g"][..], &["-g", "-B"], &["-g", "--buildid-all", "-N"]];
    options.push(&["-g", "--buildid-mmap"]);
    for options in options {
        let (recording, _) = builds.record(options, &[text(&files[0])]);
        let info = info(&recording);
        let dsos = info["dsos"].as_array().unwrap();
        let dso_of = |path: &Path| dsos.iter().find(|dso| dso["path"] == text(path)).unwrap();
        // It is in nearly every call chain and at the end of hardly any.
        let [program, through, work] = [0, 1, 2].map(|index| dso_of(&files[index]));
        let count = |dso: &Value, what: &str| dso[what].as_u64().unwrap();
        assert!(count(through, "samples") > 20, "{through}");
        assert!(count(through, "leaf_samples") < count(work, "leaf_samples") / 4, "{through}");
        assert!(count(program, "samples") > 20, "{program}");

        // What the dynamic linker mapped, and the linker: all that is a file.
        let mapped = dsos.iter().filter(|dso| dso["kind"] == "user");
        let paths: Vec<&str> = mapped.clone().map(|dso| dso["path"].as_str().unwrap()).collect();
        for name in ["/libc.so", "/ld-linux", "/libthrough.so", "/libwork.so"] {
            assert!(paths.iter().any(|path| path.contains(name)), "no {name} in {paths:?}");
        }
        for dso in mapped {
            let path = dso["path"].as_str().unwrap();
            assert_eq!(dso["build_id"], id_by_readelf(path), "{options:?} {path}");
            assert_eq!(dso["recorded_by"], "mmap", "{options:?} {path}");
        }
        // Kernel and vdso too: nothing that was hit is without. The kernel tells no id of the vdso,
        // which is no file; a table has it.
        let has_table = !options.iter().any(|option| ["-B", "--buildid-mmap"].contains(option));
        let has_id = |dso: &Value| dso["kind"] != "anon" && (has_table || dso["kind"] != "vdso");
        let hit = dsos.iter().filter(|dso| dso["samples"] != 0 && has_id(dso));
        for dso in hit {
            assert_ne!(dso["build_id"], Value::Null, "{options:?} {dso}");
        }
    }
}

/// Counts how often files are opened until its input ends. Of equal events in a row the kernel
/// keeps one, so it watches files being closed too.
const OPENS: &str = r#"
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>
int main(int count, char **files) {
    int notify = inotify_init1(IN_NONBLOCK), opens[64] = {0};
    for (int i = 1; i < count; i++) inotify_add_watch(notify, files[i], IN_OPEN | IN_CLOSE);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
    char events[65536];
    for (ssize_t size; (size = read(notify, events, sizeof events)) > 0;)
        for (char *at = events; at < events + size;) {
            struct inotify_event *event = (struct inotify_event *)at;
            if (event->mask & IN_OPEN) opens[event->wd]++;
            at += sizeof *event + event->len;
        }
    for (int i = 1; i < count; i++) printf("%d\n", opens[i]);
    return 0;
}
"#;

/// How often each of `files` is opened while `work` is done.
fn opens(folder: &TestFolder, files: &[&Path], work: impl FnOnce()) -> Vec<u32> {
    let program = compile(folder, "opens", OPENS, &[]);
    let mut watcher = Command::new(program)
        .args(files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut said = watcher.stdout.take().expect("a pipe");
    let mut line = || child_process::line_of(&mut said, "what counts how often files are opened");
    assert_eq!(line(), "ready\n");
    work();
    drop(watcher.stdin.take());
    let counts: Vec<u32> = files.iter().map(|_| line().trim().parse().expect("a number")).collect();
    child_process::wait(&mut watcher, "what counts how often files are opened");
    assert_eq!(counts.len(), files.len());
    counts
}

/// What comes of it when nobody else opens the files meanwhile: a recorder of the whole system, in a
/// test beside this one, opens those of every process that runs.
fn undisturbed<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let attempts = (0..5).map(|_| attempt());
    let mut failed = Vec::new();
    for result in attempts {
        match result {
            Ok(result) => return result,
            Err(why) => failed.push(why),
        }
    }
    panic!("each of five times: {failed:?}");
}

/// Processes that end with the test.
struct RunningProcesses(Vec<Child>);

impl RunningProcesses {
    /// Starts the program so many times and waits until it has taken the place of the shell.
    fn start(program: &Path, count: usize) -> Self {
        let start = || Command::new(program).spawn().expect("it runs");
        let running = Self((0..count).map(|_| start()).collect());
        // `spawn` returns once exec has succeeded, so each is mapped by now.
        running
    }

    fn pids(&self) -> Vec<String> {
        self.0.iter().map(|child| child.id().to_string()).collect()
    }
}

impl Drop for RunningProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child_process::kill(child);
        }
    }
}

/// Many processes map a file; it is looked at once, also if it has no build-id.
#[test]
fn b02_a_dso_is_looked_at_once_however_many_processes_map_it() {
    let with_id = Builds::new(Ids::Different);
    let without = Builds::new(Ids::None);
    let running =
        [&with_id.program, &without.program].map(|program| RunningProcesses::start(program, 6));
    let pids = [running[0].pids(), running[1].pids()].concat().join(",");
    let files = [with_id.program.as_path(), without.program.as_path()];
    let recording = with_id.folder.join("p");
    undisturbed(|| {
        let counts = opens(&with_id.folder, &files, || {
            let output = with_id.perftab(&[
                "record",
                "-p",
                &pids,
                "--duration",
                "300ms",
                "-o",
                text(&recording),
            ]);
            assert!(output.status.success(), "{}", stderr(&output));
        });
        // Linux 6.11 and later tells ids without the file being opened.
        if matches!(counts[..], [0 | 1, 1]) { Ok(()) } else { Err(format!("{counts:?}")) }
    });
    let info = info(&recording);
    assert_eq!(info["records"]["COMM"], 12, "{info}");
    for builds in [&with_id, &without] {
        let of_program = info["dsos"].as_array().unwrap().iter();
        let of_program: Vec<_> =
            of_program.filter(|dso| dso["path"] == text(&builds.program)).collect();
        assert_eq!(of_program.len(), 1, "one DSO for all processes");
        assert_ne!(of_program[0]["build_id"], Value::Null);
    }
}

/// The kernel puts the ids into the mappings; asked not to look at the end, nobody opens a file but
/// who runs it.
#[test]
fn b11_no_file_is_opened_for_its_id_where_the_kernel_tells_it() {
    let builds = Builds::new(Ids::Different);
    let without = Builds::new(Ids::None);
    let files = [builds.program.as_path(), without.program.as_path()];
    let script = format!("{} 50; {} 50", text(files[0]), text(files[1]));
    for (options, at_the_end) in [(&["-B"][..], 0), (&["--buildid-mmap"], 0), (&[], 1)] {
        let recording = undisturbed(|| {
            let alone = opens(&builds.folder, &files, || {
                let status = Command::new("sh").args(["-c", &script]).exit_status();
                assert!(status.expect("sh runs").success());
            });
            assert!(alone.iter().all(|&opens| opens > 0), "{alone:?}");
            let mut recording = None;
            let counts = opens(&builds.folder, &files, || {
                recording = Some(builds.record(options, &["sh", "-c", &script]).0);
            });
            // A file that has an id is never opened, one without once if that is asked for.
            let is_so = counts == [alone[0], alone[1] + at_the_end];
            let why = format!("{options:?}: {alone:?}, {counts:?}");
            if is_so { Ok(recording.expect("it is recorded")) } else { Err(why) }
        });
        let dsos = builds.dsos(&recording, &[]);
        assert_eq!(
            (&dsos[0]["build_id"], &dsos[0]["recorded_by"]),
            (&OLDER_ID.into(), &"mmap".into())
        );
    }
}

/// The options of perf and its configuration mean what they mean there.
#[test]
fn b11_recording_without_the_scan_keeps_the_ids_of_the_events() {
    let test = "b11_recording_without_the_scan_keeps_the_ids_of_the_events";
    let builds = Builds::new(Ids::Different);
    let command = [text(&builds.program), "60"];
    let recorded_by = |recording: &Path| builds.dsos(recording, &[])[0]["recorded_by"].clone();
    let has_table = |recording: &Path| {
        let listed = builds.perf(&["report", "--header-only", "-i", text(recording)]);
        // perf prints what features there are; one that is absent it lists as missing.
        let header = String::from_utf8_lossy(&listed.stdout).into_owned();
        let missing = header.lines().find(|line| line.starts_with("# missing features:"));
        !missing.is_some_and(|line| line.contains("BUILD_ID"))
    };
    if !is_installed(test, "perf") {
        return;
    }
    for (options, table) in [
        (&[][..], true),
        (&["-N"], true),
        (&["--no-buildid-cache", "--buildid-all"], true),
        (&["-B"], false),
        (&["--no-buildid"], false),
        (&["--buildid-mmap"], false),
    ] {
        let (recording, _) = builds.record(options, &command);
        assert_eq!(recorded_by(&recording), "mmap", "{options:?}");
        assert_eq!(has_table(&recording), table, "{options:?}");
    }
    for (value, table) in [("cache", true), ("no-cache", true), ("skip", false), ("mmap", false)] {
        let config = format!("[record]\n\tbuild-id = {value}\n");
        builds.folder.write("home/.perfconfig", config.as_bytes());
        let (recording, _) = builds.record(&[], &command);
        assert_eq!((recorded_by(&recording), has_table(&recording)), ("mmap".into(), table));
    }
    fs::remove_file(builds.folder.join("home/.perfconfig")).unwrap();
    // perf's own: with -B and ids in the events they are all there is, with -N the table has them.
    let by_perf = builds.record_by_perf(&["-B", "--buildid-mmap"], &command);
    assert_eq!(recorded_by(&by_perf), "mmap");
    let by_perf = builds.record_by_perf(&["-N", "--buildid-all"], &command);
    assert_eq!(recorded_by(&by_perf), "table");
}

#[test]
fn b13_a_recording_describes_its_environment_and_copies_nothing() {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&["-g"], &[text(&builds.program), "100"]);
    let info = info(&recording);
    let printed = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).ended().expect("sh runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let host = &info["host"];
    assert_eq!(host["hostname"], printed("uname -n"));
    assert_eq!(host["os_release"], printed("uname -r"));
    assert_eq!(host["arch"], printed("uname -m"));
    assert_eq!(host["distribution"]["id"], printed(". /etc/os-release; echo $ID"));
    assert_eq!(host["distribution"]["name"], printed(". /etc/os-release; echo $NAME"));
    let words = host["cmdline"].as_array().unwrap();
    assert_eq!(words.last().unwrap(), "100");
    // The libc alone is several times as large as the recording.
    let dsos = info["dsos"].as_array().unwrap().iter();
    let of_files = dsos.filter_map(|dso| fs::metadata(dso["path"].as_str()?).ok());
    let bytes: u64 = of_files.map(|metadata| metadata.len()).sum();
    let size = fs::metadata(&recording).unwrap().len();
    assert!(size < bytes / 4, "{size} bytes for files of {bytes}");
    let home = fs::read_dir(builds.folder.join("home")).unwrap();
    let left: Vec<_> = home.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

// ---- where it can be had ------------------------------------------------------------------

/// A file that is refused tells its package, whose server may have the build that ran.
#[test]
fn b33_the_package_of_a_refused_file_says_where_the_build_may_be_had() {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&[], &[text(&builds.program), "100"]);
    let json = r#"{"type":"rpm","name":"tides","version":"2.1-3","os":"fedora","osVersion":"39","debugInfoUrl":"https://debuginfod.example.org/"}"#;
    let metadata = json.replace('"', "\\\"");
    let source = builds.folder.write("package.s", format!(
        ".section .note.package,\"a\",@note\n.align 4\n.long 4, 2f-1f, 0xcafe1a7e\n.asciz \"FDO\"\n1: .asciz \"{metadata}\"\n2: .align 4\n"
    ).as_bytes());
    let packaged = compile(
        &builds.folder,
        "packaged",
        "int main(void) { return 0; }",
        &[text(&source), "-Wl,--build-id=0xabcdef"],
    );
    // It is offered under the name that was recorded.
    let offered = builds.folder.join("upgrade/tide");
    fs::create_dir(offered.parent().unwrap()).unwrap();
    fs::rename(packaged, &offered).unwrap();
    let dsos = builds.dsos(&recording, &[&offered]);
    assert_eq!(dsos[0]["status"], "mismatched", "{dsos:?}");
    let hints = dsos[0]["hints"].as_array().unwrap();
    let has = |words: &str| hints.iter().any(|hint| hint["text"].as_str().unwrap().contains(words));
    assert!(has("tides 2.1-3 of fedora 39"), "{hints:?}");
    assert!(has("pack the binaries"), "{hints:?}");
    let url = format!("https://debuginfod.example.org/buildid/{OLDER_ID}/debuginfo");
    assert!(hints.iter().any(|hint| hint["url"] == url), "{hints:?}");
}
