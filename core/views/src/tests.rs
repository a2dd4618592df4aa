//! Stacks as text → tables as text.

use std::num::NonZeroU32;
use std::ops::Range;

use perftab_perfdata::slice::{at_once, in_slices_of};
use perftab_profile::{Event, EventId, EventOrigin, Sample};

use super::build::build_with_ends;
use super::call_tree::{CallNodeId, CallTree};
use super::ends::RemainingSamples;
use super::fixture::{Fixture, fixture, lines, tree_text, ungrouped};
use super::flame_graph::{FlameGraph, NONE, Window, layout};
use super::function_ref::FunctionRef;
use super::functions::{
    self, FunctionKey, FunctionOrder, FunctionSum, OrderedFunctions, SortDirection,
};
use super::label::{Labels, OwnCode, mark};
use super::search::{self, Pattern};
use super::step_algebra_tests::Random;
use super::transform::Transform;
use super::{Direction, Group, Inlines, Query, coverage};

#[track_caller]
fn check_tree(stacks: &str, query: Query, expected: &str) {
    assert_eq!(tree_text(&fixture(stacks), &query), lines(expected));
}

#[test]
fn stacks_merge_by_function_heaviest_first() {
    check_tree(
        "
        A B 1
        A C 5
        A B D 2
        A 3
        ",
        ungrouped(),
        "
        all 11 0
          A 11 3
            C 5 5
            B 3 1
              D 2 2
        ",
    );
}

/// Main and what it calls, where samples that ended further in have no way of their own.
#[test]
fn outermost_calls_are_kept_with_the_end() {
    check_tree(
        "
        A B C D 1
        A B 2
        A B C 4
        A D C A 8
        ",
        Query { outermost: NonZeroU32::new(2), ..ungrouped() },
        "
        all 15 0
          A 15 0
            D 8 0
              A 8 8
            B 7 2
              C 4 4
              D 1 1
        ",
    );
}

#[test]
fn code_without_a_name_below_two_frames_of_one_call_node_is_one() {
    check_tree(
        "
        a A x 1
        a A>H x 2
        a ~1 y 4
        a ~2 y 3
        a y 1
        x: a y 5
        ",
        Query { inlines: Inlines::Merged, ..ungrouped() },
        "
        all 16 0
          0x61000000 16 0
            [no mapping] 7 0
              0x79000000 7 7
            0x79000000 6 6
            A 3 0
              0x78000000 3 3
        ",
    );
}

#[test]
fn processes_of_one_name_are_one_group() {
    check_tree(
        "
        nginx: A B 1
        node: A 4
        nginx: A 2
        ",
        Query { group: Group::Process, ..Query::default() },
        "
        all 7 0
          node 4 0
            A 4 4
          nginx 3 0
            A 3 2
              B 1 1
        ",
    );
}

#[test]
fn inverted_has_leaves_as_roots() {
    check_tree(
        "
        A B C 2
        D C 3
        A 1
        ",
        Query { direction: Direction::Inverted, ..ungrouped() },
        "
        all 6 0
          C 5 0
            D 3 3
            B 2 0
              A 2 2
          A 1 1
        ",
    );
}

#[test]
fn addresses_without_names_stay_apart_and_gaps_are_one() {
    check_tree(
        "
        A x 1
        A y 2
        A ~3 4
        A ~9 1
        ",
        ungrouped(),
        "
        all 8 0
          A 8 0
            [no mapping] 5 5
            0x79000000 2 2
            0x78000000 1 1
        ",
    );
}

#[test]
fn a_sample_without_frames_belongs_to_its_group() {
    check_tree("p: 3", Query::default(), "all 3 0\n  p 3 3");
}

fn function_text(fixture: &Fixture, order: FunctionOrder) -> String {
    let tree = CallTree::new(&fixture.profile, &fixture.symbols, &Query::default());
    let names = (&fixture.profile, &fixture.symbols);
    let ordered = at_once(async |slice| {
        let functions = OrderedFunctions::new(&tree, slice).await;
        functions.with_first(names, order, usize::MAX, slice).await
    });
    let functions = ordered.all().iter();
    functions
        .map(|&sum| functions::row(&Labels::new(&fixture.profile, &fixture.symbols), sum))
        .map(|row| format!("{} {} {}\n", row.name, row.sum.self_sum.weight, row.sum.total.weight))
        .collect()
}

/// Whatever was asked for before, and in slices of any size: the first so many are those of a plain sort.
#[test]
fn the_first_functions_are_the_first_of_all() {
    // 5,000 functions with weights of 1 to 40, so that most stand by name: by the first letters or the last.
    let name = |number: u32| match number % 3 {
        0 => format!("f{number}"),
        _ => format!("names_that_begin_alike_{number}"),
    };
    let stacks: String = (0..5000u32)
        .map(|number| format!("{} {}\n", name(number * 7919 % 5000), 1 + number * number % 40))
        .collect();
    let fixture = fixture(&stacks);
    let names = (&fixture.profile, &fixture.symbols);
    let labels = Labels::new(&fixture.profile, &fixture.symbols);
    let tree = CallTree::new(&fixture.profile, &fixture.symbols, &Query::default());
    let text = |sum: &FunctionSum| (sum.self_sum.weight, labels.text(sum.label));
    let mut random = Random(11);
    for direction in [SortDirection::Descending, SortDirection::Ascending] {
        for key in [FunctionKey::SelfWeight, FunctionKey::Name] {
            let order = FunctionOrder { key, direction };
            let mut expected: Vec<_> = at_once(async |slice| {
                OrderedFunctions::new(&tree, slice).await.all().iter().map(text).collect()
            });
            expected.sort_by(|(weight_a, name_a), (weight_b, name_b)| {
                let (by_weight, by_name) = (weight_a.cmp(weight_b), name_a.cmp(name_b));
                match (key, direction) {
                    (FunctionKey::Name, SortDirection::Ascending) => by_name,
                    (FunctionKey::Name, SortDirection::Descending) => by_name.reverse(),
                    (_, SortDirection::Ascending) => by_weight.then(by_name),
                    (_, SortDirection::Descending) => by_weight.reverse().then(by_name),
                }
            });
            let mut functions = at_once(async |slice| OrderedFunctions::new(&tree, slice).await);
            for count in [1, 1024, 1025, 3000, 2000, 9000] {
                let slices = 1 + random.below(700);
                let before = std::mem::take(&mut functions);
                functions = in_slices_of(slices, async |slice| {
                    before.with_first(names, order, count, slice).await
                });
                assert!(functions.has_first(count));
                let first = functions.all().iter().take(count).map(text);
                assert!(
                    first.eq(expected.iter().take(count).cloned()),
                    "{order:?} {count} {slices}"
                );
            }
        }
    }
}

#[test]
fn recursion_counts_once() {
    let recursive = fixture(
        "
        p: A B A B 2
        p: A 1
        q: B B B 5
        ",
    );
    let order = FunctionOrder::default();
    assert_eq!(function_text(&recursive, order), lines("B 7 7\nA 1 3"));
}

#[test]
fn functions_sort_by_each_column_both_ways() {
    let stacks = fixture("A B 1\nA C 2\nD 2");
    let check = |key, direction, expected: &str| {
        assert_eq!(function_text(&stacks, FunctionOrder { key, direction }), lines(expected));
    };
    use {FunctionKey::*, SortDirection::*};
    check(SelfWeight, Descending, "C 2 2\nD 2 2\nB 1 1\nA 0 3");
    check(SelfWeight, Ascending, "A 0 3\nB 1 1\nC 2 2\nD 2 2");
    check(Total, Descending, "A 0 3\nC 2 2\nD 2 2\nB 1 1");
    check(Name, Ascending, "A 0 3\nB 1 1\nC 2 2\nD 2 2");
    check(Name, Descending, "D 2 2\nC 2 2\nB 1 1\nA 0 3");
}

#[test]
fn a_search_counts_each_sample_once() {
    let stacks = fixture(
        "
        Foo Foobar 2
        Bar Foo 1
        Bar 4
        ",
    );
    let tree = CallTree::new(&stacks.profile, &stacks.symbols, &ungrouped());
    let find = |text| {
        let pattern = Pattern::new(text).expect("a text");
        let found = search::search(&stacks.profile, &stacks.symbols, &tree, &pattern);
        (found.matches.len(), found.sum.weight)
    };
    assert_eq!(find("foo"), (2, 3));
    assert_eq!(find("Foo"), (2, 3));
    assert_eq!(find("bar"), (2, 7));
    assert_eq!(find("Bar"), (1, 5));
    assert_eq!(find("absent"), (0, 0));
    assert!(Pattern::new("  ").is_none());
}

#[test]
fn boxes_lie_within_their_callers_and_narrow_ones_fold() {
    let stacks = fixture(
        "
        A B 60
        A C 30
        A D 4
        A E 3
        A F 3
        ",
    );
    let tree = CallTree::new(&stacks.profile, &stacks.symbols, &ungrouped());
    let window = Window {
        root: CallNodeId::ROOT,
        width: 100.0,
        min_width: 5.0,
        search: Pattern::new("c"),
        own: OwnCode::default(),
    };
    let graph = layout(&stacks.profile, &stacks.symbols, &tree, &window);
    let row = |row| row_range(&graph, row);
    let edges = |number| -> Vec<(f32, f32)> {
        row(number).map(|index| (graph.start[index], graph.end[index])).collect()
    };
    assert_eq!(graph.row_start.len(), 4);
    assert_eq!(edges(0), [(0.0, 100.0)]);
    assert_eq!(edges(1), [(0.0, 100.0)]);
    assert_eq!(edges(2), [(0.0, 60.0), (60.0, 90.0), (90.0, 100.0)]);
    let last = row(2).end - 1;
    assert_eq!((graph.folded[last], graph.call_node[last]), (3, NONE));
    assert_eq!(graph.label[last], NONE);
    let texts: Vec<_> = graph.label[row(2).start..last]
        .iter()
        .map(|&label| graph.labels[label as usize].as_str())
        .collect();
    assert_eq!(texts, ["B", "C"]);
    let found: Vec<_> = graph.marks[row(2)].iter().map(|marks| marks & mark::MATCH != 0).collect();
    assert_eq!(found, [false, true, false]);
}

fn row_range(graph: &FlameGraph, row: usize) -> Range<usize> {
    graph.row_start[row] as usize..graph.row_start[row + 1] as usize
}

#[test]
fn a_dso_counts_once_for_each_sample() {
    let stacks = fixture("A B 1\nA ~2 1\n~1 1");
    let uses = coverage::dso_use(&stacks.profile);
    assert_eq!((uses[0].leaf_samples, uses[0].samples), (1, 2));
    assert_eq!((uses[1].leaf_samples, uses[1].samples), (2, 2));
    let frames = coverage::frames(&stacks.profile, &stacks.symbols);
    assert_eq!((frames.frames, frames.named), (5, 3));
    assert_eq!((frames.samples, frames.named_leaves), (3, 1));
}

/// Whatever the stacks: no weight is lost between samples, tree, groups, inversion and functions.
#[test]
fn weights_add_up_for_any_stacks() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..60 {
        let mut text = String::new();
        for _ in 0..random(40) {
            text += ["p: ", "q: ", "r: "][random(3) as usize];
            for _ in 0..random(12) {
                text += ["A ", "B ", "C ", "d ", "e ", "~1 ", "~2 "][random(7) as usize];
            }
            text += &format!("{}\n", random(9));
        }
        let stacks = fixture(&text);
        let weight: u64 = stacks.profile.samples.weight.iter().sum();
        let trees = [Direction::Callees, Direction::Inverted].map(|direction| {
            [Group::Process, Group::Thread, Group::None].map(|group| {
                let query = Query { direction, group, ..Query::default() };
                CallTree::new(&stacks.profile, &stacks.symbols, &query)
            })
        });
        for tree in trees.iter().flatten() {
            assert_eq!(tree.total(CallNodeId::ROOT).weight, weight, "{text}");
            let selves: u64 = tree.ids().map(|id| tree.self_sum(id).weight).sum();
            assert_eq!(selves, weight, "{text}");
            for id in tree.ids() {
                let children = tree.children(id).iter();
                let below: u64 = children.map(|&child| tree.total(child).weight).sum();
                assert_eq!(tree.total(id).weight, below + tree.self_sum(id).weight, "{text}");
            }
        }
        let [callees, inverted] = &trees;
        let in_functions = |tree| -> Vec<_> {
            let mut sums: Vec<_> = functions::sums(tree)
                .iter()
                .map(|sum| (format!("{:?}", sum.label), sum.total))
                .collect();
            sums.sort_by(|a, b| a.0.cmp(&b.0));
            sums
        };
        for (callees, inverted) in callees.iter().zip(inverted) {
            assert_eq!(in_functions(callees), in_functions(inverted), "{text}");
        }
    }
}

#[test]
fn derived_samples_are_not_counted_with_recorded_ones() {
    let mut stacks = fixture("A B 1\nA c 1\n");
    let before = (
        coverage::dso_use(&stacks.profile),
        coverage::frames(&stacks.profile, &stacks.symbols),
        stacks.profile.recorded_samples(),
    );
    let profile = &mut stacks.profile;
    let (name, origin) = ("offcpu-time".to_owned(), EventOrigin::Derived);
    profile.events.push(Event { name, origin, samples: 1, weight: 700, ..Event::default() });
    let (thread, stack) = (profile.samples.thread.at(0), profile.samples.stack[0]);
    profile.samples.push(Sample {
        time_nanos: 9,
        thread,
        stack,
        event: EventId(1),
        cpu: 0,
        weight: 700,
    });
    let after = (
        coverage::dso_use(&stacks.profile),
        coverage::frames(&stacks.profile, &stacks.symbols),
        stacks.profile.recorded_samples(),
    );
    assert_eq!(before, after);
    let off_cpu =
        CallTree::new(&stacks.profile, &stacks.symbols, &Query { event: 1, ..ungrouped() });
    assert_eq!(off_cpu.total(CallNodeId::ROOT).weight, 700);
}

fn coverage_of(
    of: &Fixture,
    query: &Query,
    left: &[RemainingSamples],
) -> (coverage::NamesCounted, Vec<coverage::DsoUse>) {
    let coverage::Uses { frames, dsos, .. } =
        in_slices_of(2, async |slice| coverage::filtered(&of.profile, query, left, slice).await);
    (frames.names(&of.profile, &of.symbols), dsos)
}

#[test]
fn coverage_of_what_a_filter_leaves_is_that_of_a_recording_without_the_rest() {
    let all = fixture("nginx: A B 1\nnode: A b 1\nnginx: a 1\nnginx: ~2 1");
    let alone = fixture("nginx: A B 1\nnginx: a 1\nnginx: ~2 1");
    let query = Query { processes: vec![pid(&all, "nginx")], ..ungrouped() };
    let (names, uses) = coverage_of(&all, &query, &[]);
    assert_eq!(names.frames, coverage::frames(&alone.profile, &alone.symbols));
    assert_eq!(uses, coverage::dso_use(&alone.profile));
    let (names, uses) = coverage_of(&all, &ungrouped(), &[]);
    assert_eq!(names.frames, coverage::frames(&all.profile, &all.symbols));
    assert_eq!(uses, coverage::dso_use(&all.profile));
}

#[test]
fn code_without_a_name_in_a_named_file_is_counted_by_dso() {
    let all = fixture("A B 1\nA b 1\nA c@lib 1\nc@lib A 1\n~2 1\nA b 1");
    let uses = coverage::FrameUses::of(&all.profile);
    let unnamed = uses.names(&all.profile, &all.symbols).unnamed_leaves;
    let of = |name: &str| {
        let (id, _) = all.profile.dsos.iter().find(|(_, dso)| dso.path == name).expect("a DSO");
        unnamed[id.index()]
    };
    assert_eq!([of("app"), of("lib"), of("gap")], [2, 1, 1]);
}

#[test]
fn coverage_is_that_of_what_steps_leave() {
    let all = fixture("nginx: A B 1\nnode: A b 1\nnginx: a 1\nnginx: ~2 1\nnode: B a 1");
    let alone = fixture("nginx: a 1\nnginx: ~2 1\nnode: B a 1");
    let names = all.symbols.function_ids();
    let mut named = names.filter(|&id| all.symbols.function(id).name == Some("A"));
    let function =
        FunctionRef::of(&all.profile, &all.symbols, named.next().expect("it was sampled"));
    let query = Query { steps: vec![Transform::Drop { function }], ..ungrouped() };
    let (_, ends) = build_with_ends(&all.profile, &all.symbols, &query);
    let left = [RemainingSamples::of(ends.into())];
    let (names, _) = coverage_of(&all, &query, &left);
    assert_eq!(names.frames, coverage::frames(&alone.profile, &alone.symbols));
}

/// The id of the process of this name.
fn pid(fixture: &Fixture, name: &str) -> u32 {
    let named =
        |process: &&perftab_profile::Process| fixture.profile.strings.get(process.name) == name;
    fixture.profile.threads.processes.iter().find(named).expect("it is in the fixture").pid
}
