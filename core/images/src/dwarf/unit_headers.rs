//! Where the units of a file begin, and what it takes to read the entries of one.

use std::cell::RefCell;
use std::sync::Arc;

use gimli::{Abbreviations, AttributeValue, Dwarf, Section as _, UnitHeader, UnitType};
use perftab_perfdata::map::Map;

use super::budget::{Budget, Fault};
use super::units::LoadedUnit;
use super::{Reader, measure};

/// The units of a file, without those of types.
#[derive(Default)]
pub(crate) struct UnitHeaders {
    /// In ascending order of their offsets.
    pub(super) headers: Vec<UnitHeader<Reader>>,
    abbreviations: RefCell<Map<usize, Arc<Abbreviations>>>,
}

impl UnitHeaders {
    /// Reads where units begin.
    pub fn read(dwarf: &Dwarf<Reader>, budget: &Budget) -> Result<Self, Fault> {
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            budget.hold_one::<UnitHeader<Reader>>()?;
            // Nothing is needed of types.
            if !matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
                headers.push(header);
            }
        }
        Ok(Self { headers, ..Self::default() })
    }

    /// Frees what units share.
    pub(super) fn drop_abbreviations(&self) {
        self.abbreviations.borrow_mut().clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Makes the entries of one readable.
    pub fn load(
        &self,
        dwarf: &Dwarf<Reader>,
        number: usize,
        budget: &Budget,
    ) -> Result<LoadedUnit, Fault> {
        let header = self.headers.get(number).ok_or(Fault::Damaged)?.clone();
        budget.hold(4 * size_of::<LoadedUnit>() as u64)?;
        let abbreviations = self.abbreviations(dwarf, &header, budget)?;
        let mut entries = header.entries_raw(&abbreviations, None)?;
        let root = entries.read_abbreviation()?.ok_or(Fault::Damaged)?;
        for &spec in root.attributes() {
            budget.work(4)?;
            let attribute = entries.read_attribute(spec)?;
            if attribute.name() == gimli::DW_AT_stmt_list
                && let AttributeValue::DebugLineRef(offset) = attribute.value()
            {
                let table = tail(dwarf.debug_line.reader(), offset.0)?;
                budget.hold(measure::line_header(&table, budget)?)?;
            }
        }
        let unit = gimli::Unit::new_with_abbreviations(dwarf, header, abbreviations)?;
        Ok(LoadedUnit::new(unit))
    }

    /// Units may share a table.
    fn abbreviations(
        &self,
        dwarf: &Dwarf<Reader>,
        header: &UnitHeader<Reader>,
        budget: &Budget,
    ) -> Result<Arc<Abbreviations>, Fault> {
        let offset = header.debug_abbrev_offset().0;
        if let Some(known) = self.abbreviations.borrow().get(&offset) {
            return Ok(Arc::clone(known));
        }
        let table = tail(dwarf.debug_abbrev.reader(), offset)?;
        budget.hold(measure::abbreviations(&table, budget)?)?;
        let abbreviations = dwarf.abbreviations(header)?;
        self.abbreviations.borrow_mut().insert(offset, Arc::clone(&abbreviations));
        Ok(abbreviations)
    }
}

fn tail(section: &Reader, offset: usize) -> Result<Reader, Fault> {
    let mut rest = section.clone();
    gimli::Reader::skip(&mut rest, offset)?;
    Ok(rest)
}
