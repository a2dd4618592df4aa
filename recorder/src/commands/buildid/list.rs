//! `perftab buildid list`: `ID PATH` a line, as `perf buildid-list` and `perf buildid-cache -l`
//! print them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use perftab_core::session::{DsoRow, IdentityKind};

use super::{warn_of_other, warn_of_spoiled};
use crate::cli::{InputArgs, ListArgs};
use crate::commands::finish;
use crate::images::identity;
use crate::input::Input;
use crate::output::{self, Outcome, Results};
use crate::recording::USUAL_NAME;

/// Lists what was recorded, or what is kept; no image is looked for.
pub fn run(args: &ListArgs) -> anyhow::Result<Outcome> {
    if args.cache {
        return list_cache(args);
    }
    let named = args.file.as_ref().or(args.input.as_ref());
    if args.kernel && named.is_none() && fs::metadata(USUAL_NAME).is_err() {
        let kernel = identity::running_kernel()
            .context("/sys/kernel/notes has no build-id; name a recording")?;
        let mut results = Results::new();
        writeln!(results, "{kernel}")?;
        results.flush()?;
        return Ok(Outcome::Complete);
    }
    let file = named.cloned().unwrap_or_else(|| PathBuf::from(USUAL_NAME));
    list_recording(args, &InputArgs::of(file))
}

fn list_recording(args: &ListArgs, input: &InputArgs) -> anyhow::Result<Outcome> {
    let session = Input::open(input.path())?.read_as_written()?;
    let outcome = finish(&session);
    let mut rows = session.dsos();
    rows.retain(|row| row.identity == IdentityKind::Gnu);
    // As perf does: by the name in the build-id table, where that has one.
    let path = |row: &DsoRow| row.listed_as.clone().unwrap_or_else(|| row.path.clone());
    rows.sort_by_key(|row| (path(row), row.build_id.clone()));
    let id = |row: &DsoRow| row.build_id.clone().unwrap_or_default();

    let mut results = Results::new();
    if args.kernel {
        let Some(kernel) = rows.iter().find(|row| row.kind == "kernel") else {
            bail!("the recording has no build-id of the kernel");
        };
        writeln!(results, "{}", id(kernel))?;
    } else {
        let is_listed = |row: &&DsoRow| !args.with_hits || row.samples > 0;
        for row in rows.iter().filter(is_listed) {
            writeln!(results, "{} {}", id(row), output::printable(&path(row)))?;
        }
    }
    results.flush()?;
    Ok(outcome)
}

/// Entries with a file that may be used. Of one that holds another build, standard error says so.
fn list_cache(args: &ListArgs) -> anyhow::Result<Outcome> {
    let cache = super::cache(&args.place)?;
    if !Path::new(cache.root()).is_dir() {
        return Ok(Outcome::Complete);
    }
    let mut results = Results::new();
    for entry in cache.entries() {
        warn_of_spoiled(&entry);
        if !entry.found.is_empty() {
            writeln!(results, "{} {}", entry.id, output::printable(&entry.name.to_string()))?;
        }
    }
    let mut kernels = BTreeSet::new();
    for kcore in cache.kcores() {
        match kcore.spoiled {
            Some(holds) => warn_of_other(&kcore.path, holds, kcore.id),
            None => drop(kernels.insert(kcore.id)),
        }
    }
    for id in kernels {
        writeln!(results, "{id} [kernel.kcore]")?;
    }
    results.flush()?;
    Ok(Outcome::Complete)
}
