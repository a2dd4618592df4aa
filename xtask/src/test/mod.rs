//! `cargo xtask test`: checks, tests of Rust, of the page, and in a real browser.
//!
//! Two tiers. The fast one is what people run before each commit: something of everything. `--all`
//! adds what takes long: full density of exhaustive tests, a guest kernel, large recordings, the
//! demo. What the fast tier leaves out is listed at its end.
//!
//! Everything runs even if something before it failed; what did is repeated at the end, and the
//! last line counts it all.

mod checks;
mod node;
mod rust;
mod tally;
mod watch;

use crate::demo::{self, PageState};
use crate::finish::Finish;
use crate::guest_kernel;
use crate::packages::{self, Missing, Need, System};
use crate::page::{self, Page};
use crate::steps::{cargo, is_root, quiet, run, seconds, step, step_once, target};
use anyhow::Result;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tally::Tally;

#[derive(Args)]
pub struct TestOptions {
    /// Everything: also what takes long
    #[arg(long)]
    all: bool,
    /// Keep pictures of the page in target/screenshots/
    #[arg(long)]
    pictures: bool,
    /// Also build samply and test with it
    #[arg(long)]
    peers: bool,
    /// Only tests whose name contains this, and no checks
    filter: Option<String>,
    #[command(flatten)]
    build: page::BuildOptions,
}

/// How much is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// Before each commit.
    Fast,
    /// `--all`.
    All,
}

impl TestOptions {
    fn tier(&self) -> Tier {
        if self.all { Tier::All } else { Tier::Fast }
    }
}

impl Tier {
    /// What is tested: in full what users get, before a commit what is built sooner.
    fn finish(self) -> Finish {
        match self {
            Self::Fast => Finish::Quick,
            Self::All => Finish::Shipped,
        }
    }
}

/// What the tests find in their environment.
struct Parts {
    tier: Tier,
    /// `PERFTAB_PICTURES`: only with `--pictures`.
    pictures: Option<PathBuf>,
    /// `PERFTAB_BIN`: the binary, with the page inside; none where perftab does not record.
    binary: Option<PathBuf>,
    /// `PERFTAB_HTML`, `PERFTAB_SITE` and `PERFTAB_WASM`, or what is missing to build them.
    page: Result<Page, Missing>,
    /// What else is missing.
    missing: Missing,
    /// `PERFTAB_SAMPLY`: only with `--peers`.
    samply: Option<PathBuf>,
}

impl Parts {
    fn name_to(&self, command: &mut Command) {
        let tier = match self.tier {
            Tier::Fast => "fast",
            Tier::All => "all",
        };
        command.env("PERFTAB_TIER", tier);
        if let Some(binary) = &self.binary {
            command.env("PERFTAB_BIN", binary);
        }
        if let Ok(page) = &self.page {
            command
                .env("PERFTAB_HTML", &page.html)
                .env("PERFTAB_SITE", &page.site)
                .env("PERFTAB_WASM", &page.wasm);
        }
        if let Some(pictures) = &self.pictures {
            command.env("PERFTAB_PICTURES", pictures);
        }
        if let Some(samply) = &self.samply {
            command.env("PERFTAB_SAMPLY", samply);
        }
    }
}

/// Installs, builds, checks, tests. The last line printed is the count.
pub fn test(options: &TestOptions) -> Result<ExitCode> {
    let started = Instant::now();
    let missing = packages::ensure(&match (System::this().is_linux(), options.tier()) {
        (true, Tier::All) => [packages::TEST, packages::LONG_TEST].concat(),
        (true, Tier::Fast) => packages::TEST.to_vec(),
        (false, _) => packages::PORTABLE_TEST.to_vec(),
    });
    missing.print();
    if System::this().is_linux() {
        mount_tracefs()?;
        if options.tier() == Tier::All {
            guest_kernel::fetch()?;
        }
    }
    let mut times = Times::default();
    let tally = match times.of("build", || build_parts(options, missing)) {
        Ok(parts) => run_all(options, &parts, &mut times)?,
        // What does not build is the one test that counts.
        Err(error) => Tally::failed(format!("{error:#}")),
    };
    println!("{times}in all {}", seconds(started.elapsed()));
    if let (true, Some(filter)) = (tally.is_empty(), &options.filter) {
        println!("No test has this in its name: {filter}");
    }
    if options.tier() == Tier::Fast {
        tally.left.iter().for_each(|left| println!("    {left}"));
        println!("left to --all: {}", tally.left.len());
    }
    tally.failures.iter().for_each(|failure| println!("{failure}"));
    println!("perftab: {tally}");
    let good = tally.failed == 0 && !tally.is_empty();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build_parts(options: &TestOptions, missing: Missing) -> Result<Parts> {
    let finish = options.tier().finish();
    let page = match page::ensure(&options.build) {
        Ok(_) => Ok(page::site(finish, &options.build)?),
        Err(missing) => Err(missing),
    };
    let records = System::this().is_linux();
    let binary = records.then(|| page::build_binary(finish)).transpose()?;
    let samply = options.peers.then(build_samply).transpose()?;
    let pictures = options.pictures.then(|| target("screenshots"));
    Ok(Parts { tier: options.tier(), pictures, binary, page, missing, samply })
}

fn run_all(options: &TestOptions, parts: &Parts, times: &mut Times) -> Result<Tally> {
    let filter = options.filter.as_deref();
    let mut tally = Tally::default();
    if filter.is_none() {
        tally += times.of("checks", || checks::all(&parts.missing))?;
    }
    tally += times.of("Rust", || rust::tests(filter, parts.tier, parts))?;
    let no_page = parts.page.as_ref().err().cloned();
    tally += times.of("page's parts", || {
        unless(&no_page, "tests of the page's parts", || node::page_units(filter))
    })?;
    tally += times.of("WebAssembly", || {
        unless(&no_page, "tests of the WebAssembly", || node::wasm(filter, parts))
    })?;
    let Some(binary) = &parts.binary else {
        println!("SKIPPED: all that records: perftab records on Linux");
        tally += Tally::skipped();
        return Ok(tally);
    };
    let no_browser = no_page.or_else(|| parts.missing.of(&[Need::Chromium, Need::Node20]));
    tally += times.of("browser", || {
        unless(&no_browser, "browser scenes", || node::browser(filter, parts.tier, parts))
    })?;
    if filter.is_none() && parts.tier == Tier::All {
        let page = if parts.page.is_ok() { PageState::Built } else { PageState::Missing };
        tally += times.of("demo", || demo_works(binary, page))?;
    }
    Ok(tally)
}

/// A part that cannot run says so, as a test does, and counts as one that is skipped.
fn unless(
    missing: &Option<Missing>,
    part: &str,
    tests: impl FnOnce() -> Result<Tally>,
) -> Result<Tally> {
    match missing {
        None => tests(),
        Some(missing) => {
            println!("SKIPPED: {part}: {missing}");
            Ok(Tally::skipped())
        }
    }
}

/// What Cargo is told where perftab does not record: the recorder builds on Linux only, and the tests
/// of `tests/` run it.
fn without_recorder() -> &'static [&'static str] {
    match System::this().is_linux() {
        true => &[],
        false => &["--exclude=perftab", "--exclude=perftab-tests"],
    }
}

/// The demo, served by nobody, counts as one test. Its folder is made anew, as in a fresh clone.
fn demo_works(binary: &Path, page: PageState) -> Result<Tally> {
    let folder = target("demo");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(match demo::make(binary, page) {
        Ok(_) => Tally::passed(),
        Err(error) => Tally::failed(format!("the demo fails: {error:#}")),
    })
}

/// How long each part of the run took.
#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    fn of<T>(&mut self, part: &'static str, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        self.0.push((part, started.elapsed()));
        result
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(part, took)| write!(f, "{part} {}, ", seconds(*took)))
    }
}

/// Scheduler tracepoints are read from tracefs, which minimal systems leave unmounted.
fn mount_tracefs() -> Result<()> {
    let tracing = "/sys/kernel/tracing";
    if Path::new(tracing).join("events").exists() || !is_root() {
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
        // What it answers counts, not how fast: so it is built sooner.
        let quick =
            [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "1"), ("DEBUG", "false")];
        let quick = quick.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value));
        run(cargo()
            .arg("install")
            .args(quiet())
            .args(["--locked", "samply", "--version=^0.13", "--root"])
            .arg(&peers)
            .envs(quick))
    })?;
    Ok(samply)
}
