//! Memory accesses that samples were taken of, as columns beside those of the samples.
//!
//! Only samples that say something of an access have a row here, so other recordings pay nothing. Links
//! and saved pages do not hold them.

use perftab_perfdata::decode::data_source::DataSource;
use perftab_perfdata::map::Map;

use super::NarrowColumn;

/// What a sample says of a memory access. What was not recorded is what perf takes it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Address of the data in its address space; 0 if not recorded.
    pub address: u64,
    /// What the hardware says of it; [`DataSource::NONE`] if not recorded.
    pub source: DataSource,
    /// What it cost, by the hardware's measure (on x86 the latency in cycles); 0 if not recorded. perf
    /// calls it the sample's weight, which here is the period.
    pub cost: u64,
    /// 0 if not recorded or not known.
    pub physical_address: u64,
    /// Bytes of the page that the data is in; 0 if not recorded or not known.
    pub page_size: u64,
}

impl Access {
    /// That of which nothing was recorded.
    pub const NONE: Self =
        Self { address: 0, source: DataSource::NONE, cost: 0, physical_address: 0, page_size: 0 };
}

/// All accesses, in the order of their rows in [`super::Samples`].
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    row: NarrowColumn<u64>,
    address: NarrowColumn<u64>,
    /// Numbers in `sources`: of a recording there are few.
    source: NarrowColumn<u64>,
    cost: NarrowColumn<u64>,
    physical_address: NarrowColumn<u64>,
    page_size: NarrowColumn<u64>,
    sources: Vec<DataSource>,
    source_numbers: Map<DataSource, u32>,
}

impl Accesses {
    /// Adds the access of a row behind those that have one.
    pub(crate) fn push(&mut self, row: usize, access: Access) {
        let Access { address, source, cost, physical_address, page_size } = access;
        let sources = &mut self.sources;
        let number = *self.source_numbers.entry(source).or_insert_with(|| {
            sources.push(source);
            sources.len() as u32 - 1
        });
        self.row.push(row as u64);
        self.address.push(address);
        self.source.push(number.into());
        self.cost.push(cost);
        self.physical_address.push(physical_address);
        self.page_size.push(page_size);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// True if no sample says anything of an access.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// The place among these of a sample's row, if it has one.
    pub fn of_row(&self, row: usize) -> Option<usize> {
        self.row.position_of(row as u64)
    }

    /// The access at a place.
    pub fn get(&self, place: usize) -> Option<Access> {
        Some(Access {
            address: self.address.get(place)?,
            source: *self.sources.get(self.source.get(place)? as usize)?,
            cost: self.cost.get(place)?,
            physical_address: self.physical_address.get(place)?,
            page_size: self.page_size.get(place)?,
        })
    }

    /// The same with its row.
    pub fn with_row(&self, place: usize) -> Option<(usize, Access)> {
        Some((self.row.get(place)? as usize, self.get(place)?))
    }

    /// All of them, each with its row.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Access)> + '_ {
        (0..self.len()).filter_map(|place| self.with_row(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_come_back_by_row() {
        let access = |row: usize| Access {
            address: u64::MAX - row as u64,
            source: DataSource::new(row as u64 % 5),
            cost: if row.is_multiple_of(4) { u64::MAX } else { 7 },
            physical_address: 0,
            page_size: 4096,
        };
        // More than a chunk of them, with gaps between.
        let rows: Vec<usize> = (0..70_000).map(|number| 3 * number + number % 2).collect();
        let mut accesses = Accesses::default();
        assert_eq!((accesses.of_row(0), accesses.is_empty()), (None, true));
        rows.iter().for_each(|&row| accesses.push(row, access(row)));
        for (place, &row) in rows.iter().enumerate().step_by(613) {
            assert_eq!(accesses.of_row(row), Some(place));
            assert_eq!(accesses.get(place), Some(access(row)));
            assert_eq!(accesses.of_row(row + 2 - row % 3), None, "between");
        }
        assert!(accesses.iter().eq(rows.iter().map(|&row| (row, access(row)))));
        assert_eq!(accesses.sources.len(), 5);
    }
}
