//! Groups of events, counted together and sampled by their leader; and what BPF programs write.

use std::collections::BTreeMap;
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::open::open_path;
use perftab_tests::perftab_binary;
use perftab_tests::program::compile;

use crate::record::recorder::{BUSY_ID, Recorder, busy, is_installed, is_root};

/// Samples and their periods by event, as perf makes them of the values that a leader's samples carry.
fn by_perf(recorder: &Recorder) -> BTreeMap<String, (u64, u64)> {
    let printed = recorder.perf(&["script", "-F", "event,period"]);
    let mut events: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let (period, event) = line.trim().split_once(' ').expect("period and event");
        let event = events.entry(event.trim().trim_end_matches(':').to_owned()).or_default();
        event.0 += 1;
        event.1 += period.parse::<u64>().expect("a number");
    }
    events
}

fn by_us(recorder: &Recorder) -> BTreeMap<String, (u64, u64)> {
    let events = open_path(&recorder.file).expect("it opens").info().events;
    events.into_iter().map(|event| (event.name, (event.samples, event.weight))).collect()
}

#[test]
fn groups_are_read_by_perf_as_by_us() {
    let test = "groups_are_read_by_perf_as_by_us";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    for (chains, events, groups) in [
        ("dwarf", "{task-clock,page-faults}:S", "{task-clock,page-faults}"),
        ("fp", "{task-clock,page-faults}:u,cpu-clock", "{task-clock,page-faults}\ncpu-clock"),
        (
            "fp,9",
            "{cpu-clock/period=1000000/,minor-faults}:S,cs",
            "{cpu-clock/period=1000000/,minor-faults}\ncs",
        ),
        ("fp", "{page-faults:k,task-clock}:W", "{page-faults:k,task-clock}"),
    ] {
        let how = ["--call-graph", chains, "-F", "1999", "-e", events];
        let recorded =
            recorder.run(&[&how[..], &["--", program.to_str().unwrap(), "100"]].concat());
        assert_eq!(recorded.exit_code, Some(0), "{events}: {}", recorded.said);
        let listed = recorder.perf(&["evlist", "-g"]);
        assert!(listed.starts_with(groups), "{events}: {listed}");
        let ours = Command::new(perftab_binary());
        let ours = { ours }.args(["evlist", "-g"]).arg(&recorder.file).ended().unwrap();
        assert_eq!(String::from_utf8_lossy(&ours.stdout).trim(), groups);
        let samples = recorder.samples_by_peers();
        assert!(samples > 0);
        let (ours, theirs) = (by_us(&recorder), by_perf(&recorder));
        // The last line counts as readers do.
        assert_eq!(ours.values().map(|(count, _)| *count).sum::<u64>(), recorded.samples());
        let sampled: BTreeMap<_, _> =
            ours.into_iter().filter(|(_, (count, _))| *count > 0).collect();
        assert_eq!(sampled, theirs, "{events}");
        assert!(theirs.len() > 1, "{events}: {theirs:?}");
        // Stacks were walked, and chains limited as perf limits them.
        assert!(recorder.copies_by_perf() * 4 < samples, "{}", recorded.said);
        let attrs = recorder.perf(&["evlist", "-v"]);
        assert_eq!(attrs.contains("sample_max_stack: 9"), chains == "fp,9", "{attrs}");
        let header = recorder.perf(&["report", "--header-only"]);
        assert!(header.contains("# pmu mappings: ") && header.contains("software = 1"), "{header}");
    }
}

/// `sched_stat_runtime` counts nanoseconds, which its samples say. Those of an event that is sampled one in ten times do not:
/// the kernel would take each.
#[test]
fn a_tracepoint_is_one_sample_however_much_it_counts() {
    let test = "a_tracepoint_is_one_sample_however_much_it_counts";
    if !is_root(test) || !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let events = ["sched:sched_stat_runtime", "page-faults/period=10/"];
    for chains in ["fp", "dwarf"] {
        let how = ["--call-graph", chains, "-e", &events.join(",")];
        let recorded =
            recorder.run(&[&how[..], &["--", program.to_str().unwrap(), "100"]].concat());
        if recorded.said.contains("tracefs") {
            println!("SKIPPED: {test}: {}", recorded.said);
            return;
        }
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        assert_eq!(recorder.samples_by_peers(), recorded.samples());
        let (ours, theirs) = (by_us(&recorder), by_perf(&recorder));
        assert_eq!(ours, theirs);
        let (faults, periods) = theirs[events[1]];
        assert!(faults > 0 && periods == 10 * faults, "{theirs:?}");
        let told = recorder.perf(&["script", "-G", "-F", "event,period,trace"]);
        let times = told.lines().filter(|line| line.contains(events[0]));
        let times = times.map(|line| {
            let period = line.split_whitespace().next().expect("a period");
            assert!(line.contains(&format!(" runtime={period} ")), "{line}");
            period.parse().expect("a number")
        });
        let times: Vec<u64> = times.collect();
        assert_eq!(times.len() as u64, theirs[events[0]].0);
        assert!((50_000_000..2_000_000_000).contains(&times.iter().sum::<u64>()), "{told}");
        // Stacks of both were found in their samples.
        assert_eq!(recorder.copies_by_perf(), 0, "{}", recorded.said);
        let stacks = recorder.perf(&["script", "-F", "event,ip,sym"]);
        for (event, function) in [(events[0], "update_curr"), (events[1], "_dl_start")] {
            let of_event = stacks.split("\n\n").filter(|it| it.contains(event));
            let has_function = of_event.filter(|it| it.contains(function)).count();
            assert!(has_function > 0 || chains == "fp", "{event}: {stacks}");
        }
    }
}

/// Dozens of events, most of which nothing meets.
#[test]
fn all_tracepoints_of_the_scheduler_are_found_by_peers() {
    let test = "all_tracepoints_of_the_scheduler_are_found_by_peers";
    if !is_root(test) || !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let recorded = recorder.run(&["-a", "-e", "sched:*", "--", "sh", "-c", "true; true"]);
    if recorded.said.contains("tracefs") {
        println!("SKIPPED: {test}: {}", recorded.said);
        return;
    }
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let met: BTreeMap<_, _> =
        by_us(&recorder).into_iter().filter(|(_, (count, _))| *count > 0).collect();
    assert_eq!(met, by_perf(&recorder));
    assert!(met.contains_key("sched:sched_switch"), "{met:?}");
}

/// What a BPF program writes stands in the samples, as perf shows it.
#[test]
fn what_bpf_programs_write_is_recorded() {
    let test = "what_bpf_programs_write_is_recorded";
    if !is_root(test) || !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let writer = compile(&recorder.folder, "writer", BUSY_ID, include_str!("bpf_output.c"));
    let recording = recorder.start(&["-a", "-e", "bpf-output/no-inherit=1,name=written/"]);
    let wrote = Command::new(writer).arg(recording.pid()).exit_status().unwrap();
    recording.signal("INT");
    let recorded = recording.end();
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    if wrote.code() == Some(77) {
        println!("SKIPPED: {test}: this kernel runs no BPF programs for us");
        return;
    }
    assert_eq!((wrote.code(), recorded.samples()), (Some(0), 3), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), 3);
    let theirs = recorder.perf(&["script", "-F", "event,bpf-output"]);
    assert_eq!(theirs.matches("61 62 63 64 00 00 00 00").count(), 3, "{theirs}");
    let ours = Command::new(perftab_binary()).arg("script").arg(&recorder.file).ended().unwrap();
    let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
    assert_eq!(ours.matches("\traw 616263640000000065666768\n").count(), 3, "{ours}");
    assert_eq!(ours.matches(" written:").count(), 3, "{ours}");
}
