//! Where the fields of samples stand, of all events of a recording.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::attr::{Attr, SampleLayout};
use perftab_perfdata::decode::sample::{self, RawSample};
use perftab_perfdata::error::DecodeError;
use perftab_perfdata::format::record::RECORD_HEADER_SIZE;

use super::counters::Counters;
use super::sys::{self, AttrBytes};

/// Most recordings have one. Where fields differ, samples begin with the id of their counter.
#[derive(Clone, Debug, Default)]
pub struct SampleLayouts {
    of_first_event: SampleLayout,
    /// By the ids of counters.
    others: Arc<HashMap<u64, SampleLayout>>,
}

impl SampleLayouts {
    /// Of samples that the kernel is asked for.
    pub fn of(counters: &Counters) -> Result<Self, DecodeError> {
        let events = counters.events.iter();
        Self::new(events.map(|event| (sys::attr_bytes(&event.attr), event.ids.as_slice())))
    }

    /// Of events: their attrs, as they stand in a file, and the ids of their counters.
    pub fn new<'a>(
        events: impl IntoIterator<Item = (AttrBytes, &'a [u64])>,
    ) -> Result<Self, DecodeError> {
        let mut events = events.into_iter();
        let Some((first, _)) = events.next() else { return Ok(Self::default()) };
        let of_first_event = layout(&first)?;
        let mut others = HashMap::new();
        for (attr, ids) in events {
            let layout = layout(&attr)?;
            if layout != of_first_event {
                others.extend(ids.iter().map(|&id| (id, layout)));
            }
        }
        Ok(Self { of_first_event, others: Arc::new(others) })
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &SampleLayout> {
        self.others.values().chain([&self.of_first_event])
    }

    /// That of a sample, and what follows its header.
    #[inline]
    pub fn of_sample<'a>(&self, record: &'a [u8]) -> Option<(&SampleLayout, &'a [u8])> {
        let body = record.get(RECORD_HEADER_SIZE..)?;
        if self.others.is_empty() {
            return Some((&self.of_first_event, body));
        }
        let id = body.first_chunk().map(|id| u64::from_ne_bytes(*id));
        let other = id.and_then(|id| self.others.get(&id));
        Some((other.unwrap_or(&self.of_first_event), body))
    }

    /// When a sample was taken.
    #[inline]
    pub fn time(&self, record: &[u8]) -> Option<u64> {
        let (layout, body) = self.of_sample(record)?;
        let time = body.get(layout.time?..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*time))
    }

    /// The fields of a sample, up to its chain; `None` if it does not have them.
    #[inline]
    pub fn decode<'a>(&self, record: &'a [u8]) -> Option<RawSample<'a>> {
        let (layout, body) = self.of_sample(record)?;
        sample::decode(layout, body, ByteOrder::NATIVE)
    }
}

/// Where in a record the chain of a sample stands that has one, from the count of its words on.
pub fn chain_in(record: &[u8], sample: &RawSample<'_>) -> Range<usize> {
    let end = record.len() - sample.tail.len();
    end - sample.call_chain.bytes().len() - size_of::<u64>()..end
}

fn layout(attr: &AttrBytes) -> Result<SampleLayout, DecodeError> {
    Ok(SampleLayout::new(&Attr::read(attr, 0, ByteOrder::NATIVE)?))
}

#[cfg(test)]
pub mod tests {
    use perf_event_open_sys::bindings::perf_event_attr;

    use super::*;

    /// Of one event, whose samples have these fields.
    pub fn layouts_of(sample_type: u64) -> SampleLayouts {
        of_events([(with(sample_type), &[][..])])
    }

    /// Of several.
    pub fn of_events<'a>(
        events: impl IntoIterator<Item = (perf_event_attr, &'a [u64])>,
    ) -> SampleLayouts {
        let events = events.into_iter().map(|(attr, ids)| (sys::attr_bytes(&attr), ids));
        SampleLayouts::new(events).expect("attrs")
    }

    /// An attr whose samples have these fields.
    pub fn with(sample_type: u64) -> perf_event_attr {
        perf_event_attr { sample_type, ..sys::empty_attr() }
    }
}
