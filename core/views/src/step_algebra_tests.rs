//! What holds for filters and steps whatever the stacks: against a model that tells them once more,
//! and among each other.

use super::build::build;
use super::call_path;
use super::call_tree::{CallNodeId, CallTree, Label};
use super::filter::{RangeSide, TimeRange};
use super::fixture::{Fixture, fixture, tree_text, ungrouped};
use super::search::{Pattern, search};
use super::shown::Effect;
use super::step_model::{self as model, Line, Table};
use super::step_tests::{function, shown, step};
use super::transform::Transform;
use super::{AroundFunction, Direction, Group, Inlines, Query, Side, Unnamed};

/// Whatever the stacks and the steps: the tree is that of the model, and what is taken away and
/// what is left add up.
#[test]
fn steps_do_what_the_model_does() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let text = stacks_of_any_kind(&mut random);
        let stacks = fixture(&text);
        let inlines = [Inlines::Shown, Inlines::Merged][random.below(2)];
        let unnamed = [Unnamed::EachAddress, Unnamed::OnePerDso][random.below(2)];
        let mut lines = model::read(&text, inlines);
        if unnamed == Unnamed::OnePerDso {
            model::put_unnamed_together(&mut lines);
        }
        let mut steps = Vec::new();
        let mut words = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..random.below(4) {
            let Some(mut word) = step_of_any_kind(&mut random, &stacks, &lines) else { continue };
            if unnamed == Unnamed::OnePerDso && word.ends_with(" d") {
                word = word.replace(" d", &format!(" {}", model::REST));
            }
            let before = lines.clone();
            lines = model::take(&lines, &word);
            let weight = |lines: &[Line]| lines.iter().map(|line| line.weight).sum::<u64>();
            let effect = if before == lines { Effect::None } else { Effect::Some };
            let removed = (before.len() - lines.len()) as u64;
            expected.push((removed, weight(&before) - weight(&lines), effect));
            steps.push(step(&stacks, &word));
            words.push(word);
        }
        let context = format!("round {round}\n{text}\n{words:?} {inlines:?} {unnamed:?}");
        let query = Query { inlines, unnamed, steps, ..Query::default() };
        for direction in [Direction::Callees, Direction::Inverted] {
            for group in [Group::Process, Group::Thread, Group::None] {
                let query = Query { direction, group, ..query.clone() };
                let built = build(&stacks.profile, &stacks.symbols, &query);
                let found = model::table_of(&stacks, &built.tree);
                assert_eq!(
                    found,
                    model::table(&lines, direction, group),
                    "{context} {direction:?}"
                );
                let shown = shown(&stacks, &query);
                let removed = shown.removed.iter();
                let removed: Vec<_> =
                    removed.map(|it| (it.samples, it.weight, it.effect)).collect();
                assert_eq!(removed, expected, "{context}");
                let taken: u64 = removed.iter().map(|it| it.1).sum();
                assert_eq!(shown.weight + taken, shown.all_weight, "{context}");
                assert_eq!(shown.samples, lines.len() as u64, "{context}");
            }
        }
        let without_name = if unnamed == Unnamed::OnePerDso { model::REST } else { "d" };
        for name in ["A", "B", "X@lib", without_name] {
            check_around(&stacks, &query, &lines, name, &context);
        }
    }
}

fn check_around(stacks: &Fixture, query: &Query, lines: &[Line], name: &str, context: &str) {
    if stacks.profile.dsos.iter().all(|(_, dso)| dso.path != "lib") && name.ends_with("lib") {
        return;
    }
    let tree = |side| {
        let around = Some(AroundFunction { function: function(stacks, name), side });
        let query = Query { around, ..query.clone() };
        model::table_of(stacks, &CallTree::new(&stacks.profile, &stacks.symbols, &query))
    };
    let callees = model::take(lines, &format!("focus {name}"));
    let callers = model::callers(lines, name);
    let table = |lines: &[Line]| model::table(lines, Direction::Callees, Group::None);
    assert_eq!(tree(Side::Callees), table(&callees), "{context} callees of {name}");
    assert_eq!(tree(Side::Callers), table(&callers), "{context} callers of {name}");
    let total = |table: &Table| table[&Vec::new()].0;
    assert_eq!(total(&table(&callees)), total(&table(&callers)), "{context} {name}");
}

/// Whatever the query, what filters leave and what they take away is all there is, and the rest of
/// a range is what the range is not.
#[test]
fn filters_add_up_and_commute() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..200 {
        let mut stacks = fixture(&stacks_of_any_kind(&mut random));
        let count = stacks.profile.samples.len();
        let mut time = 100;
        for row in 0..count {
            time += random.below(3) as u64;
            stacks.profile.samples.cpu.set(row, random.below(3) as u16);
            stacks.profile.samples.time_nanos.set(row, time);
        }
        let (start, end) = (random.below(40) as u64, random.below(40) as u64);
        let sum = |side| {
            let range = Some(TimeRange { start, end, side });
            let shown = shown(&stacks, &Query { range, cpus: vec![0, 1], ..ungrouped() });
            let removed: u64 = shown.removed.iter().map(|removed| removed.weight).sum();
            assert_eq!(shown.weight + removed, shown.all_weight);
            shown.weight
        };
        let without_range = shown(&stacks, &Query { cpus: vec![0, 1], ..ungrouped() });
        assert_eq!(sum(RangeSide::Inside) + sum(RangeSide::Outside), without_range.weight);
        let removed: u64 = without_range.removed.iter().map(|removed| removed.weight).sum();
        assert_eq!(without_range.weight + removed, without_range.all_weight);
        // A filter and then a search takes what a search and then the filter would.
        let both = Query {
            cpus: vec![0],
            processes: vec![1],
            steps: vec![Transform::Search { text: "b".to_owned() }],
            ..ungrouped()
        };
        let rows = (0..count).filter(|&row| {
            let samples = &stacks.profile.samples;
            let process = stacks.profile.threads.thread(samples.thread.at(row)).process;
            samples.cpu.at(row) == 0 && stacks.profile.threads.process(process).pid == 1
        });
        let found = |row: &usize| {
            let frames = stacks.profile.stacks.frames(stacks.profile.samples.stack[*row]);
            let mut levels = frames.flat_map(|frame| stacks.symbols.levels(frame));
            levels.any(|level| {
                let function = stacks.symbols.function(level.function);
                let dso = stacks.profile.dsos.get(function.dso);
                function.name.is_some_and(|name| name.to_lowercase().contains('b'))
                    || dso.path == "lib"
                    || (function.name.is_none() && format!("{:#x}", function.address).contains('b'))
            })
        };
        let expected: u64 =
            rows.filter(found).map(|row| stacks.profile.samples.weight.at(row)).sum();
        assert_eq!(shown(&stacks, &both).weight, expected);
    }
}

/// Dropping a function leaves nothing of it to search for; taking the last step back gives the
/// former tree; collapsing recursion twice is collapsing it once.
#[test]
fn steps_can_be_taken_back_and_said_twice() {
    let mut random = Random(77);
    for _ in 0..100 {
        let stacks = fixture(&stacks_of_any_kind(&mut random));
        let tree = |words: &[&str]| {
            let steps = words.iter().map(|word| step(&stacks, word)).collect();
            tree_text(&stacks, &Query { steps, ..Query::default() })
        };
        let Fixture { profile, symbols } = &stacks;
        let dropped = Query { steps: vec![step(&stacks, "drop A")], ..Query::default() };
        let pattern = Pattern::new("/^A$/").expect("an expression");
        let found = search(profile, symbols, &CallTree::new(profile, symbols, &dropped), &pattern);
        assert_eq!((found.sum.samples, found.matches.len()), (0, 0));
        assert_eq!(tree(&["recursion"]), tree(&["recursion", "recursion"]));
        assert_eq!(tree(&["merge A", "drop A"]), tree(&["merge A"]));
        assert_eq!(tree(&["focus A", "focus A"]), tree(&["focus A"]));
        // No step: as without the machinery of steps.
        assert_eq!(tree(&["search /./", "search /./"]), tree(&["search /./"]));
    }
}

/// The way that a call node gives of itself leads back to it: focusing on it shows its samples, and
/// merging it takes none away.
#[test]
fn every_call_node_is_found_again_by_its_path() {
    let mut random = Random(4711);
    for _ in 0..40 {
        let text = stacks_of_any_kind(&mut random);
        let Fixture { profile, symbols } = &fixture(&text);
        let unnamed = [Unnamed::EachAddress, Unnamed::OnePerDso][random.below(2)];
        for direction in [Direction::Callees, Direction::Inverted] {
            for group in [Group::Process, Group::Thread, Group::None] {
                let steps = vec![Transform::CollapseRecursion];
                let query = Query { direction, group, unnamed, steps, ..Query::default() };
                let tree = CallTree::new(profile, symbols, &query);
                let is_code =
                    |id: &CallNodeId| !matches!(tree.label(*id), Label::All | Label::Group(_));
                for id in tree.ids().filter(is_code) {
                    let path = call_path::of(profile, symbols, &tree, id, group);
                    let with = |step| {
                        let steps = [query.steps.clone(), vec![step]].concat();
                        let query = Query { steps, ..query.clone() };
                        CallTree::new(profile, symbols, &query).total(CallNodeId::ROOT)
                    };
                    let focused = with(Transform::FocusSubtree { path: path.clone(), direction });
                    assert_eq!(focused, tree.total(id), "{text} {path:?}");
                    let merged = with(Transform::MergeCallNode { path, direction });
                    assert_eq!(merged, tree.total(CallNodeId::ROOT), "{text}");
                }
            }
        }
    }
}

pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

pub(super) fn stacks_of_any_kind(random: &mut Random) -> String {
    let words = [
        "A", "B", "C", "A", "B", "X@lib", "Y@lib", "d", "e", "~1", "~2", "A>H", "C>H>B", "X>Y@lib",
    ];
    let mut text = String::new();
    for _ in 0..random.below(30) {
        text += ["p: ", "q: ", "r: "][random.below(3)];
        for _ in 0..random.below(7) {
            text += words[random.below(words.len())];
            text += " ";
        }
        text += &format!("{}\n", random.below(9));
    }
    text
}

/// A step that means something to the lines that there are; `None` where there is nothing.
pub(super) fn step_of_any_kind(
    random: &mut Random,
    stacks: &Fixture,
    lines: &[Line],
) -> Option<String> {
    let has_lib = stacks.profile.dsos.iter().any(|(_, dso)| dso.path == "lib");
    let functions: &[&str] =
        if has_lib { &["A", "B", "C", "H", "d", "X@lib", "Y@lib"] } else { &["A", "B", "C", "d"] };
    let kind = random.below(11);
    let by_function = ["merge", "drop", "focus", "collapse"];
    let by_path = ["merge-node", "merge-inverted", "focus-node", "focus-inverted"];
    Some(match kind {
        0..4 => format!("{} {}", by_function[kind], functions[random.below(functions.len())]),
        4..8 => {
            let line = lines.get(random.below(lines.len().max(1)))?;
            let mut calls = line.calls.clone();
            if by_path[kind - 4].ends_with("inverted") {
                calls.reverse();
            }
            calls.truncate(1 + random.below(calls.len().max(1)));
            if calls.is_empty() {
                return None;
            }
            let group = ["", &format!("{}: ", line.process), &format!("t/{}: ", line.process)]
                [random.below(3)]
            .to_owned();
            format!("{} {group}{}", by_path[kind - 4], calls.join(" "))
        }
        8 => format!("collapse-dso {}", if has_lib { "lib" } else { "app" }),
        9 => "recursion".to_owned(),
        _ => format!("search {}", ["A", "lib", "H"][random.below(3)]),
    })
}
