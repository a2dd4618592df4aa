//! How the data of memory accesses gets its names: from files that passed the gate, as code does.
//!
//! Nobody looks where data lay before somebody asks. Then all of it is looked up, in slices, and files are
//! asked for the names, wherever they are (`names.rs` has the way of those of code).

use std::rc::Rc;
use std::sync::Arc;

use perftab_images::MatchedObjects;
use perftab_names::Status;
use perftab_perfdata::map::Set;
use perftab_perfdata::slice::Work;
use perftab_profile::DsoId;
use perftab_views::data_access::AccessNames;

use super::accesses::KnownAccesses;
use super::{ScanStep, Session};

/// To look one up takes about as long as to take so many rows of samples.
const ROWS_OF_A_LOOK_UP: usize = 16;

/// What is known of accessed data.
#[derive(Default)]
pub(super) struct AccessedData {
    /// Where it lay, once somebody has asked. Work in progress has a share of it.
    pub names: Option<Rc<AccessNames>>,
    looking_up: Option<Work<AccessNames>>,
    /// DSOs whose files were asked for names, and have not become others since.
    asked: Set<DsoId>,
    /// The table that was asked for last.
    pub known_rows: Option<KnownAccesses>,
}

impl AccessedData {
    /// A file has come for a DSO: what it says of data is not known yet.
    pub fn file_came(&mut self, dso: DsoId) {
        self.asked.remove(&dso);
    }
}

/// Addresses of data that the files of a DSO may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataRequest {
    /// Which.
    pub dso: DsoId,
    /// Addresses, as frames would have them.
    pub addresses: Vec<u64>,
}

impl Session {
    /// Looks up where the data of memory accesses lay. From then on files are wanted that may name it.
    pub fn look_up_data(&mut self) {
        while let ScanStep::More { .. } = self.look_up_some_data(usize::MAX) {}
    }

    /// The same for about as long as so many rows of samples take. Whoever stops in between can go on later.
    pub fn look_up_some_data(&mut self, rows: usize) -> ScanStep<()> {
        let AccessedData { names, looking_up, .. } = &mut self.data;
        if names.is_some() {
            return ScanStep::Done(());
        }
        let work = match looking_up {
            Some(work) if work.goes_on() => work,
            _ => {
                let profile = Arc::clone(&self.profile);
                let work = Work::new(async move |slice| {
                    AccessNames::of(&profile, &slice.in_units_of(ROWS_OF_A_LOOK_UP)).await
                });
                // Whoever changes the profile changes names, too.
                self.symbols.is_read_by(&work);
                looking_up.insert(work)
            }
        };
        ScanStep::of(work, rows).map(|found| {
            *looking_up = None;
            *names = Some(found.into());
        })
    }

    /// Asks for the names of data that was looked up, where a file has come since that was asked last; `None` if
    /// that is all.
    pub fn ask_data(&mut self) -> Option<DataRequest> {
        let names = self.data.names.as_ref()?;
        let is_matched = |dso: &DsoId| {
            matches!(self.ledger.row(*dso).status, Status::Matched | Status::NoSymbols)
        };
        for dso in self.profile.dsos.iter().map(|(dso, _)| dso).filter(is_matched) {
            if self.data.asked.insert(dso) {
                let addresses = names.wanted_of(dso);
                if !addresses.is_empty() {
                    return Some(DataRequest { dso, addresses });
                }
            }
        }
        None
    }

    /// Takes in what is said of addresses that were asked for. What is not of the build that was recorded names
    /// nothing.
    pub fn take_data(&mut self, dso: DsoId, addresses: &[u64], answer: &MatchedObjects) {
        // So that nobody has a share of them.
        self.symbols.let_go_of_readers();
        self.data.known_rows = None;
        if let Some(names) = &mut self.data.names {
            Rc::make_mut(names).names.take(&self.recorded, dso, addresses, answer);
        }
    }
}
