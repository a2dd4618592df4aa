//! `perftab script` and `perf script` tell of the same samples: order, task, CPU, time, period,
//! event, and every address of the call chain.
//!
//! perf 6.1 prints addresses of user code as offsets in their file; the words that were recorded
//! are in its dump (`-D`), so both are asked for at once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::compile;

/// Markers of a call chain and everything else from -4095 on.
const FIRST_MARKER: u64 = -4095i64 as u64;

const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void spins(unsigned long n) { while (n--) sum += n; }
static __attribute__((noinline)) void works(void) {
    char *bytes = malloc(1 << 20);
    for (int i = 0; i < 20; i++) { memset(bytes, i, 1 << 20); spins(10000000); }
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

/// What is said of one sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Printed {
    nanoseconds: u64,
    comm: String,
    task: String,
    cpu: String,
    period: u64,
    event: String,
    addresses: Vec<u64>,
}

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
    agrees("several_events", &["-e", events, "-c", "1000", "-g", "--all-user"]);
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
fn agrees(test: &str, options: &[&str]) -> Vec<Printed> {
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
    let recorded = record.arg(&program).output();
    match recorded {
        Err(error) => {
            println!("SKIPPED: {test}: perf does not run: {error}");
            return Vec::new();
        }
        Ok(recorded) if !recorded.status.success() => {
            let why = String::from_utf8_lossy(&recorded.stderr);
            println!("SKIPPED: {test}: perf cannot record: {}", why.lines().next().unwrap_or(""));
            return Vec::new();
        }
        Ok(recorded) if is_pipe => fs::write(&recording, recorded.stdout).expect("it is kept"),
        Ok(_) => {}
    }
    let perf = by_perf(&recording);
    let ours = by_perftab(&recording);
    assert!(perf.len() > 10, "perf prints {} samples", perf.len());
    assert!(ours.is_sorted_by_key(|sample| sample.nanoseconds), "ours are in the order of time");
    let in_order = |mut printed: Vec<Printed>| {
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

/// `comm pid/tid [cpu] seconds.nanoseconds: period event:`, with any number of spaces between.
fn head(line: &str) -> Option<Printed> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_task = |word: &&str| {
        let is_number = |text: &str| text.parse::<i32>().is_ok();
        word.split_once('/').is_some_and(|(pid, tid)| is_number(pid) && is_number(tid))
    };
    let task = words.iter().position(is_task)?;
    let &[cpu, time, period, event] = words.get(task + 1..)? else { return None };
    let (seconds, nanoseconds) = time.strip_suffix(':')?.split_once('.')?;
    assert_eq!(nanoseconds.len(), 9, "{line}");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    Some(Printed {
        nanoseconds: number(seconds) * 1_000_000_000 + number(nanoseconds),
        comm: words[..task].join(" "),
        task: words[task].to_owned(),
        cpu: cpu.to_owned(),
        period: number(period),
        event: event.strip_suffix(':')?.to_owned(),
        addresses: Vec::new(),
    })
}

fn by_perftab(recording: &Path) -> Vec<Printed> {
    let output = Command::new(perftab_binary())
        .args(["script", "--no-local"])
        .arg(recording)
        .env_remove("DEBUGINFOD_URLS")
        .output()
        .expect("perftab runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");
    let mut samples: Vec<Printed> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(detail) = line.strip_prefix('\t') else {
            samples.extend((!line.is_empty()).then(|| head(line).expect(line)));
            continue;
        };
        let address = detail.split_whitespace().next().expect("an address");
        if detail.starts_with(' ') || u64::from_str_radix(address, 16).is_ok() {
            let address = u64::from_str_radix(address, 16).expect("an address");
            samples.last_mut().expect("a sample").addresses.push(address);
        }
    }
    samples
}

/// The dump of a record, and after it a line for each sample that it is.
fn by_perf(recording: &Path) -> Vec<Printed> {
    let mut child = Command::new("perf")
        .args(["script", "-D", "--ns", "-F", "comm,pid,tid,cpu,time,period,event", "-i"])
        .arg(recording)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("perf runs");
    let mut samples = Vec::new();
    let mut chain: Vec<u64> = Vec::new();
    let mut pointer = None;
    let hex = |text: &str| u64::from_str_radix(text, 16).expect("a word");
    for line in BufReader::new(child.stdout.take().expect("a pipe")).split(b'\n') {
        let line = String::from_utf8_lossy(&line.expect("a line")).into_owned();
        if let Some((_, record)) = line.split_once("PERF_RECORD_SAMPLE(") {
            // `IP, 0x2): 12/12: 0x7f00 period: 1 addr: 0`
            let word = record.split(": 0x").nth(1).and_then(|rest| rest.split(' ').next());
            (pointer, chain) = (word.map(hex), Vec::new());
        } else if line.contains(": PERF_RECORD_") {
            pointer = None;
        } else if let Some((_, word)) =
            line.strip_prefix(".....").and_then(|it| it.split_once(": "))
        {
            if let Ok(word) = u64::from_str_radix(word, 16) {
                chain.extend((word < FIRST_MARKER).then_some(word));
            }
        } else if let (Some(pointer), Some(sample)) = (pointer, head(&line)) {
            let addresses = if chain.is_empty() { vec![pointer] } else { chain.clone() };
            samples.push(Printed { addresses, ..sample });
        }
    }
    assert!(child.wait().expect("it ends").success());
    samples
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
    let mut first = String::new();
    BufReader::with_capacity(1, child.stdout.take().expect("a pipe"))
        .read_line(&mut first)
        .expect("a line");
    assert!(head(&first).is_some(), "{first}");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
