//! The code of all processes, as walks go through it.

use perftab_core::images::{RuleFound, WalkedCode};

use super::super::clock::Clock;
use super::files::{FileNumber, Files, Rule};
use super::frames::FrameList;
use super::spaces::{Space, Version};

/// Addresses that are known at once: half a megabyte.
const KNOWN_PLACES: usize = 1 << 14;

/// The code of all processes.
pub struct Code {
    /// Files with their tables.
    pub files: Files,
    known: Vec<KnownPlace>,
}

/// A place in code.
#[derive(Clone, Copy)]
pub struct Place {
    /// `None` for code that is of no file.
    pub file: Option<FileNumber>,
    offset: u64,
    rule: Rule,
}

#[derive(Clone, Copy)]
struct KnownPlace {
    address: u64,
    version: Version,
    place: Place,
}

impl Code {
    /// Nothing is known yet.
    pub fn new(clock: Clock) -> Self {
        let nowhere = Place { file: None, offset: 0, rule: Rule::NoTables };
        let nowhere = KnownPlace { address: 0, version: Version::default(), place: nowhere };
        Self { files: Files::new(clock), known: vec![nowhere; KNOWN_PLACES] }
    }
}

/// A walk through the code of a process.
pub struct Passage<'a> {
    /// Of all processes.
    pub code: &'a mut Code,
    /// Where the process has it.
    pub space: &'a Space,
    /// The process.
    pub pid: u32,
    /// Where frames are put.
    pub callers: &'a mut FrameList,
}

impl WalkedCode for Passage<'_> {
    type Place = Place;

    #[inline(always)]
    fn enter(&mut self, address: u64, next: u64, stack_pointer: u64) -> Option<Place> {
        self.callers.push(next, stack_pointer);
        let Self { code: Code { files, known }, space, pid, .. } = self;
        let known = &mut known[(address ^ address >> 14) as usize % KNOWN_PLACES];
        if known.address != address || known.version != space.version {
            let mapping = space.at(address)?;
            let offset = mapping.offset(address);
            let rule = match mapping.file {
                Some(file) => files.rule(file, offset, mapping.in_process(*pid)),
                None => Rule::NoTables,
            };
            let place = Place { file: mapping.file, offset, rule };
            // A file that is not found may be through another process.
            if rule == Rule::NoTables {
                return Some(place);
            }
            *known = KnownPlace { address, version: space.version, place };
        }
        Some(known.place)
    }

    #[inline(always)]
    fn rule(&mut self, place: Place) -> RuleFound<'_> {
        match place.rule {
            Rule::Row(number) => RuleFound::Row(self.code.files.row(number)),
            Rule::NotCovered => RuleFound::NotCovered,
            Rule::NoTables => RuleFound::NoTables,
        }
    }

    fn ends_before_function(&self, place: Place) -> bool {
        let Place { file, offset, .. } = place;
        let files = &self.code.files;
        file.is_some_and(|file| files.begins_behind_padding(file, offset.wrapping_add(1)))
    }
}
