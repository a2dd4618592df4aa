//! `perftab report`: where the samples ended, by function or by what else is asked for.

mod branch_history;
mod branches;
mod call_graph;
mod hierarchy;
pub mod rows;
mod scope;
pub mod sort;

use std::io::{self, Write};
use std::num::NonZeroU32;

use anyhow::bail;
use perftab_core::session::{Breakdown, Caller, CallersExtent, Report, ReportFunction, Session};
use perftab_core::{Direction, Group, Inlines, Key, NamingDepth, Query};
use rows::Column;
use scope::RowScope;
use serde::Serialize;
use sort::Sort;

use super::{
    DataNaming, NO_SAMPLE_LEFT, event_number, filter, finish, finish_named, header, read_named_with,
};
use crate::cli::{Percentage, ReportArgs};
use crate::output::{self, Outcome, Results, percent, printable};

/// Bytes of memory that the callers of `--inverted --json` may take.
const MOST_CALLERS: usize = 256 << 20;
/// What stands before a forced name.
pub const FORCED: &str = "[forced] ";
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
    let tree = call_graph::asked(args).filter(|_| sort.rows.is_empty());
    if args.call_graph.is_some_and(|graph| graph.value.is_some()) && tree.is_none() {
        output::notice("call trees are of functions: rows of --sort and -t have none");
    }
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
    if needs_lines && session.fidelity().is_some() {
        output::notice(
            "a link does not tell lines of source by call: use the recording, or view Source of the page, which has those \
             of hot functions",
        );
    }
    if args.max_stack.is_some() && args.inverted && args.json {
        bail!("--max-stack: callers in JSON are whole; leave it or --json out");
    }
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
        outermost: args.max_stack,
        ..Query::default()
    };
    filter::apply(&args.filters, &session, &mut query)?;
    let limit = args.limit.unwrap_or(usize::MAX);
    // Of rows that are not printed there may be any number before those that are.
    let is_all = RowScope::is_everything(&args.rows) && !args.rows.hierarchy;
    let most = if is_all { limit } else { usize::MAX };
    let others = other_events(&session, query.event);
    let mut results = Results::new();
    if (args.rows.header.header || args.rows.header.header_only) && !args.json {
        header::write(&mut results, &session.info())?;
        if args.rows.header.header_only {
            results.flush()?;
            return Ok(finish_named(&session));
        }
    }
    let is_by_function = sort.rows.is_empty();
    let mut breakdown = (!is_by_function)
        .then(|| session.breakdown(&query, sort.measure, &sort.rows, sort.order, most));
    let inverted =
        (args.inverted && args.json).then(|| session.callers(&query, limit, MOST_CALLERS));
    if inverted.as_ref().is_some_and(|callers| callers.extent == CallersExtent::Heaviest) {
        output::notice("the callers take more than 256 MiB; only the heaviest are printed");
    }
    let report = session.report(&query, sort.order, most);
    let is_empty = report.samples == 0 && report.all_samples > 0;
    let scope = RowScope::new(&args.rows, sort.order, &report);
    let is_limited = !RowScope::is_everything(&args.rows) && limit > 0 && !is_empty;
    match &mut breakdown {
        // What is printed of its sums, they say themselves.
        Some(breakdown) if args.rows.hierarchy && !args.json => scope.limit_names(breakdown)?,
        Some(breakdown) => scope.limit(breakdown, limit)?,
        None => {}
    }
    let has_rows = match &breakdown {
        Some(breakdown) => !breakdown.rows.is_empty(),
        None => report.functions.iter().any(|function| scope.takes_function(&function)),
    };
    if args.json {
        let breakdown = breakdown.as_ref();
        let inverted = inverted.as_ref().map(|callers| &callers.functions[..]);
        let json = Json { report: &report, breakdown, inverted };
        if RowScope::is_everything(&args.rows) {
            serde_json::to_writer(&mut results, &json).map_err(io::Error::from)?;
        } else {
            let mut json = serde_json::to_value(&json)?;
            scope.limit_json(&mut json, limit);
            serde_json::to_writer(&mut results, &json).map_err(io::Error::from)?;
        }
        writeln!(results)?;
    } else {
        if !output::is_quiet() {
            write_head(&mut results, &report, args.rows.percentage, &others)?;
        }
        if let Some(tree) = tree {
            let addresses = args.max_stack.map_or(call_graph::MOST_ADDRESSES, NonZeroU32::get);
            let rows = call_graph::FirstRows { scope: &scope, limit };
            call_graph::write(&mut results, &mut session, &query, tree, (rows, addresses))?;
        } else if let Some(breakdown) = &breakdown {
            match &sort.columns {
                _ if args.rows.hierarchy => {
                    hierarchy::write(&mut results, breakdown, &scope, &sort.more, limit)?;
                }
                Some(columns) => {
                    let separator = args.rows.field_separator.as_deref();
                    rows::write_columns(&mut results, breakdown, &scope, columns, separator)?;
                }
                None => rows::write(&mut results, breakdown, &report, &scope, &sort.more)?,
            }
        } else {
            write_table(&mut results, &report, &scope, (&sort.more, limit))?;
        }
    }
    results.flush()?;
    if is_empty {
        output::notice(NO_SAMPLE_LEFT);
        return Ok(finish(&session));
    }
    if is_limited && !has_rows {
        output::notice(RowScope::nothing_left(&args.rows));
    }
    Ok(finish_named(&session))
}

/// The other events with samples. perf prints a table of each.
fn other_events(session: &Session, shown: u32) -> String {
    let events = session.profile().events.iter().zip(0..);
    let others = events.filter(|&(event, number)| event.samples > 0 && number != shown);
    let texts = others.map(|(event, _)| {
        format!("{} ({})", event.name, output::counted(event.samples, "sample", "samples"))
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Lines before the table, marked as `perf report` marks them.
fn write_head(
    results: &mut Results,
    report: &Report<'_>,
    percentage: Percentage,
    others: &str,
) -> io::Result<()> {
    let coverage = &report.coverage;
    let all = output::counted(report.all_samples, "sample", "samples");
    let (event, weight) = (printable(report.event), output::grouped(report.weight));
    if report.samples == report.all_samples && report.weight == report.all_weight {
        writeln!(results, "# {event}: {all}, weight {weight}")?;
    } else {
        let share = percent(report.samples as f64, report.all_samples as f64);
        let samples = output::grouped(report.samples);
        let of = match percentage {
            Percentage::Relative => "these",
            Percentage::Absolute => "all",
        };
        writeln!(
            results,
            "# {event}: {samples} of {all}, {share}, weight {weight}; shares are of {of}"
        )?;
    }
    if !others.is_empty() {
        writeln!(results, "# --event prints another one: {}", printable(others))?;
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

fn write_table(
    results: &mut Results,
    report: &Report<'_>,
    scope: &RowScope<'_>,
    (more, limit): (&[Column], usize),
) -> io::Result<()> {
    let width = name_width(report);
    if !output::is_quiet() {
        let titles: String = more.iter().map(|it| format!(" {:>15}", it.title())).collect();
        writeln!(results, "#  Self    Total{titles}   {:width$}  DSO", "Function")?;
    }
    let (mut own, mut total) = (Share::of(scope.whole), Share::of(scope.whole));
    let mut line = String::new();
    let shown = report.functions.iter().filter(|function| scope.takes_function(function));
    for function in shown.take(limit) {
        line.clear();
        let (own, total) = (own.text(function.self_weight), total.text(function.total));
        // Counted in characters: a thin space stands before the percent sign.
        line.extend([pad(own, 7), own, " ", pad(total, 7), total]);
        for column in more {
            let number = match column {
                Column::Samples => function.self_samples,
                _ => function.self_weight,
            };
            line.push_str(&format!(" {:>15}", output::grouped(number)));
        }
        line.push_str("   ");
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
    fn of(whole: f64) -> Self {
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
pub fn push_shown_name(line: &mut String, function: &ReportFunction<'_>) {
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
