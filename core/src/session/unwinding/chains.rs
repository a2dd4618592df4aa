//! What was walked, in whatever order it was met → stacks of the profile, numbered by the order of its rows.
//!
//! Copies of stacks are looked at as the recording has them, which is not in the order of time. Numbers of frames and
//! stacks must not depend on that: what is the same everywhere comes from them, as a host's blocks do not.

use std::sync::Arc;

use perftab_perfdata::sorting::sort_by_numbers;
use perftab_profile::{DsoKind, FrameId, Frames, Profile, StackId, Stacks};

use super::UnwoundRow;
use super::walker::Walker;

/// A row whose stack was walked.
pub(super) struct WalkedRow {
    pub row: UnwoundRow,
    /// In [`WalkedChains`].
    pub chain: StackId,
    /// The innermost frame that was walked.
    pub innermost: Option<FrameId>,
}

/// The frames that were walked.
#[derive(Default)]
pub(super) struct WalkedChains {
    chains: Stacks,
    /// The last one, outermost first, with what it was up to there. Two samples of a thread have most of their callers
    /// in common.
    last: Vec<(FrameId, StackId)>,
}

impl WalkedChains {
    /// Adds what was walked, innermost first, with what stands outside of it.
    pub fn add(&mut self, walked: &[FrameId], foot: Option<FrameId>) -> StackId {
        let Self { chains, last } = self;
        let frames = || foot.iter().chain(walked.iter().rev()).copied();
        let same = frames().zip(last.iter()).take_while(|(frame, known)| *frame == known.0).count();
        last.truncate(same);
        let mut chain = last.last().map_or(Stacks::EMPTY, |known| known.1);
        for frame in frames().skip(same) {
            chain = chains.intern(chain, frame);
            last.push((frame, chain));
        }
        chain
    }

    /// Adds chains of frames that are numbered otherwise: what they are here, by their numbers there.
    pub fn take(
        &mut self,
        Self { chains: other, .. }: &Self,
        of_frames: &[FrameId],
    ) -> Vec<StackId> {
        let mut here = vec![Stacks::EMPTY];
        // Callers stand before what they called.
        for id in 1..other.len() {
            let of = |(callers, frame): (StackId, FrameId)| {
                self.chains.intern(here[callers.index()], of_frames[frame.index()])
            };
            here.push(other.get(StackId(id as u32)).map_or(Stacks::EMPTY, of));
        }
        here
    }
}

/// Numbers frames and chains as the profile is to have them.
struct Numbering<'a> {
    profile: &'a Profile,
    met: &'a Frames,
    chains: &'a Stacks,
    frames: Frames,
    stacks: Stacks,
    /// By the number of a frame when it was met.
    of_frames: Vec<Option<FrameId>>,
    /// By chain.
    of_chains: Vec<Option<StackId>>,
    /// Memory.
    path: Vec<(StackId, FrameId)>,
    inner: Vec<FrameId>,
}

impl Numbering<'_> {
    fn frame(&mut self, met: FrameId) -> FrameId {
        let Self { met: all, frames, of_frames, .. } = self;
        *of_frames[met.index()].get_or_insert_with(|| frames.intern(all.get(met)))
    }

    fn chain(&mut self, chain: StackId) -> StackId {
        self.path.clear();
        let mut next = chain;
        while self.of_chains[next.index()].is_none()
            && let Some((callers, frame)) = self.chains.get(next)
        {
            let frame = self.frame(frame);
            self.path.push((next, frame));
            next = callers;
        }
        let mut stack = self.of_chains[next.index()].unwrap_or(Stacks::EMPTY);
        for &(chain, frame) in self.path.iter().rev() {
            stack = self.stacks.intern(stack, frame);
            self.of_chains[chain.index()] = Some(stack);
        }
        stack
    }

    /// The stack that was recorded, below the callers that were found: what of it ran in the kernel.
    fn stack(&mut self, walked: &WalkedRow) -> StackId {
        let callers = self.chain(walked.chain);
        let innermost = walked.innermost.map(|frame| self.frame(frame));
        let Self { profile, stacks, frames, inner, .. } = self;
        inner.clear();
        inner.extend(profile.stacks.frames(walked.row.recorded));
        let is_of_user = |frame: &FrameId| {
            let dso = profile.dsos.get(frames.get(*frame).dso);
            // Code of BPF programs is of no process.
            let is_made = dso.kind == DsoKind::Jit && dso.process.is_some();
            matches!(dso.kind, DsoKind::User | DsoKind::Vdso | DsoKind::Anon) || is_made
        };
        while let Some(outermost) = inner.last()
            && innermost.is_some()
            && (innermost == Some(*outermost) || is_of_user(outermost))
        {
            inner.pop();
        }
        inner.iter().rev().fold(callers, |stack, &frame| stacks.intern(stack, frame))
    }
}

/// What was walked, as the profile is to have it.
pub(super) struct Numbered {
    pub frames: Frames,
    pub stacks: Stacks,
    /// By row.
    pub rows: Vec<(UnwoundRow, StackId)>,
}

impl Walker {
    /// Numbers what was walked.
    pub fn number(&mut self) -> Numbered {
        let mut done = std::mem::take(&mut self.done);
        // Stable: of two of a sample the last counts.
        sort_by_numbers(&mut done, |it| (u64::from(it.row.row), 0));
        let profile = Arc::clone(&self.profile);
        let known = profile.frames.len();
        let of_frames = |id| (id < known).then_some(FrameId(id as u32));
        let mut of_chains = vec![None; self.chains.chains.len()];
        of_chains[Stacks::EMPTY.index()] = Some(Stacks::EMPTY);
        let mut numbering = Numbering {
            profile: &profile,
            met: &self.frames,
            chains: &self.chains.chains,
            frames: profile.frames.clone(),
            stacks: profile.stacks.clone(),
            of_frames: (0..self.frames.len()).map(of_frames).collect(),
            of_chains,
            path: Vec::new(),
            inner: Vec::new(),
        };
        let rows = done.iter().map(|it| (it.row, numbering.stack(it))).collect();
        let Numbering { frames, stacks, .. } = numbering;
        Numbered { frames, stacks, rows }
    }
}
