//! `/debuginfod`: files of a build, from this machine first, then from the servers named.
//!
//! A file that comes from a server is passed on while it comes, once its first bytes have shown
//! the right build-id, so that the page can show how far it is. The last block waits until the
//! whole file was checked: a body that is complete was right.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use perftab_core::format::BuildId;
use perftab_core::profile::DsoId;
use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tokio_util::io::SyncIoBridge;

use super::local_machine::{LocalMachine, ServedFile};
use super::reply;
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client, FetchError, Patience, Receiver, ServerOutcome};
use crate::input::Input;
use crate::late_ids::Judgement;

/// Bytes between the thread that receives and the connection that sends.
const PIPE: usize = 1 << 20;

/// Where files of a build are looked for.
pub struct Lookup {
    local_machine: LocalMachine,
    client: Client,
}

impl Lookup {
    /// As the command line says, for the DSOs of these profiles.
    pub fn new(args: &ImageArgs, profiles: Arc<[Input]>) -> anyhow::Result<Self> {
        let client = Client::new(args, Patience::Endless);
        Ok(Self { local_machine: LocalMachine::new(args, profiles)?, client })
    }

    /// The servers' URLs.
    pub fn servers(&self) -> Vec<String> {
        self.client.servers()
    }

    /// `dsos`: the numbers of a recording's DSOs whose build-ids this machine speaks against; `same`:
    /// of those whose files did not change. Blocks: reads the recordings.
    pub fn late_ids(&self, recording: usize) -> serde_json::Value {
        let numbers = |dsos: &[DsoId]| dsos.iter().map(|dso| dso.0).collect::<Vec<u32>>();
        let Judgement { replaced, same } = self.local_machine.late_ids(recording);
        serde_json::json!({ "dsos": numbers(replaced), "same": numbers(same) })
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
            Ok(found) => finished(found, range).await,
            Err(error) => failed(&format!("the search ended early: {error}")),
        },
    }
}

async fn finished(found: Result<ServedFile, FetchError>, range: Option<&str>) -> Response<Body> {
    let sent = match found {
        Ok(ServedFile::Whole(file)) => reply::file(file, range).await,
        Ok(ServedFile::Part(file, within)) => reply::part_of_file(file, within, range).await,
        Err(error) => return not_given(&error),
    };
    sent.unwrap_or_else(|error| failed(&format!("the file that was found can't be read: {error}")))
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
