//! What it costs to unwind copies of stacks, beside a `perf report` that unwinds none, what it costs in the page, and
//! how far it goes.

use super::goals::Row;
use super::viewer::{measure, median_of};
use super::{Cost, PERF_REPORT, cost};
use crate::finish::Finish;
use crate::steps::{output, step, target};
use anyhow::Result;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Measures, and says how far the goals are met.
pub fn goals(binary: &Path, recording: &Path, runs: usize) -> Result<Vec<Row>> {
    let command = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).arg(recording);
        command
    };
    let mut costs: [Vec<Cost>; 2] = Default::default();
    step("Unwind with perftab, and report with perf, in turn", || {
        for _ in 0..runs {
            costs[0].push(cost(&command(binary, &["report", "--no-inline"]), 1)?);
            costs[1].push(cost(&command(Path::new("perf"), &PERF_REPORT), 1)?);
        }
        Ok(())
    })?;
    let [ours, theirs] = costs.map(|costs| Cost::median_of(&costs));
    let report = output(&mut command(binary, &["report", "--no-inline", "--json"]))?;
    let report: Value = serde_json::from_str(&report)?;
    let warnings = report["warnings"].as_array().into_iter().flatten();
    let stopped = warnings.filter(|warning| warning["kind"] == "not-unwound");
    let stopped: f64 = stopped.filter_map(|warning| warning["samples"].as_f64()).sum();
    let samples = report["samples"].as_f64().unwrap_or(f64::NAN);
    let megabytes = fs::metadata(recording)?.len() as f64 / 1e6;
    println!(
        "    {megabytes:.0} MB: {:.2} and {:.2} s of CPU, {:.0} and {:.0} MiB",
        ours.cpu_seconds, theirs.cpu_seconds, ours.peak_mib, theirs.peak_mib
    );
    let in_page = in_page(recording, runs)?;
    Ok(vec![
        Row::ratio(
            format!("stack dumps of {megabytes:.0} MB, unwound / perf report without, CPU"),
            ours.cpu_seconds / theirs.cpu_seconds,
            0.5,
        ),
        Row::number("stack dumps: unwound by the page's WebAssembly, a sample", in_page, 6.7, "µs"),
        Row::number("stack dumps: not unwound to root or end", 100.0 * stopped / samples, 0.5, "%"),
    ])
}

/// Microseconds that the page's WebAssembly takes for each sample, with the binaries that perf lists. Each run is a
/// process of its own: in a tab, too, the WebAssembly is new.
fn in_page(recording: &Path, runs: usize) -> Result<f64> {
    let listed = output(Command::new("perf").args(["buildid-list", "-i"]).arg(recording))?;
    let paths = listed.lines().filter_map(|line| line.split_once(' ')).map(|(_, path)| path);
    let binaries = target("bench/binaries.txt");
    fs::write(&binaries, paths.collect::<Vec<_>>().join("\n"))?;
    let facade = Finish::Shipped.folder("wasm-bound");
    let measured = step("Unwind with the page's WebAssembly", || {
        let run = |_| measure("measure_unwinding.mjs", &[&facade, recording, &binaries], 1);
        (0..runs).map(run).collect::<Result<Vec<_>>>()
    })?;
    Ok(median_of(&measured.concat(), "unwindMicros").unwrap_or(f64::NAN))
}
