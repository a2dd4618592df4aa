//! `perftab diff`: what changed between two recordings, by function.
//!
//! A function is the same in both where core says so: by address in one build, by name in two.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use perftab_core::session::{
    CompareView, ComparedTrees, Coverage, DiffFunction, DsoPairRow, FidelityInfo, FormatInfo,
    Session, SideTotal,
};
use perftab_core::{
    Basis, ChangeKey, ChangeOrder, ComparedSide, Group, Inlines, NamingDepth, Query, Relation,
};
use serde::Serialize;

use super::{NO_SAMPLE_LEFT, filter, finish_named};
use crate::cli::{DiffArgs, DiffBasis, DiffSort, NameArgs};
use crate::images::named::NamedFile;
use crate::images::search;
use crate::input::Input;
use crate::output::{self, Outcome, Results, printable};

/// What stands before a forced name.
const FORCED: &str = "[forced] ";
/// Longer names push the DSO to the right instead of every row.
const NAME_WIDTH: usize = 60;

/// Everything that `perftab diff --json` prints.
#[derive(Serialize)]
struct Diff<'a> {
    event: &'a str,
    basis: Basis,
    before: DiffSide<'a>,
    after: DiffSide<'a>,
    functions: &'a [DiffFunction],
    dsos: &'a [DsoPairRow],
}

#[derive(Serialize)]
struct DiffSide<'a> {
    file: &'a str,
    event: &'a str,
    format: &'a FormatInfo,
    fidelity: Option<FidelityInfo>,
    #[serde(flatten)]
    total: SideTotal,
    coverage: Coverage,
}

/// A recording with names.
struct NamedRecording {
    side: ComparedSide,
    file: String,
    session: Session,
    /// What came of each `--image`.
    named_files: Vec<NamedFile>,
}

/// Prints the functions of two recordings and how they changed.
pub fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let (before, after) = args.recordings();
    if before == Path::new("-") && after == Path::new("-") {
        bail!("only one recording can be standard input");
    }
    let (inlines, depth) = match args.no_inline {
        true => (Inlines::Merged, NamingDepth::Functions),
        false => (Inlines::Shown, NamingDepth::Inlined),
    };
    let read = |side, path: &Path| {
        output::about(side_name(side), || read(side, path, &args.images, depth))
    };
    let mut before = read(ComparedSide::Before, &before)?;
    let mut after = read(ComparedSide::After, &after)?;
    say_unused([&before, &after]);
    let chosen = chosen_events(&before, &after, args.event.as_deref())?;
    let query = |side: &NamedRecording, event: u32| -> anyhow::Result<Query> {
        let mut query = Query { event, group: Group::None, inlines, ..Query::default() };
        filter::apply(&args.filters, &side.session, &mut query)
            .with_context(|| side.file.clone())?;
        Ok(query)
    };
    let queries = [query(&before, chosen[0])?, query(&after, chosen[1])?];
    let coverage = [
        before.session.filtered_coverage(&queries[0]).coverage,
        after.session.filtered_coverage(&queries[1]).coverage,
    ];
    let compared =
        ComparedTrees::new((&before.session, &queries[0]), (&after.session, &queries[1]));
    let basis = basis(args.basis);
    let totals = compared.sides();
    for (side, total) in [&before, &after].into_iter().zip(totals) {
        if basis == Basis::PerSecond && total.seconds == 0.0 {
            bail!("{} has no times; use --basis share", side.file);
        }
    }
    let key = if args.total { ChangeKey::Total } else { ChangeKey::SelfWeight };
    let limit = args.limit.unwrap_or(usize::MAX);
    let functions = compared.diff(basis, key, order(args.sort), limit);
    let dsos = compared.dsos(CompareView { basis, ..CompareView::default() });
    let [first, second] = [(&before, chosen[0]), (&after, chosen[1])]
        .map(|(side, event)| &side.session.profile().events[event as usize]);
    if basis != Basis::Share && first.unit() != second.unit() {
        bail!("{} and {} count different things; use --basis share", first.name, second.name);
    }
    let names = [first, second].map(|event| printable(&event.name));
    let [covered_before, covered_after] = coverage;
    let [before_side, after_side] = [
        (&before, totals[0], &names[0], covered_before),
        (&after, totals[1], &names[1], covered_after),
    ]
    .map(|(side, total, event, coverage)| DiffSide {
        file: &side.file,
        event,
        format: side.session.format(),
        fidelity: side.session.fidelity().map(FidelityInfo::from),
        total,
        coverage,
    });
    let (functions, dsos) = (&functions[..], &dsos[..]);
    let event = names[0].as_ref();
    let diff = Diff { event, basis, before: before_side, after: after_side, functions, dsos };
    let mut results = Results::new();
    if args.json {
        serde_json::to_writer(&mut results, &diff).map_err(io::Error::from)?;
        writeln!(results)?;
    } else {
        write_head(&mut results, &diff, key)?;
        write_table(&mut results, &diff, key)?;
    }
    results.flush()?;
    for (side, total) in [&before, &after].into_iter().zip(totals) {
        if total.samples == 0 && !args.filters.is_empty() {
            output::about(side_name(side.side), || output::notice(NO_SAMPLE_LEFT));
        }
    }
    Ok(finish([&before, &after]))
}

fn read(
    side: ComparedSide,
    path: &Path,
    images: &NameArgs,
    depth: NamingDepth,
) -> anyhow::Result<NamedRecording> {
    let input = Input::open(path)?;
    let mut session = input.read(images.images.this_machine())?;
    session.set_naming_depth(depth);
    let mut named_files = Vec::new();
    let say = &mut |file| named_files.push(file);
    search::name_frames_with(&mut session, input.recording(), images, say)?;
    let file = match &input {
        Input::Recording(_) => path.display().to_string(),
        Input::Shared(_) => input.name().to_owned(),
    };
    let file = printable(&file).into_owned();
    Ok(NamedRecording { side, file, session, named_files })
}

/// Says of the files that the user named why they are not used. One that is a side's is of no use to the
/// other, as a rule, and what holds for both sides is said once.
fn say_unused([before, after]: [&NamedRecording; 2]) {
    for (one, other) in before.named_files.iter().zip(&after.named_files) {
        if !one.is_used && !other.is_used && one.notices == other.notices {
            one.notices.iter().for_each(output::notice);
            continue;
        }
        for (named, it, elsewhere) in [(before, one, other), (after, other, one)] {
            if it.is_used || !elsewhere.is_used {
                output::about(side_name(named.side), || {
                    it.notices.iter().for_each(output::notice);
                });
            }
        }
    }
}

/// The events that are compared: those asked for, or the first with samples that both have.
fn chosen_events(
    before: &NamedRecording,
    after: &NamedRecording,
    asked: Option<&str>,
) -> anyhow::Result<[u32; 2]> {
    let of = |first: &str, second: &str| {
        Some([before.session.event_named(first)?, after.session.event_named(second)?])
    };
    let list = |side| events(side).map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        // Names have equals signs, too: `cpu/event=0xc4/`.
        let pairs = asked.match_indices('=').map(|(at, _)| (&asked[..at], &asked[at + 1..]));
        return match of(asked, asked).or_else(|| pairs.into_iter().find_map(|(a, b)| of(a, b))) {
            Some(events) => Ok(events),
            None => bail!(
                "no event {asked} in both; {} has {}; {} has {}. Two that shall be compared are \
                 named as BEFORE=AFTER",
                before.file,
                list(before),
                after.file,
                list(after)
            ),
        };
    }
    let with_samples = |side: &NamedRecording, event: u32| {
        events(side).nth(event as usize).is_some_and(|(_, samples)| samples > 0)
    };
    let common: Vec<[u32; 2]> = events(before).filter_map(|(name, _)| of(&name, &name)).collect();
    let is_sampled =
        |pair: &&[u32; 2]| with_samples(before, pair[0]) && with_samples(after, pair[1]);
    match common.iter().find(is_sampled).or(common.first()) {
        Some(&pair) => Ok(pair),
        None => bail!(
            "the recordings have no event in common: {} has {}; {} has {}. Name two that shall be \
             compared: --event BEFORE=AFTER",
            before.file,
            list(before),
            after.file,
            list(after)
        ),
    }
}

/// Names and samples of a recording's events.
fn events(side: &NamedRecording) -> impl Iterator<Item = (String, u64)> {
    let events = side.session.profile().events.iter();
    events.map(|event| (printable(&event.name).into_owned(), event.samples))
}

fn basis(basis: DiffBasis) -> Basis {
    match basis {
        DiffBasis::Share => Basis::Share,
        DiffBasis::PerSecond => Basis::PerSecond,
        DiffBasis::Raw => Basis::Raw,
    }
}

fn order(sort: DiffSort) -> ChangeOrder {
    match sort {
        DiffSort::Increase => ChangeOrder::Increase,
        DiffSort::Decrease => ChangeOrder::Decrease,
        DiffSort::Change => ChangeOrder::Either,
        DiffSort::Before => ChangeOrder::Before,
        DiffSort::After => ChangeOrder::After,
        DiffSort::Name => ChangeOrder::Name,
    }
}

/// Says of both what is doubtful, and whether anything was lost.
fn finish(sides: [&NamedRecording; 2]) -> Outcome {
    let outcomes =
        sides.map(|side| output::about(side_name(side.side), || finish_named(&side.session)));
    if outcomes == [Outcome::Complete; 2] { Outcome::Complete } else { Outcome::WithLosses }
}

fn write_head(results: &mut Results, diff: &Diff<'_>, key: ChangeKey) -> io::Result<()> {
    let key = match key {
        ChangeKey::SelfWeight => "self",
        ChangeKey::Total => "total",
    };
    let basis = match diff.basis {
        Basis::Share => "as a share of each recording; change in points",
        Basis::PerSecond => "per second",
        Basis::Raw => "as recorded",
    };
    let events = match diff.before.event == diff.after.event {
        true => diff.event.to_owned(),
        false => format!("{} and {}", diff.before.event, diff.after.event),
    };
    writeln!(results, "# {events}: {key} weight {basis}")?;
    for (name, side) in [("before", &diff.before), ("after", &diff.after)] {
        let (total, covered) = (side.total, &side.coverage);
        writeln!(
            results,
            "# {name:6} {}: {}, weight {}, {:.2} s; {} {} end in a named function",
            side.file,
            output::counted(total.samples, "sample", "samples"),
            output::grouped(total.weight),
            total.seconds,
            output::percent(covered.named_leaves as f64, covered.samples as f64),
            if covered.samples == total.samples { "of them" } else { "of samples of all events" },
        )?;
    }
    for dso in diff.dsos.iter().filter(|dso| dso.relation == Relation::TwoBuilds) {
        writeln!(results, "# two builds of {}, compared by function name", dso.name)?;
    }
    for dso in diff.dsos {
        let Some(side) = dso.without_names else { continue };
        writeln!(
            results,
            "# not comparable yet: {} lacks names for {}; give its file with --image FILE",
            side_name(side),
            dso.name
        )?;
    }
    writeln!(results, "#")
}

fn side_name(side: ComparedSide) -> &'static str {
    match side {
        ComparedSide::Before => "before",
        ComparedSide::After => "after",
    }
}

fn write_table(results: &mut Results, diff: &Diff<'_>, key: ChangeKey) -> io::Result<()> {
    let names: Vec<String> = diff.functions.iter().map(shown_name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = width.clamp("Function".len(), NAME_WIDTH);
    let column = if diff.basis == Basis::Share { 8 } else { 16 };
    writeln!(
        results,
        "#{:>column$} {:>column$} {:>column$}  {:14}  {:width$}  DSO",
        "Change", "Before", "After", "Certainty", "Function"
    )?;
    for (function, name) in diff.functions.iter().zip(&names) {
        let row = match key {
            ChangeKey::SelfWeight => {
                (function.before, function.after, function.change, function.certain)
            }
            ChangeKey::Total => {
                let total = function.total;
                (total.before, total.after, total.change, total.certain)
            }
        };
        let (before, after, change, certain) = row;
        let (change, certainty) = match function.without_names {
            Some(_) => ("-".to_owned(), "not comparable"),
            None if certain => (signed(change, diff.basis), "beyond noise"),
            None => (signed(change, diff.basis), "within noise"),
        };
        writeln!(
            results,
            " {change:>column$} {:>column$} {:>column$}  {certainty:14}  {name:width$}  {}",
            value(before, diff.basis),
            value(after, diff.basis),
            function.dso.as_deref().unwrap_or_default()
        )?;
    }
    Ok(())
}

/// A function's name, or its address where it has none, and which side lacks it.
fn shown_name(function: &DiffFunction) -> String {
    let forced = if function.forced { FORCED } else { "" };
    let name = match (&function.name, &function.address) {
        (Some(name), _) => name.clone(),
        (None, Some(address)) => format!("0x{address}"),
        (None, None) => "[no name]".to_owned(),
    };
    let only = function.only.map(|side| format!(" (only {side})")).unwrap_or_default();
    [forced, &name, &only].concat()
}

/// `7.8 %`, or a weight; what is nothing says so.
fn value(value: f64, basis: Basis) -> String {
    match basis {
        _ if value == 0.0 => "none".to_owned(),
        Basis::Share => output::percent(value, 100.0),
        Basis::PerSecond | Basis::Raw => output::grouped(value.round() as u64),
    }
}

/// `+3.2`, `\u{2212}0.2`; `0.0` where nothing changed.
fn signed(change: f64, basis: Basis) -> String {
    let size = match basis {
        Basis::Share => format!("{:.1}", change.abs()),
        Basis::PerSecond | Basis::Raw => output::grouped(change.abs().round() as u64),
    };
    let is_nothing = size.chars().all(|digit| matches!(digit, '0' | '.'));
    match change {
        _ if is_nothing => size,
        change if change < 0.0 => format!("\u{2212}{size}"),
        _ => format!("+{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_unless_there_is_none() {
        let share = |change| signed(change, Basis::Share);
        assert_eq!(
            [3.24, -0.2, 0.04, -0.04, 0.0].map(share),
            ["+3.2", "\u{2212}0.2", "0.0", "0.0", "0.0"]
        );
        assert_eq!(signed(-412_806.4, Basis::Raw), "\u{2212}412,806");
        assert_eq!(value(0.0, Basis::Share), "none");
    }
}
