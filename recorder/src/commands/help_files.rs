//! Manual pages and what shells complete, from the command line itself: whoever packs perftab puts them in place.

use std::fs;
use std::io;

use anyhow::Context;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::cli::{Cli, HelpFilesArgs};
use crate::output::Outcome;

/// Writes `man/man1/*.1` and `completions/*` below the folder.
pub fn run(args: &HelpFilesArgs) -> anyhow::Result<Outcome> {
    write(args).with_context(|| format!("can't write below {}", args.folder.display()))?;
    Ok(Outcome::Complete)
}

fn write(args: &HelpFilesArgs) -> io::Result<()> {
    let manual = args.folder.join("man/man1");
    fs::create_dir_all(&manual)?;
    clap_mangen::generate_to(Cli::command(), manual)?;
    let completions = args.folder.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Cli::command(), "perftab", &completions)?;
    }
    Ok(())
}
