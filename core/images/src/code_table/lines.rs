//! The lines of code that a process made.

use std::num::NonZeroU32;

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_numbers;

use super::{Names, write_all};
use crate::rest::Rest;

/// V8 adds this to the addresses of lines: `perf inject` puts code so far behind the beginning of an ELF file, and
/// takes addresses for those in it.
const ELF_HEADER: u64 = 0x40;
/// More lines than any program has, and longer paths.
const MAX_LINES: usize = 4 << 20;
const MAX_PATHS: usize = 64 << 20;

/// From where in the file a line begins; each goes on to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeLines {
    /// By offset.
    starts: Vec<LineStart>,
    files: Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineStart {
    offset: u64,
    /// `None`: there is none from here on.
    line: Option<NonZeroU32>,
    file: u32,
}

impl CodeLines {
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The source file and the line of what is at an offset.
    pub fn at(&self, offset: u64) -> Option<(&str, u32)> {
        let next = self.starts.partition_point(|start| start.offset <= offset);
        let LineStart { line, file, .. } = self.starts.get(next.checked_sub(1)?)?;
        Some((self.files.get(*file), line.as_ref()?.get()))
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.files.write(bytes);
        write_all(bytes, &[self.starts.len() as u64]);
        for LineStart { offset, line, file } in &self.starts {
            write_all(bytes, &[*offset, line.map_or(0, NonZeroU32::get).into(), (*file).into()]);
        }
    }

    pub fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let files = Names::read(rest)?;
        let count = rest.number()?;
        let starts = rest.all(count, |rest| {
            let [offset, line, file] = rest.numbers()?;
            let line = NonZeroU32::new(line as u32);
            Some(LineStart { offset, line, file: file as u32 })
        })?;
        Some(Self { starts, files })
    }
}

/// Lines while a file is read.
#[derive(Default)]
pub(crate) struct LinesBuilder {
    files: Names,
    numbers: Map<Box<[u8]>, u32>,
    /// Lines of the code that comes next: so far behind its beginning.
    pending: Vec<LineStart>,
    /// Of each code with lines, its offsets, and how many lines there are with its own.
    codes: Vec<(u64, u64, usize)>,
    starts: Vec<LineStart>,
    /// The nearest that a line is to the beginning of its code.
    nearest: Option<u64>,
}

impl LinesBuilder {
    /// Whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.starts.len() + self.pending.len() < MAX_LINES && self.files.text.len() < MAX_PATHS
    }

    /// The number of a source file; `None` for what is no path.
    pub fn file(&mut self, path: &[u8]) -> Option<u32> {
        if let Some(&known) = self.numbers.get(path) {
            return Some(known);
        }
        let text = std::str::from_utf8(path).ok()?;
        if text.is_empty() || text.chars().any(char::is_control) {
            return None;
        }
        let number = self.files.add(path);
        self.numbers.insert(path.into(), number);
        Some(number)
    }

    /// A line of the code that comes next begins so far behind its beginning.
    pub fn add(&mut self, within: u64, line: u32, file: u32) {
        self.pending.push(LineStart { offset: within, line: NonZeroU32::new(line), file });
    }

    /// The lines that came are not of any code.
    pub fn drop_pending(&mut self) {
        self.pending.clear();
    }

    /// The lines that came are of code that is there in the file.
    pub fn place(&mut self, start: u64, end: u64) {
        if self.pending.is_empty() {
            return;
        }
        // Of those at one address the last counts.
        sort_by_numbers(&mut self.pending, |line| (line.offset, 0));
        let first = self.pending.first().map(|line| line.offset);
        self.nearest = [self.nearest, first].into_iter().flatten().min();
        let placed = self
            .pending
            .drain(..)
            .map(|line| LineStart { offset: line.offset.saturating_add(start), ..line });
        self.starts.extend(placed);
        self.codes.push((start, end, self.starts.len()));
    }

    /// All lines.
    pub fn finish(self) -> CodeLines {
        let too_far = if self.nearest.is_some_and(|it| it >= ELF_HEADER) { ELF_HEADER } else { 0 };
        let mut starts = Vec::with_capacity(self.starts.len() + self.codes.len());
        let mut from = 0;
        for (_, end, to) in self.codes {
            let own = self.starts.get(from..to).unwrap_or_default().iter();
            let own = own.map(|line| LineStart { offset: line.offset - too_far, ..*line });
            starts.extend(own.filter(|line| line.offset < end));
            starts.push(LineStart { offset: end, line: None, file: 0 });
            from = to;
        }
        CodeLines { starts, files: self.files }
    }
}
