//! What the filters and steps of a query leave of an event, and what each of them takes away.

use serde::Serialize;

use crate::profile::Profile;
use crate::symbolize::Symbols;
use crate::views::filter::{Filter, FilterKind};
use crate::views::weights::Sum;
use crate::views::{Query, serialize_weight};

/// What is left of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Shown {
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
    pub removed: Vec<Removed>,
}

/// What one filter or step takes away of what those before it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Removed {
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

/// Goes through the samples of a query's event.
pub fn shown(profile: &Profile, _symbols: &Symbols, query: &Query) -> Shown {
    let filter = Filter::new(profile, query);
    let mut removed = [Sum::default(); FilterKind::ALL.len()];
    let (mut all, mut left) = (Sum::default(), Sum::default());
    for row in (0..profile.samples.len()).filter(|&row| filter.is_of_event(row)) {
        let sum = filter.sum(row);
        all.add(sum);
        match filter.removed_by(row) {
            Some(kind) => removed[kind as usize].add(sum),
            None => left.add(sum),
        }
    }
    let filters = FilterKind::ALL.into_iter().filter(|kind| kind.is_set(query));
    let removed = filters.map(|kind| {
        let Sum { samples, weight } = removed[kind as usize];
        let effect = if samples == 0 { Effect::None } else { Effect::Some };
        Removed { what: RemovedBy::Filter(kind), samples, weight, effect }
    });
    Shown {
        samples: left.samples,
        weight: left.weight,
        all_samples: all.samples,
        all_weight: all.weight,
        removed: removed.collect(),
    }
}
