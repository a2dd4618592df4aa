//! Stacks as text → tables of files and threads as text.

use perftab_names::{Inlining, Level, Provenance};

use super::build::build_with_ends;
use super::call_tree::CallTree;
use super::fixture::{Fixture, fixture, lines, ungrouped};
use super::functions::{FunctionKey, FunctionOrder, SortDirection};
use super::grouped::{GroupRow, by_dso, by_file, by_thread};
use super::label::OwnCode;
use super::{Group, Query};

/// `name self total` a line.
fn text(rows: &[GroupRow]) -> String {
    let line =
        |row: &GroupRow| format!("{} {} {}\n", row.name, row.self_sum.weight, row.total.weight);
    rows.iter().map(line).collect()
}

/// Gives frames lines: `A a.c` is the function A in a file, `A a.c H h.h` the function H inlined
/// into it besides. The frame of A is meant in both.
fn with_files(mut stacks: Fixture, files: &str) -> Fixture {
    let frames: Vec<_> = stacks.profile.frames.iter().collect();
    for line in files.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = u64::from(words[0].as_bytes()[0]) << 24;
        let &(frame, of) =
            frames.iter().find(|(_, frame)| frame.address == address).expect("it is there");
        let levels: Vec<Level> = words
            .chunks(2)
            .enumerate()
            .map(|(depth, level)| Level {
                function: stacks.symbols.named(of.dso, level[0], Provenance::Embedded),
                file: Some(stacks.symbols.file_of_path(level[1])),
                line: None,
                inlining: if depth == 0 { Inlining::Called } else { Inlining::Inlined },
            })
            .collect();
        stacks.symbols.set_known(frame, &levels);
    }
    stacks
}

fn tree(stacks: &Fixture, group: Group) -> CallTree {
    CallTree::new(&stacks.profile, &stacks.symbols, &Query { group, ..ungrouped() })
}

#[test]
fn files_count_each_sample_once_and_what_has_none_is_by_dso() {
    let stacks = with_files(
        fixture(
            "
            p: A B A 5
            p: A C 2
            q: D 1
            q: A ~3 4
            ",
        ),
        "
        A a.c
        B a.c
        C c.c H h.h
        ",
    );
    for group in [Group::None, Group::Process] {
        let tree = tree(&stacks, group);
        let rows = by_file(
            &stacks.profile,
            &stacks.symbols,
            &OwnCode::default(),
            &tree,
            FunctionOrder::default(),
        );
        // C's own code has no samples: they all are in H, which is inlined there.
        let expected = "
            a.c 5 11
            [no mapping] 4 4
            h.h 2 2
            [no source file] 1 1
            c.c 0 2
            ";
        assert_eq!(text(&rows), lines(expected));
        assert_eq!(rows[0].within, "app");
        assert_eq!((rows[3].id, rows[3].within.as_str()), (None, "app"));
        let by_id = |id| rows.iter().filter(|row| row.id == Some(id)).count();
        assert!(rows.iter().filter_map(|row| row.id).all(|id| by_id(id) == 1));
    }
}

#[test]
fn dsos_count_each_sample_once() {
    let stacks = fixture("p: A b A 5\np: A ~2 2\nq: ~1 1");
    let tree = tree(&stacks, Group::Thread);
    let rows = by_dso(
        &stacks.profile,
        &stacks.symbols,
        &OwnCode::default(),
        &tree,
        FunctionOrder::default(),
    );
    assert_eq!(text(&rows), lines("app 5 7\n[no mapping] 3 3"));
    assert_eq!((rows[0].id, rows[1].id), (Some(0), None));
}

#[test]
fn threads_of_one_number_are_one_under_the_last_name() {
    let mut stacks = fixture("first: A 5\nother: A B 3\nthird: C 1");
    // The first thread, renamed.
    stacks.profile.threads.threads[2].tid = 1;
    let by = |key, direction| {
        let order = FunctionOrder { key, direction };
        let (profile, symbols, query) = (&stacks.profile, &stacks.symbols, Query::default());
        let (_, ends) = build_with_ends(profile, symbols, &query);
        text(&by_thread(profile, symbols, &query, &ends, order))
    };
    let expected = "third 1 6 6\nother 2 3 3\n";
    assert_eq!(by(FunctionKey::SelfWeight, SortDirection::Descending), expected);
    let expected = "other 2 3 3\nthird 1 6 6\n";
    assert_eq!(by(FunctionKey::Name, SortDirection::Ascending), expected);
    assert_eq!(by(FunctionKey::Total, SortDirection::Ascending), expected);
}
