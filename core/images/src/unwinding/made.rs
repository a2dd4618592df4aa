//! The rules of code that a process made: its jitdump has an `.eh_frame` for each function, as if that stood in a file
//! behind the function's code (Linux 6.12, tools/perf/util/genelf.c, jit_write_elf).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gimli::RunTimeEndian;
use perftab_perfdata::map::Map;

use super::registers::UnwoundMachine;
use super::row::Row;
use super::tables::{Form, Kind, RowMemory, Table};
use crate::code_ranges::CodeRanges;
use crate::code_table::CodeTable;
use crate::dwarf::Budget;

/// Bytes of rules that are gone through, whatever is in them: those of one function once for each of its addresses.
const WORK: u64 = 256 << 20;

/// How the callers of code are found that a process made, as its own table says.
pub struct MadeCodeRules {
    code: Rc<CodeTable>,
    machine: UnwoundMachine,
    /// By the number of the code, once somebody has asked.
    read: RefCell<Map<usize, Table>>,
    /// Bytes that may still be gone through.
    work: Cell<u64>,
}

impl MadeCodeRules {
    /// Those of a table.
    pub fn of(code: Rc<CodeTable>, machine: UnwoundMachine) -> Self {
        Self { code, machine, read: RefCell::default(), work: Cell::new(WORK) }
    }

    /// How the caller is found of the code at an offset in the file; `None` if nothing says.
    pub fn row(&self, offset: u64, memory: &mut RowMemory) -> Option<Row> {
        let (number, code, rules) = self.code.rules().at(offset)?;
        self.work.set(self.work.get().checked_sub(rules.len() as u64)?);
        let address =
            code.start.checked_add((code.end - code.start).checked_next_multiple_of(8)?)?;
        let mut read = self.read.borrow_mut();
        let table = read.entry(number).or_insert_with(|| {
            let form = Form {
                kind: Kind::EhFrame,
                endian: RunTimeEndian::Little,
                address_size: 8,
                machine: Some(self.machine),
                address,
                text: code.start,
            };
            let ranges = CodeRanges::of_ranges(vec![(code.start, code.end)]);
            Table::new(rules.to_vec(), form, ranges, Budget::of_file(rules.len() as u64))
        });
        table.row(offset, &mut memory.0).map(|(row, _)| row)
    }
}
