//! Sparse files in tar ("Storing Sparse Files" in GNU tar's manual): only what is no hole is stored, with a
//! map of where that belongs. There are four forms of the map: in the header (GNU's old one), in pax's
//! records one by one (0.0) or in one (0.1), and in front of the bytes (1.0).

use super::ContainerError;
use super::tar::{BLOCK, damaged, number};

/// More runs than this are not put together.
const MAX_RUNS: usize = 1 << 16;
/// Longer files are not put together: nobody could hold one.
const MAX_SIZE: u64 = 4_000_000_000;
/// Zeros of a hole that are given at once.
pub(super) static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A part of a sparse file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Hole(u64),
    Data(u64),
}

/// What is known of a sparse file so far.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Where stored bytes belong, and how many.
    regions: Vec<(u64, u64)>,
    real_size: Option<u64>,
    /// An offset whose length comes next.
    offset: Option<u64>,
    place: MapPlace,
}

/// Where the map is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MapPlace {
    /// With the headers.
    #[default]
    Headers,
    /// In front of the bytes.
    Bytes,
    /// It cannot be read.
    Nowhere,
}

impl Map {
    /// Of a header of GNU's old form; true if more of it follows in a block of its own.
    pub fn of_header(block: &[u8; BLOCK]) -> (Self, bool) {
        let mut map = Self { real_size: number(&block[483..495]), ..Self::default() };
        map.add_structs(&block[386..482]);
        (map, block[482] != 0)
    }

    /// Takes in a further block of that form; true if another one follows.
    pub fn add_block(&mut self, block: &[u8; BLOCK]) -> bool {
        self.add_structs(&block[..504]);
        block[504] != 0 && self.place != MapPlace::Nowhere
    }

    /// Offset and length; an empty one ends the list.
    fn add_structs(&mut self, structs: &[u8]) {
        for entry in structs.chunks_exact(24).take_while(|entry| entry[0] != 0) {
            match (number(&entry[..12]), number(&entry[12..])) {
                (Some(offset), Some(length)) => self.add(offset, length),
                _ => self.place = MapPlace::Nowhere,
            }
        }
    }

    fn add(&mut self, offset: u64, length: u64) {
        match self.regions.len() < MAX_RUNS {
            true => self.regions.push((offset, length)),
            false => self.place = MapPlace::Nowhere,
        }
    }

    /// Takes in one of pax's records, without `GNU.sparse.` in front of its key.
    pub fn add_record(&mut self, key: &[u8], value: &[u8]) {
        match (key, decimal(value)) {
            (b"size" | b"realsize", size) => self.real_size = size,
            (b"major", Some(1)) => self.place = MapPlace::Bytes,
            (b"major" | b"minor" | b"name" | b"numblocks", _) => {}
            (b"offset", offset) => self.offset = offset,
            (b"numbytes", Some(length)) => match self.offset.take() {
                Some(offset) => self.add(offset, length),
                None => self.place = MapPlace::Nowhere,
            },
            (b"map", _) => self.add_numbers(value.split(|&byte| byte == b',').map(decimal)),
            _ => self.place = MapPlace::Nowhere,
        }
    }

    fn add_numbers(&mut self, mut numbers: impl Iterator<Item = Option<u64>>) {
        while let Some(offset) = numbers.next() {
            match (offset, numbers.next().flatten()) {
                (Some(offset), Some(length)) => self.add(offset, length),
                _ => self.place = MapPlace::Nowhere,
            }
        }
    }

    /// Where the map is.
    pub fn place(&self) -> MapPlace {
        self.place
    }

    /// Takes in the blocks in front of the bytes: a number of regions, then offset and length of each, every
    /// number on a line. True once they are all there.
    pub fn add_front(&mut self, blocks: &[u8]) -> bool {
        let mut lines = blocks.split(|&byte| byte == b'\n');
        let Some(count) = lines.next().and_then(decimal).filter(|&it| it <= MAX_RUNS as u64) else {
            self.place = MapPlace::Nowhere;
            return true;
        };
        let numbers = 2 * count as usize;
        // What is behind the last end of a line is not whole.
        let ends = blocks.iter().filter(|&&byte| byte == b'\n').count();
        if ends < 1 + numbers {
            return false;
        }
        self.add_numbers(lines.take(numbers).map(decimal));
        true
    }

    /// All of the file in its order, last first. Fails if the map contradicts itself or what is stored, or if the file is
    /// too long.
    pub fn runs(&self, stored: u64) -> Result<Vec<Run>, ContainerError> {
        let is_too_long = self.place != MapPlace::Nowhere && self.real_size > Some(MAX_SIZE);
        match self.consistent_runs(stored) {
            _ if is_too_long => Err(ContainerError::TooLarge { bytes: MAX_SIZE }),
            Some(runs) => Ok(runs),
            None => Err(damaged("the map of a sparse file cannot be read")),
        }
    }

    fn consistent_runs(&self, stored: u64) -> Option<Vec<Run>> {
        let (mut runs, mut at, mut sum) = (Vec::new(), 0_u64, 0_u64);
        for &(offset, length) in &self.regions {
            let hole = offset.checked_sub(at)?;
            runs.extend([Run::Hole(hole), Run::Data(length)]);
            at = offset.checked_add(length)?;
            sum = sum.checked_add(length)?;
        }
        runs.push(Run::Hole(self.real_size?.checked_sub(at)?));
        runs.reverse();
        (sum == stored && self.place != MapPlace::Nowhere).then_some(runs)
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
