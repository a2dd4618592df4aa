//! What ran between branches: by the branch that ended it, and as the basic blocks of a function.
//!
//! Blocks are told apart by the branches that were taken. One that never was, in the middle of what ran in a
//! line, ends none.

use std::cmp::Reverse;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort, sort_by_key};
use perftab_profile::{Frame, FrameId, Profile};

use super::rows::was_mispredicted;
use super::{BranchSums, Run, RunSum};
use crate::function_ref::{FunctionRef, Resolver};

/// What ran up to one branch, of which it is known how long it took: a row of `perf report --total-cycles`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRun {
    /// The farthest that it began at in the function of the branch; `None` if it always began elsewhere.
    pub first: Option<u64>,
    /// The branch.
    pub last: Frame,
    /// The function that it is in.
    pub function: FunctionId,
    /// Times.
    pub timed: u64,
    /// Cycles of all of them.
    pub cycles: u64,
}

/// What ran up to each branch, most cycles first.
pub fn timed_runs(profile: &Profile, symbols: &Symbols, sums: &BranchSums) -> Vec<TimedRun> {
    let mut runs: Map<FrameId, TimedRun> = Map::new();
    for (run, sum) in sums.runs.iter().filter(|(_, sum)| sum.timed > 0) {
        let (last, function) = (profile.frames.get(run.last), symbols.merged(run.last));
        let none = || TimedRun { first: None, last, function, timed: 0, cycles: 0 };
        let known = runs.entry(run.last).or_insert_with(none);
        known.timed = known.timed.saturating_add(sum.timed);
        known.cycles = known.cycles.saturating_add(sum.cycles);
        let first = run.first.filter(|&first| symbols.merged(first) == function);
        let first = first.map(|first| profile.frames.get(first).address);
        let first = first.filter(|&first| first <= last.address);
        known.first = [known.first, first].into_iter().flatten().min();
    }
    let mut runs: Vec<TimedRun> = runs.into_values().collect();
    sort_by_key(&mut runs, |run| (Reverse(run.cycles), run.last.dso, run.last.address));
    runs
}

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins; in an address as frames have it.
    pub start: BlockStart,
    /// A frame in it, where one is known: of its start, or else of the branch that ends it.
    pub frame: Option<FrameId>,
    /// First address after it; of a branch it is not known where that ends, so this is one behind its address.
    pub end: u64,
    /// What ends it.
    pub end_of: BlockEnd,
    /// How often it ran; of the oldest branch of a sample, only the block that it ends is known to have run.
    pub executions: u64,
    /// Cycles from the branch before to the one that ends the block, as far as they are known. What ran in a line before
    /// the block is in them.
    pub cycles: u64,
    /// How many times they are known of.
    pub timed: u64,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStart {
    /// At this address, where a branch led; or nothing is known of what ran before.
    At(u64),
    /// At the instruction behind the branch of this address, which was not taken then. The block is empty if the branch
    /// is as long as what lies between: only who has the code can tell.
    Behind(u64),
}

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEnd {
    /// A branch, the last instruction of the block.
    Branch {
        /// How often it was taken.
        taken: u64,
        /// How often it was not predicted, of those.
        mispredicted: u64,
    },
    /// That another block begins.
    Next,
}

/// Where a branch led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Address of the branch.
    pub branch: u64,
    /// `None` in no mapping.
    pub to: Option<FrameId>,
    /// How often.
    pub taken: u64,
    /// How often that was not predicted, of those.
    pub mispredicted: u64,
}

/// The basic blocks of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// In the order of their addresses; those that ran.
    pub blocks: Vec<Block>,
    /// Out of them: by branch, those that were taken most first.
    pub ways: Vec<Way>,
    /// Runs that ended or began in the function, and whose other end is not in it: left out.
    pub left_out: u64,
}

/// The blocks of the functions that are meant; of those of which any ran.
pub fn of_functions(
    profile: &Profile,
    symbols: &Symbols,
    sums: &BranchSums,
    wanted: &FunctionRef,
) -> Vec<(FunctionId, Blocks)> {
    let functions = Resolver::new(profile, symbols).functions(wanted);
    let blocks = functions.iter().map(|it| (it, blocks(profile, symbols, sums, it)));
    blocks.filter(|(_, it)| !it.blocks.is_empty() || it.left_out > 0).collect()
}

/// The blocks of a function, which is of one DSO, so that its addresses are of one file.
pub(super) fn blocks(
    profile: &Profile,
    symbols: &Symbols,
    sums: &BranchSums,
    function: FunctionId,
) -> Blocks {
    let within = |frame: Option<FrameId>| {
        let frame = frame.filter(|&frame| symbols.merged(frame) == function)?;
        Some(profile.frames.get(frame).address)
    };
    let mut parts = Parts::default();
    let mut left_out = 0_u64;
    for (&Run { first, last }, sum) in sums.runs.iter() {
        let (within_first, within_last) = (within(first), within(Some(last)));
        if let Some(last) = within_last.filter(|&last| last < u64::MAX) {
            parts.up_to.entry(last + 1).or_default().add(*sum);
        }
        for (address, frame) in [(within_first, first), (within_last, Some(last))] {
            if let (Some(address), Some(frame)) = (address, frame) {
                parts.frames.insert(address, frame);
            }
        }
        match (within_first, within_last) {
            (Some(first), Some(last)) if first <= last && last < u64::MAX => {
                parts.add(first, last, *sum);
            }
            (None, None) => {}
            _ => {
                if let Some(last) = within_last.filter(|&last| last < u64::MAX) {
                    parts.add_end(last, *sum);
                }
                // Where the oldest of a sample began was not recorded.
                if first.is_some() || within_first.is_some() {
                    left_out = left_out.saturating_add(sum.times);
                }
            }
        }
    }
    let mut ways: Map<(u64, Option<FrameId>), Way> = Map::new();
    for (branch, &count) in sums.branches.iter() {
        if let (Some(address), Some(frame)) = (within(branch.to), branch.to) {
            parts.targets.insert(address);
            parts.frames.insert(address, frame);
        }
        if let Some(from) = within(branch.from).filter(|&from| from < u64::MAX) {
            let none = || Way { branch: from, to: branch.to, taken: 0, mispredicted: 0 };
            let way = ways.entry((from, branch.to)).or_insert_with(none);
            let taken = parts.taken.entry(from).or_default();
            (way.taken, taken.0) = (way.taken.saturating_add(count), taken.0.saturating_add(count));
            if was_mispredicted(branch.flags) == Some(true) {
                way.mispredicted = way.mispredicted.saturating_add(count);
                taken.1 = taken.1.saturating_add(count);
            }
        }
    }
    let mut ways: Vec<Way> = ways.into_values().collect();
    sort_by_key(&mut ways, |way| (way.branch, Reverse(way.taken), way.to));
    Blocks { blocks: parts.blocks(), ways, left_out }
}

/// What blocks are made of.
#[derive(Default)]
struct Parts {
    /// By address, how many runs begin there, and how many have ended before it.
    begun: Map<u64, u64>,
    ended: Map<u64, u64>,
    /// Of the latter, those of which nothing but the end is known to be in the function.
    ended_only: Map<u64, u64>,
    /// By the address behind a branch, all that ran up to it, wherever it began.
    up_to: Map<u64, RunSum>,
    targets: Set<u64>,
    /// By address, as far as they are known.
    frames: Map<u64, FrameId>,
    /// By the address of a branch, how often it was taken and mispredicted.
    taken: Map<u64, (u64, u64)>,
}

impl Parts {
    fn add(&mut self, first: u64, last: u64, sum: RunSum) {
        let add = |times: &mut u64| *times = times.saturating_add(sum.times);
        add(self.begun.entry(first).or_default());
        add(self.ended.entry(last + 1).or_default());
    }

    /// Adds what is known to have ended here.
    fn add_end(&mut self, last: u64, sum: RunSum) {
        let times = self.ended_only.entry(last + 1).or_default();
        *times = times.saturating_add(sum.times);
    }

    fn blocks(&self) -> Vec<Block> {
        let mut limits: Vec<u64> = self.begun.keys().copied().collect();
        limits.extend(self.targets.iter().copied());
        limits.extend(self.ended.keys().chain(self.ended_only.keys()).copied());
        limits.extend(self.taken.keys().map(|from| from + 1));
        sort(&mut limits);
        limits.dedup();
        if let Some(&first) = limits.first().filter(|first| self.ended_only.contains_key(first)) {
            limits.insert(0, first - 1);
        }
        let mut running = 0_u64;
        let mut blocks = Vec::new();
        for (at, &start) in limits.iter().enumerate() {
            let times = |times: &Map<u64, u64>, at| times.get(&at).copied().unwrap_or(0);
            running = running.saturating_add(times(&self.begun, start));
            running = running.saturating_sub(times(&self.ended, start));
            let Some(&end) = limits.get(at + 1) else { break };
            let executions = running.saturating_add(times(&self.ended_only, end));
            if executions > 0 {
                blocks.push(self.block(start, end, executions));
            }
        }
        blocks
    }

    fn block(&self, start: u64, end: u64, executions: u64) -> Block {
        let RunSum { timed, cycles, .. } = self.up_to.get(&end).copied().unwrap_or_default();
        let is_behind = start.checked_sub(1).is_some_and(|at| self.taken.contains_key(&at));
        let is_target = self.targets.contains(&start) || self.begun.contains_key(&start);
        let end_of = match self.taken.get(&(end - 1)) {
            Some(&(taken, mispredicted)) => BlockEnd::Branch { taken, mispredicted },
            None => BlockEnd::Next,
        };
        let start = match is_behind && !is_target {
            true => BlockStart::Behind(start - 1),
            false => BlockStart::At(start),
        };
        let frame = match start {
            BlockStart::At(start) => self.frames.get(&start),
            BlockStart::Behind(_) => None,
        };
        let frame = frame.or_else(|| self.frames.get(&(end - 1))).copied();
        Block { start, frame, end, end_of, executions, cycles, timed }
    }
}
