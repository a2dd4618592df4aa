//! Which event a record belongs to, and what the events are called.

use perftab_perfdata::map::{Map, Set};
use std::cell::Cell;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::attr::{Attr, Presence, SampleLayout, TrailerLayout};
use perftab_perfdata::decode::features::{EventName, clock_name};
use perftab_perfdata::decode::header::EventAttr;
use perftab_perfdata::format::attr::{event_type, flag, read_format};

use super::event_names;
use super::plain::SampleShape;
use crate::{CallChains, EventId};

/// The events of a recording, in the order in which it describes them.
pub(super) struct Events {
    events: Vec<EventEntry>,
    ids: Map<u64, EventId>,
    /// Those that were asked for last: records are of few events, which have an id on each CPU.
    recent: [Cell<Option<(u64, EventId)>>; RECENT_IDS],
    /// Attrs of events without ids.
    without_ids: Set<Attr>,
    /// Where records say which event they belong to: one place, unless the events disagree.
    places: Vec<IdPlace>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            ids: Map::new(),
            recent: [const { Cell::new(None) }; RECENT_IDS],
            without_ids: Set::new(),
            places: Vec::new(),
        }
    }
}

struct EventEntry {
    attr: Attr,
    layout: SampleLayout,
    shape: SampleShape,
    id_place: Option<IdPlace>,
    has_ids: bool,
    /// From EVENT_UPDATE.
    name: Option<String>,
}

/// Where an event's records have its id: in the body of a sample, and so many bytes before the
/// end of others, if they have a trailer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct IdPlace {
    sample: usize,
    trailer: Option<usize>,
}

/// Whether every record says which event it belongs to, in a place that does not depend on the
/// event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdAgreement {
    /// It does.
    Agreed,
    /// The place depends on the event.
    DifferentPlaces,
    /// There are several events, and records of at least one of them do not say it.
    NoIds,
}

/// Kernels count ids up, so that those of one event on some CPUs have places of their own.
const RECENT_IDS: usize = 64;

/// Samples have the number of their event in 16 bits, of which the last ones are for events that
/// are worked out.
const MAX_EVENTS: usize = 65_500;

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It is there.
    Known,
    /// There are as many as can be.
    TooMany,
}

impl Events {
    /// One more event. What the file has twice, in its header and in a record, is one event.
    pub(super) fn add(&mut self, EventAttr { attr, ids }: EventAttr) -> Added {
        let is_known = match ids.as_slice() {
            [] => !self.without_ids.insert(attr),
            ids => ids.iter().any(|id| self.ids.contains_key(id)),
        };
        if is_known {
            return Added::Known;
        }
        if self.events.len() >= MAX_EVENTS {
            return Added::TooMany;
        }
        let layout = SampleLayout::new(&attr);
        let id_place = layout.id.map(|sample| IdPlace { sample, trailer: layout.trailer.id });
        self.places.extend(id_place.filter(|place| !self.places.contains(place)));
        let shape = SampleShape::of(&attr, &layout);
        let (has_ids, name) = (false, None);
        self.events.push(EventEntry { attr, layout, shape, id_place, has_ids, name });
        self.add_ids(self.events.len() - 1, &ids);
        Added::Known
    }

    /// True if samples of an event say what memory access they were taken of.
    pub(super) fn have_accesses(&self) -> bool {
        self.events.iter().any(|event| event.layout.tail.has_access())
    }

    fn add_ids(&mut self, index: usize, ids: &[u64]) {
        if let Some(event) = self.events.get_mut(index) {
            event.has_ids |= !ids.is_empty();
            for &id in ids {
                self.ids.entry(id).or_insert(EventId(index as u32));
            }
        }
    }

    /// What the file says of its events beside their attrs (EVENT_DESC): ids that it has nowhere
    /// else. Events without ids are described in the order of their attrs.
    pub(super) fn describe(&mut self, described: &[EventName]) {
        for (index, description) in described.iter().enumerate() {
            let known = description.ids.iter().find_map(|id| self.ids.get(id));
            match (known.map(|event| event.index()), self.events.get(index)) {
                (Some(event), _) => self.add_ids(event, &description.ids),
                (None, Some(event)) if !event.has_ids => self.add_ids(index, &description.ids),
                _ => {}
            }
        }
    }

    /// A name that the recorder gave later (EVENT_UPDATE), by one of the event's ids.
    pub(super) fn rename(&mut self, id: u64, name: &str) {
        let event = self.by_id(id).and_then(|event| self.events.get_mut(event.index()));
        if let Some(event) = event.filter(|_| !name.is_empty()) {
            event.name = Some(name.to_owned());
        }
    }

    /// A name for an event that the file does not name, made of what its samples are.
    pub(super) fn name(&mut self, event: EventId, name: &str) {
        if let Some(event) = self.events.get_mut(event.index()) {
            event.name.get_or_insert_with(|| name.to_owned());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Which events were to have call chains.
    pub(super) fn call_chains(&self) -> impl Iterator<Item = CallChains> + '_ {
        self.events.iter().map(|event| match event.layout.call_chain {
            Presence::Present => CallChains::Recorded,
            Presence::Absent => CallChains::NotRecorded,
        })
    }

    /// The names of all events: as the recorder changed them, as it described them, as their type
    /// and config say, as the tracing data calls them.
    pub(super) fn names(
        &self,
        described: &[EventName],
        tracepoint: impl Fn(u64) -> Option<String>,
    ) -> Vec<String> {
        let mut names: Vec<Option<&str>> =
            self.events.iter().map(|event| event.name.as_deref()).collect();
        for (index, description) in described.iter().enumerate() {
            let by_id = description.ids.iter().find_map(|id| self.ids.get(id));
            let name = names.get_mut(by_id.map_or(index, |event| event.index()));
            if let Some(name @ None) = name.filter(|_| !description.name.is_empty()) {
                *name = Some(&description.name);
            }
        }
        let name = |(event, name): (&EventEntry, Option<&str>)| match name {
            Some(name) => name.to_owned(),
            None => {
                let is_tracepoint = event.attr.event_type == event_type::TRACEPOINT;
                let name = is_tracepoint.then(|| tracepoint(event.attr.config)).flatten();
                name.unwrap_or_else(|| event_names::of_attr(&event.attr))
            }
        };
        self.events.iter().zip(names).map(name).collect()
    }

    /// The event of a sample with this body; `None` if the file describes none with its id.
    #[inline(always)]
    pub(super) fn of_sample(&self, body: &[u8], order: ByteOrder) -> Option<EventId> {
        self.find(|place| Some(order.u64(*body.get(place.sample..)?.first_chunk()?)))
    }

    /// The event of the sample's layout, as [`Self::of_sample`].
    pub(super) fn sample_layout(&self, body: &[u8], order: ByteOrder) -> Option<&SampleLayout> {
        self.of_sample(body, order).map(|event| self.layout(event))
    }

    /// How the trailer of a record that is no sample is laid out.
    pub(super) fn trailer_layout(&self, record: &[u8], order: ByteOrder) -> TrailerLayout {
        let event = self.find(|place| TrailerLayout::field(record, place.trailer, order));
        let event = self.events.get(event.unwrap_or(EventId(0)).index());
        event.map(|event| event.layout.trailer).unwrap_or_default()
    }

    /// The event of a record, of which `id_at` gives the word at a place. Where the places differ
    /// an id is only one if its event's records have it in that place.
    fn find(&self, id_at: impl Fn(&IdPlace) -> Option<u64>) -> Option<EventId> {
        let first = match (self.events.len(), self.places.first()) {
            (0, _) => return None,
            (1, _) | (_, None) => return Some(EventId(0)),
            (_, Some(first)) => first,
        };
        let owner = |place: &IdPlace| {
            let event = self.owner(id_at(place)?)?;
            let is_there = self.places.len() == 1
                || self.events.get(event.index()).is_some_and(|it| it.id_place == Some(*place));
            is_there.then_some(event)
        };
        // What the recorder made up, as the mappings of processes that were there before, has the
        // id 0 and the layout of the first event.
        let made_up = || (id_at(first) == Some(0)).then_some(EventId(0));
        self.places.iter().find_map(owner).or_else(made_up)
    }

    /// The event of an id; 0 is the first event's.
    pub(super) fn by_id(&self, id: u64) -> Option<EventId> {
        match id {
            0 => (!self.events.is_empty()).then_some(EventId(0)),
            id => self.owner(id),
        }
    }

    /// The event that states this id.
    #[inline(always)]
    fn owner(&self, id: u64) -> Option<EventId> {
        let recent = &self.recent[id as usize % RECENT_IDS];
        if let Some((known, event)) = recent.get()
            && known == id
        {
            return Some(event);
        }
        let event = *self.ids.get(&id)?;
        recent.set(Some((id, event)));
        Some(event)
    }

    /// Whether records say which of several events they belong to.
    pub(super) fn agreement(&self) -> IdAgreement {
        let lacks_ids = self.events.iter().any(|event| event.id_place.is_none());
        match self.places.len() {
            _ if self.events.len() < 2 => IdAgreement::Agreed,
            _ if lacks_ids => IdAgreement::NoIds,
            1 => IdAgreement::Agreed,
            _ => IdAgreement::DifferentPlaces,
        }
    }

    pub(super) fn attr(&self, event: EventId) -> &Attr {
        &self.events[event.index()].attr
    }

    pub(super) fn attrs(&self) -> impl Iterator<Item = &Attr> {
        self.events.iter().map(|event| &event.attr)
    }

    /// The clock that all of them were told to use; `None`: none, or several.
    pub(super) fn clock(&self) -> Option<&'static str> {
        let clock = |attr: &Attr| {
            let is_chosen = attr.has_flag(flag::USE_CLOCKID);
            clock_name(u32::try_from(attr.clock_id).ok().filter(|_| is_chosen)?)
        };
        let first = clock(self.attrs().next()?);
        first.filter(|_| self.attrs().all(|attr| clock(attr) == first))
    }

    pub(super) fn layout(&self, event: EventId) -> &SampleLayout {
        &self.events[event.index()].layout
    }

    /// What its samples may be.
    pub(super) fn shape(&self, event: EventId) -> SampleShape {
        self.events[event.index()].shape
    }

    /// Whether samples say which counters their values are of, so that periods can be made of
    /// them.
    pub(super) fn has_counters(&self, event: EventId) -> bool {
        self.layout(event).read_format.is_some_and(|format| format & read_format::ID != 0)
    }

    /// Whether threads that begin later count under the same ids.
    pub(super) fn is_inherited(&self, event: EventId) -> bool {
        self.attr(event).has_flag(flag::INHERIT)
    }

    /// The id of the tracepoint that an event is.
    pub(super) fn tracepoint(&self, event: EventId) -> Option<u64> {
        let attr = self.attr(event);
        (attr.event_type == event_type::TRACEPOINT).then_some(attr.config)
    }

    /// Weight of a sample that states no period.
    pub(super) fn default_weight(&self, event: EventId) -> u64 {
        self.attr(event).default_weight()
    }
}
