//! When samples are taken, and whose: what is said before a recording, or while it goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, Stdio};

use perftab_tests::child_process::{self, LimitedCommand};
use perftab_tests::open::open_path;

use crate::record::recorder::{Recorder, RunningProcess, busy, is_installed, is_root};

/// Whoever says what is wanted by `--control fifo:ctl,ack`, from before it is there.
struct Asker {
    requests: File,
    answers: ChildStdout,
    _cat: RunningProcess,
}

impl Asker {
    fn new(recorder: &Recorder) -> Self {
        let mut make = Command::new("mkfifo");
        make.args(["ctl", "ack"]).current_dir(&*recorder.folder);
        assert!(make.exit_status().unwrap().success());
        let mut cat = Command::new("cat");
        cat.arg("ack").current_dir(&*recorder.folder).stdout(Stdio::piped());
        let mut cat = RunningProcess(cat.spawn().unwrap());
        let answers = cat.0.stdout.take().unwrap();
        let path = recorder.folder.join("ctl");
        let requests = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Self { requests, answers, _cat: cat }
    }

    /// Returns once it is done.
    fn ask(&mut self, request: &str) {
        writeln!(self.requests, "{request}").unwrap();
        // The zero behind it comes before the next one.
        let answer = child_process::line_of(&mut self.answers, request);
        assert_eq!(answer.trim_start_matches('\0'), "ack\n", "{request}");
    }
}

/// Only while it is enabled, samples are taken; and each request is done when it is acknowledged.
#[test]
fn requests_while_it_records_are_done_and_acknowledged() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let mut asker = Asker::new(&recorder);
    let mut ask = |request: &str| asker.ask(request);
    let pid = process.pid();
    let events = "cpu-clock,task-clock";
    let options = ["-e", events, "-F", "999", "-D", "-1", "--control", "fifo:ctl,ack"];
    let arguments = [&options[..], &["-p", &pid]].concat();
    let recording = RunningProcess(recorder.command(&arguments).spawn().unwrap());
    ask("ping");
    let begun = process.ticks();
    process.runs_for(20);
    ask("evlist");
    ask("enable");
    ask("disable task-clock");
    process.runs_for(20);
    ask("disable");
    process.runs_for(20);
    ask("enable task-clock");
    ask("enable cycles-of-the-moon");
    process.runs_for(20);
    ask("stop");
    let ran = process.ticks() - begun;
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    // A tick is ten milliseconds.
    let samples = recorded.samples();
    assert!((200..ran * 8).contains(&samples), "{samples} in {ran}: {}", recorded.said);
    let info = open_path(&recorder.file).unwrap().info();
    let of_each: Vec<u64> = info.events.iter().map(|event| event.samples).collect();
    assert!(of_each.len() == 2 && of_each.iter().all(|of_one| *of_one >= 100), "{of_each:?}");
    let said = "perftab: cpu-clock\nperftab: task-clock\nperftab: --control: cycles-of-the-moon ";
    assert!(recorded.said.contains(said), "{}", recorded.said);
    if is_installed("requests_while_it_records_are_done_and_acknowledged", "perf") {
        assert_eq!(recorder.samples_by_peers(), samples);
    }
}

/// What was acknowledged stays so when a delay ends that was said before.
#[test]
fn samples_that_are_disabled_during_the_delay_stay_disabled() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let mut asker = Asker::new(&recorder);
    let mut ask = |request: &str| asker.ask(request);
    let pid = process.pid();
    let options = ["-e", "cpu-clock", "-D", "300", "--control", "fifo:ctl,ack", "-p", &pid];
    let recording = RunningProcess(recorder.command(&options).spawn().unwrap());
    ask("disable");
    // Longer than the delay.
    process.runs_for(40);
    ask("stop");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(open_path(&recorder.file).unwrap().info().samples, 0, "{}", recorded.said);
}

#[test]
fn a_delay_is_without_samples_and_not_without_mappings() {
    let test = "a_delay_is_without_samples_and_not_without_mappings";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let options = ["-e", "cpu-clock", "-D", "300", "--", program.to_str().unwrap(), "600"];
    let recorded = recorder.run(&options);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let script = recorder.perf(&["script", "--show-task-events", "-F", "time,event,ip,sym"]);
    let time = |is_it: &dyn Fn(&str) -> bool| {
        let line = script.lines().find(|line| is_it(line)).expect("a record");
        let times = line.split_whitespace().filter_map(|word| word.strip_suffix(':'));
        times.filter_map(|time| time.parse::<f64>().ok()).next().expect("a time")
    };
    let begun = time(&|line| line.contains("PERF_RECORD_COMM exec"));
    let first = time(&|line| line.contains("cpu-clock"));
    // The delay begins a little before the program.
    assert!(first - begun > 0.25, "{begun} {first}");
    assert!(script.contains("user_work"), "{script}");
}

#[test]
fn the_processes_of_a_user() {
    let test = "the_processes_of_a_user";
    if !is_root(test) || !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    // Nobody else is this.
    let mut theirs = Command::new(busy(&recorder.folder));
    theirs.uid(61_999).stdout(Stdio::null());
    let _theirs = RunningProcess(theirs.spawn().unwrap());
    let recorded = recorder.run(&["-e", "cpu-clock", "-u", "61999", "--duration", "300ms"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let script = recorder.perf(&["script", "-F", "comm"]);
    assert!(script.lines().count() > 0, "{}", recorded.said);
    assert!(script.lines().all(|line| line.trim() == "busy"), "{script}");
    recorder.run(&["-u", "61998", "--", "true"]).failed_with(2, &["no process of this user"]);
    recorder.run(&["-u", "no such user", "--", "true"]).failed_with(2, &["no such user"]);
    assert!(fs::exists(&recorder.file).unwrap());
}
