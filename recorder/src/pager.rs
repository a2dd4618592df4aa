//! The program in which a person reads what is longer than a terminal, as perf starts one.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// What names it: ours, that of perf, and that of everybody, in this order.
const VARIABLES: [&str; 3] = ["PERFTAB_PAGER", "PERF_PAGER", "PAGER"];
/// Ends where all of it fits, leaves colours, cuts long lines and leaves the text on the screen: as perf sets it.
const LESS: &str = "FRSX";

/// One that runs. Whoever drops it waits until it has ended.
pub struct Pager(Child);

impl Pager {
    /// Starts the one that is named, else `less`, and gives what is to be written to. `None` where there is none.
    pub fn start() -> Option<(Self, ChildStdin)> {
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
        let input = child.stdin.take()?;
        // Ctrl-C is the pager's: it has the terminal as long as it runs.
        let _ = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        Some((Self(child), input))
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
        let _ = self.0.wait();
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
