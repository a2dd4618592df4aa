//! `buildid archive`: packed here, unpacked and opened there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::home::{Home, ID, OTHER, lines, text};

use perftab_tests::child_process::{LimitedCommand, PATIENCE, end_of};

/// Names of the files and links in an archive, as tar lists them.
fn members(archive: &Path) -> BTreeSet<String> {
    let output = Command::new("tar").arg("tf").arg(archive).ended().expect("tar runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    lines(&text(&output.stdout)).into_iter().filter(|name| !name.ends_with('/')).collect()
}

fn unpack_into_the_cache(home: &Home, archive: &str) {
    fs::create_dir_all(home.cache()).expect("a folder");
    let output = home.command("tar", &["xf", archive, "-C", ".debug"]).ended().expect("tar runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn b45_perf_and_we_read_what_was_unpacked_into_a_cache() {
    let test = "b45_perf_and_we_read_what_was_unpacked_into_a_cache";
    let Some(home) = Home::new(test) else { return };
    let packed = home.buildid(&["archive", "perf.data"]);
    assert_eq!(packed.status.code(), Some(0), "{}", text(&packed.stderr));
    assert!(text(&packed.stderr).contains("perf.data.tar.gz"), "{}", text(&packed.stderr));
    assert!(!home.cache().exists(), "nothing is put into the cache");
    // The other machine.
    fs::remove_file(&home.program).expect("the program was there");
    assert!(home.functions_by_us().is_empty());
    unpack_into_the_cache(&home, "perf.data.tar.gz");
    assert!(home.functions_by_us().contains("before"));
    assert!(home.functions_by_perf().contains("before"));
    let hit = lines(&home.done(&["list", "-H"]));
    assert_eq!(lines(&home.done(&["list", "--cache"])), hit, "the DSOs hit, and no other");
}

#[test]
#[ignore = "left to --all: perf archive takes its time"]
fn b45_it_has_what_perf_archive_has() {
    let Some(home) = Home::new("b45_it_has_what_perf_archive_has") else { return };
    home.done(&["store", "-H"]);
    home.perf(&["archive", "perf.data"]);
    home.done(&["archive", "-o", "ours.tar.gz"]);
    let (theirs, ours) = (
        members(&home.folder.join("perf.data.tar.bz2")),
        members(&home.folder.join("ours.tar.gz")),
    );
    assert!(theirs.contains(&format!(".build-id/{}/{}", &ID[..2], &ID[2..])), "{theirs:?}");
    assert_eq!(ours, theirs);
}

#[test]
fn b45_chosen_ids_and_all() {
    let Some(home) = Home::new("b45_chosen_ids_and_all") else { return };
    home.done(&["archive", "--id", &ID[..6], "-o", "one.tar.gz"]);
    let one = members(&home.folder.join("one.tar.gz"));
    assert_eq!(one.len(), 2, "the file and the link: {one:?}");
    assert!(one.iter().all(|name| name.contains(&ID[2..])), "{one:?}");
    home.done(&["archive", "--all", "-o", "all.tar.gz"]);
    let links = members(&home.folder.join("all.tar.gz"));
    let links = links.iter().filter(|name| name.starts_with(".build-id/")).count();
    assert_eq!(links, lines(&home.done(&["list"])).len());
    let (_, said) = home.failed(&["archive", "--id", &OTHER[..6]]);
    assert!(said.contains("buildid list"), "{said}");
    // To standard output, for `ssh HOST perftab buildid archive -o - | …`.
    let piped = home.buildid(&["archive", "-o", "-", "--id", ID]);
    fs::write(home.folder.join("piped.tar.gz"), &piped.stdout).expect("written");
    assert_eq!(members(&home.folder.join("piped.tar.gz")), one);
}

#[test]
fn b45_what_cannot_be_packed_is_said_and_no_other_build_takes_its_place() {
    let test = "b45_what_cannot_be_packed_is_said_and_no_other_build_takes_its_place";
    let Some(home) = Home::new(test) else { return };
    home.replace_program();
    let packed = home.buildid(&["archive"]);
    let said = text(&packed.stderr);
    assert_eq!(packed.status.code(), Some(0), "the rest is packed: {said}");
    let line = said.lines().find(|line| line.contains("not packed")).expect("a line");
    assert!(line.contains(ID) && line.contains(OTHER), "{line}");
    let packed = members(&home.folder.join("perf.data.tar.gz"));
    assert!(
        !packed.is_empty() && packed.iter().all(|name| !name.contains("spinner")),
        "{packed:?}"
    );

    let (_, said) = home.failed(&["archive", "--id", ID, "-o", "none.tar.gz"]);
    assert!(said.contains("nothing to pack"), "{said}");
    assert!(!home.folder.join("none.tar.gz").exists(), "no empty archive is left");
}

#[test]
fn b45_ctrl_c_leaves_no_half_file() {
    let Some(home) = Home::new("b45_ctrl_c_leaves_no_half_file") else { return };
    // A program with gigabytes of nothing behind it takes many seconds to pack.
    let program = fs::OpenOptions::new().write(true).open(&home.program).expect("the program");
    program.set_len(20_000_000_000).expect("the file has a hole");
    let output = home.folder.join("out.tar.gz");
    fs::write(&output, "what was there").expect("an older archive");
    let folder = fs::read_dir(&*home.folder).expect("the folder").count();
    let mut child = home
        .command(perftab_tests::perftab_binary(), &["buildid", "archive", "-o", "out.tar.gz"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab runs");
    // The passing file shows that it has begun.
    let begun = || fs::read_dir(&*home.folder).expect("the folder").count() > folder;
    let interrupt = |pid: u32| Command::new("kill").args(["-INT", &pid.to_string()]).exit_status();
    let limit = Instant::now() + PATIENCE;
    while !begun() && child.try_wait().expect("it can be asked").is_none() {
        assert!(Instant::now() < limit, "perftab buildid archive does not begin");
        std::thread::yield_now();
    }
    let ended_early = child.try_wait().expect("it can be asked");
    assert_eq!(ended_early, None, "it packs");
    interrupt(child.id()).expect("kill runs");
    let ended = end_of(child, "perftab buildid archive, interrupted");
    let left: BTreeSet<String> = fs::read_dir(&*home.folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("out.tar.gz"))
        .collect();
    assert_eq!(left, BTreeSet::from(["out.tar.gz".to_owned()]));
    assert_eq!(fs::read(&output).expect("the archive"), b"what was there");
    assert_eq!(ended.status.code(), Some(1), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("stopped"), "{}", text(&ended.stderr));
}
