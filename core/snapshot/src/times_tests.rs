//! What links know of times: everything there is no room for is left out, and the rest is exact.

use std::collections::BTreeMap;

use perftab_perfdata::slice::at_once;
use perftab_profile::{Mark, MarkKind};
use perftab_views::build::build_with_ends;
use perftab_views::call_tree::{CallNodeId, CallTree};
use perftab_views::ends::RemainingSamples;
use perftab_views::filter::{Filter, RangeSide, TimeRange};
use perftab_views::heat_map::{self, HeatMap, HeatRequest, Load};
use perftab_views::label::Labels;
use perftab_views::label::OwnCode;
use perftab_views::sample_spans::{SampleSpans, period};
use perftab_views::tasks::{self, TaskRows, TaskSums};
use perftab_views::time_order::{self, usual_distance};
use perftab_views::timeline::{self, Timeline, TimelineRequest, TrackBy, TrackSort};
use perftab_views::weights::Sum;
use perftab_views::{Group, Query, binned};

use super::fields::Field;
use super::random_profile::{Random, RandomProfile, deflated, random_profile, table};
use super::*;
use crate::density::part_of;

const MS: u64 = 1_000_000;

fn whole(made: &RandomProfile) -> Snapshot {
    let shared = made.encode(usize::MAX).expect("no limit");
    assert_eq!(shared.fidelity.times, Times::Samples);
    let opened = decode(&shared.payload).expect("it opens");
    assert_eq!(opened.fidelity, shared.fidelity);
    opened
}

/// Queries of each filter, and of several.
fn filtered() -> Vec<Query> {
    let inside = TimeRange { start: 20 * MS, end: 70 * MS, side: RangeSide::Inside };
    let outside = TimeRange { side: RangeSide::Outside, ..inside };
    let plain = Query::default;
    vec![
        plain(),
        Query { event: 1, ..plain() },
        Query { group: Group::Thread, ..plain() },
        Query { group: Group::None, ..plain() },
        Query { range: Some(inside), ..plain() },
        Query { range: Some(outside), event: 1, ..plain() },
        Query { processes: vec![7], ..plain() },
        Query { processes: vec![8, 70], range: Some(inside), ..plain() },
        Query { threads: vec![100], ..plain() },
        Query { comms: vec!["pool".to_owned()], ..plain() },
        Query { cpus: vec![2, 63], ..plain() },
        Query { cpus: vec![u16::MAX], event: 1, range: Some(outside), ..plain() },
    ]
}

fn timeline(profile: &Profile, symbols: &Symbols, query: &Query, by: TrackBy) -> Timeline {
    let sort = TrackSort::Weight;
    let request = TimelineRequest { by, sort, open: vec![7, 70], start: 0.0, end: 0.0, bins: 40 };
    let kinds = timeline::leaf_kinds(profile, symbols, &OwnCode::default());
    let sums = TaskSums::new(profile, query);
    let spans = SampleSpans::new(profile, period(profile, query.event));
    at_once(async |slice| {
        timeline::timeline(profile, query, &request, &sums, spans, &kinds, slice).await
    })
}

fn tasks_of(profile: &Profile, query: &Query) -> TaskRows {
    tasks::rows(profile, &TaskSums::new(profile, query))
}

fn heat_map(profile: &Profile, query: &Query) -> HeatMap {
    let load = Load::new(
        profile,
        query.event,
        usual_distance(profile, query.event),
        period(profile, query.event),
    );
    let request = HeatRequest { period: 1e9, rows: 100, start: 0.0, end: 0.0 };
    let left = RemainingSamples::default();
    at_once(async |slice| heat_map::heat_map(profile, query, &request, &load, &left, slice).await)
}

/// Each box: its edges and row, what is in it, and its text.
fn time_order(profile: &Profile, symbols: &Symbols, query: &Query, thread: u32) -> Vec<String> {
    let (built, ends) = build_with_ends(profile, symbols, query);
    let (width, min_width) = (900.0, 0.5);
    let window = time_order::Window {
        thread,
        start: 0,
        end: 100 * MS,
        width,
        min_width,
        search: None,
        own: OwnCode::default(),
    };
    let distance = usual_distance(profile, query.event);
    let filter = Filter::new(profile, query);
    let order =
        time_order::layout(profile, symbols, &built.tree, &filter, &ends, distance, &window);
    let graph = &order.graph;
    let shown = order.samples.iter().enumerate().map(|(index, samples)| {
        let (start, end, weight) = (graph.start[index], graph.end[index], graph.total[index]);
        let text = graph.labels.get(graph.label[index] as usize);
        format!("{start} {end} {weight} {samples} {text:?}")
    });
    let nothing = format!("{:?} {} {:?}", order.nothing, order.distance, graph.row_start);
    shown.chain([nothing]).collect()
}

/// What is recorded, and what is opened from the link: every view, and every filter.
#[test]
fn a_link_with_single_samples_is_the_recording() {
    for seed in part_of(1..12, 4, "profiles") {
        let made = random_profile(seed, 40 * seed);
        let opened = whole(&made);
        let (profile, symbols) = (&made.profile, &made.symbols);
        assert_eq!(opened.profile.samples.len(), profile.samples.len());
        assert_eq!(opened.profile.first_time(), profile.first_time());
        for query in filtered() {
            let what = format!("seed {seed}, {query:?}");
            let opened_table = table(&opened.profile, &opened.symbols, &query);
            assert_eq!(opened_table, table(profile, symbols, &query), "{what}");
            assert_eq!(tasks_of(&opened.profile, &query), tasks_of(profile, &query), "{what}");
            assert_eq!(heat_map(&opened.profile, &query), heat_map(profile, &query), "{what}");
            for by in [TrackBy::Process, TrackBy::Thread, TrackBy::Cpu] {
                let there = timeline(&opened.profile, &opened.symbols, &query, by);
                assert_eq!(there, timeline(profile, symbols, &query, by), "{what} {by:?}");
            }
            for thread in [7, 70, 100, 5000] {
                let there = time_order(&opened.profile, &opened.symbols, &query, thread);
                assert_eq!(there, time_order(profile, symbols, &query, thread), "{what}");
            }
        }
    }
}

/// A snapshot that has no more than this of times, opened.
fn with(made: &RandomProfile, characters: usize, times: Times) -> Snapshot {
    let options = ShareOptions { characters, times, ..ShareOptions::default() };
    let shared = encode(&made.contents(), &options).expect("it fits");
    assert!(shared.payload.len() <= characters);
    decode(&shared.payload).expect("it opens")
}

/// By event and name of the process: what call trees have of it.
fn processes(profile: &Profile, symbols: &Symbols, event: u32) -> BTreeMap<String, Sum> {
    let query = Query { event, group: Group::Process, ..Query::default() };
    let tree = CallTree::new(profile, symbols, &query);
    let labels = Labels::new(profile, symbols);
    let children = tree.children(CallNodeId::ROOT).iter();
    children.map(|&id| (labels.text(tree.label(id)), tree.total(id))).collect()
}

/// By event and process: what its tracks have together.
fn tracked(profile: &Profile, event: u32) -> BTreeMap<String, Sum> {
    let bins = profile.bins.as_ref().expect("there are bins");
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for track in bins.tracks.iter().filter(|track| track.event.0 == event) {
        let process = profile.threads.process(profile.threads.thread(track.thread).process);
        let sum = sums.entry(profile.strings.get(process.name).to_owned()).or_default();
        sum.add(Sum { weight: track.weight, samples: track.samples });
        let in_cells: u64 = track.cells.iter().map(|cell| cell.weight).sum();
        assert_eq!(in_cells, track.weight);
    }
    sums
}

#[test]
fn bins_are_exactly_what_the_call_tree_has_of_each_process() {
    for seed in part_of(1..6, 2, "profiles") {
        let made = random_profile(seed, 3000);
        let mut seen = Vec::new();
        for (characters, most) in [
            (2000, Times::Samples),
            (6000, Times::Processes),
            (30_000, Times::Samples),
            (usize::MAX, Times::Processes),
            (usize::MAX, Times::Threads),
        ] {
            let opened = with(&made, characters, most);
            assert!(opened.fidelity.times <= most && opened.fidelity.times != Times::Samples);
            seen.push(opened.fidelity.times);
            assert_eq!(opened.profile.bins.is_some(), opened.fidelity.times != Times::None);
            for event in (0..2).filter(|_| opened.profile.bins.is_some()) {
                let in_tree = processes(&opened.profile, &opened.symbols, event);
                assert_eq!(tracked(&opened.profile, event), in_tree, "{seed} {characters}");
            }
        }
        assert_eq!(seen[3..], [Times::Processes, Times::Threads]);
        assert!(seen.contains(&Times::Processes), "no budget was small enough");
    }
}

/// Sums of time by hand, in as many parts as the link has.
#[test]
fn bins_are_off_by_no_more_than_can_be_seen() {
    for seed in part_of(1..6, 2, "profiles") {
        let made = random_profile(seed, 3000);
        let opened = with(&made, usize::MAX, Times::Threads);
        let bins = opened.profile.bins.as_ref().expect("there are bins");
        let samples = &made.profile.samples;
        let first = made.profile.first_time().expect("there are times");
        let threads = |profile: &Profile, thread| {
            let thread = profile.threads.thread(thread);
            let process = profile.threads.process(thread.process);
            let name = |id| profile.strings.get(id).to_owned();
            (name(process.name), thread.tid, name(thread.name))
        };
        assert_eq!(
            first,
            made.profile.recorded_rows().map(|row| samples.time_nanos.at(row)).min().unwrap()
        );
        let mut expected: BTreeMap<_, f64> = BTreeMap::new();
        let mut largest: BTreeMap<_, f64> = BTreeMap::new();
        let mut spans =
            [0, 1].map(|event| SampleSpans::new(&made.profile, period(&made.profile, event)));
        for row in 0..samples.len() {
            let event = samples.event[row];
            let span = spans[usize::from(event)].next(&made.profile, row).expect("a time");
            let of = (u32::from(event), threads(&made.profile, samples.thread.at(row)));
            span.spread(&(0..bins.length), bins.count as usize, |bin, share| {
                let sum = expected.entry((of.clone(), bin as u32)).or_default();
                *sum += samples.weight.at(row) as f64 * share;
                let largest = largest.entry(of.clone()).or_default();
                *largest = largest.max(*sum);
            });
        }
        for track in &bins.tracks {
            let of = (track.event.0, threads(&opened.profile, track.thread));
            for bin in 0..bins.count {
                let known: u64 =
                    track.cells.iter().filter(|cell| cell.bin == bin).map(|cell| cell.weight).sum();
                let wanted = expected.remove(&(of.clone(), bin)).unwrap_or_default();
                // Each kind of code is rounded by itself.
                let off = (known as f64 - wanted).abs();
                assert!(off <= largest[&of] / 8.0, "{of:?} {bin}: {known} for {wanted}");
            }
        }
        assert!(expected.is_empty(), "{} bins are missing", expected.len());
    }
}

/// A thread that ran all the time, sampled every few bins or a few times in each, is no comb.
#[test]
fn a_steady_load_is_even_in_bins() {
    for count in [300u64, 1000, 2500] {
        let distance = 4_000_000;
        let mut made = random_profile(1, 0);
        let stack = made.profile.frames.iter().next().map(|(frame, _)| frame).expect("a frame");
        let stack = made.profile.stacks.intern(perftab_profile::Stacks::EMPTY, stack);
        for number in 0..count {
            made.profile.samples.push(perftab_profile::Sample {
                time_nanos: 77_000_000_000 + number * distance,
                thread: perftab_profile::ThreadId(0),
                stack,
                event: perftab_profile::EventId(0),
                cpu: 0,
                weight: 1_000_000,
            });
        }
        made.profile.events[0].samples = count;
        made.profile.events[0].weight = count * 1_000_000;
        made.facts = Facts { texts: made.facts.texts, ..Facts::of(&made.profile) };
        let opened = with(&made, usize::MAX, Times::Threads);
        let bins = opened.profile.bins.as_ref().expect("there are bins");
        let mut sums = vec![0; bins.count as usize];
        for cell in bins.tracks.iter().flat_map(|track| &track.cells) {
            sums[cell.bin as usize] += cell.weight;
        }
        assert_eq!(sums.iter().sum::<u64>(), count * 1_000_000);
        let even = count as f64 * 1e6 / f64::from(bins.count);
        // The first sample stands for no time before it: all of it is in the first bin, which weights are rounded by.
        for (bin, &sum) in sums.iter().enumerate().skip(1) {
            let off = (sum as f64 / even - 1.0).abs();
            assert!(
                off < 0.12,
                "bin {bin} of {} of {count} samples has {sum} for {even}",
                bins.count
            );
        }
    }
}

/// A dozen processes that take turns: as many steps as a longer link has would not fit.
#[test]
fn a_short_link_has_a_timeline_of_fewer_steps() {
    let mut made = random_profile(1, 0);
    let frame = made.profile.frames.iter().next().map(|(frame, _)| frame).expect("a frame");
    let stack = made.profile.stacks.intern(perftab_profile::Stacks::EMPTY, frame);
    let threads: Vec<_> = (0..12)
        .map(|number| {
            let name = made.profile.strings.intern(&format!("worker {number}"));
            let process = perftab_profile::Process { pid: 100 + number, name };
            let process = made.profile.threads.add_process(process);
            let thread = perftab_profile::Thread { process, tid: 100 + number, name };
            made.profile.threads.add_thread(thread)
        })
        .collect();
    let mut random = Random(5);
    let (count, distance) = (4_000, 1_000_000);
    for number in 0..count {
        made.profile.samples.push(perftab_profile::Sample {
            time_nanos: 77_000_000_000 + number * distance,
            thread: threads[random.below(threads.len() as u64) as usize],
            stack,
            event: perftab_profile::EventId(0),
            cpu: 0,
            weight: distance,
        });
    }
    (made.profile.events[0].samples, made.profile.events[0].weight) = (count, count * distance);
    made.facts = Facts { texts: made.facts.texts, ..Facts::of(&made.profile) };
    let opened = with(&made, 700, Times::Samples);
    assert_eq!(opened.fidelity.times, Times::Processes);
    let bins = opened.profile.bins.as_ref().expect("there are bins");
    let sum: u64 = bins.tracks.iter().flat_map(|it| &it.cells).map(|cell| cell.weight).sum();
    assert_eq!(sum, count * distance);
}

#[test]
fn a_timeline_is_drawn_from_bins() {
    let made = random_profile(4, 3000);
    let opened = with(&made, usize::MAX, Times::Processes);
    let bins = opened.profile.bins.as_ref().expect("there are bins");
    let draw = |query: &Query, by| {
        let sort = TrackSort::Weight;
        let request = TimelineRequest { by, sort, open: vec![], start: 0.0, end: 0.0, bins: 50 };
        binned::timeline(&opened.profile, bins, query, &request)
    };
    let query = Query::default();
    let drawn = draw(&query, TrackBy::Process);
    let recorded = timeline(&made.profile, &made.symbols, &query, TrackBy::Process);
    assert_eq!(drawn.tracks[0].weight, recorded.tracks[0].weight);
    assert_eq!(drawn.tracks[0].samples, recorded.tracks[0].samples);
    let sum = |timeline: &Timeline, track: usize| {
        let cells = timeline.bins as usize * timeline::KINDS;
        let weights = &timeline.weights[track * cells..][..cells];
        weights.iter().map(|&weight| f64::from(weight)).sum::<f64>()
    };
    for (place, track) in drawn.tracks.iter().enumerate() {
        let part = sum(&drawn, place) / track.weight as f64;
        assert!((0.999..1.001).contains(&part), "{} has {part} of its weight", track.label);
    }
    // Two processes are called worker: they are one here.
    assert_eq!(
        (drawn.tracks.len(), recorded.tracks.iter().filter(|it| it.level == 0).count()),
        (5, 6)
    );
    let server = drawn.tracks.iter().find(|track| track.label == "server").expect("it has a track");
    let only = Query { processes: vec![server.pid.expect("it is a process")], ..Query::default() };
    let alone = draw(&only, TrackBy::Thread);
    let labels: Vec<_> = alone.tracks.iter().map(|track| track.label.as_str()).collect();
    assert_eq!(labels, ["All CPUs", "server"]);
    assert_eq!(alone.tracks[0].weight, server.weight);
}

#[test]
fn a_link_of_a_link_keeps_its_bins() {
    for most in [Times::Processes, Times::Threads] {
        let first = with(&random_profile(5, 2000), usize::MAX, most);
        let again = encode(&first.contents(), &ShareOptions::default()).expect("no limit");
        assert_eq!(again.fidelity.times, most);
        let second = decode(&again.payload).expect("it opens");
        assert_eq!(second.profile.bins, first.profile.bins);
    }
}

#[test]
fn a_link_of_a_link_keeps_every_sample() {
    let first = whole(&random_profile(5, 2000));
    let again = encode(&first.contents(), &ShareOptions::default()).expect("no limit");
    let second = decode(&again.payload).expect("it opens");
    assert_eq!(second.fidelity.times, Times::Samples);
    let rows = |profile: &Profile| -> Vec<_> {
        let rows = (0..profile.samples.len()).filter_map(|row| profile.samples.get(row));
        rows.map(|it| (it.time_nanos, it.thread, it.cpu, it.weight)).collect()
    };
    assert_eq!(rows(&second.profile), rows(&first.profile));
}

#[test]
fn marks_come_along_with_single_samples() {
    let mut made = random_profile(2, 300);
    let first = made.profile.first_time().expect("there are times");
    let server = made.profile.strings.intern("server");
    let gone = made.profile.strings.intern("a process without samples");
    let mark = |time_nanos, kind, process| Mark { time_nanos, kind, count: 3, process };
    let marks = [
        mark(first - 10, MarkKind::Fork, Some(server)),
        mark(first + 90, MarkKind::Exec, Some(gone)),
        mark(first + 90, MarkKind::Lost, None),
    ];
    marks.iter().for_each(|&mark| made.profile.marks.push(mark));
    let opened = whole(&made);
    let opened_marks: Vec<_> = opened
        .profile
        .marks
        .between(0, u64::MAX)
        .iter()
        .map(|it| {
            (it.time_nanos, it.kind, it.count, it.process.map(|id| opened.profile.strings.get(id)))
        })
        .collect();
    let expected = [
        (first - 10, MarkKind::Fork, 3, Some("server")),
        (first + 90, MarkKind::Exec, 3, None),
        (first + 90, MarkKind::Lost, 3, None),
    ];
    assert_eq!(opened_marks, expected);
}

#[test]
fn times_are_left_out_when_they_are_not_wanted_or_not_known() {
    let mut made = random_profile(3, 500);
    let opened = with(&made, usize::MAX, Times::None);
    assert_eq!((opened.fidelity.times, opened.profile.bins), (Times::None, None));
    // One sample without a time: bins would not be of all samples, but single samples are what they are.
    made.profile.samples.time_nanos.set(7, 0);
    let opened = with(&made, usize::MAX, Times::Threads);
    assert_eq!((opened.fidelity.times, opened.profile.bins), (Times::None, None));
    assert_eq!(whole(&made).profile.samples.time_nanos.get(7), Some(0));
}

/// Behind the checksum everything may be hostile: bins open and are drawn, or are refused.
#[test]
fn any_bins_open_or_are_refused() {
    let mut random = Random(5);
    let (mut opened, mut refused) = (0, 0);
    for most in [Times::Processes, Times::Threads] {
        let options = ShareOptions { times: most, ..ShareOptions::default() };
        let shared = encode(&random_profile(12, 60).contents(), &options).expect("no limit");
        let streams = container::unpack(&shared.payload).expect("it is whole");
        for field in [Field::Times, Field::Tasks, Field::Threads, Field::Bins] {
            for _ in 0..150 {
                let mut damaged = streams.clone();
                let stream = damaged.get_mut(field);
                if stream.is_empty() {
                    continue;
                }
                let at = random.below(stream.len() as u64) as usize;
                match random.chance(20) {
                    true => stream.truncate(at),
                    false => stream[at] = random.below(256) as u8,
                }
                let Ok(snapshot) = decode(&deflated(&damaged)) else {
                    refused += 1;
                    continue;
                };
                opened += 1;
                let Some(bins) = &snapshot.profile.bins else { continue };
                let (by, sort) = (TrackBy::Thread, TrackSort::Start);
                let request =
                    TimelineRequest { by, sort, open: vec![], start: 0.0, end: 0.0, bins: 4096 };
                let drawn = binned::timeline(&snapshot.profile, bins, &Query::default(), &request);
                assert!(drawn.weights.iter().all(|weight| weight.is_finite()));
            }
        }
    }
    assert!(opened > 100 && refused > 100, "{opened} opened, {refused} refused");
}
