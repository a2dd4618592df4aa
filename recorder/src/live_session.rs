//! A stream of records as it comes, and the session of what was read of it so far.

use std::collections::HashSet;

use perftab_core::session::{Opening, Session};
use perftab_core::{DsoId, NamingDepth};
use perftab_perfdata::decode::{ByteSource, ReadError};

use crate::images::search::{self, NewCopies};

/// What becomes of callers that chains by frame pointers lack (arm64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafCallers {
    /// They are looked for.
    Found,
    /// Nobody looks at callers.
    LeftOut,
}

/// What came since the stream began.
pub struct LiveSession {
    copies: NewCopies,
    leaf_callers: LeafCallers,
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
    pub fn new(copies: NewCopies, leaf_callers: LeafCallers) -> Self {
        Self { copies, leaf_callers, opening: None, session: None, sought: HashSet::new() }
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
        *self = Self { opening: Some(opening), ..Self::new(self.copies, self.leaf_callers) };
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
        self.find_leaf_callers(&mut later);
        let wanted: Vec<DsoId> = later.wanted().iter().map(|wanted| wanted.dso).collect();
        if wanted.iter().all(|dso| self.sought.contains(dso)) {
            search::offer_code_of_processes(&mut later);
        } else {
            search::name_frames_here(&mut later, self.copies);
            self.sought.extend(wanted);
            if self.find_leaf_callers(&mut later) {
                // They may be in other files.
                search::name_frames_here(&mut later, self.copies);
                self.sought.extend(later.wanted().iter().map(|wanted| wanted.dso));
            }
        }
        self.session = Some(later);
    }

    /// True if there was something to look at.
    fn find_leaf_callers(&self, session: &mut Session) -> bool {
        self.leaf_callers == LeafCallers::Found && session.find_leaf_callers()
    }

    /// What was read so far; `None` before the first refresh.
    pub fn session(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }
}
