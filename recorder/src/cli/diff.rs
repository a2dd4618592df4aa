//! `perftab diff`: what may be written.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FilterArgs, NameArgs};

impl DiffArgs {
    /// The earlier and the later recording. As in perf, one that is named alone is compared with the one that the
    /// recorder kept when it made another.
    pub fn recordings(&self) -> (PathBuf, PathBuf) {
        let usual = |name: &str| PathBuf::from(name);
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => (before.clone(), after.clone()),
            (Some(only), None) => (usual("perf.data.old"), only.clone()),
            (None, _) => (usual("perf.data.old"), usual("perf.data")),
        }
    }
}

/// What makes weights of two recordings comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffBasis {
    /// Percent of each recording's weight.
    Share,
    /// Weight in a second of each recording's time.
    PerSecond,
    /// Weights as they are.
    Raw,
}

/// What `diff` sorts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffSort {
    /// Change, the largest increase first.
    Increase,
    /// Change, the largest decrease first.
    Decrease,
    /// Change, whichever way it goes.
    Change,
    /// Weight before.
    Before,
    /// Weight after.
    After,
    /// Name.
    Name,
}

/// `perftab diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier recording [default: perf.data.old]; alone: the later one
    #[arg(value_name = "BEFORE")]
    before: Option<PathBuf>,
    /// The later recording [default: perf.data]; - is standard input
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Compare this, or BEFORE=AFTER [default: the first that both have]
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Compare by share, per-second or raw weight
    #[arg(long, value_name = "BASIS", default_value = "share", hide_possible_values = true)]
    pub basis: DiffBasis,
    /// Compare total instead of self weight
    #[arg(long)]
    pub total: bool,
    /// Sort by increase, decrease, change, before, after or name
    #[arg(long, value_name = "KEY", default_value = "increase")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub sort: DiffSort,
    /// Print at most this many functions
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Count inlined functions as their caller; reads no debug information
    #[arg(long)]
    pub no_inline: bool,
    /// Which samples of both count.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Sources of names for both.
    #[command(flatten)]
    pub images: NameArgs,
}
