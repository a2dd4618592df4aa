//! The functions of a unit, and what was inlined into one.

use gimli::{AttributeValue, Dwarf, UnitOffset};
use perftab_perfdata::sorting::sort_by_numbers;

use super::super::code_ranges::CodeRanges;
use super::attributes::{Name, Ranges};
use super::budget::{Budget, Fault};
use super::units::{LoadedUnit, Units};
use super::{MAX_LEVELS, Reader};

/// Where the functions of a unit lie.
pub(super) struct Functions {
    /// In ascending order of where they begin.
    ranges: Vec<FunctionRange>,
}

struct FunctionRange {
    begin: u64,
    end: u64,
    entry: UnitOffset,
}

impl Functions {
    /// Goes through all entries of a unit.
    pub fn read(
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        code: &CodeRanges,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        budget.work(unit.header.length_including_self() as u64)?;
        let mut ranges = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let entry = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if abbreviation.tag() != gimli::DW_TAG_subprogram {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut own = Ranges::default();
            for &spec in abbreviation.attributes() {
                own.read(dwarf, unit, &entries.read_attribute(spec)?)?;
            }
            own.each(dwarf, unit, |range| {
                budget.hold_one::<FunctionRange>()?;
                budget.work(2)?;
                if range.begin < range.end && code.may_hold(range.begin) {
                    ranges.push(FunctionRange { begin: range.begin, end: range.end, entry });
                }
                Ok(())
            })?;
        }
        // Of several at one address, which are alike, the first in the file.
        sort_by_numbers(&mut ranges, |range| (range.begin, !(range.entry.0 as u64)));
        Ok(Self { ranges })
    }

    /// Where they begin.
    pub fn starts(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().map(|range| range.begin)
    }

    /// Where they begin, and how long they are.
    pub fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().map(|range| (range.begin, range.end - range.begin))
    }

    /// The entry of the function that covers an address.
    pub fn at(&self, address: u64) -> Option<usize> {
        let next = self.ranges.partition_point(|range| range.begin <= address);
        let range = &self.ranges[next.checked_sub(1)?];
        (address < range.end).then_some(range.entry.0)
    }
}

/// A function, and the bodies of others in it.
pub(super) struct Inlined {
    /// Name of the function.
    pub name: Option<Reader>,
    bodies: Vec<Body>,
    /// In ascending order of depth, then of where they begin.
    ranges: Vec<BodyRange>,
}

/// A body that the compiler copied into its caller.
pub(super) struct Body {
    pub name: Option<Reader>,
    /// Number of the file that it is called in.
    pub call_file: Option<u64>,
    /// Line of the call, 0 if it is not known.
    pub call_line: u32,
}

struct BodyRange {
    depth: usize,
    begin: u64,
    end: u64,
    body: usize,
}

impl Inlined {
    /// Goes through the entries of a function.
    pub fn read(
        units: &Units,
        loaded: &LoadedUnit,
        entry: usize,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        let (dwarf, unit) = loaded.entries(units)?;
        let mut entries = unit.entries_raw(Some(UnitOffset(entry)))?;
        let outermost = entries.next_depth();
        let abbreviation = entries.read_abbreviation()?.ok_or(Fault::Damaged)?;
        let mut name = Name::default();
        for &spec in abbreviation.attributes() {
            name.read(dwarf, unit, &entries.read_attribute(spec)?);
        }
        let mut it =
            Self { name: named(units, loaded, name)?, bodies: Vec::new(), ranges: Vec::new() };
        // Depths of the entries of bodies around the next one.
        let mut around: Vec<isize> = Vec::new();
        // Depth of a function inside of this one, whose entries are not its own.
        let mut other: Option<isize> = None;
        loop {
            let (start, depth) = (entries.next_offset().0, entries.next_depth());
            if depth <= outermost || entries.is_empty() {
                break;
            }
            let Some(abbreviation) = entries.read_abbreviation()? else {
                budget.work(1)?;
                continue;
            };
            around.truncate(around.partition_point(|&body| body < depth));
            other = other.filter(|&other| depth > other);
            let is_body = abbreviation.tag() == gimli::DW_TAG_inlined_subroutine
                && other.is_none()
                && around.len() < MAX_LEVELS;
            if is_body {
                let mut name = Name::default();
                let mut own = Ranges::default();
                let (mut call_file, mut call_line) = (None, 0);
                for &spec in abbreviation.attributes() {
                    let attribute = entries.read_attribute(spec)?;
                    match (attribute.name(), attribute.value()) {
                        // Up to version 4, file 0 is none.
                        (gimli::DW_AT_call_file, AttributeValue::FileIndex(file)) => {
                            let is_file = file > 0 || unit.header.version() >= 5;
                            call_file = Some(file).filter(|_| is_file);
                        }
                        (gimli::DW_AT_call_line, _) => {
                            call_line = attribute.udata_value().unwrap_or(0) as u32;
                        }
                        _ => {
                            own.read(dwarf, unit, &attribute)?;
                            name.read(dwarf, unit, &attribute);
                        }
                    }
                }
                budget.hold_one::<Body>()?;
                let body = it.bodies.len();
                it.bodies.push(Body { name: named(units, loaded, name)?, call_file, call_line });
                own.each(dwarf, unit, |range| {
                    budget.hold_one::<BodyRange>()?;
                    budget.work(2)?;
                    let (begin, end) = (range.begin, range.end);
                    if begin < end {
                        it.ranges.push(BodyRange { depth: around.len(), begin, end, body });
                    }
                    Ok(())
                })?;
                around.push(depth);
            } else {
                if abbreviation.tag() == gimli::DW_TAG_subprogram && other.is_none() {
                    other = Some(depth);
                }
                entries.skip_attributes(abbreviation.attributes())?;
            }
            budget.work((entries.next_offset().0.saturating_sub(start)) as u64)?;
        }
        sort_by_numbers(&mut it.ranges, |range| (range.depth as u64, range.begin));
        Ok(it)
    }

    /// The bodies around an address, outermost first.
    pub fn around(&self, address: u64) -> impl Iterator<Item = &Body> {
        (0..).map_while(move |depth| {
            let is_before = |range: &BodyRange| (range.depth, range.begin) <= (depth, address);
            let next = self.ranges.partition_point(is_before);
            let range = &self.ranges[next.checked_sub(1)?];
            let covers = range.depth == depth && address < range.end;
            covers.then(|| &self.bodies[range.body])
        })
    }
}

/// The name of an entry, or of the one that it refers to.
fn named(units: &Units, unit: &LoadedUnit, name: Name) -> Result<Option<Reader>, Fault> {
    match (name.text(), name.reference) {
        (None, Some(reference)) => units.name(unit, reference),
        (text, _) => Ok(text),
    }
}
