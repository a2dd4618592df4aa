//! What is checked without being run: format, lints, targets that only a fuzzer runs.

use super::tally::Tally;
use crate::steps::{cargo, line, step};
use anyhow::{Context, Result};
use std::process::Command;

/// Each check counts as one test.
pub fn all() -> Result<Tally> {
    let mut tally = check("Check the format", cargo().args(["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--"];
    tally += check("Check with clippy", cargo().args(clippy).args(["-D", "warnings"]))?;
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
