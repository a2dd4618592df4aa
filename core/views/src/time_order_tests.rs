//! Stacks with times as text → boxes as text.

use perftab_profile::EventOrigin;

use super::build::build_with_ends;
use super::filter::{Filter, RangeSide, TimeRange};
use super::fixture::{Fixture, fixture, lines, ungrouped};
use super::flame_graph::NONE;
use super::function_ref::{DsoRef, FunctionRef};
use super::label::OwnCode;
use super::time_order::{EmptyReason, TimeOrder, Window, layout, usual_distance};
use super::transform::Transform;
use super::{Group, Query};

/// Each line is a time and what a fixture's line is.
fn timed(text: &str) -> Fixture {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let parts = lines.iter().map(|line| line.split_once(' ').expect("time and stack"));
    let (times, stacks): (Vec<&str>, Vec<&str>) = parts.unzip();
    let mut stacks = fixture(&stacks.join("\n"));
    for (row, time) in times.iter().enumerate() {
        stacks.profile.samples.time_nanos.set(row, time.parse().expect("a time"));
    }
    stacks
}

fn order(stacks: &Fixture, query: &Query, window: &Window) -> TimeOrder {
    let Fixture { profile, symbols } = stacks;
    let (built, ends) = build_with_ends(profile, symbols, query);
    let distance = usual_distance(profile, query.event);
    let filter = Filter::new(profile, query);
    layout(profile, symbols, &built.tree, &filter, &ends, distance, window)
}

/// A pixel is a nanosecond.
fn window(start: u64, end: u64) -> Window {
    let width = (end - start) as f64;
    Window { thread: 1, start, end, width, min_width: 1.0, search: None, own: OwnCode::default() }
}

/// A line for each row: `name left-right samples`, or `(count) left-right samples` of what is folded.
fn text(order: &TimeOrder) -> String {
    let graph = &order.graph;
    let rows = graph.row_start.windows(2).map(|row| {
        let boxes = (row[0] as usize..row[1] as usize).map(|at| {
            let name = match graph.label[at] {
                NONE if graph.folded[at] > 0 => format!("({})", graph.folded[at]),
                NONE => "?".to_owned(),
                label => graph.labels[label as usize].clone(),
            };
            format!("{name} {}-{} {}", graph.start[at], graph.end[at], order.samples[at])
        });
        boxes.collect::<Vec<_>>().join(", ") + "\n"
    });
    rows.collect()
}

#[track_caller]
fn check(stacks: &Fixture, query: &Query, window: &Window, expected: &str) {
    assert_eq!(text(&order(stacks, query, window)), lines(expected));
}

const STEADY: &str = "
    1000 main: A B 1
    1100 main: A B 1
    1200 main: A C 1
    1210 other: A C 1
    1300 main: A C D 1
    1400 main: E 1
    1500 main: A C 1
    ";

#[test]
fn neighbours_share_boxes_as_far_as_their_stacks_are_alike() {
    for group in [Group::None, Group::Process, Group::Thread] {
        check(
            &timed(STEADY),
            &Query { group, ..Query::default() },
            &window(0, 600),
            "
            main 1 0-600 6
            A 0-400 4, E 400-500 1, A 500-600 1
            B 0-200 2, C 200-400 2, C 500-600 1
            D 300-400 1
            ",
        );
    }
}

#[test]
fn a_window_cuts_off_what_is_beyond_it() {
    check(
        &timed(STEADY),
        &ungrouped(),
        &window(150, 450),
        "
        main 1 0-300 4
        A 0-250 3, E 250-300 1
        B 0-50 1, C 50-250 2
        D 150-250 1
        ",
    );
    let nothing = |start, end, thread| {
        let window = Window { thread, ..window(start, end) };
        order(&timed(STEADY), &ungrouped(), &window).nothing
    };
    assert_eq!(nothing(10_000, 20_000, 1), Some(EmptyReason::NoSamples));
    assert_eq!(nothing(0, 600, 77), Some(EmptyReason::NoThread));
    assert_eq!(nothing(0, 600, 2), None);
    assert_eq!(nothing(u64::MAX - 1, u64::MAX, 1), Some(EmptyReason::NoSamples));
}

#[test]
fn where_nothing_was_sampled_is_a_gap() {
    // Four distances are none yet. The last sample of each part lasts for one.
    let stacks = timed(
        "
        1000 main: A 1
        1100 main: A 1
        1200 main: A 1
        1600 main: A B 1
        2001 main: A B 1
        2101 main: A B 1
        ",
    );
    check(
        &stacks,
        &ungrouped(),
        &window(0, 2000),
        "
        main 1 0-1201 6
        A 0-700 4, A 1001-1201 2
        B 600-700 1, B 1001-1201 2
        ",
    );
}

#[test]
fn a_thread_that_hardly_runs_is_not_drawn_as_if_it_did() {
    let busy = (0..100).map(|i| format!("{} busy: A 1", 1000 + i * 10));
    let rare = [1000, 1041, 1900].map(|at| format!("{at} rare: B 1"));
    let mut all: Vec<_> = busy.chain(rare).collect();
    all.sort_by_key(|line| line[..4].to_owned());
    let stacks = timed(&all.join("\n"));
    assert_eq!(usual_distance(&stacks.profile, 0), 10);
    let rare = Window { thread: 2, ..window(0, 1000) };
    check(&stacks, &ungrouped(), &rare, "rare 2 0-910 3\n? 0-10 1, ? 41-51 1, ? 900-910 1");
    // However far away it is seen from, it is seen.
    let narrow = |min_width| Window { min_width, ..rare.clone() };
    check(&stacks, &ungrouped(), &narrow(19.0), "rare 2 0-920 3\n? 0-20 1, ? 41-61 1, ? 900-920 1");
    check(&stacks, &ungrouped(), &narrow(41.0), "rare 2 0-942 3\n(2) 0-51 2, B 900-942 1");
}

#[test]
fn what_filters_and_limits_take_away_leaves_a_hole() {
    let mut stacks = timed(STEADY);
    stacks.profile.samples.cpu.set(2, 7);
    let on_cpu = Query { cpus: vec![0], ..ungrouped() };
    check(
        &stacks,
        &on_cpu,
        &window(0, 600),
        "
        main 1 0-600 5
        A 0-200 2, A 300-400 1, E 400-500 1, A 500-600 1
        B 0-200 2, C 300-400 1, C 500-600 1
        D 300-400 1
        ",
    );
    let range = TimeRange { start: 100, end: 300, side: RangeSide::Inside };
    let ranged = Query { range: Some(range), ..ungrouped() };
    check(
        &stacks,
        &ranged,
        &window(0, 600),
        "
        main 1 100-300 2
        A 100-300 2
        B 100-200 1, C 200-300 1
        ",
    );
}

/// A function of a fixture.
fn function(stacks: &Fixture, name: &str) -> FunctionRef {
    let (_, dso) = stacks.profile.dsos.iter().next().expect("a DSO");
    FunctionRef { dso: DsoRef::of(dso), name: Some(name.to_owned()), address: None }
}

#[test]
fn steps_apply_and_what_they_take_away_leaves_a_hole() {
    let stacks = timed(STEADY);
    for group in [Group::None, Group::Process] {
        let with = |steps| Query { group, steps, ..Query::default() };
        let a = || function(&stacks, "A");
        check(
            &stacks,
            &with(vec![Transform::Merge { function: a() }]),
            &window(0, 600),
            "
            main 1 0-600 6
            B 0-200 2, C 200-400 2, E 400-500 1, C 500-600 1
            D 300-400 1
            ",
        );
        check(
            &stacks,
            &with(vec![
                Transform::Focus { function: function(&stacks, "C") },
                Transform::Drop { function: function(&stacks, "D") },
            ]),
            &window(0, 600),
            "
            main 1 200-600 2
            C 200-300 1, C 500-600 1
            ",
        );
        let all = with(vec![Transform::Drop { function: a() }, Transform::CollapseRecursion]);
        check(&stacks, &all, &window(0, 600), "main 1 400-500 1\nE 400-500 1");
    }
}

#[test]
fn narrow_neighbours_of_one_caller_fold() {
    let stacks = timed(
        "
        1000 main: A B 1
        1100 main: A C 1
        1200 main: A B 1
        1300 main: A D E 1
        1400 main: A D E 1
        1500 main: A D F 1
        1600 main: A B 1
        1700 main: G B 1
        1800 main: G B 1
        1900 main: G B 1
        ",
    );
    // A sample is 20 wide.
    let narrow = Window { width: 200.0, min_width: 41.0, ..window(0, 1000) };
    check(
        &stacks,
        &ungrouped(),
        &narrow,
        "
        main 1 0-200 10
        A 0-140 7, G 140-200 3
        (3) 0-60 3, D 60-120 3, B 140-200 3
        (2) 60-120 3
        ",
    );
    let narrower = Window { min_width: 61.0, ..narrow };
    check(&stacks, &ungrouped(), &narrower, "main 1 0-200 10\nA 0-140 7\n(5) 0-140 7");
}

#[test]
fn derived_samples_last_for_their_weight_and_end_at_their_time() {
    let mut stacks = timed(
        "
        900 main: C 1
        1000 main: A 50
        1500 main: A B 200
        1600 main: A B 100
        9000 main: A 7000
        ",
    );
    let events = &mut stacks.profile.events;
    events.push(events[0].clone());
    events[0].origin = EventOrigin::Derived;
    // Recorded, so times count from it.
    stacks.profile.samples.event.set(0, 1);
    check(
        &stacks,
        &ungrouped(),
        &window(0, 2000),
        "
        main 1 50-2000 4
        A 50-100 1, A 400-700 2, A 1100-2000 1
        B 400-700 2
        ",
    );
}

#[test]
fn on_and_off_the_cpu_stand_in_one_row() {
    let mut stacks = timed(
        "
        1000 main: A 100
        1100 main: A B 100
        1500 main: A C 350
        1510 main: A 100
        1610 main: A 100
        ",
    );
    let profile = &mut stacks.profile;
    profile.events[0].name = "cpu-clock".to_owned();
    let off = perftab_profile::Event {
        name: "offcpu-time".to_owned(),
        origin: EventOrigin::Derived,
        samples: 1,
        weight: 350,
        ..Default::default()
    };
    profile.events.push(off);
    profile.samples.event.set(2, 1);
    profile.wall_clock = perftab_profile::WallClockTime::of(&profile.events);
    let both = Query { event: 2, ..ungrouped() };
    check(
        &stacks,
        &both,
        &window(0, 1000),
        "
        main 1 0-710 5
        A 0-500 3, A 510-710 2
        B 100-150 1, C 150-500 1
        ",
    );
}

#[test]
fn without_times_nothing_is_drawn() {
    let stacks = timed("0 main: A 1\n0 main: B 1");
    let order = order(&stacks, &ungrouped(), &window(0, 100));
    assert_eq!((order.nothing, order.samples.len()), (Some(EmptyReason::NoTimes), 0));
}
