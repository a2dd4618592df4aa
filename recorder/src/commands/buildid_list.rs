//! `perftab buildid list`: `ID PATH` a line, as `perf buildid-list` prints them.

use std::io::Write;

use anyhow::bail;
use perftab_core::session::{DsoRow, IdentityKind};

use super::{finish, read};
use crate::cli::BuildidListArgs;
use crate::output::{self, Outcome, Results};

/// Lists the build-ids recorded; no image is looked for.
pub fn run(args: &BuildidListArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
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
            bail!("no build-id of the kernel was recorded");
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
