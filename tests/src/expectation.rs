//! What real perf says of recordings made by others: rows `VERSION<tab>KEY<tab>VALUE` in
//! `expected/NAME.tsv` beside them, where `/` in the recording's path is `__` in `NAME`.
//!
//! Versions of perf differ. The larger one that could read the file speaks for it; where a version
//! failed (`dump_rc` not 0), it said nothing about what is in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of recordings by others: `$PERFTAB_CORPUS`, else `shared/corpus` beside the workspace.
/// `None` where it is not present.
pub fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let folder = std::env::var_os("PERFTAB_CORPUS").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// What one version of perf says of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Which version.
    pub version: String,
    /// How `perf script -D` or `perf report -D` ended; 0 is good.
    pub dump_rc: i32,
    /// SAMPLE records that it came across.
    pub samples: u64,
    /// `perf evlist`, in the file's order.
    pub events: Vec<String>,
    /// `perf buildid-list`: id in hex, empty where perf knows none; name.
    pub build_ids: BTreeSet<(String, String)>,
    /// `perf report`: at most ten rows for each event, the names of a group's events in one.
    pub top: Vec<Top>,
}

/// Samples of an event (of each event of a group) by comm and DSO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// Name of the event; of a group's as `anon group { a, b }`.
    pub event: String,
    /// Samples; one number for each event of a group.
    pub samples: Vec<u64>,
    /// Name of the thread.
    pub comm: String,
    /// Short name of what the leaf is in.
    pub dso: String,
}

/// A recording and what all versions of perf say of it, older ones first.
#[derive(Clone, Debug)]
pub struct ExpectedRecording {
    /// The recording, below the folder.
    pub path: String,
    /// By version.
    pub versions: Vec<Expectation>,
}

impl ExpectedRecording {
    /// The version that speaks for the file: the larger one that read it; `None` if none did.
    pub fn best(&self) -> Option<&Expectation> {
        self.versions.iter().rev().find(|version| version.dump_rc == 0)
    }
}

/// All recordings of a folder that something is expected of.
pub fn read(corpus: &Path) -> Vec<ExpectedRecording> {
    let folder = corpus.join("expected");
    let mut found: Vec<ExpectedRecording> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tsv"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().replace("__", "/");
            let text = fs::read(&path).expect("readable");
            ExpectedRecording { path: name, versions: parse(&String::from_utf8_lossy(&text)) }
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn parse(text: &str) -> Vec<Expectation> {
    let mut versions: BTreeMap<Vec<u32>, Expectation> = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.splitn(3, '\t');
        let (Some(version), Some(key), Some(value)) = (cells.next(), cells.next(), cells.next())
        else {
            panic!("no row of three cells: {line:?}");
        };
        let numbers = version.split('.').filter_map(|part| part.parse().ok()).collect();
        let expectation = versions.entry(numbers).or_default();
        expectation.version = version.to_owned();
        match key {
            "samples_in_dump" => expectation.samples = value.parse().expect("a number"),
            "dump_rc" => expectation.dump_rc = value.parse().expect("a number"),
            "event" => expectation.events.push(value.to_owned()),
            "build_id" => {
                expectation.build_ids.insert(build_id(value));
            }
            "top" => expectation.top.push(top(value)),
            _ => {}
        }
    }
    versions.into_values().collect()
}

/// `HEX NAME`, or blanks in the place of the id.
fn build_id(row: &str) -> (String, String) {
    let (id, name) = match row.strip_prefix(' ') {
        Some(_) => ("", row.trim_start()),
        None => row.split_once(' ').unwrap_or_else(|| panic!("no id and name: {row:?}")),
    };
    (id.to_owned(), name.to_owned())
}

/// `event ; samples ; comm ; dso`; of a group, `event ; n ; n ; n …` and comm and DSO, with blanks
/// in the place of some semicolons.
fn top(row: &str) -> Top {
    let malformed = || -> ! { panic!("no row of samples, comm and DSO: {row:?}") };
    let Some((event, rest)) = row.split_once(" ; ") else { malformed() };
    let mut cells = rest.split(" ; ").flat_map(|cell| cell.split("  ")).map(str::trim);
    let mut cells: Vec<&str> = cells.by_ref().filter(|cell| !cell.is_empty()).collect();
    let members = members(event).len();
    if cells.len() != members + 2 {
        malformed();
    }
    let names = cells.split_off(members);
    let number = |cell: &str| cell.parse().unwrap_or_else(|_| malformed());
    Top {
        event: event.to_owned(),
        samples: cells.into_iter().map(number).collect(),
        comm: names[0].to_owned(),
        dso: names[1].to_owned(),
    }
}

/// The events of a group as `perf report` writes it, `anon group { a, b }`; an event alone is one.
pub fn members(event: &str) -> Vec<&str> {
    let inside = event.split_once(" { ").and_then(|(_, inside)| inside.strip_suffix(" }"));
    inside.map_or_else(|| vec![event], |inside| inside.split(", ").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_each_version_are_kept_apart() {
        let rows = "6.1\tsamples_in_dump\t0\n6.1\tdump_rc\t255\n\
            10.2\tsamples_in_dump\t3\n10.2\tdump_rc\t0\n10.2\tevent\tcycles:P\n\
            10.2\tbuild_id\taa00 /bin/with space\n10.2\tbuild_id\t        [vdso]\n\
            10.2\ttop\tcycles:P ; 3 ; a b ; [vdso]\n\
            10.2\ttop\tanon group { a, b:u } ; 10 ; 9 ; echo it     libc.so\n\
            10.2\ttop\tanon group { a, b, c } ; 63 ; 46 ; 7  echo     libc.so\n\
            7.2\tsamples_in_dump\t2\n7.2\tdump_rc\t0\n";
        let expected = ExpectedRecording { path: String::new(), versions: parse(rows) };
        let best = expected.best().expect("two versions read it");
        assert_eq!((best.version.as_str(), best.samples), ("10.2", 3));
        let ids: Vec<_> = best.build_ids.iter().map(|(id, name)| format!("{id} {name}")).collect();
        assert_eq!(ids, [" [vdso]", "aa00 /bin/with space"]);
        assert_eq!(best.top[0].comm, "a b");
        assert_eq!((&best.top[1].samples[..], best.top[1].dso.as_str()), (&[10, 9][..], "libc.so"));
        assert_eq!(best.top[1].comm, "echo it");
        assert_eq!(
            (&best.top[2].samples[..], best.top[2].comm.as_str()),
            (&[63, 46, 7][..], "echo")
        );
    }
}
