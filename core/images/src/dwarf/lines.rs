//! The lines of a unit, and the paths of its files.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_numbers;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use gimli::{AttributeValue, Dwarf, FileEntry, LineProgramHeader, Reader as _};

use super::super::code_ranges::CodeRanges;
use super::Reader;
use super::budget::{Budget, Fault};

/// A longer path is no path (PATH_MAX).
const MAX_PATH: usize = 4096;
/// Nobody writes a source file that is longer.
pub const MAX_SOURCE: u64 = 16 << 20;

/// The lines of a unit.
#[derive(Default)]
pub(super) struct Lines {
    /// In ascending order of where they begin.
    sequences: Vec<Sequence>,
    rows: Vec<(u64, Row)>,
    paths: RefCell<Map<u64, Option<Rc<str>>>>,
}

/// Code without a gap: its rows are in ascending order.
struct Sequence {
    begin: u64,
    end: u64,
    first_row: usize,
    last_row: usize,
}

/// What an instruction was made of.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Number of the file.
    pub file: u32,
    /// Line, 0 if it is of none.
    pub line: u32,
}

impl Lines {
    /// Runs the program of a unit's lines.
    pub fn read(
        unit: &gimli::Unit<Reader>,
        code: &CodeRanges,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        let Some(program) = unit.line_program.clone() else { return Ok(Self::default()) };
        budget.work(program.header().raw_program_buf().len() as u64)?;
        let mut lines = Self::default();
        let mut first_row = 0;
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            let address = row.address();
            if row.end_sequence() {
                if let Some(&(begin, _)) = lines.rows.get(first_row)
                    && begin < address
                    && code.may_hold(begin)
                {
                    budget.hold_one::<Sequence>()?;
                    let last_row = lines.rows.len();
                    lines.sequences.push(Sequence { begin, end: address, first_row, last_row });
                } else {
                    lines.rows.truncate(first_row);
                }
                first_row = lines.rows.len();
                continue;
            }
            let line = row.line().map_or(0, |line| line.get() as u32);
            // No file has a number beyond those of 32 bits.
            let file = u32::try_from(row.file_index()).unwrap_or(u32::MAX);
            let what = Row { file, line };
            // Of several at one address, the last counts.
            match lines.rows.get_mut(first_row..).and_then(<[_]>::last_mut) {
                Some((last, kept)) if *last == address => *kept = what,
                _ => {
                    budget.hold_one::<(u64, Row)>()?;
                    lines.rows.push((address, what));
                }
            }
        }
        lines.rows.truncate(first_row);
        sort_by_numbers(&mut lines.sequences, |sequence| (sequence.begin, 0));
        Ok(lines)
    }

    /// Where each run of lines begins and ends.
    pub fn sequences(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sequences.iter().map(|sequence| (sequence.begin, sequence.end))
    }

    /// The row that covers an address.
    pub fn at(&self, address: u64) -> Option<Row> {
        let next = self.sequences.partition_point(|sequence| sequence.begin <= address);
        let sequence = self.sequences.get(next.checked_sub(1)?).filter(|it| address < it.end)?;
        let rows = &self.rows[sequence.first_row..sequence.last_row];
        let next = rows.partition_point(|&(begin, _)| begin <= address);
        rows.get(next.checked_sub(1)?).map(|&(_, row)| row)
    }

    /// Path of a file by its number.
    pub fn path(
        &self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        file: u64,
        budget: &Budget,
    ) -> Option<Rc<str>> {
        if let Some(known) = self.paths.borrow().get(&file) {
            return known.clone();
        }
        let header = unit.line_program.as_ref()?.header();
        let path = header.file(file).and_then(|file| path_of(dwarf, unit, file, header));
        let path: Option<Rc<str>> = path.map(Rc::from);
        if let Err(fault) = budget.hold(64 + path.as_ref().map_or(0, |path| path.len() as u64)) {
            budget.note(fault);
            return None;
        }
        self.paths.borrow_mut().insert(file, path.clone());
        path
    }

    /// MD5 of the file of a path, where the compiler has noted it.
    pub fn md5(
        &self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        path: &str,
        budget: &Budget,
    ) -> Option<[u8; 16]> {
        let header = unit.line_program.as_ref()?.header();
        header.file_has_md5().then_some(())?;
        let file = file_of(dwarf, unit, path, budget)?;
        Some(*file.md5()).filter(|md5| *md5 != [0; 16])
    }

    /// The text of the file of a path, where the compiler has put it in.
    pub fn source(
        &self,
        dwarf: &Dwarf<Reader>,
        unit: &gimli::Unit<Reader>,
        path: &str,
        budget: &Budget,
    ) -> Option<Vec<u8>> {
        let header = unit.line_program.as_ref()?.header();
        header.file_has_source().then_some(())?;
        let file = file_of(dwarf, unit, path, budget)?;
        let text = dwarf.attr_string(unit, file.source()?).ok()?;
        budget.work(text.len() as u64).ok()?;
        // A compiler that had none writes an empty one.
        let is_one = (1..=MAX_SOURCE).contains(&(text.len() as u64));
        is_one.then(|| text.to_slice().ok().map(Cow::into_owned)).flatten()
    }
}

/// The file of a path in a unit's table.
fn file_of<'a>(
    dwarf: &Dwarf<Reader>,
    unit: &'a gimli::Unit<Reader>,
    path: &str,
    budget: &Budget,
) -> Option<&'a FileEntry<Reader>> {
    let header = unit.line_program.as_ref()?.header();
    header.file_names().iter().find(|file| {
        let is_paid = budget.work(64 + path.len() as u64).is_ok();
        is_paid && path_of(dwarf, unit, file, header).as_deref() == Some(path)
    })
}

/// Path of a file: that of its unit's folder, of its own folder and its name, from the last absolute
/// one on.
fn path_of(
    dwarf: &Dwarf<Reader>,
    unit: &gimli::Unit<Reader>,
    file: &FileEntry<Reader>,
    header: &LineProgramHeader<Reader>,
) -> Option<String> {
    let text = |value: AttributeValue<Reader>| {
        let text = dwarf.attr_string(unit, value).ok()?;
        short(&text).map(Cow::into_owned)
    };
    let folder = match file.directory_index() {
        0 => None,
        _ => file.directory(header).map(text),
    };
    let mut path = unit.comp_dir.as_ref().and_then(short).map(Cow::into_owned).unwrap_or_default();
    for part in [folder, Some(text(file.path_name()))].into_iter().flatten() {
        let part = part?;
        if part.starts_with('/') {
            path = part;
        } else {
            if !path.is_empty() && !path.ends_with('/') {
                path.push('/');
            }
            path.push_str(&part);
        }
    }
    Some(path)
}

pub(super) fn short(text: &Reader) -> Option<Cow<'_, str>> {
    (text.len() <= MAX_PATH).then(|| text.to_string_lossy().ok()).flatten()
}
