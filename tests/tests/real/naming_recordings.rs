//! What may be named as a recording: a pipe, a folder, and a folder that is not whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::fixtures::story::{SERVER, at, sample, story, usual_events};
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::synth::{Order, Recording, context};
use serde_json::Value;

fn info(path: &Path) -> (Output, Value) {
    let output = Command::new(perftab_binary())
        .args(["info", "--json", "--no-local"])
        .arg(path)
        .ended()
        .expect("perftab runs");
    let info = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, info)
}

#[test]
fn a_fifo_is_read_as_standard_input_is() {
    let folder = TestFolder::new();
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).exit_status().expect("mkfifo").success());
    let bytes = story(Order::Little).pipe();
    let (output, info) = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&fifo, &bytes).expect("perftab reads"));
        info(&fifo)
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(info["format"]["mode"], "pipe");
}

/// perf writes no build-ids into a pipe unless it is told to.
#[test]
fn a_report_without_build_ids_says_how_to_get_them() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let said = |name: &str| {
        let report = Command::new(perftab_binary())
            .args(["report", "--no-local"])
            .arg(fixtures.join(name))
            .ended()
            .expect("perftab runs");
        String::from_utf8_lossy(&report.stderr).contains("perf record --buildid-mmap")
    };
    assert!(said("perf-pipe.perf.data"));
    assert!(!said("perf-buildid-mmap.perf.data"));
}

#[test]
fn a_folder_with_a_gap_in_it_says_so() {
    let folder = TestFolder::new();
    let mut streams = vec![Recording::new(Order::Little, usual_events()); 3];
    for (stream, time) in streams.iter_mut().zip(5_000..) {
        stream.sample(0, &sample(at(10, time, 0), 100, 1, &[context::USER, SERVER]));
    }
    for (name, bytes) in story(Order::Little).directory(&streams) {
        folder.write(&name, &bytes);
    }
    let says_so = |info: &Value| {
        let warnings = info["warnings"].as_array().expect("warnings");
        warnings.iter().any(|warning| warning["kind"] == "parts-missing")
    };
    let (_, all) = info(&folder);
    assert!(!says_so(&all), "{}", all["warnings"]);
    fs::remove_file(folder.join("data.1")).expect("it was there");
    let (_, rest) = info(&folder);
    assert!(says_so(&rest), "{}", rest["warnings"]);
    let samples = |info: &Value| info["samples"].as_u64().expect("a number");
    assert_eq!(samples(&rest) + 1, samples(&all));
}
