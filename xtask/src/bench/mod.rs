//! `cargo xtask bench`: what perftab costs, beside what its peers cost on the same file.
//!
//! Ratios are what counts: both sides run in turn on the same machine, so a busy or slow machine
//! moves both. The recordings are perf's own, of our own workload; made once.

mod all;
mod goals;
mod ingest;
mod links;
mod load;
mod names;
mod record;
mod unwind;
mod view;
mod viewer;

use crate::finish::Finish;
use crate::packages::{self, Need};
use crate::steps::{line, root, run, step_once, target};
use crate::{demo, page};
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
pub use goals::Row;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the peer of a report is asked for: as much as perftab tells, and no call graphs.
const PERF_REPORT: [&str; 7] =
    ["report", "--stdio", "--no-children", "-g", "none", "--no-inline", "-i"];

#[derive(Args)]
pub struct BenchOptions {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Everything that has a goal, each beside its peer: takes half an hour and 2 GB
    All {
        /// How often to measure; the median counts
        #[arg(long, default_value_t = 3)]
        runs: usize,
    },
    /// The page in Chromium beside speedscope: loading, longest task, frames, memory of the tab
    Page(PageSubject),
    /// `perftab view` in Chromium beside the same file chosen from disk: first graph, names, keys meanwhile
    View(Subject),
    /// The page over a slow network: its open screen, and the graph of a link
    Load(Subject),
    /// Reading and reporting a recording, beside `perf report` and linux-perf-data, and where the time goes
    Ingest(Subjects),
    /// Unwinding copies of stacks, beside a `perf report` that unwinds none
    Unwind {
        /// How often to measure; the median counts
        #[arg(long, default_value_t = 3)]
        runs: usize,
    },
    /// Naming 10,000 addresses of a large program, beside addr2line
    Names {
        /// How often to measure; the median counts
        #[arg(long, default_value_t = 3)]
        runs: usize,
    },
    /// Recording, beside perf and samply: processor time, bytes, losses, and how soon it ends
    Record {
        /// How often to measure; the median counts
        #[arg(long, default_value_t = 3)]
        runs: usize,
    },
    /// Links of every length, beside the plain encoding of what they hold
    Links(Recordings),
}

impl BenchCommand {
    /// A browser to measure in, GNU time to measure with, perf to record and to compare with, and what
    /// the recorded workload runs.
    fn needs(&self) -> &'static [Need] {
        match self {
            Self::Page(_) | Self::View(_) | Self::Load(_) => {
                &[Need::Chromium, Need::Node20, Need::Perf, Need::Binutils, Need::Perl]
            }
            Self::All { .. } => {
                &[Need::Chromium, Need::Node20, Need::Time, Need::Perf, Need::Binutils, Need::Perl]
            }
            Self::Names { .. } => &[Need::Time, Need::Binutils],
            Self::Ingest(_) | Self::Unwind { .. } | Self::Record { .. } => {
                &[Need::Time, Need::Perf, Need::Binutils, Need::Perl]
            }
            Self::Links(_) => &[Need::Perf, Need::Binutils, Need::Perl],
        }
    }
}

#[derive(Args)]
struct Subject {
    /// A recording of one's own; else one is made
    recording: Option<PathBuf>,
    /// Which recording to make
    #[arg(long, value_enum, default_value_t = Size::Small)]
    size: Size,
    /// How often to measure; the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Args)]
struct PageSubject {
    #[command(flatten)]
    subject: Subject,
    /// Measure the page alone
    #[arg(long)]
    alone: bool,
}

#[derive(Args)]
struct Recordings {
    /// Recordings of one's own; else one of each size is made
    recordings: Vec<PathBuf>,
}

#[derive(Args)]
struct Subjects {
    #[command(flatten)]
    recordings: Recordings,
    /// How often to measure; the median counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

impl Recordings {
    fn paths(&self) -> Result<Vec<PathBuf>> {
        if self.recordings.is_empty() {
            return [Size::Small, Size::Large].into_iter().map(recording_of).collect();
        }
        self.recordings.iter().map(|named| named_recording(named)).collect()
    }
}

fn named_recording(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("no recording {}", path.display()))
}

/// A recording of the bench's workload.
#[derive(Clone, Copy, ValueEnum)]
enum Size {
    /// About 20 thousand samples: one process tree at 4,999 Hz
    Small,
    /// 150 MB, about a million samples: the whole system at 19,999 Hz
    Large,
    /// 600 MB, with copies of stacks: the small one again and again
    Dumps,
    /// 1.4 GB, about ten million samples, as the large one
    Huge,
}

impl Subject {
    fn recording(&self) -> Result<PathBuf> {
        match &self.recording {
            Some(named) => named_recording(named),
            None => recording_of(self.size),
        }
    }
}

const SIGTERM: i32 = 15;

/// Copies of stacks of the whole workload. Build-ids of code that only calls are in no table at the end.
const DUMPS: [&str; 5] =
    ["-F", "4999", "--call-graph=dwarf,16384", "--buildid-mmap", "--max-size=600M"];

/// Measures and prints.
pub fn bench(options: &BenchOptions) -> Result<()> {
    packages::ensure(&[packages::WORKLOADS, options.what.needs()].concat()).none()?;
    let binary = page::build(Finish::Shipped, &page::BuildOptions::default())?;
    match &options.what {
        BenchCommand::All { runs } => all::bench(&binary, *runs),
        BenchCommand::Page(PageSubject { subject, alone }) => {
            let peer = if *alone { viewer::Peer::None } else { viewer::Peer::Speedscope };
            viewer::bench(&subject.recording()?, subject.runs, peer)
        }
        BenchCommand::View(subject) => view::bench(&binary, &subject.recording()?, subject.runs),
        BenchCommand::Load(subject) => load::bench(&binary, &subject.recording()?, subject.runs),
        BenchCommand::Ingest(subjects) => {
            ingest::bench(&binary, &subjects.recordings.paths()?, subjects.runs)
        }
        BenchCommand::Unwind { runs } => {
            let rows = unwind::goals(&binary, &recording_of(Size::Dumps)?, *runs)?;
            rows.iter().for_each(Row::print);
            Ok(())
        }
        BenchCommand::Names { runs } => {
            names::goal(&binary, *runs)?.print();
            Ok(())
        }
        BenchCommand::Record { runs } => {
            let rows = record::goals(&binary, &demo::compile()?, *runs)?;
            rows.iter().for_each(Row::print);
            Ok(())
        }
        BenchCommand::Links(recordings) => links::bench(&binary, &recordings.paths()?),
    }
}

fn recording_of(size: Size) -> Result<PathBuf> {
    let workload = demo::compile()?;
    let (name, how, rounds): (_, &[&str], _) = match size {
        Size::Small => ("small", &["-F", "4999"], "1"),
        // perf ends the workload at that size, and itself with the same signal.
        Size::Large => ("large", &["-a", "-F", "19999", "-m", "8M", "--max-size=150M"], "100"),
        Size::Dumps => ("dumps", &DUMPS, "20"),
        Size::Huge => ("huge", &["-a", "-F", "24999", "-m", "8M", "--max-size=1400M"], "1000"),
    };
    let recording = target("bench").join(format!("{name}.perf.data"));
    fs::create_dir_all(target("bench"))?;
    let script = root().join("tests/workloads/bench.sh");
    let title = format!("Record the {name} workload");
    step_once(&format!("bench-{name}"), &title, &[&workload, &script], &[&recording], || {
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-g", "-e", "cpu-clock", "-o"]).arg(&recording).args(how);
        perf.arg("--").args([&script, &workload]).arg(rounds).stdout(Stdio::null());
        let status = perf.status()?;
        // perf dies of the signal itself, or ends as the workload's shell ended.
        let is_ended = status.signal() == Some(SIGTERM) || status.code() == Some(128 + SIGTERM);
        ensure!(status.success() || is_ended, "{status}: {}", line(&perf));
        Ok(())
    })?;
    println!("    {}, {:.1} MB", recording.display(), fs::metadata(&recording)?.len() as f64 / 1e6);
    Ok(recording)
}

/// What a command used.
pub struct Cost {
    pub cpu_seconds: f64,
    pub wall_seconds: f64,
    pub peak_mib: f64,
}

impl Cost {
    /// The median of each.
    pub fn median_of(costs: &[Self]) -> Self {
        let of = |part: fn(&Self) -> f64| median(costs.iter().map(part).collect());
        Self {
            cpu_seconds: of(|cost| cost.cpu_seconds),
            wall_seconds: of(|cost| cost.wall_seconds),
            peak_mib: of(|cost| cost.peak_mib),
        }
    }
}

/// How often to run a command for one measurement: of small recordings one run says little.
pub fn repeats(bytes: u64) -> u32 {
    if bytes < 50_000_000 { 20 } else { 1 }
}

/// What bash says in milliseconds of a command (`$3` and what follows) that it runs `$1` times, into the file `$2`.
const TIMED: &str = r#"TIMEFORMAT='%3U %3S %3R'
{ time for ((i = 0; i < $1; i++)); do "${@:3}" 2>/dev/null || exit; done; } 2>"$2""#;

/// Runs a command so many times; gives what its whole process tree used in one run. bash measures the time, and GNU time,
/// whose clock ticks a hundred times a second, the memory.
pub fn cost(command: &Command, repeat: u32) -> Result<Cost> {
    fs::create_dir_all(target("bench"))?;
    let (times, memory) = (target("bench/cost-times.txt"), target("bench/cost-memory.txt"));
    run(Command::new("/usr/bin/time")
        .args(["--format=%M", "--output"])
        .arg(&memory)
        .args(["bash", "-c", TIMED, "bash", &repeat.to_string()])
        .arg(&times)
        .arg(command.get_program())
        .args(command.get_args())
        .stdout(Stdio::null())
        .stderr(Stdio::null()))?;
    let text = fs::read_to_string(&times)? + &fs::read_to_string(&memory)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [user, system, wall, kib] = numbers[..] else {
        anyhow::bail!("bash and GNU time said “{}” of {}", text.trim(), line(command));
    };
    let cpu_seconds = (user + system) / f64::from(repeat);
    let wall_seconds = wall / f64::from(repeat);
    Ok(Cost { cpu_seconds, wall_seconds, peak_mib: kib / 1024.0 })
}

/// The mean of the two in the middle where there are two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2..values.len() / 2 + 1;
    let middle = values.get(middle).unwrap_or_default();
    middle.iter().sum::<f64>() / middle.len() as f64
}
