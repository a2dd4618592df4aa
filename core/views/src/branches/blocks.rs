//! What ran between branches: by the branch that ended it, and as the basic blocks of a function.
//!
//! Blocks are told apart by the branches that were taken. One that never was, in the middle of what ran in a
//! line, ends none.

use std::cmp::Reverse;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::map::Map;
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
    /// The farthest that what they are known of began at, if it was in the function: before this block, or its start.
    pub timed_from: Option<u64>,
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
        Some((profile.frames.get(frame).address, frame)).filter(|it| it.0 < u64::MAX)
    };
    let mut places: Map<u64, Place> = Map::new();
    let add = |times: &mut u64, more: u64| *times = times.saturating_add(more);
    let mut left_out = 0_u64;
    for (&Run { first, last }, sum) in sums.runs.iter() {
        let (begins, ends) = (within(first), within(Some(last)));
        if let Some(last) = ends {
            let place = place_at(&mut places, last);
            place.up_to.add(*sum);
            let first =
                begins.map(|first| first.0).filter(|&first| first <= last.0 && sum.timed > 0);
            place.timed_from = [place.timed_from, first].into_iter().flatten().min();
        }
        match (begins, ends) {
            (Some(first), Some(last)) if first.0 <= last.0 => {
                add(&mut place_at(&mut places, first).begun, sum.times);
                add(&mut place_at(&mut places, last).ended, sum.times);
            }
            (None, None) => {}
            _ => {
                if let Some(last) = ends {
                    add(&mut place_at(&mut places, last).only_ended, sum.times);
                }
                // Where the oldest of a sample began was not recorded.
                if first.is_some() {
                    add(&mut left_out, sum.times);
                }
            }
        }
    }
    let mut ways: Map<(u64, Option<FrameId>), Way> = Map::new();
    for (branch, &count) in sums.branches.iter() {
        if let Some(to) = within(branch.to) {
            place_at(&mut places, to).is_target = true;
        }
        if let Some(from) = within(branch.from) {
            let none = || Way { branch: from.0, to: branch.to, taken: 0, mispredicted: 0 };
            let (way, place) =
                (ways.entry((from.0, branch.to)).or_insert_with(none), place_at(&mut places, from));
            let mispredicted = if was_mispredicted(branch.flags) == Some(true) { count } else { 0 };
            for (taken, missed) in [
                (&mut way.taken, &mut way.mispredicted),
                (&mut place.taken, &mut place.mispredicted),
            ] {
                add(taken, count);
                add(missed, mispredicted);
            }
        }
    }
    let mut ways: Vec<Way> = ways.into_values().collect();
    sort_by_key(&mut ways, |way| (way.branch, Reverse(way.taken), way.to));
    Blocks { blocks: blocks_of(&places), ways, left_out }
}

/// What is known of an address.
#[derive(Clone, Copy, Default)]
struct Place {
    frame: Option<FrameId>,
    is_target: bool,
    /// How many runs begin here, and how many end with the branch here.
    begun: u64,
    ended: u64,
    /// How many more do of which nothing else is known to be in the function.
    only_ended: u64,
    /// All runs up to here, wherever they began.
    up_to: RunSum,
    timed_from: Option<u64>,
    /// How often the branch here was taken, and mispredicted.
    taken: u64,
    mispredicted: u64,
}

impl Place {
    fn begins(&self) -> bool {
        self.is_target || self.begun > 0
    }
}

fn place_at(places: &mut Map<u64, Place>, (address, frame): (u64, FrameId)) -> &mut Place {
    let place = places.entry(address).or_default();
    place.frame = Some(frame);
    place
}

fn blocks_of(places: &Map<u64, Place>) -> Vec<Block> {
    let at = |address: u64| places.get(&address).copied().unwrap_or_default();
    let before = |address: u64| address.checked_sub(1).map(at).unwrap_or_default();
    let mut limits: Vec<u64> = Vec::new();
    for (&address, place) in places.iter() {
        limits.extend(place.begins().then_some(address));
        limits.extend((place.taken > 0).then_some(address + 1));
    }
    sort(&mut limits);
    limits.dedup();
    if let Some(&first) = limits.first().filter(|&&first| before(first).only_ended > 0) {
        limits.insert(0, first - 1);
    }
    let mut running = 0_u64;
    let mut blocks = Vec::new();
    for limits in limits.windows(2) {
        let &[start, end] = limits else { continue };
        let (first, behind, last) = (at(start), before(start), before(end));
        running = running.saturating_add(first.begun).saturating_sub(behind.ended);
        let executions = running.saturating_add(last.only_ended);
        if executions == 0 {
            continue;
        }
        let (start, frame) = match behind.taken > 0 && !first.begins() {
            true => (BlockStart::Behind(start - 1), None),
            false => (BlockStart::At(start), first.frame),
        };
        let end_of = match last.taken {
            0 => BlockEnd::Next,
            taken => BlockEnd::Branch { taken, mispredicted: last.mispredicted },
        };
        let RunSum { timed, cycles, .. } = last.up_to;
        let (frame, timed_from) = (frame.or(last.frame), last.timed_from);
        blocks.push(Block { start, frame, end, end_of, executions, cycles, timed, timed_from });
    }
    blocks
}
