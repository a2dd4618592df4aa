//! Several files from debuginfod servers at once.
//!
//! Threads ask and receive; what came is handed over in the caller's thread, since a session knows
//! none. Ctrl-C ends it, and what has come stays. A thread that waits for a silent server then is
//! left behind: it ends with the process.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use perftab_perfdata::format::BuildId;

use crate::debuginfod_client::{Artifact, Client, FetchError, Fetched, Receiver};
use crate::output::{self, Progress, Unit};
use crate::stop::Stop;

/// Files on their way at the same time.
const AT_ONCE: usize = 4;
/// How often it is shown how far they are, and looked whether somebody gave up.
const TICK: Duration = Duration::from_millis(100);

/// A build of which a file is wanted.
#[derive(Clone, Debug)]
pub struct Job {
    /// What its recorded id may be.
    pub ids: Vec<BuildId>,
    /// The files that are of use, best first; one is enough.
    pub artifacts: Vec<Artifact>,
}

/// What came of one question.
pub struct DownloadOutcome {
    /// Number of the job.
    pub job: usize,
    /// What was asked for.
    pub artifact: Artifact,
    /// The file, or why there is none.
    pub result: Result<Fetched, FetchError>,
}

/// What the threads share.
struct DownloadQueue {
    client: Arc<Client>,
    jobs: Mutex<VecDeque<(usize, Job)>>,
    received: AtomicU64,
    is_cancelled: AtomicBool,
}

/// Asks for all `jobs`, in their order, and gives every answer to `on_answer`.
pub fn fetch_all(
    client: Client,
    jobs: Vec<Job>,
    on_answer: &mut dyn FnMut(DownloadOutcome),
) -> anyhow::Result<()> {
    if jobs.is_empty() || client.servers().is_empty() {
        return Ok(());
    }
    let what = match jobs.len() {
        1 => "a file (Ctrl-C goes on without)".to_owned(),
        total => format!("files of {total} builds (Ctrl-C goes on without)"),
    };
    let stop = Stop::install()?;
    if fetch_until(&stop, &Arc::new(client), &what, jobs, on_answer)? == Fetching::Interrupted {
        output::notice("fetching was interrupted; continuing with the files received so far");
    }
    Ok(())
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetching {
    /// All was asked.
    Done,
    /// The user gave up.
    Interrupted,
}

/// The same until somebody asks to stop; `what` is shown.
pub fn fetch_until(
    stop: &Stop,
    client: &Arc<Client>,
    what: &str,
    jobs: Vec<Job>,
    on_answer: &mut dyn FnMut(DownloadOutcome),
) -> anyhow::Result<Fetching> {
    let total = jobs.len();
    let shared = Arc::new(DownloadQueue {
        client: Arc::clone(client),
        jobs: Mutex::new(jobs.into_iter().enumerate().collect()),
        received: AtomicU64::new(0),
        is_cancelled: AtomicBool::new(false),
    });
    let (sender, answers) = mpsc::channel();
    for _ in 0..total.min(AT_ONCE) {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        thread::Builder::new().name("debuginfod".to_owned()).spawn(move || shared.work(&sender))?;
    }
    drop(sender);

    let mut progress = Progress::begin(&format!("Fetching {what}"), Unit::Bytes, None);
    loop {
        match answers.recv_timeout(TICK) {
            Ok(outcome) => on_answer(outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Fetching::Done),
        }
        progress.update(shared.received.load(Ordering::Relaxed));
        if stop.is_asked() {
            shared.is_cancelled.store(true, Ordering::Relaxed);
            return Ok(Fetching::Interrupted);
        }
    }
}

impl DownloadQueue {
    /// Takes jobs until there are none.
    fn work(&self, answers: &Sender<DownloadOutcome>) {
        loop {
            let next = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((number, job)) = next else { return };
            let questions = job
                .artifacts
                .iter()
                .flat_map(|artifact| job.ids.iter().map(move |&id| (artifact, id)));
            for (artifact, id) in questions {
                let mut counter = Counter { shared: self, counted: 0 };
                let result = self.client.fetch(id, artifact, &mut counter);
                // What cannot be read whole is no reason not to ask for more.
                let is_end =
                    matches!(result, Ok(Fetched { fault: None, .. }) | Err(FetchError::Cancelled));
                let outcome = DownloadOutcome { job: number, artifact: artifact.clone(), result };
                // Nobody listens any more once it was interrupted.
                if answers.send(outcome).is_err() || self.is_cancelled.load(Ordering::Relaxed) {
                    return;
                }
                if is_end {
                    break;
                }
            }
        }
    }
}

/// Counts the bytes of one file into the sum of all.
struct Counter<'a> {
    shared: &'a DownloadQueue,
    counted: u64,
}

impl Receiver for Counter<'_> {
    fn received(&mut self, done: u64, _total: Option<u64>) -> ControlFlow<()> {
        // The next server begins from the start; what the last one sent came nevertheless.
        self.shared.received.fetch_add(done.saturating_sub(self.counted), Ordering::Relaxed);
        self.counted = done;
        match self.shared.is_cancelled.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
