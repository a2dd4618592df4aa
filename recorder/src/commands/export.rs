//! `perftab export`: a recording in the formats of other tools, or as one page.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use perftab_core::views::Query;

use super::{event_number, finish, read_named};
use crate::cli::{ExportArgs, ExportFormat};
use crate::output::{Outcome, Results};

/// Writes the export to a file or standard output.
pub fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let mut session = read_named(&args.input, &args.images)?;
    let event = event_number(&session, args.event.as_deref())?;
    let query = Query { event, ..Query::default() };
    let text = match args.to {
        ExportFormat::Collapsed => session.export_collapsed(&query),
        ExportFormat::Html => anyhow::bail!("html: this build can't write pages yet"),
    };
    write(&args.output, text.as_bytes())
        .with_context(|| format!("writing {}", args.output.display()))?;
    Ok(finish(&session))
}

fn write(output: &Path, bytes: &[u8]) -> io::Result<()> {
    if output == Path::new("-") {
        let mut results = Results::new();
        results.write_all(bytes)?;
        return results.flush();
    }
    let mut file = BufWriter::new(File::create(output)?);
    file.write_all(bytes)?;
    file.flush()
}
