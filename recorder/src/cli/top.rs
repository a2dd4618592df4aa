//! `perftab top`. Names and meanings as in `perf top`.

use std::time::Duration;

use clap::Args;

use super::report::{SortKey, sort_key};
use crate::record::{SamplingArgs, TargetArgs, parse_duration};

/// `perftab top`.
#[derive(Clone, Debug, Args)]
pub struct TopArgs {
    /// Which samples are taken.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// What is recorded.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Seconds between two pictures [default: 2]
    #[arg(short, long, value_name = "SECONDS", value_parser = parse_duration)]
    pub delay: Option<Duration>,
    /// Only what came since the last picture, instead of 10 s
    #[arg(short, long)]
    pub zero: bool,
    /// Hide the kernel's functions
    #[arg(short = 'K', long = "hide_kernel_symbols")]
    pub hide_kernel: bool,
    /// Hide functions of user space
    #[arg(short = 'U', long = "hide_user_symbols")]
    pub hide_user: bool,
    /// Rows: comm,pid,tid,cpu,socket,dso,sym; by self,total
    #[arg(short, long, value_name = "KEY,…", value_delimiter = ',', value_parser = sort_key)]
    pub sort: Vec<SortKey>,
    /// Order by weight including callees
    #[arg(long, overrides_with = "no_children")]
    pub children: bool,
    /// Order by self; the default here.
    #[arg(long, hide = true)]
    pub no_children: bool,
    /// Also print the number of samples
    #[arg(short = 'n', long)]
    pub show_nr_samples: bool,
    /// Print at most this many functions
    #[arg(short = 'E', long, value_name = "N")]
    pub entries: Option<usize>,
    /// Print a table each time, as without a terminal
    #[arg(long)]
    pub stdio: bool,
    /// Stop after this time: 10, 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,
}
