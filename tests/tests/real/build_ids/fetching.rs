//! How servers are asked: side by side, most samples first, each build once, until somebody gives
//! up. What is asked for does not depend on what is answered, so the recordings are made up.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use perftab_tests::child_process::{self, LimitedCommand, PATIENCE, end_of};
use perftab_tests::fixtures::story;
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{FakeServer, write_head};
use perftab_tests::program::compile;
use perftab_tests::servers::Viewer;
use perftab_tests::synth::{
    BuildIdEntry, MappedFile, Mapping, Order, Recording, TableLayout, context, elf,
};
use perftab_tests::{perftab_at, perftab_binary};
use serde_json::Value;

fn id(number: u8) -> [u8; 20] {
    let mut id = [0x5c; 20];
    id[19] = number;
    id
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A recording of libraries, each with an id and so many samples.
fn recording(libraries: &[(&str, &[u8], u64)]) -> Recording {
    let mut recording = Recording::new(Order::Little, story::usual_events());
    for (number, (path, id, samples)) in libraries.iter().enumerate() {
        let start = 0x7f00_0000_0000 + number as u64 * 0x10_0000;
        let mapping = Mapping {
            misc: 2,
            pid: 10,
            tid: 10,
            addresses: start..start + 0x1000,
            offset: 0x1000,
            file: match id {
                [] => MappedFile::Inode(8, 1, number as u64 + 1, 0),
                id => MappedFile::BuildId(id),
            },
            path,
        };
        let time = 1_000 * (number as u64 + 1);
        recording.mmap2(story::at(10, time, 0), &mapping);
        for sample in 0..*samples {
            let chain = [context::USER, start + 0x10 * (sample % 8)];
            recording
                .sample(0, &story::sample(story::at(10, time + 1 + sample, 0), 100, 1, &chain));
        }
    }
    recording.round();
    recording
}

/// A request that waits for its answer.
struct Waiting {
    path: String,
    stream: TcpStream,
}

impl Waiting {
    fn not_found(mut self) {
        let _ = write_head(&mut self.stream, "404 Not Found", 0);
    }

    /// A megabyte a second, until nobody takes it.
    fn pour(mut self) {
        let mut sent = write_head(&mut self.stream, "200 OK", 4_000_000_000);
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(20));
            sent = self.stream.write_all(&[b'x'; 20_000]).and_then(|()| self.stream.flush());
        }
    }

    /// More than lies between the two, of an answer that does not end: some of it has arrived.
    fn begin(mut self) -> TcpStream {
        write_head(&mut self.stream, "200 OK", 4_000_000_000).expect("it is there");
        self.stream.write_all(&vec![b'x'; 32 << 20]).expect("it is taken");
        self.stream
    }

    /// A byte now and then, until nobody takes it.
    fn drip(mut self) {
        let mut sent = write_head(&mut self.stream, "200 OK", 1_000_000);
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(20));
            sent = self.stream.write_all(b"x").and_then(|()| self.stream.flush());
        }
    }
}

/// A server that answers nothing by itself: every request comes out of the receiver.
fn server_in_our_hands() -> (String, Receiver<Waiting>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || read_request(stream, &sender));
        }
    });
    (url, requests)
}

fn read_request(stream: TcpStream, requests: &Sender<Waiting>) {
    let mut reader = BufReader::new(stream.try_clone().expect("another handle"));
    let mut lines = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        lines.push(std::mem::take(&mut line));
    }
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let _ = requests.send(Waiting { path: path.to_owned(), stream });
}

#[test]
fn files_are_fetched_side_by_side_most_samples_first() {
    let folder = TestFolder::new();
    let ids: Vec<[u8; 20]> = (1..=9).map(id).collect();
    let names: Vec<String> = (1..=9).map(|number| format!("/nowhere/lib{number}.so")).collect();
    // The last library has most samples.
    let libraries: Vec<(&str, &[u8], u64)> = names
        .iter()
        .zip(&ids)
        .zip(1..)
        .map(|((name, id), samples)| (name.as_str(), &id[..], samples))
        .collect();
    folder.write("perf.data", &recording(&libraries).file());
    let (url, requests) = server_in_our_hands();
    let mut child = perftab_at(&folder, &["report", "--no-local", "--debuginfod", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab starts");
    // Four are under way before any is answered: those of most samples.
    let next = || requests.recv_timeout(PATIENCE).expect("a request");
    let first: Vec<Waiting> = (0..4).map(|_| next()).collect();
    let mut asked: Vec<&str> = first.iter().map(|request| request.path.as_str()).collect();
    asked.sort_unstable();
    let debuginfo = |id: &[u8]| format!("/buildid/{}/debuginfo", hex(id));
    let expected: Vec<String> = ids[5..].iter().map(|id| debuginfo(id)).collect();
    assert_eq!(asked, expected);
    first.into_iter().for_each(Waiting::not_found);
    // Then all the others, each file of each build once; the debug file before the executable.
    let mut order: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 4..2 * ids.len() {
        let request = next();
        let (build, artifact) = request.path["/buildid/".len()..].split_once('/').expect("a path");
        order.entry(build.to_owned()).or_default().push(artifact.to_owned());
        request.not_found();
    }
    assert!(child_process::wait(&mut child, "perftab report").success());
    assert!(requests.try_recv().is_err(), "nothing is asked twice");
    for (number, id) in ids.iter().enumerate() {
        let rest = if number < 5 { &["debuginfo", "executable"][..] } else { &["executable"] };
        assert_eq!(order[&hex(id)], rest, "library {number}");
    }
}

#[test]
fn one_build_under_many_paths_is_asked_for_once() {
    let folder = TestFolder::new();
    let (one, other) = (id(1), id(2));
    let libraries: [(&str, &[u8], u64); 3] =
        [("/nowhere/a.so", &one, 3), ("/nowhere/b.so", &one, 2), ("/nowhere/c.so", &other, 1)];
    folder.write("perf.data", &recording(&libraries).file());
    let server = FakeServer::start([]);
    let output = perftab_at(&folder, &["info", "--json", "--debuginfod", &server.url()])
        .ended()
        .expect("it runs");
    assert_eq!(server.asked().len(), 4, "{:?}", server.asked());
    // What came of it is said of each.
    let info: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for dso in info["dsos"].as_array().expect("dsos") {
        let tried = dso["tried"].to_string();
        assert!(tried.contains("not found"), "{}: {tried}", dso["path"]);
    }
}

#[test]
fn an_id_of_the_table_is_asked_for_without_its_padding_too() {
    let folder = TestFolder::new();
    let mut of_table = recording(&[("/nowhere/short.so", &[], 3)]);
    let entry = BuildIdEntry { misc: 2, pid: -1, id: &[0x77; 8], name: "/nowhere/short.so" };
    of_table.build_ids(TableLayout::TwentyBytes, &[entry]);
    folder.write("perf.data", &of_table.file());
    let short = "77".repeat(8);
    let program = fs::read(compile(&folder, "short", &short, "int main(void) { return 0; }"))
        .expect("the program");
    let server = FakeServer::start([(format!("/buildid/{short}/debuginfo"), program)]);
    let output =
        perftab_at(&folder, &["info", "--json", "--no-local", "--debuginfod", &server.url()])
            .ended()
            .expect("it runs");
    let padded = format!("/buildid/{short}{}/debuginfo", "00".repeat(12));
    assert_eq!(server.asked(), [padded, format!("/buildid/{short}/debuginfo")]);
    let info: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let dsos = info["dsos"].as_array().expect("dsos");
    let short = dsos.iter().find(|dso| dso["path"] == "/nowhere/short.so").expect("it");
    assert_eq!(short["status"], "matched", "{short}");
}

#[test]
fn a_server_that_drips_is_given_up() {
    let folder = TestFolder::new();
    folder.write("perf.data", &recording(&[("/nowhere/drips.so", &id(1), 3)]).file());
    let (url, requests) = server_in_our_hands();
    let child = perftab_at(&folder, &["report", "--no-local", "--debuginfod", &url])
        .env("DEBUGINFOD_TIMEOUT", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab starts");
    let dripping = thread::spawn(move || {
        // The debug file, then the executable, until nobody wants more.
        for _ in 0..2 {
            requests.recv_timeout(PATIENCE).expect("a request").drip();
        }
    });
    let output = end_of(child, "perftab report, of a server that drips");
    dripping.join().expect("both were given up");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(" bytes in 1 s"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// A file of this build-id, and what no compiler writes behind it.
fn nonsense(id: &[u8]) -> Vec<u8> {
    let mut state = 1_u32;
    let mut noise = |count: usize| -> Vec<u8> {
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    };
    let (info, abbreviations) = (noise(5000), noise(500));
    let debug = elf::ElfSection::debug;
    elf::elf(id, 64, &[debug(".debug_info", &info), debug(".debug_abbrev", &abbreviations)])
}

#[test]
fn a_file_with_the_right_id_and_nonsense_behind_it_is_not_kept() {
    let folder = TestFolder::new();
    let (lie, truth) = (hex(&id(1)), hex(&id(2)));
    let libraries: [(&str, &[u8], u64); 2] =
        [("/nowhere/lie.so", &id(1), 3), ("/nowhere/truth.so", &id(2), 3)];
    folder.write("perf.data", &recording(&libraries).file());
    let program = fs::read(compile(&folder, "truth", &truth, "int main(void) { return 0; }"));
    let of = |id: &str, artifact: &str| format!("/buildid/{id}/{artifact}");
    let server = FakeServer::start([
        (of(&lie, "debuginfo"), nonsense(&id(1))),
        (of(&lie, "executable"), nonsense(&id(1))),
        (of(&truth, "debuginfo"), program.expect("the program")),
    ]);
    let run = |arguments: &[&str]| {
        let servers = ["--no-local", "--debuginfod", &server.url()];
        let command = perftab_at(&folder, &[arguments, &servers].concat()).ended();
        let output = command.expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (_, said) = run(&["report"]);
    assert!(said.contains("lie.so from debuginfod is not kept"), "{said}");
    assert!(!said.contains("truth.so from debuginfod is not kept"), "{said}");
    let kept = |id: &str| folder.join(".cache/debuginfod_client").join(id).join("debuginfo");
    assert!(kept(&truth).exists() && !kept(&lie).exists());
    let left = fs::read_dir(folder.join(".cache/debuginfod_client").join(&lie));
    assert_eq!(left.map_or(0, Iterator::count), 0, "nothing is left of it");

    let (stored, _) = run(&["buildid", "store", "perf.data"]);
    assert!(stored.contains(&format!("FAIL {lie} /nowhere/lie.so: ")), "{stored}");
    assert!(stored.contains(&format!("OK {truth} ")), "{stored}");
    let link = |id: &str| folder.join(".debug/.build-id").join(&id[..2]).join(&id[2..]);
    assert!(link(&truth).exists() && link(&lie).symlink_metadata().is_err());
}

/// Each file comes just fast enough; all of them would take for ever.
#[test]
fn servers_are_asked_for_a_limited_time_in_all() {
    let folder = TestFolder::new();
    let ids: Vec<[u8; 20]> = (1..=9).map(id).collect();
    let names: Vec<String> = (1..=9).map(|number| format!("/nowhere/lib{number}.so")).collect();
    let libraries: Vec<(&str, &[u8], u64)> =
        names.iter().zip(&ids).map(|(name, id)| (name.as_str(), &id[..], 1)).collect();
    folder.write("perf.data", &recording(&libraries).file());
    let (url, requests) = server_in_our_hands();
    let commands: [&[&str]; 2] = [&["report"], &["buildid", "store", "perf.data"]];
    let children = commands.map(|command| {
        let servers = ["--no-local", "--debuginfod", &url];
        perftab_at(&folder, &[command, &servers].concat())
            .env("PERFTAB_DEBUGINFOD_TOTAL", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("perftab starts")
    });
    thread::spawn(move || {
        for request in requests {
            thread::spawn(move || request.pour());
        }
    });
    for (child, command) in children.into_iter().zip(commands) {
        let output = end_of(child, "perftab, of servers that pour");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("during 1 s, which is the limit"), "{command:?}: {said}");
    }
}

#[test]
fn b37_storing_shows_what_it_waits_for_before_a_server_answers() {
    let test = "b37_storing_shows_what_it_waits_for_before_a_server_answers";
    if !Command::new("script").arg("--version").exit_status().is_ok_and(|it| it.success()) {
        println!("SKIPPED: {test}: script(1) is not installed");
        return;
    }
    let folder = TestFolder::new();
    folder.write("perf.data", &recording(&[("/nowhere/silent.so", &id(1), 3)]).file());
    let (url, requests) = server_in_our_hands();
    let store = format!("exec \"$BINARY\" buildid store --no-local --debuginfod {url} perf.data");
    let mut child = Command::new("script")
        .env("TERM", "xterm")
        .args(["-qec", &store, "/dev/null"])
        .env("BINARY", perftab_binary())
        .env("HOME", &*folder)
        .current_dir(&*folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script starts");
    let mut screen = child.stdout.take().expect("a pipe");
    let (sender, seen) = mpsc::channel();
    thread::spawn(move || {
        let (mut shown, mut block) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = screen.read(&mut block) {
            shown.extend_from_slice(&block[..count]);
            if String::from_utf8_lossy(&shown).contains("Fetching silent.so") {
                let _ = sender.send(());
            }
        }
    });
    let request = requests.recv_timeout(PATIENCE).expect("a request");
    seen.recv_timeout(PATIENCE).expect("it is shown while nothing comes");
    request.not_found();
    requests.recv_timeout(PATIENCE).expect("the executable").not_found();
    end_of(child, "perftab buildid store on a terminal");
}

#[test]
fn ctrl_c_goes_on_with_what_there_is() {
    let folder = TestFolder::new();
    let one = id(1);
    folder.write("perf.data", &recording(&[("/nowhere/silent.so", &one, 3)]).file());
    let (url, requests) = server_in_our_hands();
    let child = perftab_at(&folder, &["report", "--no-local", "--debuginfod", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab starts");
    // It waits for an answer that never comes.
    let request = requests.recv_timeout(PATIENCE).expect("a request");
    let signal = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).exit_status();
    assert!(signal.expect("kill runs").success());
    let output = end_of(child, "perftab report, interrupted");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert!(stdout.contains("silent.so"), "the report is printed: {stdout}");
    drop(request);
}

/// However it ends: with Ctrl-C nobody waits for the rest either.
#[test]
fn a_fetch_that_is_killed_leaves_no_part_of_a_file() {
    let folder = TestFolder::new();
    let one = id(1);
    folder.write("perf.data", &recording(&[("/nowhere/endless.so", &one, 3)]).file());
    let (url, requests) = server_in_our_hands();
    let mut child = perftab_at(&folder, &["report", "--no-local", "--debuginfod", &url])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("perftab starts");
    let stream = requests.recv_timeout(PATIENCE).expect("a request").begin();
    child_process::kill(&mut child);
    drop(stream);
    let cache = folder.join(".cache/debuginfod_client").join(hex(&one));
    let left = fs::read_dir(&cache).expect("it was to be kept there").count();
    assert_eq!(left, 0, "in {}", cache.display());
}

#[test]
fn the_page_is_told_what_came_of_each_server() {
    let folder = TestFolder::new();
    let wanted = hex(&id(1));
    let other = hex(&id(2));
    let program = fs::read(compile(&folder, "other", &other, "int main(void) { return 0; }"))
        .expect("the program");
    let empty = FakeServer::start([]);
    let liar = FakeServer::start([(format!("/buildid/{wanted}/debuginfo"), program)]);
    let broken = FakeServer::start_with(|_, stream| {
        let _ = write_head(stream, "500 Internal Server Error", 0);
    });
    let huge = FakeServer::start_with(|_, stream| {
        let _ = write_head(stream, "200 OK", 1_000_000_000_000);
        let _ = stream.write_all(b"\x7fELF");
    });
    let urls = [&empty, &liar, &broken, &huge].map(FakeServer::url);
    let mut arguments = vec!["--no-local"];
    urls.iter().for_each(|url| arguments.extend(["--debuginfod", url]));
    let viewer = Viewer::start(&arguments);
    let answer = viewer.get(&format!("/debuginfod/buildid/{wanted}/debuginfo"));
    assert_eq!(answer.status, 502);
    assert_eq!(answer.header("content-type"), "application/json");
    let json: Value = serde_json::from_str(&answer.text()).expect("JSON");
    let servers = json["servers"].as_array().expect("servers");
    let words: Vec<_> = servers.iter().map(|server| server["outcome"].as_str()).collect();
    assert_eq!(words, ["not-found", "wrong-id", "failed", "too-large"].map(Some));
    for (server, url) in servers.iter().zip(&urls) {
        assert_eq!(server["server"].as_str(), url.strip_prefix("http://"));
    }
    assert!(servers[1]["detail"].as_str().expect("a sentence").contains(&other));

    let viewer = Viewer::start(&["--no-local", "--debuginfod", &urls[0]]);
    let answer = viewer.get(&format!("/debuginfod/buildid/{wanted}/debuginfo"));
    assert_eq!(answer.status, 404);
    let json: Value = serde_json::from_str(&answer.text()).expect("JSON");
    assert_eq!(json["servers"][0]["outcome"], "not-found");
}

#[test]
fn b23_the_page_gets_the_running_kernels_symbols_from_perftab_view() {
    let test = "b23_the_page_gets_the_running_kernels_symbols_from_perftab_view";
    let (Ok(notes), Ok(kallsyms)) = (fs::read("/sys/kernel/notes"), fs::read("/proc/kallsyms"))
    else {
        println!("SKIPPED: {test}: /sys/kernel/notes or /proc/kallsyms can't be read");
        return;
    };
    // `GNU`, its padding, and 20 bytes, behind a length of 20 and the type 3.
    let Some(at) = notes.windows(12).position(|at| at == b"\x14\0\0\0\x03\0\0\0GNU\0") else {
        println!("SKIPPED: {test}: the kernel has no build-id of 20 bytes");
        return;
    };
    let running = &notes[at + 12..at + 32];
    let folder = TestFolder::new();
    let mut recording = Recording::new(Order::Little, story::usual_events());
    let start = 0xffff_ffff_8100_0000;
    for (number, id) in [running, &id(1)].into_iter().enumerate() {
        let mapping = Mapping {
            misc: 1,
            pid: u32::MAX,
            tid: 0,
            addresses: start..start + 0x100_0000,
            offset: start,
            file: MappedFile::BuildId(id),
            path: "[kernel.kallsyms]_text",
        };
        recording.mmap2(story::at(10, number as u64, 0), &mapping);
    }
    recording.round();
    folder.write("perf.data", &recording.file());
    let path = folder.join("perf.data");
    let viewer = Viewer::start(&[path.to_str().expect("UTF-8")]);
    viewer.tell_files(&path);
    let get = |id: &[u8]| viewer.get(&format!("/debuginfod/buildid/{}/executable", hex(id)));
    let answer = get(running);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let stamp = format!("# perftab kallsyms build-id={} ", hex(running));
    if answer.body.starts_with(b"\x7fELF") {
        println!("SKIPPED: {test}: this machine has the kernel's image");
        return;
    }
    assert!(answer.body.starts_with(stamp.as_bytes()), "{}", &answer.text()[..100]);
    // Lines of modules come and go; those of the kernel stay.
    let first = kallsyms.split(|&byte| byte == b'\n').take(1000).collect::<Vec<_>>().join(&b'\n');
    assert!(answer.body.windows(first.len().min(4096)).any(|at| first.starts_with(at)));
    assert_eq!(get(&id(1)).status, 404, "the running kernel is no other");
}

#[test]
fn b43_the_page_gets_files_that_perftab_view_was_told_of_packed_ones_too() {
    let folder = TestFolder::new();
    let (plain, packed) = (hex(&id(1)), hex(&id(2)));
    let source = "int main(void) { return 0; }";
    compile(&folder, "one", &plain, source);
    let two = fs::read(compile(&folder, "two", &packed, source)).expect("the program");
    let status = Command::new("gzip").arg(folder.join("two")).exit_status().expect("gzip runs");
    assert!(status.success());
    let image = folder.to_str().expect("UTF-8");
    let viewer = Viewer::start(&["--no-local", "--image", image]);
    for artifact in ["executable", "debuginfo"] {
        let answer = viewer.get(&format!("/debuginfod/buildid/{packed}/{artifact}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.body == two, "{artifact}");
    }
    assert_eq!(viewer.get(&format!("/debuginfod/buildid/{plain}/executable")).status, 200);
    let other = hex(&id(3));
    assert_eq!(viewer.get(&format!("/debuginfod/buildid/{other}/executable")).status, 404);
}
