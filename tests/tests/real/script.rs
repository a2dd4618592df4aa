//! `perftab script` and `perf script` tell of the same samples: order, task, CPU, time, period,
//! event, and every address of the call chain.

use std::cell::RefCell;
use std::fs;
use std::process::{Command, Stdio};
use std::rc::Rc;

use perftab_core::session::{Opening, StackDumps, WatchedSample};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::{self, LimitedCommand, end_of};
use perftab_tests::fixtures::folder;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::printed::{PrintedSample, by_perf, by_perftab, head};
use perftab_tests::program::{compile, is_installed};

const TRIES_OF_PACKED: u32 = 3;
const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void spins(unsigned long n) { while (n--) sum += n; }
static __attribute__((noinline)) void works(void) {
    char *bytes = malloc(1 << 20);
    for (int i = 0; i < 20; i++) { memset(bytes, i, 1 << 20); spins(8000000); }
    free(bytes);
}
int main(void) {
    if (fork() == 0) { works(); _exit(0); }
    works();
    for (int i = 0; i < 20; i++) usleep(1000);
    wait(NULL);
    return 0;
}
"#;

#[test]
fn frame_pointer_chains_agree() {
    agrees("frame_pointer_chains", &["-e", "cpu-clock", "-F", "999", "-g"]);
}

#[test]
fn instruction_pointers_agree() {
    agrees("instruction_pointers", &["-e", "cpu-clock", "-F", "999"]);
}

#[test]
fn samples_with_stack_dumps_agree() {
    agrees("stack_dumps", &["-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,4096"]);
}

#[test]
fn several_events_agree() {
    let events = "cpu-clock,page-faults,context-switches";
    // Not `-c`: one count for all would be nanoseconds for the clock, and a sample of each of a
    // thousand of those can keep a processor busy for minutes.
    agrees("several_events", &["-e", events, "-F", "999", "-g", "--all-user"]);
}

#[test]
fn groups_agree() {
    let group = "{cpu-clock,task-clock,page-faults}:S";
    let printed = agrees("groups", &["-e", group, "-F", "999", "-g"]);
    for event in ["cpu-clock", "task-clock", "page-faults"] {
        let has_event = printed.iter().any(|sample| sample.event.starts_with(event));
        assert!(printed.is_empty() || has_event, "no sample of {event}");
    }
}

#[test]
fn tracepoints_agree() {
    let events = "sched:sched_switch,sched:sched_process_fork";
    agrees("tracepoints", &["-e", events, "-g"]);
}

#[test]
fn compressed_recordings_agree() {
    agrees("compressed_recordings", &["-e", "cpu-clock", "-F", "4999", "-g", "-z"]);
}

#[test]
fn recordings_in_folders_agree() {
    agrees("recordings_in_folders", &["-e", "cpu-clock", "-F", "4999", "-g", "-a", "--threads"]);
}

#[test]
fn recordings_through_a_pipe_agree() {
    agrees("recordings_through_a_pipe", &["-e", "cpu-clock,page-faults", "-g", "-o", "-"]);
}

/// Records, compares, and returns what both say; nothing if perf cannot do it here.
fn agrees(test: &str, options: &[&str]) -> Vec<PrintedSample> {
    let folder = TestFolder::new();
    let id = "5c419700000000000000000000000000000000aa";
    let program = compile(&folder, "worker", id, SOURCE);
    let recording = folder.join("perf.data");
    let mut record = Command::new("perf");
    record.args(["record", "-q", "--sample-cpu"]).args(options).env("HOME", &*folder);
    let is_pipe = options.contains(&"-");
    if !is_pipe {
        record.arg("-o").arg(&recording);
    }
    record.arg(&program);
    // perf 6.1 now and then cannot read what it has just packed itself. All else it reads.
    let most_tries = if options.contains(&"-z") { TRIES_OF_PACKED } else { 1 };
    let mut tries = 0;
    let perf = loop {
        match until_the_kernel_lets(&mut record) {
            Err(error) => {
                println!("SKIPPED: {test}: perf does not run: {error}");
                return Vec::new();
            }
            Ok(recorded) if !recorded.status.success() => {
                let why = String::from_utf8_lossy(&recorded.stderr);
                println!("SKIPPED: {test}: perf cannot record: {}", why.trim().replace('\n', " "));
                return Vec::new();
            }
            Ok(recorded) if is_pipe => fs::write(&recording, recorded.stdout).expect("it is kept"),
            Ok(_) => {}
        }
        let perf = by_perf(&recording);
        if perf.read_all {
            break perf;
        }
        tries += 1;
        println!("{test}: perf does not read its own recording: {}", perf.said.trim());
        assert!(tries < most_tries, "perf reads none of {tries} recordings of its own");
    };
    assert!(perf.without.is_empty(), "perf leaves out {:?}", perf.without);
    let perf = perf.samples;
    let ours = by_perftab(&recording);
    assert!(perf.len() > 10, "perf prints {} samples", perf.len());
    assert!(ours.is_sorted_by_key(|sample| sample.nanoseconds), "ours are in the order of time");
    let in_order = |mut printed: Vec<PrintedSample>| {
        // Of one time either may be first.
        printed.sort();
        printed
    };
    let (perf, ours) = (in_order(perf), in_order(ours));
    for (perf, ours) in perf.iter().zip(&ours) {
        assert_eq!(perf, ours);
    }
    assert_eq!(perf.len(), ours.len());
    ours
}

/// perf's names of the registers of x86-64, by number (`asm/perf_regs.h`); it prints no others here.
const REGISTERS: [&str; 24] = [
    "AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS",
    "GS", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15",
];

/// What a sample has besides what is printed, a second reading shows as perf does.
#[test]
fn registers_agree() {
    if !is_installed("registers_agree", "perf") {
        return;
    }
    for name in ["perf-registers.perf.data", "perf-dwarf.perf.data"] {
        let path = folder().join(name);
        let perf =
            Command::new("perf").args(["script", "-F", "time,uregs", "-i"]).arg(&path).ended();
        let perf = String::from_utf8(perf.expect("perf runs").stdout).expect("text");
        // The time in microseconds, then registers; perf may break the line between them.
        let by_perf: Vec<Vec<String>> = perf.split("\n").flat_map(str::split_whitespace).fold(
            Vec::new(),
            |mut samples: Vec<Vec<String>>, word| {
                match samples.last_mut() {
                    Some(sample) if !word.ends_with(':') => sample.push(word.to_owned()),
                    _ => samples.push(vec![word.trim_end_matches(':').to_owned()]),
                }
                samples
            },
        );
        let ours = Rc::new(RefCell::new(Vec::new()));
        let shown = ours.clone();
        let file = fs::read(&path).expect("a fixture");
        let source = SliceSource::new(file.as_slice());
        let opening = Opening::new(&[&source]).expect("it opens");
        let mut replay = opening.replay(
            StackDumps::LeftOut,
            Box::new(move |sample: &WatchedSample<'_>| {
                let micros = sample.time_nanos.expect("a time") / 1000;
                let mut words = vec![format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)];
                if let Some(registers) = sample.tail.user_registers {
                    words.push("ABI:2".to_owned());
                    let value = |(number, name)| Some((name, registers.get(number)?));
                    let values = (0..).zip(REGISTERS).filter_map(value);
                    words.extend(values.map(|(name, value)| format!("{name}:{value:#x}")));
                }
                shown.borrow_mut().push(words);
            }),
        );
        while let Some(wanted) = replay.wants() {
            let from = wanted.offset as usize;
            replay.push(&file[from..from + wanted.length as usize]);
        }
        replay.finish();
        assert_eq!(ours.take(), by_perf, "{name}");
        assert!(by_perf.iter().filter(|sample| sample.len() > 3).count() > 5, "{name}");
    }
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let folder = TestFolder::new();
    let program = compile(&folder, "worker", "5c419700000000000000000000000000000000ab", SOURCE);
    let test = "a_reader_that_has_enough";
    let Some(recording) = perftab_tests::perf::record(test, &program, &folder.join("perf.data"))
    else {
        return;
    };
    let mut child = Command::new(perftab_binary())
        .args(["script", "--no-local"])
        .arg(&recording)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab runs");
    let first = child_process::line_of(&mut child.stdout.take().expect("a pipe"), "perftab script");
    assert!(head(&first).is_some(), "{first}");
    let output = end_of(child, "perftab script without a reader");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(!said.contains("pipe") && !said.contains("panic"), "{said}");
}
