//! Callers that a chain by frame pointers may lack, as columns beside those of the samples.
//!
//! On arm64 a call leaves its return address in a register, and a function that calls no other need not save that. Then the
//! function's caller is in that register alone: the chain goes on with the caller's own. perf records the register beside
//! such chains. Whether it still has the caller at an instruction, the unwind tables of the code there say. So here is what
//! the caller would be, and whoever has the tables puts it into the stack.
//!
//! Only samples with that register have a row here, so other recordings pay nothing.

use perftab_perfdata::map::Map;

use super::{DsoId, Frame, NarrowColumn};

/// Code that ran, and what it was called from if it has not put that address aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafCaller {
    /// The innermost frame of user space.
    pub leaf: Frame,
    /// The call that the link register would return to.
    pub caller: Frame,
}

/// Those of all samples that have one, in the order of their rows in [`super::Samples`].
#[derive(Clone, Debug, Default)]
pub struct LeafCallers {
    row: NarrowColumn<u64>,
    /// Positions in `known`: there are much fewer than rows.
    which: NarrowColumn<u64>,
    known: Vec<LeafCaller>,
    numbers: Map<LeafCaller, u32>,
}

impl LeafCallers {
    /// Adds that of a row behind those that have one.
    pub(crate) fn push(&mut self, row: usize, of_row: LeafCaller) {
        let known = &mut self.known;
        let number = *self.numbers.entry(of_row).or_insert_with(|| {
            known.push(of_row);
            known.len() as u32 - 1
        });
        self.row.push(row as u64);
        self.which.push(number.into());
    }

    /// True if no sample has one.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// That of a sample's row, if it has one.
    pub fn of_row(&self, row: usize) -> Option<LeafCaller> {
        let place = self.row.position_of(row as u64)?;
        self.known.get(self.which.get(place)? as usize).copied()
    }

    /// Each once, by its number.
    pub fn known(&self) -> &[LeafCaller] {
        &self.known
    }

    /// The rows that have one, in order, each with the number of it.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.row.iter().zip(self.which.iter()).map(|(row, which)| (row as usize, which as usize))
    }

    /// Whether unwind tables of a DSO tell something of them.
    pub fn ask_for_tables_of(&self, dso: DsoId) -> bool {
        self.known.iter().any(|it| it.leaf.dso == dso)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_back_by_row() {
        let frame = |address| Frame { dso: DsoId(1), address };
        let of =
            |row: usize| LeafCaller { leaf: frame(row as u64 % 7), caller: frame(row as u64 % 3) };
        // More than a chunk of them, with gaps between.
        let rows: Vec<usize> = (0..70_000).map(|number| 3 * number + number % 2).collect();
        let mut callers = LeafCallers::default();
        assert!(callers.is_empty() && callers.of_row(0).is_none());
        rows.iter().for_each(|&row| callers.push(row, of(row)));
        for &row in rows.iter().step_by(613) {
            assert_eq!(callers.of_row(row), Some(of(row)));
            assert_eq!(callers.of_row(row + 2 - row % 3), None, "between");
        }
        let back = callers.rows().map(|(row, which)| (row, callers.known()[which]));
        assert!(back.eq(rows.iter().map(|&row| (row, of(row)))));
        // No row is two behind a multiple of three.
        assert_eq!(callers.known().len(), 7 * 2);
        assert!(callers.ask_for_tables_of(DsoId(1)) && !callers.ask_for_tables_of(DsoId(0)));
    }
}
