//! The same-origin debuginfod of `perftab view`: this machine's files by build-id, then servers,
//! of which none is believed.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

use perftab_tests::child_process::{LimitedCommand, PATIENCE};
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::program::compile;
use perftab_tests::program::content_hash;
use perftab_tests::servers::{Debuginfod, Viewer};
use serde_json::json;

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
    // Not stripped, so debuginfod gives the same file as both; what one viewer keeps, another
    // with a home of its own has to fetch.
    for artifact in ["executable", "debuginfo"] {
        let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
        let answer = viewer.get(&path(ID, artifact));
        assert_eq!(answer.status, 200, "{artifact}: {}", answer.text());
        assert_eq!(answer.header("content-length"), bytes.len().to_string());
        assert!(answer.body == bytes, "{artifact} differs");
        let kept = viewer.home.join(format!(".cache/debuginfod_client/{ID}/{artifact}"));
        assert!(fs::read(&kept).expect("it is kept") == bytes, "{artifact} is kept changed");
    }
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
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
fn a_file_that_turns_out_wrong_stays_incomplete() {
    let folder = TestFolder::new();
    let two_faced = two_faced(&fs::read(compile(&folder, "program", ID, SOURCE)).expect("it"));
    let length = two_faced.len();
    let upstream = FakeServer::start([(format!("/buildid/{ID}/executable"), two_faced)]);
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
    let answer = viewer.get_even_if_cut(&path(ID, "executable"));
    assert!(!answer.is_complete, "{}: {} of {length} bytes", answer.status, answer.body.len());
    assert_eq!(files_below(&viewer.home), [""; 0], "what was refused is kept");
}

/// A program whose first bytes have its build-id and whose section headers name another note, at
/// the end, with another id.
fn two_faced(program: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(program[at..at + 8].try_into().expect("8 bytes"));
    let id: Vec<u8> = hex(ID);
    let note = program.windows(20).position(|bytes| bytes == id).expect("the id") - 16;
    let mut changed = program.to_vec();
    // Elf64_Ehdr.e_shoff; of each Elf64_Shdr (64 bytes) sh_offset at 24.
    let headers = (word(0x28) as usize..program.len()).step_by(64);
    let header = headers.clone().find(|&at| word(at + 24) == note as u64).expect("its section");
    // Far behind: what is at hand from the start decides at once.
    changed.resize(3_000_000, 0);
    let end = changed.len() as u64;
    changed[header + 24..header + 32].copy_from_slice(&end.to_le_bytes());
    changed.extend_from_slice(&program[note..note + 16]);
    changed.extend_from_slice(&hex(OTHER));
    changed
}

fn hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[test]
fn a_server_that_breaks_off_gives_no_complete_file() {
    let folder = TestFolder::new();
    let bytes = fs::read(compile(&folder, "program", ID, SOURCE)).expect("the program");
    let whole = bytes.clone();
    let breaks_off = FakeServer::start_with(move |_, stream| {
        let _ = http::write_head(stream, "200 OK", bytes.len());
        let _ = stream.write_all(&bytes[..bytes.len() - 1]);
    });
    let good = FakeServer::start([(format!("/buildid/{ID}/executable"), whole.clone())]);
    let servers = ["--debuginfod", &breaks_off.url(), "--debuginfod", &good.url()];
    let viewer = Viewer::start(&servers);
    let answer = viewer.get_even_if_cut(&path(ID, "executable"));
    assert!(!answer.is_complete || answer.body == whole, "a file of two halves");
    assert!(files_below(&viewer.home).len() <= 1);
}

#[test]
fn bytes_are_passed_on_while_they_come() {
    let folder = TestFolder::new();
    let program = fs::read(compile(&folder, "program", ID, SOURCE)).expect("the program");
    // Something behind the program, so that there is more to come than one block.
    let bytes = [program.clone(), vec![7; 3_000_000]].concat();
    let whole = bytes.clone();
    let (go_on, wait) = mpsc::channel::<()>();
    let upstream = FakeServer::start_with(move |_, stream| {
        let half = bytes.len() / 2;
        let _ = http::write_head(stream, "200 OK", bytes.len());
        let _ = stream.write_all(&bytes[..half]);
        // Until the client has seen something of it.
        wait.recv().expect("the test goes on");
        let _ = stream.write_all(&bytes[half..]);
    });
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
    let mut stream = viewer.send(&path(ID, "debuginfo"));
    let head = http::read_head(&mut stream);
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), whole.len().to_string());
    let mut first = vec![0; program.len()];
    stream.read_exact(&mut first).expect("bytes before the upstream has sent them all");
    assert!(first == program, "the first bytes differ");
    go_on.send(()).expect("the upstream waits");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the rest");
    assert!([first, rest].concat() == whole, "the bytes differ");
}

#[test]
fn a_page_that_hangs_up_ends_the_download() {
    let (upstream, ended) = endless(4_000_000_000);
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
    let mut stream = viewer.send(&path(ID, "executable"));
    assert_eq!(http::read_head(&mut stream).status, 200);
    drop(stream);
    ended.recv_timeout(PATIENCE).expect("the download ends");
    assert_eq!(viewer.get("/profiles").status, 200, "it serves on");
    viewer.end_by("INT");
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let (upstream, ended) = endless(1_000_000_000_000);
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
    let answer = viewer.get(&path(ID, "executable"));
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains(&upstream.url()), "{}", answer.text());
    ended.recv_timeout(PATIENCE).expect("the download ends");
    assert_eq!(files_below(&viewer.home), [""; 0], "what was refused is kept");
}

/// A server that announces so many bytes, begins with a program that has [`ID`], and sends until
/// the other side hangs up; then it says so.
fn endless(announced: usize) -> (FakeServer, mpsc::Receiver<()>) {
    let folder = TestFolder::new();
    let program = fs::read(compile(&folder, "program", ID, SOURCE)).expect("the program");
    let (ended, end) = mpsc::channel();
    let server = FakeServer::start_with(move |_, stream| {
        let _ = http::write_head(stream, "200 OK", announced);
        let _ = stream.write_all(&program);
        let block = vec![7; 1 << 20];
        while stream.write_all(&block).is_ok() {}
        let _ = ended.send(());
    });
    (server, end)
}

#[test]
fn sections_come_from_this_machine_too() {
    let home = TestFolder::new();
    let folder = TestFolder::new();
    let source = "const char text[] = \"here I am\"; int main(void) { return text[0]; }\n";
    let program = compile(&folder, "program", ID, source);
    let bytes = fs::read(&program).expect("the program");
    home.write(&format!(".cache/debuginfod_client/{ID}/executable"), &bytes);
    let viewer = Viewer::start_with(home, &[], b"");
    let section = viewer.get(&path(ID, "section/.rodata"));
    assert_eq!(section.status, 200, "{}", section.text());
    assert!(section.text().contains("here I am"), "{}", section.text());
    assert_eq!(viewer.get(&path(ID, "section/.nothing")).status, 404);
}

#[test]
fn the_next_server_is_asked_where_one_fails() {
    let folder = TestFolder::new();
    let right = fs::read(compile(&folder, "right", ID, SOURCE)).expect("the program");
    let other = fs::read(compile(&folder, "other", OTHER, SOURCE)).expect("the program");
    let wrong = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), other)]);
    let empty = FakeServer::start([]);
    let good = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), right.clone())]);
    let down = http::down();
    let servers = [down, wrong.url(), empty.url(), good.url()];
    let arguments: Vec<&str> = servers.iter().flat_map(|url| ["--debuginfod", url]).collect();
    let viewer = Viewer::start(&arguments);
    let answer = viewer.get(&path(ID, "debuginfo"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.body == right, "the bytes differ");
}

#[test]
fn a_server_that_is_down_is_named() {
    let down = http::down();
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

/// The page has told where it ran; nothing but its content says that it is the one.
#[test]
fn a_file_without_a_build_id_is_found_by_its_content_where_it_ran() {
    let folder = TestFolder::new();
    let program = compile(&folder, "program", ID, SOURCE);
    let removed = ["--remove-section=.note.gnu.build-id"];
    run("objcopy", &[&removed[..], &[text(&program)]].concat());
    let (bytes, hash) = (fs::read(&program).expect("the program"), content_hash(&program));
    let words = folder.write("words", b"no executable");
    let files: Vec<_> = [(&program, &hash), (&words, &content_hash(&words))]
        .iter()
        .enumerate()
        .map(|(dso, (path, hash))| {
            json!({"dso": dso, "kind": "user", "path": path, "identity": {"content": hash}})
        })
        .collect();
    let told = json!({ "files": files }).to_string();
    let content = |viewer: &Viewer, hash: &str| viewer.get(&format!("/local/content/{hash}"));
    let tell = |viewer: &Viewer| {
        let answer = viewer.post("/profile/0/files", &told);
        assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"replaced":[],"same":[]}"#));
    };

    let upstream = FakeServer::start([]);
    let viewer = Viewer::start(&["-", "--debuginfod", &upstream.url()]);
    assert_eq!(content(&viewer, &hash).status, 404, "nobody has told where it ran");
    tell(&viewer);
    let answer = content(&viewer, &hash);
    assert!(answer.status == 200 && answer.body == bytes, "{}", answer.status);
    assert_eq!(
        content(&viewer, &content_hash(&words)).status,
        404,
        "what is no image is not handed out"
    );
    let kept = folder.join("kept");
    fs::rename(&program, &kept).expect("it moves");
    compile(&folder, "program", ID, SOURCE);
    assert_eq!(content(&viewer, &hash).status, 404, "another build is at its path");
    assert_eq!(upstream.asked(), [""; 0], "no server knows hashes");

    // Where it is named, it may have any name.
    let viewer = Viewer::start(&["-", "--no-local", "--image", text(&kept)]);
    let answer = content(&viewer, &hash);
    assert!(answer.status == 200 && answer.body == bytes, "{}", answer.status);
    fs::rename(&kept, &program).expect("it moves");
    let viewer = Viewer::start(&["-", "--no-local"]);
    tell(&viewer);
    assert_eq!(content(&viewer, &hash).status, 404, "nothing else here is to be looked at");
}

/// The page reads such a file piece by piece, and all pieces have to be of one build.
#[test]
fn b48_pieces_of_a_file_are_of_one_state_of_it() {
    let home = TestFolder::new();
    let folder = TestFolder::new();
    let bytes = fs::read(compile(&folder, "program", ID, SOURCE)).expect("the program");
    let other = fs::read(compile(&folder, "other", OTHER, SOURCE)).expect("the program");
    let entry = home.write(&format!(".cache/debuginfod_client/{ID}/executable"), &bytes);
    let upstream = FakeServer::start([]);
    let viewer = Viewer::start_with(home, &["--debuginfod", &upstream.url()], b"");
    let local = format!("/local/buildid/{ID}/executable");
    let piece =
        |state: &str| viewer.get_with(&local, &[("Range", "bytes=100-199"), ("If-Match", state)]);
    let first = viewer.get_with(&local, &[("Range", "bytes=0-0")]);
    assert_eq!((first.status, first.body.as_slice()), (206, &bytes[..1]));
    assert_eq!(first.header("content-range"), format!("bytes 0-0/{}", bytes.len()));
    let state = first.header("etag").to_owned();
    assert_eq!((piece(&state).status, piece(&state).body.as_slice()), (206, &bytes[100..200]));

    // Written to in place: another build is not found, the same one is not what was begun with.
    fs::write(&entry, &other).expect("it is written to");
    assert_eq!((piece(&state).status, viewer.get(&local).status), (412, 404));
    fs::write(&entry, &bytes).expect("it is written to");
    assert_eq!(piece(&state).status, 412);
    let state = viewer.get(&local).header("etag").to_owned();
    assert_eq!(piece(&state).body.as_slice(), &bytes[100..200]);

    // Another build takes its place.
    let newer = entry.with_extension("newer");
    fs::write(&newer, &other).expect("another build");
    fs::rename(&newer, &entry).expect("it takes the place");
    assert_eq!((piece(&state).status, viewer.get(&local).status), (412, 404));

    assert_eq!(viewer.get(&format!("/local/buildid/{ID}/debuginfo")).status, 404);
    assert_eq!(upstream.asked(), [""; 0], "a server was asked for a file of this machine");
}

/// The page asks once for whatever tells most of a build.
#[test]
fn the_best_file_of_this_machine_is_the_debug_file_else_the_executable() {
    let folder = TestFolder::new();
    let program = compile(&folder, "program", ID, SOURCE);
    let debug = fs::read(&program).expect("the program");
    run("strip", &["--strip-debug", text(&program)]);
    let stripped = fs::read(&program).expect("the program");
    let cached = |artifact: &str| format!(".cache/debuginfod_client/{ID}/{artifact}");
    let best =
        |home: TestFolder| Viewer::start_with(home, &[], b"").get(&format!("/local/buildid/{ID}"));

    assert_eq!(best(TestFolder::new()).status, 404);
    let home = TestFolder::new();
    home.write(&cached("executable"), &stripped);
    assert_eq!(best(home).body, stripped);
    let home = TestFolder::new();
    home.write(&cached("executable"), &stripped);
    home.write(&cached("debuginfo"), &debug);
    assert_eq!(best(home).body, debug);
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).ended().expect("it runs");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a text")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a text")
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
