//! The rules of mapped files, each read once.
//!
//! A file gives rules if it is the one that was mapped: by the build-id of the mapping, or, where that has none, by device
//! and inode, and if nothing was written to it since. One that was replaced or removed is to be had for as long as a process
//! has it mapped.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::ops::Range;
use std::path::Path;

use perftab_core::Image;
use perftab_core::images::{FileRules, Row, RowMemory};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::decode::records::MmapRecord;
use perftab_perfdata::identity::MappedFrom;
use perftab_perfdata::map::Map;

use super::super::clock::Clock;
use super::super::identify::was_written;
use super::super::mapped_at::{MappedAt, Place};
use super::super::tasks::own_vdso;
use crate::file_source::FileSource;
use crate::images::local::open_regular;

/// Processes through which a file is looked for: each may have ended by then.
const TRIES: u32 = 8;
/// Rules that are kept at once.
const RULES_MAX: usize = 1 << 20;

/// A file in [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileNumber(u32);

/// A rule in [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// This one.
    Row(RowNumber),
    /// The file tells nothing of the address.
    NotCovered,
    /// There is no file that tells.
    NoTables,
    /// The file is not read yet, and may not be.
    Unread,
}

/// A row in [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowNumber(u32);

/// A file as mappings have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MappedFile {
    /// One that may be read.
    File(String, MappedFrom),
    /// The vdso of programs of 64 bits.
    Vdso,
    /// Memory, or what is no file of code.
    Nothing,
}

impl MappedFile {
    /// What is mapped.
    pub fn of(mmap: &MmapRecord<'_>) -> Self {
        let is_native = mmap.address >> 32 != 0;
        match (&*mmap.path, mmap.mapped_from) {
            ("[vdso]", _) if is_native => Self::Vdso,
            (_, MappedFrom::Nothing) => Self::Nothing,
            (path, from) if path.starts_with('/') && !path.starts_with("//") => {
                // The kernel says so of a name that is gone.
                let path = path.strip_suffix(" (deleted)").unwrap_or(path);
                Self::File(path.to_owned(), from)
            }
            _ => Self::Nothing,
        }
    }
}

/// Whether files may be read, which takes as long as their disk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// They may.
    Allowed,
    /// They may not.
    Refused,
}

/// All files that were mapped, and the rules that were asked for.
pub struct Files {
    clock: Clock,
    numbers: HashMap<MappedFile, FileNumber>,
    files: Vec<KnownFile>,
    /// How many rules are kept.
    kept: usize,
    rows: Vec<Row>,
    row_numbers: Map<Row, RowNumber>,
    memory: RowMemory,
}

struct KnownFile {
    file: MappedFile,
    /// When it was mapped first.
    mapped: u64,
    state: FileState,
    rules: KnownRules,
}

/// Rules of a file, by where the code begins that each holds for; with it, where that ends. (When they were kept by address,
/// seven in ten had to be found anew: samples hardly ever interrupt the same instruction. Of six in ten of these another
/// address had given the row.) With offsets of four bytes, a step of a search is in one line of the processor's cache.
#[derive(Default)]
struct KnownRules(BTreeMap<u32, (u32, Rule)>);

impl KnownRules {
    fn of(&self, offset: u64) -> Option<Rule> {
        let offset = u32::try_from(offset).ok()?;
        let (_, &(end, rule)) = self.0.range(..=offset).next_back()?;
        (offset < end).then_some(rule)
    }

    /// Keeps a rule, unless the code is behind the first 4 GiB of the file. Returns how many more are kept.
    fn keep(&mut self, holds: Range<u64>, rule: Rule) -> usize {
        let (Ok(start), Ok(end)) = (holds.start.try_into(), holds.end.try_into()) else { return 0 };
        usize::from(self.0.insert(start, (end, rule)).is_none())
    }
}

enum FileState {
    /// It was looked for so often.
    Sought(u32),
    Read(Box<FileRules>),
    /// It has no rules, or is not the one that was mapped.
    None,
}

impl Files {
    /// For records with the times of this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            numbers: HashMap::new(),
            files: Vec::new(),
            kept: 0,
            rows: Vec::new(),
            row_numbers: Map::new(),
            memory: RowMemory::default(),
        }
    }

    /// The number of a file that was mapped at a time.
    pub fn number(&mut self, file: MappedFile, time: u64) -> Option<FileNumber> {
        if file == MappedFile::Nothing {
            return None;
        }
        if let Some(&number) = self.numbers.get(&file) {
            let known = &mut self.files[number.0 as usize];
            known.mapped = known.mapped.min(time);
            return Some(number);
        }
        let number = FileNumber(u32::try_from(self.files.len()).ok()?);
        let state = FileState::Sought(0);
        let rules = KnownRules::default();
        self.files.push(KnownFile { file: file.clone(), mapped: time, state, rules });
        self.numbers.insert(file, number);
        Some(number)
    }

    /// The row with a number.
    pub fn row(&self, number: RowNumber) -> &Row {
        &self.rows[number.0 as usize]
    }

    /// How the caller is found of the code at an offset of a file that a process has mapped there.
    pub fn rule(
        &mut self,
        number: FileNumber,
        offset: u64,
        mapped: MappedAt,
        reading: Reading,
    ) -> Rule {
        let known = &mut self.files[number.0 as usize];
        if let Some(rule) = known.rules.of(offset) {
            return rule;
        }
        if reading == Reading::Refused && matches!(known.state, FileState::Sought(_)) {
            return Rule::Unread;
        }
        known.seek(&self.clock, mapped);
        let FileState::Read(rules) = &known.state else { return Rule::NoTables };
        let (rule, holds) = match rules.row_of_range(offset, &mut self.memory) {
            None => (Rule::NotCovered, offset..offset.saturating_add(1)),
            Some((row, holds)) => {
                let rows = &mut self.rows;
                let number = *self.row_numbers.entry(row).or_insert_with_key(|row| {
                    rows.push(row.clone());
                    RowNumber(rows.len() as u32 - 1)
                });
                (Rule::Row(number), holds)
            }
        };
        self.kept += known.rules.keep(holds, rule);
        if self.kept >= RULES_MAX {
            self.files.iter_mut().for_each(|file| file.rules = KnownRules::default());
            self.kept = 0;
        }
        rule
    }

    /// Whether a function begins at an offset of a file, with nothing but padding before it.
    pub fn begins_behind_padding(&self, number: FileNumber, offset: u64) -> bool {
        match &self.files[number.0 as usize].state {
            FileState::Read(rules) => rules.begins_behind_padding(offset),
            FileState::Sought(_) | FileState::None => false,
        }
    }
}

impl KnownFile {
    /// Reads it, if that has not been tried too often.
    fn seek(&mut self, clock: &Clock, mapped: MappedAt) {
        let FileState::Sought(tries) = self.state else { return };
        self.state = match self.open(clock, mapped) {
            Some(image) => FileRules::of_mapped(&image)
                .map_or(FileState::None, |rules| FileState::Read(Box::new(rules))),
            None if tries + 1 < TRIES => FileState::Sought(tries + 1),
            None => FileState::None,
        };
    }

    /// The file, if it is the one that was mapped.
    fn open(&self, clock: &Clock, mapped: MappedAt) -> Option<Image> {
        match &self.file {
            MappedFile::Nothing => None,
            MappedFile::Vdso => Image::open("[vdso]", Box::new(SliceSource::new(own_vdso()?))).ok(),
            MappedFile::File(path, from) => {
                let places = mapped.places(Path::new(path));
                places.iter().find_map(|place| self.open_at(place, *from, clock))
            }
        }
    }

    fn open_at(&self, place: &Place, from: MappedFrom, clock: &Clock) -> Option<Image> {
        let file = open_regular(&place.path)?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        let has_inode = match from {
            MappedFrom::Nothing => false,
            MappedFrom::BuildId(_) => true,
            MappedFrom::Inode { major, minor, inode, .. } => {
                place.has_inode(&file, &metadata, (major, minor), inode)
                    && was_written(&metadata, clock.wall_time(self.mapped)).is_none()
            }
        };
        if !has_inode {
            return None;
        }
        let name = place.path.to_str()?;
        let image = Image::open(name, Box::new(FileSource::new(file).ok()?)).ok()?;
        let is_build = match from {
            MappedFrom::BuildId(id) => image.build_id() == Some(id),
            MappedFrom::Inode { .. } | MappedFrom::Nothing => true,
        };
        is_build.then_some(image)
    }
}
