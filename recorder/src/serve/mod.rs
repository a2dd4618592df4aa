//! `perftab view`: serves the viewer, the recordings named and a same-origin debuginfod on
//! loopback, for whoever has the token in the URL it prints.
//!
//! Constraints: it binds 127.0.0.1 and nothing else; a request is refused before anything is read
//! ([`guard`], [`route`]); files stream from disk and are never held in memory.

mod browser;
mod guard;
mod kept_files;
mod local_machine;
mod lookup;
mod page_part;
mod range;
mod reply;
mod route;
mod sources;

use std::fs::File;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, header};
use axum::serve::ListenerExt;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::guard::{Guard, Token};
use self::lookup::Lookup;
use self::page_part::PagePart;
use self::route::{Route, RouteError};
use perftab_core::session::{CodeWanted, code_to_bytes};

use crate::cli::ViewArgs;
use crate::input::Input;
use crate::output::{self, Outcome, Results};
use crate::page::PAGE;
use crate::recording::USUAL_NAME;

struct Server {
    guard: Guard,
    profiles: Arc<[Input]>,
    lookup: Arc<Lookup>,
}

/// Serves until Ctrl-C.
pub fn run(args: &ViewArgs) -> anyhow::Result<Outcome> {
    let profiles: Arc<[Input]> = open_profiles(&args.files)?.into();
    let asked = args.port.unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, asked))
        .with_context(|| format!("cannot listen on 127.0.0.1:{asked}; choose another --port"))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let token = Token::generate()?;
    let url = format!("http://127.0.0.1:{port}/?token={token}");
    let server = Server {
        guard: Guard::new(token, port),
        lookup: Arc::new(Lookup::new(args, Arc::clone(&profiles))?),
        profiles,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Whoever has read the URL may end it at once, and the page for the browser must not stay behind.
    let stop = {
        let _context = runtime.enter();
        StopSignals::listen().context("waiting for Ctrl-C")?
    };
    std::thread::spawn(PagePart::prepare);
    announce(&url)?;
    let _opening_page = if args.no_open { None } else { browser::open(&url) };
    serve(runtime, stop, listener, Arc::new(server))?;
    Ok(Outcome::Complete)
}

/// The recordings, links and pages named; without a name, `perf.data` where there is one.
fn open_profiles(files: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let usual = PathBuf::from(USUAL_NAME);
    match files {
        [] if usual.exists() => Ok(vec![Input::open(&usual)?]),
        [] => {
            output::notice("no recording named and no perf.data here; the page can open one");
            Ok(Vec::new())
        }
        named => named.iter().map(|path| open(path)).collect(),
    }
}

fn open(path: &Path) -> anyhow::Result<Input> {
    let input = Input::open(path)?;
    if let Input::Recording(recording) = &input
        && path == Path::new("-")
    {
        let size = output::size(recording.size);
        output::notice(format_args!(
            "standard input, {size}, is kept in a temporary file until perftab ends"
        ));
    }
    Ok(input)
}

fn announce(url: &str) -> anyhow::Result<()> {
    let mut results = Results::new();
    writeln!(results, "{url}")?;
    results.flush()?;
    output::notice("serving on this machine only; Ctrl-C ends it");
    Ok(())
}

fn serve(
    runtime: Runtime,
    mut stop: StopSignals,
    listener: TcpListener,
    server: Arc<Server>,
) -> anyhow::Result<()> {
    let served = runtime.block_on(async {
        // A short answer must not wait until the page has confirmed the one before: up to 40 ms.
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|connection| {
            // Without it answers are slower, no more.
            let _ = connection.set_nodelay(true);
        });
        let router = Router::new().fallback(answer).with_state(server);
        tokio::select! {
            ended = axum::serve(listener, router) => ended.context("the server failed"),
            () = stop.received() => Ok(()),
        }
    });
    // A download may still block a thread; nobody waits for it any more.
    runtime.shutdown_background();
    served
}

/// Ctrl-C and SIGTERM, also of before they are waited for.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

async fn answer(State(server): State<Arc<Server>>, request: Request<Body>) -> Response<Body> {
    // Without its body the rest can be held over an await.
    let (request, body) = request.into_parts();
    let header = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
    if let Err(refused) = server.guard.check(header(header::HOST), request.uri.query()) {
        return reply::refusal(StatusCode::FORBIDDEN, &refused.to_string());
    }
    match Route::parse(request.uri.path()) {
        Err(RouteError::Unknown) => reply::refusal(StatusCode::NOT_FOUND, "nothing is here"),
        Err(RouteError::Refused(why)) => reply::refusal(StatusCode::BAD_REQUEST, why),
        Ok(route) if !route.allows(&request.method) => {
            reply::refusal(StatusCode::METHOD_NOT_ALLOWED, "this is not asked by that method")
        }
        Ok(Route::Page) => reply::page(PAGE),
        Ok(Route::PagePart(part)) => page_part(part).await,
        Ok(Route::Profiles) => reply::json(StatusCode::OK, &listing(&server)),
        Ok(Route::Profile { index, part }) => profile(&server, index, part, header(header::RANGE)),
        Ok(Route::Files { index }) => files(&server, index, body).await,
        Ok(Route::Code { index }) => code(&server, index, body).await,
        Ok(Route::Trusted { index }) => trusted(&server, index).await,
        Ok(Route::Jitdump { index, pid }) => match server.lookup.jitdump(index, pid) {
            Some(file) => jitdump(file, header(header::RANGE)),
            None => reply::refusal(StatusCode::NOT_FOUND, "no such code was found here"),
        },
        Ok(Route::Source(from, identity, address)) => {
            lookup::answer_source(&server.lookup, from, (identity, address)).await
        }
        Ok(Route::Debuginfod(id, artifact)) => {
            lookup::answer(&server.lookup, id, artifact, header(header::RANGE)).await
        }
        Ok(Route::Local(file)) => {
            let range = header(header::RANGE);
            lookup::answer_local(&server.lookup, file, range, header(header::IF_MATCH)).await
        }
    }
}

async fn page_part(part: PagePart) -> Response<Body> {
    match tokio::task::spawn_blocking(move || part.bytes()).await {
        Ok(Some(bytes)) => reply::bytes(part.media_type(), bytes),
        _ => reply::refusal(StatusCode::NOT_FOUND, "this perftab was built without the page"),
    }
}

/// What the page learns first: the profiles, and the servers behind `/debuginfod`.
fn listing(server: &Server) -> serde_json::Value {
    serde_json::json!({
        "profiles": server.profiles.iter().map(listed).collect::<Vec<_>>(),
        "debuginfod": server.lookup.servers(),
    })
}

/// A recording of several files has `parts`, each served by its number; what was shared has the
/// `carrier` that its payload came in.
fn listed(input: &Input) -> serde_json::Value {
    let recording = match input {
        Input::Recording(recording) => recording,
        Input::Shared(shared) => {
            let size = shared.payload().len();
            let (name, carrier) = (input.name(), shared.carrier());
            return serde_json::json!({ "name": name, "size": size, "carrier": carrier });
        }
    };
    let mut listed = serde_json::json!({ "name": recording.name, "size": recording.size });
    // A file that has no length any more is not served either.
    let sizes = recording.sizes().unwrap_or_default();
    if sizes.len() > 1 {
        let part = |size: &u64| serde_json::json!({ "size": size });
        listed["parts"] = sizes.iter().map(part).collect();
    }
    listed
}

/// Most bytes of what the page says of a profile's files: each takes some 200.
const MAX_FILES: usize = 64 << 20;

/// Takes what the page read of a profile's files; says by their numbers what this machine knows of
/// their build-ids.
async fn files(server: &Arc<Server>, index: usize, body: Body) -> Response<Body> {
    let read = match axum::body::to_bytes(body, MAX_FILES).await {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let recorded = match read {
        Ok(recorded) => recorded,
        Err(why) => return reply::refusal(StatusCode::BAD_REQUEST, &format!("no files: {why}")),
    };
    let lookup = Arc::clone(&server.lookup);
    match tokio::task::spawn_blocking(move || lookup.learn(index, recorded)).await {
        Ok(Some(late)) => reply::json(StatusCode::OK, &late),
        Ok(None) => reply::refusal(StatusCode::NOT_FOUND, "no recording has this number"),
        Err(error) => reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Answers what processes of a profile say of the code that they made.
async fn code(server: &Arc<Server>, index: usize, body: Body) -> Response<Body> {
    let read = match axum::body::to_bytes(body, MAX_FILES).await {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let wanted: CodeWanted = match read {
        Ok(wanted) => wanted,
        Err(why) => return reply::refusal(StatusCode::BAD_REQUEST, &format!("no code: {why}")),
    };
    let lookup = Arc::clone(&server.lookup);
    match tokio::task::spawn_blocking(move || lookup.code(index, &wanted)).await {
        Ok(Some(tables)) => reply::octets(code_to_bytes(&tables)),
        Ok(None) => reply::refusal(StatusCode::NOT_FOUND, "no recording has this number"),
        Err(error) => reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Answers which files may name what has no build-id.
async fn trusted(server: &Arc<Server>, index: usize) -> Response<Body> {
    let lookup = Arc::clone(&server.lookup);
    match tokio::task::spawn_blocking(move || lookup.trusted(index)).await {
        Ok(Ok(Some(found))) => reply::json(StatusCode::OK, &found),
        Ok(Ok(None)) => {
            reply::refusal(StatusCode::NOT_FOUND, "this machine has no files for this number")
        }
        Ok(Err(error)) => reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}")),
        Err(error) => reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn jitdump(file: File, range: Option<&str>) -> Response<Body> {
    reply::file(file, range).unwrap_or_else(|error| {
        let why = format!("the jitdump can't be read: {error}");
        reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &why)
    })
}

fn profile(server: &Server, index: usize, part: usize, range: Option<&str>) -> Response<Body> {
    let Some(profile) = server.profiles.get(index) else {
        return reply::refusal(StatusCode::NOT_FOUND, "no recording has this number");
    };
    let recording = match profile {
        Input::Recording(recording) => recording,
        Input::Shared(shared) if part == 0 => return reply::text(shared.payload()),
        Input::Shared(_) => {
            return reply::refusal(StatusCode::NOT_FOUND, "a link has no such file");
        }
    };
    let Some(file) = recording.reopen(part) else {
        return reply::refusal(StatusCode::NOT_FOUND, "the recording has no file of this number");
    };
    file.and_then(|file| reply::file(file, range)).unwrap_or_else(|error| {
        let why = format!("{} can't be read: {error}", recording.name);
        reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &why)
    })
}
