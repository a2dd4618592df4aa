//! Stacks through code that Node.js and CPython make, against those that perf finds.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;
use serde_json::Value;

use crate::jitted::{Word, perftab, run, script_by_perf, text, words};

/// Recursion that is optimised soon. V8 writes right paths once it has collected garbage.
const SCRIPT: &str = "
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const rows = [];
for (let i = 0; i < 20000; i++) rows.push({ key: i, text: 'x'.repeat(i % 70) });
for (let round = 0; round < 6; round++) JSON.parse(JSON.stringify(rows));
for (let round = 0; round < 30; round++) fib(27);
";

/// Functions that call one another, also by way of C.
const PROGRAM: &str = "
def leaf(count):
    return sum(number * number % 7 for number in range(count))

class Middle:
    def method(self, count):
        return leaf(count) + len(sorted(range(count), key=lambda number: -number))

def outer():
    middle = Middle()
    return [middle.method(2000) for _ in range(400)]

outer()
";

/// Records a command with copies of its stacks.
fn record(folder: &Path, command: &[&str]) -> PathBuf {
    let recording = folder.join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-k", "mono", "-e", "cpu-clock:u", "-F", "997", "--buildid-mmap"]);
    perf.args(["--call-graph", "dwarf,65528", "-o"]).arg(&recording).args(command);
    run(perf.current_dir(folder).env("HOME", folder));
    recording
}

/// What perf says of a recording whose code it has put into files.
fn injected_by_perf(folder: &Path, recording: &Path) -> Vec<Vec<Word>> {
    let injected = folder.join("injected.data");
    let mut inject = Command::new("perf");
    inject.args(["inject", "--jit", "-i"]).arg(recording).arg("-o").arg(&injected);
    run(inject.current_dir(folder).env("HOME", folder));
    script_by_perf(folder, &injected)
}

fn report(folder: &Path, recording: &Path) -> Value {
    let report = perftab(folder, &["report", "--json", text(recording)]);
    serde_json::from_slice(&report.stdout).expect("JSON")
}

/// The file that told the names of the code.
fn self_named(report: &Value) -> PathBuf {
    let dsos = report["dsos"].as_array().expect("DSOs");
    let row = dsos.iter().find(|row| row["status"] == "self-named").expect("it names itself");
    row["image"].as_str().expect("a file").into()
}

/// Python with this option, if it makes code for perf then. Others than the first in the path may be called by their
/// version, or be pyenv's.
fn python(test: &str, option: &str) -> Option<String> {
    let pyenv = Command::new("pyenv").arg("root").ended().ok().map(|it| it.stdout);
    let pyenv = pyenv.map(|root| PathBuf::from(String::from_utf8_lossy(&root).trim()));
    let folders = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let of_pyenv = folders.into_iter().flatten().flatten().map(|it| it.path().join("bin/python3"));
    let of_path = ["python3", "python3.14", "python3.13", "python3.12"].map(PathBuf::from);
    let probe = "import sys; assert sys.is_stack_trampoline_active(); print(sys.executable)";
    let found = of_path.into_iter().chain(of_pyenv).find_map(|python| {
        let asked = Command::new(python).args(["-X", option, "-c", probe]).ended().ok()?;
        let path = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
        (asked.status.success() && !path.is_empty()).then_some(path)
    });
    if found.is_none() {
        println!("SKIPPED: {test}: no Python here makes code with -X {option}");
    }
    found
}

/// The words of code that was made, each with its place in the stack.
fn made<'a>(stack: &'a [Word], file: &str) -> Vec<(usize, &'a str)> {
    let made = stack.iter().enumerate().filter(|(_, word)| word.dso.contains(file));
    made.map(|(place, word)| (place, &*word.name)).collect()
}

#[test]
fn stacks_go_through_optimised_code_of_node_as_perf_finds_them() {
    const TEST: &str = "stacks_go_through_optimised_code_of_node_as_perf_finds_them";
    if !is_installed(TEST, "perf") || !is_installed(TEST, "node") {
        return;
    }
    let folder = TestFolder::new();
    let script = folder.write("app.js", SCRIPT.as_bytes());
    let options =
        ["--perf-prof", "--perf-prof-unwinding-info", "--interpreted-frames-native-stack"];
    let recording = record(&folder, &[&["node"], &options[..], &[text(&script)]].concat());
    let theirs = injected_by_perf(&folder, &recording);
    let ours = words(&perftab(&folder, &["script", text(&recording)]));
    assert_eq!(theirs.len(), ours.len());
    let (mut same, mut through) = (0, 0);
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let known = made(ours, ".dump");
        // perf goes on by the frame pointer where nothing tells how, and 6.1 stops after code that was about to return.
        let theirs = made(theirs, "/jitted-");
        assert!(theirs.starts_with(&known) || known.starts_with(&theirs), "{theirs:?} {ours:?}");
        same += known.len();
        through += known.iter().filter(|(place, _)| *place + 1 < ours.len()).count();
        let outermost = ours.last().expect("a word");
        assert!(!outermost.name.starts_with("JS:*"), "{ours:?}");
    }
    assert!(same > 100 && through > 50, "{same} {through}");

    // The whole of that function is in the second line, as its name says, too.
    let places = places_of(&folder, &recording, "JS:*fib ");
    let expected = (text(&script).to_owned(), 2);
    assert!(!places.is_empty() && places.iter().all(|place| *place == expected), "{places:?}");
}

/// The files and lines that an export has of a function.
fn places_of(folder: &Path, recording: &Path, function: &str) -> Vec<(String, u64)> {
    let exported = folder.join("profile.json.gz");
    perftab(folder, &["export", text(recording), "--to", "firefox", "-o", text(&exported)]);
    let mut json = String::new();
    let file = fs::File::open(&exported).expect("the profile");
    GzDecoder::new(file).read_to_string(&mut json).expect("gzip");
    let profile: Value = serde_json::from_str(&json).expect("JSON");
    let shared = &profile["shared"];
    let cell = |table: &str, column: &str, row: &Value| {
        let row = row.as_u64().unwrap_or(u64::MAX) as usize;
        shared[table][column].get(row).cloned().unwrap_or(Value::Null)
    };
    let string = |number: &Value| {
        let number = number.as_u64().unwrap_or(u64::MAX) as usize;
        shared["stringArray"].get(number).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let frames = shared["frameTable"]["func"].as_array().expect("frames").iter();
    let lines = shared["frameTable"]["line"].as_array().expect("lines").iter();
    let of_function = frames
        .zip(lines)
        .filter(|(func, _)| string(&cell("funcTable", "name", func)).starts_with(function));
    let place = |(func, line): (&Value, &Value)| {
        let source = cell("funcTable", "source", func);
        (string(&cell("sources", "filename", &source)), line.as_u64().unwrap_or(0))
    };
    of_function.map(place).collect()
}

#[test]
fn stacks_go_through_trampolines_of_python_to_the_root() {
    const TEST: &str = "stacks_go_through_trampolines_of_python_to_the_root";
    if !is_installed(TEST, "perf") {
        return;
    }
    let Some(python) = python(TEST, "perf_jit") else { return };
    let folder = TestFolder::new();
    let script = folder.write("app.py", PROGRAM.as_bytes());
    let recording = record(&folder, &[&python, "-X", "perf_jit", text(&script)]);
    let theirs = injected_by_perf(&folder, &recording);
    let ours = words(&perftab(&folder, &["script", text(&recording)]));
    let told = report(&folder, &recording);
    let dump = self_named(&told);
    // If the jitdump is offered before any stack leads to its code, too.
    let offered = ["report", "--image", text(&dump), text(&recording)];
    let offered = Command::new(perftab_binary())
        .args(offered)
        .envs([("HOME", text(&folder)), ("DEBUGINFOD_URLS", "")])
        .ended()
        .expect("it runs");
    fs::remove_file(&dump).expect("it goes");
    assert!(!String::from_utf8_lossy(&offered.stderr).contains("is not used"), "{offered:?}");
    let functions = told["functions"].as_array().expect("functions");
    // A sample may be in what libraries begin and end with, of which no table tells.
    let ends = functions.iter().filter(|it| it["dso"] == "[unwinding]");
    let ends: Vec<&str> = ends.filter_map(|it| it["name"].as_str()).collect();
    let is_made = |end: &&str| end.contains(".dump") || end.contains("//anon");
    assert!(!ends.iter().any(is_made), "{ends:?}");
    assert_eq!(theirs.len(), ours.len());
    let mut same = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let known = made(ours, ".dump");
        let mut theirs = made(theirs, "/jitted-");
        // The kernel tells no build-id of the vdso with mappings: perf takes that of the machine, and goes on.
        if ours.last().is_some_and(|outermost| outermost.dso == "[vdso]") {
            theirs.truncate(known.len());
        }
        assert_eq!(theirs, known, "{ours:?}");
        same += known.len();
    }
    assert!(same > 100, "{same}");
    let calls = ["py::leaf:", "py::Middle.method:", "py::outer:", "py::<module>:"];
    let is_whole = |stack: &&Vec<Word>| {
        let mut made = made(stack, ".dump").into_iter().map(|(_, name)| name);
        calls.iter().all(|call| made.any(|name| name.starts_with(call)))
    };
    assert!(ours.iter().filter(is_whole).count() > 10);
}

#[test]
fn functions_of_python_have_names_from_its_perf_map() {
    const TEST: &str = "functions_of_python_have_names_from_its_perf_map";
    if !is_installed(TEST, "perf") {
        return;
    }
    let Some(python) = python(TEST, "perf") else { return };
    let folder = TestFolder::new();
    let script = folder.write("app.py", PROGRAM.as_bytes());
    let recording = record(&folder, &[&python, "-X", "perf", text(&script)]);
    let theirs = script_by_perf(&folder, &recording);
    let ours = words(&perftab(&folder, &["script", text(&recording)]));
    let map = self_named(&report(&folder, &recording));
    fs::remove_file(&map).expect("it goes");
    assert_eq!(theirs.len(), ours.len());
    let mut same = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        // Nothing tells how stacks go on there.
        for (place, name) in made(ours, ".map") {
            assert_eq!(theirs.get(place).map(|word| &*word.name), Some(name), "{ours:?}");
            same += 1;
        }
    }
    assert!(same > 10, "{same}");
}
