//! The lines and the inlined calls of a Go program.
//!
//! A function has lists of values: for the file, the line, and the call that was inlined. A list says what a
//! value is up to an address, then what is added to both. An inlined call is a node of the function's tree: its
//! name, and the address of an instruction with the place of the call. Trees are elsewhere (`module_data.rs`). What
//! names them is checked, as an address of trees that is wrong leads to any bytes: a name begins behind the end
//! of another, and a call's address is in its function.

use std::borrow::Cow;
use std::rc::Rc;

use object::Endianness;
use perftab_perfdata::decode::ReadError;

use super::module_data::trees_address;
use super::{Layout, MAGIC_1_18, MAGIC_1_20, More, Release, Table, go_section, text_start};
use crate::dwarf::{Budget, Fault, MAX_LEVELS};
use crate::elf::{Section, text_at};
use crate::image::Image;
use crate::inline_frames::InlineLevel;

/// Where values of a function are said, from where it is described: four bytes each.
const FILES: usize = 20;
const LINES: usize = 24;
/// How many other lists of values it has, and the unit that it was compiled in.
const LISTS: usize = 28;
const UNIT: usize = 32;
/// Of those lists that of inlined calls, and of what else belongs to a function the tree of these.
/// (Go's src/internal/abi/symtab.go: `PCDATA_InlTreeIndex`, `FUNCDATA_InlTree`)
const CALLS: usize = 2;
const TREE: usize = 3;
/// No place.
const NONE: u64 = 0xffff_ffff;

/// The lines and inlined calls of a Go program, ready for look-ups.
pub(crate) struct GoLines {
    bytes: Vec<u8>,
    endian: Endianness,
    layout: Layout,
    more: More,
    /// Addresses are multiples of this, from where a function begins.
    step: u64,
    /// From where trees count, to the end of the section.
    trees: Vec<u8>,
    budget: Budget,
}

/// Where a function is, and where it is described.
struct Function {
    begin: u64,
    end: u64,
    place: usize,
}

/// An inlined call.
struct Call<'a> {
    name: &'a str,
    /// An instruction with the place of the call.
    at: u64,
}

impl GoLines {
    /// Whether a file has some that are read here.
    pub fn exist_in(image: &Image) -> bool {
        let section = image.elf().and_then(|elf| Some((elf.endian, go_section(elf)?)));
        section.is_some_and(|(endian, section)| {
            let magic = image.source().read_vec(section.offset, section.size.min(4)).ok();
            let magic = magic.and_then(|bytes| Table { bytes: &bytes, endian }.number(0, 4));
            magic.is_some_and(|magic| [MAGIC_1_18, MAGIC_1_20].contains(&magic))
        })
    }

    /// Reads those of a file; `None` if it has none, or of a release that is not known.
    pub fn read(image: &Image, budget: Budget) -> Result<Option<Self>, ReadError> {
        let Some((elf, section)) = image.elf().and_then(|elf| Some((elf, go_section(elf)?))) else {
            return Ok(None);
        };
        budget.hold_sections(section.size)?;
        let bytes = image.section_bytes(elf, section)?;
        let table = Table { bytes: &bytes, endian: elf.endian };
        let layout = Layout::of(&table, || text_start(image, elf, section, &table));
        let step = bytes.get(6).copied().map_or(1, u64::from);
        let Some((layout, more)) = layout.and_then(|it| it.more.map(|more| (it, more))) else {
            return Ok(None);
        };
        let trees = trees_address(image, elf, section, &layout, &budget).and_then(|address| {
            let is_within = |section: &&Section| {
                section.is_allocated()
                    && section.has_bytes()
                    && address.checked_sub(section.address).is_some_and(|at| at < section.size)
            };
            let section = elf.sections.iter().find(is_within)?;
            Some((section, address - section.address))
        });
        let trees = match trees {
            Some((section, from)) => {
                let length = section.size - from;
                budget.hold_sections(length)?;
                image.source().read_vec(section.offset.saturating_add(from), length)?
            }
            None => Vec::new(),
        };
        let endian = elf.endian;
        Ok(Some(Self { bytes, endian, layout, more, step, trees, budget }))
    }

    /// True if some address has no levels because they would need more than the file may use.
    pub fn is_over_budget(&self) -> bool {
        self.budget.fault().is_some()
    }

    /// Calls `each` for the levels at an address, innermost first; the last one is the function that
    /// the linker knows, and has no name here. Where one cannot be told, none is.
    pub fn at(&self, address: u64, each: impl FnMut(InlineLevel<'_>)) {
        match self.levels(address) {
            Ok(levels) => levels.into_iter().for_each(each),
            Err(fault) => self.budget.note(fault),
        }
    }

    fn levels(&self, address: u64) -> Result<Vec<InlineLevel<'_>>, Fault> {
        let Some(function) = self.function_at(address) else { return Ok(Vec::new()) };
        let mut levels = Vec::new();
        let mut at = address;
        loop {
            let (file, line) = self.line_at(&function, at)?;
            let call = self.call_at(&function, at)?;
            let name = call.as_ref().map(|call| Cow::Borrowed(call.name));
            levels.push(InlineLevel { function: name, file, line });
            let Some(call) = call else { return Ok(levels) };
            if levels.len() > MAX_LEVELS {
                return Err(Fault::Damaged);
            }
            at = call.at;
        }
    }

    fn table(&self) -> Table<'_> {
        Table { bytes: &self.bytes, endian: self.endian }
    }

    /// A place or a number in what is said of a function.
    fn said(&self, function: &Function, at: usize) -> Option<u64> {
        self.table().number(function.place.checked_add(at)?, 4)
    }

    fn function_at(&self, address: u64) -> Option<Function> {
        let (table, layout) = (self.table(), &self.layout);
        let (mut from, mut to) = (0, layout.count);
        while from < to {
            let middle = from + (to - from) / 2;
            match layout.extent(&table, middle)?.0 <= address {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        let index = from.checked_sub(1)?;
        let (begin, end) = layout.extent(&table, index)?;
        let place = layout.described(&table, index)?;
        (begin..end).contains(&address).then_some(Function { begin, end, place })
    }

    /// The source file and the line of an instruction.
    fn line_at(
        &self,
        function: &Function,
        address: u64,
    ) -> Result<(Option<Rc<str>>, Option<u32>), Fault> {
        let values = |at: usize| self.value_at(function, self.said(function, at), address);
        let (file, line) = (values(FILES)?, values(LINES)?);
        let file = file.and_then(|file| self.path(function, file));
        Ok((file, line.filter(|&line| line != 0)))
    }

    fn path(&self, function: &Function, file: u32) -> Option<Rc<str>> {
        let first = usize::try_from(self.said(function, UNIT)?).ok()?;
        let index = first.checked_add(usize::try_from(file).ok()?)?.checked_mul(4)?;
        let place = self.table().number(self.more.units.checked_add(index)?, 4)?;
        let place = self.more.files.checked_add(usize::try_from(place).ok()?)?;
        let files = self.bytes.get(..self.more.values).filter(|files| place < files.len());
        Some(text_at(files?, place)).filter(|path| !path.is_empty()).map(Rc::from)
    }

    /// The value at an address in a list; `None` where it has none there, or below zero.
    fn value_at(
        &self,
        function: &Function,
        list: Option<u64>,
        address: u64,
    ) -> Result<Option<u32>, Fault> {
        let list = list.filter(|&list| list != 0).and_then(|list| usize::try_from(list).ok());
        let values = list.and_then(|list| self.more.values.checked_add(list));
        let Some(mut rest) = values.and_then(|values| self.bytes.get(values..)) else {
            return Ok(None);
        };
        let whole = rest.len();
        let (mut value, mut until) = (-1_i32, function.begin);
        let mut is_found = false;
        while !is_found {
            let (Some(change), Some(length)) = (number(&mut rest), number(&mut rest)) else {
                break;
            };
            if change == 0 && until != function.begin {
                break;
            }
            // The lowest bit says whether it is below zero.
            let change = (change >> 1) ^ (change & 1).wrapping_neg();
            value = value.wrapping_add(change.cast_signed());
            until = until.saturating_add(u64::from(length).saturating_mul(self.step));
            is_found = address < until;
        }
        self.budget.work((whole - rest.len()) as u64)?;
        Ok(u32::try_from(value).ok().filter(|_| is_found))
    }

    /// The call that an instruction was inlined by; `None` if it is the function's own.
    fn call_at(&self, function: &Function, address: u64) -> Result<Option<Call<'_>>, Fault> {
        let (size, name, at, lists) = match self.more.release {
            Release::Go118 => (20, 12, 16, 40),
            Release::Go120 => (16, 4, 8, 44),
        };
        let count = self.said(function, LISTS).and_then(|count| usize::try_from(count).ok());
        let Some(count) = count.filter(|&count| count > CALLS) else { return Ok(None) };
        let list = self.said(function, lists + 4 * CALLS);
        let Some(index) = self.value_at(function, list, address)? else { return Ok(None) };
        let call = || {
            // The last byte before these lists: how much else belongs to it.
            let others = self.table().number(function.place.checked_add(lists - 1)?, 1)?;
            let behind = lists.checked_add(count.checked_add(TREE)?.checked_mul(4)?)?;
            let tree = self.said(function, behind).filter(|&tree| tree != NONE)?;
            let tree = usize::try_from(tree).ok().filter(|_| others > TREE as u64)?;
            let node = tree.checked_add(usize::try_from(index).ok()?.checked_mul(size)?)?;
            let node = self.trees.get(node..node.checked_add(size)?)?;
            let node = Table { bytes: node, endian: self.endian };
            let at = function.begin.checked_add(node.number(at, 4)?)?;
            let name = self.name(usize::try_from(node.number(name, 4)?).ok()?)?;
            (at < function.end).then_some(Call { name, at })
        };
        call().map(Some).ok_or(Fault::Damaged)
    }

    /// A name that begins there; none elsewhere.
    fn name(&self, at: usize) -> Option<&str> {
        let names = self.bytes.get(self.layout.names..)?.get(..self.layout.names_length)?;
        let is_first = at.checked_sub(1).is_none_or(|before| names.get(before) == Some(&0));
        Some(text_at(names, at)).filter(|name| is_first && !name.is_empty())
    }
}

/// A number of seven bits a byte, the lowest first; `None` behind the end.
fn number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
