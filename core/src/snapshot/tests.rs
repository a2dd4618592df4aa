//! Random profiles there and back, and what happens to payloads on the way.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::coder::Encoder;
use super::container::{Method, pack};
use super::fields::{Field, Streams};
use super::*;
use crate::format::BuildId;
use crate::profile::{
    DsoId, DsoKind, Event, EventId, EventOrigin, Frame, FrameId, Identity, MappedFrom, Process,
    RecordedBy, Sample, Stacks, Thread, ThreadId,
};
use crate::symbolize::{Gives, Inlining, Level, Provenance};
use crate::views::call_tree::{CallTree, Label};
use crate::views::label::Labels;
use crate::views::weights::Sum;
use crate::views::{Direction, Group, Inlines, Query};

/// A DSO whose names are of the build that ran, and one whose names are another build's. Those of the
/// others came with the recording.
const MATCHED: &str = "/home/me/secret-project/server";
const FORCED: &str = "/home/me/other/server";
/// When the first sample can have been.
const START: u64 = 77_000_000_000;

/// Xorshift: the same numbers on every run.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub(super) struct Made {
    pub profile: Profile,
    pub symbols: Symbols,
    pub ledger: Ledger,
    pub facts: Facts,
    pub warnings: Vec<Warning>,
}

impl Made {
    pub fn contents(&self) -> Contents<'_> {
        let Self { profile, symbols, ledger, facts, warnings } = self;
        Contents { profile, symbols, ledger, facts, warnings }
    }

    pub fn encode(&self, characters: usize) -> Result<Shared, TooSmall> {
        encode(&self.contents(), &ShareOptions { characters, ..ShareOptions::default() })
    }
}

/// A profile with everything that a snapshot can hold.
pub(super) fn made(seed: u64, samples: u64) -> Made {
    let mut random = Random(seed * 2 + 1);
    let mut profile = Profile::default();
    let dsos = random_dsos(&mut profile);
    let mut frames: Vec<FrameId> = (0..60)
        .map(|_| {
            let dso = dsos[random.below(dsos.len() as u64) as usize];
            profile.frames.intern(Frame { dso, address: 0x1000 + random.below(1 << 40) })
        })
        .collect();
    let unmapped =
        profile.dsos.intern("[no mapping]", DsoKind::Unmapped, MappedFrom::Nothing, None);
    frames.push(profile.frames.intern(Frame { dso: unmapped, address: 3 }));
    frames.push(profile.frames.intern(Frame { dso: unmapped, address: 8 }));

    let threads = random_threads(&mut random, &mut profile);
    let regular = random.chance(50);
    for (name, origin) in [("cycles", EventOrigin::Recorded), ("offcpu-time", EventOrigin::Derived)]
    {
        profile.events.push(Event { name: name.to_owned(), origin, samples: 0, weight: 0 });
    }
    for time in 0..samples {
        let mut stack = Stacks::EMPTY;
        // Few frames are likely, so that stacks share their beginnings.
        for _ in 0..random.below(12) {
            let spread = 1 + random.below(frames.len() as u64);
            stack = profile.stacks.intern(stack, frames[random.below(spread) as usize]);
        }
        let event = EventId(random.below(2) as u32);
        let weight = if regular { 4000 } else { random.below(1 << 34) };
        let thread = threads[random.below(threads.len() as u64) as usize];
        let time_nanos = START + time * 1_000_000 + random.below(999_000);
        let cpu = [0, 1, 2, 63, u16::MAX][random.below(5) as usize];
        profile.samples.push(Sample { time_nanos, thread, stack, event, cpu, weight });
        profile.events[event.index()].samples += 1;
        profile.events[event.index()].weight += weight;
    }

    let symbols = random_symbols(&mut random, &profile);
    let mut ledger = Ledger::new(&profile.dsos);
    ledger.matched(dsos[0], "/home/me/build/server", Gives { inlines: true, ..Gives::default() });
    ledger.forced(dsos[1], "/home/me/new/server", None);
    let facts = Facts::of(&profile);
    let warnings = vec![Warning {
        kind: crate::error::WarningKind::Lost,
        offset: Some(17),
        count: 3,
        message: "3 samples were lost.".to_owned(),
    }];
    Made { profile, symbols, ledger, facts, warnings }
}

/// Two processes have the same name, one has several threads, and one thread was renamed.
fn random_threads(random: &mut Random, profile: &mut Profile) -> Vec<ThreadId> {
    let mut threads = Vec::new();
    let processes = [(70, "server"), (7, "worker"), (8, "worker"), (2, "kswapd0"), (99, "ünïcode")];
    for (pid, name) in processes {
        let name = profile.strings.intern(name);
        let process = profile.threads.add_process(Process { pid, name });
        threads.push(profile.threads.add_thread(Thread { process, tid: pid, name }));
        for tid in 0..random.below(3) as u32 {
            let name = profile.strings.intern(["pool", "io", "server"][random.below(3) as usize]);
            threads.push(profile.threads.add_thread(Thread { process, tid: 100 + tid, name }));
        }
    }
    threads
}

fn random_dsos(profile: &mut Profile) -> Vec<DsoId> {
    let id = |byte| BuildId::new(&[byte; 20]).expect("not zero");
    let (user, kernel) = (DsoKind::User, DsoKind::Kernel);
    let recorded = [
        (MATCHED, user, MappedFrom::BuildId(id(7))),
        (FORCED, user, MappedFrom::BuildId(id(8))),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", user, MappedFrom::BuildId(id(9))),
        ("/opt/x/libwithout.so", user, MappedFrom::Nothing),
        ("[kernel.kallsyms]", kernel, MappedFrom::BuildId(id(10))),
    ];
    let intern = |(path, kind, from)| profile.dsos.intern(path, kind, from, None);
    recorded.into_iter().map(intern).collect()
}

/// Names two thirds of the frames, some with inlined functions.
fn random_symbols(random: &mut Random, profile: &Profile) -> Symbols {
    let mut symbols = Symbols::new(profile);
    let frames: Vec<_> = profile.frames.iter().collect();
    for (id, frame) in frames {
        let kind = profile.dsos.get(frame.dso).kind;
        if kind == DsoKind::Unmapped || random.chance(33) {
            continue;
        }
        let provenance = match profile.dsos.get(frame.dso).path.as_str() {
            MATCHED => Provenance::Matched,
            FORCED => Provenance::Forced,
            _ => Provenance::Embedded,
        };
        let depth = if random.chance(30) { 1 + random.below(4) } else { 1 };
        let without_name = symbols.merged(id);
        let levels: Vec<_> = (0..depth)
            .map(|depth| {
                let number = random.below(12);
                let name = format!("shop::basket<int>::ƒ{number}(int)");
                // DWARF may know what is inlined into code that has no name itself.
                let function = match depth {
                    0 if number == 11 => without_name,
                    _ => symbols.named(frame.dso, &name, provenance),
                };
                let file = symbols.file_of_path(&format!("/home/me/secret-project/{number}.c"));
                let has_place = number.is_multiple_of(2) && function != without_name;
                Level {
                    function,
                    file: has_place.then_some(file),
                    line: NonZeroU32::new(random.below(3000) as u32).filter(|_| has_place),
                    inlining: if depth == 0 { Inlining::Called } else { Inlining::Inlined },
                }
            })
            .collect();
        symbols.set_known(id, &levels);
    }
    symbols
}

/// Every call node by its path: (self, total).
pub(super) fn table(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
) -> BTreeMap<String, (Sum, Sum)> {
    let tree = CallTree::new(profile, symbols, query);
    let labels = Labels::new(profile, symbols);
    let text = |label: Label| {
        let dso = labels.dso(label).map(|dso| profile.dsos.get(dso).identity);
        format!("{} {dso:?} {:?} {}", labels.text(label), labels.kind(label), labels.marks(label))
    };
    let path = |id| {
        let path: Vec<_> = tree.path(id).into_iter().map(|id| text(tree.label(id))).collect();
        path.join("\n")
    };
    tree.ids().map(|id| (path(id), (tree.self_sum(id), tree.total(id)))).collect()
}

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
    for seed in 1..16 {
        let made = made(seed, 20 * seed);
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
    let made = made(3, 4000);
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
    let made = made(5, 30_000);
    for budget in [4000, 20_000, 65_536] {
        let shared = made.encode(budget).expect("it fits");
        assert!(shared.fidelity.kept_nodes < shared.fidelity.total_nodes, "nothing to choose");
        assert!(shared.payload.len() * 100 >= budget * 97, "{} of {budget}", shared.payload.len());
    }
}

#[test]
fn folders_host_and_command_line_are_left_out_unless_asked_for() {
    let mut made = made(2, 300);
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
    assert_eq!(opened.profile.host, crate::profile::Host::default());

    let all = ShareOptions { privacy: Privacy::everything(), ..ShareOptions::default() };
    let (_, opened) = body(&all);
    assert_eq!(opened.profile.host, made.profile.host);
    let mut paths = opened.profile.dsos.iter().map(|(_, dso)| dso.path.as_str());
    assert!(paths.any(|path| path == "/home/me/secret-project/server"));
}

#[test]
fn names_are_looked_for_as_for_a_recording() {
    let made = made(4, 500);
    let payload = made.encode(2000).expect("it fits").payload;
    let session = crate::session::Session::from_snapshot(&payload).expect("it opens");
    let profile = decode(&payload).expect("it opens").profile;
    let missing = |path: &str| session.wanted().iter().any(|wanted| wanted.path.ends_with(path));
    assert!(missing("libc.so.6") && !missing("libwithout.so"));
    assert!(profile.dsos.iter().any(|(_, dso)| dso.kind == DsoKind::Folded), "of no file");
}

#[test]
fn the_ledger_is_the_senders() {
    let made = made(4, 500);
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
    let made = made(6, 800);
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
    let made = made(7, 2000);
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
fn a_payload_cut_anywhere_says_how_much_is_missing() {
    let payload = made(8, 200).encode(usize::MAX).expect("no limit").payload;
    for cut in 0..payload.len() {
        match decode(&payload[..cut]) {
            Err(SnapshotError::NotASnapshot) => assert!(cut < 3),
            Err(SnapshotError::CutOff { arrived, expected }) => {
                assert_eq!(arrived, cut);
                assert_eq!(expected, (cut >= 15).then_some(payload.len() as u64));
            }
            other => panic!("cut at {cut}: {:?}", other.err()),
        }
    }
}

#[test]
fn what_surrounds_a_link_does_not_matter() {
    let payload = made(9, 50).encode(usize::MAX).expect("no limit").payload;
    let (start, end) = payload.split_at(payload.len() / 2);
    for text in [
        format!("#{payload}"),
        format!("  {payload}\n"),
        format!("{payload}."),
        format!("{payload})> and more words"),
        format!("{start}\r\n  {end}"),
    ] {
        assert!(decode(&text).is_ok(), "{text}");
    }
    assert_eq!(decode("hello").err(), Some(SnapshotError::NotASnapshot));
    assert_eq!(decode("p2.AAAA").err(), Some(SnapshotError::NewerVersion { needed: 2 }));
    let newer = "p1.AwAAAAAAAAAA";
    assert_eq!(decode(newer).err(), Some(SnapshotError::NewerVersion { needed: 3 }));
}

#[test]
fn a_changed_character_is_noticed() {
    let payload = made(10, 60).encode(usize::MAX).expect("no limit").payload;
    let mut random = Random(11);
    for _ in 0..2000 {
        let at = 7 + random.below(payload.len() as u64 - 7) as usize;
        let mut changed = payload.clone().into_bytes();
        let other = b"ABCDEFghijkl0123-_"[random.below(18) as usize];
        if changed[at] == other {
            continue;
        }
        changed[at] = other;
        let changed = String::from_utf8(changed).expect("ASCII");
        // The last character has bits that stand for nothing; they must be zero.
        assert!(decode(&changed).is_err(), "at {at}");
    }
}

pub(super) fn deflated(streams: &Streams) -> String {
    pack(streams, Method::Deflated)
}

/// Behind the checksum everything may be hostile: whatever is in the streams, they open or are
/// refused.
#[test]
fn any_streams_open_or_are_refused() {
    let payload = made(12, 25).encode(usize::MAX).expect("no limit").payload;
    let streams = container::unpack(&payload).expect("it is whole");
    let (mut opened, mut refused) = (0, 0);
    let mut try_streams = |streams: &Streams| match decode(&deflated(streams)) {
        Ok(snapshot) => {
            let tree = CallTree::new(&snapshot.profile, &snapshot.symbols, &Query::default());
            assert!(tree.len() < 1 << 20);
            opened += 1;
        }
        Err(_) => refused += 1,
    };
    let mut random = Random(13);
    for &field in Field::ALL {
        for at in 0..streams.get(field).len() {
            let mut damaged = streams.clone();
            damaged.get_mut(field).truncate(at);
            try_streams(&damaged);
            let mut damaged = streams.clone();
            damaged.get_mut(field)[at] = random.below(256) as u8;
            try_streams(&damaged);
            let other = Field::ALL[random.below(Field::COUNT as u64) as usize];
            damaged.get_mut(other).insert(0, 0xff);
            try_streams(&damaged);
        }
        for length in 0..20 {
            let mut damaged = streams.clone();
            *damaged.get_mut(field) = (0..length).map(|_| random.below(256) as u8).collect();
            try_streams(&damaged);
        }
    }
    assert!(opened > 100 && refused > 500, "{opened} opened, {refused} refused");
}

fn modelled(streams: &Streams) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut coding = encoder.begin(streams.clone());
    encoder.step(&mut coding, usize::MAX).expect("a slice without end").0
}

/// The same for what the model reads: damage anywhere makes other streams of it.
#[test]
fn any_bytes_of_a_model_open_or_are_refused() {
    let made = made(12, 25);
    let payload = made.encode(usize::MAX).expect("no limit").payload;
    let streams = container::unpack(&payload).expect("it is whole");
    let bytes = modelled(&streams);
    assert_eq!(coder::decode(&bytes).as_ref(), Ok(&streams));
    let (mut other, mut refused) = (0, 0);
    let mut random = Random(14);
    for at in (0..bytes.len()).step_by(11) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << random.below(8);
        match coder::decode(&damaged) {
            Ok(damaged) => {
                assert!(damaged.len() < 32 << 20);
                // What was read may be anything that streams may be.
                let _ = decode(&deflated(&damaged));
                other += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(other + refused > 50 && refused > 10, "{other} others, {refused} refused");
    assert!(coder::decode(&[]).is_err());
}

#[test]
fn what_is_deflated_and_what_is_modelled_are_the_same() {
    for seed in 20..24 {
        let payload = made(seed, 200 * (seed - 19)).encode(usize::MAX).expect("no limit").payload;
        let streams = container::unpack(&payload).expect("it is whole");
        let methods = [Method::Deflated, Method::Modelled];
        let packed = methods.map(|method| pack(&streams, method));
        for payload in &packed {
            assert_eq!(container::unpack(payload).as_ref(), Ok(&streams));
        }
        assert!(packed[1].len() * 10 < packed[0].len() * 9, "{:?}", packed.map(|it| it.len()));
    }
}

#[test]
fn streams_that_inflate_without_end_are_refused() {
    let mut streams = Streams::default();
    *streams.get_mut(Field::Facts) = vec![0; MAX_INFLATED / 2 + 1];
    *streams.get_mut(Field::Warnings) = vec![0; MAX_INFLATED / 2 + 1];
    let bomb = deflated(&streams);
    assert!(bomb.len() < 200_000);
    assert_eq!(decode(&bomb).err(), Some(SnapshotError::Invalid { what: "compressed data" }));
}

#[test]
fn streams_that_are_modelled_from_next_to_nothing_are_refused() {
    let mut streams = Streams::default();
    *streams.get_mut(Field::Facts) = vec![0; 1 << 20];
    let modelled = modelled(&streams);
    assert!(modelled.len() < 1 << 15, "{}", modelled.len());
    let body = [&[Method::Modelled as u8][..], &modelled].concat();
    let refused = Some(SnapshotError::Invalid { what: "compressed data" });
    assert_eq!(decode(&container::seal(&body)).err(), refused);
    // A writer deflates them.
    let packed = pack(&streams, Method::Modelled);
    let unpacked = container::unpack(&packed).expect("deflated");
    assert_eq!(unpacked.get(Field::Facts).len(), 1 << 20);
}

#[test]
fn names_that_a_dsos_status_rules_out_are_refused() {
    let refused = Some(SnapshotError::Invalid { what: "a name of a file that was not used" });
    for make in [
        |made: &mut Made, dsos: &[DsoId]| made.ledger.forced(dsos[0], "a newer server", None),
        |made: &mut Made, dsos: &[DsoId]| {
            made.ledger.begin_again(dsos[0], made.profile.dsos.get(dsos[0]))
        },
        |made: &mut Made, dsos: &[DsoId]| {
            let _ = made.ledger.unforced(dsos[1]);
        },
    ] {
        let mut made = made(3, 400);
        let dsos: Vec<DsoId> = made.profile.dsos.iter().map(|(id, _)| id).collect();
        make(&mut made, &dsos);
        let payload = made.encode(usize::MAX).expect("no limit").payload;
        assert_eq!(decode(&payload).err(), refused);
    }
}

#[test]
fn totals_that_the_tree_does_not_have_are_refused() {
    let payload = made(3, 400).encode(usize::MAX).expect("no limit").payload;
    let streams = container::unpack(&payload).expect("it is whole");
    let refused = Some(SnapshotError::Invalid { what: "totals" });
    // The first event: how many there are, and its samples.
    let mut more = streams.clone();
    more.get_mut(Field::EventNumbers)[1] ^= 1;
    assert_eq!(decode(&deflated(&more)).err(), refused);
}

#[test]
fn calls_deeper_than_the_format_has_are_refused() {
    let mut streams =
        container::unpack(&made(3, 400).encode(usize::MAX).expect("no limit").payload)
            .expect("it is whole");
    // Call nodes with one call each, as many as there are bytes.
    let depth = 2 * MAX_DEPTH;
    *streams.get_mut(Field::NodeChildren) = [vec![1; depth], vec![0]].concat();
    *streams.get_mut(Field::Groups) = b"mill\0".to_vec();
    *streams.get_mut(Field::SharedOfGroups) = vec![0];
    *streams.get_mut(Field::NodePairs) = vec![0; depth];
    *streams.get_mut(Field::NodeFunctions) = vec![2; depth];
    *streams.get_mut(Field::NodeLines) = Vec::new();
    let refused = Some(SnapshotError::Invalid { what: "a number of things" });
    assert_eq!(decode(&deflated(&streams)).err(), refused);
}

#[test]
fn a_snapshot_of_a_part_says_what_was_there_before() {
    let made = made(5, 3000);
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
