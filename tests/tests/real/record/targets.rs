//! What is recorded, and when it ends.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use perftab_tests::child_process::{self, LimitedCommand};
use perftab_tests::open::open_path;
use perftab_tests::perftab_binary;

use crate::record::recorder::{
    Recorder, RunningProcess, busy, data_size, is_installed, is_root, wait_for,
};

#[test]
fn the_exit_code_is_the_commands() {
    let recorder = Recorder::new();
    assert_eq!(recorder.run(&["--", "sh", "-c", "exit 7"]).exit_code, Some(7));
    assert_eq!(recorder.run(&["--", "sh", "-c", "kill -9 $$"]).exit_code, Some(128 + 9));
    assert_eq!(recorder.run(&["--", "true"]).exit_code, Some(0));
}

#[test]
fn a_command_is_recorded_from_its_exec_with_what_it_starts() {
    let test = "a_command_is_recorded_from_its_exec_with_what_it_starts";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let script = format!("{} 100 & {0} 100; wait", program.display());
    let recorded = recorder.run(&["--", "sh", "-c", &script]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let script = recorder.perf(&["script", "-F", "comm,pid"]);
    let mut processes: Vec<&str> =
        script.lines().filter(|line| line.trim_start().starts_with("busy")).collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 2, "{processes:?}");
    assert!(!script.contains("perftab"), "the recorder recorded itself");
}

/// As in perf.
#[test]
fn where_nothing_is_named_all_cpus_are_recorded() {
    if !is_root("where_nothing_is_named_all_cpus_are_recorded") {
        return;
    }
    let recorder = Recorder::new();
    let recorded = recorder.run(&["-F", "99", "--duration", "50ms"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let says = "recording all CPUs: neither -- CMD nor -p PID is given";
    assert!(recorded.said.contains(says), "{}", recorded.said);
    let info = open_path(&recorder.file).expect("a recording").info();
    assert!(info.processes > 1, "{}", info.processes);
}

/// Not that it has ended.
#[test]
fn a_process_that_proc_hides_is_said_to_be_hidden() {
    let test = "a_process_that_proc_hides_is_said_to_be_hidden";
    if !is_root(test) || !is_installed(test, "unshare") || !is_installed(test, "setpriv") {
        return;
    }
    let recorder = Recorder::new();
    let binary = recorder.folder.join("perftab");
    perftab_tests::program::copy(&perftab_binary(), &binary);
    fs::set_permissions(&*recorder.folder, fs::Permissions::from_mode(0o777)).unwrap();
    let line = "mount -t proc -o hidepid=2 proc /proc || exit 9; \
                for option in -p -t; do \
                    setpriv --reuid=65534 --regid=65534 --clear-groups ./perftab record $option 1 -- true; \
                done";
    let mut hiding = Command::new("unshare");
    hiding.args(["-m", "sh", "-c", line]).current_dir(&*recorder.folder);
    let output = hiding.ended().expect("unshare runs");
    if output.status.code() == Some(9) {
        println!("SKIPPED: {test}: mounting /proc is not permitted");
        return;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("process 1 is not in /proc").count(), 2, "{said}");
    assert!(said.contains("record as root"), "{said}");
}

#[test]
fn several_processes_are_recorded_until_all_have_ended() {
    let test = "several_processes_are_recorded_until_all_have_ended";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let processes =
        [RunningProcess::program(&program, &[]), RunningProcess::program(&program, &[])];
    // No process has this number, as no more than 2^22 are allowed.
    let pids = format!("{},4194304,{}", processes[0].pid(), processes[1].pid());
    let recording = recorder.start(&["-g", "-p", &pids]);
    for process in &processes {
        process.runs_for(10);
        process.signal("KILL");
    }
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(recorded.said.contains("there is no process 4194304; the others"), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let script = recorder.perf(&["script", "-F", "pid,ip,sym"]);
    for process in &processes {
        assert!(script.contains(&process.pid()), "no sample of {}", process.pid());
    }
    assert!(script.contains("user_work"), "what ran before has names");
}

#[test]
fn a_process_is_recorded_until_the_command_ends() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let recorded = recorder.run(&["-p", &process.pid(), "--", "sh", "-c", "exit 3"]);
    assert_eq!(recorded.exit_code, Some(3), "{}", recorded.said);
}

#[test]
fn one_thread_and_a_time_limit() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    // On a busy machine the thread may have no time on the CPU while it is recorded.
    for duration in ["300ms", "3s", "30s"] {
        let begun = process.ticks();
        let recorded = recorder.run(&["-t", &process.pid(), "--duration", duration]);
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        if process.ticks() - begun > 5 {
            assert!(recorded.samples() > 0, "{}", recorded.said);
            return;
        }
    }
    panic!("the thread had no time on the CPU");
}

#[test]
fn what_to_do_next_can_be_pasted_and_shared() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let record = |base: &str, how: &str| {
        let mut record = Command::new(perftab_binary());
        record.args(["record", how, "-o", "it's here.data", "--share", "--"]).arg(&program);
        let record = record.arg("200").current_dir(&*recorder.folder);
        let ended = record.env("PERFTAB_BASE_URL", base).ended().expect("perftab runs");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{said}");
        (String::from_utf8(ended.stdout).expect("text"), said)
    };
    let (link, said) = record("https://host/page", "-g");
    let (_, next) = said.split_once("; next: ").expect("what to do next");
    let command = next.split(", or ").next().expect("a command").replace("perftab", "\"$0\"");
    assert!(link.starts_with("https://host/page#p1."), "{link}");
    let shell = |script: &str, word: &OsStr| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(perftab_binary()).arg(word).current_dir(&*recorder.folder);
        let ended = shell.ended().expect("sh runs");
        assert!(ended.status.success(), "{script}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).expect("text")
    };
    assert!(shell(&command, OsStr::new("")).contains(" user_work "), "{command}");
    assert!(shell("\"$0\" report \"$1\"", OsStr::new(link.trim())).contains(" user_work "));
    // Where nothing else fits into a link, there is a page.
    let (link, said) = record(&format!("https://host/{}", "a".repeat(65_530)), "-g");
    assert!(link.is_empty() && said.contains("it's here.data.html keeps all"), "{said}");
    let page = shell("\"$0\" report \"$1\"", OsStr::new("it's here.data.html"));
    assert!(page.contains(" user_work "), "{page}");
    let (link, said) = record("https://host/page", "-gq");
    assert!(link.starts_with("https://host/page#p1.") && said.is_empty(), "{said}");
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    if !is_installed("a_terminal_shows_how_far_it_is", "script") {
        return;
    }
    const LINE: &str = "\r\x1b[Krecording ";
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let script = |options: &str| {
        let (program, pid) = (perftab_binary(), process.pid());
        let file = recorder.file.display();
        let command = format!("{} record -o {file} -p {pid} {options}", program.display());
        let mut script = Command::new("script");
        script.env("TERM", "xterm");
        script.args(["-q", "-e", "-f", "-c", &command, "/dev/null"]).stdin(Stdio::null());
        script
    };
    let on_terminal = |options: &str| {
        let output = script(options).ended().expect("script runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = on_terminal("--duration 1500ms");
    assert!(shown.contains(LINE), "{shown:?}");
    let (line, after) = shown.rsplit_once("\r\x1b[K").expect("it is taken away");
    assert!(line.contains("Ctrl-C ends it") && after.starts_with("perftab: "), "{shown:?}");
    // What a command writes there is its own.
    assert!(!on_terminal("-- sleep 1.5").contains(LINE));
    assert!(!on_terminal("-q --duration 1500ms").contains(LINE));
    // After a while it names what runs.
    let mut script =
        script("-g --duration 60s").stdout(Stdio::piped()).spawn().expect("script runs");
    let mut shown = Vec::new();
    let mut terminal = script.stdout.take().expect("a pipe");
    while !String::from_utf8_lossy(&shown).contains("; user_work ") {
        let mut piece = [0; 1024];
        let length = terminal.read(&mut piece).expect("it writes");
        assert!(length > 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&piece[..length]);
    }
    drop(process);
    assert!(child_process::wait(&mut script, "script").success());
}

#[test]
fn ctrl_c_ends_a_recording_that_is_complete() {
    let test = "ctrl_c_ends_a_recording_that_is_complete";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recording = recorder.start(&["-g", "--", program.to_str().unwrap()]);
    wait_for("samples", || data_size(&recorder.file) > 10_000);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    assert!(recorder.perf(&["report", "--header-only"]).contains("hostname :"));
}

#[test]
fn cpus_can_be_chosen() {
    let test = "cpus_can_be_chosen";
    if !is_installed(test, "perf") || !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let pinned = ["-C", "0", "--", "taskset", "-c", "0", program.to_str().unwrap(), "100"];
    let recorded = recorder.run(&pinned);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let cpus = recorder.perf(&["script", "-F", "cpu"]);
    assert!(cpus.lines().all(|line| line.trim() == "[000]"), "{cpus}");
    assert!(cpus.lines().count() > 10, "{cpus}");

    if !taskset(&["-c", "1", "true"]) {
        println!("SKIPPED: the end of {test}: there is one CPU");
        return;
    }
    // What a process has mapped on another CPU before it came has names, too.
    let pinned = |cpu| {
        let options = ["-c", cpu, program.to_str().unwrap()];
        RunningProcess::program(Path::new("taskset"), &options)
    };
    let _sampled = pinned("0");
    fs::remove_file(&recorder.file).unwrap();
    let recording = recorder.start(&["-C", "0"]);
    // By then it has listed what ran before.
    wait_for("samples", || open_path(&recorder.file).is_ok_and(|it| it.info().samples > 0));
    let moving = pinned("1");
    moving.runs_for(2);
    assert!(taskset(&["-cp", "0", &moving.pid()]));
    moving.runs_for(10);
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let script = recorder.perf(&["script", "-F", "pid,cpu,ip,sym"]);
    assert!(script.lines().all(|line| line.contains("[000]")), "{script}");
    let mut own = script.lines().filter(|line| line.trim_start().starts_with(&moving.pid()));
    assert!(own.any(|line| line.contains("user_work")), "{script}");
}

/// Whether it could do so.
pub fn taskset(arguments: &[&str]) -> bool {
    let status = Command::new("taskset").args(arguments).stdout(Stdio::null()).exit_status();
    status.expect("taskset runs").success()
}

#[test]
fn the_older_recording_is_kept() {
    let recorder = Recorder::new();
    recorder.run(&["--", "true"]);
    let first = fs::read(&recorder.file).unwrap();
    recorder.run(&["--", "true"]);
    assert_eq!(fs::read(recorder.folder.join("perf.data.old")).unwrap(), first);
}
