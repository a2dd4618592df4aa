//! `cargo xtask bench ingest`: what reading a recording costs, beside peers on the same file, and where it
//! goes.
//!
//! `perftab info --no-local` reads everything (records in the order of time, mappings, frames,
//! stacks, samples) and looks for no names. `report --no-inline` of perftab and of perf do that, and name and
//! sort; perf cannot be told to stop before. linux-perf-data parses and sorts, and makes no stacks of it.

use super::{Cost, PERF_REPORT, Row, cost, repeats};
use crate::steps::{cargo, output, quiet, root, run, step, target};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Shares of `perf report`'s CPU and memory for a report of ours to stay below, by the size of the
/// recording.
const GOALS: [Goal; 3] = [
    Goal { up_to_mb: 50.0, cpu: 0.05, memory: None },
    Goal { up_to_mb: 500.0, cpu: 0.15, memory: None },
    Goal { up_to_mb: f64::INFINITY, cpu: 0.25, memory: Some(0.25) },
];

/// The share of linux-perf-data's CPU for reading, decoding and ordering to stay below. Version 0.13 takes a
/// quarter of what it took when that was set: to read the file alone is 0.15 of it.
const GOAL_IN_ORDER: f64 = 0.08;

struct Goal {
    up_to_mb: f64,
    cpu: f64,
    memory: Option<f64>,
}

/// What is measured, in turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Info,
    Report,
    Perf,
    LinuxPerfData,
}

impl Program {
    const ALL: [Self; 4] = [Self::Info, Self::Report, Self::Perf, Self::LinuxPerfData];

    fn title(self) -> &'static str {
        match self {
            Self::Info => "perftab info",
            Self::Report => "perftab report",
            Self::Perf => "perf report",
            Self::LinuxPerfData => "linux-perf-data",
        }
    }
}

/// Measures each recording and prints what came of it.
pub fn bench(binary: &Path, recordings: &[PathBuf], runs: usize) -> Result<()> {
    let peer = example("parse_and_sort", "Build the peer that parses and sorts")?;
    let what_is_read = example("what_is_read", "Build what says what is read")?;
    for recording in recordings {
        let costs = measure(binary, &peer, recording, runs)?;
        let stages = stages(binary, recording)?;
        let megabytes = fs::metadata(recording)?.len() as f64 / 1e6;
        println!("{} ({megabytes:.1} MB)", recording.display());
        println!("    {}", output(Command::new(&what_is_read).arg(recording))?.trim());
        println!("    {:16}{:>8}{:>8}{:>8}", "", "CPU s", "wall s", "MiB");
        for (program, Cost { cpu_seconds, wall_seconds, peak_mib }) in
            Program::ALL.iter().zip(&costs)
        {
            let title = program.title();
            println!("    {title:16}{cpu_seconds:>8.3}{wall_seconds:>8.3}{peak_mib:>8.0}");
        }
        goals_of(megabytes, &costs, &stages).iter().for_each(Row::print);
        let [info, report, perf, _] = &costs;
        println!("    report / perf report, wall {:.3}", report.wall_seconds / perf.wall_seconds);
        println!("    info / perf report, CPU {:.3}", info.cpu_seconds / perf.cpu_seconds);
        println!("    where perftab info's CPU goes, by a recording of it with perftab:");
        for (stage, share) in &stages {
            println!(
                "        {stage:40}{:>6.1} %{:>8.3} s",
                100.0 * share,
                share * costs[0].cpu_seconds
            );
        }
    }
    Ok(())
}

/// How far the goals are met.
pub fn goals(binary: &Path, recordings: &[&Path], runs: usize) -> Result<Vec<Row>> {
    let peer = example("parse_and_sort", "Build the peer that parses and sorts")?;
    let mut rows = Vec::new();
    for recording in recordings {
        let costs = measure(binary, &peer, recording, runs)?;
        let megabytes = fs::metadata(recording)?.len() as f64 / 1e6;
        rows.extend(goals_of(megabytes, &costs, &stages(binary, recording)?));
    }
    Ok(rows)
}

fn goals_of(megabytes: f64, costs: &[Cost; 4], stages: &[(&str, f64)]) -> Vec<Row> {
    let [info, report, perf, peer] = costs;
    let what = |what: &str| format!("{what}, {megabytes:.0} MB");
    let goal = GOALS.iter().find(|goal| megabytes <= goal.up_to_mb).unwrap_or(&GOALS[2]);
    let cpu = report.cpu_seconds / perf.cpu_seconds;
    let mut rows = vec![Row::ratio(what("report / perf report, CPU"), cpu, goal.cpu)];
    if let Some(goal) = goal.memory {
        let memory = report.peak_mib / perf.peak_mib;
        rows.push(Row::ratio(what("report / perf report, memory"), memory, goal));
    }
    let in_order: f64 =
        stages.iter().filter(|(stage, _)| IN_ORDER.contains(stage)).map(|it| it.1).sum();
    let in_order = in_order * info.cpu_seconds / peer.cpu_seconds;
    rows.push(Row::ratio(
        what("read and in order / linux-perf-data, CPU"),
        in_order,
        GOAL_IN_ORDER,
    ));
    rows
}

const READ: &str = "read from the file (kernel)";
const PARSE: &str = "records found and decoded";
const ORDER: &str = "held and put in order";
const REST: &str = "the rest";
/// What linux-perf-data does as well.
const IN_ORDER: [&str; 3] = [READ, PARSE, ORDER];

/// Which stage a function is of, by a part of its name: the first that fits. What the compiler inlined counts
/// for the function that it is in.
const STAGES: [(&str, &[&str]); 6] = [
    (
        "frames and stacks interned",
        &["frames::Frames", "stacks::Stacks", "intern_waiting", "map::index", "try_map"],
    ),
    ("words to addresses in files", &["call_chain::", "mappings::", "address_space::"]),
    (ORDER, &["time_order::", "held_bytes::", "slice::sort", "sorting::"]),
    (PARSE, &["walker::", "stream::", "decode::", "deferred::", "::events::"]),
    ("rows, tasks and everything else", &["ingest::", "column::", "samples::"]),
    ("end of reading", &["coverage::", "session::", "symbols::", "snapshot::", "perfdata::slice"]),
];

/// Shares of `perftab info`'s CPU, the largest first.
fn stages(binary: &Path, recording: &Path) -> Result<Vec<(&'static str, f64)>> {
    let own = target("bench/own.perf.data");
    let record = ["record", "-q", "-F", "9999", "-o"];
    run(quietly(Command::new(binary).args(record).arg(&own).arg("--"))
        .arg(binary)
        .args(["info", "--no-local"])
        .arg(recording))?;
    let report = output(Command::new(binary).args(["report", "--json", "--no-inline"]).arg(&own))?;
    let report: Value = serde_json::from_str(&report)?;
    let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
    for function in report["functions"].as_array().into_iter().flatten() {
        let name = function["name"].as_str().unwrap_or_default();
        let is_of_kernel = function["dso"].as_str() == Some("[kernel.kallsyms]");
        let is_in = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let stage = match is_of_kernel {
            true if is_in(&[
                "copy_to_iter",
                "filemap",
                "xas_",
                "pread",
                "vfs_read",
                "page_to_iter",
            ]) =>
            {
                READ
            }
            true => "memory and everything else of the kernel",
            false => STAGES.iter().find(|(_, parts)| is_in(parts)).map_or(REST, |it| it.0),
        };
        let share =
            function["self"].as_f64().unwrap_or(0.0) / report["weight"].as_f64().unwrap_or(1.0);
        *shares.entry(stage).or_default() += share;
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Ok(shares)
}

fn quietly(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// Builds an example of the tests.
pub fn example(name: &str, title: &str) -> Result<PathBuf> {
    step(title, || {
        let example = ["--package=perftab-tests", "--example", name];
        run(cargo().arg("build").args(quiet()).args(["--locked", "--release"]).args(example))
    })?;
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let built_to = metadata["target_directory"].as_str().context("cargo metadata")?;
    Ok(root().join(built_to).join("release/examples").join(name))
}

fn measure(binary: &Path, peer: &Path, recording: &Path, runs: usize) -> Result<[Cost; 4]> {
    let name = recording.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let repeat = repeats(fs::metadata(recording)?.len());
    let mut costs: [Vec<Cost>; 4] = Default::default();
    let command = |program| {
        let (mut command, args) = match program {
            Program::Info => (Command::new(binary), &["info", "--no-local"][..]),
            Program::Report => (Command::new(binary), &["report", "--no-inline"][..]),
            Program::Perf => (Command::new("perf"), &PERF_REPORT[..]),
            Program::LinuxPerfData => (Command::new(peer), &[][..]),
        };
        command.args(args).arg(recording);
        command
    };
    step(
        &format!("Read {name} with perftab, perf and linux-perf-data, {runs} times in turn"),
        || {
            for _ in 0..runs {
                for (program, costs) in Program::ALL.into_iter().zip(&mut costs) {
                    costs.push(cost(&command(program), repeat)?);
                }
            }
            Ok(())
        },
    )?;
    Ok(costs.map(|costs| Cost::median_of(&costs)))
}
