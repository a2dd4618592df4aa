//! Samples of a query → weight of each stack, by group.

use crate::profile::{IdTable, Profile, StackId, StringId, hash_pair};
use crate::views::filter::Filter;
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

    /// What is left when a part of it is taken away.
    pub fn without(self, part: Self) -> Self {
        Self {
            weight: self.weight.saturating_sub(part.weight),
            samples: self.samples.saturating_sub(part.samples),
        }
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

/// Sums the samples that pass a query's filters by group and stack.
pub fn by_group(profile: &Profile, query: &Query) -> Vec<GroupWeights> {
    let groups = group_of_threads(profile, query.group);
    let samples = &profile.samples;
    let filter = Filter::new(profile, query);
    let mut sums = GroupSums::new(profile.stacks.len());
    let passes = |row: &usize| filter.is_of_event(*row) && filter.removed_by(*row).is_none();
    for row in filter.rows().filter(passes) {
        let group = groups.of_thread[samples.thread[row].index()];
        sums.add(group, samples.stack[row], filter.sum(row));
    }
    let mut stacks: Vec<Vec<(StackId, Sum)>> = vec![Vec::new(); groups.names.len().max(1)];
    sums.for_each(|group, stack, sum| stacks[group as usize].push((stack, sum)));
    let observed = stacks.into_iter().enumerate().filter(|(_, stacks)| !stacks.is_empty());
    let weights = observed.map(|(group, mut stacks)| {
        stacks.sort_unstable_by_key(|&(stack, _)| stack);
        GroupWeights { group: groups.names.get(group).copied(), stacks }
    });
    weights.collect()
}

/// Sums by group and stack. Nearly every stack is of one group, whose sum stands in a column;
/// what other groups have of it is looked up. So memory is that of the stacks, of which there are
/// far fewer than samples, and the samples are gone through once.
struct GroupSums {
    /// By stack: the group that had it first, or [`NO_GROUP`].
    first: Vec<u32>,
    sums: Vec<Sum>,
    others: Vec<(u32, StackId, Sum)>,
    index: IdTable,
}

/// In [`GroupSums`]: no sample has been met.
const NO_GROUP: u32 = u32::MAX;

impl GroupSums {
    fn new(stacks: usize) -> Self {
        Self {
            first: vec![NO_GROUP; stacks],
            sums: vec![Sum::default(); stacks],
            others: Vec::new(),
            index: IdTable::default(),
        }
    }

    fn add(&mut self, group: u32, stack: StackId, sum: Sum) {
        let first = &mut self.first[stack.index()];
        if *first == NO_GROUP {
            *first = group;
        }
        if *first == group {
            self.sums[stack.index()].add(sum);
            return;
        }
        let hash = |group: u32, stack: StackId| hash_pair(group.into(), stack.0.into()) as u32;
        let Self { others, index, .. } = self;
        let row = index.find_or_insert(
            others.len(),
            hash(group, stack),
            |row| (others[row as usize].0, others[row as usize].1) == (group, stack),
            |row| hash(others[row as usize].0, others[row as usize].1),
        );
        match others.get_mut(row as usize) {
            Some((_, _, known)) => known.add(sum),
            None => others.push((group, stack, sum)),
        }
    }

    /// Every group and stack that samples were met of.
    fn for_each(self, mut each: impl FnMut(u32, StackId, Sum)) {
        for (stack, (group, sum)) in self.first.into_iter().zip(self.sums).enumerate() {
            if group != NO_GROUP {
                each(group, StackId(stack as u32), sum);
            }
        }
        self.others.into_iter().for_each(|(group, stack, sum)| each(group, stack, sum));
    }
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
