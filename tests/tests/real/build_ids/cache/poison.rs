//! Entries whose content is not what their name says.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::home::{Home, ID, OTHER, text};

/// As a linker or `cp` does it: the same inode, other bytes.
fn overwrite_in_place(home: &Home) {
    let other = fs::read(home.other_build()).expect("the other build");
    fs::write(&home.program, other).expect("the program is written over");
}

#[test]
fn b48_what_perf_poisons_is_found_out_and_never_used() {
    let test = "b48_what_perf_poisons_is_found_out_and_never_used";
    let Some(home) = Home::new(test) else { return };
    let program = home.program.to_str().expect("UTF-8");
    home.perf(&["buildid-cache", "-a", program]);
    let entry = home.entry(ID, "elf");
    if entry.metadata().expect("perf stored it").ino() != home.program.metadata().unwrap().ino() {
        println!("SKIPPED: {test}: this perf stores copies");
        return;
    }
    overwrite_in_place(&home);
    assert!(text(&fs::read(&entry).expect("the entry")).contains("after"), "it is poisoned");

    let listed = home.buildid(&["list", "--cache"]);
    assert_eq!(text(&listed.stdout), "");
    let said = text(&listed.stderr);
    assert!(said.contains(&format!("elf holds {OTHER}")) && said.contains(ID), "{said}");
    let missing = home.buildid(&["missing"]);
    assert!(text(&missing.stdout).contains(&format!("{ID} {program}\n")));
    assert!(text(&missing.stderr).contains(OTHER), "{}", text(&missing.stderr));
    assert!(home.functions_by_us().is_empty(), "not a single name: {:?}", home.functions_by_us());
    let (stored, _) = home.failed(&["store"]);
    assert!(stored.contains(&format!("FAIL {ID} ")), "{stored}");
    let (_, said) = home.failed(&["archive", "-o", "a.tar.gz", "--id", ID]);
    assert!(said.contains(ID), "{said}");

    // The right file heals it; the file that the user has is not touched.
    fs::remove_file(&home.program).expect("the program was there");
    fs::copy(home.folder.join("other"), &home.program).expect("a copy");
    let right =
        perftab_tests::program::compile(&home.folder, "right", ID, &super::home::source("before"));
    home.done(&["add", right.to_str().expect("UTF-8")]);
    assert!(home.functions_by_us().contains("before"));
    assert!(home.functions_by_perf().contains("before"));
}

#[test]
fn b48_what_we_store_is_a_copy() {
    let Some(home) = Home::new("b48_what_we_store_is_a_copy") else { return };
    home.done(&["store"]);
    overwrite_in_place(&home);
    assert!(home.functions_by_us().contains("before"));
    let listed = home.buildid(&["list", "--cache"]);
    assert!(text(&listed.stdout).contains(ID) && listed.stderr.is_empty());
    let mode = home.entry(ID, "elf").metadata().expect("stored").mode();
    assert_eq!(mode & 0o222, 0, "and nobody writes into it by accident: {mode:o}");
}

#[test]
fn b48_kinds_of_content_share_an_entry() {
    let Some(home) = Home::new("b48_kinds_of_content_share_an_entry") else { return };
    let program = home.program.to_str().expect("UTF-8");
    home.perf(&["buildid-cache", "-a", program]);
    let probes = home.entry(ID, "probes");
    assert!(probes.is_file(), "perf notes probes beside the file");
    let note = "%sdt_app:start=start\np:sdt_app/start spinner:0x1136\n";
    fs::write(&probes, note).expect("a note");
    home.done(&["store"]);
    home.done(&["update", program]);
    assert_eq!(fs::read_to_string(&probes).expect("still there"), note);
    assert_eq!(home.done(&["list", "-l"]).matches(ID).count(), 1);

    // Symbols of a kernel with a stamp are checked like all else.
    let added = home.done(&["add", "/proc/kallsyms"]);
    let kernel = added.split(' ').nth(1).expect("OK ID PATH").to_owned();
    let copy = home.cache().join("[kernel.kallsyms]").join(&kernel).join("kallsyms");
    let mut bytes = fs::read(&copy).expect("the copy");
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    fs::remove_file(&copy).expect("the copy was there");
    fs::write(&copy, bytes).expect("a changed copy");
    let listed = home.buildid(&["list", "-l"]);
    assert!(!text(&listed.stdout).contains(&kernel), "{}", text(&listed.stdout));
    assert!(text(&listed.stderr).contains(&kernel), "{}", text(&listed.stderr));
}
