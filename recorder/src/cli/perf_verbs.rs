//! Commands of perf that perftab does not have: what to use instead, and what of perftab comes nearest.

/// Each with a line.
const VERBS: &[(&str, &str)] = &[
    ("archive", "perftab buildid archive packs the binaries of a recording"),
    ("bench", "perf bench measures the kernel; perftab measures nothing of its own"),
    (
        "buildid-cache",
        "perftab buildid add, remove, update, missing and purge work on the same cache",
    ),
    ("buildid-list", "perftab buildid list prints the same"),
    (
        "c2c",
        "use perf c2c; perftab report --mem-mode --sort symbol_daddr,snoop shows the data of its recording",
    ),
    ("config", "edit ~/.perfconfig, which perftab reads"),
    ("daemon", "start perftab record -a --duration TIME from systemd or cron"),
    ("data", "perftab export writes recordings in other formats"),
    ("ftrace", "use perf ftrace; perftab record -g samples the functions of the kernel"),
    (
        "inject",
        "perftab report needs none: it reads jitdumps with --image; perftab record writes build-ids, and with --off-cpu how \
         long threads slept (-s)",
    ),
    ("iostat", "use perf iostat; perftab counts nothing without samples"),
    ("kallsyms", "perftab report names kernel functions by itself"),
    ("kmem", "use perf kmem; perftab opens its recording: perftab script perf.data"),
    ("kvm", "use perf kvm; perftab opens its recording"),
    ("kwork", "use perf kwork; perftab opens its recording: perftab script perf.data"),
    ("lock", "use perf lock; perftab opens its recording: perftab script perf.data"),
    ("mem", "record with perf mem record; perftab report --mem-mode shows it"),
    (
        "probe",
        "perftab record -e uprobe:FILE:FUNCTION makes a probe for as long as it records, and -e probe:NAME takes one that \
         perf probe made",
    ),
    (
        "sched",
        "perftab record --off-cpu -g shows where threads wait; perf sched has latency, timehist and map",
    ),
    (
        "stat",
        "use perf stat; the nearest is perftab record, then perftab info, which has the sum of each event",
    ),
    ("test", "use perf test, which tests perf"),
    ("timechart", "perftab view shows threads over time, of any recording"),
    ("trace", "use perf trace or strace; perftab script prints the tracepoints of a recording"),
];

/// What to say of a verb of perf; `None` if it is none.
pub fn answer(verb: &str) -> Option<String> {
    let (_, instead) = VERBS.iter().find(|(name, _)| *name == verb)?;
    Some(format!("perftab does not have the command {verb} of perf; {instead}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_verb_of_this_machines_perf_is_there_or_has_an_answer() {
        let cli = Cli::command();
        for (verb, _) in VERBS {
            assert!(cli.find_subcommand(verb).is_none(), "{verb}");
        }
        let Ok(help) = std::process::Command::new("perf").arg("--help").output() else {
            println!("SKIPPED: every_verb_of_this_machines_perf: perf is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        let verbs = text.lines().filter(|line| line.starts_with("   "));
        let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
        assert!(verbs.len() > 20, "{text}");
        for verb in verbs {
            assert!(cli.find_subcommand(verb).is_some() || answer(verb).is_some(), "{verb}");
        }
    }
}
