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
    rows.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
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
            writeln!(results, "{} {}", id(row), output::printable(&row.path))?;
        }
    }
    results.flush()?;
    Ok(outcome)
}
