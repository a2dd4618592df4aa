//! Links that hold every sample: each view and each filter on one shows what it shows on the recording.

use std::fs;
use std::path::Path;

use perftab_core::session::{Answer, Asked, EventInfo, Question, ScanStep, Session, TimeWindow};
use perftab_snapshot::{ShareOptions, Times};
use perftab_tests::open::open_path;
use perftab_views::Query;
use perftab_views::filter::{RangeSide, TimeRange};
use perftab_views::heat_map::HeatRequest;
use perftab_views::tasks::TaskRows;
use perftab_views::timeline::{TimelineRequest, TrackBy, TrackSort};

/// What is answered in slices.
fn answer(session: &mut Session, question: Question) -> Answer {
    let mut asked = Asked::new(question);
    loop {
        if let ScanStep::Done(answer) = asked.step(session, 1000) {
            return answer.expect("there is room");
        }
    }
}

fn tasks(session: &mut Session, event: u32) -> TaskRows {
    let Answer::Tasks(tasks) = answer(session, Question::Tasks { event }) else {
        panic!("no tasks")
    };
    tasks
}

/// Everything, and a part of it by each filter.
fn queries(session: &mut Session, event: u32) -> Vec<Query> {
    let plain = || Query { event, ..Query::default() };
    let tasks = tasks(session, event);
    let length = tasks.processes.iter().map(|process| process.end).max().unwrap_or_default();
    let range = |side| Some(TimeRange { start: length / 4, end: length / 2, side });
    let process = tasks.processes.first();
    let thread = process.and_then(|process| process.threads.last());
    vec![
        plain(),
        Query { range: range(RangeSide::Inside), ..plain() },
        Query { range: range(RangeSide::Outside), ..plain() },
        Query { processes: process.map(|it| it.pid).into_iter().collect(), ..plain() },
        Query { threads: thread.map(|it| it.tid).into_iter().collect(), ..plain() },
        Query { comms: thread.map(|it| it.name.clone()).into_iter().collect(), ..plain() },
        Query { cpus: tasks.cpus.last().map(|it| it.cpu).into_iter().collect(), ..plain() },
    ]
}

fn sorted_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What views say of a query, as text.
fn seen(session: &mut Session, query: &Query) -> Vec<String> {
    let open: Vec<u32> = tasks(session, query.event).processes.iter().map(|it| it.pid).collect();
    let mut seen = vec![
        format!("{:?}", tasks(session, query.event)),
        format!("{:?}", session.shown(query)),
        // Stacks of one weight stand in the order in which they were met.
        sorted_lines(&session.export_collapsed(query)),
    ];
    for by in [TrackBy::Process, TrackBy::Thread, TrackBy::Cpu] {
        let (sort, open) = (TrackSort::Weight, open.clone());
        let request = TimelineRequest { by, sort, open, start: 0.0, end: 0.0, bins: 64 };
        let question = Question::Timeline { query: query.clone(), request };
        seen.push(format!("{:?}", answer(session, question)));
    }
    let request = HeatRequest { period: 1e9, rows: 100, start: 0.0, end: 0.0 };
    let question = Question::HeatMap { query: query.clone(), request };
    let Answer::HeatMap(heat_map) = answer(session, question) else { panic!("no heat map") };
    // How many CPUs there are is known of the host, of which a link tells nothing.
    seen.push(format!("{:?} {:?}", heat_map.samples, heat_map.row_totals));
    let threads = tasks(session, query.event).processes.into_iter().flat_map(|it| it.threads);
    for thread in threads {
        let window = TimeWindow {
            thread: thread.tid,
            start: 0.0,
            end: thread.end as f64 + 1.0,
            width_px: 800.0,
            min_px: 0.5,
            search: String::new(),
        };
        let order = session.time_order(query, &window);
        let graph = &order.graph;
        seen.push(format!(
            "{} {:?} {:?} {:?} {:?} {:?}",
            thread.tid, order.nothing, graph.start, graph.end, graph.labels, order.samples
        ));
    }
    seen
}

/// Recordings by perf of every form that has samples.
#[test]
fn a_link_of_a_recording_shows_what_the_recording_shows() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut compared = 0;
    for entry in fs::read_dir(fixtures).expect("fixtures") {
        let path = entry.expect("an entry").path();
        if !path.to_string_lossy().ends_with(".perf.data") {
            continue;
        }
        let Ok(mut recorded) = open_path(&path) else { continue };
        if recorded.profile().samples.is_empty() {
            continue;
        }
        let name = path.display();
        let link = recorded.share(&ShareOptions::default()).expect("no limit");
        assert_eq!(link.fidelity.times, Times::Samples, "{name}");
        let mut opened = Session::from_snapshot(&link.payload).expect("it is one");
        let (before, after) = (recorded.info(), opened.info());
        // A link does not say how its samples were to be taken.
        let in_links =
            before.events.iter().map(|event| EventInfo { call_chains: None, ..event.clone() });
        assert_eq!(after.events, in_links.collect::<Vec<_>>(), "{name}");
        assert_eq!(after.derived_events, before.derived_events, "{name}");
        assert_eq!((after.time.start, after.time.end), (before.time.start, before.time.end));
        for event in 0..(before.events.len() + before.derived_events.len()) as u32 {
            for query in queries(&mut recorded, event) {
                let wanted = seen(&mut recorded, &query);
                let there = seen(&mut opened, &query);
                for (there, wanted) in there.iter().zip(&wanted) {
                    assert_eq!(there, wanted, "{name}: {query:?}");
                }
                assert_eq!(there.len(), wanted.len(), "{name}: {query:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared} queries");
}
