//! Recordings by others, of many versions, architectures and recorders: what perftab says of each
//! is what perf says of it, but for what [`EXCEPTIONS`] argues.
//!
//! The recordings are not ours to pass on. Any folder of recordings with `expected/*.tsv`
//! (`perftab_tests::expectation`) will do: `$PERFTAB_CORPUS`, else `shared/corpus` beside the
//! workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use perftab_core::session::Session;
use perftab_profile::{Dso, DsoKind, Thread};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::expectation::{self, Expectation, ExpectedRecording};
use perftab_tests::open::open;
use perftab_tests::perftab_binary;
use serde_json::Value;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    /// The number of SAMPLE records.
    Samples,
    /// Names of the events, in order.
    Events,
    /// Build-ids with the names they are listed under.
    BuildIds,
    /// Samples by event, comm and the DSO of the leaf.
    Top,
}

/// Where perf is wrong or says nothing of the kind: recording, aspect, why. One that no longer
/// differs fails the test, so that this table does not grow old.
const EXCEPTIONS: &[(&str, Aspect, &str)] = &[
    (
        "simpleperf/perf_test_max_stack_and_percent_limit.data",
        Aspect::Samples,
        "perf stops at the first record, one of simpleperf's own; 121 SAMPLE records follow it",
    ),
    (
        "quipper/perf.data.intel_pt-4.14",
        Aspect::Top,
        "perf decodes the trace of the hardware and makes events of it, cbr and psb",
    ),
    (
        "simpleperf/perf_with_mini_debug_info.data",
        Aspect::Top,
        "kernel addresses were hidden from the recorder, so that one module spans all of them; perf \
         7.2 finds one of two samples in it, perf 6.1 and we find both",
    ),
    (
        "simpleperf/etm/perf_with_unformatted_trace.data",
        Aspect::Events,
        "only perf 6.1 reads it, and has other words than perf 7.2 for a PMU that it does not know",
    ),
];

/// Where ours is not what perf says.
type Difference = (Aspect, String);

fn differences(expected: &ExpectedRecording, best: &Expectation, info: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    let samples = info["samples"].as_u64().expect("a number");
    if samples != best.samples {
        found.push((Aspect::Samples, format!("{samples}, perf has {}", best.samples)));
    }
    found.extend(events(expected, best, info).map(|text| (Aspect::Events, text)));
    found.extend(build_ids(best, info).into_iter().map(|text| (Aspect::BuildIds, text)));
    found
}

fn event_names(info: &Value) -> Vec<String> {
    let events = info["events"].as_array().expect("events");
    events.iter().map(|event| event["name"].as_str().expect("a name").to_owned()).collect()
}

/// `perf evlist` reads of a pipe what comes before the first record that is no attr; where names
/// come later (EVENT_UPDATE, EVENT_DESC), only `perf report` has them.
fn events(expected: &ExpectedRecording, best: &Expectation, info: &Value) -> Option<String> {
    let ours = event_names(info);
    let mut perfs = vec![best.events.clone()];
    if info["format"]["mode"] == "pipe" {
        perfs.extend(expected.versions.iter().map(reported_events));
    }
    let says_nothing = perfs.iter().all(Vec::is_empty);
    (!says_nothing && !perfs.contains(&ours)).then(|| format!("{ours:?}, perf has {perfs:?}"))
}

/// The names that `perf report` has, of events with samples.
fn reported_events(version: &Expectation) -> Vec<String> {
    let mut events: Vec<&str> = version.top.iter().map(|top| top.event.as_str()).collect();
    events.dedup();
    events.into_iter().flat_map(expectation::members).map(str::to_owned).collect()
}

/// Each id that perf lists is listed under the same name, and nothing else; except that perf lists
/// of the ids in MMAP2 records only those of DSOs with samples. Blanks mean that perf knows no id.
fn build_ids(expected: &Expectation, info: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dsos = info["dsos"].as_array().expect("DSOs");
    let ours: BTreeMap<(String, String), String> = dsos
        .iter()
        .filter(|dso| !dso["build_id"].is_null())
        .map(|dso| {
            let listed_as = if dso["listed_as"].is_null() { "path" } else { "listed_as" };
            ((text(&dso["build_id"]), text(&dso[listed_as])), text(&dso["recorded_by"]))
        })
        .collect();
    let mut found = Vec::new();
    for (id, name) in &expected.build_ids {
        // An id of zeros is none: the recorder had no more than the place for one.
        if id.bytes().all(|digit| digit == b'0') {
            let has_one = ours.keys().filter(|(_, path)| path == name);
            found.extend(has_one.map(|(id, _)| format!("{id} for {name}, perf has none")));
        } else if !ours.contains_key(&(id.clone(), name.clone())) {
            found.push(format!("{id} {name} is missing"));
        }
    }
    for (listed, recorded_by) in &ours {
        if !expected.build_ids.contains(listed) && recorded_by != "mmap" {
            found.push(format!("{} {}, which perf does not list", listed.0, listed.1));
        }
    }
    found
}

/// (comm, DSO) → samples.
type Rows = BTreeMap<(String, String), u64>;

/// Memory without a file, as the kernel calls it.
const ANONYMOUS: &str = "//anon";

/// The expectation holds this many rows of an event.
const MOST_ROWS: usize = 10;

/// Cuts names of threads as perf 6.1 and 7.2 do where they think a column less wide than it is: to
/// the width of its title, `Command`.
fn cut_comms(ours: &mut Rows, perfs: &Rows) {
    let cut = |comm: &str| comm.chars().take("Command".len()).collect::<String>();
    let keys: Vec<(String, String)> = ours.keys().cloned().collect();
    for key in keys {
        let is_known = perfs.keys().any(|(comm, _)| *comm == key.0);
        let short = cut(&key.0);
        if !is_known && perfs.keys().any(|(comm, _)| *comm == short) {
            let samples = ours.remove(&key).unwrap_or_default();
            *ours.entry((short, key.1)).or_default() += samples;
        }
    }
}

fn top(expected: &Expectation, session: &Session) -> Vec<String> {
    let mut found = Vec::new();
    let mut ours = rows_by_event(session);
    let mut perfs: Vec<(&str, Vec<&expectation::Top>)> = Vec::new();
    for row in &expected.top {
        match perfs.last_mut() {
            Some((event, rows)) if *event == row.event => rows.push(row),
            _ => perfs.push((&row.event, vec![row])),
        }
    }
    for (event, rows) in perfs {
        for (member, name) in expectation::members(event).into_iter().enumerate() {
            let Some(ours) = ours.get_mut(&bare(name)) else {
                found.push(format!("{name}: no such event"));
                continue;
            };
            let mut perfs = Rows::new();
            for row in &rows {
                // Memory without a file, which perf names after the process whose code it may be.
                let is_jit = row.dso.starts_with("[JIT] tid ");
                let dso = if is_jit { ANONYMOUS } else { &row.dso };
                *perfs.entry((row.comm.clone(), dso.to_owned())).or_default() +=
                    row.samples.get(member).copied().unwrap_or_default();
            }
            cut_comms(ours, &perfs);
            move_unmapped_kernel(ours, &perfs);
            let all_rows = rows.len() < MOST_ROWS;
            for key in ours.keys().chain(perfs.keys()).collect::<BTreeSet<_>>() {
                let (of_ours, of_perf) = (ours.get(key).copied(), perfs.get(key).copied());
                let listed = all_rows || of_perf.is_some();
                let (of_ours, of_perf) = (of_ours.unwrap_or(0), of_perf.unwrap_or(0));
                // Some of the rows that are one here may be behind the tenth.
                let is_more = key.1 == ANONYMOUS && !all_rows && of_ours > of_perf;
                if listed && of_ours != of_perf && !is_more {
                    let (comm, dso) = key;
                    found.push(format!("{name}; {comm}; {dso}: {of_ours}, perf has {of_perf}"));
                }
            }
        }
    }
    found
}

/// A kernel address in no mapping (a module loaded later, a kernel whose map was hidden) is the
/// kernel's here; perf calls it unknown. As many as perf has unknown are moved there.
fn move_unmapped_kernel(ours: &mut Rows, perfs: &Rows) {
    let of = |rows: &Rows, key: &(String, String)| rows.get(key).copied().unwrap_or_default();
    for unknown in perfs.keys().filter(|(_, dso)| dso == "[unknown]") {
        let kernel = (unknown.0.clone(), "[kernel.kallsyms]".to_owned());
        let too_many = of(ours, &kernel).saturating_sub(of(perfs, &kernel));
        let too_few = of(perfs, unknown).saturating_sub(of(ours, unknown));
        *ours.entry(kernel).or_default() -= too_many.min(too_few);
        *ours.entry(unknown.clone()).or_default() += too_many.min(too_few);
    }
}

/// Without modifiers, which `perf report` writes in another way than `perf evlist`.
fn bare(name: &str) -> String {
    match name.rsplit_once(':') {
        Some((bare, modifiers)) if modifiers.len() < 6 && !bare.is_empty() => bare.to_owned(),
        _ => name.to_owned(),
    }
}

fn rows_by_event(session: &Session) -> BTreeMap<String, Rows> {
    let profile = session.profile();
    let comms = comms(session);
    let mut found: BTreeMap<String, Rows> = BTreeMap::new();
    for row in 0..profile.samples.len() {
        let event = &profile.events[usize::from(profile.samples.event[row])].name;
        let comm = comms[profile.samples.thread.at(row).index()].clone();
        let leaf = profile.stacks.frames(profile.samples.stack[row]).next();
        let dso = leaf.map_or("[unknown]".to_owned(), |leaf| {
            short_name(profile.dsos.get(profile.frames.get(leaf).dso))
        });
        let rows = found.entry(bare(event)).or_default();
        *rows.entry((comm, dso)).or_default() += 1;
    }
    found
}

/// Names of threads as `perf report` has them: a thread that has no name yet is called what it is
/// called next (`thread__set_comm`, tools/perf/util/thread.c).
fn comms(session: &Session) -> Vec<String> {
    let threads = &session.profile().threads.threads;
    let name = |thread: &Thread| session.profile().strings.get(thread.name).to_owned();
    let next = |index: usize| {
        let thread = &threads[index];
        let later = threads[index + 1..].iter().find(|later| later.tid == thread.tid);
        later.filter(|_| name(thread) == format!(":{}", thread.tid)).unwrap_or(thread)
    };
    (0..threads.len()).map(|index| name(next(index))).collect()
}

/// As perf shortens a DSO's name.
fn short_name(dso: &Dso) -> String {
    let name = dso.path.rsplit('/').next().unwrap_or(&dso.path);
    match dso.kind {
        DsoKind::Unmapped => "[unknown]".to_owned(),
        DsoKind::Anon => dso.path.clone(),
        DsoKind::Module if !name.starts_with('[') => {
            let stem = name.split(".ko").next().unwrap_or(name);
            format!("[{}]", stem.replace('-', "_"))
        }
        _ => name.to_owned(),
    }
}

fn info(file: &Path) -> Result<Value, String> {
    let output = Command::new(perftab_binary())
        .args(["info", "--json", "--no-local"])
        .arg(file)
        .ended()
        .expect("perftab runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Whether `perf report` counts branches instead of samples: in file mode, the feature BRANCH_STACK
/// (15) says so.
fn counts_branches(file: &[u8]) -> bool {
    let is_file = file.starts_with(b"PERFILE2") && file.get(8) == Some(&104);
    is_file && file.get(73).is_some_and(|bits| bits & 1 << 7 != 0)
}

/// What differs in a recording, and nothing where nothing is expected: perf may have read nothing.
fn compare(corpus: &Path, expected: &ExpectedRecording) -> Vec<Difference> {
    let path = corpus.join(&expected.path);
    let Some(best) = expected.best() else { return Vec::new() };
    let info = match info(&path) {
        Ok(info) => info,
        Err(_) if best.samples == 0 && best.events.is_empty() => return Vec::new(),
        Err(error) => return vec![(Aspect::Samples, error)],
    };
    let bytes = fs::read(&path).expect("readable");
    let session = open(&bytes).expect("info was read");
    let mut found = differences(expected, best, &info);
    if !counts_branches(&bytes) {
        found.extend(top(best, &session).into_iter().map(|text| (Aspect::Top, text)));
    }
    found
}

#[test]
fn recordings_of_others_read_as_perf_reads_them() {
    let Some(corpus) = expectation::corpus() else {
        println!("SKIPPED: recordings_of_others_read_as_perf_reads_them: no $PERFTAB_CORPUS");
        return;
    };
    let mut wrong = Vec::new();
    for expected in expectation::read(&corpus) {
        let found = compare(&corpus, &expected);
        for (aspect, text) in &found {
            let is_excepted =
                |(path, of, _): &(&str, Aspect, &str)| *path == expected.path && of == aspect;
            if !EXCEPTIONS.iter().any(is_excepted) {
                wrong.push(format!("{}: {aspect:?}: {text}", expected.path));
            }
        }
        for (path, aspect, why) in EXCEPTIONS {
            if *path == expected.path && !found.iter().any(|(of, _)| of == aspect) {
                wrong.push(format!("{path}: {aspect:?} is as perf says, no exception: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
