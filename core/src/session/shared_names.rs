//! How names change while work in progress reads them: the work ends, and who wants its answer begins anew.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::{Rc, Weak};

use perftab_names::Symbols;
use perftab_perfdata::slice::{LetGo, Work};

/// The names, of which work in progress has a share.
#[derive(Default)]
pub(super) struct SharedNames {
    shared: Rc<Symbols>,
    /// Work that has one.
    readers: RefCell<Vec<Weak<dyn LetGo>>>,
}

impl From<Symbols> for SharedNames {
    fn from(symbols: Symbols) -> Self {
        Self { shared: symbols.into(), readers: RefCell::default() }
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
    pub fn read<T: 'static>(&self, begin: impl FnOnce(Rc<Symbols>) -> Work<T>) -> Work<T> {
        let work = begin(self.share());
        self.is_read_by(&work);
        work
    }

    /// For work that is let go of before they change ([`Self::is_read_by`]).
    pub fn share(&self) -> Rc<Symbols> {
        Rc::clone(&self.shared)
    }

    /// Says who has a share of them.
    pub fn is_read_by<T: 'static>(&self, work: &Work<T>) {
        let mut readers = self.readers.borrow_mut();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(work.handle());
    }

    /// Ends all work that has a share.
    pub fn let_go_of_readers(&mut self) {
        let readers = self.readers.take();
        readers.iter().filter_map(Weak::upgrade).for_each(|work| work.let_go());
    }
}
