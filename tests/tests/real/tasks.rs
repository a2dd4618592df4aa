//! What threads and the kernel did while a recording ran: switches, programs that the kernel runs,
//! cgroups. Everything is worked out once more from what `perf script` prints.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use perftab_core::session::Session;
use perftab_names::Status;
use perftab_profile::{DsoKind, EventOrigin, Profile};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;
use perftab_tests::perf::{mount_of_cgroups, until_the_kernel_lets};
use perftab_tests::program::compile;

/// Threads that wait for each other, and for the CPU.
const BUSY: &str =
    "for i in 1 2 3 4; do sleep .02; (for j in $(seq 20000); do :; done) & done; wait";

/// Event, time of the end, nanoseconds.
type Times = BTreeMap<(String, u64, u64), u64>;

#[test]
fn times_off_the_cpu_are_those_between_the_switches_that_perf_prints() {
    let folder = TestFolder::new();
    let options = ["-a", "-g", "-e", "sched:sched_switch"];
    let test = "times_off_the_cpu_are_those_between_the_switches_that_perf_prints";
    let Some(recording) = record(test, &folder, &options, &["bash", "-c", BUSY]) else { return };

    let printed = perf_script(&recording, &["--ns", "-F", "time,event,trace"]);
    let mut left: HashMap<u32, (u64, String)> = HashMap::new();
    let mut expected = Times::new();
    for line in printed.lines().filter(|line| line.contains(" prev_pid=")) {
        let (time, _) = line.split_once(": ").expect("a time");
        let time = nanos(time);
        let number = |key: &str| word(line, key).parse::<u32>().expect("a number");
        let (prev, next) = (number(" prev_pid="), number(" next_pid="));
        let event = match word(line, " prev_state=").starts_with('R') {
            true => "preempted-time",
            false => "offcpu-time",
        };
        if prev != 0 {
            left.insert(prev, (time, event.to_owned()));
        }
        if let Some((since, event)) = left.remove(&next) {
            *expected.entry((event, time, time - since)).or_default() += 1;
        }
    }
    let session = open_path(&recording).expect("it opens");
    let profile = session.profile();
    assert!(expected.len() > 20, "{} switches", expected.len());
    assert_eq!(times(profile), expected);
    stacks_are_those_of_leaving(profile);
    sums_are_of_recorded_samples(&session);
}

/// A recorder in a PID namespace is told pid 0 of each process outside: what one of them maps would
/// name the code of all.
#[test]
fn processes_outside_of_the_pid_namespace_name_nothing() {
    const SPINS: &str = "volatile unsigned long sum;\n\
        __attribute__((noinline)) void outside(void) { for (int i = 0; i < 99999; i++) sum += i; }\n\
        int main(void) { for (;;) outside(); }\n";
    let folder = TestFolder::new();
    let program = compile(&folder, "spins", "0a0b0c0d0e", SPINS);
    let recording = folder.join("perftab.data");
    // It maps its code while it is recorded from inside.
    let script = format!(
        "mkfifo ready; (read go < ready; timeout 20 {} ) & \
         unshare --fork --pid --mount-proc {} record -a -g -o {} -- sh -c 'echo > ready; sleep .5'; \
         status=$?; kill %1; exit $status",
        program.display(),
        perftab_tests::perftab_binary().display(),
        recording.display()
    );
    let mut shell = Command::new("bash");
    let output =
        shell.args(["-m", "-c", &script]).current_dir(&*folder).ended().expect("bash runs");
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        println!("SKIPPED: processes_outside_of_the_pid_namespace_name_nothing: {why}");
        return;
    }
    let session = open_path(&recording).expect("it opens");
    let outside = |text: &str| text.contains("outside of the PID namespace");
    let warnings = session.warnings();
    assert!(warnings.iter().any(|warning| outside(&warning.message)), "{warnings:?}");
    let profile = session.profile();
    let path = program.to_str().expect("a path");
    assert!(profile.frames.iter().all(|(_, frame)| profile.dsos.get(frame.dso).path != path));
    let names: Vec<&str> =
        profile.threads.processes.iter().map(|it| profile.strings.get(it.name)).collect();
    assert!(names.iter().any(|name| outside(name)), "{names:?}");
}

#[test]
fn switch_records_alone_give_times_without_stacks() {
    let folder = TestFolder::new();
    let test = "switch_records_alone_give_times_without_stacks";
    let options = ["-g", "--switch-events", "-e", "cpu-clock"];
    let Some(recording) = record(test, &folder, &options, &["bash", "-c", BUSY]) else { return };

    let printed =
        perf_script(&recording, &["--ns", "--show-switch-events", "-F", "tid,time,event"]);
    let mut left: HashMap<&str, (u64, &str)> = HashMap::new();
    let mut expected = Times::new();
    for line in printed.lines().filter(|line| line.contains("PERF_RECORD_SWITCH")) {
        let mut words = line.split_whitespace().rev().skip_while(|word| !word.ends_with(':'));
        let time = nanos(words.next().expect("a time").trim_end_matches(':'));
        let tid = words.next().expect("a tid");
        if line.contains(" OUT") {
            let preempted = line.contains("preempt");
            left.insert(tid, (time, if preempted { "preempted-time" } else { "offcpu-time" }));
        } else if let Some((since, event)) = left.remove(tid) {
            *expected.entry((event.to_owned(), time, time - since)).or_default() += 1;
        }
    }
    let session = open_path(&recording).expect("it opens");
    let profile = session.profile();
    assert!(expected.keys().any(|(event, ..)| event == "offcpu-time"), "{expected:?}");
    assert_eq!(times(profile), expected);
    // Nothing but why the thread left the CPU.
    for row in derived_rows(profile) {
        let stack = profile.samples.get(row).expect("a row").stack;
        let dsos = profile.stacks.frames(stack).map(|frame| profile.frames.get(frame).dso);
        let kinds: Vec<_> = dsos.map(|dso| profile.dsos.get(dso).kind).collect();
        assert_eq!(kinds, [DsoKind::Pseudo]);
    }
}

#[test]
fn programs_of_the_kernel_have_the_samples_and_names_that_perf_gives_them() {
    let test = "programs_of_the_kernel_have_the_samples_and_names_that_perf_gives_them";
    let folder = TestFolder::new();
    let filter = compile(&folder.join(""), "filter", "0102030405", include_str!("bpf_filter.c"));
    if let Err(why) = succeeded(&mut Command::new(&filter)) {
        println!("SKIPPED: {test}: the kernel takes no BPF program: {why}");
        return;
    }
    let filter = filter.to_str().expect("a path");
    let options = ["-a", "-e", "cpu-clock"];
    let Some(recording) = record(test, &folder, &options, &[filter]) else { return };

    let printed = perf_script(&recording, &["-F", "ip,sym"]);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    // The kernel has functions that are called like programs: a program's name has a tag in hex.
    let is_program = |name: &str| {
        let tag = name.strip_prefix("bpf_prog_").and_then(|rest| rest.get(..16));
        tag.is_some_and(|tag| tag.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    for line in printed.lines() {
        let name = line.split_whitespace().nth(1).unwrap_or_default();
        if is_program(name) {
            *expected.entry(name.to_owned()).or_default() += 1;
        }
    }
    assert!(expected.keys().any(|name| name.ends_with("_perftab_test")), "{expected:?}");
    let session = open_path(&recording).expect("it opens");
    let programs = session.dsos().into_iter().filter(|dso| dso.name.starts_with("bpf_prog_"));
    let mut found = BTreeMap::new();
    for program in programs.filter(|program| program.leaf_samples > 0) {
        assert_eq!((program.kind, program.status), ("jit", Status::Embedded), "{program:?}");
        found.insert(program.name, program.leaf_samples);
    }
    assert_eq!(found, expected);
}

#[test]
fn samples_are_counted_by_the_cgroup_that_perf_prints() {
    let test = "samples_are_counted_by_the_cgroup_that_perf_prints";
    let folder = TestFolder::new();
    // Where no group can be made, as in /proc, all samples are in one.
    let mount = mount_of_cgroups().unwrap_or_else(|| "/proc".to_owned());
    let group = format!("{mount}/perftab-test-{}", std::process::id());
    let script = format!(
        "for i in $(seq 50000); do :; done; mkdir {group} 2>/dev/null; \
         (echo 0 > {group}/cgroup.procs) 2>/dev/null; \
         (echo 0 > {group}/cgroup.procs; for i in $(seq 50000); do :; done) 2>/dev/null; true"
    );
    let options = ["--all-cgroups", "-e", "cpu-clock"];
    let recording = record(test, &folder, &options, &["bash", "-c", &script]);
    let _ = std::fs::remove_dir(&group);
    let Some(recording) = recording else { return };

    let printed = perf(&recording, &["report", "--stdio", "-q", "-F", "sample,cgroup"]);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let (samples, path) = line.trim().split_once(' ').expect("two columns");
        expected.insert(path.trim().to_owned(), samples.parse().expect("a number"));
    }
    let session = open_path(&recording).expect("it opens");
    let sampled = session.info().cgroups.into_iter().filter(|cgroup| cgroup.samples > 0);
    let found: BTreeMap<String, u64> = sampled
        .map(|cgroup| (cgroup.path.unwrap_or_else(|| "unknown".to_owned()), cgroup.samples))
        .collect();
    assert_eq!(found, expected);
}

fn derived_rows(profile: &Profile) -> impl Iterator<Item = usize> + '_ {
    let is_derived = |row: &usize| {
        let sample = profile.samples.get(*row).expect("a row");
        profile.events[sample.event.index()].origin == EventOrigin::Derived
    };
    (0..profile.samples.len()).filter(is_derived)
}

fn times(profile: &Profile) -> Times {
    let mut times = Times::new();
    for row in derived_rows(profile) {
        let sample = profile.samples.get(row).expect("a row");
        let event = profile.events[sample.event.index()].name.clone();
        *times.entry((event, sample.time_nanos, sample.weight)).or_default() += 1;
    }
    times
}

/// The stack of each time is that of a recorded sample of its thread, taken when it began.
fn stacks_are_those_of_leaving(profile: &Profile) {
    let sample = |row: usize| profile.samples.get(row).expect("a row");
    let at_switch: HashMap<_, _> = profile
        .recorded_rows()
        .map(sample)
        .map(|sample| ((sample.thread, sample.time_nanos), sample.stack))
        .collect();
    for sample in derived_rows(profile).map(sample) {
        let began = (sample.thread, sample.time_nanos - sample.weight);
        let (left_at, end) = profile.stacks.get(sample.stack).expect("a stack has an end");
        assert_eq!(profile.dsos.get(profile.frames.get(end).dso).kind, DsoKind::Pseudo);
        assert_eq!(at_switch.get(&began), Some(&left_at));
    }
}

/// No number that counts samples has derived ones.
fn sums_are_of_recorded_samples(session: &Session) {
    let info = session.info();
    let recorded: u64 = info.events.iter().map(|event| event.samples).sum();
    assert_eq!(info.samples, recorded);
    assert_eq!(session.coverage().samples, recorded);
    assert!(info.dsos.iter().all(|dso| dso.samples <= recorded));
    // Time on and off the CPU together has no samples of its own.
    let own = info.derived_events.iter().filter(|event| event.name != "wall-clock");
    let derived: u64 = own.map(|event| event.samples).sum();
    assert_eq!(derived, derived_rows(session.profile()).count() as u64);
}

/// Records `command`; says for `test` why not.
fn record(test: &str, folder: &TestFolder, options: &[&str], command: &[&str]) -> Option<PathBuf> {
    let recording = folder.join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-o"]).arg(&recording).args(options).arg("--").args(command);
    // What a busy machine loses is in no one's sums; then it is recorded again.
    for _ in 0..20 {
        if let Err(why) = succeeded(&mut perf) {
            println!("SKIPPED: {test}: perf does not record {}: {why}", options.join(" "));
            return None;
        }
        let lost = open_path(&recording).expect("it opens").info().lost;
        if lost.events == 0 && lost.samples == 0 {
            return Some(recording);
        }
    }
    panic!("perf loses something in each of twenty recordings")
}

fn succeeded(command: &mut Command) -> Result<Output, String> {
    let output = until_the_kernel_lets(command).map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")),
    }
}

fn perf_script(recording: &Path, options: &[&str]) -> String {
    perf(recording, &[&["script"], options].concat())
}

fn perf(recording: &Path, arguments: &[&str]) -> String {
    let mut perf = Command::new("perf");
    let output = succeeded(perf.args(arguments).arg("-i").arg(recording));
    String::from_utf8(output.expect("perf reads what it wrote").stdout).expect("text")
}

/// `12.000000345` in nanoseconds.
fn nanos(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.trim().split_once('.').expect("a fraction");
    assert_eq!(fraction.len(), 9, "{seconds}");
    whole.parse::<u64>().expect("seconds") * 1_000_000_000 + fraction.parse::<u64>().expect("nanos")
}

/// What follows `key`, up to a space.
fn word<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.rsplit_once(key).expect("it is there");
    rest.split(' ').next().unwrap_or(rest)
}
