//! Trees of ranges are the same whether samples were placed before or not.

use crate::views::build::build;
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::filter::{RangeSide, TimeRange};
use crate::views::fixture::{Fixture, fixture};
use crate::views::function_ref::FunctionRef;
use crate::views::placed::{Placed, Placement, Placing};
use crate::views::transform::Transform;
use crate::views::weights::Sum;
use crate::views::{Direction, Group, Query};

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

fn placed(fixture: &Fixture, query: &Query, rows: usize) -> Placed {
    let mut placing = Placing::new(&fixture.profile, query);
    loop {
        match placing.step(&fixture.profile, &fixture.symbols, rows) {
            Placement::More(more) => placing = more,
            Placement::Done(placed) => return placed,
            Placement::TooMany => panic!("there are few"),
        }
    }
}

/// Label, caller, self, total and children of a call node.
type Row = (Label, Option<CallNodeId>, Sum, Sum, Vec<CallNodeId>);

/// All that a tree is, but for the frames that led to its call nodes: the first of several, in the
/// order in which samples were gone through.
fn columns(tree: &CallTree) -> Vec<Row> {
    let row = |id| {
        let (label, parent) = (tree.label(id), tree.parent(id));
        (label, parent, tree.self_sum(id), tree.total(id), tree.children(id).to_vec())
    };
    tree.ids().map(row).collect()
}

fn queries(fixture: &Fixture) -> Vec<Query> {
    let named = |name: &str| {
        let function = fixture.symbols.function_count();
        let id = (0..function as u32).map(crate::symbolize::FunctionId);
        let mut found = id.filter(|&id| fixture.symbols.function(id).name == Some(name));
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
    for query in queries(&fixture) {
        let mut placed = placed(&fixture, &query, 1 + numbers.below(200) as usize);
        for _ in 0..40 {
            let (a, b) = (numbers.below(420), numbers.below(420));
            let side = if numbers.below(3) == 0 { RangeSide::Outside } else { RangeSide::Inside };
            let range = TimeRange { start: a.min(b), end: a.max(b), side };
            let query = Query { range: Some(range), ..query.clone() };
            let from_placed = placed.build(&fixture.profile, &fixture.symbols, &query);
            let built = build(&fixture.profile, &fixture.symbols, &query);
            assert_eq!(columns(&from_placed.tree), columns(&built.tree), "{query:?}");
            assert_eq!(from_placed.account, built.account, "{query:?}");
        }
    }
}

#[test]
fn weights_that_overflow_come_back_right() {
    let mut fixture = fixture("A 1\nA 2\nA 3\nB 4");
    for row in 0..2 {
        fixture.profile.samples.weight.set(row, u64::MAX);
    }
    let mut placed = placed(&fixture, &Query::default(), usize::MAX);
    let mut total = |start, end| {
        let range = TimeRange { start, end, side: RangeSide::Inside };
        let query = Query { range: Some(range), ..Query::default() };
        placed.build(&fixture.profile, &fixture.symbols, &query).tree.total(CallNodeId::ROOT).weight
    };
    total(0, 4);
    assert_eq!((total(2, 4), total(2, 3), total(3, 9)), (7, 3, 4));
}
