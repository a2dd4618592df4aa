//! A file of a server that stops answering keeps nobody waiting.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use perftab_tests::child_process::{self, LimitedCommand, bound_to_this_thread};
use perftab_tests::perftab_binary;

use crate::record::recorder::{Recorder, RunningProcess, busy, busy_again, is_installed, is_root};

/// Less than whoever waits for a server has patience, and more than a busy machine takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Of nothing that other tests run meanwhile.
const ITS_ID: &str = "b0551e5b0551e5b0551e5b0551e5b0551e500005";

/// A mount of a copy of one file.
struct Server {
    process: Child,
    folder: PathBuf,
}

impl Server {
    /// `None` if this machine has no FUSE.
    fn of(file: &Path, folder: &Path) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/record/one_file_server.py");
        fs::create_dir(folder).unwrap();
        let mut command = bound_to_this_thread("python3");
        command.arg(script).args([file, folder]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("python3 runs");
        let line = child_process::line_of(process.stdout.as_mut().unwrap(), "the server");
        let server = Self { process, folder: folder.to_owned() };
        (line == "ready\n").then_some(server)
    }

    /// A script that ends once it is silent.
    fn silencing(&self) -> String {
        let silent = self.folder.with_extension("silent");
        format!("kill -USR1 {}; until [ -e {} ]; do :; done", self.process.id(), silent.display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Then those who wait for it get an error.
        child_process::kill(&mut self.process);
        let _ = Command::new("umount").arg("-l").arg(&self.folder).ended();
    }
}

fn perftab(arguments: &[&str], recorder: &Recorder) -> Output {
    let mut command = Command::new(perftab_binary());
    command.args(arguments).arg(&recorder.file).env_remove("DEBUGINFOD_URLS");
    // No cache has its file.
    command.env("HOME", &*recorder.folder);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child_process::end_within(child, arguments[0], LIMIT)
}

/// perf 6.1 waits until it answers.
#[test]
#[ignore = "left to --all: it waits three times for an answer that does not come"]
fn a_recording_ends_though_a_server_of_mapped_files_does_not_answer() {
    let test = "a_recording_ends_though_a_server_of_mapped_files_does_not_answer";
    if !is_root(test) || !is_installed(test, "python3") || !is_installed(test, "setpriv") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy_again(&recorder.folder, ITS_ID);
    let mounted = recorder.folder.join("mounted");
    let Some(server) = Server::of(&program, &mounted) else {
        println!("SKIPPED: {test}: nothing can be mounted by FUSE");
        return;
    };
    let served = mounted.join("busy_again");
    let running = RunningProcess::program(&served, &[]);
    running.runs_for(1);

    let record = |script: &str| {
        let how = ["-F", "199", "-a", "--call-graph", "dwarf,8192", "--embed", "unwind"];
        let mut command = recorder.command(&[&how[..], &["--", "sh", "-c", script]].concat());
        child_process::end_within(command.spawn().unwrap(), "perftab record", LIMIT)
    };
    let names_it = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let warning = format!("{} (fuse) does not answer within 2 s", mounted.display());
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
        assert!(said.contains(&format!("such as {}", served.display())), "{said}");
    };
    // Another program: a file of the same id that is looked at first would do for both.
    let busy_for = format!("{} 200", busy(&recorder.folder).display());
    // It falls silent when its file has been read, and before it is looked at once more.
    let recorded = record(&format!("{busy_for}; {}; {busy_for}", server.silencing()));
    assert!(recorded.status.success(), "{recorded:?}");
    names_it(&recorded);
    let report = perftab(&["report", "--sort", "dso"], &recorder);
    names_it(&report);
    let printed = String::from_utf8_lossy(&report.stdout);
    assert!(printed.lines().any(|line| line.trim_end().ends_with("busy_again")), "{printed}");
    // It was silent before.
    let recorded = record(&busy_for);
    assert!(recorded.status.success(), "{recorded:?}");
    names_it(&recorded);
}
