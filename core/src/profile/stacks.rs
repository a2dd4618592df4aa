//! Call stacks, interned as a prefix tree.

use super::id_table::{IdTable, hash_pair};
use super::{FrameId, StackId};

/// All stacks. A stack is its caller's stack and one more frame, so a prefix always has a lower
/// id than the stacks that grow from it, and one pass in ascending order sees callers first.
#[derive(Clone, Debug)]
pub struct Stacks {
    prefix: Vec<StackId>,
    frame: Vec<FrameId>,
    index: IdTable,
}

impl Default for Stacks {
    fn default() -> Self {
        Self {
            prefix: vec![Self::EMPTY],
            frame: vec![FrameId(u32::MAX)],
            index: IdTable::default(),
        }
    }
}

impl Stacks {
    /// The stack without frames.
    pub const EMPTY: StackId = StackId(0);

    /// `prefix` with `frame` called from it, new or known.
    pub fn intern(&mut self, prefix: StackId, frame: FrameId) -> StackId {
        let Self { prefix: prefixes, frame: frames, index } = self;
        let hash = |row: u32| {
            hash_pair(u64::from(prefixes[row as usize].0), u64::from(frames[row as usize].0))
        };
        let id = index.find_or_insert(
            prefixes.len(),
            hash_pair(u64::from(prefix.0), u64::from(frame.0)),
            |row| prefixes[row as usize] == prefix && frames[row as usize] == frame,
            hash,
        );
        if id as usize == prefixes.len() {
            prefixes.push(prefix);
            frames.push(frame);
        }
        StackId(id)
    }

    /// The caller's stack and the innermost frame; `None` for [`Self::EMPTY`].
    pub fn get(&self, id: StackId) -> Option<(StackId, FrameId)> {
        (id != Self::EMPTY).then(|| (self.prefix[id.index()], self.frame[id.index()]))
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
        self.prefix.len()
    }

    /// True if there is none but [`Self::EMPTY`].
    pub fn is_empty(&self) -> bool {
        self.prefix.len() == 1
    }
}
