//! Copies of stacks that were kept, unwound by several threads: each puts all copies together again, which takes little,
//! and walks those that are its own.

use std::num::NonZeroUsize;
use std::sync::Arc;

use perftab_images::UnwoundMachine;
use perftab_profile::ingest::KeptReading;
use perftab_profile::{FrameId, Frames, Profile};

use super::chains::{WalkedChains, WalkedRow};
use super::walker::{Due, Tables, Walker};
use super::{CallerGuesses, Unwinding, UnwoundRow};

/// Copies one after the other that one thread walks: two of a thread have most of their callers in common.
const RUN: usize = 256;

/// What one thread unwinds.
pub struct UnwindingShare {
    machine: UnwoundMachine,
    profile: Arc<Profile>,
    tables: Tables,
    guesses: CallerGuesses,
    due: Due,
    before: Arc<Vec<UnwoundRow>>,
    kept: KeptReading,
    /// Its number among so many.
    number: usize,
    of: NonZeroUsize,
}

/// What one thread has unwound.
pub struct UnwoundShare {
    frames: Frames,
    chains: WalkedChains,
    done: Vec<WalkedRow>,
}

impl UnwindingShare {
    /// Unwinds it all.
    pub fn unwind(mut self) -> UnwoundShare {
        let mut walker = Walker::new(self.machine, self.profile, self.tables, self.guesses);
        (walker.due, walker.before) = (self.due, self.before);
        loop {
            let (number, _) = self.kept.progress();
            let Some(row) = self.kept.go_on() else { break };
            if number / RUN % self.of == self.number {
                walker.unwind_kept_row(row, &mut self.kept);
            }
        }
        walker.into_share()
    }
}

impl Unwinding {
    /// What each of so many threads is to unwind of the copies that were kept when the recording was read; `None` if
    /// they were not.
    pub fn shares(&mut self, of: NonZeroUsize) -> Option<Vec<UnwindingShare>> {
        let kept = self.kept.take()?;
        let walker = self.walker.borrow();
        let walker = walker.as_ref()?;
        let share = |number| UnwindingShare {
            machine: walker.machine,
            profile: Arc::clone(&walker.profile),
            tables: walker.tables.clone(),
            guesses: walker.guesses,
            due: walker.due.clone(),
            before: Arc::clone(&walker.before),
            kept: kept.again(),
            number,
            of,
        };
        Some((0..of.get()).map(share).collect())
    }

    /// Takes in what a thread has unwound.
    pub fn take_share(&mut self, share: UnwoundShare) {
        if let Some(walker) = self.walker.borrow_mut().as_mut() {
            walker.take_share(share);
        }
    }
}

impl Walker {
    fn into_share(self) -> UnwoundShare {
        let Self { frames, chains, done, .. } = self;
        UnwoundShare { frames, chains, done }
    }

    fn take_share(&mut self, UnwoundShare { frames: met, chains: walked, done }: UnwoundShare) {
        // The first one is taken as it is: nothing is numbered otherwise yet.
        if self.done.is_empty() {
            (self.frames, self.chains, self.done) = (met, walked, done);
            return;
        }
        let known = self.profile.frames.len();
        let frame = |id: FrameId| match id.index() < known {
            true => id,
            false => self.frames.intern(met.get(id)),
        };
        let of_frames: Vec<FrameId> =
            (0..met.len()).map(|id| FrameId(id as u32)).map(frame).collect();
        let of_chains = self.chains.take(&walked, &of_frames);
        self.done.extend(done.into_iter().map(|it| WalkedRow {
            chain: of_chains[it.chain.index()],
            innermost: it.innermost.map(|frame| of_frames[frame.index()]),
            ..it
        }));
    }
}
