//! Where source files are, for the commands that show them.

use std::path::PathBuf;

use clap::Args;

/// Where source files lie on this machine, as in `perf annotate`.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Look for source files below this folder, by their paths
    #[arg(long, value_name = "DIR")]
    pub prefix: Option<PathBuf>,
    /// Leave out the first N folders of these paths
    #[arg(
        long,
        value_name = "N",
        requires = "prefix",
        default_value = "0",
        hide_default_value = true
    )]
    pub prefix_strip: u16,
}
