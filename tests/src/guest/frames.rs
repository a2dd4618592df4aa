//! Samples with the names that `perftab script` prints.

use std::path::Path;
use std::process::Command;

use crate::child_process::LimitedCommand;
use crate::perftab_binary;

/// A sample.
pub struct NamedSample {
    /// Name of the thread.
    pub comm: String,
    /// Its process; -1 if that was not recorded.
    pub pid: i32,
    /// When.
    pub nanoseconds: u64,
    /// Innermost first; without those that were inlined.
    pub frames: Vec<NamedFrame>,
}

/// A frame.
pub struct NamedFrame {
    /// As it was recorded.
    pub address: u64,
    /// `None` if it has no name.
    pub name: Option<String>,
    /// As it was recorded: a path, or a name in brackets.
    pub dso: String,
}

impl NamedFrame {
    /// The module as /proc/modules names it, if the DSO is one.
    pub fn module(&self) -> Option<String> {
        let base = self.dso.rsplit('/').next()?;
        let name = match base.split_once(".ko") {
            Some((name, _)) => name,
            None => base.strip_prefix('[')?.strip_suffix(']')?,
        };
        Some(name.replace('-', "_"))
    }
}

/// All samples of a recording, with the names that these files give, and no others. The cache of
/// whoever runs the tests has no part in it.
pub fn samples(recording: &Path, options: &[&Path]) -> Vec<NamedSample> {
    let home = recording.parent().expect("it is in a folder");
    let mut command = Command::new(perftab_binary());
    command.args(["script", "--no-local"]).args(options).arg(recording);
    command.env("HOME", home).env("XDG_CACHE_HOME", home).env_remove("DEBUGINFOD_URLS");
    let output = command.ended().expect("perftab runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    let text = String::from_utf8_lossy(&output.stdout);
    let samples: Vec<_> = text.split("\n\n").filter_map(sample).collect();
    assert!(!samples.is_empty(), "{command:?} prints no samples: {stderr}");
    samples
}

/// `comm pid/tid [cpu] seconds.nanoseconds: period event:`, and a line for each frame.
fn sample(block: &str) -> Option<NamedSample> {
    let mut lines = block.trim_start_matches('\n').lines();
    let head = lines.next()?;
    let (task, rest) = head.split_once(" [").expect("a CPU");
    let (comm, task) = task.rsplit_once(' ').expect("a task");
    let (pid, _) = task.split_once('/').expect("a process and a thread");
    let time = rest.split_whitespace().nth(1).expect("a time").trim_end_matches(':');
    Some(NamedSample {
        comm: comm.to_owned(),
        pid: pid.parse().expect("a number"),
        nanoseconds: time.replace('.', "").parse().expect("a time"),
        frames: lines.filter_map(frame).collect(),
    })
}

/// `address function (dso)`, or `address function (inlined)`.
fn frame(line: &str) -> Option<NamedFrame> {
    let (address, rest) = line.trim_start().split_once(' ').expect("an address");
    let (name, dso) = rest.rsplit_once(" (").expect("a DSO");
    let dso = dso.strip_suffix(')').expect("the end of a DSO");
    (dso != "inlined").then(|| NamedFrame {
        address: u64::from_str_radix(address, 16).expect("an address"),
        name: (name != "[unknown]").then(|| name.to_owned()),
        dso: dso.to_owned(),
    })
}
