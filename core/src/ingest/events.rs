//! Which event a record belongs to.

use std::collections::HashMap;

use crate::decode::ByteOrder;
use crate::decode::attr::{Attr, SampleLayout, TrailerLayout};
use crate::decode::features::EventName;
use crate::decode::header::EventAttr;
use crate::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type};
use crate::profile::EventId;

/// The events of a recording.
pub(super) struct Events {
    events: Vec<EventEntry>,
    by_id: HashMap<u64, EventId>,
    id_place: IdPlace,
}

struct EventEntry {
    attr: Attr,
    ids: Vec<u64>,
    layout: SampleLayout,
}

/// Where a record says which event it belongs to.
#[derive(Clone, Copy)]
enum IdPlace {
    /// Nowhere: there is one event.
    OneEvent,
    /// In the body of a sample at the first place, and that many bytes before the end of others.
    At { sample: usize, trailer: Option<usize> },
}

impl Default for Events {
    fn default() -> Self {
        Self { events: Vec::new(), by_id: HashMap::new(), id_place: IdPlace::OneEvent }
    }
}

impl Events {
    /// One more event. What the file has twice, in its header and in a record, is one event.
    pub(super) fn add(&mut self, EventAttr { attr, ids }: EventAttr) {
        if self.events.iter().any(|known| known.attr == attr && known.ids == ids) {
            return;
        }
        let event = EventId(self.events.len() as u32);
        self.by_id.extend(ids.iter().map(|&id| (id, event)));
        self.events.push(EventEntry { attr, ids, layout: SampleLayout::new(&attr) });
        // All events agree on where the id stands, or the kernel's IDENTIFIER makes them.
        self.id_place = match self.events.as_slice() {
            [first, _, ..] => match first.layout.id {
                Some(sample) => IdPlace::At { sample, trailer: first.layout.trailer.id },
                None => IdPlace::OneEvent,
            },
            _ => IdPlace::OneEvent,
        };
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The names of all events, with what the recorder calls them.
    pub(super) fn names(&self, described: &[EventName]) -> Vec<String> {
        let name = |(index, event): (usize, &EventEntry)| {
            // EVENT_DESC lists the events in the order of the header; ids tell it better.
            let described = described
                .iter()
                .find(|name| name.ids.iter().any(|id| event.ids.contains(id)))
                .or_else(|| described.get(index).filter(|name| name.ids.is_empty()));
            match described {
                Some(described) if !described.name.is_empty() => described.name.clone(),
                _ => well_known_name(&event.attr),
            }
        };
        self.events.iter().enumerate().map(name).collect()
    }

    /// The event of a sample with this body; `None` if the file describes none with its id.
    pub(super) fn of_sample(&self, body: &[u8], order: ByteOrder) -> Option<EventId> {
        match self.id_place {
            IdPlace::OneEvent => (!self.events.is_empty()).then_some(EventId(0)),
            IdPlace::At { sample, .. } => {
                self.by_id(order.u64(*body.get(sample..)?.first_chunk()?))
            }
        }
    }

    pub(super) fn sample_layout(&self, body: &[u8], order: ByteOrder) -> Option<&SampleLayout> {
        self.of_sample(body, order).map(|event| self.layout(event))
    }

    /// How the trailer of a record that is no sample is laid out. Synthesised records have the
    /// id 0 there and the layout of the first event.
    pub(super) fn trailer_layout(&self, record: &[u8], order: ByteOrder) -> TrailerLayout {
        let event = match self.id_place {
            IdPlace::OneEvent => None,
            IdPlace::At { trailer, .. } => {
                TrailerLayout::field(record, trailer, order).and_then(|id| self.by_id(id))
            }
        };
        let event = self.events.get(event.unwrap_or(EventId(0)).index());
        event.map(|event| event.layout.trailer).unwrap_or_default()
    }

    fn by_id(&self, id: u64) -> Option<EventId> {
        match id {
            0 => Some(EventId(0)),
            _ => self.by_id.get(&id).copied(),
        }
    }

    pub(super) fn layout(&self, event: EventId) -> &SampleLayout {
        &self.events[event.index()].layout
    }

    /// Weight of a sample that states no period.
    pub(super) fn default_weight(&self, event: EventId) -> u64 {
        self.events[event.index()].attr.default_weight()
    }
}

/// The name that perf gives an event by its type and config.
fn well_known_name(attr: &Attr) -> String {
    let config = attr.config as usize;
    let name = match attr.event_type {
        event_type::HARDWARE => HARDWARE_EVENTS.get(config).copied(),
        event_type::SOFTWARE => SOFTWARE_EVENTS.get(config).copied(),
        _ => None,
    };
    match (name, attr.event_type) {
        (Some(name), _) => name.to_owned(),
        (None, event_type::TRACEPOINT) => format!("tracepoint {}", attr.config),
        (None, event_type::RAW) => format!("raw {:#x}", attr.config),
        (None, event_type) => format!("event {event_type}:{:#x}", attr.config),
    }
}
