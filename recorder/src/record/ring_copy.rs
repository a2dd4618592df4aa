//! What of records is left in their rings, as nobody needs it.

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::attr::sample_type;
use perftab_perfdata::format::record::{CONTEXT_USER, RecordType, misc};

use super::options::{CallChains, Plan};
use super::ring::RingBytes;
use super::sample_layouts::{SampleLayouts, chain_in};
use super::stack_sample::{StackSamples, set_size};

/// How records are copied from their rings.
pub enum RingCopy {
    /// As they are.
    Whole,
    /// The header of a sample says that it was taken in user space, and its chain begins with a marker that says so too:
    /// without this, eight bytes of some ninety.
    WithoutUserMarker(SampleLayouts),
    /// A stack that is copied takes the room that was asked for, whether it fills it or not: without what it does not fill.
    WithoutRoomOfStacks(StackSamples),
}

impl RingCopy {
    /// Of chains that readers find the parts of without markers. They begin with the mode of the sample, or with user
    /// space: perf (`thread__resolve_callchain_sample` in tools/perf/util/machine.c), hotspot, samply, Perfetto and
    /// simpleperf. pprof's perf_data_converter looks for each address in the process first. But perf finds the calls that
    /// a CPU keeps, and the link register of arm64, by the marker.
    pub fn of_chains(plan: &Plan, layouts: &SampleLayouts) -> Self {
        let are_plain = matches!(plan.chains, CallChains::FramePointers(_));
        match are_plain && !layouts.iter().any(|layout| layout.tail.has(sample_type::REGS_USER)) {
            true => Self::WithoutUserMarker(layouts.clone()),
            false => Self::Whole,
        }
    }

    /// Appends what a ring holds.
    pub fn copy(&self, ring: &RingBytes<'_>, out: &mut Vec<u8>) {
        out.reserve(ring.first.len() + ring.second.len());
        match self {
            Self::Whole => ring.append_to(out),
            Self::WithoutUserMarker(layouts) => ring.for_each(|record| {
                if without_user_marker(layouts, record, out).is_none() {
                    out.extend_from_slice(record);
                }
            }),
            Self::WithoutRoomOfStacks(samples) => {
                ring.for_each(|record| samples.copy(record, out));
            }
        }
    }
}

/// `None` if it has none, or nothing behind it.
fn without_user_marker(layouts: &SampleLayouts, record: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let header = RecordHeader::read(record, ByteOrder::NATIVE)?;
    if header.record_type != RecordType::SAMPLE || header.cpu_mode() != misc::CPUMODE_USER {
        return None;
    }
    let sample = layouts.decode(record)?;
    let (marker, addresses) = sample.call_chain.bytes().split_first_chunk()?;
    if u64::from_ne_bytes(*marker) != CONTEXT_USER || addresses.is_empty() {
        return None;
    }
    let start = out.len();
    out.extend_from_slice(&record[..chain_in(record, &sample).start]);
    out.extend_from_slice(&(sample.call_chain.len() as u64 - 1).to_ne_bytes());
    out.extend_from_slice(addresses);
    out.extend_from_slice(sample.tail);
    set_size(&mut out[start..]);
    Some(())
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::record::CONTEXT_KERNEL;

    use super::super::sample_layouts::tests::{of_events, with};
    use super::*;

    /// A sample of an event: its id, an address, the chain and raw data behind it.
    fn sample(mode: u16, id: u64, period: &[u64], chain: &[u64]) -> Vec<u8> {
        let words = [&[id, 0x5000][..], period, &[chain.len() as u64], chain, &[7 << 32 | 4]];
        let words = words.concat();
        let size = 8 + 8 * words.len() as u16;
        let mut record = RecordType::SAMPLE.0.to_ne_bytes().to_vec();
        record.extend([mode, size].map(u16::to_ne_bytes).concat());
        record.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        record
    }

    #[test]
    fn the_marker_of_user_space_stays_where_the_header_does_not_say_so() {
        use sample_type::{CALLCHAIN, IDENTIFIER, IP, PERIOD, RAW};

        const BITS: u64 = IDENTIFIER | IP | CALLCHAIN | RAW;
        let (user, kernel) = (misc::CPUMODE_USER, misc::CPUMODE_KERNEL);
        let of_both = [CONTEXT_KERNEL, 0xffff_ffff_8100_0000, CONTEXT_USER, 0x5000];
        let taken = [
            sample(user, 70, &[], &[CONTEXT_USER, 0x5000, 0x6000]),
            sample(user, 80, &[9], &[CONTEXT_USER, 0x5000]),
            sample(kernel, 70, &[], &of_both),
            sample(kernel, 80, &[9], &[CONTEXT_USER, 0x5000]),
            sample(user, 80, &[9], &of_both),
            sample(user, 70, &[], &[CONTEXT_USER]),
            sample(user, 70, &[], &[]),
            sample(misc::CPUMODE_GUEST_USER, 70, &[], &[CONTEXT_USER, 0x5000]),
        ];
        let mut kept = taken.clone();
        kept[0] = sample(user, 70, &[], &[0x5000, 0x6000]);
        kept[1] = sample(user, 80, &[9], &[0x5000]);
        let layouts = of_events([(with(BITS), &[70][..]), (with(BITS | PERIOD), &[80])]);
        let copy = RingCopy::WithoutUserMarker(layouts);
        let taken = taken.concat();
        for end in (0..=taken.len()).step_by(8) {
            let (first, second) = taken.split_at(end);
            let mut out = Vec::new();
            copy.copy(&RingBytes { first, second }, &mut out);
            assert_eq!(out, kept.concat(), "the ring ends at {end}");
        }
    }
}
