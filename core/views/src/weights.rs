//! Samples of a query → weight of each stack, by group.

use perftab_perfdata::map::Map;
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_numbers;

use perftab_profile::{IdTable, Profile, StackId, hash_pair};

use crate::call_tree::Label;
use crate::families::Families;
use crate::filter::{Filter, FilterKind};
use crate::tasks::TaskSums;
use crate::{Group, Query};

/// With fewer samples than this part of the stacks, a column for each stack is not worth it.
const SHORT: usize = 8;

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
    /// Its number in [`FilteredSamples::group_of_thread`].
    pub number: u32,
    /// The process or thread, or both: one for each of [`Levels`].
    pub groups: Vec<Label>,
    /// Leaf stacks and how often they were seen.
    pub stacks: Vec<(StackId, Sum)>,
}

/// What stands between the root of a tree and the first frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Nothing.
    None,
    /// Processes, those whose names differ in digits only as one.
    Family,
    /// Processes.
    Process,
    /// Threads.
    Thread,
    /// Processes, and below them threads.
    ProcessAndThread,
}

impl Levels {
    /// Those of a query.
    pub fn of(group: Group) -> Self {
        match group {
            Group::None => Self::None,
            Group::Auto => Self::Family,
            Group::Process => Self::Process,
            Group::Thread => Self::Thread,
        }
    }

    /// These and one more.
    pub fn with(self, group: Group) -> Self {
        match (self, group) {
            (_, Group::None) => self,
            (Self::None | Self::Family, Group::Auto) | (Self::Family, Group::Process) => {
                Self::Family
            }
            (Self::None | Self::Process, Group::Process) => Self::Process,
            (Self::None | Self::Thread, Group::Thread) => Self::Thread,
            _ => Self::ProcessAndThread,
        }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Family | Self::Process | Self::Thread => 1,
            Self::ProcessAndThread => 2,
        }
    }

    /// Which of them, from 0, these groups are.
    pub fn position(self, group: Group) -> Option<usize> {
        match (self, group) {
            (
                Self::Family | Self::Process | Self::ProcessAndThread,
                Group::Process | Group::Auto,
            ) => Some(0),
            (Self::Thread, Group::Thread) => Some(0),
            (Self::ProcessAndThread, Group::Thread) => Some(1),
            _ => None,
        }
    }
}

/// The samples that pass a query's filters.
#[derive(Clone, Debug)]
pub struct FilteredSamples {
    /// By group and stack.
    pub groups: Vec<GroupWeights>,
    /// By [`perftab_profile::ThreadId`]: the number of its group, also of one without samples.
    pub group_of_thread: Vec<u32>,
    /// In all.
    pub sum: Sum,
    /// What each filter took away, by [`FilterKind`]; nothing for the range, since where samples are
    /// in order those outside are not looked at.
    pub removed: [Sum; FilterKind::ALL.len()],
}

/// Sums the samples of `query` by group, of these levels, and stack. In slices of rows.
pub async fn filtered(
    profile: &Profile,
    query: &Query,
    levels: Levels,
    slice: &Slice,
) -> FilteredSamples {
    let samples = &profile.samples;
    let filters = Query { range: query.range, spans: query.spans.clone(), ..TaskSums::key(query) };
    let filter = Filter::new(profile, &filters);
    let mut rows = filter.rows();
    // Of a short range few stacks are met, and columns for all would cost more than the samples.
    let is_short = rows.len() < profile.stacks.len() / SHORT;
    let mut sums = GroupSums::new(if is_short { 0 } else { profile.stacks.len() });
    let ThreadGroups { of_thread, names } = group_of_threads(profile, levels);
    let (mut taken, mut removed) = (Sum::default(), [Sum::default(); FilterKind::ALL.len()]);
    while let Some(part) = slice.part(&mut rows).await {
        for row in part.filter(|&row| filter.is_of_event(row)) {
            let sum = filter.sum(row);
            match filter.removed_by(row) {
                Some(FilterKind::Range) => {}
                Some(kind) => removed[kind as usize].add(sum),
                None => {
                    taken.add(sum);
                    sums.add(of_thread[samples.thread.at(row).index()], samples.stack[row], sum);
                }
            }
        }
    }
    FilteredSamples {
        groups: sums.by_group(names),
        group_of_thread: of_thread,
        sum: taken,
        removed,
    }
}

/// Sums by group and stack. Nearly every stack is of one group, whose sum stands in a column;
/// what other groups have of it is looked up. So memory is that of the stacks, of which there are
/// far fewer than samples, and the samples are gone through once. Made for no stacks, it looks up all.
struct GroupSums {
    /// By stack: the group that had it first, or [`NO_GROUP`], and its sum.
    first: Vec<(u32, Sum)>,
    others: Vec<(u32, StackId, Sum)>,
    index: IdTable,
}

/// In [`GroupSums`]: no sample has been met.
const NO_GROUP: u32 = u32::MAX;

impl GroupSums {
    fn new(stacks: usize) -> Self {
        Self {
            first: vec![(NO_GROUP, Sum::default()); stacks],
            others: Vec::new(),
            index: IdTable::default(),
        }
    }

    fn add(&mut self, group: u32, stack: StackId, sum: Sum) {
        if let Some((first, known)) = self.first.get_mut(stack.index()) {
            if *first == NO_GROUP {
                *first = group;
            }
            if *first == group {
                known.add(sum);
                return;
            }
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

    /// The stacks of each group with these names that samples were met of.
    fn by_group(self, names: Vec<Vec<Label>>) -> Vec<GroupWeights> {
        if names.len() == 1 && self.others.is_empty() {
            return of_one_group(self.first, names);
        }
        let mut counts = vec![0; names.len()];
        let groups = self.first.iter().map(|it| it.0).chain(self.others.iter().map(|it| it.0));
        groups.filter(|&group| group != NO_GROUP).for_each(|group| counts[group as usize] += 1);
        let mut stacks: Vec<Vec<(StackId, Sum)>> =
            counts.into_iter().map(Vec::with_capacity).collect();
        self.for_each(|group, stack, sum| stacks[group as usize].push((stack, sum)));
        let all = (0..).zip(names.into_iter().zip(stacks));
        let observed = all.filter(|(_, (_, stacks))| !stacks.is_empty());
        observed.map(|(number, (groups, stacks))| GroupWeights { number, groups, stacks }).collect()
    }

    /// Every group and stack that samples were met of, by stack.
    fn for_each(self, mut each: impl FnMut(u32, StackId, Sum)) {
        let Self { first, mut others, .. } = self;
        sort_by_numbers(&mut others, |&(group, stack, _)| (stack.0.into(), group.into()));
        let mut others = others.into_iter().peekable();
        for (stack, (group, sum)) in (0..).map(StackId).zip(first) {
            if group != NO_GROUP {
                each(group, stack, sum);
            }
            while let Some((group, _, sum)) = others.next_if(|(_, other, _)| *other == stack) {
                each(group, stack, sum);
            }
        }
        others.for_each(|(group, stack, sum)| each(group, stack, sum));
    }
}

/// What was met, where there is only one group: in the memory of the column, whose places are as large.
fn of_one_group(first: Vec<(u32, Sum)>, names: Vec<Vec<Label>>) -> Vec<GroupWeights> {
    let met = first.into_iter().enumerate().filter(|(_, (group, _))| *group != NO_GROUP);
    let stacks: Vec<_> = met.map(|(stack, (_, sum))| (StackId(stack as u32), sum)).collect();
    let names = names.into_iter().next().filter(|_| !stacks.is_empty());
    names.map(|groups| GroupWeights { number: 0, groups, stacks }).into_iter().collect()
}

/// The groups that threads are of.
pub(super) struct ThreadGroups {
    /// By thread: position in `names`.
    pub of_thread: Vec<u32>,
    /// Process or thread, or both.
    pub names: Vec<Vec<Label>>,
}

/// Tells threads apart by these levels.
pub(super) fn group_of_threads(profile: &Profile, levels: Levels) -> ThreadGroups {
    let threads = &profile.threads;
    let families = (levels == Levels::Family).then(|| Families::of(profile));
    let mut names: Vec<Vec<Label>> = Vec::new();
    let mut known: Map<Vec<Label>, u32> = Map::new();
    let of_thread = threads.threads.iter().map(|thread| {
        let name = threads.process(thread.process).name;
        let process = families.as_ref().map_or(Label::Group(name), |known| known.label(name));
        let thread = Label::Group(thread.name);
        let group = match levels {
            Levels::None => vec![],
            Levels::Family | Levels::Process => vec![process],
            Levels::Thread => vec![thread],
            Levels::ProcessAndThread => vec![process, thread],
        };
        *known.entry(group).or_insert_with_key(|group| {
            names.push(group.clone());
            names.len() as u32 - 1
        })
    });
    let of_thread = of_thread.collect();
    ThreadGroups { of_thread, names }
}
