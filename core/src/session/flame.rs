//! The boxes of a query while they are laid out.
//!
//! Without names most call nodes are parts of boxes that stand for many, and laying out goes through
//! all of them: of ten million samples that takes a second, and of an inverted tree, which is made on the
//! way, several. Whoever zooms on meanwhile wants no more of it.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use perftab_perfdata::slice::Work;
use perftab_views::Query;
use perftab_views::call_tree::{CallNodeId, CallTree};
use perftab_views::flame_graph::{FlameGraph, Source, Window, layout_in_slices};
use perftab_views::inverted::Inverted;
use perftab_views::label::OwnCode;

use crate::session::times::ScanStep;
use crate::session::trees::{ROWS_OF_A_CALL_NODE, Tree};
use crate::session::{FlameWindow, Session, TreeDetail};

/// A [`FlameGraph`] to be. Its tree is made first, if it is not there.
pub struct FlameWork {
    query: Query,
    window: FlameWindow,
    laying: Option<Laying>,
}

/// Boxes that are being laid out.
struct Laying {
    work: Work<FlameGraph>,
    lent: Option<Lent>,
}

/// An inverted tree. The session keeps it, as others open it further between slices; for each slice it is moved into
/// `place`.
struct Lent {
    /// What it is made of: a tree that was forgotten and made anew of others may have other numbers.
    callees: Weak<CallTree>,
    place: Rc<RefCell<Inverted>>,
}

impl Session {
    /// Begins to lay out boxes for the width that is there. An unknown root stands for all.
    pub fn flame_work(&self, query: &Query, window: &FlameWindow) -> FlameWork {
        FlameWork { query: query.clone(), window: window.clone(), laying: None }
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

    /// Of a tree that is there.
    fn begin_laying(&mut self, query: &Query, window: &FlameWindow) -> Laying {
        let index = self.tree_index(query);
        let tree = &self.trees.cached[index].tree;
        let root = tree.get().id(window.root).unwrap_or(CallNodeId::ROOT);
        let window = window.in_tree(root, OwnCode::of(&self.profile, query));
        match tree {
            Tree::Whole(tree) => {
                Laying { work: self.lay_out(Arc::clone(tree), window), lent: None }
            }
            Tree::Inverted(inverted) => {
                let callees = Arc::downgrade(inverted.callees());
                let place = Rc::<RefCell<Inverted>>::default();
                let lent = Lent { callees, place: Rc::clone(&place) };
                Laying { work: self.lay_out(place, window), lent: Some(lent) }
            }
        }
    }

    fn lay_out<Shared>(&self, tree: Shared, window: Window) -> Work<FlameGraph>
    where
        Shared: Deref + 'static,
        for<'a> &'a Shared::Target: Source,
    {
        let profile = Arc::clone(&self.profile);
        self.symbols.read(|symbols| {
            Work::new(async move |slice| {
                let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
                layout_in_slices(&profile, &symbols, &*tree, &window, &slice).await
            })
        })
    }
}

impl FlameWork {
    /// Goes on for about as long as so many rows of samples take. It begins anew where names were taken in, or an
    /// inverted tree was forgotten.
    pub fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<FlameGraph> {
        let begun = self.laying.take().filter(|laying| laying.work.goes_on());
        let mut laying = match begun {
            Some(laying) => laying,
            None => {
                let step = session.make_tree(&self.query, TreeDetail::Tree, rows);
                if let ScanStep::More { done, total } = step {
                    return ScanStep::More { done, total };
                }
                session.begin_laying(&self.query, &self.window)
            }
        };
        let step = match &laying.lent {
            None => ScanStep::of(&mut laying.work, rows),
            Some(Lent { callees, place }) => {
                let inverted = session.trees.inverted(&self.query);
                let is_it = |it: &&mut Inverted| Arc::as_ptr(it.callees()) == callees.as_ptr();
                let Some(inverted) = inverted.filter(is_it) else {
                    return ScanStep::More { done: 0, total: 1 };
                };
                std::mem::swap(inverted, &mut place.borrow_mut());
                let step = ScanStep::of(&mut laying.work, rows);
                std::mem::swap(inverted, &mut place.borrow_mut());
                step
            }
        };
        self.laying = Some(laying);
        step
    }
}
