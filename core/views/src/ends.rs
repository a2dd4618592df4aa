//! In which call node each sample of a query ends, by its thread and stack.

use perftab_perfdata::map::Map;
use std::sync::Arc;

use perftab_profile::{Profile, StackId, ThreadId};

use crate::call_tree::CallNodeId;

/// Call nodes of a query's tree of callees by group and stack; none by default. Nearly every stack is
/// of one group, so that one stands in a column.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    group_of_thread: Vec<u32>,
    /// By stack: the group that had it first, and where its samples end.
    first: Vec<(u32, CallNodeId)>,
    others: Map<(u32, StackId), CallNodeId>,
}

/// No group, or no call node: the samples are taken away.
const NONE: u32 = u32::MAX;

impl Ends {
    /// Nothing is known yet of so many stacks.
    pub(super) fn new(group_of_thread: Vec<u32>, stacks: usize) -> Self {
        let first = vec![(NONE, CallNodeId(NONE)); stacks];
        Self { group_of_thread, first, others: Map::new() }
    }

    /// False if nobody has noted them.
    pub fn are_known(&self) -> bool {
        !self.first.is_empty()
    }

    /// Samples of a group with this stack end here.
    pub(super) fn note(&mut self, group: u32, stack: StackId, end: CallNodeId) {
        let first = &mut self.first[stack.index()];
        match first.0 == NONE {
            true => *first = (group, end),
            false => drop(self.others.insert((group, stack), end)),
        }
    }

    /// The tree was made anew: what ended in a call node ends in that of `moved` now, by the number
    /// that it had. Numbers that are not in there have no samples left.
    pub(super) fn move_on(&mut self, moved: &[CallNodeId]) {
        let ends = self.first.iter_mut().map(|(_, end)| end).chain(self.others.values_mut());
        for end in ends {
            *end = moved.get(end.0 as usize).copied().unwrap_or(CallNodeId(NONE));
        }
    }

    /// Where samples of a thread with this stack end; `None` if the query's steps took them away.
    pub fn of(&self, thread: ThreadId, stack: StackId) -> Option<CallNodeId> {
        let group = *self.group_of_thread.get(thread.index())?;
        let &(first, end) = self.first.get(stack.index())?;
        let end = match first == group {
            true => end,
            false => *self.others.get(&(group, stack))?,
        };
        (end.0 != NONE).then_some(end)
    }
}

/// What a query's steps leave of the samples that pass its filters: by default all of them.
#[derive(Clone, Debug, Default)]
pub struct RemainingSamples(Option<Arc<Ends>>);

impl RemainingSamples {
    /// Those that end somewhere in its tree of callees.
    pub fn of(ends: Arc<Ends>) -> Self {
        Self(Some(ends))
    }

    /// Whether the sample of a row, which passes the filters, is one of them.
    pub fn has(&self, profile: &Profile, row: usize) -> bool {
        let (thread, stack) = (profile.samples.thread.at(row), profile.samples.stack[row]);
        self.0.as_ref().is_none_or(|ends| ends.of(thread, stack).is_some())
    }
}
