//! `perftab report --branch-history`: the functions that samples ended in, and the branches that led there.
//!
//! ```text
//!  100.0 %   walk  p
//!   60.0 %     - walk p.c:9 -> walk p.c:12  (mispredicted 14.3 %, 4.0 cycles)
//!   60.0 %       step p.c:20 -> walk p.c:8  (3.0 cycles)
//!   40.0 %     - main p.c:30 -> walk p.c:5
//! ```
//!
//! As with perf, what is below a line came before it: first branches, the newest first, then callers. Only where there
//! are several ways are they indented further, and each begins with a dash.

use std::io::{self, Write};

use perftab_core::NamingDepth;
use perftab_core::session::{BranchHistory, CodePlace, HistoryStep};

use super::branches::{Printer, begin, code};
use super::file_name;
use crate::cli::ReportArgs;
use crate::commands::finish_named;
use crate::images::search;
use crate::output::{self, Outcome, grouped, percent};

/// Levels beyond are not indented further.
const MOST_INDENTED: usize = 32;

/// Prints the branches that led to the samples of one event.
pub fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let (recording, mut session, query) = begin(args)?;
    session.set_naming_depth(match args.no_inline {
        true => NamingDepth::Functions,
        false => NamingDepth::Inlined,
    });
    let history = recording.read_branch_history(&mut session, &query)?;
    search::name_frames(&mut session, Some(&recording), &args.images)?;
    let history = session.history(&history, args.limit.unwrap_or(usize::MAX));
    let mut printer = Printer::new(&session, query.event, args);
    match printer.as_json {
        true => printer.json(&history)?,
        false => write(&mut printer, &history)?,
    }
    printer.results.flush()?;
    Ok(finish_named(&session))
}

fn write(printer: &mut Printer, history: &BranchHistory) -> io::Result<()> {
    printer.head(&format!("weight {}", grouped(history.weight)), history.samples)?;
    if history.cut > 0 {
        let samples = output::counted(history.cut, "sample", "samples");
        writeln!(printer.results, "# the ways to {samples} are cut: there are too many")?;
    }
    writeln!(printer.results, "#  Self   Function, branches and then callers before it below")?;
    let whole = history.weight as f64;
    for function in &history.functions {
        write_step(printer, function, whole, (0, ""))?;
    }
    Ok(())
}

fn write_step(
    printer: &mut Printer,
    step: &HistoryStep,
    whole: f64,
    (level, mark): (usize, &str),
) -> io::Result<()> {
    let share = percent(step.weight as f64, whole);
    let indent = 2 * level.min(MOST_INDENTED);
    let at = step.at.as_ref().map_or("[no mapping]".to_owned(), place);
    let led_to = step.led_to.as_ref().map(|it| format!(" -> {}", place(it))).unwrap_or_default();
    let taken = taken(step);
    writeln!(printer.results, "{share:>7}   {:indent$}{mark}{at}{led_to}{taken}", "")?;
    let below = match (step.before.len(), level) {
        (2.., _) => (level + 1, "- "),
        (_, 0) => (1, "  "),
        _ => (level, "  "),
    };
    step.before.iter().try_for_each(|step| write_step(printer, step, whole, below))
}

/// What is known of a branch.
fn taken(step: &HistoryStep) -> String {
    let mut known = Vec::new();
    if step.mispredicted > 0 {
        let share = percent(step.mispredicted as f64, step.taken as f64);
        known.push(format!("mispredicted {share}"));
    }
    if step.timed > 0 {
        known.push(format!("{:.1} cycles", step.cycles as f64 / step.timed as f64));
    }
    if known.is_empty() { String::new() } else { format!("  ({})", known.join(", ")) }
}

/// A function with its line, or how far behind its start something is; a whole one with its DSO.
fn place(place: &CodePlace) -> String {
    let name = code(&place.code);
    match (&place.file, place.line, place.within) {
        (Some(file), Some(line), _) => format!("{name} {}:{line}", file_name(file)),
        (_, _, Some(within)) => format!("{name}+{within:#x}"),
        _ => format!("{name}  {}", file_name(&place.dso)),
    }
}
