//! What links tell of where in functions samples ended: what the recording says, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::num::NonZeroU32;

use perftab_names::FunctionId;
use perftab_profile::{Event, EventOrigin, Frame};
use perftab_views::build::build_with_ends;
use perftab_views::function_ref::FunctionRef;
use perftab_views::hot_lines::{HotLines, KnownHeat, SourceLine, hot_lines};
use perftab_views::place_texts::PlaceTexts;
use perftab_views::{Inlines, Query};

use super::fields::Field;
use super::random_profile::{RandomProfile, deflated, random_profile};
use super::*;
use crate::density::part_of;

fn hot(
    (profile, symbols, known): (&Profile, &Symbols, &KnownHeat),
    query: &Query,
    function: &FunctionRef,
) -> Option<HotLines> {
    let (built, ends) = build_with_ends(profile, symbols, query);
    hot_lines(profile, symbols, known, query, (&built.tree, &ends), function)
}

/// What is told, with names of files instead of paths.
#[derive(Debug, PartialEq)]
struct DescribedHeat {
    own: Sum,
    lines: BTreeSet<String>,
    instructions: BTreeSet<String>,
    left_out: [Sum; 2],
}

fn describe(symbols: &Symbols, hot: HotLines) -> DescribedHeat {
    let at = |line: SourceLine| {
        let file = line.file.map(|file| symbols.file(file).rsplit('/').next().unwrap_or_default());
        format!("{file:?} {:?}", line.line)
    };
    let lines = hot.lines.iter().map(|(line, heat)| format!("{} {heat:?}", at(*line)));
    let instructions = hot.instructions.iter();
    let instructions = instructions.map(|it| {
        let inlined = it.inlined.and_then(|id| symbols.function(id).name);
        format!("{:x} {} {inlined:?} {:?}", it.address, at(it.line), it.heat)
    });
    DescribedHeat {
        own: hot.own_code,
        lines: lines.collect(),
        instructions: instructions.collect(),
        left_out: [hot.left_out, hot.instructions_left_out],
    }
}

fn of_made(made: &RandomProfile, query: &Query, function: &FunctionRef) -> Option<DescribedHeat> {
    let none = KnownHeat::default();
    let hot = hot((&made.profile, &made.symbols, &none), query, function);
    hot.map(|hot| describe(&made.symbols, hot))
}

fn of_link(link: &Snapshot, query: &Query, function: &FunctionRef) -> Option<DescribedHeat> {
    let hot = hot((&link.profile, &link.symbols, &link.facts.heat), query, function);
    hot.map(|hot| describe(&link.symbols, hot))
}

/// The functions that a link tells of, and that are told apart by what they are called.
fn functions(link: &Snapshot) -> Vec<FunctionRef> {
    let name = |id: FunctionId| FunctionRef::of(&link.profile, &link.symbols, id);
    let all: Vec<_> = link.symbols.function_ids().map(name).collect();
    let known = link.facts.heat.functions().map(name);
    let mut known: Vec<_> =
        known.filter(|it| all.iter().filter(|other| *other == it).count() == 1).collect();
    known.sort_by_key(|function| function.name.clone());
    known
}

fn share(made: &RandomProfile, options: &ShareOptions) -> Snapshot {
    let shared = encode(&made.contents(), options).expect("it fits");
    decode(&shared.payload).expect("it opens")
}

#[test]
fn a_whole_link_tells_what_the_recording_does() {
    let mut compared = 0;
    for seed in part_of(1..12, 5, "profiles") {
        let made = random_profile(seed, 30 * seed);
        let link = share(&made, &ShareOptions::default());
        let again = encode(&link.contents(), &ShareOptions::default()).expect("it fits");
        let again = decode(&again.payload).expect("it opens");
        for function in functions(&link) {
            for (event, inlines) in [(0, Inlines::Shown), (1, Inlines::Shown), (0, Inlines::Merged)]
            {
                let query = Query { event, inlines, ..Query::default() };
                let wanted = of_made(&made, &query, &function);
                let found = of_link(&link, &query, &function);
                assert_eq!(found, wanted, "{seed} {function:?} {query:?}");
                compared += usize::from(found.is_some());
                assert_eq!(of_link(&again, &query, &function), found, "{seed} {function:?}");
            }
        }
    }
    assert!(compared > 200, "{compared} compared");
}

#[test]
fn a_link_of_what_is_shown_tells_of_that() {
    let mut compared = 0;
    for seed in 1..8 {
        let made = random_profile(seed, 200);
        for inlines in [Inlines::Shown, Inlines::Merged] {
            let query = Query { processes: vec![7, 8], inlines, ..Query::default() };
            let options = ShareOptions { query: Some(query.clone()), ..ShareOptions::default() };
            let link = share(&made, &options);
            for function in functions(&link) {
                let all = Query { inlines, ..Query::default() };
                let found = of_link(&link, &all, &function);
                let wanted = of_made(&made, &query, &function);
                if inlines == Inlines::Shown {
                    assert_eq!(found, wanted, "{seed} {function:?}");
                }
                // Merged, the link has no inlined functions, so it cannot name them.
                let lines = |heat: &Option<DescribedHeat>| heat.as_ref().map(|it| it.lines.clone());
                assert_eq!(lines(&found), lines(&wanted), "{seed} {function:?}");
                compared += usize::from(found.is_some());
            }
        }
    }
    assert!(compared > 30, "{compared} compared");
}

/// What there is no room for is left out, and what is told is within what the link has.
#[test]
fn links_of_every_size_tell_of_functions_as_a_whole() {
    let made = random_profile(5, 4000);
    let mut met = BTreeSet::new();
    for characters in [1200, 2000, 4000, 8000, 16_000, 40_000, 120_000] {
        let options = ShareOptions { characters, ..ShareOptions::default() };
        let link = share(&made, &options);
        for function in functions(&link) {
            for event in 0..2 {
                let query = Query { event, ..Query::default() };
                let Some(found) = of_link(&link, &query, &function) else { continue };
                assert_eq!(found.left_out, [Sum::default(); 2], "{characters} {function:?}");
                met.insert(characters);
            }
        }
    }
    assert!(met.len() >= 3, "{met:?}");
}

#[test]
fn a_filter_takes_what_is_told_away_unless_it_changes_nothing() {
    let made = random_profile(4, 300);
    let link = share(&made, &ShareOptions::default());
    let (mut whole, mut none) = (0, 0);
    for function in functions(&link) {
        for query in [
            Query { processes: vec![7, 8, 70, 2, 99], ..Query::default() },
            Query { processes: vec![70], ..Query::default() },
        ] {
            let wanted = of_made(&made, &query, &function);
            let Some(found) = of_link(&link, &query, &function) else {
                assert_eq!(wanted, None);
                continue;
            };
            match found.left_out[0].samples {
                0 => {
                    whole += 1;
                    assert_eq!(Some(found), wanted);
                }
                _ => {
                    none += 1;
                    assert_eq!((found.lines.len(), found.left_out), (0, [found.own; 2]));
                }
            }
        }
    }
    assert!(whole > 3 && none > 3, "{whole} {none}");
}

#[test]
fn lines_and_addresses_are_told_by_themselves() {
    let made = random_profile(6, 300);
    let with = |files, addresses| {
        let privacy = Privacy { files, addresses, ..Privacy::default() };
        let options = ShareOptions { privacy, ..ShareOptions::default() };
        let payload = encode(&made.contents(), &options).expect("it fits").payload;
        (container::unpack(&payload).expect("it is whole"), decode(&payload).expect("it opens"))
    };
    let (included, left_out) = (Disclosure::Included, Disclosure::LeftOut);
    let lengths = |streams: &fields::Streams| {
        [Field::HeatFunctions, Field::HeatAddresses, Field::HeatLines, Field::HeatFiles]
            .map(|field| !streams.get(field).is_empty())
    };
    for (files, addresses, wanted) in [
        (included, included, [true, true, true, true]),
        (included, left_out, [true, false, true, true]),
        (left_out, included, [true, true, false, false]),
        (left_out, left_out, [false; 4]),
    ] {
        let (streams, link) = with(files, addresses);
        assert_eq!(lengths(&streams), wanted);
        for function in functions(&link) {
            let Some(found) = of_link(&link, &Query::default(), &function) else { continue };
            let missing = [files, addresses].map(|part| match part {
                Disclosure::Included => Sum::default(),
                Disclosure::LeftOut => found.own,
            });
            assert_eq!(found.left_out, missing, "{function:?}");
        }
    }
}

/// By name of file and line, and by name of DSO and address: what stands there.
fn texts(profile: &Profile, symbols: &Symbols, facts: &Facts) -> BTreeSet<String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let lines = facts.texts.lines();
    let lines = lines.map(|(file, line, text)| {
        let check = facts.texts.check(file);
        format!("{} {line} {check:?} {text}", name(symbols.file(file)))
    });
    let instructions = facts.texts.instructions().map(|(dso, address, text)| {
        format!("{} {address:x} {text}", name(&profile.dsos.get(dso).path))
    });
    lines.chain(instructions).collect()
}

#[test]
fn what_stands_at_places_is_told_if_it_may_be() {
    let (included, left_out) = (Disclosure::Included, Disclosure::LeftOut);
    for seed in part_of(1..8, 2, "profiles") {
        let made = random_profile(seed, 200);
        let all = texts(&made.profile, &made.symbols, &made.facts);
        let with = |source, assembly| {
            let privacy = Privacy { source, assembly, ..Privacy::everything() };
            share(&made, &ShareOptions { privacy, ..ShareOptions::default() })
        };
        let link = with(included, included);
        let found = texts(&link.profile, &link.symbols, &link.facts);
        // It tells of places that are hot, so of some; what it tells is what was read.
        assert!(found.len() > 20 && found.is_subset(&all), "{seed}: {found:?}");
        let hot: BTreeSet<_> = made_places(&made).into_iter().collect();
        assert_eq!(found, all.intersection(&hot).cloned().collect(), "{seed}");
        let counts = |link: &Snapshot| {
            let texts = &link.facts.texts;
            [texts.lines().count() > 0, texts.instructions().count() > 0]
        };
        for (source, assembly) in [(included, left_out), (left_out, included), (left_out, left_out)]
        {
            let expected = [source == included, assembly == included];
            assert_eq!(counts(&with(source, assembly)), expected);
        }
        // As it came it goes on.
        let privacy = Privacy::everything();
        let again = ShareOptions { privacy, ..ShareOptions::default() };
        let again = encode(&link.contents(), &again).expect("it fits");
        let again = decode(&again.payload).expect("it opens");
        assert_eq!(texts(&again.profile, &again.symbols, &again.facts), found, "{seed}");
        // By default nothing of it.
        assert_eq!(counts(&share(&made, &ShareOptions::default())), [false, false]);
    }
}

/// Every sample may just fit where what was asked for does not.
#[test]
fn texts_that_are_asked_for_come_before_every_sample() {
    let made = random_profile(5, 300);
    let with = |privacy: &Privacy, characters| {
        let options =
            ShareOptions { privacy: privacy.clone(), characters, ..ShareOptions::default() };
        encode(&made.contents(), &options).expect("it fits")
    };
    let asked = Privacy::everything();
    let (source, assembly) = (Disclosure::LeftOut, Disclosure::LeftOut);
    let not_asked = Privacy { source, assembly, ..asked.clone() };
    let mut instead_of_samples = 0;
    // From where all samples fit by themselves to where they fit beside the texts.
    for characters in (7000..8500).step_by(300) {
        let made = with(&asked, characters);
        let link = decode(&made.payload).expect("it opens");
        assert!(link.facts.texts.lines().next().is_some(), "{characters}");
        let has_samples = [&made, &with(&not_asked, characters)]
            .map(|made| made.fidelity.times == Times::Samples);
        instead_of_samples += usize::from(has_samples == [false, true]);
    }
    assert!(instead_of_samples > 0);
}

/// Texts at the places that a whole link tells of, found through the link's own places.
fn made_places(made: &RandomProfile) -> Vec<String> {
    let link =
        share(made, &ShareOptions { privacy: Privacy::everything(), ..ShareOptions::default() });
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut places = Vec::new();
    for id in link.facts.heat.functions() {
        let dso = &link.profile.dsos.get(link.symbols.function(id).dso).path;
        for place in &link.facts.heat.get(id).expect("it is told").places {
            let address = place.address.expect("addresses are told");
            let own =
                made.profile.dsos.iter().find(|(_, own)| own.path == *dso).expect("it is there").0;
            if let Some(text) = made.facts.texts.instruction(own, address) {
                places.push(format!("{} {address:x} {text}", name(dso)));
            }
            let line = place.line.expect("lines are told");
            for line in iter::once(line).chain(place.origin.map(|origin| origin.line)) {
                let (Some(file), Some(number)) = (line.file, line.line) else { continue };
                let path = link.symbols.file(file);
                let own = made.facts.texts.lines();
                let mut own = own
                    .filter(|(file, line, _)| made.symbols.file(*file) == path && *line == number);
                places.extend(own.next().map(|(file, _, text)| {
                    let check = made.facts.texts.check(file);
                    format!("{} {number} {check:?} {text}", name(path))
                }));
            }
        }
    }
    places
}

/// Files of the same name in a folder for each DSO, with few lines, so that the same line of several is hot.
fn with_files_called_the_same(made: &mut RandomProfile) {
    let mut texts = PlaceTexts::default();
    let frames: Vec<_> = made.profile.frames.iter().collect();
    for (frame, Frame { dso, .. }) in frames {
        let mut levels = made.symbols.levels(frame).to_vec();
        for level in &mut levels {
            let Some(line) = level.line.map(|line| 1 + line.get() % 9) else { continue };
            let path = format!("/home/me/{}/x.c", dso.index());
            let file = made.symbols.file_of_path(&path);
            let line = NonZeroU32::new(line).expect("not 0");
            (level.file, level.line) = (Some(file), Some(line));
            // The first ones say the same everywhere.
            let folder = if line.get() < 4 { 0 } else { dso.index() };
            texts.add_line(file, line, &format!("x({folder}, {line});"));
        }
        made.symbols.set_levels(frame, &levels);
    }
    made.facts.texts = texts;
}

#[test]
fn no_line_is_told_as_that_of_another_file() {
    let mut made = random_profile(5, 400);
    with_files_called_the_same(&mut made);
    let lines_with = |folders| {
        let privacy = Privacy { folders, source: Disclosure::Included, ..Privacy::default() };
        let link = share(&made, &ShareOptions { privacy, ..ShareOptions::default() });
        let lines = link.facts.texts.lines().map(|(_, line, text)| (line, text.to_owned()));
        let mut by_line: BTreeMap<NonZeroU32, BTreeSet<String>> = BTreeMap::new();
        lines.for_each(|(line, text)| _ = by_line.entry(line).or_default().insert(text));
        by_line
    };
    let (mut wanted, all) =
        (lines_with(Disclosure::Included), lines_with(Disclosure::Included).len());
    wanted.retain(|_, texts| texts.len() == 1);
    assert!(wanted.len() >= 3 && wanted.len() < all, "{wanted:?} of {all}");
    assert_eq!(lines_with(Disclosure::LeftOut), wanted);
}

#[test]
fn texts_that_are_missing_or_cut_are_refused() {
    let made = random_profile(3, 200);
    let options = ShareOptions { privacy: Privacy::everything(), ..ShareOptions::default() };
    let payload = encode(&made.contents(), &options).expect("it fits").payload;
    // Lines of inlined functions are told with these functions, unless they are merged into others.
    let merged = Some(Query { inlines: Inlines::Merged, ..Query::default() });
    let merged = encode(&made.contents(), &ShareOptions { query: merged, ..options })
        .expect("it fits")
        .payload;
    for (field, payload) in [
        (Field::HeatSource, &payload),
        (Field::HeatAssembly, &payload),
        (Field::HeatOriginSource, &merged),
    ] {
        let mut streams = container::unpack(payload).expect("it is whole");
        let half = streams.get(field).len() / 2;
        assert!(half > 20, "{field:?}");
        streams.get_mut(field).truncate(half);
        assert!(decode(&deflated(&streams)).is_err(), "{field:?}");
        streams.get_mut(field).clear();
        assert!(decode(&deflated(&streams)).is_ok(), "{field:?}");
    }
}

/// A link of before: its readers have the lines of calls that are inlined, and no others.
#[test]
fn without_what_code_was_made_of_a_link_opens_and_tells_lines_of_the_function() {
    let made = random_profile(3, 200);
    let payload = encode(&made.contents(), &ShareOptions::default()).expect("it fits").payload;
    let streams = container::unpack(&payload).expect("it is whole");
    let mut before = streams.clone();
    for field in [Field::HeatOrigins, Field::HeatOriginFiles, Field::HeatOriginLines] {
        assert!(!streams.get(field).is_empty(), "{field:?}");
        before.get_mut(field).clear();
    }
    let link = decode(&deflated(&before)).expect("it opens");
    let mut differ = 0;
    for function in functions(&link) {
        let query = Query::default();
        let wanted = of_made(&made, &query, &function);
        assert_eq!(of_link(&link, &query, &function), wanted, "{function:?}");
        let merged = Query { inlines: Inlines::Merged, ..query };
        let Some(found) = of_link(&link, &merged, &function) else { continue };
        let wanted = of_made(&made, &merged, &function).expect("it has samples");
        assert_eq!(found.own, wanted.own, "{function:?}");
        differ += usize::from(found != wanted);
    }
    assert!(differ > 0);
    // Whatever the numbers: they stand for what is there, or the link is refused.
    for (field, number) in [(Field::HeatOrigins, 3 + 1), (Field::HeatOriginFiles, 127)] {
        let mut hostile = streams.clone();
        let numbers = hostile.get_mut(field);
        let at = numbers.iter().position(|byte| (4..128).contains(byte)).unwrap_or_default();
        numbers[at] = number;
        assert!(matches!(decode(&deflated(&hostile)), Err(SnapshotError::Invalid { .. })));
        hostile.get_mut(field).truncate(1);
        assert!(decode(&deflated(&hostile)).is_err(), "{field:?} is cut");
    }
}

#[test]
fn more_than_ended_in_a_function_is_refused() {
    let made = random_profile(7, 200);
    let options = ShareOptions { times: Times::None, ..ShareOptions::default() };
    let payload = encode(&made.contents(), &options).expect("it fits").payload;
    let mut streams = container::unpack(&payload).expect("it is whole");
    let counts = streams.get_mut(Field::HeatCounts);
    let place = counts.iter().position(|&byte| byte > 0 && byte < 100).expect("a count");
    counts[place] += 20;
    let refused = SnapshotError::Invalid { what: "more in a function than ended there" };
    assert_eq!(decode(&deflated(&streams)).err(), Some(refused));
    // Readers that know nothing of it pass over it; what is cut off is refused.
    streams.get_mut(Field::HeatCounts).clear();
    assert!(decode(&deflated(&streams)).is_err());
    streams.get_mut(Field::HeatFunctions).clear();
    assert!(decode(&deflated(&streams)).is_ok());
}

/// Each place has a sum for each event: without a limit a small link would take gigabytes.
#[test]
#[ignore = "left to --all: thousands of events"]
fn where_events_are_many_places_are_few() {
    const EVENTS: usize = 8_000;
    let mut made = random_profile(5, 1000);
    let another = |name| Event {
        name,
        origin: EventOrigin::Derived,
        samples: 0,
        weight: 0,
        ..Event::default()
    };
    let more = (made.profile.events.len()..EVENTS).map(|number| another(format!("event-{number}")));
    made.profile.events.extend(more);
    let options = ShareOptions { times: Times::None, ..ShareOptions::default() };
    let payload = encode(&made.contents(), &options).expect("it fits").payload;
    let heat = decode(&payload).expect("it opens").facts.heat;
    let places = |id| heat.get(id).map_or(0, |function| function.places.len());
    let all: usize = heat.functions().map(|id| 1 + places(id)).sum();
    assert!(all > 1 && all * EVENTS <= MAX_NODES, "{all} functions and places");

    let mut streams = container::unpack(&payload).expect("it is whole");
    let Some(&[_, code @ 2..128]) = streams.get(Field::HeatFunctions).first_chunk() else {
        panic!("the first function has a small number");
    };
    // 300 as a varint.
    *streams.get_mut(Field::HeatFunctions) = vec![1, code, 0xac, 2];
    *streams.get_mut(Field::HeatPlaces) = vec![0; 300];
    let refused = SnapshotError::Invalid { what: "a number of things" };
    assert_eq!(decode(&deflated(&streams)).err(), Some(refused));
}
