//! Asks debuginfod servers for the files of a build (debuginfod(8), "WEBAPI").
//!
//! Constraints: a server is believed in nothing. An answer has a size limit and gives a file only
//! if that file's build-id is the one asked for; a server that sends another is named. Executables
//! and debug files are kept where debuginfod's own clients keep them (debuginfod_find_debuginfo(3),
//! "CACHE"): `~/.cache/debuginfod_client/ID/{executable,debuginfo}`, so that each is fetched once
//! for all tools; what lies there is checked again before it is used. A file is kept only after it was
//! read whole: behind the right build-id a server may send nonsense.

mod answer;
mod misses;
mod outcome;
mod server;
mod settings;

use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use perftab_core::check_whole;
use perftab_perfdata::format::BuildId;
use ureq::http::StatusCode;

use self::answer::{Answer, Check, NoFile};
use self::server::Server;
use self::settings::{Limits, TimeLeft};
use crate::cli::ImageArgs;
use crate::images::identity;

pub use self::outcome::{FetchError, Outcome, ServerOutcome};
pub use self::settings::{cache_folder, is_http, user_caches};

/// What a server can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// The file that was mapped.
    Executable,
    /// The file with its symbols and DWARF.
    DebugInfo,
    /// A source file, by its absolute path, percent-encoded as it goes into the URL.
    Source(String),
    /// The bytes of one section.
    Section(String),
}

impl Artifact {
    /// The file's name in the cache; what has no identity of its own is not kept.
    fn cached_as(&self) -> Option<&'static str> {
        match self {
            Self::Executable => Some("executable"),
            Self::DebugInfo => Some("debuginfo"),
            Self::Source(_) | Self::Section(_) => None,
        }
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executable => f.write_str("executable"),
            Self::DebugInfo => f.write_str("debuginfo"),
            Self::Source(path) => write!(f, "source{path}"),
            Self::Section(name) => write!(f, "section/{name}"),
        }
    }
}

/// Follows an answer while it is received; `Break` from either ends it.
pub trait Receiver {
    /// So many bytes came so far, of so many in all if the server said so.
    fn received(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()>;

    /// The next bytes of a file whose first bytes have the build-id asked for. Not called where
    /// the build-id lies elsewhere in the file. Until `fetch` returns the file, what follows may
    /// still turn out wrong.
    fn trusted(&mut self, bytes: &[u8], total: Option<u64>) -> ControlFlow<()> {
        let _ = (bytes, total);
        ControlFlow::Continue(())
    }
}

/// A file that a server gave.
#[derive(Debug)]
pub struct Fetched {
    /// The file, at its beginning.
    pub file: File,
    /// Why it cannot be read whole, so that nobody should keep it.
    pub fault: Option<String>,
}

/// How long the servers are asked in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as a command may wait, which nobody attends to.
    OfCommand,
    /// As long as somebody asks.
    Endless,
}

/// The servers to ask, in their order, and where their answers are kept.
pub struct Client {
    servers: Vec<Server>,
    origin: ServerOrigin,
    limits: Limits,
    time: TimeLeft,
    cache: Option<PathBuf>,
}

/// Who named the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerOrigin {
    /// The user, for this run.
    CommandLine,
    /// The environment or a setting, for all clients.
    Settings,
}

impl Client {
    /// The servers named by `--debuginfod`, else those that perf's settings or `$DEBUGINFOD_URLS` name.
    pub fn new(args: &ImageArgs, patience: Patience) -> Self {
        let (urls, origin) = match args.debuginfod.as_slice() {
            [] => (settings::servers_of_user(), ServerOrigin::Settings),
            named => (named.to_vec(), ServerOrigin::CommandLine),
        };
        let limits = Limits::of_environment();
        let servers = urls.iter().map(|url| Server::new(url, limits)).collect();
        let time = TimeLeft::of(patience, &limits);
        Self { servers, origin, limits, time, cache: cache_folder() }
    }

    /// The servers' URLs, without passwords.
    pub fn servers(&self) -> Vec<String> {
        self.servers.iter().map(Server::name).collect()
    }

    /// A file from the first server that has it. It has the build-id asked for, except that
    /// sources and sections have none.
    pub fn fetch(
        &self,
        id: BuildId,
        artifact: &Artifact,
        receiver: &mut dyn Receiver,
    ) -> Result<Fetched, FetchError> {
        if self.is_known_miss(id, artifact) {
            let known = |server: &Server| ServerOutcome {
                server: server.name(),
                outcome: Outcome::KnownNotFound,
            };
            return Err(FetchError::NotGiven(self.servers.iter().map(known).collect()));
        }
        let mut outcomes = Vec::new();
        for server in &self.servers {
            match self.fetch_from(server, id, artifact, receiver) {
                Ok(fetched) => return Ok(fetched),
                Err(NoFile::Cancelled) => return Err(FetchError::Cancelled),
                Err(NoFile::Outcome(outcome)) => {
                    outcomes.push(ServerOutcome { server: server.name(), outcome });
                }
            }
        }
        let error = FetchError::NotGiven(outcomes);
        if error.is_not_found() && !self.servers.is_empty() {
            self.remember_miss(id, artifact);
        }
        Err(error)
    }

    fn fetch_from(
        &self,
        server: &Server,
        id: BuildId,
        artifact: &Artifact,
        receiver: &mut dyn Receiver,
    ) -> Result<Fetched, NoFile> {
        let response = server.get(&format!("/buildid/{id}/{artifact}"), &self.time)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(Outcome::NotFound.into()),
            // What a server answers that was told of the limit.
            StatusCode::NOT_ACCEPTABLE if self.limits.is_said => {
                return Err(Outcome::TooLarge { limit: self.limits.bytes }.into());
            }
            status => return Err(Outcome::Status(status).into()),
        }
        let total = response.body().content_length();
        let storing = |error: std::io::Error| Outcome::Storing(error.to_string());
        let mut answer =
            Answer::create(self.cache.as_deref(), id, artifact.cached_as()).map_err(storing)?;
        let check = match artifact.cached_as() {
            Some(_) => Check::Beginning { id, bytes: Vec::new() },
            None => Check::Done,
        };
        let body = &mut response.into_body().into_reader();
        if let Err(error) = answer.receive(body, total, &self.limits, check, receiver) {
            self.time.check()?;
            return Err(error);
        }
        if artifact.cached_as().is_some() {
            let found = identity::build_id(&answer.file).unwrap_or(None);
            if found != Some(id) {
                return Err(Outcome::WrongBuildId(found).into());
            }
            if let Err(fault) = check_file(&answer.file) {
                let file = answer.hand_out().map_err(storing)?;
                return Ok(Fetched { file, fault: Some(fault) });
            }
        }
        Ok(Fetched { file: answer.keep().map_err(storing)?, fault: None })
    }

    fn is_known_miss(&self, id: BuildId, artifact: &Artifact) -> bool {
        let (Some(cache), Some(file)) = (&self.cache, self.missing_as(id, artifact)) else {
            return false;
        };
        misses::is_known(cache, &file)
    }

    fn remember_miss(&self, id: BuildId, artifact: &Artifact) {
        if let Some(file) = self.missing_as(id, artifact) {
            misses::remember(&file);
        }
    }

    /// The place in the cache that says of a file that no server has it.
    fn missing_as(&self, id: BuildId, artifact: &Artifact) -> Option<PathBuf> {
        let cache = self.cache.as_ref().filter(|_| self.origin == ServerOrigin::Settings)?;
        Some(cache.join(id.to_string()).join(artifact.cached_as()?))
    }
}

/// Reads a file whole, which may take as much memory as naming from it does: one at a time.
fn check_file(file: &File) -> Result<(), String> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let image = identity::image(file).map_err(|error| error.to_string())?;
    let image = image.ok_or("it is no image")?;
    check_whole(&image).map_err(|error| error.to_string())
}
