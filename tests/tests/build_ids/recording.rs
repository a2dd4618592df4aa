//! What is recorded of files: their identity as mapped.

use std::path::Path;

use crate::builds::{
    Builds, Functions, Ids, NEWER, NEWER_ID, OLDER, OLDER_ID, Replaced, is_installed,
};

/// Both ran for the same time; a loaded machine may favour one of them.
const ABOUT_HALF: std::ops::Range<f64> = 0.3..0.7;

#[track_caller]
fn each_build_has_its_own_names(functions: &Functions) {
    for (name, id) in [(OLDER, OLDER_ID), (NEWER, NEWER_ID)] {
        let share = functions.share(Some(name), Some(id));
        assert!(ABOUT_HALF.contains(&share), "{name} of {id} has {share}: {functions:?}");
    }
    for (name, id) in [(OLDER, NEWER_ID), (NEWER, OLDER_ID)] {
        assert_eq!(functions.share(Some(name), Some(id)), 0.0, "{functions:?}");
    }
}

#[track_caller]
fn only_the_newer_build_has_names(functions: &Functions) {
    let share = functions.share(Some(NEWER), Some(NEWER_ID));
    assert!(ABOUT_HALF.contains(&share), "{functions:?}");
    let of_older = functions.0.iter().filter(|row| row.build_id.as_deref() == Some(OLDER_ID));
    let of_older: Vec<_> = of_older.collect();
    assert!(!of_older.is_empty(), "{functions:?}");
    assert!(of_older.iter().all(|row| row.name.is_none()), "{functions:?}");
}

/// The centrepiece: one path, two builds in one recording.
fn replaced_while_recorded(recording: &Path, builds: &Builds) {
    let both = [builds.older.as_path(), builds.newer.as_path()];
    each_build_has_its_own_names(&builds.functions(recording, &both));
    only_the_newer_build_has_names(&builds.functions(recording, &both[1..]));
    let mut ids: Vec<_> =
        builds.dsos(recording, &[]).iter().map(|dso| dso["build_id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, [format!("\"{OLDER_ID}\""), format!("\"{NEWER_ID}\"")]);
    let warnings = builds.warnings(recording, "build-id-conflict");
    let named = warnings.iter().any(|text| text.contains(builds.program.to_str().unwrap()));
    assert!(named, "{warnings:?}");
}

#[test]
fn b03_b04_b05_replaced_while_perftab_records_each_build_has_its_own_names() {
    for how in [Replaced::ByRename, Replaced::InPlace] {
        let builds = Builds::new(Ids::Different);
        let (recording, said) = builds.record(&["-g"], &["sh", "-c", &builds.script(how)]);
        replaced_while_recorded(&recording, &builds);
        let warned = format!("{} was replaced while it was recorded", builds.program.display());
        assert!(said.contains(&warned), "{how:?}: {said}");
    }
}

#[test]
fn b03_b04_b05_replaced_while_perf_records_with_ids_each_build_has_its_own_names() {
    let test = "b03_b04_b05_replaced_while_perf_records_with_ids_each_build_has_its_own_names";
    if !is_installed(test, "perf") {
        return;
    }
    for how in [Replaced::ByRename, Replaced::InPlace] {
        let builds = Builds::new(Ids::Different);
        let command = ["sh", "-c", &builds.script(how)];
        let recording = builds.record_by_perf(&["-g", "--buildid-mmap"], &command);
        replaced_while_recorded(&recording, &builds);
    }
}
