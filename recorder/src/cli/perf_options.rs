//! Options of perf that perftab does not have. Those that ask for what is so anyway are accepted. Each of the
//! others is known by name, and the answer says what to do instead. Without that, clap guesses (`-- -z` for `-z`,
//! `--strict` for `--stdio`).
//!
//! A test compares the lists with what the perf of the machine has.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::Cli;
use super::perf_verbs;
use super::report::CallGraph;

/// Options of a command of perf.
struct Options {
    command: &'static str,
    /// What changes nothing here; those with a `=` have a value, those with `[=]` may have one.
    accepted: &'static str,
    /// Letters that options of ours have in this command of perf; they differ from one to the next.
    letters: &'static [(&'static str, char)],
    /// What to do instead.
    answers: &'static [(&'static str, &'static str)],
    /// The others, and what to do instead of any of them.
    others: &'static str,
    instead: &'static str,
}

const COMMANDS: &[Options] = &[
    Options {
        command: "record",
        accepted: "-v --verbose -T --timestamp -P --period --sample-identifier --timestamp-boundary -R --raw-samples \
                   --tail-synthesize --proc-map-timeout= --num-thread-synthesize= \
                   --aio[=] --affinity= --mmap-flush=",
        letters: &[],
        answers: &[
            (
                "--running-time --no-buffering",
                "perftab writes that where it matters; leave the option out",
            ),
            (
                "--kcore",
                "after the recording, run perftab buildid kcore, which keeps the kernel's code",
            ),
            ("--dry-run", "to try the options, record `true`"),
            ("-r --realtime", "begin it with chrt -f PRIORITY, or nice -n -20"),
            ("--switch-events", "--off-cpu records context switches"),
            ("--group", "write -e '{EVENT,EVENT}'"),
            (
                "--per-thread",
                "-p and -t record threads on whichever CPU they run; leave the option out",
            ),
            (
                "--timestamp-filename",
                "write -o perf.data.$(date +%Y%m%d%H%M%S), or use --switch-output",
            ),
        ],
        others: "-I --intr-regs -n --no-samples -S --snapshot -s \
                 --stat --all-cgroups --aux-sample \
                 --clang-opt --clang-path --debuginfod \
                 --no-bpf-event --off-cpu-thresh \
                 --setup-filter \
                 --switch-output-event --synth \
                 --threads \
                 --user-regs --vmlinux --latency",
        instead: "use perf record with it: perftab opens what it writes",
    },
    Options {
        command: "top",
        accepted: "-v --verbose --tui --force -w= --column-widths= --asm-raw --source --ignore-vmlinux --objdump=",
        letters: &[],
        answers: &[
            (
                "--fields --hierarchy --symbols --dsos --comms --percent-limit --percentage --show-total-period",
                "/ filters by names; or record for some seconds: perftab report has it",
            ),
            ("-f --count-filter", "use -E N"),
            (
                "-k --vmlinux --kallsyms -D --dump-symtab",
                "the symbols of the kernel that runs are read by themselves",
            ),
            (
                "-M --disassembler-style --prefix --prefix-strip --sym-annotate",
                "use perftab annotate",
            ),
            ("--ignore-callees", "use perftab report --drop"),
        ],
        others: "-b --branch-any -j --branch-filter -r --realtime --all-cgroups --demangle-kernel \
                 --group --group-sort-idx --namespaces --no-bpf-event --num-thread-synthesize --overwrite \
                 --proc-map-timeout --raw-trace --show-on-off-events --stitch-lbr --switch-off --switch-on",
        instead: "perf top has it",
    },
    Options {
        command: "report",
        accepted: "-q --quiet -f --force -v --verbose --stdio --stdio-color= --inline --demangle --ignore-vmlinux --source --asm-raw --skip-empty -w= --column-widths=",
        letters: &[("comm", 'c'), ("cpu", 'C'), ("dso", 'd')],
        answers: &[
            ("--tui --gtk", "perftab view perf.data opens the viewer in a browser"),
            ("-p --parent -x --exclude-other", "use --focus NAME"),
            ("--ignore-callees", "use --drop or --merge"),
            ("-T --threads --tasks", "use --sort comm,tid"),
            ("-I --show-info --stats --mmaps", "use perftab info"),
            ("-D --dump-raw-trace --raw-trace --samples", "use perftab script"),
            ("--symfs --kallsyms -m --modules", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
            ("--group --group-sort-idx", "--event NAME prints one event of a group"),
            ("--ns", "times are in perftab script"),
            ("-M --disassembler-style --objdump --prefix --prefix-strip", "use perftab annotate"),
        ],
        others: "--demangle-kernel --disable-order --full-source-path \
                 --itrace --percent-type --pretty --show-cpu-utilization \
                 --show-on-off-events --show-ref-call-graph --socket-filter --stitch-lbr \
                 --switch-off --switch-on --latency --parallelism --addr2line \
                 --dso-filter --no-demangle --no-source --no-asm-raw",
        instead: "perftab report --help lists what there is; --json has every column",
    },
    Options {
        command: "annotate",
        accepted: "-q --quiet -f --force -v --verbose --stdio2 --stdio-color= -l --print-line -P --full-paths --skip-missing --objdump= --demangle --asm-raw --ignore-vmlinux",
        letters: &[("cpu", 'C'), ("dso", 'd')],
        answers: &[
            ("--tui --gtk", "perftab view perf.data opens the viewer in a browser"),
            ("-D --dump-raw-trace", "use perftab script"),
            ("--percent-limit", "use --limit to see fewer functions"),
            ("--symfs -m --modules", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
        ],
        others: "--code-with-type --data-type \
                 --demangle-kernel --group --insn-stat --itrace --percent-type --show-total-period --type-stat",
        instead: "perftab annotate --help lists what there is; --json has every column",
    },
    Options {
        command: "script",
        accepted: "-q --quiet -f --force -v --verbose --inline --demangle --show-lost-events",
        letters: &[("comm", 'c'), ("cpu", 'C')],
        answers: &[
            ("-I --show-info", "use perftab info"),
            ("--symfs --kallsyms", "name the folder or file with --image"),
            ("-k", "use --vmlinux FILE"),
        ],
        others: "-a --all-cpus -d --debug-mode -D --dump-raw-trace -g --gen-script \
                 -L --Latency -l --list -s --script --addr-range \
                 --call-ret-trace --call-trace --no-demangle --demangle-kernel --dlarg \
                 --dlfilter --dump-unsorted-raw-trace --graph-function \
                 --guest-code --guestkallsyms --guestmodules --guestmount --guestvmlinux \
                 --insn-trace --itrace --list-dlfilters --max-blocks --per-event-dump \
                 --show-bpf-events --show-cgroup-events --show-kernel-path \
                 --show-mmap-events --show-namespace-events --show-on-off-events \
                 --show-round-events --show-switch-events --show-task-events \
                 --show-text-poke-events --stitch-lbr --stop-bt --switch-off --switch-on --xed \
                 --merge-callchains --addr2line",
        instead: "perf script has it, and reads the recordings of perftab",
    },
    Options {
        command: "diff",
        accepted: "-q --quiet -f --force -v --verbose",
        letters: &[("comm", 'C'), ("dso", 'd')],
        answers: &[
            ("-S --symbols", "use --focus NAME"),
            (
                "-c --compute",
                "rows have both sides and the change; --sort change, increase or decrease orders them",
            ),
            ("-s", "rows are functions; --sort orders them"),
            ("-o --order", "use --sort increase, decrease, before, after or name"),
            ("--symfs --kallsyms -m --modules", "name the folder or file with --image"),
        ],
        others: "-b --baseline-only -D --dump-raw-trace -F --formula -p \
                 --period -t --field-separator --cycles-hist --percentage --stream",
        instead: "perftab diff --help lists what there is; --json has every column",
    },
    Options {
        command: "evlist",
        accepted: "-q --quiet -f --force",
        letters: &[],
        answers: &[],
        others: "--trace-fields",
        instead: "perf evlist has it, and reads the recordings of perftab",
    },
    Options {
        command: "list",
        accepted: "-d --desc -v --long-desc --deprecated --debug --details --cputype=",
        letters: &[],
        answers: &[],
        others: "--no-desc -j --json -o --output --unit",
        instead: "perf list has it",
    },
];

/// A command line that also takes what is [accepted](Options::accepted) of perf.
pub fn accept(mut cli: Command) -> Command {
    for options in COMMANDS {
        cli = cli.mut_subcommand(options.command, |mut command| {
            for &(id, letter) in options.letters {
                command = command.mut_arg(id, |arg| arg.short(letter));
            }
            command.args(options.accepted.split_whitespace().map(without_effect))
        });
    }
    let has = |command: &Command, id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    // Cut short, `--force-mismatched` is perf's `--force`, which is something else.
    cli.mut_subcommands(|command| {
        if !has(&command, "force_mismatched") {
            return command;
        }
        // It decides as seldom as in perf, whose help does not show it: on a screen there is room for little.
        let command = command.mut_arg("buildid_dir", |arg| arg.hide(true));
        // It shows code, of which such a file has none to give.
        let command = match command.get_name() {
            "annotate" => command.mut_arg("trust_paths", |arg| arg.hide(true)),
            _ => command,
        };
        match has(&command, "--force") {
            true => command,
            false => command.arg(without_effect("--force")),
        }
    })
}

fn without_effect(option: &'static str) -> Arg {
    let name = option.trim_end_matches("[=]").trim_end_matches('=');
    let arg = Arg::new(name).hide(true);
    let arg = match (name.strip_prefix("--"), name.chars().last()) {
        (Some(long), _) => arg.long(long),
        (None, letter) => arg.short(letter),
    };
    if option.ends_with("[=]") {
        return arg.action(ArgAction::Set).num_args(0..=1).require_equals(true);
    }
    arg.action(if name == option { ArgAction::Count } else { ArgAction::Set })
}

/// Whether the command was told to say nothing but its results.
pub fn is_quiet(matches: &ArgMatches) -> bool {
    let Some((_, command)) = matches.subcommand() else { return false };
    let is_given = |id| command.value_source(id) == Some(ValueSource::CommandLine);
    command.ids().map(|id| id.as_str()).any(|id| matches!(id, "-q" | "--quiet") && is_given(id))
}

/// The arguments, where perf reads them in another way than clap: `help VERB`, `record -z6`, and `report -g` whose
/// value may be left out before the name of a recording; `-v`; `--no-pager`, `report --no-call-graph`.
pub fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    if arguments.get(1).is_some_and(|option| option == "--no-pager") {
        arguments.remove(1);
        if arguments.get(1).is_some_and(|verb| verb == "annotate") {
            arguments.insert(2, "--stdio".into());
        }
    }
    if arguments.len() == 2 && ["-v", "-V", "--version"].iter().any(|it| arguments[1] == *it) {
        arguments[1] = "version".into();
    }
    if arguments.get(1).is_some_and(|verb| verb == "help") {
        arguments.remove(1);
        // It has no help of its own, and is the beginning of another verb.
        if arguments.get(1).is_some_and(|verb| verb == "help") {
            arguments.remove(1);
        }
        arguments.push("--help".into());
    }
    if arguments.get(1).is_some_and(|verb| verb == "record") {
        write_out_levels(&mut arguments);
    }
    if arguments.get(1).is_some_and(|verb| verb == "report") {
        for place in 2..arguments.len() {
            if arguments[place] == "--no-call-graph" {
                arguments[place] = "--call-graph=none".into();
            }
            let is_call_graph = arguments[place] == "-g" || arguments[place] == "--call-graph";
            let value = arguments.get(place + 1).and_then(|value| value.to_str());
            // These are said to be elsewhere.
            let is_known = |value: &str| {
                let first = value.split(',').next().unwrap_or_default();
                matches!(first, "flat" | "folded" | "branch") || CallGraph::parse(value).is_ok()
            };
            // A report has one file: of two words the first is meant as the value.
            let is_word = |word: &OsString| !word.to_string_lossy().starts_with('-');
            let is_meant = arguments
                .get(place + 1..place + 3)
                .is_some_and(|words| words.iter().all(is_word) && !Path::new(&words[0]).exists());
            if is_call_graph && !is_meant && !value.is_some_and(is_known) {
                arguments[place] = "--call-graph=graph".into();
            }
        }
    }
    arguments
}

/// What to say of `script NAME …`, which in perf runs a script: `script flamegraph -a sleep 60`, `script report stackcollapse`.
pub fn script_answer(arguments: &[OsString], is_there: impl Fn(&str) -> bool) -> Option<String> {
    let [_, verb, name, ..] = arguments else { return None };
    let name = name.to_str().filter(|_| verb == "script")?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_script = !name.starts_with('-') && name.chars().all(is_name) && !is_there(name);
    is_script.then(|| {
        format!(
            "there is no recording {name}, and perftab runs no scripts; perf script does, and reads its recordings; \
             perftab export --to svg makes a flame graph, --to collapsed a line of each stack"
        )
    })
}

/// `-z6` as `-z=6`, but where it is of the command that is recorded.
fn write_out_levels(arguments: &mut [OsString]) {
    let cli = Cli::command();
    let record = cli.find_subcommand("record");
    let options: Vec<&Arg> = record.into_iter().flat_map(Command::get_arguments).collect();
    let has_value = |word: &str| {
        options.iter().any(|option| {
            let is_it = match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(long), _) => option.get_long() == Some(long),
                (None, Some(short)) => {
                    option.get_short().map(String::from).as_deref() == Some(short)
                }
                (None, None) => false,
            };
            is_it && option.get_action().takes_values() && !option.is_require_equals_set()
        })
    };
    let mut words = arguments.iter_mut().skip(2);
    while let Some(word) = words.next() {
        let Some(text) = word.to_str().filter(|text| text.starts_with('-') && *text != "--") else {
            return;
        };
        match text.strip_prefix("-z") {
            Some(level) if level.parse::<u32>().is_ok() => *word = format!("-z={level}").into(),
            _ if has_value(text) => drop(words.next()),
            _ => {}
        }
    }
}

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

/// What to say of a value that is no number; what Rust says of it helps nobody.
fn number_answer(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let reason = error.source()?;
    let wanted = match reason.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "a smaller number",
        Some(_) => "a whole number",
        None if reason.is::<ParseFloatError>() => "a number",
        None => return None,
    };
    Some(format!("{option}: '{value}': give {wanted}"))
}

/// Says what is wrong with the command line, and ends.
pub fn refuse(mut error: clap::Error) -> ! {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(answer) = perf_verbs::answer(verb)
    {
        crate::output::notice(answer);
        std::process::exit(2);
    }
    if let Some(answer) = number_answer(&error) {
        crate::output::notice(answer);
        std::process::exit(2);
    }
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

    use super::*;

    fn arguments(command: &str) -> [String; 2] {
        ["perftab".to_owned(), command.to_owned()]
    }

    fn ours(command: &str) -> BTreeSet<String> {
        let cli = Cli::whole_command();
        let command = cli.find_subcommand(command).expect("a command");
        let all: Vec<_> = command.get_arguments().chain(cli.get_arguments()).collect();
        let short = all.iter().filter_map(|it| it.get_short_and_visible_aliases()).flatten();
        let long = all.iter().filter_map(|it| it.get_long_and_visible_aliases()).flatten();
        let hidden = all.iter().filter_map(|it| it.get_all_aliases()).flatten();
        let long = long.chain(hidden);
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
            assert!(options.len() > 5, "perf {command} -h: {options:?}");
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
        assert_eq!(answer(&arguments("view"), "--tui"), None);
    }

    /// `--aio` stands before the command more often than before a number.
    #[test]
    fn what_changes_nothing_has_the_values_that_it_has_in_perf() {
        for options in ["--aio", "--aio=4 --affinity=cpu", "--affinity node --mmap-flush 16M"] {
            let line = format!("perftab record {options} true");
            let read = Cli::whole_command().try_get_matches_from(line.split(' ')).expect(options);
            let (_, read) = read.subcommand().expect("a command");
            let command: Vec<_> = read.get_many::<OsString>("command").expect("it").collect();
            assert_eq!(command, ["true"], "{options}");
        }
    }

    #[test]
    fn what_perf_can_turn_off_is_known_too() {
        let said = |command, option| answer(&arguments(command), option).expect(option);
        for (command, option) in [
            ("script", "--no-demangle"),
            ("report", "--no-demangle"),
            ("report", "--no-source"),
            ("record", "--debuginfod"),
            ("record", "--no-debuginfod"),
        ] {
            let does_not = format!("perftab {command} does not have {option} of perf; ");
            assert!(said(command, option).starts_with(&does_not), "{}", said(command, option));
        }
        assert_eq!(answer(&arguments("report"), "--no-such-thing"), None);
    }

    #[test]
    fn a_value_that_is_no_number_is_said_in_words() {
        let said = |line: &str| {
            let error = Cli::whole_command().try_get_matches_from(line.split(' ')).expect_err(line);
            number_answer(&error)
        };
        let whole = "--pid <PID,…>: 'x': give a whole number";
        assert_eq!(said("perftab report --pid x").as_deref(), Some(whole));
        let float = "--percent-limit <PERCENT>: 'x': give a number";
        assert_eq!(said("perftab report --percent-limit x").as_deref(), Some(float));
        let large = "--limit <N>: '18446744073709551616': give a smaller number";
        assert_eq!(said("perftab diff --limit 18446744073709551616").as_deref(), Some(large));
        let delay = "--delay <MS>: '1s': give a whole number";
        assert_eq!(said("perftab record -D 1s true").as_deref(), Some(delay));
        // These say what they want.
        assert_eq!(said("perftab record -p x"), None);
        assert_eq!(said("perftab report --no-such-thing"), None);
    }

    #[test]
    fn a_file_is_no_command() {
        let line = ["perftab", "--strict", "report", "record", "--tui"].map(str::to_owned);
        let said = answer(&line, "--tui").expect("an option of perf report");
        assert!(said.starts_with("perftab report does not have --tui"), "{said}");
    }

    #[test]
    fn scripts_of_perf_are_told_from_recordings() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            script_answer(&words, |name| name == "recording")
        };
        for line in ["flamegraph -a -F 99 sleep 60", "report stackcollapse", "syscall-counts"] {
            let said = said(&format!("perftab script {line}")).expect(line);
            assert!(said.contains("perftab runs no scripts; perf script does"), "{said}");
        }
        for line in ["script perf.data", "script recording", "script -F ip", "script", "report x"] {
            assert_eq!(said(&format!("perftab {line}")), None, "{line}");
        }
    }

    #[test]
    fn force_is_not_taken_for_names_of_another_build() {
        for command in ["info", "export", "share", "report"] {
            let line = ["perftab", command, "--force", "--to", "svg", "perf.data"];
            let line = line.iter().filter(|word| command == "export" || !word.contains("svg"));
            let line = line.filter(|word| command == "export" || **word != "--to");
            let read = Cli::whole_command().try_get_matches_from(line).expect(command);
            let (_, read) = read.subcommand().expect("a command");
            let forced = read.value_source("force_mismatched");
            assert_ne!(forced, Some(ValueSource::CommandLine), "{command}");
        }
    }

    #[test]
    fn what_perf_reads_otherwise_is_rewritten() {
        let read = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            let read = super::arguments(words).into_iter();
            let read = read.map(|word| word.into_string().expect("UTF-8"));
            read.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(read("perftab help report"), "perftab report --help");
        assert_eq!(read("perftab help"), "perftab --help");
        assert_eq!(read("perftab help help"), "perftab --help");
        for option in ["-v", "-V", "--version"] {
            assert_eq!(read(&format!("perftab {option}")), "perftab version");
        }
        assert_eq!(read("perftab --no-pager report --stdio"), "perftab report --stdio");
        assert_eq!(read("perftab --no-pager annotate main"), "perftab annotate --stdio main");
        for (given, meant) in [
            ("-g", "--call-graph=graph"),
            ("-g perf.data", "--call-graph=graph perf.data"),
            ("-g caller perf.data", "-g caller perf.data"),
            ("-g graph,0.5,callee", "-g graph,0.5,callee"),
            ("-g --stdio", "--call-graph=graph --stdio"),
            ("-g nonsense perf.data", "-g nonsense perf.data"),
            ("-g perf.data --stdio", "--call-graph=graph perf.data --stdio"),
            ("--no-children --no-call-graph", "--no-children --call-graph=none"),
        ] {
            assert_eq!(read(&format!("perftab report {given}")), format!("perftab report {meant}"));
        }
        for (given, meant) in [
            ("-g ./caller", "-g ./caller"),
            ("-z -g ./caller", "-z -g ./caller"),
            ("-F 99 -z6 -o -z3 -g ./caller -z3", "-F 99 -z=6 -o -z3 -g ./caller -z3"),
            ("--freq 99 -z22 -- -z3", "--freq 99 -z=22 -- -z3"),
        ] {
            assert_eq!(read(&format!("perftab record {given}")), format!("perftab record {meant}"));
        }
    }
}
