//! `perftab`, the one binary that users install: the recorder and every command over recordings.
//!
//! Constraints: no formats or aggregation of its own, those are `perftab-core`'s. Results go to
//! standard output, everything else to standard error. Exit codes: 0 done, 1 failed (one line says
//! what and what to do), 2 wrong usage, 3 done under `--strict` but something was lost.

#![deny(unsafe_code)]

mod cli;
mod commands;
mod debuginfod_client;
mod file_source;
mod images;
mod output;
mod page;
mod recording;
mod scratch;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{BuildidCommand, Cli, Command};
use crate::output::Outcome;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::WithLosses) if cli.strict => ExitCode::from(3),
        Ok(Outcome::WithLosses) => ExitCode::SUCCESS,
        // `perftab report | head`: the reader has what it wanted.
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::View(args) => serve::run(&args),
        Command::Report(_) => commands::unavailable("report"),
        Command::Info(_) => commands::unavailable("info"),
        Command::Buildid(args) => match args.command {
            BuildidCommand::List(_) => commands::unavailable("buildid list"),
        },
        Command::Export(_) => commands::unavailable("export"),
        Command::Share(_) => commands::unavailable("share"),
    }
}
