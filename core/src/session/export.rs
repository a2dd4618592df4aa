//! A session as a file of another tool, a step at a time.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use perftab_export::{
    self, Calls, Events, ExportRequest, ExportedSamplesBuilder, ForcedNames, Format, Next,
};
use perftab_export::{ExportedSamples, Pieces, TreePieces, tree_pieces};
use perftab_names::Status;
use perftab_views::Query;
use perftab_views::call_tree::CallTree;

use crate::session::{ScanStep, Session, TreeDetail};

/// Rows that are looked at for one piece's worth of time: most work is in writing.
const ROWS_A_PIECE: usize = 16;
/// Bytes after which a step ends, however many pieces it was to do: a stack of thousands of calls is one
/// piece.
const ENOUGH: usize = 4 << 20;

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

/// A file of another tool that is being written.
pub struct Export {
    request: ExportRequest,
    state: State,
    /// Of names, when it was begun.
    generation: u32,
    done: usize,
    total: usize,
    packed: Option<GzEncoder<Vec<u8>>>,
    /// Bytes that may still be written.
    left: u64,
}

enum State {
    /// The whole tree, once it was asked for.
    Tree(Box<dyn TreePieces>, Option<Arc<CallTree>>),
    Gather(ExportedSamplesBuilder),
    Write(ExportedSamples, Box<dyn Pieces>),
    Done,
}

impl Session {
    /// Begins to write what a query takes as a file of another tool.
    pub fn export(&self, request: ExportRequest) -> Export {
        let state = match tree_pieces(&request) {
            Some(pieces) => State::Tree(pieces, None),
            None => State::Gather(ExportedSamplesBuilder::new(request.queries(&self.profile))),
        };
        let gzip = || GzEncoder::new(Vec::new(), Compression::default());
        let packed = request.format.is_packed().then(gzip);
        let (generation, left) = (self.generation, USUAL_LIMIT);
        Export { request, state, generation, done: 0, total: 0, packed, left }
    }

    /// What the file cannot hold of this profile, in sentences.
    pub fn export_limits(&self, request: &ExportRequest) -> Vec<String> {
        let mut dsos = self.profile.dsos.iter();
        let is_forced = dsos.any(|(dso, _)| self.ledger.row(dso).status == Status::Forced);
        let forced = if is_forced { ForcedNames::Some } else { ForcedNames::None };
        perftab_export::limits(request, &self.profile, forced)
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

    /// The calls of a query, as exports take them.
    fn calls(&mut self, query: &Query) -> Calls<'_> {
        if !Calls::need_tree(query) {
            return Calls::of_stacks(&self.profile, &self.symbols, query);
        }
        let (profile, symbols, tree, ends) = self.parts_and_ends(query);
        Calls::of_tree(profile, symbols, query, tree, ends)
    }
}

impl Export {
    /// How it is written.
    pub fn format(&self) -> Format {
        self.request.format
    }

    /// The same, with another limit than [`USUAL_LIMIT`].
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { left: bytes, ..self }
    }

    /// Does about so many pieces of work more (a sample, a call, a function are one each) and
    /// appends to `out` what has become of them.
    pub fn step(&mut self, session: &mut Session, pieces: usize, out: &mut Vec<u8>) -> ExportStep {
        if session.generation != self.generation {
            return ExportStep::Stale;
        }
        let mut written = Vec::new();
        self.work(session, pieces, &mut written);
        let is_done = matches!(self.state, State::Done);
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
        match is_done {
            true => ExportStep::Done,
            false => ExportStep::More { done: self.done, total: self.total.max(self.done) },
        }
    }

    fn work(&mut self, session: &mut Session, pieces: usize, out: &mut Vec<u8>) {
        let until = self.done.saturating_add(pieces.max(1));
        while self.done < until && out.len() < ENOUGH {
            self.state = match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return,
                State::Tree(writer, None) => {
                    if !self.make_tree(
                        session,
                        &self.request.query.clone(),
                        TreeDetail::Tree,
                        until,
                    ) {
                        self.state = State::Tree(writer, None);
                        continue;
                    }
                    State::Tree(writer, Some(session.whole_tree(&self.request.query)))
                }
                State::Tree(writer, Some(tree)) => {
                    self.write_tree(session, writer, tree, until, out)
                }
                State::Gather(builder) => match builder.query().cloned() {
                    Some(query)
                        if Calls::need_tree(&query)
                            && !self.make_tree(session, &query, TreeDetail::Ends, until) =>
                    {
                        State::Gather(builder)
                    }
                    _ => self.gather(session, builder, until),
                },
                State::Write(taken, writer) => self.write(session, taken, writer, until, out),
            };
        }
    }

    /// Goes on with the tree that is written from; true once it is there.
    fn make_tree(
        &mut self,
        session: &mut Session,
        query: &Query,
        noted: TreeDetail,
        until: usize,
    ) -> bool {
        let pieces = until - self.done;
        let rows = pieces.saturating_mul(ROWS_A_PIECE);
        let ScanStep::More { done, total } = session.make_tree(query, noted, rows) else {
            return true;
        };
        // Who wants all at once has no end of pieces.
        self.done += pieces.min(total.max(1));
        self.total = self.done + total.saturating_sub(done) / ROWS_A_PIECE;
        false
    }

    fn write_tree(
        &mut self,
        session: &Session,
        mut writer: Box<dyn TreePieces>,
        tree: Arc<CallTree>,
        until: usize,
        out: &mut Vec<u8>,
    ) -> State {
        self.total = self.total.max(self.done + tree.len());
        while self.done < until && out.len() < ENOUGH {
            self.done += 1;
            if writer.next(&session.profile, &session.symbols, &tree, out) == Next::End {
                return State::Done;
            }
        }
        State::Tree(writer, Some(tree))
    }

    fn gather(
        &mut self,
        session: &mut Session,
        mut builder: ExportedSamplesBuilder,
        until: usize,
    ) -> State {
        let Some(query) = builder.query().cloned() else {
            let taken = builder.finish();
            let distance = session.usual_distance(self.request.query.event);
            let writer = perftab_export::pieces(&self.request, &session.profile, &taken, distance);
            self.total = self.done + 3 * taken.samples() + 4 * taken.calls();
            return writer.map_or(State::Done, |writer| State::Write(taken, writer));
        };
        let before = builder.rows_done();
        builder.step(&session.calls(&query), (until - self.done).saturating_mul(ROWS_A_PIECE));
        self.done += (builder.rows_done() - before).div_ceil(ROWS_A_PIECE).max(1);
        self.total = 2 * session.profile.samples.len();
        State::Gather(builder)
    }

    fn write(
        &mut self,
        session: &mut Session,
        taken: ExportedSamples,
        mut writer: Box<dyn Pieces>,
        until: usize,
        out: &mut Vec<u8>,
    ) -> State {
        while self.done < until && out.len() < ENOUGH {
            let event = writer.event().min(taken.events.len() - 1);
            let calls = session.calls(&taken.events[event].query);
            while self.done < until
                && out.len() < ENOUGH
                && writer.event().min(taken.events.len() - 1) == event
            {
                self.done += 1;
                if writer.next(&calls, &taken, out) == Next::End {
                    return State::Done;
                }
            }
        }
        State::Write(taken, writer)
    }
}
