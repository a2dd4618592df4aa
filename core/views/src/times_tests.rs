//! Timeline, heat map and tasks, with what is expected worked out by hand.

use perftab_names::Symbols;
use perftab_perfdata::slice::in_slices_of;
use perftab_profile::{
    DsoKind, Event, EventId, EventOrigin, Frame, MappedFrom, Process, Profile, Sample, Stacks,
    Thread, ThreadId, WallClockTime,
};

use super::label::OwnCode;
use crate::Query;
use crate::build::build_with_ends;
use crate::ends::RemainingSamples;
use crate::filter::{RangeSide, TimeRange};
use crate::heat_map::{self, HeatMap, HeatRequest, Load};
use crate::placed::callees_of;
use crate::sample_spans::{SampleSpans, period};
use crate::tasks::{self, TaskSums};
use crate::time_order::usual_distance;
use crate::timeline::{self, KINDS, Timeline, TimelineRequest, TrackBy, TrackSort};
use crate::transform::Transform;

const MS: u64 = 1_000_000;
/// The recorder's clock when the first sample was taken.
const BEGAN: u64 = 77 * MS;

/// A profile of samples, each a line `MS PROCESS/PID/TID CPU EVENT WEIGHT DSO`: a sample of a frame
/// in a DSO without names, so many milliseconds after the first. `-` is no time, no CPU, no frame.
fn recorded(text: &str) -> (Profile, Symbols) {
    let mut profile = Profile::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().expect("six words");
        let time = word();
        let time_nanos = if time == "-" { 0 } else { BEGAN + time.parse::<u64>().unwrap() * MS };
        let thread = thread(&mut profile, word());
        let cpu = word().parse().unwrap_or(u16::MAX);
        let event = event(&mut profile, word());
        let weight = word().parse().expect("a weight");
        let stack = match word() {
            "-" => Stacks::EMPTY,
            dso => {
                let kind = if dso == "gap" { DsoKind::Unmapped } else { DsoKind::User };
                let dso = profile.dsos.intern(dso, kind, MappedFrom::Nothing, None);
                let frame = profile.frames.intern(Frame { dso, address: 0x10 });
                profile.stacks.intern(Stacks::EMPTY, frame)
            }
        };
        profile.samples.push(Sample { time_nanos, thread, stack, event, cpu, weight });
        profile.events[event.index()].samples += 1;
        profile.events[event.index()].weight += weight;
    }
    profile.wall_clock = WallClockTime::of(&profile.events);
    let symbols = Symbols::new(&profile);
    (profile, symbols)
}

fn event(profile: &mut Profile, name: &str) -> EventId {
    let known = profile.events.iter().position(|event| event.name == name);
    EventId(known.unwrap_or_else(|| {
        let origin = match name {
            "offcpu-time" => EventOrigin::Derived,
            _ => EventOrigin::Recorded,
        };
        profile.events.push(Event {
            name: name.to_owned(),
            origin,
            samples: 0,
            weight: 0,
            ..Event::default()
        });
        profile.events.len() - 1
    }) as u32)
}

fn thread(profile: &mut Profile, text: &str) -> ThreadId {
    let words: Vec<&str> = text.split('/').collect();
    let (pid, tid) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let name = profile.strings.intern(words[0]);
    let same = |thread: &Thread| {
        thread.tid == tid
            && thread.name == name
            && profile.threads.process(thread.process).pid == pid
    };
    if let Some(known) = profile.threads.threads.iter().position(same) {
        return ThreadId(known as u32);
    }
    let is_same = |process: &Process| process.pid == pid && process.name == name;
    let of_pid = profile.threads.processes.iter().position(is_same);
    let process = match of_pid {
        Some(known) => perftab_profile::ProcessId(known as u32),
        None => profile.threads.add_process(Process { pid, name }),
    };
    profile.threads.add_thread(Thread { process, tid, name })
}

const STORY: &str = "
    0    web/10/10   0 cycles 5 app
    10   web/10/11   1 cycles 7 app
    19   db/20/20    0 cycles 1 gap
    20   web/10/10   0 cycles 5 -
    21   db/20/20    1 faults 9 app
    39   db/20/20    1 cycles 40 app
    -    db/20/20    - cycles 100 app
";

/// What the query's steps leave.
fn left((profile, symbols): &(Profile, Symbols), query: &Query) -> RemainingSamples {
    RemainingSamples::of(build_with_ends(profile, symbols, &callees_of(query)).1.into())
}

fn timeline(recorded: &(Profile, Symbols), query: &Query, request: &TimelineRequest) -> Timeline {
    let (profile, symbols) = recorded;
    let kinds = timeline::leaf_kinds(profile, symbols, &OwnCode::default());
    in_slices_of(3, async |slice| {
        let sums = TaskSums::of(profile, query, left(recorded, query), slice).await;
        let spans = SampleSpans::new(profile, period(profile, query.event));
        timeline::timeline(profile, query, request, &sums, spans, &kinds, slice).await
    })
}

fn request(by: TrackBy, bins: u32) -> TimelineRequest {
    TimelineRequest { by, sort: TrackSort::Weight, open: vec![], start: 0.0, end: 0.0, bins }
}

/// A line for each track: its header, and what is in each bin, all kinds together.
fn drawn(timeline: &Timeline) -> Vec<String> {
    let bins = timeline.weights.chunks(timeline.bins as usize * KINDS);
    let line = |(track, weights): (&timeline::Track, &[f32])| {
        let sums: Vec<String> =
            weights.chunks(KINDS).map(|kinds| kinds.iter().sum::<f32>().to_string()).collect();
        let (key, sub) = (&track.key, &track.sub);
        format!(
            "{} {key} {} [{sub}] {}",
            "-".repeat(track.level.into()),
            track.label,
            sums.join(" ")
        )
    };
    timeline.tracks.iter().zip(bins).map(line).collect()
}

#[test]
fn tracks_have_the_weight_of_their_samples_in_bins() {
    let story = recorded(STORY);
    let query = Query::default();
    // The recording ends with its last sample, at 39 ms, so a bin is 9.75 ms and a little. A sample
    // without a time counts and is nowhere.
    let by_process = timeline(&story, &query, &request(TrackBy::Process, 4));
    let expected = [
        " all All CPUs [2] 5 8 5 40",
        " p20 db [1 thread] 0 1 0 40",
        " p10 web [2 threads] 5 7 5 0",
    ];
    assert_eq!(drawn(&by_process), expected);
    assert_eq!((by_process.start, by_process.end), (0, 39 * MS + 1));
    assert_eq!(by_process.tracks[1].samples, 3);
    assert_eq!(by_process.tracks[1].weight, 141);
    assert_eq!(by_process.tracks.iter().map(|it| it.peak).collect::<Vec<_>>(), [40.0, 40.0, 7.0]);

    let opened =
        TimelineRequest { open: vec![10], sort: TrackSort::Start, ..request(TrackBy::Process, 2) };
    let expected = [
        " all All CPUs [2] 13 45",
        " p10 web [2 threads] 12 5",
        "- t10 web [tid 10] 5 5",
        "- t11 web [tid 11] 7 0",
        " p20 db [1 thread] 1 40",
    ];
    // 19 ms is in the first half, 20 in the second: the middle is at 19.5 ms.
    assert_eq!(drawn(&timeline(&story, &query, &opened)), expected);

    let by_thread = timeline(&story, &query, &request(TrackBy::Thread, 1));
    let expected = [
        " all All CPUs [2] 58",
        " t20 db [tid 20] 41",
        " t10 web [tid 10] 10",
        " t11 web [tid 11] 7",
    ];
    assert_eq!(drawn(&by_thread), expected);

    let by_cpu = timeline(&story, &query, &request(TrackBy::Cpu, 1));
    assert_eq!(drawn(&by_cpu)[1..], [" c0 CPU 0 [] 11", " c1 CPU 1 [] 47"]);
}

#[test]
fn a_part_of_the_time_is_binned_by_itself() {
    let story = recorded(STORY);
    let (ms, query) = (MS as f64, Query::default());
    let part = TimelineRequest { start: 10.0 * ms, end: 20.0 * ms, ..request(TrackBy::Cpu, 5) };
    // The last millisecond is in; 20 ms is not.
    let expected =
        [" all All CPUs [2] 7 0 0 0 1", " c0 CPU 0 [] 0 0 0 0 1", " c1 CPU 1 [] 7 0 0 0 0"];
    assert_eq!(drawn(&timeline(&story, &query, &part)), expected);
    // Whatever is asked for, there are few bins, and they lie in the recording.
    let hostile = [(f64::NAN, -5.0, 0), (1e300, 1.0, u32::MAX), (30.0 * ms, 2.0 * ms, 7)];
    for (start, end, bins) in hostile {
        let part = TimelineRequest { start, end, bins, ..request(TrackBy::Thread, 1) };
        let timeline = timeline(&story, &query, &part);
        assert!(timeline.start <= timeline.end && timeline.end <= 39 * MS + 1);
        assert!(timeline.bins >= 1 && timeline.weights.len() < 1 << 22);
    }
}

#[test]
fn filters_apply_to_a_timeline_and_its_own_range_does_not() {
    let story = recorded(STORY);
    let range = TimeRange { start: 0, end: 1, side: RangeSide::Inside };
    let query = Query { cpus: vec![1], range: Some(range), ..Query::default() };
    let expected = [" all All CPUs [1] 7 40", " p20 db [1 thread] 0 40", " p10 web [1 thread] 7 0"];
    assert_eq!(drawn(&timeline(&story, &query, &request(TrackBy::Process, 2))), expected);
}

#[test]
fn areas_are_stacked_by_the_kind_of_the_innermost_frame() {
    let story = recorded("0 a/1/1 0 cycles 1 app\n 1 a/1/1 0 cycles 2 -\n 2 a/1/1 0 cycles 4 gap");
    let all = timeline(&story, &Query::default(), &request(TrackBy::Cpu, 1)).weights;
    // Own, system, kernel, JIT, unnamed, pseudo.
    assert_eq!(all[..KINDS], [0.0, 0.0, 0.0, 0.0, 5.0, 2.0]);
}

#[test]
fn many_tracks_are_cut_and_counted() {
    let line = |number: u32| format!("{number} p/{number}/{number} 0 cycles 1 app\n");
    let story = recorded(&(1..=200).map(line).collect::<String>());
    let timeline = timeline(&story, &Query::default(), &request(TrackBy::Process, 4096));
    assert_eq!((timeline.tracks.len(), timeline.left_out), (128, 201 - 128));
    assert_eq!(timeline.tracks[1].label, "p (1)", "processes of one name say which they are");
    let all: f32 = timeline.weights[..4096 * KINDS].iter().sum();
    assert_eq!(all, 200.0, "nothing is left out of all");
}

#[test]
fn tasks_are_those_with_samples_heaviest_first() {
    let (profile, _) = recorded(STORY);
    let rows = tasks::rows(&profile, &TaskSums::new(&profile, &Query::default()));
    let processes: Vec<_> = rows
        .processes
        .iter()
        .map(|row| (row.pid, row.name.as_str(), row.samples, row.weight, row.start, row.end))
        .collect();
    let expected = [(20, "db", 3, 141, 19 * MS, 39 * MS), (10, "web", 3, 17, 0, 20 * MS)];
    assert_eq!(processes, expected);
    let threads: Vec<_> = rows.processes[1].threads.iter().map(|it| (it.tid, it.weight)).collect();
    assert_eq!(threads, [(10, 10), (11, 7)]);
    let cpus: Vec<_> = rows.cpus.iter().map(|row| (row.cpu, row.samples)).collect();
    assert_eq!(cpus, [(0, 3), (1, 2)]);
    // A pid under two names is one process, named as most of it was.
    let (profile, _) = recorded("0 sh/5/5 0 cycles 1 app\n 1 make/5/5 0 cycles 9 app");
    let rows = tasks::rows(&profile, &TaskSums::new(&profile, &Query::default()));
    assert_eq!(rows.processes.len(), 1);
    assert_eq!((rows.processes[0].name.as_str(), rows.processes[0].samples), ("make", 2));
}

fn load(profile: &Profile, event: u32) -> Load {
    Load::new(profile, event, usual_distance(profile, event), period(profile, event))
}

fn heat_map(recorded: &(Profile, Symbols), query: &Query, request: &HeatRequest) -> HeatMap {
    let (load, left) = (load(&recorded.0, query.event), left(recorded, query));
    in_slices_of(3, async |slice| {
        heat_map::heat_map(&recorded.0, query, request, &load, &left, slice).await
    })
}

#[test]
fn what_steps_take_away_is_at_no_time() {
    let story = recorded(STORY);
    let without: String = STORY
        .lines()
        .filter(|line| line.ends_with("app"))
        .map(|line| format!("{line}\n"))
        .collect();
    let alone = recorded(&without);
    let steps = vec![Transform::Search { text: "dso:app".to_owned() }];
    let (all, some) = (Query::default(), Query { steps, ..Query::default() });
    for by in [TrackBy::Process, TrackBy::Thread, TrackBy::Cpu] {
        let request = request(by, 4);
        let [expected, got] = [(&alone, &all), (&story, &some)]
            .map(|(recorded, query)| drawn(&timeline(recorded, query, &request)));
        assert_eq!(got, expected);
        assert_ne!(got, drawn(&timeline(&story, &all, &request)));
    }
    let request = rows_of(10);
    let [expected, got, before] = [(&alone, &all), (&story, &some), (&story, &all)]
        .map(|(recorded, query)| heat_map(recorded, query, &request).samples);
    assert_eq!(got, expected);
    assert_ne!(got, before);
}

/// Seconds, in cells of so many milliseconds.
fn rows_of(row_ms: u32) -> HeatRequest {
    HeatRequest { period: 1e9, rows: 1000 / row_ms, start: 0.0, end: 0.0 }
}

#[test]
fn cells_are_parts_of_seconds() {
    let story = recorded(
        "0    a/1/1 0 cpu-clock 10000000 app
         10   a/1/1 0 cpu-clock 10000000 app
         15   b/2/2 1 cpu-clock 10000000 app
         999  a/1/1 0 cpu-clock 10000000 app
         1019 a/1/1 0 cpu-clock 10000000 app
         1020 swapper/0/0 1 cpu-clock 10000000 app",
    );
    let map = heat_map(&story, &Query::default(), &rows_of(20));
    assert_eq!((map.start, map.columns, map.rows, map.cpus), (0, 2, 50, 2));
    let met: Vec<(usize, u32, f32)> = (0..map.samples.len())
        .filter(|&cell| map.samples[cell] > 0)
        .map(|cell| (cell, map.samples[cell], map.busy[cell]))
        .collect();
    // Each sample is 10 ms of a CPU, of the last 20 ms where nothing was sampled before; the idle thread
    // keeps none busy. A part of what was sampled at 999 ms lies in the cell before.
    assert_eq!(met, [(0, 3, 1.5), (49, 1, 0.5), (50, 1, 0.475), (51, 1, 0.0)]);
    assert_eq!(map.busy[48], 0.025);
    assert_eq!((map.row_totals[0], map.row_totals[1], map.row_totals[49]), (4.0, 1.0, 1.0));
    assert_eq!(map.row_totals.iter().sum::<f64>(), 6.0);

    let second = HeatRequest { start: 1.5e9, end: 2e9, ..rows_of(50) };
    let map = heat_map(&story, &Query::default(), &second);
    assert_eq!((map.start, map.columns, map.rows), (1_000_000_000, 1, 20));
    assert_eq!(map.samples.iter().sum::<u32>(), 2);
    let cpu = Query { cpus: vec![1], ..Query::default() };
    assert_eq!(heat_map(&story, &cpu, &rows_of(10)).samples.iter().sum::<u32>(), 2);
}

#[test]
fn what_has_pid_0_and_is_not_the_idle_process_keeps_a_cpu_busy() {
    let busy = |name| {
        let story = recorded(&format!("10 {name}/0/0 0 cpu-clock 10000000 app"));
        heat_map(&story, &Query::default(), &rows_of(20)).busy.iter().sum::<f32>()
    };
    assert!(busy("outside") > 0.0);
    assert_eq!(busy("swapper"), 0.0);
}

#[test]
fn columns_are_as_long_as_is_asked_and_cells_parts_of_them() {
    let line = |at: u64| format!("{at} a/1/1 0 cpu-clock 2000000 app\n");
    let story = recorded(&[0, 3, 9, 105, 107, 250].map(line).concat());
    let of = |period: f64, rows| {
        heat_map(&story, &Query::default(), &HeatRequest { period, rows, start: 0.0, end: 0.0 })
    };
    let map = of(1e8, 50);
    assert_eq!((map.start, map.columns, map.rows), (0, 3, 50));
    let met: Vec<usize> = (0..map.samples.len()).filter(|&cell| map.samples[cell] > 0).collect();
    // Of 2 ms each: what is at 105 ms is in the third cell of the second column.
    assert_eq!(met, [0, 1, 4, 52, 53, 125]);
    assert_eq!((map.row_totals[2], map.row_totals[25]), (1.0, 1.0));
    // However a column is divided, all is in it once.
    for (period, rows, columns) in [(1e7, 20, 26), (1e10, 100, 1), (1e300, 1, 1), (1e9, 0, 1)] {
        let map = of(period, rows);
        assert_eq!((map.columns, map.samples.iter().sum::<u32>()), (columns, 6), "{period}");
    }
    // Cells of a nanosecond are more than are answered at once.
    for (period, rows) in [(0.0, 7), (f64::NAN, 100), (-1.0, u32::MAX)] {
        let map = of(period, rows);
        assert!(map.samples.len() <= 1 << 20 && map.columns * map.rows == map.samples.len() as u32);
    }
}

#[test]
fn a_sample_of_cycles_stands_for_the_usual_time_between_two() {
    // CPU 0 is sampled each 4 ms; that CPU 1 slept for long changes nothing.
    let line = |at: u64| format!("{at} a/1/1 0 cycles 99 app\n");
    let busy: String = (0..10).map(|number| line(4 * number)).collect();
    let story = recorded(&format!("{busy} 38 b/2/2 1 cycles 99 app\n 900 b/2/2 1 cycles 99 app"));
    let map = heat_map(&story, &Query::default(), &rows_of(20));
    // The sample at 20 ms stands for the time before, that of CPU 1 for 8 ms.
    assert_eq!((map.busy[0], map.busy[1]), (6.0 * 4.0 / 20.0, 5.0 * 4.0 / 20.0));
    // More than there are cannot be busy.
    let dense: String = (0..20).map(|number| line(number / 10 * 100)).collect();
    let map = heat_map(&recorded(&dense), &Query::default(), &rows_of(10));
    assert_eq!((map.busy[0], map.cpus), (1.0, 1));
}

#[test]
fn a_wait_counts_in_every_cell_that_it_lies_in_and_any_number_of_threads_wait() {
    let story = recorded(
        "0  a/1/1 0 cpu-clock 10 app
         30 a/1/1 0 offcpu-time 25000000 app
         30 b/2/2 1 offcpu-time 30000000 app
         30 c/3/3 1 offcpu-time 30000000 app",
    );
    let waits = Query { event: 1, ..Query::default() };
    let map = heat_map(&story, &waits, &rows_of(10));
    assert_eq!((&map.busy[..4], map.cpus), (&[2.5, 3.0, 3.0, 0.0][..], 3));
    assert_eq!(map.samples[..4], [0, 0, 0, 3]);
    let load = load(&story.0, 1);
    let cell =
        heat_map::cell(&story.0, &story.1, &waits, &load, &RemainingSamples::default(), 0..20 * MS);
    assert_eq!((cell.samples, cell.cpus_busy), (0, Some((15.0 + 20.0 + 20.0) / 20.0)));
}

#[test]
fn a_cell_says_what_most_samples_ended_in() {
    let (profile, symbols) = recorded(STORY);
    let load = load(&profile, 0);
    let cell = |start, end| {
        heat_map::cell(
            &profile,
            &symbols,
            &Query::default(),
            &load,
            &RemainingSamples::default(),
            start * MS..end * MS,
        )
    };
    let found = cell(0, 20);
    assert_eq!((found.samples, found.mostly.as_deref()), (3, Some("app+0x10")));
    assert_eq!(cell(20, 21).mostly, None, "it has no frame");
    assert_eq!(cell(19, 20).mostly.as_deref(), Some("[no mapping]"));
    assert_eq!((cell(50, 60).samples, cell(60, 50).samples), (0, 0));
}

#[test]
fn the_wall_clock_has_the_samples_of_its_parts() {
    let story = recorded(
        "0  a/1/1 0 cpu-clock 10 app
         5  a/1/1 0 offcpu-time 400 app
         10 a/1/1 0 cpu-clock 10 app",
    );
    let wall = Query { event: 2, ..Query::default() };
    let drawn_of = |event| {
        drawn(&timeline(&story, &Query { event, ..wall.clone() }, &request(TrackBy::Cpu, 1)))
    };
    assert_eq!(drawn_of(2)[0], " all All CPUs [1] 420");
    assert_eq!(
        (&drawn_of(0)[0][..], &drawn_of(1)[0][..]),
        (" all All CPUs [1] 20", " all All CPUs [1] 400")
    );
    let tree = crate::call_tree::CallTree::new(&story.0, &story.1, &wall);
    assert_eq!(tree.total(crate::call_tree::CallNodeId::ROOT).weight, 420);
    assert_eq!(story.0.event(2).map(|event| event.weight), Some(420));
    assert_eq!(story.0.event(3), None);
}

#[test]
fn one_sample_has_no_rate_and_keeps_one_cpu_busy() {
    let cell = |text: &str, times| {
        let (profile, symbols) = recorded(text);
        let left = RemainingSamples::default();
        let load = load(&profile, 0);
        heat_map::cell(&profile, &symbols, &Query::default(), &load, &left, times)
    };
    let one = cell("0 a/1/1 0 cpu-clock 3333333 app", 0..1);
    assert_eq!((one.samples, one.cpus_busy), (1, None));
    // No CPU is known, so nothing else says that there are not a thousand.
    let two = "0 a/1/1 - cpu-clock 3333333 app\n 20 a/1/1 - cpu-clock 3333333 app";
    assert_eq!(cell(two, 0..1000).cpus_busy, Some(1.0));
}

/// A microsecond in which two CPUs were sampled is two CPUs busy, on a host of any size, whether cells or all of
/// it are asked for.
#[test]
fn two_samples_a_microsecond_apart_are_two_cpus_busy_of_sixteen() {
    let (mut profile, symbols) = recorded("0 a/1/1 0 cpu-clock 4000000 app");
    let thread = thread(&mut profile, "b/2/2");
    let first = profile.samples.get(0).expect("the first");
    profile.samples.push(Sample { time_nanos: first.time_nanos + 1000, thread, cpu: 1, ..first });
    profile.host.cpus = Some(16);
    let recorded = (profile, symbols);
    let (profile, symbols) = (&recorded.0, &recorded.1);
    let length = tasks::window(profile, 0, 0).end;
    assert!((1000..=1001).contains(&length));
    let load = load(profile, 0);
    let left = RemainingSamples::default();
    let cell = heat_map::cell(profile, symbols, &Query::default(), &load, &left, 0..length);
    let busy = cell.cpus_busy.expect("there is time");
    assert!((1.99..=2.0).contains(&busy), "{busy}");
    for row_ms in [10, 20, 50] {
        let map = heat_map(&recorded, &Query::default(), &rows_of(row_ms));
        assert_eq!(map.cpus, 16);
        let cells: f64 = map.busy.iter().map(|&busy| f64::from(busy)).sum();
        let of_all = cells * f64::from(row_ms) * 1e6 / length as f64;
        assert!((of_all - busy).abs() < 0.01, "{of_all} in cells of {row_ms} ms, {busy}");
    }
}
