//! What perf, hotspot and samply do where a build-id decides, and that `docs/build-ids.md` says so.
//!
//! In every situation only the older build ran, and the newer one is at its path when the recording
//! is read: whoever shows a name of the newer one is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_core::decode::SliceSource;
use perftab_core::profile::DsoId;
use perftab_core::symbolize::Status;
use perftab_tests::open::open_path;
use perftab_tests::servers::Viewer;
use serde_json::Value;

use crate::build_ids::builds::{
    Builds, Files, Ids, NEWER, NEWER_ID, OLDER, is_installed, stderr, text,
};
use crate::build_ids::requirements::{root, row};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::tier::part_of;

/// What a tool shows of the older build's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The older build's names.
    Right,
    /// No names.
    Hex,
    /// The newer build's names.
    Wrong,
}

impl Outcome {
    fn of(printed: &str) -> Self {
        match (printed.contains(NEWER), printed.contains(OLDER)) {
            (true, _) => Self::Wrong,
            (false, true) => Self::Right,
            (false, false) => Self::Hex,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Hex => "hex",
            Self::Wrong => "wrong",
        }
    }
}

/// When and how the newer build takes the older one's place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplacementTime {
    /// Once the recording is complete, by a rename.
    AfterByRename,
    /// Then too, with `cp`.
    AfterInPlace,
    /// When it has run, before the recording ends, by a rename.
    DuringByRename,
    /// Then too, with `cp`.
    DuringInPlace,
    /// Then too: its folder and that of the other build change names.
    DuringByFolder,
    /// Once the recording is complete, by a rename. Then `perf inject -b` reads the ids.
    BeforeInject,
}

/// A row of the table.
struct Situation {
    letter: char,
    ids: Ids,
    /// Options of `perf record`.
    options: &'static [&'static str],
    when: ReplacementTime,
    /// What perftab shows; nothing may be wrong.
    perftab: Outcome,
}

const SITUATIONS: [Situation; 10] = [
    Situation {
        letter: 'A',
        ids: Ids::Different,
        options: &["-N"],
        when: ReplacementTime::AfterByRename,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'B',
        ids: Ids::Different,
        options: &[],
        when: ReplacementTime::AfterByRename,
        perftab: Outcome::Right,
    },
    Situation {
        letter: 'C',
        ids: Ids::Different,
        options: &[],
        when: ReplacementTime::AfterInPlace,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'D',
        ids: Ids::Different,
        options: &["-B"],
        when: ReplacementTime::AfterByRename,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'E',
        ids: Ids::None,
        options: &["-N"],
        when: ReplacementTime::AfterByRename,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'F',
        ids: Ids::Different,
        options: &["-N"],
        when: ReplacementTime::DuringByRename,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'G',
        ids: Ids::Different,
        options: &["-N"],
        when: ReplacementTime::DuringInPlace,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'H',
        ids: Ids::Different,
        options: &["--buildid-mmap"],
        when: ReplacementTime::DuringByRename,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'I',
        ids: Ids::Different,
        options: &["-N"],
        when: ReplacementTime::DuringByFolder,
        perftab: Outcome::Hex,
    },
    Situation {
        letter: 'J',
        ids: Ids::Different,
        options: &["-B"],
        when: ReplacementTime::BeforeInject,
        perftab: Outcome::Hex,
    },
];

/// Records the situation with perf; the newer build is at the program's path then.
fn record(situation: &Situation) -> (Builds, PathBuf) {
    let mut builds = Builds::new(situation.ids);
    let folders = ["here", "there"].map(|name| builds.folder.join(name));
    let swap = {
        let [here, there] = folders.each_ref().map(|folder| folder.display());
        format!("mv {here} {here}.old && mv {there} {here} && mv {here}.old {there}")
    };
    if situation.when == ReplacementTime::DuringByFolder {
        for (folder, build) in folders.iter().zip([&builds.older, &builds.newer]) {
            fs::create_dir(folder).expect("a folder");
            perftab_tests::program::copy(build, &folder.join("tide"));
        }
        builds.program = folders[0].join("tide");
    }
    let (program, newer) = (text(&builds.program), text(&builds.newer));
    let rename = format!("cp {newer} {program}.new && mv {program}.new {program}");
    let copy = format!("cat {newer} > {program}");
    let (during, after) = match situation.when {
        ReplacementTime::AfterByRename => ("true", rename.as_str()),
        ReplacementTime::AfterInPlace => ("true", copy.as_str()),
        ReplacementTime::DuringByRename => (rename.as_str(), "true"),
        ReplacementTime::DuringInPlace => (copy.as_str(), "true"),
        ReplacementTime::DuringByFolder => (swap.as_str(), "true"),
        ReplacementTime::BeforeInject => ("true", rename.as_str()),
    };
    let script = format!("{program} 150 && {during}");
    let mut recording = builds.record_by_perf(situation.options, &["sh", "-c", &script]);
    let status = Command::new("sh").args(["-c", after]).exit_status().expect("sh runs");
    assert!(status.success());
    if situation.when == ReplacementTime::BeforeInject {
        let injected = builds.folder.join("injected.data");
        let inject = ["inject", "-b", "-i", text(&recording), "-o", text(&injected)];
        let output = builds.perf(&inject);
        assert!(output.status.success(), "{}", stderr(&output));
        recording = injected;
    }
    // Somebody who looks for it by name in other folders must not find it.
    for kept in [&builds.older, &builds.newer] {
        fs::remove_file(kept).expect("it is there");
    }
    (builds, recording)
}

fn by_perftab(builds: &Builds, recording: &Path) -> Outcome {
    let output = builds.perftab(&["report", text(recording)]);
    assert!(output.status.success(), "{}", stderr(&output));
    Outcome::of(&String::from_utf8_lossy(&output.stdout))
}

/// A page that is opened by itself decides as a command with `--no-local`, and one of `perftab view`
/// as a command that asks this machine: of the same recording and the same file.
fn hosts_agree(builds: &mut Builds, recording: &Path, letter: char) {
    for files in [Files::Given, Files::OfThisMachine] {
        builds.files = files;
        let mut page = open_path(recording).expect("it opens");
        if files == Files::OfThisMachine {
            let late = Viewer::start(&[text(recording)]).get("/profile/0/late-ids").body;
            let late: Value = serde_json::from_slice(&late).expect("JSON");
            let dsos = |key: &str| {
                let numbers = late[key].as_array().expect("numbers").iter();
                numbers.map(|it| DsoId(it.as_u64().unwrap() as u32)).collect::<Vec<_>>()
            };
            page.vouch(dsos("same"));
            page.distrust(&dsos("dsos"));
        }
        let bytes = fs::read(&builds.program).expect("a file");
        let is_admitted = page.admit("tide", Box::new(SliceSource::new(bytes))).is_ok();
        let program = text(&builds.program);
        let rows = page.dsos().into_iter().filter(|row| row.path == program);
        let by_page: Vec<(Value, bool)> = rows
            .map(|row| {
                (row.build_id.map_or(Value::Null, Value::from), row.status == Status::Matched)
            })
            .collect();
        let by_command: Vec<(Value, bool)> = builds
            .dsos(recording, &[&builds.program])
            .into_iter()
            // perf's cache may have what ran, which this page does not ask for.
            .map(|row| {
                (
                    row["build_id"].clone(),
                    row["status"] == "matched" && (is_admitted || files == Files::Given),
                )
            })
            .collect();
        assert_eq!(by_page, by_command, "{letter}");
    }
}

fn by_perf(builds: &Builds, recording: &Path) -> Outcome {
    let output = builds.perf(&["script", "-F", "comm,ip,sym", "-i", text(recording)]);
    assert!(output.status.success(), "{}", stderr(&output));
    Outcome::of(&String::from_utf8_lossy(&output.stdout))
}

pub fn hotspot_parser() -> Option<PathBuf> {
    let of_arch =
        |arch| PathBuf::from(format!("/usr/lib/{arch}-linux-gnu/libexec/hotspot-perfparser"));
    ["x86_64", "aarch64"].map(of_arch).into_iter().find(|path| path.exists())
}

fn by_hotspot(parser: &Path, builds: &Builds, recording: &Path) -> Outcome {
    let output = builds.run(Command::new(parser).arg("--input").arg(recording));
    assert!(output.status.success(), "{}", stderr(&output));
    Outcome::of(&String::from_utf8_lossy(&output.stdout))
}

/// samply writes what it would ask its symbol server for: a file of this id.
fn by_samply(samply: &Path, builds: &Builds, recording: &Path) -> Outcome {
    let profile = builds.folder.join("profile.json");
    let mut command = Command::new(samply);
    command.args(["import", "--save-only", "--unstable-presymbolicate", "-o"]);
    let output = builds.run(command.arg(&profile).arg(recording));
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(builds.folder.join(name)).unwrap_or_default();
    let (profile, symbols) = (read("profile.json"), read("profile.syms.json"));
    match Outcome::of(&symbols) {
        Outcome::Hex if profile.contains(NEWER_ID) => Outcome::Wrong,
        outcome => outcome,
    }
}

#[test]
fn b04_b12_b30_b48_no_situation_makes_perftab_wrong_and_peers_do_what_the_table_says() {
    let test = "b04_b12_b30_b48_no_situation_makes_perftab_wrong_and_peers_do_what_the_table_says";
    if !is_installed(test, "perf") {
        return;
    }
    let hotspot = hotspot_parser();
    let samply = std::env::var_os("PERFTAB_SAMPLY").map(PathBuf::from);
    if hotspot.is_none() {
        println!("SKIPPED: {test}: hotspot-perfparser is not installed");
    }
    if samply.is_none() {
        println!("SKIPPED: {test}: samply: run cargo xtask test --peers");
    }
    let document = fs::read_to_string(root().join("docs/build-ids.md")).expect("the document");
    let mut wrong = BTreeMap::new();
    for situation in part_of(&SITUATIONS, 3, "situations") {
        let (mut builds, recording) = record(situation);
        hosts_agree(&mut builds, &recording, situation.letter);
        let seen = by_perftab(&builds, &recording);
        assert_eq!(seen, situation.perftab, "{}", situation.letter);
        let peers = [
            Some(by_perf(&builds, &recording)),
            hotspot.as_ref().map(|parser| by_hotspot(parser, &builds, &recording)),
            samply.as_ref().map(|samply| by_samply(samply, &builds, &recording)),
        ];
        let written = row(&document, &situation.letter.to_string());
        let outcomes = [Some(seen)].into_iter().chain(peers);
        for (column, outcome) in outcomes.enumerate() {
            // The letter and the words come first.
            let written = &written[column + 2];
            let differs = |outcome: &Outcome| written != "not run" && written != outcome.word();
            if let Some(outcome) = outcome.filter(differs) {
                wrong.insert((situation.letter, column), (written.clone(), outcome));
            }
        }
    }
    assert!(wrong.is_empty(), "(situation, column): (written, seen): {wrong:#?}");
}
