//! How large the rings are.

use anyhow::{Context, Result};

use super::options::{CallChains, Rate, StackCopy};

/// Smallest default of a CPU's ring, and perf's only one: what `perf_event_mlock_kb` allows anybody.
const RING_MIN: usize = 512 << 10;
/// Largest default where machines have hundreds of CPUs, and where they have a few. Half a second of samples with copies of
/// stacks has 32 MB: with rings of 8, a third and more was lost while 200 threads kept the recorder waiting.
pub const RING_MAX: usize = 8 << 20;
const RING_MAX_OF_FEW: usize = 32 << 20;
/// So much in all where rings are larger.
const RINGS_OF_FEW: usize = 256 << 20;
/// A ring should hold half a second of samples, so that nothing is lost while we wait for a CPU.
const RINGS_PER_SECOND: u64 = 2;
/// Bytes of a sample with a call chain of usual depth, and without one.
const CHAIN_SAMPLE: u64 = 400;
const PLAIN_SAMPLE: u64 = 48;

/// How large each ring is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// A power of two of pages.
    pub bytes: usize,
    /// Whether it may shrink to what is permitted.
    pub origin: RingOrigin,
}

impl RingSize {
    /// What `-m` asks for; without it, the default of a machine with so many CPUs.
    pub fn of(asked: Option<&str>, rate: Rate, chains: CallChains, cpus: usize) -> Result<Self> {
        Ok(match asked {
            Some(text) => Self { bytes: ring_size(text)?, origin: RingOrigin::Given },
            None => Self { bytes: default_ring(rate, chains, cpus), origin: RingOrigin::Default },
        })
    }
}

/// Where the ring's size comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingOrigin {
    /// The user gave it: fail if it cannot be had.
    Given,
    /// Our default: take less if less is permitted.
    Default,
}

impl CallChains {
    /// Bytes of a sample in a ring, more or less.
    pub fn sample_size(self) -> u64 {
        match (self, self.copy()) {
            (Self::None, _) => PLAIN_SAMPLE,
            (_, copy) => CHAIN_SAMPLE + copy.map_or(0, |StackCopy(size)| size.into()),
        }
    }
}

fn default_ring(rate: Rate, chains: CallChains, cpus: usize) -> usize {
    let bytes = match rate {
        Rate::Period(_) => 0,
        Rate::Frequency(hz) => hz.saturating_mul(chains.sample_size()),
    };
    let most = (RINGS_OF_FEW / cpus.max(1)).clamp(RING_MAX, RING_MAX_OF_FEW);
    let bytes = usize::try_from(bytes / RINGS_PER_SECOND).unwrap_or(most);
    let bytes = bytes.clamp(RING_MIN, most).next_power_of_two().min(1 << most.ilog2());
    bytes.max(rustix::param::page_size())
}

/// A number of pages, or of bytes with a unit; rounded up to a power of two of pages, as perf does.
fn ring_size(text: &str) -> Result<usize> {
    let page = rustix::param::page_size();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => Some(page),
        "B" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        _ => None,
    };
    let bytes = unit.and_then(|unit| digits.parse::<usize>().ok()?.checked_mul(unit));
    let bytes = bytes.and_then(|bytes| bytes.max(page).checked_next_power_of_two());
    bytes.with_context(|| format!("-m {text}: give pages, or bytes with B, K, M or G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_ring_grows_with_the_rate() {
        let ring = |hz| default_ring(Rate::Frequency(hz), CallChains::FramePointers(None), 64);
        assert_eq!(ring(999), 512 << 10);
        assert_eq!(ring(19_999), 4 << 20);
        assert_eq!(ring(u64::MAX), RING_MAX);
        let copies = CallChains::Copied(StackCopy::DEFAULT);
        assert_eq!(default_ring(Rate::Frequency(999), copies, 64), 8 << 20);
        // Where there are few CPUs, half a second of the largest copies has room.
        let copies = CallChains::Copied(StackCopy(StackCopy::MOST));
        let [few, some, odd, many] =
            [2, 16, 12, 64].map(|cpus| default_ring(Rate::Frequency(999), copies, cpus));
        assert_eq!([few, some, odd, many], [32 << 20, 16 << 20, 16 << 20, 8 << 20]);
    }

    #[test]
    fn ring_sizes_are_powers_of_two_of_pages() {
        let page = rustix::param::page_size();
        assert_eq!(ring_size("3").unwrap(), 4 * page);
        assert_eq!(ring_size("1B").unwrap(), page);
        assert_eq!(ring_size("2M").unwrap(), 2 << 20);
        for bad in ["", "M", "1T", "-1", "18446744073709551615G"] {
            assert!(ring_size(bad).is_err(), "{bad}");
        }
    }
}
