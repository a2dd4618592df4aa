//! Recordings as `perftab view` serves them: whole, in parts, from standard input, and never in
//! its memory.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;

use perftab_tests::folder::TestFolder;
use perftab_tests::servers::Viewer;
use perftab_tests::tier::Tier;

fn numbered_bytes(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 31 % 251) as u8).collect()
}

#[test]
fn a_recording_is_served_whole_and_in_parts() {
    let folder = TestFolder::new();
    let bytes = numbered_bytes(700_001);
    let path = folder.write("one.data", &bytes);
    let viewer = Viewer::start(&[path.to_str().expect("UTF-8")]);

    let whole = viewer.get("/profile/0");
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, "bytes"));
    assert!(whole.body == bytes, "the bytes differ");

    for (range, part, content_range) in [
        ("bytes=0-0", &bytes[..1], "bytes 0-0/700001"),
        ("bytes=1000-300999", &bytes[1_000..301_000], "bytes 1000-300999/700001"),
        ("bytes=700000-", &bytes[700_000..], "bytes 700000-700000/700001"),
        ("bytes=-4", &bytes[699_997..], "bytes 699997-700000/700001"),
        ("bytes=699999-9999999", &bytes[699_999..], "bytes 699999-700000/700001"),
    ] {
        let answer = viewer.get_with("/profile/0", &[("Range", range)]);
        assert_eq!((answer.status, answer.header("content-range")), (206, content_range));
        assert!(answer.body == part, "the bytes of {range} differ");
    }
    let beyond = viewer.get_with("/profile/0", &[("Range", "bytes=700001-")]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */700001"));
}

#[test]
fn the_page_learns_what_is_served() {
    let folder = TestFolder::new();
    let one = folder.write("one.data", &[1; 10]);
    let two = folder.write("two.data", &[2; 20]);
    let [one, two] = [one.to_str().expect("UTF-8"), two.to_str().expect("UTF-8")];
    let upstream = "http://me:secret@127.0.0.1:9/";
    let viewer = Viewer::start(&[one, two, "--debuginfod", upstream]);
    let listing: serde_json::Value =
        serde_json::from_slice(&viewer.get("/profiles").body).expect("JSON");
    let expected = serde_json::json!({
        "profiles": [{"name": "one.data", "size": 10}, {"name": "two.data", "size": 20}],
        "debuginfod": ["http://127.0.0.1:9"],
    });
    assert_eq!(listing, expected);
    assert_eq!(viewer.get("/profile/1").body, [2; 20]);
}

#[test]
fn a_recording_in_a_folder_is_served_file_by_file() {
    let folder = TestFolder::new();
    let recording = folder.join("threads.data");
    fs::create_dir(&recording).expect("a folder");
    for (name, bytes) in
        [("data", &b"head"[..]), ("data.10", b"ten"), ("data.2", b"two"), ("x", b"")]
    {
        fs::write(recording.join(name), bytes).expect("a file in it");
    }
    let viewer = Viewer::start(&[recording.to_str().expect("UTF-8")]);
    let listing: serde_json::Value =
        serde_json::from_slice(&viewer.get("/profiles").body).expect("JSON");
    let expected = serde_json::json!([{
        "name": "threads.data",
        "size": 10,
        "parts": [{"size": 4}, {"size": 3}, {"size": 3}],
    }]);
    assert_eq!(listing["profiles"], expected);
    let parts = ["/profile/0", "/profile/0/0", "/profile/0/1", "/profile/0/2"];
    let bodies = parts.map(|path| String::from_utf8(viewer.get(path).body).expect("UTF-8"));
    assert_eq!(bodies, ["head", "head", "two", "ten"]);
    assert_eq!(viewer.get("/profile/0/3").status, 404);
    let part = viewer.get_with("/profile/0/2", &[("Range", "bytes=1-")]);
    assert_eq!((part.status, &part.body[..]), (206, &b"en"[..]));
}

#[test]
fn perf_data_is_the_usual_name() {
    let home = TestFolder::new();
    home.write("perf.data", b"here");
    let viewer = Viewer::start_with(home, &[], b"");
    assert_eq!(viewer.get("/profile/0").body, b"here");
}

#[test]
fn standard_input_is_served() {
    let bytes = numbered_bytes(300_000);
    let viewer = Viewer::start_with(TestFolder::new(), &["-"], &bytes);
    assert!(viewer.get("/profile/0").body == bytes, "the bytes differ");
    let part = viewer.get_with("/profile/0", &[("Range", "bytes=299990-")]);
    assert_eq!(part.body, &bytes[299_990..]);
}

#[test]
fn a_recording_replaced_since_is_still_the_one_opened() {
    let folder = TestFolder::new();
    let path = folder.write("one.data", b"the first");
    let viewer = Viewer::start(&[path.to_str().expect("UTF-8")]);
    fs::remove_file(&path).expect("it is removed");
    fs::write(&path, b"another one").expect("another is there");
    assert_eq!(viewer.get("/profile/0").body, b"the first");
}

#[test]
fn a_large_recording_is_never_held_in_memory() {
    // Several times what it may need.
    let length = match Tier::of_this_run() {
        Tier::Fast => 400_000_000,
        Tier::All => 4_000_000_000,
    };
    let folder = TestFolder::new();
    let path = folder.join("large.data");
    File::create(&path).and_then(|file| file.set_len(length)).expect("a sparse file");
    let viewer = Viewer::start(&[path.to_str().expect("UTF-8")]);

    let mut stream = TcpStream::connect(("127.0.0.1", viewer.port)).expect("it listens");
    let request = format!(
        "GET /profile/0?token={} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
        viewer.token, viewer.port
    );
    stream.write_all(request.as_bytes()).expect("the request is taken");
    let mut received = 0;
    let mut block = vec![0; 1 << 20];
    loop {
        match stream.read(&mut block).expect("a block") {
            0 => break,
            count => received += count as u64,
        }
    }
    assert!(received > length, "{received} bytes came");

    let status = fs::read_to_string(format!("/proc/{}/status", viewer.pid())).expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 100_000, "perftab view needed {peak} kB for a file of {length} bytes");
}
