//! Tests of Rust: built once by Cargo, then run program by program, so that each has its time, its
//! log, and a limit.

use super::tally::{Runner, Tally};
use super::watch::{Limits, watch};
use super::{Parts, Tier, without_recorder};
use crate::steps::{cargo, line, quiet, step};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A test program that Cargo built.
struct Program {
    /// As in `cargo test`: of a library or binary its name, of an integration test that of its file.
    name: String,
    path: PathBuf,
    /// Of its package, where it runs.
    folder: PathBuf,
}

/// Named wherever tests are built: of other packages, Cargo would build core with other features, once
/// more. The façade of WebAssembly has no tests on the host, and brings core its types for TypeScript;
/// what bundles the page has no tests either, and large libraries.
const PACKAGES: &[&str] =
    &["--workspace", "--exclude=perftab-web", "--exclude=perftab-bundle", "--locked"];

/// Builds and runs all tests of Rust.
pub fn tests(filter: Option<&str>, tier: Tier, parts: &Parts) -> Result<Tally> {
    let mut tally = Tally::default();
    for program in step("Build the tests of Rust", build)? {
        tally += step(&format!("Test {}", program.name), || run(&program, filter, tier, parts))?;
    }
    tally += step("Test the examples in the documentation", || {
        let mut command = cargo();
        command.args(["test", "--doc"]).args(PACKAGES).args(without_recorder()).args(filter);
        watch(&mut command, Runner::Libtest, "core-doc", limits(tier))
    })?;
    Ok(tally)
}

fn limits(tier: Tier) -> Limits {
    let minutes = match tier {
        Tier::Fast => 5,
        Tier::All => 15,
    };
    let limit = Duration::from_secs(60 * minutes);
    Limits { test: limit, silence: limit + Duration::from_secs(60) }
}

fn run(program: &Program, filter: Option<&str>, tier: Tier, parts: &Parts) -> Result<Tally> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).args(filter).arg("--show-output");
    command.arg(format!("--test-threads={}", threads()));
    if tier == Tier::All {
        command.arg("--include-ignored");
    }
    parts.name_to(&mut command);
    watch(&mut command, Runner::Libtest, &program.name, limits(tier))
}

/// Tests of recordings mostly wait for the programs that they record. On two cores, all of them take
/// 109 s with a thread for each core, 85 s with three threads and 73 s with four.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

fn build() -> Result<Vec<Program>> {
    let mut command = cargo();
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(quiet());
    command.args(PACKAGES).args(without_recorder());
    let output = command.stderr(Stdio::inherit()).output().with_context(|| line(&command))?;
    if !output.status.success() {
        bail!("{} ended with {}", line(&command), output.status);
    }
    let mut programs = Vec::new();
    for text in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(text)?;
        if message["reason"] == "compiler-artifact" && message["profile"]["test"] == true {
            programs.extend(program(&message));
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Of a message about an artifact; `None` where nothing can be run.
fn program(message: &serde_json::Value) -> Option<Program> {
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    Some(Program {
        name: message["target"]["name"].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
        folder: manifest.parent()?.to_owned(),
    })
}
