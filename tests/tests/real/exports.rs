//! Collapsed stacks, read by inferno: what it adds up is what a report says. Other tools read their
//! formats in `tests/browser/exports.test.mjs`.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_core::session::{ExportStep, Session};
use perftab_export::{Events, ExportRequest, Format};
use perftab_names::{Ledger, Symbols};
use perftab_profile::{
    DsoKind, Event, EventId, Frame, MappedFrom, Process, Profile, Sample, Stacks, Thread,
};
use perftab_snapshot::{Contents, Facts, ShareOptions, Times, encode};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::{TASKS, compile};
use perftab_tests::{perf, perftab_binary};
use perftab_views::Query;

const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f31";

fn recorded(test: &str, folder: &TestFolder) -> Option<PathBuf> {
    let program = compile(folder, "workload", ID, TASKS);
    perf::record(test, &program, &folder.join("perf.data"))
}

fn perftab(arguments: &[&str], file: &Path) -> Vec<u8> {
    let output = Command::new(perftab_binary()).args(arguments).arg(file).ended();
    let output = output.expect("perftab runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Weights of all boxes of inferno's flame graph by name: a box is titled `name (weight …)`.
fn drawn_by_inferno(collapsed: &[u8]) -> BTreeMap<String, u64> {
    let mut options = inferno::flamegraph::Options::default();
    options.min_width = 0.0;
    options.factor = 1.0;
    let mut svg = Vec::new();
    inferno::flamegraph::from_reader(&mut options, Cursor::new(collapsed), &mut svg)
        .expect("inferno reads it");
    let svg = String::from_utf8(svg).expect("SVG is text");
    let titles = svg.split("<title>").skip(1).filter_map(|title| title.split_once("</title>"));
    let mut weights = BTreeMap::new();
    for (title, _) in titles {
        let Some((name, weight)) = title.rsplit_once(" (") else { continue };
        let digits = weight.split(' ').next().unwrap_or_default().replace(',', "");
        let weight: u64 = digits.parse().expect("a title has a weight");
        *weights.entry(name.to_owned()).or_default() += weight;
    }
    weights
}

#[test]
fn inferno_draws_collapsed_stacks_with_the_weights_of_a_report() {
    let folder = TestFolder::new();
    let test = "inferno_draws_collapsed_stacks_with_the_weights_of_a_report";
    let Some(recording) = recorded(test, &folder) else { return };
    let drawn = drawn_by_inferno(&perftab(&["export", "--to", "collapsed"], &recording));
    let report = perftab(&["report", "--json"], &recording);
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(serde_json::json!(drawn["all"]), report["weight"]);
    // `main` calls itself nowhere, so its boxes are its total.
    let functions = report["functions"].as_array().expect("functions");
    let totals = functions.iter().filter(|function| function["name"] == "main");
    let total: u64 = totals.filter_map(|function| function["total"].as_u64()).sum();
    assert!(total > 0);
    assert_eq!(drawn["main"], total);
}

/// All of a session in a format, in steps of this size.
fn exported(session: &mut Session, format: Format, pieces: usize) -> Vec<u8> {
    let (query, events) = (Query::default(), Events::All);
    let name = "profile".to_owned();
    let mut export = session.export(ExportRequest { format, query, events, name });
    let mut file = Vec::new();
    loop {
        match export.step(session, pieces, &mut file) {
            ExportStep::More { .. } => {}
            ExportStep::Done => return file,
            ExportStep::TooLarge => panic!("it is small"),
            ExportStep::Stale => panic!("nothing has changed names"),
        }
    }
}

#[test]
fn an_export_ends_at_its_limit() {
    let folder = TestFolder::new();
    let Some(recording) = recorded("an_export_ends_at_its_limit", &folder) else { return };
    let mut session = perftab_tests::open::open_path(&recording).expect("it opens");
    for format in Format::ALL {
        let whole = exported(&mut session, format, 50);
        let (query, events) = (Query::default(), Events::All);
        let request = ExportRequest { format, query, events, name: "profile".to_owned() };
        let mut export = session.export(request).with_limit(whole.len() as u64 / 2);
        let mut file = Vec::new();
        let end = loop {
            match export.step(&session, 50, &mut file) {
                ExportStep::More { .. } => {}
                end => break end,
            }
        };
        assert_eq!(end, ExportStep::TooLarge, "{format:?}");
        assert!(file.len() <= whole.len() / 2, "{format:?}: {} bytes", file.len());
    }
}

/// A small link of one thread that calls ever deeper, and that was sampled at each depth: each line of
/// collapsed stacks repeats those before.
fn link_that_grows(depth: u64) -> String {
    let mut profile = Profile::default();
    let name = profile.strings.intern("deep");
    let process = profile.threads.add_process(Process { pid: 1, name });
    let thread = profile.threads.add_thread(Thread { process, tid: 1, name });
    let path = "/usr/lib/a-library-with-a-name-of-some-length.so";
    let dso = profile.dsos.intern(path, DsoKind::User, MappedFrom::Nothing, None);
    let mut stack = Stacks::EMPTY;
    for address in 0..depth {
        let frame = profile.frames.intern(Frame { dso, address: address * 16 });
        stack = profile.stacks.intern(stack, frame);
        let event = EventId(0);
        profile.samples.push(Sample { time_nanos: 1, thread, stack, event, cpu: 0, weight: 1 });
    }
    profile.events.push(Event {
        name: "cpu-clock".to_owned(),
        samples: depth,
        weight: depth,
        ..Event::default()
    });
    let contents = Contents {
        symbols: &Symbols::new(&profile),
        ledger: &Ledger::new(&profile.dsos),
        warnings: &[],
        facts: &Facts::of(&profile),
        profile: &profile,
    };
    let options = ShareOptions { times: Times::None, ..ShareOptions::default() };
    encode(&contents, &options).expect("it fits").payload
}

#[test]
#[ignore = "left to --all: writes a gigabyte"]
fn a_small_link_does_not_fill_the_disk() {
    let folder = TestFolder::new();
    let payload = link_that_grows(12_000);
    assert!(payload.len() < 20_000, "{} characters", payload.len());
    let link = folder.write("link.txt", payload.as_bytes());
    let export = |arguments: &[&str]| {
        let mut command = Command::new(perftab_binary());
        command.args(["export", "--to", "collapsed", "--no-local"]).args(arguments).arg(&link);
        command.current_dir(&*folder).ended().expect("perftab runs")
    };
    let bounded = export(&["-o", "stacks.txt"]);
    let said = String::from_utf8_lossy(&bounded.stderr).into_owned();
    assert_eq!(bounded.status.code(), Some(1), "{said}");
    assert!(said.contains("--no-limit"), "{said}");
    // Nothing that others would take for all of it, and nothing of it under another name.
    let left: Vec<_> = fs::read_dir(&*folder).expect("a folder").flatten().collect();
    assert_eq!(left.iter().map(DirEntry::file_name).collect::<Vec<_>>(), ["link.txt"]);
    let whole = export(&["--no-limit", "-o", "/dev/null"]);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    // A report is as long as there are functions.
    let report = perftab(&["report", "--json", "--no-local"], &link);
    assert!(report.len() < 10_000_000, "{} bytes", report.len());
}

#[test]
fn a_link_is_exported_as_a_recording_is() {
    let folder = TestFolder::new();
    let test = "a_link_is_exported_as_a_recording_is";
    let Some(recording) = recorded(test, &folder) else { return };
    let mut here = perftab_tests::open::open_path(&recording).expect("it opens");
    let shared = here.share(&ShareOptions::default()).expect("it fits");
    let mut there = Session::from_snapshot(&shared.payload).expect("the link opens");
    for format in Format::ALL {
        let file = exported(&mut there, format, 1 << 16);
        assert!(file.len() > 500, "{format:?}: {} bytes", file.len());
        assert_eq!(file, exported(&mut there, format, 7), "{format:?}: steps change nothing");
    }
    let weight = |file: &[u8]| -> u64 {
        let lines = std::str::from_utf8(file).expect("text").lines();
        lines
            .map(|line| line.rsplit(' ').next().and_then(|w| w.parse::<u64>().ok()).unwrap_or(0))
            .sum()
    };
    let (here, there) = (
        exported(&mut here, Format::Collapsed, 1 << 16),
        exported(&mut there, Format::Collapsed, 1 << 16),
    );
    assert_eq!(weight(&here), weight(&there));
}
