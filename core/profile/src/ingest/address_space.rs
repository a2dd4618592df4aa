//! What is mapped where in a process, at the time that records have reached.

use perftab_perfdata::sorting::sort_by_numbers;
use std::ops::Range;
use std::rc::Rc;

use crate::DsoId;

/// Executable code at a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// File offset of the first address.
    pub page_offset: u64,
    /// What is mapped.
    pub dso: DsoId,
}

impl Mapping {
    /// Where in what is mapped an address of the mapping lies.
    pub(super) fn offset(&self, address: u64) -> u64 {
        (address - self.start).wrapping_add(self.page_offset)
    }
}

/// Tells one state of one address space from all others; what was found under one version stays
/// true under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Version(pub u32);

impl Version {
    /// The kernel's, of which there is one at a time; processes count from below.
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
#[derive(Clone, Debug)]
pub(super) struct AddressSpace {
    memory: Ranges,
    code: Ranges,
    version: Version,
}

/// Mappings by address.
///
/// A fork copies nothing: both processes go on from the layers of changes that are there, each with
/// changes of its own on top. A layer goes below the next one only while that one is much smaller,
/// else the two become one. So there are as many layers as the number of changes has bits, and
/// memory is in proportion to the MMAP records, however many processes share them.
#[derive(Clone, Debug, Default)]
struct Ranges {
    own: Vec<Change>,
    below: Option<Rc<Layer>>,
}

/// Changes that several processes share.
#[derive(Debug)]
struct Layer {
    changes: Vec<Change>,
    below: Option<Rc<Layer>>,
}

/// What became of a range of addresses. Those of a layer are ordered by address and do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    start: u64,
    end: u64,
    mapped: Option<Mapped>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapped {
    page_offset: u64,
    dso: DsoId,
}

impl Change {
    /// The part of it from `start` to `end`, which lie in it.
    fn part(self, start: u64, end: u64) -> Self {
        let further = start - self.start;
        let mapped = self.mapped.map(|mapped| Mapped {
            page_offset: mapped.page_offset.wrapping_add(further),
            ..mapped
        });
        Self { start, end, mapped }
    }

    fn mapping(self) -> Option<Mapping> {
        let Mapped { page_offset, dso } = self.mapped?;
        Some(Mapping { start: self.start, end: self.end, page_offset, dso })
    }
}

impl AddressSpace {
    /// An empty one.
    pub(super) fn new(version: Version) -> Self {
        Self { memory: Ranges::default(), code: Ranges::default(), version }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Puts `mapping` in; what it covers of others goes.
    pub(super) fn map(&mut self, mapping: Mapping, version: Version) {
        self.version = version;
        self.end_code(mapping.start..mapping.end);
        self.memory.map(mapping);
    }

    /// Nothing is mapped at these addresses any more.
    pub(super) fn unmap(&mut self, range: Range<u64>, version: Version) {
        self.version = version;
        self.end_code(range.clone());
        self.memory.unmap(range);
    }

    /// No memory is mapped at these addresses; code that is there stays.
    pub(super) fn unmap_memory(&mut self, range: Range<u64>, version: Version) {
        self.version = version;
        self.memory.unmap(range);
    }

    /// Code made at run time is there from now on, in memory that stays mapped.
    pub(super) fn add_code(&mut self, code: Mapping, version: Version) {
        self.version = version;
        self.end_code(code.start..code.end);
        self.code.map(code);
    }

    /// Code was there before the recording, beside all other such code, in a space that was never
    /// forked. It ends where the next begins at the latest: the recorder need not know its size.
    pub(super) fn add_earlier_code(&mut self, mut code: Mapping, version: Version) {
        self.version = version;
        if let Some(around) = self.code.find(code.start) {
            self.code.unmap(code.start..around.end);
        }
        let gap = self.code.gap_around(code.start);
        code.end = code.end.min(gap.end);
        self.code.map(code);
    }

    /// The code of `dso` that begins at `start` is gone, if it was still there.
    pub(super) fn remove_code(&mut self, start: u64, dso: DsoId, version: Version) {
        let there = self.code.find(start).filter(|code| code.start == start && code.dso == dso);
        if let Some(code) = there {
            self.version = version;
            self.code.unmap(code.start..code.end);
        }
    }

    /// All code that has a part in `range` is gone.
    fn end_code(&mut self, range: Range<u64>) {
        let mut address = range.start;
        while address < range.end && !self.code.is_empty() {
            address = match self.code.find(address) {
                Some(code) => {
                    self.code.unmap(code.start..code.end);
                    code.end
                }
                None => self.code.gap_around(address).end,
            };
        }
    }

    /// What a child has: the same for now.
    pub(super) fn fork(&mut self) -> Self {
        self.memory.share();
        self.code.share();
        self.clone()
    }

    /// The mapping with the lowest addresses, of a space that was never forked.
    pub(super) fn first(&self) -> Option<Mapping> {
        let firsts = [self.memory.first(), self.code.first()];
        firsts.into_iter().flatten().min_by_key(|first| first.start)
    }

    /// The mapping that holds `address`, whatever code was made there.
    pub(super) fn memory_at(&self, address: u64) -> Option<Mapping> {
        self.memory.find(address)
    }

    /// The code or mapping that holds `address`, or the part of it that others left.
    pub(super) fn find(&self, address: u64) -> Option<Mapping> {
        self.code.find(address).or_else(|| self.memory.find(address))
    }

    /// Addresses around one that no mapping holds, in none of which anything is mapped.
    pub(super) fn gap_around(&self, address: u64) -> Range<u64> {
        let (memory, code) = (self.memory.gap_around(address), self.code.gap_around(address));
        memory.start.max(code.start)..memory.end.min(code.end)
    }
}

impl Ranges {
    fn map(&mut self, mapping: Mapping) {
        let Mapping { start, end, page_offset, dso } = mapping;
        self.change(Change { start, end, mapped: Some(Mapped { page_offset, dso }) });
    }

    fn unmap(&mut self, range: Range<u64>) {
        self.change(Change { start: range.start, end: range.end, mapped: None });
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.below.is_none()
    }

    fn change(&mut self, change: Change) {
        let first = self.own.partition_point(|old| old.end <= change.start);
        let last = self.own.partition_point(|old| old.start < change.end);
        let covered = &self.own[first..last];
        let before = covered.first().filter(|old| old.start < change.start);
        let after = covered.last().filter(|old| old.end > change.end);
        let replacement = [
            before.map(|old| old.part(old.start, change.start)),
            // Where nothing is below, a hole hides nothing.
            Some(change).filter(|change| change.mapped.is_some() || self.below.is_some()),
            after.map(|old| old.part(change.end, old.end)),
        ];
        self.own.splice(first..last, replacement.into_iter().flatten());
    }

    /// Its own changes become a layer.
    fn share(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let mut changes = std::mem::take(&mut self.own);
        while let Some(below) = self.below.take_if(|it| it.changes.len() <= 2 * changes.len()) {
            changes = joined(&changes, &below.changes);
            self.below = below.below.clone();
        }
        if self.below.is_none() {
            changes.retain(|change| change.mapped.is_some());
        }
        changes.shrink_to_fit();
        self.below = Some(Rc::new(Layer { changes, below: self.below.take() }));
    }

    /// The one with the lowest addresses, of those that were never forked.
    fn first(&self) -> Option<Mapping> {
        self.own.iter().find_map(|change| change.mapping())
    }

    fn find(&self, address: u64) -> Option<Mapping> {
        let found = self.layers().find_map(|changes| {
            let index = changes.partition_point(|change| change.end <= address);
            changes.get(index).filter(|change| change.start <= address)
        });
        found?.mapping()
    }

    fn gap_around(&self, address: u64) -> Range<u64> {
        let mut gap = 0..u64::MAX;
        for changes in self.layers() {
            let next = changes.partition_point(|change| change.end <= address);
            if let Some(hole) = changes.get(next).filter(|change| change.start <= address) {
                return gap.start.max(hole.start)..gap.end.min(hole.end);
            }
            let before = next.checked_sub(1).map_or(0, |before| changes[before].end);
            let after = changes.get(next).map_or(u64::MAX, |after| after.start);
            gap = gap.start.max(before)..gap.end.min(after);
        }
        gap
    }

    /// From the latest changes down.
    fn layers(&self) -> impl Iterator<Item = &[Change]> {
        let shared = std::iter::successors(self.below.as_deref(), |layer| layer.below.as_deref());
        std::iter::once(&self.own[..]).chain(shared.map(|layer| &layer.changes[..]))
    }
}

/// Two layers as one: `upper`, and what it leaves of `lower`.
fn joined(upper: &[Change], lower: &[Change]) -> Vec<Change> {
    let mut changes = upper.to_vec();
    for &change in lower {
        let first = upper.partition_point(|above| above.end <= change.start);
        let mut start = change.start;
        for above in upper[first..].iter().take_while(|above| above.start < change.end) {
            if start < above.start {
                changes.push(change.part(start, above.start));
            }
            start = above.end;
        }
        if start < change.end {
            changes.push(change.part(start, change.end));
        }
    }
    sort_by_numbers(&mut changes, |change| (change.start, 0));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, page_offset: u64, dso: u32) -> Mapping {
        Mapping { start, end, page_offset, dso: DsoId(dso) }
    }

    /// Maps in turn and compares with one owner per address, worked out naively.
    #[test]
    fn later_mappings_evict_what_they_cover() {
        let in_turn = [
            mapping(10, 50, 100, 0),
            mapping(60, 90, 0, 1),
            mapping(20, 30, 0, 2),
            mapping(45, 65, 7, 3),
            mapping(0, 12, 0, 4),
            mapping(22, 24, 5, 5),
            mapping(5, 95, 0, 6),
            mapping(40, 41, 3, 7),
        ];
        let mut space = AddressSpace::new(Version(0));
        let mut naive: Vec<Option<(u32, u64)>> = vec![None; 100];
        for (version, mapping) in in_turn.into_iter().enumerate() {
            space.map(mapping, Version(version as u32));
            for address in mapping.start..mapping.end {
                naive[address as usize] =
                    Some((mapping.dso.0, address - mapping.start + mapping.page_offset));
            }
            if version == 5 {
                space.unmap(22..61, Version(100));
                naive[22..61].fill(None);
            }
            for address in 0..100 {
                let found = space
                    .find(address)
                    .map(|found| (found.dso.0, address - found.start + found.page_offset));
                assert_eq!(found, naive[address as usize], "address {address} after {mapping:?}");
                if found.is_none() {
                    let gap = space.gap_around(address);
                    assert!(gap.contains(&address), "address {address} after {mapping:?}");
                    let inside = gap.start as usize..gap.end.min(100) as usize;
                    assert!(naive[inside].iter().all(Option::is_none), "{gap:?}");
                }
            }
        }
    }

    /// A history of forks, mappings and holes, against a model that copies at each fork.
    #[test]
    fn forks_share_what_was_mapped_before_and_nothing_after() {
        const ADDRESSES: u64 = 64;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |bound: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % bound
        };
        let mut spaces = vec![AddressSpace::new(Version(0))];
        let mut model: Vec<Vec<Option<(u32, u64)>>> = vec![vec![None; ADDRESSES as usize]];
        for turn in 0..4000_u32 {
            let which = below(spaces.len() as u64) as usize;
            let start = below(ADDRESSES - 1);
            let end = start + 1 + below(ADDRESSES - start);
            match below(4) {
                0 if spaces.len() < 40 => {
                    let child = spaces[which].fork();
                    spaces.push(child);
                    model.push(model[which].clone());
                }
                1 => {
                    spaces[which].unmap(start..end, Version(turn));
                    model[which][start as usize..end as usize].fill(None);
                }
                _ => {
                    spaces[which].map(mapping(start, end, 1000 * start, turn), Version(turn));
                    for address in start..end {
                        let offset = 1000 * start + address - start;
                        model[which][address as usize] = Some((turn, offset));
                    }
                }
            }
            let space = &spaces[which];
            assert!(space.memory.layers().count() <= 9);
            for (address, expected) in (0..).zip(&model[which]) {
                let found = space.find(address).map(|found| (found.dso.0, found.offset(address)));
                assert_eq!(found, *expected, "address {address} in turn {turn}");
                if expected.is_none() {
                    let gap = space.gap_around(address);
                    assert!(gap.contains(&address));
                    let inside = gap.start as usize..gap.end.min(ADDRESSES) as usize;
                    assert!(model[which][inside].iter().all(Option::is_none), "{gap:?}");
                }
            }
        }
    }
}
