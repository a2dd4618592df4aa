//! What the environment says to all of debuginfod's clients (debuginfod_find_debuginfo(3),
//! "ENVIRONMENT VARIABLES").
//!
//! | variable | meaning here |
//! |---|---|
//! | `DEBUGINFOD_URLS` | servers, in the order in which they are asked |
//! | `DEBUGINFOD_CACHE_PATH` | where files are kept |
//! | `DEBUGINFOD_TIMEOUT` | seconds that a server may be silent, or take for 100 KiB; 90; 0: for ever |
//! | `DEBUGINFOD_MAXTIME` | seconds that one file may take; 1,800; 0: any |
//! | `PERFTAB_DEBUGINFOD_TOTAL` | seconds that a command may ask for; 3,600; 0: any |
//! | `DEBUGINFOD_MAXSIZE` | bytes that one file may have; 0: any, up to 8 GB |
//!
//! `DEBUGINFOD_PROGRESS` asks for what is shown on a terminal anyway.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::Patience;
use super::outcome::Outcome;
use crate::perfconfig::PerfConfig;

/// A debug file of a large C++ program takes a few gigabytes.
const MAX_BYTES: u64 = 8_000_000_000;
/// A server that asks servers of its own may take long before it answers.
const SILENCE: Duration = Duration::from_secs(90);

/// 4 GB at 20 Mbit/s.
const WHOLE: Duration = Duration::from_secs(1_800);
/// Servers that give each file just fast enough hold a command no longer.
const TOTAL: Duration = Duration::from_secs(3_600);

/// Limits of what is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a server may be silent.
    pub silence: Option<Duration>,
    /// How long a file may take.
    pub whole: Option<Duration>,
    /// How long a command may ask for files.
    pub total: Option<Duration>,
    /// How many bytes a file may have.
    pub bytes: u64,
    /// Whether the servers are told of that limit.
    pub is_said: bool,
}

impl Limits {
    /// Those of the environment.
    pub fn of_environment() -> Self {
        Self::read(|name| env::var(name).ok())
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| variable(name).and_then(|text| text.trim().parse::<i64>().ok());
        let seconds = |number: i64| u64::try_from(number).ok().filter(|&number| number > 0);
        let bytes = number("DEBUGINFOD_MAXSIZE").and_then(seconds);
        Self {
            silence: match number("DEBUGINFOD_TIMEOUT") {
                Some(number) => seconds(number).map(Duration::from_secs),
                None => Some(SILENCE),
            },
            whole: match number("DEBUGINFOD_MAXTIME") {
                Some(number) => seconds(number).map(Duration::from_secs),
                None => Some(WHOLE),
            },
            total: match number("PERFTAB_DEBUGINFOD_TOTAL") {
                Some(number) => seconds(number).map(Duration::from_secs),
                None => Some(TOTAL),
            },
            bytes: bytes.unwrap_or(MAX_BYTES).min(MAX_BYTES),
            is_said: bytes.is_some(),
        }
    }
}

/// What is left of the time that a command may ask for files. It begins with the first question,
/// whoever of the process asks.
#[derive(Clone, Copy, Debug)]
pub struct TimeLeft {
    total: Option<Duration>,
    whole: Option<Duration>,
}

impl TimeLeft {
    /// As much as `limits` say, if anything ends it.
    pub fn of(patience: Patience, limits: &Limits) -> Self {
        let total = limits.total.filter(|_| patience == Patience::OfCommand);
        Self { total, whole: limits.whole }
    }

    /// How long one more file may take; fails if there is no time left.
    pub fn check(&self) -> Result<Option<Duration>, Outcome> {
        static FIRST_QUESTION: OnceLock<Instant> = OnceLock::new();
        let Some(total) = self.total else { return Ok(self.whole) };
        let left = total.saturating_sub(FIRST_QUESTION.get_or_init(Instant::now).elapsed());
        match left.is_zero() {
            true => Err(Outcome::OutOfTime { seconds: total.as_secs() }),
            false => Ok(Some(self.whole.map_or(left, |whole| whole.min(left)))),
        }
    }
}

/// The servers for all that this user runs: those of perf's setting `buildid-cache.debuginfod`, else
/// of `$DEBUGINFOD_URLS`. Either may also hold words like `ima:enforcing`; perf's may be `system`,
/// which stands for the environment (perf-config(1)).
pub fn servers_of_user() -> Vec<String> {
    let config = PerfConfig::of_user();
    let set = config.debuginfod().filter(|words| words.trim() != "system");
    let words = match set {
        Some(words) => words.to_owned(),
        None => env::var("DEBUGINFOD_URLS").unwrap_or_default(),
    };
    words.split_whitespace().filter(|word| is_http(word)).map(str::to_owned).collect()
}

/// Whether a word is an http or https URL.
pub fn is_http(url: &str) -> bool {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
}

/// Where debuginfod's clients keep files: `$DEBUGINFOD_CACHE_PATH`, else `debuginfod_client` in
/// `$XDG_CACHE_HOME` or `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    variable("DEBUGINFOD_CACHE_PATH").or_else(|| Some(user_caches()?.join("debuginfod_client")))
}

/// Where this user's programs keep what they can have again.
pub fn user_caches() -> Option<PathBuf> {
    variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(variables: &[(&str, &str)]) -> Limits {
        let find = |name: &str| variables.iter().find(|(other, _)| *other == name);
        Limits::read(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn b39_limits_are_those_that_the_manual_page_says() {
        let usual = limits(&[]);
        assert_eq!(usual.silence, Some(Duration::from_secs(90)));
        assert_eq!((usual.whole, usual.bytes, usual.is_said), (Some(WHOLE), MAX_BYTES, false));
        assert_eq!(usual.total, Some(Duration::from_secs(3_600)));
        assert_eq!(limits(&[("PERFTAB_DEBUGINFOD_TOTAL", "0")]).total, None);
        let set = limits(&[
            ("DEBUGINFOD_TIMEOUT", "5"),
            ("DEBUGINFOD_MAXTIME", "60"),
            ("DEBUGINFOD_MAXSIZE", "1000000"),
        ]);
        assert_eq!(set.silence, Some(Duration::from_secs(5)));
        assert_eq!(set.whole, Some(Duration::from_secs(60)));
        assert_eq!((set.bytes, set.is_said), (1_000_000, true));
        assert_eq!(limits(&[("DEBUGINFOD_MAXTIME", "0")]).whole, None);
        let zero = limits(&[("DEBUGINFOD_TIMEOUT", "0"), ("DEBUGINFOD_MAXSIZE", "0")]);
        assert_eq!((zero.silence, zero.bytes, zero.is_said), (None, MAX_BYTES, false));
        assert_eq!(limits(&[("DEBUGINFOD_TIMEOUT", "-1")]).silence, None);
        assert_eq!(limits(&[("DEBUGINFOD_TIMEOUT", "soon")]), usual);
    }

    #[test]
    fn only_http_is_asked() {
        assert!(is_http("http://a") && is_http("https://a/b"));
        for word in ["ima:enforcing", "file:///srv", "http://", "http:///x", "ftp://a", ""] {
            assert!(!is_http(word), "{word}");
        }
    }
}
