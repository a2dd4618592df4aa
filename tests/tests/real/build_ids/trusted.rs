//! `--trust-paths`: names by path where no build-id was recorded, and what speaks against a file.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perftab_tests::child_process::{self, LimitedCommand};
use perftab_tests::perftab_binary;
use serde_json::Value;

use super::builds::{Builds, Ids, NEWER, OLDER, Replaced, is_installed, stderr, text};
use crate::record::recorder::wait_for;

/// Names of the program's functions, each with its mark; and what was said.
fn named(builds: &Builds, recording: &Path, options: &[&str]) -> (Vec<String>, String) {
    let mut arguments = vec!["report", "--json", text(recording)];
    arguments.extend(options);
    let output = builds.perftab(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let functions = report["functions"].as_array().expect("functions");
    let rows = functions.iter().filter(|row| row["dso"] == text(&builds.program));
    let named = rows.filter_map(|row| {
        let name = row["name"].as_str()?;
        assert_eq!(row["forced"], true, "{row}");
        Some(name.to_owned())
    });
    (named.collect(), stderr(&output))
}

#[test]
fn b31_paths_are_trusted_only_when_the_user_says_so_and_nothing_speaks_against_them() {
    if !is_installed("b31_paths_are_trusted", "perf") {
        return;
    }
    let builds = Builds::new(Ids::None);
    let recording = builds.record_by_perf(&["-B", "-N"], &[text(&builds.program), "150"]);
    let trusted = |options: &[&str]| named(&builds, &recording, options);

    let (names, said) = trusted(&[]);
    assert!(names.is_empty(), "{names:?}");
    let (remedy, option) = (said.find("--buildid-mmap"), said.find("--trust-paths"));
    assert!(remedy.is_some() && remedy < option, "the remedy comes first: {said}");

    // perf names by path without being asked.
    let (names, said) = trusted(&["--trust-paths"]);
    assert!(names.contains(&OLDER.to_owned()), "{names:?}: {said}");
    assert!(said.contains("UNSAFE"), "{said}");
    // Such a file has no instructions to show.
    let annotated = builds.perftab(&["annotate", "--trust-paths", text(&recording), OLDER]);
    let answer = stderr(&annotated);
    assert!(!annotated.status.success() && annotated.stdout.is_empty(), "{answer}");
    assert!(answer.contains("annotate does not take --trust-paths"), "{answer}");
    assert!(!answer.contains("UNSAFE"), "{answer}");
    let perf = builds.perf(&["report", "-i", text(&recording), "--stdio", "--sort", "sym"]);
    assert!(String::from_utf8_lossy(&perf.stdout).contains(OLDER), "{}", stderr(&perf));

    // A copy tells no time, and one with the times of the original does.
    for (option, is_taken) in [("--no-preserve=all", false), ("--preserve=timestamps", true)] {
        let copy = builds.folder.join("copy.data");
        let copied = Command::new("cp").arg(option).args([&recording, &copy]).exit_status();
        assert!(copied.expect("cp runs").success());
        let (names, said) = named(&builds, &copy, &["--trust-paths"]);
        assert_eq!(!names.is_empty(), is_taken, "{option}: {names:?}: {said}");
        assert_eq!(said.contains("the recording is a copy"), !is_taken, "{said}");
        fs::remove_file(&copy).expect("it is there");
    }
    // perf makes links for its cache, which change no content.
    fs::hard_link(&builds.program, builds.folder.join("linked")).expect("a link");
    assert!(trusted(&["--trust-paths"]).0.contains(&OLDER.to_owned()));
    fs::remove_file(builds.folder.join("linked")).expect("it is there");

    // What speaks against it: a change, another inode, no file, a shorter one.
    let kept = builds.folder.join("kept");
    fs::rename(&builds.program, &kept).expect("it moves");
    let refused = |whys: &[&str]| {
        let (names, said) = trusted(&["--trust-paths"]);
        assert!(names.is_empty(), "{names:?}: {said}");
        assert!(whys.iter().any(|why| said.contains(why)), "{whys:?}: {said}");
    };
    refused(&["no file that can be read is there"]);
    perftab_tests::program::copy(&kept, &builds.program);
    // Inodes of overlayfs tell nothing.
    refused(&["another file was mapped", "since the recording was begun it was changed"]);
    fs::rename(&kept, &builds.program).expect("it moves back");
    refused(&["since the recording was begun it was changed"]);
    fs::OpenOptions::new()
        .write(true)
        .open(&builds.program)
        .expect("it opens")
        .set_len(16)
        .expect("cut");
    refused(&["it ends before what was mapped of it"]);
}

/// While it is recorded a pipe leads to the recorder, which tells when it was started. Whoever passes it on later tells nothing.
#[test]
fn paths_are_trusted_in_a_pipe_that_a_recorder_writes() {
    if !is_installed("paths_are_trusted_in_a_pipe", "perf") {
        return;
    }
    let builds = Builds::new(Ids::None);
    // The kernel says in hundredths of a second when a process was started.
    let written = fs::metadata(&builds.program).and_then(|it| it.modified()).expect("it is there");
    wait_for("the program to be of the past", || {
        written.elapsed().is_ok_and(|ago| ago > Duration::from_secs(1))
    });
    let stream = builds.folder.join("stream");
    let mut perftab = Command::new(perftab_binary());
    perftab.args(["report", "--json", "--trust-paths", "-"]).stdin(Stdio::piped());
    let reads = |perftab: &Child| {
        let files = fs::read_dir(format!("/proc/{}/fd", perftab.id())).into_iter().flatten();
        let mut sizes = files.flatten().filter_map(|it| Some(fs::metadata(it.path()).ok()?.len()));
        sizes.any(|length| length > 0)
    };
    for is_live in [true, false] {
        let perftab = perftab.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut perftab = builds.at_home(perftab).spawn().expect("perftab runs");
        let into = perftab.stdin.take().expect("a pipe");
        if is_live {
            // It goes on until it is read.
            let script = format!("{} 200; read line; true", text(&builds.program));
            let mut perf = Command::new("perf");
            perf.args(["record", "-q", "-e", "cpu-clock", "-F", "999", "-o", "-", "sh", "-c"]);
            perf.arg(script).stdin(Stdio::piped()).stdout(into);
            let mut perf = builds.at_home(&mut perf).spawn().expect("perf runs");
            wait_for("the pipe to be read", || reads(&perftab));
            drop(perf.stdin.take());
            assert!(child_process::wait(&mut perf, "perf").success());
        } else {
            let how = ["-e", "cpu-clock", "-F", "999", "-o", "-", text(&builds.program), "200"];
            let recorded = builds.perf(&[&["record", "-q"], &how[..]].concat());
            fs::write(&stream, recorded.stdout).expect("it can be written");
            let mut cat = Command::new("cat").arg(&stream).stdout(into).spawn().expect("cat runs");
            assert!(child_process::wait(&mut cat, "cat").success());
        }
        let output = child_process::end_of(perftab, "perftab");
        let said = stderr(&output);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let functions = report["functions"].as_array().expect("functions");
        let is_named = functions.iter().any(|row| row["name"] == OLDER && row["forced"] == true);
        assert_eq!(is_named, is_live, "{said}");
        assert_eq!(said.contains("no recorder is at the other end"), !is_live, "{said}");
    }
}

#[test]
fn b31_no_path_is_trusted_for_what_was_replaced_during_the_recording() {
    if !is_installed("b31_no_path_is_trusted_for_what_was_replaced", "perf") {
        return;
    }
    for replaced in [Replaced::ByRename, Replaced::InPlace] {
        let builds = Builds::new(Ids::None);
        let script = builds.script(replaced);
        let recording = builds.record_by_perf(&["-B", "-N"], &["sh", "-c", &script]);
        let (names, said) = named(&builds, &recording, &["--trust-paths"]);
        // In place, all samples are of one inode, and half of them of other code.
        assert!(
            !names.contains(&NEWER.to_owned()) && !names.contains(&OLDER.to_owned()),
            "{names:?}"
        );
        assert!(
            said.contains("since the recording was begun it was changed"),
            "{replaced:?}: {said}"
        );
    }
}
