//! Recordings by the real perf.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::child_process::LimitedCommand;
use crate::folder::TestFolder;
use crate::program::is_installed;

/// Records `program` with call chains and build-ids in its mmap events, into `output`. `None` if
/// perf is not installed; says so for `test`.
pub fn record(test: &str, program: &Path, output: &Path) -> Option<PathBuf> {
    if !is_installed(test, "perf") {
        return None;
    }
    let mut command = Command::new("perf");
    command
        .args(["record", "-q", "-e", "cpu-clock", "-g", "--buildid-mmap", "-o"])
        .arg(output)
        .arg("--")
        .arg(program)
        // perf's own cache would be filled with the programs of tests.
        .env("HOME", output.parent().expect("a folder"));
    let recorded = until_the_kernel_lets(&mut command).expect("perf runs");
    let stderr = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "perf record fails: {stderr}");
    Some(output.to_owned())
}

/// Runs a `perf record`. perf 6.1 dies of inodes under the bit of build-ids, which the kernel writes
/// now and then while another test records with build-ids (core's `decode/records/mapping.rs` has
/// why); then it is run again.
pub fn until_the_kernel_lets(command: &mut Command) -> io::Result<Output> {
    until_files_are_older();
    for _ in 0..20 {
        let output = command.ended()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !said.contains("assertion failed at util/build-id.c") {
            return Ok(output);
        }
    }
    panic!("perf dies of what the kernel writes, twenty times: {command:?}")
}

/// Waits until what is made has a later time than all that was written before. The kernel's time of files
/// stands still between two ticks, longer where a virtual machine waits for its processor, and a program that
/// is as old as its recording may have been written while that was made.
fn until_files_are_older() {
    let folder = TestFolder::new();
    let time_of = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, name).expect("a file");
        fs::metadata(&path).and_then(|it| it.modified()).expect("its time")
    };
    let before = time_of("before");
    while time_of("after") <= before {}
}

/// A command to record beside a process: it ends when the process has had so much more time on the
/// CPU, in the kernel's ticks of a hundredth of a second, however busy the machine is.
pub fn until_it_ran(pid: u32, ticks: u32) -> [String; 3] {
    // It also ends with who records.
    let script = format!(
        "ran() {{ set -- $(sed 's/.*) //' /proc/{pid}/stat); echo $((${{12}} + ${{13}})); }}\n\
         begun=$(ran)\n\
         while kill -0 $PPID && [ $(($(ran) - begun)) -lt {ticks} ]; do sleep 0.02; done"
    );
    ["sh".to_owned(), "-c".to_owned(), script]
}

/// Where the cgroups are that the kernel samples by.
pub fn mount_of_cgroups() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = |is_it: &dyn Fn(&str) -> bool| mounts.lines().find(|line| is_it(line));
    let own = line(&|line| line.contains(" cgroup ") && line.contains("perf_event"));
    let mount = own.or_else(|| line(&|line| line.contains(" cgroup2 ")))?;
    mount.split(' ').nth(1).map(str::to_owned)
}
