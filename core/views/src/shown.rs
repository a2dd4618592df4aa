//! What the filters and steps of a query leave of an event, and what each of them takes away.

use perftab_profile::Profile;
use serde::Serialize;

use crate::filter::{Filter, FilterKind};
use crate::rewrite::StepAccount;
use crate::weights::Sum;
use crate::{Query, serialize_weight};

/// What is left of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ShownSamples {
    /// Samples that are shown.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Samples of the event.
    #[serde(serialize_with = "serialize_weight")]
    pub all_samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub all_weight: u64,
    /// The filters that are set and then the steps, in order of effect. What they take away and
    /// what is shown add up to all.
    pub removed: Vec<RemovedSamples>,
}

/// What one filter or step takes away of what those before it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct RemovedSamples {
    /// Which.
    pub what: RemovedBy,
    /// Samples.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Whether it changes anything; merging changes much and takes nothing away.
    pub effect: Effect,
}

/// A filter, or the position of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(untagged)]
pub enum RemovedBy {
    /// This filter.
    Filter(FilterKind),
    /// [`Query::steps`], from 0.
    Step(u32),
}

/// Whether a filter or step changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It does.
    Some,
    /// Without it the same would be shown.
    None,
}

/// What was taken away while a tree was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What passed all filters.
    pub left: Sum,
    /// What each filter took away, by [`FilterKind`]; for the range what was looked at of it.
    pub by_filter: [Sum; FilterKind::ALL.len()],
    /// What each step did.
    pub steps: Vec<StepAccount>,
}

/// All samples of an event, filtered or not.
pub fn all(profile: &Profile, event: u32) -> Sum {
    let filter = Filter::new(profile, &Query { event, ..Query::default() });
    let mut all = Sum::default();
    for row in filter.rows().filter(|&row| filter.is_of_event(row)) {
        all.add(filter.sum(row));
    }
    all
}

impl ShownSamples {
    /// Of `all` samples of the event, what is left and where the rest went.
    pub fn new(query: &Query, all: Sum, account: &Account) -> Self {
        let mut by_filter = account.by_filter;
        // What the range takes away was not always looked at: it is the rest.
        by_filter[FilterKind::Range as usize] = Sum::default();
        let looked_at = by_filter.iter().fold(account.left, |mut sum, &part| {
            sum.add(part);
            sum
        });
        by_filter[FilterKind::Range as usize] = all.without(looked_at);
        let filters = FilterKind::ALL.into_iter().filter(|kind| kind.is_set(query));
        let filters = filters.map(|kind| {
            let removed = by_filter[kind as usize];
            let effect = if removed.samples == 0 { Effect::None } else { Effect::Some };
            (RemovedBy::Filter(kind), StepAccount { removed, effect })
        });
        let steps = account.steps.iter().zip(0..);
        let steps = steps.map(|(&step, index)| (RemovedBy::Step(index), step));
        let mut left = account.left;
        account.steps.iter().for_each(|step| left = left.without(step.removed));
        let removed = filters.chain(steps).map(|(what, StepAccount { removed, effect })| {
            RemovedSamples { what, samples: removed.samples, weight: removed.weight, effect }
        });
        Self {
            samples: left.samples,
            weight: left.weight,
            all_samples: all.samples,
            all_weight: all.weight,
            removed: removed.collect(),
        }
    }
}
