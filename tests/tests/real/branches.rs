//! Branches, of a recording that is synthesised for a real program: its branches are those of a model that runs the
//! program's instructions, which are known. `perf` reads it too.
//!
//! What perf 6.1 makes of it is the oracle for rows and for what `script` adds. It crashes on `--total-cycles`, and it has no
//! blocks: of those the model says how often each instruction ran.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use perf_event_open_sys::bindings as kernel;
use perf_event_open_sys::bindings::perf_branch_entry;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::expectation;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;
use perftab_tests::synth::{
    At, Attr, Branch, Event, MappedFile, Mapping, Order, Recording, Sample,
};
use serde_json::Value;

/// `walk` goes round three times, and calls `step` in the second. The model below knows where instructions are.
const SOURCE: &str = r#"
__asm__(
    ".text\n"
    ".globl walk\n.type walk,@function\n"
    "walk: mov $3, %ecx\n"
    ".Lround: dec %ecx\n"
    " test $1, %cl\n"
    " jz .Leven\n"
    " nop\n"
    " call step\n"
    ".Leven: test %ecx, %ecx\n"
    " jnz .Lround\n"
    " ret\n"
    ".size walk,.-walk\n"
    ".globl step\n.type step,@function\n"
    "step: nop\n"
    " ret\n"
    ".size step,.-step\n"
    ".globl forever\n.type forever,@function\n"
    "forever: call walk\n"
    " jmp forever\n"
    ".size forever,.-forever\n");
extern void forever(void);
int main(void) { forever(); return 0; }
"#;

/// Offsets in `walk`.
const ROUND: u64 = 5;
const JZ: u64 = 10;
const NOP: u64 = 12;
const CALL: u64 = 13;
const EVEN: u64 = 18;
const JNZ: u64 = 20;
const RET: u64 = 22;
/// Branches of a sample.
const DEPTH: usize = 16;
const SAMPLES: usize = 20;
const ID: [u8; 20] = [0x5c; 20];

/// Where the functions are.
#[derive(Clone, Copy)]
struct Program {
    walk: u64,
    step: u64,
    forever: u64,
}

/// An instruction that ran, and where it jumped to.
type Ran = (u64, Option<u64>);

impl Program {
    /// What runs, from `forever` on.
    fn trace(self, steps: usize) -> Vec<Ran> {
        let Self { walk, step, forever } = self;
        let mut trace = Vec::new();
        while trace.len() < steps {
            trace.extend([(forever, Some(walk)), (walk, None)]);
            for left in [2, 1, 0] {
                let even = left % 2 == 0;
                trace.extend([(walk + ROUND, None), (walk + ROUND + 2, None)]);
                trace.push((walk + JZ, even.then_some(walk + EVEN)));
                if !even {
                    trace.extend([(walk + NOP, None), (walk + CALL, Some(step))]);
                    trace.extend([(step, None), (step + 1, Some(walk + EVEN))]);
                }
                trace.push((walk + EVEN, None));
                trace.push((walk + JNZ, (left > 0).then_some(walk + ROUND)));
            }
            trace.extend([(walk + RET, Some(forever + 5)), (forever + 5, Some(forever))]);
        }
        trace
    }
}

/// A recording, and a folder for what perf keeps.
struct Files {
    folder: TestFolder,
    recording: PathBuf,
}

/// A recording with branches, and what ran in each of its samples from the oldest branch to the newest.
struct Scene {
    files: Files,
    program: Program,
    windows: Vec<Vec<Ran>>,
}

impl Deref for Scene {
    type Target = Files;

    fn deref(&self) -> &Files {
        &self.files
    }
}

/// `None` on other machines, where the program has other instructions.
fn scene(test: &str) -> Option<Scene> {
    if cfg!(not(target_arch = "x86_64")) {
        println!("SKIPPED: {test}: the program is of x86-64");
        return None;
    }
    let folder = TestFolder::new();
    let path = compile(&folder);
    let program = symbols(&path);
    let trace = program.trace(2_000);
    let taken: Vec<usize> = (0..trace.len()).filter(|&at| trace[at].1.is_some()).collect();
    let mut recording = begin(&path);
    let mut windows = Vec::new();
    for number in 0..SAMPLES {
        let window = &taken[number * 13..][..DEPTH];
        windows.push(trace[window[0]..=window[DEPTH - 1]].to_vec());
        let newest_first = window.iter().rev().enumerate();
        let branches = newest_first.map(|(at, &step)| branch(trace[step], number, at, program));
        let ip = trace[window[DEPTH - 1] + 1].0;
        let (time, period) = (2_000 + 1_000 * number as u64, 1_000 + number as u64);
        let branches = branches.collect();
        let sample = Sample {
            misc: 2,
            ip,
            pid: 10,
            tid: 10,
            time,
            id: 100,
            period,
            branches,
            ..Sample::default()
        };
        recording.sample(0, &sample);
    }
    recording.round().branch_stack().event_desc();
    let file = folder.join("perf.data");
    fs::write(&file, recording.file()).expect("the recording is written");
    Some(Scene { files: Files { folder, recording: file }, program, windows })
}

/// At fixed addresses, so that nothing has to be worked out.
fn compile(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, SOURCE).expect("the source is written");
    let id: String = ID.iter().map(|byte| format!("{byte:02x}")).collect();
    let status = Command::new("gcc")
        .args(["-no-pie", "-g", &format!("-Wl,--build-id=0x{id}"), "-o"])
        .args([&program, &source])
        .exit_status()
        .expect("gcc runs");
    assert!(status.success(), "gcc fails");
    program
}

fn symbols(program: &Path) -> Program {
    let output = Command::new("nm").arg(program).ended().expect("nm runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let address = |name: &str| {
        let line = text.lines().find(|line| line.ends_with(&format!(" {name}")));
        let digits = line.and_then(|line| line.split(' ').next()).expect("a symbol");
        u64::from_str_radix(digits, 16).expect("an address")
    };
    Program { walk: address("walk"), step: address("step"), forever: address("forever") }
}

/// A process of the program. Its code is at the offset 0x1000, as the linker puts it behind the headers' page.
fn begin(program: &Path) -> Recording {
    let bits = kernel::PERF_SAMPLE_IP
        | kernel::PERF_SAMPLE_TID
        | kernel::PERF_SAMPLE_TIME
        | kernel::PERF_SAMPLE_PERIOD
        | kernel::PERF_SAMPLE_BRANCH_STACK
        | kernel::PERF_SAMPLE_IDENTIFIER;
    let asked = kernel::PERF_SAMPLE_BRANCH_USER | kernel::PERF_SAMPLE_BRANCH_ANY;
    let attr = Attr::new(0, 0, bits).with(|it| it.kernel.branch_sample_type = asked.into());
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "cycles", attr, 1)]);
    let at = At { pid: 10, tid: 10, time: 1_000, ..At::default() };
    let mapping = Mapping {
        misc: 2,
        pid: 10,
        tid: 10,
        addresses: 0x40_1000..0x40_2000,
        offset: 0x1000,
        file: MappedFile::BuildId(&ID),
        path: program.to_str().expect("UTF-8"),
    };
    recording.comm(at, 1 << 13, "program").mmap2(at, &mapping);
    recording
}

/// The branch of an instruction, the `at`th of its sample. Outcomes, cycles and types vary.
fn branch((from, to): Ran, sample: usize, at: usize, program: Program) -> Branch {
    let to = to.expect("it jumps");
    let mut entry = perf_branch_entry { from, to, ..Default::default() };
    // Of a branch of which neither is known, perf 6.1 prints what it printed of the row before.
    let is_mispredicted = (sample + at).is_multiple_of(5);
    entry.set_mispred(u64::from(is_mispredicted));
    entry.set_predicted(u64::from(!is_mispredicted));
    entry.set_cycles((3 * at + sample) as u64 % 7 + u64::from(at == 0));
    entry.set_in_tx(u64::from(at == 3 && sample.is_multiple_of(4)));
    entry.set_abort(u64::from(at == 4 && sample.is_multiple_of(8)));
    entry.set_type(match to {
        _ if to == program.step => 4,
        _ if from == program.step + 1 => 6,
        _ => (sample % 4) as u64,
    });
    Branch { entry, counters: 0 }
}

impl Files {
    fn perftab(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(perftab_binary());
        let output = command.args(arguments).arg(&self.recording).ended().expect("perftab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "perftab {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.perftab(arguments)).expect("JSON")
    }

    fn perf(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("perf");
        let input = ["-i", self.recording.to_str().expect("UTF-8")];
        let output = command.args(arguments).args(input).env("HOME", &*self.folder).ended();
        let output = output.expect("perf runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "perf {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

impl Scene {
    /// How often the instruction at an address ran.
    fn ran(&self, address: u64) -> u64 {
        self.windows.iter().flatten().filter(|it| it.0 == address).count() as u64
    }

    /// What the branches at an address say of cycles.
    fn cycles(&self, address: u64) -> Vec<u64> {
        let of_sample = |(number, window): (usize, &Vec<Ran>)| {
            let newest_first = window.iter().rev().filter(|it| it.1.is_some()).enumerate();
            let here = newest_first.filter(|(_, it)| it.0 == address);
            let cycles = |(at, &ran)| branch(ran, number, at, self.program).entry.cycles();
            here.map(cycles).collect::<Vec<_>>()
        };
        self.windows.iter().enumerate().flat_map(of_sample).collect()
    }
}

const KEYS: &str = "symbol_from,symbol_to,dso_from,dso_to,mispredict,cycles,in_tx,abort";

#[test]
fn rows_are_those_of_perf() {
    const TEST: &str = "rows_are_those_of_perf";
    let Some(scene) = scene(TEST) else { return };
    if !is_installed(TEST, "perf") {
        return;
    }
    for keys in [KEYS, "symbol_from,symbol_to", "dso_from,dso_to", "mispredict", "cycles,abort"] {
        let perfs = scene.rows_of_perf(keys);
        let json = scene.json(&["report", "-b", "--json", "--sort", keys]);
        let ours = our_rows(&json, keys);
        assert!(!ours.is_empty());
        assert_eq!(ours, perfs, "{keys}");
        assert_eq!(json["branches"], (SAMPLES * DEPTH) as u64);
    }
}

/// Recordings by others. Their DSOs and addresses are written otherwise by perf, here is what is counted.
#[test]
fn rows_of_recordings_by_others_are_those_of_perf() {
    const TEST: &str = "rows_of_recordings_by_others_are_those_of_perf";
    let Some(corpus) = expectation::corpus() else {
        println!("SKIPPED: {TEST}: no $PERFTAB_CORPUS");
        return;
    };
    if !is_installed(TEST, "perf") {
        return;
    }
    let with_branches = [
        ("quipper/perf.data.branch-4.14", 416),
        ("quipper/perf.data.raw_callgraph_branch-3.4", 8208),
        ("simpleperf/perf_b.data", 2400),
        ("autofdo/propeller_sample_1.perfdata1", 119_424),
    ];
    for (path, branches) in with_branches {
        let recording = corpus.join(path);
        if !recording.exists() {
            println!("SKIPPED: {TEST}: {path} is not there");
            continue;
        }
        let files = Files { folder: TestFolder::new(), recording };
        for keys in ["mispredict", "in_tx,abort"] {
            let json = files.json(&["report", "-b", "--json", "--no-local", "--sort", keys]);
            assert_eq!(json["branches"], branches - files.unfilled(), "{path}");
            let mut perfs = files.rows_of_perf(keys);
            if let Some(counted) = perfs.get_mut(&unfilled(keys)) {
                *counted -= files.unfilled();
            }
            assert_eq!(our_rows(&json, keys), perfs, "{path}: {keys}");
        }
    }
}

/// The row that perf counts entries in that were never filled.
fn unfilled(keys: &str) -> Vec<String> {
    keys.split(',').map(|key| if key == "mispredict" { "N" } else { "." }.to_owned()).collect()
}

impl Files {
    /// How many of them perf sees.
    fn unfilled(&self) -> u64 {
        let printed = self.perf(&["script", "-F", "brstack"]);
        printed.split_whitespace().filter(|it| it.starts_with("0x0/0x0/")).count() as u64
    }

    /// Rows of `perf report -b` with these keys.
    fn rows_of_perf(&self, keys: &str) -> BTreeMap<Vec<String>, u64> {
        let fields = format!("overhead,sample,{keys}");
        let printed = self.perf(&["report", "-b", "--stdio", "-t", "|", "-F", &fields]);
        let mut rows = BTreeMap::new();
        for line in printed.lines().filter(|line| !line.starts_with('#') && line.contains('|')) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let cell = |cell: &&str| cell.trim_start_matches("[.] ").to_owned();
            let row: Vec<String> = cells[2..].iter().map(cell).collect();
            // perf has a row more than once: it orders outcomes by whether they differ.
            *rows.entry(row).or_default() += cells[1].parse::<u64>().expect("a number");
        }
        rows
    }
}

/// Those of `perftab report -b`.
fn our_rows(json: &Value, keys: &str) -> BTreeMap<Vec<String>, u64> {
    let rows = json["rows"].as_array().expect("rows");
    rows.iter().map(|row| our_row(row, keys)).collect()
}

/// A row with its cells as perf has them.
fn our_row(row: &Value, keys: &str) -> (Vec<String>, u64) {
    let cell = |key: &str| match (key, &row[key]) {
        ("symbol_from" | "symbol_to", code) => code["name"].as_str().expect("a name").to_owned(),
        (_, Value::String(path)) => path.rsplit('/').next().unwrap_or_default().to_owned(),
        ("mispredict", Value::Null) => "N/A".to_owned(),
        ("cycles", Value::Null) => "-".to_owned(),
        ("mispredict", is) => if is == true { "Y" } else { "N" }.to_owned(),
        ("in_tx", is) => if is == true { "T" } else { "." }.to_owned(),
        ("abort", is) => if is == true { "A" } else { "." }.to_owned(),
        (_, number) => number.to_string(),
    };
    let count = row["branches"].as_u64().expect("a count");
    (keys.split(',').map(cell).collect(), count)
}

/// What `script` prints behind this word, a line for each sample.
fn lines_of<'a>(printed: &'a str, word: &str) -> Vec<&'a str> {
    printed.lines().filter_map(|line| line.strip_prefix('\t')?.strip_prefix(word)).collect()
}

#[test]
fn script_prints_branches_as_perf_does() {
    const TEST: &str = "script_prints_branches_as_perf_does";
    let Some(scene) = scene(TEST) else { return };
    if !is_installed(TEST, "perf") {
        return;
    }
    let ours = scene.perftab(&["script", "-F", "+brstack,+brstacksym"]);
    for (field, word) in [("brstack", "brstack "), ("brstacksym", "brstacksym ")] {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let ours: Vec<_> = lines_of(&ours, word).into_iter().map(words).collect();
        let perfs: Vec<_> = scene.perf(&["script", "-F", field]).lines().map(words).collect();
        let perfs: Vec<_> = perfs.into_iter().filter(|words| !words.is_empty()).collect();
        assert_eq!((ours.len(), ours[0].len()), (SAMPLES, DEPTH));
        assert_eq!(ours, perfs, "{field}");
    }
}

#[test]
fn script_prints_the_instructions_that_perf_finds() {
    const TEST: &str = "script_prints_the_instructions_that_perf_finds";
    let Some(scene) = scene(TEST) else { return };
    if !is_installed(TEST, "perf") {
        return;
    }
    let perfs = scene.perf(&["script", "-F", "brstackinsn"]);
    let perfs: Vec<String> = perfs.lines().filter_map(listed).collect();
    let printed = scene.perftab(&["script", "-F", "+brstackinsn"]);
    let ours: Vec<String> = printed.lines().filter_map(listed).collect();
    assert!(ours.len() > SAMPLES * DEPTH);
    for (at, (ours, perfs)) in ours.iter().zip(&perfs).enumerate() {
        assert_eq!(ours, perfs, "line {at} of the instructions");
    }
    assert_eq!(ours.len(), perfs.len());
    assert!(printed.contains("dec ecx") && printed.contains("call"), "{printed}");
}

/// A line of instructions, without how an instruction is written; or of the function that follows.
fn listed(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (&first, rest) = words.split_first()?;
    if let ([], Some(function)) = (rest, first.strip_suffix(':')) {
        return Some(function.to_owned());
    }
    let address = u64::from_str_radix(first, 16).ok().filter(|_| line.starts_with('\t'))?;
    let mark = line.split_once('#').map_or("", |(_, mark)| mark.trim());
    // Call chains have addresses too, and their functions.
    (!line.ends_with(')')).then(|| format!("{address:x} {mark}"))
}

#[test]
fn blocks_are_what_the_program_ran() {
    let Some(scene) = scene("blocks_are_what_the_program_ran") else { return };
    let json = scene.json(&["report", "--blocks", "walk", "--json"]);
    let functions = json["functions"].as_array().expect("functions");
    let [function] = &functions[..] else { panic!("{json}") };
    assert_eq!(function["function"]["name"], "walk");
    let walk = scene.program.walk;
    let in_file = |offset: u64| format!("{:x}", walk - 0x40_0000 + offset);
    let expected = [
        (0, None, 1, walk),
        (ROUND, Some(JZ), 3, walk + JZ),
        (NOP, Some(CALL), 2, walk + CALL),
        (EVEN, Some(JNZ), 2, walk + JNZ),
        (RET, Some(RET), 1, walk + RET),
    ];
    let blocks = function["blocks"].as_array().expect("blocks");
    assert_eq!(blocks.len(), expected.len(), "{json}");
    for (block, (start, branch, instructions, last)) in blocks.iter().zip(expected) {
        assert_eq!(block["start"], in_file(start), "{block}");
        assert_eq!(block["branch"].as_str(), branch.map(in_file).as_deref(), "{block}");
        assert_eq!(block["instructions"], instructions, "{block}");
        assert_eq!(block["executions"], scene.ran(last), "{block}");
        let jumped = scene.windows.iter().flatten().filter(|it| it.0 == last && it.1.is_some());
        assert_eq!(block["taken"], jumped.count() as u64, "{block}");
        let cycles: Vec<u64> = scene.cycles(last).into_iter().filter(|&it| it > 0).collect();
        let (sum, timed) = (cycles.iter().sum::<u64>(), cycles.len() as u64);
        assert_eq!((&block["cycles"], &block["timed"]), (&sum.into(), &timed.into()), "{block}");
    }
    let text = scene.perftab(&["report", "--blocks", "walk"]);
    assert!(text.starts_with("# cycles: walk in program, 5 basic blocks\n"), "{text}");
}

#[test]
fn instructions_say_how_often_they_ran() {
    let Some(scene) = scene("instructions_say_how_often_they_ran") else { return };
    let json = scene.json(&["annotate", "--json", "-s", "walk"]);
    let instructions = json["functions"][0]["instructions"].as_array().expect("instructions");
    let walk = scene.program.walk;
    let ran = |it: &Value| {
        let address = it["address"].as_str().and_then(|it| it.strip_prefix("0x"));
        let address = u64::from_str_radix(address.expect("an address"), 16).expect("an address");
        (address, it["executions"].as_u64().expect("a number"))
    };
    let ran: BTreeMap<u64, u64> = instructions.iter().map(ran).collect();
    // As blocks ran that they are in, of which the last instruction says how often.
    let last_of = |offset: u64| match offset {
        ..ROUND => 0,
        ROUND..=JZ => JZ,
        NOP..=CALL => CALL,
        EVEN..=JNZ => JNZ,
        _ => RET,
    };
    for (address, times) in &ran {
        let wanted = scene.ran(walk + last_of(address - walk));
        assert_eq!(*times, wanted, "{address:#x}");
    }
    let branch = instructions.iter().find(|it| it["address"] == format!("{:#x}", walk + JNZ));
    let branch = &branch.expect("a branch")["branch"];
    let jumped = scene.windows.iter().flatten().filter(|it| it.0 == walk + JNZ && it.1.is_some());
    assert_eq!(branch["taken"], jumped.count() as u64);
    let cycles: Vec<u64> = scene.cycles(walk + JNZ).into_iter().filter(|&it| it > 0).collect();
    let average = cycles.iter().sum::<u64>() as f64 / cycles.len() as f64;
    let near =
        |found: &Value, wanted: f64| (found.as_f64().expect("a number") - wanted).abs() < 1e-9;
    assert!(near(&branch["cycles"], average), "{branch}");
    // As perf counts: from where the longest run up to it began.
    let first = ran.keys().position(|&at| at == walk + ROUND).expect("the loop");
    let last = ran.keys().position(|&at| at == walk + JNZ).expect("its end");
    let longest = [first, ran.keys().position(|&at| at == walk + EVEN).expect("its half")];
    let may_be = longest.map(|from| (last - from + 1) as f64 / average);
    assert!(may_be.iter().any(|&ipc| near(&branch["ipc"], ipc)), "{branch} {may_be:?}");
    let text = scene.perftab(&["annotate", "-s", "walk"]);
    assert!(text.contains("taken ") && text.contains(" IPC"), "{text}");
    let mut without = scene.perftab(&["annotate", "--asm", "-s", "step"]);
    without.retain(|letter| letter != ' ');
    assert!(without.contains("Besideshares"), "{without}");
}

#[test]
fn total_cycles_are_of_the_farthest_start() {
    let Some(scene) = scene("total_cycles_are_of_the_farthest_start") else { return };
    let json = scene.json(&["report", "--total-cycles", "--json"]);
    let rows = json["rows"].as_array().expect("rows");
    let cycles = |row: &Value| row["cycles"].as_u64().expect("cycles");
    let sum: u64 = rows.iter().map(cycles).sum();
    assert_eq!(json["cycles"], sum);
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(cycles(row))), "{json}");
    let in_file = |offset: u64| format!("{:x}", scene.program.walk - 0x40_0000 + offset);
    let row_of = |offset: u64| {
        let is_it = |row: &&Value| row["branch"] == in_file(offset);
        rows.iter().find(is_it).expect("a row")
    };
    // The first round begins with the function, all others behind that.
    assert_eq!(row_of(JZ)["start"], in_file(0));
    assert_eq!(row_of(RET)["start"], in_file(EVEN));
    assert_eq!(row_of(CALL)["start"], in_file(ROUND));
}

#[test]
fn filters_decide_which_branches_count() {
    let Some(scene) = scene("filters_decide_which_branches_count") else { return };
    let branches = |arguments: &[&str]| {
        let json = scene.json(&[&["report", "-b", "--json"], arguments].concat());
        json["branches"].as_u64().expect("a number")
    };
    let (all, each) = ((SAMPLES * DEPTH) as u64, DEPTH as u64);
    assert_eq!(branches(&[]), all);
    assert_eq!(branches(&["--comm", "program", "--pid", "10"]), all);
    assert_eq!(branches(&["--comm", "other"]), 0);
    assert_eq!(branches(&["--time", "0.000002,0.000004"]), 3 * each);
    assert_eq!(branches(&["--time", "0%-50%"]), all / 2);
}

#[test]
fn histories_lead_to_where_samples_ended() {
    let Some(scene) = scene("histories_lead_to_where_samples_ended") else { return };
    let json = scene.json(&["report", "--branch-history", "--json"]);
    let functions = json["functions"].as_array().expect("functions");
    let weight: u64 = (0..SAMPLES as u64).map(|number| 1_000 + number).sum();
    assert_eq!((&json["weight"], &json["samples"]), (&weight.into(), &SAMPLES.into()));
    let sum: u64 = functions.iter().map(|it| it["weight"].as_u64().expect("a weight")).sum();
    assert_eq!(sum, weight);
    // The newest branch of each sample led to the function that it ended in.
    for function in functions {
        for before in function["before"].as_array().expect("steps") {
            assert_eq!(before["led_to"]["name"], function["at"]["name"], "{before}");
        }
    }
    // Below it the one before led to where that branch was.
    let ways = functions.iter().flat_map(|it| it["before"].as_array().expect("steps"));
    for newest in ways {
        let [older] = &newest["before"].as_array().expect("steps")[..] else { continue };
        assert_eq!(older["led_to"]["name"], newest["at"]["name"], "{newest}");
    }
    let text = scene.perftab(&["report", "--branch-history"]);
    assert!(text.contains("walk+0x14 -> walk+0x5") || text.contains("program.c"), "{text}");
}

#[test]
fn what_cannot_be_counted_is_said() {
    let Some(scene) = scene("what_cannot_be_counted_is_said") else { return };
    let fails = |arguments: &[&str], why: &str| {
        let mut command = Command::new(perftab_binary());
        let output = command.args(arguments).arg(&scene.recording).ended().expect("perftab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(why), "{arguments:?}: {stderr}");
    };
    fails(&["report", "--sort", "symbol_to"], "add -b");
    fails(&["report", "-b", "--sort", "comm"], "-b sorts by");
    fails(&["report", "-b", "--focus", "walk"], "of stacks");
    fails(&["report", "--blocks", "nothing"], "no function nothing");
    fails(&["script", "-F", "ipc"], "+brstack");
    fs::write(&scene.recording, begin(&scene.folder.join("program")).file())
        .expect("it is written");
    fails(&["report", "-b"], "no branches");
    fails(&["report", "--branch-history"], "no branches");
}
