//! Stacks as text → comparisons as text, and the algebra that holds for any stacks.

use std::collections::BTreeMap;

use perftab_images::ImageContents;
use perftab_names::{Inlining, Level, Provenance, Symbols};
use perftab_perfdata::format::BuildId;
use perftab_profile::{DsoId, DsoKind, Identity};

use super::*;
use crate::Query;
use crate::filter::{RangeSide, TimeRange};
use crate::fixture::{Fixture, fixture, lines, ungrouped};
use crate::functions;
use crate::label::{Labels, OwnCode};

/// The fixture's one DSO with code.
const APP: DsoId = DsoId(0);

/// As a file with this build-id; `None`: recorded without.
fn of_build(text: &str, id: Option<u8>) -> Fixture {
    let mut made = fixture(text);
    let dso = made.profile.dsos.get_mut(APP);
    dso.kind = DsoKind::User;
    dso.identity = id.and_then(|id| BuildId::new(&[id; 20])).map(Identity::Gnu);
    made
}

/// The same without a name of any function.
fn nameless(mut fixture: Fixture) -> Fixture {
    fixture.symbols = Symbols::new(&fixture.profile);
    fixture
}

fn tree(fixture: &Fixture) -> CallTree {
    CallTree::new(&fixture.profile, &fixture.symbols, &ungrouped())
}

/// No file is here; names, if there are any, came in the recording.
fn no_files(fixture: &Fixture) -> Ledger {
    let mut ledger = Ledger::new(&fixture.profile.dsos);
    let functions = fixture.symbols.function_ids();
    for function in functions.map(|id| fixture.symbols.function(id)) {
        if function.provenance == Provenance::Embedded {
            ledger.embedded(function.dso);
        }
    }
    ledger
}

/// A file that matches the one DSO with code, and what it holds.
fn matched(fixture: &Fixture, gives: ImageContents) -> Ledger {
    let mut files = no_files(fixture);
    files.matched(APP, "app", gives);
    files
}

const FUNCTIONS: ImageContents = ImageContents {
    functions: true,
    inlines: false,
    unwinding: false,
    symbol_table: false,
    memory: false,
};
const INLINES: ImageContents = ImageContents { inlines: true, ..FUNCTIONS };

fn source<'a>(fixture: &'a Fixture, ledger: &'a Ledger, tree: &'a CallTree) -> Source<'a> {
    let Fixture { profile, symbols } = fixture;
    let (unnamed, own) = (Unnamed::EachAddress, OwnCode::default());
    Source { profile, symbols, ledger, tree, unnamed, own, nanoseconds: 1_000_000_000 }
}

fn compare(before: &Fixture, after: &Fixture) -> Comparison {
    compare_with([(before, no_files(before)), (after, no_files(after))])
}

fn compare_with(sides: [(&Fixture, Ledger); 2]) -> Comparison {
    let trees = [tree(sides[0].0), tree(sides[1].0)];
    let [before, after] = [0, 1].map(|at: usize| source(sides[at].0, &sides[at].1, &trees[at]));
    Comparison::new(&before, &after, Recordings::Two)
}

/// The same, where code without a name is shown as one.
fn compare_as_one(before: &Fixture, after: &Fixture) -> Comparison {
    let (ledgers, trees) = ([before, after].map(no_files), [tree(before), tree(after)]);
    let sides = [(before, 0), (after, 1)].map(|(made, at): (_, usize)| Source {
        unnamed: Unnamed::OnePerDso,
        ..source(made, &ledgers[at], &trees[at])
    });
    Comparison::new(&sides[0], &sides[1], Recordings::Two)
}

/// One call node a line, indented: total before and after, self before and after.
fn text_of(comparison: &Comparison) -> String {
    let mut text = String::new();
    let measures = Measures::new(Basis::Raw, &comparison.totals());
    let mut open = vec![(CallNodeId::ROOT, 0)];
    while let Some((id, depth)) = open.pop() {
        let (total, own) = (comparison.total(id), comparison.self_sums(id));
        text += &format!(
            "{}{} {} {} {} {}\n",
            "  ".repeat(depth),
            comparison.text(comparison.label(id)),
            total.before.weight,
            total.after.weight,
            own.before.weight,
            own.after.weight
        );
        let mut children = comparison.children_by_width(&measures, Width::Both, id);
        children.reverse();
        open.extend(children.into_iter().map(|child| (child, depth + 1)));
    }
    text
}

#[track_caller]
fn check(before: &str, after: &str, expected: &str) {
    assert_eq!(
        text_of(&compare(&of_build(before, Some(1)), &of_build(after, Some(1)))),
        lines(expected)
    );
}

#[test]
fn trees_merge_and_keep_what_one_side_lacks() {
    check(
        "
        A B 4
        A C 1
        D 2
        ",
        "
        A B 6
        A 3
        E 1
        ",
        "
        all 7 10 0 0
          A 5 9 0 3
            B 4 6 4 6
            C 1 0 1 0
          D 2 0 2 0
          E 0 1 0 1
        ",
    );
}

#[test]
fn code_of_one_build_without_names_is_compared_by_address() {
    check(
        "A b 4\nA c 1",
        "A b 2\nA d 3",
        "
        all 5 5 0 0
          A 5 5 0 0
            0x62000000 4 2 4 2
            0x64000000 0 3 0 3
            0x63000000 1 0 1 0
        ",
    );
}

#[test]
fn names_of_one_side_are_those_of_both_in_one_build() {
    let named = of_build("A B 4\nA c 1", Some(1));
    let not = nameless(of_build("A B 2\nA D 3", Some(1)));
    let expected = lines(
        "
        all 5 5 0 0
          A 5 5 0 0
            B 4 2 4 2
            0x44000000 0 3 0 3
            0x63000000 1 0 1 0
        ",
    );
    assert_eq!(text_of(&compare(&named, &not)), expected);
    let pair = compare(&not, &named).dsos()[0].clone();
    assert_eq!(pair.relation, Relation::SameBuild);
}

#[test]
fn two_builds_are_compared_by_name_and_their_unnamed_code_is_one() {
    let comparison =
        compare(&of_build("A b 4\nA c 1\nD 1", Some(1)), &of_build("A e 2\nA B 3", Some(2)));
    let expected = lines(
        "
        all 6 5 0 0
          A 5 5 0 0
            [no name] 5 2 5 2
            B 0 3 0 3
          D 1 0 1 0
        ",
    );
    assert_eq!(text_of(&comparison), expected);
    let pair = &comparison.dsos()[0];
    assert_eq!((pair.relation, pair.matched_by), (Relation::TwoBuilds, MatchedBy::Name));
}

#[test]
fn a_file_without_a_build_id_is_not_taken_for_the_same() {
    for ids in [[None, None], [Some(1), None]] {
        let [before, after] = ids.map(|id| nameless(of_build("A B 4", id)));
        let comparison = compare(&before, &after);
        let pair = &comparison.dsos()[0];
        assert_eq!((pair.relation, pair.matched_by), (Relation::Unidentified, MatchedBy::Name));
        assert_eq!(
            text_of(&comparison),
            lines(
                "
            all 4 4 0 0
              [no name] 4 4 0 0
                [no name] 4 4 4 4
            "
            )
        );
    }
}

#[test]
fn one_build_is_one_under_any_path() {
    let before = of_build("A b 4", Some(1));
    let mut after = of_build("A b 6", Some(1));
    after.profile.dsos.get_mut(APP).path = "/elsewhere/other".to_owned();
    let comparison = compare(&before, &after);
    assert_eq!(comparison.dsos()[0].relation, Relation::SameBuild);
    assert_eq!(comparison.dsos()[0].name, "other");
    assert_eq!(text_of(&comparison), lines("all 4 6 0 0\n  A 4 6 0 0\n    0x62000000 4 6 4 6"));
}

#[test]
fn two_builds_are_found_by_path_then_by_file_name() {
    let in_folder = |text, id, path: &str| {
        let mut made = of_build(text, Some(id));
        made.profile.dsos.get_mut(APP).path = path.to_owned();
        made
    };
    let relation = |before: &str, after: &str| {
        let before = in_folder("A 1", 1, before);
        let comparison = compare(&before, &in_folder("A 1", 2, after));
        let pairs = comparison.dsos().iter().filter(|pair| pair.is_shown);
        pairs.map(|pair| pair.relation).collect::<Vec<_>>()
    };
    assert_eq!(relation("/opt/a/app", "/opt/a/app"), [Relation::TwoBuilds]);
    assert_eq!(relation("/opt/a/app", "/opt/b/app"), [Relation::TwoBuilds]);
    assert_eq!(relation("/opt/a/app", "/opt/a/tool"), [Relation::OnlyBefore, Relation::OnlyAfter]);
}

#[test]
fn a_kernel_is_compared_from_where_it_lies() {
    let kernel = |text, reference: Option<u64>| {
        let mut made = of_build(text, Some(1));
        let dso = made.profile.dsos.get_mut(APP);
        dso.kind = DsoKind::Kernel;
        dso.kernel_place.reference = reference;
        made
    };
    // `a` lies at 0x61000000 and `b` at 0x62000000: the same code after another boot.
    let moved = compare(&kernel("a 4", Some(0x1000_0000)), &kernel("b 6", Some(0x1100_0000)));
    assert_eq!(text_of(&moved), lines("all 4 6 0 0\n  0x61000000 4 6 4 6"));
    let hidden = compare(&kernel("a 4", None), &kernel("a 6", None));
    assert_eq!(text_of(&hidden), lines("all 4 6 0 0\n  [no name] 4 6 4 6"));
}

#[test]
fn forced_names_never_pair() {
    let forced = |text| {
        let mut made = nameless(of_build(text, Some(1)));
        let (frame, _) = made.profile.frames.iter().next().expect("a frame");
        let function = made.symbols.named(APP, "Claimed", Provenance::Forced);
        made.symbols.set_known(
            frame,
            &[Level { function, file: None, line: None, inlining: Inlining::Called }],
        );
        made
    };
    let comparison = compare(&forced("A 4"), &forced("A 6"));
    let expected = lines("all 4 6 0 0\n  Claimed 0 6 0 6\n  Claimed 4 0 4 0");
    assert_eq!(text_of(&comparison), expected);
    let comparison = compare(&forced("A 4"), &of_build("Claimed 6", Some(1)));
    let expected = lines("all 4 6 0 0\n  Claimed 0 6 0 6\n  Claimed 4 0 4 0");
    assert_eq!(text_of(&comparison), expected);
    let forced = forced("A 4");
    let trees = [tree(&forced), tree(&forced)];
    let files = no_files(&forced);
    let sides = [source(&forced, &files, &trees[0]), source(&forced, &files, &trees[1])];
    let one = Comparison::new(&sides[0], &sides[1], Recordings::One);
    assert_eq!(text_of(&one), lines("all 4 4 0 0\n  Claimed 4 4 4 4"));
}

fn changes(comparison: &Comparison, basis: Basis, order: ChangeOrder) -> Vec<String> {
    let measures = Measures::new(basis, &comparison.totals());
    let rows = comparison.ordered(&measures, ChangeKey::SelfWeight, order);
    let rows = rows.into_iter().map(|row| {
        let function = comparison.functions()[row as usize];
        let label = &comparison.labels[function.label as usize];
        let change = measures.change(function.self_sums);
        format!("{} {:.1} {}", comparison.text(label), change.change, change.step)
    });
    rows.collect()
}

#[test]
fn changes_are_in_points_and_in_order() {
    let comparison = compare(
        &of_build("A 500\nB 300\nC 200\nE A 0", Some(1)),
        &of_build("A 1000\nB 610\nD 390", Some(2)),
    );
    let check = |order, expected: &[&str]| {
        assert_eq!(changes(&comparison, Basis::Share, order), expected);
        let measures = Measures::new(Basis::Share, &comparison.totals());
        let all = comparison.ordered(&measures, ChangeKey::SelfWeight, order);
        for most in 0..all.len() + 2 {
            let first = comparison.first_in_order(&measures, ChangeKey::SelfWeight, order, most);
            assert_eq!(
                (first.len(), first.iter().take(most).collect::<Vec<_>>()),
                (all.len(), all.iter().take(most).collect())
            );
        }
    };
    check(ChangeOrder::Increase, &["D 19.5 3", "B 0.5 1", "A 0.0 0", "C -20.0 -3"]);
    check(ChangeOrder::Decrease, &["C -20.0 -3", "A 0.0 0", "B 0.5 1", "D 19.5 3"]);
    check(ChangeOrder::Either, &["C -20.0 -3", "D 19.5 3", "B 0.5 1", "A 0.0 0"]);
    check(ChangeOrder::Name, &["A 0.0 0", "B 0.5 1", "C -20.0 -3", "D 19.5 3"]);
    let raw = ["A 500.0 3", "D 390.0 3", "B 310.0 3", "C -200.0 -3"];
    assert_eq!(changes(&comparison, Basis::Raw, ChangeOrder::Increase), raw);
}

fn sums(before: u64, after: u64) -> Sums {
    let sum = |samples| Sum { samples, weight: samples * 1000 };
    Sums { before: sum(before), after: sum(after) }
}

#[test]
fn steps_begin_where_they_are_said_to() {
    let totals = Totals { sums: sums(100_000, 100_000), nanoseconds: [1_000_000_000; 2] };
    let step =
        |basis, before, after| Measures::new(basis, &totals).change(sums(before, after)).step;
    let share = |after| step(Basis::Share, 10_000, after);
    assert_eq!([10_249, 10_250, 10_799, 10_800, 11_999, 12_000].map(share), [0, 1, 1, 2, 2, 3]);
    assert_eq!([9_751, 9_750, 9_200, 8_000].map(share), [0, -1, -2, -3]);
    for basis in [Basis::Raw, Basis::PerSecond] {
        let by_factor = |after| step(basis, 1_000, after);
        assert_eq!([1_099, 1_100, 1_299, 1_300, 1_999, 2_000].map(by_factor), [0, 1, 1, 2, 2, 3]);
        assert_eq!([1_000, 0, 500, 700].map(by_factor), [0, -3, -3, -2]);
        assert_eq!(step(basis, 0, 0), 0);
    }
}

#[test]
fn noise_is_twice_the_root_of_both_counts_scaled() {
    let check = |totals: Sums, basis, certain: Sums, noise: Sums| {
        let measures = Measures::new(basis, &Totals { sums: totals, nanoseconds: [1, 2] });
        assert!(measures.change(certain).is_certain, "{certain:?}");
        assert!(!measures.change(noise).is_certain, "{noise:?}");
    };
    // |100 - 130| against 2 × √230 = 30.3; |100 - 132| against 2 × √232 = 30.5.
    check(sums(9_000, 9_000), Basis::Share, sums(100, 132), sums(100, 130));
    check(sums(9_000, 9_000), Basis::Raw, sums(132, 100), sums(130, 100));
    // Of twice as many samples after, in twice the time, twice as many are expected.
    for basis in [Basis::Share, Basis::PerSecond] {
        // |100 - 156 / 2| = 22 against 2 × √(100 + 156 / 4) = 23.6; 148: 26 against 23.4.
        check(sums(9_000, 18_000), basis, sums(100, 148), sums(100, 156));
    }
}

/// Random stacks, some of whose functions have no name.
fn random_stacks(random: &mut dyn FnMut(u64) -> u64) -> String {
    let mut text = String::new();
    for _ in 0..random(40) {
        text += ["p: ", "q: ", "r: "][random(3) as usize];
        for _ in 0..random(9) {
            text += ["A ", "B ", "C ", "d ", "e ", "~1 "][random(6) as usize];
        }
        text += &format!("{}\n", 1 + random(9));
    }
    text
}

/// By path of names, what a tree has: computed without the code under test.
fn by_path(fixture: &Fixture) -> BTreeMap<String, (u64, u64)> {
    let tree = tree(fixture);
    let labels = Labels::new(&fixture.profile, &fixture.symbols);
    let rows = tree.ids().map(|id| {
        (labels.path(&tree, id).join(";"), (tree.total(id).weight, tree.self_sum(id).weight))
    });
    rows.collect()
}

fn by_compared_path(comparison: &Comparison) -> BTreeMap<String, (Sums, Sums)> {
    let ids = (0..comparison.len() as u32).map(CallNodeId);
    let rows = ids.map(|id| {
        let path = comparison.path(id).into_iter().skip(1);
        let path: Vec<_> = path.map(|id| comparison.text(comparison.label(id))).collect();
        (path.join(";"), (comparison.total(id), comparison.self_sums(id)))
    });
    rows.collect()
}

#[test]
fn the_algebra_holds_for_any_stacks() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..60 {
        let texts = [random_stacks(&mut random), random_stacks(&mut random)];
        let [before, after] = [0, 1].map(|side: usize| of_build(&texts[side], Some(1)));
        let comparison = compare(&before, &after);
        let swapped = compare(&after, &before);
        let itself = compare(&before, &of_build(&texts[0], Some(1)));

        // Each side keeps its own call tree, whatever the other has.
        let (one, other) = (by_path(&before), by_path(&after));
        let merged = by_compared_path(&comparison);
        for (path, (total, own)) in &merged {
            let of =
                |side: &BTreeMap<String, (u64, u64)>| side.get(path).copied().unwrap_or((0, 0));
            assert_eq!(of(&one), (total.before.weight, own.before.weight), "{path} {texts:?}");
            assert_eq!(of(&other), (total.after.weight, own.after.weight), "{path} {texts:?}");
        }
        assert!(one.keys().chain(other.keys()).all(|path| merged.contains_key(path)));

        // Swapping the sides swaps every sum, so that it negates every change.
        let swap = |sums: Sums| Sums { before: sums.after, after: sums.before };
        let turned: BTreeMap<_, _> = by_compared_path(&swapped)
            .into_iter()
            .map(|(path, (total, own))| (path, (swap(total), swap(own))))
            .collect();
        assert_eq!(merged, turned, "{texts:?}");
        for basis in [Basis::Share, Basis::PerSecond, Basis::Raw] {
            let measures = Measures::new(basis, &comparison.totals());
            let back = Measures::new(basis, &swapped.totals());
            for (total, _) in merged.values() {
                let (there, here) = (measures.change(*total), back.change(swap(*total)));
                assert_eq!(there.change, -here.change);
                assert_eq!((there.step, there.is_certain), (-here.step, here.is_certain));
            }
            let nothing = Measures::new(basis, &itself.totals());
            for (total, own) in by_compared_path(&itself).into_values() {
                for change in [nothing.change(total), nothing.change(own)] {
                    assert_eq!((change.change, change.step, change.is_certain), (0.0, 0, false));
                }
            }
        }

        // Functions have what they have in each side's own table.
        for (side, fixture) in [(ComparedSide::Before, &before), (ComparedSide::After, &after)] {
            let tree = tree(fixture);
            let labels = Labels::new(&fixture.profile, &fixture.symbols);
            let alone: BTreeMap<String, (Sum, Sum)> = functions::sums(&tree)
                .into_iter()
                .map(|sum| (labels.text(sum.label), (sum.self_sum, sum.total)))
                .collect();
            let compared: BTreeMap<String, (Sum, Sum)> = comparison
                .functions()
                .iter()
                .filter(|function| function.total.of(side).samples > 0)
                .map(|function| {
                    let label = &comparison.labels[function.label as usize];
                    let sums = (function.self_sums.of(side), function.total.of(side));
                    (comparison.text(label), sums)
                })
                .collect();
            assert_eq!(alone, compared, "{texts:?}");
        }
    }
}

#[test]
fn a_range_and_the_rest_add_up_to_the_whole() {
    let whole = of_build("A B 3\nA d 2\nA B 4\nC 1\nA e 6\nC B 2", None);
    let side = |side| {
        let range = Some(TimeRange { start: 1, end: 4, side });
        CallTree::new(&whole.profile, &whole.symbols, &Query { range, ..ungrouped() })
    };
    let trees = [side(RangeSide::Outside), side(RangeSide::Inside)];
    let files = no_files(&whole);
    let sources = [source(&whole, &files, &trees[0]), source(&whole, &files, &trees[1])];
    // Without a build-id too: an address of one recording is the same wherever it is met.
    let comparison = Comparison::new(&sources[0], &sources[1], Recordings::One);
    let sums = by_compared_path(&comparison).into_iter().map(|(path, (total, own))| {
        let sum = |sums: Sums| sums.before.weight + sums.after.weight;
        (path, (sum(total), sum(own)))
    });
    assert_eq!(sums.collect::<BTreeMap<_, _>>(), by_path(&whole));
    let inside = comparison.totals().sums;
    assert_eq!((inside.before.weight, inside.after.weight), (11, 7));
}

#[test]
fn boxes_have_the_width_of_the_side_that_is_chosen() {
    let comparison = compare(
        &of_build("A B 60\nA C 40", Some(1)),
        &of_build("A B 20\nA D 80\nA E 100", Some(2)),
    );
    let measures = Measures::new(Basis::Share, &comparison.totals());
    let boxes = |width| {
        let window =
            ComparedWindow { root: CallNodeId::ROOT, width, pixels: 1000.0, min_pixels: 1.0 };
        let graph = comparison.layout(&measures, &window, &|_| false);
        let boxes = &graph.boxes;
        let last = boxes.row_start[2] as usize..boxes.row_start[3] as usize;
        last.map(|index| {
            let text = &boxes.labels[boxes.label[index] as usize];
            let (start, end) = (boxes.start[index].round(), boxes.end[index].round());
            format!("{text} {start} {end} {}", graph.step[index])
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(boxes(Width::Before), ["B 0 600 -3", "\u{2212} C 600 1000 -3"]);
    assert_eq!(boxes(Width::After), ["+ E 0 500 3", "+ D 500 900 3", "B 900 1000 -3"]);
    assert_eq!(
        boxes(Width::Both),
        ["B 0 350 -3", "+ E 350 600 3", "\u{2212} C 600 800 -3", "+ D 800 1000 3"]
    );
}

#[test]
fn what_one_side_cannot_name_is_not_compared_yet() {
    let named = "
        Main Work 90
        Main Read 10
        ";
    let unnamed = nameless(of_build(named, Some(1)));
    let after = of_build(named, Some(2));
    for (before, after, lacking) in
        [(&unnamed, &after, ComparedSide::Before), (&after, &unnamed, ComparedSide::After)]
    {
        let comparison = compare(before, after);
        let measures = Measures::new(Basis::Share, &comparison.totals());
        assert_eq!(comparison.dsos()[0].without_names, Some(lacking));
        for function in comparison.functions() {
            for key in [ChangeKey::SelfWeight, ChangeKey::Total] {
                let change = comparison.function_change(&measures, function, key);
                assert_eq!((change.change, change.step, change.is_certain), (0.0, 0, false));
                assert_eq!(comparison.function_presence(function, key), Presence::Both);
            }
        }
        for id in (0..comparison.len() as u32).map(CallNodeId).filter(|&id| id != CallNodeId::ROOT)
        {
            let change = comparison.change(&measures, id, comparison.total(id));
            assert_eq!((change.step, comparison.presence(id)), (0, Presence::Both));
        }
        let all =
            comparison.change(&measures, CallNodeId::ROOT, comparison.total(CallNodeId::ROOT));
        assert_eq!((all.before, all.after), (100.0, 100.0));
    }
    // One build has addresses; two that nobody names have nothing, and that on both sides.
    for (before, after) in [
        (nameless(of_build(named, Some(1))), of_build(named, Some(1))),
        (nameless(of_build(named, Some(1))), nameless(of_build(named, Some(2)))),
        (of_build(named, Some(1)), of_build(named, Some(2))),
    ] {
        let comparison = compare(&before, &after);
        assert!(comparison.dsos().iter().all(|pair| pair.without_names.is_none()));
    }
}

/// The lines, each so often: counts of samples must exceed what chance makes of them.
fn often(times: &[(usize, &str)]) -> String {
    times.iter().map(|(times, line)| format!("{line} 1\n").repeat(*times)).collect()
}

/// By function: how it changed in points, with `!` where that is beyond noise, or which side lacks names.
fn told(comparison: &Comparison) -> BTreeMap<String, String> {
    let measures = Measures::new(Basis::Share, &comparison.totals());
    let functions = comparison.functions().iter().map(|function| {
        let change = comparison.function_change(&measures, function, ChangeKey::SelfWeight);
        let certain = if change.is_certain { "!" } else { "" };
        let text = match change.without_names {
            Some(side) => format!("{side:?}"),
            None => format!("{:.1}{certain}", change.change),
        };
        (comparison.text(comparison.label_of(function.label)), text)
    });
    functions.collect()
}

fn expected(functions: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = functions.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    owned.collect()
}

/// As of a stripped program: all that its file names are jumps into libraries.
fn with_plt(mut made: Fixture, letter: u8, name: &str) -> Fixture {
    let address = u64::from(letter) << 24;
    let frame = made.symbols.frame_at(&made.profile, APP, address).expect("a frame");
    let function = made.symbols.named(APP, name, Provenance::Matched);
    let level = Level { function, file: None, line: None, inlining: Inlining::Called };
    made.symbols.set_levels(frame, &[level]);
    made
}

#[test]
fn a_jump_into_a_library_is_no_name_of_a_stripped_program() {
    let before = of_build(&often(&[(80, "a"), (10, "b"), (10, "p")]), Some(1));
    let before = with_plt(before, b'p', "read@plt");
    let after = of_build(&often(&[(80, "Work"), (10, "Read"), (10, "p")]), Some(2));
    let after = with_plt(after, b'p', "read@plt");
    let no_symbols = ImageContents::default();
    let check = |comparison: &Comparison, lacking: ComparedSide| {
        assert_eq!(comparison.dsos()[0].without_names, Some(lacking));
        let changes = told(comparison);
        for name in ["Work", "Read", "[no name]"] {
            assert_eq!(changes[name], format!("{lacking:?}"), "{changes:?}");
        }
    };
    let files = || [matched(&before, no_symbols), matched(&after, FUNCTIONS)];
    let [first, second] = files();
    check(&compare_with([(&before, first), (&after, second)]), ComparedSide::Before);
    let [first, second] = files();
    check(&compare_with([(&after, second), (&before, first)]), ComparedSide::After);
}

#[test]
fn of_a_stripped_library_what_is_exported_is_compared_and_the_rest_is_not_yet() {
    // `Open` and `Close` are exported, `Inner` is not. `Close` went away for good: who has all names has it not.
    let before =
        of_build(&often(&[(30, "Open"), (10, "Close"), (55, "x"), (5, "Open y")]), Some(1));
    let after = of_build(&often(&[(45, "Open"), (50, "Inner"), (5, "Open Deep")]), Some(2));
    let both = [matched(&before, FUNCTIONS), matched(&after, FUNCTIONS)];
    let [first, second] = both;
    let comparison = compare_with([(&before, first), (&after, second)]);
    assert_eq!(comparison.dsos()[0].without_names, Some(ComparedSide::Before));
    let known = [
        ("Close", "-10.0!"),
        ("Deep", "Before"),
        ("Inner", "Before"),
        ("Open", "15.0"),
        ("[no name]", "Before"),
    ];
    assert_eq!(told(&comparison), expected(&known));
    // In the tree too, and what it calls with it.
    let measures = Measures::new(Basis::Share, &comparison.totals());
    let ids = (0..comparison.len() as u32).map(CallNodeId);
    let unknown = ids.filter(|&id| {
        comparison.change(&measures, id, comparison.total(id)).without_names.is_some()
    });
    let mut unknown: Vec<_> = unknown.map(|id| comparison.text(comparison.label(id))).collect();
    unknown.sort();
    assert_eq!(unknown, ["Deep", "Inner", "[no name]", "[no name]"]);
}

#[test]
fn samples_in_a_gap_of_a_file_that_has_all_names_take_no_change_away() {
    let after = of_build(&often(&[(60, "Work"), (40, "Read")]), Some(2));
    let gap = of_build(&often(&[(100, "z")]), Some(1));
    let [first, second] = [matched(&gap, INLINES), matched(&after, INLINES)];
    let comparison = compare_with([(&gap, first), (&after, second)]);
    assert_eq!(comparison.dsos()[0].without_names, None);
    let known = [("Read", "40.0!"), ("Work", "60.0!"), ("[no name]", "-100.0!")];
    assert_eq!(told(&comparison), expected(&known));
    // A file that may lack names, and few samples without one: they hide nothing of this size.
    let few = of_build(&often(&[(200, "Work"), (6, "z")]), Some(1));
    let grown = of_build(&often(&[(100, "Work"), (100, "Added"), (6, "Small")]), Some(2));
    let [first, second] = [matched(&few, FUNCTIONS), matched(&grown, FUNCTIONS)];
    let changes = told(&compare_with([(&few, first), (&grown, second)]));
    assert_eq!(changes["Added"], "48.5!", "{changes:?}");
    assert_eq!((&*changes["[no name]"], &*changes["Work"]), ("Before", "-48.5!"));
}

#[test]
fn folded_calls_that_cannot_be_compared_have_no_colour() {
    let before = nameless(of_build(&often(&[(1000, "w"), (8, "x"), (8, "y")]), Some(1)));
    let after = of_build(&often(&[(10, "A"), (10, "B"), (10, "C"), (970, "D")]), Some(2));
    let folded = |before: &Fixture, after: &Fixture| {
        let comparison = compare(before, after);
        let measures = Measures::new(Basis::Share, &comparison.totals());
        let (root, width) = (CallNodeId::ROOT, Width::After);
        let window = ComparedWindow { root, width, pixels: 1000.0, min_pixels: 20.0 };
        let graph = comparison.layout(&measures, &window, &|_| false);
        let at = graph.boxes.folded.iter().position(|&count| count > 0).expect("a folded box");
        (graph.boxes.folded[at], graph.after[at].round(), graph.step[at])
    };
    assert_eq!(folded(&before, &after), (3, 3.0, 0));
    // Named on both sides they have one: three points more.
    assert_eq!(folded(&of_build(&often(&[(1000, "D")]), Some(1)), &after), (3, 3.0, 3));
}

#[test]
fn code_of_one_build_without_a_name_is_one_but_for_what_the_other_side_names() {
    let stacks = "A c d 3\nA c E 2\nf 5";
    let made = || of_build(stacks, Some(1));
    let expected = "
        all 10 10 0 0
          A 5 5 0 0
            [no name] 5 5 3 3
              E 2 2 2 2
          [no name] 5 5 5 5
        ";
    assert_eq!(text_of(&compare_as_one(&made(), &made())), lines(expected));
    assert_eq!(text_of(&compare_as_one(&made(), &nameless(made()))), lines(expected));
}
