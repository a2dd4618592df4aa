//! Asks debuginfod servers for the files of a build (debuginfod(8), "WEBAPI").
//!
//! Constraints: a server is believed in nothing. An answer has a size limit and gives a file only
//! if that file's build-id is the one asked for; a server that sends another is named. Executables
//! and debug files are kept where debuginfod's own clients keep them (debuginfod_find_debuginfo(3),
//! "CACHE"): `~/.cache/debuginfod_client/ID/{executable,debuginfo}`, so that each is fetched once
//! for all tools; what lies there is checked again before it is used.

use std::env;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use perftab_core::decode::SliceSource;
use perftab_core::format::BuildId;
use perftab_core::symbolize::Image;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::cli::ImageArgs;
use crate::images::identity;
use crate::scratch;

/// A debug file of a large C++ program takes a few gigabytes.
const MAX_BYTES: u64 = 8_000_000_000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that asks servers of its own may take long before it answers.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);
/// A server that could not be connected to is not tried again for so long: each try may take all
/// of [`CONNECT_TIMEOUT`], and there are many DSOs.
const DOWN_FOR: Duration = Duration::from_secs(30);

/// What a server can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Why no server gave the file.
#[derive(Debug)]
pub enum FetchError {
    /// All that were asked answered that they don't have it (or there was none to ask).
    NotFound,
    /// At least one could not be asked, or gave what was not asked for.
    Failed(Vec<Failure>),
    /// The one who asked for it no longer wants it.
    Cancelled,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no debuginfod server has it"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Failed(failures) => {
                for (index, failure) in failures.iter().enumerate() {
                    let separator = if index > 0 { "; " } else { "" };
                    write!(f, "{separator}{failure}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for FetchError {}

/// A server, and why it gave nothing.
#[derive(Debug)]
pub struct Failure {
    server: String,
    reason: FailureReason,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.reason {
            FailureReason::Unreachable(why) => write!(f, "{server} can't be reached: {why}"),
            FailureReason::Status(status) => write!(f, "{server} answered {status}"),
            FailureReason::WrongBuildId(Some(found)) => {
                write!(f, "{server} sent another build, {found}; refused")
            }
            FailureReason::WrongBuildId(None) => {
                write!(f, "{server} sent a file without a build-id; refused")
            }
            FailureReason::TooLarge => {
                write!(f, "{server} sent more than {} MB; refused", MAX_BYTES / 1_000_000)
            }
            FailureReason::Storing(why) => write!(f, "the answer of {server} can't be kept: {why}"),
        }
    }
}

#[derive(Debug)]
enum FailureReason {
    Unreachable(String),
    Status(StatusCode),
    WrongBuildId(Option<BuildId>),
    TooLarge,
    Storing(io::Error),
}

/// Why one server gave no file.
enum NoFile {
    NotFound,
    Cancelled,
    Failed(FailureReason),
}

impl From<FailureReason> for NoFile {
    fn from(reason: FailureReason) -> Self {
        Self::Failed(reason)
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

struct Server {
    url: String,
    agent: Agent,
    /// When it last could not be connected to, and why.
    down: Mutex<Option<(Instant, String)>>,
}

impl Server {
    fn new(url: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("perftab/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(SILENCE_TIMEOUT))
            .timeout_per_read(Some(SILENCE_TIMEOUT));
        if is_loopback(&url) {
            // A proxy of the environment would look for the server on its own machine.
            config = config.proxy(None);
        }
        Self { url, agent: config.build().new_agent(), down: Mutex::new(None) }
    }

    fn get(&self, path: &str) -> Result<Response<Body>, FailureReason> {
        let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, why)) = down.as_ref().filter(|(since, _)| since.elapsed() < DOWN_FOR) {
            return Err(FailureReason::Unreachable(why.clone()));
        }
        *down = None;
        drop(down);
        self.agent.get(format!("{}{path}", self.url)).call().map_err(|error| {
            let why = error.to_string();
            if !matches!(error, ureq::Error::Timeout(ureq::Timeout::RecvResponse)) {
                let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
                *down = Some((Instant::now(), why.clone()));
            }
            FailureReason::Unreachable(why)
        })
    }

    /// The URL as shown: without the password it may carry.
    fn name(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit('@').next().unwrap_or(authority);
                format!("{scheme}://{host}{path}")
            }
            None => self.url.clone(),
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or(authority);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(':');
    host.starts_with("127.") || host == "[::1]" || host == "localhost"
}

/// The servers to ask, in their order, and where their answers are kept.
pub struct Client {
    servers: Vec<Server>,
    cache: Option<PathBuf>,
}

impl Client {
    /// The servers named by `--debuginfod`, else those of `$DEBUGINFOD_URLS`.
    pub fn new(args: &ImageArgs) -> Self {
        let from_environment = env::var("DEBUGINFOD_URLS").unwrap_or_default();
        let urls: Vec<&str> = match args.debuginfod.as_slice() {
            // The variable may also hold words like `ima:enforcing`.
            [] => from_environment.split_whitespace().filter(|word| is_http(word)).collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        Self { servers: urls.into_iter().map(Server::new).collect(), cache: cache_folder() }
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
    ) -> Result<File, FetchError> {
        let mut failures = Vec::new();
        for server in &self.servers {
            match self.fetch_from(server, id, artifact, receiver) {
                Ok(file) => return Ok(file),
                Err(NoFile::NotFound) => {}
                Err(NoFile::Cancelled) => return Err(FetchError::Cancelled),
                Err(NoFile::Failed(reason)) => {
                    failures.push(Failure { server: server.name(), reason })
                }
            }
        }
        if failures.is_empty() {
            Err(FetchError::NotFound)
        } else {
            Err(FetchError::Failed(failures))
        }
    }

    fn fetch_from(
        &self,
        server: &Server,
        id: BuildId,
        artifact: &Artifact,
        receiver: &mut dyn Receiver,
    ) -> Result<File, NoFile> {
        let response = server.get(&format!("/buildid/{id}/{artifact}"))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(NoFile::NotFound),
            status => return Err(FailureReason::Status(status).into()),
        }
        let total = response.body().content_length();
        let mut answer = Answer::create(self.cache.as_deref(), id, artifact.cached_as())
            .map_err(FailureReason::Storing)?;
        let check = match artifact.cached_as() {
            Some(_) => Check::Beginning { id, bytes: Vec::new() },
            None => Check::Done,
        };
        answer.receive(&mut response.into_body().into_reader(), total, check, receiver)?;
        if artifact.cached_as().is_some() {
            let found = identity::build_id(&answer.file).unwrap_or(None);
            if found != Some(id) {
                return Err(FailureReason::WrongBuildId(found).into());
            }
        }
        Ok(answer.keep().map_err(FailureReason::Storing)?)
    }
}

/// Looks for the build-id in the first bytes of an answer, so that a wrong file is refused before
/// gigabytes of it came, and a right one can be passed on while it comes.
enum Check {
    /// The bytes so far, which hold too little to tell.
    Beginning { id: BuildId, bytes: Vec<u8> },
    /// The first bytes have the right build-id.
    Trusted,
    /// Nothing to look for, or not in the first bytes.
    Done,
}

impl Check {
    /// Linkers put the notes right behind the headers, also in debug files.
    const BEGINNING: usize = 64 << 10;

    /// Takes the next bytes and hands what is trusted to the receiver.
    fn block(
        &mut self,
        block: &[u8],
        total: Option<u64>,
        receiver: &mut dyn Receiver,
    ) -> Result<ControlFlow<()>, FailureReason> {
        match self {
            Self::Done => Ok(ControlFlow::Continue(())),
            Self::Trusted => Ok(receiver.trusted(block, total)),
            Self::Beginning { id, bytes } => {
                bytes.extend_from_slice(block);
                let source = SliceSource::new(bytes.as_slice());
                let found = Image::open("", Box::new(source)).ok();
                match found.and_then(|image| identity::build_id_of(&image)) {
                    Some(found) if found == *id => {
                        let flow = receiver.trusted(bytes, total);
                        *self = Self::Trusted;
                        return Ok(flow);
                    }
                    Some(found) => return Err(FailureReason::WrongBuildId(Some(found))),
                    None if bytes.len() >= Self::BEGINNING => *self = Self::Done,
                    None => {}
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    }
}

/// A file being received: in the cache under a passing name until it was checked, or nameless.
struct Answer {
    file: File,
    names: Option<(PathBuf, PathBuf)>,
}

impl Answer {
    fn create(cache: Option<&Path>, id: BuildId, name: Option<&str>) -> io::Result<Self> {
        if let (Some(cache), Some(name)) = (cache, name) {
            let folder = cache.join(id.to_string());
            let passing = folder.join(format!(".{name}.{}", scratch::unique_suffix()));
            let create = || {
                fs::create_dir_all(&folder)?;
                remove_abandoned(&folder, name);
                OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&passing)
            };
            // A home that can't be written to is no reason to go without names.
            if let Ok(file) = create() {
                return Ok(Self { file, names: Some((passing, folder.join(name))) });
            }
        }
        Ok(Self { file: scratch::nameless_file()?, names: None })
    }

    fn receive(
        &mut self,
        body: &mut dyn Read,
        total: Option<u64>,
        mut check: Check,
        receiver: &mut dyn Receiver,
    ) -> Result<(), NoFile> {
        let mut block = vec![0; 256 << 10];
        let mut done = 0;
        loop {
            if total.unwrap_or(done) > MAX_BYTES || done > MAX_BYTES {
                return Err(FailureReason::TooLarge.into());
            }
            if receiver.received(done, total).is_break() {
                return Err(NoFile::Cancelled);
            }
            let count = match body.read(&mut block) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(FailureReason::Unreachable(error.to_string()).into()),
            };
            if count == 0 {
                break;
            }
            self.file.write_all(&block[..count]).map_err(FailureReason::Storing)?;
            if check.block(&block[..count], total, receiver)?.is_break() {
                return Err(NoFile::Cancelled);
            }
            done += count as u64;
        }
        if total.is_some_and(|total| total != done) {
            let cut = format!("the answer ended after {done} bytes");
            return Err(FailureReason::Unreachable(cut).into());
        }
        Ok(())
    }

    /// Gives the file its name in the cache, and hands it out, at its beginning.
    fn keep(mut self) -> io::Result<File> {
        if let Some((passing, name)) = self.names.take() {
            // As debuginfod's own clients do, so that nobody writes into it by accident.
            self.file.set_permissions(fs::Permissions::from_mode(0o400))?;
            if let Err(error) = fs::rename(&passing, &name) {
                let _ = fs::remove_file(&passing);
                return Err(error);
            }
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some((passing, _)) = &self.names {
            let _ = fs::remove_file(passing);
        }
    }
}

/// Removes what processes left in `folder` that were killed while they received.
fn remove_abandoned(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let suffix = file_name.to_str().and_then(|n| n.strip_prefix(&format!(".{name}.")));
        if let Some(pid) = suffix.and_then(|suffix| suffix.split('-').next())
            && !Path::new("/proc").join(pid).exists()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a word is an http or https URL.
pub fn is_http(url: &str) -> bool {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
}

/// Where debuginfod's clients keep files: `$DEBUGINFOD_CACHE_PATH`, else `debuginfod_client` in
/// `$XDG_CACHE_HOME` or `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("DEBUGINFOD_CACHE_PATH").or_else(|| {
        let caches =
            variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        Some(caches.join("debuginfod_client"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let name = |url| Server::new(url).name();
        assert_eq!(name("https://me:secret@host:8002/a@b/"), "https://host:8002/a@b");
        assert_eq!(name("http://host"), "http://host");
    }

    #[test]
    fn what_killed_processes_left_is_removed() {
        let folder = env::temp_dir().join(format!("perftab-{}", scratch::unique_suffix()));
        fs::create_dir_all(&folder).unwrap();
        let own = format!(".debuginfo.{}", scratch::unique_suffix());
        // No process has an id beyond 2^22 (PID_MAX_LIMIT).
        for name in [".debuginfo.99999999-0", &own, "debuginfo", ".executable.99999999-0"] {
            fs::write(folder.join(name), "").unwrap();
        }
        remove_abandoned(&folder, "debuginfo");
        let left = |name: &str| folder.join(name).exists();
        let (gone, others) = (!left(".debuginfo.99999999-0"), left(&own) && left("debuginfo"));
        let other_artifact = left(".executable.99999999-0");
        fs::remove_dir_all(&folder).unwrap();
        assert!(gone && others && other_artifact);
    }

    #[test]
    fn only_http_is_asked() {
        assert!(is_http("http://a") && is_http("https://a/b"));
        for word in ["ima:enforcing", "file:///srv", "http://", "http:///x", "ftp://a", ""] {
            assert!(!is_http(word), "{word}");
        }
    }

    #[test]
    fn loopback_is_asked_without_a_proxy() {
        for url in ["http://127.0.0.1:8002", "http://localhost/x", "http://me@[::1]:80/"] {
            assert!(is_loopback(url), "{url}");
        }
        assert!(!is_loopback("https://debuginfod.debian.net"));
        assert!(!is_loopback("https://host/127.0.0.1"));
        assert!(!is_loopback("https://localhost.example:80"));
    }
}
