//! What goes wrong is said in one line with the remedy, and what was recorded is kept.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use perftab_perfdata::error::{Warning, WarningKind};
use perftab_tests::child_process::{self, LimitedCommand};
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;
use perftab_tests::perftab_binary;

use crate::record::recorder::{
    Recorder, RunningProcess, busy, busy_without_id, data_size, is_installed, is_root, wait_for,
};

#[test]
fn targets_that_do_not_exist() {
    let recorder = Recorder::new();
    // Beyond the largest pid that Linux gives out (2^22).
    recorder.run(&["-p", "99999999"]).failed_with(1, &["99999999"]);
    recorder.run(&["-t", "99999999"]).failed_with(1, &["99999999"]);
    recorder.run(&["--", "no-such-command"]).failed_with(1, &["'no-such-command'", "No such file"]);
    recorder.run(&["--", "/etc/passwd"]).failed_with(1, &["'/etc/passwd'", "Permission denied"]);
    assert!(!recorder.file.exists(), "nothing was recorded");
}

#[test]
fn wrong_usage() {
    let recorder = Recorder::new();
    recorder.run(&["-e", "cycels", "--", "true"]).failed_with(2, &["'cycels'", "cpu-clock"]);
    recorder.run(&["-F", "often", "--", "true"]).failed_with(2, &["-F often"]);
    let too_often = ["-F", "999999999", "--strict-freq", "--", "true"];
    recorder.run(&too_often).failed_with(2, &["999999999", "perf_event_max_sample_rate"]);
    recorder.run(&["-g", "dwarf", "true"]).failed_with(1, &["'dwarf'", "--call-graph dwarf"]);
    recorder.run(&["-C", "4096", "--", "true"]).failed_with(2, &["4096", "not online"]);
    // Of no CPU.
    let lbr = ["--call-graph", "lbr", "-e", "cpu-clock", "--", "true"];
    recorder.run(&lbr).failed_with(1, &["--call-graph dwarf"]);
    recorder.run(&["--call-graph", "stacks", "--", "true"]).failed_with(2, &["dwarf", "fp"]);
    recorder.run(&["--call-graph", "dwarf,1M", "--", "true"]).failed_with(2, &["65528"]);
    recorder.run(&["--call-graph", "fp,x", "--", "true"]).failed_with(2, &["above 0"]);
    recorder.run(&["--max-stack", "9", "--", "true"]).failed_with(2, &["goes with -g"]);
    let data = ["-d", "--call-graph", "dwarf", "--", "true"];
    recorder.run(&data).failed_with(2, &["do not go with --call-graph dwarf"]);
    // No CPU counts it, so none keeps branches.
    recorder.run(&["-b", "-e", "cpu-clock", "--", "true"]).failed_with(1, &["-b: no event here"]);
    let chains = ["-e", "cpu-clock/call-graph=fp/,cs/call-graph=dwarf/", "--", "true"];
    recorder.run(&chains).failed_with(2, &["in one way"]);
    recorder.run(&["--call-graph", "lbr,8", "--", "true"]).failed_with(2, &["lbr,8", "fp[,"]);
    assert!(!recorder.file.exists(), "nothing was recorded");
}

/// Where the kernel defers no call chains (before 6.19) that is said, and they are plain. Either way stacks are whole.
#[test]
fn call_chains_are_deferred_or_walked_at_once() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded =
        recorder.run(&["--call-graph", "fp,defer", "--", program.to_str().unwrap(), "100"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let ours = |arguments: &[&str]| {
        let mut command = Command::new(perftab_binary());
        let output = command.args(arguments).arg(&recorder.file).ended().expect("perftab runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let attrs = ours(&["evlist", "-v"]);
    let is_deferred = !recorded.said.contains("this kernel defers none");
    for bit in ["defer_callchain: 1", "defer_output: 1"] {
        assert_eq!(attrs.contains(bit), is_deferred, "{}{attrs}", recorded.said);
    }
    let stacks = ours(&["export", "--to", "collapsed"]);
    let has_caller = |line: &str| line.contains(";user_work") && !line.contains("busy;user_work");
    assert!(stacks.lines().any(has_caller), "{stacks}");
}

/// A process may have less stack than it takes to read its command line.
#[test]
fn a_small_stack_is_enough() {
    let recorder = Recorder::new();
    let perftab = perftab_binary();
    let script = "ulimit -s 64 && exec \"$0\" record -q -o \"$1\" -- true";
    let output =
        Command::new("sh").args(["-c", script]).arg(perftab).arg(&recorder.file).ended().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Without an answer of ours, clap guesses: `--strict` for `--deltatime`, say.
#[test]
fn options_and_events_of_perf_are_answered() {
    let recorder = Recorder::new();
    for (line, words) in [
        (&["report", "--tui"][..], &["report does not have --tui of perf", "perftab view"][..]),
        (&["report", "--no-source", "record"], &["report does not have --no-source of perf"]),
        (&["script", "--insn-trace"], &["script does not have --insn-trace of perf"]),
        (&["stat", "true"], &["perftab does not have the command stat of perf", "perf stat"]),
    ] {
        let mut command = Command::new(perftab_binary());
        let output = command.args(line).current_dir(&*recorder.folder).ended().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{line:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{line:?}: {said}");
    }
    // As precise as possible is what perf records by default, and not at all precise in a machine
    // without counters.
    let recorded = recorder.run(&["-e", "cpu-clock:P", "--", "true"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
}

#[test]
fn an_event_that_the_machine_does_not_count() {
    let recorder = Recorder::new();
    let recorded = recorder.run(&["-e", "ref-cycles", "--", "true"]);
    if recorded.exit_code == Some(0) {
        println!(
            "SKIPPED: an_event_that_the_machine_does_not_count: this machine counts ref-cycles"
        );
        return;
    }
    recorded.failed_with(1, &["does not count ref-cycles", "it counts", "cpu-clock"]);
}

#[test]
fn a_file_that_cannot_be_written() {
    let recorder = Recorder::new();
    let output = Command::new(perftab_binary())
        .args(["record", "-o", "/nonexistent/perf.data", "--", "true"])
        .current_dir(&*recorder.folder)
        .ended()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("/nonexistent/perf.data cannot be written"), "{said}");
}

#[test]
fn what_cannot_become_a_recording_is_refused_before_anything_runs() {
    let recorder = Recorder::new();
    let path = |name: &str| recorder.folder.join(name);
    let ran = path("ran");
    let refused = |name: &str, words: &[&str]| {
        let output = Command::new(perftab_binary())
            .args(["record", "-o"])
            .arg(path(name))
            .args(["--", "touch"])
            .arg(&ran)
            .current_dir(&*recorder.folder)
            .ended()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{name}: {said}");
        assert!(!ran.exists(), "{name}: the command ran");
    };
    assert!(Command::new("mkfifo").arg(path("pipe")).exit_status().unwrap().success());
    refused("pipe", &["is a pipe", "-o"]);
    refused("", &["is no file"]);
    std::os::unix::fs::symlink(path("nowhere"), path("dangling")).unwrap();
    // Whose ever folder it is: links may be another's, and lead to what only root may write.
    fs::write(path("precious"), "").unwrap();
    std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
    for link in ["dangling", "link"] {
        refused(link, &["is a link", "-o"]);
    }
    assert!(!path("nowhere").exists() && path("link").is_symlink());
    assert_eq!(fs::read_to_string(path("precious")).unwrap(), "");
    if !is_root("what_cannot_become_a_recording_is_refused_before_anything_runs") {
        return;
    }
    // Somebody waits for root's recording in a folder like /tmp.
    fs::create_dir(path("shared")).unwrap();
    fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    for (name, content) in [("shared/empty", ""), ("shared/full", "something")] {
        fs::write(path(name), content).unwrap();
        std::os::unix::fs::chown(path(name), Some(65534), None).unwrap();
        refused(name, &["belongs to somebody else"]);
        assert_eq!(fs::read_to_string(path(name)).unwrap(), content);
    }
    // perf renames the device, and nobody has it any more.
    let device = Command::new("mknod").arg(path("null")).args(["c", "1", "3"]).exit_status();
    assert!(device.expect("mknod runs").success());
    let output = Command::new(perftab_binary())
        .args(["record", "--switch-output", "-o"])
        .arg(path("null"))
        .args(["--", "true"])
        .ended()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("null is no file") && said.contains("another name"), "{said}");
    assert!(path("null").exists());
}

/// It is no disk that is full.
#[test]
fn a_limit_on_the_size_of_files_is_named_where_it_ends_the_recording() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let script = "ulimit -f 200 && exec \"$0\" record -F 9999 -g -o \"$1\" -- \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script])
        .args([&perftab_binary(), &recorder.file, &program])
        .ended()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large") && said.contains("ulimit -f"), "{said}");
    assert!(!said.contains("free some space"), "{said}");
    assert!(open_path(&recorder.file).unwrap().info().samples > 100, "{said}");
}

/// Killed before it lets the command go, the recorder leaves no process that is stopped for good.
#[test]
fn a_command_does_not_wait_for_a_recorder_that_was_killed() {
    let recorder = Recorder::new();
    // Of whichever thread began it.
    let children = |pid: &str| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let of_each = threads.map(|it| fs::read_to_string(it.path().join("children")));
        of_each.map(Result::unwrap_or_default).collect::<String>().trim().to_owned()
    };
    for _ in 0..50 {
        let mut recording =
            RunningProcess(recorder.command(&["-a", "--", "true"]).spawn().unwrap());
        wait_for("a child", || !children(&recording.pid()).is_empty());
        recording.signal("STOP");
        let child = children(&recording.pid());
        wait_for("both to stop", || state(&child) != Some('R') && state(&child) != Some('S'));
        let was_stopped = state(&child) == Some('T');
        child_process::kill(&mut recording.0);
        wait_for("the end of what was stopped", || state(&child) != Some('T'));
        if was_stopped {
            return;
        }
    }
    panic!("the recorder was always faster");
}

/// A file system with so little space that it fills up; unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(folder: &'a Path) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1M", "none"])
            .arg(folder)
            .stderr(Stdio::null())
            .exit_status();
        status.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).exit_status();
    }
}

#[test]
fn a_full_disk_leaves_a_complete_file() {
    let test = "a_full_disk_leaves_a_complete_file";
    if !is_installed(test, "perf") {
        return;
    }
    let mut recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let folder = recorder.folder.join("small");
    let Some(_disk) = SmallDisk::mount(&folder) else {
        println!("SKIPPED: {test}: mounting a small file system is not permitted");
        return;
    };
    // Packed, the disk has room for more samples.
    for (name, packing, rate) in [("plain", "-z0", "9999"), ("packed", "-z1", "49999")] {
        recorder.file = folder.join(name);
        let program = program.to_str().unwrap();
        let recorded = recorder.run(&[packing, "-g", "-F", rate, "--", program]);
        recorded.failed_with(1, &["No space left", "free some space"]);
        assert!(recorded.samples() > 100, "{}", recorded.said);
        assert_eq!(recorder.samples_by_peers(), recorded.samples(), "{name}");
        let header = recorder.perf(&["report", "--header-only"]);
        assert!(header.contains("hostname :") && header.contains("cmdline :"), "{header}");
        assert!(recorder.perf(&["buildid-list"]).contains("/busy"));
        // It is the end, and not that of the second before.
        let info = open_path(&recorder.file).unwrap().info();
        assert_eq!(info.samples, recorded.samples(), "{name}");
        let warnings = info.warnings;
        assert!(warnings.iter().all(|it| it.kind != WarningKind::Unfinished), "{warnings:?}");
        fs::remove_file(&recorder.file).unwrap();
    }
    // Nothing of a recording that was not even begun: perf leaves an empty file.
    let mut fill = fs::File::create(folder.join("fill")).unwrap();
    while fill.write_all(&[1; 4096]).is_ok() {}
    recorder.run(&["--", "true"]).failed_with(1, &["cannot be written: No space left"]);
    assert!(!recorder.file.exists());
}

/// Whoever records by `nohup` closes the terminal next.
#[test]
fn a_hangup_ends_no_recording_that_ignores_it() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let record = recorder.command(&["-D", "600000", "-p", &process.pid()]);
    let mut by_nohup = Command::new("nohup");
    by_nohup.arg(record.get_program()).args(record.get_args());
    by_nohup.stdin(Stdio::null()).stdout(Stdio::null());
    let recording = RunningProcess(by_nohup.spawn().unwrap());
    let status = |line: &str| {
        let status = fs::read_to_string(format!("/proc/{}/status", recording.pid())).unwrap();
        let bits = status.lines().find_map(|it| it.strip_prefix(line)).unwrap().trim().to_owned();
        u64::from_str_radix(&bits, 16).unwrap()
    };
    // The last signal that is handled.
    let (hup, usr1) = (1 << 0, 1 << 9);
    wait_for("handlers", || status("SigCgt:") & usr1 != 0);
    assert_eq!((status("SigIgn:") & hup, status("SigCgt:") & hup), (hup, 0));
}

#[test]
fn a_killed_recorder_leaves_what_it_had() {
    let test = "a_killed_recorder_leaves_what_it_had";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    // Nothing is sampled in its first minutes.
    let options = ["-D", "600000", "-p", &process.pid()];
    let mut recording = RunningProcess(recorder.command(&options).spawn().unwrap());
    wait_for("its file", || fs::metadata(&recorder.file).is_ok_and(|file| file.len() > 0));
    child_process::kill(&mut recording.0);
    let warnings = open_path(&recorder.file).unwrap().info().warnings;
    let is_said = |warning: &Warning| warning.message.contains("cut off before any sample");
    assert!(warnings.iter().any(is_said), "{warnings:?}");
    // Packed, whose first second nobody could read if it did not say how.
    let mut recording = recorder.start(&["-g", "-z", "-p", &process.pid()]);
    wait_for("packed samples", || data_size(&recorder.file) > 12_000);
    child_process::kill(&mut recording.0);
    let samples = recorder.samples_by_peers();
    assert!(samples > 0);
    assert_eq!(open_path(&recorder.file).unwrap().info().samples, samples);
    let mut recording = recorder.start(&["-g", "-p", &process.pid()]);
    wait_for("samples", || data_size(&recorder.file) > 20_000);
    child_process::kill(&mut recording.0);
    let samples = recorder.samples_by_peers();
    assert!(samples > 10);
    assert!(recorder.perf(&["script", "-F", "ip,sym"]).contains("user_work"));
    for (how, name) in [("-b", "injected-b"), ("--buildid-all", "injected-all")] {
        let injected = recorder.folder.join(name);
        recorder.perf(&["inject", how, "-o", injected.to_str().unwrap()]);
        let injected = Recorder { folder: TestFolder::new(), file: injected };
        assert_eq!(injected.samples_by_peers(), samples, "perf inject {how}");
    }
}

/// The name of the event, the machine, what files without a build-id are: all that the end would
/// have written is there each second.
#[test]
fn a_killed_recorder_leaves_the_features_of_its_last_second() {
    let recorder = Recorder::new();
    let without_id = busy_without_id(&recorder.folder);
    let process = RunningProcess::program(&without_id, &[]);
    let mut recording = recorder.start(&["-g", "-p", &process.pid()]);
    let is_identified = || {
        let session = open_path(&recorder.file).ok()?;
        let info = session.info();
        let busy = info.dsos.iter().find(|dso| dso.name == "without_id")?;
        (busy.build_id.is_some() && info.samples > 10).then_some(info)
    };
    // The file is being written: what is read in between may be of two moments.
    wait_for("its identity", || is_identified().is_some());
    child_process::kill(&mut recording.0);
    let info = is_identified().expect("it is still there");
    assert!(!info.events[0].name.contains(":H"), "{:?}", info.events);
    assert!(info.host.hostname.is_some());
    // Not every library has frame pointers.
    let is_of_file = |it: &&Warning| it.kind != WarningKind::NoFramePointers;
    let of_file: Vec<&Warning> = info.warnings.iter().filter(is_of_file).collect();
    let [warning] = of_file[..] else { panic!("{:?}", info.warnings) };
    assert_eq!(warning.kind, WarningKind::Unfinished);
    assert!(warning.message.contains("was killed"), "{}", warning.message);
}

/// They ask perf for a snapshot: whoever sends them does not want the recording to end.
#[test]
fn signals_that_ask_perf_for_a_snapshot_end_nothing() {
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let mut recording = recorder.start(&["-p", &process.pid()]);
    for (name, number) in [("USR1", 10), ("USR2", 12)] {
        recording.signal(name);
        let pid = recording.pid();
        let mut wait_alive = |what: &str, is_so: &dyn Fn() -> bool| {
            wait_for(what, || {
                let ended = recording.0.try_wait().expect("a child");
                assert_eq!(ended, None, "SIG{name} ended the recorder");
                is_so()
            });
        };
        wait_alive("the signal to arrive", &|| !is_pending(&pid, number));
        // One that it dies of lets it write nothing more.
        let before = data_size(&recorder.file);
        wait_alive("records after the signal", &|| data_size(&recorder.file) > before);
    }
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(open_path(&recorder.file).unwrap().info().samples > 0);
}

/// Whether a signal still waits for the process to take it.
fn is_pending(pid: &str, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it was not waited for");
    let masks = status.lines().filter_map(|line| {
        let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        Some(u64::from_str_radix(mask.trim(), 16).expect("a mask"))
    });
    masks.fold(0, |all, mask| all | mask) & 1 << (signal - 1) != 0
}

/// What a ring lost after its last record is in no record of the kernel, but its counter knows.
#[test]
fn losses_that_are_printed_are_in_the_file() {
    let test = "losses_that_are_printed_are_in_the_file";
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let program = program.to_str().unwrap();
    let recorded = recorder.run(&["-g", "-m", "1", "-F", "49999", "--", program, "300"]);
    let info = open_path(&recorder.file).unwrap().info();
    let lost = info.funnel.expect("a recording").lost;
    let Some((_, said)) = recorded.said.lines().last().unwrap().split_once(" samples, ") else {
        panic!("{}", recorded.said);
    };
    let said = said.split(' ').next().unwrap().replace(',', "");
    assert_eq!(said, if lost == 0 { "none".to_owned() } else { lost.to_string() });
    if counts_losses(test) {
        assert_eq!(info.lost.samples, lost, "{:?}", info.lost);
    }
    if lost == 0 {
        println!("SKIPPED: {test}: nothing was lost");
    }
}

/// Whether the kernel counts what was lost; says so if not.
fn counts_losses(test: &str) -> bool {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let counts = kernel.split('.').next().and_then(|major| major.parse().ok()) >= Some(6);
    if !counts {
        println!("SKIPPED: {test}: this kernel does not count what was lost (Linux 6.0 does)");
    }
    counts
}

/// Maps itself three thousand times once it is told to, then uses the CPU for a while.
const MAPPER: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
volatile sig_atomic_t told;
volatile unsigned long sink;
static void tell(int signal) { told = signal; }
int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, tell);
    int file = open("/proc/self/exe", O_RDONLY);
    while (!told) sink++;
    for (int i = 0; i < 3000; i++) mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    clock_t end = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < end) sink++;
    return 0;
}
"#;

/// What a process does, by the letter of proc_pid_stat(5); `None` if there is none.
fn state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Stops a recorder until it is continued.
fn stop(recording: &RunningProcess) {
    recording.signal("STOP");
    wait_for("the recorder to stop", || state(&recording.pid()) == Some('T'));
}

/// Its last mappings are lost, and nothing comes after them with which the kernel would say so.
#[test]
fn mappings_that_were_lost_last_are_told_of_and_make_samples_doubtful() {
    let test = "mappings_that_were_lost_last_are_told_of_and_make_samples_doubtful";
    let recorder = Recorder::new();
    let id = "b0551e5b0551e5b0551e5b0551e5b0551e500003";
    let program = perftab_tests::program::compile(&recorder.folder, "mapper", id, MAPPER);
    let mut process = RunningProcess::program(&program, &[]);
    let recording = recorder.start(&["-m", "1", "-F", "99", "-p", &process.pid()]);
    stop(&recording);
    process.signal("USR1");
    child_process::wait(&mut process.0, "mapper");
    recording.signal("CONT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let info = open_path(&recorder.file).unwrap().info();
    if !counts_losses(test) {
        return;
    }
    // A ring of a page holds less than a hundred of them.
    assert!(info.lost.events > 2900, "{:?}", info.lost);
    assert!(!recorded.said.contains("none lost"), "{}", recorded.said);
    let lost = perftab_perfdata::text::grouped(info.lost.events);
    assert!(
        recorded.said.contains(&format!("{lost} records of mappings and threads lost")),
        "{}",
        recorded.said
    );
    let doubts = info.warnings.iter().any(|it| it.message.contains("names of another program"));
    assert!(doubts, "{:?}", info.warnings);
}

/// Once it is told to, maps itself over and over in one place, then in another, and runs there.
const MOVER: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
volatile sig_atomic_t told;
extern const char __ehdr_start[];
static void tell(int signal) { told = signal; }
__attribute__((noinline, aligned(4096))) void moved(void) { for (;;) __asm__ volatile(""); }
int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, tell);
    int file = open("/proc/self/exe", O_RDONLY);
    long offset = (const char *)moved - __ehdr_start;
    void *code = 0;
    while (!told);
    for (int i = 0; i < 20000; i++)
        code = mmap(code, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (code ? MAP_FIXED : 0), file, offset);
    code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, offset);
    ((void (*)(void))code)();
    return 0;
}
"#;

/// The mapping is lost in which it runs from then on, and no record of its own comes after that.
#[test]
fn what_runs_is_described_anew_after_mappings_were_lost() {
    let test = "what_runs_is_described_anew_after_mappings_were_lost";
    if !counts_losses(test) || !is_installed(test, "perf") {
        return;
    }
    let folder = TestFolder::new();
    let id = "b0551e5b0551e5b0551e5b0551e5b0551e500006";
    let program = perftab_tests::program::compile(&folder, "mover", id, MOVER);
    for options in [&["-m", "1"][..], &["-m", "32", "--call-graph", "dwarf,256"]] {
        let recorder = Recorder::new();
        let mut process = RunningProcess::program(&program, &[]);
        let attach = ["-e", "cpu-clock:u", "-F", "99", "-p", &process.pid()];
        let recording = recorder.start(&[options, &attach].concat());
        stop(&recording);
        process.signal("USR1");
        process.runs_for(20);
        recording.signal("CONT");
        process.runs_for(100);
        child_process::kill(&mut process.0);
        let recorded = recording.end();
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        let info = open_path(&recorder.file).unwrap().info();
        assert!(info.lost.events > 100, "{:?}", info.lost);
        // A hundred came after it ran again, and it describes at once.
        let file = recorder.file.to_str().unwrap();
        let fields = ["script", "--no-inline", "-F", "ip,sym", "-i", file];
        for program in [perftab_binary(), "perf".into()] {
            let script = Command::new(&program).args(fields).ended().unwrap();
            let script = String::from_utf8_lossy(&script.stdout);
            let named = script.lines().filter(|line| line.ends_with(" moved")).count();
            assert!(named > 20, "{named} of {}, by {program:?}", info.samples);
        }
        let doubts =
            info.warnings.iter().find(|it| it.message.contains("names of another program"));
        let doubts = &doubts.expect("they were lost").message;
        let doubtful = doubts.split(' ').next().unwrap().parse::<u64>().expect(doubts);
        assert!((1..info.samples - 20).contains(&doubtful), "{doubts} of {}", info.samples);
    }
}

/// Uses the CPU, and becomes another program once it is told to.
const CHANGING: &str = r#"
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile sig_atomic_t told;
volatile unsigned long sink;
static void tell(int signal) { told = signal; }
int main(int count, char **words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, tell);
    while (!told) sink++;
    execl(words[1], words[1], (char *)0);
    return 1;
}
"#;

/// Nobody reads the rings until the samples of the first program have filled theirs.
#[test]
fn samples_push_no_program_out_that_begins_after_them() {
    let test = "samples_push_no_program_out_that_begins_after_them";
    let recorder = Recorder::new();
    let programs = [("first", 4), ("second", 5)];
    let [first, second] = programs.map(|(name, number)| {
        let id = format!("b0551e5b0551e5b0551e5b0551e5b0551e50000{number}");
        perftab_tests::program::compile(&recorder.folder, name, &id, CHANGING)
    });
    let mut process = RunningProcess::program(&first, &[second.to_str().unwrap()]);
    let recording = recorder.start(&["-m", "1", "-F", "49999", "-p", &process.pid()]);
    stop(&recording);
    process.runs_for(20);
    process.signal("USR1");
    let name = format!("/proc/{}/comm", process.pid());
    wait_for("the second program", || fs::read_to_string(&name).is_ok_and(|it| it == "second\n"));
    recording.signal("CONT");
    process.runs_for(20);
    child_process::kill(&mut process.0);
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let session = open_path(&recorder.file).unwrap();
    if counts_losses(test) {
        assert!(session.info().lost.samples > 0, "the ring was not full: {}", recorded.said);
    }
    let rows = session.dsos();
    let of_second = rows.iter().find(|row| row.name == "second");
    assert!(of_second.is_some_and(|row| row.samples > 0), "{rows:?}");
}

/// What becomes the command stops itself; if nobody is there any more to continue it, it ends.
#[test]
fn a_command_whose_recorder_is_gone_does_not_begin() {
    let recorder = Recorder::new();
    let ran = recorder.folder.join("ran");
    // The parent is this test, and not process 1.
    let recorded =
        recorder.run(&["--exec-when-continued", "1", "--", "touch", ran.to_str().unwrap()]);
    recorded.failed_with(1, &["the recorder was killed", "'touch'"]);
    assert!(!ran.exists());
}

/// In a container, what runs outside of it has no process.
#[test]
fn the_whole_system_recorded_in_a_container_is_warned_of() {
    let test = "the_whole_system_recorded_in_a_container_is_warned_of";
    if !is_root(test) || !is_installed(test, "unshare") {
        return;
    }
    let recorder = Recorder::new();
    let said = inside_of(&recorder, &["-a", "--", "true"]);
    if said.starts_with("unshare:") {
        println!("SKIPPED: {test}: a PID namespace is not permitted");
        return;
    }
    assert!(said.contains("this is a container") && said.contains("--pid=host"), "{said}");
    // A command of one's own has its process there, too.
    let said = inside_of(&recorder, &["--", "true"]);
    assert!(said.contains(" in ") && !said.contains("this is a container"), "{said}");
}

/// What `perftab record` says in a PID namespace.
fn inside_of(recorder: &Recorder, arguments: &[&str]) -> String {
    let command = recorder.command(arguments);
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork"]).arg(command.get_program()).args(command.get_args());
    let output = inside.current_dir(&*recorder.folder).ended().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}
