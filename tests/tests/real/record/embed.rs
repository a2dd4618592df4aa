//! What travels in a recording names it where nothing of its machine is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::content_hash;
use perftab_tests::servers::Viewer;
use serde_json::{Value, json};

use crate::record::parts::parts;
use crate::record::recorder::{
    Recorder, RunningProcess, busy, busy_without_id, data_size, is_installed, is_root, wait_for,
};

/// Its callers are known by unwind tables alone.
const PROGRAM: &str = "
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void outer(void) { inner(); sink++; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) outer(); return 0; }
";

/// Compiled soon, and recursive.
const SCRIPT: &str = "
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (const end = Date.now() + 500; Date.now() < end; ) fib(20);
";

fn without_frame_pointers(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("nested.c"), folder.join("nested"));
    fs::write(&source, PROGRAM).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-fomit-frame-pointer", "-Wl,--build-id", "-o"])
        .args([&program, &source]);
    assert!(gcc.exit_status().unwrap().success());
    program
}

/// Self and total weight of the functions of a DSO, by name.
fn functions(recorder: &Recorder, options: &[&str], dso: &str) -> BTreeMap<String, [u64; 2]> {
    let mut report = Command::new(perftab_binary());
    report.args(["report", "--json"]).args(options).arg(&recorder.file);
    let output =
        report.env("HOME", &*recorder.folder).env_remove("DEBUGINFOD_URLS").ended().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = |it: &Value| {
        let is_of_dso = it["dso"].as_str().is_some_and(|path| path.contains(dso));
        let name = it["name"].as_str().filter(|name| is_of_dso && !name.starts_with("0x"))?;
        Some((name.to_owned(), [it["self"].as_u64()?, it["total"].as_u64()?]))
    };
    report["functions"].as_array().unwrap().iter().filter_map(row).collect()
}

#[test]
fn parts_of_files_name_stacks_without_the_files() {
    let test = "parts_of_files_name_stacks_without_the_files";
    if !is_installed(test, "gcc") || !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = without_frame_pointers(&recorder.folder);
    let command = program.to_str().unwrap();
    let record = |kinds: &str| {
        let embed = format!("--embed={kinds}");
        let recorded =
            recorder.run(&["-e", "cpu-clock:u", "--call-graph", "dwarf-dump", &embed, command]);
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        recorded
    };
    record("none");
    assert_eq!(functions(&recorder, &["--no-local"], "/nested"), BTreeMap::new());
    let recorded = record("unwind,symbols");
    assert!(recorded.said.contains("it contains parts of "), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples(), "perf reads it as before");
    let mut by_files = functions(&recorder, &[], "/nested");
    // Jumps of a linkage table are named by its code, which no part has. A sample seldom hits one.
    by_files.retain(|name, _| !name.ends_with("@plt"));
    fs::remove_file(&program).unwrap();
    let by_parts = functions(&recorder, &["--no-local"], "/nested");
    assert_eq!(by_files, by_parts);
    let [main, inner] = ["main", "inner"].map(|name| by_parts[name]);
    assert!(inner[0] > main[1] / 2 && main[0] < main[1], "{by_parts:?}");
    // Symbols of the C library are those of its distribution.
    assert_eq!(functions(&recorder, &["--no-local"], "/libc.so"), BTreeMap::new());
}

/// It has no build-id, and nothing but the recorder has it once it has ended.
#[test]
fn a_program_that_was_removed_is_named_as_long_as_it_runs_and_by_its_parts() {
    let recorder = Recorder::new();
    let program = busy_without_id(&recorder.folder);
    let process = RunningProcess::program(&program, &[]);
    process.runs_for(1);
    let hash = content_hash(&program);
    fs::remove_file(&program).unwrap();
    let pid = process.pid();
    let options = ["-e", "cpu-clock:u", "-g", "-p", &pid];
    let recorded = recorder.run(&[&options[..], &["--duration", "500ms"]].concat());
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let by_process = |options: &[&str]| functions(&recorder, options, "/without_id");
    assert!(by_process(&[]).contains_key("user_work"), "{}", recorded.said);
    let said = "/without_id; names are there only as long as it runs";
    assert!(recorded.said.contains(said), "{}", recorded.said);
    assert_eq!(by_process(&["--no-local"]), BTreeMap::new());
    // The page is given it as well.
    let viewer = Viewer::start(&[recorder.file.to_str().unwrap()]);
    let file = json!({"dso": 0, "kind": "user", "path": program, "identity": {"content": hash}});
    let process_id: u32 = pid.parse().unwrap();
    let told = json!({"pids": [process_id], "files": [file]}).to_string();
    assert_eq!(viewer.post("/profile/0/files", &told).status, 200);
    assert_eq!(viewer.get(&format!("/local/content/{hash}")).status, 200);

    // Whose file is not there yet.
    let recorder = Recorder::new();
    let parted = ["--embed=unwind,symbols", "--switch-output"];
    let recording = recorder.start(&[&options[..], &parted].concat());
    wait_for("samples", || data_size(&recorder.file) > 10_000);
    recording.signal("USR2");
    wait_for("a part", || parts(&recorder).len() == 1);
    wait_for("samples", || data_size(&recorder.file) > 10_000);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let kept = ["--embed=symbols", "--overwrite", "--duration", "500ms"];
    let flight = recorder.run(&[&options[..], &kept].concat());
    assert_eq!(flight.exit_code, Some(0), "{}", flight.said);
    assert!(!flight.said.contains(said), "{}", flight.said);
    drop(process);
    let files = parts(&recorder).into_iter().chain([recorder.file.clone()]);
    let files: Vec<PathBuf> = files.collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let part = Recorder { folder: TestFolder::new(), file };
        let named = functions(&part, &["--no-local"], "/without_id");
        assert!(named.contains_key("user_work"), "{}: {named:?}", part.file.display());
        if is_installed("a_program_that_was_removed", "perf") {
            assert!(part.samples_by_peers() > 0);
        }
    }
}

#[test]
fn a_jitdump_travels_in_the_recording() {
    let test = "a_jitdump_travels_in_the_recording";
    if !is_installed(test, "node") {
        return;
    }
    let recorder = Recorder::new();
    let script = recorder.folder.write("fib.js", SCRIPT.as_bytes());
    let options = ["-e", "cpu-clock:u", "-g", "node", "--perf-prof"];
    let recorded = recorder.run(&[&options[..], &[script.to_str().unwrap()]].concat());
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let files = fs::read_dir(&*recorder.folder).unwrap().map(|entry| entry.unwrap().path());
    let dumps: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "dump")).collect();
    assert_eq!(dumps.len(), 1);
    let given = ["--no-local", "--image", dumps[0].to_str().unwrap()];
    let by_file = functions(&recorder, &given, "jit-");
    assert!(by_file.keys().any(|name| name.contains("fib")), "{by_file:?}");
    fs::remove_file(&dumps[0]).unwrap();
    assert_eq!(functions(&recorder, &["--no-local"], "jit-"), by_file);
}

#[test]
fn symbols_of_the_kernel_travel_if_they_are_asked_for() {
    if !is_root("symbols_of_the_kernel_travel_if_they_are_asked_for") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let command = ["-e", "cpu-clock:k", "-g", program.to_str().unwrap(), "300"];
    for (embed, has_names) in [("kernel", true), ("none", false)] {
        let recorded = recorder.run(&[&["--embed", embed][..], &command].concat());
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        let named = functions(&recorder, &["--no-local"], "kernel");
        assert_eq!(!named.is_empty(), has_names, "{embed}: {named:?}");
    }
}
