//! The program in which a person reads what is longer than a terminal, as perf starts one.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::OFlags;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// What names it: ours, that of perf, and that of everybody, in this order.
const VARIABLES: [&str; 3] = ["PERFTAB_PAGER", "PERF_PAGER", "PAGER"];
/// Ends where all of it fits, leaves colours, cuts long lines and leaves the text on the screen: as perf sets it.
const LESS: &str = "FRSX";

/// One that runs, and reads what is written. Whoever drops it waits until it has ended.
///
/// One that fails without having read anything shows nothing: then all of it goes to standard output.
pub struct Pager {
    child: Child,
    to: Reading,
    /// Bytes that it was given.
    written: usize,
}

/// Who reads.
enum Reading {
    Pager(ChildStdin),
    /// It has failed.
    Terminal,
    /// It has ended.
    Nobody,
}

impl Pager {
    /// Starts the one that is named, else `less`. `None` where there is none.
    pub fn start() -> Option<Self> {
        let named = VARIABLES.iter().find_map(env::var_os);
        let mut command = match &named {
            Some(name) if name.is_empty() || name == "cat" => return None,
            // The shell would say so, and the text would be lost.
            Some(name) if !may_be_there(name) => return None,
            Some(name) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(name);
                shell
            }
            None => Command::new("less"),
        };
        if env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let to = Reading::Pager(child.stdin.take()?);
        // Ctrl-C is the pager's: it has the terminal as long as it runs.
        let _ = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        Some(Self { child, to, written: 0 })
    }

    /// Waits until it has ended.
    pub fn end(&mut self) -> io::Result<()> {
        let Reading::Pager(input) = mem::replace(&mut self.to, Reading::Nobody) else {
            return Ok(());
        };
        let pipe = other_end(&input);
        drop(input);
        let has_failed = !self.child.wait()?.success();
        let Some(mut pipe) = pipe.filter(|_| has_failed) else { return Ok(()) };
        let mut unread = Vec::new();
        pipe.read_to_end(&mut unread)?;
        if unread.len() == self.written {
            self.to = Reading::Terminal;
            io::stdout().write_all(&unread)?;
        }
        Ok(())
    }
}

/// Where one reads what was written to a pipe, and waits for nothing.
fn other_end(input: &ChildStdin) -> Option<File> {
    let flags = OFlags::NONBLOCK.bits().try_into().ok()?;
    let path = format!("/proc/self/fd/{}", input.as_raw_fd());
    File::options().read(true).custom_flags(flags).open(path).ok()
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Reading::Pager(input) = &mut self.to {
            match input.write(bytes) {
                Ok(count) => {
                    self.written += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.end()?,
                Err(error) => return Err(error),
            }
        }
        match self.to {
            Reading::Terminal => io::stdout().write(bytes),
            Reading::Pager(_) | Reading::Nobody => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Reading::Pager(input) => input.flush(),
            Reading::Terminal => io::stdout().flush(),
            Reading::Nobody => Ok(()),
        }
    }
}

/// Whether a shell may find what a line begins with.
fn may_be_there(line: &OsStr) -> bool {
    let line = line.to_string_lossy();
    let Some(word) = line.split_whitespace().next() else { return false };
    let is_plain = word.chars().all(|letter| letter.is_alphanumeric() || "/._-+".contains(letter));
    if !is_plain || word.contains('/') {
        return !is_plain || Path::new(word).exists();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(word).exists())
}

impl Drop for Pager {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_shell_finds_is_no_pager() {
        let is_there = |line: &str| may_be_there(OsStr::new(line));
        assert!(is_there("sh -x") && is_there("/bin/sh") && is_there("LESS=R less"));
        assert!(!is_there("no-such-pager -R") && !is_there("/no/such/pager") && !is_there(" "));
    }
}
