//! The functions of a profile, by number.
//!
//! Before anything is matched every frame is a function of its own, so there may be millions
//! without a name. Those are numbered like the frames and cost twelve bytes each; only what has a
//! name is looked up by hash. The others are numbered by themselves, so that neither new frames nor
//! new names change a number.

use perftab_perfdata::map::Map;

use perftab_profile::{DsoId, FrameId, Profile, StringId};

/// A function in [`super::Symbols`]: the unit that views show. A frame without a name, by the number of
/// the frame, or one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// What the numbers of functions begin with that are not just a frame without a name.
const OTHERS: u32 = 1 << 31;

impl FunctionId {
    fn other(row: usize) -> Self {
        Self(OTHERS | row as u32)
    }

    /// The frame that it is, if it is just one without a name.
    pub fn as_frame(self) -> Option<FrameId> {
        (self.0 < OTHERS).then_some(FrameId(self.0))
    }

    /// Its row among those of frames, or among the others.
    fn row(self) -> Row {
        match self.as_frame() {
            Some(frame) => Row::OfFrame(frame.index()),
            None => Row::Other((self.0 & !OTHERS) as usize),
        }
    }
}

enum Row {
    OfFrame(usize),
    Other(usize),
}

/// Something for each function, all of which are `empty` first. As quick as a column: a table by hash
/// took a third of the time of a report.
#[derive(Clone, Debug, Default)]
pub struct ByFunction<T> {
    of_frames: Vec<T>,
    of_others: Vec<T>,
    empty: T,
}

impl<T: Copy> ByFunction<T> {
    /// Takes room as functions are met.
    pub fn new(empty: T) -> Self {
        Self { of_frames: Vec::new(), of_others: Vec::new(), empty }
    }

    /// What a function has.
    pub fn get(&self, id: FunctionId) -> T {
        let known = match id.row() {
            Row::OfFrame(row) => self.of_frames.get(row),
            Row::Other(row) => self.of_others.get(row),
        };
        known.copied().unwrap_or(self.empty)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: FunctionId) -> &mut T {
        let (column, row) = match id.row() {
            Row::OfFrame(row) => (&mut self.of_frames, row),
            Row::Other(row) => (&mut self.of_others, row),
        };
        if row >= column.len() {
            column.resize((row + 1).next_power_of_two(), self.empty);
        }
        &mut column[row]
    }
}

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
    /// From the process that ran it, which made the code itself.
    SelfNamed,
}

/// What makes a function that one and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FunctionKey {
    Named { dso: DsoId, name: StringId, provenance: Provenance },
    Unnamed { dso: DsoId, address: u64 },
}

/// All functions.
#[derive(Clone, Default)]
pub(super) struct Functions {
    /// By frame: the DSO and address of the function that it is without a name.
    dsos: Vec<DsoId>,
    addresses: Vec<u64>,
    /// Those after them.
    others: Vec<FunctionKey>,
    ids: Map<FunctionKey, FunctionId>,
}

impl Functions {
    /// One more for each frame that has none yet.
    pub fn extend(&mut self, profile: &Profile) {
        let known = self.dsos.len();
        let frames = || profile.frames.iter().skip(known).map(|(_, frame)| frame);
        self.dsos.extend(frames().map(|frame| frame.dso));
        self.addresses.extend(frames().map(|frame| frame.address));
    }

    /// The function that a frame is while it has no name.
    pub fn of_frame(frame: FrameId) -> FunctionId {
        FunctionId(frame.0)
    }

    /// A function that is not just a frame without a name.
    pub fn intern(&mut self, key: FunctionKey) -> FunctionId {
        let others = &mut self.others;
        *self.ids.entry(key).or_insert_with(|| {
            others.push(key);
            FunctionId::other(others.len() - 1)
        })
    }

    /// The function of a key, if it was met.
    pub fn find(&self, key: FunctionKey) -> Option<FunctionId> {
        self.ids.get(&key).copied()
    }

    pub fn get(&self, id: FunctionId) -> FunctionKey {
        match id.row() {
            Row::OfFrame(row) => {
                FunctionKey::Unnamed { dso: self.dsos[row], address: self.addresses[row] }
            }
            Row::Other(row) => self.others[row],
        }
    }

    /// All there are, those of frames first.
    pub fn ids(&self) -> impl Iterator<Item = FunctionId> + Clone + use<> {
        let of_frames = (0..self.dsos.len() as u32).map(FunctionId);
        of_frames.chain((0..self.others.len()).map(FunctionId::other))
    }

    /// The function of a number from outside; `None` if there is none.
    pub fn of_number(&self, number: u32) -> Option<FunctionId> {
        let id = FunctionId(number);
        let is_known = match id.row() {
            Row::OfFrame(row) => row < self.dsos.len(),
            Row::Other(row) => row < self.others.len(),
        };
        is_known.then_some(id)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.dsos.capacity() * size_of::<DsoId>()
            + self.addresses.capacity() * size_of::<u64>()
            + self.others.capacity() * size_of::<FunctionKey>()
            + self.ids.memory()
    }
}
