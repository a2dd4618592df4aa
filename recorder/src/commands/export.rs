//! `perftab export`: a recording in the formats of other tools, or as one page.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail};
use perftab_core::session::{ExportStep, Session, USUAL_LIMIT};
use perftab_core::{Events, ExportRequest, Format, NamingDepth, Query, ShareOptions};

use super::{event_number, filter, finish_named, read_named, share};
use crate::cli::{ExportArgs, ExportFormat};
use crate::input::file_name;
use crate::output::{self, Outcome, Readers};
use crate::page;
use crate::place_texts;
use crate::result_file::ResultFile;

/// Pieces that are written before they go to the file.
const PIECES: usize = 1 << 16;

/// How large an export may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputLimit {
    /// [`USUAL_LIMIT`].
    Usual,
    /// As large as it is.
    None,
}

/// Writes the export to a file or standard output.
pub fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    output::refuse_input(&args.output, args.input.path())?;
    let format = format(args.to);
    refuse_terminal(args, format)?;
    let mut session = read_named(&args.input, &args.images, NamingDepth::Inlined)?;
    let event = event_number(&session, args.event.as_deref())?;
    let mut query = Query { event, ..Query::default() };
    filter::apply(&args.filters, &session, &mut query)?;
    if format.is_some() && !args.content.privacy.is_default() {
        bail!("--include, --hide and --rename are for links and for --to html");
    }
    match format {
        None => {
            let options =
                share::options(&session, &args.content, &args.filters, args.input.path())?;
            place_texts::read(&mut session, &options, args.input.path(), &args.images.images);
            output::write(&args.output, Readers::All, &[page(&mut session, &options)?.as_bytes()])?;
        }
        Some(format) => {
            let events = if args.event.is_some() { Events::One } else { Events::All };
            let name = name_of(args.input.path());
            let request = ExportRequest { format, query, events, name };
            let limit = if args.no_limit { OutputLimit::None } else { OutputLimit::Usual };
            write(&mut session, request, &args.output, limit)
                .with_context(|| format!("writing {}", args.output.display()))?;
        }
    }
    Ok(finish_named(&session))
}

/// As core has it; `None` for a page, which is a link inside a viewer.
fn format(to: ExportFormat) -> Option<Format> {
    Some(match to {
        ExportFormat::Collapsed => Format::Collapsed,
        ExportFormat::Pprof => Format::Pprof,
        ExportFormat::Firefox => Format::Firefox,
        ExportFormat::Speedscope => Format::Speedscope,
        ExportFormat::Svg => Format::Svg,
        ExportFormat::Html => return None,
    })
}

/// What no terminal can show is not read for nothing.
fn refuse_terminal(args: &ExportArgs, format: Option<Format>) -> anyhow::Result<()> {
    let Some(format) = format.filter(|format| format.is_packed()) else { return Ok(()) };
    if args.output == Path::new("-") && io::stdout().is_terminal() {
        let name = name_of(args.input.path());
        let stem = name.strip_suffix(".data").unwrap_or(&name);
        bail!("this format is binary; name a file with -o {stem}.{}", format.ending());
    }
    Ok(())
}

fn name_of(file: &Path) -> String {
    file_name(file).unwrap_or_else(|| "perf.data".to_owned())
}

fn write(
    session: &mut Session,
    request: ExportRequest,
    output: &Path,
    limit: OutputLimit,
) -> anyhow::Result<()> {
    for limit in session.export_limits(&request) {
        output::notice(limit);
    }
    let mut out = ResultFile::create(output, Readers::All)?;
    let mut export = match limit {
        OutputLimit::Usual => session.export(request),
        OutputLimit::None => session.export(request).with_limit(u64::MAX),
    };
    let mut block = Vec::new();
    loop {
        let step = export.step(session, PIECES, &mut block);
        out.write_all(&block)?;
        block.clear();
        match step {
            // It may be long until there is anything to write.
            ExportStep::More { .. } => out.check()?,
            ExportStep::Done => return out.finish().map(drop),
            ExportStep::TooLarge => bail!(
                "it has more than {} MB, which is the limit; --no-limit writes all of it",
                USUAL_LIMIT / 1_000_000
            ),
            ExportStep::Stale => bail!("names changed while it was written; run it again"),
        }
    }
}

/// The viewer with the profile inside, as much of it as a page can carry.
fn page(session: &mut Session, options: &ShareOptions) -> anyhow::Result<String> {
    let shared = share::make(session, options)?;
    output::notice(share::keeps(&shared.fidelity));
    Ok(page::with_profile(&shared.payload))
}
