//! A stream of records as it comes, and the session of what was read of it so far.

use std::collections::HashSet;

use perftab_core::session::{Opening, Session};
use perftab_core::{DsoId, NamingDepth};
use perftab_perfdata::decode::{ByteSource, ReadError};

use crate::images::search::{self, NewCopies};

/// What came since the stream began.
pub struct LiveSession {
    copies: NewCopies,
    opening: Option<Opening>,
    session: Option<Session>,
    /// DSOs that this machine was searched for.
    sought: HashSet<DsoId>,
}

/// A stream of which the beginning is there, and no end.
struct Unending<'a>(&'a [u8]);

impl ByteSource for Unending<'_> {
    fn len(&self) -> u64 {
        u64::MAX
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        buffer.fill(0);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.0.get(from..).unwrap_or_default();
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        Ok(())
    }
}

impl LiveSession {
    /// Of no stream yet.
    pub fn new(copies: NewCopies) -> Self {
        Self { copies, opening: None, session: None, sought: HashSet::new() }
    }

    /// A stream begins, by what comes before its records. What was before is forgotten.
    pub fn begin(&mut self, head: &[u8]) -> anyhow::Result<()> {
        let mut opening = Opening::new(&[&Unending(head)])?;
        let read = opening.wants().and_then(|wanted| usize::try_from(wanted.offset).ok());
        let rest = read.and_then(|read| head.get(read..)).unwrap_or_default();
        // To push nothing says that there is no more.
        if !rest.is_empty() {
            opening.push(rest);
        }
        *self = Self { opening: Some(opening), ..Self::new(self.copies) };
        Ok(())
    }

    /// The same, of another stream of the same machine, whose DSOs have their files from the one before.
    pub fn restart(&mut self, head: &[u8]) -> anyhow::Result<()> {
        let session = self.session.take();
        self.begin(head)?;
        self.session = session;
        Ok(())
    }

    /// Takes whole records.
    pub fn push(&mut self, records: &[u8]) {
        if let Some(opening) = self.opening.as_mut().filter(|_| !records.is_empty()) {
            opening.push(records);
        }
    }

    /// Takes what has come since into the session, and names it by the files of this machine.
    pub fn refresh(&mut self) {
        if let Some(later) = self.opening.as_ref().and_then(Opening::so_far) {
            self.take(later);
        }
    }

    /// The same at the end, when nothing is waited for any more.
    pub fn finish(&mut self) {
        if let Some(opening) = self.opening.take() {
            self.take(opening.finish());
        }
    }

    fn take(&mut self, mut later: Session) {
        later.set_naming_depth(NamingDepth::Functions);
        if let Some(earlier) = &mut self.session {
            later.take_files_of(earlier);
        }
        let wanted: Vec<DsoId> = later.wanted().iter().map(|wanted| wanted.dso).collect();
        if wanted.iter().all(|dso| self.sought.contains(dso)) {
            search::offer_code_of_processes(&mut later);
        } else {
            search::name_frames_here(&mut later, self.copies);
            self.sought.extend(wanted);
        }
        self.session = Some(later);
    }

    /// What was read so far; `None` before the first refresh.
    pub fn session(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }
}
