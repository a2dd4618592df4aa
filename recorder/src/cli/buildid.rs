//! `perftab buildid`: what may be written. Verbs and options are called as those of
//! `perf buildid-list` and `perf buildid-cache`, where these have them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use perftab_perfdata::format::BuildId;

use super::{ImageArgs, InputArgs};

/// `perftab buildid`.
#[derive(Debug, Args)]
pub struct BuildidArgs {
    /// What to do with build-ids.
    #[command(subcommand)]
    pub command: BuildidCommand,
}

/// Commands below `perftab buildid`.
#[derive(Debug, Subcommand)]
pub enum BuildidCommand {
    /// Print `ID PATH` for each DSO of a recording, or for each entry of the cache
    #[command(before_help = "Example: perftab buildid list -H perf.data")]
    List(ListArgs),
    /// Copy the binaries of a recording into the cache
    #[command(before_help = "Example: perftab buildid store perf.data", after_help = STORE_OUTPUT)]
    Store(StoreArgs),
    /// Check that this machine still has the builds that were recorded
    #[command(
        before_help = "\
Example: perftab buildid verify perf.data
         ssh HOST cat /sys/kernel/notes | perftab buildid verify -",
        after_help = VERIFY_OUTPUT
    )]
    Verify(VerifyArgs),
    /// Pack the binaries of a recording into one file for the viewer
    #[command(before_help = "Example: perftab buildid archive perf.data -o binaries.tar.gz")]
    Archive(ArchiveArgs),
    /// Add files to the cache
    #[command(before_help = "Example: perftab buildid add /usr/bin/app ./libapp.so")]
    Add(AddArgs),
    /// Remove files or build-ids from the cache
    #[command(before_help = "Example: perftab buildid remove /usr/bin/app")]
    Remove(RemoveArgs),
    /// Replace cache entries of the same builds with these files
    #[command(before_help = "Example: perftab buildid update /boot/vmlinux")]
    Update(AddArgs),
    /// Print `ID PATH` for each DSO of a recording that the cache lacks
    #[command(before_help = "Example: perftab buildid missing perf.data")]
    Missing(MissingArgs),
    /// Remove every build of a path from the cache
    #[command(before_help = "Example: perftab buildid purge /usr/bin/app")]
    Purge(PurgeArgs),
    /// Add the code of the running kernel and its modules to the cache
    #[command(before_help = "Example: perftab buildid kcore")]
    Kcore(KcoreArgs),
}

/// What `store` prints.
const STORE_OUTPUT: &str = "\
Output: one line for each DSO that was recorded with a build-id
  OK ID PATH            the cache has a copy of that build
  FAIL ID PATH: why     nothing was stored; the exit code is 1";

/// What `verify` prints.
const VERIFY_OUTPUT: &str = "\
Output: one line for each DSO that was recorded with a build-id
  OK ID PATH            this machine has the same build at this path
  FAIL ID PATH: why     it has another build or none; the exit code is 1";

/// The cache that is shared with perf.
#[derive(Debug, Clone, Default, Args)]
pub struct CacheArgs {
    /// Build-id cache [default: buildid.dir of perf config, or ~/.debug]
    #[arg(long, value_name = "DIR")]
    pub buildid_dir: Option<PathBuf>,
}

/// `perftab buildid list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The recording; - is standard input [default: perf.data]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The same
    #[arg(short, long, value_name = "FILE", conflicts_with = "file", hide = true)]
    pub input: Option<PathBuf>,
    /// Only DSOs with samples
    #[arg(short = 'H', long)]
    pub with_hits: bool,
    /// Only the kernel's build-id; without a recording, this machine's
    #[arg(short, long, conflicts_with = "with_hits")]
    pub kernel: bool,
    /// List the cache instead of a recording
    #[arg(short = 'l', long, conflicts_with_all = ["file", "input", "with_hits", "kernel"])]
    pub cache: bool,
    /// Which cache.
    #[command(flatten)]
    pub place: CacheArgs,
}

/// `perftab buildid store`.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Only DSOs with samples
    #[arg(short = 'H', long)]
    pub with_hits: bool,
    /// Sources of files.
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `perftab buildid verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The recording, or the notes of a kernel; - is standard input.
    #[command(flatten)]
    pub input: InputArgs,
    /// Compare only the kernel, with these notes
    #[arg(long, value_name = "FILE")]
    pub kernel_notes: Option<PathBuf>,
    /// Only DSOs with samples
    #[arg(short = 'H', long)]
    pub with_hits: bool,
}

/// `perftab buildid archive`.
#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Write here; - is standard output [default: FILE.tar.gz]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Pack the DSO whose build-id begins with this (repeatable)
    #[arg(long, value_name = "ID", value_parser = id_prefix)]
    pub id: Vec<String>,
    /// Pack every DSO with a build-id, not only those with samples
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// Sources of files.
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `perftab buildid add` and `update`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Binaries, debug files, a vmlinux, or /proc/kallsyms
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `perftab buildid remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Files whose builds are removed, or build-ids
    #[arg(value_name = "FILE|ID", required = true)]
    pub what: Vec<PathBuf>,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `perftab buildid missing`.
#[derive(Debug, Args)]
pub struct MissingArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Only DSOs with samples
    #[arg(short = 'H', long)]
    pub with_hits: bool,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `perftab buildid purge`.
#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// Paths as the cache lists them; the files need not exist
    #[arg(value_name = "PATH", required_unless_present = "all")]
    pub paths: Vec<PathBuf>,
    /// Remove every entry
    #[arg(short = 'P', long, alias = "purge-all", conflicts_with = "paths")]
    pub all: bool,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `perftab buildid kcore`.
#[derive(Debug, Args)]
pub struct KcoreArgs {
    /// A kcore with kallsyms and modules beside it, or their folder
    #[arg(value_name = "FILE|DIR", default_value = "/proc/kcore")]
    pub from: PathBuf,
    /// Copy it even if the cache has the same kernel and modules
    #[arg(short, long)]
    pub force: bool,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// A build-id in hex, or its first digits.
fn id_prefix(text: &str) -> Result<String, &'static str> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_sized = (1..=2 * BuildId::MAX_LENGTH).contains(&text.len());
    if is_hex && is_sized { Ok(text.to_lowercase()) } else { Err("not a build-id in hex") }
}
