//! The override: names that the user insists on, and their marks wherever names go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use perftab_core::session::{ForceResult, Session};
use perftab_images::{ForceError, Rejection};
use perftab_names::{Naming, Provenance, Status};
use perftab_perfdata::decode::SliceSource;
use perftab_profile::{DsoId, DsoKind};
use perftab_tests::open::open_path;
use perftab_views::Query;
use serde_json::Value;

use super::builds::{
    Builds, Ids, NEWER, NEWER_ID, OLDER, OLDER_ID, Replaced, compile, is_installed, stderr, text,
};

/// A recording of the older build, of which the newer one is left.
fn recorded() -> (Builds, PathBuf) {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&["-g"], &[text(&builds.program), "150"]);
    (builds, recording)
}

fn source(file: &Path) -> Box<SliceSource> {
    Box::new(SliceSource::new(fs::read(file).expect("a file")))
}

fn dso_of(session: &Session, name: &str) -> DsoId {
    let rows = session.dsos();
    let row = rows.iter().find(|row| row.name == name && row.samples > 0);
    DsoId(row.unwrap_or_else(|| panic!("{name} was sampled")).id)
}

fn status(session: &Session, dso: DsoId) -> Status {
    session.dsos().iter().find(|row| row.id == dso.0).expect("a row").status
}

/// Names of a DSO's frames with how they came to be, and whether any frame has a line.
fn names(session: &Session, dso: DsoId) -> Vec<(String, Provenance)> {
    let symbols = session.symbols();
    let frames = session.profile().frames.iter().filter(|(_, frame)| frame.dso == dso);
    let levels = frames.flat_map(|(frame, _)| symbols.levels(frame));
    let functions = levels.map(|level| {
        let function = symbols.function(level.function);
        if function.provenance == Provenance::Forced {
            assert_eq!((level.file, level.line), (None, None), "lines of another build");
        }
        function
    });
    functions.filter_map(|it| Some((it.name?.to_owned(), it.provenance))).collect()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn b31_a_mismatch_names_only_by_force_and_each_name_is_marked() {
    let (builds, recording) = recorded();
    let force = format!("tide={}", text(&builds.newer));
    let run = |command: &[&str], options: &[&str]| {
        let mut arguments = command.to_vec();
        arguments.extend([text(&recording), "--no-local"]);
        arguments.extend(options);
        builds.perftab(&arguments)
    };

    // Offered, it is refused; the reason has both ids.
    let refused = run(&["report"], &["--image", text(&builds.newer)]);
    assert!(!stdout(&refused).contains(NEWER));

    let forced = run(&["report", "--json"], &["--force-mismatched", &force]);
    let loud = stderr(&forced);
    for words in ["UNSAFE", OLDER_ID, NEWER_ID, "[forced]", text(&builds.newer)] {
        assert!(loud.contains(words), "{words} is not in: {loud}");
    }
    let report: Value = serde_json::from_str(&stdout(&forced)).expect("JSON");
    let functions = report["functions"].as_array().expect("functions");
    let of_program = functions.iter().filter(|row| row["dso"] == text(&builds.program));
    let mut is_there = false;
    for row in of_program {
        assert_eq!(row["forced"], row["name"].is_string(), "{row}");
        assert_eq!(row["inlined"], false, "{row}");
        is_there |= row["name"] == NEWER;
    }
    assert!(is_there, "{functions:?}");
    let dsos = report["dsos"].as_array().expect("DSOs");
    let row = dsos.iter().find(|row| row["path"] == text(&builds.program)).expect("a row");
    assert_eq!((&row["status"], &row["found"]), (&"forced".into(), &NEWER_ID.into()));
    assert_eq!((&row["build_id"], &row["image"]), (&OLDER_ID.into(), &text(&builds.newer).into()));
    assert!(row["reason"].as_str().is_some_and(|reason| reason.contains("unverified")), "{row}");

    // Forced names are a part of their own, and the rest is what it was.
    let plain: Value =
        serde_json::from_str(&stdout(&run(&["report", "--json"], &[]))).expect("JSON");
    let (before, after) = (&plain["coverage"], &report["coverage"]);
    for number in ["frames", "named", "samples", "named_leaves"] {
        assert_eq!(before[number], after[number], "{number}");
    }
    assert_eq!((&before["forced"], &before["forced_leaves"]), (&0.into(), &0.into()));
    assert!(after["forced"].as_u64() > Some(0) && after["forced_leaves"].as_u64() > Some(0));
    assert!(after["by_status"]["forced"].as_u64() > Some(0), "{after}");

    for command in [&["report"][..], &["report", "--inverted"], &["script"]] {
        let printed = stdout(&run(command, &["--force-mismatched", &force]));
        let lines: Vec<&str> = printed.lines().filter(|line| line.contains(NEWER)).collect();
        let mark = format!("[forced] {NEWER}");
        assert!(
            !lines.is_empty() && lines.iter().all(|it| it.contains(&mark)),
            "{command:?}: {lines:?}"
        );
    }
    let export = run(&["export", "--to", "collapsed"], &["--force-mismatched", &force]);
    let stacks = stdout(&export);
    assert!(stacks.contains(&format!(";[forced] {NEWER}")), "{stacks}");
    assert_eq!(stacks.matches(NEWER).count(), stacks.matches(&format!("[forced] {NEWER}")).count());
}

#[test]
fn b31_links_and_pages_keep_the_mark_through_every_hand() {
    let (builds, recording) = recorded();
    let force = format!("tide={}", text(&builds.newer));
    let options = ["--no-local", "--force-mismatched", &force];
    let mut share = vec!["share", text(&recording), "--base", "http://a.example/"];
    share.extend(options);
    let link = stdout(&builds.perftab(&share));
    let page = builds.folder.join("page.html");
    let mut export = vec!["export", text(&recording), "--to", "html", "-o", text(&page)];
    export.extend(options);
    assert!(builds.perftab(&export).status.success());
    let page = fs::read_to_string(&page).expect("a page");
    let in_page = page.rsplit_once("id=\"profile\">").expect("a payload").1;
    let in_page = in_page.split_once("</script>").expect("its end").0;

    for payload in [link.trim().split_once('#').expect("a fragment").1, in_page] {
        let mut opened = Session::from_snapshot(payload).expect("it opens");
        let check = |session: &mut Session| {
            let dso = dso_of(session, "tide");
            assert_eq!(status(session, dso), Status::Forced);
            let row = session.dsos().into_iter().find(|row| row.id == dso.0).expect("a row");
            assert_eq!(row.found.as_deref(), Some(NEWER_ID));
            let names = names(session, dso);
            assert!(names.contains(&(NEWER.to_owned(), Provenance::Forced)), "{names:?}");
            assert!(names.iter().all(|(_, provenance)| *provenance == Provenance::Forced));
            assert!(session.coverage().forced > 0);
            let stacks = session.export_collapsed(&Query::default());
            assert!(stacks.contains(&format!("[forced] {NEWER}")), "{stacks}");
        };
        check(&mut opened);
        // The right file does not vouch for names that another build gave.
        let dso = dso_of(&opened, "tide");
        let _ = opened.admit("tide", source(&builds.older));
        opened.name_all_frames();
        check(&mut opened);
        opened.unforce(dso);
        check(&mut opened);
    }
}

#[test]
fn b31_stopping_brings_back_what_was_and_a_match_ends_the_force() {
    let (builds, recording) = recorded();
    let mut session = open_path(&recording).expect("it opens");
    let dso = dso_of(&session, "tide");
    let _ = session.admit("tide", source(&builds.newer)).expect_err("another build");
    let before = session.dsos();
    let coverage = session.coverage();
    assert_eq!(status(&session, dso), Status::Mismatched);

    let forced = session.force(dso, "newer", source(&builds.newer)).expect("it is forced");
    assert!(matches!(forced, ForceResult::Forced { frames: 1.. }), "{forced:?}");
    assert_eq!(status(&session, dso), Status::Forced);
    assert!(names(&session, dso).iter().any(|(name, _)| name == NEWER));
    let is_named = |session: &Session| {
        let mut frames = session.profile().frames.iter().filter(|(_, frame)| frame.dso == dso);
        frames.any(|(frame, _)| session.symbols().naming(frame) == Naming::Named)
    };
    assert!(!is_named(&session), "forced names do not count");
    // Again, and with no file at all: nothing piles up.
    session.force(dso, "newer again", source(&builds.newer)).expect("it is forced");
    let empty = Box::new(SliceSource::new(Vec::new()));
    let error = session.force(dso, "empty", empty).expect_err("no file");
    assert!(matches!(error, ForceError::Unusable { reason: Rejection::NotAnImage { .. } }));
    assert_eq!(status(&session, dso), Status::Forced, "what was forced stays");

    session.unforce(dso);
    assert_eq!(names(&session, dso), []);
    assert_eq!((session.dsos(), session.coverage()), (before, coverage));

    session.force(dso, "newer", source(&builds.newer)).expect("it is forced");
    session.admit("older", source(&builds.older)).expect("it is the build that ran");
    session.name_all_frames();
    assert_eq!(status(&session, dso), Status::Matched);
    let names = names(&session, dso);
    assert!(names.contains(&(OLDER.to_owned(), Provenance::Matched)), "{names:?}");
    assert!(
        names
            .iter()
            .all(|(name, provenance)| { name != NEWER && *provenance == Provenance::Matched })
    );
    let error = session.force(dso, "newer", source(&builds.newer)).expect_err("it has names");
    assert_eq!(error, ForceError::HasNames);
}

#[test]
fn b31_what_matches_is_not_forced_and_what_names_nothing_is_an_error() {
    let (builds, recording) = recorded();
    let report = |options: &[&str]| {
        let mut arguments = vec!["report", text(&recording), "--no-local"];
        arguments.extend(options);
        builds.perftab(&arguments)
    };
    let force = format!("tide={}", text(&builds.older));
    let matched = report(&["--force-mismatched", &force]);
    assert!(stdout(&matched).contains(OLDER) && !stdout(&matched).contains("[forced]"));
    assert!(stderr(&matched).contains("it was used without forcing"), "{}", stderr(&matched));
    let named = report(&["--image", text(&builds.older), "--force-mismatched", &force]);
    assert!(!stdout(&named).contains("[forced]"));

    let nothing = builds.folder.write("nothing", b"no file of any kind");
    let nothing = format!("tide={}", text(&nothing));
    for wrong in ["/does/not/exist", "unheard-of=/bin/sh", text(&builds.newer), &nothing] {
        let output = report(&["--force-mismatched", wrong]);
        assert_eq!(output.status.code(), Some(1), "{wrong}");
        assert_eq!(stderr(&output).lines().count(), 1, "{wrong}: {}", stderr(&output));
    }
}

#[test]
fn b31_without_any_id_a_loud_warning_and_addresses() {
    if !is_installed("b31_without_any_id_a_loud_warning_and_addresses", "perf") {
        return;
    }
    let builds = Builds::new(Ids::Different);
    let recording = builds.record_by_perf(&["-B", "-N"], &[text(&builds.program), "150"]);
    // The very file lies where it ran, and this machine is searched.
    let report = builds.perftab(&["report", text(&recording), "--image", text(&builds.program)]);
    let printed = stdout(&report);
    assert!(!printed.contains(OLDER) && printed.contains("0x"), "{printed}");
    let loud = stderr(&report);
    for words in ["recorded without a build-id", "the recording has no build-ids"] {
        assert!(loud.contains(words), "{loud}");
    }
    let force = format!("tide={}", text(&builds.older));
    let forced = builds.perftab(&["report", text(&recording), "--force-mismatched", &force]);
    assert!(stdout(&forced).contains(&format!("[forced] {OLDER}")));
    assert!(stderr(&forced).contains("UNSAFE"), "{}", stderr(&forced));
}

/// perf's table names paths, not mappings: with two inodes under one path it may be of either.
#[test]
fn b31_one_path_of_two_files_is_ambiguous_until_forced() {
    if !is_installed("b31_one_path_of_two_files_is_ambiguous_until_forced", "perf") {
        return;
    }
    let builds = Builds::new(Ids::Different);
    let script = builds.script(Replaced::ByRename);
    let recording = builds.record_by_perf(&[], &["sh", "-c", &script]);
    let images = [builds.older.as_path(), builds.newer.as_path()];
    assert!(!builds.functions(&recording, &images).are_named());
    let sampled: Vec<Value> = builds
        .dsos(&recording, &images)
        .into_iter()
        .filter(|dso| dso["samples"].as_u64() > Some(0))
        .collect();
    assert_eq!(sampled.len(), 2, "{sampled:?}");
    for dso in &sampled {
        assert_eq!((&dso["status"], &dso["build_id"]), (&"no-identity".into(), &Value::Null));
        assert!(dso["reason"].as_str().is_some_and(|it| it.contains("ambiguous")), "{dso}");
    }
    let force = format!("tide={}", text(&builds.newer));
    let forced =
        builds.perftab(&["report", text(&recording), "--no-local", "--force-mismatched", &force]);
    let printed = stdout(&forced);
    assert!(printed.contains(&format!("[forced] {NEWER}")), "{printed}");
    assert_eq!(stderr(&forced).matches("UNSAFE").count(), 2, "{}", stderr(&forced));
}

/// A run time in small: it makes a loop in memory without a file, says so in a perf map, and runs.
const RUN_TIME: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    static const unsigned char LOOP[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec rdi; jnz; ret */
    for (int i = 0; i < 3; i++) /* mappings before it, so that offsets in them are no addresses */
        mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *code =
        mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code + 256, LOOP, sizeof LOOP);
    char name[4096];
    snprintf(name, sizeof name, "%s/perf-%d.map", words[1], getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %zx LazyCompile:~spin /app.js:1\n", (unsigned long)code + 256, sizeof LOOP);
    fclose(map);
    while (clock() < 0.15 * CLOCKS_PER_SEC) ((void (*)(unsigned long))(code + 256))(100000);
    return 0;
}
"#;

/// What is said where such code has no names.
const MADE_CODE: &str = "samples end in code that processes made while they ran";

#[test]
fn b29_a_perf_map_never_matches_and_names_what_its_own_process_ran() {
    const TEST: &str = "b29_a_perf_map_never_matches_and_names_what_its_own_process_ran";
    if cfg!(not(target_arch = "x86_64")) {
        println!("SKIPPED: {TEST}: its machine code is that of x86-64");
        return;
    }
    let builds = Builds::new(Ids::Different);
    let program = compile(&builds.folder, "runtime", RUN_TIME, &[]);
    let maps = builds.folder.join("maps");
    fs::create_dir(&maps).expect("a folder");
    let command = [text(&program), text(&maps)];
    let mut recordings = vec![builds.record(&[], &command).0];
    if is_installed(TEST, "perf") {
        recordings.push(builds.record_by_perf(&["--buildid-mmap"], &command));
    }
    let mut maps: Vec<PathBuf> =
        fs::read_dir(&maps).expect("a folder").map(|it| it.expect("an entry").path()).collect();
    assert_eq!(maps.len(), recordings.len());
    for recording in recordings {
        let session = open_path(&recording).expect("it opens");
        let processes = &session.profile().threads.processes;
        let of_run = |map: &PathBuf| {
            processes.iter().any(|it| text(map).ends_with(&format!("/perf-{}.map", it.pid)))
        };
        let map = maps.remove(maps.iter().position(of_run).expect("its process was recorded"));

        let offered = builds.perftab(&[
            "report",
            text(&recording),
            "--json",
            "--no-local",
            "--image",
            text(&map),
        ]);
        let report: Value = serde_json::from_str(&stdout(&offered)).expect("JSON");
        assert!(!stderr(&offered).contains(MADE_CODE), "{}", stderr(&offered));
        let functions = report["functions"].as_array().expect("functions");
        let is_spin = |row: &&Value| row["name"] == "LazyCompile:~spin /app.js:1";
        let spin = functions.iter().find(is_spin).expect("the loop is named");
        assert_eq!(spin["forced"], false);
        assert!(spin["self"].as_u64() > report["weight"].as_u64().map(|all| all / 2), "{spin}");
        let dsos = report["dsos"].as_array().expect("DSOs");
        let row = dsos.iter().find(|row| row["path"] == spin["dso"]).expect("a row");
        assert_eq!((&row["kind"], &row["status"]), (&"jit".into(), &"self-named".into()), "{row}");

        // Of another run, it names nothing unless somebody insists.
        let moved = builds.folder.join("moved");
        fs::create_dir_all(&moved).expect("a folder");
        let moved = moved.join(map.file_name().expect("a name"));
        let line = fs::read_to_string(&map).expect("a map");
        fs::write(&moved, format!("1{}", line.trim_start_matches("7f"))).expect("a file");
        let offered =
            builds.perftab(&["report", text(&recording), "--no-local", "--image", text(&moved)]);
        assert!(!stdout(&offered).contains("LazyCompile"), "{}", stdout(&offered));
        assert!(stderr(&offered).contains(MADE_CODE), "{}", stderr(&offered));
        assert!(stderr(&offered).contains("of another run"), "{}", stderr(&offered));
        let forced = builds.perftab(&[
            "report",
            text(&recording),
            "--json",
            "--no-local",
            "--force-mismatched",
            text(&map),
        ]);
        let report: Value = serde_json::from_str(&stdout(&forced)).expect("JSON");
        let functions = report["functions"].as_array().expect("functions");
        assert_eq!(functions.iter().find(is_spin).expect("it is named")["forced"], true);

        // Kept from another process, it names nothing: it is of no process that was recorded.
        let other = builds.folder.join("perf-999999999.map");
        fs::copy(&map, &other).expect("a copy");
        let of_other =
            builds.perftab(&["report", text(&recording), "--force-mismatched", text(&other)]);
        assert_eq!(of_other.status.code(), Some(1), "{}", stderr(&of_other));

        // In core: refused, shown as what it is, and noted where it was meant for.
        let mut session = session;
        let refused =
            session.admit(text(&moved), source(&moved)).expect_err("it is of another run");
        assert!(matches!(refused, Rejection::CodeTable { .. }), "{refused}");
        let is_anon = |id: DsoId| session.profile().dsos.get(id).kind == DsoKind::Anon;
        let rows = session.dsos();
        let row = rows.iter().find(|row| is_anon(DsoId(row.id)) && row.samples > 0);
        let row = row.expect("the memory was sampled");
        assert_eq!(row.status, Status::NoIdentity);
        assert!(row.tried.iter().any(|it| it.outcome.contains("another run")), "{row:?}");
    }
}
