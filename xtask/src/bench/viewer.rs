//! `cargo xtask bench page`: what opening a recording and looking at it costs in Chromium, beside
//! speedscope, which is given `perf script`'s text of the same recording, since it does not read
//! perf.data. Making that text is not counted. Of views it is the time to the last answer that the
//! page asks its worker for; speedscope has none of them but the first.
//!
//! While the worker is silent it hears neither a cancel nor a newer question. Long tasks are those of more
//! than 50 ms by the clock, which on a busy machine says less than on a quiet one.
//!
//! Frames are those of a browser without a graphics card, where WebGL, with which speedscope paints,
//! is slower than a canvas: its times of frames say less than those of loading.

use super::{Row, median};
use crate::npm;
use crate::steps::{output, root, step, target};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is measured: its title, its key in what the scripts print, its unit, the goal.
const ROWS: [(&str, &str, &str, &str); 25] = [
    ("file chosen to first graph", "loadMs", "ms", "900 for 150 MB, 8,000 for 1.4 GB"),
    ("longest task while loading (0: < 50)", "loadFreezeMs", "ms", "0"),
    ("longest silence of the worker meanwhile", "loadSilenceMs", "ms", "200"),
    ("memory of the tab then, peak", "loadPeakMiB", "MiB", "260 for 150 MB, 800 for 1.4 GB"),
    ("frames while hovering, p95", "hoverFrameMs", "ms", "16.7"),
    ("frames while zooming, p95", "zoomFrameMs", "ms", "16.7"),
    ("longest task meanwhile (0: < 50)", "useFreezeMs", "ms", "0"),
    ("functions", "functionsMs", "ms", "–"),
    ("one function with callers and callees", "sandwichMs", "ms", "–"),
    ("call tree", "treeMs", "ms", "–"),
    ("time order", "timeOrderMs", "ms", "–"),
    ("heat map", "heatMapMs", "ms", "–"),
    ("inverted", "invertedMs", "ms", "–"),
    ("search", "searchMs", "ms", "–"),
    ("timeline by thread", "threadsMs", "ms", "–"),
    ("first range dragged and let go", "firstRangeMs", "ms", "–"),
    ("graph while the next one is dragged", "previewMs", "ms", "100"),
    ("the longest of these", "longestPreviewMs", "ms", "100"),
    ("range compared with the rest", "compareMs", "ms", "–"),
    ("share dialog", "shareMs", "ms", "–"),
    ("link remade: 4,000 characters", "slackLinkMs", "ms", "300"),
    ("link remade: 65,536 characters", "githubLinkMs", "ms", "–"),
    ("longest task meanwhile (0: < 50)", "viewFreezeMs", "ms", "0"),
    ("longest silence of the worker meanwhile", "viewSilenceMs", "ms", "200"),
    ("memory of the tab, peak", "tabPeakMiB", "MiB", "–"),
];

/// Whether speedscope is measured too: for large recordings its text takes long to make, and it
/// takes long to fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Speedscope,
    None,
}

/// Measures both and prints a table.
pub fn bench(recording: &Path, runs: usize, peer: Peer) -> Result<()> {
    let page = target("page/perftab.html");
    let ours = step(&format!("Open it in Chromium, {runs} times"), || {
        measure("measure.mjs", &[&page, recording], runs)
    })?;
    let theirs = match peer {
        Peer::None => Vec::new(),
        Peer::Speedscope => {
            let text = text_of(recording)?;
            let folder = install_speedscope()?;
            let theirs = step(&format!("Open its text in speedscope, {runs} times"), || {
                measure("measure_speedscope.mjs", &[&folder, &text], runs)
            });
            fs::remove_file(text)?;
            theirs?
        }
    };
    println!("{:40}{:>10} {:>12}   goal", "", "perftab", "speedscope");
    for (title, key, unit, goal) in ROWS {
        let ours = shown(&ours, key);
        let goal = if goal == "–" { String::new() } else { format!("≤ {goal} ") };
        println!("{title:40}{ours:>10} {:>12}   {goal}{unit}", shown(&theirs, key));
    }
    if let Some(why) = theirs.iter().find_map(|run| run["failed"].as_str()) {
        println!("speedscope: {why}");
    }
    Ok(())
}

/// How far the goals are met by recordings of 150 MB and 1.4 GB.
pub fn goals(large: &Path, huge: &Path, runs: usize) -> Result<Vec<Row>> {
    let page = target("page/perftab.html");
    let mut rows = Vec::new();
    let sizes = [("150 MB", large, 900.0, 260.0), ("1.4 GB", huge, 8000.0, 800.0)];
    for (size, recording, load, memory) in sizes {
        let measured = step(&format!("Open {size} in Chromium, {runs} times"), || {
            measure("measure.mjs", &[&page, recording], runs)
        })?;
        let of = |key| median_of(&measured, key).unwrap_or(f64::NAN);
        let in_page = |what: &str| format!("page, {size}: {what}");
        let longest = ["loadFreezeMs", "useFreezeMs", "viewFreezeMs"].map(of).into_iter();
        let frames = of("hoverFrameMs").max(of("zoomFrameMs"));
        rows.extend([
            Row::number(in_page("file chosen to first graph of all"), of("loadMs"), load, "ms"),
            Row::number(in_page("memory of the tab then"), of("loadPeakMiB"), memory, "MiB"),
            Row::number(in_page("longest task (0: < 50)"), longest.fold(0.0, f64::max), 0.0, "ms"),
            Row::number(in_page("frames while hovering or zooming, p95"), frames, 16.7, "ms"),
        ]);
    }
    rows.push(Row::unknown(
        "page, 10 GB: memory of the tab",
        4000.0,
        "MiB",
        "not measured: no room for it",
    ));
    Ok(rows)
}

/// What the runs of a script say of this key.
pub fn median_of(runs: &[Value], key: &str) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| run[key].as_f64()).collect();
    (!values.is_empty()).then(|| median(values))
}

pub fn shown(runs: &[Value], key: &str) -> String {
    median_of(runs, key).map_or("–".to_owned(), |median| median.to_string())
}

/// What a script printed of each run.
pub fn measure(script: &str, args: &[&Path], runs: usize) -> Result<Vec<Value>> {
    let script = root().join("xtask/browser").join(script);
    let printed = output(npm::node().arg(script).args(args).arg(runs.to_string()))?;
    printed.lines().map(|line| serde_json::from_str(line).context("a line of the script")).collect()
}

/// Its release as npm has it: tests of exports have it too.
fn install_speedscope() -> Result<PathBuf> {
    npm::install()?;
    Ok(root().join("www/node_modules/speedscope/dist/release"))
}

/// `perf script`'s text of a recording: about four times its size.
fn text_of(recording: &Path) -> Result<PathBuf> {
    fs::create_dir_all(target("bench"))?;
    let text = target("bench/perf-script.txt");
    let title = format!("Make perf script's text of {}", recording.display());
    step(&title, || {
        let status = Command::new("perf")
            .args(["script", "--no-inline", "-i"])
            .arg(recording)
            .stdout(File::create(&text)?)
            .stderr(Stdio::null())
            .status()?;
        ensure!(status.success(), "perf script: {status}");
        Ok(())
    })?;
    println!("    {:.1} MB", fs::metadata(&text)?.len() as f64 / 1e6);
    Ok(text)
}
