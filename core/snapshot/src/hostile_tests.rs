//! What happens to payloads on the way: cut, changed, or made by somebody who means no good.

use std::cell::RefCell;

use perftab_perfdata::slice::at_once;
use perftab_profile::DsoId;
use perftab_views::Query;
use perftab_views::call_tree::CallTree;

use super::container::{Method, pack};
use super::fields::{Field, Streams};
use super::random_profile::{Random, RandomProfile, deflated, random_profile};
use super::*;
use crate::density::part_of;

#[test]
fn a_payload_cut_anywhere_says_how_much_is_missing() {
    let payload = random_profile(8, 200).encode(usize::MAX).expect("no limit").payload;
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
    let payload = random_profile(9, 50).encode(usize::MAX).expect("no limit").payload;
    let (start, end) = payload.split_at(payload.len() / 2);
    for text in [
        format!("#{payload}"),
        format!("  {payload}\n"),
        format!("{payload}."),
        format!("{payload})> and more words"),
        format!("{start}\r\n  {end}"),
        format!("{start}\n> {end}\n> Regards"),
        format!("{start}\r\n> >> {end}"),
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
    let payload = random_profile(10, 60).encode(usize::MAX).expect("no limit").payload;
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

/// Behind the checksum everything may be hostile: whatever is in the streams, they open or are
/// refused.
#[test]
fn any_streams_open_or_are_refused() {
    let payload = random_profile(12, 25).encode(usize::MAX).expect("no limit").payload;
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
    let bytes_of = |&field| (0..streams.get(field).len()).map(move |at| (field, at));
    for (field, at) in part_of(Field::ALL.iter().flat_map(bytes_of), 300, "bytes") {
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
    for &field in Field::ALL {
        for length in 0..20 {
            let mut damaged = streams.clone();
            *damaged.get_mut(field) = (0..length).map(|_| random.below(256) as u8).collect();
            try_streams(&damaged);
        }
    }
    assert!(opened > 100 && refused > 500, "{opened} opened, {refused} refused");
}

fn modelled(streams: &Streams) -> Vec<u8> {
    at_once(async |slice| coder::encode(streams, &RefCell::default(), slice.clone()).await)
}

/// The same for what the model reads: damage anywhere makes other streams of it.
#[test]
fn any_bytes_of_a_model_open_or_are_refused() {
    let made = random_profile(12, 25);
    let payload = made.encode(usize::MAX).expect("no limit").payload;
    let streams = container::unpack(&payload).expect("it is whole");
    let bytes = modelled(&streams);
    assert_eq!(coder::decode(&bytes).as_ref(), Ok(&streams));
    let (mut other, mut refused) = (0, 0);
    let mut random = Random(14);
    for at in part_of((0..bytes.len()).step_by(11), 60, "bytes") {
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
        let payload =
            random_profile(seed, 200 * (seed - 19)).encode(usize::MAX).expect("no limit").payload;
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
        |made: &mut RandomProfile, dsos: &[DsoId]| {
            made.ledger.forced(dsos[0], "a newer server", None)
        },
        |made: &mut RandomProfile, dsos: &[DsoId]| {
            made.ledger.begin_again(dsos[0], made.profile.dsos.get(dsos[0]))
        },
        |made: &mut RandomProfile, dsos: &[DsoId]| {
            let _ = made.ledger.unforced(dsos[1]);
        },
    ] {
        let mut made = random_profile(3, 400);
        let dsos: Vec<DsoId> = made.profile.dsos.iter().map(|(id, _)| id).collect();
        make(&mut made, &dsos);
        let payload = made.encode(usize::MAX).expect("no limit").payload;
        assert_eq!(decode(&payload).err(), refused);
    }
}

#[test]
fn totals_that_the_tree_does_not_have_are_refused() {
    let payload = random_profile(3, 400).encode(usize::MAX).expect("no limit").payload;
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
        container::unpack(&random_profile(3, 400).encode(usize::MAX).expect("no limit").payload)
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
