//! HTTP by hand: a client that can send what no well-behaved client would, and a server that
//! answers what no well-behaved server would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::child_process::PATIENCE;

/// An answer, with header names in lower case.
#[derive(Debug)]
pub struct Answer {
    /// As 200.
    pub status: u16,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The bytes after the headers, without chunk marks.
    pub body: Vec<u8>,
    /// Whether all bytes that the headers announced came.
    pub is_complete: bool,
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
    let answer = request(port, "GET", target, headers);
    assert!(answer.is_complete, "{target}: only {} bytes came", answer.body.len());
    answer
}

/// Sends a request without a body.
pub fn request(port: u16, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
    read_answer(send(port, method, target, headers), method)
}

/// Sends a POST of this body.
pub fn post(port: u16, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let length = body.len().to_string();
    let headers = [headers, &[("Content-Length", length.as_str())]].concat();
    read_answer(send_body(port, "POST", target, &headers, body), "POST")
}

/// Sends a request without a body; the answer waits to be read.
pub fn send(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> BufReader<TcpStream> {
    send_body(port, method, target, headers, "")
}

fn send_body(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> BufReader<TcpStream> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, PATIENCE);
    let mut stream = stream.unwrap_or_else(|error| panic!("{address} for {target}: {error}"));
    limit(&stream);
    let sent = stream.write_all(format!("{text}\r\n{body}").as_bytes());
    sent.unwrap_or_else(|error| panic!("{target} is not taken: {error}"));
    BufReader::new(stream)
}

/// An answer that does not come is an error, and nothing waits for it for ever.
fn limit(stream: &TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.set_write_timeout(Some(PATIENCE)).expect("a limit");
}

fn is_too_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn read_answer(mut stream: impl BufRead, method: &str) -> Answer {
    // A server whose first bytes of a body fail may hang up before it has sent the head.
    if stream.fill_buf().is_ok_and(<[u8]>::is_empty) {
        return Answer {
            status: 0,
            headers: BTreeMap::new(),
            body: Vec::new(),
            is_complete: false,
        };
    }
    let mut answer = read_head(&mut stream);
    let chunked = answer.header("transfer-encoding") == "chunked";
    answer.is_complete = if chunked {
        read_chunks(stream, &mut answer.body)
    } else {
        // A connection that was cut gives an error or an end; both show in the length.
        if let Err(error) = stream.read_to_end(&mut answer.body) {
            let count = answer.body.len();
            assert!(!is_too_late(&error), "no more came after {count} bytes: {error}");
        }
        let length = answer.header("content-length");
        method == "HEAD" || length.is_empty() || length == answer.body.len().to_string()
    };
    answer
}

fn read_chunks(mut stream: impl BufRead, body: &mut Vec<u8>) -> bool {
    loop {
        let size = read_line(&mut stream);
        let Ok(size) = u64::from_str_radix(&size, 16) else { return false };
        if (&mut stream).take(size).read_to_end(body).is_err() {
            return false;
        }
        read_line(&mut stream);
        if size == 0 {
            return true;
        }
    }
}

/// Reads an answer up to its body, which stays empty.
pub fn read_head(stream: &mut impl BufRead) -> Answer {
    let status_line = read_line(stream);
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in {status_line:?}"));
    let mut headers = BTreeMap::new();
    loop {
        let line = read_line(stream);
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Answer { status, headers, body: Vec::new(), is_complete: false }
}

fn read_line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    let read = stream.read_line(&mut line);
    read.unwrap_or_else(|error| panic!("no line came after {line:?}: {error}"));
    line.trim_end().to_owned()
}

/// A URL of loopback at which nobody listens: the port is none that a system gives away, and that of
/// a service which nobody offers any more.
pub fn down() -> String {
    let nobody = TcpStream::connect((Ipv4Addr::LOCALHOST, TCPMUX));
    assert!(nobody.is_err(), "somebody listens on port {TCPMUX}");
    format!("http://127.0.0.1:{TCPMUX}")
}

const TCPMUX: u16 = 1;

/// A server on loopback that does as it is told and remembers what it was asked. It ends with the
/// test program.
pub struct FakeServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    /// Answers each path with the bytes given for it, all else with 404.
    pub fn start(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
        Self::start_with(move |path, stream| {
            // A client that hangs up has its reasons.
            let _ = match files.get(path) {
                Some(bytes) => {
                    write_head(stream, "200 OK", bytes.len()).and_then(|()| stream.write_all(bytes))
                }
                None => write_head(stream, "404 Not Found", 0),
            };
        })
    }

    /// Lets `answer` write the whole answer to each path, one after the other.
    pub fn start_with(mut answer: impl FnMut(&str, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                limit(&stream);
                // A client that hangs up before it has asked is not answered, and the next one is.
                let Ok(line) = request_line(&mut BufReader::new(&stream)) else { continue };
                let path = line.split(' ').nth(1).unwrap_or_default();
                log.lock().expect("the log").push(path.to_owned());
                answer(path, &mut stream);
            }
        });
        Self { address, asked }
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

/// The first line of a request, all of whose lines are read.
fn request_line(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut first = String::new();
    stream.read_line(&mut first)?;
    let mut line = String::new();
    while stream.read_line(&mut line)? > "\r\n".len() {
        line.clear();
    }
    Ok(first.trim_end().to_owned())
}

/// Writes the head of an answer that announces `length` bytes.
pub fn write_head(stream: &mut TcpStream, status: &str, length: usize) -> std::io::Result<()> {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())
}
