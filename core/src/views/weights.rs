//! Samples of a query → weight of each stack, by group.

use crate::profile::{Profile, StackId, StringId};
use crate::views::{Group, Query};

/// What is summed: samples and their weight in the event's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Periods.
    pub weight: u64,
    /// Observations.
    pub samples: u64,
}

impl Sum {
    /// Adds another sum; saturates, since periods in a file can be anything.
    pub fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.samples = self.samples.saturating_add(other.samples);
    }
}

/// The stacks of one group that were observed, each once, in ascending order.
#[derive(Clone, Debug)]
pub struct GroupWeights {
    /// Name of the process or thread; `None` if stacks are not grouped.
    pub group: Option<StringId>,
    /// Leaf stacks and how often they were seen.
    pub stacks: Vec<(StackId, Sum)>,
}

/// Sums the samples of a query's event by group and stack.
pub fn by_group(profile: &Profile, query: &Query) -> Vec<GroupWeights> {
    let groups = group_of_threads(profile, query.group);
    let names = groups.names.len().max(1);
    let samples = &profile.samples;
    let selected =
        || (0..samples.len()).filter(|&row| u32::from(samples.event[row]) == query.event);

    // Counting sort of the rows by group, then one pass over each group's rows.
    let mut starts = vec![0usize; names + 1];
    for row in selected() {
        starts[groups.of_thread[samples.thread[row].index()] as usize + 1] += 1;
    }
    for group in 0..names {
        starts[group + 1] += starts[group];
    }
    let mut rows = vec![0u32; starts[names]];
    let mut next = starts.clone();
    for row in selected() {
        let group = groups.of_thread[samples.thread[row].index()] as usize;
        rows[next[group]] = row as u32;
        next[group] += 1;
    }

    let mut sums = vec![Sum::default(); profile.stacks.len()];
    let mut result = Vec::new();
    for group in 0..names {
        let rows = &rows[starts[group]..starts[group + 1]];
        let mut seen = Vec::new();
        for &row in rows {
            let row = row as usize;
            let stack = samples.stack[row];
            let sum = &mut sums[stack.index()];
            if *sum == Sum::default() {
                seen.push(stack);
            }
            sum.add(Sum { weight: samples.weight[row], samples: samples.count(row) });
        }
        seen.sort_unstable();
        // A stack whose samples all weigh and count nothing may have been noted twice.
        seen.dedup();
        let stacks =
            seen.iter().map(|&stack| (stack, std::mem::take(&mut sums[stack.index()]))).collect();
        if !rows.is_empty() {
            result.push(GroupWeights { group: groups.names.get(group).copied(), stacks });
        }
    }
    result
}

struct ThreadGroups {
    /// By thread: position in `names`, or 0.
    of_thread: Vec<u32>,
    names: Vec<StringId>,
}

fn group_of_threads(profile: &Profile, group: Group) -> ThreadGroups {
    let threads = &profile.threads;
    let mut names = Vec::new();
    let mut position = vec![u32::MAX; profile.strings.len()];
    let of_thread = threads.threads.iter().map(|thread| {
        let name = match group {
            Group::None => return 0,
            Group::Process => threads.process(thread.process).name,
            Group::Thread => thread.name,
        };
        let position = &mut position[name.index()];
        if *position == u32::MAX {
            *position = names.len() as u32;
            names.push(name);
        }
        *position
    });
    let of_thread = of_thread.collect();
    ThreadGroups { of_thread, names }
}
