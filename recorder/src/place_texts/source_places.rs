//! Where source files are looked for besides the path that debug information has for them: below a folder that the user
//! named instead, and at debuginfod servers.
//!
//! Constraint: a server is asked only for a path that the debug information of a file names which passed the gate, and
//! only if it is called as sources are. What it sends has no identity: MD5 decides where it is noted, else it is shown
//! as not checked.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use perftab_listing::source::{MAX_SOURCE, Written};
use perftab_perfdata::format::BuildId;

use super::source::is_named_as_source;
use crate::cli::{ImageArgs, SourceArgs};
use crate::debuginfod_client::{Artifact, Client, FetchError, Receiver};

/// Paths of debug information → paths of this machine: `--prefix` and `--prefix-strip`, which mean here what they mean to
/// objdump, whom `perf annotate` passes them on to.
#[derive(Clone, Debug, Default)]
pub struct MovedPaths {
    /// What stands before; `None`: all is where it was compiled.
    prefix: Option<PathBuf>,
    /// How many folders are left out before that.
    strip: usize,
}

impl MovedPaths {
    /// As the command line says.
    fn new(args: &SourceArgs) -> Self {
        let absolute = |prefix: &PathBuf| std::path::absolute(prefix).ok();
        Self { prefix: args.prefix.as_ref().and_then(absolute), strip: args.prefix_strip.into() }
    }

    /// The same; `None` if this machine is to be left alone, and the user named no folder of it.
    pub fn on_this_machine(args: &SourceArgs, images: &ImageArgs) -> Option<Self> {
        Some(Self::new(args)).filter(|moved| !images.no_local || moved.prefix.is_some())
    }

    /// When a file was written that is here, of a binary that was built then. What the user named may have been fetched
    /// after the binary was built, and have been in the same state before.
    pub fn written(&self, changed: Option<SystemTime>, built: Option<SystemTime>) -> Written {
        match (changed > built, &self.prefix) {
            (false, _) => Written::BeforeBinary,
            (true, None) => Written::AfterBinary,
            (true, Some(_)) => Written::AfterBinaryInNamedPlace,
        }
    }

    /// Where a file is. Nothing leads out of a folder that was named.
    pub fn of(&self, path: &str) -> PathBuf {
        let (Some(prefix), true) = (&self.prefix, path.starts_with('/')) else {
            return PathBuf::from(path);
        };
        // The last part stays, however many are to go.
        let starts = path.match_indices('/').map(|(at, _)| at);
        let start = starts.take(self.strip.saturating_add(1)).last().unwrap_or(0);
        let mut parts = Vec::new();
        for part in path[start..].split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        prefix.join(parts.join("/"))
    }
}

/// The text of a source file that code of a build was made of, from the first server that has it.
pub fn from_servers(
    client: &Client,
    id: BuildId,
    path: &str,
) -> Result<Option<Vec<u8>>, FetchError> {
    if client.servers().is_empty() || !is_named_as_source(Path::new(path)) {
        return Ok(None);
    }
    let fetched = client.fetch(id, &Artifact::Source(encoded(path)), &mut AtMost)?;
    let mut bytes = Vec::new();
    let read = fetched.file.take(MAX_SOURCE + 1).read_to_end(&mut bytes);
    Ok((read.is_ok() && bytes.len() as u64 <= MAX_SOURCE).then_some(bytes))
}

/// Ends an answer that is longer than sources are.
struct AtMost;

impl Receiver for AtMost {
    fn received(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        match done.max(total.unwrap_or(0)) > MAX_SOURCE {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Percent-encoded as in a URL, but for slashes.
fn encoded(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As objdump does it (binutils/objdump.c, `update_source_path`).
    #[test]
    fn paths_move_as_with_objdump() {
        let moved = |strip| MovedPaths { prefix: Some("/here".into()), strip };
        let of = |strip, path: &str| moved(strip).of(path).to_str().expect("UTF-8").to_owned();
        assert_eq!(of(0, "/build/x/a.c"), "/here/build/x/a.c");
        assert_eq!(of(1, "/build/x/a.c"), "/here/x/a.c");
        assert_eq!(of(2, "/build/x/a.c"), "/here/a.c");
        assert_eq!(of(9, "/build/x/a.c"), "/here/a.c");
        assert_eq!(of(1, "a.c"), "a.c");
        assert_eq!(of(1, "/build/x/../lib/./a.c"), "/here/lib/a.c");
        assert_eq!(of(0, "/../../etc/a.c"), "/here/etc/a.c");
        assert_eq!(MovedPaths::default().of("/build/a.c"), Path::new("/build/a.c"));
    }

    #[test]
    fn paths_in_urls_are_encoded() {
        assert_eq!(encoded("/a/../c++ 1/\u{e9}?#.c"), "/a/../c%2B%2B%201/%C3%A9%3F%23.c");
    }
}
