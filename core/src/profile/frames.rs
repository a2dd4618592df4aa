//! Addresses in DSOs, interned.

use super::id_table::{IdTable, hash_pair};
use super::{DsoId, FrameId};

/// An address in a DSO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// All frames, as columns.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    dso: Vec<DsoId>,
    address: Vec<u64>,
    index: IdTable,
}

impl Frames {
    /// The id of `frame`, new or known.
    pub fn intern(&mut self, frame: Frame) -> FrameId {
        let Self { dso, address, index } = self;
        let frame_of = |row: u32| Frame { dso: dso[row as usize], address: address[row as usize] };
        let id = index.find_or_insert(
            dso.len(),
            hash_of(frame),
            |row| frame_of(row) == frame,
            |row| hash_of(frame_of(row)),
        );
        if id as usize == dso.len() {
            dso.push(frame.dso);
            address.push(frame.address);
        }
        FrameId(id)
    }

    /// Gives back what is only needed to add frames; it is made anew when one is added.
    pub fn drop_index(&mut self) {
        self.index = IdTable::default();
        self.dso.shrink_to_fit();
        self.address.shrink_to_fit();
    }

    /// The frame of an id; ids are only made by [`Self::intern`].
    pub fn get(&self, id: FrameId) -> Frame {
        Frame { dso: self.dso[id.index()], address: self.address[id.index()] }
    }

    /// All of them, with their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (FrameId, Frame)> + '_ {
        (0..self.dso.len() as u32).map(|row| (FrameId(row), self.get(FrameId(row))))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.dso.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.dso.is_empty()
    }
}

fn hash_of(frame: Frame) -> u32 {
    hash_pair(frame.address, u64::from(frame.dso.0)) as u32
}
