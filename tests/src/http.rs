//! HTTP by hand: a client that can send what no well-behaved client would, and a server that
//! answers what no well-behaved server would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// An answer, with header names in lower case.
#[derive(Debug)]
pub struct Answer {
    /// As 200.
    pub status: u16,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The bytes after the headers, without chunk marks.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a GET for `target`, byte for byte, with these headers and no other but Connection.
pub fn get(port: u16, target: &str, headers: &[(&str, &str)]) -> Answer {
    request(port, "GET", target, headers)
}

/// Sends a request without a body.
pub fn request(port: u16, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
    let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.write_all(format!("{text}\r\n").as_bytes()).expect("the request is taken");
    read_answer(BufReader::new(stream), method)
}

fn read_answer(mut stream: impl BufRead, method: &str) -> Answer {
    let status_line = read_line(&mut stream);
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in {status_line:?}"));
    let mut headers = BTreeMap::new();
    loop {
        let line = read_line(&mut stream);
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let size = read_line(&mut stream);
            let size = u64::from_str_radix(&size, 16).expect("the size of a chunk");
            (&mut stream).take(size).read_to_end(&mut body).expect("a chunk");
            read_line(&mut stream);
            if size == 0 {
                break;
            }
        }
    } else {
        stream.read_to_end(&mut body).expect("the body");
        if let Some(length) = headers.get("content-length").filter(|_| method != "HEAD") {
            assert_eq!(body.len().to_string(), *length, "the body's length");
        }
    }
    Answer { status, headers, body }
}

fn read_line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

/// A port of loopback that is free just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A server on loopback that answers each path with the bytes it was given, all else with 404,
/// and remembers what it was asked.
pub struct FakeServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    /// Serves `files`, path to bytes, until the test program ends.
    pub fn start(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                Self::answer(stream, &files, &log);
            }
        });
        Self { address, asked }
    }

    fn answer(mut stream: TcpStream, files: &BTreeMap<String, Vec<u8>>, log: &Mutex<Vec<String>>) {
        let mut reader = BufReader::new(&stream);
        let line = read_line(&mut reader);
        while !read_line(&mut reader).is_empty() {}
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, body) = match files.get(&path) {
            Some(bytes) => ("200 OK", bytes.as_slice()),
            None => ("404 Not Found", b"not found".as_slice()),
        };
        log.lock().expect("the log").push(path);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        // A client that hangs up has its reasons.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths it was asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the log").clone()
    }
}
