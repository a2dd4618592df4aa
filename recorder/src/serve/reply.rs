//! Answers, each with the headers that every answer carries.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::io::ReaderStream;

use super::range::{self, Part};
use super::sources::SourceFrom;

/// Large enough that a system call and a wake-up a block cost nothing beside the copy.
const BLOCK: usize = 256 << 10;

const HEADERS: [(HeaderName, &str); 6] = [
    // Recordings and binaries are nobody else's, and the token is in the URL.
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The viewer. Its meta tag holds its policy; what a meta tag can't say is said here.
pub fn page(html: &'static str) -> Response<Body> {
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", Body::from(html));
    let policy = HeaderValue::from_static("frame-ancestors 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// JSON.
pub fn json(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    reply(status, "application/json", Body::from(value.to_string()))
}

/// Bytes of a media type.
pub fn bytes(kind: &'static str, bytes: &'static [u8]) -> Response<Body> {
    reply(StatusCode::OK, kind, Body::from(bytes))
}

/// Bytes that only the page reads.
pub fn octets(bytes: Vec<u8>) -> Response<Body> {
    reply(StatusCode::OK, "application/octet-stream", Body::from(bytes))
}

/// A text.
pub fn text(text: &str) -> Response<Body> {
    reply(StatusCode::OK, "text/plain; charset=utf-8", Body::from(text.to_owned()))
}

/// A status, with one line that says why.
pub fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    let line = why.replace(['\n', '\r'], " ");
    reply(status, "text/plain; charset=utf-8", Body::from(line + "\n"))
}

/// There is none of what was asked for, which is no error.
pub fn nothing() -> Response<Body> {
    reply(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", Body::empty())
}

/// A file from disk, or the part of it that was asked for; never held in memory.
pub fn file(file: File, asked: Option<&str>) -> io::Result<Response<Body>> {
    let length = file.metadata()?.len();
    part_of_file(file, 0..length, asked)
}

/// The same for bytes within a file.
pub fn part_of_file(
    mut file: File,
    within: Range<u64>,
    asked: Option<&str>,
) -> io::Result<Response<Body>> {
    ranged(within.end.saturating_sub(within.start), asked, |part| {
        file.seek(SeekFrom::Start(within.start.saturating_add(part.start)))?;
        let mut file = tokio::fs::File::from_std(file);
        file.set_max_buf_size(BLOCK);
        Ok(file.take(part.end - part.start))
    })
}

/// The part that was asked for of `length` bytes; `open` has what is in it.
pub fn ranged<R: AsyncRead + Send + 'static>(
    length: u64,
    asked: Option<&str>,
    open: impl FnOnce(&Range<u64>) -> io::Result<R>,
) -> io::Result<Response<Body>> {
    let (status, part) = match range::requested(asked, length) {
        Part::Whole => (StatusCode::OK, 0..length),
        Part::Bytes(part) => (StatusCode::PARTIAL_CONTENT, part),
        Part::Unsatisfiable => {
            let mut response =
                refusal(StatusCode::RANGE_NOT_SATISFIABLE, &format!("there are {length} bytes"));
            set(&mut response, header::CONTENT_RANGE, format!("bytes */{length}"));
            return Ok(response);
        }
    };
    let mut response = stream(status, open(&part)?, part.end - part.start);
    set(&mut response, header::ACCEPT_RANGES, "bytes".to_owned());
    if status == StatusCode::PARTIAL_CONTENT {
        let sent = format!("bytes {}-{}/{length}", part.start, part.end - 1);
        set(&mut response, header::CONTENT_RANGE, sent);
    }
    Ok(response)
}

/// `length` bytes as they come. If fewer come, the connection ends early, which the page sees.
pub fn stream(
    status: StatusCode,
    bytes: impl AsyncRead + Send + 'static,
    length: u64,
) -> Response<Body> {
    let blocks = ReaderStream::with_capacity(bytes, BLOCK);
    let mut response = reply(status, "application/octet-stream", Body::from_stream(blocks));
    set(&mut response, header::CONTENT_LENGTH, length.to_string());
    response
}

/// An answer with the tag that `If-Match` may name.
pub fn tagged(mut response: Response<Body>, tag: &str) -> Response<Body> {
    set(&mut response, header::ETAG, tag.to_owned());
    response
}

/// An answer with where a source is from, and the time of its file, in milliseconds since 1970.
pub fn source(
    mut response: Response<Body>,
    time: Option<SystemTime>,
    from: SourceFrom,
) -> Response<Body> {
    set(&mut response, HeaderName::from_static("perftab-from"), from.name().to_owned());
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    if let Some(since) = since {
        let name = HeaderName::from_static("perftab-modified");
        set(&mut response, name, since.as_millis().to_string());
    }
    response
}

fn reply(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(name, value);
    }
}
