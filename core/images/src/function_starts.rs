//! Where functions begin, as all that can be unwound and all that has debug information knows: also
//! those that have no symbol.

use gimli::{BaseAddresses, EhFrameHdr};
use perftab_perfdata::decode::ReadError;

use super::dwarf::Budget;
use super::elf::Elf;
use super::image::Image;
use super::unwinding::for_each_function;

/// Adds those of a file to `starts`, in no order.
pub(super) fn add(
    starts: &mut Vec<u64>,
    image: &Image,
    elf: &Elf,
    budget: &Budget,
) -> Result<(), ReadError> {
    let before = starts.len();
    add_of_table(starts, image, elf, budget)?;
    if starts.len() == before {
        for_each_function(image, elf, ".eh_frame", budget, |it| starts.push(it.start))?;
    }
    // Debug information that cannot be read takes no symbols away.
    for name in [".debug_frame", ".zdebug_frame"] {
        let _ = for_each_function(image, elf, name, budget, |it| starts.push(it.start));
    }
    Ok(())
}

/// The table in `.eh_frame_hdr`, which is sorted and need not be decoded.
fn add_of_table(
    starts: &mut Vec<u64>,
    image: &Image,
    elf: &Elf,
    budget: &Budget,
) -> Result<(), ReadError> {
    let Some(section) = elf.section_with_bytes(".eh_frame_hdr") else { return Ok(()) };
    let bytes = image.section_within(elf, section, budget)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(section.address);
    let header = EhFrameHdr::new(&bytes, elf.dwarf_endian()).parse(&bases, elf.address_size());
    if let Some(table) = header.as_ref().ok().and_then(|header| header.table()) {
        let mut entries = table.iter(&bases);
        while let Ok(Some((start, _))) = entries.next() {
            starts.extend(start.direct().ok());
        }
    }
    Ok(())
}
