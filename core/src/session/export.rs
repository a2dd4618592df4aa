//! A session as a file of another tool, a step at a time.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use perftab_export::{
    Addresses, Events, ExportRequest, ForcedNames, Format, KnownTree, Out, ROWS_A_PIECE, Source,
};
use perftab_names::Status;
use perftab_perfdata::slice::Work;
use perftab_views::Query;
use serde::Serialize;

use crate::session::Session;
use crate::session::times::ScanStep;

/// Where an [`Export`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportStep {
    /// There is more to write.
    More {
        /// Pieces of work done.
        done: usize,
        /// All that there are, as far as is known by now.
        total: usize,
    },
    /// That was all.
    Done,
    /// Names have changed since it was begun, so what was written does not go on; begin anew.
    Stale,
    /// It would be larger than its limit; what was written is not whole.
    TooLarge,
}

/// Bytes of an export, before they are packed, unless a larger one is wanted: a link of 10 KB can
/// hold a tree whose stacks, each written out, take gigabytes. A recording of 10 million samples
/// takes a third.
pub const USUAL_LIMIT: u64 = 1 << 30;

/// What a file of another tool has of this profile.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct ExportContents {
    /// What it keeps, in a few words each.
    pub kept: Vec<String>,
    /// What it cannot hold, in sentences.
    pub limits: Vec<String>,
}

/// A file of another tool that is being written.
pub struct Export {
    format: Format,
    work: Work<()>,
    /// What came of the last step.
    written: Rc<Cell<Vec<u8>>>,
    /// Of names, when it was begun.
    generation: u32,
    packed: Option<GzEncoder<Vec<u8>>>,
    /// Bytes that may still be written.
    left: u64,
}

impl Session {
    /// Begins to write what a query takes as a file of another tool.
    pub fn export(&self, request: ExportRequest) -> Export {
        let format = request.format;
        let gzip = || GzEncoder::new(Vec::new(), Compression::default());
        let packed = format.is_packed().then(gzip);
        let written = Rc::<Cell<Vec<u8>>>::default();
        let (profile, known) = (Arc::clone(&self.profile), self.known_tree(&request));
        let work = self.symbols.read(|symbols| {
            let written = Rc::clone(&written);
            Work::new(async move |slice| {
                let source = Source::new(profile, symbols, known);
                perftab_export::write(&request, &source, Out::new(written, slice)).await;
            })
        });
        Export { format, work, written, generation: self.generation, packed, left: USUAL_LIMIT }
    }

    /// What is shown of a query is mostly what is written of it.
    fn known_tree(&self, request: &ExportRequest) -> Option<KnownTree> {
        // Trees are of the names that are shown, and what is written of those that are there.
        if self.naming.has_unshown() {
            return None;
        }
        let query = match request.format.holds_events() {
            true => request.queries(&self.profile).into_iter().next()?,
            false => request.query.clone(),
        };
        let with_ends = || self.trees.with_ends(&query);
        let without = || Some((Arc::clone(self.trees.known(&query)?), Arc::default()));
        let (tree, ends) = with_ends().or_else(without)?;
        Some(KnownTree { query, tree, ends })
    }

    /// What the file cannot hold of this profile, in sentences.
    pub fn export_limits(&self, request: &ExportRequest) -> Vec<String> {
        let mut dsos = self.profile.dsos.iter();
        let is_forced = dsos.any(|(dso, _)| self.ledger.row(dso).status == Status::Forced);
        let forced = if is_forced { ForcedNames::Some } else { ForcedNames::None };
        perftab_export::limits(request, &self.profile, forced)
    }

    /// What the file keeps of this profile, and what it cannot hold.
    pub fn export_contents(&self, request: &ExportRequest) -> ExportContents {
        let addresses = match self.fidelity {
            None => Addresses::Known,
            Some(_) => Addresses::LeftOut,
        };
        let kept = perftab_export::kept(request, &self.profile, addresses);
        ExportContents { kept, limits: self.export_limits(request) }
    }

    /// Collapsed stacks as a whole, for what holds them in memory anyway.
    pub fn export_collapsed(&mut self, query: &Query) -> String {
        let (format, events) = (Format::Collapsed, Events::One);
        let request = ExportRequest { format, query: query.clone(), events, name: String::new() };
        let mut export = self.export(request);
        let mut text = Vec::new();
        while let ExportStep::More { .. } = export.step(self, usize::MAX, &mut text) {}
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// How large a file is: it is written, and nothing of it is kept.
pub(super) struct ExportSizeWork {
    export: Export,
    bytes: u64,
}

impl ExportSizeWork {
    pub(super) fn new(export: Export) -> Self {
        Self { export, bytes: 0 }
    }

    /// Goes on for about as long as so many rows of samples take. The answer has no size if the file
    /// would be larger than its limit. Nothing comes where names have changed: begin anew.
    pub(super) fn step(&mut self, session: &Session, rows: usize) -> Option<ScanStep<Option<f64>>> {
        let mut written = Vec::new();
        // What is written of a row takes several times as long as to look at it.
        let step = self.export.step(session, rows / (2 * ROWS_A_PIECE), &mut written);
        self.bytes += written.len() as u64;
        match step {
            ExportStep::More { done, total } => Some(ScanStep::More { done, total }),
            ExportStep::Done => Some(ScanStep::Done(Some(self.bytes as f64))),
            ExportStep::TooLarge => Some(ScanStep::Done(None)),
            ExportStep::Stale => None,
        }
    }
}

impl Export {
    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The same, with another limit than [`USUAL_LIMIT`].
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { left: bytes, ..self }
    }

    /// Does about so many pieces of work more (a sample, a call, a function are one each) and
    /// appends to `out` what has become of them.
    pub fn step(&mut self, session: &Session, pieces: usize, out: &mut Vec<u8>) -> ExportStep {
        if session.generation != self.generation || !self.work.goes_on() {
            return ExportStep::Stale;
        }
        let is_done = self.work.step(pieces.saturating_mul(ROWS_A_PIECE)).is_some();
        let mut written = self.written.take();
        match self.left.checked_sub(written.len() as u64) {
            Some(left) => self.left = left,
            None => return ExportStep::TooLarge,
        }
        match &mut self.packed {
            None => out.append(&mut written),
            Some(packed) => {
                // A Vec takes everything that is written.
                let _ = packed.write_all(&written);
                let _ = if is_done { packed.try_finish() } else { Ok(()) };
                out.append(packed.get_mut());
            }
        }
        if is_done {
            return ExportStep::Done;
        }
        let (done, total) = self.work.progress();
        ExportStep::More { done, total }
    }
}
