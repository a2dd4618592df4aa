//! The numbers of every view are those of `perftab report --json` for the same query: the page asks
//! a [`Session`], the command line a process.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use perftab_core::session::{FlameWindow, FunctionRows, Session, TimeWindow};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;
use perftab_tests::perftab_at;
use perftab_tests::program::{TASKS, compile};
use perftab_views::filter::{RangeSide, TimeRange};
use perftab_views::function_ref::{DsoRef, FunctionRef};
use perftab_views::functions::FunctionOrder;
use perftab_views::grouped::GroupBy;
use perftab_views::transform::Transform;
use perftab_views::{Direction, Group, Inlines, Query};
use serde_json::Value;

struct RecordedProgram {
    folder: TestFolder,
    recording: PathBuf,
    program: PathBuf,
    session: Session,
}

impl RecordedProgram {
    fn new() -> Self {
        let folder = TestFolder::new();
        let id = "71ab1e5171ab1e5171ab1e5171ab1e5171ab1e51";
        let program = compile(&folder, "workload", id, TASKS);
        let recording = folder.join("perf.data");
        let output = perftab_at(&folder, &["record", "-F", "1999", "-g", "-o", "perf.data", "--"])
            .arg(&program)
            .ended()
            .expect("perftab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "perftab record fails: {stderr}");
        let mut session = open_path(&recording).expect("it opens");
        let bytes = fs::read(&program).expect("the program");
        session.admit("workload", Box::new(SliceSource::new(bytes))).expect("it is what ran");
        session.name_all_frames();
        Self { folder, recording, program, session }
    }

    /// What `perftab report --json` says, with names from the same file.
    fn report(&self, arguments: &[&str]) -> Value {
        let output = perftab_at(&self.folder, &["report", "--json", "--no-local", "--image"])
            .arg(&self.program)
            .args(arguments)
            .arg(&self.recording)
            .ended()
            .expect("perftab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn function(&self, name: &str) -> FunctionRef {
        let dsos = &self.session.profile().dsos;
        let (_, dso) = dsos.iter().find(|(_, dso)| dso.name() == "workload").expect("it ran");
        FunctionRef { dso: DsoRef::of(dso), name: Some(name.to_owned()), address: None }
    }

    fn tids(&self, name: &str) -> Vec<u32> {
        let profile = self.session.profile();
        let threads = profile.threads.threads.iter();
        let named = threads.filter(|thread| profile.strings.get(thread.name) == name);
        named.map(|thread| thread.tid).collect()
    }
}

/// Self and total by a row's texts.
type Rows = BTreeMap<(String, String), (u64, u64)>;

fn of_session(rows: &FunctionRows) -> Rows {
    let texts = rows.names.iter().zip(&rows.dsos);
    let sums = rows
        .self_weight
        .iter()
        .zip(rows.total.iter())
        .map(|(&own, &total)| (own as u64, total as u64));
    let all: Rows = texts.map(|(name, dso)| (name.clone(), dso.clone())).zip(sums).collect();
    assert_eq!(all.len(), rows.names.len(), "each row is there once");
    all
}

fn of_report(report: &Value, list: &str, text: impl Fn(&Value) -> (String, String)) -> Rows {
    let number = |row: &Value, member: &str| row[member].as_u64().expect("a number");
    let rows = report[list].as_array().expect("rows").iter();
    rows.map(|row| (text(row), (number(row, "self"), number(row, "total")))).collect()
}

fn file_name(path: &str) -> String {
    if path.starts_with('[') { path } else { path.rsplit('/').next().unwrap_or(path) }.to_owned()
}

fn function_text(row: &Value) -> (String, String) {
    let name = match (row["name"].as_str(), row["address"].as_str()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(address)) => format!("0x{address}"),
        (None, None) => "[no mapping]".to_owned(),
    };
    (name, row["dso"].as_str().map(file_name).unwrap_or_default())
}

/// Checks all views of a query against what the command line says of the same.
fn check(recorded: &mut RecordedProgram, query: &Query, arguments: &[&str]) {
    let report = recorded.report(arguments);
    let (samples, weight) = (report["samples"].as_u64(), report["weight"].as_u64());
    let weight = weight.expect("a weight");
    let session = &mut recorded.session;
    for direction in [Direction::Callees, Direction::Inverted] {
        for group in [Group::None, Group::Process, Group::Thread] {
            let query = Query { direction, group, ..query.clone() };
            let all = session.total(&query);
            assert_eq!((Some(all.samples), all.weight), (samples, weight), "{arguments:?}");
            let root = session.call_node_detail(&query, 0).expect("a root");
            assert_eq!(root.total_weight as u64, weight);
            let children = session.call_tree_children(&query, 0);
            let below: f64 = children.total.iter().sum();
            assert_eq!((below + root.self_weight) as u64, weight, "{arguments:?}");
            let window =
                FlameWindow { root: 0, width_px: 1000.0, min_px: 0.5, search: String::new() };
            let graph = session.flame_graph(&query, &window);
            assert_eq!(graph.total.first().map_or(0, |&total| total as u64), weight);
        }
    }
    let shown = session.shown(query);
    assert_eq!((Some(shown.samples), shown.weight), (samples, weight), "{arguments:?}");
    assert_eq!(Some(shown.all_samples), report["all_samples"].as_u64());

    let order = FunctionOrder::default();
    let mut rows = |by| of_session(&session.functions(query, order, by, 0, usize::MAX));
    let functions = rows(GroupBy::Function);
    assert_eq!(functions, of_report(&report, "functions", function_text), "{arguments:?}");
    let (dsos, files, threads) = (rows(GroupBy::Dso), rows(GroupBy::File), rows(GroupBy::Thread));
    let sorted = |by: &str, text: &dyn Fn(&Value) -> String| {
        let report = recorded.report(&[&["--sort", by], arguments].concat());
        let rows = of_report(&report, "rows", |row| (text(row), String::new()));
        rows.into_iter().map(|((text, _), sums)| (text, sums)).collect::<BTreeMap<_, _>>()
    };
    let by_name = |rows: Rows| -> BTreeMap<String, (u64, u64)> {
        rows.into_iter().map(|((name, _), sums)| (name, sums)).collect()
    };
    let text = |member: &'static str, none: &'static str| {
        move |row: &Value| row[member].as_str().map_or(none.to_owned(), str::to_owned)
    };
    let dso = text("dso", "[no mapping]");
    assert_eq!(by_name(dsos), sorted("dso", &|row| file_name(&dso(row))), "{arguments:?}");
    let thread = |row: &Value| row["tid"].to_string();
    let numbers = threads
        .into_iter()
        .map(|((name, _), sums)| (name.rsplit(' ').next().expect("a number").to_owned(), sums));
    assert_eq!(numbers.collect::<BTreeMap<_, _>>(), sorted("tid", &thread), "{arguments:?}");
    // What has no file is told apart by DSO in the page.
    let known = |rows: BTreeMap<String, (u64, u64)>| -> BTreeMap<_, _> {
        rows.into_iter().filter(|(name, _)| !name.starts_with('[')).collect()
    };
    let by_file = sorted("srcfile", &text("file", "[none]"));
    assert_eq!(known(by_name(files)), known(by_file), "{arguments:?}");
}

#[test]
fn views_have_the_numbers_of_the_report() {
    let mut recorded = RecordedProgram::new();
    let mut all = Query { group: Group::None, inlines: Inlines::Shown, ..Query::default() };
    let events = &recorded.session.profile().events;
    all.event = events.iter().position(|event| event.samples > 0).expect("samples") as u32;
    check(&mut recorded, &all, &[]);
    check(&mut recorded, &Query { inlines: Inlines::Merged, ..all.clone() }, &["--no-inline"]);

    let comms = vec!["worker".to_owned(), "helper".to_owned()];
    check(&mut recorded, &Query { comms, ..all.clone() }, &["--comm", "worker,helper"]);
    let threads = recorded.tids("worker");
    let tid = threads[0].to_string();
    check(&mut recorded, &Query { threads, ..all.clone() }, &["--tid", &tid]);
    let dso = recorded.function("main").dso;
    check(&mut recorded, &Query { dsos: vec![dso], ..all.clone() }, &["--dso", "workload"]);

    let profile = recorded.session.profile();
    let first = profile.first_time().expect("times");
    let (start, stop) = (5_000_000, 40_000_000);
    let seconds = |nanos: u64| {
        let time = first + nanos;
        format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000)
    };
    let time = format!("{},{}", seconds(start), seconds(stop));
    let range = Some(TimeRange { start, end: stop + 1, side: RangeSide::Inside });
    check(&mut recorded, &Query { range, ..all.clone() }, &["--time", &time]);

    let step = |step: Transform| Query { steps: vec![step], ..all.clone() };
    let descend = || recorded.function("descend");
    let (drop, focus, merge) = (
        step(Transform::Drop { function: descend() }),
        step(Transform::Focus { function: descend() }),
        step(Transform::Merge { function: descend() }),
    );
    check(&mut recorded, &drop, &["--drop", "descend"]);
    check(&mut recorded, &focus, &["--focus", "workload:descend"]);
    check(&mut recorded, &merge, &["--merge", "descend"]);
    let search = step(Transform::Search { text: "compare".to_owned() });
    check(&mut recorded, &search, &["--search", "compare"]);
    let found = recorded.session.search(&all, "compare");
    assert_eq!(Some(found.samples), recorded.report(&["--search", "compare"])["samples"].as_u64());

    let both = Query { comms: vec!["worker".to_owned()], range, ..drop };
    let arguments = ["--comm", "worker", "--time", &time, "--drop", "descend"];
    check(&mut recorded, &both, &arguments);
}

#[test]
fn the_time_order_has_all_samples_of_a_thread() {
    let mut recorded = RecordedProgram::new();
    let event = recorded.session.profile().events.iter().position(|event| event.samples > 0);
    let all = Query { event: event.expect("samples") as u32, ..Query::default() };
    let focused = Query {
        steps: vec![Transform::Focus { function: recorded.function("sorts") }],
        ..all.clone()
    };
    for name in ["worker", "other worker", "helper", "workload"] {
        let thread = recorded.tids(name)[0];
        let tid = thread.to_string();
        for (query, arguments) in [(&all, &[][..]), (&focused, &["--focus", "sorts"])] {
            let report = recorded.report(&[&["--tid", &tid], arguments].concat());
            let window = TimeWindow {
                thread,
                start: 0.0,
                end: 1e12,
                width_px: 1000.0,
                min_px: 0.5,
                search: String::new(),
            };
            let order = recorded.session.time_order(query, &window);
            let samples = report["samples"].as_u64();
            assert_eq!(
                order.samples.first().copied(),
                samples.filter(|&count| count > 0),
                "{name}"
            );
            assert_eq!(order.nothing.is_some(), samples == Some(0), "{name} {arguments:?}");
        }
    }
}

#[test]
fn the_band_of_a_function_has_its_row_s_numbers() {
    let mut recorded = RecordedProgram::new();
    let query = Query::default();
    let report = recorded.report(&[]);
    for name in ["compare", "descend", "sorts", "main"] {
        let rows = report["functions"].as_array().expect("functions");
        let row = rows.iter().find(|row| row["name"] == name).expect("it ran");
        let facts = recorded.session.sandwich(&query, &recorded.function(name));
        let facts = facts.unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(Some(facts.self_weight as u64), row["self"].as_u64(), "{name}");
        assert_eq!(Some(facts.total_weight as u64), row["total"].as_u64(), "{name}");
        assert_eq!(Some(facts.self_samples), row["self_samples"].as_u64(), "{name}");
        let parts: f64 = facts.parts.iter().map(|part| part.weight).sum();
        assert_eq!(parts, facts.own_code_weight, "{name}");
        assert!(facts.file.is_some_and(|file| file.ends_with("workload.c")), "{name}");

        let hot = recorded.session.hot_lines(&query, &recorded.function(name));
        let hot = hot.unwrap_or_else(|| panic!("no lines of {name}"));
        assert_eq!(hot.own_code.weight as f64, facts.own_code_weight, "{name}");
        assert_eq!((hot.left_out.samples, hot.instructions_left_out.samples), (0, 0), "{name}");
        let lines: u64 = hot.lines.iter().map(|row| row.weight).sum();
        let instructions: u64 = hot.instructions.iter().map(|row| row.weight).sum();
        assert_eq!((lines, instructions), (hot.own_code.weight, hot.own_code.weight), "{name}");
        let ends_there = hot.own_code.samples > 0;
        assert_eq!(hot.lines.iter().any(|row| row.line.is_some()), ends_there, "{name}");
    }
}
