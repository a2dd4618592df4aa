//! The fuzz targets without a fuzzer: every seed, and the parts of every fixture, once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use perftab_tests::{fuzz, seeds};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the repository")
}

/// Files below a folder that may not be there, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// Which input it was is what a panic does not say.
fn replay(target: fuzz::Target, name: &str, input: &[u8]) {
    let survived = std::panic::catch_unwind(|| target(input));
    assert!(survived.is_ok(), "{name}");
}

#[test]
fn every_seed_is_survived() {
    for (name, target) in fuzz::TARGETS {
        let seeds = files(&root().join("fuzz/seeds").join(name));
        assert!(!seeds.is_empty(), "{name} has seeds");
        for seed in seeds {
            replay(*target, &seed.display().to_string(), &fs::read(&seed).expect("the seed"));
        }
    }
}

#[test]
fn the_parts_of_every_fixture_are_survived() {
    for fixture in files(&root().join("tests/fixtures")) {
        if fixture.to_string_lossy().ends_with(".txt") {
            continue;
        }
        let name = fixture.display().to_string();
        for (part, input) in seeds::of_recording(&fs::read(&fixture).expect("the fixture")) {
            let (_, target) = fuzz::TARGETS.iter().find(|(name, _)| *name == part).expect(part);
            replay(*target, &format!("{part} of {name}"), &input);
        }
    }
}

#[test]
fn every_target_is_built_by_the_fuzzer() {
    let named: BTreeSet<String> =
        fuzz::TARGETS.iter().map(|(name, _)| format!("{name}.rs")).collect();
    let there: BTreeSet<String> = files(&root().join("fuzz/fuzz_targets"))
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(named, there);
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("the manifest");
    for target in named {
        assert!(manifest.contains(&format!("\"fuzz_targets/{target}\"")), "{target}");
    }
}
