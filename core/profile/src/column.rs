//! Numbers by row, for as many rows as a recording has samples.

use std::ops::Index;
use std::sync::Arc;

use super::chunks::{CHUNK, Chunks, Place};

/// A column in chunks. A chunk in which all rows have one value (the event of a recording that has one) is that value.
/// A copy shares the full chunks, so that what has been read so far costs next to nothing to show.
#[derive(Clone, Debug)]
pub struct Column<T>(Chunks<T, Chunk<T>>);

#[derive(Clone, Debug)]
enum Chunk<T> {
    Same(T),
    Each(Arc<[T]>),
}

impl<T: Copy + PartialEq> From<&[T]> for Chunk<T> {
    fn from(values: &[T]) -> Self {
        match values.iter().all(|&value| value == values[0]) {
            true => Self::Same(values[0]),
            false => Self::Each(Arc::from(values)),
        }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Chunks::default())
    }
}

impl<T: Copy + PartialEq> Column<T> {
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

    /// The value of a row, if there is one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&T> {
        match self.0.full(row) {
            Some((Chunk::Same(value), _)) => Some(value),
            Some((Chunk::Each(values), row)) => values.get(row),
            None => self.0.last(row),
        }
    }

    /// Gives a row another value, if there is one.
    pub fn set(&mut self, row: usize, value: T) {
        let (chunk, row) = match self.0.place(row) {
            Place::Full(chunk, row) => (chunk, row),
            Place::Last(known) => {
                known.into_iter().for_each(|known| *known = value);
                return;
            }
        };
        if let Chunk::Same(same) = *chunk {
            if same == value {
                return;
            }
            *chunk = Chunk::Each(Arc::from(vec![same; CHUNK]));
        }
        if let Chunk::Each(values) = chunk {
            Arc::make_mut(values)[row] = value;
        }
    }

    /// Gives all rows of one value another.
    pub fn replace(&mut self, value: T, by: T) {
        for chunk in &mut self.0.full {
            match chunk {
                Chunk::Same(same) if *same == value => *same = by,
                Chunk::Each(values) if values.contains(&value) => {
                    replace_in(Arc::make_mut(values), value, by);
                }
                Chunk::Same(_) | Chunk::Each(_) => {}
            }
        }
        replace_in(&mut self.0.last, value, by);
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        let full = self.0.full.iter().flat_map(|chunk| match chunk {
            Chunk::Same(value) => Rows::Same(std::iter::repeat_n(value, CHUNK)),
            Chunk::Each(values) => Rows::Each(values.iter()),
        });
        full.chain(&self.0.last)
    }
}

fn replace_in<T: Copy + PartialEq>(values: &mut [T], value: T, by: T) {
    values.iter_mut().filter(|known| **known == value).for_each(|known| *known = by);
}

/// The rows of a chunk.
enum Rows<'a, T> {
    Same(std::iter::RepeatN<&'a T>),
    Each(std::slice::Iter<'a, T>),
}

impl<'a, T> Iterator for Rows<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        match self {
            Self::Same(rows) => rows.next(),
            Self::Each(rows) => rows.next(),
        }
    }
}

impl<T: Copy + PartialEq> Index<usize> for Column<T> {
    type Output = T;

    /// The value of a row that there is.
    #[inline]
    fn index(&self, row: usize) -> &T {
        self.get(row).expect("rows are counted by the same column's length")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_the_list_of_its_rows() {
        for distinct in [1u64, 2, 1000] {
            let mut column = Column::default();
            let mut list = Vec::new();
            for row in 0..(2 * CHUNK as u64 + 100) {
                // The second chunk is of one value in any case.
                let value = if row as usize / CHUNK == 1 { 7 } else { row % distinct };
                column.push(value);
                list.push(value);
            }
            let (before, list_before) = (column.clone(), list.clone());
            for row in [0, 5, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 99] {
                column.set(row, 42);
                list[row] = 42;
            }
            assert_eq!(column.len(), list.len());
            assert!(column.iter().eq(&list));
            assert!((0..list.len()).all(|row| column[row] == list[row]));
            assert_eq!(column.get(list.len()), None);
            column.set(list.len(), 1);
            column.replace(7, 8);
            list.iter_mut().filter(|value| **value == 7).for_each(|value| *value = 8);
            assert!(column.iter().eq(&list));
            assert!(before.iter().eq(&list_before), "a copy does not change");
        }
    }
}
