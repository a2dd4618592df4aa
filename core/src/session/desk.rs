//! Work that a session does a slice at a time, between which it is asked other things.
//!
//! It is written as an `async fn` that is given a [`Desk`]. No future can keep a `&mut Session` from one slice
//! to the next. So whoever goes on with it lends it the session: that lies on the desk for the length of a
//! slice. What work reads all the time it has a share of, such as the profile.

use std::cell::RefCell;
use std::rc::Rc;

use perftab_perfdata::slice::{Slice, Work};
use perftab_views::Query;

use crate::session::{Session, TreeDetail};

/// Where work finds its session, and how much it may do before it rests.
pub(super) struct Desk {
    /// Its own, as long as work goes on; an empty one else.
    session: Rc<RefCell<Session>>,
    pub slice: Slice,
}

impl Desk {
    /// Asks the session.
    pub fn ask<T>(&self, ask: impl FnOnce(&mut Session) -> T) -> T {
        ask(&mut self.session.borrow_mut())
    }

    /// Goes on with something that the session itself keeps, until it is done.
    pub async fn until_done<T>(
        &self,
        mut step: impl FnMut(&mut Session, usize) -> ScanStep<T>,
    ) -> T {
        loop {
            match self.ask(|session| step(session, self.slice.left())) {
                ScanStep::Done(done) => return done,
                ScanStep::More { done, total } => {
                    self.slice.end();
                    self.slice.expect(total.saturating_sub(done));
                    self.slice.rest().await;
                }
            }
        }
    }

    /// Makes the tree of a query, if it is not there.
    pub async fn make_tree(&self, query: &Query, detail: TreeDetail) {
        self.until_done(|session, rows| session.make_tree(query, detail, rows)).await;
    }
}

/// How far work has come, or what came of it.
#[derive(Debug)]
pub enum ScanStep<T> {
    /// There is more to do.
    More {
        /// Rows of samples gone through, or what takes as long.
        done: usize,
        /// All that there are to go through.
        total: usize,
    },
    /// That was all.
    Done(T),
}

impl<T> ScanStep<T> {
    /// The same of what is made of it.
    pub fn map<Made>(self, make: impl FnOnce(T) -> Made) -> ScanStep<Made> {
        match self {
            Self::More { done, total } => ScanStep::More { done, total },
            Self::Done(found) => ScanStep::Done(make(found)),
        }
    }
}

/// Something that is added up from all samples, a step at a time.
pub trait Scan {
    /// What comes out of it.
    type Answer;

    /// Goes through about so many rows of samples more.
    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<Self::Answer>;
}

/// Something that a session is working out. Whoever wants no more of it drops it.
pub(super) struct SessionWork<T> {
    work: Work<T>,
    session: Rc<RefCell<Session>>,
}

impl<T> SessionWork<T> {
    pub fn new<F: Future<Output = T> + 'static>(work: impl FnOnce(Desk) -> F) -> Self {
        let session: Rc<RefCell<Session>> = Rc::default();
        let of_work = Rc::clone(&session);
        Self { work: Work::new(|slice| work(Desk { session: of_work, slice })), session }
    }

    /// Goes on for about as long as so many rows of samples take. The session is the same each time.
    pub fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<T> {
        std::mem::swap(session, &mut self.session.borrow_mut());
        let done = self.work.step(rows);
        std::mem::swap(session, &mut self.session.borrow_mut());
        let (done_rows, total) = self.work.progress();
        done.map_or(ScanStep::More { done: done_rows, total }, ScanStep::Done)
    }

    /// Does all of it at once.
    pub fn finish(mut self, session: &mut Session) -> T {
        loop {
            if let ScanStep::Done(done) = self.step(session, usize::MAX) {
                return done;
            }
        }
    }
}
