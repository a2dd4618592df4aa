//! Every requirement has a test that is named after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

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

/// Adds the names of the test functions in a Rust source.
fn add_tests(source: &str, tests: &mut BTreeSet<String>) {
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if line == "#[test]" {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if std::mem::take(&mut is_test) {
                tests.insert(name.to_owned());
            }
        }
    }
}

/// Names of all test functions of the repository.
fn all_tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    let mut folders: Vec<_> =
        ["core/src", "recorder/src", "web/src", "tests"].map(|folder| root().join(folder)).into();
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
    tests
}

#[test]
fn every_requirement_has_a_test() {
    let mut of_number: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for test in all_tests() {
        for number in numbers(&test) {
            of_number.entry(number).or_default().push(test.clone());
        }
    }
    let unknown: Vec<_> = of_number.keys().filter(|number| !(1..=COUNT).contains(number)).collect();
    assert!(unknown.is_empty(), "there are {COUNT} requirements: {unknown:?}");
    let missing: Vec<String> = (1..=COUNT)
        .filter(|number| !of_number.contains_key(number))
        .map(|number| format!("b{number:02}"))
        .collect();
    assert!(missing.is_empty(), "no test of {}", missing.join(" "));
}

#[test]
fn the_numbers_of_a_test_are_those_that_its_name_begins_with() {
    assert_eq!(numbers("b14_b15_the_kernel_b16"), [14, 15]);
    assert_eq!(numbers("b4_short"), [0u32; 0]);
    assert_eq!(numbers("build_ids"), [0u32; 0]);
    let mut tests = BTreeSet::new();
    add_tests("#[test]\n#[ignore]\nfn b01_a() {\nfn helper() {", &mut tests);
    assert_eq!(tests.into_iter().collect::<Vec<_>>(), ["b01_a"]);
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
        assert!(tests.contains(test), "{name}: there is no test {test}");
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
