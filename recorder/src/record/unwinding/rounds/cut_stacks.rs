//! Samples whose stacks are longer than their copies: they are walked on by what is known beyond these, or wait for it.

use std::mem;
use std::ops::Range;

use perftab_core::images::{StackCopy, Walk, WalkEnd};

use super::super::super::ring::TakenRecords;
use super::super::super::stack_sample::{Reached, Thread, Walkable};
use super::super::code::Passage;
use super::super::deep_stacks::{Beyond, DeepStacks, WalkedCopy};
use super::super::files::Reading;
use super::{Entry, Rounds, Written};

/// Bytes of copies that wait for the next round at most, until it is known how stacks go on.
const HELD_MAX: usize = 16 << 20;

/// Samples of a thread of which it is not known how their stacks go on.
#[derive(Default)]
pub struct CutStacks {
    /// In the order of time.
    samples: Vec<Cut>,
    /// Whether that of the latest has to be read.
    is_due: bool,
    /// Whether what was read did not lead to a root: no later sample helps.
    is_endless: bool,
}

/// One of them, walked to the end of its copy.
pub struct Cut {
    /// Where in the order of time.
    pub at: usize,
    /// Address of the first byte of its copy.
    pub start: u64,
    /// Its callers among those of the round.
    pub found: Range<usize>,
    /// Goes on with more of the stack.
    pub walk: Walk,
}

/// Whether samples may be passed on with the next round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MayWait {
    Yes,
    No,
}

impl Rounds {
    /// Walks a stack on if it is known how, and those of the same thread before it; takes note of it if not.
    pub(super) fn walk_on(
        &mut self,
        cut: Cut,
        written: Written,
        walkable: &Walkable<'_>,
        order: &mut [Entry],
        pieces: &[TakenRecords],
    ) -> Written {
        let (thread, time) = (walkable.thread, order[cut.at].time);
        let beyond = self.walk_beyond(&cut, Some(time), walkable);
        if let Beyond::Known(written) = beyond {
            self.walk_on_before(thread, order, pieces);
            return written;
        }
        let stacks = self.cut.entry(thread).or_default();
        stacks.samples.push(cut);
        stacks.is_due = !matches!(beyond, Beyond::ReadLater);
        stacks.is_endless |= matches!(beyond, Beyond::NoRoot);
        written
    }

    /// Walks stacks of a thread on that were copied before the rest was read: a later copy has shown that it holds.
    fn walk_on_before(&mut self, thread: Thread, order: &mut [Entry], pieces: &[TakenRecords]) {
        let samples = self.cut.remove(&thread).unwrap_or_default().samples;
        for cut in samples.into_iter().rev() {
            let record = order[cut.at].record(pieces);
            let walkable = record.and_then(|(_, record)| self.records.samples.walkable(record));
            let Some(walkable) = walkable else { return };
            let Beyond::Known(written) = self.walk_beyond(&cut, None, &walkable) else { return };
            order[cut.at].written = written;
        }
    }

    /// Takes note of a stack that is not longer than its copy, or of which nobody knows: whatever the thread had beyond is
    /// gone, or is about to go.
    pub(super) fn note_uncut(&mut self, written: Written, walkable: &Walkable<'_>) -> Written {
        let Self { records, spaces, deep_stacks, .. } = self;
        let thread = walkable.thread;
        self.cut.remove(&thread);
        let space = spaces.of(thread.pid).filter(|_| deep_stacks.has(thread));
        let registers = space.and_then(|space| records.registers(walkable, space));
        if let Some(start) = registers.map(|it| it.stack_pointer()) {
            match written {
                Written::Walked { .. } => deep_stacks.update(thread, start, walkable.stack),
                // There may be more of it, which is not known to go on as what is known.
                Written::Whole | Written::Cut(_) | Written::InTheNext => {
                    deep_stacks.leave(thread, start)
                }
            }
        }
        written
    }

    /// Walks a stack to its root by what is known beyond its copy. Of a copy without a time it is known by now.
    fn walk_beyond(
        &mut self,
        cut: &Cut,
        time: Option<u64>,
        walkable: &Walkable<'_>,
    ) -> Beyond<Written> {
        let Self { spaces, code, deep_stacks, callers, fared, .. } = self;
        let (thread, start, bytes) = (walkable.thread, cut.start, walkable.stack);
        let (space, frames) = (spaces.of(thread.pid), callers.frames(&cut.found));
        let (Some(space), Some(frames)) = (space, frames) else { return Beyond::Unknown };
        let walked = WalkedCopy { start, bytes, frames };
        let known = match time {
            Some(time) => deep_stacks.known(thread, &walked, time),
            None => deep_stacks.known_by_now(thread, &walked),
        };
        let beyond = match known {
            Beyond::Known(beyond) => beyond,
            Beyond::Unknown => return Beyond::Unknown,
            Beyond::NoRoot => return Beyond::NoRoot,
            Beyond::ReadLater => return Beyond::ReadLater,
        };
        let (from, mut walk) = (callers.len(), cut.walk.clone());
        // The last one is entered again.
        callers.repeat(cut.found.start..cut.found.end - 1);
        let mut passage = Passage::new(code, space, thread.pid, Reading::Allowed, callers);
        // It may have as many frames as its copy, which is as many as a record has room for.
        let end = walk.go(&mut passage, &StackCopy { start, bytes, beyond });
        let is_root = matches!(end, WalkEnd::Root) && walk.signals() == 0;
        deep_stacks.note_end(thread, is_root.then(|| walk.registers().stack_pointer()));
        if !is_root {
            callers.truncate(from);
            return Beyond::NoRoot;
        }
        fared.cut -= 1;
        fared.walked += 1;
        fared.beyond += 1;
        let (from, to) = (from as u32, callers.len() as u32);
        let reached = Reached::RootBehind(cut.found.len());
        Beyond::Known(Written::Walked { from, to, reached })
    }

    /// Reads how stacks go on of which this is not known. Samples from before that, which agree with it, wait for the next
    /// round if they may, as a later one may show that it holds for them: a first round may have taken long, as tables were
    /// loaded. False if some wait.
    pub(super) fn read_beyond(
        &mut self,
        order: &mut [Entry],
        pieces: &[TakenRecords],
        horizon: u64,
        may_wait: MayWait,
    ) -> bool {
        let mut room = HELD_MAX;
        for (thread, CutStacks { samples, is_due, is_endless }) in mem::take(&mut self.cut) {
            if let Some(latest) = samples.last().filter(|_| is_due) {
                self.look(latest, order, pieces, |deep, copy| deep.read(thread, copy));
            }
            if is_endless || may_wait == MayWait::No {
                continue;
            }
            for cut in samples.into_iter().rev() {
                // Readers sort what stands between every second word of whole rounds, and would go on without it.
                if order[cut.at].time <= self.told[1] {
                    break;
                }
                let waits = |deep: &mut DeepStacks, copy: &WalkedCopy<'_>| {
                    deep.may_hold(thread, copy, horizon).then_some(copy.bytes.len())
                };
                let size = self.look(&cut, order, pieces, waits).flatten();
                let Some(left) = size.and_then(|size| room.checked_sub(size)) else { break };
                room = left;
                order[cut.at].written = Written::InTheNext;
                self.fared.cut -= 1;
                self.fared.held += 1;
            }
        }
        room == HELD_MAX
    }

    /// Has `then` look at the copy of a sample, with what is known of stacks.
    fn look<T>(
        &mut self,
        cut: &Cut,
        order: &[Entry],
        pieces: &[TakenRecords],
        then: impl FnOnce(&mut DeepStacks, &WalkedCopy<'_>) -> T,
    ) -> Option<T> {
        let (_, record) = order.get(cut.at)?.record(pieces)?;
        let bytes = self.records.samples.walkable(record)?.stack;
        let frames = self.callers.frames(&cut.found)?;
        Some(then(&mut self.deep_stacks, &WalkedCopy { start: cut.start, bytes, frames }))
    }
}
