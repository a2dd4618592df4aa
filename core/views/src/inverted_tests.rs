//! What is made of an inverted tree where it is looked at is what is there when all of it is made.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use perftab_perfdata::slice::Work;

use super::label::OwnCode;
use crate::build::build;
use crate::call_tree::{CallNodeId, CallTree};
use crate::fixture::{Fixture, fixture};
use crate::flame_graph::{FlameGraph, Window, layout, layout_in_slices};
use crate::functions::FunctionSum;
use crate::inverted::Inverted;
use crate::search::{Pattern, in_inverted, search};
use crate::weights::Sum;
use crate::{Direction, Group, Query, Unnamed};

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// Most code has no names, as where this matters.
fn some_stacks(numbers: &mut Numbers, count: usize) -> Fixture {
    let words = ["a", "b", "c", "d@lib", "e@lib", "f@lib", "g", "A", "B@lib", "~2"];
    let line = |numbers: &mut Numbers| {
        let process = ["one", "two"][numbers.below(2)];
        let depth = numbers.below(7);
        let stack: Vec<&str> = (0..depth).map(|_| words[numbers.below(words.len())]).collect();
        format!("{process}: {} {}\n", stack.join(" "), 1 + numbers.below(9))
    };
    fixture(&(0..count).map(|_| line(numbers)).collect::<String>())
}

fn of(fixture: &Fixture, group: Group) -> (CallTree, Inverted) {
    shown_as(fixture, group, Unnamed::EachAddress)
}

fn shown_as(fixture: &Fixture, group: Group, unnamed: Unnamed) -> (CallTree, Inverted) {
    let Fixture { profile, symbols } = fixture;
    let callees = Query { group, unnamed, ..Query::default() };
    let inverted = Query { direction: Direction::Inverted, ..callees.clone() };
    let whole = build(profile, symbols, &inverted).tree;
    (whole, Inverted::new(build(profile, symbols, &callees).tree.into()))
}

/// By the labels that lead to each call node: self and total.
fn ways(tree: &CallTree) -> BTreeMap<Vec<u64>, (Sum, Sum)> {
    let way = |id| {
        let path = tree.path(id).into_iter().map(|id| tree.label(id).key()).collect();
        (path, (tree.self_sum(id), tree.total(id)))
    };
    tree.ids().map(way).collect()
}

#[test]
fn call_nodes_may_be_opened_in_any_order_and_get_their_numbers_again() {
    let mut numbers = Numbers(3);
    for group in [Group::None, Group::Process] {
        let fixture = some_stacks(&mut numbers, 60);
        let (whole, mut inverted) = of(&fixture, group);
        let mut closed: Vec<u32> = (0..inverted.tree().len() as u32).collect();
        while !closed.is_empty() {
            let before = inverted.tree().len() as u32;
            inverted.open(CallNodeId(closed.swap_remove(numbers.below(closed.len()))));
            closed.extend(before..inverted.tree().len() as u32);
        }
        assert_eq!(ways(inverted.tree()), ways(&whole));
        let (_, mut again) = of(&fixture, group);
        inverted.opened().iter().for_each(|&id| again.open(id));
        let labels = |tree: &CallTree| tree.ids().map(|id| tree.label(id)).collect::<Vec<_>>();
        assert_eq!(labels(again.tree()), labels(inverted.tree()));
    }
}

/// Row by row what each box is, but for its place among equals, its number, and how many it is of.
fn boxes(graph: &FlameGraph) -> Vec<Vec<String>> {
    let row = |row: &[u32]| {
        let mut boxes: Vec<String> = (row[0] as usize..row[1] as usize)
            .map(|at| {
                let label = graph.labels.get(graph.label[at] as usize);
                let label = label.filter(|label| !label.ends_with("addresses"));
                let (total, own) = (graph.total[at], graph.self_weight[at]);
                let (kind, function) = (graph.kind[at], graph.function[at]);
                format!("{total} {own} {kind} {function} {} {label:?}", graph.marks[at])
            })
            .collect();
        boxes.sort();
        boxes
    };
    graph.row_start.windows(2).map(row).collect()
}

#[test]
fn a_graph_is_the_same_whether_all_of_the_tree_is_there_or_not() {
    let mut numbers = Numbers(4);
    for round in 0..60 {
        let fixture = Rc::new(some_stacks(&mut numbers, 80));
        let Fixture { profile, symbols } = &*fixture;
        let group = [Group::None, Group::Process][round % 2];
        let unnamed = [Unnamed::EachAddress, Unnamed::OnePerDso][round / 2 % 2];
        let (whole, mut inverted) = shown_as(&fixture, group, unnamed);
        // Some is open, some is not.
        for _ in 0..numbers.below(20) {
            let id = CallNodeId(numbers.below(inverted.tree().len()) as u32);
            inverted.open(id);
        }
        let window = Window {
            root: CallNodeId::ROOT,
            width: 100.0,
            min_width: [0.1, 0.5, 2.0][round % 3],
            search: Pattern::new("A"),
            own: OwnCode::default(),
        };
        let expected = boxes(&layout(profile, symbols, &whole, &window));
        let inverted = RefCell::new(inverted);
        let graph = layout(profile, symbols, &inverted, &window);
        assert_eq!(boxes(&graph), expected, "round {round}");
        // In small steps it is the very same graph, also when something else is opened meanwhile.
        let again = Rc::new(RefCell::new(shown_as(&fixture, group, unnamed).1));
        let (laid, drawn) = (Rc::clone(&again), Rc::clone(&fixture));
        let mut work = Work::new(async move |slice| {
            layout_in_slices(&drawn.profile, &drawn.symbols, &*laid, &window, &slice).await
        });
        let mut steps = 0;
        let in_slices = loop {
            if let Some(graph) = work.step(1 + round % 3) {
                break graph;
            }
            steps += 1;
            if steps % 5 == 0 {
                let mut again = again.borrow_mut();
                let id = CallNodeId(numbers.below(again.tree().len()) as u32);
                again.open(id);
            }
        };
        assert_eq!(boxes(&in_slices), expected, "round {round}, {steps} steps");
        let inverted = inverted.into_inner();
        for (at, &number) in graph.call_node.iter().enumerate() {
            let total = inverted.tree().id(number).map(|id| inverted.tree().total(id).weight);
            assert!(total.is_none_or(|total| total as f64 == graph.total[at]));
        }
    }
}

#[test]
fn a_search_finds_functions_in_what_was_not_made() {
    let mut numbers = Numbers(5);
    let fixture = some_stacks(&mut numbers, 60);
    let Fixture { profile, symbols } = &fixture;
    let (whole, mut inverted) = of(&fixture, Group::Process);
    let pattern = Pattern::new("dso:lib").expect("a word");
    let expected = search(profile, symbols, &whole, &pattern);
    let found = search(profile, symbols, inverted.callees(), &pattern);
    let found = in_inverted(&mut inverted, found);
    assert_eq!((found.sum, found.functions), (expected.sum, expected.functions));
    let tree = inverted.tree();
    let functions = |tree: &CallTree, matches: &[FunctionSum]| {
        let mut functions: Vec<_> = matches
            .iter()
            .map(|found| tree.label(found.heaviest).function().expect("code"))
            .collect();
        functions.sort();
        functions
    };
    assert_eq!(functions(tree, &found.matches), functions(&whole, &expected.matches));
}
