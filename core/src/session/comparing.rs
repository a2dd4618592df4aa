//! A comparison while it is made.

use std::sync::Arc;

use perftab_views::build::{BuildStep, CallTreeBuilder};
use perftab_views::call_tree::CallTree;
use perftab_views::compare::{CompareStep, Comparer, Recordings, Source};
use perftab_views::inverted::Inverted;
use perftab_views::{Direction, Query};

use crate::session::times::ScanStep;
use crate::session::{ComparedTrees, Session};

/// To compare a call node takes about as long as to take so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 8;

/// A [`ComparedTrees`] to be: both sides' trees are made and then compared, a step at a time. Whoever wants
/// no more of it drops it.
pub struct ComparisonBuilder {
    queries: [Query; 2],
    recordings: Recordings,
    /// Of both sessions' names; if these change it begins anew.
    generations: [u32; 2],
    stage: Stage,
}

enum Stage {
    /// The tree of the side after those that are there.
    Trees(Vec<Arc<CallTree>>, SideTree),
    Comparing([Arc<CallTree>; 2], Box<Comparer>),
    Done,
}

/// The tree of a side.
enum SideTree {
    Begin,
    Building(Box<CallTreeBuilder>),
    /// It is opened from this call node on.
    Inverting(Box<Inverted>, u32),
    Ready(Arc<CallTree>),
}

impl ComparisonBuilder {
    /// For what a query shows of a session and what one shows of another, or of the same.
    pub fn new(before: (&Session, &Query), after: (&Session, &Query)) -> Self {
        let recordings = match std::ptr::eq(before.0, after.0) {
            true => Recordings::One,
            false => Recordings::Two,
        };
        Self {
            queries: [before, after].map(|(_, query)| query.clone()),
            recordings,
            generations: [before, after].map(|(session, _)| session.generation()),
            stage: Stage::Trees(Vec::new(), SideTree::Begin),
        }
    }

    /// Goes on for about as long as so many rows of samples take. The sessions are those that it was
    /// made for.
    pub fn step(&mut self, sessions: [&Session; 2], rows: usize) -> ScanStep<ComparedTrees> {
        let generations = sessions.map(Session::generation);
        if self.generations != generations {
            self.generations = generations;
            self.stage = Stage::Trees(Vec::new(), SideTree::Begin);
        }
        let mut progress = (0, 1);
        let nodes = (rows / ROWS_OF_A_CALL_NODE).max(1);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Trees(mut trees, making) => {
                let side = trees.len();
                let making = making.step(sessions[side], &self.queries[side], rows, nodes);
                progress = making.progress();
                progress = (progress.0.saturating_add(progress.1 * side), progress.1 * 3);
                match making {
                    SideTree::Ready(tree) => {
                        trees.push(tree);
                        match <[_; 2]>::try_from(trees) {
                            Ok(trees) => {
                                let sources = self.sources(sessions, &trees);
                                let sources = [&sources[0], &sources[1]];
                                let comparer = Comparer::new(sources, self.recordings);
                                Stage::Comparing(trees, Box::new(comparer))
                            }
                            Err(trees) => Stage::Trees(trees, SideTree::Begin),
                        }
                    }
                    making => Stage::Trees(trees, making),
                }
            }
            Stage::Comparing(trees, comparer) => {
                let sources = self.sources(sessions, &trees);
                let sources = [&sources[0], &sources[1]];
                match comparer.step(sources, nodes) {
                    CompareStep::Done(comparison) => {
                        return ScanStep::Done(ComparedTrees { comparison: *comparison });
                    }
                    CompareStep::More(comparer) => {
                        let (done, total) = comparer.progress(sources);
                        progress = (total.saturating_mul(2).saturating_add(done), total * 3);
                        Stage::Comparing(trees, comparer)
                    }
                }
            }
            // Asked once more after the answer: it is made once more.
            Stage::Done => Stage::Trees(Vec::new(), SideTree::Begin),
        };
        ScanStep::More { done: progress.0, total: progress.1 }
    }

    fn sources<'a>(
        &self,
        sessions: [&'a Session; 2],
        trees: &'a [Arc<CallTree>; 2],
    ) -> [Source<'a>; 2] {
        let of = |side: usize| sessions[side].source(&self.queries[side], &trees[side]);
        [of(0), of(1)]
    }
}

impl SideTree {
    fn step(self, session: &Session, query: &Query, rows: usize, nodes: usize) -> Self {
        let is_inverted = query.direction == Direction::Inverted && query.around.is_none();
        let made = |callees: Arc<CallTree>| match is_inverted {
            true => Self::Inverting(Box::new(Inverted::new(callees)), 0),
            false => Self::Ready(callees),
        };
        match self {
            Self::Begin => {
                let direction = Direction::Callees;
                match session.trees.known(&Query { direction, ..query.clone() }) {
                    Some(known) => made(Arc::clone(known)),
                    None => Self::Building(Box::new(CallTreeBuilder::new(&session.profile, query))),
                }
            }
            Self::Building(building) => {
                match building.step(&session.profile, &session.symbols, rows) {
                    BuildStep::More(building) => Self::Building(building),
                    BuildStep::Done(done) => made(done.0.tree.into()),
                }
            }
            Self::Inverting(mut inverted, mut next) => {
                let mut left = nodes;
                while left > 0 {
                    let Some(id) = inverted.tree().id(next) else {
                        return Self::Ready(inverted.into_whole().into());
                    };
                    if inverted.open_more(id, &mut left) {
                        next += 1;
                        left = left.saturating_sub(1);
                    }
                }
                Self::Inverting(inverted, next)
            }
            Self::Ready(tree) => Self::Ready(tree),
        }
    }

    fn progress(&self) -> (usize, usize) {
        match self {
            Self::Begin => (0, 1),
            Self::Building(building) => building.progress(),
            Self::Inverting(..) | Self::Ready(_) => (1, 1),
        }
    }
}
