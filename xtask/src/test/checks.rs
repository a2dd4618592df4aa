//! What is checked without being run: format, lints, targets that only a fuzzer runs.

use super::tally::Tally;
use super::{unless, without_recorder};
use crate::packages::{Missing, Need};
use crate::steps::{cargo, line, step};
use anyhow::{Context, Result};
use std::process::Command;

/// Each check counts as one test.
pub fn all(missing: &Missing) -> Result<Tally> {
    let mut tally = unless(&missing.of(&[Need::Rustfmt]), "the format", || {
        check("Check the format", cargo().args(["fmt", "--all", "--check"]))
    })?;
    tally += unless(&missing.of(&[Need::Clippy]), "clippy", || {
        let mut clippy = cargo();
        clippy.arg("clippy").arg("--workspace").args(without_recorder()).args([
            "--all-targets",
            "--locked",
            "--quiet",
        ]);
        check("Check with clippy", clippy.args(["--", "-D", "warnings"]))
    })?;
    Ok(tally)
}

fn check(title: &str, command: &mut Command) -> Result<Tally> {
    step(title, || {
        let status = command.status().with_context(|| line(command))?;
        Ok(if status.success() {
            Tally::passed()
        } else {
            Tally::failed(format!("{title}: {} ended with {status}", line(command)))
        })
    })
}
