//! `cargo xtask bench view`: what looking at a recording with `perftab view` costs, as the README says to.
//!
//! The same file chosen from disk stands beside it: the server, which has the files of this machine, should
//! cost little more. Files that the recording needs are read from where they are, and from the cache of
//! debuginfod; a debuginfod is asked if `DEBUGINFOD_URLS` names one.

use super::viewer::{measure, shown};
use crate::steps::{step, target};
use anyhow::Result;
use std::path::Path;

/// What is measured: its title, its key in what the script prints, its unit, the goal.
const ROWS: [(&str, &str, &str); 13] = [
    ("file chosen to first graph, of a part if large", "chosenMs", "ms"),
    ("file chosen to first graph of all", "chosenWholeMs", "ms"),
    ("served page to first graph, of a part if large", "firstMs", "ms"),
    ("served page to first graph of all", "wholeMs", "ms, ≤ 1.2 of chosen"),
    ("served page to all names", "namesMs", "ms, ≤ 6,000"),
    ("the same while a key is pressed", "pressedNamesMs", "ms"),
    ("longest wait for the functions then", "pressMs", "ms, ≤ 300"),
    ("longest task of the page (0: < 50)", "longestTaskMs", "ms, 0"),
    ("files asked for", "fetched", ""),
    ("graphs asked for", "graphs", ""),
    ("sent to the page", "sentMB", "MB"),
    ("CPU time of the server", "serverCpuMs", "ms"),
    ("memory of the tab, peak", "peakMiB", "MiB"),
];

/// Measures and prints a table of medians.
pub fn bench(binary: &Path, recording: &Path, runs: usize) -> Result<()> {
    let page = target("page/perftab.html");
    let runs = step(&format!("Look at it with perftab view, {runs} times"), || {
        measure("measure_view.mjs", &[binary, &page, recording], runs)
    })?;
    for (title, key, unit) in ROWS {
        println!("{title:48}{:>10} {unit}", shown(&runs, key));
    }
    Ok(())
}
