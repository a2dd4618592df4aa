//! Cgroups: what is in them is recorded, and nothing beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::perf::mount_of_cgroups;
use perftab_tests::{perftab_binary, program};

use crate::record::recorder::{Recorder, RunningProcess, busy, is_installed, is_root};
use crate::record::targets::taskset;

/// A cgroup that is gone with the test.
struct Cgroup {
    folder: PathBuf,
    /// Of the container that it might be.
    id: String,
}

impl Cgroup {
    fn new() -> Option<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mount = mount_of_cgroups()?;
        // As docker calls those of its containers. What differs comes first.
        let number = u64::from(std::process::id()) << 16 | COUNT.fetch_add(1, Ordering::Relaxed);
        let id: String = format!("{:064x}", 0x7e57_u128 << 64 | u128::from(number));
        let id: String = id.chars().rev().collect();
        let folder = PathBuf::from(format!("{mount}/docker-{id}.scope"));
        fs::create_dir(&folder).ok().map(|()| Self { folder, id })
    }

    /// One in it.
    fn inner(&self) -> Self {
        let folder = self.folder.join("inner");
        fs::create_dir(&folder).expect("a cgroup in another");
        Self { folder, id: String::new() }
    }

    fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a name")
    }

    fn take(&self, process: &RunningProcess) {
        fs::write(self.folder.join("cgroup.procs"), process.pid()).expect("it moves");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_cgroup_is_recorded_and_nothing_beside_it() {
    let test = "a_cgroup_is_recorded_and_nothing_beside_it";
    if !is_root(test) || !is_installed(test, "perf") {
        return;
    }
    let Some(cgroup) = Cgroup::new() else {
        println!("SKIPPED: {test}: no cgroup can be made");
        return;
    };
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let inside = RunningProcess::program(&program, &[]);
    cgroup.take(&inside);
    // The command runs outside of it.
    let options = ["-g", "-G", cgroup.name(), "--", program.to_str().unwrap(), "300"];
    let recorded = recorder.run(&options);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(recorded.samples() > 0, "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let script = recorder.perf(&["script", "-F", "pid"]);
    let mut pids: Vec<&str> = script.split_whitespace().collect();
    pids.dedup();
    assert_eq!(pids, [inside.pid()]);
    assert!(recorder.perf(&["script", "-F", "ip,sym"]).contains("user_work"), "it has names");

    let refused = recorder.run(&["-G", "no-such-cgroup", "--", "true"]);
    refused.failed_with(2, &["no-such-cgroup"]);

    let by_id =
        recorder.run(&["--container", &cgroup.id[..12], "--", program.to_str().unwrap(), "100"]);
    assert_eq!(by_id.exit_code, Some(0), "{}", by_id.said);
    let script = recorder.perf(&["script", "-F", "pid"]);
    assert!(script.split_whitespace().all(|pid| pid == inside.pid()), "{script}");
    let refused = recorder.run(&["--container", "no-such-one", "--", "true"]);
    refused.failed_with(2, &["--container no-such-one", &cgroup.id[..12]]);

    // One of them stays on the CPU that is named, the other goes where there is room.
    let other = RunningProcess::program(&program, &[]);
    cgroup.take(&other);
    assert!(taskset(&["-cp", "0", &inside.pid()]));
    let options = ["-C", "0", "-G", cgroup.name(), "--", program.to_str().unwrap(), "100"];
    let of_cpu = recorder.run(&options);
    assert_eq!(of_cpu.exit_code, Some(0), "{}", of_cpu.said);
    let script = recorder.perf(&["script", "-F", "pid,cpu"]);
    let is_of_both = |line: &str| {
        let (pid, cpu) = line.trim().split_once(' ').unwrap_or_default();
        [inside.pid(), other.pid()].iter().any(|id| id == pid) && cpu.trim() == "[000]"
    };
    assert!(script.lines().all(is_of_both), "{script}");
    assert!(script.contains(&inside.pid()), "{script}");
}

/// It works until it is killed, in a function of its own name, and waits now and then.
const SOURCE: &str = "
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) void WORK(void) { for (int i = 0; i < 400000; i++) sum += i; }
int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // it does not outlive a test that was killed
    for (;;) {
        for (int i = 0; i < 20; i++) WORK();
        struct timespec time = {0, 1000000};
        nanosleep(&time, 0);
    }
}
";

/// Two cgroups with a program in each, and one outside of them.
struct Scene {
    // Dropped first, so that the cgroups are empty.
    web: RunningProcess,
    db: RunningProcess,
    beside: RunningProcess,
    in_web: Option<Cgroup>,
    of_web: Cgroup,
    of_db: Cgroup,
    recorder: Recorder,
}

impl Scene {
    fn new(test: &str) -> Option<Self> {
        if !is_root(test) || !is_installed(test, "perf") {
            return None;
        }
        let (Some(of_web), Some(of_db)) = (Cgroup::new(), Cgroup::new()) else {
            println!("SKIPPED: {test}: no cgroup can be made");
            return None;
        };
        let recorder = Recorder::new();
        let runs = |name: &str, digit: &str| {
            let source = SOURCE.replace("WORK", &format!("work_of_{name}"));
            let program = program::compile(&recorder.folder, name, &digit.repeat(40), &source);
            RunningProcess::program(&program, &[])
        };
        let [web, db, beside] =
            [("web", "a"), ("db", "b"), ("beside", "c")].map(|(name, digit)| runs(name, digit));
        of_web.take(&web);
        of_db.take(&db);
        Some(Self { web, db, beside, in_web: None, of_web, of_db, recorder })
    }

    /// Both names.
    fn names(&self) -> String {
        format!("{},{}", self.of_web.name(), self.of_db.name())
    }

    /// Records until all three have had time on the CPU; samples of each program and event, as perf prints them.
    fn counts(&self, options: &[&str]) -> BTreeMap<(String, String), u64> {
        let recording = self.recorder.start(options);
        for process in [&self.web, &self.db, &self.beside] {
            process.runs_for(10);
        }
        recording.signal("INT");
        let recorded = recording.end();
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        assert_eq!(self.recorder.samples_by_peers(), recorded.samples());
        let ours = Command::new(perftab_binary())
            .args(["script", "-F", "comm,event", "-i"])
            .arg(&self.recorder.file)
            .ended()
            .expect("perftab runs");
        let ours = counted(&String::from_utf8_lossy(&ours.stdout));
        let theirs = counted(&self.recorder.perf(&["script", "-F", "comm,event"]));
        assert_eq!(ours, theirs);
        theirs
    }
}

/// Lines that are the same, of a program and an event.
fn counted(lines: &str) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    for line in lines.lines() {
        let (program, event) = line.trim().split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let event = event.trim().trim_end_matches(':');
        *counts.entry((program.to_owned(), event.to_owned())).or_default() += 1;
    }
    counts
}

fn keys(counts: &BTreeMap<(String, String), u64>) -> Vec<(&str, &str)> {
    counts.keys().map(|(program, event)| (&program[..], &event[..])).collect()
}

#[test]
fn several_cgroups_are_recorded_and_nothing_beside_them() {
    let test = "several_cgroups_are_recorded_and_nothing_beside_them";
    let Some(scene) = Scene::new(test) else { return };
    let (web, db) = (scene.of_web.name(), scene.of_db.name());
    let both = scene.names();
    let of_both = [("db", "cpu-clock"), ("web", "cpu-clock")];
    let ids = format!("{},{}", &scene.of_web.id[..16], &scene.of_db.id[..16]);
    for options in [&["-G", &both][..], &["-G", web, "-G", db, "-G", web], &["--container", &ids]] {
        let options = [&["-e", "cpu-clock", "-g"], options].concat();
        assert_eq!(keys(&scene.counts(&options)), of_both, "{options:?}");
    }
    // Before the events: each in each of them. Behind, perf records one of three on the whole system.
    let events = ["-e", "cpu-clock,task-clock,page-faults"];
    let refused = [&events[..], &["-G", &both, "--", "true"]].concat();
    scene.recorder.run(&refused).failed_with(2, &["2 cgroups for 3 events", "-G before -e"]);
    let counts = scene.counts(&[&["-G", &both], &events[..]].concat());
    for event in ["cpu-clock", "task-clock"] {
        for program in ["db", "web"] {
            assert!(counts.contains_key(&(program.to_owned(), event.to_owned())), "{counts:?}");
        }
    }
    assert!(keys(&counts).iter().all(|(program, _)| ["db", "web"].contains(program)), "{counts:?}");

    let output = Command::new(perftab_binary())
        .args(["top", "--stdio", "-e", "cpu-clock", "-d", "1", "--duration", "2500ms", "-G", &both])
        .ended()
        .expect("perftab runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains(" work_of_web ") && shown.contains(" work_of_db "), "{shown}");
    assert!(shown.contains(db) && !shown.contains("work_of_beside"), "{shown}");
}

/// As perf counts them, which reports by event.
#[test]
fn with_as_many_cgroups_as_events_each_event_has_its_own() {
    let test = "with_as_many_cgroups_as_events_each_event_has_its_own";
    let Some(scene) = Scene::new(test) else { return };
    let (web, both) = (scene.of_web.name(), scene.names());
    let each = ["-e", "cpu-clock,task-clock", "-G", &both];
    let counts = scene.counts(&each);
    assert_eq!(keys(&counts), [("db", "task-clock"), ("web", "cpu-clock")]);
    let report = scene.recorder.perf(&["report", "--stdio", "-n", "--sort", "comm"]);
    for ((program, event), count) in &counts {
        let of_event =
            report.split("of event '").find(|part| part.starts_with(&format!("{event}'")));
        let rows = of_event
            .expect(&report)
            .lines()
            .filter(|line| line.contains('%') && !line.starts_with('#'));
        let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows, [["100.00%", &count.to_string(), program]], "{report}");
    }

    // An empty name is that of the whole system. So is none, for an event that stands behind.
    let first = format!("{web},");
    for options in [
        &["-e", "cpu-clock,task-clock", "-G", &first][..],
        &["-e", "cpu-clock", "-G", web, "-e", "task-clock"],
    ] {
        let counts = scene.counts(options);
        let of_web: Vec<_> =
            keys(&counts).into_iter().filter(|(_, event)| *event == "cpu-clock").collect();
        assert_eq!(of_web, [("web", "cpu-clock")]);
        for program in ["beside", "db", "web"] {
            assert!(
                counts.contains_key(&(program.to_owned(), "task-clock".to_owned())),
                "{counts:?}"
            );
        }
    }
    let refused = scene.recorder.run(&["-e", "cpu-clock", "-G", &first, "--", "true"]);
    refused.failed_with(2, &["an empty name", "2 names and 1 event"]);

    let group = ["-e", "{cpu-clock,task-clock}", "-G", &both, "--", "true"];
    scene.recorder.run(&group).failed_with(2, &["cpu-clock and task-clock are a group"]);
    let weak = scene.counts(&["-e", "{cpu-clock,task-clock}:W", "-G", &both]);
    assert_eq!(keys(&weak), [("db", "task-clock"), ("web", "cpu-clock")]);
    let same = format!("{web},{web}");
    let together = scene.counts(&["-e", "{cpu-clock,task-clock}", "-G", &same]);
    assert_eq!(keys(&together), [("web", "cpu-clock"), ("web", "task-clock")]);
}

/// Of what is in two of them each sample would be there twice.
#[test]
fn a_cgroup_in_another_one_is_counted_once() {
    let test = "a_cgroup_in_another_one_is_counted_once";
    let Some(mut scene) = Scene::new(test) else { return };
    let inner = scene.of_web.inner();
    inner.take(&scene.web);
    scene.in_web = Some(inner);
    let names = format!("{0}/inner,{0}", scene.of_web.name());
    let begun = scene.web.ticks();
    let recording = scene.recorder.start(&["-e", "cpu-clock", "-F", "1000", "-G", &names]);
    scene.web.runs_for(30);
    recording.signal("INT");
    let recorded = recording.end();
    let ran = scene.web.ticks() - begun;
    let says = "/inner: it is recorded with ";
    assert!(recorded.said.contains(says), "{}", recorded.said);
    // Ten in a tick; each of them twice would be more than half as many again.
    assert!(0 < recorded.samples() && recorded.samples() < ran * 15, "{ran}: {}", recorded.said);
}

#[test]
fn waiting_in_several_cgroups_is_told() {
    let test = "waiting_in_several_cgroups_is_told";
    let Some(scene) = Scene::new(test) else { return };
    let both = scene.names();
    for events in ["cpu-clock", "cpu-clock,task-clock"] {
        scene.counts(&["-e", events, "--off-cpu", "-G", &both]);
        let report = Command::new(perftab_binary())
            .args(["report", "--event", "offcpu-time", "--sort", "comm"])
            .arg(&scene.recorder.file)
            .ended()
            .expect("perftab runs");
        let report = String::from_utf8_lossy(&report.stdout);
        let waited =
            |name: &str| report.lines().any(|line| line.split_whitespace().any(|it| it == name));
        assert!(waited("web") && waited("db") && !waited("beside"), "{report}");
    }
}

#[test]
fn too_many_cgroups_for_the_limit_of_files_are_said_to_be() {
    let test = "too_many_cgroups_for_the_limit_of_files_are_said_to_be";
    let Some(scene) = Scene::new(test) else { return };
    let both = scene.names();
    let events = ["cpu-clock"; 40].join(",");
    let options = ["-G", &both, "-e", &events, "--", "true"];
    let line = scene.recorder.command(&options);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 60; exec \"$0\" \"$@\""])
        .arg(line.get_program())
        .args(line.get_args());
    let ended = limited.ended().expect("sh runs");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("too many cgroups and CPUs for the open file limit"), "{said}");
}
