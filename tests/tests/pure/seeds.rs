//! The fuzz targets without a fuzzer: every seed, and the parts of every fixture, once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use perftab_snapshot::ShareOptions;
use perftab_tests::open::open_in_blocks;
use perftab_tests::own_process::{in_own_process, peak_memory};
use perftab_tests::tier::part_of;
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

/// What the fuzzer allows any input.
const MOST_MEMORY: u64 = 2048 << 20;

#[test]
fn every_seed_is_survived_and_takes_little_memory() {
    in_own_process("seeds::every_seed_is_survived_and_takes_little_memory", || {
        for (name, target) in fuzz::TARGETS {
            let seeds = files(&root().join("fuzz/seeds").join(name));
            assert!(!seeds.is_empty(), "{name} has seeds");
            for seed in seeds {
                let input = fs::read(&seed).expect("the seed");
                replay(*target, &seed.display().to_string(), &input);
                assert!(peak_memory() < MOST_MEMORY, "{}", seed.display());
            }
        }
    });
}

#[test]
fn the_parts_of_every_fixture_are_survived() {
    let mut all = Vec::new();
    for fixture in files(&root().join("tests/fixtures")) {
        if !fixture.to_string_lossy().ends_with(".perf.data") {
            continue;
        }
        let name = fixture.display().to_string();
        let bytes = fs::read(&fixture).expect("the fixture");
        let mut parts = seeds::of_recording(&bytes);
        if let Ok(session) = open_in_blocks(&bytes, 1 << 20) {
            let options = ShareOptions { characters: 4_000, ..ShareOptions::default() };
            let link = session.share(&options).expect("a short link has room for a little");
            parts.extend(seeds::of_link(&link.payload));
        }
        all.extend(parts.into_iter().map(|(part, input)| (name.clone(), part, input)));
    }
    // In order of the targets, so that a part of all has inputs of each.
    all.sort_by_key(|(_, part, _)| *part);
    for (name, part, input) in part_of(all, 250, "parts of fixtures") {
        let (_, target) = fuzz::TARGETS.iter().find(|(name, _)| *name == part).expect(part);
        replay(*target, &format!("{part} of {name}"), &input);
    }
}

/// A little of what the fuzzer does, on every machine: numbers and lengths that are others, and bytes
/// that are missing, behind a checksum that is right.
#[test]
fn damaged_links_are_survived() {
    let fixture = root().join("tests/fixtures/perf-several.perf.data");
    let session = open_in_blocks(&fs::read(fixture).expect("the fixture"), 1 << 20);
    let options = ShareOptions { characters: 2_000, ..ShareOptions::default() };
    let link = session.expect("it opens").share(&options).expect("there is room");
    let texts = root().join("tests/link_vectors/v1-texts.txt");
    let texts = fs::read_to_string(texts).expect("the vector");
    let texts = texts.lines().next().expect("a link with texts of lines and instructions");
    let links = [link.payload.as_str(), texts].map(seeds::of_link);
    for (name, whole) in links.into_iter().flatten() {
        let (_, target) = fuzz::TARGETS.iter().find(|(known, _)| *known == name).expect(name);
        for (number, damaged) in
            part_of(damage(&whole, 200), 20, &format!("kinds of damage to {name}"))
        {
            replay(*target, &format!("{name}, {number}"), &damaged);
        }
    }
}

/// Copies of an input, each with a few bytes that are others or missing.
fn damage(whole: &[u8], count: usize) -> Vec<(usize, Vec<u8>)> {
    let mut state = 1_u32;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % limit
    };
    let damage = |number| {
        let mut damaged = whole.to_vec();
        for _ in 0..1 + below(4) {
            let at = below(damaged.len());
            match below(3) {
                0 => damaged[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
                1 => damaged[at] = below(256) as u8,
                _ => drop(damaged.remove(at)),
            }
        }
        (number, damaged)
    };
    (0..count).map(damage).collect()
}

#[test]
fn damaged_images_are_survived() {
    in_own_process("seeds::damaged_images_are_survived", || {
        for (name, target) in fuzz::TARGETS {
            if !["image", "images", "plt"].contains(name) {
                continue;
            }
            let seeds = files(&root().join("fuzz/seeds").join(name)).into_iter();
            let all = seeds.flat_map(|seed| {
                let whole = fs::read(&seed).expect("the seed");
                damage(&whole, 400)
                    .into_iter()
                    .map(move |(number, input)| (seed.clone(), number, input))
            });
            let all: Vec<_> = all.collect();
            for (seed, number, input) in part_of(all, 200, &format!("kinds of damage to {name}")) {
                let what = format!("{}, {number}", seed.display());
                replay(*target, &what, &input);
                assert!(peak_memory() < MOST_MEMORY, "{what}");
            }
        }
    });
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
