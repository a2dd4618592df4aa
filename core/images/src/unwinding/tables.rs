//! The tables of files, and the row for an address.

use std::cell::RefCell;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, FrameDescriptionEntry,
    RunTimeEndian, UnwindContext, UnwindOffset, UnwindSection, Vendor,
};
use perftab_dsos::{Dso, DsoId, Identity};
use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_numbers;

use super::registers::UnwoundMachine;
use super::row::Row;
use crate::code_ranges::CodeRanges;
use crate::dso_images::DsoImages;
use crate::dwarf::{Budget, Fault};
use crate::elf::{Class, Elf, Section};
use crate::image::Image;
use crate::matched_image::MatchedImage;
use crate::placement::OwnedPlacement;

type Bytes<'b> = EndianSlice<'b, RunTimeEndian>;

/// How the callers of a DSO's code are found: the unwind tables of files that passed the gate.
#[derive(Clone)]
pub struct UnwindTables {
    identity: Identity,
    place: OwnedPlacement,
    sections: Rc<FrameSections>,
}

/// The sections of the files of one build.
#[derive(Default)]
pub(crate) struct FrameSections {
    tables: Vec<Table>,
    memory: RefCell<UnwindContext<usize>>,
}

/// One section.
struct Table {
    bytes: Vec<u8>,
    form: Form,
    /// By where their code begins.
    functions: Vec<Function>,
    budget: Budget,
}

/// How a section is to be read.
struct Form {
    kind: Kind,
    endian: RunTimeEndian,
    address_size: u8,
    vendor: Vendor,
    bases: BaseAddresses,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    EhFrame,
    DebugFrame,
}

/// A function as a section tells of it.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Where it begins.
    pub start: u64,
    end: u64,
    /// Where in the section that stands.
    offset: usize,
}

/// Does the same with either kind of section.
macro_rules! with_section {
    ($form:expr, $bytes:expr, $do:expr) => {{
        let form: &Form = $form;
        match form.kind {
            Kind::EhFrame => {
                let mut section = EhFrame::new($bytes, form.endian);
                section.set_address_size(form.address_size);
                section.set_vendor(form.vendor);
                $do(&section)
            }
            Kind::DebugFrame => {
                let mut section = DebugFrame::new($bytes, form.endian);
                section.set_address_size(form.address_size);
                section.set_vendor(form.vendor);
                $do(&section)
            }
        }
    }};
}

impl Form {
    fn of(elf: &Elf, section: &Section) -> Self {
        let text = elf.sections.iter().find(|section| section.name == ".text");
        Self {
            kind: match section.name.as_str() {
                ".eh_frame" => Kind::EhFrame,
                _ => Kind::DebugFrame,
            },
            endian: match elf.endian {
                object::Endianness::Little => RunTimeEndian::Little,
                object::Endianness::Big => RunTimeEndian::Big,
            },
            address_size: match elf.class {
                Class::Elf32 => 4,
                Class::Elf64 => 8,
            },
            vendor: match UnwoundMachine::of_elf(elf.machine) {
                Some(UnwoundMachine::Aarch64) => Vendor::AArch64,
                _ => Vendor::Default,
            },
            bases: BaseAddresses::default()
                .set_eh_frame(section.address)
                .set_text(text.map_or(0, |text| text.address)),
        }
    }
}

/// Calls `each` with every function that a section of this name tells of. Damage ends them.
pub(crate) fn for_each_function(
    image: &Image,
    elf: &Elf,
    name: &str,
    budget: &Budget,
    each: impl FnMut(Function),
) -> Result<(), perftab_perfdata::decode::ReadError> {
    let Some(section) = elf.section_with_bytes(name) else { return Ok(()) };
    let bytes = image.section_within(elf, section, budget)?;
    let _ = each_function(&Form::of(elf, section), &bytes, budget, each);
    Ok(())
}

fn each_function(
    form: &Form,
    bytes: &[u8],
    budget: &Budget,
    each: impl FnMut(Function),
) -> Result<(), Fault> {
    with_section!(form, bytes, |section| each_entry(section, &form.bases, budget, each))
}

fn each_entry<'b, S: UnwindSection<Bytes<'b>>>(
    section: &S,
    bases: &BaseAddresses,
    budget: &Budget,
    mut each: impl FnMut(Function),
) -> Result<(), Fault> {
    // Many entries have one in common.
    let mut common = Map::new();
    let mut entries = section.entries(bases);
    while let Some(entry) = entries.next()? {
        let CieOrFde::Fde(entry) = entry else { continue };
        let entry = entry.parse(|section, bases, offset| {
            let at: usize = UnwindOffset::into(offset);
            let read = || section.cie_from_offset(bases, offset);
            common.entry(at).or_insert_with(read).clone()
        })?;
        budget.work(entry.cie().entry_len() as u64 / 16 + 1)?;
        budget.hold_one::<Function>()?;
        let (start, end) = (entry.initial_address(), entry.end_address());
        each(Function { start, end, offset: entry.offset() });
    }
    Ok(())
}

impl Table {
    /// `None` if there is none that can be read.
    fn read(image: &Image, name: &str) -> Option<Self> {
        let elf = image.elf()?;
        let section = elf.section_with_bytes(name)?;
        if elf.class != Class::Elf64 || UnwoundMachine::of_elf(elf.machine).is_none() {
            return None;
        }
        let budget = Budget::of_file(image.source().len());
        let bytes = image.section_within(elf, section, &budget).ok()?;
        let form = Form::of(elf, section);
        // Code that the linker left out begins at 0 or 1.
        let code = CodeRanges::of(elf, None);
        let mut functions = Vec::new();
        // What stands before damage counts.
        let _ = each_function(&form, &bytes, &budget, |function| {
            if function.start < function.end && code.may_hold(function.start) {
                functions.push(function);
            }
        });
        sort_by_numbers(&mut functions, |function| (function.start, function.end));
        Some(Self { bytes, form, functions, budget })
    }

    fn row(&self, address: u64, memory: &mut UnwindContext<usize>) -> Option<Row> {
        let next = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(next.checked_sub(1)?)?;
        if address >= function.end {
            return None;
        }
        with_section!(&self.form, &self.bytes, |section| row_of(
            section,
            self,
            function.offset,
            address,
            memory
        ))
    }
}

fn row_of<'b, S: UnwindSection<Bytes<'b>>>(
    section: &S,
    table: &Table,
    offset: usize,
    address: u64,
    memory: &mut UnwindContext<usize>,
) -> Option<Row> {
    let bases = &table.form.bases;
    let entry: FrameDescriptionEntry<Bytes<'b>> =
        section.fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset).ok()?;
    let common = entry.cie();
    table.budget.work((entry.entry_len() + common.entry_len()) as u64).ok()?;
    let (encoding, returns) = (common.encoding(), common.return_address_register().0);
    let is_signal = entry.is_signal_trampoline();
    let row = entry.unwind_info_for_address(section, bases, memory, address).ok()?;
    Row::new(section, row, encoding, returns, is_signal)
}

impl FrameSections {
    /// Those of the files of one build. A binary has `.eh_frame`, its debug file may have `.debug_frame`.
    pub fn read(images: &[MatchedImage]) -> Self {
        let names = [".eh_frame", ".debug_frame", ".zdebug_frame"];
        let tables = names
            .iter()
            .flat_map(|name| images.iter().find_map(|image| Table::read(image.image(), name)));
        Self { tables: tables.collect(), ..Self::default() }
    }
}

impl UnwindTables {
    /// What the files are that they are from.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// How the caller is found of the code at an address, as frames have it; `None` if nothing says.
    pub fn row(&self, address: u64) -> Option<Row> {
        let address = self.place.svma(address)?;
        let FrameSections { tables, memory } = &*self.sections;
        let memory = &mut memory.borrow_mut();
        tables.iter().find_map(|table| table.row(address.0, memory))
    }
}

impl DsoImages {
    /// The tables of the files of a DSO; `None` if there are none, or if it is not known where its code lay.
    pub fn unwind_tables(&self, id: DsoId, dso: &Dso) -> Option<UnwindTables> {
        let build = self.build(id)?;
        let identity = self.of(id).first()?.identity();
        let sections = Rc::clone(build.frame_sections());
        let place = build.placement(dso).ok()?.to_owned()?;
        (!sections.tables.is_empty()).then_some(UnwindTables { identity, place, sections })
    }
}
