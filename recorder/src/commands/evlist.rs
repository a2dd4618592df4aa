//! `perftab evlist`: the names of the events of a recording, one a line.

use std::io::Write;

use super::{finish, read};
use crate::cli::EvlistArgs;
use crate::output::{Outcome, Results};

/// Prints events that were recorded, in the order in which they were opened.
pub fn run(args: &EvlistArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
    let mut results = Results::new();
    for event in session.info().events {
        writeln!(results, "{}", event.name)?;
    }
    results.flush()?;
    Ok(finish(&session))
}
