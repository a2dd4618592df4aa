//! Code that a process made and says itself how its callers are found.

use std::rc::Rc;

use perftab_images::{CodeTable, MadeCodeRules, Row, RowMemory};
use perftab_profile::{CodeInTime, DsoId, Frame};

/// The code of a process.
pub(in crate::session) struct RuledCode {
    dso: DsoId,
    table: Rc<CodeTable>,
    rules: Rc<MadeCodeRules>,
    code: CodeInTime,
}

impl RuledCode {
    /// That of a table which was placed as a DSO.
    pub fn new(dso: DsoId, table: Rc<CodeTable>, rules: Rc<MadeCodeRules>) -> Self {
        Self { dso, table, rules, code: CodeInTime::default() }
    }

    /// The DSO that it is.
    pub fn dso(&self) -> DsoId {
        self.dso
    }

    /// The code at an address at a time.
    pub fn frame(&mut self, time_nanos: u64, address: u64) -> Option<Frame> {
        let changes = self.table.changes();
        self.code.go_to(changes, time_nanos);
        let (made, within) = self.code.at(changes, address)?;
        Some(Frame { dso: self.dso, address: made.offset.wrapping_add(within) })
    }

    /// How the caller is found of code of that DSO.
    pub fn row(&self, address: u64, memory: &mut RowMemory) -> Option<Row> {
        self.rules.row(address, memory)
    }
}
