//! [`CodeTable`]: what a process says itself of the code that it made at run time, in a jitdump or a perf map.
//!
//! Neither has an identity, so none ever matches. Whoever has the profile knows whether the process was
//! recorded, by which clock, and what ran at these addresses; so it decides whether the table is used.
//! Names from it are no file's of the build that ran, and none that somebody insists on: the process gave
//! them itself.

mod lines;
mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use object::elf;
use perftab_dsos::{CodeChange, MadeCode};
use perftab_perfdata::sorting::sort_by_numbers;

use crate::rest::Rest;

pub(crate) use lines::{CodeLines, LinesBuilder};
pub(crate) use rules::CodeRules;

/// Names that are compared to find addresses that have several.
const MAX_COMPARED: usize = 64 << 20;

/// What a process says of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeTable {
    /// What the host calls the file.
    pub name: String,
    /// Whose it is, by its own number, which in a container is not the recorded one; `None`: nothing tells.
    pub pid: Option<u32>,
    /// What tells when code was where.
    pub clock: Clock,
    /// The machine that its code is of, as in ELF files; `None`: nothing tells.
    pub machine: Option<u16>,
    /// What it has and is not used.
    pub left_out: LeftOut,
    /// By time, and those of one time in the order of the file.
    changes: Vec<CodeChange>,
    names: Names,
    lines: CodeLines,
    rules: CodeRules,
}

/// What is not used of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Records of another process than the file's.
    pub of_others: u64,
    /// Records with lines or with rules for unwinding that are larger than any, or too many.
    pub too_large: u64,
    /// Lines of a perf map that say nothing of code: half of a name with a line break, or a message.
    pub no_lines: u64,
}

/// What tells when code was where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Nothing does (perf map): the last that is said of an address counts all along.
    Absent,
    /// `CLOCK_MONOTONIC`.
    Monotonic {
        /// When the first code was made, in nanoseconds.
        begun: u64,
    },
    /// A counter of the processor, whose relation to other clocks the file does not tell.
    Processor,
}

/// Texts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Names {
    /// Adds a name; its number. Beyond four gigabytes they are empty.
    pub fn add(&mut self, name: &[u8]) -> u32 {
        let before = self.text.len();
        self.text.push_str(&String::from_utf8_lossy(name));
        if u32::try_from(self.text.len()).is_err() {
            self.text.truncate(before);
        }
        self.ends.push(self.text.len() as u32);
        self.ends.len() as u32 - 1
    }

    /// A name; of a number that is none it is empty.
    pub fn get(&self, number: u32) -> &str {
        self.range(number).and_then(|range| self.text.get(range)).unwrap_or_default()
    }

    fn range(&self, number: u32) -> Option<Range<usize>> {
        let end = *self.ends.get(number as usize)?;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before as usize));
        Some(start.copied().unwrap_or(0) as usize..end as usize)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        write_all(bytes, &[self.ends.len() as u64, self.text.len() as u64]);
        self.ends.iter().for_each(|&end| write_all(bytes, &[end.into()]));
        bytes.extend_from_slice(self.text.as_bytes());
    }

    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let [count, length] = rest.numbers()?;
        let ends = rest.all(count, |rest| u32::try_from(rest.number()?).ok())?;
        Some(Self { ends, text: rest.text(length)? })
    }
}

fn write_all(bytes: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

impl CodeTable {
    pub(super) fn new(
        name: &str,
        pid: Option<u32>,
        clock: Clock,
        mut changes: Vec<CodeChange>,
        names: Names,
    ) -> Self {
        sort_by_numbers(&mut changes, |change| (change.time_nanos, 0));
        let (lines, rules) = (CodeLines::default(), CodeRules::default());
        let (machine, left_out) = (None, LeftOut::default());
        let name = name.to_owned();
        Self { name, pid, clock, machine, left_out, changes, names, lines, rules }
    }

    /// With what a jitdump says besides of the same code.
    pub(super) fn with_details(mut self, lines: CodeLines, rules: CodeRules) -> Self {
        (self.lines, self.rules) = (lines, rules);
        self
    }

    /// What became of code, by time.
    pub fn changes(&self) -> &[CodeChange] {
        &self.changes
    }

    /// A name, as the run time wrote it. Of a number that is none it is empty.
    pub fn name_of(&self, number: u32) -> &str {
        self.names.get(number)
    }

    /// Where in the file the code is that an offset lies in, and at which address it was made first. `None` if the file
    /// has no code, as a perf map has none.
    pub fn code_around(&self, offset: u64) -> Option<(Range<u64>, u64)> {
        if self.clock == Clock::Absent {
            return None;
        }
        self.changes.iter().find_map(|&CodeChange { start, end, code, .. }| {
            let first = code?.offset;
            let within = offset.checked_sub(first)?;
            (within < end - start).then(|| (first..first + (end - start), start))
        })
    }

    /// The source file and the line of code, by where it is in the file.
    pub fn line_at(&self, offset: u64) -> Option<(&str, u32)> {
        self.lines.at(offset)
    }

    /// Whether it tells the lines of any code.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether it tells how callers of any code are found.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Of so many of these addresses, which are in ascending order, it tells more than one name.
    pub fn names_twice(&self, addresses: &[u64]) -> u64 {
        let mut names: Vec<Option<&str>> = vec![None; addresses.len()];
        let mut twice = vec![false; addresses.len()];
        let mut left = MAX_COMPARED;
        for CodeChange { start, end, code, .. } in &self.changes {
            let Some(MadeCode { name, .. }) = code else { continue };
            let from = addresses.partition_point(|address| address < start);
            let to = addresses.partition_point(|address| address < end);
            let name = self.name_of(*name);
            for (known, is_twice) in names[from..to].iter_mut().zip(&mut twice[from..to]) {
                *is_twice |= *known.get_or_insert(name) != name;
            }
            left = left.saturating_sub(to - from);
            if left == 0 {
                break;
            }
        }
        twice.iter().filter(|&&is_twice| is_twice).count() as u64
    }

    /// Whether its code may have run on a machine that `uname -m` calls so, as far as either tells.
    pub fn may_run_on(&self, arch: &str) -> bool {
        let Some(machine) = self.machine.map(elf::Machine) else { return true };
        match arch {
            "x86_64" => [elf::EM_X86_64, elf::EM_386].contains(&machine),
            "aarch64" => [elf::EM_AARCH64, elf::EM_ARM].contains(&machine),
            _ => true,
        }
    }

    pub(super) fn rules(&self) -> &CodeRules {
        &self.rules
    }

    /// All of it, for where files are in another worker than the profile. Both ends are of one version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (clock, begun) = match self.clock {
            Clock::Absent => (0, 0),
            Clock::Monotonic { begun } => (1, begun),
            Clock::Processor => (2, 0),
        };
        let pid = self.pid.map_or(u64::MAX, u64::from);
        let machine = self.machine.map_or(u64::MAX, u64::from);
        let LeftOut { of_others, too_large, no_lines } = self.left_out;
        let mut bytes = Vec::new();
        write_all(&mut bytes, &[pid, clock, begun, machine, of_others, too_large, no_lines]);
        write_all(&mut bytes, &[self.name.len() as u64]);
        bytes.extend_from_slice(self.name.as_bytes());
        self.names.write(&mut bytes);
        self.lines.write(&mut bytes);
        self.rules.write(&mut bytes);
        for CodeChange { time_nanos, start, end, code } in &self.changes {
            let [offset, name] = code.map_or([0, u64::MAX], |code| [code.offset, code.name.into()]);
            write_all(&mut bytes, &[*time_nanos, *start, *end, offset, name]);
        }
        bytes
    }

    /// The other way round; `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let [pid, clock, begun, machine, of_others, too_large, no_lines] = rest.numbers()?;
        let length = rest.number()?;
        let name = rest.text(length)?;
        let names = Names::read(&mut rest)?;
        let (lines, rules) = (CodeLines::read(&mut rest)?, CodeRules::read(&mut rest)?);
        let mut changes = Vec::new();
        while !rest.0.is_empty() {
            let [time_nanos, start, end, offset, name] = rest.numbers()?;
            let code = u32::try_from(name).ok().map(|name| MadeCode { offset, name });
            if end > start {
                changes.push(CodeChange { time_nanos, start, end, code });
            }
        }
        let clock = match clock {
            1 => Clock::Monotonic { begun },
            2 => Clock::Processor,
            _ => Clock::Absent,
        };
        let table = Self::new(&name, u32::try_from(pid).ok(), clock, changes, names);
        let machine = u16::try_from(machine).ok();
        let left_out = LeftOut { of_others, too_large, no_lines };
        Some(Self { machine, left_out, ..table.with_details(lines, rules) })
    }
}
