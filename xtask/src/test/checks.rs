//! What is checked without being run: format, lints, targets that only a fuzzer runs.

use super::tally::Tally;
use super::{unless, without_recorder};
use crate::npm;
use crate::packages::{self, Missing, Need, System};
use crate::steps::{cargo, line, quiet, root, step, target};
use anyhow::{Context, Result};
use std::process::Command;

/// Each check counts as one test.
pub fn all(missing: &Missing) -> Result<Tally> {
    let mut tally = unless(&missing.of(&[Need::Rustfmt]), "the format", || {
        check("Check the format", cargo().args(["fmt", "--all", "--check"]))
    })?;
    tally += unless(&missing.of(&[Need::Clippy]), "clippy", || {
        let mut clippy = cargo();
        clippy.args(["clippy", "--workspace", "--all-targets", "--locked"]);
        clippy.args(without_recorder()).args(quiet());
        check("Check with clippy", clippy.args(["--", "-D", "warnings"]))
    })?;
    if System::this().is_linux() {
        tally += unless(&missing.of(&[Need::Clippy]), "the fuzz targets", fuzz_targets)?;
    }
    tally += unless(&missing.of(packages::BUILD), "the page's format and lints", || {
        npm::install()?;
        check(
            "Check the page with Biome",
            npm::node()
                .arg("node_modules/.bin/biome")
                .args(["ci", "--error-on-warnings", "--colors=off", "--config-path"])
                .arg(root())
                .arg(root()),
        )
    })?;
    Ok(tally)
}

/// A workspace of its own, so neither `cargo fmt --all` nor clippy above sees it.
fn fuzz_targets() -> Result<Tally> {
    let manifest = root().join("fuzz/Cargo.toml");
    let mut format = cargo();
    format.args(["fmt", "--check", "--manifest-path"]).arg(&manifest);
    let mut clippy = cargo();
    clippy
        .args(["clippy", "--locked"])
        .args(quiet())
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(target("fuzz"))
        .args(["--", "-D", "warnings"])
        // Nothing is linked: libFuzzer, which is C++, need not be compiled.
        .env("CUSTOM_LIBFUZZER_PATH", target("fuzz/libfuzzer.a"));
    let mut tally = check("Check the format of the fuzz targets", &mut format)?;
    tally += check("Check the fuzz targets with clippy", &mut clippy)?;
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
