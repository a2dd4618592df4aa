//! Graphs of ranges show the same call nodes whether samples were placed before or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use perftab_perfdata::slice::in_slices_of;

use crate::build::{TreeDetail, build, build_in_slices, build_with_ends};
use crate::call_tree::{CallNodeId, CallTree};
use crate::filter::{RangeSide, TimeRange};
use crate::fixture::{Fixture, fixture};
use crate::function_ref::FunctionRef;
use crate::placed::{PlacedSamples, callees_of, place};
use crate::transform::Transform;
use crate::weights::Sum;
use crate::{Direction, Group, Query};

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Samples of a few processes with stacks of a few functions, a nanosecond apart.
fn samples(count: u64, numbers: &mut Numbers) -> Fixture {
    let line = |numbers: &mut Numbers| {
        let process = ["one", "two", "six"][numbers.below(3) as usize];
        let depth = numbers.below(5);
        let stack: String =
            (0..depth).map(|_| ["A ", "B ", "c ", "~2 "][numbers.below(4) as usize]).collect();
        format!("{process}: {stack}{}\n", 1 + numbers.below(9))
    };
    fixture(&(0..count).map(|_| line(numbers)).collect::<String>())
}

fn placed(fixture: &Fixture, query: &Query, rows: usize, most: usize) -> PlacedSamples {
    let callees = callees_of(query);
    let (built, ends) = build_with_ends(&fixture.profile, &fixture.symbols, &callees);
    let (tree, ends) = (Arc::new(built.tree), Arc::new(ends));
    in_slices_of(rows, async |slice| place(&fixture.profile, query, tree, ends, most, slice).await)
}

/// By the labels that lead to each call node: self and total.
fn ways(tree: &CallTree) -> BTreeMap<Vec<u64>, (Sum, Sum)> {
    let way = |id| {
        let path = tree.path(id).into_iter().map(|id| tree.label(id).key()).collect();
        (path, (tree.self_sum(id), tree.total(id)))
    };
    tree.ids().map(way).collect()
}

fn some_range(numbers: &mut Numbers) -> TimeRange {
    let (a, b) = (numbers.below(420), numbers.below(420));
    let side = if numbers.below(3) == 0 { RangeSide::Outside } else { RangeSide::Inside };
    TimeRange { start: a.min(b), end: a.max(b), side }
}

fn queries(fixture: &Fixture) -> Vec<Query> {
    let named = |name: &str| {
        let ids = fixture.symbols.function_ids();
        let mut found = ids.filter(|&id| fixture.symbols.function(id).name == Some(name));
        let id = found.next().expect("it was sampled");
        FunctionRef::of(&fixture.profile, &fixture.symbols, id)
    };
    let plain = Query::default();
    let steps = vec![
        Transform::Drop { function: named("B") },
        Transform::Merge { function: named("A") },
        Transform::CollapseRecursion,
    ];
    vec![
        Query { group: Group::None, ..plain.clone() },
        Query { direction: Direction::Inverted, ..plain.clone() },
        Query { processes: vec![1, 3], ..plain.clone() },
        Query { steps: steps.clone(), ..plain.clone() },
        Query { steps, direction: Direction::Inverted, comms: vec!["two".into()], ..plain.clone() },
        plain,
    ]
}

#[test]
fn a_tree_of_a_range_is_the_same_from_placed_samples() {
    let mut numbers = Numbers(1);
    let fixture = samples(400, &mut numbers);
    let Fixture { profile, symbols } = &fixture;
    for query in queries(&fixture) {
        let rows = 1 + numbers.below(200) as usize;
        let mut placed = placed(&fixture, &query, rows, usize::MAX);
        for _ in 0..40 {
            let query = Query { range: Some(some_range(&mut numbers)), ..query.clone() };
            let built = build(profile, symbols, &query).tree;
            assert_eq!(ways(&placed.tree(profile, symbols, &query)), ways(&built), "{query:?}");
        }
    }
}

#[test]
fn what_is_placed_of_few_call_nodes_has_its_exact_total() {
    let mut numbers = Numbers(2);
    let fixture = samples(400, &mut numbers);
    let Fixture { profile, symbols } = &fixture;
    for query in queries(&fixture) {
        let mut placed = placed(&fixture, &query, 100, 20);
        for _ in 0..40 {
            let query = Query { range: Some(some_range(&mut numbers)), ..query.clone() };
            let (few, all) =
                (placed.tree(profile, symbols, &query), build(profile, symbols, &query));
            let all = ways(&all.tree);
            assert!(few.len() <= 20);
            let few = ways(&few);
            let own = few.values().map(|(own, _)| own.samples).sum::<u64>();
            assert_eq!(own, all[&vec![0]].1.samples, "{query:?}");
            for (way, (_, total)) in few {
                assert_eq!(total, all[&way].1, "{query:?}");
            }
        }
    }
}

#[test]
fn weights_that_overflow_come_back_right() {
    let mut fixture = fixture("A 1\nA 2\nA 3\nB 4");
    for row in 0..2 {
        fixture.profile.samples.weight.set(row, u64::MAX);
    }
    let mut placed = placed(&fixture, &Query::default(), usize::MAX, usize::MAX);
    let mut total = |start, end| {
        let range = TimeRange { start, end, side: RangeSide::Inside };
        let query = Query { range: Some(range), ..Query::default() };
        placed.tree(&fixture.profile, &fixture.symbols, &query).total(CallNodeId::ROOT).weight
    };
    total(0, 4);
    assert_eq!((total(2, 4), total(2, 3), total(3, 9)), (7, 3, 4));
}

#[test]
fn a_tree_made_in_small_steps_has_the_same_numbers() {
    let mut numbers = Numbers(6);
    let fixture = samples(60, &mut numbers);
    let Fixture { profile, symbols } = &fixture;
    for query in queries(&fixture) {
        for range in [None, Some(some_range(&mut numbers))] {
            let query = Query { range, direction: Direction::Callees, ..query.clone() };
            let whole = build(profile, symbols, &query).tree;
            for rows in [1, 7, 40] {
                let tree = in_slices_of(rows, async |slice| {
                    let detail = TreeDetail::Tree;
                    build_in_slices(profile, symbols, &query, detail, slice).await.0.tree
                });
                assert_eq!(format!("{tree:?}"), format!("{whole:?}"), "{query:?} {rows}");
            }
        }
    }
}
