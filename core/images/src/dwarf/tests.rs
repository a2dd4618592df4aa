//! DWARF that is small and would be large when it is read out.

use std::sync::Arc;

use gimli::{EndianArcSlice, RunTimeEndian, SectionId};

use super::super::code_ranges::CodeRanges;
use super::*;

const ADDRESS: u64 = 0x1000;
const LENGTH: u64 = 0x1000;

/// The sections of a file of version 5.
#[derive(Default)]
struct Sections {
    abbreviations: Vec<u8>,
    info: Vec<u8>,
    lines: Vec<u8>,
    ranges: Vec<u8>,
}

// Codes of the entries below.
const UNIT: u8 = 1;
const FUNCTION: u8 = 2;
const BODY: u8 = 3;
const BODY_WITH_LIST: u8 = 4;
const UNIT_WITH_LINES: u8 = 5;

impl Sections {
    fn new() -> Self {
        let (low, high) = ([0x11, 0x01], [0x12, 0x07]);
        let (list, lines) = ([0x55, 0x17], [0x10, 0x17]);
        let mut abbreviations = Vec::new();
        let mut define = |code: u8, tag: u8, attributes: &[[u8; 2]]| {
            abbreviations.extend([code, tag, 1]);
            abbreviations.extend(attributes.concat());
            abbreviations.extend([0, 0]);
        };
        define(UNIT, 0x11, &[low, high]);
        define(FUNCTION, 0x2e, &[low, high]);
        define(BODY, 0x1d, &[low, high]);
        define(BODY_WITH_LIST, 0x1d, &[list]);
        define(UNIT_WITH_LINES, 0x11, &[low, high, lines]);
        abbreviations.push(0);
        Self { abbreviations, ..Self::default() }
    }

    /// A unit of these entries.
    fn unit(&mut self, entries: &[u8]) {
        let length = 2 + 1 + 1 + 4 + entries.len() as u32;
        self.info.extend(length.to_le_bytes());
        self.info.extend([5, 0, 1, 8, 0, 0, 0, 0]);
        self.info.extend(entries);
    }

    /// A list of `count` ranges; returns where it is.
    fn list(&mut self, count: usize) -> u32 {
        // base address, then offset pairs, then the end
        let length = 2 + 1 + 1 + 4 + 9 + 3 * count as u32 + 1;
        self.ranges.extend(length.to_le_bytes());
        self.ranges.extend([5, 0, 8, 0, 0, 0, 0, 0]);
        let start = self.ranges.len() as u32;
        self.ranges.push(5);
        self.ranges.extend(ADDRESS.to_le_bytes());
        for _ in 0..count {
            self.ranges.extend([4, 0, 9]);
        }
        self.ranges.push(0);
        start
    }

    /// A table of lines with `count` files and no line.
    fn line_table(&mut self, count: usize) {
        let mut names = vec![1, 1, 1, 0xfb, 14, 1];
        // One folder and the files, each with a name of one character.
        names.extend([1, 1, 8, 1, b'/', 0]);
        names.extend([1, 1, 8]);
        names.extend(
            (0..5).map(|at| (count >> (7 * at)) as u8 & 0x7f | if at < 4 { 0x80 } else { 0 }),
        );
        names.extend([b'f', 0].repeat(count));
        self.lines.extend((8 + names.len() as u32).to_le_bytes());
        self.lines.extend([5, 0, 8, 0]);
        self.lines.extend((names.len() as u32).to_le_bytes());
        self.lines.extend(names);
    }

    /// Of a file that has so many bytes.
    fn read(&self, bytes: u64) -> Result<Units, Fault> {
        let budget = Budget::of_file(bytes);
        let dwarf = gimli::Dwarf::load(|id: SectionId| {
            let section = match id {
                SectionId::DebugAbbrev => &self.abbreviations[..],
                SectionId::DebugInfo => &self.info,
                SectionId::DebugLine => &self.lines,
                SectionId::DebugRngLists => &self.ranges,
                _ => &[],
            };
            budget.hold_sections(section.len() as u64).map_err(|_| Fault::Memory)?;
            Ok::<_, Fault>(EndianArcSlice::new(Arc::from(section), RunTimeEndian::Little))
        });
        Units::read(dwarf?, CodeRanges::default(), budget)
    }
}

/// An entry with `ADDRESS` and `LENGTH`.
fn bounds(code: u8) -> Vec<u8> {
    [&[code][..], &ADDRESS.to_le_bytes(), &LENGTH.to_le_bytes()].concat()
}

#[test]
fn bodies_nested_ten_thousands_deep_need_no_stack() {
    let mut sections = Sections::new();
    let mut entries = [bounds(UNIT), bounds(FUNCTION)].concat();
    entries.extend(bounds(BODY).repeat(20_000));
    entries.extend([0].repeat(20_002));
    sections.unit(&entries);
    let units = sections.read(9_000).expect("it is read");
    let found = units.find(ADDRESS + 5).expect("a function has it");
    assert_eq!(found.bodies().len(), MAX_LEVELS);
    assert_eq!(units.fault(), None);
    assert!(units.find(ADDRESS + LENGTH).is_none());
}

#[test]
fn bodies_that_share_a_list_of_ranges_stay_within_the_budget() {
    let mut sections = Sections::new();
    let list = sections.list(200_000);
    let mut entries = [bounds(UNIT), bounds(FUNCTION)].concat();
    for _ in 0..200 {
        entries.push(BODY_WITH_LIST);
        entries.extend(list.to_le_bytes());
        entries.push(0);
    }
    entries.extend([0, 0]);
    sections.unit(&entries);
    let units = sections.read(71_000).expect("it is read");
    assert!(units.find(ADDRESS + 5).is_none(), "2.5 GB");
    assert_eq!(units.fault(), Some(Fault::Memory));
    // One of them is no matter.
    let mut sections = Sections::new();
    let list = sections.list(200_000);
    let mut entries = [bounds(UNIT), bounds(FUNCTION)].concat();
    entries.push(BODY_WITH_LIST);
    entries.extend(list.to_le_bytes());
    entries.extend([0, 0, 0]);
    sections.unit(&entries);
    let units = sections.read(71_000).expect("it is read");
    assert_eq!(units.find(ADDRESS + 5).expect("a function has it").bodies().len(), 1);
    assert_eq!(units.fault(), None);
}

#[test]
fn units_that_share_a_table_of_lines_stay_within_the_budget() {
    let sections = |units: usize, files: usize| {
        let mut sections = Sections::new();
        sections.line_table(files);
        for _ in 0..units {
            sections.unit(&[&bounds(UNIT_WITH_LINES)[..], &[0; 4], &[0]].concat());
        }
        sections
    };
    let fault = |units, files| match sections(units, files).read(36_000) {
        Ok(units) => units.fault(),
        Err(fault) => Some(fault),
    };
    assert_eq!(fault(300, 1_000_000), Some(Fault::Memory));
    assert_eq!(fault(300, 400_000), Some(Fault::Work));
    assert_eq!(fault(20, 400), None);
    assert_eq!(fault(1, 400_000), None);
}

#[test]
fn a_unit_with_too_many_files_is_lost_alone() {
    let mut sections = Sections::new();
    sections.line_table(1_000_000);
    sections.unit(&[&bounds(UNIT_WITH_LINES)[..], &[0; 4], &[0]].concat());
    let other = ADDRESS + LENGTH;
    let bounds = |code: u8| [&[code][..], &other.to_le_bytes(), &LENGTH.to_le_bytes()].concat();
    sections.unit(&[bounds(UNIT), bounds(FUNCTION), vec![0, 0]].concat());
    let units = sections.read(36_000).expect("the other one is there");
    assert!(units.find(other).is_some());
    assert!(units.find(ADDRESS).is_none());
    assert_eq!(units.fault(), Some(Fault::Memory));
}

#[test]
fn units_are_dropped_where_all_at_once_would_be_too_much() {
    let mut sections = Sections::new();
    let list = sections.list(600_000);
    for unit in 0..3 {
        let at = ADDRESS + unit * LENGTH;
        let bounds = |code: u8| [&[code][..], &at.to_le_bytes(), &LENGTH.to_le_bytes()].concat();
        let mut entries = [bounds(UNIT), bounds(FUNCTION), bounds(BODY)].concat();
        entries.push(0);
        entries.push(BODY_WITH_LIST);
        entries.extend(list.to_le_bytes());
        entries.extend([0, 0, 0]);
        sections.unit(&entries);
    }
    let units = sections.read(0).expect("it is read");
    // Each holds 40 MB.
    for unit in 0..3 {
        assert!(
            units.find(ADDRESS + unit * LENGTH).is_some_and(|found| !found.bodies().is_empty())
        );
    }
    assert_eq!(units.fault(), None);
}

#[test]
fn a_large_file_has_a_large_budget_and_a_small_one_does_not() {
    assert!(Budget::of_file(24_000).hold_sections(7 << 30).is_err());
    assert!(Budget::of_file(24_000).hold_sections(30 << 20).is_ok());
    assert!(Budget::of_file(50 << 20).hold_sections(900 << 20).is_ok());
}
