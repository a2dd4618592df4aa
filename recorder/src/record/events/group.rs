//! Groups of events, which count together or not at all: `{cycles,instructions}:S`.

use super::EventSpec;

/// Whether an event counts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// It does.
    Alone,
    /// The members behind it count while it does.
    Leader(GroupSamples),
    /// It belongs to the nearest leader before it.
    Member(GroupSamples),
}

/// Which events of a group are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSamples {
    /// Each by itself.
    OfEach,
    /// `:S`: the leader; its samples carry the values of all.
    OfLeader,
}

impl Grouping {
    /// Whether samples carry the values of counters.
    pub fn reads_values(self) -> bool {
        matches!(self, Self::Leader(GroupSamples::OfLeader) | Self::Member(GroupSamples::OfLeader))
    }

    /// Whether it starts and stops with another event.
    pub fn is_member(self) -> bool {
        matches!(self, Self::Member(_))
    }
}

/// Makes one group of events that stood between braces.
pub fn join(events: &mut [EventSpec]) {
    let is_sampled_by_leader = events.iter().any(|event| event.grouping.reads_values());
    let samples = if is_sampled_by_leader { GroupSamples::OfLeader } else { GroupSamples::OfEach };
    match events {
        [alone] if !is_sampled_by_leader => alone.grouping = Grouping::Alone,
        [leader, members @ ..] => {
            leader.grouping = Grouping::Leader(samples);
            members.iter_mut().for_each(|member| member.grouping = Grouping::Member(samples));
        }
        [] => {}
    }
}

/// Index of each group's leader, and how many events the group has, leader included.
pub fn groups<'a>(events: impl Iterator<Item = &'a EventSpec>) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (index, event) in events.enumerate() {
        match (event.grouping, groups.last_mut()) {
            (Grouping::Leader(_), _) => groups.push((index, 1)),
            (Grouping::Member(_), Some((_, count))) => *count += 1,
            _ => {}
        }
    }
    groups.retain(|(_, count)| *count > 1);
    groups
}
