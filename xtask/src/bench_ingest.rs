//! `cargo xtask bench ingest`: what reading a recording costs, beside peers on the same file.
//!
//! `perftab info --no-local` reads everything (records in the order of time, mappings, frames,
//! stacks, samples) and looks for no names. `perf report --no-inline` does that and names and sorts;
//! it cannot be told to stop before. linux-perf-data parses and sorts, and makes no stacks of it.

use crate::bench::{Cost, cost, median, repeats};
use crate::steps::{cargo, output, quiet, root, run, step};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shares of `perf report`'s CPU and memory to stay below, by the size of the recording.
const GOALS: [Goal; 3] = [
    Goal { up_to_mb: 50.0, cpu: 0.05, memory: None },
    Goal { up_to_mb: 500.0, cpu: 0.15, memory: None },
    Goal { up_to_mb: f64::INFINITY, cpu: 0.25, memory: Some(0.25) },
];

struct Goal {
    up_to_mb: f64,
    cpu: f64,
    memory: Option<f64>,
}

/// The three that are measured, each with the medians of its runs.
struct Row {
    name: String,
    megabytes: f64,
    ours: Cost,
    perf: Cost,
    crate_: Cost,
}

/// Measures each recording and prints a table.
pub fn bench(binary: &Path, recordings: &[PathBuf], runs: usize) -> Result<()> {
    let example = example("parse_and_sort", "Build the peer that parses and sorts")?;
    let rows = recordings
        .iter()
        .map(|recording| measure(binary, &example, recording, runs))
        .collect::<Result<Vec<_>>>()?;
    println!("{:28}{:>9}  {:>17}  {:>17}  {:>17}", "", "", "perftab", "perf", "linux-perf-data");
    let (cpu, mib) = ("CPU s", "MiB");
    println!(
        "{:28}{:>9}  {cpu:>10}{mib:>7}  {cpu:>10}{mib:>7}  {cpu:>10}{mib:>7}   of perf: CPU, memory",
        "recording", "MB"
    );
    for row in &rows {
        let Row { name, megabytes, ours, perf, crate_ } = row;
        let costs = [ours, perf, crate_]
            .map(|cost| format!("{:>10.3}{:>7.0}", cost.cpu_seconds, cost.peak_mib))
            .join("  ");
        let goal = GOALS.iter().find(|goal| *megabytes <= goal.up_to_mb);
        let goal = goal.map_or_else(String::new, |goal| {
            let memory = goal.memory.map_or_else(String::new, |memory| format!(", {memory:.2}"));
            format!("(goal with names {:.2}{memory})", goal.cpu)
        });
        println!(
            "{name:28}{megabytes:>9.1}  {costs}   {:.3}, {:.3} {goal}",
            ours.cpu_seconds / perf.cpu_seconds,
            ours.peak_mib / perf.peak_mib
        );
    }
    Ok(())
}

/// Builds an example of the tests.
pub fn example(name: &str, title: &str) -> Result<PathBuf> {
    step(title, || {
        let example = ["--package=perftab-tests", "--example", name];
        run(cargo().arg("build").args(quiet()).args(["--locked", "--release"]).args(example))
    })?;
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let built_to = metadata["target_directory"].as_str().context("cargo metadata")?;
    Ok(root().join(built_to).join("release/examples").join(name))
}

fn measure(binary: &Path, peer: &Path, recording: &Path, runs: usize) -> Result<Row> {
    let name = recording.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let megabytes = fs::metadata(recording)?.len() as f64 / 1e6;
    let repeat = repeats(fs::metadata(recording)?.len());
    let mut costs: [Vec<Cost>; 3] = Default::default();
    step(
        &format!("Read {name} with perftab, perf and linux-perf-data, {runs} times in turn"),
        || {
            for _ in 0..runs {
                let perf =
                    ["report", "--stdio", "--no-children", "-g", "none", "--no-inline", "-i"];
                let commands = [
                    (Command::new(binary), &["info", "--no-local"][..]),
                    (Command::new("perf"), &perf[..]),
                    (Command::new(peer), &[][..]),
                ];
                for ((mut command, args), costs) in commands.into_iter().zip(&mut costs) {
                    costs.push(cost(command.args(args).arg(recording), repeat)?);
                }
            }
            Ok(())
        },
    )?;
    let [ours, perf, crate_] = costs.map(|costs| Cost {
        cpu_seconds: median(costs.iter().map(|cost| cost.cpu_seconds).collect()),
        peak_mib: median(costs.iter().map(|cost| cost.peak_mib).collect()),
    });
    Ok(Row { name, megabytes, ours, perf, crate_ })
}
