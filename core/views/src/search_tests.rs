//! Texts to search for → the functions of a small profile that they find.

use perftab_names::{Inlining, Level, Provenance};

use super::call_tree::CallTree;
use super::fixture::{Fixture, fixture, ungrouped};
use super::label::Labels;
use super::search::{BadPattern, Pattern, search};

/// `Alpha` in `app` from `src/alpha.c`, `Alp` in `libz`, `Beta` in `app`, an address, and a run of
/// words in no mapping; of the process `zeta`.
fn stacks() -> Fixture {
    let mut stacks = fixture("zeta: Alpha Alp@libz 1\nzeta: Beta d 2\nzeta: ~3 4\n");
    let frames = || stacks.profile.frames.iter();
    let (frame, of) = frames()
        .find(|&(frame, _)| {
            let function = stacks.symbols.function(stacks.symbols.merged(frame));
            function.name == Some("Alpha")
        })
        .expect("it is there");
    let function = stacks.symbols.named(of.dso, "Alpha", Provenance::Embedded);
    let file = Some(stacks.symbols.file_of_path("/home/Ann/src/alpha.c"));
    let level = Level { function, file, line: None, inlining: Inlining::Called };
    stacks.symbols.set_known(frame, &[level]);
    stacks
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let Fixture { profile, symbols } = &stacks();
    let tree = CallTree::new(profile, symbols, &ungrouped());
    let pattern = Pattern::parse(text).expect("it can be looked for");
    let found = pattern.map(|pattern| search(profile, symbols, &tree, &pattern));
    let matches = found.into_iter().flat_map(|found| found.matches);
    let labels = Labels::new(profile, symbols);
    let mut names: Vec<String> =
        matches.map(|found| labels.text(tree.label(found.heaviest))).collect();
    names.sort();
    assert_eq!(names, expected, "{text}");
}

#[test]
fn a_capital_letter_finds_itself_only() {
    check("alp", &["Alp", "Alpha"]);
    check("Alp", &["Alp", "Alpha"]);
    check("ALP", &[]);
    check("aLP", &[]);
}

#[test]
fn all_words_must_be_found_wherever() {
    check("alp libz", &["Alp"]);
    check("  libz   alp  ", &["Alp"]);
    check("alp beta", &[]);
    check("app", &["0x64000000", "Alpha", "Beta", "[no mapping]"]);
    check("0x64", &["0x64000000"]);
    check("mapping", &["[no mapping]"]);
    check("", &[]);
    // Processes are no functions.
    check("zeta", &[]);
}

#[test]
fn a_prefix_says_where_to_look() {
    check("dso:libz", &["Alp"]);
    check("dso:alp", &[]);
    check("file:alpha.c", &["Alpha"]);
    check("file:src/", &["Alpha"]);
    check("ann", &["Alpha"]);
    check("file:beta", &[]);
    check("dso:app file:alpha a", &["Alpha"]);
    check("dso:", &[]);
}

#[test]
fn slashes_hold_a_regular_expression() {
    check("/^alp/", &["Alp", "Alpha"]);
    check("/^Alp$/", &["Alp"]);
    check("/^aLp/", &[]);
    // `\S` is no capital letter.
    check(r"/^be\Sa$/", &["Beta"]);
    check("dso:/z$/ /^a/", &["Alp"]);
    check("file:/alpha\\.[ch]/", &["Alpha"]);
    check("/alp|beta/", &["Alp", "Alpha", "Beta"]);
    // The second slash ends it where a word ends: paths are words.
    check("/home/ann", &["Alpha"]);
    check("/home/ann/src/", &["Alpha"]);
    check("/", &["Alpha"]);
}

#[test]
fn what_cannot_be_looked_for_says_why() {
    let problem = |text: &str| Pattern::parse(text).expect_err(text).to_string();
    assert!(problem("/(/").starts_with("Not a regular expression: "), "{}", problem("/(/"));
    assert!(problem("/a{9999999}/").starts_with("Not a regular expression: "));
    assert!(problem(r"/\w{90}{90}{90}/").starts_with("Not a regular expression: "));
    assert_eq!(Pattern::parse(&"a".repeat(1001)).expect_err("long"), BadPattern::TooLong);
    assert_eq!(Pattern::parse(&"a ".repeat(17)).expect_err("many"), BadPattern::TooLong);
    assert!(Pattern::parse(&"a".repeat(1000)).is_ok() && Pattern::parse(&"a ".repeat(16)).is_ok());
    assert!(Pattern::new("/(/").is_none());
}
