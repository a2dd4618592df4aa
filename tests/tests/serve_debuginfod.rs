//! The same-origin debuginfod of `perftab view`: this machine's files by build-id, then servers,
//! of which none is believed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::program::compile;
use perftab_tests::served::{Debuginfod, Viewer};

const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f31";
const OTHER: &str = "41b7e2c041b7e2c041b7e2c041b7e2c041b7e2c0";
const SOURCE: &str = "int main(void) { return 0; }\n";

fn path(id: &str, artifact: &str) -> String {
    format!("/debuginfod/buildid/{id}/{artifact}")
}

#[test]
fn a_real_debuginfod_answers_through_it() {
    let folder = TestFolder::new();
    let program = compile(&folder, "program", ID, SOURCE);
    let bytes = fs::read(&program).expect("the program");
    let Some(upstream) = Debuginfod::start(&folder) else {
        println!("SKIPPED: a_real_debuginfod_answers_through_it: debuginfod is not installed");
        return;
    };
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);

    // Not stripped, so debuginfod gives the same file as both.
    for artifact in ["executable", "debuginfo"] {
        let answer = viewer.get(&path(ID, artifact));
        assert_eq!(answer.status, 200, "{artifact}: {}", answer.text());
        assert_eq!(answer.header("content-length"), bytes.len().to_string());
        assert!(answer.body == bytes, "{artifact} differs");
        let kept = viewer.home.join(format!(".cache/debuginfod_client/{ID}/{artifact}"));
        assert!(fs::read(&kept).expect("it is kept") == bytes, "{artifact} is kept changed");
    }
    let source = viewer.get(&path(ID, &format!("source{}/program.c", folder.display())));
    assert_eq!((source.status, source.text().as_str()), (200, SOURCE));
    let section = viewer.get(&path(ID, "section/.text"));
    assert_eq!(section.status, 200, "{}", section.text());
    assert!(!section.body.is_empty() && section.body.len() < bytes.len());
    let upper = viewer.get(&path(&ID.to_uppercase(), "executable"));
    assert_eq!(upper.status, 200, "hex digits in upper case");

    let missing = viewer.get(&path(OTHER, "debuginfo"));
    assert_eq!(missing.status, 404);
    assert_eq!(missing.text().lines().count(), 1);
}

#[test]
fn a_file_of_another_build_is_refused_and_the_server_named() {
    let folder = TestFolder::new();
    let other = fs::read(compile(&folder, "program", OTHER, SOURCE)).expect("the program");
    let upstream = FakeServer::start([
        (format!("/buildid/{ID}/executable"), other),
        (format!("/buildid/{ID}/debuginfo"), b"<html>welcome to the hotel network".to_vec()),
    ]);
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);

    let wrong = viewer.get(&path(ID, "executable"));
    assert_eq!(wrong.status, 502, "{}", wrong.text());
    assert!(wrong.text().contains(&upstream.url()), "{}", wrong.text());
    assert!(wrong.text().contains(OTHER), "{}", wrong.text());
    let no_elf = viewer.get(&path(ID, "debuginfo"));
    assert_eq!(no_elf.status, 502, "{}", no_elf.text());
    assert!(no_elf.text().contains(&upstream.url()), "{}", no_elf.text());
    assert_eq!(upstream.asked().len(), 2);
    assert_eq!(files_below(&viewer.home), [""; 0], "what was refused is kept");
}

#[test]
fn the_next_server_is_asked_where_one_fails() {
    let folder = TestFolder::new();
    let right = fs::read(compile(&folder, "right", ID, SOURCE)).expect("the program");
    let other = fs::read(compile(&folder, "other", OTHER, SOURCE)).expect("the program");
    let wrong = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), other)]);
    let empty = FakeServer::start([]);
    let good = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), right.clone())]);
    let down = format!("http://127.0.0.1:{}", http::free_port());
    let servers = [down, wrong.url(), empty.url(), good.url()];
    let arguments: Vec<&str> = servers.iter().flat_map(|url| ["--debuginfod", url]).collect();
    let viewer = Viewer::start(&arguments);
    let answer = viewer.get(&path(ID, "debuginfo"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.body == right, "the bytes differ");
}

#[test]
fn a_server_that_is_down_is_named() {
    let down = format!("http://127.0.0.1:{}", http::free_port());
    let viewer = Viewer::start(&["--debuginfod", &down]);
    let answer = viewer.get(&path(ID, "debuginfo"));
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains(&down), "{}", answer.text());
    assert_eq!(answer.text().lines().count(), 1);
}

#[test]
fn without_servers_what_is_not_here_is_not_found() {
    let viewer = Viewer::start(&[]);
    assert_eq!(viewer.get(&path(ID, "executable")).status, 404);
    assert_eq!(viewer.get(&path(ID, "source/usr/src/a.c")).status, 404);
}

#[test]
fn this_machine_is_asked_before_any_server() {
    let home = TestFolder::new();
    let folder = TestFolder::new();
    let program = compile(&folder, "program", ID, SOURCE);
    let bytes = fs::read(&program).expect("the program");
    // As `perf buildid-cache --add` lays it out.
    let entry = format!(".debug/home/program/{ID}");
    home.write(&format!("{entry}/elf"), &bytes);
    fs::create_dir_all(home.join(".debug/.build-id/9f")).expect("a folder");
    symlink(home.join(entry), home.join(format!(".debug/.build-id/9f/{}", &ID[2..])))
        .expect("a link");

    let upstream = FakeServer::start([]);
    let viewer = Viewer::start_with(home, &["--debuginfod", &upstream.url()], b"");
    let answer = viewer.get(&path(ID, "executable"));
    assert!(answer.status == 200 && answer.body == bytes, "{}", answer.status);
    assert_eq!(upstream.asked(), [""; 0]);
}

#[test]
fn no_local_asks_servers_alone() {
    let home = TestFolder::new();
    let folder = TestFolder::new();
    let bytes = fs::read(compile(&folder, "program", ID, SOURCE)).expect("the program");
    home.write(&format!(".cache/debuginfod_client/{ID}/executable"), &bytes);
    let viewer = Viewer::start_with(home, &["--no-local"], b"");
    assert_eq!(viewer.get(&path(ID, "executable")).status, 404);
}

/// `perf` hard-links files into its cache, so overwriting the original in place changes the entry.
#[test]
fn b48_an_entry_that_holds_another_build_is_not_used() {
    let home = TestFolder::new();
    let folder = TestFolder::new();
    let right = fs::read(compile(&folder, "right", ID, SOURCE)).expect("the program");
    let other = fs::read(compile(&folder, "other", OTHER, SOURCE)).expect("the program");
    home.write(&format!(".cache/debuginfod_client/{ID}/executable"), &other);
    home.write(&format!(".debug/.build-id/9f/{}", &ID[2..]), &other);
    let upstream = FakeServer::start([(format!("/buildid/{ID}/executable"), right.clone())]);
    let viewer = Viewer::start_with(home, &["--debuginfod", &upstream.url()], b"");
    let answer = viewer.get(&path(ID, "executable"));
    assert!(answer.status == 200 && answer.body == right, "{}", answer.status);
    let again = viewer.get(&path(ID, "executable"));
    assert!(again.status == 200 && again.body == right, "{}", again.status);
    assert_eq!(upstream.asked().len(), 1, "the entry was replaced, so one request is enough");
}

fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path().display().to_string());
        }
    }
    files
}
