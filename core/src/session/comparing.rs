//! A comparison while it is made.

use std::rc::Rc;
use std::sync::Arc;

use perftab_names::{Ledger, Symbols};
use perftab_perfdata::slice::{Slice, Work};
use perftab_profile::Profile;
use perftab_views::build::{TreeDetail, build_in_slices};
use perftab_views::call_tree::CallTree;
use perftab_views::compare::{Comparison, Recordings, Source};
use perftab_views::inverted::Inverted;
use perftab_views::label::OwnCode;
use perftab_views::{Direction, Group, Query, Unnamed};

use crate::session::times::ScanStep;
use crate::session::{ComparedTrees, Session};

/// To compare a call node takes about as long as to take so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 8;

/// A [`ComparedTrees`] to be: both sides' trees are made and then compared. Whoever wants no more of it drops
/// it.
pub struct ComparisonBuilder {
    queries: [Query; 2],
    recordings: Recordings,
    /// Begun anew when it was let go of, since names of either side have changed.
    work: Option<Work<Comparison>>,
}

impl ComparisonBuilder {
    /// For what a query shows of a session and what one shows of another, or of the same.
    pub fn new(before: (&Session, &Query), after: (&Session, &Query)) -> Self {
        let recordings = match std::ptr::eq(before.0, after.0) {
            true => Recordings::One,
            false => Recordings::Two,
        };
        Self { queries: [before, after].map(|(_, query)| query.clone()), recordings, work: None }
    }

    /// Goes on for about as long as so many rows of samples take. The sessions are those that it was
    /// made for.
    pub fn step(&mut self, sessions: [&Session; 2], rows: usize) -> ScanStep<ComparedTrees> {
        let work = match &mut self.work {
            Some(work) if work.goes_on() => work,
            work => {
                let sides = [0, 1].map(|side| Side::of(sessions[side], &self.queries[side]));
                let begun = compare(sides, self.recordings);
                sessions.iter().for_each(|session| session.symbols.is_read_by(&begun));
                work.insert(begun)
            }
        };
        ScanStep::of(work, rows).map(|comparison| ComparedTrees { comparison })
    }
}

fn compare(sides: [Side; 2], recordings: Recordings) -> Work<Comparison> {
    Work::new(async move |slice| {
        let (before, after) = (sides[0].tree(&slice).await, sides[1].tree(&slice).await);
        let sources = [&sides[0].source(&before), &sides[1].source(&after)];
        let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
        Comparison::in_slices(sources, recordings, &slice).await
    })
}

/// What one side is made of.
struct Side {
    profile: Arc<Profile>,
    symbols: Rc<Symbols>,
    ledger: Ledger,
    /// Of each address.
    query: Query,
    unnamed: Unnamed,
    nanoseconds: u64,
    /// The tree of its callees, if it was made.
    callees: Option<Arc<CallTree>>,
}

impl Side {
    fn of(session: &Session, query: &Query) -> Self {
        let nanoseconds = session.nanoseconds(query);
        let unnamed = query.unnamed;
        // Nor do both sides need to have room for the same first level.
        let group = if query.group == Group::Auto { Group::Process } else { query.group };
        let query = Query { unnamed: Unnamed::EachAddress, group, ..query.clone() };
        let callees = Query { direction: Direction::Callees, ..query.clone() };
        Self {
            profile: Arc::clone(&session.profile),
            symbols: session.symbols.share(),
            ledger: session.ledger.clone(),
            query,
            unnamed,
            nanoseconds,
            callees: session.trees.known(&callees).cloned(),
        }
    }

    fn source<'a>(&'a self, tree: &'a CallTree) -> Source<'a> {
        let Self { profile, symbols, ledger, nanoseconds, query, unnamed, .. } = self;
        let (own, unnamed) = (OwnCode::of(profile, query), *unnamed);
        Source { profile, symbols, ledger, tree, unnamed, own, nanoseconds: *nanoseconds }
    }

    async fn tree(&self, slice: &Slice) -> Arc<CallTree> {
        let callees = match &self.callees {
            Some(known) => Arc::clone(known),
            None => {
                let Self { profile, symbols, query, .. } = self;
                let detail = TreeDetail::Tree;
                build_in_slices(profile, symbols, query, detail, slice).await.0.tree.into()
            }
        };
        if self.query.direction == Direction::Callees || self.query.around.is_some() {
            return callees;
        }
        let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
        let mut inverted = Inverted::new(callees);
        let mut next = 0;
        while let Some(id) = inverted.tree().id(next) {
            inverted.open_in_slices(id, &slice).await;
            slice.count();
            slice.rest().await;
            next += 1;
        }
        inverted.into_whole().into()
    }
}
