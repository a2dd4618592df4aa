//! The fields of a sample that every profile keeps; [`super::sample_tail`] has the others.
//!
//! This runs once a sample: nothing is copied, and what follows the call chain is not looked at.

use crate::decode::ByteOrder;
use crate::decode::attr::{Presence, SampleLayout};
use crate::format::attr::read_format;
use crate::format::record::MAX_RECORD_SIZE;

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
    /// Address of data.
    pub data_address: Option<u64>,
    /// Event id.
    pub id: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Period.
    pub period: Option<u64>,
    /// Counter values.
    pub counters: Option<Counters<'a>>,
    /// Words of the call chain, innermost first, markers included.
    pub call_chain: Words<'a>,
    /// What follows the call chain.
    pub tail: &'a [u8],
}

/// 64-bit words in the file's byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Words<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Words<'a> {
    /// The words that `bytes` hold; a last one that is cut is not seen.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    /// The words, first to last.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + Clone + 'a {
        let order = self.order;
        self.bytes.chunks_exact(8).map(move |word| order.u64(word.try_into().unwrap_or_default()))
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.bytes.len() / 8
    }

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes that they stand in.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Byte order of the words.
    pub fn order(self) -> ByteOrder {
        self.order
    }

    /// The word at a place, counted from 0.
    #[inline(always)]
    pub fn get(self, index: usize) -> Option<u64> {
        Some(self.order.u64(*self.bytes.get(index.checked_mul(8)?..)?.first_chunk()?))
    }
}

/// Decodes the body of a SAMPLE record (what follows its header). `None` if a field up to and
/// with the call chain would lie outside of the record.
#[inline(always)]
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
    let (counters, at) = match layout.read_format {
        Some(format) => {
            let counters = Counters::decode(format, body.get(layout.fixed_end..)?, order)?;
            (Some(counters), layout.fixed_end + counters.size())
        }
        None => (None, layout.fixed_end),
    };
    let call_chain = call_chain_range(layout, body, at, order)?;
    Some(RawSample {
        ip: layout.ip.map_or(Some(0), word)?,
        pid: layout.tid.map_or(Some(u32::MAX), half)?,
        tid: layout.tid.map_or(Some(u32::MAX), |place| half(place + 4))?,
        time_nanos: layout.time.and_then(word),
        data_address: layout.data_address.and_then(word),
        id: layout.id.and_then(word),
        cpu: layout.cpu.and_then(half),
        period: layout.period.and_then(word),
        counters,
        tail: &body[call_chain.end..],
        call_chain: Words::new(&body[call_chain], order),
    })
}

/// Where in `body` what follows the call chain begins.
pub fn tail_start(layout: &SampleLayout, body: &[u8], order: ByteOrder) -> Option<usize> {
    let mut at = layout.fixed_end;
    if let Some(format) = layout.read_format {
        at += Counters::decode(format, body.get(at..)?, order)?.size();
    }
    Some(call_chain_range(layout, body, at, order)?.end)
}

/// Where in `body` the words of the call chain stand, whose count is at `at`; empty if the sample
/// has none.
#[inline(always)]
fn call_chain_range(
    layout: &SampleLayout,
    body: &[u8],
    at: usize,
    order: ByteOrder,
) -> Option<std::ops::Range<usize>> {
    if layout.call_chain == Presence::Absent {
        return (at <= body.len()).then_some(at..at);
    }
    let count = order.u64(*body.get(at..)?.first_chunk()?);
    let start = at + 8;
    let bytes = usize::try_from(count).ok()?.checked_mul(8)?;
    let end = start.checked_add(bytes)?;
    (end <= body.len()).then_some(start..end)
}

/// Counter values, of one event or of its whole group.
///
/// ```c
/// { u64 value, [time_enabled], [time_running], [id], [lost]; }                 // alone
/// { u64 nr, [time_enabled], [time_running]; { u64 value, [id], [lost]; }[nr]; } // GROUP
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters<'a> {
    format: u64,
    words: Words<'a>,
}

/// The value of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// What it has counted since it began.
    pub value: u64,
    /// The event's id.
    pub id: Option<u64>,
    /// Its samples that were lost so far, since Linux 6.0.
    pub lost: Option<u64>,
}

impl<'a> Counters<'a> {
    /// Those that `bytes` begin with; `None` if they do not fit.
    pub fn decode(format: u64, bytes: &'a [u8], order: ByteOrder) -> Option<Self> {
        let size = Self::size_from(format, Words::new(bytes, order).get(0)?)?;
        let bytes = bytes.get(..size)?;
        Some(Self { format, words: Words::new(bytes, order) })
    }

    /// Bytes of those that begin with this word; `None` if no record has room for so many.
    pub fn size_from(format: u64, first: u64) -> Option<usize> {
        let times = times(format);
        let words = match format & read_format::GROUP {
            0 => times.checked_add(words_of_counter(format))?,
            _ => {
                let members = usize::try_from(first).ok()?;
                members.checked_mul(words_of_counter(format))?.checked_add(1 + times)?
            }
        };
        words.checked_mul(8).filter(|size| *size <= MAX_RECORD_SIZE)
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.words.bytes.len()
    }

    /// The values: one, or the group's, its leader first.
    pub fn iter(&self) -> impl Iterator<Item = Counter> + 'a {
        let Self { format, words } = *self;
        let times = times(format);
        let has_id = format & read_format::ID != 0;
        let has_lost = format & read_format::LOST != 0;
        let counter = move |at: usize, value: usize| {
            Some(Counter {
                value: words.get(value)?,
                id: has_id.then(|| words.get(at)).flatten(),
                lost: has_lost.then(|| words.get(at + usize::from(has_id))).flatten(),
            })
        };
        let stride = words_of_counter(format);
        let grouped = format & read_format::GROUP != 0;
        let count = if grouped { words.len().saturating_sub(1 + times) / stride } else { 1 };
        (0..count).filter_map(move |index| match grouped {
            true => counter(2 + times + index * stride, 1 + times + index * stride),
            // The times stand between the value and its id.
            false => counter(1 + times, 0),
        })
    }
}

fn times(format: u64) -> usize {
    let has = |bit| usize::from(format & bit != 0);
    has(read_format::TOTAL_TIME_ENABLED) + has(read_format::TOTAL_TIME_RUNNING)
}

fn words_of_counter(format: u64) -> usize {
    let has = |bit| usize::from(format & bit != 0);
    1 + has(read_format::ID) + has(read_format::LOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(format: u64, words: &[u64]) -> Vec<Counter> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let counters = Counters::decode(format, &bytes, ByteOrder::Big).expect("it fits");
        assert_eq!(counters.size(), bytes.len(), "every word is of the block");
        counters.iter().collect()
    }

    fn counter(value: u64, id: Option<u64>, lost: Option<u64>) -> Counter {
        Counter { value, id, lost }
    }

    // Formats spelled out: 1 enabled, 2 running, 4 id, 8 group, 16 lost.
    #[test]
    fn counters_in_every_format() {
        assert_eq!(counters(0, &[7]), [counter(7, None, None)]);
        assert_eq!(counters(1 | 2 | 4, &[7, 50, 40, 9]), [counter(7, Some(9), None)]);
        assert_eq!(counters(4 | 16, &[7, 9, 1]), [counter(7, Some(9), Some(1))]);
        assert_eq!(counters(1 | 16, &[7, 50, 1]), [counter(7, None, Some(1))]);
        let two = [counter(7, Some(9), None), counter(8, Some(10), None)];
        assert_eq!(counters(8 | 4, &[2, 7, 9, 8, 10]), two);
        let two = [counter(7, Some(9), Some(0)), counter(8, Some(10), Some(3))];
        assert_eq!(counters(8 | 4 | 2 | 1 | 16, &[2, 50, 40, 7, 9, 0, 8, 10, 3]), two);
        assert_eq!(counters(8 | 1, &[0, 50]), []);
    }

    #[test]
    fn a_group_larger_than_its_record_is_none() {
        for count in [2u64, 1 << 60, u64::MAX] {
            let bytes: Vec<u8> = [count, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(Counters::decode(8, &bytes, ByteOrder::Little), None);
        }
    }
}
