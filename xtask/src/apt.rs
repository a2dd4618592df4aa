//! Debian packages: what is missing is installed, what is there is left alone.

use crate::steps::{have, output, run, step};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// A package that is needed.
pub enum Package {
    /// Needed under this name.
    Named(&'static str),
    /// Needed for one command, which may come from elsewhere.
    ForCommand(&'static str, &'static str),
}

use Package::{ForCommand, Named};

/// For building: Node runs esbuild and the TypeScript compiler.
pub const BUILD: &[Package] = &[ForCommand("nodejs", "node"), ForCommand("npm", "npm")];

/// A Rust that can build the standard library for wasm32, where rustup has no target to give.
pub const WASM: &[Package] = &[Named("rustc-web"), Named("cargo-web"), Named("rust-web-src")];

/// For compiling the workloads.
pub const WORKLOADS: &[Package] = &[ForCommand("gcc", "gcc"), Named("libc6-dev")];

/// For tests: real compilers, real peers, a real debuginfod, debug files of the libc that runs
/// here, what packs recordings, Go for its pprof, a machine to boot another kernel in, and a real
/// browser.
pub const TEST: &[Package] = &[
    Named("binutils"),
    ForCommand("gcc", "gcc"),
    ForCommand("g++", "g++"),
    Named("libc6-dev"),
    Named("libc6-dbg"),
    ForCommand("linux-perf", "perf"),
    Named("hotspot"),
    Named("elfutils"),
    Named("debuginfod"),
    ForCommand("gzip", "gzip"),
    ForCommand("xz-utils", "xz"),
    ForCommand("zstd", "zstd"),
    ForCommand("bzip2", "bzip2"),
    ForCommand("zip", "zip"),
    ForCommand("dwz", "dwz"),
    ForCommand("golang-go", "go"),
    ForCommand("qemu-system-x86", "qemu-system-x86_64"),
    ForCommand("busybox-static", "busybox"),
    Named("chromium"),
];

/// For pictures and measurements: a browser, perf to compare with, GNU time to measure both, and
/// what the measured workload runs.
pub const BENCH: &[Package] = &[
    Named("chromium"),
    ForCommand("linux-perf", "perf"),
    Named("time"),
    Named("binutils"),
    ForCommand("perl", "perl"),
];

/// Installs those of `needed` that are missing.
///
/// Where this process cannot, the error is the one line to run instead.
pub fn install(needed: &[&[Package]]) -> Result<()> {
    let needed: Vec<&Package> = needed.iter().copied().flatten().collect();
    if !Path::new("/etc/debian_version").exists() || !have("dpkg-query") {
        bail!(
            "this needs Debian or a derivative. Run it in a container instead:\n    \
             docker run --rm -it --privileged -v \"$PWD\":/perftab -w /perftab rust:1-bookworm {}",
            this_command()
        );
    }
    let missing = missing(&needed)?;
    if missing.is_empty() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        bail!(
            "{} not installed. Run this, then try again:\n    \
             sudo apt-get update && sudo apt-get install -y --no-install-recommends {}",
            if missing.len() == 1 { "a package is" } else { "some packages are" },
            missing.join(" ")
        );
    }
    step(&format!("Install {}", missing.join(", ")), || {
        run(apt().args(["update", "-q"]).stdout(Stdio::null()))?;
        let install = ["install", "-y", "-q", "--no-install-recommends"];
        run(apt().args(install).args(&missing).stdout(Stdio::null()))
    })
}

/// Whether all of these are installed.
pub fn installed(packages: &[Package]) -> bool {
    missing(&packages.iter().collect::<Vec<_>>()).is_ok_and(|missing| missing.is_empty())
}

fn missing(needed: &[&Package]) -> Result<Vec<&'static str>> {
    let mut named = Vec::new();
    let mut missing = Vec::new();
    for package in needed {
        match package {
            Named(name) => named.push(*name),
            ForCommand(name, command) if !have(command) => missing.push(*name),
            ForCommand(..) => {}
        }
    }
    // One question for all; dpkg-query fails if it knows nothing of any of them.
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${Package} ${db:Status-Status}\n"])
        .args(&named)
        .stderr(Stdio::null())
        .output()?;
    let known = String::from_utf8_lossy(&query.stdout);
    missing.extend(
        named.iter().filter(|name| !known.lines().any(|line| line == format!("{name} installed"))),
    );
    missing.sort_unstable();
    missing.dedup();
    Ok(missing)
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// What the user typed.
fn this_command() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo xtask {}", arguments.join(" "))
}

/// Components of the Rust toolchain that a minimal installation lacks.
pub fn rust_components(names: &[&str]) -> Result<()> {
    for name in names {
        let tool = if *name == "rustfmt" { "fmt" } else { name };
        let there = Command::new("cargo")
            .args([tool, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !there {
            step(&format!("Add {name} to the Rust toolchain"), || {
                output(Command::new("rustup").args(["component", "add", name])).map(drop)
            })?;
        }
    }
    Ok(())
}
