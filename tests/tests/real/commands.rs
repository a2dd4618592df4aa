//! The commands over recordings, run as users run them, on recordings by the real perf.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use perftab_core::session::Session;
use perftab_tests::child_process::{self, LimitedCommand, end_of};
use perftab_tests::fixtures::large::{SAMPLES, large_packed, large_wrapped};
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::perf_data::{IN_USER, PerfData, RecordStamp};
use perftab_tests::program::compile;
use perftab_tests::servers::{Debuginfod, Viewer};
use perftab_tests::synth::Packaging;
use perftab_tests::{perf, perftab_binary};
use perftab_views::functions::FunctionOrder;
use perftab_views::{Group, Query};

const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f31";
const OTHER: &str = "41b7e2c041b7e2c041b7e2c041b7e2c041b7e2c0";
const SOURCE: &str = "
static volatile unsigned long sum;
static void *volatile frame;
__attribute__((noinline)) void spin(unsigned long n) {
    frame = __builtin_frame_address(0); // gcc gives it a frame, which leads to its caller
    while (n--) sum += n;
}
int main(void) { spin(50000000); return 0; }
";

/// A recording of a program, in a folder of its own.
struct RecordedProgram {
    folder: TestFolder,
    program: PathBuf,
    recording: PathBuf,
}

impl RecordedProgram {
    fn new(test: &str) -> Option<Self> {
        Self::named(test, "spinner")
    }

    fn named(test: &str, name: &str) -> Option<Self> {
        let folder = TestFolder::new();
        let program = compile(&folder, name, ID, SOURCE);
        let recording = perf::record(test, &program, &folder.join("perf.data"))?;
        Some(Self { folder, program, recording })
    }

    /// Runs a command over the recording, in its folder.
    fn perftab(&self, arguments: &[&str]) -> Output {
        self.command(arguments).ended().expect("perftab runs")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.in_folder(Command::new(perftab_binary()));
        command.args(arguments);
        command
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command
            .env("HOME", &*self.folder)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("DEBUGINFOD_CACHE_PATH")
            .env_remove("DEBUGINFOD_URLS")
            .current_dir(&*self.folder);
        command
    }

    /// Names of the functions in the program.
    fn named_functions(&self, arguments: &[&str]) -> BTreeSet<String> {
        let output = self.perftab(&[&["report", "--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let functions = report["functions"].as_array().expect("functions");
        let of_program =
            functions.iter().filter(|f| f["dso"].as_str().map(Path::new) == Some(&self.program));
        of_program.filter_map(|f| f["name"].as_str().map(str::to_owned)).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn report_names_what_the_build_id_allows() {
    let Some(recorded) = RecordedProgram::new("report_names_what_the_build_id_allows") else {
        return;
    };
    assert!(recorded.named_functions(&[]).contains("spin"), "found by its recorded path");
    assert_eq!(recorded.named_functions(&["--no-local"]), BTreeSet::new());

    // Renamed and in a folder of other files: the path decides nothing.
    let elsewhere = recorded.folder.write("elsewhere/below/renamed", b"");
    fs::rename(&recorded.program, &elsewhere).expect("it is moved");
    recorded.folder.write("elsewhere/text", b"not an image");
    assert_eq!(recorded.named_functions(&[]), BTreeSet::new());
    assert!(recorded.named_functions(&["--image", "elsewhere"]).contains("spin"));
    let file = elsewhere.to_str().expect("UTF-8");
    assert!(recorded.named_functions(&["--no-local", "--image", file]).contains("spin"));

    // Another build under the recorded path.
    compile(&recorded.folder, "spinner", OTHER, SOURCE);
    assert_eq!(recorded.named_functions(&[]), BTreeSet::new());
    let output = recorded.perftab(&["report", "--image", "spinner"]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains(ID) && stderr.contains(OTHER), "both ids are said: {stderr}");
}

#[test]
fn report_prints_a_table_or_callers() {
    let Some(recorded) = RecordedProgram::new("report_prints_a_table_or_callers") else { return };
    let table = text(&recorded.perftab(&["report", "--limit", "1"]).stdout);
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 1, "{table}");
    let cells: Vec<&str> = rows[0].split_whitespace().collect();
    assert!(cells.contains(&"spin") && cells.contains(&"spinner"), "{table}");
    let callers = text(&recorded.perftab(&["report", "--inverted"]).stdout);
    let mut lines = callers.lines().skip_while(|line| !line.contains("spin "));
    lines.next().expect("spin");
    assert!(lines.next().is_some_and(|line| line.contains("  main ")), "{callers}");

    let unknown = recorded.perftab(&["report", "--event", "cycles:u"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("cpu-clock"), "{}", text(&unknown.stderr));
}

/// An empty table looks as if nothing had run.
#[test]
fn options_that_leave_no_row_are_answered() {
    let Some(recorded) = RecordedProgram::new("options_that_leave_no_row_are_answered") else {
        return;
    };
    for (options, code, says) in [
        (&["report", "-S", "spi"][..], 0, "-S takes whole names, --symbol-filter a part"),
        (&["report", "--sort", "comm,sym", "-S", "spi"], 0, "-S takes whole names"),
        (&["report", "--symbol-filter", "spun"], 0, "no function with samples has 'spun'"),
        (&["report", "-U", "--percent-limit", "101"], 0, "below --percent-limit"),
        (&["script", "-c", "nobody"], 0, "the filters leave no sample"),
        (&["script", "-S", "spi"], 0, "the filters leave no sample"),
        // perf records no CPU with the samples of a command.
        (&["report", "-C", "0-99"], 1, "record with -a, -C or --sample-cpu"),
        (&["script", "-C", "0-99"], 1, "record with -a, -C or --sample-cpu"),
    ] {
        let output = recorded.perftab(options);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{options:?}: {said}");
        assert!(said.contains(says), "{options:?}: {said}");
        let printed = text(&output.stdout);
        assert!(printed.lines().all(|line| line.starts_with('#')), "{options:?}: {printed}");
    }
    let said = text(&recorded.perftab(&["report", "--symbol-filter", "spi"]).stderr);
    assert!(!said.contains("no function with samples"), "{said}");
}

#[test]
fn names_come_from_a_real_debuginfod() {
    let test = "names_come_from_a_real_debuginfod";
    let Some(recorded) = RecordedProgram::new(test) else { return };
    let served = TestFolder::new();
    fs::rename(&recorded.program, served.join("program")).expect("it is moved");
    let Some(server) = Debuginfod::start(&served) else {
        println!("SKIPPED: {test}: debuginfod is not installed");
        return;
    };
    let named = ["--no-local", "--debuginfod", &server.url()];
    assert!(recorded.named_functions(&named).contains("spin"));
    drop(server);
    // What was fetched is kept, and is one of this machine's files from then on.
    assert!(recorded.named_functions(&[]).contains("spin"));
}

#[test]
fn a_false_debuginfod_gives_no_names() {
    let Some(recorded) = RecordedProgram::new("a_false_debuginfod_gives_no_names") else { return };
    let other = fs::read(compile(&recorded.folder, "spinner", OTHER, SOURCE)).expect("it");
    let server = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), other)]);
    let output = recorded.perftab(&["report", "--no-local", "--debuginfod", &server.url()]);
    assert_eq!(output.status.code(), Some(0));
    let stderr = text(&output.stderr);
    assert!(stderr.contains(&server.url()) && stderr.contains(OTHER), "{stderr}");
    assert!(!text(&output.stdout).contains("spin "), "{}", text(&output.stdout));
}

#[test]
fn a_server_that_is_down_is_named_once() {
    let Some(recorded) = RecordedProgram::new("a_server_that_is_down_is_named_once") else {
        return;
    };
    let down = http::down();
    let output = recorded.perftab(&["report", "--no-local", "--debuginfod", &down]);
    assert_eq!(output.status.code(), Some(0));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().filter(|line| line.contains(&down)).count(), 1, "{stderr}");
}

#[test]
fn b27_buildid_list_agrees_with_perf() {
    let Some(recorded) = RecordedProgram::new("b27_buildid_list_agrees_with_perf") else { return };
    let ours = recorded.perftab(&["buildid", "list", "-H"]);
    assert_eq!(ours.status.code(), Some(0), "{}", text(&ours.stderr));
    let ours = text(&ours.stdout);
    assert!(ours.contains(&format!("{ID} {}\n", recorded.program.display())), "{ours}");
    let perf = Command::new("perf")
        .args(["buildid-list", "-H", "-i"])
        .arg(&recorded.recording)
        .env("HOME", &*recorded.folder)
        .ended()
        .expect("perf runs");
    // perf 6.1 pads the path to a column and lists a DSO without an id under spaces.
    let lines = |text: &str| -> BTreeSet<String> {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        words.filter(|line| line.contains(' ')).collect()
    };
    let (ours, perf) = (lines(&ours), lines(&text(&perf.stdout)));
    let missing: Vec<&String> = perf.difference(&ours).collect();
    assert!(missing.is_empty(), "perf lists {missing:?}, we list {ours:?}");
}

#[test]
fn b34_the_kernels_id_alone() {
    let Some(recorded) = RecordedProgram::new("b34_the_kernels_id_alone") else { return };
    let all = text(&recorded.perftab(&["buildid", "list"]).stdout);
    let kernel = all.lines().find(|line| line.contains("[kernel.kallsyms]")).expect("the kernel");
    let alone = text(&recorded.perftab(&["buildid", "list", "--kernel"]).stdout);
    assert_eq!(alone, format!("{}\n", kernel.split(' ').next().expect("its id")));
}

#[test]
fn collapsed_stacks_hold_the_whole_weight() {
    let Some(recorded) = RecordedProgram::new("collapsed_stacks_hold_the_whole_weight") else {
        return;
    };
    let info = recorded.perftab(&["info", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    let weight = info["events"][0]["weight"].as_u64().expect("a weight");
    recorded.perftab(&["export", "--to", "collapsed", "-o", "stacks.txt"]);
    let stacks = fs::read_to_string(recorded.folder.join("stacks.txt")).expect("the stacks");
    let line_weight = |line: &str| line.rsplit(' ').next().and_then(|w| w.parse::<u64>().ok());
    let sum: u64 = stacks.lines().map(|line| line_weight(line).expect("a weight")).sum();
    assert!(weight > 0 && sum == weight, "{sum} of {weight}");
    assert!(stacks.lines().any(|line| line.contains(";main;spin ")), "{stacks}");
}

#[test]
fn a_link_holds_the_profile() {
    let Some(recorded) = RecordedProgram::new("a_link_holds_the_profile") else { return };
    let output = recorded.perftab(&["share", "--budget", "slack", "--base", "https://host/page"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(" of 4,000"), "{}", text(&output.stderr));
    let link = text(&output.stdout);
    assert!(link.trim_end().len() <= 4_000);
    let payload = link.trim_end().strip_prefix("https://host/page#").expect("the base");

    // Whoever opens it has no file, and sees the same names, totals and build-ids.
    let mut opened = Session::from_snapshot(payload).expect("the link opens");
    let query = Query { group: Group::None, ..Query::default() };
    let there = opened.report(&query, FunctionOrder::default(), usize::MAX);
    let here: serde_json::Value =
        serde_json::from_slice(&recorded.perftab(&["report", "--json"]).stdout).expect("JSON");
    assert_eq!(serde_json::json!(there.weight), here["weight"]);
    let spin = there.functions.iter().find(|f| f.name.as_deref() == Some("spin")).expect("spin");
    let functions = here["functions"].as_array().expect("functions");
    let spin_here = functions.iter().find(|f| f["name"] == "spin").expect("spin");
    assert_eq!(serde_json::json!(spin.self_weight), spin_here["self"]);
    assert_eq!(spin.build_id.map(|id| id.to_string()).as_deref(), Some(ID));

    let info: serde_json::Value =
        serde_json::from_slice(&recorded.perftab(&["info", "--json"]).stdout).expect("JSON");
    let recorder = info["recorder"]["version"].as_str().expect("perf says its version");
    assert_eq!(opened.info().recorder.version.as_deref(), Some(recorder));

    let elsewhere = recorded.command(&["share"]).env("PERFTAB_BASE_URL", "http://other/").ended();
    let link = text(&elsewhere.expect("perftab runs").stdout);
    assert!(link.starts_with("http://other/#p1."), "{link}");
    let nowhere = recorded.perftab(&["share", "--budget", "100"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("--budget"), "{}", text(&nowhere.stderr));
}

#[test]
fn a_link_is_called_what_its_sender_calls_it() {
    let test = "a_link_is_called_what_its_sender_calls_it";
    let Some(recorded) = RecordedProgram::new(test) else { return };
    let night = recorded.folder.join("night.data");
    fs::copy(&recorded.recording, &night).expect("a copy");
    let night = night.to_str().expect("UTF-8");
    let share = |arguments: &[&str]| {
        let output = recorded.perftab(&[&["share", "--no-local"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let link = text(&output.stdout).trim_end().to_owned();
        let payload = link.split_once('#').expect("a payload").1;
        (Session::from_snapshot(payload).expect("it opens").info().title, link)
    };
    let (named, link) = share(&["--title", "three o'clock", night]);
    assert_eq!(named.as_deref(), Some("three o'clock"));
    assert_eq!(share(&[&link]).0, named, "whoever passes it on says so, too");
    assert_eq!(share(&[night]).0.as_deref(), Some("night.data"));
    assert_eq!(share(&["--title", "", night]).0, None);
    // Every recording is called that.
    assert_eq!(share(&[recorded.recording.to_str().expect("UTF-8")]).0, None);
}

#[test]
fn a_page_carries_the_profile() {
    let Some(recorded) = RecordedProgram::new("a_page_carries_the_profile") else { return };
    let output = recorded.perftab(&["export", "--to", "html", "-o", "profile.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(recorded.folder.join("profile.html")).expect("the page");
    let element = "<script type=\"application/octet-stream\" id=\"profile\">";
    let (_, after) = page.split_once(element).expect("the profile's element");
    let payload = after.split('<').next().expect("the payload");
    let opened = Session::from_snapshot(payload).expect("it opens");
    let info: serde_json::Value =
        serde_json::from_slice(&recorded.perftab(&["info", "--json"]).stdout).expect("JSON");
    assert_eq!(serde_json::json!(opened.info().events[0].weight), info["events"][0]["weight"]);
}

#[test]
fn an_export_does_not_overwrite_its_recording() {
    let Some(recorded) = RecordedProgram::new("an_export_does_not_overwrite_its_recording") else {
        return;
    };
    let before = fs::read(&recorded.recording).expect("the recording");
    let output = recorded.perftab(&["export", "--to", "collapsed", "-o", "perf.data", "perf.data"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("is the recording itself"), "{output:?}");
    assert_eq!(fs::read(&recorded.recording).expect("the recording"), before);
}

#[test]
fn a_recording_is_read_from_standard_input() {
    let Some(recorded) = RecordedProgram::new("a_recording_is_read_from_standard_input") else {
        return;
    };
    let input = fs::File::open(&recorded.recording).expect("the recording");
    let piped = recorded.command(&["report", "--json", "-"]).ended_with(input).expect("it runs");
    let named = recorded.perftab(&["report", "--json", "perf.data"]);
    assert_eq!(piped.status.code(), Some(0), "{}", text(&piped.stderr));
    assert_eq!(text(&piped.stdout), text(&named.stdout));
    // Where none is named, that of a pipe is read, as in perf, and not the one in the folder; but for pipes that bring none.
    fs::create_dir(recorded.folder.join("sub")).expect("a folder");
    fs::write(recorded.folder.join("sub/perf.data"), b"another").expect("a file");
    for line in ["cat perf.data | (cd sub && \"$0\" report --json)", ": | \"$0\" report --json"] {
        let mut shell = recorded.in_folder(Command::new("sh"));
        let piped = shell.args(["-c", line]).arg(perftab_binary()).ended().expect("it runs");
        assert_eq!(text(&piped.stdout), text(&named.stdout), "{line}: {}", text(&piped.stderr));
    }

    // What perf writes into a pipe is named as what it writes into a file, by every verb.
    let pipe = recorded.folder.join("pipe.data");
    let mut record = Command::new("perf");
    let options = ["record", "-q", "-e", "cpu-clock", "-g", "--buildid-mmap", "-o", "-"];
    record.args(options).arg(&recorded.program).env("HOME", &*recorded.folder);
    let piped = perf::until_the_kernel_lets(&mut record).expect("perf runs");
    fs::write(&pipe, piped.stdout).expect("it is kept");
    for verb in [
        &["report", "--json"][..],
        &["script"],
        &["info", "--json"],
        &["annotate", "--asm"],
        &["export", "--to", "collapsed"],
        &["buildid", "list"],
        &["buildid", "verify", "-H"],
    ] {
        let input = fs::File::open(&pipe).expect("the recording");
        let arguments = [verb, &["-"]].concat();
        let streamed = recorded.command(&arguments).ended_with(input).expect("it runs");
        assert_eq!(streamed.status.code(), Some(0), "{verb:?}: {}", text(&streamed.stderr));
        let arguments = [verb, &["pipe.data"]].concat();
        assert_eq!(text(&streamed.stdout), text(&recorded.perftab(&arguments).stdout), "{verb:?}");
        let has_names = text(&streamed.stdout).contains("spin") || verb[0] == "buildid";
        assert!(has_names, "{verb:?}: {}", text(&streamed.stdout));
    }
    let statuses = |file: &str| -> BTreeSet<(String, String)> {
        let output = recorded.perftab(&["info", "--json", file]);
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let dsos = info["dsos"].as_array().expect("DSOs").iter();
        let of_program = dsos.filter(|dso| dso["path"].as_str() == recorded.program.to_str());
        of_program.map(|dso| (dso["path"].to_string(), dso["status"].to_string())).collect()
    };
    assert_eq!(statuses("pipe.data"), statuses("perf.data"));
    assert_eq!(statuses("pipe.data").len(), 1);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let Some(recorded) = RecordedProgram::new("a_reader_that_has_enough_is_no_failure") else {
        return;
    };
    let mut child = recorded
        .command(&["info", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab runs");
    // Closed before anything is written.
    drop(child.stdout.take());
    let output = end_of(child, "perftab info without a reader");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_written_is_named() {
    let Some(recorded) = RecordedProgram::new("what_cannot_be_written_is_named") else { return };
    for (command, says) in [
        (&["script"][..], "perftab: standard output: No space left"),
        (&["buildid", "archive", "-o", "-"], "perftab: writing -: standard output: No space left"),
    ] {
        let full = fs::File::create("/dev/full").expect("it can be opened");
        let mut command = recorded.command(command);
        let child = command.stdout(full).stderr(Stdio::piped()).spawn().expect("perftab runs");
        let output = end_of(child, "perftab that cannot write");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// Another thread unpacks it, waits where it is far ahead, and is told when nobody wants more.
#[test]
fn a_packed_recording_is_read_to_its_end_or_until_a_reader_has_enough() {
    const ROUNDS: u64 = 45; // More than may wait to be read.
    let folder = TestFolder::new();
    let records = large_packed(Packaging::Compressed, ROUNDS);
    for (name, file) in [("wrapped", large_wrapped(ROUNDS)), ("records", records)] {
        let path = folder.write(name, &file);
        let perftab = |command: &[&str]| {
            let mut perftab = Command::new(perftab_binary());
            perftab.args(command).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
            perftab.spawn().expect("perftab runs")
        };
        let output = end_of(perftab(&["info", "--json", "--no-local"]), "perftab info");
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(info["samples"].as_u64() > Some(ROUNDS * SAMPLES), "{info}");

        let mut child = perftab(&["script"]);
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().expect("piped"));
        reader.read_line(&mut line).expect("it says something");
        assert!(line.contains("server"), "{line}");
        drop(reader);
        let output = end_of(child, "perftab script without a reader");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let test = "control_characters_do_not_reach_the_terminal";
    let Some(recorded) = RecordedProgram::named(test, "spin\x1b]0;title\x07ner") else { return };
    for command in [&["report"][..], &["report", "--inverted"], &["info"], &["buildid", "list"]] {
        let output = recorded.perftab(command);
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(shown.contains("title"), "{command:?}: {shown}");
        let control = |c: char| c.is_control() && c != '\n';
        assert!(!shown.contains(control), "{command:?}: {shown:?}");
    }
}

#[test]
fn what_was_lost_decides_the_exit_code_under_strict() {
    let test = "what_was_lost_decides_the_exit_code_under_strict";
    let Some(recorded) = RecordedProgram::new(test) else { return };
    assert_eq!(recorded.perftab(&["report", "--strict"]).status.code(), Some(0));
    let whole = fs::read(&recorded.recording).expect("the recording");
    recorded.folder.write("cut.data", &whole[..whole.len() / 2]);
    let cut = recorded.perftab(&["report", "cut.data"]);
    assert_eq!(cut.status.code(), Some(0), "{}", text(&cut.stderr));
    assert!(text(&cut.stderr).contains("warning: "), "{}", text(&cut.stderr));
    assert_eq!(recorded.perftab(&["report", "cut.data", "--strict"]).status.code(), Some(3));
}

#[test]
fn failures_are_one_line_and_usage_is_told_apart() {
    let folder = TestFolder::new();
    folder.write("picture.png", b"\x89PNG\r\n\x1a\n and so on");
    let perftab = |arguments: &[&str]| {
        let mut command = Command::new(perftab_binary());
        command.args(arguments).current_dir(&*folder).ended().expect("perftab runs")
    };
    for (arguments, says) in [
        (&["report", "picture.png"][..], "89 50 4e 47"),
        (&["info", "no.data"], "no.data"),
        (&["report"], "perftab record"),
        (&["buildid", "list", "."], "folder"),
        (&["export", "--to", "collapsed", "picture.png"], "not a perf.data file"),
    ] {
        let output = perftab(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let stderr = text(&output.stderr);
        assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?} prints on standard output");
    }
    for arguments in [
        &["frobnicate"][..],
        &["report", "--sort", "size"],
        &["export", "perf.data"],
        &["view", "--debuginfod", "ftp://host"],
        &["share", "--budget", "fax"],
        &["share", "--base", "javascript:alert(1)"],
    ] {
        assert_eq!(perftab(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn view_finds_files_by_the_paths_of_the_recording() {
    let test = "view_finds_files_by_the_paths_of_the_recording";
    let Some(recorded) = RecordedProgram::new(test) else { return };
    let bytes = fs::read(&recorded.program).expect("the program");
    let viewer = Viewer::start(&[recorded.recording.to_str().expect("UTF-8")]);
    viewer.tell_files(&recorded.recording);
    for artifact in ["executable", "debuginfo"] {
        let answer = viewer.get(&format!("/debuginfod/buildid/{ID}/{artifact}"));
        assert!(answer.status == 200 && answer.body == bytes, "{artifact}: {}", answer.status);
    }
    // Another build under the path is not it.
    compile(&recorded.folder, "spinner", OTHER, SOURCE);
    for id in [ID, OTHER] {
        let answer = viewer.get(&format!("/debuginfod/buildid/{id}/executable"));
        assert_eq!(answer.status, 404, "{id}");
    }
}

#[test]
fn spooling_ends_when_the_writer_does() {
    let mut child = Command::new(perftab_binary())
        .args(["report", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab runs");
    let mut stdin = child.stdin.take().expect("its standard input");
    stdin.write_all(b"PERF").expect("it reads");
    drop(stdin);
    let line =
        child_process::line_of(&mut child.stderr.take().expect("a pipe"), "perftab report -");
    assert!(line.contains("standard input"), "{line}");
    assert_eq!(child_process::wait(&mut child, "perftab report -").code(), Some(1));
}

/// Each fork shares what its parent has mapped. With a copy for each, this file of 4 MB took 3 GB.
#[test]
fn memory_does_not_grow_with_mappings_times_forks() {
    let folder = TestFolder::new();
    let stamp = |pid: u32, time: u64| RecordStamp { pid, tid: pid, time };
    let mut it = PerfData::new();
    for page in 0..2000 {
        it = it.mmap_inode(stamp(7, 1), page * 0x2000..page * 0x2000 + 0x1000, 5, "/opt/app");
    }
    for child in 0..35_000_u64 {
        let (pid, time) = (100 + child as u32, 10 + child);
        it = it.fork(stamp(pid, time), 7);
        if child % 500 == 0 {
            it = it.sample(stamp(pid, time), 1, &[IN_USER, 0x2000 * (child % 2000) + 8]);
        }
    }
    let file = it.finish();
    let script = within(600_000, "script", &folder.write("perf.data", &file));
    assert_eq!(script.matches("/opt/app").count(), 70, "{script}");
    within(200_000, "info", &folder.join("perf.data"));
    within(200_000, "info", &folder.write("perf.data.gz", &gzip(&file)));
}

/// Processes that come, map code of their own, and go: their pids are used again.
#[test]
fn memory_does_not_grow_with_processes_that_have_ended() {
    let folder = TestFolder::new();
    let stamp = |pid: u32, time: u64| RecordStamp { pid, tid: pid, time };
    let mut it = PerfData::new();
    for page in 0..2000 {
        it = it.mmap_inode(stamp(7, 1), page * 0x2000..page * 0x2000 + 0x1000, 5, "/opt/app");
    }
    for child in 0..100_000_u64 {
        let (pid, time) = (100 + (child % 30_000) as u32, 10 + 10 * child);
        let code = 0x1000_0000 + 0x1000 * (child % 100);
        it = it.fork(stamp(pid, time), 7);
        it = it.mmap_inode(stamp(pid, time + 1), code..code + 0x1000, 6, "/opt/own");
        if child % 1000 == 0 {
            it = it.sample(stamp(pid, time + 2), 1, &[IN_USER, code + 8, 0x2000 * 9 + 8]);
        }
        it = it.exit(stamp(pid, time + 3), 7);
    }
    let file = it.finish();
    within(200_000, "info", &folder.write("perf.data", &file));
    within(200_000, "info", &folder.write("perf.data.gz", &gzip(&file)));
    let script = within(600_000, "script", &folder.join("perf.data.gz"));
    assert_eq!(script.matches("/opt/own").count(), 100, "{script}");
    assert_eq!(script.matches("/opt/app").count(), 100, "{script}");
}

/// What a command prints of a recording with so many KiB of address space.
#[track_caller]
fn within(kilobytes: u32, command: &str, file: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", "ulimit -v \"$0\"; exec \"$1\" \"$2\" --no-local \"$3\""])
        .arg(kilobytes.to_string())
        .args([perftab_binary().as_os_str(), command.as_ref(), file.as_os_str()])
        .ended()
        .expect("perftab runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command} {}: {said}", file.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).expect("into memory");
    packer.finish().expect("into memory")
}

/// `missing` of what no sample touches would look like something to do.
#[test]
fn what_no_sample_touches_is_counted_in_text_and_not_sampled_in_json() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/perf-fp.perf.data");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(perftab_binary());
        let output = command.args(arguments).arg(&fixture).ended().expect("perftab runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json = |command: &str| -> serde_json::Value {
        serde_json::from_str(&run(&[command, "--json"])).expect("JSON")
    };
    let text = run(&["info"]);
    let (info, report) = (json("info"), json("report"));
    let rows = |of: &serde_json::Value| of["dsos"].as_array().expect("DSOs").clone();
    let mut unsampled = 0;
    for row in rows(&info) {
        let path = row["path"].as_str().expect("a path");
        let is_sampled = row["samples"] != 0;
        assert_eq!(row["sampled"], is_sampled, "{row}");
        assert_eq!(text.lines().any(|line| line.ends_with(path)), is_sampled, "{path}: {text}");
        unsampled += u32::from(!is_sampled);
    }
    assert!(unsampled > 0, "nothing is without samples");
    assert!(text.contains(&format!(" {unsampled} more DSO")), "{text}");
    assert!(rows(&report).iter().all(|row| row["sampled"] == (row["samples"] != 0)));
}

#[test]
fn a_stripped_file_has_no_symbols_and_says_where_they_are() {
    let test = "a_stripped_file_has_no_symbols_and_says_where_they_are";
    let Some(recorded) = RecordedProgram::new(test) else { return };
    let stripped = recorded.folder.join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").args([&stripped, &recorded.program]);
    assert!(strip.exit_status().expect("strip runs").success());
    let image = stripped.to_str().expect("UTF-8");
    let json = recorded.perftab(&["report", "--json", "--no-local", "--image", image]).stdout;
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = report["dsos"].as_array().expect("DSOs");
    let row = rows.iter().find(|row| row["build_id"] == ID).expect("a row");
    assert_eq!((&row["status"], &row["image"]), (&"no-symbols".into(), &image.into()));
    assert_eq!(row["unnamed_leaf_samples"], row["leaf_samples"]);
    assert!(!row["hints"].as_array().expect("hints").is_empty(), "{row}");
    let text = recorded.perftab(&["info", "--no-local", "--image", image]).stdout;
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(text.lines().any(|line| line.contains(&ID[..8])), "{text}");
}

/// Whoever packs perftab puts these in place: a manual page for each command, and what shells complete.
#[test]
fn help_files_are_of_every_command() {
    let folder = TestFolder::new();
    let written = Command::new(perftab_binary()).arg("help-files").arg(&*folder).ended().unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let help = Command::new(perftab_binary()).arg("--help").ended().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let commands = help.split("Commands:").nth(1).expect("commands").split("\n\n").next().unwrap();
    let names: Vec<&str> =
        commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 5, "{help}");
    let bash = fs::read_to_string(folder.join("completions/perftab.bash")).unwrap();
    // That is between a recorder and its copy.
    assert!(bash.contains("--call-graph") && !bash.contains("--exec-when-continued"), "{bash}");
    for name in names {
        let page = fs::read_to_string(folder.join(format!("man/man1/perftab-{name}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{name}");
        assert!(bash.contains(&format!("perftab,{name})")), "{name}");
    }
}
