//! Naming the frames of a DSO again, slice by slice, in ascending order of address.
//!
//! The files may be anywhere: what is asked for and what is answered are plain values, and answers may
//! come when more was asked for already. Each has the identity of the files that it is from. It is
//! compared with the recorded one here as well, so that the gate holds at both ends, and the columns are
//! read as if a stranger had written them. An answer that cannot be right names nothing, and nor does
//! what comes after it.

use std::collections::VecDeque;

use perftab_images::{
    DsoImages, DsoNaming, MatchedNames, NameAnswer, NameRequest, NamingDepth, RecordedIdentities,
    Ticket,
};
use perftab_profile::{DsoId, FrameId, Profile};

use crate::symbols::{MetNames, Symbols};

/// A DSO being named.
pub struct NamingWork {
    ticket: Ticket,
    dso: DsoId,
    depth: NamingDepth,
    /// Those that are to be named.
    frames: Vec<FrameId>,
    /// How many of them were asked for.
    asked: usize,
    /// How many were answered; all of them if nothing more is to come.
    answered: usize,
    total: usize,
    /// Lengths of the slices between the two.
    awaited: VecDeque<usize>,
    met: MetNames,
}

impl NamingWork {
    /// Frames done with, and all that there are.
    pub fn progress(&self) -> (usize, usize) {
        (self.answered, self.total)
    }

    /// Whose frames they are.
    pub fn dso(&self) -> DsoId {
        self.dso
    }

    /// What its answers have.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// True if nothing is left.
    pub fn is_done(&self) -> bool {
        self.answered == self.total
    }

    /// Asks for the next addresses, at most so many; `None` if all were asked for.
    pub fn ask(&mut self, profile: &Profile, most: usize) -> Option<NameRequest> {
        let end = self.asked.saturating_add(most).min(self.frames.len());
        let slice = self.frames.get(self.asked..end).filter(|slice| !slice.is_empty())?;
        let addresses = slice.iter().map(|&frame| profile.frames.get(frame).address).collect();
        let request = NameRequest {
            ticket: self.ticket,
            dso: self.dso,
            depth: self.depth,
            first: self.asked as u32,
            addresses,
            rest: (self.frames.len() - end) as u32,
        };
        self.awaited.push_back(end - self.asked);
        self.asked = end;
        Some(request)
    }

    /// Nothing more is asked for or taken in.
    pub fn end(&mut self) {
        self.answered = self.total;
        self.frames = Vec::new();
        self.awaited = VecDeque::new();
        self.met = MetNames::default();
    }

    /// The names in an answer and how many frames they are of, if it can be right.
    fn check<'a>(
        &mut self,
        recorded: &RecordedIdentities,
        answer: &'a NameAnswer,
    ) -> Option<(&'a MatchedNames, usize)> {
        let length = self.awaited.pop_front()?;
        let is_next = answer.ticket == self.ticket && answer.first as usize == self.answered;
        let names = answer.names.as_ref().filter(|_| is_next)?;
        let (functions, files) = self.met.counts();
        let is_right =
            recorded.admits(self.dso, names.identity) && names.names.fit(length, functions, files);
        is_right.then_some((names, length))
    }
}

impl Symbols {
    /// Starts to name the frames of a DSO again.
    pub fn begin(
        &self,
        profile: &Profile,
        dso: DsoId,
        depth: NamingDepth,
        ticket: Ticket,
    ) -> NamingWork {
        let frames = self.open_frames(profile, dso);
        NamingWork {
            ticket,
            dso,
            depth,
            total: frames.len(),
            frames,
            asked: 0,
            answered: 0,
            awaited: VecDeque::new(),
            met: MetNames::default(),
        }
    }

    /// Takes in an answer; tells whether it did. Frames of which nothing is said keep the names that
    /// they had.
    pub fn take(
        &mut self,
        work: &mut NamingWork,
        profile: &Profile,
        recorded: &RecordedIdentities,
        answer: &NameAnswer,
    ) -> bool {
        let Some((MatchedNames { names, .. }, length)) = work.check(recorded, answer) else {
            work.end();
            return false;
        };
        let end = work.answered + length;
        let frames = &work.frames[work.answered..end];
        self.adopt(profile, work.dso, &mut work.met, frames, names);
        work.answered = end;
        if work.is_done() {
            work.end();
        }
        true
    }

    /// Names all frames of a DSO again at once, from the files matched with it.
    pub fn resolve(&mut self, profile: &Profile, dso: DsoId, images: &DsoImages) {
        let mut work = self.begin(profile, dso, NamingDepth::Inlined, Ticket::default());
        let mut naming = DsoNaming::new(dso, NamingDepth::Inlined);
        let recorded = RecordedIdentities::new(&profile.dsos);
        if let Some(request) = work.ask(profile, usize::MAX) {
            let answer = images.answer(&mut naming, profile.dsos.get(dso), &request);
            self.take(&mut work, profile, &recorded, &answer);
        }
    }
}

#[cfg(test)]
#[path = "naming_work_tests.rs"]
mod tests;
