//! Who ran something and when, against what is counted from the lines of the fixture by hand.

use perftab_names::FunctionId;
use perftab_perfdata::slice::in_slices_of;

use crate::build::{build, build_with_ends};
use crate::call_tree::{CallNodeId, CallTree};
use crate::filter::{RangeSide, TimeRange};
use crate::fixture::{Fixture, fixture, ungrouped};
use crate::label::Labels;
use crate::occurrence::{self, Occurrence, ResolvedSubject};
use crate::{Direction, Query};

/// Samples of the fixture are a nanosecond apart, in the order of its lines.
const STACKS: &str = "
    web: A B C 1
    web: A B 10
    db: A B C 100
    web: C A 1000
    db: ~2 10000
    ";

fn call_node(fixture: &Fixture, tree: &CallTree, path: &[&str]) -> CallNodeId {
    let labels = Labels::new(&fixture.profile, &fixture.symbols);
    path.iter().fold(CallNodeId::ROOT, |at, name| {
        let mut children = tree.children(at).iter().copied();
        children.find(|&child| labels.text(tree.label(child)) == *name).expect("it is there")
    })
}

fn function(fixture: &Fixture, tree: &CallTree, name: &str) -> FunctionId {
    let labels = Labels::new(&fixture.profile, &fixture.symbols);
    let mut functions = tree.ids().filter_map(|id| tree.label(id).function());
    functions.find(|&function| labels.function_text(function) == name).expect("it is there")
}

fn occurrence(
    fixture: &Fixture,
    query: &Query,
    meant: &ResolvedSubject,
    bins: u32,
    step: usize,
) -> Occurrence {
    let callees = Query { direction: Direction::Callees, ..query.clone() };
    let (built, ends) = build_with_ends(&fixture.profile, &fixture.symbols, &callees);
    in_slices_of(step, async |slice| {
        let meant = meant.ends(&built.tree);
        occurrence::occurrence(&fixture.profile, &callees, &ends, &meant, bins, slice).await
    })
}

/// Of a call node, one bin for each sample; by process name and samples.
fn of_path(query: &Query, path: &[&str]) -> (Vec<(String, u64)>, Vec<f64>) {
    let fixture = fixture(STACKS);
    let tree = build(&fixture.profile, &fixture.symbols, query).tree;
    let id = call_node(&fixture, &tree, path);
    let meant = ResolvedSubject::call_node(&tree, query.direction, id);
    let found = occurrence(&fixture, query, &meant, 5, 2);
    let total: f64 = found.bins.iter().sum();
    assert_eq!(total, tree.total(id).weight as f64, "bins hold what the tree does");
    let ran = found.runners.processes.into_iter().map(|runner| (runner.name, runner.samples));
    (ran.collect(), found.bins)
}

fn ran(runners: &[(&str, u64)]) -> Vec<(String, u64)> {
    runners.iter().map(|&(name, samples)| (name.to_owned(), samples)).collect()
}

#[test]
fn a_call_node_is_counted_with_all_below_it() {
    let (runners, bins) = of_path(&ungrouped(), &["A", "B"]);
    assert_eq!(runners, ran(&[("web", 2), ("db", 1)]));
    assert_eq!(bins, [1.0, 10.0, 100.0, 0.0, 0.0]);
    let (runners, bins) = of_path(&ungrouped(), &["C"]);
    assert_eq!((runners, bins), (ran(&[("web", 1)]), vec![0.0, 0.0, 0.0, 1000.0, 0.0]));
}

#[test]
fn the_root_is_everything_and_a_process_its_own() {
    let (runners, bins) = of_path(&Query::default(), &[]);
    assert_eq!(runners, ran(&[("web", 3), ("db", 2)]));
    assert_eq!(bins, [1.0, 10.0, 100.0, 1000.0, 10000.0]);
    let (runners, bins) = of_path(&Query::default(), &["db"]);
    assert_eq!((runners, bins), (ran(&[("db", 2)]), vec![0.0, 0.0, 100.0, 0.0, 10000.0]));
    let (runners, bins) = of_path(&Query::default(), &["web", "A"]);
    assert_eq!((runners, bins), (ran(&[("web", 2)]), vec![1.0, 10.0, 0.0, 0.0, 0.0]));
}

#[test]
fn in_an_inverted_tree_the_way_leads_from_the_innermost_function_outwards() {
    let inverted = Query { direction: Direction::Inverted, ..ungrouped() };
    let (runners, bins) = of_path(&inverted, &["C", "B"]);
    assert_eq!(runners, ran(&[("web", 1), ("db", 1)]), "of as many the lower pid first");
    assert_eq!(bins, [1.0, 0.0, 100.0, 0.0, 0.0]);
    let (_, bins) = of_path(&inverted, &["A"]);
    assert_eq!(bins, [0.0, 0.0, 0.0, 1000.0, 0.0]);
    let grouped = Query { direction: Direction::Inverted, ..Query::default() };
    let (runners, bins) = of_path(&grouped, &["web", "C"]);
    assert_eq!((runners, bins), (ran(&[("web", 1)]), vec![1.0, 0.0, 0.0, 0.0, 0.0]));
    let (runners, _) = of_path(&grouped, &["db"]);
    assert_eq!(runners, ran(&[("db", 2)]));
}

#[test]
fn a_function_is_counted_once_a_sample_wherever_it_is_called() {
    let fixture = fixture("web: A B A 1\nweb: B 2\ndb: C A 4");
    let tree = build(&fixture.profile, &fixture.symbols, &Query::default()).tree;
    let meant = ResolvedSubject::Function(function(&fixture, &tree, "A"));
    let found = occurrence(&fixture, &Query::default(), &meant, 3, 100);
    assert_eq!(found.bins, [1.0, 0.0, 4.0]);
    let samples: Vec<u64> = found.runners.processes.iter().map(|runner| runner.samples).collect();
    assert_eq!(samples, [1, 1]);
}

#[test]
fn bins_are_those_of_the_range_that_is_shown() {
    let range = |side| Some(TimeRange { start: 1, end: 3, side });
    let inside = Query { range: range(RangeSide::Inside), ..ungrouped() };
    let fixture = fixture(STACKS);
    let found =
        occurrence(&fixture, &inside, &ResolvedSubject::Path(Direction::Callees, vec![]), 2, 1);
    assert_eq!((found.start, found.end, &found.bins[..]), (1.0, 3.0, &[10.0, 100.0][..]));
    let outside = Query { range: range(RangeSide::Outside), ..ungrouped() };
    let found =
        occurrence(&fixture, &outside, &ResolvedSubject::Path(Direction::Callees, vec![]), 5, 1);
    assert_eq!((found.start, found.end), (0.0, 5.0));
    assert_eq!(found.bins, [1.0, 0.0, 0.0, 1000.0, 10000.0]);
}

#[test]
fn samples_without_times_have_no_bins() {
    let mut fixture = fixture(STACKS);
    for row in 0..fixture.profile.samples.len() {
        fixture.profile.samples.time_nanos.set(row, 0);
    }
    let found = occurrence(
        &fixture,
        &ungrouped(),
        &ResolvedSubject::Path(Direction::Callees, vec![]),
        100,
        1,
    );
    assert_eq!(found.bins, Vec::<f64>::new());
    assert_eq!(found.runners.processes.len(), 2);
}

#[test]
fn what_is_not_there_is_in_no_sample() {
    let fixture = fixture(STACKS);
    let found = occurrence(
        &fixture,
        &ungrouped(),
        &ResolvedSubject::Function(FunctionId(u32::MAX)),
        5,
        usize::MAX,
    );
    assert_eq!(found.runners.processes, []);
    assert_eq!(found.bins, [0.0; 5]);
}
