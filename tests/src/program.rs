//! Programs compiled by tests, and those that others installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child_process::LimitedCommand;

/// A program of several tasks with names of their own: `workload` with the threads `worker` and
/// `other worker`, and the process `helper`. They sort, recurse and read files.
pub const TASKS: &str = include_str!("tasks.c");

/// Compiles C source in `folder` with gcc to `folder/NAME`, from `folder/NAME.c`, with this
/// build-id (hex digits), DWARF and frame pointers.
pub fn compile(folder: &Path, name: &str, build_id: &str, source: &str) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, source).expect("the source is written");
    let program = folder.join(name);
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer"])
        .arg(format!("-Wl,--build-id=0x{build_id}"))
        .args([Path::new("-o"), &program, &file])
        .exit_status()
        .expect("gcc runs");
    assert!(status.success(), "gcc fails on {}", file.display());
    program
}

/// Copies a program that is to be run. A file that this process writes to is still open in what another
/// thread starts in the meantime, and the kernel runs no such file; one that `cp` writes to is not.
pub fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").args([from, to]).exit_status().expect("cp runs");
    assert!(status.success(), "cp fails to copy {} to {}", from.display(), to.display());
}

/// Whether a tool of others is installed; says so for `test` if not.
pub fn is_installed(test: &str, tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").ended().is_ok();
    if !there {
        println!("SKIPPED: {test}: {tool} is not installed");
    }
    there
}

/// What perftab calls the content of a file, as coreutils have it: the first half.
pub fn content_hash(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).ended().expect("it runs");
    String::from_utf8_lossy(&output.stdout)[..32].to_owned()
}
