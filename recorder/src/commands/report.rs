//! `perftab report`: where the samples ended, by function or by what else is asked for.

mod branch_history;
mod branches;
mod rows;
mod sort;

use std::io::{self, Write};

use anyhow::bail;
use perftab_core::session::{Breakdown, Caller, CallersExtent, Report, ReportFunction, Session};
use perftab_core::{Direction, Group, Inlines, Key, NamingDepth, Query, mark};
use serde::Serialize;
use sort::Sort;

use super::{DataNaming, event_number, filter, finish_named, read_named_with};
use crate::cli::ReportArgs;
use crate::output::{self, Outcome, Results, percent, printable};

/// Callers below this share of the whole are not printed by `--inverted`.
const LEAST_SHARE: f64 = 0.005;
/// Levels of callers that `--inverted` prints.
const MOST_LEVELS: usize = 32;
/// Bytes of memory that the callers of `--inverted --json` may take.
const MOST_CALLERS: usize = 256 << 20;
/// What stands before a forced name.
const FORCED: &str = "[forced] ";
/// Longer names push the DSO to the right instead of every row.
const NAME_WIDTH: usize = 60;

/// Everything that `perftab report --json` prints.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: &'a Report<'a>,
    /// `sort` and `rows`.
    #[serde(flatten)]
    breakdown: Option<&'a Breakdown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inverted: Option<&'a [Caller]>,
}

/// Prints where the samples of one event ended.
pub fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    if args.branch_history {
        return branch_history::run(args);
    }
    if let Some(what) = branches::What::of(args)? {
        return branches::run(args, what);
    }
    let sort = Sort::of(args)?;
    let inlines = if args.no_inline { Inlines::Merged } else { Inlines::Shown };
    let needs_lines = sort.rows.iter().any(|key| matches!(key, Key::File | Key::Line));
    let depth = match args.no_inline && !needs_lines {
        true => NamingDepth::Functions,
        false => NamingDepth::Inlined,
    };
    let data =
        match sort.rows.iter().any(|key| matches!(key, Key::Access(key) if key.is_of_place())) {
            true => DataNaming::Named,
            false => DataNaming::LeftOut,
        };
    let mut session = read_named_with(&args.input, &args.images, depth, data)?;
    if args.mem_mode && session.profile().accesses.is_empty() {
        bail!(
            "the recording has no memory accesses: record with perf mem record, or perf record -d -W"
        )
    }
    let mut query = Query {
        event: event_number(&session, args.event.as_deref())?,
        direction: Direction::Callees,
        group: Group::None,
        inlines,
        ..Query::default()
    };
    filter::apply(&args.filters, &session, &mut query)?;
    let limit = args.limit.unwrap_or(usize::MAX);
    let is_by_function = sort.rows.is_empty();
    let breakdown = (!is_by_function)
        .then(|| session.breakdown(&query, sort.measure, &sort.rows, sort.order, limit));
    let inverted =
        (args.inverted && args.json).then(|| session.callers(&query, limit, MOST_CALLERS));
    if inverted.as_ref().is_some_and(|callers| callers.extent == CallersExtent::Heaviest) {
        output::notice("the callers take more than 256 MiB; only the heaviest are printed");
    }
    let report = session.report(&query, sort.order, limit);
    let mut results = Results::new();
    if args.json {
        let breakdown = breakdown.as_ref();
        let inverted = inverted.as_ref().map(|callers| &callers.functions[..]);
        let json = Json { report: &report, breakdown, inverted };
        serde_json::to_writer(&mut results, &json).map_err(io::Error::from)?;
        writeln!(results)?;
    } else {
        write_head(&mut results, &report)?;
        if args.inverted {
            Callers::new(&mut session, query).write(&mut results, limit)?;
        } else if let Some(breakdown) = &breakdown {
            match &sort.columns {
                Some(columns) => rows::write_columns(&mut results, breakdown, &report, columns)?,
                None => rows::write(&mut results, breakdown, &report)?,
            }
        } else {
            write_table(&mut results, &report)?;
        }
    }
    results.flush()?;
    Ok(finish_named(&session))
}

/// Lines before the table, marked as `perf report` marks them.
fn write_head(results: &mut Results, report: &Report<'_>) -> io::Result<()> {
    let coverage = &report.coverage;
    let all = output::counted(report.all_samples, "sample", "samples");
    let (event, weight) = (printable(report.event), output::grouped(report.weight));
    if report.samples == report.all_samples && report.weight == report.all_weight {
        writeln!(results, "# {event}: {all}, weight {weight}")?;
    } else {
        let share = percent(report.samples as f64, report.all_samples as f64);
        let samples = output::grouped(report.samples);
        writeln!(
            results,
            "# {event}: {samples} of {all}, {share}, weight {weight}; shares are of these"
        )?;
    }
    let named = percent(coverage.named_leaves as f64, coverage.samples as f64);
    let of = if coverage.samples == report.samples { "samples" } else { "samples of all events" };
    writeln!(results, "# {named} of {of} end in a named function")?;
    if coverage.forced > 0 {
        let forced = percent(coverage.forced_leaves as f64, coverage.samples as f64);
        writeln!(results, "# UNSAFE: {forced} of {of} end in a forced name, which may be wrong")?;
    }
    writeln!(results, "#")
}

fn write_table(results: &mut Results, report: &Report<'_>) -> io::Result<()> {
    let width = name_width(report);
    writeln!(results, "#  Self    Total   {:width$}  DSO", "Function")?;
    let (mut own, mut total) = (Share::of(report.weight), Share::of(report.weight));
    let mut line = String::new();
    for function in report.functions.iter() {
        line.clear();
        let (own, total) = (own.text(function.self_weight), total.text(function.total));
        // Counted in characters: a thin space stands before the percent sign.
        line.extend([pad(own, 7), own, " ", pad(total, 7), total, "   "]);
        let before = line.len();
        push_shown_name(&mut line, &function);
        let characters = line[before..].chars().count();
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(characters)));
        line.push_str("  ");
        line.push_str(&printable(file_name(function.dso.unwrap_or_default())));
        line.push('\n');
        results.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Characters that the names take, up to a limit.
fn name_width(report: &Report<'_>) -> usize {
    let mut width = "Function".len();
    let mut name = String::new();
    for function in report.functions.iter() {
        name.clear();
        push_shown_name(&mut name, &function);
        width = width.max(name.chars().count());
        if width >= NAME_WIDTH {
            return NAME_WIDTH;
        }
    }
    width
}

/// What brings `text` to `width` characters.
fn pad(text: &str, width: usize) -> &'static str {
    const SPACES: &str = "       ";
    &SPACES[..width.saturating_sub(text.chars().count()).min(SPACES.len())]
}

/// Shares as texts. Functions of one weight follow each other, since they are in order: their
/// text is made once.
struct Share {
    whole: f64,
    weight: u64,
    text: String,
}

impl Share {
    fn of(whole: u64) -> Self {
        let whole = whole as f64;
        Self { whole, weight: 0, text: percent(0.0, whole) }
    }

    fn text(&mut self, weight: u64) -> &str {
        if weight != self.weight {
            self.weight = weight;
            self.text = percent(weight as f64, self.whole);
        }
        &self.text
    }
}

/// A function's name, or its address where it has none.
fn push_shown_name(line: &mut String, function: &ReportFunction<'_>) {
    match (&function.name, function.address) {
        (Some(name), _) => {
            let forced = if function.forced { FORCED } else { "" };
            let inlined = if function.inlined { " (inlined)" } else { "" };
            line.extend([forced, name, inlined]);
        }
        (None, Some(address)) => push_address(line, address),
        (None, None) => line.push_str("[no mapping]"),
    }
}

/// As `{:#x}`: of most rows of a large report, and that takes a third of the time of writing it.
fn push_address(line: &mut String, address: u64) {
    let digits = (u64::BITS - address.leading_zeros()).div_ceil(4).max(1);
    let digit = |place: u32| char::from_digit((address >> (4 * place)) as u32 & 0xf, 16);
    line.push_str("0x");
    line.extend((0..digits).rev().filter_map(digit));
}

pub fn file_name(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) if !path.starts_with('[') => name,
        _ => path,
    }
}

/// Functions with the callers that led to them below: the call tree from the leaves up.
struct Callers<'a> {
    session: &'a mut Session,
    query: Query,
    whole: f64,
}

impl<'a> Callers<'a> {
    fn new(session: &'a mut Session, query: Query) -> Self {
        let query = Query { direction: Direction::Inverted, ..query };
        let whole = session.total(&query).weight as f64;
        Self { session, query, whole }
    }

    fn write(&mut self, results: &mut Results, limit: usize) -> io::Result<()> {
        writeln!(results, "#  Self   Function, callers below")?;
        self.write_level(results, 0, 0, limit)
    }

    fn write_level(
        &mut self,
        results: &mut Results,
        call_node: u32,
        level: usize,
        limit: usize,
    ) -> io::Result<()> {
        let rows = self.session.call_tree_children(&self.query, call_node);
        for (index, name) in rows.names.iter().enumerate().take(limit) {
            let share = rows.total[index] / self.whole.max(1.0);
            if level > 0 && share < LEAST_SHARE {
                break;
            }
            let marks = rows.marks[index];
            let forced = if marks & mark::FORCED != 0 { FORCED } else { "" };
            let inlined = if marks & mark::INLINED != 0 { " (inlined)" } else { "" };
            writeln!(
                results,
                "{:>7}   {:indent$}{forced}{}{inlined}  {}",
                percent(rows.total[index], self.whole),
                "",
                printable(name),
                printable(&rows.dsos[index]),
                indent = 2 * level
            )?;
            if level < MOST_LEVELS {
                self.write_level(results, rows.call_node[index], level + 1, usize::MAX)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hexadecimal() {
        for address in [0, 9, 0xf, 0x10, 0x5202ce3, 0xffff_ffff_821f_4dab, u64::MAX] {
            let mut line = String::new();
            push_address(&mut line, address);
            assert_eq!(line, format!("{address:#x}"));
        }
    }

    #[test]
    fn dsos_are_shown_by_file_name() {
        assert_eq!(file_name("/usr/lib/libc.so.6"), "libc.so.6");
        assert_eq!(file_name("[kernel.kallsyms]"), "[kernel.kallsyms]");
        assert_eq!(file_name(""), "");
    }
}
