//! Source files as `perftab view` hands them to its page: those that the debug information of a build names, and of these
//! only regular files that are called as sources are.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::program::content_hash;
use perftab_tests::servers::{Debuginfod, Viewer};

const ID: &str = "50c350c350c350c350c350c350c350c350c350c3";

/// What a hostile binary may name, and how its function is called here.
const HOSTILE: [(&str, &str); 9] = [
    ("shadow", "/etc/shadow"),
    ("climbing", "../../x.c"),
    ("device", "/dev/zero"),
    ("secret", "HERE/secret"),
    ("pipe", "HERE/pipe.c"),
    ("link", "HERE/link.c"),
    ("endless", "HERE/endless.c"),
    ("huge", "HERE/huge.c"),
    ("folder", "HERE/folder.c"),
];

fn ends_well(program: &str, arguments: &[&str], folder: &TestFolder) {
    let status = Command::new(program).args(arguments).current_dir(&**folder).exit_status();
    assert!(status.expect(program).success(), "{program} {arguments:?}");
}

/// Compiles a program whose functions say that they are of these files.
fn compiled(folder: &TestFolder) -> String {
    let here = folder.to_str().expect("UTF-8");
    let function = |name: &str| {
        format!("__attribute__((noinline)) int {name}_code(int x) {{ return x * 3 + 1; }}\n")
    };
    let mut text = function("own");
    for (name, path) in HOSTILE {
        let path = path.replace("HERE", here);
        text += &format!("#line 1 \"{path}\"\n{}", function(name));
    }
    text += "int main(void) { return 0; }\n";
    let source = folder.write("own.c", text.as_bytes());
    let id = format!("-Wl,--build-id=0x{ID}");
    let source = source.to_str().expect("UTF-8");
    ends_well("gcc", &["-g", "-O1", &id, source, "-o", "program"], folder);
    text
}

/// Addresses of functions in the program's own file.
fn address_of(function: &str, folder: &TestFolder) -> String {
    let listing = Command::new("nm").arg("program").current_dir(&**folder).ended().expect("nm");
    let listing = String::from_utf8(listing.stdout).expect("UTF-8");
    let wanted = format!(" {function}_code");
    let line = listing.lines().find(|line| line.ends_with(&wanted)).expect("a symbol");
    line.split(' ').next().expect("an address").trim_start_matches('0').to_owned()
}

#[test]
fn a_source_is_what_the_debug_information_names_and_nothing_else() {
    let folder = TestFolder::new();
    let text = compiled(&folder);
    folder.write("secret", b"secret");
    folder.write("huge.c", b"");
    File::options()
        .write(true)
        .open(folder.join("huge.c"))
        .and_then(|file| file.set_len(17 << 20))
        .expect("it grows");
    fs::create_dir(folder.join("folder.c")).expect("a folder");
    symlink(folder.join("secret"), folder.join("link.c")).expect("a link");
    symlink("/dev/zero", folder.join("endless.c")).expect("a link");
    ends_well("mkfifo", &["pipe.c"], &folder);
    let program = folder.join("program");
    let program = program.to_str().expect("UTF-8");
    let viewer = Viewer::start(&["--image", program]);
    let asked =
        |function: &str| viewer.get(&format!("/source/{ID}/{}", address_of(function, &folder)));

    let own = asked("own");
    assert_eq!((own.status, own.body.as_slice()), (200, text.as_bytes()));
    let modified = fs::metadata(folder.join("own.c")).and_then(|it| it.modified()).expect("a time");
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    assert_eq!(own.header("perftab-modified"), since.as_millis().to_string());
    assert_eq!(own.header("perftab-from"), "file");
    for (name, path) in HOSTILE {
        let arguments = ["-e", "program", &address_of(name, &folder)];
        let line = Command::new("addr2line").args(arguments).current_dir(&*folder).ended();
        let line = String::from_utf8(line.expect("addr2line").stdout).expect("UTF-8");
        let file = path.rsplit('/').next().expect("a name");
        assert!(line.contains(&format!("/{file}:1")), "{path} is named: {line}");
        let answer = asked(name);
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
    }

    // What was changed after the binary is another file.
    let file = File::options().write(true).open(folder.join("own.c")).expect("it opens");
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("a time");
    let changed = asked("own");
    assert_eq!(changed.status, 409);
    assert!(changed.text().contains("changed after the binary was built"), "{}", changed.text());

    // A binary that is younger than what it ran in is a copy: then the recording's time counts.
    let minutes = |minutes: u64| SystemTime::now() - Duration::from_secs(60 * minutes);
    file.set_modified(minutes(10)).expect("a time");
    assert_eq!(asked("own").status, 200);
    let recording = folder.join("perf.data");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/perf-fp.perf.data");
    fs::copy(fixture, &recording).expect("a copy");
    let recorded = File::options().write(true).open(&recording).expect("it opens");
    recorded.set_modified(minutes(20)).expect("a time");
    let of_recording = Viewer::start(&["--image", program, recording.to_str().expect("UTF-8")]);
    let path = format!("/source/{ID}/{}", address_of("own", &folder));
    assert_eq!(of_recording.get(&path).status, 409);

    let address = address_of("own", &folder);
    let of_others = format!("/source/{}/{address}", ID.replace('5', "6"));
    assert_eq!(viewer.get(&of_others).status, 204);
    for path in ["/etc/passwd", "..%2f..%2fx", "+10", "0x10", "11112222333344445", ""] {
        let status = viewer.get(&format!("/source/{ID}/{path}")).status;
        assert!([204, 400, 404].contains(&status), "{path}: {status}");
    }
    // Nothing but what is named may be looked at.
    let viewer = Viewer::start(&["--image", program, "--no-local"]);
    assert_eq!(viewer.get(&format!("/source/{ID}/{address}")).status, 204);

    // Without a build-id, its content says that it is the program.
    ends_well("objcopy", &["--remove-section=.note.gnu.build-id", "program", "plain"], &folder);
    let plain = folder.join("plain");
    let viewer = Viewer::start(&["--image", plain.to_str().expect("UTF-8")]);
    let of_content = |hash: &str| viewer.get(&format!("/source/content/{hash}/{address}"));
    let found = of_content(&content_hash(&plain));
    assert_eq!((found.status, found.body.as_slice()), (200, text.as_bytes()));
    assert_eq!(of_content(&"0".repeat(32)).status, 204);

    // Below a folder that is named instead, what is there under the rest of the path.
    let elsewhere = TestFolder::new();
    let path = folder.join("own.c");
    let strip = path.parent().map_or(0, |it| it.components().count() - 1).to_string();
    elsewhere.write("own.c", b"int elsewhere;");
    let old = File::options().write(true).open(elsewhere.join("own.c")).expect("it opens");
    old.set_modified(minutes(10)).expect("a time");
    let prefix = elsewhere.to_str().expect("UTF-8");
    let moved = ["--image", program, "--no-local", "--prefix", prefix, "--prefix-strip", &strip];
    let viewer = Viewer::start(&moved);
    let found = viewer.get(&format!("/source/{ID}/{address}"));
    assert_eq!((found.status, found.text().as_str()), (200, "int elsewhere;"));
    for (name, path) in HOSTILE {
        let address = address_of(name, &folder);
        assert_eq!(viewer.get(&format!("/source/{ID}/{address}")).status, 204, "{path}");
    }
}

/// A server that the user named has it, and is asked for no more than sources.
#[test]
fn a_server_is_asked_for_the_source_that_the_debug_information_names() {
    let test = "a_server_is_asked_for_the_source_that_the_debug_information_names";
    let folder = TestFolder::new();
    let text = compiled(&folder);
    folder.write("secret", b"secret");
    folder.write("huge.c", b"");
    let huge = File::options().write(true).open(folder.join("huge.c")).expect("it opens");
    huge.set_len(17 << 20).expect("it grows");
    let Some(server) = Debuginfod::start(&folder) else {
        println!("SKIPPED: {test}: debuginfod is not installed");
        return;
    };
    let program = folder.join("program");
    let program = program.to_str().expect("UTF-8");
    let url = server.url();
    let viewer = Viewer::start(&["--image", program, "--no-local", "--debuginfod", &url]);
    let asked = |function: &str| {
        viewer.get(&format!("/debuginfod/source/{ID}/{}", address_of(function, &folder)))
    };
    let own = asked("own");
    assert_eq!((own.status, own.body.as_slice()), (200, text.as_bytes()));
    assert_eq!(own.header("perftab-from"), "debuginfod");
    // The page asks so until the user has agreed to ask servers.
    assert_eq!(viewer.get(&format!("/source/{ID}/{}", address_of("own", &folder))).status, 204);
    for name in ["shadow", "climbing", "device", "secret", "huge"] {
        assert_eq!(asked(name).status, 204, "{name}");
    }
}

/// Of a server that fails the page is told; one that has nothing, or more than a source, is as if it had not been asked.
#[test]
fn a_server_that_fails_to_give_a_source_is_named() {
    let folder = TestFolder::new();
    compiled(&folder);
    let program = folder.join("program");
    let program = program.to_str().expect("UTF-8");
    let asked = |server: &str| {
        let viewer = Viewer::start(&["--image", program, "--no-local", "--debuginfod", server]);
        viewer.get(&format!("/debuginfod/source/{ID}/{}", address_of("own", &folder)))
    };
    let failing = FakeServer::start_with(|_, stream| {
        let _ = http::write_head(stream, "500 Internal Server Error", 0);
    });
    for (server, outcome) in [(failing.url(), "failed"), (http::down(), "unreachable")] {
        let answer = asked(&server);
        assert_eq!(answer.status, 502, "{}", answer.text());
        let said: serde_json::Value = serde_json::from_str(&answer.text()).expect("JSON");
        assert_eq!(said["servers"][0]["outcome"], outcome, "{said}");
        let sentence = said["servers"][0]["detail"].as_str().expect("a sentence");
        assert!(sentence.contains(&server), "{sentence}");
    }
    assert_eq!(asked(&FakeServer::start([]).url()).status, 204);
    let endless = FakeServer::start_with(|_, stream| {
        let block = [b'x'; 1 << 16];
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while sent.is_ok() {
            sent = stream.write_all(&block);
        }
    });
    assert_eq!(asked(&endless.url()).status, 204);
}
