//! Code that Node.js and Java make, against what perf says of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;
use serde_json::Value;

/// Functions that are compiled again and again, and a regular expression.
const SCRIPT: &str = "
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const rows = [];
for (let i = 0; i < 20000; i++) rows.push({ key: i, text: 'x'.repeat(i % 70) });
for (let round = 0; round < 6; round++) {
  rows.sort((one, other) => other.key % 1000 - one.key % 1000);
  fib(22);
  JSON.stringify(rows).match(/x+/g);
}
";

/// Recursion that is compiled soon.
const PROGRAM: &str = "
public class App {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] arguments) {
        long sum = 0;
        for (int round = 0; round < 2000; round++) sum += fib(22);
        System.out.println(sum);
    }
}
";

/// A word of a call chain, as `perf script` and `perftab script` print it.
#[derive(Debug)]
pub struct Word {
    pub address: String,
    pub name: String,
    pub dso: String,
}

pub fn run(command: &mut Command) -> Output {
    let output = until_the_kernel_lets(command).expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// By sample, the words; those that were inlined are none.
pub fn words(printed: &Output) -> Vec<Vec<Word>> {
    let mut samples: Vec<Vec<Word>> = Vec::new();
    for line in String::from_utf8_lossy(&printed.stdout).lines() {
        let Some(word) = line.strip_prefix('\t') else {
            if !line.is_empty() {
                samples.push(Vec::new());
            }
            continue;
        };
        let (address, rest) = word.trim_start().split_once(' ').expect("an address");
        let (name, dso) = rest.rsplit_once(" (").expect("a DSO");
        let (name, dso) = (name.trim(), dso.trim_end_matches(')'));
        if dso != "inlined" && !name.ends_with("(inlined)") {
            let [address, name, dso] = [address, name, dso].map(str::to_owned);
            samples.last_mut().expect("a sample").push(Word { address, name, dso });
        }
    }
    samples
}

pub fn script_by_perf(home: &Path, recording: &Path) -> Vec<Vec<Word>> {
    let fields = ["-F", "tid,time,ip,sym,dso", "--no-inline"];
    let mut command = Command::new("perf");
    words(&run(command.args(["script", "-i"]).arg(recording).args(fields).env("HOME", home)))
}

pub fn perftab(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(perftab_binary());
    run(command
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("DEBUGINFOD_URLS"))
}

fn has_all(test: &str) -> bool {
    is_installed(test, "perf") && is_installed(test, "node")
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_jitdump_names_what_perf_inject_names() {
    const TEST: &str = "a_jitdump_names_what_perf_inject_names";
    if !has_all(TEST) {
        return;
    }
    let folder = TestFolder::new();
    let (script, recording) = (folder.write("app.js", SCRIPT.as_bytes()), folder.join("perf.data"));
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-k", "mono", "-e", "cpu-clock:u", "-F", "997", "-g", "-o"]);
    perf.arg(&recording).args(["node", "--perf-prof", "--interpreted-frames-native-stack"]);
    run(perf.arg(&script).current_dir(&*folder).env("HOME", &*folder));
    let injected = folder.join("injected.data");
    let mut inject = Command::new("perf");
    inject.args(["inject", "--jit", "-i"]).arg(&recording).arg("-o").arg(&injected);
    run(inject.current_dir(&*folder).env("HOME", &*folder));

    let theirs = script_by_perf(&folder, &injected);
    // It is found: the recording has where it was, and which file that was.
    let ours = words(&perftab(&folder, &["script", text(&recording)]));
    assert_eq!(theirs.len(), ours.len());
    let mut same = 0;
    for (theirs, ours) in theirs.iter().zip(&ours).filter(|(it, other)| it.len() == other.len()) {
        for (theirs, ours) in
            theirs.iter().zip(ours).filter(|(_, ours)| ours.dso.ends_with(".dump"))
        {
            assert!(theirs.dso.contains("/jitted-"), "{theirs:?} {ours:?}");
            assert_eq!(theirs.name, ours.name, "{ours:?}");
            same += 1;
        }
    }
    assert!(same > 100, "{same}");
    if is_installed(TEST, "objdump") {
        code_is_that_of_the_files_that_perf_makes(&folder, text(&recording), &theirs);
    }
    // The files that perf has made of it were written after what ran, and are right all the same.
    let of_files = words(&perftab(&folder, &["script", text(&injected)]));
    assert_eq!(theirs.len(), of_files.len());
    let mut same = 0;
    for (theirs, ours) in theirs.iter().flatten().zip(of_files.iter().flatten()) {
        if ours.dso.contains("/jitted-") {
            assert_eq!((&theirs.name, &theirs.dso), (&ours.name, &ours.dso));
            same += 1;
        }
    }
    assert!(same > 100, "{same}");
}

/// Where instructions begin: the first of each function, as some of V8's are followed by tables.
fn code_is_that_of_the_files_that_perf_makes(folder: &Path, recording: &str, theirs: &[Vec<Word>]) {
    const COMPARED: usize = 8;
    let json = perftab(folder, &["annotate", "--json", "--limit", "50", recording]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let functions = json["functions"].as_array().expect("functions");
    let mut same = 0;
    for function in
        functions.iter().filter(|it| it["dso"].as_str().unwrap_or("").ends_with(".dump"))
    {
        // What was compiled again has the same name in several files.
        let words = theirs.iter().flatten().filter(|word| function["name"] == word.name.as_str());
        let files: BTreeSet<&str> = words.map(|word| word.dso.as_str()).collect();
        let is_once = functions.iter().filter(|it| it["name"] == function["name"]).count() == 1;
        let (Some(file), 1, true) = (files.first(), files.len(), is_once) else { continue };
        let listing = run(Command::new("objdump").args(["-d", "--no-show-raw-insn", file]));
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        let address = |line: &str| {
            let (address, _) = line.split_once(":\t")?;
            u64::from_str_radix(address.trim(), 16).ok()
        };
        let from_first = |addresses: Vec<u64>| -> Vec<u64> {
            addresses.iter().take(COMPARED).map(|at| at - addresses[0]).collect()
        };
        let instructions = function["instructions"].as_array().expect("instructions");
        let ours = instructions.iter().filter_map(|it| it["address"].as_str()?.strip_prefix("0x"));
        let ours = ours.map(|at| u64::from_str_radix(at, 16).expect("hex")).collect();
        let wanted = from_first(listing.lines().filter_map(address).collect());
        assert_eq!(from_first(ours), wanted, "{function} {listing}");
        same += usize::from(wanted.len() == COMPARED);
    }
    assert!(same > 0, "{json}");
}

#[test]
fn a_perf_map_is_in_the_recording_and_names_what_perf_names() {
    const TEST: &str = "a_perf_map_is_in_the_recording_and_names_what_perf_names";
    if !has_all(TEST) {
        return;
    }
    let folder = TestFolder::new();
    let script = folder.write("app.js", SCRIPT.as_bytes());
    let node = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", text(&script)];
    perf_map_names_what_perf_names(&folder, &node);
}

#[test]
fn a_perf_map_of_java_names_what_perf_names() {
    const TEST: &str = "a_perf_map_of_java_names_what_perf_names";
    let are_installed = |tools: [&str; 3]| tools.iter().all(|tool| is_installed(TEST, tool));
    if !are_installed(["perf", "java", "javac"]) {
        return;
    }
    let folder = TestFolder::new();
    let source = folder.write("App.java", PROGRAM.as_bytes());
    run(Command::new("javac").arg("-d").arg(&*folder).arg(&source));
    let options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"];
    let java = ["java", options[0], options[1], "-XX:+PreserveFramePointer", "-cp"];
    perf_map_names_what_perf_names(&folder, &[&java[..], &[text(&folder), "App"]].concat());
}

/// Records a command that writes a perf map, and holds its names against the map and against perf.
fn perf_map_names_what_perf_names(folder: &Path, command: &[&str]) {
    let recording = folder.join("perf.data");
    let record = ["record", "-e", "cpu-clock:u", "-F", "997", "-g", "-o", text(&recording), "--"];
    let recorded = perftab(folder, &[&record[..], command].concat());
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert!(said.contains("the perf maps and jitdumps of 1 process, "), "{said}");

    let theirs = script_by_perf(folder, &recording);
    // Not from this machine: it has a copy.
    let ours = words(&perftab(folder, &["script", "--no-local", text(&recording)]));
    let report = perftab(folder, &["report", "--json", "--no-local", text(&recording)]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let dsos = report["dsos"].as_array().expect("DSOs");
    let row = dsos.iter().find(|row| row["status"] == "self-named").expect("it names itself");
    let path = row["path"].as_str().expect("a path").to_owned();
    let map = fs::read_to_string(&path).expect("the map");
    fs::remove_file(&path).expect("it goes");

    // Where code was replaced, perf shows any of those that were there.
    let mut lines: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in map.lines() {
        let mut fields = line.splitn(3, ' ');
        let mut number = || {
            // Java writes the prefix.
            let digits = fields.next().expect("a number").trim_start_matches("0x");
            u64::from_str_radix(digits, 16).expect("hex")
        };
        let (start, size) = (number(), number());
        lines.insert(line, (start, start + size));
    }
    let covers = |address: u64| {
        lines.values().filter(|(start, end)| (*start..*end).contains(&address)).count()
    };
    assert_eq!(theirs.len(), ours.len());
    let mut same = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        for word in ours.iter().filter(|word| word.dso == path) {
            let theirs =
                theirs.iter().find(|it| it.address == word.address).expect("the same word");
            let address = u64::from_str_radix(&word.address, 16).expect("hex");
            if covers(address) == 1 && covers(address - 1) == 1 {
                assert_eq!(theirs.name, word.name, "{word:?}");
                same += 1;
            }
        }
    }
    assert!(same > 100, "{same}");
}
