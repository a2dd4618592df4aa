//! `perftab buildid missing`: what the cache lacks of a recording.

use std::io::Write;

use super::targets::{DsoSelection, targets};
use super::{cache, warn_of_spoiled};
use crate::cli::MissingArgs;
use crate::commands::{finish, read};
use crate::output::{Outcome, Results, printable};

/// `ID PATH` for each DSO without a file in the cache that may be used.
pub fn run(args: &MissingArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
    let outcome = finish(&session);
    let cache = cache(&args.cache)?;
    let mut results = Results::new();
    for target in targets(&session, DsoSelection::with_hits(args.with_hits)) {
        let mut readings = target.readings();
        readings.extend(target.key());
        readings.dedup();
        let entries: Vec<_> = readings.into_iter().filter_map(|id| cache.lookup(id)).collect();
        entries.iter().for_each(warn_of_spoiled);
        if !entries.iter().flat_map(|it| &it.found).any(|it| target.is_cached(it)) {
            writeln!(results, "{} {}", target.identity, printable(target.shown()))?;
        }
    }
    results.flush()?;
    Ok(outcome)
}
