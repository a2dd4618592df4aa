//! What is mapped in a process, at the time that records have reached.

use std::ops::Range;

use crate::DsoId;
use crate::mappings::{MappedIn, Mapping, Mappings, MappingsKept, OwnFrom, Root};
use crate::space::{Space, SpaceRoots};

/// Tells one state of one address space from all others; what was found under one version stays
/// true under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Version(pub u32);

impl Version {
    /// Of what is no address: how many words lie in no mapping.
    pub(super) const UNMAPPED_RUNS: Self = Self(0);
    /// Of user space in guests.
    pub(super) const GUEST_USERS: Self = Self(1 << 31);
    /// Of hypervisors.
    pub(super) const HYPERVISOR: Self = Self(1 + (1 << 31));

    /// The kernel's, of which there is one at a time; processes count from 1.
    pub(super) fn kernel(number: u32) -> Self {
        Self(u32::MAX - number)
    }

    /// Those of the kernels of guests, which count from the middle down.
    pub(super) fn guest_kernel(number: u32) -> Self {
        Self((u32::MAX >> 1) - number)
    }
}

/// What is mapped in a process, and the code that was made at run time in it.
///
/// Such code lies in memory that is mapped, comes and goes without that, and is whole or gone: where
/// anything else is put over a part of it, its memory was given back, whether or not a record says
/// so. So nothing of it has its name any longer.
#[derive(Debug)]
pub(super) struct AddressSpace {
    roots: SpaceRoots,
    own: OwnFrom,
    /// What the last sample met.
    noted: Option<SpaceRoots>,
    version: Version,
}

impl AddressSpace {
    /// An empty one.
    pub(super) fn new(version: Version) -> Self {
        let roots = SpaceRoots::EMPTY;
        Self { roots, own: OwnFrom::default(), noted: None, version }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Puts `mapping` in; what it covers of others goes.
    pub(super) fn map(&mut self, all: &mut Mappings, mapping: Mapping, version: Version) {
        self.end_code(all, mapping.start..mapping.end, version);
        self.unmap_data(all, mapping.start..mapping.end);
        self.roots.memory = all.with(self.roots.memory, mapping, self.own);
    }

    /// Puts in a mapping that no code can be in, and that only addresses of data are looked up in.
    pub(super) fn map_data(&mut self, all: &mut Mappings, mapping: Mapping, version: Version) {
        self.unmap(all, mapping.start..mapping.end, version);
        self.roots.data = all.with(self.roots.data, mapping, self.own);
    }

    /// Nothing is mapped at these addresses any more.
    pub(super) fn unmap(&mut self, all: &mut Mappings, range: Range<u64>, version: Version) {
        self.end_code(all, range.clone(), version);
        self.unmap_data(all, range.clone());
        self.unmap_memory(all, range, version);
    }

    /// Most recordings have none, and code is not concerned: the version stays.
    fn unmap_data(&mut self, all: &mut Mappings, range: Range<u64>) {
        if self.roots.data != Root::EMPTY {
            self.roots.data = all.without(self.roots.data, range, self.own);
        }
    }

    /// No memory is mapped at these addresses; code that is there stays.
    pub(super) fn unmap_memory(&mut self, all: &mut Mappings, range: Range<u64>, version: Version) {
        self.version = version;
        self.roots.memory = all.without(self.roots.memory, range, self.own);
    }

    /// Code made at run time is there from now on, in memory that stays mapped.
    pub(super) fn add_code(&mut self, all: &mut Mappings, code: Mapping, version: Version) {
        self.end_code(all, code.start..code.end, version);
        self.roots.code = all.with(self.roots.code, code, self.own);
    }

    /// Code was there before the recording, beside all other such code. It ends where the next begins
    /// at the latest: the recorder need not know its size.
    pub(super) fn add_earlier_code(
        &mut self,
        all: &mut Mappings,
        mut code: Mapping,
        version: Version,
    ) {
        self.version = version;
        let roots = &mut self.roots;
        if let Some(around) = all.at(roots.code, code.start) {
            roots.code = all.without(roots.code, code.start..around.end, self.own);
        }
        if let Err(gap) = all.locate(roots.code, code.start) {
            code.end = code.end.min(gap.end);
        }
        roots.code = all.with(roots.code, code, self.own);
    }

    /// The code of `dso` that begins at `start` is gone, if it was still there.
    pub(super) fn remove_code(
        &mut self,
        all: &mut Mappings,
        start: u64,
        dso: DsoId,
        version: Version,
    ) {
        let there = all.at(self.roots.code, start);
        if let Some(code) = there.filter(|code| code.start == start && code.dso == dso) {
            self.end_code(all, code.start..code.end, version);
        }
    }

    /// All code that has a part in `range` is gone.
    fn end_code(&mut self, all: &mut Mappings, range: Range<u64>, version: Version) {
        self.version = version;
        self.roots.code = all.without_any_of(self.roots.code, range, self.own);
    }

    /// What a child has: the same for now.
    pub(super) fn fork(&mut self, all: &Mappings) -> Self {
        self.own = all.all_shared();
        Self { noted: None, ..*self }
    }

    /// A sample meets it as it is now: this stays known.
    #[inline(always)]
    pub(super) fn met(&mut self, all: &mut Mappings, of: impl Into<MappedIn>, row: usize) {
        if self.noted != Some(self.roots) {
            self.noted = Some(self.roots);
            self.met_by_other(all, of, row);
        }
    }

    /// The same for a sample of another process, which has this address space only for now.
    #[cold]
    pub(super) fn met_by_other(&mut self, all: &mut Mappings, of: impl Into<MappedIn>, row: usize) {
        if all.kept() != MappingsKept::History {
            return;
        }
        all.note(of.into(), row, self.roots);
        self.own = all.all_shared();
    }

    /// Leaves behind what none of `spaces` has, which are all that there are.
    pub(super) fn keep_only<'a>(all: &mut Mappings, spaces: impl Iterator<Item = &'a mut Self>) {
        let mut spaces: Vec<_> = spaces.collect();
        all.keep_only(spaces.iter_mut().map(|space| &mut space.roots));
        for space in spaces {
            space.own = all.all_shared();
        }
    }

    /// The mapping with the lowest addresses.
    pub(super) fn first(&self, all: &Mappings) -> Option<Mapping> {
        let firsts = [self.roots.memory, self.roots.code].map(|root| all.first(root));
        firsts.into_iter().flatten().min_by_key(|first| first.start)
    }

    /// The highest address at which anything is mapped.
    pub(super) fn highest(&self, all: &Mappings) -> Option<u64> {
        all.highest_in(Space(self.roots))
    }

    /// The mapping that holds `address`, whatever code was made there.
    pub(super) fn memory_at(&self, all: &Mappings, address: u64) -> Option<Mapping> {
        all.at(self.roots.memory, address)
    }

    /// The code or mapping that holds `address`, or the part of it that others left.
    pub(super) fn find(&self, all: &Mappings, address: u64) -> Option<Mapping> {
        self.locate(all, address).ok()
    }

    /// The same, or addresses around it in none of which anything is mapped.
    pub(super) fn locate(&self, all: &Mappings, address: u64) -> Result<Mapping, Range<u64>> {
        all.locate_in(self.roots, address)
    }
}
