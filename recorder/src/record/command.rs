//! Starts the command so that it is recorded from its first instruction: stopped, then continued.
//!
//! A copy of ourselves stops itself with SIGSTOP; while it is stopped the counters are opened on
//! it, to start with its exec; then it is continued and becomes the command. That needs no code
//! between fork and exec, which only unsafe code could have there.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, io};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_parent_process_death_signal, waitpid,
};

use crate::output;

/// The file of this program, for copies of ourselves.
pub const SELF: &str = "/proc/self/exe";

/// A process that is or will be the command. Killed when dropped while it is still stopped.
pub struct StoppedCommand {
    pid: Pid,
    state: State,
}

/// Where the command's standard output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutput {
    /// Where ours does.
    Ours,
    /// To standard error, as ours is the recording; so does perf.
    Errors,
}

impl CommandOutput {
    fn stdio(self) -> io::Result<Stdio> {
        match self {
            Self::Ours => Ok(Stdio::inherit()),
            Self::Errors => io::stderr().as_fd().try_clone_to_owned().map(Stdio::from),
        }
    }
}

enum State {
    Stopped,
    Running,
    Ended(WaitStatus),
}

impl StoppedCommand {
    /// Starts the process that will become the command and waits until it has stopped itself.
    pub fn start(command: &[OsString], output: CommandOutput) -> Result<Self> {
        let program = command.first().context("no command")?;
        find(program)?;
        let child = Command::new(SELF)
            .args(["record", "--exec-when-continued"])
            .arg(getpid().as_raw_nonzero().to_string())
            .arg("--")
            .args(command)
            .stdout(output.stdio()?)
            .spawn()
            .with_context(|| format!("cannot start a copy of perftab from {SELF}"))?;
        let pid = Pid::from_child(&child);
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED)?
            .ok_or_else(|| anyhow!("the copy of perftab that becomes the command was lost"))?;
        if !status.stopped() {
            bail!("the copy of perftab that becomes the command ended early");
        }
        Ok(Self { pid, state: State::Stopped })
    }

    /// Process id; exec does not change it.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Lets it become the command.
    pub fn go(&mut self) -> Result<()> {
        kill_process(self.pid, Signal::CONT).context("the command cannot be continued")?;
        self.state = State::Running;
        Ok(())
    }

    /// Whether it has ended; does not wait.
    pub fn has_ended(&mut self) -> bool {
        if let State::Ended(_) = self.state {
            return true;
        }
        match waitpid(Some(self.pid), WaitOptions::NOHANG) {
            Ok(Some((_, status))) if status.exited() || status.signaled() => {
                self.state = State::Ended(status);
                true
            }
            _ => false,
        }
    }

    /// Asks it to end if it still runs, as perf does when a recording ends before the command, and
    /// waits for it. Returns the exit code that a shell would give: its own, or 128 + the signal.
    pub fn terminate(&mut self) -> Option<u8> {
        if !self.has_ended() {
            let _ = kill_process(self.pid, Signal::TERM);
        }
        loop {
            if let State::Ended(status) = self.state {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                return u8::try_from(status.exit_status().or(signal)?).ok();
            }
            match waitpid(Some(self.pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => self.state = State::Ended(status),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Drop for StoppedCommand {
    fn drop(&mut self) {
        if let State::Stopped = self.state {
            let _ = kill_process(self.pid, Signal::KILL);
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
    }
}

/// The other side: stops this process and, once continued by the recorder, becomes the command.
/// Returns only if that fails, with the exit code that a shell gives.
pub fn become_command(command: &[OsString], recorder: i32) -> Result<ExitCode> {
    let (program, arguments) = command.split_first().context("no command")?;
    // Should the recorder be killed from now on, or have been before, nobody would ever continue
    // this process.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != recorder) {
        bail!("the recorder was killed before '{}' began", program.display());
    }
    kill_process(getpid(), Signal::STOP)?;
    set_parent_process_death_signal(None)?;
    let error = Command::new(program).args(arguments).exec();
    output::notice(cannot_start(program, &error));
    Ok(ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }))
}

/// Looks the command up as exec will, so that a wrong name fails before anything is recorded.
pub fn find(program: &OsStr) -> Result<PathBuf> {
    let candidates: Vec<PathBuf> = if program.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::from(program)]
    } else {
        let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        env::split_paths(&path).map(|folder| folder.join(program)).collect()
    };
    let mut reason = io::Error::from(rustix::io::Errno::NOENT);
    for candidate in candidates {
        match check_executable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => reason = error,
        }
    }
    let mode = ["fp", "dwarf", "lbr"].into_iter().find(|mode| program == *mode);
    let hint = mode.map(|mode| format!("; to walk stacks so, write --call-graph {mode}"));
    Err(anyhow!("{}{}", cannot_start(program, &reason), hint.unwrap_or_default()))
}

fn check_executable(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    Ok(rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?)
}

fn cannot_start(program: &OsStr, error: &io::Error) -> String {
    format!("cannot start '{}': {}", program.display(), output::reason(error))
}
