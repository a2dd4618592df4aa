//! Stacks as text → sums by any keys as text, and the facts of one function.

use std::num::NonZeroU32;

use perftab_names::{Inlining, Level, Provenance};

use super::breakdown::{Key, Measure, Observed, Value, rows};
use super::build::build_with_ends;
use super::call_tree::CallTree;
use super::data_access::AccessNames;
use super::filter::Filter;
use super::fixture::{Fixture, fixture, lines, ungrouped};
use super::function_ref::{DsoRef, FunctionRef};
use super::functions;
use super::hot_lines::SourceLine;
use super::hot_lines_tests::stacks_with_lines;
use super::sandwich::sum_up;
use super::step_tests::function;
use super::transform::Transform;
use super::{Inlines, Query, label::Labels};

/// `value,value: self total` a line, in the order of the text.
fn text(stacks: &Fixture, query: &Query, keys: &[Key]) -> String {
    let Fixture { profile, symbols } = stacks;
    let (built, ends) = build_with_ends(profile, symbols, query);
    let filter = Filter::new(profile, query);
    let labels = Labels::new(profile, symbols);
    let value = |value: &Value| match *value {
        Value::Comm(name) => profile.strings.get(name).to_owned(),
        Value::Pid(number) | Value::Tid(number) => number.to_string(),
        Value::Cpu(number) => number.to_string(),
        Value::Socket(number) => number.to_string(),
        Value::Time(nanos) => nanos.to_string(),
        Value::Dso(dso) => profile.dsos.get(dso).name().to_owned(),
        Value::File(file) => symbols.file(file).to_owned(),
        Value::Line(SourceLine { line, .. }) => line.map_or(0, NonZeroU32::get).to_string(),
        Value::Function(function) => labels.function_text(function),
        Value::Access(value) => format!("{value:?}"),
        Value::Nothing => "-".to_owned(),
    };
    let data = &AccessNames::default();
    let (tree, ends, inlines) = (&built.tree, &ends, query.inlines);
    let observed = Observed { profile, symbols, data, tree, ends, inlines };
    let rows = rows(observed, &filter, Measure::Period, keys);
    let line = |row: &super::breakdown::Row| {
        let values: Vec<_> = row.values.iter().map(value).collect();
        format!("{}: {} {}\n", values.join(","), row.self_sum.weight, row.total.weight)
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

const STACKS: &str = "
    p: A B A 5
    p: A C 2
    q: D 1
    q: A ~3 4
    q: 8
    ";

#[test]
fn rows_have_what_is_equal_for_each_key() {
    let mut stacks = fixture(STACKS);
    stacks.profile.samples.cpu.set(1, 3);
    stacks.profile.samples.cpu.set(3, u16::MAX);
    stacks.profile.machine.socket_of_cpu = vec![7, 0, 0, 1];
    let check = |keys: &[Key], expected: &str| {
        assert_eq!(text(&stacks, &ungrouped(), keys), lines(expected), "{keys:?}");
    };
    check(&[Key::Comm], "p: 7 7\nq: 13 13");
    check(&[Key::Tid], "1: 7 7\n2: 13 13");
    check(&[Key::Cpu], "-: 4 4\n0: 14 14\n3: 2 2");
    check(&[Key::Socket], "-: 4 4\n1: 2 2\n7: 14 14");
    check(&[Key::Dso], "-: 12 12\napp: 8 12");
    check(&[Key::Dso, Key::Comm], "-,q: 12 12\napp,p: 7 7\napp,q: 1 5");
    check(
        &[Key::Comm, Key::Function],
        "
        p,A: 5 7
        p,B: 0 5
        p,C: 2 2
        q,-: 12 12
        q,A: 0 4
        q,D: 1 1
        ",
    );
    check(&[], ": 20 20");
}

#[test]
fn filters_and_steps_apply_to_rows() {
    let stacks = fixture(STACKS);
    let only_q = Query { comms: vec!["q".to_owned()], ..ungrouped() };
    assert_eq!(text(&stacks, &only_q, &[Key::Pid]), "2: 13 13\n");
    let (_, dso) = stacks.profile.dsos.iter().next().expect("a DSO");
    let function = FunctionRef { dso: DsoRef::of(dso), name: Some("B".to_owned()), address: None };
    let without = Query { steps: vec![Transform::Drop { function }], ..ungrouped() };
    assert_eq!(text(&stacks, &without, &[Key::Comm]), "p: 2 2\nq: 13 13\n");
}

/// Recursion, what is inlined, steps and what has no line.
#[test]
fn rows_of_lines_have_those_of_each_call() {
    let stacks = stacks_with_lines();
    let check = |query: &Query, keys: &[Key], expected: &str| {
        assert_eq!(text(&stacks, query, keys), lines(expected), "{query:?} {keys:?}");
    };
    let of_lines = [Key::Function, Key::Line];
    check(
        &ungrouped(),
        &of_lines,
        "
        A,10: 6 13
        A,20: 0 2
        A,30: 0 3
        B,40: 7 8
        B,50: 0 9
        H,21: 2 2
        H,31: 0 3
        H,51: 9 9
        I,32: 3 3
        M,-: 4 31
        ",
    );
    check(
        &ungrouped(),
        &[Key::Line],
        "-: 4 31\n10: 6 13\n20: 0 2\n21: 2 2\n30: 0 3\n31: 0 3\n32: 3 3\n40: 7 8\n50: 0 9\n51: 9 9",
    );
    let merged = Query { inlines: Inlines::Merged, ..ungrouped() };
    // The lines of instructions, which may be of what is inlined.
    check(&merged, &of_lines, "A,10: 6 13\nA,21: 2 2\nA,32: 3 3\nB,40: 7 8\nB,51: 9 9\nM,-: 4 31");
    // What was in B ends at the calls of B.
    let without =
        Query { steps: vec![Transform::Merge { function: function(&stacks, "B") }], ..merged };
    check(&without, &of_lines, "A,10: 13 13\nA,21: 2 2\nA,32: 3 3\nM,-: 13 31");
}

/// Whatever the stacks: by function the sums are those of the functions table, and self adds up to
/// the whole for any keys.
#[test]
fn sums_are_those_of_the_functions_table() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..40 {
        let mut stacks = String::new();
        for _ in 0..random(30) {
            stacks += ["p: ", "q: ", "r: "][random(3) as usize];
            for _ in 0..=random(9) {
                stacks += ["A ", "B ", "C ", "d ", "e ", "~1 "][random(6) as usize];
            }
            stacks += &format!("{}\n", 1 + random(9));
        }
        let fixture = fixture(&stacks);
        let Fixture { profile, symbols } = &fixture;
        let query = ungrouped();
        let (built, ends) = build_with_ends(profile, symbols, &query);
        let filter = Filter::new(profile, &query);
        let data = &AccessNames::default();
        let (tree, ends, inlines) = (&built.tree, &ends, query.inlines);
        let observed = Observed { profile, symbols, data, tree, ends, inlines };
        let of = |keys: &[Key]| rows(observed, &filter, Measure::Period, keys);
        let mut by_function: Vec<_> = of(&[Key::Function])
            .into_iter()
            .map(|row| match row.values[0] {
                Value::Function(function) => (Some(function), row.self_sum, row.total),
                _ => (None, row.self_sum, row.total),
            })
            .collect();
        let mut expected: Vec<_> = functions::sums(&built.tree)
            .into_iter()
            .map(|sum| (sum.label.function(), sum.self_sum, sum.total))
            .collect();
        by_function.sort_by_key(|row| row.0);
        expected.sort_by_key(|row| row.0);
        assert_eq!(by_function, expected, "{stacks}");
        let whole: u64 = profile.samples.weight.iter().sum();
        for keys in [
            &[Key::Dso][..],
            &[Key::Comm, Key::File],
            &[Key::Line],
            &[Key::Cpu, Key::Dso, Key::Tid],
        ] {
            let own: u64 = of(keys).iter().map(|row| row.self_sum.weight).sum();
            assert_eq!(own, whole, "{keys:?} of\n{stacks}");
        }
    }
}

#[test]
fn a_function_is_told_from_what_is_inlined_into_it() {
    let mut stacks = fixture("A F G 2\nA F x 5\nA F 3\nA F A F x 1\nA y 4");
    // x is in H, which is inlined into K, which is inlined into F; y is H inlined elsewhere.
    let frames: Vec<_> = stacks.profile.frames.iter().collect();
    let mut place = |name: u8, functions: &[&str]| {
        let address = u64::from(name) << 24;
        let &(frame, of) =
            frames.iter().find(|(_, frame)| frame.address == address).expect("it is there");
        let level = |(depth, &name): (usize, &&str)| Level {
            function: stacks.symbols.named(of.dso, name, Provenance::Embedded),
            file: None,
            line: None,
            inlining: if depth == 0 { Inlining::Called } else { Inlining::Inlined },
        };
        let levels: Vec<Level> = functions.iter().enumerate().map(level).collect();
        stacks.symbols.set_known(frame, &levels);
    };
    place(b'x', &["F", "K", "H"]);
    place(b'y', &["L", "H"]);
    let Fixture { profile, symbols } = &stacks;
    let tree = CallTree::new(profile, symbols, &ungrouped());
    let labels = Labels::new(profile, symbols);
    let facts = |name: &str| {
        sum_up(&tree, |label| label.function().is_some() && labels.text(label) == name)
    };
    let f = facts("F").expect("it was met");
    // `A F x` is A → F → (F → K → H): the frame of x is F's own code, called by F.
    assert_eq!((f.self_sum.weight, f.total.weight, f.own_code.weight), (3, 11, 9));
    let parts = f.parts.iter().map(|&(id, sum)| (labels.function_text(id), sum.weight));
    assert_eq!(parts.collect::<Vec<_>>(), [("F".to_owned(), 3), ("H".to_owned(), 6)]);
    let h = facts("H").expect("it was met");
    assert_eq!((h.self_sum.weight, h.total.weight, h.own_code.weight), (10, 10, 10));
    assert_eq!(facts("absent"), None);
}
