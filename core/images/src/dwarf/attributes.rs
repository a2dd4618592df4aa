//! What attributes of entries say: where code lies, and what it is called.

use gimli::{AttributeValue, Dwarf};

use super::Reader;
use super::budget::Fault;

/// Where the code of an entry lies, as its attributes say.
#[derive(Default)]
pub(super) struct Ranges {
    begin: Option<u64>,
    end: Option<u64>,
    length: Option<u64>,
    /// A list of ranges.
    pub list: Option<gimli::RangeListsOffset>,
}

impl Ranges {
    /// Takes an attribute in, if it is one of those.
    pub fn read(
        &mut self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        attribute: &gimli::Attribute<Reader>,
    ) -> Result<(), Fault> {
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_low_pc, value) => self.begin = dwarf.attr_address(unit, value)?,
            (gimli::DW_AT_high_pc, AttributeValue::Udata(length)) => self.length = Some(length),
            (gimli::DW_AT_high_pc, value) => self.end = dwarf.attr_address(unit, value)?,
            (gimli::DW_AT_ranges, value) => self.list = dwarf.attr_ranges_offset(unit, value)?,
            _ => {}
        }
        Ok(())
    }

    /// Calls `each` for every range.
    pub fn each(
        &self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        mut each: impl FnMut(gimli::Range) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if let Some(list) = self.list {
            let mut ranges = dwarf.ranges(unit, list)?;
            while let Some(range) = ranges.next()? {
                each(range)?;
            }
        } else if let Some(begin) = self.begin {
            // A begin of -1 is of code that the linker dropped: its end overflows.
            let end = self.end.or_else(|| self.length.map(|length| begin.wrapping_add(length)));
            if let Some(end) = end {
                each(gimli::Range { begin, end })?;
            }
        }
        Ok(())
    }
}

/// The name of an entry, as its attributes say.
#[derive(Default)]
pub(super) struct Name {
    linkage: Option<Reader>,
    plain: Option<Reader>,
    /// The entry that has it, if this one has none.
    pub reference: Option<AttributeValue<Reader>>,
}

impl Name {
    /// Takes an attribute in, if it is one of those.
    pub fn read(
        &mut self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        attribute: &gimli::Attribute<Reader>,
    ) {
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                self.linkage = dwarf.attr_string(unit, attribute.value()).ok();
            }
            gimli::DW_AT_name => self.plain = dwarf.attr_string(unit, attribute.value()).ok(),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                self.reference = Some(attribute.value());
            }
            _ => {}
        }
    }

    /// As the linker knows it, else as the source does.
    pub fn text(&self) -> Option<Reader> {
        self.linkage.clone().or_else(|| self.plain.clone())
    }
}
