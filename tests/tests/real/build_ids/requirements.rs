//! Every requirement has a test that is named after it, in the fast tier as well as with `--all`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;

/// b01 to b48.
const COUNT: u32 = 48;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the repository")
}

/// Cells of the rows of a table in the document whose first cell is that.
pub fn row(document: &str, first: &str) -> Vec<String> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows = document.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.find(|cells| cells[0] == first).unwrap_or_else(|| panic!("no row {first}"))
}

/// The numbers that a name begins with: 14 and 15 of `b14_b15_the_kernel`.
fn numbers(name: &str) -> Vec<u32> {
    let number = |part: &str| {
        let digits = part.strip_prefix('b').filter(|digits| digits.len() == 2)?;
        digits.parse().ok()
    };
    name.split('_').map_while(number).collect()
}

/// When tests are run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Run {
    /// In both tiers.
    Always,
    /// With `--all`.
    ForAll,
}

/// Tests by the name of their function.
type Tests = BTreeMap<String, Run>;

/// Adds the test functions in a Rust source. One that is compiled only sometimes shows nothing.
fn add_tests(source: &str, tests: &mut Tests) {
    let mut attributes: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        let has = |start: &str| attributes.iter().any(|attribute| attribute.starts_with(start));
        if let Some(rest) = line.strip_prefix("fn ")
            && has("#[test]")
            && !has("#[cfg")
        {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            let run = if has("#[ignore") { Run::ForAll } else { Run::Always };
            tests.insert(name.to_owned(), run);
        }
        attributes.clear();
    }
}

/// The tests of this program, as it lists them itself: those that it would run.
fn own_tests() -> Tests {
    let list = |which: &[&str]| -> BTreeSet<String> {
        let program = std::env::current_exe().expect("a test program");
        let listed = Command::new(program).args(["--list", "--format=terse"]).args(which).ended();
        let listed = String::from_utf8(listed.expect("it runs").stdout).expect("UTF-8");
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        names.map(|name| name.rsplit("::").next().unwrap_or(name).to_owned()).collect()
    };
    let ignored = list(&["--ignored"]);
    let run = |name: &String| if ignored.contains(name) { Run::ForAll } else { Run::Always };
    list(&[]).into_iter().map(|name| (name.clone(), run(&name))).collect()
}

/// Tests of this program, and those beside the code of core and the recorder. `cargo xtask test`
/// runs all of these, and no other tests of Rust that are about build-ids.
fn all_tests() -> Tests {
    let mut tests = Tests::new();
    let mut folders: Vec<_> = ["core", "recorder/src"].map(|folder| root().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                add_tests(&fs::read_to_string(&path).expect("UTF-8"), &mut tests);
            }
        }
    }
    tests.extend(own_tests());
    tests
}

#[test]
fn every_requirement_has_a_test_in_each_tier() {
    let mut first: BTreeMap<u32, Run> = BTreeMap::new();
    for (test, run) in all_tests() {
        for number in numbers(&test) {
            let known = first.entry(number).or_insert(run);
            *known = run.min(*known);
        }
    }
    let unknown: Vec<_> = first.keys().filter(|number| !(1..=COUNT).contains(number)).collect();
    assert!(unknown.is_empty(), "there are {COUNT} requirements: {unknown:?}");
    let without = |is_missing: &dyn Fn(Option<&Run>) -> bool| -> Vec<String> {
        let missing = (1..=COUNT).filter(|number| is_missing(first.get(number)));
        missing.map(|number| format!("b{number:02}")).collect()
    };
    assert_eq!(without(&|run| run.is_none()), [""; 0], "no test");
    assert_eq!(without(&|run| run != Some(&Run::Always)), [""; 0], "no test in the fast tier");
}

#[test]
fn the_numbers_of_a_test_are_those_that_its_name_begins_with() {
    assert_eq!(numbers("b14_b15_the_kernel_b16"), [14, 15]);
    assert_eq!(numbers("b4_short"), [0u32; 0]);
    assert_eq!(numbers("build_ids"), [0u32; 0]);
}

#[test]
fn a_test_that_is_ignored_is_none_of_the_fast_tier() {
    let mut tests = Tests::new();
    let source = "#[test]\n#[ignore = \"left to --all: x\"]\nfn b01_a() {\n#[test]\nfn b02_b() {\n\
                  fn b03_helper() {\n#[cfg(windows)]\n#[test]\nfn b04_never() {\n";
    add_tests(source, &mut tests);
    let expected = [("b01_a", Run::ForAll), ("b02_b", Run::Always)];
    assert_eq!(tests, expected.map(|(name, run)| (name.to_owned(), run)).into());
    let own = own_tests();
    assert_eq!(own.get("a_test_that_is_ignored_is_none_of_the_fast_tier"), Some(&Run::Always));
    assert_eq!(own.get("b16_a_module_is_not_taken_for_the_kernel"), Some(&Run::ForAll));
}

/// A row of the document for each requirement: a test that there is, and what peers do in a
/// situation as its own table has it, which `peers` compares with what they do.
#[test]
fn the_document_names_a_test_for_every_requirement() {
    let document = fs::read_to_string(root().join("docs/build-ids.md")).expect("the document");
    let tests = all_tests();
    for number in 1..=COUNT {
        let name = format!("b{number:02}");
        let row = row(&document, &name);
        assert_eq!(row.len(), 6, "{name}: {row:?}");
        let test = row[2].trim_matches('`');
        assert!(tests.contains_key(test), "{name}: there is no test {test}");
        assert!(numbers(test).contains(&number), "{name}: {test} is of another");
        for (peer, cell) in row[3..].iter().enumerate() {
            let words = ["yes", "no", "option", "–", "not run"];
            if let Some((letter, outcome)) = cell.split_once(": ") {
                // After the letter, the words and perftab.
                let seen = &self::row(&document, letter)[peer + 3];
                assert_eq!(outcome, seen, "{name}: situation {letter}");
            } else {
                assert!(words.contains(&cell.as_str()), "{name}: {cell}");
            }
        }
    }
}
