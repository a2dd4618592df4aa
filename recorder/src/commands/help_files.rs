//! Manual pages and what shells complete, from the command line itself: whoever packs perftab puts them in place.

use std::fs;
use std::io;

use anyhow::Context;
use clap::{Arg, Command, CommandFactory, ValueEnum};
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
        clap_complete::generate_to(*shell, &mut offered(Cli::command()), "perftab", &completions)?;
    }
    Ok(())
}

/// A command without what only copies of perftab are told; clap_complete offers that, too.
fn offered(command: Command) -> Command {
    // This clap takes names that stay, and the process ends after this.
    let name: &str = command.get_name().to_owned().leak();
    let mut offered = Command::new(name);
    if let Some(about) = command.get_about() {
        offered = offered.about(about.clone());
    }
    let is_internal = |argument: &&Arg| {
        argument.get_help().is_some_and(|help| help.to_string().starts_with("Internal: "))
    };
    let arguments = command.get_arguments().filter(|argument| !is_internal(argument));
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    offered
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args(arguments.cloned())
        .subcommands(commands.cloned().map(self::offered))
}
