//! Parts of tests that have a process of their own: what they measure of it, or what ends it, has
//! nothing to do with the tests that run beside them.

use std::process::{Command, Output};

use crate::child_process::LimitedCommand;

const VARIABLE: &str = "PERFTAB_TEST_ALONE";

/// Runs one test of this program once more, in a process of its own, and hands it `input` in the
/// environment ([`input`]). `test` is its whole name.
pub fn run(test: &str, input: &str) -> Output {
    let program = std::env::current_exe().expect("a test program");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(VARIABLE, input)
        .ended()
        .expect("the test program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test\n"), "there is no test {test}: {said}");
    output
}

/// What [`run`] hands to a test; `None` where it is run like any other.
pub fn input() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Runs the body of a test in a process of its own, in which nothing else is run. `test` is the
/// whole name of the test that this is the body of.
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    if input().is_some() {
        return body();
    }
    let output = run(test, "alone");
    // For those who run the tests; the rest is a summary of one test, which nobody is to count.
    let printed = String::from_utf8_lossy(&output.stdout);
    let is_said = |line: &&str| line.starts_with("REDUCED: ") || line.starts_with("SKIPPED: ");
    printed.lines().filter(is_said).for_each(|line| println!("{line}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} in a process of its own: {}\n{said}", output.status);
}

/// The most memory that this process ever had, in bytes. Of a test's own only within [`in_own_process`].
pub fn peak_memory() -> u64 {
    assert!(input().is_some(), "the memory of all tests of this program");
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}
