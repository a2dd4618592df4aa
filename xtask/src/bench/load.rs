//! `cargo xtask bench load`: what somebody waits who visits the page, or follows a link, over 10 Mbit/s and 40 ms.

use super::viewer::{measure, shown};
use crate::steps::{run, step, target};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Measures and prints a table of medians. The link is one of 4,000 characters.
pub fn bench(binary: &Path, recording: &Path, runs: usize) -> Result<()> {
    let link = target("bench/link.txt");
    let share = ["share", "--budget", "slack", "--no-local", "-o"];
    run(Command::new(binary).args(share).arg(&link).arg(recording))?;
    let page = target("page/perftab.html");
    let runs = step(&format!("Load the page, {runs} times"), || {
        measure("measure_load.mjs", &[&page, &link], runs)
    })?;
    println!("open screen painted  {:>8} ms, ≤ 600", shown(&runs, "screenMs"));
    println!("graph of a link      {:>8} ms, ≤ 1,300", shown(&runs, "linkMs"));
    Ok(())
}
