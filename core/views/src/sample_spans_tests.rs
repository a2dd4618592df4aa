//! A thread that runs evenly is drawn evenly, whatever its period and the bins.

use perftab_names::Symbols;
use perftab_perfdata::slice::in_slices_of;
use perftab_profile::{Event, EventId, EventOrigin, Process, Profile, Sample, Stacks, Thread};

use super::label::OwnCode;
use crate::Query;
use crate::ends::RemainingSamples;
use crate::heat_map::{self, HeatRequest, Load};
use crate::sample_spans::{SampleSpan, SampleSpans, period};
use crate::tasks::{NO_CPU, TaskSums};
use crate::time_order::usual_distance;
use crate::timeline::{self, KINDS, Timeline, TimelineRequest, TrackBy, TrackSort};

const SECOND: u64 = 1_000_000_000;
const RATES: [u64; 3] = [99, 999, 4000];
/// Widths of bins that beat with the periods, that divide them, and that are much smaller or larger.
const BINS: [u32; 12] = [7, 50, 99, 100, 198, 250, 297, 333, 500, 700, 1000, 4001];
/// When the recorder's clock began.
const BEGAN: u64 = 5_123_456_789;

/// Samples of a thread: when, on which CPU, and of which weight.
type Taken = (u64, u16, u64);

/// A profile of an event; each list of samples is of a thread.
fn recorded(event: &str, origin: EventOrigin, threads: &[Vec<Taken>]) -> Profile {
    let mut profile = Profile::default();
    let name = profile.strings.intern("app");
    let process = profile.threads.add_process(Process { pid: 1, name });
    let mut all: Vec<Sample> = Vec::new();
    for (tid, taken) in (1..).zip(threads) {
        let thread = profile.threads.add_thread(Thread { process, tid, name });
        all.extend(taken.iter().map(|&(time, cpu, weight)| Sample {
            time_nanos: BEGAN + time,
            thread,
            stack: Stacks::EMPTY,
            event: EventId(0),
            cpu,
            weight,
        }));
    }
    all.sort_by_key(|sample| sample.time_nanos);
    let (samples, weight) = (all.len() as u64, all.iter().map(|sample| sample.weight).sum());
    profile.events.push(Event {
        name: event.to_owned(),
        origin,
        samples,
        weight,
        ..Event::default()
    });
    all.into_iter().for_each(|sample| profile.samples.push(sample));
    profile
}

/// A thread that runs for `on` nanoseconds of every `cycle`, and whose clock counts only then.
fn load(rate: u64, cpu: u16, (on, cycle): (u64, u64), length: u64) -> Vec<Taken> {
    let period = SECOND / rate;
    let time = |ran: u64| ran / on * cycle + ran % on;
    let times = (0..).map(|number| time(number * period));
    times.take_while(|&time| time < length).map(|time| (time, cpu, period)).collect()
}

fn timeline(profile: &Profile, bins: u32, (start, end): (u64, u64)) -> Timeline {
    let query = Query::default();
    let sums = TaskSums::new(profile, &query);
    let (by, sort, open) = (TrackBy::Thread, TrackSort::Start, vec![]);
    let request = TimelineRequest { by, sort, open, start: start as f64, end: end as f64, bins };
    let kinds = timeline::leaf_kinds(profile, &Symbols::new(profile), &OwnCode::default());
    let spans = SampleSpans::new(profile, period(profile, 0));
    in_slices_of(1000, async |slice| {
        timeline::timeline(profile, &query, &request, &sums, spans, &kinds, slice).await
    })
}

/// By track: how many CPUs each bin says were busy, if weights are nanoseconds.
fn heights(timeline: &Timeline) -> Vec<Vec<f64>> {
    let length = (timeline.end - timeline.start) as f64 / f64::from(timeline.bins);
    let tracks = timeline.weights.chunks(timeline.bins as usize * KINDS);
    let height = |kinds: &[f32]| f64::from(kinds.iter().sum::<f32>()) / length;
    tracks.map(|weights| weights.chunks(KINDS).map(height).collect()).collect()
}

/// Holds all but the first and the last to within 5 % of what is expected.
fn assert_even(heights: &[f64], expected: f64, what: &str) {
    for (bin, height) in heights.iter().enumerate().skip(1).take(heights.len().saturating_sub(2)) {
        assert!((height / expected - 1.0).abs() < 0.05, "{what}, bin {bin}: {height}");
    }
}

#[test]
fn a_thread_that_runs_all_the_time_is_drawn_without_a_comb() {
    for (rate, event) in RATES.into_iter().flat_map(|rate| [(rate, "cpu-clock"), (rate, "cycles")])
    {
        let length = 2 * SECOND;
        let profile =
            recorded(event, EventOrigin::Recorded, &[load(rate, 3, (length, length), length)]);
        let parts = [(0, 0), (SECOND / 3, SECOND / 3 + 77_777_777), (SECOND, SECOND + 1_234_567)];
        for (bins, part) in BINS.into_iter().flat_map(|bins| parts.map(|part| (bins, part))) {
            let what = format!("{rate} Hz of {event}, {bins} bins of {part:?}");
            let drawn = timeline(&profile, bins, part);
            for track in heights(&drawn) {
                assert_even(&track, 1.0, &what);
            }
            if part == (0, 0) {
                let all: f64 =
                    drawn.weights[..bins as usize * KINDS].iter().map(|&w| f64::from(w)).sum();
                let weight = profile.events[0].weight as f64;
                assert!((all / weight - 1.0).abs() < 1e-4, "{what}: {all} of {weight}");
            }
        }
    }
}

#[test]
fn half_a_load_is_half_as_high() {
    for (rate, cycle) in [(99, SECOND / 1000), (999, SECOND / 500), (4000, SECOND / 100)] {
        let length = 8 * SECOND;
        let taken = load(rate, 0, (cycle / 2, cycle), length);
        let profile = recorded("cpu-clock", EventOrigin::Recorded, &[taken]);
        // Bins of several turns of the load.
        for bins in [7, 19, 40, 57, 100] {
            let what = format!("{rate} Hz, {cycle} ns, {bins} bins");
            assert_even(&heights(&timeline(&profile, bins, (0, 0)))[0], 0.5, &what);
        }
    }
}

#[test]
fn threads_share_a_cpu_or_have_one_each() {
    // Every other sample of a CPU is the other thread's; without CPUs each thread has one.
    let all = load(999, 0, (SECOND, SECOND), SECOND);
    let (even, odd): (Vec<_>, Vec<_>) =
        all.chunks(2).filter(|it| it.len() == 2).map(|it| (it[0], it[1])).unzip();
    let shared = recorded("cpu-clock", EventOrigin::Recorded, &[even, odd]);
    let busy = || load(99, NO_CPU, (SECOND, SECOND), SECOND);
    let apart = recorded("cpu-clock", EventOrigin::Recorded, &[busy(), busy()]);
    for bins in [33, 99, 100, 250] {
        assert_even(&heights(&timeline(&shared, bins, (0, 0)))[0], 1.0, "all on one CPU");
        let drawn = heights(&timeline(&apart, bins, (0, 0)));
        assert_even(&drawn[0], 2.0, "CPUs are not known");
        assert_even(&drawn[1], 1.0, "a thread");
    }
}

#[test]
fn cells_of_the_heat_map_are_even() {
    for (rate, event) in RATES.into_iter().flat_map(|rate| [(rate, "cpu-clock"), (rate, "cycles")])
    {
        let length = 2 * SECOND;
        let profile =
            recorded(event, EventOrigin::Recorded, &[load(rate, 0, (length, length), length)]);
        let load = Load::new(&profile, 0, usual_distance(&profile, 0), period(&profile, 0));
        for row_ms in [10, 20, 50] {
            let request = HeatRequest { period: 1e9, rows: 1000 / row_ms, start: 0.0, end: 0.0 };
            let left = RemainingSamples::default();
            let map = in_slices_of(100, async |slice| {
                let query = Query::default();
                heat_map::heat_map(&profile, &query, &request, &load, &left, slice).await
            });
            let busy: Vec<f64> = map.busy.iter().copied().map(f64::from).collect();
            assert_even(&busy, 1.0, &format!("{rate} Hz of {event}, {row_ms} ms"));
        }
        let symbols = Symbols::new(&profile);
        for (start, end) in [(SECOND / 7, SECOND / 7 + 13_000_000), (SECOND, SECOND + 1_000_000)] {
            let (query, left) = (Query::default(), RemainingSamples::default());
            let cell = heat_map::cell(&profile, &symbols, &query, &load, &left, start..end);
            let busy = cell.cpus_busy.expect("there is time");
            assert!((busy - 1.0).abs() < 0.05, "{rate} Hz of {event}: {busy}");
        }
    }
}

/// Where the samples of one thread begin and end.
fn spans(event: &str, origin: EventOrigin, taken: &[Taken]) -> Vec<(u64, u64)> {
    let profile = recorded(event, origin, &[taken.to_vec()]);
    let mut spans = SampleSpans::new(&profile, 10);
    let rows = 0..profile.samples.len();
    rows.filter_map(|row| spans.next(&profile, row)).map(|it| (it.start, it.end)).collect()
}

#[test]
fn a_sample_stands_for_two_periods_at_most_and_for_none_before_the_first() {
    let taken = [(0, 0, 10), (9, 0, 10), (12, 1, 10), (20, 0, 10), (100, 0, 10)];
    let expected = [(0, 0), (0, 9), (0, 12), (9, 20), (80, 100)];
    assert_eq!(spans("cpu-clock", EventOrigin::Recorded, &taken), expected);
    let moments = taken.map(|(time, ..)| (time, time));
    // What is derived does not tell when a recording began.
    let waits = taken.map(|(time, ..)| (BEGAN + time, BEGAN + time));
    assert_eq!(spans("offcpu-time", EventOrigin::Derived, &taken), waits);
    assert_eq!(spans("page-faults", EventOrigin::Recorded, &taken), expected);
    let each_one = taken.map(|(time, cpu, _)| (time, cpu, 1));
    assert_eq!(spans("page-faults", EventOrigin::Recorded, &each_one), moments);
}

#[test]
fn parts_of_a_span_add_up_in_whatever_bins() {
    let ends = [0, 1, 9, 10, 11, 500, u64::MAX / 2, u64::MAX];
    let of = |list: &[u64]| -> Vec<(u64, u64)> {
        let pairs = list.iter().flat_map(|&a| list.iter().map(move |&b| (a, b)));
        pairs.filter(|(a, b)| a <= b).collect()
    };
    for ((start, end), (from, to)) in
        of(&ends).into_iter().flat_map(|it| of(&ends).into_iter().map(move |of| (it, of)))
    {
        for bins in [0, 1, 3, 100] {
            let (span, times) = (SampleSpan { start, end }, from..to);
            let mut sum = 0.0;
            span.spread(&times, bins, |bin, share| {
                assert!(bin < bins && share >= -1e-9, "{span:?} {times:?} {bins}: {share}");
                sum += share;
            });
            let expected = if bins == 0 { 0.0 } else { span.share_in(&times) };
            assert!((sum - expected).abs() < 1e-6, "{span:?} {times:?} {bins}: {sum} {expected}");
        }
    }
}
