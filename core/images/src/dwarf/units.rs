//! The units of a file, and which of them has an address.

use perftab_perfdata::map::{Map, Set};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use gimli::{AttributeValue, DebugInfoOffset, Dwarf, DwoId, UnitHeader, UnitType};
use perftab_perfdata::sorting::sort_by_numbers;

use super::super::code_ranges::CodeRanges;
use super::super::split_units::{SplitImage, SplitUnit};
use super::super::unwinding::FrameSections;
use super::attributes::{Name, Ranges};
use super::budget::{Budget, Fault};
use super::functions::{Functions, Inlined};
use super::lines::{self, Lines, Row};
use super::unit_headers::UnitHeaders;
use super::{MAX_LEVELS, Reader};

/// What is read of units may take twice so much memory: with more, those read first are dropped. Addresses
/// are looked up in ascending order, so that few have to be read again.
const MOST_LOADED: u64 = 32 << 20;
/// Where an attribute's references lead: so many steps are followed to a name.
const MAX_REFERENCES: usize = 16;

/// The units of one file, and of the file that it shares entries with.
pub(crate) struct Units {
    dwarf: Dwarf<Reader>,
    main: File,
    shared: File,
    /// In ascending order of their ends.
    ranges: Vec<UnitRange>,
    /// Linkers leave the entries of functions that they discard, at address 0 or 1: what begins outside
    /// of code is none. In a shared object, a long one would reach into the code of others.
    code: CodeRanges,
    budget: Budget,
    /// What was left before any unit was loaded.
    memory: Cell<u64>,
    /// What was left before the first of those that were read last, and what those before them hold.
    memory_before: Cell<u64>,
    held_before: Cell<u64>,
    /// The ids of units of which only skeletons are here.
    skeletons: Set<u64>,
    /// Files that have the units of some of them, by id.
    splits: RefCell<Map<u64, Vec<Rc<SplitImage>>>>,
    /// Skeletons that were met, and whose units are in none of these files.
    missing: RefCell<Map<u64, MissingUnit>>,
    /// How long functions are, as the program says itself.
    frame_sections: RefCell<Arc<FrameSections>>,
}

/// A unit of which only a skeleton is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingUnit {
    pub id: DwoId,
    /// Where it should be.
    pub path: String,
    /// What speaks against a unit that has its id.
    pub misfit: Option<Misfit>,
}

/// A function that a unit has another length of than the program: the unit is of another build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub begin: u64,
    pub in_unit: u64,
    pub in_program: u64,
}

/// One of both files.
#[derive(Default)]
struct File {
    units: UnitHeaders,
    /// Those read last, and those before them.
    loaded: RefCell<Map<usize, Rc<LoadedUnit>>>,
    loaded_before: RefCell<Map<usize, Rc<LoadedUnit>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Main,
    Shared,
}

struct UnitRange {
    begin: u64,
    end: u64,
    unit: usize,
    /// The least `begin` from here on.
    least: u64,
}

/// A unit whose entries can be read.
pub(crate) struct LoadedUnit {
    pub unit: gimli::Unit<Reader>,
    /// What it is a skeleton of, once that was looked for.
    split: OnceCell<Option<Box<SplitUnit>>>,
    functions: OnceCell<Functions>,
    lines: OnceCell<Lines>,
    inlined: RefCell<Map<usize, Rc<Inlined>>>,
}

/// What covers an address.
pub(crate) struct Found {
    /// The unit.
    loaded: Rc<LoadedUnit>,
    /// The function and its bodies around the address.
    inlined: Option<Rc<Inlined>>,
    row: Option<Row>,
    address: u64,
}

impl Units {
    /// Reads the list of units, and where the code of each lies.
    pub fn read(dwarf: Dwarf<Reader>, code: CodeRanges, budget: Budget) -> Result<Self, Fault> {
        let main = File::read(&dwarf, &budget)?;
        let shared = match dwarf.sup() {
            Some(shared) => File::read(shared, &budget)?,
            None => File::default(),
        };
        let mut units = Self {
            dwarf,
            main,
            shared,
            ranges: Vec::new(),
            code,
            memory: Cell::new(budget.memory()),
            memory_before: Cell::new(budget.memory()),
            held_before: Cell::new(0),
            budget,
            skeletons: Set::new(),
            splits: RefCell::default(),
            missing: RefCell::default(),
            frame_sections: RefCell::default(),
        };
        units.read_ranges()?;
        Ok(units)
    }

    /// Whether a file has the unit of some skeleton here.
    pub fn name_split(&self, split: &SplitImage) -> bool {
        split.ids().any(|id| self.skeletons.contains(&id.0))
    }

    /// Looks for units in this file too. They have to fit `program`.
    pub fn add_split(&self, split: &Rc<SplitImage>, program: &Arc<FrameSections>) {
        *self.frame_sections.borrow_mut() = Arc::clone(program);
        self.budget.add_work_for(split.file_bytes());
        for id in split.ids().filter(|id| self.skeletons.contains(&id.0)) {
            self.splits.borrow_mut().entry(id.0).or_default().push(Rc::clone(split));
        }
        self.missing.borrow_mut().clear();
        self.drop_units();
    }

    /// The units that were looked for and are not here.
    pub fn missing(&self) -> Vec<MissingUnit> {
        self.missing.borrow().values().cloned().collect()
    }

    /// All units of which only skeletons are here, and where they should be; as far as they can be read.
    pub fn split_units(&self) -> Vec<(DwoId, String)> {
        let mut named = Vec::new();
        for unit in 0..self.main.units.len() {
            let Ok(loaded) = self.load(Which::Main, unit) else { break };
            let unit = loaded.unit.dwo_id.zip(self.split_path(&loaded.unit));
            drop(loaded);
            if let Some((id, path)) = unit {
                let bytes = 64 + path.len() as u64;
                if self.budget.hold(bytes).is_err() {
                    break;
                }
                self.keep(bytes);
                named.push((id, path));
            }
            self.drop_units();
        }
        named
    }

    /// What was left out for want of memory or work.
    pub fn fault(&self) -> Option<Fault> {
        self.budget.fault()
    }

    fn read_ranges(&mut self) -> Result<(), Fault> {
        let mut listed: Map<usize, Vec<gimli::DebugArangesOffset>> = Map::new();
        let mut headers = self.dwarf.debug_aranges.headers();
        while let Some(header) = headers.next()? {
            self.budget.hold(64)?;
            listed.entry(header.debug_info_offset().0).or_default().push(header.offset());
        }
        let mut ranges = Vec::new();
        for unit in 0..self.main.units.len() {
            let header = &self.main.units.headers[unit];
            if matches!(header.type_(), UnitType::Partial) {
                continue;
            }
            let offset = header.debug_info_offset().map(|offset| offset.0);
            let listed =
                offset.and_then(|offset| listed.get(&offset)).map_or(&[][..], Vec::as_slice);
            let before = ranges.len();
            match self.ranges_of(unit, listed, &mut ranges) {
                Ok(()) => {}
                Err(fault @ (Fault::Damaged | Fault::Memory)) => {
                    ranges.truncate(before);
                    self.budget.note(fault);
                }
                Err(fault @ Fault::Work) => return Err(fault),
            }
            if let Some(id) = self.skeleton_id(unit) {
                self.skeletons.insert(id.0);
            }
            // The ranges stay; the unit goes.
            self.drop_units();
            let kept = ranges.capacity() * size_of::<UnitRange>()
                + self.skeletons.len() * size_of::<(u64, u32)>();
            self.budget.hold(2 * kept as u64)?;
        }
        self.memory.set(self.budget.memory());
        self.drop_units();
        sort_by_numbers(&mut ranges, |range| (range.end, range.unit as u64));
        let mut least = u64::MAX;
        for range in ranges.iter_mut().rev() {
            least = least.min(range.begin);
            range.least = least;
        }
        self.ranges = ranges;
        Ok(())
    }

    /// The id of the unit that a unit which is loaded is the skeleton of.
    fn skeleton_id(&self, number: usize) -> Option<DwoId> {
        self.main.loaded.borrow().get(&number)?.unit.dwo_id
    }

    /// By its own list, else by the section of address ranges, else by its bounds, else by its lines.
    fn ranges_of(
        &self,
        number: usize,
        listed: &[gimli::DebugArangesOffset],
        ranges: &mut Vec<UnitRange>,
    ) -> Result<(), Fault> {
        let before = ranges.len();
        let mut add = |range: gimli::Range| {
            self.budget.hold_one::<UnitRange>()?;
            self.budget.work(2)?;
            if range.begin < range.end && self.code.may_hold(range.begin) {
                let (begin, end) = (range.begin, range.end);
                ranges.push(UnitRange { begin, end, unit: number, least: 0 });
            }
            Ok::<_, Fault>(())
        };
        let loaded = self.load(Which::Main, number)?;
        let unit = &loaded.unit;
        let mut entries = unit.entries_raw(None)?;
        let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(()) };
        let mut own = Ranges::default();
        for &spec in abbreviation.attributes() {
            own.read(&self.dwarf, unit, &entries.read_attribute(spec)?)?;
        }
        if own.list.is_none() {
            let mut is_listed = false;
            for &offset in listed {
                let mut entries = self.dwarf.debug_aranges.header(offset)?.entries();
                while let Some(entry) = entries.next().transpose() {
                    self.budget.work(16)?;
                    // One whose end overflows is of a unit without code.
                    let Ok(entry) = entry else { continue };
                    is_listed |= entry.length() != 0;
                    add(entry.range())?;
                }
            }
            if is_listed {
                return Ok(());
            }
        }
        own.each(&self.dwarf, unit, &mut add)?;
        if ranges.len() == before {
            for (begin, end) in loaded.lines(self)?.sequences() {
                self.budget.hold_one::<UnitRange>()?;
                ranges.push(UnitRange { begin, end, unit: number, least: 0 });
            }
        }
        Ok(())
    }

    /// Where the functions of all units begin, as far as they can be read, in no order.
    pub fn function_starts(&self) -> Vec<u64> {
        let mut starts = Vec::new();
        for unit in 0..self.main.units.len() {
            let _ = self.add_function_starts(unit, &mut starts);
            self.drop_units();
        }
        starts
    }

    fn add_function_starts(&self, unit: usize, starts: &mut Vec<u64>) -> Result<(), Fault> {
        let loaded = self.load(Which::Main, unit)?;
        starts.extend(loaded.functions(self)?.starts());
        Ok(())
    }

    /// Reads every unit once: its entries and its lines.
    pub fn check(&self) -> Result<(), Fault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        for unit in 0..self.main.units.len() {
            let loaded = self.load(Which::Main, unit)?;
            loaded.functions(self)?;
            loaded.lines(self)?;
            drop(loaded);
            self.drop_units();
        }
        Ok(())
    }

    /// What covers an address. Damage and what is over budget give nothing.
    pub fn find(&self, address: u64) -> Option<Found> {
        // Once its work is done, every other look-up would end there too.
        if self.fault() == Some(Fault::Work) {
            return None;
        }
        let mut found = self.try_find(address);
        if found.as_ref().is_err_and(|&fault| fault == Fault::Memory) {
            self.drop_units();
            found = self.try_find(address);
        }
        match found {
            Ok(found) => found,
            Err(fault) => {
                self.budget.note(fault);
                None
            }
        }
    }

    /// What is held stays when units are dropped.
    fn keep(&self, bytes: u64) {
        for memory in [&self.memory, &self.memory_before] {
            memory.set(memory.get().saturating_sub(bytes));
        }
    }

    /// Frees what was loaded.
    fn drop_units(&self) {
        for file in [&self.main, &self.shared] {
            file.loaded.borrow_mut().clear();
            file.loaded_before.borrow_mut().clear();
            file.units.drop_abbreviations();
        }
        self.budget.release_to(self.memory.get());
        self.memory_before.set(self.memory.get());
        self.held_before.set(0);
    }

    /// Frees what was read first, if there is much.
    fn drop_older_units(&self) {
        let held = self.memory_before.get().saturating_sub(self.budget.memory());
        if held < MOST_LOADED {
            return;
        }
        for file in [&self.main, &self.shared] {
            *file.loaded_before.borrow_mut() = file.loaded.take();
            file.units.drop_abbreviations();
        }
        self.budget.release_to(self.budget.memory().saturating_add(self.held_before.get()));
        self.held_before.set(held);
        self.memory_before.set(self.budget.memory());
    }

    fn try_find(&self, address: u64) -> Result<Option<Found>, Fault> {
        let first = self.ranges.partition_point(|range| range.end <= address);
        let mut tried = None;
        for range in &self.ranges[first..] {
            if range.least > address {
                break;
            }
            self.budget.work(1)?;
            if range.begin > address || tried == Some(range.unit) {
                continue;
            }
            tried = Some(range.unit);
            let loaded = self.load(Which::Main, range.unit)?;
            let functions = loaded.functions(self)?;
            let inlined = match functions.at(address) {
                Some(function) => Some(self.inlined(&loaded, function)?),
                None => None,
            };
            let row = loaded.lines(self)?.at(address);
            if inlined.is_some() || row.is_some() {
                return Ok(Some(Found { loaded, inlined, row, address }));
            }
        }
        Ok(None)
    }

    fn inlined(&self, loaded: &Rc<LoadedUnit>, function: usize) -> Result<Rc<Inlined>, Fault> {
        if let Some(inlined) = loaded.inlined.borrow().get(&function) {
            return Ok(Rc::clone(inlined));
        }
        let inlined = Rc::new(Inlined::read(self, loaded, function, &self.budget)?);
        loaded.inlined.borrow_mut().insert(function, Rc::clone(&inlined));
        Ok(inlined)
    }

    /// The unit that one is the skeleton of. What is damaged or does not fit is not there.
    fn find_split(&self, skeleton: &LoadedUnit) -> Result<Option<Box<SplitUnit>>, Fault> {
        let Some(id) = skeleton.unit.dwo_id else { return Ok(None) };
        let mut misfit = None;
        for split in self.splits.borrow().get(&id.0).into_iter().flatten() {
            let strings = split.load_strings(&self.budget)?;
            self.keep(strings);
            let before = self.budget.memory();
            match split.unit(&self.dwarf, &skeleton.unit, &self.budget) {
                Ok(Some(unit)) => match self.misfit(&unit) {
                    Ok(None) => return Ok(Some(Box::new(unit))),
                    Ok(found) => {
                        misfit = misfit.or(found);
                        self.budget.release_to(before);
                    }
                    Err(Fault::Damaged) => self.budget.release_to(before),
                    Err(fault) => return Err(fault),
                },
                Ok(None) | Err(Fault::Damaged) => self.budget.release_to(before),
                Err(fault) => return Err(fault),
            }
        }
        if self.missing.borrow().get(&id.0).is_none() {
            let path = self.split_path(&skeleton.unit).unwrap_or_default();
            let bytes = 64 + path.len() as u64;
            self.budget.hold(bytes)?;
            self.keep(bytes);
            self.missing.borrow_mut().insert(id.0, MissingUnit { id, path, misfit });
        }
        Ok(None)
    }

    /// Where a unit has another length of a function than the program. Ids need not cover code: clang's covers
    /// neither where functions lie nor how long they are.
    fn misfit(&self, split: &SplitUnit) -> Result<Option<Misfit>, Fault> {
        let SplitUnit { dwarf, loaded } = split;
        let functions = Functions::read(dwarf, &loaded.unit, &self.code, &self.budget)?;
        let program = self.frame_sections.borrow();
        for (begin, in_unit) in functions.extents() {
            let mut lengths = program.lengths_at(begin);
            if let Some(in_program) = lengths.next()
                && in_program != in_unit
                && lengths.all(|length| length != in_unit)
            {
                return Ok(Some(Misfit { begin, in_unit, in_program }));
            }
        }
        let _ = loaded.functions.set(functions);
        Ok(None)
    }

    /// Where the compiler put it, as it was called there.
    fn split_path(&self, skeleton: &gimli::Unit<Reader>) -> Option<String> {
        let text = |text: Reader| lines::short(&text).map(|text| text.into_owned());
        let name = self.dwarf.attr_string(skeleton, skeleton.dwo_name().ok()??).ok()?;
        let name = text(name)?;
        match skeleton.comp_dir.clone().and_then(text) {
            Some(folder) if !name.starts_with('/') => Some(format!("{folder}/{name}")),
            _ => Some(name),
        }
    }

    /// Path of a file by its number in the unit's table.
    pub fn path(&self, found: &Found, file: u64) -> Option<Rc<str>> {
        let lines = found.loaded.lines.get()?;
        lines.path(&self.dwarf, &found.loaded.unit, file, &self.budget)
    }

    /// MD5 of the file of this path in the unit's table.
    pub fn md5(&self, found: &Found, path: &str) -> Option<[u8; 16]> {
        let lines = found.loaded.lines.get()?;
        lines.md5(&self.dwarf, &found.loaded.unit, path, &self.budget)
    }

    /// The text of the file of this path, if it is in the unit's table.
    pub fn source(&self, found: &Found, path: &str) -> Option<Vec<u8>> {
        let lines = found.loaded.lines.get()?;
        lines.source(&self.dwarf, &found.loaded.unit, path, &self.budget)
    }

    /// The name that a reference of an entry of a unit of the main file leads to.
    pub(super) fn name(
        &self,
        from: &LoadedUnit,
        reference: AttributeValue<Reader>,
    ) -> Result<Option<Reader>, Fault> {
        let mut which = Which::Main;
        let mut of: Option<Rc<LoadedUnit>> = None;
        let mut reference = reference;
        let is_split = from.split(self)?.is_some();
        for _ in 0..MAX_REFERENCES {
            let offset = match reference {
                AttributeValue::UnitRef(offset) => offset,
                // Files of split units have one each.
                AttributeValue::DebugInfoRef(offset) if is_split && of.is_none() => {
                    let (_, unit) = from.entries(self)?;
                    offset.to_unit_offset(&unit.header).ok_or(Fault::Damaged)?
                }
                AttributeValue::DebugInfoRef(offset) => self.enter(which, offset, &mut of)?,
                AttributeValue::DebugInfoRefSup(offset) if self.dwarf.sup().is_some() => {
                    which = Which::Shared;
                    self.enter(which, offset, &mut of)?
                }
                _ => return Ok(None),
            };
            let (dwarf, unit) = match &of {
                Some(loaded) => (self.dwarf_of(which).ok_or(Fault::Damaged)?, &loaded.unit),
                None => from.entries(self)?,
            };
            let mut entries = unit.entries_raw(Some(offset))?;
            let abbreviation = entries.read_abbreviation()?.ok_or(Fault::Damaged)?;
            let mut name = Name::default();
            for &spec in abbreviation.attributes() {
                self.budget.work(4)?;
                name.read(dwarf, unit, &entries.read_attribute(spec)?);
            }
            match (name.text(), name.reference) {
                (None, Some(next)) => reference = next,
                (text, _) => return Ok(text),
            }
        }
        Ok(None)
    }

    /// Loads the unit that an offset of a file lies in; returns the offset within it.
    fn enter(
        &self,
        which: Which,
        offset: DebugInfoOffset,
        of: &mut Option<Rc<LoadedUnit>>,
    ) -> Result<gimli::UnitOffset, Fault> {
        let headers = &self.file(which).units.headers;
        let start = |header: &UnitHeader<Reader>| header.debug_info_offset().map(|offset| offset.0);
        let behind = headers.partition_point(|header| start(header) <= Some(offset.0));
        let number = behind.checked_sub(1).ok_or(Fault::Damaged)?;
        let loaded = self.load(which, number)?;
        let within = offset.to_unit_offset(&loaded.unit.header).ok_or(Fault::Damaged)?;
        *of = Some(loaded);
        Ok(within)
    }

    fn file(&self, which: Which) -> &File {
        match which {
            Which::Main => &self.main,
            Which::Shared => &self.shared,
        }
    }

    fn dwarf_of(&self, which: Which) -> Option<&Dwarf<Reader>> {
        match which {
            Which::Main => Some(&self.dwarf),
            Which::Shared => self.dwarf.sup(),
        }
    }

    fn load(&self, which: Which, number: usize) -> Result<Rc<LoadedUnit>, Fault> {
        let file = self.file(which);
        for loaded in [&file.loaded, &file.loaded_before] {
            if let Some(loaded) = loaded.borrow().get(&number) {
                return Ok(Rc::clone(loaded));
            }
        }
        self.drop_older_units();
        let dwarf = self.dwarf_of(which).ok_or(Fault::Damaged)?;
        let loaded = Rc::new(file.units.load(dwarf, number, &self.budget)?);
        file.loaded.borrow_mut().insert(number, Rc::clone(&loaded));
        Ok(loaded)
    }
}

impl File {
    fn read(dwarf: &Dwarf<Reader>, budget: &Budget) -> Result<Self, Fault> {
        Ok(Self { units: UnitHeaders::read(dwarf, budget)?, ..Self::default() })
    }
}

impl LoadedUnit {
    pub(super) fn new(unit: gimli::Unit<Reader>) -> Self {
        Self {
            unit,
            split: OnceCell::new(),
            functions: OnceCell::new(),
            lines: OnceCell::new(),
            inlined: RefCell::default(),
        }
    }

    /// What its entries are read with.
    pub(super) fn entries<'a>(
        &'a self,
        units: &'a Units,
    ) -> Result<(&'a Dwarf<Reader>, &'a gimli::Unit<Reader>), Fault> {
        Ok(match self.split(units)? {
            Some(split) => (&split.dwarf, &split.loaded.unit),
            None => (&units.dwarf, &self.unit),
        })
    }

    fn split(&self, units: &Units) -> Result<Option<&SplitUnit>, Fault> {
        if self.split.get().is_none() {
            let found = units.find_split(self)?;
            return Ok(self.split.get_or_init(|| found).as_deref());
        }
        Ok(self.split.get().and_then(Option::as_deref))
    }

    fn functions(&self, units: &Units) -> Result<&Functions, Fault> {
        if let Some(split) = self.split(units)? {
            return split.loaded.functions.get().ok_or(Fault::Damaged);
        }
        if self.functions.get().is_none() {
            let functions = Functions::read(&units.dwarf, &self.unit, &units.code, &units.budget)?;
            return Ok(self.functions.get_or_init(|| functions));
        }
        self.functions.get().ok_or(Fault::Damaged)
    }

    fn lines(&self, units: &Units) -> Result<&Lines, Fault> {
        if self.lines.get().is_none() {
            let lines = Lines::read(&self.unit, &units.code, &units.budget)?;
            return Ok(self.lines.get_or_init(|| lines));
        }
        self.lines.get().ok_or(Fault::Damaged)
    }
}

impl Found {
    /// The function's name, `None` inside if it has none; `None` if no function covers the address.
    pub fn function(&self) -> Option<Option<&Reader>> {
        self.inlined.as_ref().map(|inlined| inlined.name.as_ref())
    }

    /// The bodies inlined into it around the address, outermost first: name, file and line of the call.
    pub fn bodies(&self) -> Vec<(Option<&Reader>, Option<u64>, u32)> {
        let Some(inlined) = &self.inlined else { return Vec::new() };
        let around = inlined.around(self.address).take(MAX_LEVELS);
        around.map(|body| (body.name.as_ref(), body.call_file, body.call_line)).collect()
    }

    /// Number of the file, and line.
    pub fn row(&self) -> Option<(u64, u32)> {
        self.row.map(|row| (row.file.into(), row.line))
    }
}
