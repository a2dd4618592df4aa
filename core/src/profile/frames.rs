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
        let hash = |row: u32| hash_pair(address[row as usize], u64::from(dso[row as usize].0));
        let id = index.find_or_insert(
            dso.len(),
            hash_pair(frame.address, u64::from(frame.dso.0)),
            |row| address[row as usize] == frame.address && dso[row as usize] == frame.dso,
            hash,
        );
        if id as usize == dso.len() {
            dso.push(frame.dso);
            address.push(frame.address);
        }
        FrameId(id)
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
