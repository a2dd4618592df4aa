//! `cargo xtask test`: checks, Rust tests, the page's tests, and tests in a real browser.
//!
//! Everything runs even if something before it failed; what did is said once more, and the last line
//! counts it all.

use crate::steps::{cargo, line, root, run, step, step_once, target};
use crate::tally::{LEFT_OUT, Reader, Runner, Tally};
use crate::{apt, demo, guest_kernel, npm, page};
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[derive(Args)]
pub struct TestOptions {
    /// Also build samply and test with it
    #[arg(long)]
    peers: bool,
    /// Only tests whose name contains this, and no checks
    filter: Option<String>,
    #[command(flatten)]
    build: page::BuildOptions,
}

/// What the tests find in their environment.
struct Parts {
    /// `PERFTAB_BIN`: the binary, with the page inside.
    binary: PathBuf,
    /// `PERFTAB_SAMPLY`: only with `--peers`.
    samply: Option<PathBuf>,
}

impl Parts {
    fn name_to(&self, command: &mut Command) {
        command
            .env("PERFTAB_BIN", &self.binary)
            .env("PERFTAB_HTML", target("page/perftab.html"))
            .env("PERFTAB_WASM", target("wasm-bound/perftab_web_bg.wasm"));
        if let Some(samply) = &self.samply {
            command.env("PERFTAB_SAMPLY", samply);
        }
    }
}

/// Installs, builds, checks, tests. The last line printed is the count.
pub fn test(options: &TestOptions) -> Result<ExitCode> {
    apt::install(&[apt::BUILD, apt::TEST])?;
    apt::rust_components(&["rustfmt", "clippy"])?;
    mount_tracefs()?;
    guest_kernel::fetch()?;
    let tally = match build_parts(options) {
        Ok(parts) => run_all(options.filter.as_deref(), &parts)?,
        // What does not build is the one test that counts.
        Err(error) => {
            println!("{error:#}");
            Tally { failed: 1, ..Tally::default() }
        }
    };
    tally.failures.iter().for_each(|failure| println!("{failure}"));
    println!("perftab: {tally}");
    let good = tally.failed == 0 && tally != Tally::default();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build_parts(options: &TestOptions) -> Result<Parts> {
    let binary = page::build(&options.build)?;
    let samply = options.peers.then(build_samply).transpose()?;
    Ok(Parts { binary, samply })
}

fn run_all(filter: Option<&str>, parts: &Parts) -> Result<Tally> {
    let mut tally = Tally::default();
    if filter.is_none() {
        tally += check("Check the format", cargo().args(["fmt", "--all", "--check"]))?;
        let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--"];
        tally += check("Check with clippy", cargo().args(clippy).args(["-D", "warnings"]))?;
    }
    tally += rust_tests(filter, parts)?;
    tally += page_tests(filter)?;
    for folder in ["tests/wasm", "tests/browser"] {
        tally += node_tests(&format!("Test {folder}"), &root().join(folder), filter, parts)?;
    }
    if filter.is_none() {
        tally += demo_works(&parts.binary)?;
    }
    if let (true, Some(filter)) = (tally == Tally::default(), filter) {
        println!("No test has this in its name: {filter}");
    }
    Ok(tally)
}

/// The demo, served by nobody, counts as one test. Its folder is made anew, as in a fresh clone.
fn demo_works(binary: &Path) -> Result<Tally> {
    let folder = target("demo");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    apt::install(&[apt::WORKLOADS])?;
    match demo::make(binary) {
        Ok(_) => Ok(Tally { passed: 1, ..Tally::default() }),
        Err(error) => {
            println!("the demo fails: {error:#}");
            Ok(Tally { failed: 1, ..Tally::default() })
        }
    }
}

/// A check counts as one test.
fn check(title: &str, command: &mut Command) -> Result<Tally> {
    step(title, || {
        let status = command.status().with_context(|| line(command))?;
        Ok(Tally {
            passed: status.success().into(),
            failed: (!status.success()).into(),
            ..Tally::default()
        })
    })
}

fn rust_tests(filter: Option<&str>, parts: &Parts) -> Result<Tally> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--locked", "--quiet", "--no-fail-fast"]);
    command.args(filter).args(["--", "--show-output"]);
    parts.name_to(&mut command);
    step("Test the Rust crates", || counted(&mut command, Runner::Libtest))
}

/// Unit tests of the page, bundled first: not every Node that we run on reads TypeScript.
fn page_tests(filter: Option<&str>) -> Result<Tally> {
    let bundled = target("page-tests");
    step("Test the page's parts", || {
        if bundled.exists() {
            fs::remove_dir_all(&bundled)?;
        }
        run(npm::node().args(["build.mjs", "tests"]).arg(&bundled))?;
        node_test_files(&bundled, filter, None)
    })
}

fn node_tests(title: &str, folder: &Path, filter: Option<&str>, parts: &Parts) -> Result<Tally> {
    if !folder.exists() {
        return Ok(Tally::default());
    }
    step(title, || node_test_files(folder, filter, Some(parts)))
}

fn node_test_files(folder: &Path, filter: Option<&str>, parts: Option<&Parts>) -> Result<Tally> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    if files.is_empty() {
        return Ok(Tally::default());
    }
    let mut command = npm::node();
    command.args(["--test", "--test-reporter=spec"]);
    if let Some(filter) = filter {
        command.arg(format!("--test-name-pattern={filter}"));
    }
    command.args(files);
    if let Some(parts) = parts {
        parts.name_to(&mut command);
    }
    counted(&mut command, Runner::Node)
}

/// Runs tests; shows their output and counts them.
fn counted(command: &mut Command, runner: Runner) -> Result<Tally> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| line(command))?;
    let mut reader = Reader::new(runner);
    if let Some(output) = child.stdout.take() {
        for text in BufReader::new(output).split(b'\n') {
            let text = text?;
            let text = String::from_utf8_lossy(&text);
            reader.read_line(&text);
            if !is_noise(&text) {
                println!("{text}");
            }
        }
    }
    let status = child.wait()?;
    let mut tally = reader.finish();
    // A crate that does not compile, or a runner that died, leaves no summary behind.
    if !status.success() && tally.failed == 0 {
        println!("{} ended with {status}", line(command));
        tally.failed += 1;
    }
    Ok(tally)
}

/// Lines that say nothing: of libtest, once for each of many crates; of Node, left out tests.
fn is_noise(line: &str) -> bool {
    let empty = ["", "successes:", "running 0 tests"];
    empty.contains(&line)
        || line.starts_with("test result: ok. 0 passed; 0 failed; 0 ignored")
        || line.ends_with(LEFT_OUT)
}

/// Scheduler tracepoints are read from tracefs, which minimal systems leave unmounted.
fn mount_tracefs() -> Result<()> {
    let tracing = "/sys/kernel/tracing";
    if Path::new(tracing).join("events").exists() || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    step("Mount tracefs", || {
        let mount = Command::new("mount").args(["-t", "tracefs", "tracefs", tracing]).status()?;
        if !mount.success() {
            println!("    not mounted; tests that need tracepoints say that they skip");
        }
        Ok(())
    })
}

fn build_samply() -> Result<PathBuf> {
    let peers = target("peers");
    let samply = peers.join("bin/samply");
    step_once("samply", "Build samply", &[], &[&samply], || {
        run(cargo()
            .args(["install", "--quiet", "--locked", "samply", "--version=^0.13", "--root"])
            .arg(&peers))
    })?;
    Ok(samply)
}
