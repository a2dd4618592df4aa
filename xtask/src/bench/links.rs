//! `cargo xtask bench links`: how long links of recordings are, beside the plain encoding of what they
//! hold (`tests/src/links/plain.rs`), as a table for `docs/snapshot-v1.md`.
//!
//! A link is made of a page that was saved with all of the recording in it, which has the names that
//! perftab finds on this machine; so nothing is measured but what makes links.

use super::Row;
use super::ingest::example;
use crate::steps::{line, output, run, step, target};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints the table.
pub fn bench(binary: &Path, recordings: &[PathBuf]) -> Result<()> {
    let mut measure = measure(binary, recordings)?;
    println!("==> {}", line(&measure));
    run(&mut measure)
}

/// How far the goal is met: by the longest link of all, for what it holds.
pub fn goal(binary: &Path, recordings: &[PathBuf]) -> Result<Row> {
    let table = output(&mut measure(binary, recordings)?)?;
    // The table's column “of plain”.
    let shares = table.lines().filter_map(|row| row.split('|').nth(8)?.trim().strip_suffix(" %"));
    let longest = shares.filter_map(|share| share.parse().ok()).fold(f64::NAN, f64::max);
    Ok(Row::ratio("link / the plain encoding of what it holds", longest / 100.0, 0.75))
}

/// What prints the table.
fn measure(binary: &Path, recordings: &[PathBuf]) -> Result<Command> {
    let program = example("link_sizes", "Build what measures links")?;
    fs::create_dir_all(target("bench"))?;
    let mut pages = Vec::new();
    for recording in recordings {
        let name = recording.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".perf.data").unwrap_or(&name);
        let page = target("bench").join(format!("{name}.html"));
        step(&format!("Save {name} as a page"), || {
            let mut export = Command::new(binary);
            export.args(["export", "--to", "html", "--times", "none", "-o"]).arg(&page);
            run(export.arg(recording))
        })?;
        pages.push(page);
    }
    let mut measure = Command::new(program);
    measure.args(&pages);
    Ok(measure)
}
