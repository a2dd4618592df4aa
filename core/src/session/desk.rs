//! Work that a session does a slice at a time, between which it is asked other things.
//!
//! It is written as an `async fn` that is given a [`Desk`]. No future can keep a `&mut Session` from one slice
//! to the next. So whoever goes on with it lends it the session: that lies on the desk for the length of a
//! slice. What work reads all the time it has a share of, such as the profile.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::{Rc, Weak};

use perftab_names::Symbols;
use perftab_perfdata::slice::{LetGo, Slice, Work};
use perftab_profile::Profile;
use perftab_views::Query;

use crate::session::{Session, TreeDetail};

/// Where work finds its session, and how much it may do before it rests.
pub(super) struct Desk {
    /// Its own, as long as work goes on; an empty one else.
    session: Rc<RefCell<Session>>,
    pub slice: Slice,
    reads_names: Rc<Cell<bool>>,
}

impl Desk {
    /// A share of what names are of, and of these. Before they change the work is let go of.
    pub fn names(&self) -> (Rc<Profile>, Rc<Symbols>) {
        self.reads_names.set(true);
        self.ask(|session| (Rc::clone(&session.profile), Rc::clone(&session.symbols.shared)))
    }

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

/// The names, of which work in progress has a share.
#[derive(Default)]
pub(super) struct SharedNames {
    shared: Rc<Symbols>,
    /// Work that has one.
    readers: Vec<Weak<dyn LetGo>>,
}

impl From<Symbols> for SharedNames {
    fn from(symbols: Symbols) -> Self {
        Self { shared: symbols.into(), readers: Vec::new() }
    }
}

impl Deref for SharedNames {
    type Target = Symbols;

    fn deref(&self) -> &Symbols {
        &self.shared
    }
}

impl SharedNames {
    /// For names that change. Whoever reads those before is let go of, so there is no copy of them.
    pub fn change(&mut self) -> &mut Symbols {
        self.let_go_of_readers();
        Rc::make_mut(&mut self.shared)
    }

    /// Begins work that has a share of them. Before they change it is let go of.
    pub fn read<T: 'static>(&mut self, begin: impl FnOnce(Rc<Symbols>) -> Work<T>) -> Work<T> {
        let work = begin(Rc::clone(&self.shared));
        self.add(work.handle());
        work
    }

    fn add(&mut self, reader: Weak<dyn LetGo>) {
        self.readers.retain(|reader| reader.strong_count() > 0);
        self.readers.push(reader);
    }

    /// What was made of names and of what they are of is not to go on.
    pub fn let_go_of_readers(&mut self) {
        self.readers.drain(..).filter_map(|reader| reader.upgrade()).for_each(|it| it.let_go());
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
    reads_names: Rc<Cell<bool>>,
}

impl<T: 'static> SessionWork<T> {
    pub fn new<F: Future<Output = T> + 'static>(work: impl FnOnce(Desk) -> F) -> Self {
        let session: Rc<RefCell<Session>> = Rc::default();
        let reads_names: Rc<Cell<bool>> = Rc::default();
        let (session_of_desk, reads) = (Rc::clone(&session), Rc::clone(&reads_names));
        let desk = |slice| Desk { session: session_of_desk, slice, reads_names: reads };
        Self { work: Work::new(|slice| work(desk(slice))), session, reads_names }
    }

    /// Goes on for about as long as so many rows of samples take. The session is the same each time.
    pub fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<T> {
        std::mem::swap(session, &mut self.session.borrow_mut());
        let done = self.work.step(rows);
        std::mem::swap(session, &mut self.session.borrow_mut());
        if self.reads_names.take() {
            session.symbols.add(self.work.handle());
        }
        let (done_rows, total) = self.work.progress();
        done.map_or(ScanStep::More { done: done_rows, total }, ScanStep::Done)
    }

    /// False once names have changed that it reads, and when it is done.
    pub fn goes_on(&self) -> bool {
        self.work.goes_on()
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
