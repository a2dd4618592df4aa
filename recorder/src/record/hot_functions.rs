//! The functions that most samples end in, for the live line.
//!
//! Every few seconds a thread reads some samples of the last second as a stream, behind all that tells of mappings and
//! threads, and names them as `perftab top` does. So a look takes no more after hours than at first. 15 s of `-a -g` with three
//! looks took .21 s of processor time instead of .11 at 99 Hz, .24 of .11 at 999 and .44 of .20 at 9,999.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use perftab_core::session::Session;
use perftab_core::{FunctionKey, FunctionOrder, Query, SortDirection};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::RecordType;

use crate::commands::report::{file_name, push_shown_name};
use crate::images::search::NewCopies;
use crate::live_session::{LeafCallers, LiveSession};
use crate::output::{self, percent, printable, shortened};

/// From the end of a look to the next.
const PACE: Duration = Duration::from_secs(5);
/// How many functions are shown, and how much of their names.
const FUNCTIONS: usize = 3;
const NAME_LENGTH: usize = 30;
/// A look is at so many bytes of samples.
const SAMPLES_MAX: usize = 256 << 10;
/// If more than this tells of mappings and threads, there are no more looks.
const SIDEBAND_MAX: usize = 16 << 20;

/// What is looked at.
#[derive(Default)]
struct Records {
    /// What has come since the last look.
    sideband: Vec<u8>,
    samples: Vec<u8>,
}

/// Where the looks are taken.
struct Looks {
    to: Sender<Records>,
    from: Receiver<String>,
}

/// Keeps what the next look is at.
pub struct HotFunctions {
    /// `None` once there are no more.
    looks: Option<Looks>,
    records: Records,
    /// Bytes that tell of mappings and threads.
    described: usize,
    /// The next look; `None` while one is taken.
    due: Option<Instant>,
    shown: String,
}

impl HotFunctions {
    /// Starts the thread, which ends when this is dropped, for records behind this head of a stream; `None` if there can
    /// be none.
    pub fn start(head: Vec<u8>) -> Option<Self> {
        let (to, asked) = channel::<Records>();
        let (answer, from) = channel();
        let thread = thread::Builder::new().name("live".to_owned());
        let run = move || {
            output::be_quiet_here();
            let (mut live, mut sideband) =
                (LiveSession::new(NewCopies::LeftOut, LeafCallers::LeftOut), Vec::new());
            for mut records in asked {
                sideband.append(&mut records.sideband);
                if live.restart(&head).is_err() {
                    return;
                }
                live.push(&sideband);
                live.push(&records.samples);
                live.finish();
                if answer.send(live.session().map(most_of).unwrap_or_default()).is_err() {
                    return;
                }
            }
        };
        thread.spawn(run).ok()?;
        Some(Self {
            looks: Some(Looks { to, from }),
            records: Records::default(),
            described: 0,
            due: Some(Instant::now()),
            shown: String::new(),
        })
    }

    /// Takes whole records.
    pub fn take(&mut self, mut records: &[u8]) {
        if self.looks.is_none() {
            return;
        }
        while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
            let Records { sideband, samples } = &mut self.records;
            match header.record_type {
                RecordType::SAMPLE if samples.len() < SAMPLES_MAX => {
                    samples.extend_from_slice(record);
                }
                // A look is at all that there is, so nothing is said of rounds.
                RecordType::SAMPLE | RecordType(64..) => {}
                _ => {
                    sideband.extend_from_slice(record);
                    self.described += record.len();
                }
            }
            records = rest;
        }
        if self.described > SIDEBAND_MAX {
            (self.looks, self.records) = (None, Records::default());
        }
    }

    /// What was found last, with what has come since the last call looked at if it is time; empty if nothing is known.
    pub fn look(&mut self) -> &str {
        let answered = self.looks.as_ref().map(|looks| looks.from.try_recv());
        match answered {
            Some(Ok(found)) => {
                self.shown = found;
                self.due = Some(Instant::now() + PACE);
            }
            Some(Err(TryRecvError::Disconnected)) | None => {
                self.looks = None;
                self.shown.clear();
            }
            Some(Err(TryRecvError::Empty)) => {}
        }
        let is_due = self.due.is_some_and(|due| Instant::now() >= due);
        if is_due
            && !self.records.samples.is_empty()
            && let Some(looks) = &self.looks
        {
            // A thread that died is found out with the next call.
            let _ = looks.to.send(std::mem::take(&mut self.records));
            self.due = None;
        }
        self.records.samples.clear();
        &self.shown
    }
}

/// The functions that most samples of the first event end in, with their shares.
fn most_of(session: &mut Session) -> String {
    let order =
        FunctionOrder { key: FunctionKey::SelfWeight, direction: SortDirection::Descending };
    let report = session.report(&Query::default(), order, FUNCTIONS);
    let shown = report.functions.iter().map(|function| {
        let mut name = String::new();
        push_shown_name(&mut name, &function);
        let mut shown = shortened(&printable(&name), NAME_LENGTH);
        // An address says nothing by itself.
        if let (None, Some(dso)) = (&function.name, function.dso) {
            shown.push_str(&format!(" in {}", shortened(&printable(file_name(dso)), NAME_LENGTH)));
        }
        format!("{shown} {}", percent(function.self_weight as f64, report.weight as f64))
    });
    shown.collect::<Vec<_>>().join(", ")
}
