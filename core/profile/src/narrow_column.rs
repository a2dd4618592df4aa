//! Numbers by row that differ little from row to row: times, threads, CPUs, weights.

use std::sync::Arc;

use super::ThreadId;
use super::chunks::{CHUNK, Chunks, Place};

/// A number that a [`NarrowColumn`] holds.
pub trait Number: Copy {
    /// As it is kept.
    fn number(self) -> u64;
    /// As it was.
    fn of(number: u64) -> Self;
}

impl Number for u64 {
    fn number(self) -> u64 {
        self
    }

    fn of(number: u64) -> Self {
        number
    }
}

impl Number for u16 {
    fn number(self) -> u64 {
        self.into()
    }

    fn of(number: u64) -> Self {
        number as Self
    }
}

impl Number for ThreadId {
    fn number(self) -> u64 {
        self.0.into()
    }

    fn of(number: u64) -> Self {
        Self(number as u32)
    }
}

/// As [`Column`](super::Column), with no more bytes for a row than tell the numbers of its chunk apart: seven instead of
/// fourteen for time, thread and CPU of a sample, and four instead of eight for a weight that varies.
#[derive(Clone, Debug)]
pub struct NarrowColumn<T>(Chunks<T, Chunk>);

/// The least of some numbers, and how far above it each is.
#[derive(Clone, Debug)]
struct Chunk {
    least: u64,
    above: Above,
}

#[derive(Clone, Debug)]
enum Above {
    Nothing,
    Bytes(Arc<[u8]>),
    Shorts(Arc<[u16]>),
    Words(Arc<[u32]>),
    Longs(Arc<[u64]>),
}

impl Chunk {
    fn new(numbers: &[u64]) -> Self {
        let least = numbers.iter().copied().min().unwrap_or_default();
        let range = numbers.iter().copied().max().unwrap_or_default() - least;
        let above = || numbers.iter().map(|&number| number - least);
        let above = match range {
            0 => Above::Nothing,
            1..0x100 => Above::Bytes(above().map(|above| above as u8).collect()),
            0x100..0x1_0000 => Above::Shorts(above().map(|above| above as u16).collect()),
            0x1_0000..0x1_0000_0000 => Above::Words(above().map(|above| above as u32).collect()),
            _ => Above::Longs(above().collect()),
        };
        Self { least, above }
    }

    #[inline]
    fn at(&self, row: usize) -> u64 {
        let above = match &self.above {
            Above::Nothing => 0,
            Above::Bytes(above) => above[row].into(),
            Above::Shorts(above) => above[row].into(),
            Above::Words(above) => above[row].into(),
            Above::Longs(above) => above[row],
        };
        self.least + above
    }
}

impl<T: Number> From<&[T]> for Chunk {
    fn from(values: &[T]) -> Self {
        Self::new(&values.iter().map(|value| value.number()).collect::<Vec<_>>())
    }
}

impl<T> Default for NarrowColumn<T> {
    fn default() -> Self {
        Self(Chunks::default())
    }
}

impl<T: Number> NarrowColumn<T> {
    /// Adds a row.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.0.push(value);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row that there is.
    #[inline]
    pub fn at(&self, row: usize) -> T {
        self.get(row).expect("rows are counted by the same column's length")
    }

    /// The value of a row, if there is one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        match self.0.full(row) {
            Some((chunk, row)) => Some(T::of(chunk.at(row))),
            None => self.0.last(row).copied(),
        }
    }

    /// Gives a row another value, if there is one: a chunk is made anew for it.
    pub fn set(&mut self, row: usize, value: T) {
        match self.0.place(row) {
            Place::Full(chunk, row) => {
                let mut numbers: Vec<u64> = (0..CHUNK).map(|row| chunk.at(row)).collect();
                numbers[row] = value.number();
                *chunk = Chunk::new(&numbers);
            }
            Place::Last(known) => known.into_iter().for_each(|known| *known = value),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }
}

impl NarrowColumn<u64> {
    /// The row that has this value, if they ascend.
    pub fn position_of(&self, value: u64) -> Option<usize> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.at(middle) < value {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        (self.get(from) == Some(value)).then_some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_the_list_of_its_rows() {
        let spreads = [1_u64, 2, 0xff, 0x100, 0x101, 0xffff, 0x1_0001, 1 << 32, (1 << 32) + 1];
        for spread in spreads.into_iter().chain([u64::MAX]) {
            for first in [0, 7, u64::MAX - (spread - 1)] {
                let mut column = NarrowColumn::default();
                let mut list = Vec::new();
                for row in 0..(2 * CHUNK as u64 + 100) {
                    // Both ends are met.
                    let above = [0, spread - 1, row % spread][row as usize % 3];
                    column.push(first.saturating_add(above));
                    list.push(first.saturating_add(above));
                }
                let (before, list_before) = (column.clone(), list.clone());
                for row in [0, 5, CHUNK, 2 * CHUNK, 2 * CHUNK + 99] {
                    column.set(row, 42);
                    list[row] = 42;
                }
                assert_eq!(column.len(), list.len());
                assert!(column.iter().eq(list.iter().copied()), "{spread} from {first} on");
                assert_eq!(column.get(list.len()), None);
                assert!(before.iter().eq(list_before), "a copy does not change");
            }
        }
    }

    #[test]
    fn numbers_come_back_as_what_they_were() {
        let mut cpus = NarrowColumn::default();
        let mut threads = NarrowColumn::default();
        for row in 0..2 * CHUNK as u32 {
            cpus.push(if row % 5 == 0 { u16::MAX } else { row as u16 % 64 });
            threads.push(ThreadId(u32::MAX - row));
        }
        assert_eq!((cpus.at(5), cpus.at(CHUNK + 3)), (u16::MAX, (CHUNK + 3) as u16 % 64));
        assert_eq!(threads.at(CHUNK + 9), ThreadId(u32::MAX - CHUNK as u32 - 9));
    }
}
