//! A recording that is not one file until its end: many files, or one that must not grow.

use std::fs;
use std::path::PathBuf;

use perftab_perfdata::error::WarningKind;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;

use crate::record::recorder::{
    BUSY_ID, Recorder, RunningProcess, busy, data_size, is_installed, wait_for,
};

/// What is complete, the oldest first.
pub fn parts(recorder: &Recorder) -> Vec<PathBuf> {
    let entries = fs::read_dir(&*recorder.folder).unwrap().map(|entry| entry.unwrap().path());
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let time = name.strip_prefix("perf.data.").unwrap_or_default();
        time.len() == 16 && time.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts: Vec<PathBuf> = entries.filter(is_part).collect();
    parts.sort();
    parts
}

/// Processes that began in the first part have names and build-ids in all others.
#[test]
fn each_part_is_whole_by_itself() {
    let test = "each_part_is_whole_by_itself";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let both = "\"$0\" & exec \"$0\"";
    let options = ["-e", "cpu-clock", "-g", "--switch-output", "--switch-max-files=2", "--"];
    let command = ["sh", "-c", both, program.to_str().unwrap()];
    let recording = recorder.start(&[&options[..], &command].concat());
    let has_samples = || data_size(&recorder.file) > 60_000;
    for number in 1..=2 {
        wait_for("samples", has_samples);
        recording.signal("USR2");
        wait_for("a part", || parts(&recorder).len() == number);
    }
    wait_for("samples", has_samples);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let parts = parts(&recorder);
    assert_eq!((parts.len(), recorder.file.exists()), (2, false), "the oldest is gone: {parts:?}");
    let mut ends = Vec::new();
    for part in parts {
        let name = part.file_name().unwrap().to_str().unwrap().to_owned();
        let of_part = |line: &&str| line.contains(&format!(" in {}", part.display()));
        let said = recorded.said.lines().find(of_part).unwrap_or_else(|| panic!("{name}"));
        let said = said.trim_start_matches("perftab: ").split(' ').next().unwrap();
        let samples: u64 = said.replace(',', "").parse().unwrap();
        let part = Recorder { folder: TestFolder::new(), file: part };
        assert_eq!(part.samples_by_peers(), samples, "{name}");
        assert!(part.perf(&["buildid-list"]).contains(BUSY_ID), "{name}");
        let script = part.perf(&["script", "-F", "comm,pid,ip,sym", "--no-inline"]);
        let mut processes: Vec<&str> =
            script.lines().filter(|line| line.starts_with("busy")).collect();
        processes.sort_unstable();
        processes.dedup();
        assert_eq!(processes.len(), 2, "{name}: {processes:?}");
        assert!(script.contains("user_work"), "{name}");
        let session = open_path(&part.file).unwrap();
        let info = session.info();
        assert_eq!(info.samples, samples, "{name}");
        let warnings = info.warnings;
        assert!(warnings.iter().all(|it| it.kind != WarningKind::Unfinished), "{warnings:?}");
        ends.push(times_of(&part));
    }
    assert!(ends[0].1 < ends[1].0, "one follows the other: {ends:?}");
}

/// What cleans up may take the file away that is written. That one is lost, which is said, and the night goes on.
#[test]
fn a_part_that_is_removed_is_said_to_be_lost_and_the_next_begins() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let options = ["-e", "cpu-clock", "-g", "--switch-output", "--"];
    let options = [&options[..], &[program.to_str().unwrap()]].concat();
    let recording = recorder.start(&options);
    fs::remove_file(&recorder.file).unwrap();
    recording.signal("USR2");
    wait_for("the next file", || recorder.file.exists() && data_size(&recorder.file) > 0);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let lost = "perf.data was removed while it was recorded: nothing is left of it";
    assert!(recorded.said.contains(lost), "{}", recorded.said);
    let [part] = &parts(&recorder)[..] else { panic!("{}", recorded.said) };
    assert!(open_path(part).unwrap().info().samples > 0);

    // Where it is the only one, nothing says that there is a file.
    let recording = recorder.start(&["-e", "cpu-clock", "--", program.to_str().unwrap()]);
    fs::remove_file(&recorder.file).unwrap();
    recording.signal("INT");
    recording.end().failed_with(1, &[lost]);
}

/// What is older than the rings can hold is gone, and no sample is in two files.
#[test]
fn a_flight_recorder_writes_what_is_latest_when_it_is_asked() {
    let test = "a_flight_recorder_writes_what_is_latest_when_it_is_asked";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let options = ["-e", "cpu-clock", "-g", "-F", "1999", "--overwrite", "-m", "16K"];
    let pid = process.pid();
    let arguments = [&options[..], &["-p", &pid]].concat();
    let recording = RunningProcess(recorder.command(&arguments).spawn().unwrap());
    let descriptors = format!("/proc/{}/fd", recording.pid());
    let is_counter = |entry: fs::DirEntry| {
        let leads = fs::read_link(entry.path()).unwrap_or_default();
        leads.to_string_lossy().contains("perf_event")
    };
    wait_for("its counters", || {
        let entries = fs::read_dir(&descriptors).unwrap();
        entries.flatten().any(is_counter)
    });
    // Two thousand samples, of which a ring holds some hundred.
    process.runs_for(100);
    recording.signal("USR2");
    wait_for("a file", || parts(&recorder).len() == 1);
    process.runs_for(100);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let mut times = Vec::new();
    for file in [parts(&recorder)[0].clone(), recorder.file.clone()] {
        let file = Recorder { folder: TestFolder::new(), file };
        let samples = file.samples_by_peers();
        assert!((20..1000).contains(&samples), "{samples}: {}", recorded.said);
        let script = file.perf(&["script", "-F", "time,ip,sym", "--no-inline"]);
        assert!(script.contains("user_work"));
        assert!(file.perf(&["buildid-list"]).contains(BUSY_ID));
        let info = open_path(&file.file).unwrap().info();
        assert_eq!(info.samples, samples);
        times.push(times_of(&file));
    }
    assert!(times[0].1 < times[1].0, "one follows the other: {times:?}");

    recorder.run(&["--overwrite", "--trigger=load>8", "--", "true"]);
    assert!(recorder.file.exists(), "the end is always written");
    fs::remove_file(&recorder.file).unwrap();
    // What holds from the beginning has a file, with samples. The program runs until there is one.
    let script = "set -- \"$0\".*; until test -e \"$1\"; do set -- \"$0\".*; done";
    let file = recorder.file.to_str().unwrap();
    let options = ["-e", "cpu-clock", "--overwrite", "--trigger=MemTotal>1", "--"];
    let recorded = recorder.run(&[&options[..], &["sh", "-c", script, file]].concat());
    let written = parts(&recorder).pop().expect(&recorded.said);
    assert!(open_path(&written).unwrap().info().samples > 0, "{}", recorded.said);
    fs::remove_file(&recorder.file).unwrap();
    let recorded = recorder.run(&["--overwrite", "--trigger=exit!=0", "--", "true"]);
    assert_eq!((recorded.exit_code, recorder.file.exists()), (Some(0), false), "{}", recorded.said);
    let script = "\"$0\" 100; exit 3";
    let program = recorder.folder.join("busy");
    let options = ["-z", "--overwrite", "--trigger=exit!=0", "--", "sh", "-c", script];
    let recorded = recorder.run(&[&options[..], &[program.to_str().unwrap()]].concat());
    assert_eq!(recorded.exit_code, Some(3), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
}

/// When its samples began and ended, by perf.
fn times_of(file: &Recorder) -> (f64, f64) {
    let header = file.perf(&["report", "--header-only"]);
    let time = |what: &str| {
        let line = header.lines().find(|line| line.contains(what)).expect(what);
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    (time("time of first sample"), time("time of last sample"))
}

#[test]
fn a_file_that_must_not_grow_ends_the_recording() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "--max-size=40K", "--", program.to_str().unwrap()]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(open_path(&recorder.file).unwrap().info().samples, recorded.samples());
    assert!(data_size(&recorder.file) >= 40 << 10);

    // Of several it is each, as in perf.
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let limits = ["-g", "--max-size=40K", "--switch-output=1h"];
    let recorded = recorder.run(&[&limits[..], &["--", program.to_str().unwrap()]].concat());
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let [file] = &parts(&recorder)[..] else { panic!("{}", recorded.said) };
    assert!(data_size(file) >= 40 << 10);
    let never = ["--max-size=2M", "--switch-output=1M", "--", "true"];
    let recorded = recorder.run(&never);
    assert!(recorded.said.contains("nothing ends the recording by its size"), "{}", recorded.said);
}
