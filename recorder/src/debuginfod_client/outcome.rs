//! What came of asking a server.

use std::fmt;

use perftab_perfdata::format::BuildId;
use ureq::http::StatusCode;

/// Why no server gave the file.
#[derive(Clone, Debug)]
pub enum FetchError {
    /// What each server that was asked answered; nothing, if there was none to ask.
    NotGiven(Vec<ServerOutcome>),
    /// The one who asked for it no longer wants it.
    Cancelled,
}

impl FetchError {
    /// Whether all that were asked answered that they don't have it.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotGiven(outcomes) if outcomes.iter().all(ServerOutcome::is_not_found))
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::NotGiven(_) if self.is_not_found() => f.write_str("no debuginfod server has it"),
            Self::NotGiven(outcomes) => {
                let failed = outcomes.iter().filter(|outcome| !outcome.is_not_found());
                for (index, outcome) in failed.enumerate() {
                    let separator = if index > 0 { "; " } else { "" };
                    write!(f, "{separator}{outcome}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for FetchError {}

/// A server, and why it gave nothing.
#[derive(Clone, Debug)]
pub struct ServerOutcome {
    /// Its URL, without the password that it may carry.
    pub server: String,
    /// Why.
    pub outcome: Outcome,
}

impl ServerOutcome {
    /// Whether the server answered that it doesn't have the file.
    pub fn is_not_found(&self) -> bool {
        matches!(self.outcome, Outcome::NotFound | Outcome::KnownNotFound)
    }

    /// The server as people know it: without `http://`.
    pub fn host(&self) -> &str {
        self.server.split_once("://").map_or(&self.server, |(_, host)| host)
    }
}

impl fmt::Display for ServerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.outcome {
            Outcome::NotFound | Outcome::KnownNotFound => write!(f, "{server} does not have it"),
            Outcome::Unreachable(why) => write!(f, "{server} can't be reached: {why}"),
            Outcome::Status(status) => write!(f, "{server} answered {status}"),
            Outcome::WrongBuildId(Some(found)) => {
                write!(f, "{server} sent another build, {found}; refused")
            }
            Outcome::WrongBuildId(None) => {
                write!(f, "{server} sent a file without a build-id, or cut off; refused")
            }
            Outcome::TooLarge { limit } => {
                write!(f, "{server} sent more than {} MB; refused", limit.div_ceil(1_000_000))
            }
            Outcome::TooSlow { bytes, seconds } => {
                write!(f, "{server} sent only {bytes} bytes in {seconds} s")
            }
            Outcome::OutOfTime { .. } => write!(f, "{server}: {}", self.outcome.in_short()),
            Outcome::Storing(why) => write!(f, "the answer of {server} can't be kept: {why}"),
        }
    }
}

/// Why a server gave nothing.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It doesn't have it.
    NotFound,
    /// It didn't have it a few minutes ago and was not asked again.
    KnownNotFound,
    /// There was no connection, or it broke off.
    Unreachable(String),
    /// It answered something else.
    Status(StatusCode),
    /// It sent a file with this build-id instead of the one asked for.
    WrongBuildId(Option<BuildId>),
    /// The file has more bytes than are accepted.
    TooLarge {
        /// How many are.
        limit: u64,
    },
    /// The file came too slowly to wait for it.
    TooSlow {
        /// What came.
        bytes: u64,
        /// In how long.
        seconds: u64,
    },
    /// The command has asked for files as long as it may.
    OutOfTime {
        /// How long that is.
        seconds: u64,
    },
    /// The file came but couldn't be written.
    Storing(String),
}

impl Outcome {
    /// The word that JSON has for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotFound | Self::KnownNotFound => "not-found",
            Self::Unreachable(_) | Self::TooSlow { .. } | Self::OutOfTime { .. } => "unreachable",
            Self::WrongBuildId(_) => "wrong-id",
            Self::TooLarge { .. } => "too-large",
            Self::Status(_) | Self::Storing(_) => "failed",
        }
    }

    /// In few words, for a list of all that was tried.
    pub fn in_short(&self) -> String {
        match self {
            Self::NotFound => "not found".to_owned(),
            Self::KnownNotFound => "not found a few minutes ago; not asked again".to_owned(),
            Self::Unreachable(why) => format!("can't be reached: {why}"),
            Self::TooSlow { bytes, seconds } => format!("sent only {bytes} bytes in {seconds} s"),
            Self::Status(status) => format!("answered {status}"),
            Self::WrongBuildId(Some(found)) => format!("sent another build, {found}; refused"),
            Self::WrongBuildId(None) => {
                "sent a file without a build-id, or cut off; refused".to_owned()
            }
            Self::TooLarge { limit } => {
                format!("sent more than {} MB; refused", limit.div_ceil(1_000_000))
            }
            Self::OutOfTime { seconds } => format!(
                "files were asked for during {seconds} s, which is the limit \
                 ($PERFTAB_DEBUGINFOD_TOTAL)"
            ),
            Self::Storing(why) => format!("the answer can't be kept: {why}"),
        }
    }
}
