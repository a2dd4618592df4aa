//! `cargo xtask screenshot`: the picture in the README, from a real recording.

use crate::finish::Finish;
use crate::packages::{self, Need};
use crate::steps::{root, run, step};
use crate::{demo, npm, page};
use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Records the demo's workload, serves it, and takes the picture in a real browser.
pub fn screenshot() -> Result<()> {
    packages::ensure(&[packages::WORKLOADS, &[Need::Chromium, Need::Node20]].concat()).none()?;
    let binary = page::build(Finish::Shipped, &page::BuildOptions::default())?;
    let recording = demo::record(&binary)?;
    let picture = root().join("docs/viewer.png");
    fs::create_dir_all(root().join("docs"))?;
    step("Take the picture of the viewer", || {
        let mut view = Command::new(&binary)
            .args(["view", "--no-open"])
            .arg(&recording)
            // With other servers to ask, the page would first ask the user.
            .env_remove("DEBUGINFOD_URLS")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut printed = BufReader::new(view.stdout.take().context("no output to read")?);
        let mut url = String::new();
        // The URL is printed once the server listens.
        let taken = printed.read_line(&mut url).map_err(Into::into).and_then(|_| {
            let script = root().join("xtask/browser/screenshot.mjs");
            run(npm::node().arg(script).arg(url.trim()).arg(&picture))
        });
        view.kill()?;
        view.wait()?;
        taken
    })?;
    println!("    {}", picture.display());
    Ok(())
}
