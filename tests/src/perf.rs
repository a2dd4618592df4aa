//! Recordings by the real perf.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Records `program` with call chains and build-ids in its mmap events, into `output`. `None` if
/// perf is not installed; says so for `test`.
pub fn record(test: &str, program: &Path, output: &Path) -> Option<PathBuf> {
    if Command::new("perf").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED: {test}: perf is not installed");
        return None;
    }
    let recorded = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock", "-g", "--buildid-mmap", "-o"])
        .arg(output)
        .arg("--")
        .arg(program)
        // perf's own cache would be filled with the programs of tests.
        .env("HOME", output.parent().expect("a folder"))
        .stdout(Stdio::null())
        .output()
        .expect("perf runs");
    let stderr = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "perf record fails: {stderr}");
    Some(output.to_owned())
}
