//! What perf, hotspot and samply do where a build-id decides, and that `docs/build-ids.md` says so.
//!
//! In every situation only the older build ran, and the newer one is at its path when the recording
//! is read: whoever shows a name of the newer one is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build_ids::builds::{Builds, Ids, NEWER, NEWER_ID, OLDER, is_installed, stderr, text};
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
pub struct Situation {
    pub letter: char,
    ids: Ids,
    /// Options of `perf record`.
    options: &'static [&'static str],
    when: ReplacementTime,
    /// What perftab shows; nothing may be wrong.
    perftab: Outcome,
}

pub const SITUATIONS: [Situation; 10] = [
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

/// Records the situation with perf; the newer build is at the program's path then. The older one is kept
/// where nothing looks for it.
pub fn record(situation: &Situation) -> (Builds, PathBuf) {
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
    fs::remove_file(&builds.newer).expect("it is there");
    let kept = builds.folder.join("kept");
    fs::create_dir(&kept).expect("a folder");
    let kept = kept.join("what ran");
    fs::rename(&builds.older, &kept).expect("it is moved");
    builds.older = kept;
    (builds, recording)
}

fn by_perftab(builds: &Builds, recording: &Path) -> Outcome {
    let output = builds.perftab(&["report", text(recording)]);
    assert!(output.status.success(), "{}", stderr(&output));
    Outcome::of(&String::from_utf8_lossy(&output.stdout))
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
        let (builds, recording) = record(situation);
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
