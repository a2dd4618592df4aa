//! `buildid store`, and what perf makes of it.

use std::collections::BTreeSet;
use std::fs;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::program::compile;

use super::home::{Home, ID, OTHER, lines, source};

#[test]
fn b35_store_says_ok_of_each_dso_that_is_in_the_cache_then() {
    let test = "b35_store_says_ok_of_each_dso_that_is_in_the_cache_then";
    let Some(home) = Home::new(test) else { return };
    let listed = lines(&home.done(&["list", "perf.data"]));
    assert!(listed.len() >= 3, "the program, the kernel, the linker: {listed:?}");
    assert_eq!(lines(&home.done(&["missing", "perf.data"])), listed);

    let stored = home.done(&["store", "perf.data"]);
    let expected: BTreeSet<_> = listed.iter().map(|line| format!("OK {line}")).collect();
    assert_eq!(lines(&stored), expected);
    assert_eq!(home.done(&["missing", "perf.data"]), "");
    let original = fs::read(&home.program).expect("the program");
    assert_eq!(fs::read(home.entry(ID, "elf")).expect("the copy"), original);
}

#[test]
fn b35_store_says_fail_of_a_dso_that_is_gone() {
    let Some(home) = Home::new("b35_store_says_fail_of_a_dso_that_is_gone") else { return };
    fs::remove_file(&home.program).expect("the program was there");
    let (stdout, stderr) = home.failed(&["store", "perf.data"]);
    let fail = format!("FAIL {ID} {}: ", home.program.display());
    assert_eq!(stdout.lines().filter(|line| line.starts_with("FAIL ")).count(), 1, "{stdout}");
    assert!(stdout.lines().any(|line| line.starts_with(&fail)), "{stdout}");
    assert!(stderr.contains("store them on the machine that has them"), "{stderr}");
    assert!(lines(&home.done(&["missing"])).contains(&format!("{ID} {}", home.program.display())));
}

#[test]
fn b36_store_refuses_another_build_and_keeps_nothing_of_it() {
    let test = "b36_store_refuses_another_build_and_keeps_nothing_of_it";
    let Some(home) = Home::new(test) else { return };
    home.replace_program();
    let other = home.other_build();
    let other = other.to_str().expect("UTF-8");
    let (stdout, _) = home.failed(&["store", "perf.data", "--image", other]);
    let fail = format!("FAIL {ID} {}: ", home.program.display());
    let line = stdout.lines().find(|line| line.starts_with(&fail)).expect("a line of FAIL");
    assert!(line.contains(OTHER), "what is there instead is said: {line}");
    for id in [ID, OTHER] {
        let files: Vec<String> =
            home.snapshot().into_iter().filter(|file| file.contains(&id[2..])).collect();
        assert!(files.is_empty(), "{files:?}");
    }
}

#[test]
fn b35_a_file_that_is_named_must_be_there() {
    let Some(home) = Home::new("b35_a_file_that_is_named_must_be_there") else { return };
    for verb in ["store", "archive"] {
        let (stdout, stderr) = home.failed(&[verb, "--image", "nowhere"]);
        assert!(stdout.is_empty() && stderr.contains("--image nowhere"), "{verb}: {stderr}");
    }
    assert!(home.snapshot().is_empty());
}

#[test]
fn b40_perf_finds_names_in_what_we_stored() {
    let Some(home) = Home::new("b40_perf_finds_names_in_what_we_stored") else { return };
    home.done(&["store", "perf.data"]);
    fs::remove_file(&home.program).expect("the program was there");
    let functions = home.functions_by_perf();
    assert!(functions.contains("before"), "{functions:?}");
    assert!(home.functions_by_us().contains("before"));
    let listed = lines(&home.perf(&["buildid-cache", "-l"]));
    assert!(
        listed.iter().any(|line| line.ends_with("[kernel.kallsyms]")),
        "perf lists what is valid on this machine: {listed:?}"
    );
    // Without the cache perf has no names, so they came from there.
    fs::remove_dir_all(home.cache()).expect("the cache was there");
    assert!(!home.functions_by_perf().contains("before"));
}

#[test]
fn b40_we_find_names_in_what_perf_stored() {
    let Some(home) = Home::new("b40_we_find_names_in_what_perf_stored") else { return };
    let program = home.program.to_str().expect("UTF-8");
    home.perf(&["buildid-cache", "-a", program]);
    fs::remove_file(&home.program).expect("the program was there");
    assert!(home.functions_by_us().contains("before"));
    assert_eq!(home.done(&["list", "--cache"]), format!("{ID} {program}\n"));
    assert!(!home.done(&["missing"]).contains(ID));
    assert!(home.buildid(&["store"]).stdout.starts_with(b"OK "));
}

#[test]
fn b40_the_older_flat_form_is_read() {
    let Some(home) = Home::new("b40_the_older_flat_form_is_read") else { return };
    let program = home.program.to_str().expect("UTF-8").to_owned();
    home.perf(&["buildid-cache", "-a", &program]);
    // As perf before Linux 4.9 left it: the file itself in the place of the folder.
    let folder = home.entry(ID, "");
    let content = fs::read(&home.program).expect("the program");
    fs::remove_dir_all(&folder).expect("perf made a folder");
    let flat = folder.components().collect::<std::path::PathBuf>();
    fs::write(&flat, &content).expect("a file");
    fs::remove_file(&home.program).expect("the program was there");

    assert!(home.functions_by_us().contains("before"));
    assert_eq!(home.done(&["list", "--cache"]), format!("{ID} {program}\n"));
    // What joins it makes it a folder, and loses nothing.
    let debug = compile(&home.folder, "debug", ID, &source("before"));
    let stripped = std::process::Command::new("objcopy")
        .args(["--only-keep-debug"])
        .arg(&debug)
        .exit_status()
        .expect("objcopy runs");
    assert!(stripped.success());
    home.done(&["add", debug.to_str().expect("UTF-8")]);
    assert_eq!(fs::read(home.entry(ID, "elf")).expect("the older file"), content);
    assert!(home.entry(ID, "debug").is_file());
    assert!(home.functions_by_perf().contains("before"));
}

#[test]
fn b40_perf_reads_the_kernels_symbols_that_we_stored() {
    let test = "b40_perf_reads_the_kernels_symbols_that_we_stored";
    let Some(home) = Home::new(test) else { return };
    let added = home.done(&["add", "/proc/kallsyms"]);
    let id = added.split(' ').nth(1).expect("OK ID PATH");
    let copy = home.cache().join("[kernel.kallsyms]").join(id).join("kallsyms");
    let copied = "if=/dev/zero of=/dev/null bs=1M count=1000 status=none".split(' ');
    let record = ["record", "-q", "-N", "-e", "cpu-clock", "-o", "dd.data", "--", "dd"];
    home.perf(&record.into_iter().chain(copied).collect::<Vec<_>>());
    let report = |kallsyms: &str| {
        let report = home.perf(&[
            "report",
            "-i",
            "dd.data",
            "--stdio",
            "--sort",
            "sym",
            "--ignore-vmlinux",
            "--kallsyms",
            kallsyms,
        ]);
        // Its tip of the day is another one each time.
        lines(&report).into_iter().filter(|line| !line.starts_with('#')).collect::<BTreeSet<_>>()
    };
    let named = report(copy.to_str().expect("UTF-8"));
    assert_eq!(named, report("/proc/kallsyms"), "our first line is passed over");
    assert!(named.iter().any(|line| line.contains("[k] ")), "samples in the kernel: {named:?}");
}

#[test]
fn b41_builds_of_one_path_live_side_by_side() {
    let Some(home) = Home::new("b41_builds_of_one_path_live_side_by_side") else { return };
    let program = home.program.to_str().expect("UTF-8").to_owned();
    home.done(&["add", &program]);
    home.replace_program();
    home.done(&["add", &program]);
    let both = BTreeSet::from([format!("{ID} {program}"), format!("{OTHER} {program}")]);
    assert_eq!(lines(&home.done(&["list", "--cache"])), both);
    fs::remove_file(&home.program).expect("the program was there");
    assert!(home.functions_by_us().contains("before"), "{:?}", home.functions_by_us());
    assert!(home.functions_by_perf().contains("before"));
}

#[test]
fn b42_adding_twice_changes_nothing() {
    let Some(home) = Home::new("b42_adding_twice_changes_nothing") else { return };
    let program = home.program.to_str().expect("UTF-8");
    home.done(&["add", program]);
    home.done(&["store"]);
    home.done(&["add", "/proc/kallsyms"]);
    let once = home.snapshot();
    assert!(once.len() >= 6, "files and links: {once:?}");
    home.done(&["add", program, program]);
    home.done(&["store"]);
    home.done(&["add", "/proc/kallsyms"]);
    // The same build under another path is the same entry.
    let copy = home.folder.join("copy");
    fs::copy(&home.program, &copy).expect("a copy");
    home.done(&["add", copy.to_str().expect("UTF-8")]);
    assert_eq!(home.snapshot(), once);

    // What perf stored, we leave as it is.
    fs::remove_dir_all(home.cache()).expect("the cache was there");
    home.perf(&["buildid-cache", "-a", program]);
    let once = home.snapshot();
    home.done(&["add", program]);
    assert_eq!(home.snapshot(), once);
}
