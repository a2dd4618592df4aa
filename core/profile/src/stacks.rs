//! Call stacks, interned as a prefix tree.

use perftab_perfdata::map::secret;

use super::id_table::IdTable;
use super::{FrameId, StackId};

/// All stacks. A stack is its caller's stack and one more frame, so a prefix always has a lower
/// id than the stacks that grow from it, and one pass in ascending order sees callers first.
#[derive(Clone, Debug)]
pub struct Stacks {
    rows: Vec<Row>,
    index: IdTable,
    /// By stack: the hash of its frames, from a beginning that no file can know. With `index`, what is
    /// only needed to add stacks.
    hashes: Vec<u32>,
}

/// A stack's caller and its innermost frame. Side by side, because they are compared together
/// and most of them are not in the processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    prefix: StackId,
    frame: FrameId,
}

/// Frames that are looked up together.
const AT_ONCE: usize = 32;

impl Default for Stacks {
    fn default() -> Self {
        let empty = Row { prefix: Self::EMPTY, frame: Self::END };
        Self { rows: vec![empty], index: IdTable::default(), hashes: Vec::new() }
    }
}

impl Stacks {
    /// The stack without frames.
    pub const EMPTY: StackId = StackId(0);

    /// No frame has this number: it ends a chain.
    pub(crate) const END: FrameId = FrameId(u32::MAX);

    /// `prefix` with `frame` called from it, new or known.
    pub fn intern(&mut self, prefix: StackId, frame: FrameId) -> StackId {
        self.find_hashes();
        let hash = hash_of(self.hashes[prefix.index()], frame);
        self.add(Row { prefix, frame }, hash)
    }

    /// The stacks of chains of frames, new or known: of each chain its frames, outermost first, and
    /// [`Self::END`]. `found` gets them in that order.
    ///
    /// The hash of a stack is that of its frames, not of its caller's number, so that the hashes
    /// of many chains are known before any of them is found. Then all slots are read, then all
    /// rows, and only then the chains are followed: the processor waits for memory twice, where
    /// one step after the other it would twice for each frame.
    pub(crate) fn intern_chains(&mut self, frames: &[FrameId], mut found: impl FnMut(StackId)) {
        self.find_hashes();
        let (mut stack, mut hash) = (Self::EMPTY, self.hashes[0]);
        for frames in frames.chunks(AT_ONCE) {
            let mut hashes = [0; AT_ONCE];
            let mut guesses = [Self::EMPTY; AT_ONCE];
            for (at, &frame) in frames.iter().enumerate() {
                if frame == Self::END {
                    hash = self.hashes[0];
                    continue;
                }
                hash = hash_of(hash, frame);
                hashes[at] = hash;
                guesses[at] = StackId(self.index.guess(hash).unwrap_or_default());
            }
            let guessed = guesses.map(|guess| self.rows[guess.index()]);
            for (at, &frame) in frames.iter().enumerate() {
                if frame == Self::END {
                    found(std::mem::replace(&mut stack, Self::EMPTY));
                    continue;
                }
                let row = Row { prefix: stack, frame };
                stack = match guessed[at] == row {
                    true => guesses[at],
                    false => self.add(row, hashes[at]),
                };
            }
        }
    }

    fn add(&mut self, row: Row, hash: u32) -> StackId {
        let Self { rows, index, hashes } = self;
        let equals = |other: u32| rows[other as usize] == row;
        let id = index.find_or_insert(rows.len(), hash, equals, |other| hashes[other as usize]);
        if id as usize == rows.len() {
            rows.push(row);
            hashes.push(hash);
        }
        StackId(id)
    }

    /// Hashes are there for all stacks, as they are unless the index was dropped.
    fn find_hashes(&mut self) {
        for row in &self.rows[self.hashes.len()..] {
            let prefix = self.hashes.get(row.prefix.index()).copied().unwrap_or_else(secret);
            self.hashes.push(hash_of(prefix, row.frame));
        }
    }

    /// Gives back what is only needed to add stacks; it is made anew when one is added.
    pub fn drop_index(&mut self) {
        self.index = IdTable::default();
        self.hashes = Vec::new();
        self.rows.shrink_to_fit();
    }

    /// The caller's stack and the innermost frame; `None` for [`Self::EMPTY`].
    pub fn get(&self, id: StackId) -> Option<(StackId, FrameId)> {
        let row = self.rows[id.index()];
        (id != Self::EMPTY).then_some((row.prefix, row.frame))
    }

    /// The frames, innermost first.
    pub fn frames(&self, id: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = id;
        std::iter::from_fn(move || {
            let (prefix, frame) = self.get(next)?;
            next = prefix;
            Some(frame)
        })
    }

    /// How many there are, [`Self::EMPTY`] included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is none but [`Self::EMPTY`].
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

#[inline(always)]
fn hash_of(prefix: u32, frame: FrameId) -> u32 {
    // Numbers of frames are dense, so their low bits tell them apart; all bits of the other must count.
    let both = u64::from(frame.0) << 32 | u64::from(prefix);
    let mixed = both.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains as lists beside the stacks that were made of them, one frame at a time or at once,
    /// with the index dropped on the way.
    #[test]
    fn chains_are_the_same_at_once_and_frame_by_frame() {
        let mut stacks = Stacks::default();
        let mut known: Vec<(Vec<FrameId>, StackId)> = Vec::new();
        let mut state = 1u64;
        for round in 0..3000 {
            let mut random = |below: u64| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 33) % below
            };
            let depth = random(40) as usize;
            let chain: Vec<_> = (0..depth).map(|_| FrameId(random(3) as u32)).collect();
            let stack = match random(2) {
                0 => {
                    // The same twice, one after the other, and none between them.
                    let ended = [&chain[..], &[Stacks::END, Stacks::END], &chain, &[Stacks::END]];
                    let mut found = Vec::new();
                    stacks.intern_chains(&ended.concat(), |stack| found.push(stack));
                    assert_eq!(found, [found[0], Stacks::EMPTY, found[0]]);
                    found[0]
                }
                _ => chain.iter().fold(Stacks::EMPTY, |stack, &f| stacks.intern(stack, f)),
            };
            let mut read: Vec<_> = stacks.frames(stack).collect();
            read.reverse();
            assert_eq!(read, chain);
            for (other, id) in &known {
                assert_eq!(*id == stack, *other == chain);
            }
            if round % 10 == 0 {
                known.push((chain, stack));
            }
            if round % 1000 == 999 {
                stacks.drop_index();
            }
        }
        let prefixes: perftab_perfdata::map::Set<_> = (1..stacks.len() as u32)
            .map(|id| stacks.get(StackId(id)).expect("it is not empty"))
            .collect();
        assert_eq!(prefixes.len(), stacks.len() - 1, "each is there once");
    }
}
