//! The filters and steps of a command line as a query.

use std::ops::Range;

use anyhow::{Context as _, bail};
use perftab_core::session::Session;
use perftab_core::{
    Dso, DsoRef, FunctionRef, Pattern, Query, RangeSide, TimeRange, Times, Transform,
    without_parameters,
};

use crate::cli::{FilterArgs, SampleFilterArgs, SymbolArgs, TimeSpan, TimeSpans};
use crate::output::printable;

/// So many functions are named that may be meant.
const NAMES_SHOWN: usize = 3;

/// Adds what was asked for to `query`. Steps are taken in the order focus, drop, merge, search.
pub fn apply(args: &FilterArgs, session: &Session, query: &mut Query) -> anyhow::Result<()> {
    apply_to_samples(&args.samples, session, query)?;
    if let Some(name) = &args.focus {
        query.steps.push(Transform::Focus { function: only_function(session, name)? });
    }
    for name in &args.drop {
        let functions = functions(session, name)?.into_iter();
        query.steps.extend(functions.map(|function| Transform::Drop { function }));
    }
    for name in &args.merge {
        let functions = functions(session, name)?.into_iter();
        query.steps.extend(functions.map(|function| Transform::Merge { function }));
    }
    for text in &args.search {
        Pattern::parse(text).with_context(|| format!("--search {}", printable(text)))?;
        query.steps.push(Transform::Search { text: text.clone() });
    }
    Ok(())
}

/// The same without steps: these need the names of functions, and do not count for branches.
pub fn apply_to_samples(
    args: &SampleFilterArgs,
    session: &Session,
    query: &mut Query,
) -> anyhow::Result<()> {
    refuse_what_is_not_known(args, session)?;
    query.comms.clone_from(&args.comm);
    query.processes.clone_from(&args.pid);
    query.threads.clone_from(&args.tid);
    query.cpus = args.cpu.iter().flat_map(|range| range.first..=range.last).collect();
    if let Some(TimeSpans(spans)) = &args.time {
        (query.range, query.spans) = times(session, spans)?;
    }
    query.dsos = args.dso.iter().flat_map(|name| dsos(session, name)).collect();
    Ok(())
}

/// Of a command or a process, samples do not say on which CPU they were taken unless that is asked for. Shorter links do
/// not know of samples one by one. An empty answer would be no answer.
fn refuse_what_is_not_known(args: &SampleFilterArgs, session: &Session) -> anyhow::Result<()> {
    let Some(fidelity) = session.fidelity() else {
        let cpus = &session.profile().samples.cpu;
        let are_none = |len| len > 0 && (0..len).all(|row| cpus.at(row) == u16::MAX);
        if !args.cpu.is_empty() && are_none(cpus.len()) {
            bail!(
                "-C: samples do not say on which CPU they were taken; record with -a, -C or --sample-cpu"
            );
        }
        return Ok(());
    };
    let of_samples = [
        ("--time", args.time.is_some()),
        ("--cpu", !args.cpu.is_empty()),
        ("--tid", !args.tid.is_empty()),
    ];
    let asked = of_samples.iter().find(|(_, is_asked)| *is_asked);
    match (fidelity.times, asked) {
        (Times::Samples, _) => Ok(()),
        (_, Some((option, _))) => {
            let carrier = session.format().mode;
            bail!("this {carrier} has no individual samples, so {option} cannot be used")
        }
        (Times::None, None) if !args.pid.is_empty() => {
            bail!("this {} has no process ids; use --comm", session.format().mode)
        }
        _ => Ok(()),
    }
}

/// From where to where, and the parts of that if it has gaps.
fn times(
    session: &Session,
    spans: &[TimeSpan],
) -> anyhow::Result<(Option<TimeRange>, Vec<Range<u64>>)> {
    let spans = spans.iter().map(|span| range(session, *span));
    let mut spans: Vec<Range<u64>> = spans.collect::<anyhow::Result<_>>()?;
    spans.sort_unstable_by_key(|span| span.start);
    let start = spans.first().map_or(0, |span| span.start);
    let end = spans.iter().map(|span| span.end).max().unwrap_or_default();
    let mut parts: Vec<Range<u64>> = Vec::new();
    for span in spans {
        match parts.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => parts.push(span),
        }
    }
    if parts.len() == 1 {
        parts.clear();
    }
    Ok((Some(TimeRange { start, end, side: RangeSide::Inside }), parts))
}

/// Times of the recorder's clock, both of them in it, as times since the first sample, the second
/// of them not in it.
fn range(session: &Session, span: TimeSpan) -> anyhow::Result<Range<u64>> {
    let profile = session.profile();
    let times = &profile.samples.time_nanos;
    let Some(first) = profile.first_time() else {
        bail!("the samples have no times, so --time does not apply");
    };
    let (start, stop) = match span {
        TimeSpan::Clock { start, stop } => (start.unwrap_or(0), stop.unwrap_or(u64::MAX)),
        TimeSpan::Part { start, stop } => {
            let recorded = || profile.recorded_rows().map(|row| times.at(row));
            let known = profile.clocks.sample_time;
            let (begin, end) = known.unwrap_or_else(|| (first, recorded().max().unwrap_or(first)));
            let length = end.saturating_sub(begin) as f64;
            let at = |part: f64| begin.saturating_add((part * length).round() as u64);
            // As perf has it: parts that follow each other have no sample in common, and the last
            // sample is in the last of them.
            let stop = at(stop);
            (at(start), if stop > at(start) && stop != end { stop - 1 } else { stop })
        }
    };
    Ok(start.saturating_sub(first)..stop.saturating_add(1).saturating_sub(first))
}

/// The DSOs of a path or file name, in every build. One that there is not is asked for too: nothing
/// ends in it.
fn dsos(session: &Session, name: &str) -> Vec<DsoRef> {
    let all = session.profile().dsos.iter().map(|(_, dso)| dso);
    let meant: Vec<DsoRef> = all.filter(|dso| is_called(dso, name)).map(DsoRef::of).collect();
    match meant.is_empty() {
        true => vec![DsoRef { path: name.to_owned(), build_id: None }],
        false => meant,
    }
}

fn is_called(dso: &Dso, name: &str) -> bool {
    dso.path == name || dso.name() == name
}

/// The functions of this name, one for each DSO that has one; `DSO:NAME` is in that DSO only. A name of C++ may be without
/// parameters, and then means all functions that differ in these.
pub fn functions(session: &Session, name: &str) -> anyhow::Result<Vec<FunctionRef>> {
    let whole = functions_whose(session, name, str::to_owned);
    let found = match whole.is_empty() {
        true => functions_whose(session, name, |known| without_parameters(known).to_owned()),
        false => whole,
    };
    if found.is_empty() {
        let symbols = session.symbols();
        let names = symbols.function_ids().filter_map(|id| symbols.function(id).name);
        match names_with(names, name) {
            Some(names) => {
                bail!("there is no function {name}; these have it in their names: {names}")
            }
            None => bail!("there is no function {name}; `perftab report` lists the functions"),
        }
    }
    Ok(found)
}

/// Names that have what was written as a part of them, those with the least besides first; `None` if there are none.
fn names_with<'a>(names: impl Iterator<Item = &'a str>, part: &str) -> Option<String> {
    let mut names: Vec<&str> =
        names.filter(|name| !part.is_empty() && name.contains(part)).collect();
    names.sort_unstable_by_key(|&name| (name.len(), name));
    names.dedup();
    let (first, more) = names.split_at(names.len().min(NAMES_SHOWN));
    let shown = first.join(", ");
    match (first, more.len()) {
        ([], _) => None,
        (_, 0) => Some(shown),
        (_, more) => Some(format!("{shown}, and {more} more")),
    }
}

/// Whether a function is one of those that were asked for. Its name, `None` if it has none, is looked up only where that
/// matters: there may be millions.
pub fn is_asked_for<'a>(
    SymbolArgs { symbols }: &SymbolArgs,
    name: impl FnOnce() -> Option<&'a str>,
) -> bool {
    let is_one = |name: &str| symbols.iter().any(|written| is_meant(name, written));
    symbols.is_empty() || name().is_some_and(is_one)
}

/// Whether somebody who writes a name means the function that is called so.
fn is_meant(known: &str, written: &str) -> bool {
    known == written || without_parameters(known) == written
}

/// Those of which `form` makes this name.
fn functions_whose(
    session: &Session,
    name: &str,
    form: impl Fn(&str) -> String,
) -> Vec<FunctionRef> {
    let (profile, symbols) = (session.profile(), session.symbols());
    let meant = symbols.function_ids().filter(|&id| {
        let function = symbols.function(id);
        let Some(known) = function.name.map(&form) else { return false };
        let dso = || profile.dsos.get(function.dso);
        let in_dso = || {
            let rest = name.strip_suffix(known.as_str()).and_then(|rest| rest.strip_suffix(':'));
            rest.is_some_and(|rest| is_called(dso(), rest))
        };
        known == name || printable(&known) == name || in_dso()
    });
    let mut refs: Vec<FunctionRef> = Vec::new();
    for id in meant {
        let function = FunctionRef::of(profile, symbols, id);
        if !refs.contains(&function) {
            refs.push(function);
        }
    }
    refs
}

fn only_function(session: &Session, name: &str) -> anyhow::Result<FunctionRef> {
    let mut functions = functions(session, name)?;
    match (functions.pop(), functions.is_empty()) {
        (Some(function), true) => Ok(function),
        (last, _) => {
            functions.extend(last);
            let first = functions.first().map(|function| &function.name);
            if functions.iter().any(|function| Some(&function.name) != first) {
                let names = functions.iter().filter_map(|function| function.name.as_deref());
                let names: Vec<&str> = names.collect();
                bail!("{name} is one of {}; write which", names.join(" and "));
            }
            let dsos: Vec<&str> = functions.iter().map(|it| it.dso.path.as_str()).collect();
            bail!("{name} is a function of {}; write DSO:{name}", dsos.join(" and of "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_are_meant_without_parameters_too() {
        assert!(is_meant("work(unsigned long)", "work"));
        assert!(is_meant("work(unsigned long)", "work(unsigned long)"));
        assert!(is_meant("main", "main"));
        assert!(!is_meant("work(unsigned long)", "wor"));
        assert!(!is_meant("main", "main()"));
    }

    #[test]
    fn a_part_of_a_name_leads_to_the_names_that_have_it() {
        let all =
            ["ns::handle(int)", "handle_irq", "main", "handled", "handle_irq", "rehandle_all"];
        let with = |part| names_with(all.into_iter(), part);
        assert_eq!(with("irq").as_deref(), Some("handle_irq"));
        let several = "handled, handle_irq, rehandle_all, and 1 more";
        assert_eq!(with("handle").as_deref(), Some(several));
        assert_eq!((with("mian"), with("")), (None, None));
    }
}
