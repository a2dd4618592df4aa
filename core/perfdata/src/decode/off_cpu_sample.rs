//! Samples of time off the CPU that `perf record --off-cpu` has a BPF program write.
//!
//! Since perf 6.16 such a sample is wrapped: the program can only write raw data, so the fields of
//! the sample around it are those of whatever ran, or zeros.
//!
//! ```c
//! u32 pid, tid; u64 period; u64 nr; u64 ips[nr]; u64 cgroup;   // off_cpu_dump in
//! ```
//!
//! `tools/perf/util/bpf_skel/off_cpu.bpf.c`, read by `__set_offcpu_sample` in
//! `tools/perf/util/evsel.c`. Samples written by the program itself have tid and pid the other way
//! round; those that perf adds at the end, for short times, have them as above.

use crate::decode::sample::Words;
use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::record::CONTEXT_USER;

/// The name that perf gives the event.
pub const EVENT_NAME: &str = "offcpu-time";

/// What is wrapped in raw data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffCpuSample<'a> {
    /// Process and thread, in one order or the other.
    pub ids: [u32; 2],
    /// Nanoseconds off the CPU.
    pub period: u64,
    /// Words of the call chain, markers included.
    pub call_chain: Words<'a>,
    /// Cgroup; perf asks for it or not.
    pub cgroup: u64,
}

impl<'a> OffCpuSample<'a> {
    /// Reads raw data, which may end in padding.
    pub fn decode(raw: &'a [u8], order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(raw, 0, order, "a sample of time off the CPU");
        let ids = [cursor.u32()?, cursor.u32()?];
        let period = cursor.u64()?;
        let words = cursor.u64()?;
        let call_chain = Words::new(cursor.take_u64(words.saturating_mul(8))?, order);
        Ok(Self { ids, period, call_chain, cgroup: cursor.u64()? })
    }

    /// Whether raw data of an event without a name are such a sample: they are as long as one with
    /// its padding, of a thread, and the call chain begins as the program begins it.
    pub fn is_in(raw: &'a [u8], order: ByteOrder) -> bool {
        let Ok(sample) = Self::decode(raw, order) else { return false };
        let length = 8 * (sample.call_chain.len() + 4);
        sample.call_chain.get(0) == Some(CONTEXT_USER)
            && !sample.ids.contains(&0)
            && raw.len() - length < 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_sample_is_read_in_both_byte_orders_and_never_beyond_its_end() {
        type Bytes = (fn(u32) -> [u8; 4], fn(u64) -> [u8; 8]);
        let orders: [(ByteOrder, Bytes); 2] = [
            (ByteOrder::Little, (u32::to_le_bytes, u64::to_le_bytes)),
            (ByteOrder::Big, (u32::to_be_bytes, u64::to_be_bytes)),
        ];
        for (order, (half, word)) in orders {
            let mut raw = [half(10), half(11)].concat();
            for value in [5_000_000, 3, (-512i64) as u64, 0x40, 0x41, 9] {
                raw.extend(word(value));
            }
            let sample = OffCpuSample::decode(&raw, order).expect("all of it is there");
            assert_eq!((sample.ids, sample.period, sample.cgroup), ([10, 11], 5_000_000, 9));
            assert!(sample.call_chain.iter().eq([(-512i64) as u64, 0x40, 0x41]));
            for length in 0..raw.len() {
                assert!(OffCpuSample::decode(&raw[..length], order).is_err(), "{length}");
            }
            assert!(OffCpuSample::is_in(&raw, order));
            assert!(OffCpuSample::is_in(&[&raw[..], &[0; 4]].concat(), order), "with padding");
            assert!(!OffCpuSample::is_in(&[&raw[..], &[0; 8]].concat(), order), "too long");
            assert!(!OffCpuSample::is_in(&[[0; 4].as_slice(), &raw[4..]].concat(), order), "idle");
            raw[24..32].copy_from_slice(&word(0x40));
            assert!(!OffCpuSample::is_in(&raw, order), "a chain without a marker");
            raw[16..24].fill(0xff);
            assert!(OffCpuSample::decode(&raw, order).is_err());
        }
    }
}
