//! `/debuginfod`: files of a build, from this machine first, then from the servers named.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use perftab_core::format::BuildId;

use super::reply;
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client, FetchError};
use crate::images::local::{self, Places};

/// Where files of a build are looked for.
pub struct Lookup {
    places: Option<Places>,
    client: Client,
}

impl Lookup {
    /// As the command line says.
    pub fn new(args: &ImageArgs) -> Self {
        let places = (!args.no_local).then(Places::of_this_machine);
        Self { places, client: Client::new(args) }
    }

    /// The servers' URLs.
    pub fn servers(&self) -> Vec<String> {
        self.client.servers()
    }

    /// Blocks: reads files and asks servers.
    fn find(&self, id: BuildId, artifact: &Artifact) -> Result<File, FetchError> {
        let paths = match (&self.places, artifact) {
            (Some(places), Artifact::Executable) => places.executables(id),
            (Some(places), Artifact::DebugInfo) => places.debug_files(id),
            _ => Vec::new(),
        };
        match local::open_matching(paths, id) {
            Some(file) => Ok(file),
            None => self.client.fetch(id, artifact, &mut |_, _| ControlFlow::Continue(())),
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
    let search = tokio::task::spawn_blocking(move || lookup.find(id, &artifact));
    let why = match search.await {
        Ok(Ok(file)) => match reply::file(file, range).await {
            Ok(response) => return response,
            Err(error) => format!("the file found can't be read: {error}"),
        },
        Ok(Err(error @ FetchError::NotFound)) => {
            return reply::refusal(StatusCode::NOT_FOUND, &error.to_string());
        }
        Ok(Err(error)) => return reply::refusal(StatusCode::BAD_GATEWAY, &error.to_string()),
        Err(error) => format!("the search ended early: {error}"),
    };
    reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &why)
}
