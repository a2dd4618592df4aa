//! Everything that is done to perftab: set up, build, run, test, measure.
//!
//! Each subcommand is a list of steps. A step says what it does and how long it took, and is left
//! out when what it would make is there already. What a machine lacks is named, with the line that
//! installs it, and what can be done without is done.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod dist;
mod finish;
mod fixtures;
mod guest_kernel;
mod npm;
mod packages;
mod page;
mod sample;
mod screenshot;
mod steps;
mod test;
mod wasm;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Sets up, builds, runs and tests perftab.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the WebAssembly, the page and the binary that carries the page
    Build(page::BuildCommand),
    /// Build what a static host serves, without the binary
    Site(page::BuildCommand),
    /// Build what users download: a static binary, its manual, its debug file
    Dist(dist::DistOptions),
    /// Install what tests need and run all of them
    Test(test::TestOptions),
    /// Record a real workload and show it
    Demo(demo::DemoOptions),
    /// Measure, beside the peers
    Bench(bench::BenchOptions),
    /// Write the recordings that tests read, and what perftab says of them
    Fixtures(fixtures::FixturesOptions),
    /// Fetch the kernel that tests boot, with its debug files: 300 MB
    GuestKernel,
    /// Record the sample profile that the page carries
    Sample,
    /// Take the picture of the viewer for the README
    Screenshot,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Build(options) => {
            page::build(options.finish, &options.options).map(|_| ExitCode::SUCCESS)
        }
        Command::Site(options) => {
            page::site(options.finish, &options.options).map(|_| ExitCode::SUCCESS)
        }
        Command::Dist(options) => dist::dist(&options).map(|()| ExitCode::SUCCESS),
        Command::Test(options) => test::test(&options),
        Command::Demo(options) => demo::demo(&options).map(|()| ExitCode::SUCCESS),
        Command::Bench(options) => bench::bench(&options).map(|()| ExitCode::SUCCESS),
        Command::Fixtures(options) => fixtures::fixtures(&options).map(|()| ExitCode::SUCCESS),
        Command::GuestKernel => guest_kernel::fetch().map(|()| ExitCode::SUCCESS),
        Command::Sample => sample::sample().map(|()| ExitCode::SUCCESS),
        Command::Screenshot => screenshot::screenshot().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
