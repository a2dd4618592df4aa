//! Frames in memory without a file → frames in what the process says of its code.
//!
//! A process may say at any time what code it made where (`CodeChange` of `perftab_dsos`), also long after
//! the profile was read. Its rows are gone through in the order of time, beside a tree of the code that is
//! there at that time; each frame in memory without a file that code covers becomes one of that code. A
//! frame that has become one stays. The work is in proportion to the changes, and to the rows times the
//! depth of their stacks at worst: what was found for a stack counts until code changes.

use perftab_dsos::{CodeChange, MadeCode};
use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::{sort, sort_by_numbers};

use crate::mappings::{Mapping, Mappings, OwnFrom, Root};
use crate::{DsoId, DsoKind, Frame, FrameId, ProcessId, Profile, StackId, Stacks};

/// A process with samples in memory without a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// Which.
    pub process: ProcessId,
    /// The times of its first and its last such sample, in nanoseconds of the recording's clock.
    pub sampled: (u64, u64),
    /// Those samples.
    rows: Vec<u32>,
}

/// How much of what a process ran is code of which it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMet {
    /// Addresses of its samples in memory without a file: how many.
    pub addresses: u64,
    /// Those of them that were in code of its time in any sample, in ascending order.
    pub known: Vec<u64>,
}

/// The code of a process at a time, of those that its changes lead through.
pub struct CodeInTime {
    /// How many changes there were by then.
    passed: usize,
    /// Code by address; its place in a file is here its number among the changes.
    code: Mappings,
    root: Root,
}

impl Default for CodeInTime {
    fn default() -> Self {
        let (code, root) = (Mappings::default(), Root::EMPTY);
        Self { passed: 0, code, root }
    }
}

impl CodeInTime {
    /// The code that there is at a time, by changes in the order of time, each time the same. Going back over
    /// any begins again.
    pub fn go_to(&mut self, changes: &[CodeChange], time_nanos: u64) {
        let last = self.passed.checked_sub(1).and_then(|last| changes.get(last));
        if last.is_some_and(|change| change.time_nanos > time_nanos) {
            *self = Self::default();
        }
        let own = OwnFrom::default();
        while let Some(change) = changes.get(self.passed).filter(|it| it.time_nanos <= time_nanos) {
            let &CodeChange { start, end, code, .. } = change;
            self.root = self.code.without_any_of(self.root, start..end, own);
            if code.is_some() {
                let page_offset = self.passed as u64;
                let mapping = Mapping { start, end, page_offset, dso: DsoId(0) };
                self.root = self.code.with(self.root, mapping, own);
            }
            self.passed += 1;
        }
    }

    /// The code at an address, and how far behind its beginning that is.
    pub fn at(&self, changes: &[CodeChange], address: u64) -> Option<(MadeCode, u64)> {
        let number = self.code.at(self.root, address)?.page_offset;
        let change = changes.get(number as usize)?;
        Some((change.code?, address.checked_sub(change.start)?))
    }
}

impl Profile {
    /// The processes with samples in memory without a file, in the order in which they began.
    pub fn run_times(&self) -> Vec<RunTime> {
        // Most recordings have no such memory, and need not be gone through.
        if self.dsos.iter().all(|(_, dso)| dso.kind != DsoKind::Anon) {
            return Vec::new();
        }
        let is_open = self.open_stacks();
        let mut by_process: Map<ProcessId, RunTime> = Map::new();
        for row in (0..self.samples.len()).filter(|&row| is_open[self.samples.stack[row].index()]) {
            let process = self.threads.thread(self.samples.thread.at(row)).process;
            let time = self.samples.time_nanos.at(row);
            let begin = || RunTime { process, sampled: (time, time), rows: Vec::new() };
            let RunTime { sampled: (first, last), rows, .. } =
                by_process.entry(process).or_insert_with(begin);
            (*first, *last) = ((*first).min(time), (*last).max(time));
            rows.push(row as u32);
        }
        let mut all: Vec<RunTime> = by_process.into_iter().map(|(_, it)| it).collect();
        sort_by_numbers(&mut all, |it| (it.process.0.into(), 0));
        all
    }

    /// How much of what a process ran is in this code. Changes are in the order of time.
    pub fn code_met(&self, run_time: &RunTime, changes: &[CodeChange]) -> CodeMet {
        let mut code = CodeInTime::default();
        // By frame, whether it was in code in any sample; by stack, the changes passed when it was looked at last.
        let mut met: Map<FrameId, bool> = Map::new();
        let mut looked_at: Map<StackId, usize> = Map::new();
        for &row in &run_time.rows {
            let (row, stack) = (row as usize, self.samples.stack[row as usize]);
            code.go_to(changes, self.samples.time_nanos.at(row));
            if looked_at.insert(stack, code.passed) == Some(code.passed) {
                continue;
            }
            for frame in self.stacks.frames(stack).filter(|&frame| self.is_open(frame)) {
                let is_known = met.entry(frame).or_default();
                *is_known = *is_known || code.at(changes, self.frames.get(frame).address).is_some();
            }
        }
        let known = met.iter().filter(|&(_, &is_known)| is_known);
        let mut known: Vec<u64> = known.map(|(&it, _)| self.frames.get(it).address).collect();
        sort(&mut known);
        CodeMet { addresses: met.len() as u64, known }
    }

    /// Places what a process ran in this code, of which its rows were found since frames changed last, which is `dso`'s. Changes are in the order of time. Tells
    /// which frames of that there are, and the numbers of their names.
    pub fn place_code(
        &mut self,
        run_time: &RunTime,
        dso: DsoId,
        changes: &[CodeChange],
    ) -> Vec<(FrameId, u32)> {
        let mut code = CodeInTime::default();
        let mut names = Map::new();
        // By stack, what it became after so many changes.
        let mut placed: Map<StackId, (usize, StackId)> = Map::new();
        for &row in &run_time.rows {
            let (row, stack) = (row as usize, self.samples.stack[row as usize]);
            code.go_to(changes, self.samples.time_nanos.at(row));
            let known = placed.get(&stack).filter(|(passed, _)| *passed == code.passed);
            let now = match known {
                Some(&(_, now)) => now,
                None => self.placed(stack, dso, (&code, changes), &mut names),
            };
            placed.insert(stack, (code.passed, now));
            if now != stack {
                self.samples.set_stack(row, now);
            }
        }
        self.frames.drop_index();
        self.stacks.drop_index();
        names.iter().map(|(&frame, &name)| (frame, name)).collect()
    }

    /// What a stack becomes.
    fn placed(
        &mut self,
        stack: StackId,
        dso: DsoId,
        (code, changes): (&CodeInTime, &[CodeChange]),
        names: &mut Map<FrameId, u32>,
    ) -> StackId {
        let mut frames: Vec<FrameId> = self.stacks.frames(stack).collect();
        for id in &mut frames {
            if self.is_open(*id)
                && let Some((made, within)) = code.at(changes, self.frames.get(*id).address)
            {
                let address = made.offset.wrapping_add(within);
                *id = self.frames.intern(Frame { dso, address });
                names.insert(*id, made.name);
            }
        }
        let outermost_first = frames.iter().rev();
        outermost_first.fold(Stacks::EMPTY, |stack, &frame| self.stacks.intern(stack, frame))
    }

    /// By stack, whether it has a frame in memory without a file. Callers come first.
    fn open_stacks(&self) -> Vec<bool> {
        let mut is_open = vec![false; self.stacks.len()];
        for stack in 0..self.stacks.len() {
            if let Some((prefix, frame)) = self.stacks.get(StackId(stack as u32)) {
                is_open[stack] = is_open[prefix.index()] || self.is_open(frame);
            }
        }
        is_open
    }

    fn is_open(&self, frame: FrameId) -> bool {
        self.dsos.get(self.frames.get(frame).dso).kind == DsoKind::Anon
    }
}

#[cfg(test)]
mod tests;
