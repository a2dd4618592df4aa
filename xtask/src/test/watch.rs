//! Runs a test runner: reads its output, keeps all of it in a log, shows what people need, and ends
//! it when a test does not end.
//!
//! libtest has no time limits, but says which tests have been running for a minute. Node's tests
//! have limits of their own, given where they are written, and name themselves; here they have one
//! for the case that the runner itself hangs.

use super::tally::{Event, Reader, Runner, Tally};
use crate::steps::{line, target};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long things may take. Generous: a busy machine is no failure, a test that hangs is.
#[derive(Clone, Copy)]
pub struct Limits {
    /// One test of Rust.
    pub test: Duration,
    /// No line from the runner, so no test ended.
    pub silence: Duration,
}

/// After libtest says so, a test has been running for this long.
const SAID_AFTER: Duration = Duration::from_secs(60);

/// Runs `command` to its end. All that it prints goes to `target/test-logs/NAME.log`.
pub fn watch(command: &mut Command, runner: Runner, name: &str, limits: Limits) -> Result<Tally> {
    let log = target("test-logs").join(format!("{name}.log"));
    fs::create_dir_all(target("test-logs"))?;
    let mut log = File::create(&log).with_context(|| log.display().to_string())?;

    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| line(command))?;
    // The command holds the pipe's other end; as long as that is open, the output has no end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let lines = lines(reader);

    let mut progress = Progress::new();
    let mut reader = Reader::new(runner);
    let mut slow: HashMap<String, Instant> = HashMap::new();
    let mut heard = Instant::now();
    let hung = loop {
        match lines.recv_timeout(Duration::from_millis(500)) {
            Ok(text) => {
                heard = Instant::now();
                writeln!(log, "{text}")?;
                match reader.read_line(&text) {
                    Event::Ended(test) => {
                        slow.remove(test);
                        progress.ended(test);
                    }
                    Event::Slow(test) => {
                        slow.insert(test.to_owned(), Instant::now());
                    }
                    Event::Say => progress.say(text.trim()),
                    Event::Other => {}
                }
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {
                // A server that a test left behind may hold the pipe open for ever.
                if child.try_wait()?.is_some() && heard.elapsed() > Duration::from_secs(2) {
                    break None;
                }
            }
        }
        if let Some(hung) = over(&slow, heard, limits) {
            child.kill()?;
            break Some(hung);
        }
    };
    progress.clear();
    let status = child.wait()?;
    let mut tally = reader.finish();
    if let Some(why) = hung {
        println!("    {name}: {why}");
        tally += Tally::failed(format!("{name}: {why}"));
    } else if !status.success() && tally.failed == 0 {
        // A crate that does not compile, or a runner that died, leaves no summary behind.
        tally += Tally::failed(format!("{} ended with {status}", line(command)));
    }
    Ok(tally)
}

/// Which limit was passed, in words.
fn over(slow: &HashMap<String, Instant>, heard: Instant, limits: Limits) -> Option<String> {
    let late = slow.iter().filter(|(_, since)| since.elapsed() + SAID_AFTER > limits.test);
    let mut late: Vec<&str> = late.map(|(test, _)| test.as_str()).collect();
    late.sort_unstable();
    if !late.is_empty() {
        let limit = limits.test.as_secs();
        return Some(format!("ended, since after {limit} s these still ran: {}", late.join(", ")));
    }
    let silent = heard.elapsed() > limits.silence;
    silent.then(|| format!("ended, since no test had ended for {} s", limits.silence.as_secs()))
}

fn lines(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = sync_channel(1000);
    thread::spawn(move || {
        for text in BufReader::new(reader).split(b'\n') {
            let Ok(text) = text else { break };
            if sender.send(String::from_utf8_lossy(&text).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// On a terminal one line that counts the tests; elsewhere nothing.
struct Progress {
    shown: bool,
    ended: u64,
}

impl Progress {
    fn new() -> Self {
        Self { shown: io::stdout().is_terminal(), ended: 0 }
    }

    fn ended(&mut self, test: &str) {
        self.ended += 1;
        if self.shown {
            let name: String = test.chars().filter(|c| !c.is_control()).take(60).collect();
            print!("\r\x1b[K    {}: {name}", self.ended);
            // A terminal that is gone is no reason to stop testing.
            io::stdout().flush().unwrap_or_default();
        }
    }

    fn say(&self, text: &str) {
        self.clear();
        println!("    {text}");
    }

    fn clear(&self) {
        if self.shown {
            print!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, watch};
    use crate::test::tally::{Runner, Tally};
    use std::process::Command;
    use std::time::Duration;

    fn run(script: &str, limits: Limits) -> Tally {
        let name = format!("watch-{}", script.len());
        watch(Command::new("sh").args(["-c", script]), Runner::Libtest, &name, limits)
            .expect("sh runs")
    }

    const GENEROUS: Limits =
        Limits { test: Duration::from_secs(600), silence: Duration::from_secs(600) };

    #[test]
    fn a_test_that_hangs_is_ended_and_named() {
        let script = "echo 'test a::b has been running for over 60 seconds'; exec sleep 600";
        let limits = Limits { test: Duration::from_secs(61), ..GENEROUS };
        let tally = run(script, limits);
        assert_eq!(tally.failed, 1);
        assert!(tally.failures[0].ends_with("after 61 s these still ran: a::b"), "{tally:?}");
    }

    #[test]
    fn a_runner_that_is_silent_is_ended() {
        let limits = Limits { silence: Duration::from_secs(1), ..GENEROUS };
        let tally = run("exec sleep 600", limits);
        assert!(tally.failures[0].contains("no test had ended for 1 s"), "{tally:?}");
    }

    #[test]
    fn a_runner_that_dies_without_a_summary_fails() {
        assert_eq!(run("exit 3", GENEROUS).failed, 1);
    }

    #[test]
    fn a_child_that_is_left_behind_does_not_hold_up_the_run() {
        let script = "sleep 60 & echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(run(script, GENEROUS), Tally::passed());
    }
}
