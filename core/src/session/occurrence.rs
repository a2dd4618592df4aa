//! Who ran what is selected, and when: [`perftab_views::occurrence`] for hosts, a step at a time.

use perftab_views::occurrence::{Occurrence, OccurrenceScan, ResolvedSubject, Subject};
use perftab_views::{Direction, Query};
use serde::Deserialize;

use crate::session::Session;
use crate::session::times::{Scan, ScanStep};

/// What is asked of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct OccurrenceRequest {
    /// What is selected.
    pub subject: Subject,
    /// How many bins of time.
    pub bins: u32,
}

/// An [`Occurrence`] to be. `None` comes out where there is no such call node or function, or where
/// names changed meanwhile and with them all numbers.
pub struct OccurrenceWork {
    /// The query's tree of callees.
    query: Query,
    generation: u32,
    scan: Option<OccurrenceScan>,
    rows: usize,
}

impl Session {
    /// Begins to look for who ran something, and when. Filters and steps of the query apply; the
    /// tree around a function is not looked at.
    pub fn occurrence(&mut self, query: &Query, request: &OccurrenceRequest) -> OccurrenceWork {
        let shown = Query { around: None, ..query.clone() };
        let meant = self.meant(&shown, request.subject);
        let query = Query { direction: Direction::Callees, ..shown };
        let generation = self.generation;
        let scan = meant.map(|meant| {
            let (profile, _, tree, _) = self.parts_and_ends(&query);
            OccurrenceScan::new(profile, &query, tree, &meant, request.bins)
        });
        let rows = scan.as_ref().map_or(0, OccurrenceScan::rows_left);
        OccurrenceWork { query, generation, scan, rows }
    }

    fn meant(&mut self, query: &Query, subject: Subject) -> Option<ResolvedSubject> {
        match subject {
            Subject::Function(function) => {
                self.symbols.function_of_number(function).map(ResolvedSubject::Function)
            }
            Subject::CallNode(call_node) => {
                let tree = self.tree(query);
                Some(ResolvedSubject::call_node(tree, query.direction, tree.id(call_node)?))
            }
        }
    }
}

impl Scan for OccurrenceWork {
    type Answer = Option<Occurrence>;

    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<Option<Occurrence>> {
        let Some(mut scan) = self.scan.take() else { return ScanStep::Done(None) };
        if session.generation != self.generation {
            return ScanStep::Done(None);
        }
        let (profile, _, _, ends) = session.parts_and_ends(&self.query);
        if scan.step(profile, ends, rows) {
            return ScanStep::Done(Some(scan.finish(profile)));
        }
        let left = scan.rows_left();
        self.scan = Some(scan);
        ScanStep::More { done: self.rows - left, total: self.rows }
    }
}
