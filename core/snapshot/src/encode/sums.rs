//! Events, and what each call node has of them.

use perftab_profile::{EventId, EventOrigin};

use super::body::Body;
use super::calls::Entry;
use crate::codes::{self, code};
use crate::fields::{Field, Writer};

/// What weights of an event are multiples of.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    pub unit: u64,
    /// Each sample weighs one unit.
    pub is_regular: bool,
}

impl<'a> Body<'_, 'a> {
    /// Events, and for each event the samples and weight of all call nodes.
    pub fn write_sums(&self, out: &mut Writer<'a>, entries: &[Entry]) -> Vec<Unit> {
        let own = |event: usize| entries.iter().map(move |entry| entry.own[event]);
        let units: Vec<Unit> = (0..self.contents.profile.events.len())
            .map(|event| {
                let weights = own(event).map(|sum| sum.weight);
                let unit = weights.fold(0, greatest_common_divisor).max(1);
                let is_regular =
                    own(event).all(|sum| sum.samples.checked_mul(unit) == Some(sum.weight));
                Unit { unit, is_regular }
            })
            .collect();
        self.write_events(out, &units);
        for (event, unit) in units.iter().enumerate() {
            for sum in own(event) {
                out.number(Field::NodeCounts, sum.samples);
                if !unit.is_regular {
                    out.number(Field::NodeWeights, sum.weight / unit.unit);
                }
            }
        }
        units
    }

    pub fn write_events(&self, out: &mut Writer<'a>, units: &[Unit]) {
        let events = &self.contents.profile.events;
        out.number(Field::EventNumbers, events.len() as u64);
        if events.iter().any(|event| event.origin != EventOrigin::Recorded) {
            let origins = events.iter().map(|event| code(&codes::EVENT_ORIGINS, &event.origin));
            origins.for_each(|origin| out.byte(Field::EventOrigins, origin));
        }
        for ((index, all), unit) in self.scope.events.iter().enumerate().zip(units) {
            out.text(Field::Events, self.texts.event(EventId(index as u32)));
            out.number(Field::EventNumbers, all.samples);
            out.number(Field::EventNumbers, all.weight);
            out.number(Field::EventNumbers, unit.unit);
            out.number(Field::EventNumbers, u64::from(unit.is_regular));
        }
    }
}

pub(super) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
