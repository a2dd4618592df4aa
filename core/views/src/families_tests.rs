//! The first level that suits what there is.

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::fixture::{Fixture, fixture, lines, tree_text};
use crate::label::{Labels, mark};
use crate::step_tests::path;
use crate::transform::Transform;
use crate::{Direction, Group, Query, call_path, families};

const POOL: &str = "
    server: A B 5
    worker-1: A B 3
    worker-2: A C 4
    worker-20: A B 1
    python3: A 2
";

fn auto() -> Query {
    Query { group: Group::Auto, ..Query::default() }
}

fn check(stacks: &Fixture, query: &Query, expected: &str) {
    assert_eq!(tree_text(stacks, query), lines(expected));
}

#[test]
fn names_that_differ_in_digits_only_are_one() {
    let stacks = fixture(POOL);
    check(
        &stacks,
        &auto(),
        "
        all 15 0
          worker-# 8 0
            A 8 0
              B 4 4
              C 4 4
          server 5 0
            A 5 0
              B 5 5
          python3 2 0
            A 2 2
        ",
    );
    let inverted = Query { direction: Direction::Inverted, ..auto() };
    assert!(tree_text(&stacks, &inverted).contains("\n  worker-# 8 0\n    "));
    // Each by itself where the query says so, or chooses some.
    let each = Query { group: Group::Process, ..Query::default() };
    assert!(tree_text(&stacks, &each).contains("\n  worker-20 1 0\n"));
    let chosen = Query { processes: vec![2, 3], ..auto() };
    let same = Query { group: Group::Process, ..chosen.clone() };
    assert_eq!(tree_text(&stacks, &chosen), tree_text(&stacks, &same));
    assert!(tree_text(&stacks, &chosen).contains("\n  worker-1 3 0\n"));
}

#[test]
fn a_family_says_who_is_in_it() {
    let stacks = fixture(POOL);
    let tree = CallTree::new(&stacks.profile, &stacks.symbols, &auto());
    let labels = Labels::new(&stacks.profile, &stacks.symbols);
    let found: Vec<_> = tree
        .children(CallNodeId::ROOT)
        .iter()
        .map(|&id| {
            let of = match tree.label(id) {
                Label::Family(name) => families::members(&stacks.profile, name),
                _ => Vec::new(),
            };
            (labels.text(tree.label(id)), labels.marks(tree.label(id)) & mark::COLLAPSED, of)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("worker-#".to_owned(), mark::COLLAPSED, vec![2, 3, 4]),
            ("server".to_owned(), 0, vec![]),
            ("python3".to_owned(), 0, vec![]),
        ]
    );
}

/// A step that was made where processes are together is about all of them, wherever it is taken; one that names
/// a process of several shows each.
#[test]
fn steps_through_a_family_are_about_all_of_it() {
    let stacks = fixture(POOL);
    let tree = CallTree::new(&stacks.profile, &stacks.symbols, &auto());
    let a_of_family = tree.children(tree.children(CallNodeId::ROOT)[0])[0];
    let (profile, symbols) = (&stacks.profile, &stacks.symbols);
    let way = call_path::of(profile, symbols, &tree, a_of_family, Group::Auto);
    assert_eq!(way, path(&stacks, "worker-#: A"));
    let focus = |words: &str, group| Query {
        steps: vec![Transform::FocusSubtree {
            path: path(&stacks, words),
            direction: Direction::Callees,
        }],
        group,
        ..Query::default()
    };
    let of_family = "
        all 8 0
          worker-# 8 0
            A 8 0
              B 4 4
              C 4 4
        ";
    check(&stacks, &focus("worker-#: A", Group::Auto), of_family);
    let each = tree_text(&stacks, &focus("worker-#: A", Group::Process));
    assert!(each.starts_with("all 8 0\n  worker-2 4 0\n    A 4 0\n"), "{each}");
    let one = "
        all 3 0
          worker-1 3 0
            A 3 0
              B 3 3
        ";
    check(&stacks, &focus("worker-1: A", Group::Auto), one);
    check(&stacks, &focus("worker-1: A", Group::Process), one);
    let none = tree_text(&stacks, &focus("worker-#: A", Group::None));
    assert!(none.starts_with("all 8 0\n  A 8 0\n"), "{none}");
}

#[test]
fn without_room_for_a_name_there_is_no_first_level() {
    let name = |number: usize| -> String {
        [number / 26, number % 26].map(|at| char::from(b'a' + at as u8)).iter().collect()
    };
    let of = |number: usize| format!("{}: A 1\n", name(number));
    let many: String = (0..51).map(of).collect();
    assert_eq!(tree_text(&fixture(&many), &auto()), "all 51 0\n  A 51 51\n");
    let fewer: String = (0..50).map(of).collect();
    assert_eq!(
        CallTree::new(&fixture(&fewer).profile, &fixture(&fewer).symbols, &auto()).len(),
        101
    );
    // Who chose some has them; what steps tell apart is none the wider for it.
    let stacks = fixture(&many);
    let chosen = Query { processes: (1..52).collect(), ..auto() };
    assert!(tree_text(&stacks, &chosen).contains("\n  aa 1 0\n"));
    let steps = vec![Transform::MergeCallNode {
        path: path(&stacks, "aa: A"),
        direction: Direction::Callees,
    }];
    let merged = tree_text(&stacks, &Query { steps, ..auto() });
    assert_eq!(merged, "all 51 1\n  A 50 50\n");
}
