//! `perftab list`: the events of this machine, named and printed as `perf list` does.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::ListEventsArgs;
use crate::output::{self, Outcome, Results, printable};
use crate::record::events;

/// Where kernels have their tracepoints.
const TRACEPOINTS: [&str; 2] = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"];
const PMUS: &str = "/sys/bus/event_source/devices";

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hardware,
    Software,
    Pmu,
    Tracepoint,
    /// Of a function that the user names.
    Probe,
    /// That the authors of a program put into it.
    Static,
}

/// How probes of functions are written.
const PROBES: [&str; 2] =
    ["uprobe:/path/of/program:function[+OFFSET]", "uretprobe:/path/of/program:function"];

impl Kind {
    const ALL: [Self; 6] =
        [Self::Hardware, Self::Software, Self::Pmu, Self::Tracepoint, Self::Probe, Self::Static];

    /// As perf calls it.
    fn title(self) -> &'static str {
        match self {
            Self::Hardware => "Hardware event",
            Self::Software => "Software event",
            Self::Pmu => "Kernel PMU event",
            Self::Tracepoint => "Tracepoint event",
            Self::Probe => "Probe of a function",
            Self::Static => "SDT event",
        }
    }

    /// What asks for all of this kind.
    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "hw" | "hardware" => Self::Hardware,
            "sw" | "software" => Self::Software,
            "pmu" => Self::Pmu,
            "tracepoint" => Self::Tracepoint,
            "uprobe" => Self::Probe,
            "sdt" => Self::Static,
            _ => return None,
        })
    }

    /// In the order in which they are printed. What this user may not read is left out, which is said.
    fn events(self) -> Vec<String> {
        match self {
            Self::Hardware if !has_hardware_counters() => Vec::new(),
            Self::Hardware => events::hardware_names(),
            Self::Software => events::software_names(),
            Self::Pmu => pmu_events(),
            Self::Tracepoint => tracepoints().unwrap_or_else(|error| {
                output::notice(format_args!("{}: {error}; root can read it", TRACEPOINTS[0]));
                Vec::new()
            }),
            Self::Probe => PROBES.map(str::to_owned).into(),
            Self::Static => events::listed_static_probes(),
        }
    }
}

/// Prints events by kind and name.
pub fn run(args: &ListEventsArgs) -> anyhow::Result<Outcome> {
    let mut results = Results::new();
    if let [first, files @ ..] = args.what.as_slice()
        && Kind::of_word(first) == Some(Kind::Static)
        && !files.is_empty()
    {
        for file in files {
            let names = events::static_probes_of(Path::new(file))?;
            if names.is_empty() {
                output::notice(format_args!("{file} has no SDT probes"));
            }
            for name in names {
                write_name(&mut results, &name, Kind::Static)?;
            }
        }
        results.flush()?;
        return Ok(Outcome::Complete);
    }
    let mut is_first = true;
    for kind in Kind::ALL {
        let is_meant = |name: &String| {
            let means = |word: &String| match Kind::of_word(word) {
                Some(asked) => asked == kind,
                None => name.split(" OR ").any(|name| is_matched(name, word)),
            };
            args.what.is_empty() || args.what.iter().any(means)
        };
        let kinds = args.what.iter().map(|word| Kind::of_word(word));
        if !args.what.is_empty() && kinds.clone().all(|it| it.is_some_and(|it| it != kind)) {
            continue;
        }
        let names: Vec<String> = kind.events().into_iter().filter(is_meant).collect();
        if !names.is_empty() && !std::mem::take(&mut is_first) {
            writeln!(results)?;
        }
        for name in names {
            write_name(&mut results, &name, kind)?;
        }
    }
    let asks_for_hardware = args.what.iter().any(|it| Kind::of_word(it) == Some(Kind::Hardware));
    if asks_for_hardware && !has_hardware_counters() {
        output::notice(
            "this machine counts no hardware events, like most virtual machines; cpu-clock takes samples without them",
        );
    } else if is_first {
        output::notice(format_args!("no event of this machine matches {}", args.what.join(" or ")));
    }
    results.flush()?;
    Ok(Outcome::Complete)
}

fn write_name(results: &mut Results, name: &str, kind: Kind) -> io::Result<()> {
    writeln!(results, "  {:<50} [{}]", printable(name), kind.title())
}

/// As perf has it: a word without `*` and `?` may be anywhere in the name.
fn is_matched(name: &str, word: &str) -> bool {
    match word.contains(['*', '?']) {
        true => matches_glob(name.as_bytes(), word.as_bytes()),
        false => name.contains(word),
    }
}

/// `*` is any text and `?` any character. Goes back to the last `*` only, so that no pattern takes long.
fn matches_glob(text: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut place, mut star) = (0, 0, None);
    while at < text.len() {
        match pattern.get(place) {
            Some(b'*') => {
                star = Some((place, at));
                place += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[at] => {
                place += 1;
                at += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                place = star_at + 1;
                at = taken + 1;
            }
        }
    }
    pattern[place..].iter().all(|&byte| byte == b'*')
}

/// A virtual machine mostly has none.
fn has_hardware_counters() -> bool {
    let is_of_cpu = |name: &String| name.starts_with("cpu") || name.starts_with("armv");
    names_in(Path::new(PMUS)).is_ok_and(|names| names.iter().any(is_of_cpu))
}

/// `PMU/EVENT/`
fn pmu_events() -> Vec<String> {
    let pmus = names_in(Path::new(PMUS)).unwrap_or_default();
    let of = |pmu: &String| {
        let events = names_in(&Path::new(PMUS).join(pmu).join("events")).unwrap_or_default();
        // `EVENT.scale` and `EVENT.unit` say something of an event.
        let events = events.into_iter().filter(|event| !event.contains('.'));
        events.map(|event| format!("{pmu}/{event}/")).collect::<Vec<_>>()
    };
    pmus.iter().flat_map(of).collect()
}

/// `SUBSYSTEM:EVENT`
fn tracepoints() -> io::Result<Vec<String>> {
    let mut found = names_in(Path::new(TRACEPOINTS[0])).map(|names| (TRACEPOINTS[0], names));
    if !found.as_ref().is_ok_and(|(_, names)| !names.is_empty())
        && let Ok(names) = names_in(Path::new(TRACEPOINTS[1]))
    {
        found = Ok((TRACEPOINTS[1], names));
    }
    let (root, subsystems) = found?;
    let mut events = Vec::new();
    for subsystem in subsystems {
        let folder = Path::new(root).join(&subsystem);
        for event in names_in(&folder).unwrap_or_default() {
            if folder.join(&event).join("id").is_file() {
                events.push(format!("{subsystem}:{event}"));
            }
        }
    }
    Ok(events)
}

/// Sorted; a file has none.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    if folder.is_file() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_patterns_or_parts_of_names() {
        for word in ["sched:*", "*switch", "sched:sched_?witch", "switch", "*:*_*", "*"] {
            assert!(is_matched("sched:sched_switch", word), "{word}");
        }
        for word in ["sched", "?", "*x", "sched:sched_switch*?"] {
            assert!(!is_matched("raw:x_y", word), "{word}");
        }
    }
}
