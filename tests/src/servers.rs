//! Servers that run as long as a test does: `perftab view` and elfutils' debuginfod.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::child_process::{self, LimitedCommand, PATIENCE, bound_to_this_thread};
use crate::folder::TestFolder;
use crate::http::{self, Answer};
use crate::open::open_path;
use crate::perftab_binary;

/// A running `perftab view`, with a home folder of its own; ends when dropped.
pub struct Viewer {
    child: Child,
    /// Where it listens.
    pub port: u16,
    /// What it lets in.
    pub token: String,
    /// Its `$HOME`.
    pub home: TestFolder,
}

impl Viewer {
    /// Starts `perftab view --no-open` with these arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(TestFolder::new(), arguments, &[])
    }

    /// Starts it with this home folder and these bytes on standard input.
    pub fn start_with(home: TestFolder, arguments: &[&str], input: &[u8]) -> Self {
        let mut child = bound_to_this_thread(perftab_binary())
            .args(["view", "--no-open"])
            .args(arguments)
            .env("HOME", &*home)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("DEBUGINFOD_CACHE_PATH")
            .env_remove("DEBUGINFOD_URLS")
            .current_dir(&*home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("perftab view starts");
        let mut stdin = child.stdin.take().expect("its standard input");
        stdin.write_all(input).expect("it reads its standard input");
        drop(stdin);
        let mut stdout = child.stdout.take().expect("its standard output");
        let line = child_process::line_of(&mut stdout, "perftab view");
        let (port, token) = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .and_then(|rest| rest.split_once("/?token="))
            .unwrap_or_else(|| panic!("no URL in {line:?}"));
        let port = port.parse().expect("a port");
        Self { port, token: token.to_owned(), child, home }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A GET as the page would send it.
    pub fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    /// The same with more headers.
    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let host = format!("127.0.0.1:{}", self.port);
        let headers = [&[("Host", host.as_str())], headers].concat();
        http::get(self.port, &format!("{path}?token={}", self.token), &headers)
    }

    /// A POST of JSON as the page would send it.
    pub fn post(&self, path: &str, body: &str) -> Answer {
        let host = format!("127.0.0.1:{}", self.port);
        let target = format!("{path}?token={}", self.token);
        http::post(self.port, &target, &[("Host", &host)], body)
    }

    /// Tells it of the files of the recording that it serves, as the page does when it has read that.
    /// What it answers to that.
    pub fn tell_files(&self, recording: &Path) -> serde_json::Value {
        let session = open_path(recording).expect("a recording");
        let files = session.recorded_files().to_json().expect("JSON");
        let answer = self.post("/profile/0/files", &files);
        assert_eq!(answer.status, 200, "{}", answer.text());
        serde_json::from_slice(&answer.body).expect("JSON")
    }

    /// A GET whose answer may be cut short.
    pub fn get_even_if_cut(&self, path: &str) -> Answer {
        let host = format!("127.0.0.1:{}", self.port);
        let target = format!("{path}?token={}", self.token);
        http::request(self.port, "GET", &target, &[("Host", &host)])
    }

    /// A GET whose answer waits to be read.
    pub fn send(&self, path: &str) -> BufReader<TcpStream> {
        let host = format!("127.0.0.1:{}", self.port);
        let target = format!("{path}?token={}", self.token);
        http::send(self.port, "GET", &target, &[("Host", &host)])
    }

    /// Sends it a signal by name and waits until it has ended.
    pub fn end_by(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        let sent =
            Command::new("kill").args(["-s", signal, &pid]).exit_status().expect("kill runs");
        assert!(sent.success(), "kill -s {signal} {pid}");
        child_process::wait(&mut self.child, "perftab view after a signal")
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        child_process::kill(&mut self.child);
    }
}

/// A port for a server that must be told one. Below those that systems give away (from 32768 on), so
/// that no server of another test has it.
fn next_port() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    20_000 + (process::id().wrapping_mul(37).wrapping_add(count) % 10_000) as u16
}

/// A running debuginfod over a folder; ends when dropped.
pub struct Debuginfod {
    child: Child,
    port: u16,
}

impl Debuginfod {
    /// Starts it and waits until it has read the folder; `None` if it is not installed.
    pub fn start(folder: &Path) -> Option<Self> {
        Command::new("debuginfod").arg("--version").ended().ok()?;
        // Somebody else may take a port that is free before it does; then it ends.
        let started = (0..20).find_map(|_| Self::start_at(next_port(), folder));
        Some(started.expect("one of twenty ports is free"))
    }

    /// `None` if it ends.
    fn start_at(port: u16, folder: &Path) -> Option<Self> {
        let child = bound_to_this_thread("debuginfod")
            .args(["-d", ":memory:", "-p", &port.to_string(), "-F"])
            .arg(folder)
            .env_remove("DEBUGINFOD_URLS")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("debuginfod starts");
        let mut server = Self { child, port };
        // It has no other way to tell than to be asked.
        let give_up = Instant::now() + PATIENCE;
        while server.child.try_wait().expect("a child").is_none() {
            if server.is_ready() {
                return Some(server);
            }
            assert!(Instant::now() < give_up, "debuginfod has not read {}", folder.display());
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Whether it has walked the folder and is done with each file that it found there: its queue is
    /// empty before the walk, too, and again while the last file of it is being read.
    fn is_ready(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok() && {
            let metrics = http::get(self.port, "/metrics", &[("Host", "localhost")]).text();
            let count = |metric: &str| {
                let mut values = metrics.lines().filter_map(|line| line.strip_prefix(metric));
                values.next().map_or(0, |value| value.trim().parse::<u64>().expect("a number"))
            };
            count("thread_work_total{role=\"traverse\"}") > 0
                && count("thread_work_total{role=\"scan\"}")
                    == count("traversed_total{type=\"file\"}")
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Debuginfod {
    fn drop(&mut self) {
        child_process::kill(&mut self.child);
    }
}
