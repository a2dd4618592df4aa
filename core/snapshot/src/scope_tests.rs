//! Snapshots of what filters and steps leave: they show what the query showed.

use std::collections::BTreeMap;

use perftab_perfdata::slice::at_once;
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::coverage;
use perftab_views::filter::{RangeSide, TimeRange};
use perftab_views::function_ref::{DsoRef, FunctionRef};
use perftab_views::label::Labels;
use perftab_views::transform::Transform;
use perftab_views::{Direction, Query, Side, shown};

use super::random_profile::{RandomProfile, random_profile};
use super::*;
use crate::density::part_of;

/// Every call node by the texts on the way to it.
fn table(profile: &Profile, symbols: &Symbols, query: &Query) -> BTreeMap<Vec<String>, (Sum, Sum)> {
    let tree = CallTree::new(profile, symbols, query);
    let labels = Labels::new(profile, symbols);
    let text = |label: Label| format!("{}@{}", labels.text(label), labels.dso_name(label));
    let path = |id| tree.path(id).into_iter().map(|id| text(tree.label(id))).collect();
    let mut table: BTreeMap<Vec<String>, (Sum, Sum)> = BTreeMap::new();
    for id in tree.ids() {
        // What is inlined into a frame that a step took away is called in a snapshot.
        let (own, all) = table.entry(path(id)).or_default();
        own.add(tree.self_sum(id));
        all.add(tree.total(id));
    }
    table
}

fn share(made: &RandomProfile, query: &Query, characters: usize) -> EncodedSnapshot {
    let options =
        ShareOptions { characters, query: Some(query.clone()), ..ShareOptions::default() };
    encode(&made.contents(), &options).expect("it fits")
}

fn filters() -> Vec<Query> {
    let range = |side| Some(TimeRange { start: 20_000_000, end: 120_000_000, side });
    let dso = |path: &str| DsoRef { path: path.to_owned(), build_id: None };
    vec![
        Query { range: range(RangeSide::Inside), ..Query::default() },
        Query { range: range(RangeSide::Outside), ..Query::default() },
        Query { comms: vec!["server".to_owned(), "ünïcode".to_owned()], ..Query::default() },
        Query { dsos: vec![dso("/opt/x/libwithout.so")], ..Query::default() },
        Query { threads: vec![77], ..Query::default() },
    ]
}

/// Queries with steps, about functions that the profile has.
fn steps(made: &RandomProfile) -> Vec<Query> {
    let RandomProfile { profile, symbols, .. } = made;
    let frames = profile.frames.iter().map(|(id, _)| symbols.levels(id)[0].function);
    let functions: Vec<FunctionRef> =
        frames.take(6).map(|id| FunctionRef::of(profile, symbols, id)).collect();
    let function = functions[2].clone();
    let dso = function.dso.clone();
    let mut steps = vec![
        vec![Transform::CollapseRecursion],
        vec![Transform::CollapseDso { dso: dso.clone() }],
        vec![Transform::Search { text: "basket".to_owned() }],
        vec![
            Transform::Merge { function: functions[0].clone() },
            Transform::Drop { function: functions[4].clone() },
            Transform::CollapseDso { dso },
        ],
    ];
    for function in functions {
        steps.push(vec![Transform::Focus { function: function.clone() }]);
        steps.push(vec![Transform::CollapseFunction { function }]);
    }
    steps.into_iter().map(|steps| Query { steps, ..Query::default() }).collect()
}

#[test]
fn a_snapshot_of_what_is_shown_shows_it() {
    for seed in part_of(1..5, 2, "profiles") {
        let made = random_profile(seed, 40 * seed);
        for query in filters().into_iter().chain(steps(&made)) {
            let shared = share(&made, &query, usize::MAX);
            let opened = decode(&shared.payload).expect("it opens");
            let Snapshot { profile, symbols, facts, .. } = &opened;
            for event in 0..2 {
                let query = Query { event, ..query.clone() };
                let whole = Query { event, ..Query::default() };
                let wanted = table(&made.profile, &made.symbols, &query);
                assert_eq!(table(profile, symbols, &whole), wanted, "{query:?}");
                let total = CallTree::new(&made.profile, &made.symbols, &query);
                let total = total.total(CallNodeId::ROOT);
                let written = &profile.events[event as usize];
                assert_eq!((written.samples, written.weight), (total.samples, total.weight));
                assert_eq!(facts.part_of[event as usize], shown::all(&made.profile, event));
            }
            // A link of the link is a part of the same recording.
            let again = encode(&opened.contents(), &ShareOptions::default()).expect("no limit");
            assert_eq!(decode(&again.payload).expect("it opens").facts.part_of, facts.part_of);
        }
    }
}

#[test]
fn a_snapshot_of_samples_counts_their_dsos_and_names() {
    for seed in part_of(1..10, 3, "profiles") {
        let made = random_profile(seed, 300);
        for query in filters() {
            let opened = decode(&share(&made, &query, usize::MAX).payload).expect("it opens");
            let coverage::Uses { frames, dsos: uses, .. } =
                at_once(async |slice| coverage::filtered(&made.profile, &query, &[], slice).await);
            let wanted = frames.names(&made.profile, &made.symbols);
            assert_eq!(opened.contents().coverage(), wanted.frames, "{query:?}");
            let files = made.profile.dsos.iter().filter(|(_, dso)| coverage::is_listed(dso));
            for (id, dso) in files {
                let is_it = |other: &perftab_profile::Dso| {
                    other.name() == dso.name() && other.identity == dso.identity
                };
                let written = opened.profile.dsos.iter().find(|(_, other)| is_it(other));
                let written = written.map(|(id, _)| opened.facts.uses[id.index()]);
                if uses[id.index()].samples > 0 {
                    assert_eq!(written, Some(uses[id.index()]), "{query:?} {}", dso.path);
                }
            }
        }
    }
}

#[test]
fn a_part_is_folded_like_a_whole() {
    let made = random_profile(3, 4000);
    let query = Query {
        range: Some(TimeRange { start: 100_000_000, end: 3_000_000_000, side: RangeSide::Inside }),
        steps: vec![Transform::CollapseRecursion],
        ..Query::default()
    };
    let shared = share(&made, &query, 2500);
    assert!(shared.payload.len() <= 2500);
    assert!(shared.fidelity.kept_nodes < shared.fidelity.total_nodes);
    let opened = decode(&shared.payload).expect("it opens");
    let total = |profile, symbols, query: &Query| {
        CallTree::new(profile, symbols, query).total(CallNodeId::ROOT)
    };
    for event in 0..2 {
        let whole = Query { event, ..Query::default() };
        let query = Query { event, ..query.clone() };
        let kept = total(&opened.profile, &opened.symbols, &whole);
        assert_eq!(kept, total(&made.profile, &made.symbols, &query));
    }
}

/// How the tree stands says nothing of which samples there are.
#[test]
fn the_way_a_query_looks_is_not_what_it_leaves() {
    let made = random_profile(5, 200);
    let function = FunctionRef::default();
    let looks = Query {
        direction: Direction::Inverted,
        group: perftab_views::Group::None,
        around: Some(perftab_views::AroundFunction { function, side: Side::Callers }),
        ..Query::default()
    };
    let opened =
        |query: &Query| decode(&share(&made, query, usize::MAX).payload).expect("it opens");
    let plain = Query::default();
    let [looked, plain] = [opened(&looks), opened(&plain)]
        .map(|opened| table(&opened.profile, &opened.symbols, &Query::default()));
    assert_eq!(looked, plain);
}

#[test]
fn a_view_tells_no_folder_that_the_rest_does_not() {
    let made = random_profile(2, 50);
    let view = "view=tree&files=/home/me/secret-project/server;07,/home/me/gone.so,\
                /usr/lib/x86_64-linux-gnu/libc.so.6&step=drop;x%2Fy;1&range=1-2";
    let opened = |folders| {
        let privacy = Privacy { folders, ..Privacy::default() };
        let options = ShareOptions { view: view.to_owned(), privacy, ..ShareOptions::default() };
        let shared = encode(&made.contents(), &options).expect("no limit");
        decode(&shared.payload).expect("it opens").view
    };
    assert_eq!(opened(Disclosure::Included), view);
    assert_eq!(
        opened(Disclosure::LeftOut),
        "view=tree&files=server;07,gone.so,/usr/lib/x86_64-linux-gnu/libc.so.6\
         &step=drop;x%2Fy;1&range=1-2"
    );
}

/// A record of losses is anyone's number.
#[test]
fn numbers_that_pages_do_not_have_are_written_as_the_largest_that_they_have() {
    let mut made = random_profile(3, 100);
    made.profile.lost = perftab_profile::Lost { events: u64::MAX, samples: (1 << 53) - 1 };
    let shared = made.encode(usize::MAX).expect("no limit");
    let lost = decode(&shared.payload).expect("it opens").profile.lost;
    assert_eq!((lost.events, lost.samples), (1 << 53, (1 << 53) - 1));
}
