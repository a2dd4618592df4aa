//! `perftab buildid`: the binaries of a recording, by build-id; one file a verb.
//!
//! Constraint: lines that scripts read are `ID PATH`, `OK ID PATH` and `FAIL ID PATH: why`; where
//! one says FAIL, the command fails.

mod add;
mod archive;
mod find;
mod kcore;
mod list;
mod missing;
mod purge;
mod remove;

mod store;
mod targets;
mod verify;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use perftab_perfdata::format::BuildId;

use crate::buildid_cache::{Cache, Entry, Existing, OtherContent};
use crate::cli::{BuildidCommand, CacheArgs};
use crate::output::{self, Outcome, Results, printable};

/// Runs one of the verbs.
pub fn run(command: &BuildidCommand) -> anyhow::Result<Outcome> {
    match command {
        BuildidCommand::List(args) => list::run(args),
        BuildidCommand::Store(args) => store::run(args),
        BuildidCommand::Verify(args) => verify::run(args),
        BuildidCommand::Archive(args) => archive::run(args),
        BuildidCommand::Add(args) => add::run(args, Existing::Keep),
        BuildidCommand::Remove(args) => remove::run(args),
        BuildidCommand::Update(args) => add::run(args, Existing::Replace),
        BuildidCommand::Missing(args) => missing::run(args),
        BuildidCommand::Purge(args) => purge::run(args),
        BuildidCommand::Kcore(args) => kcore::run(args),
    }
}

/// The cache to work on.
fn cache(args: &CacheArgs) -> anyhow::Result<Cache> {
    Cache::of_user(args.buildid_dir.as_deref())
        .context("there is no home folder for the cache; set --buildid-dir")
}

/// Says of an entry's files which are not what their names say.
fn warn_of_spoiled(entry: &Entry) {
    for spoiled in &entry.spoiled {
        warn_of_other(&spoiled.path, spoiled.holds, entry.id);
    }
}

/// `path` is in the entry of `id`, and holds something else.
fn warn_of_other(path: &Path, holds: OtherContent, id: BuildId) {
    let holds = match holds {
        OtherContent::Build(id) => format!("holds {id}"),
        OtherContent::NoBuildId => "holds no build-id".to_owned(),
    };
    output::notice(format_args!(
        "{} {holds}, so it is not used; remove it with: perftab buildid remove {id}",
        path.display()
    ));
}

/// The lines `OK` and `FAIL` of a command, and how many of each.
struct Verdicts {
    results: Results,
    ok: usize,
    failed: usize,
}

impl Verdicts {
    fn new() -> Self {
        Self { results: Results::new(), ok: 0, failed: 0 }
    }

    /// `id` may be a dash.
    fn ok(&mut self, id: impl fmt::Display, path: impl fmt::Display) -> io::Result<()> {
        self.ok += 1;
        writeln!(self.results, "OK {id} {}", printable(&path.to_string()))
    }

    fn fail(
        &mut self,
        id: impl fmt::Display,
        path: impl fmt::Display,
        why: impl fmt::Display,
    ) -> io::Result<()> {
        self.failed += 1;
        let line = format!("{path}: {why}");
        writeln!(self.results, "FAIL {id} {}", printable(&line))
    }

    /// An error that says `what` happened to how many, if any failed.
    fn finish(mut self, what: &str, outcome: Outcome) -> anyhow::Result<Outcome> {
        self.results.flush()?;
        match (self.failed, self.failed + self.ok) {
            (0, _) => Ok(outcome),
            (failed, all) => {
                bail!(
                    "{} of {} {what}",
                    output::grouped(failed as u64),
                    output::grouped(all as u64)
                )
            }
        }
    }
}
