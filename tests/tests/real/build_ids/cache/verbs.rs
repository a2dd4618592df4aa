//! The other verbs, each on what perf stored and on what we stored.

use std::fs;

use super::home::{Home, ID, OTHER, lines};

use perftab_tests::child_process::LimitedCommand;

/// Both ways to fill a cache with the program.
fn fill(home: &Home, by: &str) {
    let program = home.program.to_str().expect("UTF-8");
    match by {
        "perf" => drop(home.perf(&["buildid-cache", "-a", program])),
        _ => drop(home.done(&["add", program])),
    }
    assert!(home.entry(ID, "elf").is_file(), "stored by {by}");
}

#[test]
fn b44_add_list_remove_purge() {
    let Some(home) = Home::new("b44_add_list_remove_purge") else { return };
    let program = home.program.to_str().expect("UTF-8").to_owned();
    for by in ["perf", "us"] {
        for verb in [
            vec!["remove", &program],
            vec!["remove", ID],
            vec!["purge", &program],
            vec!["purge", "-P"],
        ] {
            fill(&home, by);
            assert_eq!(home.done(&["list", "-l"]), format!("{ID} {program}\n"), "{by}");
            assert!(home.perf(&["buildid-cache", "-l"]).contains(ID), "{by}");
            assert!(home.done(&verb).starts_with(&format!("OK {ID} ")), "{by} {verb:?}");
            assert_eq!(home.done(&["list", "-l"]), "", "{by} {verb:?}");
            assert!(!home.perf(&["buildid-cache", "-l"]).contains(ID), "{by} {verb:?}");
            assert!(home.snapshot().is_empty(), "{by} {verb:?}: {:?}", home.snapshot());
            // Once more is no failure, and says so.
            if verb[1] != "-P" {
                let again = home.buildid(&verb);
                assert_eq!(again.status.code(), Some(0), "{verb:?}");
                let said = String::from_utf8_lossy(&again.stderr).into_owned();
                assert!(said.contains("was not in the cache"), "{said}");
            }
        }
    }
}

#[test]
fn b44_what_perf_removes_is_gone_for_us() {
    let Some(home) = Home::new("b44_what_perf_removes_is_gone_for_us") else { return };
    let program = home.program.to_str().expect("UTF-8");
    for option in ["-r", "-p"] {
        fill(&home, "us");
        home.perf(&["buildid-cache", option, program]);
        assert_eq!(home.done(&["list", "-l"]), "", "{option}");
        assert!(home.done(&["missing"]).contains(ID), "{option}");
    }
}

#[test]
fn b44_purge_takes_every_build_of_a_path_that_is_gone() {
    let test = "b44_purge_takes_every_build_of_a_path_that_is_gone";
    let Some(home) = Home::new(test) else { return };
    let program = home.program.to_str().expect("UTF-8").to_owned();
    fill(&home, "us");
    let other = home.other_build();
    home.done(&["add", other.to_str().expect("UTF-8")]);
    fs::remove_file(&home.program).expect("the program was there");
    assert_eq!(home.done(&["purge", &program]), format!("OK {ID} {program}\n"));
    assert_eq!(home.done(&["list", "-l"]), format!("{OTHER} {}\n", other.display()));
}

#[test]
fn b44_update_replaces_the_same_build_alone() {
    let Some(home) = Home::new("b44_update_replaces_the_same_build_alone") else { return };
    let program = home.program.to_str().expect("UTF-8").to_owned();
    fill(&home, "us");
    // The same build with less in it: perf would have us update so after stripping, or back.
    let strip =
        std::process::Command::new("strip").arg(&program).exit_status().expect("strip runs");
    assert!(strip.success());
    let (old, new) = (fs::read(home.entry(ID, "elf")).unwrap(), fs::read(&program).unwrap());
    assert_ne!(old, new);
    home.done(&["add", &program]);
    assert_eq!(fs::read(home.entry(ID, "elf")).unwrap(), old, "what is there stays");
    assert_eq!(home.done(&["update", &program]), format!("OK {ID} {program}\n"));
    assert_eq!(fs::read(home.entry(ID, "elf")).unwrap(), new);

    home.replace_program();
    home.done(&["update", &program]);
    let both = lines(&format!("{ID} {program}\n{OTHER} {program}\n"));
    assert_eq!(lines(&home.done(&["list", "-l"])), both, "older builds are still needed");
}

#[test]
fn b44_what_has_no_build_id_is_refused() {
    let Some(home) = Home::new("b44_what_has_no_build_id_is_refused") else { return };
    let recording = home.recording.to_str().expect("UTF-8");
    for what in ["/nowhere", "/dev/null", recording, "/"] {
        for verb in ["add", "update", "remove"] {
            let (stdout, _) = home.failed(&[verb, what]);
            assert!(stdout.starts_with(&format!("FAIL - {what}: ")), "{verb}: {stdout}");
        }
    }
    assert!(home.snapshot().is_empty());
}

/// Links that lead out of the cache are not followed to be removed.
#[test]
fn b44_remove_stays_in_the_cache() {
    let Some(home) = Home::new("b44_remove_stays_in_the_cache") else { return };
    let treasure = home.folder.join("treasure").join(ID);
    fs::create_dir_all(&treasure).expect("a folder");
    fs::copy(&home.program, treasure.join("elf")).expect("a copy");
    let links = home.cache().join(".build-id").join(&ID[..2]);
    for target in [format!("../../../treasure/{ID}"), treasure.display().to_string()] {
        fs::create_dir_all(&links).expect("a folder");
        std::os::unix::fs::symlink(&target, links.join(&ID[2..])).expect("a link");
        assert_eq!(home.done(&["list", "-l"]), "", "{target}");
        home.done(&["remove", ID]);
        assert!(!links.join(&ID[2..]).is_symlink(), "{target}");
        assert!(treasure.join("elf").is_file(), "{target}");
    }
}

#[test]
fn b44_the_cache_is_where_perf_config_says() {
    let Some(home) = Home::new("b44_the_cache_is_where_perf_config_says") else { return };
    let program = home.program.to_str().expect("UTF-8");
    let (configured, named) = (home.folder.join("configured"), home.folder.join("named"));
    home.folder.write(
        ".perfconfig",
        format!("# ours\n[buildid]\n\tdir = \"{}\" ; here\n", configured.display()).as_bytes(),
    );
    home.done(&["add", program]);
    assert!(configured.join(".build-id").is_dir() && !home.cache().exists());
    assert!(home.perf(&["buildid-cache", "-l"]).contains(ID), "perf reads the same setting");
    let named = named.to_str().expect("UTF-8");
    home.done(&["add", "--buildid-dir", named, program]);
    assert!(home.perf(&["--buildid-dir", named, "buildid-cache", "-l"]).contains(ID));
    fs::remove_file(&home.program).expect("the program was there");
    assert!(home.functions_by_us().contains("before"), "names come from there too");
}
