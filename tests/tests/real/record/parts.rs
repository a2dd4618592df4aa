//! A recording that is not one file until its end: many files, or one that must not grow.

use std::fs;
use std::path::PathBuf;

use perftab_perfdata::error::WarningKind;
use perftab_tests::open::open_path;

use crate::record::recorder::{BUSY_ID, Recorder, busy, data_size, is_installed, wait_for};

/// What is complete, the oldest first.
fn parts(recorder: &Recorder) -> Vec<PathBuf> {
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
        let part = Recorder { folder: perftab_tests::folder::TestFolder::new(), file: part };
        assert_eq!(part.samples_by_perf(), samples, "{name}");
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
        let times = part.perf(&["report", "--header-only"]);
        let time = |what: &str| {
            let line = times.lines().find(|line| line.contains(what)).expect(what);
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        ends.push((time("time of first sample"), time("time of last sample")));
    }
    assert!(ends[0].1 < ends[1].0, "one follows the other: {ends:?}");
}

#[test]
fn a_file_that_must_not_grow_ends_the_recording() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "--max-size=40K", "--", program.to_str().unwrap()]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(open_path(&recorder.file).unwrap().info().samples, recorded.samples());
    assert!(data_size(&recorder.file) >= 40 << 10);
}
