//! The page and the command line decide alike whether a file names what was recorded, and say the same.
//!
//! A case is a recording and files. The page is its façade in WebAssembly, which node runs, once for all
//! cases. Situations A to J come from `peers`, the others from what is required of admitting and refusing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_perfdata::decode::SliceSource;
use perftab_snapshot::{Privacy, ShareOptions};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;
use perftab_tests::perftab_at;
use perftab_tests::servers::Viewer;
use perftab_tests::tier::part_of;
use serde_json::{Value, json};

use crate::build_ids::builds::{
    Builds, Files, Ids, OLDER_ID, Replaced, is_installed, run, stderr, text,
};
use crate::build_ids::gate::program;
use crate::build_ids::kernel::{map, recording, samples};
use crate::build_ids::peers::{SITUATIONS, Situation, record};
use crate::build_ids::requirements::root;
use crate::build_ids::synthetic_kernel::{
    KERNEL_ID, MODULE_ID, OTHER_MODULE_ID, PLACE, REBUILT_ID, by_nm, kernel, module, of_kernel,
    of_loaded, of_replaced_module,
};

/// A recording and the files that are given for it, in this order.
struct Case {
    name: String,
    recording: PathBuf,
    carrier: Carrier,
    files: Vec<PathBuf>,
    /// DSOs by path, and the files that the user insists on; for the kernel as `--vmlinux`.
    forced: Vec<(PathBuf, PathBuf)>,
    machine: Files,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Recording,
    Link,
}

impl Case {
    fn new(name: &str, recording: &Path, files: &[&Path]) -> Self {
        let shown: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
        Self {
            name: format!("{name}, given {shown:?}"),
            recording: recording.to_owned(),
            carrier: Carrier::Recording,
            files: files.iter().map(|&file| file.to_owned()).collect(),
            forced: Vec::new(),
            machine: Files::Given,
        }
    }
}

/// Cases, and the folders in which their files are.
#[derive(Default)]
struct Table {
    cases: Vec<Case>,
    builds: Vec<Builds>,
    folders: Vec<TestFolder>,
}

impl Table {
    /// A case for each choice of files.
    fn add(&mut self, name: &str, recording: &Path, choices: &[&[&Path]]) {
        self.cases.extend(choices.iter().map(|files| Case::new(name, recording, files)));
    }
}

/// What a host says.
#[derive(Debug, PartialEq)]
struct Answer {
    /// Id, status, file and what it gives, of each DSO.
    dsos: BTreeSet<String>,
    /// Name or address, DSO, weights.
    functions: Vec<String>,
}

#[test]
fn b04_b12_b30_b48_page_and_command_line_decide_alike() {
    const TEST: &str = "b04_b12_b30_b48_page_and_command_line_decide_alike";
    if std::env::var_os("PERFTAB_WASM").is_none() {
        println!("SKIPPED: {TEST}: it needs the page's WebAssembly: cargo xtask test");
        return;
    }
    if !is_installed(TEST, "node") {
        return;
    }
    let mut table = Table::default();
    if is_installed(TEST, "perf") {
        // The first and the last are always tried: F, in which the hosts once differed, and A, where
        // another build has the recorded name.
        let mut situations: Vec<&Situation> = SITUATIONS.iter().collect();
        situations.sort_by_key(|it| match it.letter {
            'F' => 0,
            'A' => 2,
            _ => 1,
        });
        for situation in part_of(situations, 3, "situations") {
            add_situation(&mut table, situation);
        }
    }
    add_builds_of_one_path(&mut table);
    add_lengths_of_ids(&mut table);
    add_files_without_ids(&mut table);
    add_kernel(&mut table);
    add_module(&mut table);
    let folder = TestFolder::new();
    let pages = by_page(&folder, &table.cases);
    for status in ["matched", "mismatched", "missing"] {
        let has_it = pages.iter().any(|page| page.has_status(status));
        assert!(has_it, "nothing is {status}: the cases compare nothing");
    }
    let mut different = Vec::new();
    for (case, page) in table.cases.iter().zip(pages) {
        let command = by_commands(&folder, case);
        if page != command {
            different.push(format!("{}\npage: {page:#?}\ncommand line: {command:#?}", case.name));
        }
    }
    let count = table.cases.len();
    println!("{count} cases");
    assert!(different.is_empty(), "{} of {count}:\n{}", different.len(), different.join("\n\n"));
}

/// Given what is at the program's path, what ran, and both; with and without what this machine says.
fn add_situation(table: &mut Table, situation: &Situation) {
    let (builds, recording) = record(situation);
    let (newer, older) = (builds.program.clone(), builds.older.clone());
    for machine in [Files::Given, Files::OfThisMachine] {
        let name = match machine {
            Files::Given => format!("{} elsewhere", situation.letter),
            Files::OfThisMachine => format!("{} where it was recorded", situation.letter),
        };
        let first = table.cases.len();
        let choices: [&[&Path]; 3] = [&[&newer], &[&older], &[&older, &newer]];
        table.add(&name, &recording, &choices);
        table.cases[first..].iter_mut().for_each(|case| case.machine = machine);
    }
    table.builds.push(builds);
}

/// b03 b12 b30 b31 b43 b45 b46: two builds that ran under one path, and files that are not quite theirs.
fn add_builds_of_one_path(table: &mut Table) {
    let builds = Builds::new(Ids::Different);
    let script = builds.script(Replaced::ByRename);
    let (recording, _) = builds.record(&[], &["sh", "-c", &script]);
    let (older, newer) = (&*builds.older, &*builds.newer);
    let debug = builds.folder.join("older.debug");
    run("objcopy", &["--only-keep-debug", text(older), text(&debug)]);
    run("gzip", &["--keep", text(older)]);
    let packed = builds.folder.join("older.gz");
    let archive = builds.folder.join("both.tar");
    run("tar", &["-cf", text(&archive), "-C", text(&builds.folder), "older", "newer"]);
    let bytes = fs::read(older).expect("a file");
    let cut = builds.folder.write("cut", &bytes[..bytes.len() / 2]);
    let id: Vec<u8> = (0..OLDER_ID.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&OLDER_ID[at..at + 2], 16).expect("hex"))
        .collect();
    let place = bytes.windows(id.len()).position(|it| it == id).expect("its id");
    let mut flipped = bytes.clone();
    flipped[place + 7] ^= 1;
    let flipped = builds.folder.write("flipped", &flipped);
    let perf_map = builds.folder.write("perf-7.map", b"1000 2000 compiled\n");
    let choices: [&[&Path]; 10] = [
        &[],
        &[older],
        &[newer],
        &[newer, older],
        &[&debug],
        &[&packed],
        &[&archive],
        &[&cut],
        &[&flipped, newer],
        &[&perf_map],
    ];
    table.add("two builds of one path", &recording, &choices);

    let (alone, _) = record_alone(&builds);
    let mut forced = Case::new("another build by force", &alone, &[]);
    forced.forced.push((builds.program.clone(), builds.newer.clone()));
    table.cases.push(forced);

    let mut session = open_path(&alone).expect("it opens");
    let privacy = Privacy::everything();
    let options = ShareOptions { characters: 1 << 20, privacy, ..ShareOptions::default() };
    for (name, is_named) in [("link with names", true), ("link without", false)] {
        if is_named {
            let source = SliceSource::new(fs::read(&builds.older).expect("a file"));
            session.admit("older", Box::new(source)).expect("it is what ran");
        } else {
            session = open_path(&alone).expect("it opens");
        }
        session.name_all_frames();
        let payload = session.share(&options).expect("it fits").payload;
        let link = format!("https://perftab.invalid/#{payload}\n");
        let link = builds.folder.write(&format!("{name}.txt"), link.as_bytes());
        let first = table.cases.len();
        table.add(name, &link, &[&[], &[&builds.newer], &[&builds.older]]);
        table.cases[first..].iter_mut().for_each(|case| case.carrier = Carrier::Link);
    }
    table.builds.push(builds);
}

/// Only the older build ran, at the path where the newer one ran last.
fn record_alone(builds: &Builds) -> (PathBuf, String) {
    perftab_tests::program::copy(&builds.older, &builds.folder.join("again"));
    let renamed = fs::rename(builds.folder.join("again"), &builds.program);
    renamed.expect("it takes its place");
    let kept = builds.folder.join("two.data");
    fs::rename(builds.folder.join("perftab.data"), &kept).expect("the first recording is kept");
    let recorded = builds.record(&[], &[text(&builds.program), "120"]);
    let (alone, two) = (builds.folder.join("alone.data"), builds.folder.join("perftab.data"));
    fs::rename(&recorded.0, &alone).expect("it is renamed");
    fs::rename(kept, two).expect("it is back");
    (alone, recorded.1)
}

/// b10: ids of other lengths, and others that differ in the last bit or in zeros at the end.
fn add_lengths_of_ids(table: &mut Table) {
    const NEAR: &[(&str, &str)] =
        &[("0123456789abcdef000000", "0123456789abcdef"), ("7f", "7e"), ("0123", "012300")];
    let builds = Builds::new(Ids::None);
    for (id, near) in part_of(NEAR, 2, "ids") {
        let right = program(&builds.folder, &format!("of_{id}"), "right", &format!("0x{id}"));
        let wrong = program(&builds.folder, &format!("near_{id}"), "wrong", &format!("0x{near}"));
        let mut recordings = vec![builds.record(&[], &[text(&right)]).0];
        if is_installed("b10", "perf") {
            recordings.push(builds.record_by_perf(&["-N"], &[text(&right)]));
        }
        for recording in recordings {
            let kept = recording.with_extension(id);
            fs::rename(recording, &kept).expect("it is renamed");
            let choices: [&[&Path]; 3] = [&[&right], &[&wrong], &[&wrong, &right]];
            table.add(&format!("an id of {} digits", id.len()), &kept, &choices);
        }
    }
    table.builds.push(builds);
}

/// b09: files without ids, one of which took the place of the other.
fn add_files_without_ids(table: &mut Table) {
    let builds = Builds::new(Ids::None);
    let script = builds.script(Replaced::ByRename);
    let (recording, _) = builds.record(&[], &["sh", "-c", &script]);
    let (older, newer) = (&*builds.older, &*builds.newer);
    table.add("no ids", &recording, &[&[older], &[newer], &[newer, older]]);
    table.builds.push(builds);
}

/// b21 b24 b32: a kernel where KASLR put it, and one that was rebuilt, with other functions at the same
/// addresses. b25: the user insists on that one.
fn add_kernel(table: &mut Table) {
    let folder = TestFolder::new();
    let vmlinux = kernel(&folder, "vmlinux", "made", &KERNEL_ID);
    let rebuilt = kernel(&folder, "rebuilt", "rebuilt", &REBUILT_ID);
    for slide in [0, 0x1200_0000] {
        let recording = of_kernel(&by_nm(&vmlinux), slide, &KERNEL_ID).file();
        let recording = folder.write(&format!("{slide}.data"), &recording);
        let choices: [&[&Path]; 3] = [&[&vmlinux], &[&rebuilt], &[&rebuilt, &vmlinux]];
        table.add("a kernel", &recording, &choices);
        let mut forced = Case::new("another kernel by force", &recording, &[]);
        forced.forced.push((PathBuf::from("[kernel.kallsyms]"), rebuilt.clone()));
        table.cases.push(forced);
    }
    table.folders.push(folder);
}

/// b16 b17 b18: a module, packed too, and another one.
fn add_module(table: &mut Table) {
    let folder = TestFolder::new();
    let right = module(&folder, "sound", "right", &MODULE_ID);
    let wrong = module(&folder, "other", "wrong", &OTHER_MODULE_ID);
    run("gzip", &["--keep", text(&right)]);
    let packed = folder.join("sound.ko.gz");
    let functions = of_loaded(&right);
    let end = functions.keys().max().expect("functions") + 64;
    let mut it = recording();
    map(&mut it, "[sound]", PLACE..PLACE + end, 0, &MODULE_ID);
    samples(&mut it, functions.keys().map(|address| PLACE + address + 4));
    let recording = folder.write("perf.data", &it.file());
    let choices: [&[&Path]; 4] = [&[&right], &[&packed], &[&wrong], &[&wrong, &right]];
    table.add("a module", &recording, &choices);

    // b06: what took its place has functions at the same addresses.
    fs::create_dir(folder.join("newer")).expect("a folder");
    let newer = module(&folder.join("newer"), "sound", "newer", &OTHER_MODULE_ID);
    let replaced = of_replaced_module(&functions);
    let recording = folder.write("replaced.data", &replaced.file());
    let choices: [&[&Path]; 3] = [&[&right], &[&newer], &[&newer, &right]];
    table.add("a module that was replaced", &recording, &choices);
    table.folders.push(folder);
}

fn by_page(folder: &TestFolder, cases: &[Case]) -> Vec<Answer> {
    let mut late_ids = LateIds::default();
    let asked: Vec<Value> = cases
        .iter()
        .map(|case| {
            let forced = case.forced.iter().map(|(path, file)| json!({"path": path, "file": file}));
            json!({
                "recording": case.recording,
                "carrier": if case.carrier == Carrier::Link { "link" } else { "recording" },
                "files": case.files,
                "forced": forced.collect::<Vec<_>>(),
                "late": late_ids.of(case),
            })
        })
        .collect();
    let file = folder.write("cases.json", Value::from(asked).to_string().as_bytes());
    let script = root().join("tests/wasm/hosts.mjs");
    let output = Command::new("node").arg(script).arg(file).ended().expect("node runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let answers: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let answers = answers.as_array().expect("answers").iter();
    let answer = |(answer, case): (&Value, &Case)| {
        let row = |row: &Value| {
            let field = |at: usize| row[at].as_str().expect("text").to_owned();
            (field(0), field(1), row[2].as_f64(), row[3].as_f64())
        };
        let rows = answer["functions"].as_array().expect("functions").iter().map(row);
        Answer::of(case, &answer["dsos"], rows.collect())
    };
    answers.zip(cases).map(answer).collect()
}

/// What `perftab view` tells its page of this machine, by recording.
#[derive(Default)]
struct LateIds(BTreeMap<PathBuf, Value>);

impl LateIds {
    fn of(&mut self, case: &Case) -> Value {
        if case.machine == Files::Given {
            return json!({"same": [], "replaced": []});
        }
        let ask = || Viewer::start(&[text(&case.recording)]).tell_files(&case.recording);
        self.0.entry(case.recording.clone()).or_insert_with(ask).clone()
    }
}

fn by_commands(folder: &TestFolder, case: &Case) -> Answer {
    // A cache has nothing to say here, and the page did not ask for the other files of this machine.
    let home = folder.join("home");
    fs::create_dir_all(&home).expect("a folder");
    let ask = |command: &str| -> Value {
        let mut perftab = perftab_at(&home, &[command, "--json"]);
        if case.machine == Files::Given {
            perftab.arg("--no-local");
        }
        perftab.arg(&case.recording);
        for file in &case.files {
            perftab.arg("--image").arg(file);
        }
        for (path, file) in &case.forced {
            match text(path) {
                "[kernel.kallsyms]" => perftab.args(["--vmlinux", text(file)]),
                path => perftab.args(["--force-mismatched", &format!("{path}={}", text(file))]),
            };
        }
        let output = perftab.ended().expect("it runs");
        assert!(output.status.success(), "{}: {perftab:?}: {}", case.name, stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (info, report) = (ask("info"), ask("report"));
    let row = |row: &Value| {
        let (own, total) = (row["self"].as_f64(), row["total"].as_f64());
        let Some(dso) = row["dso"].as_str() else {
            return ("[no mapping]".to_owned(), String::new(), own, total);
        };
        let name = match row["name"].as_str() {
            Some(name) => name.to_owned(),
            None => format!("0x{}", row["address"].as_str().expect("an address")),
        };
        let file = if dso.starts_with('[') { dso } else { dso.rsplit('/').next().unwrap_or(dso) };
        (name, file.to_owned(), own, total)
    };
    let rows = report["functions"].as_array().expect("functions").iter().map(row);
    Answer::of(case, &info["dsos"], rows.collect())
}

impl Answer {
    /// Where this machine is asked, it names more than the program.
    fn of(
        case: &Case,
        dsos: &Value,
        functions: Vec<(String, String, Option<f64>, Option<f64>)>,
    ) -> Self {
        let is_asked_of = |name: &str| case.machine == Files::Given || name == "tide";
        let rows = dsos.as_array().expect("DSOs").iter();
        let rows = rows.filter(|row| is_asked_of(row["name"].as_str().expect("a name")));
        let row = |row: &Value| {
            let fields = ["id", "path", "build_id", "status", "gives", "image", "samples"];
            fields.map(|field| format!("{field}: {}", row[field])).join(", ")
        };
        let functions = functions.into_iter().filter(|(_, dso, ..)| is_asked_of(dso));
        let mut functions: Vec<String> = functions.map(|row| format!("{row:?}")).collect();
        // Among functions of the same weight no order is promised.
        functions.sort();
        Self { dsos: rows.map(row).collect(), functions }
    }

    fn has_status(&self, status: &str) -> bool {
        let words = format!("status: \"{status}\"");
        self.dsos.iter().any(|row| row.contains(&words))
    }
}
