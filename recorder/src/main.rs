//! `perftab`, the one binary that users install: the recorder and every command over recordings.
//!
//! Constraints: no formats or aggregation of its own, those are `perftab-core`'s. Results go to
//! standard output, everything else to standard error. Exit codes: 0 done, 1 failed (one line says
//! what and what to do), 2 wrong usage, 3 done under `--strict` but something was lost.

#![deny(unsafe_code)]

mod buildid_cache;
mod cli;
mod commands;
mod debuginfod_client;
mod descriptors;
mod file_source;
mod images;
mod input;
mod kept_hashes;
mod late_ids;
mod live_pipe;
mod live_session;
mod output;
mod own_folder;
mod page;
mod pager;
mod perfconfig;
mod place_texts;
mod record;
mod recording;
mod result_file;
mod scratch;
mod serve;
mod stop;

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use anyhow::Context;

use crate::cli::{Cli, Command};
use crate::output::Outcome;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Of the thread that does the work. That of a process is as large as `ulimit -s` says, and reading the command line
/// alone takes more than 128 KiB.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let worked = on_large_stack(|| {
        let cli = Cli::of_arguments();
        match &cli.command {
            // Counters are opened on the thread that a process begins with, and count once that becomes the command.
            Command::Record(args) if args.exec_when_continued.is_some() => Err(Box::new(cli)),
            _ => Ok(work(cli)),
        }
    });
    match worked {
        Ok(Ok(code)) => code,
        Ok(Err(cli)) => work(*cli),
        Err(error) => failed(error),
    }
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let joined = thread.context("no thread can be started")?.join();
        Ok(joined.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn failed(error: anyhow::Error) -> ExitCode {
    output::failure(&error);
    ExitCode::FAILURE
}

fn work(cli: Cli) -> ExitCode {
    let losses = if cli.strict { ExitCode::from(3) } else { ExitCode::SUCCESS };
    match run(cli.command, losses) {
        Ok(code) => code,
        // `perftab report | head`: the reader has what it wanted.
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

/// `losses` is the exit code if something was lost or unreadable.
fn run(command: Command, losses: ExitCode) -> anyhow::Result<ExitCode> {
    let outcome = match command {
        // Its exit code may be that of the command it recorded.
        Command::Record(args) => return commands::record::run(&args, losses),
        Command::View(args) => serve::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Annotate(args) => commands::annotate::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Script(args) => commands::script::run(&args),
        Command::Buildid(args) => commands::buildid::run(&args.command),
        Command::Export(args) => commands::export::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Share(args) => commands::share::run(&args),
        Command::HelpFiles(args) => commands::help_files::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Evlist(args) => commands::evlist::run(&args),
        Command::Version(args) => commands::version::run(&args),
    }?;
    Ok(match outcome {
        Outcome::Complete => ExitCode::SUCCESS,
        Outcome::WithLosses => losses,
    })
}
