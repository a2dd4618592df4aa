//! Several files from debuginfod servers at once.
//!
//! Threads ask and receive; what came is handed over in the caller's thread, since a session knows
//! none. Ctrl-C ends it, and what has come stays. A thread that waits for a silent server then is
//! left behind: it ends with the process.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use perftab_core::format::BuildId;

use crate::debuginfod_client::{Artifact, Client, FetchError, Receiver};
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
    pub result: Result<File, FetchError>,
}

/// What the threads share.
struct DownloadQueue {
    client: Client,
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
    let total = jobs.len();
    if total == 0 || client.servers().is_empty() {
        return Ok(());
    }
    let stop = Stop::install()?;
    let shared = Arc::new(DownloadQueue {
        client,
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

    let files = if total == 1 { "a file".to_owned() } else { format!("files of {total} builds") };
    let mut progress = Progress::begin(&format!("Fetching {files}"), Unit::Bytes, None);
    loop {
        match answers.recv_timeout(TICK) {
            Ok(outcome) => on_answer(outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.update(shared.received.load(Ordering::Relaxed));
        if stop.is_asked() {
            shared.is_cancelled.store(true, Ordering::Relaxed);
            drop(progress);
            output::notice("fetching was interrupted; continuing with the files received so far");
            break;
        }
    }
    stop.uninstall();
    Ok(())
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
                let is_end = matches!(result, Ok(_) | Err(FetchError::Cancelled));
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
