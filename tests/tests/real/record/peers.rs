//! perf and hotspot read a recording of ours as their own.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perftab_perfdata::format::perftab_section;
use perftab_perfdata::format::perftab_section::KernelImage;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::open::open_path;
use perftab_tests::perftab_binary;

use crate::record::recorder::{
    BUSY_ID, Recorder, RecorderOutput, busy, hotspot_parser, is_installed, is_root,
};

#[test]
fn perf_finds_every_sample_id_and_feature() {
    let test = "perf_finds_every_sample_id_and_feature";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "-F", "2999", "--", program.to_str().unwrap(), "300"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);

    assert!(recorded.samples() > 100, "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let script = recorder.perf(&["script", "-F", "event,ip,sym", "--no-inline"]);
    let blocks = script.split("\n\n").filter(|block| !block.trim().is_empty()).count();
    assert_eq!(blocks as u64, recorded.samples());
    assert!(script.contains("user_work"), "perf names the program's functions");

    let ids = recorder.perf(&["buildid-list"]);
    assert!(ids.contains(&format!("{BUSY_ID} {}", program.display())), "{ids}");
    let header = recorder.perf(&["report", "--header-only"]);
    for field in [
        "hostname :",
        "os release :",
        "perf version : perftab",
        "arch :",
        "nrcpus online :",
        "nrcpus avail :",
        "cmdline :",
        "event : name = c",
        "time of first sample :",
    ] {
        assert!(header.contains(field), "'{field}' is not in\n{header}");
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(header.contains(&format!("os release : {}", release.trim())), "{header}");
    // Where CPUs and memory are.
    perf_in(&recorder, &["record", "-q", "-e", "cpu-clock", "-o", "theirs", "true"]);
    let places = |file: &str| {
        let header = perf_in(&recorder, &["report", "--header-only", "-I", "-i", file]);
        let is_place = |line: &&str| {
            ["# sibling ", "# CPU ", "# node"].iter().any(|begin| line.starts_with(begin))
        };
        let told = header.lines().filter(is_place).filter(|line| !line.contains("cache info"));
        let lasting = told.map(|line| line.split(", free").next().unwrap_or_default().to_owned());
        lasting.collect::<Vec<_>>()
    };
    let (ours, theirs) = (places(recorder.file.to_str().unwrap()), places("theirs"));
    assert_eq!(ours, theirs);
    assert!(theirs.len() > 2, "{theirs:?}");
}

/// perf must not stumble over anything in the file, whatever it does with it: `perf inject` of 6.1
/// crashes on a feature that it does not know. And what it prints must be what was recorded.
#[test]
fn every_verb_of_perf_reads_it() {
    let test = "every_verb_of_perf_reads_it";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let program = program.to_str().unwrap();
    let options = ["-e", "cpu-clock", "-g", "-F", "1999", "--", program, "200"];
    let recorded = recorder.run(&options);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    reads_it(&recorder, program, recorded.samples());
    // The same once more, packed. No verb may take it for anything else.
    let options = [&["-z"], &options[..]].concat();
    let recorded = recorder.run(&options);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(recorder.perf(&["report", "--stats"]).contains("COMPRESSED events:"));
    let header = recorder.perf(&["report", "--header-only"]);
    assert!(header.contains("compressed : Zstd, level = 1, ratio = "), "{header}");
    reads_it(&recorder, program, recorded.samples());
    assert_eq!(open_path(&recorder.file).unwrap().info().samples, recorded.samples());
}

fn reads_it(recorder: &Recorder, program: &str, samples: u64) {
    let path = |name: &str| recorder.folder.join(name).to_str().unwrap().to_owned();
    let file = recorder.file.to_str().unwrap();

    let report = recorder.perf(&["report", "--stdio", "-F", "sample,sym", "-g", "none"]);
    let rows: Vec<(u64, &str)> = report.lines().filter_map(row_of_report).collect();
    assert_eq!(rows.iter().map(|(count, _)| count).sum::<u64>(), samples, "{report}");
    let of_user_work = rows.iter().find(|(_, name)| name.ends_with(" user_work")).unwrap().0;
    assert!(of_user_work > 0, "{report}");

    assert_eq!(blocks(&recorder.perf(&["script"])), samples);
    // Wall clock times are refused where the recording does not have them.
    assert_eq!(blocks(&recorder.perf(&["script", "-F", "+tod"])), samples);
    assert_eq!(recorder.perf(&["evlist"]).trim(), "cpu-clock");
    let attr = recorder.perf(&["evlist", "-v"]);
    assert!(attr.contains(&format!("sample_freq }}: {}", 1_000_000_000 / 1999)), "{attr}");

    let listed = recorder.perf(&["buildid-list"]);
    let listed: Vec<(&str, &str)> =
        listed.lines().filter_map(|line| line.split_once(' ')).collect();
    assert!(listed.contains(&(BUSY_ID, program)), "{listed:?}");
    let libraries = listed.iter().filter(|(_, path)| path.starts_with('/') && path.contains(".so"));
    let mut compared = 0;
    for (id, library) in libraries {
        let there = perf_in(recorder, &["buildid-list", "-i", library]);
        assert_eq!(there.trim(), *id, "{library}");
        compared += 1;
    }
    assert!(compared >= 2, "libc and its linker: {listed:?}");

    let annotated = recorder.perf(&["annotate", "--stdio", "-s", "user_work"]);
    let counted = format!("of busy for cpu-clock ({of_user_work} samples");
    assert!(annotated.contains(&counted), "{counted}\n{annotated}");
    recorder.perf(&["data", "convert", "--to-json", &path("perf.json")]);
    let json = fs::read_to_string(path("perf.json")).unwrap();
    assert_eq!(json.matches("\"timestamp\":").count() as u64, samples);
    fs::remove_file(path("perf.json")).unwrap();
    for (number, how) in ["-b", "-s", "--buildid-all"].into_iter().enumerate() {
        let injected = path(&format!("injected{number}"));
        recorder.perf(&["inject", how, "-o", &injected]);
        let stats = perf_in(recorder, &["report", "--stats", "-i", &injected]);
        assert!(stats.contains(&format!("SAMPLE events: {samples:>10}")), "{stats}");
        assert!(perf_in(recorder, &["script", "-i", &injected]).contains("user_work"));
    }
    recorder.perf(&["c2c", "report", "--stdio"]);
    let diff = perf_in(recorder, &["diff", file, file]);
    let rows = diff.lines().filter(|line| line.contains('%') && !line.starts_with('#'));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.iter().any(|row| row.contains("user_work")), "{diff}");
    assert!(rows.iter().all(|row| row.contains("0.00%  ")), "it differs from itself: {diff}");
    // The archive holds what the cache has.
    perf_in(recorder, &["buildid-cache", "--add", program]);
    perf_in(recorder, &["archive", file]);
    let members = Command::new("tar").arg("tjf").arg(format!("{file}.tar.bz2")).ended().unwrap();
    let members = String::from_utf8_lossy(&members.stdout).into_owned();
    let (first, rest) = BUSY_ID.split_at(2);
    assert!(members.lines().any(|it| it == format!(".build-id/{first}/{rest}")), "{members}");
    assert!(members.lines().any(|it| it.ends_with(&format!("busy/{BUSY_ID}/elf"))), "{members}");
}

/// Into a pipe goes what perf writes there, and nothing else: what the command prints goes elsewhere.
#[test]
fn a_stream_is_read_while_it_comes() {
    let test = "a_stream_is_read_while_it_comes";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let script = "
        \"$1\" record -o - -e cpu-clock -g -F 1999 -- sh -c 'echo spoken; exec \"$0\" 200' \"$2\" 2>said |
        tee stream | HOME=. perf report -i - --stats 2>&1 && cat said >&2";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([perftab_binary(), program])
        .current_dir(&*recorder.folder)
        .ended()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let recorded = RecorderOutput { exit_code: output.status.code(), said };
    let samples = recorded.samples();
    assert!(samples > 100 && recorded.said.contains("spoken\n"), "{}", recorded.said);
    let stats = String::from_utf8_lossy(&output.stdout);
    assert!(stats.contains(&format!("SAMPLE events: {samples:>10}")), "{stats}");
    let recorder = Recorder { file: recorder.folder.join("stream"), ..recorder };
    assert_eq!(
        (blocks(&recorder.perf(&["script"])), recorder.samples_by_peers()),
        (samples, samples)
    );
    assert!(recorder.perf(&["report", "--stdio", "-g", "none"]).contains("user_work"));
    assert!(recorder.perf(&["buildid-list"]).contains(BUSY_ID));
    let info = open_path(&recorder.file).unwrap().info();
    assert_eq!((info.samples, info.events[0].name.as_str()), (samples, "cpu-clock"));
    let program = info.dsos.iter().find(|dso| dso.name == "busy").expect("it was mapped");
    assert_eq!(program.build_id.as_deref(), Some(BUSY_ID));
    assert!(info.host.hostname.is_some());
    let report = Command::new("sh")
        .args(["-c", "\"$0\" report -i - <stream"])
        .arg(perftab_binary())
        .current_dir(&*recorder.folder)
        .ended()
        .unwrap();
    assert!(String::from_utf8_lossy(&report.stdout).contains("user_work"), "{report:?}");

    // The same packed: it says first how.
    let script = "\"$0\" record -z -o - -e cpu-clock -g -F 1999 -- \"$1\" 100 >packed";
    let output = Command::new("sh")
        .args(["-c", script])
        .args([perftab_binary(), recorder.folder.join("busy")])
        .current_dir(&*recorder.folder)
        .ended()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let recorded = RecorderOutput { exit_code: output.status.code(), said };
    let recorder = Recorder { file: recorder.folder.join("packed"), ..recorder };
    let samples = recorded.samples();
    assert!(samples > 50, "{}", recorded.said);
    assert_eq!(blocks(&recorder.perf(&["script"])), samples);
    assert!(recorder.perf(&["report", "--stdio", "-g", "none"]).contains("user_work"));
    let info = open_path(&recorder.file).unwrap().info();
    assert_eq!((info.samples, info.format.compression), (samples, "zstd"));
}

/// Registers and stacks are asked of the kernel as perf asks for them, so that whoever unwinds its recordings unwinds ours;
/// and what was unwound while it was recorded is read as well.
#[test]
fn stacks_are_copied_as_perf_copies_them() {
    let test = "stacks_are_copied_as_perf_copies_them";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let source = include_str!("../../../programs/tides.c");
    fs::write(recorder.folder.join("tides.c"), source).unwrap();
    let build = ["-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id", "-o", "tides", "tides.c"];
    let built = Command::new("gcc").args(build).current_dir(&*recorder.folder).exit_status();
    assert!(built.unwrap().success());
    let program = recorder.folder.join("tides");
    let program = program.to_str().unwrap();
    let taken = ["-e", "cpu-clock", "-F", "1999", "--call-graph"];
    let record = ["dwarf,32767", "--", program, "1"];
    perf_in(&recorder, &[&["record", "-o", "theirs"], &taken[..], &record].concat());
    let [copied, walked] = ["dwarf-dump,32767", "dwarf,32767"].map(|mode| {
        let recorded = recorder.run(&[&taken[..], &[mode, "--", program, "10"]].concat());
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        let samples = recorded.samples();
        assert!(samples > 50, "{}", recorded.said);
        reads_as_perf_does(&recorder, samples);
        fs::metadata(&recorder.file).expect("a recording").len() / samples
    });
    assert!(walked * 5 < copied, "{walked} instead of {copied} bytes a sample");
}

fn reads_as_perf_does(recorder: &Recorder, samples: u64) {
    let asked = |file: &str| {
        let attr = perf_in(recorder, &["evlist", "-v", "-i", file]);
        let fields = attr.split([',', ':']).map(str::trim).map(str::to_owned);
        let fields: Vec<String> = fields.collect();
        let value = |name: &str| {
            let at = fields.iter().position(|field| field == name)?;
            fields.get(at + 1).cloned()
        };
        ["sample_regs_user", "sample_stack_user", "exclude_callchain_user"].map(value)
    };
    let ours = asked(recorder.file.to_str().unwrap());
    assert_eq!(ours[1].as_deref(), Some("32768"));
    assert_eq!(ours, asked("theirs"));

    // Both unwind them: main, which has no frame pointer, called what it spends its time in.
    let by_perf = recorder.perf(&["script", "-F", "ip,sym", "--no-inline"]);
    assert_eq!((blocks(&by_perf), recorder.samples_by_peers()), (samples, samples));
    let report = ["report", "--json", "--no-inline"];
    let report = Command::new(perftab_binary()).args(report).arg(&recorder.file).ended().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let rows = report["functions"].as_array().expect("functions");
    let main = rows.iter().find(|row| row["name"] == "main").expect("main");
    let stacks = by_perf.split("\n\n");
    let of_main = stacks.filter(|stack| stack.lines().any(|line| line.ends_with(" main")));
    let (ours, theirs) = (main["total_samples"].as_u64().unwrap(), of_main.count() as u64);
    assert!(theirs * 10 >= samples * 6, "{theirs} of {samples}: {by_perf}");
    assert!(ours.abs_diff(theirs) * 50 <= samples, "{ours} and {theirs} of {samples}");
}

/// What `perf script` prints of samples with call chains.
fn blocks(script: &str) -> u64 {
    script.split("\n\n").filter(|block| !block.trim().is_empty()).count() as u64
}

/// A row of `perf report -F sample,sym`: the samples that ended in a function.
fn row_of_report(line: &str) -> Option<(u64, &str)> {
    let (count, name) = line.trim().split_once(' ')?;
    Some((count.parse().ok()?, name.trim()))
}

/// What perf prints, with no home but the folder.
fn perf_in(recorder: &Recorder, arguments: &[&str]) -> String {
    let output = Command::new("perf")
        .args(arguments)
        .current_dir(&*recorder.folder)
        .env("HOME", &*recorder.folder)
        .env("PERF_CONFIG", "/dev/null")
        .ended()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "perf {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_wall_clocks_time_is_that_of_the_recording() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let before = SystemTime::now();
    let recorded = recorder.run(&["--", program.to_str().unwrap(), "50"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let after = SystemTime::now();
    let session = open_path(&recorder.file).unwrap();
    let clock = session.profile().clocks.wall.expect("a wall clock");
    let info = session.info();
    let since = info.time.start.expect("samples") - clock.clock_nanos;
    let wall = UNIX_EPOCH + Duration::from_nanos(clock.wall_nanos + since);
    assert!((before..after).contains(&wall), "{before:?} {wall:?} {after:?}");
    assert_eq!(info.recorder.clock, Some("monotonic"));
}

#[test]
fn perf_finds_the_samples_of_several_events() {
    let test = "perf_finds_the_samples_of_several_events";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    // `--all-user` is of events that do not say it themselves.
    let events = "cpu-clock,page-faults:u,task-clock";
    let options = ["--all-user", "-F", "1999", "-g", "-e", events];
    let command = ["--", program.to_str().unwrap(), "200"];
    let recorded = recorder.run(&[&options[..], &command].concat());
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let stats = recorder.perf(&["report", "--stats"]);
    for event in ["cpu-clock:u", "page-faults:u", "task-clock:u"] {
        assert!(stats.contains(&format!("{event} stats:")), "{event} has no samples:\n{stats}");
    }
}

/// What an event of any form is to the kernel. Events of the CPU only where it has counters.
#[test]
fn events_are_asked_of_the_kernel_as_perf_asks_for_them() {
    let test = "events_are_asked_of_the_kernel_as_perf_asks_for_them";
    if !is_installed(test, "perf") {
        return;
    }
    let recorder = Recorder::new();
    let mut compared = 0;
    for event in [
        "software/config=2,config1=7,config2=9,period=3/u",
        "page-faults/freq=77/u",
        "page-faults/period=2,name=mine/u",
        "faults:u",
        "mem:0x1000:u",
        "faults:kHI",
        "faults:uh",
        "faults:uG",
        "faults:GH",
        "{faults,cs:u}:uI",
        "{faults,cs}:uDe",
        "{faults,cs}:uS",
        "bpf-output/no-inherit=1,name=evt/",
        "faults/max-stack=9,inherit=0/",
        "r1a8:u",
        "LLC-load-misses:u",
        "l1d-store/period=1000/u",
        "cpu/event=0x3c,umask=1,period=10000/u",
    ] {
        let arguments = ["record", "-q", "-o", "theirs", "-F", "999", "-e", event, "--", "true"];
        let theirs = Command::new("perf").args(arguments).current_dir(&*recorder.folder).ended();
        if !theirs.unwrap().status.success() {
            println!("SKIPPED: {test}: perf does not record {event} on this machine");
            continue;
        }
        let recorded = recorder.run(&["-F", "999", "-e", event, "--", "true"]);
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        let ours = asked(&recorder, recorder.file.to_str().unwrap());
        assert_eq!(ours, asked(&recorder, "theirs"), "{event}");
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

/// Of `perf evlist -v`: names of events and what was asked of the kernel for them.
fn asked(recorder: &Recorder, file: &str) -> Vec<String> {
    let fields = [
        "config: ",
        "sample_freq }: ",
        "freq: ",
        "read_format: ",
        "disabled: ",
        "exclude_",
        "exclusive: ",
        "inherit: ",
        "pinned: ",
        "precise_ip: ",
        "sample_max_stack: ",
        "bp_type: ",
        "{ bp_addr",
        "config1 }: ",
        "{ bp_len",
        "config2 }: ",
    ];
    let list = perf_in(recorder, &["evlist", "-v", "-i", file]);
    let events = list.lines().filter(|line| line.contains(": type: "));
    let fields_of = |line: &str| {
        let kept = line.split(", ").enumerate().filter(|(index, field)| {
            *index == 0 || fields.iter().any(|start| field.starts_with(start))
        });
        kept.map(|(_, field)| field).collect::<Vec<_>>().join(", ")
    };
    events.map(fields_of).collect()
}

/// Each write to a variable is a sample.
#[test]
fn a_breakpoint_samples_every_write() {
    let test = "a_breakpoint_samples_every_write";
    let recorder = Recorder::new();
    let source = "volatile int told; volatile int other;\n\
                  int main(void) { for (int i = 0; i < 7; i++) { told = i; other = told; } }\n";
    fs::write(recorder.folder.join("told.c"), source).unwrap();
    let build = ["-O1", "-no-pie", "-o", "told", "told.c"];
    let built = Command::new("gcc").args(build).current_dir(&*recorder.folder).exit_status();
    assert!(built.unwrap().success());
    let symbols = Command::new("nm").arg("told").current_dir(&*recorder.folder).ended().unwrap();
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let told =
        symbols.lines().find_map(|line| line.split(' ').next().filter(|_| line.ends_with(" told")));
    let event = format!("mem:0x{}/4:w:u", told.expect("its address"));
    let recorded = recorder.run(&["-e", &event, "--", "./told"]);
    if recorded.said.contains("this machine does not") {
        println!("SKIPPED: {test}: this machine has no breakpoints: {}", recorded.said);
        return;
    }
    assert_eq!((recorded.exit_code, recorded.samples()), (Some(0), 7), "{}", recorded.said);
}

/// Ours and perf's recording of the same few calls say the same, to perf and to us.
#[test]
fn tracepoints_have_the_fields_that_perf_records() {
    let test = "tracepoints_have_the_fields_that_perf_records";
    if !is_installed(test, "perf") || !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let events = "syscalls:sys_enter_exit*,sched:sched_process_exec";
    let umask = ["-e", "syscalls:sys_enter_umask", "--filter", "mask>2", "--filter", "mask<100"];
    let command = ["-e", events, "--", "sh", "-c", "umask 027; umask 2; umask 777"];
    let theirs = [&["record", "-q", "-o", "theirs"], &umask[..], &command].concat();
    let theirs = Command::new("perf").args(theirs).current_dir(&*recorder.folder).ended();
    if !theirs.unwrap().status.success() {
        println!("SKIPPED: {test}: perf does not record {events} on this machine");
        return;
    }
    // One that is no tracepoint beside them.
    let clock = ["-e", "cpu-clock/period=100000,name=clock/"];
    let recorded = recorder.run(&[&clock[..], &umask, &command].concat());
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());

    // Numbers of processes differ.
    let fields = |program: &mut Command, file: &str| {
        let output = program.arg(file).current_dir(&*recorder.folder).ended().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("Error"), "{said}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let of_tracepoints = |line: &&str| line.contains("sys_enter_") || line.contains('=');
        let without_pids = |line: &str| {
            let words = line.split_whitespace().filter(|word| !word.contains("pid="));
            words.collect::<Vec<_>>().join(" ")
        };
        printed.lines().filter(of_tracepoints).map(without_pids).collect::<Vec<_>>()
    };
    let by_perf = |file| {
        let script = ["script", "-F", "event,trace", "-i"];
        fields(Command::new("perf").args(script).env("PERF_CONFIG", "/dev/null"), file)
    };
    let ours = recorder.file.to_str().unwrap();
    let said = by_perf(ours);
    assert_eq!(said, by_perf("theirs"));
    assert!(said[0].starts_with("sched:sched_process_exec: filename=/"), "{said:?}");
    let umask = "syscalls:sys_enter_umask: mask: 0x00000017".to_owned();
    let exit = "syscalls:sys_enter_exit_group: error_code: 0x00000000".to_owned();
    assert!(said.contains(&umask) && said.last() == Some(&exit), "{said:?}");
    assert!(!said.iter().any(|line| line.contains("mask: 0x00000002")), "{said:?}");
    let by_us = |file| {
        let said = fields(Command::new(perftab_binary()).args(["script", "-F", "+fields"]), file);
        said.into_iter().filter(|line| line.starts_with("fields ")).collect::<Vec<_>>()
    };
    assert_eq!(by_us(ours).len(), said.len());
    assert_eq!(by_us(ours), by_us("theirs"));
    let refused = ["-e", "syscalls:sys_enter_umask", "--filter", "no_field==1", "--", "true"];
    recorder.run(&refused).failed_with(1, &["sys_enter_umask takes no such filter", "/format"]);
}

#[test]
fn the_system_is_recorded_with_what_ran_before() {
    let test = "the_system_is_recorded_with_what_ran_before";
    if !is_installed(test, "perf") || !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let before = crate::record::recorder::RunningProcess::program(&program, &[]);
    let recorded = recorder.run(&["-a", "-g", "--", program.to_str().unwrap(), "200"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    // The one that ran before has a name, and its functions have theirs.
    let script = recorder.perf(&["script", "-F", "comm,pid,ip,sym", "--no-inline"]);
    let sample = script.split("\n\n").find(|block| {
        let head = block.trim_start().lines().next().unwrap_or_default();
        head.starts_with("busy") && head.contains(&before.pid()) && block.contains("user_work")
    });
    assert!(sample.is_some(), "no named sample of the process that ran before");
}

#[test]
fn the_kernels_id_and_functions_are_those_that_perf_knows() {
    let test = "the_kernels_id_and_functions_are_those_that_perf_knows";
    if !is_installed(test, "perf") || !is_root(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "-F", "4999", "--", program.to_str().unwrap(), "400"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);

    let id = Command::new("perf").args(["buildid-list", "-k"]).ended().unwrap();
    let id = String::from_utf8(id.stdout).unwrap().trim().to_owned();
    let listed = recorder.perf(&["buildid-list"]);
    assert!(listed.contains(&format!("{id} [kernel.kallsyms]")), "{listed}");

    let section = recorder.section().expect("kernel functions were hit");
    let images = perftab_section::decode(&section).unwrap().kernel;
    let kernel = images.iter().find(|image| image.image == KernelImage::Kernel).unwrap();
    assert_eq!(kernel.build_id.to_string(), id);
    let functions: BTreeMap<u64, _> =
        kernel.symbols.iter().map(|symbol| (symbol.address, symbol)).collect();
    let name_at = |address: u64| {
        let (_, symbol) = functions.range(..=address).next_back()?;
        (address - symbol.address < u64::from(symbol.size)).then_some(symbol.name.as_str())
    };

    // Every kernel address that perf prints has perf's name. perf looks each up as it stands, also
    // a return address.
    let script = recorder.perf(&["script", "-F", "ip,sym", "--no-inline"]);
    let mut compared = 0;
    for block in script.split("\n\n") {
        for line in block.lines() {
            let Some((address, name)) = line.trim().split_once(' ') else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if address >> 63 == 0 {
                continue;
            }
            assert_eq!(name_at(address), Some(name), "{address:#x}");
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} kernel frames to compare");
}

#[test]
fn hotspot_finds_every_sample() {
    let Some(parser) = hotspot_parser() else {
        println!("SKIPPED: hotspot_finds_every_sample: hotspot-perfparser is not installed");
        return;
    };
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "--", program.to_str().unwrap(), "300"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.by_hotspot(), Some(recorded.samples()));

    let mut command = Command::new(parser);
    command.arg("--input").arg(&recorder.file).current_dir(&*recorder.folder);
    let converted = command.ended().unwrap().stdout;
    assert!(converted.starts_with(b"QPERFSTREAM"), "not what hotspot reads");
    let has = |word: &str| converted.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(has("user_work") && has("[kernel.kallsyms]"), "functions and kernel have names");
}

#[test]
fn linux_perf_data_parses_every_record() {
    use linux_perf_data::linux_perf_event_reader::{EventRecord, Mmap2FileId};
    use linux_perf_data::{PerfFileReader, PerfFileRecord};

    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let process = crate::record::recorder::RunningProcess::program(&program, &[]);
    let recorded = recorder.run(&["-g", "-p", &process.pid(), "--duration", "300ms"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);

    let file = std::io::BufReader::new(fs::File::open(&recorder.file).unwrap());
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).unwrap();
    let (mut samples, mut mapped) = (0, false);
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        match record.parse().unwrap() {
            EventRecord::Sample(sample) => {
                assert!(sample.callchain.is_some() && sample.timestamp.is_some());
                samples += 1;
            }
            EventRecord::Mmap2(map) if map.path.as_slice().ends_with(b"/busy") => {
                let Mmap2FileId::BuildId(id) = map.file_id else {
                    panic!("{} is recorded without its id", program.display())
                };
                let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(id, BUSY_ID);
                mapped = true;
            }
            _ => {}
        }
    }
    assert!(mapped, "the process that ran before has its mappings");
    assert_eq!(samples, recorded.samples());
    let names: Vec<_> = perf_file.event_attributes().iter().filter_map(|a| a.name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let ids = perf_file.build_ids().unwrap();
    assert!(ids.values().any(|dso| dso.path.ends_with(b"/busy")), "no table entry");
    let (first, last) = perf_file
        .sample_time_range()
        .unwrap()
        .map(|r| (r.first_sample_time, r.last_sample_time))
        .unwrap();
    assert!(0 < first && first < last);
}

#[test]
fn samply_knows_the_files_by_their_ids() {
    if std::env::var_os("PERFTAB_SAMPLY").is_none() {
        println!("SKIPPED: samply_knows_the_files_by_their_ids: run cargo xtask test --peers");
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let recorded = recorder.run(&["-g", "--", program.to_str().unwrap(), "100"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    let profile = recorder.samplys_profile().expect("a profile");
    let libs = profile["libs"].as_array().unwrap();
    assert!(libs.iter().any(|lib| lib["codeId"] == BUSY_ID), "{libs:?}");
}

/// `caller` ends with its call, so that what follows it in the file is where that would return to.
const LEAVING: &str = "
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline, noreturn)) void leave(void) {
    while (clock() < CLOCKS_PER_SEC / 5) for (int i = 0; i < 100000; i++) sink++;
    exit(0);
}
__attribute__((noinline, noreturn)) void caller(void) { leave(); }
__attribute__((noinline)) void bystander(void) { sink++; }
int main(int argc, char **argv) { if (argc > 1) bystander(); caller(); }
";

/// perf names an address of a call chain as it is.
#[test]
fn perf_names_callers_whose_calls_never_return() {
    let test = "perf_names_callers_whose_calls_never_return";
    if !is_installed(test, "perf") || !is_installed(test, "gcc") {
        return;
    }
    let recorder = Recorder::new();
    let program = recorder.folder.join("leaving");
    let source = recorder.folder.write("leaving.c", LEAVING.as_bytes());
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-fomit-frame-pointer", "-fno-toplevel-reorder", "-Wl,--build-id", "-o"]);
    assert!(gcc.args([&program, &source]).exit_status().unwrap().success());
    let how = ["-e", "cpu-clock:u", "--call-graph", "dwarf", program.to_str().unwrap()];
    let recorded = recorder.run(&how);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let script = recorder.perf(&["script", "-F", "ip,sym", "--no-inline"]);
    let leaving: Vec<&str> =
        script.split("\n\n").filter(|stack| stack.contains(" leave\n")).collect();
    assert!(leaving.len() > 50, "{script}");
    for stack in leaving {
        assert!(stack.contains(" caller\n") && stack.contains(" main\n"), "{stack}");
        assert!(!stack.contains("bystander"), "{stack}");
    }
}
