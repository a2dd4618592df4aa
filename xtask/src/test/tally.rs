//! Counts of passed, failed and skipped tests, read from what the runners print.

use std::collections::HashSet;
use std::fmt;
use std::ops::AddAssign;

/// How tests ended.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    /// Could not run on this machine; each said why.
    pub skipped: u64,
    /// What the fast tier leaves to `--all`: names of tests, and what a test checked only in part.
    pub left: Vec<String>,
    /// What the runners said of those that failed, a few lines each: repeated at the end, where
    /// nothing that came after buries it.
    pub failures: Vec<String>,
}

impl Tally {
    /// One test that passed.
    pub fn passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// One test that failed, and why.
    pub fn failed(why: String) -> Self {
        Self { failed: 1, failures: vec![why], ..Self::default() }
    }

    /// One part that could not run on this machine, and said why.
    pub fn skipped() -> Self {
        Self { skipped: 1, ..Self::default() }
    }

    /// Whether no test ran, nor was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.left.extend(other.left);
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Whose lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// Test programs of Rust: a line `test NAME ... ok` each, and summaries like
    /// `test result: ok. 3 passed; 0 failed; …`.
    Libtest,
    /// `node --test` with the spec reporter: summaries like `ℹ pass 3`.
    Node,
}

/// What a line means to whoever watches the run.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A test has ended.
    Ended(&'a str),
    /// A test has been running for a minute, and has not ended.
    Slow(&'a str),
    /// A line for people: what is skipped.
    Say,
    /// Anything else.
    Other,
}

/// Reads a runner's output, line by line.
pub struct Reader {
    runner: Runner,
    counted: Tally,
    /// Lines `SKIPPED: name: why`. A Rust test that skips says so and returns, so libtest counts it
    /// as passed; the tally corrects that. Node knows skips itself.
    said: u64,
    /// Tests that the filter leaves out, and those that are left to `--all`: both runners count
    /// them as skipped or ignored.
    left_out: u64,
    left: Vec<String>,
    /// Tests of Rust that passed: what panics in those had to.
    passed: HashSet<String>,
    failures: Vec<String>,
    /// Lines that belong to the last of them and are yet to come.
    to_come: usize,
    /// Whether Node's list of failures has begun: each failure stands above it, too.
    listed: bool,
}

/// Lines kept of what a failure says of itself.
const LINES_OF_FAILURE: usize = 12;

/// How Node marks a test that `--test-name-pattern` leaves out.
const FILTERED: &str = "# test name does not match pattern";

/// How both runners mark a test that the fast tier leaves out.
const LEFT: &str = "left to --all";

impl Reader {
    pub fn new(runner: Runner) -> Self {
        Self {
            runner,
            counted: Tally::default(),
            said: 0,
            left_out: 0,
            left: Vec::new(),
            passed: HashSet::new(),
            failures: Vec::new(),
            to_come: 0,
            listed: false,
        }
    }

    pub fn read_line<'a>(&mut self, line: &'a str) -> Event<'a> {
        let line = line.trim();
        self.note_failure(line);
        if let Some(reduced) = line.strip_prefix("REDUCED: ") {
            self.left.push(reduced.to_owned());
            return Event::Other;
        }
        match self.runner {
            Runner::Libtest => self.read_libtest(line),
            Runner::Node => self.read_node(line),
        }
    }

    fn read_libtest<'a>(&mut self, line: &'a str) -> Event<'a> {
        if let Some(counts) = line.strip_prefix("test result: ") {
            for part in counts.split([';', '.']) {
                self.count(part.split_whitespace().rev());
            }
        } else if line.starts_with("SKIPPED: ") {
            self.said += 1;
            return Event::Say;
        } else if let Some(test) = line.strip_prefix("test ") {
            if let Some((name, _)) = test.split_once(" has been running for over ") {
                return Event::Slow(name);
            }
            if let Some((name, how)) = test.split_once(" ... ") {
                let name = name.strip_suffix(" - should panic").unwrap_or(name);
                if how.contains(LEFT) {
                    self.leave(name);
                } else if how == "ok" {
                    self.passed.insert(name.to_owned());
                }
                return Event::Ended(name);
            }
        }
        Event::Other
    }

    fn read_node<'a>(&mut self, line: &'a str) -> Event<'a> {
        if let Some(count) = line.strip_prefix("ℹ ") {
            self.count(count.split_whitespace());
            // What a test says of itself comes behind the same sign.
            let says_why = count.starts_with("SKIPPED: ");
            return if says_why { Event::Say } else { Event::Other };
        }
        if line.starts_with("SKIPPED: ") {
            return Event::Say;
        }
        let Some(test) = line.strip_prefix(['✔', '✖', '﹣']) else { return Event::Other };
        let name = test.rsplit_once(" (").map_or(test, |(name, _)| name).trim();
        if line.ends_with(FILTERED) {
            self.left_out += 1;
        } else if test.rsplit_once("# ").is_some_and(|(_, why)| why.starts_with(LEFT)) {
            self.leave(name);
        } else if line.starts_with('﹣') {
            return Event::Say;
        }
        Event::Ended(name)
    }

    fn leave(&mut self, name: &str) {
        self.left_out += 1;
        self.left.push(name.to_owned());
    }

    pub fn finish(self) -> Tally {
        let Tally { passed, failed, skipped, .. } = self.counted;
        let said = if self.runner == Runner::Libtest { self.said } else { 0 };
        let had_to = |failure: &String| {
            let thread = failure.strip_prefix("thread '").and_then(|rest| rest.split_once('\''));
            thread.is_some_and(|(test, _)| self.passed.contains(test))
        };
        let failures = self.failures.into_iter().filter(|failure| !had_to(failure)).collect();
        Tally {
            passed: passed.saturating_sub(said),
            failed,
            skipped: (skipped + said).saturating_sub(self.left_out),
            left: self.left,
            failures,
        }
    }

    fn note_failure(&mut self, line: &str) {
        let begins = match self.runner {
            // "thread 'name' panicked at file:line:column:", and below it why. Since Rust 1.91 with
            // the thread's number behind its name.
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
    use super::{Event, Reader, Runner, Tally};

    fn tally(runner: Runner, lines: &[&str]) -> Tally {
        let mut reader = Reader::new(runner);
        for line in lines {
            reader.read_line(line);
        }
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
    fn what_the_fast_tier_leaves_out_is_listed_and_no_skip() {
        let lines = [
            "test gate::b06_modules ... ignored, left to --all: boots a kernel",
            "test vectors ... ignored, for another reason",
            "test bits ... ok",
            "REDUCED: bits: 10 of 160 bits",
            "test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out",
        ];
        let left = vec!["gate::b06_modules".to_owned(), "bits: 10 of 160 bits".to_owned()];
        let expected = Tally { passed: 1, skipped: 1, left, ..Tally::default() };
        assert_eq!(tally(Runner::Libtest, &lines), expected);

        let lines = ["﹣ a22 many (0.1ms) # left to --all", "ℹ pass 1", "ℹ skipped 1"];
        let expected = Tally { passed: 1, left: vec!["a22 many".to_owned()], ..Tally::default() };
        assert_eq!(tally(Runner::Node, &lines), expected);
    }

    #[test]
    fn a_test_that_does_not_end_is_named() {
        let mut reader = Reader::new(Runner::Libtest);
        let slow = reader.read_line("test gate::b06 has been running for over 60 seconds");
        assert_eq!(slow, Event::Slow("gate::b06"));
        assert_eq!(reader.read_line("test gate::b06 ... ok"), Event::Ended("gate::b06"));
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

    #[test]
    fn a_panic_that_a_test_asks_for_is_no_failure() {
        let lines = [
            "test ended::hangs - should panic ... ok",
            "thread 'ended::hangs' (7) panicked at src/ended.rs:7:5:",
            "it hangs",
        ];
        assert_eq!(tally(Runner::Libtest, &lines).failures, [""; 0]);
    }
}
