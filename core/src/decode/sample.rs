//! The fields of a sample that a profile keeps.

use crate::decode::ByteOrder;
use crate::decode::attr::{Presence, SampleLayout};

/// A sample, as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawSample<'a> {
    /// Instruction pointer; 0 if not recorded.
    pub ip: u64,
    /// Process; `u32::MAX` if not recorded.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the recorder's clock.
    pub time_nanos: Option<u64>,
    /// Event id.
    pub id: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Period.
    pub period: Option<u64>,
    /// Words of the call chain, innermost first, markers included.
    pub call_chain: Words<'a>,
}

/// 64-bit words in the file's byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Words<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Words<'a> {
    /// The words, first to last.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + 'a {
        let order = self.order;
        self.bytes.chunks_exact(8).map(move |word| order.u64(word.try_into().unwrap_or_default()))
    }
}

/// Decodes the body of a SAMPLE record (what follows its header), up to and with the call chain.
/// `None` if a field would lie outside of the record.
pub fn decode<'a>(
    layout: &SampleLayout,
    body: &'a [u8],
    order: ByteOrder,
) -> Option<RawSample<'a>> {
    let word = |place: usize| Some(order.u64(*body.get(place..)?.first_chunk()?));
    let half = |place: usize| Some(order.u32(*body.get(place..)?.first_chunk()?));
    if body.len() < layout.fixed_end {
        return None;
    }
    let call_chain = call_chain_range(layout, body, order)?;
    Some(RawSample {
        ip: layout.ip.map_or(Some(0), word)?,
        pid: layout.tid.map_or(Some(u32::MAX), half)?,
        tid: layout.tid.map_or(Some(u32::MAX), |place| half(place + 4))?,
        time_nanos: layout.time.and_then(word),
        id: layout.id.and_then(word),
        cpu: layout.cpu.and_then(half),
        period: layout.period.and_then(word),
        call_chain: Words { bytes: &body[call_chain], order },
    })
}

/// Where in `body` the words of the call chain stand; empty if it has none. What follows them
/// (registers, stack dump, raw data) is of no concern to a profile of call chains.
pub fn call_chain_range(
    layout: &SampleLayout,
    body: &[u8],
    order: ByteOrder,
) -> Option<std::ops::Range<usize>> {
    let mut at = layout.fixed_end;
    if let Some(format) = layout.read_format {
        at = at.checked_add(SampleLayout::read_block_size(format, body, at, order)?)?;
    }
    if layout.call_chain == Presence::Absent {
        return (at <= body.len()).then_some(at..at);
    }
    let count = order.u64(*body.get(at..)?.first_chunk()?);
    let start = at + 8;
    let bytes = usize::try_from(count).ok()?.checked_mul(8)?;
    let end = start.checked_add(bytes)?;
    (end <= body.len()).then_some(start..end)
}
