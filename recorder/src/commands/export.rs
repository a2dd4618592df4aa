//! `perftab export`: a recording in the formats of other tools, or as one page.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, bail};
use perftab_core::session::{Session, ShareOptions};
use perftab_core::snapshot::{HostFields, Paths};
use perftab_core::symbolize::NamingDepth;
use perftab_core::views::Query;

use super::{event_number, filter, finish_named, read_named, share};
use crate::cli::{ExportArgs, ExportFormat};
use crate::output::{self, Outcome, Results};
use crate::page;

/// Writes the export to a file or standard output.
pub fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let mut session = read_named(&args.input, &args.images, NamingDepth::Inlined)?;
    let event = event_number(&session, args.event.as_deref())?;
    let mut query = Query { event, ..Query::default() };
    filter::apply(&args.filters, &session, &mut query)?;
    let text = match args.to {
        ExportFormat::Collapsed => session.export_collapsed(&query),
        ExportFormat::Html if !args.filters.is_empty() => {
            bail!("a page holds the whole recording; filters are for --to collapsed")
        }
        ExportFormat::Html => page(&session)?,
    };
    if is_same_file(&args.output, &args.input.file) {
        bail!("{} is the recording itself; name another file with -o", args.output.display());
    }
    write(&args.output, text.as_bytes())
        .with_context(|| format!("writing {}", args.output.display()))?;
    Ok(finish_named(&session))
}

/// The viewer with the profile inside, as much of it as a page can carry.
fn page(session: &Session) -> anyhow::Result<String> {
    let options =
        ShareOptions { characters: usize::MAX, paths: Paths::Names, host: HostFields::None };
    let shared = session.share(&options)?;
    output::notice(share::keeps(&shared.fidelity));
    Ok(page::with_profile(&shared.payload))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
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
