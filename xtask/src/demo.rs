//! `cargo xtask demo`: the whole path, from a workload to a page that shows where its time went.

use crate::finish::Finish;
use crate::packages::{self, System};
use crate::page;
use crate::steps::{output, root, run, step, step_once, target};
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Args)]
pub struct DemoOptions {
    /// End after the recording, the page and the link are made
    #[arg(long)]
    no_serve: bool,
    #[command(flatten)]
    build: page::BuildOptions,
}

/// Builds, records, reports, exports, shares, serves.
pub fn demo(options: &DemoOptions) -> Result<()> {
    if !System::this().is_linux() {
        return page_alone(options);
    }
    packages::ensure(packages::WORKLOADS).none()?;
    let (binary, page) = match page::ensure(&options.build) {
        Ok(_) => (page::build(Finish::Shipped, &options.build)?, PageState::Built),
        // Recording needs none, and neither do the report and the link.
        Err(missing) => {
            println!("SKIPPED: the page: {missing}");
            (page::build_binary(Finish::Shipped)?, PageState::Missing)
        }
    };
    let recording = make(&binary, page)?;
    match page {
        PageState::Missing => {
            println!("SKIPPED: the viewer and the saved page: there is no page to show")
        }
        PageState::Built if options.no_serve => {}
        PageState::Built => {
            println!("==> Serve the viewer; Ctrl-C ends it");
            run(perftab(&binary, "view", &recording).arg("--no-open"))?;
        }
    }
    Ok(())
}

/// Where perftab does not record: the page is all that can be had. It carries a sample.
fn page_alone(options: &DemoOptions) -> Result<()> {
    println!(
        "SKIPPED: the recording: perftab records on Linux. The page opens recordings anywhere."
    );
    println!("    In a container, which leaves the recording's page here as profile.html:");
    let inside = "cargo xtask demo --no-serve >&2 && cat target/demo/profile.html";
    println!("    {} > profile.html", packages::container_with("", inside));
    let page = page::site(Finish::Shipped, &options.build)?;
    println!("    Open {} and open the sample profile that it carries", page.html.display());
    Ok(())
}

/// Whether there is a page for the binary to carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    Built,
    Missing,
}

/// Everything but the viewer: recording, top functions, page and link. The tests make it too, so
/// that what the README shows first cannot break unseen.
pub fn make(binary: &Path, page: PageState) -> Result<PathBuf> {
    let recording = record(binary)?;
    step("Where the time went", || {
        run(perftab(binary, "report", &recording).args(["--limit", "15"]))
    })?;
    if page == PageState::Built {
        let html = target("demo/profile.html");
        step("Write a page that carries the profile", || {
            run(perftab(binary, "export", &recording).args(["--to", "html", "-o"]).arg(&html))?;
            println!("    {}", html.display());
            Ok(())
        })?;
    }
    step("Make a link that carries the profile", || {
        let link = output(perftab(binary, "share", &recording).args(["--budget", "chat"]))?;
        let file = target("demo/link.txt");
        fs::write(&file, &link).with_context(|| file.display().to_string())?;
        println!("{}", link.trim_end());
        println!("    {}", file.display());
        Ok(())
    })?;
    Ok(recording)
}

/// The demo's recording; made once for a build of perftab and of the workload.
pub fn record(binary: &Path) -> Result<PathBuf> {
    let workload = compile()?;
    let script = root().join("tests/workloads/demo.sh");
    let recording = target("demo/perf.data");
    fs::create_dir_all(target("demo"))?;
    let inputs = [binary, &workload, &script];
    step_once("record", "Record it with perftab record", &inputs, &[&recording], || {
        run(Command::new(binary)
            .args(["record", "-g", "-o"])
            .arg(&recording)
            .arg("--")
            .args([&script, &workload])
            .stdout(Stdio::null()))?;
        println!("    {}", recording.display());
        Ok(())
    })?;
    Ok(recording)
}

/// The program of the workloads: optimised, with debug information and frame pointers.
pub fn compile() -> Result<PathBuf> {
    let source = root().join("tests/workloads/textstat.c");
    let program = target("workloads/textstat");
    fs::create_dir_all(target("workloads"))?;
    step_once("workload", "Compile the workload", &[&source], &[&program], || {
        let flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-o"];
        run(Command::new("cc").args(flags).args([&program, &source]))
    })?;
    Ok(program)
}

fn perftab(binary: &Path, verb: &str, recording: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg(verb).arg(recording);
    command
}
