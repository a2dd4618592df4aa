//! The boxes of a query while they are laid out.
//!
//! Without names most call nodes are parts of boxes that stand for many, and laying out goes through
//! all of them: of ten million samples that takes a second, and of an inverted tree, which is made on the
//! way, several. Whoever zooms on meanwhile wants no more of it.

use std::sync::Arc;

use perftab_views::Query;
use perftab_views::call_tree::{CallNodeId, CallTree};
use perftab_views::flame_graph::{FlameGraph, FlameGraphLayout};
use perftab_views::inverted::Way;
use perftab_views::label::OwnCode;

use crate::session::times::ScanStep;
use crate::session::trees::{ROWS_OF_A_CALL_NODE, Tree};
use crate::session::{FlameWindow, Session, TreeDetail};

/// A [`FlameGraph`] to be. Its tree is made first, if it is not there.
pub struct FlameWork {
    query: Query,
    window: FlameWindow,
    /// Of names; if these change it begins anew.
    generation: u32,
    state: State,
}

enum State {
    /// The tree is to be there first.
    Tree,
    Whole(Arc<CallTree>, Box<FlameGraphLayout<CallNodeId>>),
    /// Inverted callees. What was opened of them stays open while they are kept.
    Inverted(Arc<CallTree>, Box<FlameGraphLayout<Way>>),
}

impl Session {
    /// Begins to lay out boxes for the width that is there. An unknown root stands for all.
    pub fn flame_work(&self, query: &Query, window: &FlameWindow) -> FlameWork {
        FlameWork {
            query: query.clone(),
            window: window.clone(),
            generation: self.generation,
            state: State::Tree,
        }
    }

    /// The same at once.
    pub fn flame_graph(&mut self, query: &Query, window: &FlameWindow) -> FlameGraph {
        let mut work = self.flame_work(query, window);
        loop {
            if let ScanStep::Done(graph) = work.step(self, usize::MAX) {
                return graph;
            }
        }
    }

    fn begin_laying(&mut self, query: &Query, window: &FlameWindow) -> State {
        let index = self.tree_index(query);
        let tree = &mut self.trees.cached[index].tree;
        let root = tree.get().id(window.root).unwrap_or(CallNodeId::ROOT);
        let window = window.in_tree(root, OwnCode::of(&self.profile, query));
        match tree {
            Tree::Whole(tree) => {
                State::Whole(Arc::clone(tree), Box::new(FlameGraphLayout::new(&&**tree, window)))
            }
            Tree::Inverted(inverted) => {
                let callees = Arc::clone(inverted.callees());
                State::Inverted(callees, Box::new(FlameGraphLayout::new(&&mut **inverted, window)))
            }
        }
    }
}

impl FlameWork {
    /// Goes on for about as long as so many rows of samples take.
    pub fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<FlameGraph> {
        if self.generation != session.generation {
            self.generation = session.generation;
            self.state = State::Tree;
        }
        let call_nodes = (rows / ROWS_OF_A_CALL_NODE).max(1);
        let is_done = match &mut self.state {
            State::Tree => {
                let step = session.make_tree(&self.query, TreeDetail::Tree, rows);
                if let ScanStep::More { done, total } = step {
                    return ScanStep::More { done, total };
                }
                self.state = session.begin_laying(&self.query, &self.window);
                false
            }
            State::Whole(tree, layout) => {
                layout.step((&session.profile, &session.symbols), &mut &**tree, call_nodes)
            }
            State::Inverted(callees, layout) => {
                let Session { trees, profile, symbols, .. } = &mut *session;
                match trees.inverted(&self.query) {
                    // A tree that was forgotten and made anew of others may have other numbers.
                    Some(mut inverted) if Arc::ptr_eq(inverted.callees(), callees) => {
                        layout.step((profile, symbols), &mut inverted, call_nodes)
                    }
                    _ => {
                        self.state = State::Tree;
                        false
                    }
                }
            }
        };
        if !is_done {
            return ScanStep::More { done: 0, total: 1 };
        }
        ScanStep::Done(match std::mem::replace(&mut self.state, State::Tree) {
            State::Tree => FlameGraph::default(),
            State::Whole(_, layout) => layout.finish(),
            State::Inverted(_, layout) => layout.finish(),
        })
    }
}
