//! [`CodeTable`]: what a process says itself of the code that it made at run time, in a jitdump or a perf map.
//!
//! Neither has an identity, so none ever matches. Whoever has the profile knows whether the process was
//! recorded, by which clock, and what ran at these addresses; so it decides whether the table is used.
//! Names from it are no file's of the build that ran, and none that somebody insists on: the process gave
//! them itself.

use std::ops::Range;

use perftab_dsos::{CodeChange, MadeCode};
use perftab_perfdata::sorting::sort_by_numbers;

/// What a process says of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeTable {
    /// What the host calls the file.
    pub name: String,
    /// Whose it is, by its own number, which in a container is not the recorded one; `None`: nothing tells.
    pub pid: Option<u32>,
    /// What tells when code was where.
    pub clock: Clock,
    /// By time, and those of one time in the order of the file.
    changes: Vec<CodeChange>,
    names: Names,
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

/// Names of functions, one after the other.
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

    fn range(&self, number: u32) -> Option<Range<usize>> {
        let end = *self.ends.get(number as usize)?;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before as usize));
        Some(start.copied().unwrap_or(0) as usize..end as usize)
    }
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
        Self { name: name.to_owned(), pid, clock, changes, names }
    }

    /// What became of code, by time.
    pub fn changes(&self) -> &[CodeChange] {
        &self.changes
    }

    /// A name, as the run time wrote it. Of a number that is none it is empty.
    pub fn name_of(&self, number: u32) -> &str {
        self.names.range(number).and_then(|range| self.names.text.get(range)).unwrap_or_default()
    }

    /// All of it, for where files are in another worker than the profile: numbers of eight bytes,
    /// little-endian, and texts. Both ends are of one version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (clock, begun) = match self.clock {
            Clock::Absent => (0, 0),
            Clock::Monotonic { begun } => (1, begun),
            Clock::Processor => (2, 0),
        };
        let pid = self.pid.map_or(u64::MAX, u64::from);
        let counts = [self.name.len(), self.names.text.len(), self.names.ends.len()];
        let mut bytes = Vec::new();
        let mut add = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        [pid, clock, begun].into_iter().for_each(&mut add);
        counts.into_iter().for_each(|count| add(count as u64));
        self.names.ends.iter().for_each(|&end| add(end.into()));
        for CodeChange { time_nanos, start, end, code } in &self.changes {
            let code = code.map_or([0, u64::MAX], |code| [code.offset, code.name.into()]);
            [*time_nanos, *start, *end].into_iter().chain(code).for_each(&mut add);
        }
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(self.names.text.as_bytes());
        bytes
    }

    /// The other way round; `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| bytes.first_chunk().map(|it| u64::from_le_bytes(*it));
        let (head, rest) = bytes.split_at_checked(6 * 8)?;
        let head: Vec<u64> = head.chunks_exact(8).filter_map(number).collect();
        let [pid, clock, begun, name, text, ends] = head[..] else { return None };
        let length = |length: u64| usize::try_from(length).ok();
        let (rest, texts) =
            rest.split_at_checked(rest.len().checked_sub(length(name.checked_add(text)?)?)?)?;
        let (ends, changes) = rest.split_at_checked(length(ends.checked_mul(8)?)?)?;
        let ends: Vec<u32> = ends.chunks_exact(8).filter_map(number).map(|it| it as u32).collect();
        let change = |bytes: &[u8]| {
            let mut numbers = bytes.chunks_exact(8).filter_map(number);
            let mut next = || numbers.next();
            let (time_nanos, start, end) = (next()?, next()?, next()?);
            let (offset, name) = (next()?, next()?);
            let code = u32::try_from(name).ok().map(|name| MadeCode { offset, name });
            (end > start).then_some(CodeChange { time_nanos, start, end, code })
        };
        let (name, text) = texts.split_at_checked(length(name)?)?;
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let names = Names { ends, text: string(text)? };
        let clock = match clock {
            1 => Clock::Monotonic { begun },
            2 => Clock::Processor,
            _ => Clock::Absent,
        };
        let changes = changes.chunks_exact(40).filter_map(change).collect();
        Some(Self::new(&string(name)?, u32::try_from(pid).ok(), clock, changes, names))
    }
}

#[cfg(test)]
mod tests;
