//! Unwind tables with an index (`.eh_frame_hdr`): those of the largest library that this very program has mapped.

use std::fs;
use std::ops::Range;

use perftab_images::{FileRules, Image, Row, RowMemory};
use perftab_perfdata::decode::SliceSource;

/// Of `elf.h`: what is loaded and may run, and where the index is.
const LOADED: u64 = 1;
const RUNS: u64 = 1;
const INDEX: u64 = 0x6474_e550;
/// Of the index: version, forms, where the section is, and how many entries there are.
const COUNT: Range<usize> = 8..12;
const HEAD: usize = 12;
const ENTRY: usize = 8;

struct Library {
    bytes: Vec<u8>,
    index: Range<usize>,
    index_address: u64,
    /// What is added to where code is in the file for its address.
    shift: u64,
    code: Range<u64>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Library {
    fn mapped() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").expect("what is mapped");
        let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let libraries =
            paths.filter(|path| path.contains(".so")).filter_map(|it| fs::read(it).ok());
        let bytes = libraries.max_by_key(Vec::len).expect("a library");
        let headers =
            (0..number::<2>(&bytes, 56)).map(|it| (number::<8>(&bytes, 32) + 56 * it) as usize);
        let segment = |kind: u64, flags: u64| {
            let mut headers = headers.clone();
            let is_it = |at: &usize| {
                number::<4>(&bytes, *at) == kind && number::<4>(&bytes, at + 4) & flags == flags
            };
            let at = headers.find(is_it).expect("a segment");
            [8, 16, 32].map(|field| number::<8>(&bytes, at + field))
        };
        let [offset, index_address, length] = segment(INDEX, 0);
        let index = offset as usize..(offset + length) as usize;
        let [offset, address, length] = segment(LOADED, RUNS);
        let (shift, code) = (address.wrapping_sub(offset), offset..offset + length);
        Self { index, index_address, shift, code, bytes }
    }

    /// With another index.
    fn rules(&self, change: impl FnOnce(&mut [u8])) -> FileRules {
        let mut bytes = self.bytes.clone();
        change(&mut bytes[self.index.clone()]);
        let image = Image::open("it", Box::new(SliceSource::new(bytes))).expect("an image");
        FileRules::of_mapped(&image).expect("rules")
    }

    /// With another index: rows of its code.
    fn rows(&self, change: impl FnOnce(&mut [u8])) -> Vec<Option<Row>> {
        let rules = self.rules(change);
        let mut memory = RowMemory::default();
        self.addresses().map(|address| rules.row(address, &mut memory)).collect()
    }

    fn addresses(&self) -> impl Iterator<Item = u64> {
        self.code.clone().step_by(13)
    }
}

#[test]
fn an_index_says_what_the_section_says_as_far_as_it_goes() {
    let library = Library::mapped();
    let listed = library.rows(|index| index[0] = 0);
    assert!(listed.iter().flatten().count() > 1_000);
    assert!(library.rows(|_| ()) == listed);
    // lld leaves room behind the entries.
    let index = &library.bytes[library.index.clone()];
    let kept = number::<4>(index, COUNT.start) as usize / 2;
    let behind = HEAD + ENTRY * kept;
    let start = number::<4>(index, behind) as u32 as i32;
    let start = library.index_address.wrapping_add_signed(start.into());
    let half = library.rows(|index| {
        index[COUNT].copy_from_slice(&(kept as u32).to_le_bytes());
        index[behind..].fill(0);
    });
    let mut is_missing = false;
    for ((address, half), listed) in library.addresses().zip(half).zip(listed) {
        let is_kept = address.wrapping_add(library.shift) < start;
        assert!(half == listed.clone().filter(|_| is_kept), "{address:x}");
        is_missing |= half != listed;
    }
    assert!(is_missing, "nobody reads the index");
}

#[test]
fn a_row_holds_for_a_range_and_all_in_it_says_so() {
    let library = Library::mapped();
    let without_index = |index: &mut [u8]| index[0] = 0;
    for rules in [library.rules(|_| ()), library.rules(without_index)] {
        let mut memory = RowMemory::default();
        let (mut address, mut ranges) = (library.code.start, 0);
        while address < library.code.end {
            let Some((row, holds)) = rules.row_of_range(address, &mut memory) else {
                address += 1;
                continue;
            };
            // The code before was of another, or of none.
            assert_eq!(holds.start, address);
            for other in [address + (holds.end - address) / 2, holds.end - 1] {
                let found = rules.row_of_range(other, &mut memory);
                assert!(found == Some((row.clone(), holds.clone())), "{address:x}, {other:x}");
            }
            (address, ranges) = (holds.end, ranges + 1);
        }
        assert!(ranges > 1_000);
    }
}
