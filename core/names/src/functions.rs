//! The functions of a profile, by number.
//!
//! Before anything is matched every frame is a function of its own, so there may be millions
//! without a name. Those are numbered like the frames and cost twelve bytes each; only what has a
//! name is looked up by hash.

use std::collections::HashMap;

use perftab_profile::{DsoId, FrameId, Profile, StringId};

/// A function in [`super::Symbols`]: the unit that views show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// How a name came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// There is no name.
    Unnamed,
    /// From a file with the recorded identity.
    Matched,
    /// From the recording, which carries symbols of the recorded build.
    Embedded,
    /// From a file of another build, at the user's insistence.
    Forced,
}

/// What makes a function that one and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FunctionKey {
    Named { dso: DsoId, name: StringId, provenance: Provenance },
    Unnamed { dso: DsoId, address: u64 },
}

/// All functions.
#[derive(Default)]
pub(super) struct Functions {
    /// By frame: the DSO and address of the function that it is without a name.
    dsos: Vec<DsoId>,
    addresses: Vec<u64>,
    /// Those after them.
    others: Vec<FunctionKey>,
    ids: HashMap<FunctionKey, FunctionId>,
}

impl Functions {
    /// One for each frame.
    pub fn of_frames(profile: &Profile) -> Self {
        let frames = || profile.frames.iter().map(|(_, frame)| frame);
        Self {
            dsos: frames().map(|frame| frame.dso).collect(),
            addresses: frames().map(|frame| frame.address).collect(),
            ..Self::default()
        }
    }

    /// The function that a frame is while it has no name.
    pub fn of_frame(frame: FrameId) -> FunctionId {
        FunctionId(frame.0)
    }

    /// A function that is not just a frame without a name.
    pub fn intern(&mut self, key: FunctionKey) -> FunctionId {
        let (first, others) = (self.dsos.len(), &mut self.others);
        *self.ids.entry(key).or_insert_with(|| {
            others.push(key);
            FunctionId((first + others.len() - 1) as u32)
        })
    }

    /// The function of a key, if it was met.
    pub fn find(&self, key: FunctionKey) -> Option<FunctionId> {
        self.ids.get(&key).copied()
    }

    pub fn get(&self, id: FunctionId) -> FunctionKey {
        let row = id.0 as usize;
        match self.dsos.get(row) {
            Some(&dso) => FunctionKey::Unnamed { dso, address: self.addresses[row] },
            None => self.others[row - self.dsos.len()],
        }
    }

    pub fn len(&self) -> usize {
        self.dsos.len() + self.others.len()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.dsos.capacity() * size_of::<DsoId>()
            + self.addresses.capacity() * size_of::<u64>()
            + self.others.capacity() * size_of::<FunctionKey>()
            + self.ids.capacity() * size_of::<(FunctionKey, FunctionId)>()
    }
}
