//! What is mapped where in a process, at the time that records have reached.

use std::ops::Range;

use crate::profile::DsoId;

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

/// The mappings of a process, ordered by address, without overlap.
#[derive(Clone, Debug)]
pub(super) struct AddressSpace {
    mappings: Vec<Mapping>,
    version: Version,
}

impl AddressSpace {
    /// An empty one.
    pub(super) fn new(version: Version) -> Self {
        Self { mappings: Vec::new(), version }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Puts `mapping` in; what it covers of others goes.
    pub(super) fn map(&mut self, mapping: Mapping, version: Version) {
        self.replace(mapping.start..mapping.end, Some(mapping), version);
    }

    /// Nothing is mapped at these addresses any more.
    pub(super) fn unmap(&mut self, range: Range<u64>, version: Version) {
        self.replace(range, None, version);
    }

    fn replace(&mut self, range: Range<u64>, with: Option<Mapping>, version: Version) {
        self.version = version;
        let first = self.mappings.partition_point(|old| old.end <= range.start);
        let last = self.mappings.partition_point(|old| old.start < range.end);
        let mut replacement = Vec::with_capacity(3);
        if let Some(old) = self.mappings[first..last].first()
            && old.start < range.start
        {
            replacement.push(Mapping { end: range.start, ..*old });
        }
        replacement.extend(with);
        if let Some(old) = self.mappings[first..last].last()
            && old.end > range.end
        {
            let page_offset = old.page_offset.wrapping_add(range.end - old.start);
            replacement.push(Mapping { start: range.end, page_offset, ..*old });
        }
        self.mappings.splice(first..last, replacement);
    }

    /// The mapping with the lowest addresses.
    pub(super) fn first(&self) -> Option<&Mapping> {
        self.mappings.first()
    }

    /// The mapping that holds `address`.
    pub(super) fn find(&self, address: u64) -> Option<&Mapping> {
        let index = self.mappings.partition_point(|mapping| mapping.end <= address);
        self.mappings.get(index).filter(|mapping| mapping.start <= address)
    }

    /// The addresses around one that no mapping holds, in none of which anything is mapped.
    pub(super) fn gap_around(&self, address: u64) -> Range<u64> {
        let next = self.mappings.partition_point(|mapping| mapping.end <= address);
        let start = next.checked_sub(1).map_or(0, |before| self.mappings[before].end);
        start..self.mappings.get(next).map_or(u64::MAX, |after| after.start)
    }
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
}
