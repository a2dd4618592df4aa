//! The tables of files, and the row for an address.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, Endianity,
    FrameDescriptionEntry, RunTimeEndian, UnwindContext, UnwindOffset, UnwindSection, Vendor,
    constants,
};
use object::elf;
use perftab_dsos::{Dso, DsoId, Identity};
use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_numbers;

use super::leaf_code;
use super::registers::UnwoundMachine;
use super::row::{Left, Row};
use crate::code_ranges::CodeRanges;
use crate::dso_images::DsoImages;
use crate::dwarf::{Budget, Fault};
use crate::elf::{Class, Elf, Section};
use crate::go::GoFunctions;
use crate::image::Image;
use crate::placement::OwnedPlacement;

/// Functions of Go's run time that go on on another stack, where what called them is not, and Go itself looks no further
/// (`funcFlag_SPWRITE` in src/runtime/traceback.go, 1.19). Their rows tell of the stack that they were called on.
const STACK_SWITCHES: [&[u8]; 4] =
    [b"runtime.systemstack", b"runtime.mcall", b"runtime.morestack", b"runtime.asmcgocall"];

/// How linkers write `.eh_frame_hdr`: version 1, and how numbers are written that follow. Numbers are of four bytes with a
/// sign; those of the table count from where it is itself.
const INDEX_FORM: [u8; 4] = [
    1,
    constants::DW_EH_PE_pcrel.0 | constants::DW_EH_PE_sdata4.0,
    constants::DW_EH_PE_udata4.0,
    constants::DW_EH_PE_datarel.0 | constants::DW_EH_PE_sdata4.0,
];

type Bytes<'b> = EndianSlice<'b, RunTimeEndian>;

/// So many bytes of code from where a process begins are what it begins with, unless a table says otherwise.
const ENTRY: u64 = 64;

/// How the callers of a DSO's code are found: the unwind tables of files that passed the gate.
#[derive(Clone)]
pub struct UnwindTables {
    pub(super) identity: Identity,
    pub(super) rules: FileRules,
}

/// How the callers of a file's code are found.
#[derive(Clone)]
pub struct FileRules {
    pub(super) place: OwnedPlacement,
    /// Where a process of the file begins; 0 for nowhere.
    pub(super) entry: u64,
    pub(super) sections: Arc<FrameSections>,
}

/// What finding rows takes of memory, for whoever looks for many.
#[derive(Default)]
pub struct RowMemory(pub(super) UnwindContext<usize>);

/// The sections of the files of one build.
#[derive(Default)]
pub(crate) struct FrameSections {
    pub(super) tables: Vec<Table>,
}

/// One section.
pub(super) struct Table {
    pub bytes: Vec<u8>,
    pub form: Form,
    /// Where there can be code.
    pub code: CodeRanges,
    /// Where in the section functions are told of, as its linker sorted them.
    index: Option<Index>,
    /// By where their code begins; made when somebody asks.
    functions: OnceLock<Vec<Function>>,
    budget: Budget,
}

/// A section `.eh_frame_hdr`. libLLVM has 160,804 functions: to read and sort them took a tenth of the processor time of
/// recording a compiler's stacks. Linkers write one of all functions or none (GNU ld, lld, BOLT). To look for every 256th
/// function first, which stays in the processor's caches, or to read an entry once in place of twice, gained nothing.
struct Index {
    bytes: Vec<u8>,
    address: u64,
}

/// How a section is to be read.
pub(super) struct Form {
    pub kind: Kind,
    pub endian: RunTimeEndian,
    pub address_size: u8,
    pub machine: Option<UnwoundMachine>,
    /// Where the section is in memory.
    pub address: u64,
    /// Where `.text` is.
    pub text: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
                section.set_vendor(form.vendor());
                $do(&section)
            }
            Kind::DebugFrame => {
                let mut section = DebugFrame::new($bytes, form.endian);
                section.set_address_size(form.address_size);
                section.set_vendor(form.vendor());
                $do(&section)
            }
        }
    }};
}

impl Function {
    /// Without what is of the next one.
    fn before(self, next: Option<u64>) -> Self {
        Self { end: next.map_or(self.end, |next| self.end.min(next)), ..self }
    }
}

impl Form {
    fn of(elf: &Elf, section: &Section) -> Self {
        let text = elf.sections.iter().find(|section| section.name == ".text");
        Self {
            kind: match section.name.as_str() {
                ".eh_frame" => Kind::EhFrame,
                _ => Kind::DebugFrame,
            },
            endian: elf.dwarf_endian(),
            address_size: elf.address_size(),
            machine: UnwoundMachine::of_elf(elf.machine),
            address: section.address,
            text: text.map_or(0, |text| text.address),
        }
    }

    fn vendor(&self) -> Vendor {
        match self.machine {
            Some(UnwoundMachine::Aarch64) => Vendor::AArch64,
            _ => Vendor::Default,
        }
    }

    /// More bytes than these are not between two functions: assemblers align to 16, glibc on arm64 to 64.
    fn max_padding(&self) -> u64 {
        match self.machine {
            Some(UnwoundMachine::Aarch64) => 64,
            _ => 16,
        }
    }

    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default().set_eh_frame(self.address).set_text(self.text)
    }
}

/// Calls `each` with every function that a section of this name tells of. Damage ends them.
pub(crate) fn for_each_function(
    image: &Image,
    elf: &Elf,
    name: &str,
    budget: &Budget,
    mut each: impl FnMut(Function),
) -> Result<(), perftab_perfdata::decode::ReadError> {
    let Some(section) = elf.section_with_bytes(name) else { return Ok(()) };
    let bytes = image.section_within(elf, section, budget)?;
    let _ = each_function(&Form::of(elf, section), &bytes, budget, &mut each);
    Ok(())
}

/// Inlined wherever it is called it is there four times.
#[inline(never)]
fn each_function(
    form: &Form,
    bytes: &[u8],
    budget: &Budget,
    each: &mut dyn FnMut(Function),
) -> Result<(), Fault> {
    with_section!(form, bytes, |section| each_entry(section, &form.bases(), budget, each))
}

fn each_entry<'b, S: UnwindSection<Bytes<'b>>>(
    section: &S,
    bases: &BaseAddresses,
    budget: &Budget,
    each: &mut dyn FnMut(Function),
) -> Result<(), Fault> {
    // Many entries have one in common, most of them that of the entry before.
    let mut common = Map::new();
    let mut last = None;
    let mut entries = section.entries(bases);
    while let Some(entry) = entries.next()? {
        let CieOrFde::Fde(entry) = entry else { continue };
        let entry = entry.parse(|section, bases, offset| {
            let at: usize = UnwindOffset::into(offset);
            last.take_if(|(last, _)| *last != at);
            let read = || section.cie_from_offset(bases, offset);
            let find = || (at, common.entry(at).or_insert_with(read).clone());
            last.get_or_insert_with(find).1.clone()
        })?;
        budget.work(entry.cie().entry_len() as u64 / 16 + 1)?;
        budget.hold_one::<Function>()?;
        let (start, end) = (entry.initial_address(), entry.end_address());
        each(Function { start, end, offset: entry.offset() });
    }
    Ok(())
}

impl Table {
    /// `None` if there is none that can be read. `left_out` are functions that it tells nothing of.
    fn read(image: &Image, name: &str, left_out: &[(u64, u64)]) -> Option<Self> {
        let elf = image.elf()?;
        let section = elf.section_with_bytes(name)?;
        if elf.class != Class::Elf64 || UnwoundMachine::of_elf(elf.machine).is_none() {
            return None;
        }
        let budget = Budget::of_file(image.source().len());
        budget.hold_sections(elf.inflated_size(image.source(), section).ok()?).ok()?;
        let bytes = image.section_bytes(elf, section).ok()?;
        let code = CodeRanges::of(elf, None).without(left_out);
        let index = || {
            let section = elf.section_with_bytes(".eh_frame_hdr")?;
            let bytes = image.section_within(elf, section, &budget).ok()?;
            Some(Index { bytes, address: section.address })
        };
        let index = if name == ".eh_frame" { index() } else { None };
        Some(Self { index, ..Self::new(bytes, Form::of(elf, section), code, budget) })
    }

    pub fn new(mut bytes: Vec<u8>, form: Form, code: CodeRanges, budget: Budget) -> Self {
        if form.kind == Kind::EhFrame {
            leave_out_lsda(&mut bytes);
        }
        Self { bytes, form, code, index: None, functions: OnceLock::new(), budget }
    }

    fn functions(&self) -> &[Function] {
        self.functions.get_or_init(|| {
            let mut functions = Vec::new();
            // What stands before damage counts.
            let _ = each_function(&self.form, &self.bytes, &self.budget, &mut |function| {
                if self.holds(&function) {
                    functions.push(function);
                }
            });
            sort_by_numbers(&mut functions, |function| (function.start, function.end));
            functions
        })
    }

    /// The last function to begin at an address or before. It ends where the next one begins, if not before.
    fn function_up_to(&self, address: u64) -> Option<Function> {
        self.indexed(address).or_else(|| {
            let functions = self.functions();
            let next = functions.partition_point(|function| function.start <= address);
            let function = functions.get(next.checked_sub(1)?)?;
            Some(function.before(functions.get(next).map(|next| next.start)))
        })
    }

    /// The same by the index; `None` if there is none, or if it is not true.
    fn indexed(&self, address: u64) -> Option<Function> {
        let Index { bytes, address: index_address } = self.index.as_ref()?;
        let endian = self.form.endian;
        let (&form, entries) = bytes.split_first_chunk()?;
        if form != INDEX_FORM {
            return None;
        }
        // What comes first is where the section is, and how many entries there are. lld leaves room for more where several
        // functions begin at one address.
        let (&count, entries) = entries.get(4..)?.split_first_chunk::<4>()?;
        let count = usize::try_from(endian.read_u32(&count)).ok()?;
        let entries = entries.as_chunks::<4>().0.as_chunks::<2>().0.get(..count)?;
        let number =
            |bytes: [u8; 4]| index_address.wrapping_add_signed(endian.read_i32(&bytes).into());
        let next = entries.partition_point(|[start, _]| number(*start) <= address);
        let [start, entry] = entries.get(next.checked_sub(1)?)?;
        let offset = usize::try_from(number(*entry).checked_sub(self.form.address)?).ok()?;
        let function = with_section!(&self.form, &self.bytes, |section| function_at(
            section,
            &self.form.bases(),
            &self.budget,
            offset
        ))?;
        let next = entries.get(next).map(|[start, _]| number(*start));
        let is_true = function.start == number(*start) && self.holds(&function);
        is_true.then_some(function.before(next))
    }

    /// Whether there can be a function. Code that the linker left out begins at 0 or 1.
    fn holds(&self, function: &Function) -> bool {
        function.start < function.end && self.code.may_hold(function.start)
    }

    fn begins_function(&self, address: u64) -> bool {
        self.function_up_to(address).is_some_and(|function| function.start == address)
    }

    /// Where the function ends that is the last to begin before an address.
    fn end_before(&self, address: u64) -> Option<u64> {
        self.function_up_to(address.checked_sub(1)?).map(|function| function.end)
    }

    /// The row for an address, and for which others it is the row too.
    pub fn row(
        &self,
        address: u64,
        memory: &mut UnwindContext<usize>,
    ) -> Option<(Row, Range<u64>)> {
        // An entry has to be read before it is known how long that takes. So none is once there is too little left.
        self.budget.work(1).ok()?;
        let function = self.function_up_to(address).filter(|function| address < function.end)?;
        with_section!(&self.form, &self.bytes, |section| row_of(
            section, self, function, address, memory
        ))
    }
}

fn function_at<'b, S: UnwindSection<Bytes<'b>>>(
    section: &S,
    bases: &BaseAddresses,
    budget: &Budget,
    offset: usize,
) -> Option<Function> {
    let at = S::Offset::from(offset);
    let entry = section.fde_from_offset(bases, at, S::cie_from_offset).ok()?;
    budget.work(entry.cie().entry_len() as u64 / 16 + 1).ok()?;
    Some(Function { start: entry.initial_address(), end: entry.end_address(), offset })
}

fn row_of<'b, S: UnwindSection<Bytes<'b>>>(
    section: &S,
    table: &Table,
    function: Function,
    address: u64,
    memory: &mut UnwindContext<usize>,
) -> Option<(Row, Range<u64>)> {
    let bases = &table.form.bases();
    let entry: FrameDescriptionEntry<Bytes<'b>> = section
        .fde_from_offset(bases, S::Offset::from(function.offset), S::cie_from_offset)
        .ok()?;
    let common = entry.cie();
    table.budget.work((entry.entry_len() + common.entry_len()) as u64).ok()?;
    let returns = common.return_address_register().0;
    let left = if entry.is_signal_trampoline() { Left::BySignal } else { Left::ByCall };
    let machine = table.form.machine?;
    let stack_pointer = machine.stack_pointer();
    let mut rows = entry.rows(section, bases, memory).ok()?;
    let mut reached = 0;
    while let Some(row) = rows.next_row().ok()? {
        if row.contains(address) {
            let holds = row.start_address()..row.end_address().min(function.end);
            return Some((Row::new(machine, section, row, reached, returns, left)?, holds));
        }
        reached = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } if register.0 == stack_pointer => {
                reached.max(*offset)
            }
            // From a frame pointer: nothing says how far the stack reaches.
            _ => i64::MAX,
        };
    }
    None
}

impl FrameSections {
    /// Those of the files of one build. A binary has `.eh_frame`, its debug file may have `.debug_frame`.
    pub fn read<'a>(images: impl Iterator<Item = &'a Image> + Clone) -> Self {
        let names = [".eh_frame", ".debug_frame", ".zdebug_frame"];
        let switches: Vec<_> = images.clone().flat_map(stack_switches).collect();
        let read = |name| images.clone().find_map(|image| Table::read(image, name, &switches));
        let tables: Vec<Table> = names.into_iter().filter_map(read).collect();
        match tables.is_empty() {
            true => Self::of(images.filter_map(leaf_code::table).take(1).collect()),
            false => Self::of(tables),
        }
    }

    pub(super) fn of(tables: Vec<Table>) -> Self {
        Self { tables }
    }

    /// How long the functions are that begin at an address: several of one address differ only in damaged files.
    pub fn lengths_at(&self, start: u64) -> impl Iterator<Item = u64> {
        self.tables.iter().flat_map(move |table| {
            let functions = table.functions();
            let first = functions.partition_point(|function| function.start < start);
            let begin_there = functions[first..].iter().take_while(move |it| it.start == start);
            begin_there.map(|function| function.end - function.start)
        })
    }
}

impl UnwindTables {
    /// What the files are that they are from.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Uses what `other` has, if that is of the same files.
    pub fn share(&mut self, other: &Self) {
        let (ours, theirs) = (&self.rules.sections.tables, &other.rules.sections.tables);
        let is_same = ours.iter().map(|it| &it.bytes).eq(theirs.iter().map(|it| &it.bytes));
        if self.identity == other.identity && is_same {
            self.rules.sections = Arc::clone(&other.rules.sections);
        }
    }

    /// The rules.
    pub fn rules(&self) -> &FileRules {
        &self.rules
    }
}

impl FileRules {
    /// Those of a file, for whoever knows that it is the one that was mapped, such as a recorder that finds the mapped
    /// inode. `None` if it has none.
    pub fn of_mapped(image: &Image) -> Option<Self> {
        let elf = image.elf()?;
        let sections = Arc::new(FrameSections::read(std::iter::once(image)));
        let place = OwnedPlacement::Segments(elf.segments.as_slice().into());
        let entry = begins_at(elf).unwrap_or(0);
        (!sections.tables.is_empty()).then_some(Self { place, entry, sections })
    }

    /// How the caller is found of the code at an address, as frames have it; `None` if nothing says.
    pub fn row(&self, address: u64, memory: &mut RowMemory) -> Option<Row> {
        self.row_of_range(address, memory).map(|(row, _)| row)
    }

    /// The same, and for which addresses around it that is the row.
    pub fn row_of_range(&self, address: u64, memory: &mut RowMemory) -> Option<(Row, Range<u64>)> {
        let svma = self.place.svma(address)?.0;
        let mut tables = self.sections.tables.iter().enumerate();
        let found = tables.find_map(|(nth, table)| Some((nth, table.row(svma, &mut memory.0)?)));
        let only_this = address..address.saturating_add(1);
        let Some((nth, (row, svmas))) = found else {
            // glibc's loader says nothing of where it begins, and nothing has called that.
            let is_entry =
                self.entry != 0 && (self.entry..self.entry.saturating_add(ENTRY)).contains(&svma);
            return is_entry.then(|| (Row::of_first(), only_this));
        };
        // Within a segment, distances in memory and in the file are the same. Where the first table says nothing of an
        // address, it may of others around it.
        let at = |other: u64| address.wrapping_add(other.wrapping_sub(svma));
        let [first, last] = [svmas.start, svmas.end - 1];
        let is_there = |it| self.place.svma(at(it)).is_some_and(|found| found.0 == it);
        let holds = match nth == 0 && is_there(first) && is_there(last) {
            true => at(first)..at(last).saturating_add(1),
            false => only_this,
        };
        Some((row, holds))
    }

    /// Whether a function begins at an address, as frames have it, with nothing but padding before it. What the tables
    /// leave out is longer: it may call a function that does not return as its last act, and so seem to return to here.
    pub fn begins_behind_padding(&self, address: u64) -> bool {
        let Some(address) = self.place.svma(address).map(|address| address.0) else { return false };
        let tables = &self.sections.tables;
        let before = tables.iter().filter_map(|table| table.end_before(address)).max();
        let is_behind = |table: &Table| {
            before.is_some_and(|end| address.saturating_sub(end) < table.form.max_padding())
                && table.begins_function(address)
        };
        tables.iter().any(is_behind)
    }
}

/// Where the functions of a Go program begin and end that are [`STACK_SWITCHES`].
fn stack_switches(image: &Image) -> Vec<(u64, u64)> {
    let budget = Budget::of_file(image.source().len());
    let GoFunctions { names, functions } = GoFunctions::read(image, &budget).unwrap_or_default();
    let is_switch = |name: u32| {
        let name = names.get(name as usize..).and_then(|rest| rest.split(|byte| *byte == 0).next());
        name.is_some_and(|name| STACK_SWITCHES.contains(&name))
    };
    let switches = functions.into_iter().filter(|&(_, _, name)| is_switch(name));
    switches.map(|(start, end, _)| (start, end)).collect()
}

/// Where a process of a file begins. Linkers wrote the beginning of `.text` into libraries, where none begins.
fn begins_at(elf: &Elf) -> Option<u64> {
    let text = elf.sections.iter().find(|section| section.name == ".text");
    let is_program =
        elf.kind == elf::ET_EXEC || elf.segments.iter().any(|it| it.kind == elf::PT_INTERP);
    let is_given = is_program || text.is_none_or(|text| text.address != elf.entry);
    is_given.then_some(elf.entry)
}

impl DsoImages {
    /// The tables of the files of a DSO; `None` if there are none, or if it is not known where its code lay.
    pub fn unwind_tables(&self, id: DsoId, dso: &Dso) -> Option<UnwindTables> {
        let build = self.build(id)?;
        let identity = self.of(id).first()?.identity();
        let sections = Arc::clone(build.frame_sections());
        let place = build.placement(dso).ok()?.to_owned()?;
        let entry = self.of(id).first()?.image().elf().and_then(begins_at).unwrap_or(0);
        let rules = FileRules { place, entry, sections };
        (!rules.sections.tables.is_empty()).then_some(UnwindTables { identity, rules })
    }
}

/// A CIE of V8: version 3, and what FDEs have more is where their language's own data is, of which it then says that it
/// is left out.
const V8_START: [u8; 5] = [3, b'z', b'L', b'R', 0];
/// Length, and that it is a CIE.
const HEAD: usize = 8;
const OMITTED: u8 = 0xff;

/// Takes away what is left out where a section begins so, as gimli reads no entry with that. All stays in its place:
/// the factor of code gets one byte more.
fn leave_out_lsda(rules: &mut [u8]) {
    if let Some(entry) = rules.get_mut(HEAD..)
        && let Some(fields) = entry.strip_prefix(&V8_START)
        && let [code, data, returns, 2, OMITTED, encoding, ..] = *fields
        // Numbers of one byte.
        && (code | data | returns) < 0x80
    {
        let changed = [3, b'z', b'R', 0, code | 0x80, 0, data, returns, 2, encoding, 0];
        entry[..changed.len()].copy_from_slice(&changed);
    }
}
