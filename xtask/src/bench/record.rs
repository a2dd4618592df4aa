//! What recording costs, beside perf and samply: processor time, what is lost, bytes, and how long the recorder stays.

use super::goals::Row;
use super::{Cost, cost, median};
use crate::steps::{output, root, run, step, target};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a workload is recorded that runs anyway.
const SECONDS: &str = "10";
/// How long before it is asked to end.
const UNTIL_ASKED: Duration = Duration::from_secs(3);
/// Not that of `cargo xtask test --peers`, which is hardly optimised. samply 0.13 takes any failure of
/// perf_event_open for a matter of rights, so without counters of the CPU it gives up at 2, also as root.
const NO_SAMPLY: &str = "not measured: no samply ($PERFTAB_SAMPLY), or perf_event_paranoid above 1";
/// Processes that come and go at once.
const FORKS: &str = "for i in $(seq 5000); do /bin/true; done";

/// A recorder, and how it is asked to record the whole system.
struct Mode {
    what: &'static str,
    options: &'static [&'static str],
    goal_of_cpu: f64,
    goal_of_size: f64,
}

const WHOLE_SYSTEM: [Mode; 2] = [
    Mode {
        what: "record -a",
        options: &["-a", "-F", "9999"],
        goal_of_cpu: 0.3,
        // Samples of perf have an id and a period besides, 64 bytes before their call chains instead of 48, and a marker
        // at the head of a chain of user space. What is no sample is a hundredth.
        goal_of_size: 0.85,
    },
    Mode {
        what: "record -a -z",
        options: &["-a", "-F", "9999", "-z"],
        goal_of_cpu: 0.3,
        goal_of_size: 1.0,
    },
];

/// Measures, and says how far the goals are met.
pub fn goals(binary: &Path, workload: &Path, runs: usize) -> Result<Vec<Row>> {
    fs::create_dir_all(target("bench"))?;
    if cache().exists() {
        fs::remove_dir_all(cache())?;
    }
    let perf = Path::new("perf");
    let mut rows = Vec::from(attached(binary, perf, runs)?);
    for mode in &WHOLE_SYSTEM {
        rows.extend(whole_system(mode, binary, perf, workload, runs)?);
    }
    rows.push(begin_and_exit(binary, perf, runs)?);
    rows.extend(fast(binary, workload, runs)?);
    // Last: what comes right after builds and large copies takes longer.
    rows.extend(stacks(binary, perf, runs)?);
    Ok(rows)
}

/// samply, if there is one, copies stacks and unwinds them, which it cannot be told not to.
fn attached(binary: &Path, perf: &Path, runs: usize) -> Result<[Row; 2]> {
    let label = "Attach to a process for ten seconds, with perftab, perf and samply";
    let (mut ours, mut of_perf, mut of_samply) = (Vec::new(), Vec::new(), Vec::new());
    step(label, || {
        // samply fails where a process has only children that use the CPU.
        let busy = Busy::begin(Command::new("perl").args(["-e", "1 while 1"]))?;
        let pid = busy.0.id().to_string();
        let how = ["-F", "999", "-p", &pid];
        for _ in 0..runs {
            ours.push(recorded(binary, &how, &["sleep", SECONDS])?);
            of_perf.push(recorded(perf, &how, &["sleep", SECONDS])?);
            of_samply.extend(attached_by_samply(&pid));
        }
        Ok(())
    })?;
    let [ours, of_perf, of_samply] =
        [ours, of_perf, of_samply].map(|costs| Cost::median_of(&costs).cpu_seconds);
    println!("    {ours:.3}, {of_perf:.3} and {of_samply:.3} s of CPU");
    let beside_samply = "record -p at 999 Hz / samply record, CPU";
    Ok([
        Row::ratio("record -p at 999 Hz / perf record, CPU", ours / of_perf, 0.3),
        match of_samply.is_nan() {
            true => Row::unknown(beside_samply, 0.3, "", NO_SAMPLY),
            false => Row::ratio(beside_samply, ours / of_samply, 0.3),
        },
    ])
}

/// It does not end by itself, and writes nothing if it is asked twice: `timeout` asks its whole group, itself included, unless
/// it is in the foreground.
fn attached_by_samply(pid: &str) -> Result<Cost> {
    let samply = std::env::var_os("PERFTAB_SAMPLY").unwrap_or("samply".into());
    let mut record = Command::new("timeout");
    record.args(["--foreground", "--preserve-status", "-s", "INT", SECONDS]).arg(samply);
    record.args(["record", "--save-only", "-r", "999", "-p", pid, "-o"]);
    cost(record.arg(target("bench/samply.json")), 1)
}

/// Processor time, and bytes a sample: samples of both are those that are in the file.
///
/// Times are measured in turns. Sizes depend on what runs, call chains of a compiler being longer than those of a loop, so
/// these are of two recordings of the same moments.
fn whole_system(
    mode: &Mode,
    binary: &Path,
    perf: &Path,
    workload: &Path,
    runs: usize,
) -> Result<[Row; 2]> {
    let label = format!("{} at 9,999 Hz / perf, in turns and both at once", mode.what);
    let programs = [binary, perf];
    let (costs, sizes) = step(&label, || {
        let _busy = Busy::with(workload)?;
        let (mut costs, mut sizes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..runs {
            for (program, costs) in programs.into_iter().zip(&mut costs) {
                costs.push(recorded(program, mode.options, &["sleep", SECONDS])?);
            }
            let files = [recording(), target("bench/recorded-at-once.perf.data")];
            let both = programs.into_iter().zip(&files).map(|(program, file)| {
                record(program, file, mode.options).args(["--", "sleep", SECONDS]).spawn()
            });
            for recorder in both.collect::<Vec<_>>() {
                ensure!(recorder?.wait()?.success(), "a recorder failed");
            }
            for (file, sizes) in files.iter().zip(&mut sizes) {
                let samples = said(binary, file)?["samples"].as_f64().unwrap_or(f64::NAN);
                sizes.push(fs::metadata(file)?.len() as f64 / samples);
            }
        }
        Ok((costs.map(|costs| Cost::median_of(&costs).cpu_seconds), sizes.map(median)))
    })?;
    let ([our_cpu, their_cpu], [our_size, their_size]) = (costs, sizes);
    println!(
        "    {our_cpu:.3} and {their_cpu:.3} s of CPU, {our_size:.1} and {their_size:.1} B a sample"
    );
    let (cpu, size) = (our_cpu / their_cpu, our_size / their_size);
    Ok([
        Row::ratio(format!("{} at 9,999 Hz / perf, CPU", mode.what), cpu, mode.goal_of_cpu),
        Row::ratio(format!("{} / perf, bytes a sample", mode.what), size, mode.goal_of_size),
    ])
}

/// Stacks of compilers, walked while they are recorded, beside copies of the same size; and beside those of a fourth, which
/// reach half as many roots.
fn stacks(binary: &Path, perf: &Path, runs: usize) -> Result<[Row; 4]> {
    // Ours come last, as the last recording is looked at.
    let modes = [(perf, "dwarf,16384"), (perf, "dwarf,65528"), (binary, "dwarf")];
    let label = "Walk stacks of gcc and rustc with perftab, and copy them with perf, in turn";
    let costs = step(label, || {
        let _busy = Busy::with_builds()?;
        thread::sleep(UNTIL_ASKED);
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for _ in 0..runs {
            for ((program, stacks), costs) in modes.into_iter().zip(&mut costs) {
                let how = ["-a", "-F", "499", "--call-graph", stacks];
                costs.push(recorded(program, &how, &["sleep", SECONDS])?);
            }
        }
        Ok(costs.map(|costs| Cost::median_of(&costs).cpu_seconds))
    })?;
    // Nothing but what is in the recording: copies that were kept are not walked now.
    let report = ["report", "--json", "--no-local"];
    let report = output(Command::new(binary).args(report).arg(recording()))?;
    let report: Value = serde_json::from_str(&report)?;
    let samples = report["samples"].as_f64().unwrap_or(f64::NAN);
    let without_root = report["warnings"].as_array().into_iter().flatten().filter(|warning| {
        warning["kind"] == "not-unwound" || warning["kind"] == "truncated-stacks"
    });
    let without_root: f64 = without_root.filter_map(|it| it["samples"].as_f64()).sum();
    let [theirs_of_16, theirs, ours] = costs;
    println!("    {ours:.3}, {theirs:.3} and {theirs_of_16:.3} s of CPU");
    let size = fs::metadata(recording())?.len() as f64 / samples;
    Ok([
        Row::ratio("record -a --call-graph dwarf / perf dwarf,65528, CPU", ours / theirs, 0.6),
        Row::ratio(
            "record -a --call-graph dwarf / perf dwarf,16384, CPU",
            ours / theirs_of_16,
            0.6,
        ),
        Row::number("record -a --call-graph dwarf: bytes a sample", size, 1000.0, "B"),
        Row::number(
            "record -a --call-graph dwarf: no root",
            100.0 * without_root / samples,
            2.0,
            "%",
        ),
    ])
}

fn begin_and_exit(binary: &Path, perf: &Path, runs: usize) -> Result<Row> {
    let (ours, theirs) = step("Record a second of nothing", || {
        in_turn(runs, |program| recorded(program, &[], &["sleep", "1"]), binary, perf)
    })?;
    let delay = |cost: &Cost| (1000.0 * (cost.wall_seconds - 1.0).max(0.0)).round();
    println!("    begin and exit: {} and {} ms", delay(&ours), delay(&theirs));
    Ok(Row::number("record: delay at begin and exit", delay(&ours), 50.0, "ms"))
}

/// As fast as it goes: what is lost, and how soon it ends.
fn fast(binary: &Path, workload: &Path, runs: usize) -> Result<[Row; 3]> {
    step("Record the whole system at 19,999 Hz", || {
        let _busy = Busy::with(workload)?;
        let (mut delays, mut lost) = (Vec::new(), 0.0);
        for _ in 0..runs {
            let mut recorder = record(binary, &recording(), &["-a", "-F", "19999"]).spawn()?;
            thread::sleep(UNTIL_ASKED);
            let asked = Instant::now();
            run(Command::new("kill").arg("-INT").arg(recorder.id().to_string()))?;
            ensure!(recorder.wait()?.success(), "the recorder failed");
            delays.push(1000.0 * asked.elapsed().as_secs_f64());
            lost += lost_in(&said(binary, &recording())?);
        }
        recorded(binary, &["-F", "19999"], &["sh", "-c", FORKS])?;
        let lost_of_forks = lost_in(&said(binary, &recording())?);
        Ok([
            Row::number(
                "record -a at 19,999 Hz: SIGINT to exit",
                median(delays).round(),
                50.0,
                "ms",
            ),
            Row::number("record -a at 19,999 Hz: samples and records lost", lost, 0.0, ""),
            Row::number("record of 5,000 forks at 19,999 Hz: lost", lost_of_forks, 0.0, ""),
        ])
    })
}

fn lost_in(info: &Value) -> f64 {
    let lost = |what: &str| info["lost"][what].as_f64().unwrap_or(f64::NAN);
    lost("samples") + lost("events")
}

/// Something that keeps processors busy until it is dropped.
struct Busy(Child);

impl Busy {
    fn with(workload: &Path) -> Result<Self> {
        Self::begin(Command::new(root().join("tests/workloads/bench.sh")).arg(workload).arg("1000"))
    }

    fn with_builds() -> Result<Self> {
        let folder = target("bench/builds");
        Self::begin(Command::new(root().join("tests/workloads/build.sh")).arg(folder))
    }

    /// As a group of its own, to end all that it has begun.
    fn begin(command: &mut Command) -> Result<Self> {
        let command = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _killed = Command::new("kill").args(["-TERM", "--", &group]).status();
        let _ended = self.0.wait();
    }
}

fn recording() -> PathBuf {
    target("bench/recorded.perf.data")
}

/// Empty at first, as a server's.
fn cache() -> PathBuf {
    target("bench/cache")
}

fn in_turn(
    runs: usize,
    measure: impl Fn(&Path) -> Result<Cost>,
    ours: &Path,
    theirs: &Path,
) -> Result<(Cost, Cost)> {
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        of_ours.push(measure(ours)?);
        of_theirs.push(measure(theirs)?);
    }
    Ok((Cost::median_of(&of_ours), Cost::median_of(&of_theirs)))
}

/// With what the recordings before have kept for the next one, and nothing else.
fn record(program: &Path, file: &Path, how: &[&str]) -> Command {
    let mut record = Command::new("env");
    record.arg(format!("XDG_CACHE_HOME={}", cache().display())).arg(program);
    record.args(["record", "-q", "-g", "-e", "cpu-clock", "-o"]).arg(file).args(how);
    record
}

fn recorded(program: &Path, how: &[&str], command: &[&str]) -> Result<Cost> {
    cost(record(program, &recording(), how).arg("--").args(command), 1)
}

fn said(binary: &Path, file: &Path) -> Result<Value> {
    let info = output(Command::new(binary).args(["info", "--json", "--no-local"]).arg(file))?;
    Ok(serde_json::from_str(&info)?)
}
