//! The command line: what may be written, with its help. No behaviour.
//!
//! Constraints: the help of each command begins with an example and fits a screen (a test says so);
//! options that `perf` has are named as there and mean the same.

mod annotate;
mod buildid;
mod diff;
mod filter;
mod perf_options;
mod perf_verbs;
mod privacy;
mod report;
mod script;
mod share;
mod source;
mod top;

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use annotate::{AnnotateArgs, AnnotatedNumber, AnnotatedPart};
pub use diff::{DiffArgs, DiffBasis, DiffSort};
pub use filter::{FilterArgs, SampleFilterArgs, SymbolArgs, TimeSpan, TimeSpans};
pub use report::{
    CallGraph, CallOrder, CallValue, HeaderArgs, Percentage, ReportArgs, ReportField, ReportFields,
    RowArgs, SortKey,
};
pub use script::{BranchField, ScriptArgs, ScriptField, ScriptFields};
pub use share::{LinkContentArgs, LinkTimes, ShareArgs};
pub use source::SourceArgs;
pub use top::TopArgs;

pub use buildid::{
    AddArgs, ArchiveArgs, BuildidArgs, BuildidCommand, CacheArgs, KcoreArgs, ListArgs, MissingArgs,
    PurgeArgs, RemoveArgs, StoreArgs, VerifyArgs,
};

use perftab_core::session::CallerGuesses;

use crate::record::RecordArgs;

use crate::debuginfod_client::is_http;
use crate::late_ids::ThisMachine;
use crate::live_pipe::brings_recording;
use crate::recording::USUAL_NAME;

/// Records Linux profiles as standard perf.data and opens them in a browser tab.
#[derive(Debug, Parser)]
#[command(
    name = "perftab",
    version,
    disable_help_flag = true,
    disable_help_subcommand = true,
    infer_long_args = true,
    before_help = "\
Example: perftab record -g -- ./program && perftab view perf.data"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Exit with code 3 if anything was lost or unreadable
    #[arg(long, global = true, display_order = 100)]
    pub strict: bool,
    /// Print help
    // One form of help: clap's long one spreads each option over three lines.
    #[arg(short, long, global = true, display_order = 101, action = ArgAction::HelpShort)]
    pub help: Option<bool>,
}

impl Cli {
    /// Reads the arguments; help and what is wrong with them end the process.
    pub fn of_arguments() -> Self {
        let arguments = perf_options::arguments(std::env::args_os());
        let is_there = |name: &str| Path::new(name).exists();
        if let Some(answer) = perf_options::script_answer(&arguments, is_there) {
            crate::output::notice(answer);
            std::process::exit(2);
        }
        let parsed = Self::whole_command().try_get_matches_from(arguments).and_then(|matches| {
            if perf_options::is_quiet(&matches) {
                crate::output::be_quiet();
            }
            Self::from_arg_matches(&matches)
        });
        parsed.unwrap_or_else(|error| perf_options::refuse(error))
    }

    /// The command line with what perf users may write besides.
    fn whole_command() -> clap::Command {
        perf_options::accept(Self::command())
    }
}

/// One variant a command; the doc comments are what `--help` prints.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sample a command, running processes or the whole system
    #[command(before_help = "Example: perftab record -g -- ./program")]
    Record(RecordArgs),
    /// Show the functions that run now, of the whole system
    #[command(before_help = "Example: perftab top -g")]
    Top(TopArgs),
    /// Serve a recording and the viewer on this machine, loopback only
    #[command(before_help = "Example: perftab view perf.data --no-open")]
    View(ViewArgs),
    /// Print the functions that the samples were taken in
    #[command(before_help = "Example: perftab report perf.data | head -20")]
    Report(ReportArgs),
    /// Print the code of functions with where samples ended in it
    #[command(before_help = "Example: perftab annotate perf.data main")]
    Annotate(AnnotateArgs),
    /// Compare two recordings, function by function
    #[command(before_help = "Example: perftab diff before.data after.data | head -20")]
    Diff(DiffArgs),
    /// Print what a recording contains: host, events, DSOs, losses
    #[command(before_help = "Example: perftab info perf.data --json")]
    Info(InfoArgs),
    /// Print every sample with its task, time, event and call chain
    #[command(before_help = "Example: perftab script perf.data | less")]
    Script(ScriptArgs),
    /// List, store, archive and compare the binaries of a recording
    #[command(before_help = "Example: perftab buildid archive perf.data")]
    Buildid(BuildidArgs),
    /// Convert a recording for other tools, or to one html file
    #[command(before_help = "Example: perftab export perf.data --to html -o profile.html")]
    Export(ExportArgs),
    /// Print a link that holds the whole profile
    #[command(before_help = "Example: perftab share perf.data --budget github")]
    Share(ShareArgs),
    /// Write manual pages and the completions of shells
    #[command(hide = true, before_help = "Example: perftab help-files /usr/share/perftab")]
    HelpFiles(HelpFilesArgs),
    /// Print the events of this machine
    #[command(before_help = "Example: perftab list sched:")]
    List(ListEventsArgs),
    /// Print the events of a recording
    #[command(before_help = "Example: perftab evlist perf.data")]
    Evlist(EvlistArgs),
    /// Print the version
    #[command(before_help = "Example: perftab version --build-options", hide = true)]
    Version(VersionArgs),
}

/// Arguments of `help-files`, for whoever packs perftab.
#[derive(Debug, Args)]
pub struct HelpFilesArgs {
    /// Where man/man1/ and completions/ are written
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// `perftab list`.
#[derive(Debug, Args)]
pub struct ListEventsArgs {
    /// hw, sw, pmu, tracepoint, uprobe, sdt [FILE], a part of names; * and ? as in the shell
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
}

/// `perftab evlist`.
#[derive(Debug, Args)]
pub struct EvlistArgs {
    /// Events of a group on one line, as {a,b}
    #[arg(short, long)]
    pub group: bool,
    /// What was asked of the kernel for each
    #[arg(short = 'v', long = "verbose", conflicts_with = "group")]
    pub details: bool,
    /// How often samples of each are taken
    #[arg(short = 'F', long, conflicts_with = "group")]
    pub freq: bool,
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
}

/// `perftab version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Also print what this build can do
    #[arg(long)]
    pub build_options: bool,
}

/// What to read.
#[derive(Debug, Clone, Args)]
pub struct InputArgs {
    /// A recording, page or link; - is standard input [default: a pipe, else perf.data]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same, as in perf.
    #[arg(short = 'i', long, value_name = "FILE", conflicts_with = "file", hide = true)]
    input: Option<PathBuf>,
}

impl InputArgs {
    /// For commands that read the name of a recording in another way.
    pub fn of(file: PathBuf) -> Self {
        Self { file: Some(file), input: None }
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        let usual = Path::new(USUAL_NAME);
        match self.input.as_ref().or(self.file.as_ref()) {
            Some(named) => named,
            None if brings_recording(usual) => Path::new("-"),
            None => usual,
        }
    }
}

/// Where names may come from. Every file found is only a candidate: its build-id decides.
#[derive(Debug, Clone, Default, Args)]
pub struct ImageArgs {
    /// Binary, debug file, archive, folder or perf map to take names from
    #[arg(long, value_name = "FILE|DIR")]
    pub image: Vec<PathBuf>,
    /// Ask this debuginfod server [default: $DEBUGINFOD_URLS]
    #[arg(long, value_name = "URL", value_parser = http_url)]
    pub debuginfod: Vec<String>,
    /// Do not look at the binaries of this machine
    #[arg(long)]
    pub no_local: bool,
    /// The cache that is a part of this machine.
    #[command(flatten)]
    pub cache: CacheArgs,
}

impl ImageArgs {
    /// Whether the files of this machine count.
    pub fn this_machine(&self) -> ThisMachine {
        match self.no_local {
            true => ThisMachine::LeftAlone,
            false => ThisMachine::Asked,
        }
    }
}

/// Where names come from for a command that names frames itself.
#[derive(Debug, Clone, Default, Args)]
pub struct NameArgs {
    /// Candidates: a build-id decides about each.
    #[command(flatten)]
    pub images: ImageArgs,
    /// Kernel symbols from this file only; [forced] if another build
    #[arg(long, value_name = "FILE")]
    pub vmlinux: Option<PathBuf>,
    /// Use names of another build, marked [forced]; or DSO=FILE
    #[arg(long, value_name = "FILE")]
    pub force_mismatched: Vec<PathBuf>,
    /// Name what was recorded without build-ids by its paths, marked
    #[arg(long, conflicts_with = "no_local")]
    pub trust_paths: bool,
    /// Without unwind tables, guess callers by frame pointer; marked
    #[arg(long)]
    pub guess_callers: bool,
}

impl NameArgs {
    /// Whether callers are guessed, each in turn: first come those that are certain.
    pub fn guesses(&self) -> &'static [CallerGuesses] {
        match self.guess_callers {
            true => &[CallerGuesses::None, CallerGuesses::ByFramePointer],
            false => &[CallerGuesses::None],
        }
    }
}

/// `perftab view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Recordings, pages or links; - is standard input [default: perf.data]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: any free port]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Print the address and do not open a browser
    #[arg(long)]
    pub no_open: bool,
    /// Where the source files are that the page shows.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Sources of names that the page may ask for.
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `perftab info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Sources of names; they decide each DSO's status.
    #[command(flatten)]
    pub images: NameArgs,
}

/// What `export` can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One line a stack, `a;b;c WEIGHT`, as flame graph scripts read it
    Collapsed,
    /// For `go tool pprof` and what reads the same; packed
    Pprof,
    /// For profiler.firefox.com; packed
    Firefox,
    /// For speedscope
    Speedscope,
    /// A flame graph as a picture
    Svg,
    /// One self-contained page that opens from disk
    Html,
}

/// `perftab export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// collapsed, pprof, firefox, speedscope, svg or html
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub to: ExportFormat,
    /// Write here; - is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// Write more than 1 GB, too
    #[arg(long)]
    pub no_limit: bool,
    /// Export only this event [default: all, or the first with samples]
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// What a page contains.
    #[command(flatten)]
    pub content: LinkContentArgs,
    /// Which samples are exported.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}

/// The URL of a server or page.
fn http_url(text: &str) -> Result<String, &'static str> {
    if is_http(text) { Ok(text.to_owned()) } else { Err("not an http or https URL") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: (usize, usize) = (40, 100);

    fn check_help(words: &[String], command: &clap::Command) {
        let path = words.join(" ");
        let asked = words.iter().cloned().chain(["--help".to_owned()]);
        let parsed = Cli::whole_command().try_get_matches_from(asked);
        let help = parsed.expect_err("--help ends parsing").to_string();
        assert!(help.starts_with("Example: perftab "), "{path}: help begins with\n{help}");
        let lines: Vec<&str> = help.lines().collect();
        assert!(lines.len() <= SCREEN.0, "{path}: {} lines of help", lines.len());
        for line in lines {
            assert!(line.chars().count() <= SCREEN.1, "{path}: too wide: {line}");
        }
        for below in command.get_subcommands() {
            check_help(&[words, &[below.get_name().to_owned()]].concat(), below);
        }
    }

    /// What the examples run; their options must not be forgotten when ours change.
    #[test]
    fn examples_are_command_lines() {
        let service = include_str!("../../docs/examples/perftab.service");
        let container = include_str!("../../docs/examples/Containerfile");
        let run =
            service.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("it runs");
        let line = container.lines().find_map(|line| line.strip_prefix("CMD ")).expect("it runs");
        let words: Vec<String> = serde_json::from_str(line).expect("a list");
        let lines = [run.to_owned(), format!("perftab {}", words.join(" "))];
        let flight = run.replace("--switch-output=1h", "--overwrite --trigger load>16");
        for line in lines.into_iter().chain([flight]) {
            Cli::whole_command().try_get_matches_from(line.split(' ')).expect(&line);
        }
    }

    #[test]
    fn every_help_begins_with_an_example_and_fits_a_screen() {
        let command = Cli::whole_command();
        command.clone().debug_assert();
        check_help(&["perftab".to_owned()], &command);
    }
}
