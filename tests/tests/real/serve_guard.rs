//! Who may ask `perftab view`, and that nothing is read for anybody else.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use perftab_tests::child_process::{self, LimitedCommand, bound_to_this_thread};
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::perftab_binary;
use perftab_tests::servers::Viewer;

const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f31";

fn every_path() -> Vec<String> {
    let artifacts = ["executable", "debuginfo", "source/usr/src/a.c", "section/.text"];
    let files = artifacts.map(|artifact| format!("/debuginfod/buildid/{ID}/{artifact}"));
    [
        "/",
        "/page/code",
        "/page/wasm",
        "/page/images",
        "/profiles",
        "/profile/0",
        "/profile/0/files",
        "/profile/0/code",
        "/profile/0/trusted",
        "/local/trusted/0/0",
        "/local/content/0",
        "/nothing",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(files)
    .collect()
}

#[test]
fn without_the_token_nothing_is_served() {
    let upstream = FakeServer::start([]);
    let viewer = Viewer::start(&["-", "--debuginfod", &upstream.url()]);
    let host = format!("127.0.0.1:{}", viewer.port);
    let wrong = "0".repeat(viewer.token.len());
    let almost = &viewer.token[1..];
    for path in every_path() {
        for query in ["", "?token=", &format!("?token={wrong}"), &format!("?token={almost}")] {
            let answer = http::get(viewer.port, &format!("{path}{query}"), &[("Host", &host)]);
            assert_eq!(answer.status, 403, "{path}{query}");
            assert!(answer.text().contains("the token is"), "{path}{query}: {}", answer.text());
            let posted =
                http::post(viewer.port, &format!("{path}{query}"), &[("Host", &host)], "{}");
            assert_eq!(posted.status, 403, "{path}{query}");
        }
    }
    assert_eq!(upstream.asked(), [""; 0], "a debuginfod was asked for somebody without the token");
}

#[test]
fn a_foreign_host_is_refused_token_or_not() {
    let upstream = FakeServer::start([]);
    let viewer = Viewer::start(&["-", "--debuginfod", &upstream.url()]);
    let foreign = ["perftab.test", "127.0.0.1", "127.0.0.1:1", "localhost.perftab.test", ""];
    for path in every_path() {
        let target = format!("{path}?token={}", viewer.token);
        for host in foreign {
            let answer = http::get(viewer.port, &target, &[("Host", host)]);
            assert!([400, 403].contains(&answer.status), "{path} for {host}: {}", answer.status);
            assert!(!answer.text().contains("<html"), "{path} for {host} gave the page");
        }
    }
    assert_eq!(upstream.asked(), [""; 0], "a debuginfod was asked for a foreign host");
    let localhost = format!("localhost:{}", viewer.port);
    let target = format!("/?token={}", viewer.token);
    assert_eq!(http::get(viewer.port, &target, &[("Host", &localhost)]).status, 200);
}

#[test]
fn a_path_that_climbs_and_an_id_that_is_not_hex_are_refused() {
    let upstream = FakeServer::start([]);
    let viewer = Viewer::start(&["--debuginfod", &upstream.url()]);
    let refused = [
        format!("/debuginfod/buildid/{ID}/source/../../etc/passwd"),
        format!("/debuginfod/buildid/{ID}/source/%2e%2e/etc/passwd"),
        format!("/debuginfod/buildid/{ID}/source/a%2f..%2fb"),
        format!("/debuginfod/buildid/{ID}/source/%252e%252e/etc/passwd"),
        "/debuginfod/buildid/../executable".to_owned(),
        "/debuginfod/buildid/xyz/executable".to_owned(),
        format!("/debuginfod/buildid/{ID}f/debuginfo"),
        format!("/debuginfod/buildid/{}/debuginfo", "ab".repeat(21)),
        "/local/content/../../etc/passwd".to_owned(),
        "/local/content/+0ff00ff00ff00ff00ff00ff00ff00ff".to_owned(),
        "/profile/..".to_owned(),
        "/../etc/passwd".to_owned(),
    ];
    for path in refused {
        let answer = viewer.get(&path);
        assert_eq!(answer.status, 400, "{path}: {}", answer.text());
        assert!(answer.header("content-type").starts_with("text/plain"), "{path}");
        assert_eq!(answer.text().lines().count(), 1, "{path}");
    }
    assert_eq!(upstream.asked(), [""; 0]);
}

#[test]
fn anything_else_is_not_found_and_each_is_asked_by_its_method() {
    let viewer = Viewer::start(&["-"]);
    for path in ["/favicon.ico", "/profile/1", "/profile/x", "/debuginfod/metrics", "//"] {
        assert_eq!(viewer.get(path).status, 404, "{path}");
    }
    let target = format!("/profiles?token={}", viewer.token);
    let host = format!("127.0.0.1:{}", viewer.port);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = http::request(viewer.port, method, &target, &[("Host", &host)]);
        assert_eq!(answer.status, 405, "{method}");
    }
    assert_eq!(viewer.get("/profile/0/files").status, 405);
    assert_eq!(viewer.post("/profile/0/files", "{}").status, 400, "no files are named");
    assert_eq!(viewer.get("/profile/0/code").status, 405);
    assert_eq!(viewer.post("/profile/0/code", "{}").status, 400, "no processes are named");
    let nobody = r#"{"length_nanos":0,"pids":[],"jitdumps":[]}"#;
    assert_eq!(viewer.post("/profile/9/code", nobody).status, 404);
    assert_eq!(viewer.post("/profile/9/files", r#"{"files":[]}"#).status, 404);
}

#[test]
fn every_answer_carries_the_strict_headers() {
    let viewer = Viewer::start(&["-"]);
    for path in ["/", "/profiles", "/profile/0", "/profile/9", "/debuginfod/buildid/x/debuginfo"] {
        let answer = viewer.get(path);
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.header(name), value, "{name} of {path}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
    }
}

#[test]
fn it_listens_on_127_0_0_1_alone() {
    let viewer = Viewer::start(&["-"]);
    // Any other address of loopback stands for any other address.
    TcpStream::connect(("127.0.0.2", viewer.port)).expect_err("it listens on 127.0.0.2 too");
    TcpStream::connect(("::1", viewer.port)).expect_err("it listens on ::1 too");
    TcpStream::connect(("127.0.0.1", viewer.port)).expect("it listens");
}

#[test]
fn a_port_in_use_is_said_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let output = Command::new(perftab_binary())
        .args(["view", "--no-open", "--port", &port, "-"])
        .stdin(Stdio::null())
        .ended()
        .expect("perftab runs");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.lines().last().is_some_and(|line| line.contains("--port")), "{stderr}");
}

#[test]
fn ctrl_c_and_termination_end_it_cleanly() {
    for signal in ["INT", "TERM"] {
        let viewer = Viewer::start(&["-"]);
        assert_eq!(viewer.get("/profiles").status, 200);
        let status = viewer.end_by(signal);
        assert_eq!(status.code(), Some(0), "SIG{signal}: {status}");
    }
}

/// Other users can read the arguments of the browser, and the token in them lets in.
#[test]
fn the_browser_is_opened_without_the_token_in_its_arguments() {
    let folder = TestFolder::new();
    let fake = folder.write("bin/xdg-open", b"#!/bin/sh\necho \"$@\" > ../opened\n");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let fifo = folder.join("opened");
    assert!(Command::new("mkfifo").arg(&fifo).exit_status().unwrap().success());
    let runtime = folder.join("runtime");
    fs::create_dir(&runtime).unwrap();
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut view = bound_to_this_thread(perftab_binary())
        .args(["view", "-"])
        .env("PATH", path)
        .env("DISPLAY", ":0")
        .env("XDG_RUNTIME_DIR", &runtime)
        .current_dir(&runtime)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("perftab view starts");
    let url = child_process::line_of(&mut view.stdout.take().expect("its output"), "perftab view");
    let (_, token) = url.trim().split_once("token=").expect("a token");
    // Opened for both, it does not wait for a writer.
    let mut opened = fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let opened = child_process::line_of(&mut opened, "xdg-open");
    assert!(!opened.contains(token), "{opened}");
    let page = Path::new(opened.trim());
    assert_eq!(page.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(page).unwrap().contains(url.trim()));
    let ended = Command::new("kill").args(["-s", "TERM", &view.id().to_string()]).exit_status();
    assert!(ended.unwrap().success());
    child_process::wait(&mut view, "perftab view");
    assert!(!page.exists(), "it stays behind");
}
