//! Time that threads wait is recorded with `--off-cpu`, and told with the stack where they began to.

use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::perftab_binary;
use perftab_tests::program;
use serde_json::Value;

use crate::record::recorder::{Recorder, is_installed, is_root};

const WAITS: u64 = 40;
const NANOS: u64 = 2_000_000;

/// It works and waits in turn.
const SOURCE: &str = "
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) void wait_for_the_tide(void) {
    struct timespec time = {0, 2000000};
    nanosleep(&time, 0);
    sum++;
}
int main(void) {
    for (int i = 0; i < 40; i++) {
        for (int grain = 0; grain < 200000; grain++) sum += grain;
        wait_for_the_tide();
    }
    return 0;
}
";

fn json(arguments: &[&str], recorder: &Recorder) -> Value {
    let output =
        Command::new(perftab_binary()).args(arguments).arg(&recorder.file).ended().unwrap();
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn time_off_the_cpu_is_recorded_with_where_it_began() {
    let test = "time_off_the_cpu_is_recorded_with_where_it_began";
    if !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let id = "0ff0c90000000000000000000000000000000000";
    let program = program::compile(&recorder.folder, "waiting", id, SOURCE);
    let program = program.to_str().unwrap();
    let options = ["--off-cpu", "-e", "cpu-clock", "--call-graph", "dwarf", "--", program];
    let recorded = recorder.run(&options);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);

    let info = json(&["info", "--json"], &recorder);
    let derived = info["derived_events"].as_array().expect("derived events");
    let waited = derived.iter().find(|event| event["name"] == "offcpu-time").expect("waiting");
    let times = waited["samples"].as_u64().unwrap();
    assert!(waited["weight"].as_u64().unwrap() >= WAITS * NANOS, "{waited}");
    let switches = info["events"].as_array().unwrap().iter();
    let left = switches.filter(|event| event["name"] == "context-switches");
    let left: u64 = left.filter_map(|event| event["samples"].as_u64()).sum();
    // It may wait for other things as well, and make room for others.
    assert!(WAITS <= times && times <= left, "{times} of {left}");

    let report = ["report", "--json", "--event", "offcpu-time", "--no-inline"];
    let report = json(&report, &recorder);
    let rows = report["functions"].as_array().expect("functions");
    let began = rows.iter().find(|row| row["name"] == "wait_for_the_tide").expect("where it began");
    assert!(began["total_samples"].as_u64().unwrap() >= WAITS, "{began}");

    if is_installed(test, "perf") {
        assert_eq!(recorder.samples_by_peers(), recorded.samples());
        let stats = recorder.perf(&["report", "--stats"]);
        assert!(stats.contains("SWITCH events:"), "{stats}");
        // samply panics at switches without a CPU.
        assert!(recorder.perf(&["script", "-F", "cpu"]).starts_with('['), "no CPU");
    }
}
