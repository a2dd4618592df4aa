//! Where the trees of inlined calls of a Go program are. Its table does not say; what does is the run time's own
//! description of the program, `runtime.firstmoduledata`, somewhere in its data. It is found without its symbol:
//! it begins with the address of the table, and goes on with those of the table's parts.

use super::{Layout, More, Release, Table, for_each_relocation};
use crate::dwarf::Budget;
use crate::elf::{Elf, Section};
use crate::image::Image;

/// So many words of a description are read, more than stand before what is wanted.
const READ: usize = 48;
/// Where it is in Go 1.18, and since 1.20, which counts coverage. (Go's src/runtime/symtab.go: `gofunc`)
const TREES_1_18: usize = 38;
const TREES_1_20: usize = 40;
/// Where the addresses of names, units, files and lists of values are, each with two words of length behind it.
const PARTS: [usize; 4] = [1, 4, 7, 10];
/// The table's address is in few other places.
const MAX_CANDIDATES: usize = 64;

/// The address that those of trees count from. `None` where it cannot be told.
pub(super) fn trees_address(
    image: &Image,
    elf: &Elf,
    section: &Section,
    layout: &Layout,
    budget: &Budget,
) -> Option<u64> {
    let more = layout.more.as_ref()?;
    let parts = [layout.names, more.units, more.files, more.values];
    let parts = parts.map(|part| section.address.wrapping_add(part as u64));
    let descriptions = Descriptions::read(image, elf, section.address, budget)?;
    let described = descriptions.0.iter().find(|(_, words)| {
        PARTS.iter().zip(parts).all(|(&index, part)| words.get(index) == Some(&part))
    });
    trees_in(&described?.1, section, more)
}

fn trees_in(words: &[u64], section: &Section, more: &More) -> Option<u64> {
    let table = section.address..section.address.checked_add(section.size)?;
    // Since Go 1.26 they are in the table's section, and where that ends comes next.
    let is_before_end =
        |pair: &&[u64]| matches!(pair, [trees, end] if table.contains(trees) && *end == table.end);
    if let Some([trees, _]) = words.windows(2).skip(TREES_1_18).find(is_before_end) {
        return Some(*trees);
    }
    let index = match more.release {
        Release::Go118 => TREES_1_18,
        Release::Go120 => TREES_1_20,
    };
    words.get(index).copied()
}

/// Words in the data of a program from each on that is an address wanted, with that word's own address.
struct Descriptions(Vec<(u64, Vec<u64>)>);

impl Descriptions {
    fn read(image: &Image, elf: &Elf, wanted: u64, budget: &Budget) -> Option<Self> {
        let size = usize::from(elf.address_size());
        let mut found = Self(Vec::new());
        let before = budget.memory();
        let mut left = image.source().len();
        for section in elf.sections.iter().filter(|it| it.is_writable() && it.has_bytes()) {
            // Thousands of headers may name the same ones.
            left = left.checked_sub(section.size)?;
            let bytes = image.section_within(elf, section, budget).ok()?;
            let table = Table { bytes: &bytes, endian: elf.endian };
            for at in (0..bytes.len()).step_by(size) {
                if table.number(at, size) == Some(wanted) {
                    found.add(section.address.wrapping_add(at as u64));
                }
            }
            budget.release_to(before);
        }
        for_each_relocation(image, elf, |relocation| {
            if relocation.addend.map(i64::cast_unsigned) == Some(wanted) {
                found.add(relocation.offset);
            }
        })?;
        let length = READ * size;
        for (address, words) in &mut found.0 {
            let is_in = |it: &&Section| {
                let within = address.checked_sub(it.address);
                it.has_bytes() && it.is_writable() && within.is_some_and(|within| within < it.size)
            };
            let section = elf.sections.iter().find(is_in)?;
            let within = *address - section.address;
            let length = (length as u64).min(section.size - within);
            let bytes =
                image.source().read_vec(section.offset.checked_add(within)?, length).ok()?;
            let table = Table { bytes: &bytes, endian: elf.endian };
            words.extend((0..READ).map_while(|index| table.number(index * size, size)));
        }
        for_each_relocation(image, elf, |relocation| {
            let Some(addend) = relocation.addend else { return };
            for (address, words) in &mut found.0 {
                let within = relocation.offset.wrapping_sub(*address);
                let index = usize::try_from(within / size as u64).ok();
                if let Some(word) = index.and_then(|index| words.get_mut(index)) {
                    *word = addend.cast_unsigned();
                }
            }
        })?;
        Some(found)
    }

    fn add(&mut self, address: u64) {
        if self.0.len() < MAX_CANDIDATES {
            self.0.push((address, Vec::new()));
        }
    }
}
