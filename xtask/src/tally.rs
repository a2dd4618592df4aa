//! Counts of passed, failed and skipped tests, read from what the runners print.

use std::fmt;
use std::ops::AddAssign;

/// How tests ended.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// What the runners said of those that failed, a line each: said again where it is not buried
    /// under what came after.
    pub failures: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Whose lines are read.
#[derive(Clone, Copy)]
pub enum Runner {
    /// `cargo test`: summaries like `test result: ok. 3 passed; 0 failed; …`.
    Libtest,
    /// `node --test` with the spec reporter: summaries like `ℹ pass 3`.
    Node,
}

/// Reads a runner's output, line by line.
pub struct Reader {
    runner: Runner,
    counted: Tally,
    /// Lines `SKIPPED: name: why`. A Rust test that skips says so and returns, so libtest counts it
    /// as passed; the tally takes it from there. Node knows skips itself.
    said: u64,
    /// Tests that the filter leaves out: Node counts them as skipped.
    left_out: u64,
    failures: Vec<String>,
    /// Lines that belong to the last of them and are yet to come.
    to_come: usize,
    /// Whether Node's list of failures has begun: each failure stands above it, too.
    listed: bool,
}

/// Lines kept of what a failure says of itself.
const LINES_OF_FAILURE: usize = 4;

/// How Node marks a test that `--test-name-pattern` leaves out.
pub const LEFT_OUT: &str = "# test name does not match pattern";

impl Reader {
    pub fn new(runner: Runner) -> Self {
        Self {
            runner,
            counted: Tally::default(),
            said: 0,
            left_out: 0,
            failures: Vec::new(),
            to_come: 0,
            listed: false,
        }
    }

    pub fn read_line(&mut self, line: &str) {
        let line = line.trim_start();
        self.note_failure(line);
        match self.runner {
            Runner::Libtest => {
                if let Some(counts) = line.strip_prefix("test result: ") {
                    for part in counts.split([';', '.']) {
                        self.count(part.split_whitespace().rev());
                    }
                } else if line.starts_with("SKIPPED: ") {
                    self.said += 1;
                }
            }
            Runner::Node => {
                if let Some(count) = line.strip_prefix("ℹ ") {
                    self.count(count.split_whitespace());
                } else if line.ends_with(LEFT_OUT) {
                    self.left_out += 1;
                }
            }
        }
    }

    pub fn finish(self) -> Tally {
        let Tally { passed, failed, skipped, .. } = self.counted;
        Tally {
            passed: passed.saturating_sub(self.said),
            failed,
            skipped: (skipped + self.said).saturating_sub(self.left_out),
            failures: self.failures,
        }
    }

    fn note_failure(&mut self, line: &str) {
        let begins = match self.runner {
            // "thread 'name' panicked at file:line:column:", and below it why.
            Runner::Libtest => line.starts_with("thread '") && line.contains(" panicked at "),
            Runner::Node => {
                self.listed |= line == "✖ failing tests:";
                self.listed && line.starts_with("✖ ") && !line.ends_with(':')
            }
        };
        if begins {
            self.failures.push(line.to_owned());
            self.to_come = LINES_OF_FAILURE;
        } else if self.to_come > 0 && !line.is_empty() {
            self.to_come -= 1;
            let last = self.failures.last_mut();
            last.into_iter().for_each(|failure| *failure += &format!("\n    {line}"));
        }
    }

    /// Adds `passed 3` and the like; anything else is none of our business.
    fn count<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) {
        let (Some(what), Some(count), None) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let Ok(count) = count.parse::<u64>() else { return };
        match what {
            "passed" | "pass" => self.counted.passed += count,
            "failed" | "fail" | "cancelled" => self.counted.failed += count,
            "ignored" | "skipped" | "todo" => self.counted.skipped += count,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Runner, Tally};

    fn tally(runner: Runner, lines: &[&str]) -> Tally {
        let mut reader = Reader::new(runner);
        lines.iter().for_each(|line| reader.read_line(line));
        reader.finish()
    }

    #[test]
    fn libtest_summary() {
        let line = "test result: FAILED. 12 passed; 1 failed; 2 ignored; 0 measured; \
                    7 filtered out; finished in 0.01s";
        let expected = Tally { passed: 12, failed: 1, skipped: 2, ..Tally::default() };
        assert_eq!(tally(Runner::Libtest, &[line]), expected);
    }

    #[test]
    fn node_summary() {
        let lines =
            ["ℹ tests 9", "ℹ pass 5", "ℹ fail 1", "ℹ cancelled 1", "ℹ skipped 2", "ℹ todo 0"];
        let expected = Tally { passed: 5, failed: 2, skipped: 2, ..Tally::default() };
        assert_eq!(tally(Runner::Node, &lines), expected);
    }

    #[test]
    fn a_skip_of_ours_is_not_a_pass() {
        let lines = ["SKIPPED: x: no perf here", "test result: ok. 3 passed; 0 failed; 0 ignored"];
        let expected = Tally { passed: 2, skipped: 1, ..Tally::default() };
        assert_eq!(tally(Runner::Libtest, &lines), expected);
    }

    #[test]
    fn a_skip_that_node_counts_is_not_counted_twice() {
        let lines = ["SKIPPED: x: no debuginfod here", "ℹ pass 1", "ℹ skipped 1"];
        let expected = Tally { passed: 1, skipped: 1, ..Tally::default() };
        assert_eq!(tally(Runner::Node, &lines), expected);
    }

    #[test]
    fn a_test_that_the_filter_leaves_out_is_not_a_skip() {
        let lines = ["﹣ a (0.1ms) # test name does not match pattern", "ℹ pass 1", "ℹ skipped 1"];
        let expected = Tally { passed: 1, ..Tally::default() };
        assert_eq!(tally(Runner::Node, &lines), expected);
    }

    #[test]
    fn failures_are_said_again_with_their_reasons() {
        let lines = [
            "✖ a box is there (12.5ms)",
            "✖ failing tests:",
            "test at tests/browser/views.test.mjs:40:3",
            "✖ a box is there (12.5ms)",
            "  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
            "",
            "  1 !== 2",
        ];
        let reason = "✖ a box is there (12.5ms)\n    AssertionError [ERR_ASSERTION]: Expected values \
                      to be strictly equal:\n    1 !== 2";
        assert_eq!(tally(Runner::Node, &lines).failures, [reason]);
        let lines = ["thread 'gate::b01' panicked at tests/gate.rs:7:5:", "no name", "  at x"];
        let reason = "thread 'gate::b01' panicked at tests/gate.rs:7:5:\n    no name\n    at x";
        assert_eq!(tally(Runner::Libtest, &lines).failures, [reason]);
    }
}
