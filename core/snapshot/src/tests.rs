//! Random profiles there and back.

use perftab_profile::{DsoKind, Identity, RecordedBy};
use perftab_views::{Direction, Group, Inlines, Query};

use super::fields::Streams;
use super::random_profile::{random_profile, table};
use super::*;
use crate::density::part_of;

fn queries() -> Vec<Query> {
    let mut queries = Vec::new();
    for event in 0..2 {
        for direction in [Direction::Callees, Direction::Inverted] {
            for inlines in [Inlines::Shown, Inlines::Merged] {
                let group = Group::Process;
                queries.push(Query { event, direction, group, inlines, ..Query::default() });
            }
        }
    }
    queries
}

#[test]
fn a_snapshot_without_a_limit_shows_the_same_in_every_view() {
    for seed in part_of(1..16, 5, "profiles") {
        let made = random_profile(seed, 20 * seed);
        let shared = made.encode(usize::MAX).expect("no limit");
        assert_eq!(shared.fidelity.kept_nodes, shared.fidelity.total_nodes);
        assert_eq!(shared.fidelity.folded_weight, 0);
        let opened = decode(&shared.payload).expect("it opens");
        assert_eq!(opened.fidelity, shared.fidelity);
        for query in queries() {
            let before = table(&made.profile, &made.symbols, &query);
            let after = table(&opened.profile, &opened.symbols, &query);
            assert_eq!(before, after, "seed {seed}, {query:?}");
        }
        assert_eq!(opened.profile.events, made.profile.events);
        assert_eq!(opened.warnings, made.warnings);
        assert_eq!(opened.facts.time, made.facts.time);
        let counts = |facts: &Facts| (facts.processes, facts.threads);
        assert_eq!(counts(&opened.facts), counts(&made.facts));
    }
}

#[test]
fn a_budget_is_kept_and_every_total_holds() {
    let made = random_profile(3, 4000);
    let whole = made.encode(usize::MAX).expect("no limit");
    let mut kept_before = 0;
    for budget in [1200, 2000, 4000, 8000, 16_000, whole.payload.len()] {
        let shared = made.encode(budget).expect("it fits");
        assert!(shared.payload.len() <= budget, "{} > {budget}", shared.payload.len());
        assert!(shared.fidelity.kept_nodes >= kept_before, "{budget}: {:?}", shared.fidelity);
        kept_before = shared.fidelity.kept_nodes;
        let opened = decode(&shared.payload).expect("it opens");
        let mut folded = 0;
        for event in 0..2 {
            let query = Query { event, ..Query::default() };
            let before = table(&made.profile, &made.symbols, &query);
            let after = table(&opened.profile, &opened.symbols, &query);
            for (path, &(own, total)) in &after {
                if path.contains(FOLDED) {
                    folded += if event == 0 { own.weight } else { 0 };
                    continue;
                }
                let (own_before, total_before) = before[path];
                assert_eq!(total, total_before, "{budget}: {path}");
                assert_eq!(own, own_before, "{budget}: {path}");
            }
        }
        assert_eq!(folded, shared.fidelity.folded_weight);
        let weight = made.profile.events[0].weight;
        let share = 1.0 - folded as f64 / weight as f64;
        assert!((share - shared.fidelity.kept_weight_share).abs() < 1e-9);
    }
    assert_eq!(kept_before, whole.fidelity.total_nodes);
    let needed = made.encode(10).expect_err("ten characters hold nothing").needed;
    assert!(made.encode(needed).is_ok() && made.encode(needed - 1).is_err());
}

#[test]
fn most_of_a_budget_is_used() {
    let made = random_profile(5, 30_000);
    for budget in [4000, 20_000, 65_536] {
        let shared = made.encode(budget).expect("it fits");
        assert!(shared.fidelity.kept_nodes < shared.fidelity.total_nodes, "nothing to choose");
        assert!(shared.payload.len() * 100 >= budget * 97, "{} of {budget}", shared.payload.len());
    }
}

#[test]
fn folders_host_and_command_line_are_left_out_unless_asked_for() {
    let mut made = random_profile(2, 300);
    made.profile.host.hostname = Some("build-server-3".to_owned());
    made.profile.host.cmdline = vec!["perftab".to_owned(), "--password".to_owned()];
    let body = |options: &ShareOptions| {
        let shared = encode(&made.contents(), options).expect("no limit");
        let opened = decode(&shared.payload).expect("it opens");
        (container::unpack(&shared.payload).expect("it is whole"), opened)
    };
    let holds = |streams: &Streams, text: &str| {
        let mut streams = streams.iter();
        streams.any(|(_, bytes)| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
    };

    let (bytes, opened) = body(&ShareOptions::default());
    for secret in ["secret-project", "/home", "build-server-3", "password", "/opt", "build/server"]
    {
        assert!(!holds(&bytes, secret), "{secret} is in the link");
    }
    assert!(holds(&bytes, "/usr/lib/x86_64-linux-gnu/libc.so.6"), "everybody has these folders");
    assert_eq!(opened.profile.host, perftab_profile::Host::default());

    let all = ShareOptions { privacy: Privacy::everything(), ..ShareOptions::default() };
    let (_, opened) = body(&all);
    assert_eq!(opened.profile.host, made.profile.host);
    let mut paths = opened.profile.dsos.iter().map(|(_, dso)| dso.path.as_str());
    assert!(paths.any(|path| path == "/home/me/secret-project/server"));
}

#[test]
fn what_was_left_out_is_of_no_file() {
    let made = random_profile(4, 500);
    let payload = made.encode(2000).expect("it fits").payload;
    let profile = decode(&payload).expect("it opens").profile;
    assert!(profile.dsos.iter().any(|(_, dso)| dso.kind == DsoKind::Folded), "of no file");
}

#[test]
fn the_ledger_is_the_senders() {
    let made = random_profile(4, 500);
    let opened = decode(&made.encode(usize::MAX).expect("no limit").payload).expect("it opens");
    let mut compared = 0;
    for (id, dso) in opened.profile.dsos.iter() {
        let sent = made.profile.dsos.iter().find(|(_, sent)| {
            sent.identity == dso.identity && sent.name() == dso.name() && sent.kind == dso.kind
        });
        let Some((sent_id, sent)) = sent else {
            assert_eq!(dso.kind, DsoKind::Folded);
            continue;
        };
        if dso.kind == DsoKind::Unmapped {
            continue;
        }
        let (row, sent_row) = (opened.ledger.row(id), made.ledger.row(sent_id));
        assert_eq!(
            (row.status, row.gives, &row.reason),
            (sent_row.status, sent_row.gives, &sent_row.reason)
        );
        assert!(!row.image.as_deref().unwrap_or("none").contains('/'));
        assert_eq!(opened.facts.uses[id.index()], made.facts.uses[sent_id.index()]);
        assert_eq!(dso.recorded_by, sent.recorded_by);
        compared += 1;
    }
    assert_eq!(compared, 5);
    assert_eq!(
        opened
            .profile
            .dsos
            .iter()
            .filter(|(_, dso)| dso.recorded_by == Some(RecordedBy::Mmap))
            .count(),
        4
    );
}

#[test]
fn two_dsos_of_one_name_stay_two() {
    let made = random_profile(6, 800);
    let opened = decode(&made.encode(usize::MAX).expect("no limit").payload).expect("it opens");
    let named: Vec<_> =
        opened.profile.dsos.iter().filter(|(_, dso)| dso.path == "server").collect();
    assert_eq!(named.len(), 2);
    // The same gate stands before a link: identities are there to compare with.
    let wanted = named.iter().map(|(_, dso)| dso.identity).collect::<Vec<_>>();
    assert!(wanted.iter().all(|identity| matches!(identity, Some(Identity::Gnu(_)))));
}

#[test]
fn a_snapshot_of_a_snapshot_is_the_same() {
    let made = random_profile(7, 2000);
    let first = made.encode(3000).expect("it fits");
    let opened = decode(&first.payload).expect("it opens");
    let again = encode(&opened.contents(), &ShareOptions::default()).expect("no limit");
    let reopened = decode(&again.payload).expect("it opens");
    for query in queries() {
        let before = table(&opened.profile, &opened.symbols, &query);
        let after = table(&reopened.profile, &reopened.symbols, &query);
        assert_eq!(before, after, "{query:?}");
    }
}

#[test]
fn a_snapshot_of_a_part_says_what_was_there_before() {
    let made = random_profile(5, 3000);
    for characters in [700, 1_500, 4_000] {
        let first = made.encode(characters).expect("it fits").payload;
        let opened = decode(&first).expect("it opens");
        assert!(opened.fidelity.kept_nodes < opened.fidelity.total_nodes);
        let again = encode(&opened.contents(), &ShareOptions::default()).expect("no limit");
        for fidelity in [again.fidelity, decode(&again.payload).expect("it opens").fidelity] {
            let said = |of: &Fidelity| {
                (of.kept_nodes, of.total_nodes, of.folded_weight, of.threshold_share)
            };
            assert_eq!(said(&fidelity), said(&opened.fidelity), "{characters}");
        }
    }
}
