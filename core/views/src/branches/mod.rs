//! Branches that the CPU recorded with samples, summed: what `perf report -b` counts.
//!
//! A sample has the last branches before it, the newest first. Where every kind of branch was asked for, what
//! lies between the target of one and the address of the next one ran in a line: a *run*.
//!
//! Sums are by where branches are and lead to, never by sample, so that memory is in proportion to the
//! branches that differ.

pub mod blocks;
pub mod history;
pub mod rows;

#[cfg(test)]
mod tests;

use perftab_perfdata::decode::sample_tail::{BranchFlags, BranchesAsked};
use perftab_perfdata::map::Map;
use perftab_profile::FrameId;

/// A branch; those that are alike are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Branch {
    /// Where it is; `None` for an address in no mapping.
    pub from: Option<FrameId>,
    /// Where it led.
    pub to: Option<FrameId>,
    /// What is known of it.
    pub flags: BranchFlags,
}

/// Instructions that ran in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The first one: where the branch before led. `None` if that is older than what was recorded.
    pub first: Option<FrameId>,
    /// The last one, which is a branch.
    pub last: FrameId,
}

/// How often a run was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSum {
    /// All times.
    pub times: u64,
    /// Times of which it is known how many cycles it took.
    pub timed: u64,
    /// Cycles, of those.
    pub cycles: u64,
}

impl RunSum {
    /// Both.
    fn add(&mut self, more: Self) {
        self.times = self.times.saturating_add(more.times);
        self.timed = self.timed.saturating_add(more.timed);
        self.cycles = self.cycles.saturating_add(more.cycles);
    }
}

/// What sums of branches are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchDetail {
    /// Rows.
    Ends,
    /// Rows that are told apart by cycles, too: there may be many times as many sums.
    EndsAndCycles,
    /// What ran between branches, which takes about as long again.
    Runs,
}

/// Sums of branches.
#[derive(Clone, Debug, Default)]
pub struct BranchSums {
    /// How often there were which.
    pub branches: Map<Branch, u64>,
    /// What ran between them, if that is asked for.
    pub runs: Map<Run, RunSum>,
    /// All branches.
    pub count: u64,
    /// Cycles of all.
    pub cycles: u64,
    /// Samples that have them.
    pub samples: u64,
    /// Those of them that recorded some kinds of branches only, so that nothing is known of runs.
    pub without_runs: u64,
}

impl BranchSums {
    /// Adds the branches of a sample, newest first.
    pub fn add(
        &mut self,
        stack: impl Iterator<Item = Branch>,
        asked: BranchesAsked,
        detail: BranchDetail,
    ) {
        let has_runs = detail == BranchDetail::Runs && asked == BranchesAsked::Any;
        let mut newer: Option<Branch> = None;
        for branch in stack {
            let flags = match detail {
                BranchDetail::EndsAndCycles => branch.flags.outcome(),
                _ => branch.flags.outcome().without_cycles(),
            };
            *self.branches.entry(Branch { flags, ..branch }).or_default() += 1;
            self.count += 1;
            self.cycles = self.cycles.saturating_add(branch.flags.cycles().into());
            if let Some(newer) = newer.replace(branch).filter(|_| has_runs) {
                self.add_run(branch.to, newer);
            }
        }
        let Some(oldest) = newer else { return };
        self.samples += 1;
        self.without_runs += u64::from(asked == BranchesAsked::Some);
        if has_runs {
            self.add_run(None, oldest);
        }
    }

    /// Adds what ran before a branch.
    fn add_run(&mut self, first: Option<FrameId>, branch: Branch) {
        let Some(last) = branch.from else { return };
        let cycles = u64::from(branch.flags.cycles());
        let sum = RunSum { times: 1, timed: u64::from(cycles > 0), cycles };
        self.runs.entry(Run { first, last }).or_default().add(sum);
    }
}
