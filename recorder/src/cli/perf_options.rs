//! Options of perf that perftab does not have: each is known by name, and the answer says what to do
//! instead. Without that, clap guesses (`-- -z` for `-z`, `--strict` for `--stdio`).
//!
//! A test compares the lists with what the perf of the machine has.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of a command of perf and what to do instead.
struct Options {
    command: &'static str,
    answers: &'static [(&'static str, &'static str)],
    /// The others, and what to do instead of any of them.
    others: &'static str,
    instead: &'static str,
}

const COMMANDS: &[Options] = &[
    Options {
        command: "record",
        answers: &[
            (
                "-z --compression-level",
                "compress the file afterwards: perftab opens perf.data.zst and perf.data.gz",
            ),
            (
                "-T --timestamp -P --period --sample-cpu --sample-identifier --running-time \
                 --timestamp-boundary --no-buffering",
                "perftab writes that where it matters; leave the option out",
            ),
            ("-k --clockid", "the clock is CLOCK_MONOTONIC, as with -k mono; leave the option out"),
            ("-v --verbose", "perftab says what matters without it; leave the option out"),
            ("--all-user", "add :u to the event, as in -e cycles:u"),
            ("--all-kernel", "add :k to the event, as in -e cycles:k"),
            (
                "--kcore",
                "after the recording, run perftab buildid kcore, which keeps the kernel's code",
            ),
            ("--max-size", "use --duration to limit the recording"),
            ("--dry-run", "to try the options, record `true`"),
        ],
        others: "-b --branch-any -d --data -D --delay -G --cgroup -I --intr-regs -i --no-inherit \
                 -j --branch-filter -n --no-samples -R --raw-samples -r --realtime -S --snapshot -s \
                 --stat -u --uid -W --weight --affinity --aio --all-cgroups --aux-sample \
                 --clang-opt --clang-path --code-page-size --control --data-page-size --debuginfod \
                 --exclude-perf --filter --group --kernel-callchains --mmap-flush --namespaces \
                 --no-bpf-event --num-thread-synthesize --off-cpu-thresh --overwrite \
                 --per-thread --phys-data --proc-map-timeout --setup-filter --strict-freq \
                 --switch-events --switch-max-files --switch-output --switch-output-event --synth \
                 --tail-synthesize --threads --timestamp-filename --transaction --user-callchains \
                 --user-regs --vmlinux --latency",
        instead: "use perf record with it: perftab opens what it writes",
    },
    Options {
        command: "report",
        answers: &[
            ("-i --input", "name the recording without it: perftab report perf.data"),
            ("--stdio --stdio-color", "the report is always text; leave the option out"),
            ("--tui", "perftab view perf.data opens the viewer in a browser"),
            (
                "-g --call-graph",
                "call trees are in perftab view; --children sorts the report by total",
            ),
            ("-d --dsos", "use --dso NAME"),
            ("-c --comms", "use --comm NAME"),
            ("-C", "use --cpu LIST"),
            ("-S --symbols --symbol-filter -p --parent -x --exclude-other", "use --focus NAME"),
            ("--ignore-callees", "use --drop or --merge"),
            ("-T --threads --tasks", "use --sort comm,tid"),
            ("--percent-limit", "use --limit to show fewer rows"),
            ("--header --header-only -I --show-info --stats --mmaps", "use perftab info"),
            ("-D --dump-raw-trace --raw-trace --samples", "use perftab script"),
            ("--symfs --kallsyms -m --modules", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
            ("-q --quiet -v --verbose -f --force", "leave the option out"),
        ],
        others: "-M --disassembler-style -n --show-nr-samples -t --field-separator -U \
                 --hide-unresolved -w --column-widths --asm-raw --demangle --demangle-kernel \
                 --disable-order --full-source-path --group --group-sort-idx --hierarchy \
                 --ignore-vmlinux --inline --itrace --max-stack --ns --objdump \
                 --percent-type --percentage --prefix --prefix-strip --pretty \
                 --show-cpu-utilization --show-on-off-events --show-ref-call-graph \
                 --show-total-period --skip-empty --socket-filter --source --stitch-lbr \
                 --switch-off --switch-on --time-quantum --latency --parallelism --addr2line \
                 --dso-filter --gtk",
        instead: "perftab report --help lists what there is; --json has every column",
    },
    Options {
        command: "annotate",
        answers: &[
            ("-i --input", "name the recording without it: perftab annotate perf.data main"),
            ("--stdio2 --stdio-color", "the output is always text; leave the option out"),
            ("--tui", "perftab view perf.data opens the viewer in a browser"),
            ("-d --dsos", "use --dso NAME"),
            ("-C", "use --cpu LIST"),
            ("-D --dump-raw-trace", "use perftab script"),
            ("--percent-limit", "use --limit to see fewer functions"),
            ("--symfs -m --modules", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
            (
                "-l --print-line -P --full-paths --skip-missing --objdump -q --quiet -v --verbose -f \
                 --force",
                "leave the option out",
            ),
        ],
        others: "-M --disassembler-style -n --show-nr-samples --asm-raw --code-with-type \
                 --data-type --demangle --demangle-kernel --group --gtk \
                 --ignore-vmlinux --insn-stat --itrace --percent-type --show-total-period --type-stat",
        instead: "perftab annotate --help lists what there is; --json has every column",
    },
    Options {
        command: "script",
        answers: &[
            ("-i --input", "name the recording without it: perftab script perf.data"),
            ("--header --header-only -I --show-info", "use perftab info"),
            ("--symfs --kallsyms", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
            ("-v --verbose -f --force --ns --inline --show-lost-events", "leave the option out"),
            (
                "-c --comms --pid --tid -C --cpu --time -S --symbols --dsos",
                "perftab report filters by it; perftab script prints every sample",
            ),
        ],
        others: "-a --all-cpus -d --debug-mode -D --dump-raw-trace -g --gen-script -G \
                 --hide-call-graph -L --Latency -l --list -s --script --addr-range \
                 --call-ret-trace --call-trace --deltatime --demangle --demangle-kernel --dlarg \
                 --dlfilter --dump-unsorted-raw-trace --graph-function \
                 --guest-code --guestkallsyms --guestmodules --guestmount --guestvmlinux \
                 --insn-trace --itrace --list-dlfilters --max-blocks --max-stack --per-event-dump \
                 --reltime --show-bpf-events --show-cgroup-events --show-kernel-path \
                 --show-mmap-events --show-namespace-events --show-on-off-events \
                 --show-round-events --show-switch-events --show-task-events \
                 --show-text-poke-events --stitch-lbr --stop-bt --switch-off --switch-on --xed \
                 --merge-callchains --addr2line",
        instead: "perf script has it, and reads the recordings of perftab",
    },
    Options {
        command: "diff",
        answers: &[
            ("-d --dsos", "use --dso NAME"),
            ("-C --comms", "use --comm NAME"),
            ("-S --symbols", "use --focus NAME"),
            ("-s", "use --sort KEY"),
            ("--symfs --kallsyms -m --modules", "name the folder or file with --image"),
            ("-q --quiet -v --verbose -f --force", "leave the option out"),
        ],
        others: "-b --baseline-only -c --compute -D --dump-raw-trace -F --formula -o --order -p \
                 --period -t --field-separator --cycles-hist --percentage --stream",
        instead: "perftab diff --help lists what there is; --json has every column",
    },
];

/// What to say of an argument that is not known, to the command of these arguments.
fn answer(arguments: &[String], unknown: &str) -> Option<String> {
    // Only a command has words that are no options: a file may be called `record`.
    let command = arguments.iter().skip(1).find(|word| !word.starts_with('-'))?;
    // `--fields=ip` and `-Fip` are these options, too.
    let unknown = unknown.split('=').next().unwrap_or(unknown);
    let options = COMMANDS.iter().find(|it| it.command == command)?;
    let is_in =
        |list: &str| list.split_whitespace().any(|it| without_no(it) == without_no(unknown));
    let special = options.answers.iter().find(|(list, _)| is_in(list)).map(|(_, what)| *what);
    let instead = special.or_else(|| is_in(options.others).then_some(options.instead))?;
    Some(format!("perftab {command} does not have {unknown} of perf; {instead}"))
}

/// perf has an option `--no-X` for each `--X`, and the other way round.
fn without_no(option: &str) -> &str {
    let long = option.strip_prefix("--");
    long.map_or(option, |name| name.strip_prefix("no-").unwrap_or(name))
}

/// Says what is wrong with the command line, and ends.
pub fn refuse(mut error: clap::Error) -> ! {
    if error.kind() == ErrorKind::UnknownArgument {
        let unknown = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(unknown)) => unknown.clone(),
            _ => String::new(),
        };
        let arguments: Vec<String> =
            std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
        if let Some(answer) = answer(&arguments, &unknown) {
            crate::output::notice(answer);
            std::process::exit(2);
        }
        // The tip to write `-- -z` passes an option to nobody.
        error.insert(ContextKind::Suggested, ContextValue::None);
    }
    error.exit()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn arguments(command: &str) -> [String; 2] {
        ["perftab".to_owned(), command.to_owned()]
    }

    fn ours(command: &str) -> BTreeSet<String> {
        let cli = Cli::command();
        let command = cli.find_subcommand(command).expect("a command");
        let all: Vec<_> = command.get_arguments().chain(cli.get_arguments()).collect();
        let short = all.iter().filter_map(|it| it.get_short_and_visible_aliases()).flatten();
        let long = all.iter().filter_map(|it| it.get_long_and_visible_aliases()).flatten();
        short.map(|it| format!("-{it}")).chain(long.map(|it| format!("--{it}"))).collect()
    }

    #[test]
    fn what_perftab_has_is_not_said_to_be_absent() {
        for options in COMMANDS {
            let ours = ours(options.command);
            let answers = options.answers.iter().map(|(list, _)| *list).chain([options.others]);
            for option in answers.flat_map(str::split_whitespace) {
                assert!(!ours.contains(option), "{} {option}", options.command);
            }
        }
    }

    #[test]
    fn every_option_of_this_machines_perf_is_there_or_has_an_answer() {
        for Options { command, .. } in COMMANDS {
            let Ok(help) = std::process::Command::new("perf").args([command, "-h"]).output() else {
                println!("SKIPPED: every_option_of_this_machines_perf: perf is not installed");
                return;
            };
            let help = [help.stdout, help.stderr].concat();
            let help = String::from_utf8_lossy(&help);
            let words = help.lines().filter(|line| line.starts_with("    ")).flat_map(|line| {
                let line = line.trim_start();
                let first = line.split(' ').next().unwrap_or_default();
                let second = line.split(", ").nth(1).and_then(|it| it.split([' ', '[']).next());
                let first = first.trim_end_matches(',').split('[').next();
                let second = second.filter(|_| line.starts_with('-'));
                [first, second.filter(|it| it.starts_with("--"))].into_iter().flatten()
            });
            let options: BTreeSet<&str> = words.filter(|it| it.starts_with('-')).collect();
            assert!(options.len() > 20, "perf {command} -h: {options:?}");
            let ours = ours(command);
            let unknown: Vec<&&str> = options
                .iter()
                .filter(|it| !ours.contains(**it) && answer(&arguments(command), it).is_none())
                .collect();
            assert!(unknown.is_empty(), "perf {command} has {unknown:?}");
        }
    }

    #[test]
    fn values_belong_to_their_option() {
        let said = answer(&arguments("record"), "--off-cpu-thresh=500").expect("an option of perf");
        assert_eq!(
            said,
            "perftab record does not have --off-cpu-thresh of perf; use perf record with it: perftab \
             opens what it writes"
        );
        assert_eq!(answer(&arguments("record"), "--off-cup"), None);
        assert_eq!(answer(&arguments("view"), "--stdio"), None);
    }

    #[test]
    fn what_perf_can_turn_off_is_known_too() {
        let said = |command, option| answer(&arguments(command), option).expect(option);
        for (command, option) in [
            ("script", "--no-inline"),
            ("report", "--no-demangle"),
            ("report", "--no-source"),
            ("record", "--inherit"),
            ("record", "--no-inherit"),
        ] {
            let does_not = format!("perftab {command} does not have {option} of perf; ");
            assert!(said(command, option).starts_with(&does_not), "{}", said(command, option));
        }
        assert_eq!(answer(&arguments("report"), "--no-such-thing"), None);
    }

    #[test]
    fn a_file_is_no_command() {
        let line = ["perftab", "--strict", "report", "record", "--stdio"].map(str::to_owned);
        let said = answer(&line, "--stdio").expect("an option of perf report");
        assert!(said.starts_with("perftab report does not have --stdio"), "{said}");
    }
}
