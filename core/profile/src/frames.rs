//! Addresses in DSOs, interned.

use super::id_table::{IdTable, hash_pair};
use super::{DsoId, FrameId};

/// An address in a DSO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Where the code lies.
    pub dso: DsoId,
    /// The address to look up, one less than a return address, so that it lies in the call:
    ///
    /// - user code, vdso: the file offset;
    /// - kernel and modules: the address at run time (AVMA);
    /// - code without a file: the address at run time;
    /// - [`super::DsoKind::Unmapped`]: how many consecutive words lie in no mapping.
    pub address: u64,
}

/// All frames.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    rows: Vec<Row>,
    index: IdTable,
}

/// Frames that are looked up together.
const AT_ONCE: usize = 32;

/// A frame in 12 bytes. Side by side and not as columns, because both parts are compared together
/// and most rows are not in the processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    dso: DsoId,
    address_low: u32,
    address_high: u32,
}

impl From<Frame> for Row {
    fn from(Frame { dso, address }: Frame) -> Self {
        Self { dso, address_low: address as u32, address_high: (address >> 32) as u32 }
    }
}

impl From<Row> for Frame {
    fn from(row: Row) -> Self {
        let address = u64::from(row.address_high) << 32 | u64::from(row.address_low);
        Self { dso: row.dso, address }
    }
}

impl Frames {
    /// The id of `frame`, new or known.
    pub fn intern(&mut self, frame: Frame) -> FrameId {
        self.add(frame.into(), hash_of(frame))
    }

    /// The ids of `wanted`, in this order. All slots are read, then all rows, and only then one is
    /// compared after the other: the processor waits for memory twice, not twice for each.
    pub(crate) fn intern_all(&mut self, wanted: &[Frame], ids: &mut Vec<FrameId>) {
        for wanted in wanted.chunks(AT_ONCE) {
            let mut hashes = [0; AT_ONCE];
            let mut guesses = [0; AT_ONCE];
            for (at, &frame) in wanted.iter().enumerate() {
                hashes[at] = hash_of(frame);
                guesses[at] = self.index.guess(hashes[at]).unwrap_or(u32::MAX);
            }
            let guessed = guesses.map(|guess| self.rows.get(guess as usize).copied());
            for (at, &frame) in wanted.iter().enumerate() {
                let row = Row::from(frame);
                ids.push(match guessed[at] == Some(row) {
                    true => FrameId(guesses[at]),
                    false => self.add(row, hashes[at]),
                });
            }
        }
    }

    fn add(&mut self, row: Row, hash: u32) -> FrameId {
        let Self { rows, index } = self;
        let id = index.find_or_insert(
            rows.len(),
            hash,
            |id| rows[id as usize] == row,
            |id| hash_of(rows[id as usize].into()),
        );
        if id as usize == rows.len() {
            rows.push(row);
        }
        FrameId(id)
    }

    /// Gives back what is only needed to add frames; it is made anew when one is added.
    pub fn drop_index(&mut self) {
        self.index = IdTable::default();
        self.rows.shrink_to_fit();
    }

    /// The frame of an id; ids are only made by [`Self::intern`].
    pub fn get(&self, id: FrameId) -> Frame {
        self.rows[id.index()].into()
    }

    /// All of them, with their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (FrameId, Frame)> + '_ {
        (0..self.rows.len() as u32).map(|row| (FrameId(row), self.get(FrameId(row))))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn hash_of(frame: Frame) -> u32 {
    hash_pair(frame.address, u64::from(frame.dso.0)) as u32
}
