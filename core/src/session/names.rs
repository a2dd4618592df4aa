//! How names get into a session.
//!
//! Files are the business of [`Images`](perftab_images::Images), wherever a host has it: beside the
//! session ([`Session::admit`]), or elsewhere, as the page does. What crosses are plain values, which are
//! read as if a stranger had written them:
//!
//! ```text
//! Images                                            Session
//!   findings: what files turned out to be ────────▶ take_findings: the ledger, and what is to be named
//!   name  ◀──────────────── a slice of addresses ── ask_names
//!         ── names, the identity they are of ─────▶ take_names, which compares it with the recorded one
//! ```

use perftab_images::{
    Candidate, Finding, ForceError, ForcedFile, MatchedFile, NameAnswer, NameRequest, NamingDepth,
    Outcome, Refusal, Ticket,
};
use perftab_names::{NamingWork, Status};
use perftab_perfdata::format::package_note::PackageNote;
use perftab_perfdata::map::Set;
use perftab_profile::{DsoId, DsoKind};

use super::Session;
use super::trees::Trees;

/// What is being named.
#[derive(Default)]
pub(super) struct Naming {
    depth: NamingDepth,
    works: Vec<NamingWork>,
    /// Whether names were taken in that views do not show yet.
    has_unshown: bool,
    last_ticket: Ticket,
}

impl Naming {
    /// Whether names were taken in that views do not show yet.
    pub fn has_unshown(&self) -> bool {
        self.has_unshown
    }

    /// Views show all names that there are.
    pub fn all_shown(&mut self) {
        self.has_unshown = false;
    }
}

/// How far the naming of frames has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamingProgress {
    /// Frames named.
    pub done: usize,
    /// Frames of the DSOs that files were admitted for since the last time this was complete.
    pub total: usize,
}

impl NamingProgress {
    /// True if every frame that can have a name has it.
    pub fn is_complete(self) -> bool {
        self.done == self.total
    }
}

impl Session {
    /// How deep the frames of files that are admitted from now on are named.
    pub fn set_naming_depth(&mut self, depth: NamingDepth) {
        self.naming.depth = depth;
    }

    /// What was set last.
    pub(super) fn naming_depth(&self) -> NamingDepth {
        self.naming.depth
    }

    /// Takes in what files turned out to be. The frames of those that match are to be named.
    pub fn take_findings(&mut self, findings: Vec<Finding>) {
        for Finding { name, package, outcome } in findings {
            let concerned = match outcome {
                Outcome::Matched(file) => self.matched(&name, file),
                Outcome::Shared { mut dsos } => {
                    dsos.retain(|dso| dso.index() < self.profile.dsos.len());
                    for &dso in &dsos {
                        self.ledger.completed(dso);
                        self.begin_naming(dso);
                    }
                    dsos
                }
                Outcome::Memory { dsos } => dsos,
                Outcome::Refused(refusal) => self.refused(&name, refusal),
            };
            if let Some(package) = package {
                self.note_package(&concerned, &package);
            }
        }
    }

    /// A file passed the gate at the other end. Tells which DSOs it is of.
    fn matched(&mut self, name: &str, file: MatchedFile) -> Vec<DsoId> {
        let MatchedFile { identity, gives, mut dsos, unplaced } = file;
        dsos.retain(|&dso| self.recorded.admits(dso, identity));
        for &dso in &dsos {
            self.unforce(dso);
            if self.ledger.row(dso).status != Status::Forced {
                self.ledger.matched(dso, name, gives);
            } // Else a link brought forced names, which no file replaces.
            if let Some((_, why)) = unplaced.iter().find(|(of, _)| *of == dso) {
                self.ledger.unplaced(dso, why);
            }
            self.begin_naming(dso);
            let kind = self.profile.dsos.get(dso).kind;
            if gives.unwinding && matches!(kind, DsoKind::User | DsoKind::Vdso) {
                self.unwound.add_unwindable(dso);
            }
        }
        dsos
    }

    /// Says in the ledger why a file is not used, wherever somebody may have thought that it is. Tells
    /// where that is.
    fn refused(&mut self, name: &str, refusal: Refusal) -> Vec<DsoId> {
        let Refusal { why, candidate, other_build } = refusal;
        if let Some(other) = other_build {
            self.ledger.other_build(other);
        }
        let concerned = match candidate {
            Candidate::Namesakes => self.recorded.named_like(name),
            Candidate::Kernels => self.recorded.kernels().collect(),
            Candidate::OfCodeTable => self.of_code_table(name),
        };
        concerned.iter().for_each(|&dso| self.ledger.note(dso, name, &why));
        concerned
    }

    fn note_package(&mut self, dsos: &[DsoId], package: &PackageNote) {
        dsos.iter().for_each(|&dso| self.ledger.note_package(dso, package));
    }

    /// The frames of a DSO are to be named again; what was to be said of them before is not awaited.
    pub(super) fn begin_naming(&mut self, dso: DsoId) {
        let Naming { depth, works, last_ticket, .. } = &mut self.naming;
        if works.iter().all(NamingWork::is_done) {
            works.clear();
        }
        works.retain(|work| work.dso() != dso);
        self.data.file_came(dso);
        *last_ticket = Ticket(last_ticket.0 + 1);
        works.push(self.symbols.begin(&self.profile, dso, *depth, *last_ticket));
    }

    /// DSOs that files name are to be named again if they have frames from this number on.
    pub(super) fn name_again(&mut self, known_frames: usize) {
        let mut more = Set::new();
        more.extend(self.profile.frames.iter().skip(known_frames).map(|(_, frame)| frame.dso));
        let is_matched = |&dso: &DsoId| {
            matches!(self.ledger.row(dso).status, Status::Matched | Status::NoSymbols)
        };
        let matched: Vec<DsoId> = more.iter().copied().filter(is_matched).collect();
        matched.into_iter().for_each(|dso| self.begin_naming(dso));
    }

    /// Asks for the names of the next addresses of a DSO, at most so many; `None` if all were asked for
    /// that are to be named.
    pub fn ask_names(&mut self, most: usize) -> Option<NameRequest> {
        let works = &mut self.naming.works;
        works.iter_mut().find_map(|work| work.ask(&self.profile, most))
    }

    /// Takes in what is said of addresses; views have it after [`Self::show_names`]. What is not of the
    /// build that was recorded, cannot be right, or was asked for before a newer file came, names nothing.
    pub fn take_names(&mut self, answer: &NameAnswer) {
        let works = &mut self.naming.works;
        let Some(work) = works.iter_mut().find(|work| work.ticket() == answer.ticket) else {
            return;
        };
        let is_taken = self.symbols.change().take(work, &self.profile, &self.recorded, answer);
        if let (true, Some(lost)) = (is_taken && work.is_done(), &answer.lost) {
            self.ledger.lost_inlines(work.dso(), lost);
        }
        if is_taken {
            self.naming.has_unshown = true;
            self.next_trees = Trees::default();
        }
    }

    /// Views show all names that were taken in: together, since each time call nodes get other numbers.
    pub fn show_names(&mut self) {
        if self.naming.has_unshown {
            self.show_prepared();
        }
    }

    /// Nothing more is said of what was asked: whoever has the files is gone. The ledger says why.
    pub fn lose_names(&mut self, why: &str) {
        for work in self.naming.works.iter_mut().filter(|work| !work.is_done()) {
            let dso = work.dso();
            work.end();
            self.ledger.lost(dso, self.profile.dsos.get(dso), why);
        }
    }

    /// How far it is.
    pub fn naming_progress(&self) -> NamingProgress {
        self.naming.works.iter().fold(NamingProgress { done: 0, total: 0 }, |sum, work| {
            let (done, total) = work.progress();
            NamingProgress { done: sum.done + done, total: sum.total + total }
        })
    }

    /// Where the code of a DSO lies that a file may name on which the user insists: see
    /// [`Images::insist`](perftab_images::Images::insist).
    pub fn forceable(&self, dso: DsoId) -> Result<Vec<u64>, ForceError> {
        match dso.index() < self.profile.dsos.len() {
            true => Ok(self.symbols.forceable(&self.profile, dso)),
            false => Err(ForceError::NoSuchDso),
        }
    }

    /// Takes in the names of a file that the user insists on, and marks each; they stay until
    /// [`Self::unforce`] or until a file comes that matches. Tells how many frames got one; at least one.
    pub fn take_forced(&mut self, dso: DsoId, file: &ForcedFile) -> Result<usize, ForceError> {
        if dso.index() >= self.profile.dsos.len() {
            return Err(ForceError::NoSuchDso);
        }
        self.check_forceable(dso)?;
        self.unforce(dso);
        let frames = self.symbols.change().force(&self.profile, dso, &file.names)?;
        self.names_changed();
        self.ledger.forced(dso, &file.name, file.found);
        Ok(frames)
    }

    /// Nothing is forced upon a DSO that has names of the right build.
    pub(super) fn check_forceable(&self, dso: DsoId) -> Result<(), ForceError> {
        match self.ledger.row(dso).status {
            Status::Matched | Status::Embedded | Status::NoSymbols | Status::SelfNamed => {
                Err(ForceError::HasNames)
            }
            _ => Ok(()),
        }
    }

    /// Takes forced names away: addresses are shown again, and the ledger says what it said before.
    /// Names that were forced before a link was made stay, with their mark.
    pub fn unforce(&mut self, dso: DsoId) {
        if self.ledger.unforced(dso).is_some() {
            self.symbols.change().unforce(dso);
            self.names_changed();
        }
    }
}
