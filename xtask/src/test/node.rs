//! Tests that Node runs: the page's parts, the façade of WebAssembly, and the page in a browser.

use super::tally::{Runner, Tally};
use super::watch::{Limits, watch};
use super::{Parts, Tier};
use crate::npm;
use crate::steps::{root, run, step, target};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many files at a time.
#[derive(Clone, Copy)]
enum Concurrency {
    /// For what is timed.
    One,
    /// One for each core: a file of scenes waits for its recordings, its browser and the page's worker
    /// in turn. On two cores, three at a time take as long as two.
    Several,
}

/// Tests have limits of their own, of at most ten minutes.
const LIMITS: Limits = Limits { test: Duration::from_secs(900), silence: Duration::from_secs(900) };

/// Unit tests of the page, bundled first: not every Node that we run on reads TypeScript.
pub fn page_units(filter: Option<&str>) -> Result<Tally> {
    let bundled = target("page-tests");
    step("Test the page's parts", || {
        if bundled.exists() {
            fs::remove_dir_all(&bundled)?;
        }
        run(npm::node().args(["build.mjs", "tests"]).arg(&bundled))?;
        files("page", &bundled, Concurrency::Several, filter, None)
    })
}

/// The façade of WebAssembly, beside the binary.
pub fn wasm(filter: Option<&str>, parts: &Parts) -> Result<Tally> {
    let folder = root().join("tests/wasm");
    step("Test the WebAssembly", || {
        files("wasm", &folder, Concurrency::Several, filter, Some(parts))
    })
}

/// The page in a real browser; what is timed runs alone, and in `--all` only.
pub fn browser(filter: Option<&str>, tier: Tier, parts: &Parts) -> Result<Tally> {
    let folder = root().join("tests/browser");
    let mut tally = step("Test the page in a browser", || {
        files("browser", &folder, Concurrency::Several, filter, Some(parts))
    })?;
    let timing = folder.join("timing");
    if tier == Tier::All && timing.exists() {
        tally += step("Test what is timed in a browser, one after the other", || {
            files("browser-timing", &timing, Concurrency::One, filter, Some(parts))
        })?;
    }
    Ok(tally)
}

/// Runs the files of a folder. With a filter, only those that hold it somewhere: a test's name
/// stands in its file.
fn files(
    log: &str,
    folder: &Path,
    concurrency: Concurrency,
    filter: Option<&str>,
    parts: Option<&Parts>,
) -> Result<Tally> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    if parts.is_some_and(|parts| parts.binary.is_none()) {
        // It holds the WebAssembly against the binary.
        files.retain(|file| !file.ends_with("parity.test.mjs"));
    }
    if let Some(filter) = filter {
        files.retain(|file| fs::read_to_string(file).is_ok_and(|text| text.contains(filter)));
    }
    files.sort();
    if files.is_empty() {
        return Ok(Tally::default());
    }
    let mut command = npm::node();
    command.args(["--test", "--test-reporter=spec"]);
    command.arg(format!("--test-concurrency={}", concurrency.files()));
    if let Some(filter) = filter {
        command.arg(format!("--test-name-pattern={filter}"));
    }
    command.args(files);
    if let Some(parts) = parts {
        parts.name_to(&mut command);
    }
    watch(&mut command, Runner::Node, log, LIMITS)
}

impl Concurrency {
    fn files(self) -> usize {
        match self {
            Self::One => 1,
            Self::Several => std::thread::available_parallelism().map_or(2, usize::from),
        }
    }
}
