//! Child processes that must end: each wait for one has a limit, and what passes it is named.
//!
//! Nothing here makes a test slower: the end of a process and what it prints are awaited, not
//! polled for. `tests/tests/pure/tidy.rs` holds that tests wait in no other way.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Longer than anything takes on a machine that has much else to do, and shorter than what
/// `cargo xtask test` gives a test: a child that hangs is named, not only its test.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Commands that are run to their end.
pub trait LimitedCommand {
    /// As [`Command::output`], with a limit, without standard input, and in English: what tools
    /// print is read. perf has no home, unless it is given one: it would put what it records into the
    /// cache of whoever runs the tests, and take names from there. An error is that of a command that
    /// cannot be started.
    fn ended(&mut self) -> io::Result<Output>;

    /// The same with something on standard input.
    fn ended_with(&mut self, input: impl Into<Stdio>) -> io::Result<Output>;

    /// As [`Command::status`], in the same way; what it says of errors is said again.
    fn exit_status(&mut self) -> io::Result<ExitStatus>;
}

impl LimitedCommand for Command {
    fn ended(&mut self) -> io::Result<Output> {
        self.ended_with(Stdio::null())
    }

    fn ended_with(&mut self, input: impl Into<Stdio>) -> io::Result<Output> {
        self.env("LC_ALL", "C").stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let has_home = self.get_envs().any(|(name, _)| name == "HOME");
        if self.get_program() == "perf" && !has_home {
            self.env("HOME", "/dev/null");
        }
        let name = format!("{self:?}");
        Ok(end_of(self.spawn()?, &name))
    }

    fn exit_status(&mut self) -> io::Result<ExitStatus> {
        let output = self.ended()?;
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        Ok(output.status)
    }
}

/// As [`Child::wait_with_output`], with a limit.
pub fn end_of(child: Child, name: &str) -> Output {
    end_within(child, name, PATIENCE)
}

/// The same with a limit of its own.
pub fn end_within(mut child: Child, name: &str, patience: Duration) -> Output {
    // A child that reads to the end waits for it.
    drop(child.stdin.take());
    let mut stdout = Pipe { file: child.stdout.take(), bytes: Vec::new() };
    let mut stderr = Pipe { file: child.stderr.take(), bytes: Vec::new() };
    let limit = Instant::now() + patience;
    while stdout.file.is_some() || stderr.file.is_some() {
        let open: Vec<BorrowedFd<'_>> = [stdout.fd(), stderr.fd()].into_iter().flatten().collect();
        if !is_any_ready(&open, limit) {
            kill(&mut child);
            let said = [stdout.bytes, stderr.bytes].concat();
            panic!("{}", hangs(name, patience, &String::from_utf8_lossy(&said)));
        }
        stdout.read_what_is_there();
        stderr.read_what_is_there();
    }
    let status = wait_within(&mut child, name, patience);
    Output { status, stdout: stdout.bytes, stderr: stderr.bytes }
}

/// As [`Child::wait`], with a limit.
pub fn wait(child: &mut Child, name: &str) -> ExitStatus {
    wait_within(child, name, PATIENCE)
}

fn wait_within(child: &mut Child, name: &str, patience: Duration) -> ExitStatus {
    status_within(child, patience).unwrap_or_else(|| panic!("{}", hangs(name, patience, "")))
}

/// How it ended; `None` if it had to be killed when the time was over.
pub fn status_within(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let ended = child.try_wait().expect("a child");
    if ended.is_some() {
        return ended;
    }
    let running = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("a pidfd");
    if !is_any_ready(&[running.as_fd()], Instant::now() + patience) {
        kill(child);
        return None;
    }
    Some(child.wait().expect("it has ended"))
}

/// A command that the kernel kills when the thread that starts it ends, even if that is killed.
pub fn bound_to_this_thread(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Ends it.
pub fn kill(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// The next line that a child prints, with a limit; empty at the end.
pub fn line_of(from: &mut (impl Read + AsFd), name: &str) -> String {
    let limit = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let is_ready = is_any_ready(&[from.as_fd()], limit);
        assert!(is_ready, "no line came in {} s: {name}", PATIENCE.as_secs());
        // One byte: what is behind the line is for others.
        let mut byte = [0];
        if from.read(&mut byte).expect("a pipe") == 0 {
            break;
        }
        line.extend(byte);
    }
    String::from_utf8_lossy(&line).into_owned()
}

/// What a child prints, as far as it came.
struct Pipe<T> {
    /// Until its end.
    file: Option<T>,
    bytes: Vec<u8>,
}

impl<T: Read + AsFd> Pipe<T> {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    fn read_what_is_there(&mut self) {
        let Some(file) = &mut self.file else { return };
        if !is_any_ready(&[file.as_fd()], Instant::now()) {
            return;
        }
        let mut block = [0; 1 << 16];
        let count = file.read(&mut block).expect("a pipe");
        self.bytes.extend_from_slice(&block[..count]);
        if count == 0 {
            self.file = None;
        }
    }
}

/// Waits until one of them can be read from, or has ended; false once the limit has passed.
fn is_any_ready(files: &[BorrowedFd<'_>], limit: Instant) -> bool {
    let mut polled: Vec<PollFd<'_>> =
        files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
    loop {
        let left = limit.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a few minutes");
        match poll(&mut polled, Some(&left)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
    }
}

fn hangs(name: &str, patience: Duration, said: &str) -> String {
    format!("it has not ended after {} s: {name}\n{said}", patience.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh runs")
    }

    #[test]
    fn what_is_printed_on_both_pipes_comes_whole() {
        let script = "cat; head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let Output { status, stdout, stderr } = end_of(start(script), script);
        assert_eq!((status.code(), stdout.len(), stderr.len()), (Some(3), 300_000, 200_000));
    }

    #[test]
    fn lines_come_one_by_one() {
        let mut child = start("echo one; read it; echo two");
        let mut stdout = child.stdout.take().expect("a pipe");
        assert_eq!(line_of(&mut stdout, "it"), "one\n");
        drop(child.stdin.take());
        assert_eq!(line_of(&mut stdout, "it"), "two\n");
        assert_eq!(line_of(&mut stdout, "it"), "");
        wait(&mut child, "it");
    }

    #[test]
    #[should_panic(expected = "it has not ended after 0 s: the sleeper\nI sleep\n")]
    fn a_child_that_hangs_is_named_with_what_it_said() {
        let mut child = start("echo I sleep; exec sleep 600");
        let stdout = child.stdout.take().expect("a pipe");
        is_any_ready(&[stdout.as_fd()], Instant::now() + PATIENCE);
        child.stdout = Some(stdout);
        end_within(child, "the sleeper", Duration::ZERO);
    }

    #[test]
    #[should_panic(expected = "it has not ended after 0 s: the sleeper")]
    fn a_child_that_is_quiet_and_hangs_is_named() {
        let mut child = start("exec sleep 600 > /dev/null 2>&1");
        wait_within(&mut child, "the sleeper", Duration::ZERO);
    }
}
