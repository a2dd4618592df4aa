//! `/debuginfod`: files of a build, from this machine first, then from the servers named.
//!
//! A file that comes from a server is passed on while it comes, once its first bytes have shown
//! the right build-id, so that the page can show how far it is. The last block waits until the
//! whole file was checked: a body that is complete was right.

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use perftab_core::session::{CodeWanted, RecordedFiles};
use perftab_core::{CodeTable, Identity, Svma};
use perftab_perfdata::format::BuildId;
use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tokio_util::io::SyncIoBridge;

use super::kept_files::{Asked, KeptFile};
use super::local_machine::{LocalMachine, ServedFile};
use super::reply;
use super::route::{LocalFile, SourceKeeper};
use super::sources::{FoundSource, NoSource};
use crate::cli::ViewArgs;
use crate::debuginfod_client::{Artifact, Client, FetchError, Patience, Receiver, ServerOutcome};
use crate::images::trusted::TAKEN;
use crate::input::Input;
use crate::late_ids::Judgement;
use crate::place_texts::source_places::MovedPaths;

/// Bytes between the thread that receives and the connection that sends.
const PIPE: usize = 1 << 20;

/// Where files of a build are looked for.
pub struct Lookup {
    local_machine: LocalMachine,
    client: Client,
    /// Where sources of this machine are; `None`: they are left alone.
    sources: Option<MovedPaths>,
}

impl Lookup {
    /// As the command line says, for the DSOs of these profiles.
    pub fn new(args: &ViewArgs, profiles: Arc<[Input]>) -> anyhow::Result<Self> {
        let images = &args.images;
        Ok(Self {
            client: Client::new(images, Patience::Endless),
            sources: MovedPaths::on_this_machine(&args.sources, images),
            local_machine: LocalMachine::new(images, profiles)?,
        })
    }

    /// The servers' URLs.
    pub fn servers(&self) -> Vec<String> {
        self.client.servers()
    }

    /// What processes of a recording say of the code that they made. `None` if no profile has this number.
    pub fn code(&self, number: usize, wanted: &CodeWanted) -> Option<Vec<CodeTable>> {
        self.local_machine.code(number, wanted)
    }

    /// What may name the DSOs of a profile that have no build-id: `taken`, by their numbers with path and name of the file,
    /// and `left`, with path and why. `None` if there is nothing to be had. Blocks: reads the recording.
    pub fn trusted(&self, number: usize) -> anyhow::Result<Option<serde_json::Value>> {
        let Some(found) = self.local_machine.trusted(number)? else { return Ok(None) };
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (dso, path, found) in found.iter() {
            let dso = dso.0;
            match found {
                Ok(found) => taken.push(serde_json::json!({
                    "dso": dso, "path": path, "name": found.name, "why": TAKEN,
                })),
                Err(doubt) => left.push(serde_json::json!({
                    "dso": dso, "path": path, "why": doubt.sentence(),
                })),
            }
        }
        Ok(Some(serde_json::json!({ "taken": taken, "left": left })))
    }

    /// The jitdump of a process of a recording, once its names were asked for.
    pub fn jitdump(&self, number: usize, pid: u32) -> Option<File> {
        self.local_machine.jitdump(number, pid)
    }

    /// Takes what the page has read of a profile. `replaced`: the numbers of its DSOs whose build-ids
    /// this machine speaks against; `same`: of those whose files did not change. `None` if no profile
    /// has this number. Blocks: looks at the files.
    pub fn learn(&self, number: usize, recorded: RecordedFiles) -> Option<serde_json::Value> {
        let Judgement { replaced, same } = self.local_machine.learn(number, recorded)?;
        Some(serde_json::json!({ "replaced": replaced, "same": same }))
    }

    /// Blocks: reads files and asks servers.
    fn find(
        &self,
        id: BuildId,
        artifact: &Artifact,
        receiver: &mut dyn Receiver,
    ) -> Result<ServedFile, FetchError> {
        match self.local_machine.find(id, artifact) {
            Some(found) => Ok(found),
            None => {
                let fetched = self.client.fetch(id, artifact, receiver)?;
                Ok(ServedFile::Whole(fetched.file))
            }
        }
    }
}

/// Answers a request for a file of a build.
pub async fn answer(
    lookup: &Arc<Lookup>,
    id: BuildId,
    artifact: Artifact,
    range: Option<&str>,
) -> Response<Body> {
    let lookup = Arc::clone(lookup);
    let (begin, begun) = oneshot::channel();
    let (pipe, received) = tokio::io::duplex(PIPE);
    let mut relay = Relay {
        begin: Some(begin),
        mode: if range.is_none() { RelayMode::Pass } else { RelayMode::Wait },
        pipe: SyncIoBridge::new(pipe),
        last: Vec::new(),
    };
    let search = tokio::task::spawn_blocking(move || {
        let found = lookup.find(id, &artifact, &mut relay)?;
        relay.finish();
        Ok(found)
    });
    tokio::select! {
        biased;
        Ok(length) = begun => reply::stream(StatusCode::OK, received, length),
        found = search => match found {
            Ok(Ok(found)) => sent(found, range),
            Ok(Err(error)) => not_given(&error),
            Err(error) => failed(&format!("the search ended early: {error}")),
        },
    }
}

/// Answers a request for a file of this machine, if it is still in the `state` that the page knows.
pub async fn answer_local(
    lookup: &Arc<Lookup>,
    wanted: LocalFile,
    range: Option<&str>,
    state: Option<&str>,
) -> Response<Body> {
    let lookup = Arc::clone(lookup);
    let state = state.map(str::to_owned);
    let open = move || lookup.local_machine.open_kept(&wanted, state.as_deref());
    let opened = tokio::task::spawn_blocking(open).await;
    match opened.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(Asked::Of(kept)) => {
            kept_part(kept, range).unwrap_or_else(|error| failed(&unreadable(&error)))
        }
        Ok(Asked::Changed) => {
            reply::refusal(StatusCode::PRECONDITION_FAILED, "the file has changed")
        }
        Ok(Asked::Absent) => reply::refusal(StatusCode::NOT_FOUND, "this machine does not have it"),
        Err(error) => failed(&unreadable(&error)),
    }
}

/// Answers a request for the source file of some code.
pub async fn answer_source(
    lookup: &Arc<Lookup>,
    from: SourceKeeper,
    code: (Identity, Svma),
) -> Response<Body> {
    let lookup = Arc::clone(lookup);
    let find = move || {
        let Lookup { local_machine, client, sources } = &*lookup;
        let servers = (from == SourceKeeper::Servers).then_some(client);
        local_machine.source(sources.as_ref(), servers, code)
    };
    match tokio::task::spawn_blocking(find).await {
        Ok(Some(Ok(FoundSource { bytes, modified, from }))) => {
            reply::source(reply::octets(bytes), modified, from)
        }
        Ok(Some(Err(NoSource::Other(other)))) => {
            reply::refusal(StatusCode::CONFLICT, &other.to_string())
        }
        Ok(Some(Err(NoSource::Servers(failed)))) => not_given(&failed),
        // No error: the page asks for the source of whatever is selected.
        Ok(None) => reply::nothing(),
        Err(error) => failed(&error.to_string()),
    }
}

fn kept_part(kept: Arc<KeptFile>, range: Option<&str>) -> io::Result<Response<Body>> {
    let within = kept.range()?;
    let tag = kept.state.clone();
    let answer = reply::ranged(within.end.saturating_sub(within.start), range, |part| {
        let (pipe, received) = tokio::io::duplex(PIPE);
        let mut pipe = SyncIoBridge::new(pipe);
        let bytes = within.start + part.start..within.start + part.end;
        // What fails ends the answer early, which the page sees.
        tokio::task::spawn_blocking(move || kept.write_to(bytes, &mut pipe));
        Ok(received)
    })?;
    Ok(reply::tagged(answer, &tag))
}

fn sent(found: ServedFile, range: Option<&str>) -> Response<Body> {
    let sent = match found {
        ServedFile::Whole(file) => reply::file(file, range),
        ServedFile::Part(file, within) => reply::part_of_file(file, within, range),
    };
    sent.unwrap_or_else(|error| failed(&unreadable(&error)))
}

fn unreadable(error: &io::Error) -> String {
    format!("the file that was found can't be read: {error}")
}

/// Says of each server what came of asking it, so that the page can.
fn not_given(error: &FetchError) -> Response<Body> {
    let status = if error.is_not_found() { StatusCode::NOT_FOUND } else { StatusCode::BAD_GATEWAY };
    let servers = match error {
        FetchError::NotGiven(servers) => servers.as_slice(),
        FetchError::Cancelled => &[],
    };
    let outcome = |server: &ServerOutcome| {
        serde_json::json!({
            "server": server.host(),
            "outcome": server.outcome.word(),
            "detail": server.to_string(),
        })
    };
    let servers: Vec<_> = servers.iter().map(outcome).collect();
    reply::json(status, &serde_json::json!({ "servers": servers }))
}

fn failed(why: &str) -> Response<Body> {
    reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, why)
}

/// Whether bytes may be passed on before the file is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RelayMode {
    Pass,
    Wait,
}

/// Passes what is received on to the connection.
struct Relay {
    /// Told the length when passing on begins; closed when nobody waits for the answer any more.
    begin: Option<oneshot::Sender<u64>>,
    mode: RelayMode,
    pipe: SyncIoBridge<DuplexStream>,
    /// The block that waits until the whole was checked.
    last: Vec<u8>,
}

impl Relay {
    /// The file is the right one: its last block may go. Without this the body stays incomplete.
    fn finish(&mut self) {
        // Whoever asked may have left; nobody is to be told.
        let _ = self.pipe.write_all(&self.last);
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pipe.write_all(&self.last)?;
        self.last.clear();
        self.last.extend_from_slice(bytes);
        Ok(())
    }
}

impl Receiver for Relay {
    fn received(&mut self, done: u64, _total: Option<u64>) -> ControlFlow<()> {
        match &self.begin {
            Some(begin) if begin.is_closed() => ControlFlow::Break(()),
            // Another server's answer begins, after bytes of one that failed were passed on.
            None if done == 0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn trusted(&mut self, bytes: &[u8], total: Option<u64>) -> ControlFlow<()> {
        let (RelayMode::Pass, Some(total)) = (self.mode, total) else {
            return ControlFlow::Continue(());
        };
        if let Some(begin) = self.begin.take() {
            let _ = begin.send(total);
        }
        match self.pass(bytes) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
