//! What it costs to name addresses with inlined functions and lines, beside addr2line.

use super::goals::Row;
use super::{Cost, cost};
use crate::steps::{cargo, output, quiet, run, step, target};
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Measures, and says how far the goal is met.
pub fn goal(binary: &Path, runs: usize) -> Result<Row> {
    let program = target("debug/examples/addresses");
    step("Build the program whose addresses are named, with debug information", || {
        let example = ["--package=perftab-tests", "--example=addresses"];
        run(cargo().arg("build").args(quiet()).arg("--locked").args(example))
    })?;
    let (recording, text) = (target("bench/addresses.data"), target("bench/addresses.txt"));
    fs::create_dir_all(target("bench"))?;
    output(Command::new(&program).args([&recording, &text]))?;
    let mut costs: [Vec<Cost>; 2] = Default::default();
    step("Name with perftab and addr2line, in turn", || {
        let addr2line = "addr2line -afi -e \"$1\" < \"$0\"";
        let mut commands = [Command::new(binary), Command::new("sh")];
        commands[0].args(["report", "--limit", "1"]).arg(&recording);
        commands[1].args(["-c", addr2line]).args([&text, &program]);
        for _ in 0..runs {
            costs[0].push(cost(&commands[0], 1)?);
            costs[1].push(cost(&commands[1], 1)?);
        }
        Ok(())
    })?;
    let [ours, theirs] = costs.map(|costs| Cost::median_of(&costs));
    println!(
        "    10,000 addresses of {:.0} MB: {:.2} and {:.2} s of CPU, {:.0} and {:.0} MiB",
        fs::metadata(&program)?.len() as f64 / 1e6,
        ours.cpu_seconds,
        theirs.cpu_seconds,
        ours.peak_mib,
        theirs.peak_mib
    );
    let ratio = ours.cpu_seconds / theirs.cpu_seconds;
    Ok(Row::ratio("10,000 addresses / addr2line, CPU", ratio, 0.55))
}
