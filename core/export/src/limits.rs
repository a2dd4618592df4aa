//! What a format keeps, and what it cannot hold, in words: the command and the page say them, and
//! `docs/exports.md` has them side by side.

use perftab_perfdata::text::printable;
use perftab_profile::{Profile, Unit};

use super::{Events, ExportRequest, Format};

/// Whether names came from files that do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForcedNames {
    /// None did.
    None,
    /// Some did.
    Some,
}

/// Whether code that has a name has its address, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// It has.
    Known,
    /// What is open came by a link, which leaves them out.
    LeftOut,
}

/// What of a profile will be in the file, in a few words each.
pub fn kept(request: &ExportRequest, profile: &Profile, addresses: Addresses) -> Vec<String> {
    let format = request.format;
    let with_samples = profile.events.iter().filter(|event| event.samples > 0).count();
    let is_of_frames = request.query.steps.is_empty();
    let events = || format!("{with_samples} events");
    let is_there = |is_there: bool, what: &str| is_there.then(|| what.to_owned());
    let is_several = request.events == Events::All && with_samples > 1;
    let parts = match format {
        Format::Collapsed => {
            vec![
                is_there(true, "stacks"),
                is_there(true, "process names"),
                is_there(true, "weights"),
            ]
        }
        Format::Svg => vec![is_there(true, "the flame graph that is shown")],
        Format::Speedscope => vec![
            is_there(true, "stacks"),
            is_there(true, "threads"),
            is_there(profile.first_time().is_some(), "the order of samples"),
            is_several.then(events),
        ],
        Format::Firefox => vec![
            is_there(true, "stacks"),
            is_there(true, "processes and threads"),
            is_there(profile.first_time().is_some(), "sample times"),
            is_several.then(events),
            is_there(is_of_frames, "source lines"),
            is_there(true, "build-ids"),
        ],
        Format::Pprof => vec![
            is_there(true, "stacks"),
            is_there(true, "processes and threads"),
            is_several.then(events),
            is_there(is_of_frames, "source lines"),
            is_there(is_of_frames && addresses == Addresses::Known, "addresses"),
            is_there(true, "build-ids"),
        ],
    };
    parts.into_iter().flatten().collect()
}

/// What of a profile will not be in the file or is written in another way, a sentence each.
pub fn limits(request: &ExportRequest, profile: &Profile, forced: ForcedNames) -> Vec<String> {
    let format = request.format;
    let mut limits = vec![always(format).to_owned()];
    let event = profile.event(request.query.event);
    let name = event.map_or("", |event| event.name.as_str());
    let has_time = event.is_some_and(|event| event.unit() == Unit::Ns);
    let with_samples = profile.events.iter().filter(|event| event.samples > 0).count();
    if !format.holds_events() && with_samples > 1 {
        limits.push(format!("It contains only the event {}.", printable(name)));
    }
    if format == Format::Firefox && !has_time {
        limits.push(format!("The tool shows weights of {} as samples.", printable(name)));
    }
    if format == Format::Firefox && profile.first_time().is_none() {
        limits.push("There are no times, so samples follow one after the other.".to_owned());
    }
    if matches!(format, Format::Pprof | Format::Firefox) && !request.query.steps.is_empty() {
        limits.push("Transformed stacks have no addresses and no lines.".to_owned());
    }
    if forced == ForcedNames::Some {
        limits.push(match format {
            Format::Svg => "Names of another build are marked with ≠.".to_owned(),
            _ => "Names of another build are written as [forced] name.".to_owned(),
        });
    }
    limits
}

/// What it never holds.
fn always(format: Format) -> &'static str {
    match format {
        Format::Collapsed => {
            "Collapsed stacks have no build-ids, threads, times, source lines or units."
        }
        Format::Pprof => "pprof has no sample times and no CPUs.",
        Format::Firefox => {
            "The Firefox Profiler gets no addresses and no CPUs, so unnamed code stays unnamed."
        }
        Format::Speedscope => "speedscope has no build-ids, addresses, source lines or CPUs.",
        Format::Svg => "A picture has no zoom and no search, and narrow calls are merged.",
    }
}
