//! Split DWARF: what compilers leave in files of its own (`-gsplit-dwarf`: .dwo), and packages of these (.dwp).
//!
//! The program then has skeletons of its units: where their code lies, their lines, and the *dwo id* of
//! the unit that has the rest (DWARF 5, sections 3.1.2, 3.1.3 and 7.3.5; for DWARF 4 GNU's form of it, gcc's
//! wiki, DebugFission and DebugFissionDWP). Nothing that ran has that id. So the gate for such a unit is
//! this: its dwo id is the one of a skeleton in a matched image. It is compared whenever a unit is read,
//! in the unit itself; a package's index only says where to look, as do names and paths.

use std::cell::OnceCell;
use std::sync::Arc;

use gimli::{Dwarf, DwoId, EndianArcSlice, Reader as _, SectionId, UnitIndex};
use perftab_perfdata::decode::ReadError;
use perftab_perfdata::map::{Map, Set};

use super::dwarf::{Budget, Fault, LoadedUnit, Reader, UnitHeaders};
use super::elf::{Elf, Section};
use super::image::Image;

/// A .dwo or .dwp file.
#[derive(Debug)]
pub(super) struct SplitImage {
    image: Image,
    form: Form,
    /// What all units of a package share.
    strings: OnceCell<Reader>,
}

/// Where its units are, by their dwo ids.
#[derive(Debug)]
enum Form {
    /// In all of it.
    Object(Set<u64>),
    /// By rows of an index.
    Package { rows: Map<u64, u32>, index: UnitIndex<Reader> },
}

/// A unit, and the sections that it is read with.
pub(super) struct SplitUnit {
    pub dwarf: Dwarf<Reader>,
    pub loaded: LoadedUnit,
}

/// A part of each section of a package, or nothing of it.
type Parts = Map<&'static str, (u64, u64)>;

/// Bytes of two files that are compared at once.
const COMPARED: u64 = 1 << 20;

/// What is read of units; their lines are with the skeleton.
const SECTIONS: [SectionId; 4] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugStrOffsets,
    SectionId::DebugRngLists,
];

impl SplitImage {
    /// Takes a file that has split units, and reads which; gives any other back.
    pub fn open(image: Image) -> Result<Self, Box<Image>> {
        match Form::read(&image) {
            Some(form) => Ok(Self { image, form, strings: OnceCell::new() }),
            None => Err(Box::new(image)),
        }
    }

    /// What the host calls it.
    pub fn name(&self) -> &str {
        self.image.name()
    }

    /// Whether it says that it has the unit of this id.
    pub fn claims(&self, id: DwoId) -> bool {
        match &self.form {
            Form::Object(ids) => ids.contains(&id.0),
            Form::Package { rows, .. } => rows.contains_key(&id.0),
        }
    }

    /// The ids of the units that it says it has.
    pub fn ids(&self) -> impl Iterator<Item = DwoId> + '_ {
        let (ids, rows) = match &self.form {
            Form::Object(ids) => (Some(ids), None),
            Form::Package { rows, .. } => (None, Some(rows)),
        };
        let ids = ids.into_iter().flat_map(|ids| ids.iter());
        ids.chain(rows.into_iter().flat_map(Map::keys)).map(|&id| DwoId(id))
    }

    /// Whether another is the same file, byte for byte: ids do not tell builds apart. What cannot be read is another.
    pub fn is_same(&self, other: &Self) -> bool {
        let (source, others) = (self.image.source(), other.image.source());
        if source.len() != others.len() || other.ids().any(|id| !self.claims(id)) {
            return false;
        }
        let mut blocks = (0..source.len()).step_by(COMPARED as usize);
        blocks.all(|at| {
            let length = COMPARED.min(source.len() - at);
            source.read_vec(at, length).is_ok_and(|it| others.read_vec(at, length) == Ok(it))
        })
    }

    /// How long the file is.
    pub fn file_bytes(&self) -> u64 {
        self.image.source().len()
    }

    /// The unit that belongs to a skeleton, which is in `dwarf`; `None` if there is none of its id.
    pub fn unit(
        &self,
        dwarf: &Dwarf<Reader>,
        skeleton: &gimli::Unit<Reader>,
        budget: &Budget,
    ) -> Result<Option<SplitUnit>, Fault> {
        let Some(id) = skeleton.dwo_id else { return Ok(None) };
        let parts = match &self.form {
            Form::Object(_) => None,
            Form::Package { rows, index } => {
                let Some(&row) = rows.get(&id.0) else { return Ok(None) };
                let parts = index.sections(row)?;
                let part = |it: gimli::UnitIndexSection| {
                    (it.section.dwo_name(), (u64::from(it.offset), u64::from(it.size)))
                };
                Some(parts.map(part).collect::<Vec<_>>().into_iter().collect::<Parts>())
            }
        };
        let mut split = self.sections(parts.as_ref(), budget)?;
        split.make_dwo(dwarf);
        let headers = UnitHeaders::read(&split, budget)?;
        for number in 0..headers.len() {
            let mut loaded = headers.load(&split, number, budget)?;
            if loaded.unit.dwo_id == Some(id) {
                loaded.unit.copy_relocated_attributes(skeleton);
                return Ok(Some(SplitUnit { dwarf: split, loaded }));
            }
        }
        Ok(None)
    }

    fn sections(&self, parts: Option<&Parts>, budget: &Budget) -> Result<Dwarf<Reader>, Fault> {
        let elf = self.image.elf().ok_or(Fault::Damaged)?;
        let endian = elf.dwarf_endian();
        let reader = |bytes: Vec<u8>| EndianArcSlice::new(Arc::from(bytes), endian);
        Dwarf::load(|id: SectionId| {
            if let (SectionId::DebugStr, Some(strings)) = (id, self.strings.get()) {
                return Ok(strings.clone());
            }
            let section = if SECTIONS.contains(&id) { dwo_section(elf, id) } else { None };
            let Some(section) = section else { return Ok(reader(Vec::new())) };
            let part = match parts {
                None => None,
                // What the index has no column for, the unit does not use.
                Some(parts) => match id.dwo_name().and_then(|name| parts.get(name)) {
                    Some(part) => Some(*part),
                    None => return Ok(reader(Vec::new())),
                },
            };
            Ok(reader(self.bytes(elf, section, part, budget)?))
        })
    }

    /// The bytes of a section, or of a part of it: where that begins, and how long it is.
    fn bytes(
        &self,
        elf: &Elf,
        section: &Section,
        part: Option<(u64, u64)>,
        budget: &Budget,
    ) -> Result<Vec<u8>, Fault> {
        let whole = elf.inflated_size(self.image.source(), section).map_err(damaged)?;
        let (start, length) = part.unwrap_or((0, whole));
        if start.checked_add(length).is_none_or(|end| end > whole) {
            return Err(Fault::Damaged);
        }
        // Twice: as it is read, and as it is kept.
        budget.hold(length.saturating_mul(2))?;
        if !section.is_compressed() {
            budget.work(length)?;
            let start = section.offset.checked_add(start).ok_or(Fault::Damaged)?;
            return self.image.source().read_vec(start, length).map_err(damaged);
        }
        budget.hold(whole)?;
        budget.work(whole)?;
        let mut bytes = self.image.section_bytes(elf, section).map_err(damaged)?;
        bytes.truncate((start + length) as usize);
        bytes.drain(..start as usize);
        Ok(bytes)
    }

    /// Has the names of its units at hand; tells how much memory they take from now on.
    pub fn load_strings(&self, budget: &Budget) -> Result<u64, Fault> {
        if self.strings.get().is_some() {
            return Ok(0);
        }
        let before = budget.memory();
        let elf = self.image.elf().ok_or(Fault::Damaged)?;
        let section = dwo_section(elf, SectionId::DebugStr);
        let bytes = section.map(|section| self.bytes(elf, section, None, budget)).transpose()?;
        let bytes = Arc::from(bytes.unwrap_or_default());
        self.strings.get_or_init(|| EndianArcSlice::new(bytes, elf.dwarf_endian()));
        Ok(before.saturating_sub(budget.memory()))
    }
}

impl Form {
    fn read(image: &Image) -> Option<Self> {
        let elf = image.elf()?;
        let budget = Budget::of_file(image.source().len());
        if let Some(section) = elf.section_with_bytes(".debug_cu_index") {
            let bytes = image.section_within(elf, section, &budget).ok()?;
            return Self::of_index(EndianArcSlice::new(Arc::from(bytes), elf.dwarf_endian()));
        }
        dwo_section(elf, SectionId::DebugInfo)?;
        let endian = elf.dwarf_endian();
        let mut dwarf = Dwarf::load(|id: SectionId| {
            let is_read = matches!(id, SectionId::DebugInfo | SectionId::DebugAbbrev);
            let section = if is_read { dwo_section(elf, id) } else { None };
            let bytes = section.map(|section| image.section_within(elf, section, &budget));
            let bytes = bytes.transpose()?.unwrap_or_default();
            Ok::<_, ReadError>(EndianArcSlice::new(Arc::from(bytes), endian))
        })
        .ok()?;
        dwarf.file_type = gimli::DwarfFileType::Dwo;
        let headers = UnitHeaders::read(&dwarf, &budget).ok()?;
        let mut ids = Set::new();
        for number in 0..headers.len() {
            let unit = headers.load(&dwarf, number, &budget).ok();
            ids.extend(unit.and_then(|loaded| loaded.unit.dwo_id).map(|id| id.0));
        }
        Some(Self::Object(ids))
    }

    /// An index begins with its version, and how many sections, units and slots it has; then come
    /// the ids of all slots, and their rows, 0 for none (DWARF 5, section 7.3.5.3).
    fn of_index(section: Reader) -> Option<Self> {
        let mut ids = section.clone();
        let index = gimli::DebugCuIndex::from(section).index().ok()?;
        ids.skip(16).ok()?;
        let slots = index.slot_count() as usize;
        let mut of_slots = ids.split(slots.checked_mul(8)?).ok()?;
        let mut rows = Map::new();
        while let (Ok(id), Ok(row)) = (of_slots.read_u64(), ids.read_u32()) {
            if row != 0 {
                rows.entry(id).or_insert(row);
            }
        }
        Some(Self::Package { rows, index })
    }
}

fn dwo_section(elf: &Elf, id: SectionId) -> Option<&Section> {
    let name = id.dwo_name()?;
    elf.section_with_bytes(name)
        .or_else(|| elf.section_with_bytes(&name.replacen(".debug", ".zdebug", 1)))
}

fn damaged(_: ReadError) -> Fault {
    Fault::Damaged
}
