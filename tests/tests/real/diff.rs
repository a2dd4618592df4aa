//! `perftab diff` of recordings of a real program: what `perf diff` says of the same files, and what
//! must hold whatever was recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::{compile, is_installed};
use perftab_tests::{perftab_at, perftab_binary};
use serde_json::Value;

/// Two versions of one program: the second does some of its work in another function.
const SOURCE: &str = r#"
static volatile unsigned long sum;
static __attribute__((noinline)) void steady(long n) { while (n--) sum += n * 7; }
static __attribute__((noinline)) void shrinks(long n) { while (n--) sum ^= n * 3; }
static __attribute__((noinline)) void added(long n) { while (n--) sum -= n * 5; }
int main(void) {
    for (int round = 0; round < 40; round++) {
        steady(1000000);
        shrinks(SECOND ? 500000 : 3000000);
        if (SECOND) added(2500000);
    }
    return sum == 1;
}
"#;

/// A program of one name in a folder of its own, and a recording of it.
fn record(folder: &TestFolder, version: &str, build_id: &str) -> PathBuf {
    let own = folder.join(version);
    fs::create_dir_all(&own).expect("a folder");
    let is_second = if version == "second" { "1" } else { "0" };
    compile(&own, "program", build_id, &format!("#define SECOND {is_second}\n{SOURCE}"));
    record_again(&own, "perf.data")
}

fn record_again(own: &Path, name: &str) -> PathBuf {
    let recording = own.join(name);
    let recorded = Command::new(perftab_binary())
        .args(["record", "-e", "cpu-clock", "-F", "4999", "-g", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(own.join("program"))
        .stdout(Stdio::null())
        .ended()
        .expect("perftab runs");
    let stderr = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "perftab record fails: {stderr}");
    recording
}

fn diff(home: &TestFolder, before: &Path, after: &Path, options: &[&str]) -> Value {
    let output = perftab_at(home, &["diff", "--json"])
        .args(options)
        .args([before, after])
        .ended()
        .expect("perftab runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "perftab diff fails: {stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const FIRST_ID: &str = "11111111aaaa1111aaaa1111aaaa1111aaaa1111";
const SECOND_ID: &str = "22222222bbbb2222bbbb2222bbbb2222bbbb2222";

#[test]
fn changes_of_functions_are_those_of_perf_diff() {
    if !is_installed("changes_of_functions_are_those_of_perf_diff", "perf") {
        return;
    }
    let folder = TestFolder::new();
    let before = record(&folder, "first", FIRST_ID);
    let after = record(&folder, "second", SECOND_ID);
    let ours = diff(&folder, &before, &after, &["--no-inline"]);
    let mut functions = BTreeMap::new();
    for function in ours["functions"].as_array().expect("functions") {
        let dso = function["dso"].as_str().unwrap_or_default().to_owned();
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| function[key].as_f64().expect("a number");
        if dso == "program" {
            functions.insert(name, (number("before"), number("change")));
        }
    }
    let theirs = by_perf(&before, &after);
    let names = |functions: &BTreeMap<String, (f64, f64)>| -> Vec<String> {
        functions.keys().cloned().collect()
    };
    assert!(theirs.contains_key("added") && theirs.contains_key("shrinks"), "{theirs:?}");
    assert_eq!(names(&functions), names(&theirs));
    for (name, (before, change)) in &theirs {
        let ours = functions[name];
        let near = |one: f64, other: f64| (one - other).abs() < 0.006;
        assert!(
            near(ours.0, *before) && near(ours.1, *change),
            "{name}: {ours:?}, perf {before} {change}"
        );
    }
    let pair = &ours["dsos"][0];
    assert_eq!((&pair["name"], &pair["relation"]), (&"program".into(), &"two-builds".into()));
    assert_eq!(pair["before_build_ids"][0], FIRST_ID);
    assert_eq!(pair["after_build_ids"][0], SECOND_ID);
}

/// By function of the program: percent before, and points. perf leaves out what is nothing.
fn by_perf(before: &Path, after: &Path) -> BTreeMap<String, (f64, f64)> {
    let output = Command::new("perf")
        .args(["diff", "-c", "delta", "-t", "|"])
        .args([before, after])
        .ended()
        .expect("perf runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let mut functions = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [before, change, dso, symbol] = cells[..] else { panic!("perf prints {line:?}") };
        let number = |text: &str| match text.trim_end_matches('%') {
            "" => 0.0,
            text => text.parse().unwrap_or_else(|_| panic!("perf prints {line:?}")),
        };
        let (before, change) = (number(before), number(change));
        // Of a function that is gone perf says no change.
        let change = if change == 0.0 && before != 0.0 && line_has_no_change(line) {
            -before
        } else {
            change
        };
        if dso == "program" {
            let name = symbol.split_once("] ").map_or(symbol, |(_, name)| name);
            functions.insert(name.to_owned(), (before, change));
        }
    }
    functions
}

fn line_has_no_change(line: &str) -> bool {
    line.split('|').nth(1).is_some_and(|cell| cell.trim().is_empty())
}

#[test]
fn what_one_recording_cannot_name_is_not_compared_yet() {
    let folder = TestFolder::new();
    let before = record(&folder, "first", FIRST_ID);
    let after = record(&folder, "second", SECOND_ID);
    let only_after = folder.join("second/program");
    let options = ["--no-local", "--image", only_after.to_str().expect("UTF-8")];
    let ours = diff(&folder, &before, &after, &options);
    assert_eq!(ours["dsos"][0]["without_names"], "before");
    let functions = ours["functions"].as_array().expect("functions");
    let of_program = |function: &&Value| function["dso"] == "program";
    assert!(functions.iter().any(|function| function["name"] == "steady"));
    assert!(functions.iter().any(|function| function["name"].is_null()));
    for function in functions.iter().filter(of_program) {
        assert_eq!(function["without_names"], "before", "{function}");
        assert_eq!((&function["change"], &function["certain"]), (&0.0.into(), &false.into()));
        assert_eq!(function["only"], Value::Null, "{function}");
    }
    let first = functions.iter().position(|function| of_program(&function)).expect("some");
    assert!(functions[first..].iter().all(|function| of_program(&function)), "they come last");

    let output = perftab_at(&folder, &["diff"]).args(options).args([&before, &after]).ended();
    let text = String::from_utf8(output.expect("perftab runs").stdout).expect("UTF-8");
    assert!(text.contains("# not comparable yet: before lacks names for program"), "{text}");
    let row = text.lines().find(|line| line.contains("steady")).expect("a row");
    assert!(row.trim_start().starts_with("- ") && row.contains("not comparable"), "{row}");
}

/// Only one side wants each of these: nothing is said of the other, and of what neither wants it is said once.
#[test]
fn files_that_the_other_side_takes_are_not_refused_and_each_side_says_its_own() {
    let folder = TestFolder::new();
    let before = record(&folder, "first", FIRST_ID);
    let after = record(&folder, "second", SECOND_ID);
    let stranger = compile(&folder, "stranger", "33333333cccc3333", "int main(void) { return 0; }");
    let images = [folder.join("first/program"), folder.join("second/program"), stranger.clone()];
    let mut command = perftab_at(&folder, &["diff", "--no-local"]);
    for image in &images {
        command.arg("--image").arg(image);
    }
    let output = command.args([&before, &after]).ended().expect("perftab runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let refused: Vec<&str> = said.lines().filter(|line| line.contains("--image")).collect();
    assert_eq!(refused.len(), 1, "{said}");
    assert!(refused[0].contains(stranger.to_str().expect("UTF-8")), "{said}");
    let others = said.lines().filter(|line| !line.contains("--image"));
    for line in others {
        let side = line.strip_prefix("perftab: ").expect("a notice");
        assert!(side.starts_with("before: ") || side.starts_with("after: "), "{said}");
    }
    // One of the other build: each side says for itself what it has instead.
    let wrong = folder.join("given/program");
    fs::create_dir_all(folder.join("given")).expect("a folder");
    compile(&folder.join("given"), "program", "44444444dddd4444", "int main(void) { return 0; }");
    let mut command = perftab_at(&folder, &["diff", "--no-local", "--image"]);
    let output = command.arg(&wrong).args([&before, &after]).ended().expect("perftab runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let refused: Vec<&str> = said.lines().filter(|line| line.contains("--image")).collect();
    assert_eq!(refused.len(), 2, "{said}");
    assert!(refused[0].contains("before: ") && refused[0].contains(FIRST_ID), "{said}");
    assert!(refused[1].contains("after: ") && refused[1].contains(SECOND_ID), "{said}");
}

/// Work in functions that a stripped file still names, since they are exported, and in others.
const WITH_LIBRARY: &str = r#"
void exported(long n);
static volatile unsigned long sum;
static __attribute__((noinline)) void steady(long n) { while (n--) sum += n * 7; }
__attribute__((noinline)) void visible(long n) { while (n--) sum ^= n * 3; }
int main(void) {
    for (int round = 0; round < 40; round++) { steady(900000); visible(900000); exported(500000); }
    return sum == 1;
}
"#;
const LIBRARY: &str = r#"
static volatile unsigned long sum;
static __attribute__((noinline)) void inner(long n) { while (n--) sum += n * 7; }
void exported(long n) { for (long left = n; left--;) sum ^= left * 3; inner(n); }
"#;

/// The program and its library, each build in a folder of its own, without debug information.
fn record_with_library(folder: &TestFolder, version: &str, build_id: &str) -> PathBuf {
    let own = folder.join(version);
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("library.c"), LIBRARY).expect("the source is written");
    fs::write(own.join("program.c"), WITH_LIBRARY).expect("the source is written");
    let gcc = |build_id: &str, arguments: &[&str]| {
        let mut gcc = Command::new("gcc");
        let build_id = format!("-Wl,--build-id=0x{build_id}");
        gcc.current_dir(&own).args(["-O1", "-fno-omit-frame-pointer", &build_id]).args(arguments);
        assert!(gcc.exit_status().expect("gcc runs").success());
    };
    let of_library = build_id.replace(['1', '2'], "5");
    gcc(&of_library, &["-shared", "-fPIC", "-o", "libwork.so", "library.c"]);
    gcc(build_id, &["-o", "program", "program.c", "libwork.so", "-Wl,-rpath,$ORIGIN", "-rdynamic"]);
    if version == "first" {
        let mut strip = Command::new("strip");
        strip.args([own.join("program"), own.join("libwork.so")]);
        assert!(strip.exit_status().expect("strip runs").success());
    }
    record_again(&own, "perf.data")
}

#[test]
fn of_stripped_files_only_what_they_name_is_compared() {
    let folder = TestFolder::new();
    let before = record_with_library(&folder, "first", FIRST_ID);
    let after = record_with_library(&folder, "second", SECOND_ID);
    let ours = diff(&folder, &before, &after, &[]);
    let pair = |name: &str| {
        let pairs = ours["dsos"].as_array().expect("pairs");
        pairs.iter().find(|pair| pair["name"] == name).expect("a pair").clone()
    };
    assert_eq!(pair("program")["without_names"], "before");
    assert_eq!(pair("libwork.so")["without_names"], "before");
    let functions = ours["functions"].as_array().expect("functions");
    let find = |dso: &str, name: Value| {
        let is_it = |it: &&Value| it["dso"] == dso && it["name"] == name;
        functions.iter().find(is_it).unwrap_or_else(|| panic!("no {name} of {dso}: {functions:?}"))
    };
    for (dso, name) in [
        ("program", "steady".into()),
        ("program", Value::Null),
        ("libwork.so", "inner".into()),
        ("libwork.so", Value::Null),
    ] {
        let function = find(dso, name);
        assert_eq!(function["without_names"], "before", "{function}");
        assert_eq!((&function["change"], &function["certain"]), (&0.0.into(), &false.into()));
    }
    for (dso, name) in [("program", "visible"), ("libwork.so", "exported")] {
        let function = find(dso, name.into());
        assert_eq!((&function["without_names"], &function["only"]), (&Value::Null, &Value::Null));
    }
    // The meter of each side: what is stripped has fewer names.
    let named = |side: &str| {
        let coverage = &ours[side]["coverage"];
        coverage["named_leaves"].as_f64().expect("a number")
            / coverage["samples"].as_f64().expect("a number")
    };
    assert!(named("before") < named("after"), "{} {}", named("before"), named("after"));
    let text = perftab_at(&folder, &["diff"]).args([&before, &after]).ended().expect("it runs");
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    for side in ["before", "after"] {
        let line =
            text.lines().find(|line| line.starts_with(&format!("# {side}"))).expect("a side");
        let percent =
            format!("{:.1}\u{2009}% of them end in a named function", named(side) * 100.0);
        assert!(line.ends_with(&percent), "{line} does not say {percent}");
    }
}

#[test]
fn swapping_negates_every_change_and_a_file_beside_itself_has_none() {
    let folder = TestFolder::new();
    let before = record(&folder, "first", FIRST_ID);
    let after = record_again(&folder.join("first"), "again.data");
    let key = |function: &Value| {
        format!("{} {} {}", function["name"], function["address"], function["dso"])
    };
    let changes = |diff: &Value, key_of: &dyn Fn(&Value) -> String| -> BTreeMap<String, [f64; 2]> {
        let functions = diff["functions"].as_array().expect("functions");
        assert!(!functions.is_empty());
        let change = |function: &Value| {
            [&function["change"], &function["total"]["change"]]
                .map(|it| it.as_f64().expect("a number"))
        };
        functions.iter().map(|function| (key_of(function), change(function))).collect()
    };
    for basis in ["share", "per-second", "raw"] {
        let options = ["--basis", basis, "--total"];
        let there = changes(&diff(&folder, &before, &after, &options), &key);
        let back = changes(&diff(&folder, &after, &before, &options), &key);
        let negated: BTreeMap<_, _> =
            back.into_iter().map(|(key, change)| (key, change.map(|it| 0.0 - it))).collect();
        assert_eq!(there, negated, "{basis}");
        let itself = changes(&diff(&folder, &before, &before, &options), &key);
        assert!(itself.values().all(|change| *change == [0.0, 0.0]), "{basis}: {itself:?}");
    }
}

#[test]
fn events_that_count_the_same_are_compared_and_others_if_asked() {
    let folder = TestFolder::new();
    let record_event = |name: &str, event: &str| {
        let file = folder.join(name);
        let arguments = ["record", "-e", event, "-o", file.to_str().unwrap(), "--", "true"];
        let output = perftab_at(&folder, &arguments).ended().expect("perftab runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        file
    };
    let clock = record_event("clock", "cpu-clock");
    let precise = record_event("precise", "cpu-clock:ppp");
    let task = record_event("task", "task-clock");
    let events = |before: &Path, after: &Path, options: &[&str]| {
        let arguments = [&["diff", "--json"], options].concat();
        let mut command = perftab_at(&folder, &arguments);
        let output = command.args([before, after]).ended().expect("perftab runs");
        match output.status.code() {
            Some(1) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            _ => {
                let diff: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                Ok(["before", "after"].map(|side| diff[side]["event"].as_str().unwrap().to_owned()))
            }
        }
    };
    let pair = |before: &str, after: &str| Ok([before.to_owned(), after.to_owned()]);
    assert_eq!(events(&clock, &precise, &[]), pair("cpu-clock", "cpu-clock:ppp"));
    assert_eq!(
        events(&precise, &clock, &["--event", "cpu-clock"]),
        pair("cpu-clock:ppp", "cpu-clock")
    );
    let said = events(&clock, &task, &[]).unwrap_err();
    assert!(said.contains("no event in common") && said.contains("BEFORE=AFTER"), "{said}");
    let named = ["--event", "cpu-clock=task-clock"];
    assert_eq!(events(&clock, &task, &named), pair("cpu-clock", "task-clock"));
}

#[test]
fn wrong_use_says_what_to_do() {
    let folder = TestFolder::new();
    let before = record(&folder, "first", FIRST_ID);
    let run = |arguments: &[&str]| {
        let output = perftab_at(&folder, arguments).ended().expect("perftab runs");
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        (output.status.code(), text)
    };
    let file = before.to_str().expect("a path");
    let (code, text) = run(&["diff", file, file, "--event", "nonsense"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("no event nonsense") && text.contains("cpu-clock"), "{text}");
    let (code, text) = run(&["diff", file]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("perf.data.old"), "as in perf, it is compared with that: {text}");
    let (code, text) = run(&["diff", "-", "-"]);
    assert_eq!(code, Some(1));
    assert!(text.lines().count() == 1 && text.contains("standard input"), "{text}");
    let (code, text) = run(&["diff", file, file, "-C", "nobody"]);
    assert_eq!(code, Some(0));
    for side in ["before", "after"] {
        assert!(text.contains(&format!("perftab: {side}: the filters leave no sample")), "{text}");
    }
}
