//! `perftab report` and `perf report` agree on one recording for the same question: filters, sort
//! keys, callees counted in, callers below. To the sample and the last digit of the weight.
//!
//! perf adds filtered samples to a row that others are in too unless a sort key tells them apart, so
//! it is asked for all keys that a filter could be about, and its rows are added up here. What has no
//! name is compared by DSO (see `report_like_perf.rs`).
//!
//! perf looks a return address up as it is, so that a call which is the last instruction of a function
//! is the next function's. That happens in the kernel and in the dynamic linker's `_start`, so callers
//! are compared in the program and in libc. About one recording of a hundred has a sample that perf
//! names wrongly in these, too; it is made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::report_like_perf::{perf_names_otherwise, without_version};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_at;
use perftab_tests::program::{TASKS, compile, is_installed};
use serde_json::Value;

/// Samples and weight by the texts of a row.
type Rows = BTreeMap<Vec<String>, (u64, u64)>;

struct RecordedProgram {
    folder: TestFolder,
    recording: PathBuf,
}

/// What a recording was made by. perf notes CPUs if asked to, but where it notes build-ids as files
/// are mapped it does not note when the first and the last sample were, which it asks for later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordedWith {
    Perf,
    Perftab,
}

impl RecordedProgram {
    /// `None` if perf is not installed.
    fn new(test: &str, by: RecordedWith) -> Option<Self> {
        if !is_installed(test, "perf") {
            return None;
        }
        let folder = TestFolder::new();
        let id = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
        let program = compile(&folder, "workload", id, TASKS);
        let recording = folder.join("perf.data");
        let event = ["record", "-e", "cpu-clock", "-F", "1999", "-g"];
        let mut command = match by {
            RecordedWith::Perftab => perftab_at(&folder, &event),
            RecordedWith::Perf => {
                let mut command = Command::new("perf");
                let arguments = ["-q", "--sample-cpu", "--buildid-mmap"];
                command.args(event).args(arguments).env("HOME", &*folder);
                command
            }
        };
        command.arg("-o").arg(&recording).arg("--").arg(&program);
        let recorded = Self { folder, recording };
        for _ in 0..10 {
            let output = until_the_kernel_lets(&mut command).expect("the recorder runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "recording fails: {stderr}");
            if !recorded.has_what_perf_misnames() {
                return Some(recorded);
            }
        }
        panic!("perf misnames something in each of ten recordings");
    }

    /// Whether perf has the first byte of a function for a caller, which no call returns to: a frame
    /// of the dynamic linker may hold the address that it has just found. Or `_init`, by which perf
    /// knows the first entry of the program's PLT.
    fn has_what_perf_misnames(&self) -> bool {
        let output = Command::new("perf")
            .args(["script", "--no-inline", "-F", "ip,sym,symoff,dso", "-i"])
            .arg(&self.recording)
            .env("HOME", &*self.folder)
            .ended()
            .expect("perf runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_compared = |line: &str| line.ends_with("/workload)") || line.contains("/libc.");
        // What the kernel interrupted may be at its first byte, as on a busy machine it often is.
        let is_caller = |below: &str| !below.is_empty() && !below.ends_with("([kernel.kallsyms])");
        let is_caller_at_its_start =
            |pair: &[&str]| is_caller(pair[0]) && pair[1].contains("+0x0 ");
        lines.windows(2).any(|pair| {
            is_compared(pair[1]) && (pair[1].contains(" _init+") || is_caller_at_its_start(pair))
        })
    }

    /// What `perftab report --json` says.
    fn ours(&self, arguments: &[&str]) -> Value {
        let arguments = [&["report", "--json", "--no-inline"], arguments].concat();
        let output = perftab_at(&self.folder, &arguments).arg(&self.recording).ended();
        let output = output.expect("perftab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Lines of `perf report`.
    fn perfs(&self, arguments: &[&str]) -> Vec<String> {
        let output = Command::new("perf")
            .args(["report", "--stdio", "--no-inline", "-t", "|", "-i"])
            .arg(&self.recording)
            .args(arguments)
            .env("HOME", &*self.folder)
            .ended()
            .expect("perf runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Rows of perf by `keys`, after filters. Those that `more` tells apart are added up.
    fn perf_rows(&self, filters: &[&str], keys: &[&str]) -> Rows {
        const MORE: [&str; 4] = ["comm", "pid", "cpu", "dso"];
        let more = MORE.iter().filter(|more| !keys.contains(more));
        let fields: Vec<&str> =
            ["sample", "period"].iter().chain(keys).chain(more).copied().collect();
        let fields = fields.join(",");
        let asked = [&["--no-children", "-g", "none", "-F", &fields], filters].concat();
        let mut rows = Rows::new();
        for line in self.perfs(&asked) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let texts = cells[2..].iter().zip(keys).map(|(cell, key)| perf_text(key, cell));
            add(&mut rows, texts.collect(), number(cells[0]), number(cells[1]));
        }
        rows
    }

    /// How many samples a filter leaves: the same functions as in perf.
    fn left_by(&self, filter: &[&str], all: usize) -> u64 {
        let report = self.ours(filter);
        let ours = our_rows(&report, "functions", &["dso", "name"]);
        let perfs = self.perf_rows(filter, &["dso", "sym"]);
        assert_same(&ours, &perfs, filter);
        let samples: u64 = perfs.values().map(|(samples, _)| samples).sum();
        assert_eq!(report["samples"].as_u64(), Some(samples), "{filter:?}");
        assert_eq!(report["all_samples"].as_u64(), Some(all as u64));
        samples
    }

    /// What a command prints; it succeeds.
    fn printed(&self, command: &mut Command) -> Vec<String> {
        let output = command.env("HOME", &*self.folder).ended().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::to_owned).collect()
    }

    /// The tree on the terminal, from `main` on: samples of each way are those of perf's chains that begin so.
    fn has_perfs_call_tree(&self) {
        let mut perfs = Rows::new();
        let asked = ["--no-children", "-g", "folded,0,caller,function,count", "-F", "sample,sym"];
        for line in self.perfs(&asked) {
            let way = line.split_once(' ').filter(|_| !line.starts_with(' '));
            let Some((count, way)) = way else { continue };
            let names: Vec<&str> = way.split('|').map(named).collect();
            let main = names.iter().position(|name| *name == "main").unwrap_or(names.len());
            // perf looks callers in the kernel up where they return to.
            let rest = &names[main..];
            let ways_in = rest.iter().position(|name| name.starts_with("asm_"));
            let ways_in = ways_in.or(rest.iter().position(|name| name.starts_with("entry_")));
            for end in 1..=ways_in.unwrap_or(rest.len()) {
                let texts = rest[..end].iter().map(|name| (*name).to_owned()).collect();
                add(&mut perfs, texts, count.parse().expect("a number"), 0);
            }
        }
        let mut tree = perftab_at(
            &self.folder,
            &["report", "--stdio", "-q", "--no-inline", "-g", "graph,0,caller,count", "-i"],
        );
        let (mut ours, mut path) = (Rows::new(), Vec::new());
        for line in self.printed(tree.arg(&self.recording)) {
            // `  1,234   `, two blanks a level, name, DSO
            let text = line.trim_start();
            let (count, rest) = text.split_once("   ").expect("a count");
            let name = rest.trim_start();
            let level = (rest.len() - name.len()) / 2;
            path.truncate(level);
            path.push(named(name.split("  ").next().expect("a name")).to_owned());
            let main = path.iter().position(|name| name == "main");
            let is_kernel = name.ends_with("[kernel.kallsyms]");
            if let Some(main) = main.filter(|_| !is_kernel) {
                let count = count.replace(',', "").parse().expect("a number");
                add(&mut ours, path[main..].to_vec(), count, 0);
            }
        }
        // Names of stubs and of what is chosen at load time differ, and so do ways through these.
        let is_named = |way: &Vec<String>, _: &mut (u64, u64)| !way.iter().any(|it| it == NO_NAME);
        ours.retain(is_named);
        perfs.retain(is_named);
        assert_same(&ours, &perfs, &asked);
        assert!(ours.len() > 2, "{ours:?}");
    }

    /// Chosen fields are printed as perf prints them, to the blank.
    fn prints_perfs_fields(&self) {
        for options in [
            &["-F", "comm,tid,time,event"][..],
            &["-F", "comm,pid,tid,cpu,time,period,event"],
            &["--ns", "-F", "pid,time"],
            &["-F", "comm,tid,time", "--comm", "worker"],
            &["-F", "comm,tid,time", "-S", "work,descend"],
            &["-F", "comm,tid,cpu,time", "-C", "0"],
            &["--reltime", "-F", "comm,tid,time", "--comm", "worker"],
            &["--deltatime", "--ns", "-F", "comm,tid,time"],
        ] {
            let mut perf = Command::new("perf");
            let perfs =
                self.printed(perf.args(["script", "-i"]).arg(&self.recording).args(options));
            let mut ours = perftab_at(&self.folder, &[&["script"], options].concat());
            let ours = self.printed(ours.arg("-i").arg(&self.recording));
            for (ours, perfs) in ours.iter().zip(&perfs) {
                assert_eq!(ours, perfs, "{options:?}");
            }
            assert_eq!(ours.len(), perfs.len(), "{options:?}");
        }
        // With call chains a line for each word. Names of callers may differ (see above).
        let options = ["script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,dso", "-i"];
        let mut perf = Command::new("perf");
        let perfs = self.printed(perf.args(options).arg(&self.recording));
        let ours = self.printed(perftab_at(&self.folder, &options).arg(&self.recording));
        // Around an exec perf has words in the program after it.
        let is_known = |(ours, _): &(&String, &String)| !ours.ends_with("([unknown])");
        for (ours, perfs) in ours.iter().zip(&perfs).filter(is_known) {
            assert_eq!(ours, perfs, "{options:?}");
        }
        assert_eq!(ours.len(), perfs.len());
        // Where in a function of the program an address is, and no more than three words of a chain.
        let options =
            ["script", "--no-inline", "--max-stack", "3", "-F", "ip,sym,symoff,dso", "-i"];
        let mut perf = Command::new("perf");
        let perfs = self.printed(perf.args(options).arg(&self.recording));
        let ours = self.printed(perftab_at(&self.folder, &options).arg(&self.recording));
        let is_of_program = |line: &str| line.contains(" work+") || line.contains(" descend+");
        let (mut compared, pairs) = (0, ours.iter().zip(&perfs));
        for (ours, perfs) in
            pairs.filter(|(ours, perfs)| is_of_program(ours) || is_of_program(perfs))
        {
            assert_eq!(ours, perfs, "{options:?}");
            compared += 1;
        }
        assert!(compared > 10, "{ours:?}");
        assert_eq!(ours.len(), perfs.len());
    }

    /// Rows below each other: those of threads, of DSOs in them, of functions in these; all of perf's added up.
    fn has_perfs_hierarchy(&self) {
        let mut perfs = Rows::new();
        for (texts, (samples, _)) in self.perf_rows(&[], &["comm", "dso", "sym"]) {
            for end in 1..=texts.len() {
                add(&mut perfs, texts[..end].to_vec(), samples, 0);
            }
        }
        let asked = ["report", "--hierarchy", "-n", "-q", "--no-inline", "-i"];
        let (mut ours, mut path) = (Rows::new(), Vec::new());
        for line in self.printed(perftab_at(&self.folder, &asked).arg(&self.recording)) {
            // share, samples, three blanks, two blanks a level, name
            let (_, rest) = line.split_once('%').expect("a share");
            let (count, rest) = rest.trim_start().split_once("   ").expect("a count");
            let name = rest.trim_start();
            path.truncate((rest.len() - name.len()) / 2);
            path.push(match (path.len(), name) {
                (2, "[no mapping]") => NO_NAME.to_owned(),
                (2, name) => named(name).to_owned(),
                (_, "[no mapping]") => "[unknown]".to_owned(),
                (_, name) => name.to_owned(),
            });
            let count = count.replace(',', "").parse().expect("a number");
            add(&mut ours, path.clone(), count, 0);
        }
        assert_same(&ours, &perfs, &asked);
    }

    /// Events of the recording and of this machine, and what the recording says of itself.
    fn knows_perfs_events_and_header(&self) {
        let perf = |words: &[&str]| self.printed(Command::new("perf").args(words));
        let perftab = |words: &[&str]| self.printed(&mut perftab_at(&self.folder, words));
        let recording = self.recording.to_str().expect("UTF-8");
        let events = ["evlist", "-i", recording];
        assert_eq!(perftab(&events), perf(&events));
        let rates = ["evlist", "-F", "-i", recording];
        assert_eq!(perftab(&rates), perf(&rates));
        // Later versions of perf say of numbers what they are called, and also what is zero.
        let asked = ["evlist", "-v", "-i", recording];
        let values = |lines: Vec<String>| -> Vec<BTreeSet<String>> {
            let value = |field: &str| field.split(" (").next().unwrap_or_default().to_owned();
            let all = |line: &String| line.split(", ").map(value).collect::<BTreeSet<String>>();
            let all = lines.iter().map(all);
            all.map(|all| all.into_iter().filter(|it| !it.ends_with(": 0")).collect()).collect()
        };
        assert_eq!(values(perftab(&asked)), values(perf(&asked)));
        let header = ["report", "--header-only", "--stdio", "-i", recording];
        let perfs = perf(&header);
        let ours = perftab(&header);
        let same = ["hostname", "os release", "arch", "nrcpus online", "nrcpus avail", "cpudesc"];
        for fact in same.into_iter().chain(["perf version", "cmdline"]) {
            let line = ours.iter().find(|line| line.starts_with(&format!("# {fact} : ")));
            let line = line.unwrap_or_else(|| panic!("no {fact} in {ours:?}"));
            assert!(perfs.contains(line), "{line}: {perfs:?}");
        }
        // Kinds that every version of perf prints alike. Probes come and go.
        let tracepoints = |lines: Vec<String>| -> BTreeSet<String> {
            let is_one = |line: &String| line.ends_with("[Tracepoint event]");
            let is_stable = |line: &String| !line.contains("probe");
            lines.into_iter().filter(is_one).filter(is_stable).collect()
        };
        assert_eq!(tracepoints(perftab(&["list"])), tracepoints(perf(&["list"])));
        let software = perftab(&["list", "sw"]);
        assert!(software.iter().any(|line| line.contains("context-switches OR cs ")));
    }

    /// A time of `perf script`, which has the thread's name and number before it.
    fn threads_and_times(&self) -> Vec<(String, u32, String)> {
        let output = Command::new("perf")
            .args(["script", "--ns", "-G", "-F", "comm,tid,time", "-i"])
            .arg(&self.recording)
            .env("HOME", &*self.folder)
            .ended()
            .expect("perf runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = |line: &str| {
            let line = line.trim().trim_end_matches(':');
            let (rest, time) = line.rsplit_once(' ')?;
            let (comm, tid) = rest.trim().rsplit_once(' ')?;
            Some((comm.trim().to_owned(), tid.parse().ok()?, time.to_owned()))
        };
        text.lines().filter_map(line).collect()
    }
}

const NO_NAME: &str = "no name";

/// A cell of perf as ours has it.
fn perf_text(key: &str, cell: &str) -> String {
    match key {
        // `[.] name`, `[k] name`
        "sym" => named(cell.split_once("] ").map_or(cell, |(_, name)| name.trim())).to_owned(),
        // `4711:name`
        "pid" => cell.split(':').next().unwrap_or(cell).trim().to_owned(),
        "cpu" | "socket" => cell.trim_start_matches('0').to_owned(),
        // Ours are nanoseconds, perf's have six digits behind the point.
        "time" => format!("{}000", cell.replace('.', "")),
        _ => cell.to_owned(),
    }
}

fn named(name: &str) -> &str {
    if name == "_dl_start_user" {
        return "_start";
    }
    let is_address = name.starts_with("0x") || name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_address || perf_names_otherwise(name) { NO_NAME } else { without_version(name) }
}

fn our_name(row: &Value) -> &str {
    row["name"].as_str().filter(|name| !perf_names_otherwise(name)).unwrap_or(NO_NAME)
}

fn add(rows: &mut Rows, texts: Vec<String>, samples: u64, weight: u64) {
    if samples > 0 {
        let sums = rows.entry(texts).or_default();
        *sums = (sums.0 + samples, sums.1 + weight);
    }
}

fn file_name(path: &str) -> &str {
    if path.starts_with('[') { path } else { path.rsplit('/').next().unwrap_or(path) }
}

/// The rows of a report by some members.
fn our_rows(report: &Value, list: &str, members: &[&str]) -> Rows {
    let mut rows = Rows::new();
    for row in report[list].as_array().expect("rows") {
        let text = |member: &&str| match (*member, &row[*member]) {
            ("dso", Value::Null) => "[unknown]".to_owned(),
            ("name", _) => our_name(row).to_owned(),
            ("cpu" | "socket", value) => value.to_string().trim_start_matches('0').to_owned(),
            ("dso" | "file" | "srcline", Value::String(path)) => file_name(path).to_owned(),
            (_, Value::String(text)) => text.clone(),
            (_, value) => value.to_string(),
        };
        let number = |member: &str| row[member].as_u64().expect("a number");
        let texts = members.iter().map(text).collect();
        add(&mut rows, texts, number("self_samples"), number("self"));
    }
    rows
}

fn texts<const N: usize>(of_row: [&str; N]) -> Vec<String> {
    of_row.map(str::to_owned).into()
}

#[track_caller]
fn assert_same(ours: &Rows, perfs: &Rows, asked: &[&str]) {
    for row in ours.keys().chain(perfs.keys()) {
        assert_eq!(ours.get(row), perfs.get(row), "ours, perf's: {row:?} of {asked:?}");
    }
}

#[test]
fn the_same_filters_leave_the_same_samples() {
    let test = "the_same_filters_leave_the_same_samples";
    let Some(recorded) = RecordedProgram::new(test, RecordedWith::Perf) else { return };
    let all = recorded.threads_and_times();
    let tid_of = |name: &str| {
        let found = all.iter().find(|(comm, _, _)| comm == name);
        found.unwrap_or_else(|| panic!("no thread {name} in {all:?}")).1.to_string()
    };
    let (helper, worker) = (tid_of("helper"), tid_of("worker"));
    let both = format!("{helper},{worker}");
    let time = |part: usize| all[all.len() * part / 8].2.as_str();
    // From a sample to a sample, both of them in it; to the microsecond, between samples.
    let exact = format!("{},{}", time(2), time(5));
    let from = format!("{},", &time(3)[..time(3).len() - 3]);
    let to = format!(",{}", &time(6)[..time(6).len() - 3]);
    let two = format!("{},{} {},{}", time(1), time(2), time(5), time(6));
    let three = format!(",{} {},{}  {},", time(1), time(3), time(4), time(7));
    // perf leaves the column of a DSO out that is the only one asked for.
    let filters: [&[&str]; 18] = [
        &[],
        &["--comm", "worker"],
        &["--comm", "worker,helper"],
        &["--comm", "nobody"],
        &["--pid", &helper],
        &["--tid", &worker],
        &["--tid", &both],
        &["--cpu", "0"],
        &["--cpu", "0-1"],
        &["--dsos", "workload,none"],
        &["--dsos", "workload,[kernel.kallsyms]"],
        &["--time", &exact],
        &["--time", &from],
        &["--time", &to],
        &["--time", &two],
        &["--time", &three],
        &["--time", &two, "--comm", "worker"],
        &["--comm", "worker,other worker", "--time", &from, "--dsos", "workload,none"],
    ];
    let counts = filters.map(|filter| recorded.left_by(filter, all.len()));
    // Something was left by most, and taken away by most.
    let partly = counts.iter().filter(|&&count| 0 < count && count < counts[0]).count();
    assert!(partly >= 14, "{counts:?}");
}

#[test]
fn parts_of_the_time_are_those_of_perf() {
    let test = "parts_of_the_time_are_those_of_perf";
    let Some(recorded) = RecordedProgram::new(test, RecordedWith::Perftab) else { return };
    let all = recorded.threads_and_times().len();
    let of = |part: &str| recorded.left_by(&["--time", part], all);
    let quarters: u64 = ["25%/1", "25%/2", "25%/3", "25%/4"].into_iter().map(of).sum();
    assert_eq!(quarters, all as u64, "each sample is in one quarter");
    for part in ["10%-35%", "0%-10%", "70%-100%", "33%", "12.5%/3"] {
        assert!(of(part) < all as u64, "{part}");
    }
    assert_eq!(of("25%/4,25%/1,25%/3,25%/2"), all as u64);
    for [several, first, second] in [
        ["10%/2,10%/3", "10%/2", "10%/3"],
        ["0%-10%,30%-40%", "0%-10%", "30%-40%"],
        ["90%-100%, 50%-60%", "90%-100%", "50%-60%"],
    ] {
        assert_eq!(of(several), of(first) + of(second), "{several}");
    }
    // A sample in two of them counts once.
    assert_eq!(of("0%-10%,5%-20%"), of("0%-20%"));
}

#[test]
fn the_same_sort_keys_have_the_same_rows() {
    let test = "the_same_sort_keys_have_the_same_rows";
    let Some(recorded) = RecordedProgram::new(test, RecordedWith::Perf) else { return };
    let all = recorded.threads_and_times();
    let time = format!("{},{}", all[all.len() / 5].2, all[all.len() * 4 / 5].2);
    // What a thread's number is called by perf is `pid`.
    let sorts: [(&str, &[&str], &[&str]); 9] = [
        ("comm", &["comm"], &["comm"]),
        ("dso", &["dso"], &["dso"]),
        ("comm,dso", &["comm", "dso"], &["comm", "dso"]),
        ("tid", &["tid"], &["pid"]),
        ("cpu", &["cpu"], &["cpu"]),
        ("cpu,comm", &["cpu", "comm"], &["cpu", "comm"]),
        ("socket,comm", &["socket", "comm"], &["socket", "comm"]),
        ("comm,time", &["comm", "time"], &["comm", "time"]),
        ("comm,tid,sym,dso", &["comm", "tid", "name", "dso"], &["comm", "pid", "sym", "dso"]),
    ];
    for (sort, members, keys) in sorts {
        for filter in [&[][..], &["--time", &time], &["--comm", "worker,helper"]] {
            let asked = [&["--sort", sort], filter].concat();
            let ours = our_rows(&recorded.ours(&asked), "rows", members);
            assert_same(&ours, &recorded.perf_rows(filter, keys), &asked);
            // A busy machine may run all of it on one CPU.
            let least = if sort == "cpu" { 1 } else { 2 };
            assert!(ours.len() >= least, "{asked:?}: {ours:?}");
        }
    }
    let asked = ["--sort", "comm", "-S", "work,descend"];
    let ours = our_rows(&recorded.ours(&asked), "rows", &["comm", "name"]);
    assert_same(&ours, &recorded.perf_rows(&asked[2..], &["comm", "sym"]), &asked);
    let quantum = ["--time-quantum", "7ms"];
    let asked = [&["--sort", "time"], &quantum[..]].concat();
    let ours = our_rows(&recorded.ours(&asked), "rows", &["time"]);
    assert_same(&ours, &recorded.perf_rows(&quantum, &["time"]), &asked);
    assert!(ours.len() > 1, "{ours:?}");
    let of_program = ["--dsos", "workload,none"];
    let asked = ["--sort", "srcfile", "--dsos", "workload,none"];
    let mut ours = our_rows(&recorded.ours(&asked), "rows", &["file"]);
    let mut perfs = recorded.perf_rows(&of_program, &["srcfile"]);
    // A sample at the very start or in a stub is in no source file. perf has no row for those, or
    // one without a name.
    let (unplaced, nameless) = (ours.remove(&texts(["null"])), perfs.remove(&texts([""])));
    assert!(nameless.is_none() || nameless == unplaced, "ours, perf's: {unplaced:?}, {nameless:?}");
    assert_same(&ours, &perfs, &asked);
    assert!(ours.contains_key(&texts(["workload.c"])), "{ours:?}");
    let is_line = |texts: &Vec<String>| texts[0].starts_with("workload.c:");
    let asked = ["-F", "sample,srcline", "--dsos", "workload,none"];
    let mut ours = our_rows(&recorded.ours(&asked), "rows", &["srcline"]);
    let mut perfs = recorded.perf_rows(&of_program, &["srcline"]);
    // Where there is no line perf has the function.
    ours.retain(|texts, _| is_line(texts));
    perfs.retain(|texts, _| is_line(texts));
    assert_same(&ours, &perfs, &asked);
    assert!(ours.len() > 2, "{ours:?}");
    // Without a key rows are functions.
    let by_function = recorded.ours(&["-F", "sample"]);
    let rows = by_function["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["name"] == "work"), "{rows:?}");
}

#[test]
fn callees_count_for_their_callers_as_in_perf() {
    let test = "callees_count_for_their_callers_as_in_perf";
    let Some(recorded) = RecordedProgram::new(test, RecordedWith::Perf) else { return };
    let callers = |options: &[&str]| {
        let totals = recorded.totals_as_in_perf(options);
        totals.values().filter(|shares| shares[0] != shares[1]).count()
    };
    // Of each stack only its outermost address, which is in what begins threads.
    assert!(callers(&[]) > callers(&["--max-stack", "1"]));
}

impl RecordedProgram {
    /// By function, the shares of samples with and without its callees, with these options.
    fn totals_as_in_perf(&self, options: &[&str]) -> BTreeMap<String, Vec<String>> {
        let report = self.ours(&[&["--children"], options].concat());
        let whole = report["weight"].as_u64().expect("a weight");
        let functions = report["functions"].as_array().expect("functions");
        let totals: Vec<u64> = functions.iter().filter_map(|row| row["total"].as_u64()).collect();
        assert!(totals.is_sorted_by(|a, b| a >= b), "by total");
        let is_compared = |dso: &str| dso == "workload" || dso.starts_with("libc.");
        let mut ours: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for row in functions {
            let dso = row["dso"].as_str().filter(|path| is_compared(file_name(path)));
            if let (Some(dso), Some(name)) =
                (dso, row["name"].as_str().filter(|it| !perf_names_otherwise(it)))
            {
                let share = |member: &str| {
                    let part = row[member].as_u64().expect("a weight");
                    format!("{:.2}%", 100.0 * part as f64 / whole as f64)
                };
                let shares = vec![share("total"), share("self")];
                assert_eq!(
                    ours.insert((file_name(dso), name), shares),
                    None,
                    "{name} is there once"
                );
            }
        }
        let fields = "overhead_children,overhead,dso,sym";
        let asked = [&["--children", "-g", "none", "-F", fields], options].concat();
        let mut compared = BTreeMap::new();
        for line in self.perfs(&asked) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = perf_text("sym", cells[3]);
            if name != NO_NAME && is_compared(cells[2]) {
                let known = ours.get(&(cells[2], name.as_str())).cloned();
                let shares = known.unwrap_or_else(|| panic!("perf has {line}"));
                assert_eq!(shares, cells[..2], "ours, perf's: {line}");
                compared.insert(name, shares);
            }
        }
        assert_eq!(compared.len(), ours.len(), "perf has all of ours");
        compared
    }
}

#[test]
fn ways_to_a_function_are_those_of_perf() {
    let test = "ways_to_a_function_are_those_of_perf";
    let Some(recorded) = RecordedProgram::new(test, RecordedWith::Perf) else { return };
    for filter in [&[][..], &["--comm", "worker"], &["--comm", "helper,worker"]] {
        let report = recorded.ours(&[&["--inverted"], filter].concat());
        let mut ours = Rows::new();
        for function in report["inverted"].as_array().expect("functions") {
            ways(function, &mut Vec::new(), &mut ours);
        }
        let mut perfs = Rows::new();
        let chains = "folded,0,callee,function,count";
        let keys = "sample,comm,dso,sym";
        let asked = [&["--no-children", "-g", chains, "-F", keys], filter].concat();
        for line in recorded.perfs(&asked) {
            // `12 leaf;caller;…`: the separator given is that of names, too.
            let way = line
                .split_once(' ')
                .filter(|(count, _)| !line.starts_with(' ') && !count.is_empty());
            let Some((count, way)) = way else { continue };
            let names = shortened(way.split('|').map(named));
            add(&mut perfs, names, count.parse().expect("a number"), 0);
        }
        assert_same(&ours, &perfs, &asked);
        assert!(perfs.len() > 1, "{perfs:?}");
    }
    recorded.has_perfs_call_tree();
    recorded.prints_perfs_fields();
    recorded.has_perfs_hierarchy();
    recorded.knows_perfs_events_and_header();
}

/// Every way that samples took to a function, with those that began there.
fn ways(call: &Value, path: &mut Vec<String>, found: &mut Rows) {
    path.push(our_name(call).to_owned());
    let callers = call["callers"].as_array().expect("callers");
    let samples = |call: &Value| call["samples"].as_u64().expect("a number");
    let further: u64 = callers.iter().map(samples).sum();
    add(found, shortened(path.iter().map(String::as_str)), samples(call) - further, 0);
    callers.iter().for_each(|caller| ways(caller, path, found));
    path.pop();
}

/// Without the kernel's functions between the one that was sampled and the way into the kernel, and
/// with runs of what has no name as one: perf prints each word of a chain that is in no mapping, of
/// which ours are counted in one.
fn shortened<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let ways_in = ["asm_", "entry_", "ret_from_fork"];
    let is_way_in = |name: &&str| ways_in.iter().any(|way| name.starts_with(way));
    let rest = names.iter().rposition(is_way_in).unwrap_or(1).max(1).min(names.len());
    let mut short: Vec<String> = Vec::new();
    for &name in names[..1].iter().chain(&names[rest..]) {
        if name != NO_NAME || short.last().is_none_or(|last| last != NO_NAME) {
            short.push(name.to_owned());
        }
    }
    short
}
