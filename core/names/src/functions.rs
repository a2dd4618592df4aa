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
/// What those begin with that stand for all code of a DSO without a name.
const REST_OF_DSOS: u32 = OTHERS | 1 << 30;

impl FunctionId {
    fn other(row: usize) -> Self {
        Self(OTHERS | row as u32)
    }

    /// All code of a DSO that has no name, as one. Views put what is alike together as that of the first.
    pub fn unnamed_of(dso: DsoId) -> Self {
        Self(REST_OF_DSOS | dso.0)
    }

    /// The DSO, if it is all code of that without a name.
    pub fn as_unnamed_of(self) -> Option<DsoId> {
        (self.0 >= REST_OF_DSOS).then_some(DsoId(self.0 & !REST_OF_DSOS))
    }

    /// Whether it has the same number among more of the same recording.
    pub fn is_lasting(self) -> bool {
        !matches!(self.row(), Row::Other(_))
    }

    /// Its row among those of its kind.
    fn row(self) -> Row {
        match self.0 {
            0..OTHERS => Row::OfFrame(self.0 as usize),
            OTHERS..REST_OF_DSOS => Row::Other((self.0 & !OTHERS) as usize),
            REST_OF_DSOS.. => Row::RestOfDso((self.0 & !REST_OF_DSOS) as usize),
        }
    }
}

enum Row {
    OfFrame(usize),
    Other(usize),
    RestOfDso(usize),
}

/// Something for each function, all of which are `empty` first. As quick as a column: a table by hash
/// took a third of the time of a report.
#[derive(Clone, Debug, Default)]
pub struct ByFunction<T> {
    of_frames: Vec<T>,
    of_others: Vec<T>,
    of_rests: Vec<T>,
    empty: T,
}

impl<T: Copy> ByFunction<T> {
    /// Takes room as functions are met.
    pub fn new(empty: T) -> Self {
        Self { of_frames: Vec::new(), of_others: Vec::new(), of_rests: Vec::new(), empty }
    }

    /// What a function has.
    pub fn get(&self, id: FunctionId) -> T {
        let known = match id.row() {
            Row::OfFrame(row) => self.of_frames.get(row),
            Row::Other(row) => self.of_others.get(row),
            Row::RestOfDso(row) => self.of_rests.get(row),
        };
        known.copied().unwrap_or(self.empty)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: FunctionId) -> &mut T {
        let (column, row) = match id.row() {
            Row::OfFrame(row) => (&mut self.of_frames, row),
            Row::Other(row) => (&mut self.of_others, row),
            Row::RestOfDso(row) => (&mut self.of_rests, row),
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
    RestOfDso { dso: DsoId },
}

/// All functions.
#[derive(Clone, Default)]
pub(super) struct Functions {
    /// By frame: the DSO and address of the function that it is without a name.
    dsos: Vec<DsoId>,
    addresses: Vec<u64>,
    /// How many DSOs may have code without a name.
    dso_count: usize,
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
        self.dso_count = profile.dsos.len();
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
            Row::RestOfDso(row) => FunctionKey::RestOfDso { dso: DsoId(row as u32) },
        }
    }

    /// All that were met, those of frames first.
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
            Row::RestOfDso(row) => row < self.dso_count,
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
