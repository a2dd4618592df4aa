//! Where functions begin, as all that can be unwound and all that has debug information knows: also
//! those that have no symbol.

use perftab_perfdata::map::Map;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, RunTimeEndian,
    UnwindOffset, UnwindSection,
};
use perftab_perfdata::decode::ReadError;

use super::dwarf::{Budget, Fault};
use super::elf::{Class, Elf};
use super::image::Image;

type Bytes<'b> = EndianSlice<'b, RunTimeEndian>;

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
        add_of_frames(starts, image, elf, budget, ".eh_frame")?;
    }
    // Debug information that cannot be read takes no symbols away.
    for name in [".debug_frame", ".zdebug_frame"] {
        let _ = add_of_frames(starts, image, elf, budget, name);
    }
    Ok(())
}

fn endian(elf: &Elf) -> RunTimeEndian {
    match elf.endian {
        object::Endianness::Little => RunTimeEndian::Little,
        object::Endianness::Big => RunTimeEndian::Big,
    }
}

fn address_size(elf: &Elf) -> u8 {
    match elf.class {
        Class::Elf32 => 4,
        Class::Elf64 => 8,
    }
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
    let header = EhFrameHdr::new(&bytes, endian(elf)).parse(&bases, address_size(elf));
    if let Some(table) = header.as_ref().ok().and_then(|header| header.table()) {
        let mut entries = table.iter(&bases);
        while let Ok(Some((start, _))) = entries.next() {
            starts.extend(start.direct().ok());
        }
    }
    Ok(())
}

/// The entries of `.eh_frame` or `.debug_frame`; damage ends them.
fn add_of_frames(
    starts: &mut Vec<u64>,
    image: &Image,
    elf: &Elf,
    budget: &Budget,
    name: &str,
) -> Result<(), ReadError> {
    let Some(section) = elf.section_with_bytes(name) else { return Ok(()) };
    let bytes = image.section_within(elf, section, budget)?;
    let text = elf.sections.iter().find(|section| section.name == ".text");
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address)
        .set_text(text.map_or(0, |text| text.address));
    let _ = if name == ".eh_frame" {
        let mut frames = EhFrame::new(&bytes, endian(elf));
        frames.set_address_size(address_size(elf));
        add_entries(starts, &frames, &bases, budget)
    } else {
        let mut frames = DebugFrame::new(&bytes, endian(elf));
        frames.set_address_size(address_size(elf));
        add_entries(starts, &frames, &bases, budget)
    };
    Ok(())
}

fn add_entries<'b, S>(
    starts: &mut Vec<u64>,
    frames: &S,
    bases: &BaseAddresses,
    budget: &Budget,
) -> Result<(), Fault>
where
    S: UnwindSection<Bytes<'b>>,
{
    // Many entries have one in common.
    let mut common = Map::new();
    let mut entries = frames.entries(bases);
    while let Some(entry) = entries.next()? {
        let CieOrFde::Fde(entry) = entry else { continue };
        let entry = entry.parse(|frames, bases, offset| {
            let at: usize = UnwindOffset::into(offset);
            let read = || frames.cie_from_offset(bases, offset);
            common.entry(at).or_insert_with(read).clone()
        })?;
        budget.work(entry.cie().entry_len() as u64 / 16 + 1)?;
        budget.hold_one::<u64>()?;
        starts.push(entry.initial_address());
    }
    Ok(())
}
