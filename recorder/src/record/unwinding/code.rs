//! The code of all processes, as walks go through it.

use perftab_core::images::{RuleFound, WalkedCode};

use super::super::clock::Clock;
use super::super::mapped_at::MappedAt;
use super::files::{FileNumber, Files, Reading, Rule};
use super::frames::FrameList;
use super::spaces::{Mapping, Space};

/// Places that are known at once: half a megabyte.
const KNOWN_PLACES: usize = 1 << 14;

/// The code of all processes.
pub struct Code {
    /// Files with their tables.
    pub files: Files,
    /// Places in files, each where its hash says.
    known: Vec<Place>,
}

/// A place in code, within a line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Place {
    /// `None` for code that is of no file.
    pub file: Option<FileNumber>,
    offset: u64,
    rule: Rule,
}

impl Place {
    /// Whether its file is not read yet, and may not be.
    pub fn is_unread(self) -> bool {
        self.rule == Rule::Unread
    }
}

impl Code {
    /// Nothing is known yet.
    pub fn new(clock: Clock) -> Self {
        let nowhere = Place { file: None, offset: 0, rule: Rule::NoTables };
        Self { files: Files::new(clock), known: vec![nowhere; KNOWN_PLACES] }
    }

    fn at(
        &mut self,
        file: FileNumber,
        offset: u64,
        mapped: impl FnOnce() -> MappedAt,
        reading: Reading,
    ) -> Place {
        let known = &mut self.known[(offset ^ offset >> 14) as usize % KNOWN_PLACES];
        if known.file != Some(file) || known.offset != offset {
            let rule = self.files.rule(file, offset, mapped(), reading);
            let place = Place { file: Some(file), offset, rule };
            // A file that is not found may be through another process.
            if matches!(rule, Rule::NoTables | Rule::Unread) {
                return place;
            }
            *known = place;
        }
        *known
    }
}

/// A walk through the code of a process.
pub struct Passage<'a> {
    code: &'a mut Code,
    space: &'a Space,
    pid: u32,
    reading: Reading,
    /// Where frames are put.
    pub callers: &'a mut FrameList,
    /// What the last frame was in: most callers are in the same file.
    mapping: Option<Mapping>,
}

impl<'a> Passage<'a> {
    /// Through what a process has mapped, to put frames there.
    pub fn new(
        code: &'a mut Code,
        space: &'a Space,
        pid: u32,
        reading: Reading,
        callers: &'a mut FrameList,
    ) -> Self {
        Self { code, space, pid, reading, callers, mapping: None }
    }
}

impl WalkedCode for Passage<'_> {
    type Place = Place;

    #[inline(always)]
    fn enter(&mut self, address: u64, next: u64, stack_pointer: u64) -> Option<Place> {
        self.callers.push(next, stack_pointer);
        let mapping = match self.mapping.filter(|mapping| mapping.holds(address)) {
            Some(mapping) => mapping,
            None => *self.mapping.insert(self.space.at(address)?),
        };
        let offset = mapping.offset(address);
        Some(match mapping.file {
            Some(file) => self.code.at(file, offset, || mapping.in_process(self.pid), self.reading),
            None => Place { file: None, offset, rule: Rule::NoTables },
        })
    }

    #[inline(always)]
    fn rule(&mut self, place: Place) -> RuleFound<'_> {
        match place.rule {
            Rule::Row(number) => RuleFound::Row(self.code.files.row(number)),
            Rule::NotCovered => RuleFound::NotCovered,
            Rule::NoTables | Rule::Unread => RuleFound::NoTables,
        }
    }

    fn ends_before_function(&self, place: Place) -> bool {
        let Place { file, offset, .. } = place;
        let files = &self.code.files;
        file.is_some_and(|file| files.begins_behind_padding(file, offset.wrapping_add(1)))
    }
}
