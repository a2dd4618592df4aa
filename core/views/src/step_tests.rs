//! Stacks as text, a query's filters and steps → trees as text.

use perftab_profile::Sample;

use super::build::build;
use super::call_tree::{CallNodeId, CallTree};
use super::filter::{RangeSide, TimeRange};
use super::fixture::{Fixture, fixture, lines, tree_text, ungrouped};
use super::function_ref::{DsoRef, FunctionRef, HexAddress, PathPart};
use super::rewrite::MOST_STEPS;
use super::shown::{Effect, ShownSamples, all};
use super::step_model::REST;
use super::transform::Transform;
use super::{AroundFunction, Direction, Inlines, Query, Side, Unnamed};

pub(super) fn dso(stacks: &Fixture, name: &str) -> DsoRef {
    let (_, dso) =
        stacks.profile.dsos.iter().find(|(_, dso)| dso.path == name).expect("it is mapped");
    DsoRef::of(dso)
}

/// As in a fixture: `A`, `A@x`, or in lower case an address; `?` is all without a name.
pub(super) fn function(stacks: &Fixture, word: &str) -> FunctionRef {
    let (name, of) = word.split_once('@').unwrap_or((word, "app"));
    if name == REST {
        return FunctionRef { dso: dso(stacks, of), name: None, address: None };
    }
    let is_named = name.starts_with(char::is_uppercase);
    let mut letters = [0; 4];
    letters[..name.len()].copy_from_slice(name.as_bytes());
    let address = HexAddress(u64::from(u32::from_be_bytes(letters)));
    FunctionRef {
        dso: dso(stacks, of),
        name: is_named.then(|| name.to_owned()),
        address: (!is_named).then_some(address),
    }
}

/// Words as in a fixture; `p:` is a process, `t:` a thread, `>A` inlined, `@x` a DSO, `~` no mapping.
pub(super) fn path(stacks: &Fixture, words: &str) -> Vec<PathPart> {
    let part = |word: &str| match (word.strip_suffix(':'), word.as_bytes()[0]) {
        (Some(name), _) => match name.strip_prefix("t/") {
            Some(name) => PathPart::Thread { name: name.to_owned() },
            None => PathPart::Process { name: name.to_owned() },
        },
        (_, b'>') => PathPart::Inlined { function: function(stacks, &word[1..]) },
        (_, b'@') => PathPart::Dso { dso: dso(stacks, &word[1..]) },
        (_, b'~') => PathPart::NoMapping,
        _ => PathPart::Function { function: function(stacks, word) },
    };
    words.split_whitespace().map(part).collect()
}

/// A step as text: its kind and what it is about.
pub(super) fn step(stacks: &Fixture, text: &str) -> Transform {
    let (kind, about) = text.split_once(' ').unwrap_or((text, ""));
    let function = || function(stacks, about);
    let path = || path(stacks, about);
    let (callees, inverted) = (Direction::Callees, Direction::Inverted);
    match kind {
        "merge" => Transform::Merge { function: function() },
        "merge-node" => Transform::MergeCallNode { path: path(), direction: callees },
        "merge-inverted" => Transform::MergeCallNode { path: path(), direction: inverted },
        "focus" => Transform::Focus { function: function() },
        "focus-node" => Transform::FocusSubtree { path: path(), direction: callees },
        "focus-inverted" => Transform::FocusSubtree { path: path(), direction: inverted },
        "drop" => Transform::Drop { function: function() },
        "collapse" => Transform::CollapseFunction { function: function() },
        "collapse-dso" => Transform::CollapseDso { dso: dso(stacks, about) },
        "recursion" => Transform::CollapseRecursion,
        "search" => Transform::Search { text: about.to_owned() },
        other => panic!("no step {other}"),
    }
}

pub(super) fn shown(stacks: &Fixture, query: &Query) -> ShownSamples {
    let built = build(&stacks.profile, &stacks.symbols, query);
    ShownSamples::new(query, all(&stacks.profile, query.event), &built.account)
}

#[track_caller]
fn check(stacks: &str, query: Query, steps: &[&str], expected: &str) {
    let stacks = fixture(stacks);
    let steps = steps.iter().map(|text| step(&stacks, text)).collect();
    assert_eq!(tree_text(&stacks, &Query { steps, ..query }), lines(expected));
}

#[test]
fn merging_a_function_gives_its_self_to_its_callers() {
    check(
        "
        A B C 3
        A B 2
        A C 4
        B 1
        ",
        ungrouped(),
        &["merge B"],
        "
        all 10 1
          A 9 2
            C 7 7
        ",
    );
}

#[test]
fn merging_a_call_node_leaves_the_function_elsewhere() {
    let stacks = "
        A B C 3
        A B 2
        D B 4
        ";
    check(
        stacks,
        ungrouped(),
        &["merge-node A B"],
        "
        all 9 0
          A 5 2
            C 3 3
          D 4 0
            B 4 4
        ",
    );
    // From the leaves up: A is merged only where it called B, which then has one caller left.
    check(
        stacks,
        Query { direction: Direction::Inverted, ..ungrouped() },
        &["merge-inverted B A"],
        "
        all 9 0
          B 6 2
            D 4 4
          C 3 0
            B 3 0
              A 3 3
        ",
    );
}

#[test]
fn focus_takes_the_outermost_call_of_a_function_and_what_follows() {
    check(
        "
        p: A B C B 3
        p: B 2
        q: A B D 4
        q: A C 9
        ",
        Query::default(),
        &["focus B"],
        "
        all 9 0
          p 5 0
            B 5 2
              C 3 0
                B 3 3
          q 4 0
            B 4 0
              D 4 4
        ",
    );
}

#[test]
fn focus_on_a_subtree_takes_one_call_node_in_one_process() {
    let stacks = "
        p: A B C 3
        p: D B 2
        q: A B D 4
        ";
    check(
        stacks,
        Query::default(),
        &["focus-node p: A B"],
        "
        all 3 0
          p 3 0
            B 3 0
              C 3 3
        ",
    );
    // Which process it was in holds where processes are not shown, too.
    check(
        stacks,
        ungrouped(),
        &["focus-node p: A B"],
        "
        all 3 0
          B 3 0
            C 3 3
        ",
    );
    check(
        stacks,
        ungrouped(),
        &["focus-node A B"],
        "
        all 7 0
          B 7 0
            D 4 4
            C 3 3
        ",
    );
    check(
        stacks,
        Query { direction: Direction::Inverted, ..ungrouped() },
        &["focus-inverted D B"],
        "
        all 4 0
          B 4 0
            A 4 4
        ",
    );
}

#[test]
fn dropping_a_function_takes_its_samples_and_leaves_no_empty_callers() {
    check(
        "
        A B C 3
        D C E 2
        A E 4
        ",
        ungrouped(),
        &["drop C"],
        "
        all 4 0
          A 4 0
            E 4 4
        ",
    );
}

#[test]
fn collapsing_a_function_makes_what_it_calls_its_self() {
    check(
        "
        A B C 3
        A B C B D 2
        A D 4
        ",
        ungrouped(),
        &["collapse B"],
        "
        all 9 0
          A 9 0
            B 5 5
            D 4 4
        ",
    );
}

#[test]
fn collapsing_a_dso_makes_one_of_what_follows_each_other() {
    check(
        "
        A X@lib Y@lib B X@lib 3
        A Z@lib 2
        A B 4
        ",
        ungrouped(),
        &["collapse-dso lib"],
        "
        all 9 0
          A 9 0
            lib 5 2
              B 3 0
                lib 3 3
            B 4 4
        ",
    );
}

#[test]
fn recursion_goes_back_to_where_a_function_was_met_first() {
    check(
        "
        A B A B C 3
        A A 2
        A B D A D 4
        A B>A 1
        ",
        ungrouped(),
        &["recursion"],
        "
        all 10 0
          A 10 3
            D 4 4
            B 3 0
              C 3 3
        ",
    );
}

#[test]
fn a_search_keeps_samples_with_a_match_on_their_stack() {
    check(
        "
        p: A Parse C 3
        p: A C 2
        q: parse 4
        parse: A 1
        q: X@parser 5
        ",
        ungrouped(),
        &["search parse"],
        "
        all 8 0
          X 5 5
          A 3 0
            Parse 3 0
              C 3 3
        ",
    );
}

#[test]
fn steps_take_effect_in_their_order() {
    let stacks = "
        A B C 3
        A C B 2
        D B 4
        ";
    // B is merged before anything could be dropped for it.
    check(
        stacks,
        ungrouped(),
        &["merge B", "drop B"],
        "
        all 9 0
          A 5 0
            C 5 5
          D 4 4
        ",
    );
    check(stacks, ungrouped(), &["drop B", "merge B"], "all 0 0");
    check(
        stacks,
        Query { direction: Direction::Inverted, ..Query::default() },
        &["focus A", "collapse C"],
        "
        all 5 0
          proc 5 0
            C 5 0
              B 3 0
                A 3 3
              A 2 2
        ",
    );
}

#[test]
fn the_tree_around_a_function_counts_samples_once() {
    let stacks = fixture(
        "
        p: A B C B D 3
        q: E B 2
        q: B C 4
        q: A E 7
        ",
    );
    let around = |side| {
        let function = function(&stacks, "B");
        Query { around: Some(AroundFunction { function, side }), ..Query::default() }
    };
    assert_eq!(
        tree_text(&stacks, &around(Side::Callees)),
        lines(
            "
            all 9 0
              B 9 2
                C 7 4
                  B 3 0
                    D 3 3
            "
        )
    );
    assert_eq!(
        tree_text(&stacks, &around(Side::Callers)),
        lines(
            "
            all 9 0
              B 9 4
                A 3 3
                E 2 2
            "
        )
    );
}

#[test]
fn inlined_functions_are_functions_to_every_step() {
    let stacks = "
        A>H B 3
        A C 2
        H D 4
        ";
    check(
        stacks,
        ungrouped(),
        &["focus H"],
        "
        all 7 0
          H 7 0
            D 4 4
            B 3 3
        ",
    );
    // Where they count as the function that they are inlined into, nothing is called H but H.
    check(
        stacks,
        Query { inlines: Inlines::Merged, ..ungrouped() },
        &["focus H"],
        "
        all 4 0
          H 4 0
            D 4 4
        ",
    );
}

/// As where a page is opened before its names have come.
#[test]
fn an_address_means_the_function_that_covers_it_now() {
    let stacks = fixture(
        "
        A B 3
        C A 2
        d B 4
        ",
    );
    let by_address = |letter: u8| FunctionRef {
        dso: dso(&stacks, "app"),
        name: None,
        address: Some(HexAddress(u64::from(letter) << 24)),
    };
    let left = |step| tree_text(&stacks, &Query { steps: vec![step], ..ungrouped() });
    let named = left(Transform::Drop { function: function(&stacks, "A") });
    assert_eq!(left(Transform::Drop { function: by_address(b'A') }), named);
    assert_eq!(
        left(Transform::Drop { function: by_address(b'd') }),
        lines(
            "
            all 5 0
              A 3 0
                B 3 3
              C 2 0
                A 2 2
            "
        )
    );
    assert_eq!(
        left(Transform::Drop { function: by_address(b'x') }),
        tree_text(&stacks, &ungrouped())
    );
}

/// The names that come may bring levels that a path from before knows nothing of.
#[test]
fn a_path_of_addresses_leads_past_levels_that_came_with_names() {
    let stacks = fixture(
        "
        A>H B 3
        A>H C 2
        A B 4
        ",
    );
    let frames = || stacks.profile.frames.iter();
    let (_, with_levels) = frames()
        .find(|&(frame, _)| stacks.symbols.levels(frame).len() == 2)
        .expect("A has H inlined into it");
    let part = |address: u64| PathPart::Function {
        function: FunctionRef {
            dso: dso(&stacks, "app"),
            name: None,
            address: Some(HexAddress(address)),
        },
    };
    let left = |path, direction| {
        let steps = vec![Transform::FocusSubtree { path, direction }];
        shown(&stacks, &Query { steps, ..ungrouped() }).weight
    };
    let (a, b) = (part(with_levels.address), part(u64::from(b'B') << 24));
    assert_eq!(left(vec![a.clone(), b.clone()], Direction::Callees), 3 + 4);
    assert_eq!(left(vec![b, a], Direction::Inverted), 3 + 4);
}

#[test]
fn filters_take_what_they_say() {
    let mut stacks = fixture(
        "
        p: A X@lib 1
        p: A B 2
        q: A X@lib 4
        q: A B 8
        p: X@lib A 16
        ",
    );
    for row in 0..5 {
        stacks.profile.samples.cpu.set(row, row as u16 % 2);
        stacks.profile.samples.time_nanos.set(row, 1000 + 10 * row as u64);
    }
    let lib = dso(&stacks, "lib");
    let range = |start, end, side| Some(TimeRange { start, end, side });
    let (inside, outside) = (RangeSide::Inside, RangeSide::Outside);
    let total = |query: Query| {
        let shown = shown(&stacks, &query);
        let tree = CallTree::new(&stacks.profile, &stacks.symbols, &query);
        assert_eq!(tree.total(CallNodeId::ROOT).weight, shown.weight);
        shown.weight
    };
    let all = ungrouped;
    assert_eq!(total(all()), 31);
    assert_eq!(total(Query { processes: vec![1], ..all() }), 1 + 2 + 16);
    assert_eq!(total(Query { processes: vec![1, 2], ..all() }), 31);
    assert_eq!(total(Query { threads: vec![2], ..all() }), 4 + 8);
    assert_eq!(total(Query { comms: vec!["q".to_owned()], ..all() }), 4 + 8);
    assert_eq!(total(Query { comms: vec!["no".to_owned()], ..all() }), 0);
    assert_eq!(total(Query { cpus: vec![1], ..all() }), 2 + 8);
    assert_eq!(total(Query { dsos: vec![lib.clone()], ..all() }), 1 + 4);
    // Half open, from the first sample on.
    assert_eq!(total(Query { range: range(0, 20, inside), ..all() }), 1 + 2);
    assert_eq!(total(Query { range: range(0, 21, inside), ..all() }), 1 + 2 + 4);
    assert_eq!(total(Query { range: range(10, 30, outside), ..all() }), 1 + 8 + 16);
    assert_eq!(total(Query { range: range(30, 10, inside), ..all() }), 0);
    assert_eq!(total(Query { range: range(0, u64::MAX, inside), ..all() }), 31);
    let spans = || vec![0..10, 20..31];
    assert_eq!(total(Query { range: range(0, 31, inside), spans: spans(), ..all() }), 1 + 4 + 8);
    let of_p = Query { processes: vec![1], ..all() };
    assert_eq!(total(Query { range: range(0, 31, inside), spans: spans(), ..of_p }), 1);
    let all_at_once = Query {
        range: range(0, 40, inside),
        processes: vec![1],
        cpus: vec![0],
        dsos: vec![lib],
        ..all()
    };
    let shown = shown(&stacks, &all_at_once);
    assert_eq!((shown.weight, shown.all_weight), (1, 31));
    // The first that takes a sample away is said to have done it.
    let removed: Vec<_> = shown.removed.iter().map(|removed| removed.weight).collect();
    assert_eq!(removed, [16, 4 + 8, 2, 0]);
    let effects: Vec<_> = shown.removed.iter().map(|removed| removed.effect).collect();
    assert_eq!(effects, [Effect::Some, Effect::Some, Effect::Some, Effect::None]);
}

/// Damage may bring times out of order; then no row may be missed.
#[test]
fn a_range_holds_where_times_are_out_of_order() {
    let mut stacks = fixture("A 1\n");
    let first = stacks.profile.samples.get(0).expect("it is there");
    for (time_nanos, weight) in [(50, 2), (10, 4), (0, 8), (40, 16)] {
        stacks.profile.samples.push(Sample { time_nanos, weight, ..first });
    }
    // Times count from the first, which is 1; what has no time is in no range.
    let weight = |start, end, side| {
        let range = Some(TimeRange { start, end, side });
        shown(&stacks, &Query { range, ..ungrouped() }).weight
    };
    assert_eq!(weight(0, 40, RangeSide::Inside), 1 + 4 + 16);
    assert_eq!(weight(9, 50, RangeSide::Inside), 2 + 4 + 16);
    assert_eq!(weight(9, 50, RangeSide::Outside), 1 + 8);
}

#[test]
fn what_cannot_be_meant_has_no_effect() {
    let stacks = fixture("A B 3\nA 2\n");
    let elsewhere = DsoRef { path: "/usr/lib/other.so".to_owned(), build_id: None };
    let nobody =
        || FunctionRef { dso: elsewhere.clone(), name: Some("A".to_owned()), address: None };
    let plain = tree_text(&stacks, &ungrouped());
    let path = || vec![PathPart::Function { function: nobody() }];
    let (callees, inverted) = (Direction::Callees, Direction::Inverted);
    let idle = [
        Transform::Merge { function: nobody() },
        Transform::Drop { function: nobody() },
        Transform::CollapseFunction { function: nobody() },
        Transform::CollapseDso { dso: elsewhere.clone() },
        Transform::MergeCallNode { path: path(), direction: callees },
        Transform::MergeCallNode { path: path(), direction: inverted },
        Transform::MergeCallNode { path: Vec::new(), direction: callees },
        Transform::Search { text: " ".to_owned() },
        Transform::Search { text: "/(/".to_owned() },
        Transform::CollapseRecursion,
    ];
    for step in idle {
        let query = Query { steps: vec![step.clone()], ..ungrouped() };
        assert_eq!(tree_text(&stacks, &query), plain, "{step:?}");
        assert_eq!(shown(&stacks, &query).removed[0].effect, Effect::None, "{step:?}");
    }
    // Of what nobody is there is nothing to focus on.
    let query = Query { steps: vec![Transform::Focus { function: nobody() }], ..ungrouped() };
    assert_eq!(shown(&stacks, &query).weight, 0);
    let around = AroundFunction { function: nobody(), side: Side::Callers };
    let query = Query { around: Some(around), ..ungrouped() };
    assert_eq!(tree_text(&stacks, &query), lines("all 0 0"));
}

/// More steps than anybody takes say that they have no effect, instead of time without end.
#[test]
fn code_without_a_name_is_one_but_for_what_steps_name_by_its_address() {
    let stacks = "A b c B d 3\nA c 2\nb 1\nA X@lib y@lib 4";
    let query = || Query { unnamed: Unnamed::OnePerDso, ..ungrouped() };
    check(
        stacks,
        query(),
        &[],
        "
        all 10 0
          A 9 0
            app, 3 addresses 5 2
              B 3 0
                app, 3 addresses 3 3
            X 4 0
              lib, 1 address 4 4
          app, 3 addresses 1 1
        ",
    );
    check(
        stacks,
        query(),
        &["drop ?"],
        "
        all 4 0
          A 4 0
            X 4 0
              lib, 1 address 4 4
        ",
    );
    check(
        stacks,
        query(),
        &["focus b"],
        "
        all 4 0
          0x62000000 4 1
            app, 3 addresses 3 0
              B 3 0
                app, 3 addresses 3 3
        ",
    );
    let each = Query { unnamed: Unnamed::EachAddress, ..query() };
    check(stacks, each.clone(), &["focus-node A ? B"], "all 3 0\n  B 3 0\n    0x64000000 3 3");
    check(stacks, each, &["drop ?"], "all 4 0\n  A 4 0\n    X 4 0\n      0x79000000 4 4");
}

#[test]
fn steps_beyond_the_most_have_no_effect() {
    let stacks = fixture("A B 3\nC 2\n");
    let mut steps = vec![Transform::CollapseRecursion; MOST_STEPS];
    steps.push(step(&stacks, "drop A"));
    let shown = shown(&stacks, &Query { steps, ..ungrouped() });
    assert_eq!((shown.weight, shown.removed.len()), (5, MOST_STEPS + 1));
    assert_eq!(shown.removed[MOST_STEPS].effect, Effect::None);
}
